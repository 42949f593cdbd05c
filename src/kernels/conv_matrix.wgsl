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
@group(0) @binding(1) var<storage, read_write> b0: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> b2: array<vec4<f32>>;
const GROUP: u32 = 64u;
const POINTWISE: bool = false;
const WIDE: bool = true;
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
// Convolution in C4. A thread computes four pixels of four output channels, or of eight where WIDE: for every tap and four
// input channels the product of two 4 x 4 matrices. Neighbours read neighbouring vectors, so that a GPU joins their loads.
// The parameters are those of conv_outer.

struct Pixels {
    at: vec4u,
    live: vec4<bool>,
    top: vec4i,
    left: vec4i,
}

fn pixels(first: u32) -> Pixels {
    let size = params.output.z * params.output.w;
    let wanted = vec4u(first) + params.tiles.x * vec4u(0u, 1u, 2u, 3u);
    let at = min(wanted, vec4u(size - 1u));
    var out = Pixels(at, wanted < vec4u(size), vec4i(), vec4i());
    if (!POINTWISE) {
        let width = params.output.w;
        out.top = vec4i(at / width) * params.steps.x - params.begins.x;
        out.left = vec4i(at % width) * params.steps.y - params.begins.y;
    }
    return out;
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
    let per = select(1u, 2u, WIDE);
    let group = tile / tiles.z;
    let c = per * (tile % tiles.z);
    let both = WIDE && c + 1u < params.groups.y;
    let out = group * params.groups.y + c;

    let bias0 = w(tiles.w + out);
    let bias1 = w(tiles.w + select(out, out + 1u, both));
    let size = vec2i(params.input.zw);
    let plane = params.input.z * params.input.w;
    let base = (n * params.input.y + group * params.groups.x) * plane;
    let p = pixels(first);
    var a0 = mat4x4f(bias0, bias0, bias0, bias0);
    var a1 = mat4x4f(bias1, bias1, bias1, bias1);
    for (var tap = 0u; tap < params.window.w; tap++) {
        var i = p.at;
        var inside = vec4<bool>(true);
        if (!POINTWISE) {
            let y = p.top + i32(tap / params.window.y) * params.steps.z;
            let x = p.left + i32(tap % params.window.y) * params.steps.w;
            inside = (y >= vec4i()) & (y < vec4i(size.x)) & (x >= vec4i()) & (x < vec4i(size.y));
            i = vec4u(select(vec4i(), y * size.y + x, inside));
        }
        i += base;
        var wi = per * params.groups.z * (tile * params.window.w + tap);
        for (var k = 0u; k < params.groups.x; k++) {
            var v = mat4x4f(x(i.x), x(i.y), x(i.z), x(i.w));
            if (!POINTWISE) {
                v = mat4x4f(
                    select(vec4f(), v[0], inside.x),
                    select(vec4f(), v[1], inside.y),
                    select(vec4f(), v[2], inside.z),
                    select(vec4f(), v[3], inside.w),
                );
            }
            a0 += mat4x4f(w(wi), w(wi + per), w(wi + 2u * per), w(wi + 3u * per)) * v;
            if (WIDE) {
                a1 += mat4x4f(w(wi + 1u), w(wi + 3u), w(wi + 5u), w(wi + 7u)) * v;
            }
            wi += 4u * per;
            i += plane;
        }
    }
    write(a0, p, n, out);
    if (both) {
        write(a1, p, n, out + 1u);
    }
}
