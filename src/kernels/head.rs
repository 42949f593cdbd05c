//! The head of a module: what Rust writes in front of a body.

use super::access::{self, C4Access, RowMajorAccess, Walk};
use super::context::{Arg, Context, to_u32};
use super::launch::{Launch, Packed, Source};
use super::pack;
use super::params::Params;
use super::steps::{Number, Steps};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{Binary, Step};
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
    ctx: &'c Context<'a>,
    /// The parameter block.
    pub params: Params,
    buffers: Vec<Buffer<'a>>,
    frame: Option<usize>,
    picture: Option<usize>,
    text: String,
    steps: Steps,
    steps_wide: bool,
    masked: bool,
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
            (DType::F16, true) if self.packs(buffer) => "vec2u(pack2x16float(v.xy), pack2x16float(v.zw))",
            (DType::F16, false) if self.packs(buffer) => {
                let message = "this kernel writes single float16 values, which needs a device with shader-f16";
                return Err(self.ctx.unsupported(message).hint("compile with precision \"float32\""));
            }
            (DType::F16, true) => "vec4<f16>(v)",
            (DType::F16, false) => "f16(v)",
            _ => "v",
        };
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

    /// `fn name(walk…) -> T`: input `input`, broadcast to output 0, at the place that `walk` visits.
    pub fn operand(&mut self, name: &str, input: usize, walk: Walk) -> Result<Number> {
        let (arg, out) = (self.ctx.input(input)?, self.ctx.output(0)?);
        let read = match walk {
            Walk::C4 => self.c4_operand(name, input, &arg, &out)?,
            Walk::Scalar | Walk::Flat4 => self.row_major_operand(name, input, &arg, &out, walk.wide())?,
        };
        let number = Number::of(arg.ty.dtype);
        let ty = number.wgsl(walk.wide());
        let _ = writeln!(self.text, "fn {name}({}) -> {ty} {{\n    return {read};\n}}", walk.parameters());
        Ok(number)
    }

    fn row_major_operand(
        &mut self,
        name: &str,
        input: usize,
        arg: &Arg<'a>,
        out: &Arg<'a>,
        wide: bool,
    ) -> Result<String> {
        if arg.is_c4() && arg.shape().elements() > 1 {
            let message = format!("input {input} is c4 beside a row-major output");
            return Err(Error::new(ErrorKind::LayoutMismatch, message));
        }
        let ty = Number::of(arg.ty.dtype).wgsl(wide);
        let lanes = |head: &Self, slot: Slot, index: &dyn Fn(&str) -> String| {
            let lane = |k: u32| head.load(slot, &index(&format!("4u * i + {k}u")), false);
            format!("{ty}({}, {}, {}, {})", lane(0), lane(1), lane(2), lane(3))
        };
        Ok(match access::row_major(arg, out)? {
            RowMajorAccess::Full => {
                let slot = self.input(input, wide)?;
                self.load(slot, "i", wide)
            }
            RowMajorAccess::One => {
                let slot = self.input(input, false)?;
                format!("{ty}({})", self.load(slot, "0u", false))
            }
            RowMajorAccess::Suffix(n) => {
                self.params.u32(&format!("{name}_len"), if wide && n % 4 == 0 { n / 4 } else { n });
                let index = |i: &str| format!("({i}) % params.{name}_len");
                if wide && n % 4 != 0 {
                    let slot = self.input(input, false)?;
                    lanes(self, slot, &index)
                } else {
                    let slot = self.input(input, wide)?;
                    self.load(slot, &index("i"), wide)
                }
            }
            RowMajorAccess::Strided(strided) => {
                let splat = strided.dims.last().is_some_and(|d| d % 4 == 0) && strided.strides.last() == Some(&0);
                self.index_function(&format!("{name}_at"), &strided, 0)?;
                let slot = self.input(input, false)?;
                let index = |i: &str| format!("{name}_at({i})");
                match (wide, splat) {
                    (false, _) => self.load(slot, &index("i"), false),
                    (true, true) => format!("{ty}({})", self.load(slot, &index("4u * i"), false)),
                    (true, false) => lanes(self, slot, &index),
                }
            }
        })
    }

    /// `fn name(i: u32) -> u32`: `base` plus the operand's element for output element i. At most eight dimensions.
    pub fn index_function(&mut self, name: &str, strided: &access::Strided, base: u32) -> Result<()> {
        if strided.dims.len() > 8 {
            return Err(super::copy::too_deep(strided.dims.len()));
        }
        let start = if base == 0 {
            "0u".to_owned()
        } else {
            self.params.u32(&format!("{name}_base"), base);
            format!("params.{name}_base")
        };
        self.params.eight_u(&format!("{name}_dims"), &strided.dims);
        self.params.eight_u(&format!("{name}_strides"), &strided.strides);
        let mut body = format!("    var rest = i;\n    var at = {start};\n");
        for k in (0..strided.dims.len()).rev() {
            let dim = format!("params.{name}_dims[{}][{}]", k / 4, k % 4);
            let stride = format!("params.{name}_strides[{}][{}]", k / 4, k % 4);
            if k == 0 {
                let _ = writeln!(body, "    at += rest * {stride};");
            } else {
                let _ = writeln!(body, "    at += (rest % {dim}) * {stride};\n    rest /= {dim};");
            }
        }
        let _ = writeln!(self.text, "fn {name}(i: u32) -> u32 {{\n{body}    return at;\n}}");
        Ok(())
    }

    fn c4_operand(&mut self, name: &str, input: usize, arg: &Arg<'a>, out: &Arg<'a>) -> Result<String> {
        let ty = Number::of(arg.ty.dtype).wgsl(true);
        let how = access::c4(arg, out)?;
        let slot = match (arg.constant, how) {
            (Some(tensor), C4Access::One) => self.weights(pack::row_major(tensor), arg.ty.dtype, false),
            (Some(tensor), _) => self.weights(pack::c4(tensor)?, arg.ty.dtype, true),
            (None, C4Access::One | C4Access::Lanes { .. }) => self.input(input, false)?,
            (None, _) => self.input(input, true)?,
        };
        let width = out.c4()?.w;
        Ok(match how {
            C4Access::Full => self.load(slot, "i", true),
            C4Access::One => format!("{ty}({})", self.load(slot, "0u", false)),
            C4Access::Channel { picture: 0 } => self.load(slot, "c", true),
            C4Access::Channel { picture } => {
                self.params.u32(&format!("{name}_picture"), picture);
                self.load(slot, &format!("n * params.{name}_picture + c"), true)
            }
            C4Access::Strided { strides, splat } => {
                self.params.vec4u(&format!("{name}_strides"), strides);
                self.params.u32(&format!("{name}_width"), width);
                let index = c4_index(name, "c");
                let read = self.load(slot, &index, true);
                if splat { format!("{ty}(({read}).x)") } else { read }
            }
            C4Access::Lanes { strides } => {
                self.params.vec4u(&format!("{name}_strides"), strides);
                self.params.u32(&format!("{name}_width"), width);
                let lane = |k: u32| self.load(slot, &c4_index(name, &format!("(4u * c + {k}u)")), false);
                format!("{ty}({}, {}, {}, {})", lane(0), lane(1), lane(2), lane(3))
            }
        })
    }

    /// `fn epilogue(v, walk…) -> T`: the node's steps on one result, and in C4 the zeroing of padding lanes. `number` is
    /// what the body computes; the function gives the type of output 0.
    pub fn epilogue(&mut self, walk: Walk, number: Number) -> Result<()> {
        let ctx = self.ctx;
        let wide = walk.wide();
        let mut number = number;
        let from = number.wgsl(wide);
        let mut body = String::new();
        let mut v = "v".to_owned();
        for (k, step) in ctx.epilogue.steps.iter().enumerate() {
            let text = match *step {
                Step::Unary(op) => {
                    // A step uses its operand more than once: it must be a name.
                    self.steps(wide).unary(op, &v, number, wide)?
                }
                Step::Scalar { op, value, swapped } => {
                    let (constant, known) = self.scalar(&format!("s{k}"), value, number, wide);
                    self.scalar_step(op, &v, &constant, known, swapped, &mut number, wide)?
                }
                Step::Tensor { op, input, swapped } => {
                    let name = format!("e{k}");
                    let own = self.operand(&name, input, walk)?;
                    if own != number {
                        let message = format!("step {k} joins {} and {}", number.wgsl(false), own.wgsl(false));
                        return Err(Error::new(ErrorKind::DtypeMismatch, message));
                    }
                    let _ = writeln!(body, "    let t{k} = {name}({});", walk.arguments());
                    let t = format!("t{k}");
                    // Either order gives the same; one shader less.
                    let swapped = swapped && !matches!(op, Binary::Add | Binary::Mul);
                    let (a, b) = if swapped { (t.as_str(), v.as_str()) } else { (v.as_str(), t.as_str()) };
                    let (text, result) = self.steps(wide).binary(op, a, b, number, wide)?;
                    number = result;
                    text
                }
            };
            v = format!("v{k}");
            let _ = writeln!(body, "    let {v} = {text};");
        }
        let out = ctx.output(0)?;
        if Number::of(out.ty.dtype).wgsl(wide) != number.wgsl(wide) {
            let message = format!("the kernel computes {} for an output of {}", number.wgsl(false), out.ty.dtype);
            return Err(Error::new(ErrorKind::DtypeMismatch, message));
        }
        let to = number.wgsl(wide);
        if walk == Walk::C4 && (self.masked || out.c4()?.channels % 4 != 0) {
            self.params.u32("channels", out.c4()?.channels);
            let lanes = "4u * c + vec4u(0u, 1u, 2u, 3u) < vec4u(params.channels)";
            let _ = writeln!(body, "    return select({to}(), {v}, {lanes});");
        } else {
            let _ = writeln!(body, "    return {v};");
        }
        let head = format!("fn epilogue(v: {from}, {}) -> {to} {{", walk.parameters());
        let _ = writeln!(self.text, "{head}\n{body}}}");
        Ok(())
    }

    /// A constant of a step as an expression: a parameter, so that it makes no shader of its own; and, where the value asks
    /// for another formula, the value.
    fn scalar(&mut self, name: &str, value: f32, number: Number, wide: bool) -> (String, f32) {
        let ty = number.wgsl(wide);
        match number {
            Number::Float => self.params.f32(name, value),
            Number::Int => self.params.i32(name, value as i32),
            Number::Uint | Number::Bool => self.params.u32(name, value as u32),
        }
        (format!("{ty}(params.{name})"), value)
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one step")]
    fn scalar_step(
        &mut self,
        op: Binary,
        v: &str,
        constant: &str,
        value: f32,
        swapped: bool,
        number: &mut Number,
        wide: bool,
    ) -> Result<String> {
        if op == Binary::Pow && !swapped && *number == Number::Float {
            if value == 2.0 {
                return Ok(format!("{v} * {v}"));
            }
            if value == 0.5 {
                return Ok(format!("sqrt({v})"));
            }
        }
        let swapped = swapped && !matches!(op, Binary::Add | Binary::Mul);
        let (a, b) = if swapped { (constant, v) } else { (v, constant) };
        let (text, result) = self.steps(wide).binary(op, a, b, *number, wide)?;
        *number = result;
        Ok(text)
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

fn c4_index(name: &str, channel: &str) -> String {
    let s = format!("params.{name}_strides");
    let w = format!("params.{name}_width");
    format!("n * {s}.x + {channel} * {s}.y + (p / {w}) * {s}.z + (p % {w}) * {s}.w")
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
