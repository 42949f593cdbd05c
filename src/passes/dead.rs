//! Dead code: nodes whose results nobody reads, and the contents of constants nobody reads.

use super::PassOutcome;
use crate::graph::Graph;

/// Removes what does not contribute to an output. Model inputs stay, read or not.
pub fn eliminate(graph: &mut Graph) -> PassOutcome {
    let mut read = vec![false; graph.values.len()];
    let mark = |read: &mut Vec<bool>, i: usize| {
        if let Some(slot) = read.get_mut(i) {
            *slot = true;
        }
    };
    for output in &graph.outputs {
        mark(&mut read, output.index());
    }
    let before = graph.nodes.len();
    let mut kept = Vec::with_capacity(before);
    for node in std::mem::take(&mut graph.nodes).into_iter().rev() {
        if node.outputs.iter().any(|o| read.get(o.index()) == Some(&true)) {
            node.inputs.iter().flatten().for_each(|i| mark(&mut read, i.index()));
            kept.push(node);
        }
    }
    kept.reverse();
    graph.nodes = kept;
    for (value, read) in graph.values.iter_mut().zip(read) {
        if !read {
            value.constant = None;
        }
    }
    PassOutcome { pass: "dead-code", applied: before - graph.nodes.len(), refused: Vec::new() }
}
