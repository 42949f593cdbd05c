struct Params {
    input: vec4u,
    output: vec4u,
    window: vec4u,
    steps: vec4i,
    begins: vec4i,
    tiles: vec4u,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> b0: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> b2: array<vec4<f32>>;
const GROUP: u32 = 64u;
fn x(i: u32) -> vec4f {
    return b0[i];
}
fn w(i: u32) -> vec4f {
    return b1[i];
}
fn y(i: u32, v: vec4f) {
    b2[i] = v;
}
fn epilogue(v: vec4f, i: u32, n: u32, c: u32, p: u32) -> vec4f {
    return v;
}
// ---- body ----
// Depthwise convolution in C4, any stride and dilation. A thread computes four pixels of four channels.
//
// params: input and output are (pictures, channel vectors, height, width). window is (taps down, taps across, unused, taps).
// steps are the strides (y, x) and dilations (y, x), begins the pads (y, x). tiles are (tiles of a channel vector, unused,
// unused, first bias vector).

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) place: vec3u,
    @builtin(num_workgroups) places: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let thread = (place.y * places.x + place.x) * GROUP + local;
    let first = thread % params.tiles.x;
    let c = (thread / params.tiles.x) % params.output.y;
    let n = thread / (params.tiles.x * params.output.y);
    if (n >= params.output.x) {
        return;
    }
    let pixels = params.output.z * params.output.w;
    let wanted = vec4u(first) + params.tiles.x * vec4u(0u, 1u, 2u, 3u);
    let at = min(wanted, vec4u(pixels - 1u));
    let row = at / params.output.w;
    let top = vec4i(row) * params.steps.x - params.begins.x;
    let left = vec4i(at - row * params.output.w) * params.steps.y - params.begins.y;
    let size = vec2i(params.input.zw);
    let base = (n * params.input.y + c) * params.input.z * params.input.w;

    let bias = w(params.tiles.w + c);
    var sum = mat4x4f(bias, bias, bias, bias);
    var wi = c * params.window.w;
    for (var down = 0u; down < params.window.x; down++) {
        let y = top + i32(down) * params.steps.z;
        let in_y = (y >= vec4i()) & (y < vec4i(size.x));
        for (var across = 0u; across < params.window.y; across++) {
            let x_ = left + i32(across) * params.steps.w;
            let inside = in_y & (x_ >= vec4i()) & (x_ < vec4i(size.y));
            let i = base + vec4u(select(vec4i(), y * size.y + x_, inside));
            let tap = w(wi);
            sum += mat4x4f(
                select(vec4f(), x(i.x), inside.x) * tap,
                select(vec4f(), x(i.y), inside.y) * tap,
                select(vec4f(), x(i.z), inside.z) * tap,
                select(vec4f(), x(i.w), inside.w) * tap,
            );
            wi++;
        }
    }
    let to = (n * params.output.y + c) * pixels;
    for (var k = 0u; k < 4u; k++) {
        if (wanted[k] < pixels) {
            y(to + at[k], epilogue(sum[k], to + at[k], n, c, at[k]));
        }
    }
}
