//! Canonical forms: what does nothing goes, what has several spellings gets one.

use super::site::{Answer, Change, Order, Rule, Site, rewrite};
use super::{PassOutcome, Refusal};
use crate::error::Result;
use crate::graph::{Graph, Node, NodeId, ValueId};
use crate::ops::{Binary, Identity, Op, PadMode, Pool, PoolKind, Reduce, ReduceKind, Unary};

use super::movement;

const RULES: &[Rule] = &[
    no_op,
    neutral_element,
    clip,
    leaky_relu,
    power,
    global_pool,
    movement::as_reshape,
    movement::reshape_of_reshape,
    movement::transpose_of_transpose,
    movement::slice_of_slice,
    movement::split,
    movement::zero_concat,
];

/// Applies the rules until none matches.
pub fn simplify(graph: &mut Graph) -> Result<PassOutcome> {
    rewrite(graph, "simplify", Order::Forward, RULES)
}

/// Input `i` of a node, which must be there.
pub(super) fn input(node: &Node, i: usize) -> std::result::Result<ValueId, Refusal> {
    node.inputs.get(i).copied().flatten().ok_or(Refusal::NoMatch)
}

/// The same node with another operator and other inputs, its epilogue dropped; for nodes that have none.
pub(super) fn same_name(node: &Node, op: Op, inputs: Vec<Option<ValueId>>) -> Node {
    Node::new(node.name.clone(), op, inputs, node.outputs.clone())
}

/// Operators that pass their first input on as it is.
fn no_op(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    let x = input(node, 0)?;
    let &[y] = &node.outputs[..] else { return Err(Refusal::NoMatch) };
    if !node.epilogue.is_empty() {
        return Err(Refusal::NoMatch);
    }
    let same_shape = site.shape(x)? == site.shape(y)?;
    let all = |i: usize, want: &dyn Fn(i64) -> bool| {
        node.inputs.get(i).copied().flatten().is_none_or(|v| site.ints(v).is_some_and(|v| v.into_iter().all(want)))
    };
    let nothing_happens = match &node.op {
        Op::Identity(Identity) => true,
        Op::Reshape(_) | Op::Flatten(_) | Op::Squeeze(_) | Op::Unsqueeze(_) | Op::Expand(_) => same_shape,
        Op::Cast(cast) => site.dtype(x)? == cast.to,
        Op::Transpose(t) => t.perm.iter().copied().eq(0..site.shape(x)?.len()),
        Op::Concat(_) => node.inputs.len() == 1,
        Op::Pad(_) => same_shape && all(1, &|pad| pad == 0),
        Op::Slice(_) => same_shape && all(4, &|step| step > 0),
        Op::Resize(_) => {
            let scales = node.inputs.get(2).copied().flatten();
            same_shape && scales.is_none_or(|v| site.constant(v).is_some_and(|t| t.to_f32().iter().all(|&s| s == 1.0)))
        }
        _ => false,
    };
    if nothing_happens { site.bypass(id, x) } else { Err(Refusal::NoMatch) }
}

/// x + 0, x - 0, x * 1, x / 1 and their mirror images.
fn neutral_element(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    let Op::Binary(op) = node.op else { return Err(Refusal::NoMatch) };
    let (a, b, y) = (input(node, 0)?, input(node, 1)?, *node.outputs.first().ok_or(Refusal::NoMatch)?);
    let (left, right) = match op {
        Binary::Add => (Some(0.0), Some(0.0)),
        Binary::Mul => (Some(1.0), Some(1.0)),
        Binary::Sub => (None, Some(0.0)),
        Binary::Div | Binary::Pow => (None, Some(1.0)),
        _ => return Err(Refusal::NoMatch),
    };
    let is = |v: ValueId, neutral: Option<f32>| neutral.is_some() && site.scalar(v) == neutral;
    let kept = if is(b, right) {
        a
    } else if is(a, left) {
        b
    } else {
        return Err(Refusal::NoMatch);
    };
    if site.shape(kept)? != site.shape(y)? || !node.epilogue.is_empty() {
        return Err(Refusal::NoMatch);
    }
    site.bypass(id, kept)
}

/// Clip with constant bounds becomes a step that can join an epilogue.
fn clip(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    let Op::Clip(_) = node.op else { return Err(Refusal::NoMatch) };
    let x = input(node, 0)?;
    if !site.dtype(x)?.is_float() {
        return Err(Refusal::CheckFailed("its elements are integers"));
    }
    let bound = |i: usize, default: f32| match node.inputs.get(i).copied().flatten() {
        None => Ok(default),
        Some(v) => site.scalar(v).ok_or(Refusal::CheckFailed("a bound is not a constant")),
    };
    let (lo, hi) = (bound(1, f32::MIN)?, bound(2, f32::MAX)?);
    let op = if lo == 0.0 && hi == f32::MAX { Unary::Relu } else { Unary::Clip { lo, hi } };
    Ok(Change::replace(id, same_name(node, Op::Unary(op), vec![Some(x)])))
}

/// PRelu with one slope for all channels.
fn leaky_relu(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    let Op::Binary(Binary::PRelu) = node.op else { return Err(Refusal::NoMatch) };
    let x = input(node, 0)?;
    let alpha = site.scalar(input(node, 1)?).ok_or(Refusal::NoMatch)?;
    Ok(Change::replace(id, same_name(node, Op::Unary(Unary::LeakyRelu { alpha }), vec![Some(x)])))
}

/// x to the power of 1/2 or -1.
fn power(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    let Op::Binary(Binary::Pow) = node.op else { return Err(Refusal::NoMatch) };
    let (x, y) = (input(node, 0)?, *node.outputs.first().ok_or(Refusal::NoMatch)?);
    let op = match site.scalar(input(node, 1)?) {
        Some(0.5) => Unary::Sqrt,
        Some(-1.0) => Unary::Reciprocal,
        _ => return Err(Refusal::NoMatch),
    };
    if site.shape(x)? != site.shape(y)? || !site.dtype(x)?.is_float() {
        return Err(Refusal::NoMatch);
    }
    Ok(Change::replace(id, same_name(node, Op::Unary(op), vec![Some(x)])))
}

/// A pool whose one window covers the whole picture is a reduction.
fn global_pool(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    let Op::Pool(Pool { kind, window, .. }) = &node.op else { return Err(Refusal::NoMatch) };
    let (x, y) = (input(node, 0)?, *node.outputs.first().ok_or(Refusal::NoMatch)?);
    let (shape, out) = (site.shape(x)?, site.shape(y)?);
    let unpadded = window.pads.iter().all(|&p| p == 0) && window.dilations.iter().all(|&d| d == 1);
    let covers = shape.get(2..) == Some(&window.kernel[..]) && out.iter().skip(2).all(|&d| d == 1);
    if !unpadded || !covers || out.iter().zip(shape.iter()).take(2).any(|(a, b)| a != b) {
        return Err(Refusal::NoMatch);
    }
    let kind = match kind {
        PoolKind::Max => ReduceKind::Max,
        PoolKind::Average { .. } => ReduceKind::Mean,
    };
    let axes = (2..shape.len() as i64).collect();
    let op = Op::Reduce(Reduce { kind, keep_dims: true, noop_with_empty_axes: true });
    let node = node.clone();
    let axes = site.add_ints(y, "/axes", axes)?;
    Ok(Change::replace(id, same_name(&node, op, vec![Some(x), Some(axes)])))
}

/// True for constant padding with zeros, whose pads are known: begins and ends for every axis.
pub(super) fn zero_pads(site: &Site<'_>, node: &Node) -> Option<Vec<i64>> {
    let Op::Pad(pad) = node.op else { return None };
    let constant = pad.mode == PadMode::Constant;
    let zero = node.inputs.get(2).copied().flatten().is_none_or(|v| site.scalar(v) == Some(0.0));
    if !constant || !zero || node.inputs.get(3).copied().flatten().is_some() {
        return None;
    }
    site.ints(input(node, 1).ok()?)
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;
    use super::simplify;
    use crate::graph::{Builder, Expr};
    use crate::ops::{Binary, Cast, Identity, Op, Unary};
    use crate::tensor::{DType, Tensor};

    fn simplified(formula: impl for<'b> Fn(&'b Builder, Expr<'b>) -> Expr<'b>) -> Vec<String> {
        let b = Builder::new("simplify");
        let x = b.input("x", DType::F32, [1, 4, 6, 6]);
        after(&b, formula(&b, x), &[simplify])
    }

    #[test]
    fn what_does_nothing_goes() {
        let relu = ["y = Relu (x)"];
        assert_eq!(simplified(|_, x| x.apply(Op::Identity(Identity)).relu()), relu);
        assert_eq!(simplified(|_, x| x.relu().apply(Op::Identity(Identity))), relu);
        assert_eq!(simplified(|_, x| x.reshape([1, 4, 6, 6]).relu()), relu);
        assert_eq!(simplified(|_, x| x.transpose([0, 1, 2, 3]).relu().pad([0; 8])), relu);
        assert_eq!(simplified(|_, x| x.relu().apply(Op::Cast(Cast { to: DType::F32 }))), relu);
        assert_eq!(simplified(|_, x| (x.relu() * 1.0 + 0.0) / 1.0 - 0.0), relu);
        assert_eq!(simplified(|_, x| x.relu().slice(2, 0, 6)), relu);
    }

    #[test]
    fn a_neutral_element_that_widens_stays() {
        let wide = simplified(|b, x| x.relu() + b.constant("zeros", Tensor::f32([1, 1, 1, 1, 1], vec![0.0]).unwrap()));
        assert_eq!(wide, ["Relu0 = Relu (x)", "y = Add (Relu0, [1, 1, 1, 1, 1][0])"]);
    }

    #[test]
    fn an_output_that_is_an_input_keeps_its_copy() {
        assert_eq!(simplified(|_, x| x.apply(Op::Identity(Identity))), ["y = Identity (x)"]);
    }

    #[test]
    fn one_spelling() {
        assert_eq!(simplified(|_, x| x.clip(0.0, 6.0)), ["y = Clip lo=0.0 hi=6.0 (x)"]);
        assert_eq!(simplified(|b, x| (x.relu()).binary(Binary::Pow, b.scalar(0.5)))[1], "y = Sqrt (Relu0)");
        assert_eq!(simplified(|b, x| x.binary(Binary::PRelu, b.scalar(0.25))), ["y = LeakyRelu alpha=0.25 (x)"]);
        assert_eq!(simplified(|_, x| x.average_pool(6, 1, 0, false)), ["y = ReduceMean (x, [2 3])"]);
    }

    #[test]
    fn movement() {
        assert_eq!(simplified(|_, x| x.reshape([4, 36]).reshape([2, -1])), ["y = Reshape (x, [2 72])"]);
        let twice = simplified(|_, x| x.transpose([0, 2, 3, 1]).transpose([0, 2, 1, 3]));
        assert_eq!(twice, ["y = Transpose 0,3,2,1 (x)"]);
        assert_eq!(simplified(|_, x| x.transpose([0, 2, 3, 1]).transpose([0, 3, 1, 2]).relu()), ["y = Relu (x)"]);
        let ones = simplified(|_, x| x.mean_of_axes([1]).transpose([0, 2, 3, 1]));
        assert_eq!(ones[1], "y = Reshape (ReduceMean0, [1 6 6 1])");
        let cut = simplified(|_, x| x.slice(2, 1, 5).slice(3, 0, 3));
        assert_eq!(cut, ["y = Slice (x, [1 0], [5 3], [2 3], [1 1])"]);
    }

    #[test]
    fn joins_and_parts() {
        let padded = simplified(|b, x| {
            let zeros = b.constant("zeros", Tensor::f32([1, 2, 6, 6], vec![0.0; 72]).unwrap());
            x.concat(&[zeros], 1)
        });
        assert_eq!(padded, ["y = Pad (x, [0 0 0 0 0 2 0 0])"]);
        let parts = simplified(|_, x| {
            let parts = x.split(1, 2);
            parts[1].unary(Unary::Neg) + parts[0]
        });
        assert_eq!(parts[0], "Split0.0 = Slice (x, [0], [2], [1], [1])");
        assert_eq!(parts[1], "Split0.1 = Slice (x, [2], [4], [1], [1])");
    }
}
