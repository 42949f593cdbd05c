// A window slid over planes of up to three dimensions; one result an invocation. Taps in the padding are left out, of an
// average's count too unless it includes them.
struct Params {
    size: vec4u,
    result_size: vec4u,
    window: vec4u,
    stride: vec4u,
    dilation: vec4u,
    begin: vec4u,
    end: vec4u,
    count: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> b0: array<f32>;
@group(0) @binding(2) var<storage, read_write> b1: array<f32>;
const GROUP: u32 = 64u;
alias T = f32;
fn load(i: u32) -> f32 {
    return b0[i];
}
fn result(v: T, i: u32, q: u32, p: u32) -> f32 {
    return v;
}
fn store(i: u32, v: f32) {
    b1[i] = v;
}
fn initial() -> T {
    return T(-3.4028234e38);
}
fn join(a: T, b: T) -> T {
    return max(a, b);
}
fn finish(v: T, inside: u32, padded: u32) -> T {
    return v;
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
    let d = params.result_size;
    let p = i % (d.x * d.y * d.z);
    let q = i / (d.x * d.y * d.z);
    let at = vec3u(p / (d.y * d.z), (p / d.z) % d.y, p % d.z);
    let first = vec3i(at * params.stride.xyz) - vec3i(params.begin.xyz);
    let size = vec3i(params.size.xyz);
    let limit = size + vec3i(params.end.xyz);
    let base = i32(q) * size.x * size.y * size.z;
    var v = initial();
    var inside = 0u;
    var padded = 0u;
    for (var a = 0u; a < params.window.x; a++) {
        let z = first.x + i32(a * params.dilation.x);
        for (var b = 0u; b < params.window.y; b++) {
            let y = first.y + i32(b * params.dilation.y);
            let row = base + (z * size.y + y) * size.z;
            let valid = z >= 0 && z < size.x && y >= 0 && y < size.y;
            let counted = z < limit.x && y < limit.y;
            for (var c = 0u; c < params.window.z; c++) {
                let x = first.z + i32(c * params.dilation.z);
                if counted && x < limit.z {
                    padded++;
                }
                if valid && x >= 0 && x < size.z {
                    v = join(v, load(u32(row + x)));
                    inside++;
                }
            }
        }
    }
    store(i, result(finish(v, inside, padded), i, q, p));
}
