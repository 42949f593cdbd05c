struct Params {
    input: vec4u,
    output: vec4u,
    window: vec4u,
    strides: vec4i,
    dilations: vec4i,
    begins: vec4i,
    counts: vec4u,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> b0: array<f32>;
@group(0) @binding(2) var<storage, read_write> b1: array<f32>;
@group(0) @binding(3) var<storage, read_write> b2: array<f32>;
const GROUP: u32 = 64u;
const TRANSPOSED: bool = false;
fn x(i: u32) -> f32 {
    return b0[i];
}
fn w(i: u32) -> f32 {
    return b1[i];
}
fn y(i: u32, v: f32) {
    b2[i] = v;
}
fn bias(i: u32) -> f32 {
    return 0.0;
}
fn epilogue(v: f32, i: u32) -> f32 {
    return v;
}
// ---- body ----
// Convolution, or where TRANSPOSED its transpose, of row-major tensors with up to three spatial dimensions and any groups,
// weights known or computed. A thread computes one element.
//
// params: input and output are (channels, depth, height, width). window is (unused, taps in depth, down, across); strides,
// dilations and begins likewise. counts are (elements of the output, input channels of a group, output channels of a group,
// unused).

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) place: vec3u,
    @builtin(num_workgroups) places: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (place.y * places.x + place.x) * GROUP + local;
    if (i >= params.counts.x) {
        return;
    }
    var rest = i;
    var at = vec3i();
    at.z = i32(rest % params.output.w);
    rest /= params.output.w;
    at.y = i32(rest % params.output.z);
    rest /= params.output.z;
    at.x = i32(rest % params.output.y);
    rest /= params.output.y;
    let o = rest % params.output.x;
    let n = rest / params.output.x;
    let inputs = params.counts.y;
    let outputs = params.counts.z;
    let group = o / outputs;

    let size = vec3i(params.input.yzw);
    let volume = params.input.y * params.input.z * params.input.w;
    let taps = params.window.y * params.window.z * params.window.w;
    let base = (n * params.input.x + group * inputs) * volume;
    // The first weight, and the step to the next input channel's.
    let first = select(o * inputs, group * inputs * outputs + o % outputs, TRANSPOSED) * taps;
    let step = select(1u, outputs, TRANSPOSED) * taps;
    let stride = params.strides.yzw;
    var sum = bias(o);
    for (var tap = 0u; tap < taps; tap++) {
        let k = vec3i(vec3u(
            tap / (params.window.z * params.window.w),
            tap / params.window.w % params.window.z,
            tap % params.window.w,
        ));
        var source = at * stride - params.begins.yzw + k * params.dilations.yzw;
        if (TRANSPOSED) {
            source = at + params.begins.yzw - k * params.dilations.yzw;
            if (any(source < vec3i()) || any(source % stride != vec3i())) {
                continue;
            }
            source /= stride;
        }
        if (any(source < vec3i()) || any(source >= size)) {
            continue;
        }
        let offset = u32((source.x * size.y + source.y) * size.z + source.z);
        for (var c = 0u; c < inputs; c++) {
            sum += x(base + c * volume + offset) * w(first + c * step + tap);
        }
    }
    y(i, epilogue(sum, i));
}
