//! Resampling: <https://onnx.ai/onnx/operators/onnx__Resize.html>.

use super::args::{
    at_most, distinct_axes, infer_one, invalid, known, known_operands, number, optional, optional_ints, output,
    required, shape_error, size,
};
use super::elements::filled;
use super::remap::{AxisMap, identity, remap};
use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{Data, Shape, Tensor, TensorType};

/// Interpolation.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub enum ResizeMode {
    Nearest(NearestMode),
    Linear,
    Cubic { coefficient: f32, exclude_outside: bool },
}

/// Rounding of the nearest mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub enum NearestMode {
    RoundPreferFloor,
    RoundPreferCeil,
    Floor,
    Ceil,
}

/// Where an output pixel lies in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub enum Coordinates {
    HalfPixel,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    HalfPixelSymmetric,
}

/// Inputs: x, optional roi, optional scales (float32), optional sizes (int64). Opset-9 Upsample arrives here too.
#[derive(Debug, Clone, PartialEq)]
pub struct Resize {
    /// Interpolation.
    pub mode: ResizeMode,
    /// Coordinate transformation.
    pub coordinates: Coordinates,
    /// The axes that `scales` or `sizes` speak of; empty means all.
    pub axes: Vec<i64>,
}

/// How one dimension is resampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResizeAxis {
    /// Elements of the input.
    pub input: usize,
    /// Elements of the output.
    pub output: usize,
    /// The scale as the model gives it; `None` where it follows from the sizes and is the fraction output / input.
    pub scale: Option<f32>,
}

/// A part of an output element: `weight` times the input element `index`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tap {
    /// Index into the input along the dimension.
    pub index: usize,
    /// Factor.
    pub weight: f64,
}

impl ResizeAxis {
    /// True where the dimension stays as it is.
    pub fn is_identity(&self) -> bool {
        self.input == self.output && self.scale.is_none_or(|s| s == 1.0)
    }

    /// Where output element `i` lies in the input. Written as one division of whole numbers where the scale is a
    /// fraction, so that what is whole in exact arithmetic is whole here; else in float32, as the model's scale is.
    fn place(&self, i: usize, coordinates: Coordinates) -> f64 {
        let (i, input, output) = (i as f64, self.input as f64, self.output as f64);
        let unscale = |x: f64| match self.scale {
            Some(scale) => f64::from(x as f32 / scale),
            None => x * input / output,
        };
        // The output's size before it is cut to a whole number of elements.
        let wanted = self.scale.map_or(output, |s| f64::from(s) * input);
        match coordinates {
            Coordinates::Asymmetric => unscale(i),
            Coordinates::HalfPixel => unscale(i + 0.5) - 0.5,
            Coordinates::PytorchHalfPixel if self.output > 1 => unscale(i + 0.5) - 0.5,
            Coordinates::PytorchHalfPixel => 0.0,
            Coordinates::AlignCorners if self.output > 1 && wanted > 1.0 => i * (input - 1.0) / (wanted - 1.0),
            Coordinates::AlignCorners => 0.0,
            Coordinates::HalfPixelSymmetric => input / 2.0 * (1.0 - output / wanted) + unscale(i + 0.5) - 0.5,
        }
    }

    /// The input elements that make output element `i`, with their weights.
    pub fn taps(&self, i: usize, mode: ResizeMode, coordinates: Coordinates) -> Vec<Tap> {
        let x = self.place(i, coordinates);
        let last = self.input.saturating_sub(1) as f64;
        let tap = |at: f64, weight: f64| Tap { index: at.clamp(0.0, last) as usize, weight };
        match mode {
            ResizeMode::Nearest(rounding) => vec![tap(rounding.round(x), 1.0)],
            ResizeMode::Linear => {
                // Clamped first, so that beyond the border the border's element counts alone.
                let x = x.clamp(0.0, last);
                let (low, part) = (x.floor(), x - x.floor());
                vec![tap(low, 1.0 - part), tap(low + 1.0, part)]
            }
            ResizeMode::Cubic { coefficient, exclude_outside } => {
                let (low, part) = (x.floor(), x - x.floor());
                let mut taps: Vec<(f64, f64)> = cubic(f64::from(coefficient), part)
                    .into_iter()
                    .zip([-1.0, 0.0, 1.0, 2.0])
                    .map(|(weight, step)| (low + step, weight))
                    .collect();
                if exclude_outside {
                    let inside = |at: f64| (0.0..=last).contains(&at);
                    let sum: f64 = taps.iter().filter(|(at, _)| inside(*at)).map(|(_, w)| w).sum();
                    taps.iter_mut().for_each(|(at, w)| *w = if inside(*at) { *w / sum } else { 0.0 });
                }
                taps.into_iter().map(|(at, weight)| tap(at, weight)).collect()
            }
        }
    }
}

/// Weights of the four neighbours at distances 1 + t, t, 1 - t, 2 - t (Keys, "Cubic convolution interpolation", 1981).
fn cubic(a: f64, t: f64) -> [f64; 4] {
    let near = |d: f64| ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
    let far = |d: f64| ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
    [far(1.0 + t), near(t), near(1.0 - t), far(2.0 - t)]
}

impl NearestMode {
    fn round(self, x: f64) -> f64 {
        match self {
            Self::RoundPreferFloor => (x - 0.5).ceil(),
            Self::RoundPreferCeil => (x + 0.5).floor(),
            Self::Floor => x.floor(),
            Self::Ceil => x.ceil(),
        }
    }
}

impl Resize {
    /// How each dimension is resampled; `inputs` are the operator's.
    pub fn dimensions(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<ResizeAxis>> {
        let x = required(inputs, 0, "input")?.ty;
        let rank = x.shape.len();
        let axes = if self.axes.is_empty() { (0..rank).collect() } else { distinct_axes(&self.axes, rank)? };
        let mut all: Vec<_> = x.shape.iter().map(|&n| ResizeAxis { input: n, output: n, scale: None }).collect();
        // An empty tensor stands for an input that was left out: older exporters write it so.
        let given = |i: usize| optional(inputs, i).filter(|o| o.ty.shape.elements() > 0);
        let (scales, sizes) = (given(2), given(3));
        let expect = |n: usize, what: &str| {
            if n == axes.len() { Ok(()) } else { Err(shape_error(format!("{n} {what} for {} axes", axes.len()))) }
        };
        match (scales, sizes) {
            (Some(scales), None) => {
                let scales = known(scales, "scales")?.to_f32();
                expect(scales.len(), "scales")?;
                for (&at, &scale) in axes.iter().zip(&scales) {
                    if !(scale.is_finite() && scale > 0.0) {
                        return Err(invalid(format!("scale {scale} is no positive number")));
                    }
                    let wanted = (all[at].input as f32 * scale).floor();
                    if wanted >= i32::MAX as f32 {
                        return Err(shape_error(format!("scale {scale} makes its output too large")));
                    }
                    all[at] = ResizeAxis { output: wanted as usize, scale: Some(scale), ..all[at] };
                }
            }
            (None, Some(_)) => {
                let sizes = optional_ints(inputs, 3, "sizes")?.unwrap_or_default();
                expect(sizes.len(), "sizes")?;
                for (&at, &n) in axes.iter().zip(&sizes) {
                    all[at].output = size(n, "an output size")?;
                }
            }
            (Some(_), Some(_)) => return Err(invalid("both scales and sizes are given")),
            (None, None) => return Err(invalid("neither scales nor sizes are given")),
        }
        if let Some(axis) = all.iter().find(|a| a.input == 0 && a.output > 0) {
            return Err(shape_error(format!("an empty dimension cannot be resized to {}", axis.output)));
        }
        Ok(all)
    }
}

impl Operator for Resize {
    fn name(&self) -> &'static str {
        "Resize"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 4)?;
        let x = required(inputs, 0, "input")?.ty;
        number(x, "its input")?;
        let dims = self.dimensions(inputs)?.into_iter().map(|a| a.output).collect();
        Ok(vec![output(x.dtype, dims)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let x = required(inputs, 0, "input")?;
        let axes = known_operands(inputs, |operands| self.dimensions(operands))?;
        let taps = |axis: &ResizeAxis, i: usize| axis.taps(i, self.mode, self.coordinates);
        if matches!(self.mode, ResizeMode::Nearest(_)) {
            let nearest = |(axis, map): (&ResizeAxis, AxisMap)| -> AxisMap {
                if axis.is_identity() {
                    return map;
                }
                (0..axis.output)
                    .map(|i| taps(axis, i).first().and_then(|t| map.get(t.index).copied().flatten()))
                    .collect()
            };
            let maps: Vec<_> = axes.iter().zip(identity(x.shape())).map(nearest).collect();
            return Ok(vec![Tensor::new(ty.shape, remap(x.data(), &maps, None)?)?]);
        }
        // The weights of several dimensions multiply, so one dimension after the other may be resampled.
        let mut data = x.data().to_f64();
        let mut shape = x.shape().clone();
        for (at, axis) in axes.iter().enumerate().filter(|(_, axis)| !axis.is_identity()) {
            let taps: Vec<_> = (0..axis.output).map(|i| taps(axis, i)).collect();
            data = resample(&data, &mut shape, at, &taps)?;
        }
        Ok(vec![Tensor::new(ty.shape, Data::from_f64(ty.dtype, data))?])
    }
}

/// Resamples dimension `at` and updates `shape`.
fn resample(data: &[f64], shape: &mut Shape, at: usize, taps: &[Vec<Tap>]) -> Result<Vec<f64>> {
    let inner: usize = shape[at + 1..].iter().product();
    let n = shape[at];
    shape.0[at] = taps.len();
    let mut out = filled(shape.checked_elements()?, 0.0)?;
    if inner == 0 {
        return Ok(out);
    }
    for (row, to) in out.chunks_mut(inner).enumerate() {
        let block = row / taps.len();
        for tap in &taps[row % taps.len()] {
            let from = &data[(block * n + tap.index) * inner..][..inner];
            to.iter_mut().zip(from).for_each(|(sum, v)| *sum += tap.weight * v);
        }
    }
    Ok(out)
}
