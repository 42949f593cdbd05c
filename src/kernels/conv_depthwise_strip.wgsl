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
// Depthwise convolution in C4 with a dense 3 x 3 window that steps by one. A thread walks down a strip four pixels wide: each
// input row is loaded once and joins the three output rows it belongs to, and the weights stay in registers.
//
// params: input and output are (pictures, channel vectors, height, width), begins the pads (y, x). tiles are (strips side by
// side, strips of a channel vector, rows of a strip, first bias vector).

fn load(row: u32, at: i32, inside: bool) -> vec4f {
    let width = i32(params.input.w);
    return select(vec4f(), x(row + u32(clamp(at, 0, width - 1))), inside && at >= 0 && at < width);
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
    let top = tile / params.tiles.x * params.tiles.z;
    let first = 4u * (tile % params.tiles.x);
    let left = i32(first) - params.begins.y;
    let height = i32(params.input.z);
    let base = (n * params.input.y + c) * params.input.z;
    let to = (n * params.output.y + c) * params.output.z * params.output.w;

    let w0 = w(9u * c);
    let w1 = w(9u * c + 1u);
    let w2 = w(9u * c + 2u);
    let w3 = w(9u * c + 3u);
    let w4 = w(9u * c + 4u);
    let w5 = w(9u * c + 5u);
    let w6 = w(9u * c + 6u);
    let w7 = w(9u * c + 7u);
    let w8 = w(9u * c + 8u);
    let bias = w(params.tiles.w + c);
    let start = mat4x4f(bias, bias, bias, bias);
    // The sums of the output rows that wait for two input rows more, and for one.
    var two = start;
    var one = start;
    let rows = min(params.tiles.z, params.output.z - top) + 2u;
    for (var k = 0u; k < rows; k++) {
        let row = i32(top + k) - params.begins.x;
        let inside = row >= 0 && row < height;
        let line = (base + u32(clamp(row, 0, height - 1))) * params.input.w;
        let v0 = load(line, left, inside);
        let v1 = load(line, left + 1, inside);
        let v2 = load(line, left + 2, inside);
        let v3 = load(line, left + 3, inside);
        let v4 = load(line, left + 4, inside);
        let v5 = load(line, left + 5, inside);
        let done = one + mat4x4f(
            v0 * w6 + v1 * w7 + v2 * w8,
            v1 * w6 + v2 * w7 + v3 * w8,
            v2 * w6 + v3 * w7 + v4 * w8,
            v3 * w6 + v4 * w7 + v5 * w8,
        );
        one = two + mat4x4f(
            v0 * w3 + v1 * w4 + v2 * w5,
            v1 * w3 + v2 * w4 + v3 * w5,
            v2 * w3 + v3 * w4 + v4 * w5,
            v3 * w3 + v4 * w4 + v5 * w5,
        );
        two = start + mat4x4f(
            v0 * w0 + v1 * w1 + v2 * w2,
            v1 * w0 + v2 * w1 + v3 * w2,
            v2 * w0 + v3 * w1 + v4 * w2,
            v3 * w0 + v4 * w1 + v5 * w2,
        );
        if (k >= 2u) {
            let p = (top + k - 2u) * params.output.w + first;
            for (var j = 0u; j < 4u; j++) {
                if (first + j < params.output.w) {
                    y(to + p + j, epilogue(done[j], to + p + j, n, c, p + j));
                }
            }
        }
    }
}
