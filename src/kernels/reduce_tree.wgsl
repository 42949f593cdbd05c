// One result a workgroup: its invocations join strided shares, then their sums in a tree.
struct Params {
    results: u32,
    elements: u32,
    inner: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> b0: array<f32>;
@group(0) @binding(2) var<storage, read_write> b1: array<f32>;
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
fn first(i: u32) -> u32 {
    return i * params.elements;
}
fn step(k: u32) -> u32 {
    return k;
}
fn shift(i: u32) -> T {
    return T();
}
fn initial() -> T {
    return T(0.0);
}
fn lift(v: T, shift: T) -> T {
    return v;
}
fn join(a: T, b: T) -> T {
    return a + b;
}
fn finish(v: T, shift: T) -> T {
    return v;
}
// ---- body ----

var<workgroup> shared_: array<T, GROUP>;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group.y * groups.x + group.x;
    if i >= params.results {
        return;
    }
    let base = first(i);
    let s = shift(i);
    var v = initial();
    for (var k = local; k < params.elements; k += GROUP) {
        v = join(v, lift(load(base + step(k)), s));
    }
    shared_[local] = v;
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if local < half {
            shared_[local] = join(shared_[local], shared_[local + half]);
        }
    }
    if local == 0u {
        store(i, result(finish(shared_[0], s), i, i, 0u));
    }
}
