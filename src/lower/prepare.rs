use crate::error::Result;
use crate::graph::{Graph, Node, ValueId};
use crate::ops::{Identity, Op};
use crate::tensor::Layout;

/// The graph in which every model output is computed by a node: one that is a constant or a model input gets a copy. An
/// output listed twice stays one tensor.
///
/// # Errors
/// None for a graph whose outputs are values of its own.
pub fn with_outputs_of_their_own(graph: &Graph) -> Result<Graph> {
    let mut graph = graph.clone();
    let produced = graph.producers();
    let mut copies: Vec<(ValueId, ValueId)> = Vec::new();
    for i in 0..graph.outputs.len() {
        let id = graph.outputs[i];
        if produced.get(id.index()).copied().flatten().is_some() && graph.value(id)?.constant.is_none() {
            continue;
        }
        let copy = match copies.iter().find(|(from, _)| *from == id) {
            Some(&(_, to)) => to,
            None => {
                let to = graph.derive_value(id, "")?;
                if let Some(value) = graph.values.get_mut(to.index()) {
                    value.layout = Layout::RowMajor;
                }
                let name = format!("{} (copy)", graph.value(id)?.name);
                graph.nodes.push(Node::new(name, Op::Identity(Identity), vec![Some(id)], vec![to]));
                copies.push((id, to));
                to
            }
        };
        graph.outputs[i] = copy;
    }
    Ok(graph)
}
