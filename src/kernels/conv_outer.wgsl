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
const SHALLOW: bool = false;
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

// The input under one tap, for four pixels.
struct Tap {
    at: vec4u,
    inside: vec4<bool>,
}

fn tap(pixels: Pixels, base: u32, down: u32, across: u32) -> Tap {
    let size = vec2i(params.input.zw);
    let y = pixels.top + i32(down) * params.steps.z;
    let x = pixels.left + i32(across) * params.steps.w;
    let inside = (y >= vec4i()) & (y < vec4i(size.x)) & (x >= vec4i()) & (x < vec4i(size.y));
    return Tap(4u * (base + vec4u(select(vec4i(), y * size.y + x, inside))), inside);
}

fn four(tap: Tap, offset: u32) -> vec4f {
    let i = tap.at + offset;
    let v = vec4f(x(i.x), x(i.y), x(i.z), x(i.w));
    if (POINTWISE) {
        return v;
    }
    return select(vec4f(), v, tap.inside);
}

fn outer(w: vec4f, x: vec4f) -> mat4x4f {
    return mat4x4f(w * x.x, w * x.y, w * x.z, w * x.w);
}

// Two fours of pixels by two vectors of output channels.
struct Sums {
    a00: mat4x4f,
    a01: mat4x4f,
    a10: mat4x4f,
    a11: mat4x4f,
}

fn add(sums: ptr<function, Sums>, t0: Tap, t1: Tap, channel: u32, plane: u32, wi: u32) {
    let offset = 4u * (channel >> 2u) * plane + (channel & 3u);
    let x0 = four(t0, offset);
    let x1 = four(t1, offset);
    let w0 = w(wi);
    let w1 = w(wi + 1u);
    (*sums).a00 += outer(w0, x0);
    (*sums).a01 += outer(w1, x0);
    (*sums).a10 += outer(w0, x1);
    (*sums).a11 += outer(w1, x1);
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
    let plane = params.input.z * params.input.w;
    let base = (n * params.input.y + group * params.groups.x) * plane;
    let p0 = pixels(first);
    let p1 = pixels(first + 4u * tiles.x);
    let start0 = mat4x4f(bias0, bias0, bias0, bias0);
    let start1 = mat4x4f(bias1, bias1, bias1, bias1);
    var sums = Sums(start0, start1, start0, start1);
    let channels = params.window.z;
    var wi = 2u * params.groups.z * tile * params.window.w;
    if (POINTWISE) {
        let t0 = Tap(4u * (base + p0.at), vec4<bool>(true));
        let t1 = Tap(4u * (base + p1.at), vec4<bool>(true));
        for (var k = 0u; k < channels; k++) {
            add(&sums, t0, t1, k, plane, wi + 2u * k);
        }
    } else if (SHALLOW) {
        // One loop: where it turns only a few times, entering it costs more than it does.
        var t0 = tap(p0, base, 0u, 0u);
        var t1 = tap(p1, base, 0u, 0u);
        var down = 0u;
        var across = 0u;
        var k = 0u;
        for (var step = 0u; step < channels * params.window.w; step++) {
            if (k == channels) {
                k = 0u;
                wi += 2u * params.groups.z;
                across++;
                if (across == params.window.y) {
                    across = 0u;
                    down++;
                }
                t0 = tap(p0, base, down, across);
                t1 = tap(p1, base, down, across);
            }
            add(&sums, t0, t1, k, plane, wi + 2u * k);
            k++;
        }
    } else {
        for (var down = 0u; down < params.window.x; down++) {
            for (var across = 0u; across < params.window.y; across++) {
                let t0 = tap(p0, base, down, across);
                let t1 = tap(p1, base, down, across);
                for (var k = 0u; k < channels; k++) {
                    add(&sums, t0, t1, k, plane, wi + 2u * k);
                }
                wi += 2u * params.groups.z;
            }
        }
    }
    // One loop over all sixteen vectors: a pipeline takes longer to make, the oftener the epilogue is inlined.
    let all = array<mat4x4f, 4>(sums.a00, sums.a10, sums.a01, sums.a11);
    for (var i = 0u; i < select(8u, 16u, both); i++) {
        let second = (i & 4u) != 0u;
        let k = i & 3u;
        if (select(p0.live[k], p1.live[k], second)) {
            let to = out + (i >> 3u);
            let p = select(p0.at[k], p1.at[k], second);
            let place = (n * params.output.y + to) * params.output.z * params.output.w + p;
            y(place, epilogue(all[i >> 2u][k], place, n, to, p));
        }
    }
}
