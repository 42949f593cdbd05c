//! Small engines written by hand, and a device to run them on.

use frameway::engine::{Build, Engine, Port};
use frameway::ops::Preprocess;
use frameway::recording::{Binding, Command, Dispatch, Range, Recording, Resource, Shader, Space};
use frameway::runtime::{LoadOptions, LoadedEngine, Runtime, RuntimeOptions};
use frameway::tensor::{DType, Device, TensorDesc, TensorType};
use frameway::{Error, ErrorKind};

/// Runs `test` on a device, or says why not.
pub fn on_device<F: Future<Output = ()>>(test: impl FnOnce(Runtime) -> F) {
    on_device_with(RuntimeOptions::default(), test);
}

/// The same with options.
pub fn on_device_with<F: Future<Output = ()>>(options: RuntimeOptions, test: impl FnOnce(Runtime) -> F) {
    match pollster::block_on(Runtime::create(options)) {
        Ok(runtime) => {
            let kept = runtime.clone();
            pollster::block_on(test(runtime));
            assert_eq!(kept.errors(), Vec::<String>::new());
        }
        Err(e) if e.kind() == ErrorKind::NoWebgpu => println!("skipped: {e}"),
        Err(e) => panic!("{e}"),
    }
}

pub const fn range(space: Space, offset: u64, bytes: u64) -> Range {
    Range { space, offset, bytes }
}

pub fn port(name: &str, dtype: DType, shape: &[usize], offset: u64) -> Port {
    let desc = TensorDesc::contiguous(name, &TensorType::new(dtype, shape), Device::Gpu);
    let bytes = (desc.shape.elements() * dtype.gpu_bytes()).next_multiple_of(4) as u64;
    Port { desc, range: range(Space::Arena, offset, bytes), preprocess: None }
}

pub fn dispatch(shader: usize, resources: &[Resource], groups: u32) -> Dispatch {
    let bindings = resources.iter().enumerate().map(|(slot, &resource)| Binding { slot: slot as u32, resource });
    Dispatch { shader, bindings: bindings.collect(), groups: [groups, 1, 1], layer: 0 }
}

pub fn shader(label: &str, wgsl: &str) -> Shader {
    Shader { label: label.into(), wgsl: wgsl.into(), external: None, f16: false }
}

/// `y = x * w + add`, element by element, `n` at most 64.
pub const MULTIPLY_ADD: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read> w: array<f32>;
@group(0) @binding(2) var<uniform> add: vec4<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&y)) { y[id.x] = x[id.x] * w[id.x] + add.x; }
}";

/// `x [4] float32 -> y [4] float32`, y = x * (1, 2, 3, 4) + 10, in one dispatch.
pub fn scale() -> Engine {
    let (x, y) = (port("x", DType::F32, &[4], 0), port("y", DType::F32, &[4], 256));
    let weights = bytemuck::cast_slice(&[1.0f32, 2.0, 3.0, 4.0]).to_vec();
    let params = bytemuck::cast_slice(&[10.0f32, 0.0, 0.0, 0.0]).to_vec();
    let resources = [
        Resource::Buffer(x.range),
        Resource::Buffer(range(Space::Weights, 0, 16)),
        Resource::Buffer(range(Space::Params, 0, 16)),
        Resource::Buffer(y.range),
    ];
    let recording = Recording {
        arena_bytes: 512,
        weights_bytes: 16,
        params,
        shaders: vec![shader("multiply_add", MULTIPLY_ADD)],
        commands: vec![
            Command::Upload { input: 0, to: x.range },
            Command::Dispatch(dispatch(0, &resources, 1)),
            Command::Download { output: 0, from: y.range },
        ],
    };
    engine("scale", recording, weights, vec![x], vec![y])
}

/// `x -> y`, a copy of `n` 32-bit words, or of `n` float16 (`n` even).
pub fn identity(dtype: DType, n: usize) -> Engine {
    let words = (n * dtype.gpu_bytes()).div_ceil(4);
    let (x, y) = (port("x", dtype, &[n], 0), port("y", dtype, &[n], (words as u64 * 4).next_multiple_of(256)));
    let wgsl = "
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&y)) { y[id.x] = x[id.x]; }
}";
    let resources = [Resource::Buffer(x.range), Resource::Buffer(y.range)];
    let recording = Recording {
        arena_bytes: y.range.offset + y.range.bytes,
        shaders: vec![shader("copy", wgsl)],
        commands: vec![
            Command::Upload { input: 0, to: x.range },
            Command::Dispatch(dispatch(0, &resources, words.div_ceil(64) as u32)),
            Command::Download { output: 0, from: y.range },
        ],
        ..Recording::default()
    };
    engine("identity", recording, Vec::new(), vec![x], vec![y])
}

/// A frame's pixels of `width` x `height`, each as its four levels 0..=255 in float32 [h, w, 4], then the frame's size from the frame block.
pub fn picture(width: usize, height: usize) -> Engine {
    let mut x = port("image", DType::F32, &[height, width, 4], 0);
    x.preprocess = Some(Preprocess { width, height, ..Preprocess::default() });
    let y = port("y", DType::F32, &[height, width, 4], x.range.bytes.next_multiple_of(256));
    let size = port("size", DType::F32, &[4], (y.range.offset + y.range.bytes).next_multiple_of(256));
    let sample = "
@group(0) @binding(0) var frame: texture_2d<f32>;
@group(0) @binding(1) var<storage, read_write> x: array<vec4<f32>>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let size = textureDimensions(frame);
    if (id.x < arrayLength(&x)) { x[id.x] = round(textureLoad(frame, vec2(id.x % size.x, id.x / size.x), 0) * 255.0); }
}";
    let copy = "
@group(0) @binding(0) var<storage, read_write> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> size: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> block: array<vec4<f32>, 16>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&y)) { y[id.x] = x[id.x]; }
    if (id.x == 0u) { size[0] = block[3]; }
}";
    let groups = (width * height).div_ceil(64) as u32;
    let into = dispatch(0, &[Resource::Frame { input: 0 }, Resource::Buffer(x.range)], groups);
    let resources = [
        Resource::Buffer(x.range),
        Resource::Buffer(y.range),
        Resource::Buffer(size.range),
        Resource::Buffer(range(Space::Frame, 0, 256)),
    ];
    let recording = Recording {
        arena_bytes: size.range.offset + size.range.bytes,
        shaders: vec![shader("sample", sample), shader("copy", copy)],
        commands: vec![
            Command::Upload { input: 0, to: x.range },
            Command::Frame { input: 0, dispatch: into },
            Command::Dispatch(dispatch(1, &resources, groups)),
            Command::Download { output: 0, from: y.range },
            Command::Download { output: 1, from: size.range },
        ],
        ..Recording::default()
    };
    engine("picture", recording, Vec::new(), vec![x], vec![y, size])
}

fn engine(name: &str, recording: Recording, weights: Vec<u8>, inputs: Vec<Port>, outputs: Vec<Port>) -> Engine {
    Engine { name: name.into(), recording, weights, inputs, outputs, build: Build::default() }
}

pub async fn load(runtime: &Runtime, engine: Engine) -> LoadedEngine {
    runtime.load(engine, LoadOptions::default()).await.unwrap()
}

pub fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    match result {
        Ok(_) => panic!("expected an error"),
        Err(e) => e.kind(),
    }
}
