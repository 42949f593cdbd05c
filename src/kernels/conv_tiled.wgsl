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
// Convolution in C4 as a product of matrices through shared memory: a workgroup computes 32 pixels of 32 output channels and
// reads each operand once. For GPUs: on a CPU a barrier costs more than it saves. The parameters are those of conv_outer, with
// a channel tile of eight vectors; workgroups are (pixel tiles, channel tiles, pictures).

// Four input vectors of 32 pixels, and sixteen input channels of eight output vectors.
var<workgroup> xs: array<vec4f, 128>;
var<workgroup> ws: array<vec4f, 128>;

@compute @workgroup_size(8, 8)
fn main(
    @builtin(workgroup_id) place: vec3u,
    @builtin(local_invocation_id) local: vec3u,
    @builtin(local_invocation_index) index: u32,
) {
    let plane = params.input.z * params.input.w;
    let pixels = params.output.z * params.output.w;
    let group = place.y / params.tiles.z;
    let c = 8u * (place.y % params.tiles.z) + local.y;
    let out = group * params.groups.y + c;

    // The pixel that this thread fetches for all; those it computes are others.
    let wanted = place.x * 32u + index % 32u;
    let at = min(wanted, pixels - 1u);
    let top = i32(at / params.output.w) * params.steps.x - params.begins.x;
    let left = i32(at % params.output.w) * params.steps.y - params.begins.y;
    let base = (place.z * params.input.y + group * params.groups.x) * plane;

    let bias = w(params.tiles.w + min(out, params.output.y - 1u));
    var sum = mat4x4f(bias, bias, bias, bias);
    for (var tap = 0u; tap < params.window.w; tap++) {
        let from_y = top + i32(tap / params.window.y) * params.steps.z;
        let from_x = left + i32(tap % params.window.y) * params.steps.w;
        let inside = from_y >= 0 && from_y < i32(params.input.z) && from_x >= 0 && from_x < i32(params.input.w);
        let pixel = base + u32(select(0, from_y * i32(params.input.w) + from_x, inside));
        let weights = 8u * params.groups.z * (place.y * params.window.w + tap);
        for (var block = 0u; block < params.groups.x; block += 4u) {
            for (var half = 0u; half < 2u; half++) {
                let e = index + 64u * half;
                let vector = block + e / 32u;
                xs[e] = vec4f();
                if (inside && vector < params.groups.x) {
                    xs[e] = x(pixel + vector * plane);
                }
                ws[e] = vec4f();
                if (4u * block + e / 8u < params.groups.z) {
                    ws[e] = w(weights + 32u * block + e);
                }
            }
            workgroupBarrier();
            for (var k = 0u; k < 4u; k++) {
                let i = 32u * k + local.x;
                let j = 32u * k + local.y;
                sum += mat4x4f(ws[j], ws[j + 8u], ws[j + 16u], ws[j + 24u])
                    * mat4x4f(xs[i], xs[i + 8u], xs[i + 16u], xs[i + 24u]);
            }
            workgroupBarrier();
        }
    }
    if (c >= params.groups.y) {
        return;
    }
    let to = (place.z * params.output.y + out) * pixels;
    for (var k = 0u; k < 4u; k++) {
        let p = place.x * 32u + local.x + 8u * k;
        if (p < pixels) {
            y(to + p, epilogue(sum[k], to + p, place.z, out, p));
        }
    }
}
