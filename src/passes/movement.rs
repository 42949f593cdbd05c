//! Rules for operators that only move elements; see [`super::simplify`].

use super::Refusal;
use super::simplify::{input, same_name};
use super::site::{Answer, Change, Site};
use crate::graph::{Node, NodeId, ValueId};
use crate::ops::{Concat, Op, Pad, PadMode, Reshape, Slice, Split, Transpose};

const RESHAPE: Op = Op::Reshape(Reshape { allow_zero: true });

/// Flatten, Squeeze, Unsqueeze and transpositions that move only axes of size 1 are reshapes; a reshape states its result.
pub fn as_reshape(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    let (x, y) = (input(node, 0)?, *node.outputs.first().ok_or(Refusal::NoMatch)?);
    match &node.op {
        Op::Flatten(_) | Op::Squeeze(_) | Op::Unsqueeze(_) => {}
        Op::Transpose(t) => {
            let shape = site.shape(x)?;
            let moved: Vec<usize> =
                permutation(t, shape.len()).into_iter().filter(|&a| shape.get(a) != Some(&1)).collect();
            if !moved.is_sorted() {
                return Err(Refusal::NoMatch);
            }
        }
        _ => return Err(Refusal::NoMatch),
    }
    let node = node.clone();
    reshape(site, id, &node, x, y)
}

fn reshape(site: &mut Site<'_>, id: NodeId, node: &Node, x: ValueId, y: ValueId) -> Answer {
    let dims = site.shape(y)?.iter().map(|&d| d as i64).collect();
    let dims = site.add_ints(y, "/shape", dims)?;
    Ok(Change::replace(id, same_name(node, RESHAPE, vec![Some(x), Some(dims)])))
}

fn permutation(t: &Transpose, rank: usize) -> Vec<usize> {
    if t.perm.is_empty() { (0..rank).rev().collect() } else { t.perm.clone() }
}

/// A reshape of a reshape needs only the last shape.
pub fn reshape_of_reshape(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    let Op::Reshape(_) = node.op else { return Err(Refusal::NoMatch) };
    let y = *node.outputs.first().ok_or(Refusal::NoMatch)?;
    let (_, first) = site.producer(input(node, 0)?).ok_or(Refusal::NoMatch)?;
    let Op::Reshape(_) = first.op else { return Err(Refusal::NoMatch) };
    let (x, node) = (input(first, 0)?, node.clone());
    reshape(site, id, &node, x, y)
}

/// Two transpositions are one.
pub fn transpose_of_transpose(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    let Op::Transpose(second) = &node.op else { return Err(Refusal::NoMatch) };
    let (_, before) = site.producer(input(node, 0)?).ok_or(Refusal::NoMatch)?;
    let Op::Transpose(first) = &before.op else { return Err(Refusal::NoMatch) };
    let x = input(before, 0)?;
    let rank = site.shape(x)?.len();
    let (first, second) = (permutation(first, rank), permutation(second, rank));
    let perm = second.iter().map(|&a| first.get(a).copied()).collect::<Option<Vec<_>>>().ok_or(Refusal::NoMatch)?;
    Ok(Change::replace(id, same_name(node, Op::Transpose(Transpose { perm }), vec![Some(x)])))
}

/// Starts, ends, axes and steps of a slice, all known, axes not negative.
type Cut = [Vec<i64>; 4];

fn cut(site: &Site<'_>, node: &Node) -> Option<Cut> {
    let Op::Slice(_) = node.op else { return None };
    let known = |i: usize| node.inputs.get(i).copied().flatten().map(|v| site.ints(v));
    let (starts, ends) = (known(1)??, known(2)??);
    let rank = site.shape(input(node, 0).ok()?).ok()?.len() as i64;
    let axes = match known(3) {
        Some(axes) => axes?,
        None => (0..starts.len() as i64).collect(),
    };
    let steps = match known(4) {
        Some(steps) => steps?,
        None => vec![1; starts.len()],
    };
    let axes = axes.into_iter().map(|a| if a < 0 { a + rank } else { a }).collect();
    Some([starts, ends, axes, steps])
}

/// A slice of a slice along other axes is one slice.
pub fn slice_of_slice(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    let y = *node.outputs.first().ok_or(Refusal::NoMatch)?;
    let second = cut(site, node).ok_or(Refusal::NoMatch)?;
    let (_, before) = site.producer(input(node, 0)?).ok_or(Refusal::NoMatch)?;
    let first = cut(site, before).ok_or(Refusal::NoMatch)?;
    if first[2].iter().any(|axis| second[2].contains(axis)) {
        return Err(Refusal::CheckFailed("both slices cut the same axis"));
    }
    let (x, node) = (input(before, 0)?, node.clone());
    let mut inputs = vec![Some(x)];
    for ((a, b), what) in first.into_iter().zip(second).zip(["/starts", "/ends", "/axes", "/steps"]) {
        inputs.push(Some(site.add_ints(y, what, [a, b].concat())?));
    }
    Ok(Change::replace(id, same_name(&node, Op::Slice(Slice), inputs)))
}

/// A split is one slice a part, so that lowering knows slices only.
pub fn split(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?.clone();
    let Op::Split(Split { axis, .. }) = node.op else { return Err(Refusal::NoMatch) };
    let x = input(&node, 0)?;
    let rank = site.shape(x)?.len() as i64;
    let axis = if axis < 0 { axis + rank } else { axis };
    let mut start = 0;
    let mut slices = Vec::with_capacity(node.outputs.len());
    for &part in &node.outputs {
        let size = site.shape(part)?.get(axis as usize).copied().ok_or(Refusal::NoMatch)? as i64;
        let mut inputs = vec![Some(x)];
        for (what, number) in [("/starts", start), ("/ends", start + size), ("/axes", axis), ("/steps", 1)] {
            inputs.push(Some(site.add_ints(part, what, vec![number])?));
        }
        slices.push(Node::new(format!("{}/{}", node.name, slices.len()), Op::Slice(Slice), inputs, vec![part]));
        start += size;
    }
    Ok(Change { replaced: vec![(id, slices)], redirected: Vec::new() })
}

/// Joining a tensor with constant zeros pads it.
pub fn zero_concat(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    let Op::Concat(Concat { axis }) = node.op else { return Err(Refusal::NoMatch) };
    let y = *node.outputs.first().ok_or(Refusal::NoMatch)?;
    let rank = site.shape(y)?.len();
    let axis = if axis < 0 { axis + rank as i64 } else { axis } as usize;
    let (mut begin, mut end, mut kept) = (0, 0, None);
    for &v in node.inputs.iter().flatten() {
        let size = site.shape(v)?.get(axis).copied().ok_or(Refusal::NoMatch)? as i64;
        match (site.constant(v), kept) {
            (Some(t), _) if t.dtype().is_float() && t.to_f32().iter().all(|&x| x == 0.0) => {
                *if kept.is_none() { &mut begin } else { &mut end } += size;
            }
            (None, None) => kept = Some(v),
            _ => return Err(Refusal::NoMatch),
        }
    }
    let x = kept.filter(|_| begin + end > 0).ok_or(Refusal::NoMatch)?;
    let mut pads = vec![0; 2 * rank];
    if let Some(pad) = pads.get_mut(axis) {
        *pad = begin;
    }
    if let Some(pad) = pads.get_mut(rank + axis) {
        *pad = end;
    }
    let node = node.clone();
    let pads = site.add_ints(y, "/pads", pads)?;
    Ok(Change::replace(id, same_name(&node, Op::Pad(Pad { mode: PadMode::Constant }), vec![Some(x), Some(pads)])))
}
