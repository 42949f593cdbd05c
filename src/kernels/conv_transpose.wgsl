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
// Transposed convolution in C4. A thread computes four pixels of a row, one stride apart, of four channels: the same taps
// reach them all.
//
// params: input and output are (pictures, channel vectors, height, width). window is (taps down, taps across, unused, taps).
// steps are the strides (y, x) and dilations (y, x), begins the pads (y, x). tiles are (tiles of a row, tiles of a channel
// vector, unused, first bias vector).

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
    let stride = params.steps.xy;
    let row = tile / params.tiles.x;
    // Threads of one phase are neighbours, so that they take the same branches.
    let at = tile % params.tiles.x;
    let blocks = params.tiles.x / u32(stride.y);
    let column = 4 * stride.y * i32(at % blocks) + i32(at / blocks);
    // Without dilation every stride-th tap counts, and none of the others has to be looked at.
    let dense = params.steps.zw == vec2i(1);
    let start = select(vec2i(), (vec2i(i32(row), column) + params.begins.xy) % stride, dense);
    let step = select(vec2i(1), stride, dense);
    let size = vec2i(params.input.zw);
    let plane = params.input.z * params.input.w;

    let bias = w(params.tiles.w + c);
    var sum = mat4x4f(bias, bias, bias, bias);
    for (var down = start.x; down < i32(params.window.x); down += step.x) {
        let y_ = i32(row) + params.begins.x - down * params.steps.z;
        let from_y = y_ / stride.x;
        if (y_ < 0 || y_ % stride.x != 0 || from_y >= size.x) {
            continue;
        }
        for (var across = start.y; across < i32(params.window.y); across += step.y) {
            // May be negative: a multiple of the stride divides exactly, whatever the sign.
            let x_ = column + params.begins.y - across * params.steps.w;
            if (x_ % stride.y != 0) {
                continue;
            }
            let from_x = vec4i(x_ / stride.y) + vec4i(0, 1, 2, 3);
            let inside = (from_x >= vec4i()) & (from_x < vec4i(size.y));
            var i = n * params.input.y * plane + vec4u(from_y * size.y + clamp(from_x, vec4i(), vec4i(size.y - 1)));
            var wi = 4u * params.input.y * (c * params.window.w + u32(down) * params.window.y + u32(across));
            for (var k = 0u; k < params.input.y; k++) {
                let v = mat4x4f(
                    select(vec4f(), x(i.x), inside.x),
                    select(vec4f(), x(i.y), inside.y),
                    select(vec4f(), x(i.z), inside.z),
                    select(vec4f(), x(i.w), inside.w),
                );
                sum += mat4x4f(w(wi), w(wi + 1u), w(wi + 2u), w(wi + 3u)) * v;
                wi += 4u;
                i += plane;
            }
        }
    }
    let pixels = params.output.z * params.output.w;
    let to = (n * params.output.y + c) * pixels;
    for (var k = 0u; k < 4u; k++) {
        let x_ = u32(column) + k * u32(stride.y);
        if (x_ < params.output.w) {
            let p = row * params.output.w + x_;
            y(to + p, epilogue(sum[k], to + p, n, c, p));
        }
    }
}
