//! The sliding window of convolutions and pools, laid over an input.

use super::args::{invalid, shape_error};
use crate::error::Result;
use std::ops::Range;

/// How padding is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AutoPad {
    /// `pads` says it.
    #[default]
    Explicit,
    /// Output is ceil(input / stride); an odd pixel goes to the end.
    SameUpper,
    /// As above, an odd pixel to the begin.
    SameLower,
    /// None.
    Valid,
}

/// A sliding window over the spatial dimensions. Empty lists stand for the defaults: stride 1, dilation 1, pad 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Window {
    /// Window size per spatial dimension; empty means the weight's.
    pub kernel: Vec<usize>,
    /// Step per spatial dimension.
    pub strides: Vec<usize>,
    /// Spacing of taps per spatial dimension.
    pub dilations: Vec<usize>,
    /// All begins, then all ends, in elements. May be negative in ONNX files only by mistake; refused at import.
    pub pads: Vec<usize>,
    /// Rule that replaces `pads`.
    pub auto_pad: AutoPad,
}

/// A window along one spatial dimension: output `o` reads input `o * stride + tap * dilation - begin` for each tap, where
/// that lies in `0..input`. Every size fits in an `i32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowAxis {
    /// Elements of the input.
    pub input: usize,
    /// Elements of the output.
    pub output: usize,
    /// Taps.
    pub kernel: usize,
    /// Step between outputs, in input elements.
    pub stride: usize,
    /// Step between taps, in input elements.
    pub dilation: usize,
    /// Padding before the input, in elements.
    pub begin: usize,
    /// Padding after it.
    pub end: usize,
}

impl WindowAxis {
    /// A dimension that the window leaves alone.
    pub const POINT: Self = Self { input: 1, output: 1, kernel: 1, stride: 1, dilation: 1, begin: 0, end: 0 };

    /// Input elements from the first tap to the last.
    pub fn extent(&self) -> usize {
        self.kernel.saturating_sub(1).saturating_mul(self.dilation).saturating_add(1)
    }

    /// Where tap `tap` of output 0 lies.
    pub(super) fn offset(&self, tap: usize) -> i64 {
        (tap as i64).saturating_mul(self.dilation as i64) - self.begin as i64
    }

    /// The outputs whose tap `tap` lies inside the input.
    pub(super) fn outputs(&self, tap: usize) -> Range<usize> {
        span(self.output, self.stride, self.offset(tap), self.input)
    }
}

/// The `i` of `0..count` with `0 <= i * stride + offset < limit`.
pub(super) fn span(count: usize, stride: usize, offset: i64, limit: usize) -> Range<usize> {
    let (count, stride, limit) = (count as i64, (stride as i64).max(1), limit as i64);
    let ceil_div = |a: i64| if a <= 0 { 0 } else { (a - 1) / stride + 1 };
    let from = ceil_div(-offset).min(count);
    let to = ceil_div(limit.saturating_sub(offset)).min(count).max(from);
    from as usize..to as usize
}

/// How the last, partly filled window is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounding {
    Floor,
    /// Kept, unless it would start in the end padding.
    Ceil,
}

/// One entry a spatial dimension: the default where the list is empty, an error where its length is wrong.
fn entry(list: &[usize], index: usize, expected: usize, default: usize, what: &str) -> Result<usize> {
    if list.is_empty() {
        return Ok(default);
    }
    if list.len() != expected {
        return Err(invalid(format!("{what} has {} entries, expected {expected}", list.len())));
    }
    let value = list.get(index).copied().unwrap_or(default);
    if i32::try_from(value).is_err() {
        return Err(invalid(format!("{what} holds {value}, which is out of range")));
    }
    Ok(value)
}

impl Window {
    /// Stride, dilation and pads along dimension `i` of `spatial`; `output` is not found yet.
    pub(super) fn axis(&self, i: usize, spatial: usize, input: usize, kernel: usize) -> Result<WindowAxis> {
        let axis = WindowAxis {
            input,
            output: 0,
            kernel,
            stride: entry(&self.strides, i, spatial, 1, "strides")?,
            dilation: entry(&self.dilations, i, spatial, 1, "dilations")?,
            begin: entry(&self.pads, i, spatial * 2, 0, "pads")?,
            end: entry(&self.pads, i + spatial, spatial * 2, 0, "pads")?,
        };
        if axis.stride == 0 || axis.dilation == 0 || kernel == 0 {
            return Err(invalid(format!(
                "window size {kernel}, stride {}, dilation {}: none may be zero",
                axis.stride, axis.dilation
            )));
        }
        if i32::try_from(axis.extent()).is_err() || i32::try_from(input).is_err() {
            return Err(shape_error(format!("window of {} elements over {input} is out of range", axis.extent())));
        }
        Ok(axis)
    }

    /// Lays a window of size `kernel` over the spatial dimensions `input` of a convolution or pool.
    pub(super) fn slide(&self, input: &[usize], kernel: &[usize], rounding: Rounding) -> Result<Vec<WindowAxis>> {
        if kernel.len() != input.len() {
            let (k, n) = (kernel.len(), input.len());
            return Err(shape_error(format!("the window has {k} dimensions, the input has {n} spatial dimensions")));
        }
        (0..input.len())
            .map(|i| {
                let mut axis = self.axis(i, input.len(), input[i], kernel[i])?;
                axis.place(self.auto_pad, rounding)?;
                Ok(axis)
            })
            .collect()
    }
}

impl WindowAxis {
    /// Finds `output`, and the pads where `auto_pad` rules them. <https://onnx.ai/onnx/operators/onnx__AveragePool.html>
    fn place(&mut self, auto_pad: AutoPad, rounding: Rounding) -> Result<()> {
        let (input, extent, stride) = (self.input as i64, self.extent() as i64, self.stride as i64);
        match auto_pad {
            AutoPad::Explicit => {}
            AutoPad::Valid => (self.begin, self.end) = (0, 0),
            AutoPad::SameUpper | AutoPad::SameLower => {
                let output = if input == 0 { 0 } else { (input - 1) / stride + 1 };
                let total = ((output - 1) * stride + extent - input).max(0) as usize;
                let small = total / 2;
                let large = total - small;
                (self.begin, self.end) = if auto_pad == AutoPad::SameUpper { (small, large) } else { (large, small) };
                self.output = output as usize;
                return Ok(());
            }
        }
        let begin = self.begin as i64;
        let room = input + begin + self.end as i64 - extent;
        if room < 0 {
            // An empty input gives an empty output.
            if input == 0 {
                self.output = 0;
                return Ok(());
            }
            return Err(shape_error(format!(
                "a window of {extent} elements does not fit into {input} elements padded by {} and {}",
                self.begin, self.end
            )));
        }
        let mut output = room / stride + 1;
        // A rounded-up window counts only where it starts inside the input or its begin padding.
        if rounding == Rounding::Ceil && room % stride != 0 && output * stride < input + begin {
            output += 1;
        }
        self.output = output as usize;
        Ok(())
    }
}

/// Fills up to three dimensions with leading points, so that one loop nest serves 1-D, 2-D and 3-D.
pub(super) fn three(axes: &[WindowAxis]) -> Result<[WindowAxis; 3]> {
    let mut all = [WindowAxis::POINT; 3];
    let lead = all.len().checked_sub(axes.len()).ok_or_else(|| {
        crate::Error::new(
            crate::ErrorKind::UnsupportedOp,
            format!("{} spatial dimensions; at most 3 are supported", axes.len()),
        )
    })?;
    all[lead..].copy_from_slice(axes);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(input: usize, kernel: usize, stride: usize, pads: [usize; 2], rounding: Rounding) -> usize {
        let window = Window { strides: vec![stride], pads: pads.to_vec(), ..Window::default() };
        window.slide(&[input], &[kernel], rounding).unwrap()[0].output
    }

    #[test]
    fn ceil_drops_a_window_that_starts_in_the_end_padding() {
        assert_eq!(outputs(9, 7, 3, [3, 3], Rounding::Floor), 3);
        assert_eq!(outputs(9, 7, 3, [3, 3], Rounding::Ceil), 4);
        assert_eq!(outputs(2, 3, 3, [1, 1], Rounding::Ceil), 1);
    }

    #[test]
    fn same_pads_put_the_odd_element_at_the_named_end() {
        for (auto_pad, pads) in [(AutoPad::SameUpper, (0, 1)), (AutoPad::SameLower, (1, 0))] {
            let window = Window { strides: vec![2], auto_pad, ..Window::default() };
            let axis = window.slide(&[6], &[3], Rounding::Floor).unwrap()[0];
            assert_eq!((axis.output, (axis.begin, axis.end)), (3, pads));
        }
    }

    #[test]
    fn span_is_what_a_search_finds() {
        for stride in 1..4usize {
            for offset in -5..6i64 {
                for limit in 0..7usize {
                    let found: Vec<usize> =
                        (0..6).filter(|&i| (0..limit as i64).contains(&(i as i64 * stride as i64 + offset))).collect();
                    let range: Vec<usize> = span(6, stride, offset, limit).collect();
                    assert_eq!(range, found, "stride {stride} offset {offset} limit {limit}");
                }
            }
        }
    }

    #[test]
    fn hostile_sizes_are_errors() {
        let huge = Window { strides: vec![usize::MAX], ..Window::default() };
        assert!(huge.slide(&[4], &[2], Rounding::Floor).is_err());
        assert!(Window::default().slide(&[4], &[usize::MAX], Rounding::Floor).is_err());
        assert!(Window::default().slide(&[4], &[0], Rounding::Floor).is_err());
        assert!(Window::default().slide(&[4], &[5], Rounding::Floor).is_err());
    }
}
