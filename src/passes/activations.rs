//! Activations that a model spells out in arithmetic become the activation they are.
//!
//! The search follows one operand: `hard-sigmoid-like` is any `s * hard_sigmoid(x)`, however it is written.

use super::simplify::{input, same_name};
use super::site::{Answer, Change, Order, Rule, Site, rewrite};
use super::{PassOutcome, Refusal};
use crate::error::Result;
use crate::graph::{Graph, NodeId, ValueId};
use crate::ops::{Binary, Op, Unary};

const RULES: &[Rule] = &[hard_swish, hard_sigmoid, gated];

/// Finds hard-swish, hard-sigmoid, SiLU and Mish.
pub fn find(graph: &mut Graph) -> Result<PassOutcome> {
    rewrite(graph, "activations", Order::Forward, RULES)
}

fn near(a: f32, b: f32) -> bool {
    (a - b).abs() <= 1e-5 * a.abs().max(b.abs())
}

/// `value` as `inner * factor + term`, where such a node with constants makes it; one node deep.
fn affine(site: &Site<'_>, value: ValueId) -> Option<(ValueId, f32, f32)> {
    let (_, node) = site.producer(value)?;
    let Op::Binary(op) = node.op else { return None };
    let (a, b) = (input(node, 0).ok()?, input(node, 1).ok()?);
    let (inner, c, swapped) = match (site.scalar(a), site.scalar(b)) {
        (None, Some(c)) => (a, c, false),
        (Some(c), None) => (b, c, true),
        _ => return None,
    };
    // A constant of higher rank would widen the result.
    if site.shape(inner).ok()? != site.shape(value).ok()? || !node.epilogue.is_empty() {
        return None;
    }
    match (op, swapped) {
        (Binary::Add, _) => Some((inner, 1.0, c)),
        (Binary::Sub, false) => Some((inner, 1.0, -c)),
        (Binary::Mul, _) => Some((inner, c, 0.0)),
        (Binary::Div, false) if c != 0.0 => Some((inner, 1.0 / c, 0.0)),
        _ => None,
    }
}

/// `value` as `x * factor + term` for this `x`; two nodes deep.
fn affine_of(site: &Site<'_>, value: ValueId, x: ValueId) -> Option<(f32, f32)> {
    if value == x {
        return Some((1.0, 0.0));
    }
    let (inner, a, b) = affine(site, value)?;
    if inner == x {
        return Some((a, b));
    }
    let (innermost, c, d) = affine(site, inner)?;
    (innermost == x).then_some((a * c, a * d + b))
}

/// `s`, where `value` is `s * hard_sigmoid(x)` with alpha 1/6 and beta 1/2.
fn hard_sigmoid_of(site: &Site<'_>, value: ValueId, x: ValueId) -> Option<f32> {
    let (_, node) = site.producer(value)?;
    match node.op {
        Op::Unary(Unary::HardSigmoid { alpha, beta }) if input(node, 0).ok()? == x => {
            (near(alpha, 1.0 / 6.0) && near(beta, 0.5)).then_some(1.0)
        }
        Op::Unary(Unary::Clip { lo: 0.0, hi }) if hi > 0.0 => {
            let (a, b) = affine_of(site, input(node, 0).ok()?, x)?;
            (near(a, hi / 6.0) && near(b, hi / 2.0)).then_some(hi)
        }
        Op::Binary(Binary::Mul | Binary::Div) => {
            // Only a factor is looked through, and only one: the recursion is two deep.
            let (inner, factor, _) = affine(site, value)?;
            let (_, gate) = site.producer(inner)?;
            matches!(gate.op, Op::Unary(_)).then(|| hard_sigmoid_of(site, inner, x)).flatten().map(|s| s * factor)
        }
        _ => None,
    }
}

/// `s` and `x`, where `value` is `s * hard_swish(x)`, written as a product.
fn hard_swish_product(site: &Site<'_>, value: ValueId) -> Option<(ValueId, f32)> {
    let (_, node) = site.producer(value)?;
    let Op::Binary(Binary::Mul) = node.op else { return None };
    let (a, b) = (input(node, 0).ok()?, input(node, 1).ok()?);
    [(a, b), (b, a)].into_iter().find_map(|(x, gate)| Some((x, hard_sigmoid_of(site, gate, x)?)))
}

/// x * hard_sigmoid(x), in whichever order it is scaled.
fn hard_swish(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    let &[y] = &node.outputs[..] else { return Err(Refusal::NoMatch) };
    let found = match hard_swish_product(site, y) {
        Some((x, s)) => Some((x, s)),
        None => affine(site, y)
            .filter(|&(_, _, term)| term == 0.0)
            .and_then(|(inner, factor, _)| hard_swish_product(site, inner).map(|(x, s)| (x, s * factor))),
    };
    match found {
        Some((x, s)) if near(s, 1.0) && site.dtype(x)?.is_float() => {
            Ok(Change::replace(id, same_name(node, Op::Unary(Unary::HardSwish), vec![Some(x)])))
        }
        _ => Err(Refusal::NoMatch),
    }
}

/// clip(a * x + b, 0, hi) / hi.
fn hard_sigmoid(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    let &[y] = &node.outputs[..] else { return Err(Refusal::NoMatch) };
    let (clipped, factor) = match affine(site, y) {
        Some((inner, factor, 0.0)) => (inner, factor),
        _ => (y, 1.0),
    };
    let (_, clip) = site.producer(clipped).ok_or(Refusal::NoMatch)?;
    let Op::Unary(Unary::Clip { lo: 0.0, hi }) = clip.op else { return Err(Refusal::NoMatch) };
    let (inner, a, b) = affine(site, input(clip, 0)?).ok_or(Refusal::NoMatch)?;
    if !near(hi * factor, 1.0) {
        return Err(Refusal::NoMatch);
    }
    let (x, a, b) = match affine(site, inner) {
        Some((x, c, d)) if site.sole_reader(inner).is_some() => (x, a * c, a * d + b),
        _ => (inner, a, b),
    };
    let op = Unary::HardSigmoid { alpha: a * factor, beta: b * factor };
    Ok(Change::replace(id, same_name(node, Op::Unary(op), vec![Some(x)])))
}

/// x * sigmoid(x) and x * tanh(softplus(x)).
fn gated(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    let Op::Binary(Binary::Mul) = node.op else { return Err(Refusal::NoMatch) };
    let (a, b) = (input(node, 0)?, input(node, 1)?);
    let unary = |v: ValueId| match site.producer(v) {
        Some((_, n)) if n.epilogue.is_empty() => match n.op {
            Op::Unary(op) => Some((op, input(n, 0).ok()?)),
            _ => None,
        },
        _ => None,
    };
    for (x, gate) in [(a, b), (b, a)] {
        let op = match unary(gate) {
            Some((Unary::Sigmoid, inner)) if inner == x => Unary::Silu,
            Some((Unary::Tanh, inner)) if unary(inner) == Some((Unary::Softplus, x)) => Unary::Mish,
            _ => continue,
        };
        return Ok(Change::replace(id, same_name(node, Op::Unary(op), vec![Some(x)])));
    }
    Err(Refusal::NoMatch)
}

#[cfg(test)]
mod tests {
    use super::super::simplify::simplify;
    use super::super::testing::after;
    use super::find;
    use crate::graph::{Builder, Expr};
    use crate::ops::{Binary, Unary};
    use crate::tensor::DType;

    fn found(formula: impl for<'b> Fn(Expr<'b>) -> Expr<'b>) -> Vec<String> {
        let b = Builder::new("activation");
        let x = b.input("x", DType::F32, [2, 3]);
        after(&b, formula(x), &[simplify, find])
    }

    #[test]
    fn hard_swish_in_every_spelling() {
        let swish = ["y = HardSwish (x)"];
        assert_eq!(found(|x| x * (x + 3.0).clip(0.0, 6.0) / 6.0), swish);
        assert_eq!(found(|x| x * ((x + 3.0).clip(0.0, 6.0) / 6.0)), swish);
        assert_eq!(found(|x| (x + 3.0).clip(0.0, 6.0) * x * (1.0 / 6.0)), swish);
        assert_eq!(found(|x| x * (x / 6.0 + 0.5).clip(0.0, 1.0)), swish);
        assert_eq!(found(|x| x * x.unary(Unary::HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 })), swish);
    }

    #[test]
    fn what_only_looks_like_it_stays() {
        assert_eq!(found(|x| x * (x + 3.0).clip(0.0, 6.0) / 5.0).len(), 4);
        assert_eq!(found(|x| x * (x + 2.0).clip(0.0, 6.0) / 6.0)[0], "Add0 = Add (x, 2)");
        assert_eq!(found(|x| x * x.unary(Unary::HardSigmoid { alpha: 0.2, beta: 0.5 })).len(), 2);
    }

    #[test]
    fn hard_sigmoid_spelled_out() {
        let found = found(|x| (x + 3.0).clip(0.0, 6.0) / 6.0);
        assert_eq!(found, ["y = HardSigmoid alpha=0.16666667 beta=0.5 (x)"]);
    }

    #[test]
    fn gates() {
        assert_eq!(found(|x| x.sigmoid() * x), ["y = Silu (x)"]);
        assert_eq!(found(|x| x * x.unary(Unary::Softplus).unary(Unary::Tanh)), ["y = Mish (x)"]);
        assert_eq!(found(|x| x.binary(Binary::Mul, (x + 1.0).sigmoid())).len(), 3);
    }
}
