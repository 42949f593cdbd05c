//! Which tensors share memory, and where each lies.

use super::{LowerOptions, select_all};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, ValueId};
use crate::kernels::{Kernel, Part};
use crate::plan::{self, Block, Lifetime, Plan, PlanError, Relation, Step};
use crate::recording::ALIGNMENT;
use std::collections::BTreeSet;

/// Where everything lies.
pub(super) struct Placement {
    /// For each value, its first byte in the arena; none for constants.
    pub offsets: Vec<Option<u64>>,
    /// For each node, its workspace: offset and bytes.
    pub scratch: Vec<Option<(u64, u64)>>,
    /// For each node, the launches that views make superfluous.
    pub skipped: Vec<Vec<usize>>,
    /// For each value, the steps in which it occupies its place.
    pub lives: Vec<Lifetime>,
    /// Blocks of the plan.
    pub blocks: Vec<Block>,
    /// The plan.
    pub plan: Plan,
}

/// Bytes a value is bound with: whole vectors of 16 bytes, and never none.
pub(super) fn bound_bytes(graph: &Graph, id: ValueId) -> Result<u64> {
    let (value, ty) = (graph.value(id)?, graph.ty(id)?);
    ty.shape.checked_elements()?;
    let bytes = (value.layout.elements(&ty.shape) as u64).checked_mul(ty.dtype.gpu_bytes() as u64);
    let bytes = bytes.filter(|&b| b < 1 << 40).ok_or_else(|| {
        Error::new(ErrorKind::ShapeMismatch, format!("{ty} is too large")).at(format!("tensor {:?}", value.name))
    })?;
    Ok(bytes.next_multiple_of(16).max(16))
}

/// Something that takes room: a value, or the workspace of a node.
struct Items {
    blocks: Vec<Block>,
    /// For each value of the graph, its item.
    of_value: Vec<Option<usize>>,
    /// For each node, the item of its workspace.
    of_scratch: Vec<Option<usize>>,
}

/// A wish and what is saved where it is granted.
struct Wish {
    relation: Relation,
    node: usize,
    /// The launch that becomes superfluous.
    launch: Option<usize>,
}

pub(super) fn place(graph: &Graph, options: &LowerOptions<'_>) -> Result<Placement> {
    // No two values share a number here, so kernels say what they would share.
    let kernels = select_all(graph, options, |value| value as u32)?;
    let items = items(graph, &kernels, options)?;
    let wishes = if options.share { wishes(graph, &kernels, &items) } else { Vec::new() };
    let apart = apart(graph, &items, &wishes);
    let mut banned = vec![false; wishes.len()];
    let (aliased, granted) = loop {
        let kept: Vec<usize> = (0..wishes.len()).filter(|&i| !banned[i]).collect();
        let relations: Vec<Relation> = kept.iter().map(|&i| wishes[i].relation).collect();
        let aliased = plan::unify(&items.blocks, &relations, &apart, ALIGNMENT).map_err(plan_error)?;
        let granted: Vec<usize> =
            kept.iter().zip(&aliased.refusals).filter(|(_, r)| r.is_none()).map(|(&i, _)| i).collect();
        let clashes = clashes(graph, &kernels, &items, &wishes, &granted, &aliased);
        let mut any = false;
        for i in granted.iter().copied().filter(|i| clashes.touches(&wishes[*i].relation)) {
            (banned[i], any) = (true, true);
        }
        if !any {
            break (aliased, granted);
        }
    };
    let blocks = if options.share { aliased.blocks } else { never_free(aliased.blocks, graph.nodes.len()) };
    let plan_options = plan::Options { alignment: ALIGNMENT, capacity: options.max_arena, effort: options.effort };
    let mut plan = plan::plan(&blocks, &plan_options).map_err(plan_error)?;
    // Sharing is a saving too: without any, each tensor has memory of its own.
    plan.naive = plan::naive(&items.blocks, ALIGNMENT).map_err(plan_error)?;
    let offset = |item: usize| {
        let place = aliased.places.get(item)?;
        plan.offsets.get(place.block)?.checked_add(place.offset)
    };
    let skipped = skipped(graph, &wishes, &granted);
    let lives = occupied(&items, granted.iter().map(|&i| &wishes[i].relation));
    let life = |item: &Option<usize>| item.map_or(Lifetime::new(0, 0), |i| lives[i]);
    Ok(Placement {
        offsets: items.of_value.iter().map(|item| item.and_then(offset)).collect(),
        scratch: items
            .of_scratch
            .iter()
            .map(|item| item.and_then(|i| Some((offset(i)?, items.blocks[i].bytes))))
            .collect(),
        skipped,
        lives: items.of_value.iter().map(life).collect(),
        blocks,
        plan,
    })
}

/// For each node, the launches that the granted views make superfluous.
fn skipped(graph: &Graph, wishes: &[Wish], granted: &[usize]) -> Vec<Vec<usize>> {
    let mut skipped = vec![Vec::new(); graph.nodes.len()];
    for wish in granted.iter().map(|&i| &wishes[i]) {
        skipped[wish.node].extend(wish.launch);
    }
    skipped
}

/// For each item, the steps in which its bytes are kept for it: a tensor that others are parts of holds its place from the
/// first write into a part, or into what became one in place, to the last read.
fn occupied<'r>(items: &Items, granted: impl Iterator<Item = &'r Relation> + Clone) -> Vec<Lifetime> {
    let mut lives: Vec<Lifetime> = items.blocks.iter().map(|b| b.life).collect();
    let mut reach = lives.clone();
    loop {
        let mut changed = false;
        for relation in granted.clone() {
            let (to, from) = match *relation {
                Relation::View { whole, part, .. } => (whole, part),
                Relation::InPlace { operand, result } => (result, operand),
            };
            let joined = Lifetime::new(reach[to].start.min(reach[from].start), reach[to].end.max(reach[from].end));
            changed |= std::mem::replace(&mut reach[to], joined) != joined;
        }
        if !changed {
            break;
        }
    }
    for relation in granted {
        if let Relation::View { whole, .. } = *relation {
            lives[whole] = reach[whole];
        }
    }
    lives
}

fn items(graph: &Graph, kernels: &[Kernel<'_>], options: &LowerOptions<'_>) -> Result<Items> {
    let steps = graph.nodes.len().max(1) as Step;
    let mut lives: Vec<Option<Lifetime>> = vec![None; graph.values.len()];
    let touch = |lives: &mut Vec<Option<Lifetime>>, id: ValueId, step: Step| {
        if let Some(slot) = lives.get_mut(id.index()) {
            let life = slot.get_or_insert(Lifetime::through(step, step));
            life.end = life.end.max(step.saturating_add(1));
        }
    };
    for &id in &graph.inputs {
        touch(&mut lives, id, 0);
    }
    for (step, node) in graph.nodes.iter().enumerate() {
        let operands = node.inputs.iter().flatten().filter(|id| graph.constant(**id).is_none());
        operands.chain(&node.outputs).for_each(|&id| touch(&mut lives, id, step as Step));
    }
    for &id in &graph.outputs {
        touch(&mut lives, id, steps - 1);
    }
    let mut items = Items { blocks: Vec::new(), of_value: vec![None; graph.values.len()], of_scratch: Vec::new() };
    for (i, life) in lives.into_iter().enumerate() {
        if let Some(life) = life {
            items.of_value[i] = Some(items.blocks.len());
            items.blocks.push(Block { bytes: bound_bytes(graph, ValueId(i as u32))?, life });
        }
    }
    for (step, (kernel, node)) in kernels.iter().zip(&graph.nodes).enumerate() {
        if options.max_workspace.is_some_and(|most| kernel.scratch > most) {
            let message = format!("workspace: {} needs {} bytes", kernel.label, kernel.scratch);
            return Err(Error::new(ErrorKind::MemoryLimit, message)
                .at(node.place())
                .hint(format!("allow a workspace of {} bytes", kernel.scratch)));
        }
        items.of_scratch.push((kernel.scratch > 0).then(|| {
            let life = Lifetime::through(step as Step, step as Step);
            items.blocks.push(Block { bytes: kernel.scratch.next_multiple_of(16), life });
            items.blocks.len() - 1
        }));
    }
    Ok(items)
}

/// What kernels would share: reshapes first, then parts and slices, then results in place.
fn wishes(graph: &Graph, kernels: &[Kernel<'_>], items: &Items) -> Vec<Wish> {
    let item = |id: Option<&Option<ValueId>>| -> Option<usize> {
        let id = (*id?)?;
        if graph.constant(id).is_some() { None } else { *items.of_value.get(id.index())? }
    };
    let (mut whole_views, mut part_views, mut in_place) = (Vec::new(), Vec::new(), Vec::new());
    for (n, (node, kernel)) in graph.nodes.iter().zip(kernels).enumerate() {
        let output = |i: usize| node.outputs.get(i).and_then(|o| *items.of_value.get(o.index())?);
        for view in &kernel.views {
            let (Some(input), Some(output)) = (item(node.inputs.get(view.input)), output(view.output)) else {
                continue;
            };
            // A tensor that is joined with itself cannot lie in two places.
            let times = node.inputs.iter().filter(|i| item(Some(*i)) == Some(input)).count();
            if times > 1 {
                continue;
            }
            let (whole, part) = if view.part == Part::Input { (output, input) } else { (input, output) };
            let wish = Wish {
                relation: Relation::View { whole, part, offset: view.offset },
                node: n,
                launch: Some(view.launch),
            };
            let all = items.blocks[whole].bytes == items.blocks[part].bytes;
            if all { &mut whole_views } else { &mut part_views }.push(wish);
        }
        for &position in &kernel.in_place {
            let (Some(operand), Some(result)) = (item(node.inputs.get(position)), output(0)) else { continue };
            // Every place where the operand is read must be one that may be overwritten.
            let everywhere = (node.inputs.iter().enumerate())
                .all(|(p, i)| item(Some(i)) != Some(operand) || kernel.in_place.contains(&p));
            let kept = graph.outputs.iter().any(|o| items.of_value.get(o.index()) == Some(&Some(operand)));
            if everywhere && !kept {
                in_place.push(Wish { relation: Relation::InPlace { operand, result }, node: n, launch: None });
            }
        }
    }
    whole_views.into_iter().chain(part_views).chain(in_place).collect()
}

/// Pairs that one dispatch binds as separate ranges. A pair that a view would join is left out: where the view is granted,
/// that dispatch is not made.
fn apart(graph: &Graph, items: &Items, wishes: &[Wish]) -> Vec<[usize; 2]> {
    let mut joined = BTreeSet::new();
    for wish in wishes {
        if let Relation::View { whole, part, .. } = wish.relation {
            joined.insert([whole.min(part), whole.max(part)]);
        }
    }
    let mut pairs = BTreeSet::new();
    for (node, scratch) in graph.nodes.iter().zip(&items.of_scratch) {
        let values = node.inputs.iter().flatten().chain(&node.outputs);
        let bound: Vec<usize> = values.filter_map(|id| *items.of_value.get(id.index())?).chain(*scratch).collect();
        for &a in &bound {
            pairs.extend(bound.iter().filter(|&&b| a < b && !joined.contains(&[a, b])).map(|&b| [a, b]));
        }
    }
    pairs.into_iter().collect()
}

/// For each item, whether a dispatch would bind it although it shares bytes with another that is not the same range.
struct Clashes(Vec<bool>);

impl Clashes {
    fn touches(&self, relation: &Relation) -> bool {
        let (a, b) = match *relation {
            Relation::View { whole, part, .. } => (whole, part),
            Relation::InPlace { operand, result } => (operand, result),
        };
        self.0[a] || self.0[b]
    }
}

fn clashes(
    graph: &Graph,
    kernels: &[Kernel<'_>],
    items: &Items,
    wishes: &[Wish],
    granted: &[usize],
    aliased: &plan::Aliased,
) -> Clashes {
    use crate::kernels::Source;
    let mut bad = vec![false; items.blocks.len()];
    let skipped = skipped(graph, wishes, granted);
    for (n, (node, kernel)) in graph.nodes.iter().zip(kernels).enumerate() {
        for (_, launch) in kernel.launches.iter().enumerate().filter(|(l, _)| !skipped[n].contains(l)) {
            let bound: Vec<(usize, (usize, u64, u64))> = launch
                .bindings
                .iter()
                .filter_map(|source| match source {
                    Source::Input(i) => *items.of_value.get((*node.inputs.get(*i)?)?.index())?,
                    Source::Output(i) => *items.of_value.get(node.outputs.get(*i)?.index())?,
                    Source::Scratch => *items.of_scratch.get(n)?,
                    _ => None,
                })
                .filter_map(|item| {
                    let place = aliased.places.get(item)?;
                    Some((item, (place.block, place.offset, items.blocks.get(item)?.bytes)))
                })
                .collect();
            for (i, &(a, x)) in bound.iter().enumerate() {
                for &(b, y) in &bound[i + 1..] {
                    let overlap = x.0 == y.0 && x.1 < y.1.saturating_add(y.2) && y.1 < x.1.saturating_add(x.2);
                    // One range is bound once; but a view was to be no dispatch at all.
                    if overlap && x != y {
                        (bad[a], bad[b]) = (true, true);
                    }
                }
            }
        }
    }
    Clashes(bad)
}

/// Every block occupied all the time.
fn never_free(mut blocks: Vec<Block>, steps: usize) -> Vec<Block> {
    blocks.iter_mut().for_each(|b| b.life = Lifetime::new(0, steps.max(1) as Step));
    blocks
}

fn plan_error(e: PlanError) -> Error {
    match e {
        PlanError::OverCapacity { needed, .. } => {
            let hint = format!("allow activations of {needed} bytes");
            Error::new(ErrorKind::MemoryLimit, format!("activations: {e}")).at("pool \"activations\"").hint(hint)
        }
        _ => Error::new(ErrorKind::ShapeMismatch, e.to_string()),
    }
}
