//! Zero padding in front of a convolution or pool becomes the window's own padding.

use super::simplify::{input, zero_pads};
use super::site::{Answer, Change, Order, Site, rewrite};
use super::{PassOutcome, Refusal};
use crate::error::Result;
use crate::graph::{Graph, Node, NodeId, ValueId};
use crate::ops::{AutoPad, Op, PoolKind, Step, Unary, Window};

/// Folds pads into windows.
pub fn fold(graph: &mut Graph) -> Result<PassOutcome> {
    rewrite(graph, "fold-padding", Order::Forward, &[into_window])
}

fn into_window(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    if !matches!(node.op, Op::Conv(_) | Op::Pool(_)) {
        return Err(Refusal::NoMatch);
    }
    let padded = input(node, 0)?;
    let (pad_id, pad) = site.producer(padded).ok_or(Refusal::NoMatch)?;
    let Op::Pad(_) = pad.op else { return Err(Refusal::NoMatch) };
    let pads = zero_pads(site, pad).ok_or(Refusal::CheckFailed("the padding is not constant zeros"))?;
    if site.sole_reader(padded) != Some(id) {
        return Err(Refusal::CheckFailed("the padded tensor is read elsewhere too"));
    }
    let x = input(pad, 0)?;
    let mut folded = node.clone();
    let window = match &mut folded.op {
        Op::Conv(conv) => &mut conv.window,
        Op::Pool(pool) => {
            let unpadded = pool.window.pads.iter().all(|&p| p == 0);
            match &mut pool.kind {
                // Where the pool has no padding of its own, all zeros count as elements.
                PoolKind::Average { count_include_pad } if unpadded && !pool.ceil_mode => *count_include_pad = true,
                PoolKind::Average { .. } => return Err(Refusal::CheckFailed("the pool pads by itself or rounds up")),
                PoolKind::Max if unpadded && not_negative(site, x) => {}
                PoolKind::Max => return Err(Refusal::CheckFailed("zeros may be greater than the elements")),
            }
            &mut pool.window
        }
        _ => return Err(Refusal::NoMatch),
    };
    widen(window, &pads)?;
    if let Op::Pool(pool) = &folded.op {
        // A window that lies in the padding alone would give minus infinity, or a division by zero.
        let too_wide = pool.window.pads.iter().zip(pool.window.kernel.iter().cycle()).any(|(p, k)| p >= k);
        if too_wide {
            return Err(Refusal::CheckFailed("the padding is as wide as the window"));
        }
    }
    if let Some(slot) = folded.inputs.first_mut() {
        *slot = Some(x);
    }
    Ok(Change { replaced: vec![(pad_id, Vec::new()), (id, vec![folded])], redirected: Vec::new() })
}

/// Adds to the pads of a window; `pads` speaks of all axes.
fn widen(window: &mut Window, pads: &[i64]) -> std::result::Result<(), Refusal> {
    let rank = pads.len() / 2;
    let spatial = |half: usize| pads.get(half * rank + 2..(half + 1) * rank).unwrap_or_default();
    let (begins, ends) = (spatial(0), spatial(1));
    let batch_and_channel = pads.iter().enumerate().filter(|(i, _)| i % rank.max(1) < 2);
    if pads.iter().any(|&p| p < 0) || batch_and_channel.into_iter().any(|(_, &p)| p != 0) {
        return Err(Refusal::CheckFailed("it pads other than the spatial axes, or crops"));
    }
    if window.auto_pad != AutoPad::Explicit && window.auto_pad != AutoPad::Valid {
        return Err(Refusal::CheckFailed("the window's padding follows from the input's size"));
    }
    if window.auto_pad == AutoPad::Valid || window.pads.is_empty() {
        window.pads = vec![0; begins.len() + ends.len()];
        window.auto_pad = AutoPad::Explicit;
    }
    if window.pads.len() != begins.len() + ends.len() {
        return Err(Refusal::CheckFailed("the window is of another rank"));
    }
    for (pad, &more) in window.pads.iter_mut().zip(begins.iter().chain(ends)) {
        *pad = pad.saturating_add(more as usize);
    }
    Ok(())
}

/// True where a value cannot be below zero, by the operator that makes it.
fn not_negative(site: &Site<'_>, value: ValueId) -> bool {
    let last_step = |node: &Node| match (node.epilogue.steps.last(), &node.op) {
        (Some(Step::Unary(u)), _) => Some(*u),
        (None, Op::Unary(u)) => Some(*u),
        _ => None,
    };
    match site.producer(value).and_then(|(_, node)| last_step(node)) {
        Some(Unary::Clip { lo, .. }) => lo >= 0.0,
        Some(op) => matches!(op, Unary::Relu | Unary::Sigmoid | Unary::HardSigmoid { .. } | Unary::Exp | Unary::Abs),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;
    use super::fold;
    use crate::graph::{Builder, Expr};
    use crate::tensor::DType;

    fn folded(formula: impl for<'b> Fn(&'b Builder, Expr<'b>) -> Expr<'b>) -> Vec<String> {
        let b = Builder::new("pad");
        let x = b.input("x", DType::F32, [1, 2, 6, 6]);
        after(&b, formula(&b, x), &[fold])
    }

    #[test]
    fn into_the_window() {
        let conv = folded(|b, x| x.pad([0, 0, 0, 0, 0, 0, 1, 2]).conv(b.weights("w", [3, 2, 3, 3]), None, 2, 1));
        assert_eq!(conv, ["y = Conv strides 2,2 pads 1,1,2,3 (x, w: float32[3, 2, 3, 3], -)"]);
        let average = folded(|_, x| x.pad([0, 0, 1, 1, 0, 0, 1, 1]).average_pool(2, 1, 0, false));
        assert_eq!(average, ["y = AveragePool 2x2 pads 1,1,1,1 (x)"]);
        let max = folded(|_, x| x.relu().pad([0, 0, 1, 1, 0, 0, 1, 1]).max_pool(3, 2, 0));
        assert_eq!(max[1], "y = MaxPool 3x3 strides 2,2 pads 1,1,1,1 (Relu0)");
    }

    #[test]
    fn zeros_that_a_maximum_would_see_stay() {
        assert_eq!(folded(|_, x| x.pad([0, 0, 1, 1, 0, 0, 1, 1]).max_pool(3, 2, 0)).len(), 2);
        assert_eq!(
            folded(|b, x| x.pad([0, 2, 0, 0, 0, 0, 0, 0]).conv(b.weights("w", [3, 4, 3, 3]), None, 1, 0)).len(),
            2
        );
        assert_eq!(folded(|_, x| x.pad([0, 0, 1, 1, 0, 0, 1, 1]).average_pool(2, 1, 1, false)).len(), 2);
    }
}
