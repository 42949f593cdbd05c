// Resampling of the two last dimensions. Which input elements make an output element, and by what weight, is a table made at
// compile time: TAPS pairs (index, weight) for each row, then for each column.
struct Params {
    size: vec4u,
    count: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> b0: array<f32>;
@group(0) @binding(2) var<storage, read_write> b1: array<f32>;
@group(0) @binding(3) var<storage, read> b2: array<f32>;
const GROUP: u32 = 64u;
const TAPS: u32 = 2u;
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
fn table(i: u32) -> f32 {
    return b2[i];
}
fn add(sum: T, weight: f32, v: T) -> T {
    return sum + weight * v;
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
    let rows = 2u * TAPS * (p / width);
    let columns = 2u * TAPS * (height + p % width);
    let base = q * params.size.x * params.size.y;
    var sum = T();
    for (var a = 0u; a < TAPS; a++) {
        let row = base + u32(table(rows + 2u * a)) * params.size.y;
        let weight = table(rows + 2u * a + 1u);
        for (var b = 0u; b < TAPS; b++) {
            let v = load(row + u32(table(columns + 2u * b)));
            sum = add(sum, weight * table(columns + 2u * b + 1u), v);
        }
    }
    store(i, result(sum, i, q, p));
}
