//! Pooling over a window: <https://onnx.ai/onnx/operators/onnx__AveragePool.html>.

use super::args::{at_most, float, infer_one, number, output, required, shape_error};
use super::elements::{range, reserve};
use super::window::{Rounding, Window, WindowAxis, three};
use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{Data, Tensor, TensorType};

/// What is taken of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub enum PoolKind {
    Max,
    Average { count_include_pad: bool },
}

/// MaxPool and AveragePool (the indices output is not supported). Global pools are [`super::Reduce`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub struct Pool {
    pub kind: PoolKind,
    pub window: Window,
    pub ceil_mode: bool,
}

impl Pool {
    /// The window along each spatial dimension, for an input of this shape.
    pub fn axes(&self, x: &[usize]) -> Result<Vec<WindowAxis>> {
        let Some(spatial) = x.get(2..).filter(|s| !s.is_empty()) else {
            return Err(shape_error(format!("input has {} dimensions, expected 3 or more", x.len())));
        };
        let rounding = if self.ceil_mode { Rounding::Ceil } else { Rounding::Floor };
        self.window.slide(spatial, &self.window.kernel, rounding)
    }
}

/// The taps of output `o` that lie in `-begin..input + end` (with `padded`) or in `0..input`; both as tap numbers.
fn taps(axis: &WindowAxis, o: usize, padded: bool) -> std::ops::Range<usize> {
    let (low, limit) = if padded { (axis.begin as i64, axis.input + axis.begin + axis.end) } else { (0, axis.input) };
    let first = axis.stride as i64 * o as i64 - axis.begin as i64;
    super::window::span(axis.kernel, axis.dilation, first + low, limit)
}

impl Operator for Pool {
    fn name(&self) -> &'static str {
        match self.kind {
            PoolKind::Max => "MaxPool",
            PoolKind::Average { .. } => "AveragePool",
        }
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 1)?;
        let x = required(inputs, 0, "input")?.ty;
        match self.kind {
            PoolKind::Max => number(x, "its input")?,
            PoolKind::Average { .. } => float(x, "its input")?,
        }
        let axes = self.axes(&x.shape)?;
        let mut dims = vec![x.shape[0], x.shape[1]];
        dims.extend(axes.iter().map(|a| a.output));
        Ok(vec![output(x.dtype, dims)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let x = required(inputs, 0, "input")?;
        let axes = three(&self.axes(x.shape())?)?;
        let plane: usize = axes.iter().map(|a| a.input).product();
        let data = x.data().to_f64();
        let lowest = range(ty.dtype).0;
        let mut y = reserve(ty.shape.checked_elements()?)?;
        let [d, h, w] = &axes;
        for channel in 0..x.shape()[0] * x.shape()[1] {
            let source = &data[channel * plane..][..plane];
            for (od, oh, ow) in places(d.output, h.output, w.output) {
                let inside = [taps(d, od, false), taps(h, oh, false), taps(w, ow, false)];
                let values = window(&axes, [od, oh, ow], inside.clone()).map(|at| source[at]);
                y.push(match self.kind {
                    PoolKind::Max => values.fold(lowest, super::scalar::max),
                    PoolKind::Average { count_include_pad } => {
                        let counted = if count_include_pad {
                            [taps(d, od, true), taps(h, oh, true), taps(w, ow, true)]
                        } else {
                            inside
                        };
                        let count: usize = counted.iter().map(ExactSizeIterator::len).product();
                        // A window wholly in the padding has no average; it gives zero, like its padding.
                        values.sum::<f64>() / count.max(1) as f64
                    }
                });
            }
        }
        Ok(vec![Tensor::new(ty.shape, Data::from_f64(ty.dtype, y))?])
    }
}

/// All index triples, the last fastest.
fn places(d: usize, h: usize, w: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..d).flat_map(move |i| (0..h).flat_map(move |j| (0..w).map(move |k| (i, j, k))))
}

/// Offsets into a channel that the taps of one output read.
fn window(axes: &[WindowAxis; 3], at: [usize; 3], taps: [std::ops::Range<usize>; 3]) -> impl Iterator<Item = usize> {
    let [d, h, w] = *axes;
    let [td, th, tw] = taps;
    let place = |a: WindowAxis, o: usize, tap: usize| (a.stride as i64 * o as i64 + a.offset(tap)) as usize;
    td.flat_map(move |kd| {
        let tw = tw.clone();
        th.clone().flat_map(move |kh| {
            let row = (place(d, at[0], kd) * h.input + place(h, at[1], kh)) * w.input;
            tw.clone().map(move |kw| row + place(w, at[2], kw))
        })
    })
}
