//! Operators that cut a tensor to size: slices, parts, padding.

use super::args::{
    at_most, axis, distinct_axes, infer_known, infer_one, ints, invalid, known_operands, optional, optional_ints,
    output, required, same_dtype, shape_error, size,
};
use super::remap::{AxisMap, identity, remap};
use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{Tensor, TensorType};

/// What lies outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub enum PadMode {
    #[default]
    Constant,
    Reflect,
    Edge,
    Wrap,
}

/// Inputs: x, pads (int64, begins then ends, may be negative), optional value (scalar), optional axes (int64).
/// <https://onnx.ai/onnx/operators/onnx__Pad.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Pad {
    pub mode: PadMode,
}

/// Inputs: x, starts, ends, optional axes, optional steps (int64 or int32).
/// <https://onnx.ai/onnx/operators/onnx__Slice.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slice;

/// Inputs: x, optional sizes (int64). `parts` outputs along `axis`; without sizes they are equal, the last may be smaller.
/// <https://onnx.ai/onnx/operators/onnx__Split.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Split {
    pub axis: i64,
    pub parts: usize,
}

impl Pad {
    /// For each dimension, elements put before and after it; negative cuts.
    pub fn amounts(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<(i64, i64)>> {
        let rank = required(inputs, 0, "input")?.ty.shape.len();
        let pads = ints(required(inputs, 1, "pads")?, "pads")?;
        let axes = match optional_ints(inputs, 3, "axes")? {
            Some(list) => distinct_axes(&list, rank)?,
            None => (0..rank).collect(),
        };
        if pads.len() != axes.len() * 2 {
            return Err(shape_error(format!("{} pads for {} axes, expected twice as many", pads.len(), axes.len())));
        }
        if let Some(pad) = pads.iter().find(|p| i32::try_from(**p).is_err()) {
            return Err(shape_error(format!("pad {pad} is out of range")));
        }
        let mut amounts = vec![(0, 0); rank];
        for (i, &at) in axes.iter().enumerate() {
            amounts[at] = (pads[i], pads[i + axes.len()]);
        }
        Ok(amounts)
    }

    /// How many of `n` elements negative pads leave.
    fn kept(&self, n: usize, (begin, end): (i64, i64)) -> Result<usize> {
        let cut = |pad: i64| pad.min(0).unsigned_abs() as usize;
        let kept = n.checked_sub(cut(begin)).and_then(|n| n.checked_sub(cut(end)));
        let kept = kept.ok_or_else(|| shape_error(format!("pads {begin} and {end} cut more than the {n} elements")))?;
        if kept == 0 && self.mode != PadMode::Constant && (begin > 0 || end > 0) {
            return Err(shape_error("an empty dimension has no elements to pad with"));
        }
        Ok(kept)
    }

    /// Which of the `n` elements of a dimension each output element reads; `None` is the padding value. Negative pads
    /// cut first, then the rest is padded.
    pub fn sources(&self, n: usize, (begin, end): (i64, i64)) -> Result<AxisMap> {
        let kept = self.kept(n, (begin, end))?;
        let from = begin.min(0).unsigned_abs() as usize;
        let (begin, end) = (begin.max(0), end.max(0));
        let last = kept as i64 - 1;
        let inside = |i: i64| match self.mode {
            PadMode::Constant => (0..=last).contains(&i).then_some(i),
            PadMode::Edge => Some(i.clamp(0, last.max(0))),
            PadMode::Wrap => Some(i.rem_euclid(last + 1)),
            // Beyond size - 1 the reflection is reflected again, with period 2 (size - 1), as numpy does.
            PadMode::Reflect if last == 0 => Some(0),
            PadMode::Reflect => {
                let at = i.rem_euclid(2 * last);
                Some(if at > last { 2 * last - at } else { at })
            }
        };
        let source = |i: i64| inside(i).map(|i| i as usize + from);
        Ok(if kept == 0 { vec![None; (begin + end) as usize] } else { (-begin..=last + end).map(source).collect() })
    }
}

impl Operator for Pad {
    fn name(&self) -> &'static str {
        "Pad"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 4)?;
        let x = required(inputs, 0, "input")?.ty;
        if let Some(value) = optional(inputs, 2) {
            same_dtype(x, value.ty)?;
            if value.ty.shape.elements() != 1 {
                return Err(shape_error(format!("its value has shape {}, expected a scalar", value.ty.shape)));
            }
        }
        let mut dims = Vec::with_capacity(x.shape.len());
        for (&n, (begin, end)) in x.shape.iter().zip(self.amounts(inputs)?) {
            let total = i64::try_from(n).ok().and_then(|n| n.checked_add(begin + end));
            dims.push(size(total.unwrap_or(i64::MAX), "a padded dimension")?);
            self.kept(n, (begin, end))?;
        }
        Ok(vec![output(x.dtype, dims)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let x = required(inputs, 0, "input")?;
        let amounts = known_operands(inputs, |operands| self.amounts(operands))?;
        let strides = x.shape().row_major_strides();
        let mut maps = Vec::with_capacity(amounts.len());
        for ((&n, amount), stride) in x.shape().iter().zip(amounts).zip(strides) {
            let sources = self.sources(n, amount)?;
            maps.push(sources.into_iter().map(|i| i.and_then(|i| i.checked_mul(stride))).collect());
        }
        let data = remap(x.data(), &maps, optional(inputs, 2).map(Tensor::data))?;
        Ok(vec![Tensor::new(ty.shape, data)?])
    }
}

/// A run of elements of one dimension: `first`, `first + step`, …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceAxis {
    /// First element.
    pub first: usize,
    /// Distance between elements; negative runs backwards.
    pub step: i64,
    /// Elements.
    pub len: usize,
}

impl Slice {
    /// What is taken of each dimension.
    pub fn axes(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<SliceAxis>> {
        let x = required(inputs, 0, "input")?.ty;
        let rank = x.shape.len();
        let starts = ints(required(inputs, 1, "starts")?, "starts")?;
        let ends = ints(required(inputs, 2, "ends")?, "ends")?;
        let axes = match optional_ints(inputs, 3, "axes")? {
            Some(list) => distinct_axes(&list, rank)?,
            None if starts.len() <= rank => (0..starts.len()).collect(),
            None => return Err(shape_error(format!("{} starts for {rank} dimensions", starts.len()))),
        };
        let steps = optional_ints(inputs, 4, "steps")?.unwrap_or_else(|| vec![1; axes.len()]);
        if [starts.len(), ends.len(), steps.len()] != [axes.len(); 3] {
            return Err(shape_error("starts, ends, axes and steps have different lengths"));
        }
        let mut taken: Vec<_> = x.shape.iter().map(|&len| SliceAxis { first: 0, step: 1, len }).collect();
        for (i, &at) in axes.iter().enumerate() {
            taken[at] = SliceAxis::new(starts[i], ends[i], steps[i], x.shape[at])?;
        }
        Ok(taken)
    }
}

impl SliceAxis {
    /// numpy's `start:end:step` of `n` elements: negative counts from the end, and what lies outside is clamped.
    fn new(start: i64, end: i64, step: i64, n: usize) -> Result<Self> {
        if step == 0 {
            return Err(invalid("a step is 0"));
        }
        let n = i64::try_from(n).map_err(|_| shape_error("a dimension is too large"))?;
        let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
        let place = |at: i64| if at < 0 { at.saturating_add(n) } else { at }.clamp(low, high);
        let (start, end) = (place(start), place(end));
        let distance = if step > 0 { end - start } else { start - end };
        let len = if distance <= 0 { 0 } else { (distance as u64 - 1) / step.unsigned_abs() + 1 };
        Ok(Self { first: start.max(0) as usize, step, len: len as usize })
    }

    /// The elements taken, in order.
    pub fn sources(&self) -> impl Iterator<Item = usize> {
        let Self { first, step, len } = *self;
        (0..len as i64).map(move |i| (first as i64).saturating_add(i.saturating_mul(step)) as usize)
    }
}

impl Operator for Slice {
    fn name(&self) -> &'static str {
        "Slice"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 5)?;
        let x = required(inputs, 0, "input")?.ty;
        let dims = self.axes(inputs)?.into_iter().map(|a| a.len).collect();
        Ok(vec![output(x.dtype, dims)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let x = required(inputs, 0, "input")?;
        let axes = known_operands(inputs, |operands| self.axes(operands))?;
        let axes = axes.into_iter().zip(x.shape().row_major_strides());
        let maps: Vec<_> =
            axes.map(|(a, stride)| a.sources().map(|i| i.checked_mul(stride)).collect::<AxisMap>()).collect();
        Ok(vec![Tensor::new(ty.shape, remap(x.data(), &maps, None)?)?])
    }
}

impl Split {
    /// The size of each part along the axis of length `n`.
    pub fn sizes(&self, n: usize, given: Option<Vec<i64>>) -> Result<Vec<usize>> {
        let Some(given) = given else {
            if self.parts == 0 {
                return Err(invalid("it has no outputs"));
            }
            let part = n.div_ceil(self.parts);
            let last = (self.parts - 1).checked_mul(part).and_then(|whole| n.checked_sub(whole));
            let last = last.ok_or_else(|| shape_error(format!("{n} elements do not make {} parts", self.parts)))?;
            let mut sizes = super::elements::filled(self.parts, part)?;
            sizes[self.parts - 1] = last;
            return Ok(sizes);
        };
        let sizes = given.iter().map(|&s| size(s, "a part")).collect::<Result<Vec<_>>>()?;
        let sum = sizes.iter().try_fold(0usize, |sum, &s| sum.checked_add(s));
        if sizes.len() != self.parts || sum != Some(n) {
            return Err(shape_error(format!("parts {sizes:?} for {} outputs and {n} elements", self.parts)));
        }
        Ok(sizes)
    }
}

impl Operator for Split {
    fn name(&self) -> &'static str {
        "Split"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 2)?;
        let x = required(inputs, 0, "input")?.ty;
        let at = axis(self.axis, x.shape.len())?;
        let sizes = self.sizes(x.shape[at], optional_ints(inputs, 1, "split")?)?;
        let part = |n: usize| {
            let mut dims = x.shape.to_vec();
            dims[at] = n;
            output(x.dtype, dims)
        };
        sizes.into_iter().map(part).collect()
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let x = required(inputs, 0, "input")?;
        let at = axis(self.axis, x.shape().len())?;
        let mut rest = identity(x.shape());
        let mut parts = Vec::new();
        for ty in infer_known(self, inputs)? {
            let n = ty.shape[at].min(rest[at].len());
            let later = rest[at].split_off(n);
            parts.push(Tensor::new(ty.shape, remap(x.data(), &rest, None)?)?);
            rest[at] = later;
        }
        Ok(parts)
    }
}
