// One row an invocation: the largest element, the sum of exponentials, the quotients.
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
// The exponentials wait in the output, where it holds them without loss.
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

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    let i = (group.y * groups.x + group.x) * GROUP + local;
    if i >= params.rows {
        return;
    }
    let inner = params.inner;
    let base = (i / inner) * params.elements * inner + i % inner;
    let end = base + params.elements * inner;
    var top = -3.4028234e38;
    for (var k = base; k < end; k += inner) {
        top = max(top, load(k));
    }
    var sum = 0.0;
    for (var k = base; k < end; k += inner) {
        let e = exp(load(k) - top);
        sum += e;
        if LOG == 0u && KEEP == 1u {
            store(k, e);
        }
    }
    let scale = 1.0 / sum;
    let shift = top + log(sum);
    for (var k = base; k < end; k += inner) {
        if LOG == 1u {
            store(k, load(k) - shift);
        } else if KEEP == 1u {
            store(k, kept(k) * scale);
        } else {
            store(k, exp(load(k) - top) * scale);
        }
    }
}
