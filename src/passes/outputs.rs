//! Every output of the graph gets a tensor of its own, made by a node.

use super::PassOutcome;
use crate::error::Result;
use crate::graph::{Graph, Node};
use crate::ops::{Identity, Op};

/// Copies what is an output and also a constant, a model input, or another output.
///
/// # Errors
/// Where a value does not exist.
pub fn separate(graph: &mut Graph) -> Result<PassOutcome> {
    let producers = graph.producers();
    let mut applied = 0;
    for i in 0..graph.outputs.len() {
        let Some(&output) = graph.outputs.get(i) else { continue };
        let made = producers.get(output.index()).copied().flatten().is_some();
        let first = graph.outputs.iter().position(|&o| o == output) == Some(i);
        if made && first {
            continue;
        }
        let copy = graph.derive_value(output, "")?;
        let name = graph.value(copy)?.name.clone();
        graph.nodes.push(Node::new(name, Op::Identity(Identity), vec![Some(output)], vec![copy]));
        if let Some(slot) = graph.outputs.get_mut(i) {
            *slot = copy;
        }
        applied += 1;
    }
    Ok(PassOutcome { pass: "outputs", applied, refused: Vec::new() })
}
