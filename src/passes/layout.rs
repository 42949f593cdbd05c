//! Chooses a layout for every tensor and inserts conversions where neighbours differ.
//!
//! The rules are in [`crate::ops::layout_rule`]. What is open after them (element-wise nodes, copies) is chosen so that
//! conversions and copies move the fewest bytes: see [`super::layout_choice`].

use super::PassOutcome;
use super::layout_choice::{Copy, Label, Problem};
use crate::error::Result;
use crate::graph::{Graph, Node, ValueId};
use crate::ops::{LayoutRule, Op, Operand, Relayout, layout_rule, shares_layout};
use crate::tensor::{Layout, Shape};
use std::collections::BTreeMap;

/// What a reader wants.
#[derive(Debug, Clone, Copy)]
struct Want {
    value: ValueId,
    label: Label,
}

/// Assigns layouts and inserts conversions.
///
/// # Errors
/// Where a value has no type yet.
pub fn assign(graph: &mut Graph) -> Result<PassOutcome> {
    let rules = rules(graph)?;
    let groups = groups(graph, &rules)?;
    let problem = problem(graph, &rules, &groups)?;
    let labels = problem.solve();
    let applied = apply(graph, &rules, &groups, &problem, &labels)?;
    Ok(PassOutcome { pass: "layout", applied, refused: Vec::new() })
}

fn operands<'g>(graph: &'g Graph, node: &Node) -> Result<Vec<Option<Operand<'g>>>> {
    let operand = |id| Ok(Operand { ty: graph.ty(id)?, constant: graph.constant(id) });
    node.inputs.iter().map(|i| i.map(operand).transpose()).collect()
}

fn rules(graph: &Graph) -> Result<Vec<LayoutRule>> {
    let rule = |node: &Node| match &node.outputs[..] {
        &[y] => Ok(layout_rule(&node.op, &operands(graph, node)?, node.own_inputs, graph.ty(y)?)),
        _ => Ok(LayoutRule::RowMajor),
    };
    graph.nodes.iter().map(rule).collect()
}

/// The inputs of node `i` that lie in the node's layout.
fn shared_inputs(graph: &Graph, node: &Node, rule: LayoutRule) -> Result<Vec<bool>> {
    let shared = matches!(rule, LayoutRule::Packed | LayoutRule::Alike);
    let &[y] = &node.outputs[..] else { return Ok(vec![false; node.inputs.len()]) };
    let out = graph.ty(y)?;
    let operands = operands(graph, node)?;
    let share = |(i, o): (usize, &Option<Operand<'_>>)| {
        shared && o.is_some_and(|o| shares_layout(&node.op, i, node.own_inputs, o, out))
    };
    Ok(operands.iter().enumerate().map(share).collect())
}

/// For each node, the label of its own layout. Neighbouring nodes that serve both layouts share one choice.
fn groups(graph: &Graph, rules: &[LayoutRule]) -> Result<Vec<Label>> {
    let producers = graph.producers();
    let mut parent: Vec<usize> = (0..graph.nodes.len()).collect();
    fn root(parent: &mut [usize], mut i: usize) -> usize {
        while parent[i] != i {
            parent[i] = parent[parent[i]];
            i = parent[i];
        }
        i
    }
    for (i, (node, &rule)) in graph.nodes.iter().zip(rules).enumerate() {
        if rule != LayoutRule::Alike {
            continue;
        }
        for (input, shared) in node.inputs.iter().zip(shared_inputs(graph, node, rule)?) {
            let maker = input.and_then(|v| producers.get(v.index()).copied().flatten());
            if let Some(maker) = maker.filter(|m| shared && rules.get(m.index()) == Some(&LayoutRule::Alike)) {
                let (a, b) = (root(&mut parent, i), root(&mut parent, maker.index()));
                parent[a.max(b)] = a.min(b);
            }
        }
    }
    let mut choices: Vec<usize> = Vec::new();
    Ok(rules
        .iter()
        .enumerate()
        .map(|(i, rule)| match rule {
            LayoutRule::Packed => Label::Fixed(Layout::C4),
            LayoutRule::RowMajor => Label::Fixed(Layout::RowMajor),
            LayoutRule::Alike | LayoutRule::Free => {
                let root = root(&mut parent, i);
                let known = choices.iter().position(|choice| *choice == root);
                Label::Choice(known.unwrap_or_else(|| {
                    choices.push(root);
                    choices.len() - 1
                }))
            }
        })
        .collect())
}

/// What each input of a node is wanted in; none where either will do, and for constants.
fn wants(graph: &Graph, node: &Node, rule: LayoutRule, label: Label) -> Result<Vec<Want>> {
    let shared = shared_inputs(graph, node, rule)?;
    let mut wants = Vec::new();
    for (i, (&input, shared)) in node.inputs.iter().zip(shared).enumerate() {
        let Some(value) = input.filter(|&v| graph.constant(v).is_none()) else { continue };
        match rule {
            LayoutRule::Free if reads_either(&node.op, i) => {}
            _ if shared => wants.push(Want { value, label }),
            _ => wants.push(Want { value, label: Label::Fixed(Layout::RowMajor) }),
        }
    }
    Ok(wants)
}

/// True for the data of an operator that reads either layout; indices are row-major.
fn reads_either(op: &Op, input: usize) -> bool {
    input == 0 || matches!(op, Op::Concat(_))
}

fn problem(graph: &Graph, rules: &[LayoutRule], groups: &[Label]) -> Result<Problem> {
    let mut p = Problem::new(graph.values.len());
    for &input in &graph.inputs {
        p.make(input, Label::Fixed(Layout::RowMajor));
    }
    for ((node, &rule), &label) in graph.nodes.iter().zip(rules).zip(groups) {
        for &output in &node.outputs {
            // C4 is defined for rank 4, and worth while for floats.
            let ty = graph.ty(output)?;
            let packs = ty.shape.len() == 4 && ty.dtype.is_float();
            p.make(output, if packs { label } else { Label::Fixed(Layout::RowMajor) });
        }
        for want in wants(graph, node, rule, label)? {
            p.want(want.value, want.label);
        }
        p.copies.extend(copies(graph, node)?);
    }
    for &output in &graph.outputs {
        p.want(output, Label::Fixed(Layout::RowMajor));
    }
    for (i, value) in graph.values.iter().enumerate() {
        if let Some(ty) = &value.ty {
            p.set_bytes(ValueId(i as u32), (ty.shape.elements() as u64).saturating_mul(ty.dtype.gpu_bytes() as u64));
        }
    }
    Ok(p)
}

/// The copies of a node that could be saved where a part lies in the whole as it is.
fn copies(graph: &Graph, node: &Node) -> Result<Vec<Copy>> {
    let (Some(Some(x)), &[y]) = (node.inputs.first().copied(), &node.outputs[..]) else { return Ok(Vec::new()) };
    match &node.op {
        Op::Reshape(_) => Ok(vec![Copy { from: x, to: y, moved: y, saved_row_major: true, saved_c4: false }]),
        Op::Concat(concat) => {
            let whole = &graph.ty(y)?.shape;
            let mut copies = Vec::new();
            let mut first = 0;
            for &part in node.inputs.iter().flatten() {
                let axis = if concat.axis < 0 { concat.axis + whole.len() as i64 } else { concat.axis } as usize;
                let size = graph.ty(part)?.shape.get(axis).copied().unwrap_or(0);
                let [saved_row_major, saved_c4] = stretch(whole, axis, first, size);
                copies.push(Copy { from: part, to: y, moved: part, saved_row_major, saved_c4 });
                first += size;
            }
            Ok(copies)
        }
        Op::Slice(_) => {
            let mut copy = Copy { from: x, to: y, moved: y, saved_row_major: false, saved_c4: false };
            if let Some((axis, first)) = stretch_of_slice(graph, node, x) {
                let size = graph.ty(y)?.shape.get(axis).copied().unwrap_or(0);
                [copy.saved_row_major, copy.saved_c4] = stretch(&graph.ty(x)?.shape, axis, first, size);
            }
            Ok(vec![copy])
        }
        _ => Ok(Vec::new()),
    }
}

/// Axis and first row of a slice that cuts one axis without gaps.
fn stretch_of_slice(graph: &Graph, node: &Node, x: ValueId) -> Option<(usize, usize)> {
    let known = |i: usize| match node.inputs.get(i).copied().flatten() {
        None => Some(None),
        Some(v) => <[i64; 1]>::try_from(graph.constant(v)?.to_ints().ok()?).ok().map(|[one]| Some(one)),
    };
    let (start, axis, step) = (known(1)??, known(3)?.unwrap_or(0), known(4)?.unwrap_or(1));
    let whole = &graph.ty(x).ok()?.shape;
    let axis = usize::try_from(if axis < 0 { axis + whole.len() as i64 } else { axis }).ok()?;
    let n = *whole.get(axis)? as i64;
    let first = if start < 0 { start.saturating_add(n) } else { start }.clamp(0, n);
    (step == 1).then_some((axis, first as usize))
}

/// Whether `size` rows from `first` on along `axis` are one stretch of memory that begins where a binding may begin, in
/// row-major and in C4.
fn stretch(whole: &Shape, axis: usize, first: usize, size: usize) -> [bool; 2] {
    const ALIGNMENT: usize = 256 / 4;
    let outermost = whole.iter().take(axis).all(|&d| d == 1);
    let inner = whole.iter().skip(axis + 1).fold(1usize, |n, &d| n.saturating_mul(d));
    let aligned = outermost && first.saturating_mul(inner).is_multiple_of(ALIGNMENT);
    let end = first.saturating_add(size);
    let blocks = first.is_multiple_of(4) && (end.is_multiple_of(4) || Some(&end) == whole.get(1));
    [aligned, aligned && axis == 1 && whole.len() == 4 && blocks]
}

/// Writes the layouts down and puts a conversion in front of the first reader that wants the other one.
fn apply(graph: &mut Graph, rules: &[LayoutRule], groups: &[Label], p: &Problem, choices: &[Layout]) -> Result<usize> {
    for (value, layout) in graph.values.iter_mut().zip(p.layouts(choices)) {
        value.layout = layout;
    }
    let mut converted: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    let mut nodes = Vec::with_capacity(graph.nodes.len());
    let old = std::mem::take(&mut graph.nodes);
    for ((mut node, &rule), &label) in old.into_iter().zip(rules).zip(groups) {
        let wants = wants(graph, &node, rule, label)?;
        for input in node.inputs.iter_mut().flatten() {
            let Some(want) = wants.iter().rfind(|want| want.value == *input) else { continue };
            let layout = Problem::layout(want.label, choices);
            if graph.value(*input)?.layout != layout {
                *input = convert(graph, &mut nodes, &mut converted, *input, layout)?;
            }
        }
        // An output of the graph keeps its name and is row-major; the node makes a packed one in front of it.
        let mut renamed = Vec::new();
        for output in &mut node.outputs {
            if graph.outputs.contains(output) && graph.value(*output)?.layout == Layout::C4 {
                let packed = graph.derive_value(*output, "/c4")?;
                renamed.push((*output, packed));
                *output = packed;
            }
        }
        let name = node.name.clone();
        nodes.push(node);
        for (output, packed) in renamed {
            if let Some(value) = graph.values.get_mut(output.index()) {
                value.layout = Layout::RowMajor;
            }
            let op = Op::Relayout(Relayout { to: Layout::RowMajor });
            nodes.push(Node::new(format!("{name}/row-major"), op, vec![Some(packed)], vec![output]));
            converted.insert(output, packed);
        }
    }
    let inserted = nodes.iter().filter(|n| matches!(n.op, Op::Relayout(_))).count();
    graph.nodes = nodes;
    Ok(inserted)
}

/// The value in the other layout: made once, in front of its first reader.
fn convert(
    graph: &mut Graph,
    nodes: &mut Vec<Node>,
    converted: &mut BTreeMap<ValueId, ValueId>,
    from: ValueId,
    to: Layout,
) -> Result<ValueId> {
    if let Some(&done) = converted.get(&from) {
        return Ok(done);
    }
    let made = graph.derive_value(from, &format!("/{to}"))?;
    if let Some(value) = graph.values.get_mut(made.index()) {
        value.layout = to;
    }
    let name = graph.value(made)?.name.clone();
    nodes.push(Node::new(name, Op::Relayout(Relayout { to }), vec![Some(from)], vec![made]));
    converted.insert(from, made);
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_same, typed};
    use super::super::{PassOptions, optimize};
    use crate::graph::{Builder, Expr};
    use crate::tensor::DType;

    /// Nodes with the layout of what they make.
    fn laid_out(shape: [usize; 4], formula: impl for<'b> Fn(&'b Builder, Expr<'b>) -> Expr<'b>) -> Vec<String> {
        let b = Builder::new("layout");
        let x = b.input("x", DType::F32, shape);
        let before = typed(&b, &[("y", formula(&b, x))]);
        let mut graph = before.clone();
        optimize(&mut graph, &PassOptions::default()).unwrap();
        assert_same(&before, &graph);
        let made = |n: &crate::graph::Node| {
            let v = graph.value(n.outputs[0]).unwrap();
            format!("{} {} {}", v.name, n.op.definition().name(), v.layout)
        };
        graph.nodes.iter().map(made).collect()
    }

    #[test]
    fn one_conversion_at_each_border() {
        let nodes = laid_out([1, 3, 8, 8], |b, x| {
            let y = x.conv(b.weights("w", [8, 3, 3, 3]), None, 1, 1).relu().max_pool(2, 2, 0);
            y.conv(b.weights("v", [4, 8, 1, 1]), None, 1, 0)
        });
        let want = ["x/c4 Relayout c4", "Relu1 Conv c4", "MaxPool2 MaxPool c4", "y/c4 Conv c4", "y Relayout row-major"];
        assert_eq!(nodes, want);
    }

    #[test]
    fn transpositions_at_the_border_convert_as_they_copy() {
        let nodes = laid_out([1, 8, 8, 3], |b, x| {
            let y = x.transpose([0, 3, 1, 2]).conv(b.weights("w", [8, 3, 3, 3]), None, 1, 1);
            y.transpose([0, 2, 3, 1]).reshape([64, 8])
        });
        let want =
            ["Transpose0 Transpose c4", "Conv1 Conv c4", "Transpose2 Transpose row-major", "y Reshape row-major"];
        assert_eq!(nodes, want);
    }

    #[test]
    fn a_softmax_reads_row_major() {
        let nodes = laid_out([1, 4, 8, 8], |b, x| x.conv(b.weights("w", [8, 4, 1, 1]), None, 1, 0).softmax(1));
        assert_eq!(nodes[1..], ["Conv0 Conv c4", "Conv0/row-major Relayout row-major", "y Softmax row-major"]);
    }

    #[test]
    fn what_touches_nothing_packed_stays_row_major() {
        let nodes = laid_out([1, 4, 8, 8], |_, x| x.slice(2, 0, 4).relu());
        assert_eq!(nodes, ["Slice0 Slice row-major", "y Identity row-major"]);
    }

    #[test]
    fn a_channel_pad_follows_its_convolutions() {
        let nodes = laid_out([1, 6, 8, 8], |b, x| {
            let a = x.conv(b.weights("w", [6, 6, 1, 1]), None, 1, 0);
            let c = a.conv(b.weights("v", [10, 6, 1, 1]), None, 1, 0);
            (c + a.pad([0, 0, 0, 0, 0, 4, 0, 0])).max_pool(8, 8, 0).reshape([10])
        });
        assert_eq!(nodes[1..4], ["Conv0 Conv c4", "Pad2 Pad c4", "Add3 Conv c4"]);
    }
}
