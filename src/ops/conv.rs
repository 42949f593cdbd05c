//! Convolution and its transpose: <https://onnx.ai/onnx/operators/onnx__Conv.html>.

use super::args::{at_most, float, infer_one, invalid, optional, output, required, same_dtype, shape_error};
use super::elements::{filled, reserve};
use super::window::{AutoPad, Rounding, Window, WindowAxis, three};
use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{Data, Tensor, TensorType};

/// Inputs: x [N, C, spatial…], w [M, C/groups, kernel…], optional bias [M].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conv {
    /// The window.
    pub window: Window,
    /// Channel groups; C for a depthwise convolution.
    pub groups: usize,
}

/// Inputs: x [N, C, spatial…], w [C, M/groups, kernel…], optional bias [M].
/// <https://onnx.ai/onnx/operators/onnx__ConvTranspose.html>
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConvTranspose {
    /// The window.
    pub window: Window,
    /// Channel groups.
    pub groups: usize,
    /// Rows added at the end of each spatial dimension of the output.
    pub output_padding: Vec<usize>,
    /// Wanted spatial size of the output; then the pads follow from it.
    pub output_shape: Vec<usize>,
}

/// Shapes of x and w, split into channels and the rest, after the checks both operators share.
struct Shapes<'a> {
    channels: usize,
    spatial: &'a [usize],
    /// First and second dimension of w.
    weight: [usize; 2],
    kernel: &'a [usize],
}

impl<'a> Shapes<'a> {
    fn new(x: &'a [usize], w: &'a [usize], window: &Window, groups: usize) -> Result<Self> {
        let (&[_, channels, ref spatial @ ..], &[w0, w1, ref kernel @ ..]) = (x, w) else {
            return Err(shape_error("input and weights must have at least 3 dimensions"));
        };
        if spatial.is_empty() || x.len() != w.len() {
            let (x, w) = (x.len(), w.len());
            return Err(shape_error(format!("input has {x} dimensions and weights {w}, expected the same, 3 or more")));
        }
        if !window.kernel.is_empty() && window.kernel != kernel {
            return Err(shape_error(format!("kernel_shape {:?} differs from the weights' {kernel:?}", window.kernel)));
        }
        if groups == 0 {
            return Err(invalid("group is 0"));
        }
        Ok(Self { channels, spatial, weight: [w0, w1], kernel })
    }
}

/// x and w (and bias [`channels`]) must have one float type.
fn check_types(inputs: &[Option<Operand<'_>>], channels: usize) -> Result<()> {
    at_most(inputs, 3)?;
    let (x, w) = (required(inputs, 0, "input")?, required(inputs, 1, "weights")?);
    float(x.ty, "its input")?;
    same_dtype(x.ty, w.ty)?;
    if let Some(bias) = optional(inputs, 2) {
        same_dtype(x.ty, bias.ty)?;
        if bias.ty.shape[..] != [channels] {
            return Err(shape_error(format!("bias has shape {}, expected [{channels}]", bias.ty.shape)));
        }
    }
    Ok(())
}

impl Conv {
    /// The window along each spatial dimension, for an input and weights of these shapes.
    pub fn axes(&self, x: &[usize], w: &[usize]) -> Result<Vec<WindowAxis>> {
        let s = Shapes::new(x, w, &self.window, self.groups)?;
        let [m, per_group] = s.weight;
        if per_group.checked_mul(self.groups) != Some(s.channels) || m % self.groups != 0 {
            return Err(shape_error(format!(
                "input has {} channels and weights are [{m}, {per_group}, …], which does not fit {} groups",
                s.channels, self.groups
            )));
        }
        self.window.slide(s.spatial, s.kernel, Rounding::Floor)
    }
}

impl Operator for Conv {
    fn name(&self) -> &'static str {
        "Conv"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        let (x, w) = (required(inputs, 0, "input")?, required(inputs, 1, "weights")?);
        let axes = self.axes(&x.ty.shape, &w.ty.shape)?;
        check_types(inputs, w.ty.shape[0])?;
        let mut dims = vec![x.ty.shape[0], w.ty.shape[0]];
        dims.extend(axes.iter().map(|a| a.output));
        Ok(vec![output(x.ty.dtype, dims)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let (x, w) = (required(inputs, 0, "input")?, required(inputs, 1, "weights")?);
        let axes = three(&self.axes(x.shape(), w.shape())?)?;
        let bias = optional(inputs, 2).map(|b| b.data().to_f64());
        let (batch, m, per_group) = (x.shape()[0], w.shape()[0], w.shape()[1]);
        let per_group_out = m / self.groups;
        let (x_plane, w_plane, y_plane) = planes(&axes);
        let (x, w) = (x.to_f32(), w.to_f32());
        let mut y = reserve(ty.shape.checked_elements()?)?;
        let mut sum = filled(y_plane, 0.0f64)?;
        for n in 0..batch {
            for o in 0..m {
                sum.fill(bias.as_ref().map_or(0.0, |b| b[o]));
                for c in 0..per_group {
                    let channel = (n * self.groups + o / per_group_out) * per_group + c;
                    let source = &x[channel * x_plane..][..x_plane];
                    let taps = &w[(o * per_group + c) * w_plane..][..w_plane];
                    each_row(&axes, |row| {
                        let tap = f64::from(taps[row.tap]);
                        let to = &mut sum[row.output..][..row.len];
                        let from = &source[row.input..];
                        if row.stride == 1 {
                            to.iter_mut().zip(from).for_each(|(s, &v)| *s += tap * f64::from(v));
                        } else {
                            to.iter_mut()
                                .zip(from.iter().step_by(row.stride))
                                .for_each(|(s, &v)| *s += tap * f64::from(v));
                        }
                    });
                }
                y.extend_from_slice(&sum);
            }
        }
        Ok(vec![Tensor::new(ty.shape, Data::from_f64(ty.dtype, y))?])
    }
}

impl ConvTranspose {
    /// The window along each spatial dimension, seen from the output: the transposed convolution writes what the
    /// convolution reads, so `input` is the size of the operator's output and `output` that of its input.
    pub fn axes(&self, x: &[usize], w: &[usize]) -> Result<Vec<WindowAxis>> {
        let s = Shapes::new(x, w, &self.window, self.groups)?;
        if s.weight[0] != s.channels || s.channels % self.groups != 0 {
            return Err(shape_error(format!(
                "input has {} channels, weights are for {}, in {} groups",
                s.channels, s.weight[0], self.groups
            )));
        }
        let rank = s.spatial.len();
        for (what, list) in [("output_padding", &self.output_padding), ("output_shape", &self.output_shape)] {
            if !list.is_empty() && list.len() != rank {
                return Err(invalid(format!("{what} has {} entries, expected {rank}", list.len())));
            }
        }
        (0..rank).map(|i| self.axis(i, rank, s.spatial[i], s.kernel[i])).collect()
    }

    fn axis(&self, i: usize, rank: usize, steps: usize, kernel: usize) -> Result<WindowAxis> {
        let mut axis = self.window.axis(i, rank, steps, kernel)?;
        let extra = self.output_padding.get(i).copied().unwrap_or(0);
        let too_large = || shape_error("its output is too large");
        let reach = steps.saturating_sub(1).checked_mul(axis.stride).and_then(|n| n.checked_add(axis.extent()));
        let full = reach.and_then(|n| n.checked_add(extra)).ok_or_else(too_large)?;
        let wanted = match (self.output_shape.get(i), self.window.auto_pad) {
            (Some(&n), _) => Some(n),
            (None, AutoPad::SameUpper | AutoPad::SameLower) => {
                Some(steps.checked_mul(axis.stride).ok_or_else(too_large)?)
            }
            (None, AutoPad::Valid) => {
                (axis.begin, axis.end) = (0, 0);
                None
            }
            (None, AutoPad::Explicit) => None,
        };
        let size = match wanted {
            Some(size) => {
                // The whole is halved once and the other half is the rest: never both from the half.
                let total = full.saturating_sub(size);
                let (small, large) = (total / 2, total - total / 2);
                let upper = self.window.auto_pad == AutoPad::SameUpper;
                (axis.begin, axis.end) = if upper { (small, large) } else { (large, small) };
                size
            }
            None => full
                .checked_sub(axis.begin)
                .and_then(|n| n.checked_sub(axis.end))
                .ok_or_else(|| shape_error(format!("pads {} and {} exceed the output", axis.begin, axis.end)))?,
        };
        if i32::try_from(full).is_err() || i32::try_from(size).is_err() {
            return Err(too_large());
        }
        (axis.input, axis.output) = (size, steps);
        Ok(axis)
    }
}

impl Operator for ConvTranspose {
    fn name(&self) -> &'static str {
        "ConvTranspose"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        let (x, w) = (required(inputs, 0, "input")?, required(inputs, 1, "weights")?);
        let axes = self.axes(&x.ty.shape, &w.ty.shape)?;
        let m = w.ty.shape[1].checked_mul(self.groups).ok_or_else(|| shape_error("too many output channels"))?;
        check_types(inputs, m)?;
        let mut dims = vec![x.ty.shape[0], m];
        dims.extend(axes.iter().map(|a| a.input));
        Ok(vec![output(x.ty.dtype, dims)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let (x, w) = (required(inputs, 0, "input")?, required(inputs, 1, "weights")?);
        let axes = three(&self.axes(x.shape(), w.shape())?)?;
        let bias = optional(inputs, 2).map(|b| b.data().to_f64());
        let (batch, channels, per_group_out) = (x.shape()[0], x.shape()[1], w.shape()[1]);
        let per_group = channels / self.groups;
        let (y_plane, w_plane, x_plane) = planes(&axes);
        let (x, w) = (x.to_f32(), w.to_f32());
        let mut y = reserve(ty.shape.checked_elements()?)?;
        let mut sum = filled(y_plane, 0.0f64)?;
        for n in 0..batch {
            for o in 0..per_group_out * self.groups {
                sum.fill(bias.as_ref().map_or(0.0, |b| b[o]));
                let (group, o_in_group) = (o / per_group_out, o % per_group_out);
                for c in group * per_group..(group + 1) * per_group {
                    let source = &x[(n * channels + c) * x_plane..][..x_plane];
                    let taps = &w[(c * per_group_out + o_in_group) * w_plane..][..w_plane];
                    each_row(&axes, |row| {
                        let tap = f64::from(taps[row.tap]);
                        let from = &source[row.output..][..row.len];
                        let to = sum[row.input..].iter_mut().step_by(row.stride);
                        to.zip(from).for_each(|(s, &v)| *s += tap * f64::from(v));
                    });
                }
                y.extend_from_slice(&sum);
            }
        }
        Ok(vec![Tensor::new(ty.shape, Data::from_f64(ty.dtype, y))?])
    }
}

/// Elements of one channel: the window's input, its taps, its output.
fn planes(axes: &[WindowAxis; 3]) -> (usize, usize, usize) {
    let product = |f: fn(&WindowAxis) -> usize| axes.iter().map(f).product();
    (product(|a| a.input), product(|a| a.kernel), product(|a| a.output))
}

/// A run of outputs along the last dimension that one tap reaches inside the input.
struct Row {
    /// Index of the tap in the window.
    tap: usize,
    /// Offset of the first output.
    output: usize,
    /// Offset of the input that it reads.
    input: usize,
    /// Outputs.
    len: usize,
    /// Input elements between neighbours.
    stride: usize,
}

/// Calls `f` for each tap and each row of outputs; padding is never visited.
fn each_row(axes: &[WindowAxis; 3], mut f: impl FnMut(Row)) {
    let [d, h, w] = axes;
    let at = |a: &WindowAxis, output: usize, tap: usize| (a.stride as i64 * output as i64 + a.offset(tap)) as usize;
    for kd in 0..d.kernel {
        for kh in 0..h.kernel {
            for kw in 0..w.kernel {
                let columns = w.outputs(kw);
                if columns.is_empty() {
                    continue;
                }
                let (first, len) = (columns.start, columns.len());
                for od in d.outputs(kd) {
                    for oh in h.outputs(kh) {
                        f(Row {
                            tap: (kd * h.kernel + kh) * w.kernel + kw,
                            output: (od * h.output + oh) * w.output + first,
                            input: (at(d, od, kd) * h.input + at(h, oh, kh)) * w.input + at(w, first, kw),
                            len,
                            stride: w.stride,
                        });
                    }
                }
            }
        }
    }
}
