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
    let step = vec3i(params.dilation.xyz);
    let size = vec3i(params.size.xyz);
    let taps = vec3i(params.window.xyz);
    // The taps from `low` to `high` lie in the input, those to `padded` in it or its end padding; none begins before the begin
    // padding.
    let low = clamp((step - 1 - first) / step, vec3i(0), taps);
    let high = clamp((size - first + step - 1) / step, low, taps);
    let padded = clamp((size + vec3i(params.end.xyz) - first + step - 1) / step, vec3i(0), taps);
    let base = i32(q) * size.x * size.y * size.z;
    var v = initial();
    for (var a = low.x; a < high.x; a++) {
        let z = first.x + a * step.x;
        for (var b = low.y; b < high.y; b++) {
            let row = base + (z * size.y + first.y + b * step.y) * size.z + first.z;
            for (var c = low.z; c < high.z; c++) {
                v = join(v, load(u32(row + c * step.z)));
            }
        }
    }
    let inside = high - low;
    store(i, result(finish(v, u32(inside.x * inside.y * inside.z), u32(padded.x * padded.y * padded.z)), i, q, p));
}
