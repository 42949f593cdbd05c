struct Params {
    input: vec4u,
    output: vec4u,
    window: vec4u,
    steps: vec4i,
    begins: vec4i,
    tiles: vec4u,
    groups: vec4u,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> b0: array<f32>;
@group(0) @binding(2) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> b2: array<vec4<f32>>;
const GROUP: u32 = 64u;
const POINTWISE: bool = false;
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
// Convolution in C4. A thread computes eight pixels of eight output channels: for every tap and input channel, the outer
// product of eight scalars and two vectors. Sixty-four multiply-adds take sixteen loaded numbers and no barrier, which is
// what an adapter likes whose loads are dear: a CPU, where each is a gather.
//
// params: input and output are (pictures, channel vectors, height, width). window is (taps down, taps across, input
// channels of a group, taps). steps are the strides (y, x) and dilations (y, x), begins the pads (y, x). tiles are (pixel
// tiles, channel tiles, channel tiles of a group, first bias vector). groups are the (input, output) vectors of a group and
// the input channels as packed.

struct Pixels {
    // Their places in the plane; the last one stands in for those beyond it.
    at: vec4u,
    live: vec4<bool>,
    // Top left corner of the window in the input.
    top: vec4i,
    left: vec4i,
}

fn pixels(first: u32) -> Pixels {
    let size = params.output.z * params.output.w;
    let wanted = vec4u(first) + params.tiles.x * vec4u(0u, 1u, 2u, 3u);
    let at = min(wanted, vec4u(size - 1u));
    var out = Pixels(at, wanted < vec4u(size), vec4i(), vec4i());
    if (!POINTWISE) {
        // Division through f32, and its last bit put right: lanes of integers are divided one by one on a CPU.
        let width = params.output.w;
        var row = vec4u(vec4f(at) / f32(width));
        row = select(row, row - 1u, row * width > at);
        row = select(row, row + 1u, at - row * width >= vec4u(width));
        out.top = vec4i(row) * params.steps.x - params.begins.x;
        out.left = vec4i(at - row * width) * params.steps.y - params.begins.y;
    }
    return out;
}

fn outer(w: vec4f, x: vec4f) -> mat4x4f {
    return mat4x4f(w * x.x, w * x.y, w * x.z, w * x.w);
}

fn four(i: vec4u) -> vec4f {
    return vec4f(x(i.x), x(i.y), x(i.z), x(i.w));
}

fn write(v: mat4x4f, pixels: Pixels, n: u32, c: u32) {
    let first = (n * params.output.y + c) * params.output.z * params.output.w;
    for (var k = 0u; k < 4u; k++) {
        if (pixels.live[k]) {
            let p = pixels.at[k];
            y(first + p, epilogue(v[k], first + p, n, c, p));
        }
    }
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
    let tile = (thread / tiles.x) % tiles.y;
    let n = thread / (tiles.x * tiles.y);
    if (n >= params.input.x) {
        return;
    }
    let group = tile / tiles.z;
    let c = 2u * (tile % tiles.z);
    let both = c + 1u < params.groups.y;
    let out = group * params.groups.y + c;

    let bias0 = w(tiles.w + out);
    let bias1 = w(tiles.w + select(out, out + 1u, both));
    let size = vec2i(params.input.zw);
    let plane = params.input.z * params.input.w;
    let base = (n * params.input.y + group * params.groups.x) * plane;
    let p0 = pixels(first);
    let p1 = pixels(first + 4u * tiles.x);
    var a00 = mat4x4f(bias0, bias0, bias0, bias0);
    var a01 = mat4x4f(bias1, bias1, bias1, bias1);
    var a10 = a00;
    var a11 = a01;
    var wi = 2u * params.groups.z * tile * params.window.w;
    for (var down = 0u; down < params.window.x; down++) {
        for (var across = 0u; across < params.window.y; across++) {
            var i0 = p0.at;
            var i1 = p1.at;
            var in0 = vec4<bool>(true);
            var in1 = vec4<bool>(true);
            if (!POINTWISE) {
                let y0 = p0.top + i32(down) * params.steps.z;
                let y1 = p1.top + i32(down) * params.steps.z;
                let x0 = p0.left + i32(across) * params.steps.w;
                let x1 = p1.left + i32(across) * params.steps.w;
                in0 = (y0 >= vec4i()) & (y0 < vec4i(size.x)) & (x0 >= vec4i()) & (x0 < vec4i(size.y));
                in1 = (y1 >= vec4i()) & (y1 < vec4i(size.x)) & (x1 >= vec4i()) & (x1 < vec4i(size.y));
                i0 = vec4u(select(vec4i(), y0 * size.y + x0, in0));
                i1 = vec4u(select(vec4i(), y1 * size.y + x1, in1));
            }
            i0 = 4u * (base + i0);
            i1 = 4u * (base + i1);
            for (var k = 0u; k < params.window.z; k++) {
                let at = 4u * (k >> 2u) * plane + (k & 3u);
                var x0 = four(i0 + at);
                var x1 = four(i1 + at);
                if (!POINTWISE) {
                    x0 = select(vec4f(), x0, in0);
                    x1 = select(vec4f(), x1, in1);
                }
                let w0 = w(wi + 2u * k);
                let w1 = w(wi + 2u * k + 1u);
                a00 += outer(w0, x0);
                a01 += outer(w1, x0);
                a10 += outer(w0, x1);
                a11 += outer(w1, x1);
            }
            wi += 2u * params.groups.z;
        }
    }
    write(a00, p0, n, out);
    write(a10, p1, n, out);
    if (both) {
        write(a01, p0, n, out + 1u);
        write(a11, p1, n, out + 1u);
    }
}
