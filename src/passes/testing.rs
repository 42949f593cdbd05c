//! Runs a pass over a graph built from expressions, verifies that the outputs stay what they were, and gives the nodes as
//! text.

use super::{PassOutcome, infer_shapes};
use crate::error::Result;
use crate::graph::{Builder, Expr, Graph, noise};
use crate::tensor::{DType, Tensor};

/// Reproducible feeds in [-2, 2) for every input.
pub fn feeds(graph: &Graph) -> Vec<Tensor> {
    let mut seed = 7;
    let feed = |&id| {
        let ty = graph.ty(id).unwrap();
        assert_eq!(ty.dtype, DType::F32);
        let data = (0..ty.shape.elements()).map(|_| noise(&mut seed) * 4.0).collect();
        Tensor::f32(ty.shape.clone(), data).unwrap()
    };
    graph.inputs.iter().map(feed).collect()
}

/// Asserts that two graphs give the same outputs within 1e-5.
pub fn assert_same(before: &Graph, after: &Graph) {
    let feeds = feeds(before);
    let (a, b) = (before.evaluate(&feeds).unwrap(), after.evaluate(&feeds).unwrap());
    assert_eq!(a.len(), b.len());
    for ((a, b), &id) in a.iter().zip(&b).zip(&before.outputs) {
        let name = &before.value(id).unwrap().name;
        assert_eq!(a.ty(), b.ty(), "{name}");
        for (x, y) in a.to_f32().into_iter().zip(b.to_f32()) {
            assert!((x - y).abs() <= 1e-5 * (1.0 + x.abs()), "{name}: {x} became {y}\n{before}\n{after}");
        }
    }
    for (a, b) in before.outputs.iter().zip(&after.outputs) {
        assert_eq!(before.value(*a).unwrap().name, after.value(*b).unwrap().name);
    }
}

/// The graph with its types.
pub fn typed<'b>(b: &'b Builder, outputs: &[(&'b str, Expr<'b>)]) -> Graph {
    let mut graph = b.finish(outputs.iter().copied()).unwrap();
    infer_shapes(&mut graph).unwrap();
    graph
}

/// Runs passes over the graph with this one output, `y`; returns the nodes, one a line, without types.
pub fn after<'b>(b: &'b Builder, y: Expr<'b>, passes: &[fn(&mut Graph) -> Result<PassOutcome>]) -> Vec<String> {
    let before = typed(b, &[("y", y)]);
    let mut graph = before.clone();
    for pass in passes {
        pass(&mut graph).unwrap();
        super::dead::eliminate(&mut graph);
        graph.check().unwrap();
        assert_same(&before, &graph);
    }
    nodes(&graph)
}

/// The nodes of a graph, one a line; the types of what they make are left out.
pub fn nodes(graph: &Graph) -> Vec<String> {
    let text = graph.to_string();
    let lines = text.lines().filter_map(|l| l.split_once(" = "));
    lines.map(|(made, node)| format!("{} = {node}", made.split(':').next().unwrap())).collect()
}
