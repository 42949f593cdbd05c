//! Decoding and suppression of boxes: `decode_boxes.wgsl`, `select_boxes.wgsl`.

use super::{Context, Head, Kernel, Sample, exact_groups, linear_groups, to_u32};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{BoxFormat, DecodeBoxes, Op, ROW_HEAD, ScoreFormat, SelectBoxes, Suppression};
use crate::tensor::{DType, Layout};

pub(super) const DECODE: &str = include_str!("decode_boxes.wgsl");
pub(super) const SELECT: &str = include_str!("select_boxes.wgsl");

/// One launch a pair of scores and boxes; each writes its rows of the result.
pub(super) fn decode<'a>(ctx: &Context<'a>, op: &DecodeBoxes) -> Result<Kernel<'a>> {
    let types: Vec<_> = ctx.inputs.iter().flatten().map(|a| a.ty).collect();
    let mut first = 0;
    let mut launches = Vec::new();
    for (i, (rows, classes)) in op.pairs(&types)?.into_iter().enumerate() {
        let mut head = Head::new(ctx);
        let scale = match op.format {
            BoxFormat::Ssd { scale } => scale,
            BoxFormat::Yolox => [1.0; 2],
        };
        let limit = match op.score {
            ScoreFormat::Sigmoid { limit } => limit,
            ScoreFormat::Probability => 0.0,
        };
        head.params.vec4f("sizes", [scale[0], scale[1], op.input[0], op.input[1]]);
        head.params.vec4f("score", [op.threshold, limit, 0.0, 0.0]);
        let counts = [to_u32(rows)?, to_u32(first)?, to_u32(classes)?, to_u32(op.keypoints)?];
        head.params.vec4u("counts", counts);
        let anchors = head.input(0, true)?;
        head.loader("load_anchor", anchors, true);
        for (name, input) in [("load_score", 2 * i + 1), ("load_box", 2 * i + 2)] {
            let slot = head.input(input, false)?;
            head.loader(name, slot, false);
        }
        let out = head.output(0, false)?;
        head.storer("store", out, false)?;
        head.declare(&format!("const YOLOX: bool = {};", op.format == BoxFormat::Yolox));
        head.declare(&format!("const SIGMOID: bool = {};", matches!(op.score, ScoreFormat::Sigmoid { .. })));
        launches.push(head.finish("decode boxes", DECODE, linear_groups(counts[0], 64, ctx.limits)?)?);
        first += rows;
    }
    Ok(Kernel::many("decode boxes", launches))
}

/// One workgroup.
pub(super) fn select<'a>(ctx: &Context<'a>, op: &SelectBoxes) -> Result<Kernel<'a>> {
    let &[n, r] = &ctx.input(0)?.dims()?[..] else {
        return Err(Error::new(ErrorKind::ShapeMismatch, "decoded boxes are [n, row]"));
    };
    if (r as usize) < ROW_HEAD {
        return Err(Error::new(ErrorKind::ShapeMismatch, format!("a decoded box has {ROW_HEAD} values or more")));
    }
    ctx.output(0)?.count()?;
    let mut head = Head::new(ctx);
    head.params.vec4u("counts", [n, r, to_u32(op.max)?, 0]);
    head.params.f32("iou", op.iou);
    head.frame(op.input);
    let rows = head.input(0, false)?;
    head.loader("load_row", rows, false);
    let out = head.output(0, false)?;
    head.loader("load_out", out, false);
    head.storer("store", out, false)?;
    let state = head.scratch(DType::F32, false);
    head.loader("load_state", state, false);
    head.storer("store_state", state, false)?;
    head.declare(&format!("const BLEND: bool = {};", op.suppression == Suppression::Blend));
    head.declare(&format!("const CLASS_AGNOSTIC: bool = {};", op.class_agnostic));
    let launch = head.finish("select boxes", SELECT, exact_groups([1, 1, 1], ctx.limits)?)?;
    Ok(Kernel::one(launch).scratch(u64::from(n) * 4))
}

/// Every specialisation.
pub(super) fn variants() -> Vec<Sample> {
    let mut all = Vec::new();
    for (format, keypoints) in [(BoxFormat::Ssd { scale: [8.0; 2] }, 2), (BoxFormat::Yolox, 0)] {
        for score in [ScoreFormat::Probability, ScoreFormat::Sigmoid { limit: 100.0 }] {
            let op = DecodeBoxes { format, score, keypoints, threshold: 0.5, input: [8.0; 2] };
            let (row, values) = (op.row(), 8);
            all.push(
                Sample::new(Op::DecodeBoxes(op))
                    .zeros(&[4, 4])
                    .input(DType::F32, &[1, 4, if format == BoxFormat::Yolox { values } else { 1 }], Layout::RowMajor)
                    .input(DType::F32, &[1, 4, values], Layout::RowMajor)
                    .output(DType::F32, &[4, row], Layout::RowMajor),
            );
        }
    }
    for suppression in [Suppression::Best, Suppression::Blend] {
        for class_agnostic in [false, true] {
            let op = SelectBoxes { suppression, iou: 0.3, class_agnostic, max: 4, input: 0 };
            all.push(Sample::new(Op::SelectBoxes(op)).input(DType::F32, &[9, 8], Layout::RowMajor).output(
                DType::F32,
                &[5, 8],
                Layout::RowMajor,
            ));
        }
    }
    all
}
