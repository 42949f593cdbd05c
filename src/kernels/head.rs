//! The head of a module: what Rust writes in front of a body.

use super::context::{Arg, Context, to_u32};
use super::launch::{Launch, Packed, Source};
use super::pack;
use super::params::Params;
use super::steps::{Number, Steps};
use crate::error::{Error, ErrorKind, Result};
use crate::recording::Shader;
use crate::tensor::DType;
use std::fmt::Write;

/// The line between the head and the body of a `.wgsl` file.
pub const FENCE: &str = "// ---- body ----";

/// The frame block as [`crate::ops::FrameTransform::to_block`] writes it.
const FRAME: &str = "\
// Two rows of the affine map from the model's pixels to the frame's, the part of the frame that is looked at (left, top, right,
// bottom), the frame's width and height.
struct Frame {
    x: vec4f,
    y: vec4f,
    bounds: vec4f,
    size: vec4f,
}
";
const PICTURE: &str = "texture_2d<f32>;";
/// What `pack2x16float` makes of a NaN is the adapter's affair, and `x != x` the compiler's: the bits tell.
const PACK_HALF: &str = "\
fn pack_half(v: vec2f) -> u32 {
    let is_nan = (bitcast<vec2u>(v) & vec2u(0x7fffffffu)) > vec2u(0x7f800000u);
    let p = pack2x16float(v);
    return select(p & 0xffffu, 0x7e00u, is_nan.x) | select(p & 0xffff0000u, 0x7e000000u, is_nan.y);
}
";
const TEXEL: &str = "fn texel(at: vec2i) -> vec4f {\n    return textureLoad(picture, at, 0);\n}\n";

/// A bound buffer of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(usize);

struct Buffer<'a> {
    source: Source<'a>,
    storage: Option<u32>,
    dtype: DType,
    /// Elements of the binding's array are vectors of four.
    wide: bool,
}

/// Collects declarations for one shader: bindings, parameters, accessors, the epilogue.
///
/// Slot 0 is the parameter block where there are parameters; buffers follow in the order they were asked for. Arguments
/// of one storage share a binding, whatever they are to the kernel, so a body never names a binding: it calls the accessor
/// functions that the head declares.
pub struct Head<'c, 'a> {
    pub(super) ctx: &'c Context<'a>,
    /// The parameter block.
    pub params: Params,
    buffers: Vec<Buffer<'a>>,
    frame: Option<usize>,
    picture: Option<usize>,
    pub(super) text: String,
    steps: Steps,
    steps_wide: bool,
    pub(super) masked: bool,
}

impl<'c, 'a> Head<'c, 'a> {
    /// An empty head.
    pub fn new(ctx: &'c Context<'a>) -> Self {
        Self {
            ctx,
            params: Params::default(),
            buffers: Vec::new(),
            frame: None,
            picture: None,
            text: String::new(),
            steps: Steps::default(),
            steps_wide: false,
            masked: false,
        }
    }

    /// Lets the epilogue zero padding lanes also where there are none: one shader for any number of channels, of a kernel
    /// whose pipeline takes long to make.
    pub fn mask_always(&mut self) {
        self.masked = true;
    }

    /// `const name: u32 = value;`
    pub fn define(&mut self, name: &str, value: u32) {
        let _ = writeln!(self.text, "const {name}: u32 = {value}u;");
    }

    /// `alias name = ty;`
    pub fn alias(&mut self, name: &str, ty: &str) {
        let _ = writeln!(self.text, "alias {name} = {ty};");
    }

    /// Binds the frame block of model input `input` as `frame`.
    pub fn frame(&mut self, input: usize) {
        self.frame = Some(input);
    }

    /// Binds the frame handed in for model input `input`; `fn texel(at: vec2i) -> vec4f` reads it.
    pub fn picture(&mut self, input: usize) {
        self.picture = Some(input);
    }

    /// Any other declaration.
    pub fn declare(&mut self, text: &str) {
        self.text.push_str(text.trim_end());
        self.text.push('\n');
    }

    /// Where expressions of steps are written; the functions they need join the head. One width a shader.
    pub fn steps(&mut self, wide: bool) -> &mut Steps {
        self.steps_wide = wide;
        &mut self.steps
    }

    /// Binds input `i`: the arena, or, where it is a constant, its elements in row-major order as weights.
    pub fn input(&mut self, i: usize, wide: bool) -> Result<Slot> {
        let arg = self.ctx.input(i)?;
        match arg.constant {
            Some(tensor) => Ok(self.weights(pack::row_major(tensor), arg.ty.dtype, wide)),
            None => Ok(self.bind(Source::Input(i), Some(arg.storage), arg.ty.dtype, wide)),
        }
    }

    /// Binds output `i`.
    pub fn output(&mut self, i: usize, wide: bool) -> Result<Slot> {
        let arg = self.ctx.output(i)?;
        Ok(self.bind(Source::Output(i), Some(arg.storage), arg.ty.dtype, wide))
    }

    /// Binds packed weights.
    pub fn weights(&mut self, packed: Packed<'a>, dtype: DType, wide: bool) -> Slot {
        self.bind(Source::Weights(packed), None, dtype, wide)
    }

    /// Binds the node's workspace.
    pub fn scratch(&mut self, dtype: DType, wide: bool) -> Slot {
        self.bind(Source::Scratch, None, dtype, wide)
    }

    fn bind(&mut self, source: Source<'a>, storage: Option<u32>, dtype: DType, wide: bool) -> Slot {
        let shared = self.buffers.iter().position(|b| match (&b.source, &source) {
            (Source::Scratch, Source::Scratch) => true,
            _ => storage.is_some() && b.storage == storage,
        });
        if let Some(i) = shared {
            return Slot(i);
        }
        self.buffers.push(Buffer { source, storage, dtype, wide });
        Slot(self.buffers.len() - 1)
    }

    /// An expression for element `index`, or vector `index` where `wide`, as f32, i32 or u32.
    pub fn load(&self, slot: Slot, index: &str, wide: bool) -> String {
        let Some(buffer) = self.buffers.get(slot.0) else { return String::new() };
        let b = format!("b{}", slot.0);
        if self.packs(buffer) {
            return packed_half(&b, buffer.wide, index, wide);
        }
        let one = |index: &str| {
            if buffer.wide { format!("{b}[({index}) >> 2u][({index}) & 3u]") } else { format!("{b}[{index}]") }
        };
        let read = match (buffer.wide, wide) {
            (_, false) => one(index),
            (true, true) => format!("{b}[{index}]"),
            (false, true) => {
                let lane = |k: u32| one(&format!("4u * ({index}) + {k}u"));
                format!("vec4<{}>({}, {}, {}, {})", storage_type(buffer.dtype), lane(0), lane(1), lane(2), lane(3))
            }
        };
        match buffer.dtype {
            DType::F16 => format!("{}({read})", Number::Float.wgsl(wide)),
            _ => read,
        }
    }

    /// `fn name(i: u32) -> T`, which reads element (or vector) i.
    pub fn loader(&mut self, name: &str, slot: Slot, wide: bool) {
        let ty = self.number(slot).wgsl(wide);
        let read = self.load(slot, "i", wide);
        let _ = writeln!(self.text, "fn {name}(i: u32) -> {ty} {{\n    return {read};\n}}");
    }

    /// `fn name(i: u32, v: T)`, which writes element (or vector) i. The slot must have been bound at that width.
    pub fn storer(&mut self, name: &str, slot: Slot, wide: bool) -> Result<()> {
        let number = self.number(slot);
        let Some(buffer) = self.buffers.get(slot.0).filter(|b| b.wide == wide) else {
            let message = "a kernel writes a buffer at another width than it reads it";
            return Err(Error::new(ErrorKind::LayoutMismatch, message));
        };
        let value = match (buffer.dtype, wide) {
            (DType::F16, true) if self.packs(buffer) => "vec2u(pack_half(v.xy), pack_half(v.zw))",
            (DType::F16, false) if self.packs(buffer) => {
                let message = "this kernel writes single float16 values, which needs a device with shader-f16";
                return Err(self.ctx.unsupported(message).hint("compile with precision \"float32\""));
            }
            (DType::F16, true) => "vec4<f16>(v)",
            (DType::F16, false) => "f16(v)",
            _ => "v",
        };
        if value.contains("pack_half") && !self.text.contains(PACK_HALF) {
            self.text.push_str(PACK_HALF);
        }
        let ty = number.wgsl(wide);
        let _ = writeln!(self.text, "fn {name}(i: u32, v: {ty}) {{\n    b{}[i] = {value};\n}}", slot.0);
        Ok(())
    }

    /// Whether float16 lies two to a word, because the adapter's shaders have no such type. The bytes are the same.
    fn packs(&self, buffer: &Buffer<'_>) -> bool {
        buffer.dtype == DType::F16 && !self.ctx.limits.f16
    }

    fn number(&self, slot: Slot) -> Number {
        self.buffers.get(slot.0).map_or(Number::Float, |b| Number::of(b.dtype))
    }

    /// Puts head and body together. `body` is a whole `.wgsl` file; what stands in front of its fence is left out.
    pub fn finish(self, label: impl Into<String>, file: &str, groups: [u32; 3]) -> Result<Launch<'a>> {
        let (_, body) = file.split_once(FENCE).ok_or_else(|| {
            Error::new(ErrorKind::UnsupportedOp, "a kernel's text has no fence between head and body")
        })?;
        if self.buffers.len() > self.ctx.limits.max_storage_buffers as usize {
            let message = format!(
                "it reads and writes {} buffers and the device binds {}",
                self.buffers.len(),
                self.ctx.limits.max_storage_buffers
            );
            return Err(Error::new(ErrorKind::UnsupportedOp, message).hint("fuse fewer tensors into one node"));
        }
        let f16 = self.buffers.iter().any(|b| b.dtype == DType::F16 && self.ctx.limits.f16);
        let mut wgsl = String::new();
        if f16 {
            wgsl.push_str("enable f16;\n");
        }
        let mut bindings = Vec::with_capacity(self.buffers.len() + 1);
        if !self.params.is_empty() {
            wgsl.push_str(&self.params.declaration());
            wgsl.push_str("@group(0) @binding(0) var<uniform> params: Params;\n");
            bindings.push(Source::Params);
        }
        if let Some(input) = self.frame {
            wgsl.push_str(FRAME);
            let _ = writeln!(wgsl, "@group(0) @binding({}) var<uniform> frame: Frame;", bindings.len());
            bindings.push(Source::Frame(input));
        }
        if let Some(input) = self.picture {
            let _ = writeln!(wgsl, "@group(0) @binding({}) var picture: {PICTURE}", bindings.len());
            wgsl.push_str(TEXEL);
            bindings.push(Source::Picture(input));
        }
        for (i, buffer) in self.buffers.into_iter().enumerate() {
            let access = if matches!(buffer.source, Source::Weights(_)) { "read" } else { "read_write" };
            let scalar = storage_type(buffer.dtype);
            let element = match (buffer.dtype == DType::F16 && !f16, buffer.wide) {
                (true, true) => "vec2u".to_owned(),
                (true, false) => "u32".to_owned(),
                (false, true) => format!("vec4<{scalar}>"),
                (false, false) => scalar.to_owned(),
            };
            let slot = bindings.len();
            let _ = writeln!(wgsl, "@group(0) @binding({slot}) var<storage, {access}> b{i}: array<{element}>;");
            bindings.push(buffer.source);
        }
        wgsl.push_str(&self.steps.functions(self.steps_wide));
        wgsl.push_str(&self.text);
        wgsl.push_str(body.trim_start_matches('\n'));
        let external = self
            .picture
            .is_some()
            .then(|| wgsl.replace(PICTURE, "texture_external;").replace(TEXEL, &TEXEL.replace("at, 0", "at")));
        let shader = Shader { label: label.into(), wgsl, external, f16 };
        Ok(Launch { shader, bindings, params: self.params.into_bytes(), groups })
    }
}

/// The WGSL type of one element in a buffer.
pub fn storage_type(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 => "f16",
        _ => Number::of(dtype).wgsl(false),
    }
}

/// Element `index`, or vector `index` where `wide`, of float16 that lies two to a word in `b`.
fn packed_half(b: &str, wide_buffer: bool, index: &str, wide: bool) -> String {
    let word = |index: &str| {
        if wide_buffer {
            format!("{b}[({index}) >> 2u][(({index}) >> 1u) & 1u]")
        } else {
            format!("{b}[({index}) >> 1u]")
        }
    };
    let pair = |k: u32| {
        let at = if wide_buffer { format!("{b}[{index}][{k}]") } else { word(&format!("4u * ({index}) + {}u", 2 * k)) };
        format!("unpack2x16float({at})")
    };
    if wide {
        format!("vec4f({}, {})", pair(0), pair(1))
    } else {
        format!("unpack2x16float({})[({index}) & 1u]", word(index))
    }
}

/// The dimensions of a C4 tensor as a parameter: `name: vec4u` = (n, channel groups, h, w).
pub fn c4_param(params: &mut Params, name: &str, arg: &Arg<'_>) -> Result<()> {
    let d = arg.c4()?;
    params.vec4u(name, [d.n, d.groups, d.h, d.w]);
    Ok(())
}

/// A size as a parameter.
pub fn size_param(params: &mut Params, name: &str, size: usize) -> Result<()> {
    params.u32(name, to_u32(size)?);
    Ok(())
}
