//! The way in of a tensor whose strides are not those of the input: its memory is brought to the GPU as it is, and this kernel
//! lays the elements in row-major order where the network reads them.

use super::context::to_u32;
use super::head::FENCE;
use super::launch::linear_groups;
use super::limits::DeviceLimits;
use super::params::Params;
use crate::error::{Error, ErrorKind, Result};
use crate::recording::Shader;
use crate::tensor::{DType, View};

const GROUP: u32 = 64;
pub(super) const FILE: &str = include_str!("strided.wgsl");

/// A kernel that reads a view at slot 1 and writes a row-major tensor at slot 2; slot 0 holds `params`.
#[derive(Debug, Clone)]
pub struct Strided {
    /// The module.
    pub shader: Shader,
    /// Contents of the parameter block.
    pub params: Vec<u8>,
    /// Workgroups per dimension.
    pub groups: [u32; 3],
}

/// The kernel of a view, whose first element is the first of the memory bound at slot 1.
///
/// # Errors
/// `layout-mismatch` for more than eight dimensions; `shape-mismatch` for what does not fit 32 bits.
pub fn strided(view: &View, dtype: DType, limits: &DeviceLimits) -> Result<Strided> {
    let rank = view.shape().len();
    if rank > 8 {
        return Err(Error::new(ErrorKind::LayoutMismatch, format!("a strided view of {rank} dimensions"))
            .hint("at most eight are laid again on the GPU; hand in a contiguous copy"));
    }
    let halves = dtype.gpu_bytes() == 2;
    let (mut dims, mut strides) = ([1u32; 8], [0u32; 8]);
    for (axis, (&size, &stride)) in view.shape().iter().zip(view.strides()).enumerate() {
        dims[8 - rank + axis] = to_u32(size)?.max(1);
        strides[8 - rank + axis] = to_u32(stride)?;
    }
    let elements = to_u32(view.shape().elements())?;
    to_u32(view.span())?;
    let count = if halves { elements.div_ceil(2) } else { elements };
    let mut params = Params::default();
    params.eight_u("dims", &dims);
    params.eight_u("strides", &strides);
    params.u32("count", count);
    let (_, body) = FILE.split_once(FENCE).unwrap_or(("", FILE));
    let wgsl = format!(
        "{}@group(0) @binding(0) var<uniform> params: Params;\n\
         @group(0) @binding(1) var<storage, read_write> b0: array<u32>;\n\
         @group(0) @binding(2) var<storage, read_write> b1: array<u32>;\n\
         const GROUP: u32 = {GROUP}u;\nconst HALVES: bool = {halves};{body}",
        params.declaration()
    );
    let shader = Shader { label: "strided".into(), wgsl, external: None, f16: false };
    Ok(Strided { shader, params: params.into_bytes(), groups: linear_groups(count, GROUP, limits)? })
}
