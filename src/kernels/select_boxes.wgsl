struct Params {
    // Rows, values of a row, most boxes.
    counts: vec4u,
    // Intersection over union from which boxes overlap.
    iou: f32,
}
@group(0) @binding(0) var<uniform> params: Params;
struct Frame {
    x: vec4f,
    y: vec4f,
    bounds: vec4f,
    size: vec4f,
}
@group(0) @binding(1) var<uniform> frame: Frame;
@group(0) @binding(2) var<storage, read_write> b0: array<f32>;
@group(0) @binding(3) var<storage, read_write> b1: array<f32>;
@group(0) @binding(4) var<storage, read_write> b2: array<f32>;
const BLEND: bool = true;
const CLASS_AGNOSTIC: bool = false;
fn load_row(i: u32) -> f32 {
    return b0[i];
}
fn load_out(i: u32) -> f32 {
    return b1[i];
}
fn store(i: u32, v: f32) {
    b1[i] = v;
}
fn load_state(i: u32) -> f32 {
    return b2[i];
}
fn store_state(i: u32, v: f32) {
    b2[i] = v;
}
// ---- body ----
// One workgroup: boxes that are kept depend on those kept before. Each invocation owns every 64th row. A row's state is its
// score; negative while it belongs to the box at hand, zero once it is spent.
const SIZE: u32 = 64u;
const ROW_HEAD: u32 = 6u;
var<workgroup> scores: array<f32, SIZE>;
var<workgroup> rows: array<u32, SIZE>;
var<workgroup> sums: array<f32, SIZE>;
var<workgroup> chosen: u32;

fn place(p: vec2f) -> vec2f {
    let at = vec3f(p, 1.0);
    return vec2f(dot(frame.x.xyz, at), dot(frame.y.xyz, at));
}

fn box_of(row: u32) -> vec4f {
    let at = row * params.counts.y;
    return vec4f(load_row(at), load_row(at + 1u), load_row(at + 2u), load_row(at + 3u));
}

fn overlap(a: vec4f, b: vec4f) -> f32 {
    let low = max(a.xy - a.zw / 2.0, b.xy - b.zw / 2.0);
    let high = min(a.xy + a.zw / 2.0, b.xy + b.zw / 2.0);
    let side = max(high - low, vec2f(0.0));
    let inner = side.x * side.y;
    let joined = a.z * a.w + b.z * b.w - inner;
    return select(0.0, inner / joined, joined > 0.0);
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) me: u32) {
    let n = params.counts.x;
    let r = params.counts.y;
    for (var i = me; i < (params.counts.z + 1u) * r; i += SIZE) {
        store(i, 0.0);
    }
    for (var i = me; i < n; i += SIZE) {
        store_state(i, load_row(i * r + 4u));
    }
    var kept = 0u;
    loop {
        // The best row that is left: each invocation's own, then the first of the group.
        var best = 0.0;
        var best_row = n;
        for (var i = me; i < n; i += SIZE) {
            let score = load_state(i);
            if (score > best) {
                best = score;
                best_row = i;
            }
        }
        scores[me] = best;
        rows[me] = best_row;
        workgroupBarrier();
        if (me == 0u) {
            var top = 0.0;
            var row = n;
            for (var k = 0u; k < SIZE; k++) {
                if (scores[k] > top || (scores[k] == top && rows[k] < row)) {
                    top = scores[k];
                    row = rows[k];
                }
            }
            chosen = row;
        }
        let winner = workgroupUniformLoad(&chosen);
        if (winner >= n || kept >= params.counts.z) {
            break;
        }
        let reference = box_of(winner);
        let top = load_row(winner * r + 4u);
        let label = load_row(winner * r + 5u);
        storageBarrier();
        workgroupBarrier();
        // Rows that overlap join the box at hand.
        var total = 0.0;
        for (var i = me; i < n; i += SIZE) {
            let score = load_state(i);
            let same = CLASS_AGNOSTIC || load_row(i * r + 5u) == label;
            if (score > 0.0 && (i == winner || (same && overlap(reference, box_of(i)) > params.iou))) {
                store_state(i, -score);
                total += score;
            }
        }
        sums[me] = total;
        storageBarrier();
        workgroupBarrier();
        var all = 0.0;
        for (var k = 0u; k < SIZE; k++) {
            all += sums[k];
        }
        // Invocation k computes value k of the result (and k + 64, …): a fixed order of summation.
        let out = (kept + 1u) * r;
        for (var k = me; k < r; k += SIZE) {
            var v = load_row(winner * r + k);
            if (k == 4u) {
                v = top;
            } else if (BLEND && k != 5u) {
                v = 0.0;
                for (var i = 0u; i < n; i++) {
                    let score = load_state(i);
                    if (score < 0.0) {
                        v += load_row(i * r + k) * -score;
                    }
                }
                v /= all;
            }
            store(out + k, v);
        }
        storageBarrier();
        workgroupBarrier();
        for (var i = me; i < n; i += SIZE) {
            if (load_state(i) < 0.0) {
                store_state(i, 0.0);
            }
        }
        kept += 1u;
        storageBarrier();
        workgroupBarrier();
    }
    // To the frame: left, top, width, height, and the keypoints.
    storageBarrier();
    workgroupBarrier();
    for (var b = me; b < kept; b += SIZE) {
        let out = (b + 1u) * r;
        let centre = vec2f(load_out(out), load_out(out + 1u));
        let size = vec2f(load_out(out + 2u), load_out(out + 3u));
        let p = place(centre - size / 2.0);
        let q = place(centre + size / 2.0);
        let corner = min(p, q);
        store(out, corner.x);
        store(out + 1u, corner.y);
        store(out + 2u, abs(p.x - q.x));
        store(out + 3u, abs(p.y - q.y));
        for (var k = ROW_HEAD; k + 1u < r; k += 2u) {
            let point = place(vec2f(load_out(out + k), load_out(out + k + 1u)));
            store(out + k, point.x);
            store(out + k + 1u, point.y);
        }
    }
    if (me == 0u) {
        store(0u, f32(kept));
    }
}
