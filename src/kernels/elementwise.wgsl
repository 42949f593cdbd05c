// Row-major element-wise work: an operator's value at each place, then the steps fused into it.
// Four neighbours in memory at a time; a last vector may compute beyond the end, where nobody reads.
struct Params {
    count: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> b0: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b1: array<vec4<f32>>;
const GROUP: u32 = 64u;
fn compute(i: u32) -> vec4f {
    return b0[i];
}
fn epilogue(v: vec4f, i: u32) -> vec4f {
    return v;
}
fn store(i: u32, v: vec4f) {
    b1[i] = v;
}
// ---- body ----

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (group.y * groups.x + group.x) * GROUP + local;
    if i >= params.count {
        return;
    }
    store(i, epilogue(compute(i), i));
}
