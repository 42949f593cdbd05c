struct Params {
    // Divisor of raw values (x, y), size of the model's input (x, y).
    sizes: vec4f,
    // Threshold, limit of logits.
    score: vec4f,
    // Rows, first row of the result, classes, keypoints.
    counts: vec4u,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b1: array<f32>;
@group(0) @binding(3) var<storage, read_write> b2: array<f32>;
@group(0) @binding(4) var<storage, read_write> b3: array<f32>;
const YOLOX: bool = false;
const SIGMOID: bool = true;
fn load_anchor(i: u32) -> vec4<f32> {
    return b0[i];
}
fn load_score(i: u32) -> f32 {
    return b1[i];
}
fn load_box(i: u32) -> f32 {
    return b2[i];
}
fn store(i: u32, v: f32) {
    b3[i] = v;
}
// ---- body ----
const ROW_HEAD: u32 = 6u;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let i = id.x;
    if (i >= params.counts.x) {
        return;
    }
    let classes = params.counts.z;
    let keypoints = params.counts.w;
    let anchor = load_anchor(params.counts.y + i);
    let out = (params.counts.y + i) * (ROW_HEAD + 2u * keypoints);
    var values = 4u + 2u * keypoints;
    var scores = i * classes;
    if (YOLOX) {
        values = 5u + classes;
        scores = i * values + 5u;
    }
    let first = i * values;
    var best = load_score(scores);
    var label = 0u;
    for (var k = 1u; k < classes; k++) {
        let v = load_score(scores + k);
        if (v > best) {
            best = v;
            label = k;
        }
    }
    if (SIGMOID) {
        best = 1.0 / (1.0 + exp(-clamp(best, -params.score.y, params.score.y)));
    }
    if (YOLOX) {
        best *= load_box(first + 4u);
        store(out, (load_box(first) + anchor.x) * anchor.z);
        store(out + 1u, (load_box(first + 1u) + anchor.y) * anchor.w);
        store(out + 2u, exp(load_box(first + 2u)) * anchor.z);
        store(out + 3u, exp(load_box(first + 3u)) * anchor.w);
    } else {
        let size = anchor.zw / params.sizes.xy;
        let box_size = vec2f(load_box(first + 2u), load_box(first + 3u)) * size * params.sizes.zw;
        store(out + 2u, box_size.x);
        store(out + 3u, box_size.y);
        for (var k = 0u; k <= keypoints; k++) {
            // Point 0 is the centre; the keypoints follow the size.
            let source = first + select(2u + 2u * k, 0u, k == 0u);
            let to = out + select(ROW_HEAD - 2u + 2u * k, 0u, k == 0u);
            let point = (vec2f(load_box(source), load_box(source + 1u)) * size + anchor.xy) * params.sizes.zw;
            store(to, point.x);
            store(to + 1u, point.y);
        }
    }
    // Also false for NaN: a score that is no number is no detection.
    store(out + 4u, select(0.0, best, best >= params.score.x));
    store(out + 5u, f32(label));
}
