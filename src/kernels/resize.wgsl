// Resampling of the two last dimensions. Which input elements make an output element, and by what weight, is a table made at
// compile time: for each row, then for each column, TAPS pairs (index, weight), two pairs in a vector.
struct Params {
    size: vec4u,
    count: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> b0: array<f32>;
@group(0) @binding(2) var<storage, read_write> b1: array<f32>;
@group(0) @binding(3) var<storage, read> b2: array<vec4<f32>>;
const GROUP: u32 = 64u;
alias T = f32;
fn load(i: u32) -> f32 {
    return b0[i];
}
fn result(v: T, i: u32, q: u32, p: u32) -> f32 {
    return v;
}
fn store(i: u32, v: f32) {
    b1[i] = v;
}
fn table(i: u32) -> vec4f {
    return b2[i];
}
fn sample(base: u32, y: u32, x: u32) -> T {
    let r = table(y);
    let c = table(x);
    let a = base + u32(r.x) * params.size.y;
    let b = base + u32(r.z) * params.size.y;
    let i = u32(c.x);
    let j = u32(c.z);
    return r.y * (c.y * load(a + i) + c.w * load(a + j)) + r.w * (c.y * load(b + i) + c.w * load(b + j));
}
// ---- body ----

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (group.y * groups.x + group.x) * GROUP + local;
    if i >= params.count {
        return;
    }
    let height = params.size.z;
    let width = params.size.w;
    let p = i % (height * width);
    let q = i / (height * width);
    let base = q * params.size.x * params.size.y;
    store(i, result(sample(base, p / width, height + p % width), i, q, p));
}
