// Moves elements: what is fetched for place i is stored where `to` says. Elements are single or by four.
struct Params {
    source_dims: array<vec4u, 2>,
    source_strides: array<vec4u, 2>,
    count: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> b0: array<f32>;
@group(0) @binding(2) var<storage, read_write> b1: array<vec4<f32>>;
const GROUP: u32 = 64u;
fn source(i: u32) -> u32 {
    var rest = i;
    var at = 0u;
    at += (rest % params.source_dims[0][1]) * params.source_strides[0][1];
    rest /= params.source_dims[0][1];
    at += rest * params.source_strides[0][0];
    return at;
}
fn one(l: u32) -> f32 {
    return b0[source(l)];
}
fn fetch(i: u32) -> vec4f {
    return vec4f(one(4u * i), one(4u * i + 1u), one(4u * i + 2u), one(4u * i + 3u));
}
fn to(i: u32) -> u32 {
    return i;
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
    store(to(i), fetch(i));
}
