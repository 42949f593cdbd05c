//! Types for every value; nodes that depend on constants alone are evaluated and vanish.

use super::PassOutcome;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, Inferred};

/// Infers all types in topological order and folds constants. Nodes whose operator cannot serve them are collected into
/// one error; what depends on them is passed over.
///
/// # Errors
/// `unsupported-op` listing every such node, or the first other error of an operator's inference.
pub fn infer_shapes(graph: &mut Graph) -> Result<PassOutcome> {
    let mut outcome = PassOutcome { pass: "shapes", ..PassOutcome::default() };
    let mut refused: Vec<String> = Vec::new();
    let mut kept = Vec::with_capacity(graph.nodes.len());
    for node in std::mem::take(&mut graph.nodes) {
        let unknown = node.inputs.iter().flatten().any(|&i| graph.ty(i).is_err());
        if unknown && !refused.is_empty() {
            continue;
        }
        match graph.infer(&node) {
            Ok(Inferred::Constants) => outcome.applied += 1,
            Ok(Inferred::Types) => kept.push(node),
            Err(e) if e.kind() == ErrorKind::UnsupportedOp => {
                refused.push(format!("{}: {}", node.place(), e.message()));
                for output in &node.outputs {
                    if let Some(value) = graph.values.get_mut(output.index()) {
                        value.ty = None;
                    }
                }
            }
            Err(e) => return Err(e),
        }
    }
    graph.nodes = kept;
    match refused.len() {
        0 => Ok(outcome),
        n => {
            let nodes = if n == 1 { "1 node is".to_owned() } else { format!("{n} nodes are") };
            let message = format!("{nodes} not supported:\n  {}", refused.join("\n  "));
            Err(Error::new(ErrorKind::UnsupportedOp, message))
        }
    }
}
