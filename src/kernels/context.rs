use super::{Choices, DeviceLimits};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{Epilogue, Op, Operand};
use crate::tensor::{Layout, Shape, Tensor, TensorType};

/// An input or output of the node, as its kernel sees it.
#[derive(Debug, Clone, Copy)]
pub struct Arg<'a> {
    /// Shape and element type.
    pub ty: &'a TensorType,
    /// How it lies in the arena. Says nothing of a constant: the kernel packs it.
    pub layout: Layout,
    /// Its value, where it is known at compile time.
    pub constant: Option<&'a Tensor>,
    /// Two arguments of the same number occupy the same range and share one binding. Constants have none of it.
    pub storage: u32,
}

/// Dimensions of a C4 tensor, [n, groups, h, w] of four channels each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct C4 {
    pub n: u32,
    /// Channels without padding lanes.
    pub channels: u32,
    /// ceil(channels / 4).
    pub groups: u32,
    pub h: u32,
    pub w: u32,
}

impl C4 {
    /// Vectors in one channel group of one picture.
    pub const fn plane(self) -> u32 {
        self.h * self.w
    }

    /// Vectors in all.
    pub const fn vectors(self) -> u32 {
        self.n * self.groups * self.h * self.w
    }
}

impl Arg<'_> {
    /// Dimensions.
    pub fn shape(&self) -> &Shape {
        &self.ty.shape
    }

    /// The number of elements; an error where 32-bit index arithmetic could overflow.
    pub fn count(&self) -> Result<u32> {
        let n = self.layout.elements(&self.ty.shape);
        if n > (i32::MAX as usize) / 2 {
            return Err(Error::new(ErrorKind::ShapeMismatch, format!("{} is too large for one kernel", self.ty)));
        }
        Ok(n as u32)
    }

    /// Dimensions as u32; checked like [`Self::count`].
    pub fn dims(&self) -> Result<Vec<u32>> {
        self.count()?;
        self.ty.shape.iter().map(|&d| to_u32(d)).collect()
    }

    /// Dimensions of a rank-4 tensor as C4 counts them, whatever its layout is.
    pub fn c4(&self) -> Result<C4> {
        let &[n, channels, h, w] = &self.dims()?[..] else {
            return Err(Error::new(ErrorKind::LayoutMismatch, format!("{} has no four dimensions to pack", self.ty)));
        };
        Ok(C4 { n, channels, groups: channels.div_ceil(4), h, w })
    }

    /// True where it is a tensor in the arena laid out as C4.
    pub fn is_c4(&self) -> bool {
        self.constant.is_none() && self.layout == Layout::C4
    }
}

/// A node with everything its kernel may look at.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// What it computes.
    pub op: &'a Op,
    /// The operator's own inputs, then the epilogue's.
    pub inputs: Vec<Option<Arg<'a>>>,
    /// How many of `inputs` are the operator's own.
    pub own_inputs: usize,
    /// Steps on the result.
    pub epilogue: &'a Epilogue,
    /// Results.
    pub outputs: Vec<Arg<'a>>,
    /// Measured choices.
    pub choices: &'a Choices,
    /// The adapter.
    pub limits: &'a DeviceLimits,
}

impl<'a> Context<'a> {
    /// Input `i`, which must be there.
    pub fn input(&self, i: usize) -> Result<Arg<'a>> {
        self.optional(i).ok_or_else(|| Error::new(ErrorKind::InvalidModel, format!("input {i} is missing")))
    }

    /// Input `i`, where it is there.
    pub fn optional(&self, i: usize) -> Option<Arg<'a>> {
        self.inputs.get(i).copied().flatten()
    }

    /// The operator's own input `i`, where it is there; never one of the epilogue's.
    pub fn own(&self, i: usize) -> Option<Arg<'a>> {
        if i < self.own_inputs { self.optional(i) } else { None }
    }

    /// The value of the operator's own input `i`: none where it was left out, an error where it is computed at run time.
    pub fn constant(&self, i: usize) -> Result<Option<&'a Tensor>> {
        match self.own(i) {
            None => Ok(None),
            Some(arg) => arg.constant.map(Some).ok_or_else(|| {
                self.unsupported(format!("input {i} must be known when the model is compiled"))
                    .hint("fix dynamic dimensions with `shapes`")
            }),
        }
    }

    /// The operator's own inputs as shape inference sees them.
    pub fn operands(&self) -> Vec<Option<Operand<'a>>> {
        let own = self.inputs.iter().take(self.own_inputs);
        own.map(|arg| arg.map(|a| Operand { ty: a.ty, constant: a.constant })).collect()
    }

    /// Output `i`.
    pub fn output(&self, i: usize) -> Result<Arg<'a>> {
        self.outputs
            .get(i)
            .copied()
            .ok_or_else(|| Error::new(ErrorKind::InvalidModel, format!("output {i} is missing")))
    }

    /// An `unsupported-op` error.
    pub fn unsupported(&self, why: impl Into<String>) -> Error {
        Error::new(ErrorKind::UnsupportedOp, why)
    }
}

/// For WGSL's index arithmetic.
pub fn to_u32(n: usize) -> Result<u32> {
    u32::try_from(n).map_err(|_| Error::new(ErrorKind::ShapeMismatch, format!("{n} does not fit 32 bits")))
}
