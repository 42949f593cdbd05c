//! The geometry of a two-dimensional convolution in C4, and its weights in the order in which kernels read them.

use super::context::{C4, Context, to_u32};
use super::{Head, Packed};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::WindowAxis;
use crate::tensor::Tensor;

/// A convolution over two spatial dimensions; pairs are (y, x).
#[derive(Debug, Clone, Copy)]
pub struct Geometry<'a> {
    /// Input.
    pub x: C4,
    /// Output.
    pub y: C4,
    /// Taps.
    pub kernel: [u32; 2],
    /// Steps between outputs.
    pub strides: [u32; 2],
    /// Steps between taps.
    pub dilations: [u32; 2],
    /// Padding before the input.
    pub begins: [u32; 2],
    /// Channel groups.
    pub groups: u32,
    /// The weights, as the operator has them.
    pub weights: &'a Tensor,
    /// One value an output channel.
    pub bias: Option<&'a Tensor>,
}

impl<'a> Geometry<'a> {
    /// Reads the node. Weights and bias must be constants.
    pub fn new(ctx: &Context<'a>, axes: &[WindowAxis], groups: usize) -> Result<Self> {
        let &[a, b] = axes else {
            let message = format!("{} spatial dimensions cannot be packed by channels", axes.len());
            return Err(Error::new(ErrorKind::LayoutMismatch, message));
        };
        let weights =
            ctx.constant(1)?.ok_or_else(|| Error::new(ErrorKind::InvalidModel, "a convolution without weights"))?;
        let pair = |f: fn(WindowAxis) -> usize| -> Result<[u32; 2]> { Ok([to_u32(f(a))?, to_u32(f(b))?]) };
        Ok(Self {
            x: ctx.input(0)?.c4()?,
            y: ctx.output(0)?.c4()?,
            kernel: pair(|a| a.kernel)?,
            strides: pair(|a| a.stride)?,
            dilations: pair(|a| a.dilation)?,
            begins: pair(|a| a.begin)?,
            groups: to_u32(groups)?.max(1),
            weights,
            bias: ctx.constant(2)?,
        })
    }

    /// Taps of the window.
    pub fn taps(&self) -> u32 {
        self.kernel[0].saturating_mul(self.kernel[1])
    }

    /// Input channels of a group.
    pub fn inputs(&self) -> u32 {
        self.x.channels / self.groups
    }

    /// Output channels of a group.
    pub fn outputs(&self) -> u32 {
        self.y.channels / self.groups
    }

    /// Each channel by itself.
    pub fn is_depthwise(&self) -> bool {
        self.groups > 1 && self.groups == self.x.channels && self.groups == self.y.channels
    }

    /// Each output pixel from the input pixel at its place.
    pub fn is_pointwise(&self) -> bool {
        self.taps() == 1
            && self.strides == [1, 1]
            && (self.x.h, self.x.w) == (self.y.h, self.y.w)
            && self.begins == [0, 0]
    }

    /// Declares the parameters that all these kernels have.
    pub fn declare(&self, head: &mut Head<'_, '_>, tiles: [u32; 4]) -> Result<()> {
        let signed = |n: u32| {
            i32::try_from(n).map_err(|_| Error::new(ErrorKind::ShapeMismatch, format!("{n} does not fit 31 bits")))
        };
        let [sy, sx] = self.strides;
        let [dy, dx] = self.dilations;
        let [by, bx] = self.begins;
        let p = &mut head.params;
        p.vec4u("input", [self.x.n, self.x.groups, self.x.h, self.x.w]);
        p.vec4u("output", [self.y.n, self.y.groups, self.y.h, self.y.w]);
        p.vec4u("window", [self.kernel[0], self.kernel[1], self.inputs(), self.taps()]);
        p.vec4i("steps", [signed(sy)?, signed(sx)?, signed(dy)?, signed(dx)?]);
        p.vec4i("begins", [signed(by)?, signed(bx)?, 0, 0]);
        p.vec4u("tiles", tiles);
        Ok(())
    }

    /// Weights of [groups][channel tiles][taps][input channels, a multiple of four][`per` vectors], each vector four output
    /// channels; then a bias vector for each output vector. What is no channel is zero. `transposed` tells the order of the
    /// operator's weights: [M, C / groups, taps], or [C, M, taps].
    pub fn pack(&self, per: u32, transposed: bool) -> Result<Dense<'a>> {
        let (inputs, outputs, taps) = (self.inputs() as usize, self.outputs() as usize, self.taps() as usize);
        let (groups, lanes) = (self.groups as usize, 4 * per as usize);
        let padded = inputs.next_multiple_of(4);
        let tiles = outputs.div_ceil(lanes);
        let vectors = size(&[groups, tiles, taps, padded, per as usize])?;
        let total = size(&[vectors + self.y.groups as usize, 16])?;
        let (weights, bias, all) = (self.weights, self.bias, self.y.channels as usize);
        let wanted = size(&[all, inputs, taps])?;
        if weights.data().len() != wanted || bias.is_some_and(|b| b.data().len() != all) {
            let message = format!("weights {} or bias do not fit {all} output channels", weights.shape());
            return Err(Error::new(ErrorKind::ShapeMismatch, message));
        }
        let packed = Packed::new(total, move || {
            let source = weights.to_f32();
            let mut out = vec![0f32; total / 4];
            let mut to = out.chunks_exact_mut(lanes);
            for (group, tile) in (0..groups).flat_map(|g| (0..tiles).map(move |t| (g, t))) {
                for (tap, c) in (0..taps).flat_map(|tap| (0..padded).map(move |c| (tap, c))) {
                    let Some(to) = to.next() else { break };
                    if c >= inputs {
                        continue;
                    }
                    for (lane, to) in to.iter_mut().enumerate().take(outputs - tile * lanes) {
                        let o = group * outputs + tile * lanes + lane;
                        let row = if transposed { c * all + o } else { o * inputs + c };
                        *to = source.get(row * taps + tap).copied().unwrap_or_default();
                    }
                }
            }
            if let (Some(bias), Some(to)) = (bias, out.get_mut(4 * vectors..)) {
                to.iter_mut().zip(bias.to_f32()).for_each(|(to, b)| *to = b);
            }
            Ok(bytemuck::cast_slice(&out).to_vec())
        });
        Ok(Dense { packed, tiles_of_group: to_u32(tiles)?, channels: to_u32(padded)?, bias: to_u32(vectors)? })
    }
}

/// Packed weights of a convolution and how to find one's way in them.
#[derive(Debug)]
pub struct Dense<'a> {
    /// The bytes.
    pub packed: Packed<'a>,
    /// Channel tiles of one group.
    pub tiles_of_group: u32,
    /// Input channels of a group, padded.
    pub channels: u32,
    /// Index of the first bias vector.
    pub bias: u32,
}

/// A product, or an error where it is too large to address.
pub fn size(factors: &[usize]) -> Result<usize> {
    let product = factors.iter().try_fold(1usize, |a, &b| a.checked_mul(b)).filter(|&n| n <= i32::MAX as usize);
    product
        .ok_or_else(|| Error::new(ErrorKind::ShapeMismatch, format!("{factors:?} elements are too many for a kernel")))
}
