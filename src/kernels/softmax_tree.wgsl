// One row a workgroup: shares of the row for each invocation, joined in trees.
struct Params {
    rows: u32,
    elements: u32,
    inner: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> b0: array<f32>;
@group(0) @binding(2) var<storage, read_write> b1: array<f32>;
const GROUP: u32 = 64u;
const LOG: u32 = 0u;
const KEEP: u32 = 1u;
fn load(i: u32) -> f32 {
    return b0[i];
}
fn kept(i: u32) -> f32 {
    return b1[i];
}
fn store(i: u32, v: f32) {
    b1[i] = v;
}
// ---- body ----

var<workgroup> shared_: array<f32, GROUP>;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group.y * groups.x + group.x;
    if i >= params.rows {
        return;
    }
    let inner = params.inner;
    let base = (i / inner) * params.elements * inner + i % inner;
    let end = base + params.elements * inner;
    let begin = base + local * inner;
    let stride = GROUP * inner;
    var most = -3.4028234e38;
    for (var k = begin; k < end; k += stride) {
        most = max(most, load(k));
    }
    shared_[local] = most;
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if local < half {
            shared_[local] = max(shared_[local], shared_[local + half]);
        }
    }
    workgroupBarrier();
    let top = shared_[0];
    workgroupBarrier();
    var sum = 0.0;
    for (var k = begin; k < end; k += stride) {
        sum += exp(load(k) - top);
    }
    shared_[local] = sum;
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if local < half {
            shared_[local] += shared_[local + half];
        }
    }
    workgroupBarrier();
    let scale = 1.0 / shared_[0];
    let shift = top + log(shared_[0]);
    for (var k = begin; k < end; k += stride) {
        if LOG == 1u {
            store(k, load(k) - shift);
        } else {
            store(k, exp(load(k) - top) * scale);
        }
    }
}
