//! Element-wise operators join the epilogue of the node that makes their operand; those that find none become one chain.

use super::site::{Answer, Change, Order, Site, rewrite};
use super::{PassOutcome, Refusal};
use crate::error::Result;
use crate::graph::{Graph, Node, NodeId, ValueId};
use crate::ops::{Binary, Identity, Op, OperandForm, Step, operand_form};
use crate::tensor::{DType, Shape};

/// Most tensors that an epilogue reads: with three of its own and the result, a kernel stays within eight bindings.
const TENSORS: usize = 4;
/// Most steps of an epilogue; longer chains are cut.
const STEPS: usize = 16;

/// Moves steps into the nodes that compute.
///
/// The search runs from the outputs: where a residual sum could join either of two convolutions it joins the later one,
/// whose result then need not wait in memory.
pub fn fuse(graph: &mut Graph) -> Result<PassOutcome> {
    rewrite(graph, "fuse-epilogue", Order::Backward, &[into_producer])
}

/// Gathers the element-wise operators that are left into chains, one dispatch each.
pub fn chain(graph: &mut Graph) -> Result<PassOutcome> {
    rewrite(graph, "fuse-chain", Order::Forward, &[into_chain])
}

fn into_producer(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    match node.op {
        Op::Conv(_)
        | Op::ConvTranspose(_)
        | Op::Gemm(_)
        | Op::MatMul(_)
        | Op::Pool(_)
        | Op::Reduce(_)
        | Op::Resize(_) => {}
        _ => return Err(Refusal::NoMatch),
    }
    extend(site, id, node.clone())
}

fn into_chain(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    let start = match node.op {
        Op::Unary(_) | Op::Binary(_) => as_chain(site, node),
        Op::Identity(_) => None,
        _ => return Err(Refusal::NoMatch),
    };
    match start {
        Some(start) => Ok(extend(site, id, start.clone()).unwrap_or_else(|_| Change::replace(id, start))),
        None if matches!(node.op, Op::Unary(_)) => Err(Refusal::NoMatch),
        None => extend(site, id, node.clone()),
    }
}

/// An element-wise node as Identity with one step, where its result has the shape of an operand.
fn as_chain(site: &Site<'_>, node: &Node) -> Option<Node> {
    let &[y] = &node.outputs[..] else { return None };
    let out = site.shape(y).ok()?;
    let dtype = site.dtype(y).ok().filter(|d| d.is_float())?;
    let inputs: Vec<ValueId> = node.inputs.iter().take(node.own_inputs).copied().collect::<Option<_>>()?;
    // A constant cannot be the running operand: it has no place in the arena.
    let runs = |v: &ValueId| {
        site.constant(*v).is_none()
            && site.shape(*v).is_ok_and(|s| s == out)
            && site.dtype(*v).is_ok_and(|d| d == dtype)
    };
    let running = inputs.iter().copied().find(runs)?;
    let mut chain = Node::new(node.name.clone(), Op::Identity(Identity), vec![Some(running)], vec![y]);
    let room = Room { shape: out.clone(), dtype, packed: false };
    join(site, &mut chain, node, running, &room).ok()?;
    Some(chain)
}

/// What the result of a producer is, and what may join it.
struct Room {
    shape: Shape,
    dtype: DType,
    /// The producer prefers C4, whose kernels know no general broadcast.
    packed: bool,
}

/// Follows the only readers of a node's result as long as they are element-wise, and takes them in.
fn extend(site: &Site<'_>, id: NodeId, mut node: Node) -> Answer {
    let &[first] = &node.outputs[..] else { return Err(Refusal::NoMatch) };
    let dtype = site.dtype(first)?;
    if !dtype.is_float() {
        return Err(Refusal::NoMatch);
    }
    let shape = site.shape(first)?.clone();
    let packed = shape.len() == 4 && !matches!(node.op, Op::Identity(_) | Op::Binary(_) | Op::Gemm(_) | Op::MatMul(_));
    let room = Room { shape, dtype, packed };
    let mut taken = vec![id];
    let mut refusal = Refusal::NoMatch;
    let mut value = first;
    while let Some(reader) = site.sole_reader(value) {
        let Some(next) = site.node(reader) else { break };
        match join(site, &mut node, next, value, &room) {
            Ok(()) => taken.push(reader),
            Err(why) => {
                refusal = why;
                break;
            }
        }
        let &[result] = &next.outputs[..] else { break };
        value = result;
    }
    let Some((last, others)) = taken.split_last().filter(|(_, others)| !others.is_empty()) else { return Err(refusal) };
    node.outputs = vec![value];
    let mut replaced: Vec<_> = others.iter().map(|&id| (id, Vec::new())).collect();
    replaced.push((*last, vec![node]));
    Ok(Change { replaced, redirected: Vec::new() })
}

/// Appends what `next` does to `value` to the epilogue of `node`, or leaves it as it is.
fn join(
    site: &Site<'_>,
    node: &mut Node,
    next: &Node,
    value: ValueId,
    room: &Room,
) -> std::result::Result<(), Refusal> {
    let &[y] = &next.outputs[..] else { return Err(Refusal::NoMatch) };
    let own = next.inputs.get(..next.own_inputs).unwrap_or_default();
    // Inputs that the epilogue gains, with the step that reads each.
    let mut steps: Vec<(Step, Option<ValueId>)> = Vec::new();
    match (&next.op, own) {
        (Op::Unary(op), _) => steps.push((Step::Unary(*op), None)),
        (Op::Identity(_), _) if own.first() == Some(&Some(value)) => {}
        (Op::Binary(op), &[Some(a), Some(b)]) if is_step(*op) && a != b => {
            let (other, swapped) = if a == value { (b, false) } else { (a, true) };
            if swapped && *op == Binary::PRelu {
                return Err(Refusal::CheckFailed("the running value is the slope"));
            }
            match site.scalar(other) {
                Some(number) => steps.push((Step::Scalar { op: *op, value: number, swapped }, None)),
                None => steps.push((Step::Tensor { op: *op, input: 0, swapped }, Some(other))),
            }
        }
        _ => return Err(Refusal::NoMatch),
    }
    for step in &next.epilogue.steps {
        let operand = match *step {
            Step::Tensor { input, .. } => Some(next.inputs.get(input).copied().flatten().ok_or(Refusal::NoMatch)?),
            _ => None,
        };
        if operand == Some(value) {
            return Err(Refusal::CheckFailed("the result is also an operand further on"));
        }
        steps.push((*step, operand));
    }
    if site.dtype(y)? != room.dtype || *site.shape(y)? != room.shape {
        return Err(Refusal::CheckFailed("the step changes shape or element type"));
    }
    let tensors = |n: &Node| n.epilogue.steps.iter().filter(|s| matches!(s, Step::Tensor { .. })).count();
    let more = steps.iter().filter(|(_, operand)| operand.is_some()).count();
    if tensors(node) + more > TENSORS || node.epilogue.steps.len() + steps.len() > STEPS {
        return Err(Refusal::CheckFailed("the epilogue would read too many tensors"));
    }
    for &operand in steps.iter().filter_map(|(_, operand)| operand.as_ref()) {
        if site.dtype(operand)? != room.dtype {
            return Err(Refusal::CheckFailed("an operand has another element type"));
        }
        let form = operand_form(site.shape(operand)?, &room.shape);
        if room.packed && form == OperandForm::Other {
            return Err(Refusal::CheckFailed("an operand broadcasts in a way that packed channels do not serve"));
        }
    }
    for (mut step, operand) in steps {
        if let (Step::Tensor { input, .. }, Some(operand)) = (&mut step, operand) {
            *input = node.inputs.len();
            node.inputs.push(Some(operand));
        }
        node.epilogue.steps.push(step);
    }
    Ok(())
}

/// Operators whose result is of the element type of their operands.
fn is_step(op: Binary) -> bool {
    use Binary::{Add, Div, Max, Min, Mul, PRelu, Pow, Sub};
    matches!(op, Add | Div | Max | Min | Mul | PRelu | Pow | Sub)
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;
    use super::{chain, fuse};
    use crate::graph::{Builder, Expr};
    use crate::ops::{Binary, Unary};
    use crate::tensor::DType;

    fn fused(formula: impl for<'b> Fn(&'b Builder, Expr<'b>) -> Expr<'b>) -> Vec<String> {
        let b = Builder::new("fuse");
        let x = b.input("x", DType::F32, [1, 4, 6, 6]);
        after(&b, formula(&b, x), &[fuse, chain])
    }

    const CONV: &str = "Conv (x, w: float32[4, 4, 1, 1], -)";

    #[test]
    fn steps_in_order() {
        let nodes = fused(|b, x| {
            (x.conv(b.weights("w", [4, 4, 1, 1]), None, 1, 0) * 2.0)
                .relu()
                .binary(Binary::PRelu, b.weights("s", [4, 1, 1]))
        });
        assert_eq!(nodes.len(), 1);
        assert!(nodes[0].starts_with(&format!("y = {CONV} | Mul 2 | Relu | PRelu [4, 1, 1][")), "{nodes:?}");
    }

    #[test]
    fn a_residual_joins_the_later_convolution() {
        let nodes = fused(|b, x| {
            let one = x.conv(b.weights("w", [4, 4, 1, 1]), None, 1, 0);
            let two = x.conv(b.weights("v", [4, 4, 1, 1]), None, 1, 0);
            (one + two).relu()
        });
        assert_eq!(
            nodes,
            [format!("Conv0 = {CONV}"), "y = Conv (x, v: float32[4, 4, 1, 1], -) | Add swapped Conv0 | Relu".into()]
        );
    }

    #[test]
    fn what_is_read_twice_is_stored() {
        let nodes = fused(|b, x| {
            let c = x.conv(b.weights("w", [4, 4, 1, 1]), None, 1, 0);
            c.sigmoid() * c
        });
        assert_eq!(nodes, [format!("Conv0 = {CONV}"), "y = Identity (Conv0) | Sigmoid | Mul Conv0".into()]);
    }

    #[test]
    fn a_gate_is_one_chain() {
        let nodes = fused(|b, x| {
            let c = x.conv(b.weights("w", [4, 4, 1, 1]), None, 1, 0);
            let gate = c.mean_of_axes([2, 3]).sigmoid();
            c * gate + c
        });
        assert_eq!(nodes[1], "ReduceMean1 = ReduceMean (Conv0, [2 3]) | Sigmoid".replace("ReduceMean1", "Sigmoid2"));
        assert_eq!(nodes[2], "y = Identity (Conv0) | Mul Sigmoid2 | Add Conv0");
    }

    #[test]
    fn a_result_of_another_shape_stays_a_general_node() {
        let nodes = fused(|b, x| x.mean_of_axes([1]) * b.weights("column", [1, 3, 1, 1]).relu() + 1.0);
        assert_eq!(nodes.len(), 2);
        assert!(nodes[1].starts_with("y = Mul (ReduceMean0, ") && nodes[1].ends_with("| Add 1"), "{nodes:?}");
    }

    #[test]
    fn packed_producers_take_no_general_broadcast() {
        let nodes = fused(|b, x| x.conv(b.weights("w", [4, 4, 1, 1]), None, 1, 0) + b.weights("row", [6]));
        assert_eq!(nodes.len(), 2);
        assert!(nodes[1].starts_with("y = Identity (Conv0) | Add ["), "{nodes:?}");
        let product = fused(|b, x| x.matmul(b.weights("w", [6, 6])) + b.weights("row", [6]));
        assert_eq!(product.len(), 1);
    }

    #[test]
    fn comparisons_change_the_type_and_stay() {
        let b = Builder::new("compare");
        let x = b.input("x", DType::F32, [4]);
        let y = x.unary(Unary::Exp).binary(Binary::Greater, b.scalar(1.0));
        assert_eq!(after(&b, y, &[fuse, chain]), ["Exp0 = Identity (x) | Exp", "y = Greater (Exp0, 1)"]);
    }
}
