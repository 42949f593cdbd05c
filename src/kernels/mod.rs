//! Kernels: how a node is computed on the GPU, as data. Nothing here knows wgpu.
//!
//! # A kernel is a pair
//!
//! `name.rs` decides, `name.wgsl` computes. The `.wgsl` is valid WGSL as committed: a head, the line [`FENCE`], a body. Rust
//! writes another head to specialise; the body ships as it stands. There is no template language.
//!
//! A head holds `const`s, `alias`es, the parameter struct, the bindings, and the functions through which the body touches
//! memory: loads, a store, `epilogue`. (More than constants and an epilogue, then: the bindings belong to the head because
//! operands that lie in one range must share one binding, and because a fused tensor adds one. A body names no binding.)
//! [`Head`] builds it; the committed head is what [`Head`] writes for the plainest case.
//!
//! # Adding one
//!
//! A function `fn kernel<'a>(ctx: &Context<'a>) -> Result<Kernel<'a>>` and a list `fn variants() -> Vec<Sample>` in the new
//! file, an arm in [`select`], a line in [`variants`].

pub mod access;
mod context;
mod conv;
mod conv_depthwise;
mod conv_general;
mod conv_geometry;
mod conv_matrix;
mod conv_outer;
mod conv_tiled;
mod conv_transpose;
mod copy;
mod copy_rule;
mod detect;
mod elementwise;
mod head;
mod join;
mod launch;
mod limits;
mod matmul;
mod operands;
pub mod pack;
mod params;
mod planes;
mod pool;
mod preprocess;
mod reduce;
mod resize;
mod sample;
mod softmax;
mod steps;
mod strided;
pub mod tune;

pub use access::Walk;
pub use context::{Arg, C4, Context, to_u32};
pub use head::{FENCE, Head, Slot, c4_param, size_param, storage_type};
pub use launch::{Choice, Kernel, Launch, Packed, Part, Source, View, exact_groups, linear_groups};
pub use limits::{Choices, DeviceLimits};
pub use params::Params;
pub use preprocess::preprocess;
pub use sample::Sample;
pub use steps::{Number, Steps, float};
pub use strided::{Strided, strided};

use crate::error::Result;
use crate::ops::Op;

/// The kernel that serves a node on this adapter: the second of the two exhaustive matches over operators.
///
/// It is a function of the node alone, so that lowering may call it twice: first to learn what may be done in place, then,
/// with storages decided, for the shader.
pub fn select<'a>(ctx: &Context<'a>) -> Result<Kernel<'a>> {
    if !ctx.outputs.is_empty() && ctx.outputs.iter().all(|o| o.shape().elements() == 0) {
        return Ok(Kernel::many("nothing to do", Vec::new()));
    }
    let none = || Err(ctx.unsupported(format!("no kernel serves {}", ctx.op.definition().name())));
    match ctx.op {
        Op::Conv(op) => conv::conv(ctx, op),
        Op::ConvTranspose(op) => conv::transpose(ctx, op),
        Op::DecodeBoxes(op) => detect::decode(ctx, op),
        Op::Gemm(op) => matmul::gemm(ctx, op),
        Op::MatMul(op) => matmul::matmul(ctx, op),
        Op::SelectBoxes(op) => detect::select(ctx, op),
        Op::BatchNorm(_)
        | Op::Binary(_)
        | Op::Cast(_)
        | Op::Clip(_)
        | Op::Identity(_)
        | Op::Unary(_)
        | Op::Where(_) => elementwise::kernel(ctx),
        Op::Concat(op) => join::kernel(ctx, op),
        Op::Expand(_)
        | Op::Flatten(_)
        | Op::Gather(_)
        | Op::Pad(_)
        | Op::Relayout(_)
        | Op::Reshape(_)
        | Op::Slice(_)
        | Op::Split(_)
        | Op::Squeeze(_)
        | Op::Transpose(_)
        | Op::Unsqueeze(_) => copy::kernel(ctx),
        Op::Pool(op) => pool::kernel(ctx, op),
        Op::Reduce(op) => reduce::kernel(ctx, op),
        Op::Resize(op) => resize::kernel(ctx, op),
        Op::Softmax(op) => softmax::kernel(ctx, op),
        // Their outputs depend on shapes alone: a constant once shapes are known.
        Op::ConstantOfShape(_) | Op::ShapeOf(_) => none(),
    }
}

/// Nodes that together need every specialisation of every kernel.
pub fn variants() -> Vec<Sample> {
    let mut list = Vec::new();
    list.extend(conv::variants());
    list.extend(detect::variants());
    list.extend(copy::variants());
    list.extend(elementwise::variants());
    list.extend(pool::variants());
    list.extend(reduce::variants());
    list.extend(resize::variants());
    list.extend(softmax::variants());
    list.extend(matmul::variants());
    list
}

/// Pre-processings that together need every specialisation of their kernel.
pub fn preprocess_variants() -> Vec<crate::ops::Preprocess> {
    preprocess::variants()
}

/// The kernels' files as committed: name and text.
pub const FILES: &[(&str, &str)] = &[
    ("conv_depthwise.wgsl", conv_depthwise::FILE),
    ("conv_depthwise_row.wgsl", conv_depthwise::ROW),
    ("conv_depthwise_strip.wgsl", conv_depthwise::STRIP),
    ("conv_general.wgsl", conv_general::FILE),
    ("conv_matrix.wgsl", conv_matrix::FILE),
    ("conv_outer.wgsl", conv_outer::FILE),
    ("conv_tiled.wgsl", conv_tiled::FILE),
    ("conv_transpose.wgsl", conv_transpose::FILE),
    ("conv_transpose_apart.wgsl", conv_transpose::APART),
    ("copy.wgsl", copy::FILE),
    ("decode_boxes.wgsl", detect::DECODE),
    ("pool.wgsl", pool::FILE),
    ("reduce.wgsl", reduce::SERIAL),
    ("reduce_tree.wgsl", reduce::TREE),
    ("resize.wgsl", resize::FILE),
    ("resize_any.wgsl", resize::ANY),
    ("softmax.wgsl", softmax::SERIAL),
    ("softmax_tree.wgsl", softmax::TREE),
    ("preprocess.wgsl", preprocess::FILE),
    ("matmul.wgsl", matmul::FILE),
    ("select_boxes.wgsl", detect::SELECT),
    ("strided.wgsl", strided::FILE),
    ("elementwise.wgsl", include_str!("elementwise.wgsl")),
    ("elementwise_c4.wgsl", include_str!("elementwise_c4.wgsl")),
    ("steps.wgsl", include_str!("steps.wgsl")),
];
