//! What a rewrite rule sees of the graph, and how rules are applied until none matches.

use super::{PassOutcome, Refusal};
use crate::error::Result;
use crate::graph::{Graph, Node, NodeId, Patch, ValueId};
use crate::tensor::{DType, Shape, Tensor};

/// A change that a rule proposes.
#[derive(Debug, Default)]
pub struct Change {
    /// Nodes and what takes their place.
    pub replaced: Vec<(NodeId, Vec<Node>)>,
    /// Values whose readers read another value from now on.
    pub redirected: Vec<(ValueId, ValueId)>,
}

impl Change {
    /// Puts one node in the place of another.
    pub fn replace(id: NodeId, node: Node) -> Self {
        Self { replaced: vec![(id, vec![node])], redirected: Vec::new() }
    }
}

/// What a rule answers.
pub type Answer = std::result::Result<Change, Refusal>;

/// A rule looks at one node and proposes a change.
pub type Rule = fn(&mut Site<'_>, NodeId) -> Answer;

/// The graph during one round of rewriting. Nodes that were already changed in this round are not shown again.
pub struct Site<'g> {
    graph: &'g mut Graph,
    producers: Vec<Option<NodeId>>,
    readers: Vec<Vec<NodeId>>,
    is_output: Vec<bool>,
    changed: Vec<bool>,
}

impl<'g> Site<'g> {
    fn new(graph: &'g mut Graph) -> Self {
        let mut is_output = vec![false; graph.values.len()];
        for output in &graph.outputs {
            if let Some(slot) = is_output.get_mut(output.index()) {
                *slot = true;
            }
        }
        let (producers, readers) = (graph.producers(), graph.readers());
        let changed = vec![false; graph.nodes.len()];
        Self { graph, producers, readers, is_output, changed }
    }

    /// A node that has not been changed in this round.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        if self.changed.get(id.index()) == Some(&true) {
            return None;
        }
        self.graph.nodes.get(id.index())
    }

    /// The node, or no match.
    pub fn expect(&self, id: NodeId) -> std::result::Result<&Node, Refusal> {
        self.node(id).ok_or(Refusal::NoMatch)
    }

    /// The node that makes a value.
    pub fn producer(&self, value: ValueId) -> Option<(NodeId, &Node)> {
        let id = self.producers.get(value.index()).copied().flatten()?;
        Some((id, self.node(id)?))
    }

    /// The one node that reads a value, once; none where it is read more often or is an output of the graph.
    pub fn sole_reader(&self, value: ValueId) -> Option<NodeId> {
        match self.readers.get(value.index()).map(Vec::as_slice) {
            Some(&[reader]) if !self.is_output(value) => Some(reader),
            _ => None,
        }
    }

    /// True for an output of the graph.
    pub fn is_output(&self, value: ValueId) -> bool {
        self.is_output.get(value.index()) == Some(&true)
    }

    /// Shape of a value.
    pub fn shape(&self, value: ValueId) -> std::result::Result<&Shape, Refusal> {
        self.graph.ty(value).map(|t| &t.shape).map_err(|_| Refusal::NoMatch)
    }

    /// Element type of a value.
    pub fn dtype(&self, value: ValueId) -> std::result::Result<DType, Refusal> {
        self.graph.ty(value).map(|t| t.dtype).map_err(|_| Refusal::NoMatch)
    }

    /// Contents of a constant.
    pub fn constant(&self, value: ValueId) -> Option<&Tensor> {
        self.graph.constant(value)
    }

    /// Whole numbers of a constant: axes, pads.
    pub fn ints(&self, value: ValueId) -> Option<Vec<i64>> {
        self.constant(value)?.to_ints().ok()
    }

    /// The number in a floating-point constant of one element.
    pub fn scalar(&self, value: ValueId) -> Option<f32> {
        let tensor = self.constant(value).filter(|t| t.dtype().is_float())?;
        match tensor.to_f32()[..] {
            [one] => Some(one),
            _ => None,
        }
    }

    /// A new constant, named after a value.
    pub fn add_constant(&mut self, like: ValueId, suffix: &str, tensor: Tensor) -> ValueId {
        let name = self.graph.values.get(like.index()).map_or("", |v| v.name.as_str());
        let name = format!("{name}{suffix}");
        self.graph.add_constant(name, tensor)
    }

    /// A new one-dimensional int64 constant.
    pub fn add_ints(&mut self, like: ValueId, suffix: &str, ints: Vec<i64>) -> std::result::Result<ValueId, Refusal> {
        let tensor = Tensor::i64([ints.len()], ints).map_err(|_| Refusal::NoMatch)?;
        Ok(self.add_constant(like, suffix, tensor))
    }

    /// A new value of the type of another.
    pub fn derive(&mut self, from: ValueId, suffix: &str) -> std::result::Result<ValueId, Refusal> {
        self.graph.derive_value(from, suffix).map_err(|_| Refusal::NoMatch)
    }

    /// Takes a node out that passes `input` on as its only output. An output of the graph keeps its name: then the producer
    /// of `input` makes it directly.
    pub fn bypass(&self, id: NodeId, input: ValueId) -> Answer {
        let &[output] = &self.expect(id)?.outputs[..] else { return Err(Refusal::NoMatch) };
        if !self.is_output(output) {
            return Ok(Change { replaced: vec![(id, Vec::new())], redirected: vec![(output, input)] });
        }
        if self.is_output(input) {
            return Err(Refusal::CheckFailed("its input and its output are both outputs of the graph"));
        }
        let (maker, node) =
            self.producer(input).ok_or(Refusal::CheckFailed("it makes an output from a given tensor"))?;
        let mut node = node.clone();
        for made in &mut node.outputs {
            if *made == input {
                *made = output;
            }
        }
        Ok(Change { replaced: vec![(id, Vec::new()), (maker, vec![node])], redirected: vec![(input, output)] })
    }
}

/// Order in which nodes are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// From the inputs.
    Forward,
    /// From the outputs.
    Backward,
}

/// Applies rules, round by round, until none matches. A round changes no node twice.
///
/// # Errors
/// Where a rule makes the graph inconsistent.
pub fn rewrite(graph: &mut Graph, pass: &'static str, order: Order, rules: &[Rule]) -> Result<PassOutcome> {
    // Each round removes or canonicalises at least one node, and chains are resolved whole, so few rounds are needed.
    const ROUNDS: usize = 64;
    let mut outcome = PassOutcome { pass, ..PassOutcome::default() };
    for _ in 0..ROUNDS {
        outcome.refused.clear();
        let mut site = Site::new(graph);
        let mut patch = Patch::default();
        let mut ids: Vec<NodeId> = (0..site.graph.nodes.len() as u32).map(NodeId).collect();
        if order == Order::Backward {
            ids.reverse();
        }
        for id in ids {
            for rule in rules {
                match rule(&mut site, id) {
                    Ok(change) => {
                        for (old, nodes) in change.replaced {
                            if let Some(slot) = site.changed.get_mut(old.index()) {
                                *slot = true;
                            }
                            patch.replace(old, nodes);
                        }
                        for (from, to) in change.redirected {
                            patch.redirect(from, to);
                        }
                        outcome.applied += 1;
                        break;
                    }
                    Err(Refusal::NoMatch) => {}
                    Err(Refusal::CheckFailed(reason)) => {
                        let name = site.node(id).map(Node::place).unwrap_or_default();
                        outcome.refused.push((name, reason));
                    }
                }
            }
        }
        if !patch.apply(graph)? {
            break;
        }
    }
    Ok(outcome)
}
