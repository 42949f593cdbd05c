struct Params {
    pad: vec4f,
    scale: vec4f,
    bias: vec4f,
    size: vec4u,
}
@group(0) @binding(0) var<uniform> params: Params;
// Two rows of the affine map from the result's pixels to the frame's, the part of the frame that is looked at (left, top,
// right, bottom), the frame's width and height.
struct Frame {
    x: vec4f,
    y: vec4f,
    bounds: vec4f,
    size: vec4f,
}
@group(0) @binding(1) var<uniform> frame: Frame;
@group(0) @binding(2) var picture: texture_2d<f32>;
@group(0) @binding(3) var<storage, read_write> b0: array<f32>;
const FILTER: u32 = 0u;
fn texel(at: vec2i) -> vec4f {
    return textureLoad(picture, at, 0);
}
fn levels(rgb: vec3f) -> vec4f {
    return vec4f(rgb, 1.0);
}
fn store(pixel: u32, v: vec4f) {
    b0[3u * pixel] = v.x;
    b0[3u * pixel + 1u] = v.y;
    b0[3u * pixel + 2u] = v.z;
}
// ---- body ----
// The pixel at whole coordinates, the nearest one inside the bounds. External textures are not clamped by the browser.
fn pixel(at: vec2i) -> vec3f {
    let low = vec2i(floor(frame.bounds.xy));
    let high = vec2i(ceil(frame.bounds.zw)) - vec2i(1);
    return clamp(texel(clamp(at, low, high)).rgb, vec3f(0.0), vec3f(1.0));
}

fn linear(at: vec2f) -> vec3f {
    let base = at - vec2f(0.5);
    let whole = floor(base);
    let t = base - whole;
    let i = vec2i(whole);
    let top = mix(pixel(i), pixel(i + vec2i(1, 0)), t.x);
    let bottom = mix(pixel(i + vec2i(0, 1)), pixel(i + vec2i(1, 1)), t.x);
    return mix(top, bottom, t.y);
}

// Keys (1981) with a = -0.5: weights of four neighbours at fraction t.
fn catmull_rom(t: f32) -> vec4f {
    let near = vec2f(t, 1.0 - t);
    let far = near + vec2f(1.0);
    let n = (1.5 * near - vec2f(2.5)) * near * near + vec2f(1.0);
    let f = ((-0.5 * far + vec2f(2.5)) * far - vec2f(4.0)) * far + vec2f(2.0);
    return vec4f(f.x, n.x, n.y, f.y);
}

fn cubic(at: vec2f) -> vec3f {
    let base = at - vec2f(0.5);
    let whole = floor(base);
    let i = vec2i(whole) - vec2i(1);
    let wx = catmull_rom(base.x - whole.x);
    let wy = catmull_rom(base.y - whole.y);
    var sum = vec3f(0.0);
    for (var j = 0; j < 4; j++) {
        for (var k = 0; k < 4; k++) {
            sum += pixel(i + vec2i(k, j)) * (wx[k] * wy[j]);
        }
    }
    return clamp(sum, vec3f(0.0), vec3f(1.0));
}

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if (any(id.xy >= params.size.xy)) {
        return;
    }
    let centre = vec3f(vec2f(id.xy) + vec2f(0.5), 1.0);
    let at = vec2f(dot(frame.x.xyz, centre), dot(frame.y.xyz, centre));
    var rgb = params.pad.rgb;
    if (all(at >= frame.bounds.xy) && all(at < frame.bounds.zw)) {
        if (FILTER == 0u) {
            rgb = linear(at);
        } else if (FILTER == 1u) {
            rgb = pixel(vec2i(floor(at)));
        } else {
            rgb = cubic(at);
        }
    }
    let v = levels(rgb) * params.scale + params.bias;
    store(id.y * params.size.x + id.x, v);
}
