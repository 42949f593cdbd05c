struct Params {
    input: vec4u,
    output: vec4u,
    window: vec4u,
    steps: vec4i,
    begins: vec4i,
    tiles: vec4u,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> b0: array<f32>;
@group(0) @binding(2) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> b2: array<vec4<f32>>;
const GROUP: u32 = 64u;
const PAIR: bool = true;
fn x(i: u32) -> f32 {
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
// Transposed convolution in C4 whose windows do not overlap: each input pixel becomes a block of output pixels, and each of those
// has one tap. A thread computes, for one tap, eight input pixels of eight output channels, or of four where not PAIR, by outer
// products as conv_outer does.
//
// params: input and output are (pictures, channel vectors, height, width). window is (taps down, taps across, input channels,
// taps), which are the strides too. tiles are (pixel tiles, channel tiles, unused, first bias vector).

struct Pixels {
    at: vec4u,
    live: vec4<bool>,
}

fn pixels(first: u32) -> Pixels {
    let size = params.input.z * params.input.w;
    let wanted = vec4u(first) + params.tiles.x * vec4u(0u, 1u, 2u, 3u);
    return Pixels(min(wanted, vec4u(size - 1u)), wanted < vec4u(size));
}

fn four(i: vec4u) -> vec4f {
    return vec4f(x(i.x), x(i.y), x(i.z), x(i.w));
}

fn outer(w: vec4f, x: vec4f) -> mat4x4f {
    return mat4x4f(w * x.x, w * x.y, w * x.z, w * x.w);
}

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) place: vec3u,
    @builtin(num_workgroups) places: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let tiles = params.tiles;
    let thread = (place.y * places.x + place.x) * GROUP + local;
    let first = thread % tiles.x;
    let tap = thread / tiles.x % params.window.w;
    let tile = thread / (tiles.x * params.window.w) % tiles.y;
    let n = thread / (tiles.x * params.window.w * tiles.y);
    if (n >= params.input.x) {
        return;
    }
    let per = select(1u, 2u, PAIR);
    let c = per * tile;
    let both = PAIR && c + 1u < params.output.y;
    let bias0 = w(tiles.w + c);
    let bias1 = w(tiles.w + select(c, c + 1u, both));
    let plane = params.input.z * params.input.w;
    let p0 = pixels(first);
    let p1 = pixels(first + 4u * tiles.x);
    let i0 = 4u * (n * params.input.y * plane + p0.at);
    let i1 = 4u * (n * params.input.y * plane + p1.at);
    var a00 = mat4x4f(bias0, bias0, bias0, bias0);
    var a01 = mat4x4f(bias1, bias1, bias1, bias1);
    var a10 = a00;
    var a11 = a01;
    let weights = 4u * per * params.input.y * (tile * params.window.w + tap);
    for (var k = 0u; k < params.window.z; k++) {
        let at = 4u * (k >> 2u) * plane + (k & 3u);
        let x0 = four(i0 + at);
        let x1 = four(i1 + at);
        let w0 = w(weights + per * k);
        a00 += outer(w0, x0);
        a10 += outer(w0, x1);
        if (PAIR) {
            let w1 = w(weights + per * k + 1u);
            a01 += outer(w1, x0);
            a11 += outer(w1, x1);
        }
    }
    // One loop over all vectors: a pipeline takes longer to make, the oftener the epilogue is inlined.
    let all = array<mat4x4f, 4>(a00, a10, a01, a11);
    let inside = vec2u(tap / params.window.y, tap % params.window.y);
    for (var i = 0u; i < select(8u, 16u, both); i++) {
        let second = (i & 4u) != 0u;
        let k = i & 3u;
        if (select(p0.live[k], p1.live[k], second)) {
            let pixel = select(p0.at[k], p1.at[k], second);
            let block = vec2u(pixel / params.input.w, pixel % params.input.w);
            let corner = block * params.window.xy + inside;
            let p = corner.x * params.output.w + corner.y;
            let to = c + (i >> 3u);
            let at = (n * params.output.y + to) * params.output.z * params.output.w + p;
            y(at, epilogue(all[i >> 2u][k], at, n, to, p));
        }
    }
}
