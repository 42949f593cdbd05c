// Resampling of any dimensions of a row-major tensor, up to eight. Tables as in resize.wgsl, one after the other; a
// dimension that stays as it is has one tap.
struct Params {
    result_dims: array<vec4u, 2>,
    strides: array<vec4u, 2>,
    starts: array<vec4u, 2>,
    taps: array<vec4u, 2>,
    total: u32,
    count: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> b0: array<f32>;
@group(0) @binding(2) var<storage, read_write> b1: array<f32>;
@group(0) @binding(3) var<storage, read> b2: array<f32>;
const GROUP: u32 = 64u;
const RANK: u32 = 4u;
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
fn table(i: u32) -> f32 {
    return b2[i];
}
fn add(sum: T, weight: f32, v: T) -> T {
    return sum + weight * v;
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
    var sum = T();
    for (var t = 0u; t < params.total; t++) {
        var place = i;
        var tap = t;
        var at = 0u;
        var weight = 1.0;
        for (var k = RANK; k > 0u; k--) {
            let a = (k - 1u) / 4u;
            let b = (k - 1u) % 4u;
            let taps = params.taps[a][b];
            let entry = params.starts[a][b] + 2u * (taps * (place % params.result_dims[a][b]) + tap % taps);
            place /= params.result_dims[a][b];
            tap /= taps;
            at += u32(table(entry)) * params.strides[a][b];
            weight *= table(entry + 1u);
        }
        sum = add(sum, weight, load(at));
    }
    store(i, result(sum, i, 0u, i));
}
