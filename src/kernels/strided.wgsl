// Lays the elements of a strided view one behind the other. Elements are 32-bit words, or 16 bits, two to a word.
struct Params {
    dims: array<vec4u, 2>,
    strides: array<vec4u, 2>,
    count: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> b0: array<u32>;
@group(0) @binding(2) var<storage, read_write> b1: array<u32>;
const GROUP: u32 = 64u;
const HALVES: bool = false;
// ---- body ----

fn place(i: u32) -> u32 {
    var rest = i;
    var at = 0u;
    for (var k = 8u; k > 0u; k -= 1u) {
        let axis = k - 1u;
        let size = params.dims[axis / 4u][axis % 4u];
        at += (rest % size) * params.strides[axis / 4u][axis % 4u];
        rest /= size;
    }
    return at;
}

fn half(i: u32) -> u32 {
    let at = place(i);
    return (b0[at >> 1u] >> (16u * (at & 1u))) & 0xffffu;
}

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
    if HALVES {
        b1[i] = half(2u * i) | (half(2u * i + 1u) << 16u);
    } else {
        b1[i] = b0[place(i)];
    }
}
