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
// Depthwise convolution in C4 that steps along a row by one. A thread computes four neighbours of four channels; the window
// slides over them, so that each input vector is loaded once a row.
//
// params: input and output are (pictures, channel vectors, height, width). window is (taps down, taps across, unused, taps).
// steps are the strides (y, x) and dilations (y, x), begins the pads (y, x). tiles are (tiles of a row, tiles of a channel
// vector, unused, first bias vector).

fn load(row: u32, at: i32) -> vec4f {
    let width = i32(params.input.w);
    return select(vec4f(), x(row + u32(clamp(at, 0, width - 1))), at >= 0 && at < width);
}

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) place: vec3u,
    @builtin(num_workgroups) places: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let thread = (place.y * places.x + place.x) * GROUP + local;
    let tile = thread % params.tiles.y;
    let c = (thread / params.tiles.y) % params.output.y;
    let n = thread / (params.tiles.y * params.output.y);
    if (n >= params.output.x) {
        return;
    }
    let row = tile / params.tiles.x;
    let first = 4u * (tile % params.tiles.x);
    let left = i32(first) - params.begins.y;
    let base = (n * params.input.y + c) * params.input.z;

    let bias = w(params.tiles.w + c);
    var sum = mat4x4f(bias, bias, bias, bias);
    for (var down = 0u; down < params.window.x; down++) {
        let source = i32(row) * params.steps.x - params.begins.x + i32(down) * params.steps.z;
        if (source < 0 || source >= i32(params.input.z)) {
            continue;
        }
        let line = (base + u32(source)) * params.input.w;
        let taps = c * params.window.w + down * params.window.y;
        var v0 = load(line, left);
        var v1 = load(line, left + 1);
        var v2 = load(line, left + 2);
        for (var across = 0u; across < params.window.y; across++) {
            let v3 = load(line, left + 3 + i32(across));
            let tap = w(taps + across);
            sum += mat4x4f(v0 * tap, v1 * tap, v2 * tap, v3 * tap);
            v0 = v1;
            v1 = v2;
            v2 = v3;
        }
    }
    let p = row * params.output.w + first;
    let to = (n * params.output.y + c) * params.output.z * params.output.w + p;
    for (var k = 0u; k < 4u; k++) {
        if (first + k < params.output.w) {
            y(to + k, epilogue(sum[k], to + k, n, c, p + k));
        }
    }
}
