//! Which layouts an operator's kernel serves: the one table that the layout pass decides by and the kernels honour.

use super::{Op, Operand};
use crate::tensor::{Shape, TensorType};

/// What an operator wants of the layouts of its tensors. Constants carry no layout: they are packed as the kernel wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutRule {
    /// Reads and writes C4.
    Packed,
    /// Serves both; the inputs that [`shares_layout`] names and the output are alike.
    Alike,
    /// Reads either and writes either, each input by itself: a copy with index maps.
    Free,
    /// Reads and writes row-major.
    RowMajor,
}

/// How an operand of an element-wise step lies to the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperandForm {
    /// The result's shape.
    Same,
    /// One element.
    Scalar,
    /// One element a channel of a rank-4 result: `[C, 1, 1]`, `[1, C, 1, 1]`, `[N, C, 1, 1]`.
    PerChannel,
    /// Any other broadcast.
    Other,
}

/// The form of an operand of shape `operand` in a result of shape `out`.
pub fn operand_form(operand: &Shape, out: &Shape) -> OperandForm {
    if operand == out {
        return OperandForm::Same;
    }
    if operand.elements() == 1 {
        return OperandForm::Scalar;
    }
    let per_channel = match (&out[..], &operand[..]) {
        (&[_, c, _, _], &[k, 1, 1]) => k == c,
        (&[n, c, _, _], &[m, k, 1, 1]) => k == c && (m == 1 || m == n),
        _ => false,
    };
    if per_channel { OperandForm::PerChannel } else { OperandForm::Other }
}

/// The rule for an operator with these inputs, of which the first `own` are its own and the others its epilogue's.
pub fn layout_rule(op: &Op, inputs: &[Option<Operand<'_>>], own: usize, out: &TensorType) -> LayoutRule {
    let first = inputs.first().copied().flatten();
    let served = match op {
        Op::Concat(_) | Op::Expand(_) | Op::Flatten(_) | Op::Gather(_) | Op::Pad(_) | Op::Relayout(_) => {
            return LayoutRule::Free;
        }
        Op::Reshape(_) | Op::Slice(_) | Op::Split(_) | Op::Squeeze(_) | Op::Transpose(_) | Op::Unsqueeze(_) => {
            return LayoutRule::Free;
        }
        _ if !out.dtype.is_float() || out.shape.len() != 4 => false,
        _ => first.is_some_and(|x| x.constant.is_none() && x.ty.dtype == out.dtype),
    };
    let epilogue = inputs.get(own..).unwrap_or_default().iter().flatten();
    if !served || !epilogue.into_iter().all(|o| operand_form(&o.ty.shape, &out.shape) != OperandForm::Other) {
        return LayoutRule::RowMajor;
    }
    let Some(x) = first.map(|x| &x.ty.shape).filter(|s| s.len() == 4) else { return LayoutRule::RowMajor };
    let known = |i: usize| inputs.get(i).copied().flatten().and_then(|o| o.constant);
    let ints = |i: usize| known(i).and_then(|t| t.to_ints().ok());
    let constant_weights = known(1).is_some();
    let packed = match op {
        Op::Conv(conv) => {
            let (c, m, g) = (x[1], out.shape[1], conv.groups);
            let depthwise = g == c && g == m;
            let by_four = c.checked_div(g).is_some_and(|c| c % 4 == 0) && m.checked_div(g).is_some_and(|m| m % 4 == 0);
            constant_weights && (g == 1 || depthwise || by_four)
        }
        Op::ConvTranspose(conv) => constant_weights && conv.groups == 1,
        Op::Pool(_) => true,
        Op::Resize(_) => x[..2] == out.shape[..2],
        Op::Reduce(reduce) => {
            let axes = ints(1).and_then(|axes| super::args::distinct_axes(&axes, 4).ok());
            reduce.keep_dims && matches!(axes.as_deref(), Some([2, 3] | [3, 2]))
        }
        _ => false,
    };
    if packed {
        return LayoutRule::Packed;
    }
    let alike = match op {
        Op::Identity(_) | Op::Unary(_) => true,
        Op::Clip(_) => inputs.iter().skip(1).flatten().all(|o| o.ty.shape.elements() == 1),
        Op::Binary(_) => {
            let forms = inputs.iter().take(own).flatten().map(|o| operand_form(&o.ty.shape, &out.shape));
            let forms: Vec<_> = forms.collect();
            forms.contains(&OperandForm::Same) && !forms.contains(&OperandForm::Other)
        }
        _ => false,
    };
    if alike { LayoutRule::Alike } else { LayoutRule::RowMajor }
}

/// True where input `i` lies in the layout of the node: the data, same-shape operands and per-channel operands of rank 4.
/// Every other input is row-major (or a constant).
pub fn shares_layout(op: &Op, i: usize, own: usize, input: Operand<'_>, out: &TensorType) -> bool {
    if input.constant.is_some() || input.ty.shape.len() != 4 {
        return false;
    }
    let data = i == 0 && own > 0 && !matches!(op, Op::Binary(_));
    data || matches!(operand_form(&input.ty.shape, &out.shape), OperandForm::Same | OperandForm::PerChannel)
}
