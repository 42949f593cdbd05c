use super::{Graph, Node, NodeId, Value, ValueId};
use crate::error::Result;

/// A change to a graph, collected first and applied at once: nodes replaced, removed or added, values redirected.
#[derive(Debug, Default)]
pub struct Patch {
    replaced: Vec<(NodeId, Vec<Node>)>,
    redirected: Vec<(ValueId, ValueId)>,
}

impl Patch {
    /// Puts `nodes` in the place of `old`; none removes it.
    pub fn replace(&mut self, old: NodeId, nodes: Vec<Node>) {
        self.replaced.push((old, nodes));
    }

    /// Makes every reader of `from`, graph outputs included, read `to`.
    pub fn redirect(&mut self, from: ValueId, to: ValueId) {
        self.redirected.push((from, to));
    }

    /// True where nothing would change.
    pub fn is_empty(&self) -> bool {
        self.replaced.is_empty() && self.redirected.is_empty()
    }

    /// Applies the change, keeps topological order, and returns whether anything changed.
    pub fn apply(self, graph: &mut Graph) -> Result<bool> {
        if self.is_empty() {
            return Ok(false);
        }
        let mut slots: Vec<Vec<Node>> = std::mem::take(&mut graph.nodes).into_iter().map(|n| vec![n]).collect();
        for (old, nodes) in self.replaced {
            if let Some(slot) = slots.get_mut(old.index()) {
                *slot = nodes;
            }
        }
        graph.nodes = slots.into_iter().flatten().collect();
        if !self.redirected.is_empty() {
            let mut target: Vec<ValueId> = (0..graph.values.len() as u32).map(ValueId).collect();
            for (from, to) in self.redirected {
                if let Some(slot) = target.get_mut(from.index()) {
                    *slot = to;
                }
            }
            // A redirection may lead to a value that is itself redirected; the chain is no longer than the list.
            let resolve = |mut id: ValueId| {
                for _ in 0..target.len() {
                    match target.get(id.index()) {
                        Some(&next) if next != id => id = next,
                        _ => break,
                    }
                }
                id
            };
            for node in &mut graph.nodes {
                node.inputs.iter_mut().flatten().for_each(|v| *v = resolve(*v));
            }
            graph.outputs.iter_mut().for_each(|v| *v = resolve(*v));
        }
        graph.sort()?;
        Ok(true)
    }
}

impl Graph {
    /// Puts the nodes into topological order, keeping the present order where it is free.
    pub fn sort(&mut self) -> Result<()> {
        use crate::error::{Error, ErrorKind};
        let producers = self.producers();
        let n = self.nodes.len();
        let mut missing = vec![0usize; n];
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); n];
        for (i, node) in self.nodes.iter().enumerate() {
            for v in node.inputs.iter().flatten() {
                if let Some(p) = producers.get(v.index()).copied().flatten() {
                    missing[i] += 1;
                    next[p.index()].push(i);
                }
            }
        }
        let mut ready: std::collections::BinaryHeap<std::cmp::Reverse<usize>> =
            (0..n).filter(|&i| missing[i] == 0).map(std::cmp::Reverse).collect();
        let mut order = Vec::with_capacity(n);
        while let Some(std::cmp::Reverse(i)) = ready.pop() {
            order.push(i);
            for &j in &next[i] {
                missing[j] -= 1;
                if missing[j] == 0 {
                    ready.push(std::cmp::Reverse(j));
                }
            }
        }
        if order.len() != n {
            let stuck = (0..n).find(|&i| missing[i] > 0).map(|i| self.nodes[i].place()).unwrap_or_default();
            return Err(Error::new(ErrorKind::InvalidModel, "the graph has a cycle").at(stuck));
        }
        let mut nodes: Vec<Option<Node>> = std::mem::take(&mut self.nodes).into_iter().map(Some).collect();
        self.nodes = order.into_iter().filter_map(|i| nodes[i].take()).collect();
        Ok(())
    }

    /// A fresh value for a pass, named after an existing one.
    pub fn derive_value(&mut self, from: ValueId, suffix: &str) -> Result<ValueId> {
        let base = self.value(from)?;
        let value =
            Value { name: format!("{}{suffix}", base.name), ty: base.ty.clone(), layout: base.layout, constant: None };
        Ok(self.add_value(value))
    }
}
