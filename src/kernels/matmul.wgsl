struct Params {
    size: vec4u,
    strides: vec4u,
    scale: vec4f,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> b0: array<f32>;
@group(0) @binding(2) var<storage, read_write> b1: array<f32>;
@group(0) @binding(3) var<storage, read_write> b2: array<f32>;
const GROUP: u32 = 64u;
const TALL: bool = true;
fn left(i: u32) -> f32 {
    return b0[i];
}
fn element(i: u32) -> f32 {
    return b1[i];
}
fn y(i: u32, v: f32) {
    b2[i] = v;
}
fn epilogue(v: f32, i: u32) -> f32 {
    return v;
}
fn scaled(v: f32, i: u32) -> f32 {
    return v;
}
fn left_matrix(i: u32) -> u32 {
    return i;
}
fn right_matrix(i: u32) -> u32 {
    return i;
}
fn right(matrix: u32, k: u32, c: u32) -> vec4f {
    let first = matrix * params.size.y * params.size.z + k * params.strides.z;
    let at = min(4u * c + vec4u(0u, 1u, 2u, 3u), vec4u(params.size.z - 1u)) * params.strides.w;
    return vec4f(element(first + at.x), element(first + at.y), element(first + at.z), element(first + at.w));
}
fn put(row: u32, c: u32, v: vec4f) {
    for (var k = 0u; k < 4u && 4u * c + k < params.size.z; k++) {
        let i = row * params.size.z + 4u * c + k;
        y(i, epilogue(scaled(v[k], i), i));
    }
}
// ---- body ----
// Stacks of row-major matrices, multiplied. A thread computes four rows, or eight where TALL, of eight columns: for every step
// of the sum, the outer product of as many scalars and two vectors.
//
// params: size is (rows, steps of the sum, columns, matrices). strides are those of the left operand (row, step) and of the
// right one (step, column). scale is (alpha, beta, unused, unused).

fn outer(w: vec4f, x: vec4f) -> mat4x4f {
    return mat4x4f(w * x.x, w * x.y, w * x.z, w * x.w);
}

fn write(v: mat4x4f, matrix: u32, row: u32, c: u32) {
    if (4u * c >= params.size.z) {
        return;
    }
    for (var k = 0u; k < 4u && row + k < params.size.x; k++) {
        put(matrix * params.size.x + row + k, c, v[k]);
    }
}

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) place: vec3u,
    @builtin(num_workgroups) places: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let rows = select(4u, 8u, TALL);
    let thread = (place.y * places.x + place.x) * GROUP + local;
    let across = (params.size.z + 7u) / 8u;
    let down = (params.size.x + rows - 1u) / rows;
    let c = 2u * (thread % across);
    let row = rows * (thread / across % down);
    let matrix = thread / (across * down);
    if (matrix >= params.size.w) {
        return;
    }
    let last = vec4u(params.size.x - 1u);
    let base = left_matrix(matrix) * params.size.x * params.size.y;
    let source = right_matrix(matrix);
    var i0 = base + params.strides.x * min(row + vec4u(0u, 1u, 2u, 3u), last);
    var i1 = base + params.strides.x * min(row + vec4u(4u, 5u, 6u, 7u), last);
    var a00 = mat4x4f();
    var a01 = mat4x4f();
    var a10 = mat4x4f();
    var a11 = mat4x4f();
    for (var k = 0u; k < params.size.y; k++) {
        let w0 = right(source, k, c);
        let w1 = right(source, k, c + 1u);
        let x0 = vec4f(left(i0.x), left(i0.y), left(i0.z), left(i0.w));
        a00 += outer(w0, x0);
        a01 += outer(w1, x0);
        i0 += params.strides.y;
        if (TALL) {
            let x1 = vec4f(left(i1.x), left(i1.y), left(i1.z), left(i1.w));
            a10 += outer(w0, x1);
            a11 += outer(w1, x1);
            i1 += params.strides.y;
        }
    }
    write(a00, matrix, row, c);
    write(a01, matrix, row, c + 1u);
    if (TALL) {
        write(a10, matrix, row + 4u, c);
        write(a11, matrix, row + 4u, c + 1u);
    }
}
