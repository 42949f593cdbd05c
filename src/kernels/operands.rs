//! The part of a head that reads operands at the place where an output element is written, and the epilogue made of them.

use super::access::{self, C4Access, RowMajorAccess, Walk};
use super::context::Arg;
use super::head::{Head, Slot};
use super::pack;
use super::steps::Number;
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{Binary, Step};
use std::fmt::Write;

impl<'a> Head<'_, 'a> {
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
}

fn c4_index(name: &str, channel: &str) -> String {
    let s = format!("params.{name}_strides");
    let w = format!("params.{name}_width");
    format!("n * {s}.x + {channel} * {s}.y + (p / {w}) * {s}.z + (p % {w}) * {s}.w")
}
