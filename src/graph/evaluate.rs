//! A whole graph on the CPU reference: slow, plain, and what every kernel is held against.

use super::{Graph, Node, NodeId, ValueId};
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::Tensor;

impl Node {
    /// The outputs of this node, its epilogue applied. `inputs` are all of [`Node::inputs`].
    ///
    /// # Errors
    /// What the operator's reference says, with the node's place.
    pub fn evaluate(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let own = inputs.get(..self.own_inputs).unwrap_or(inputs);
        let outputs = self.op.definition().eval(own).map_err(|e| e.at(self.place()))?;
        if self.epilogue.is_empty() {
            return Ok(outputs);
        }
        let finish = |v| self.epilogue.apply(v, inputs).map_err(|e| e.at(self.place()));
        outputs.into_iter().map(finish).collect()
    }
}

/// Told of a node, its inputs and its outputs.
pub type Observer<'a> = dyn FnMut(NodeId, &[Option<&Tensor>], &[Tensor]) -> Result<()> + 'a;

impl Graph {
    /// The graph's outputs for `feeds`, one tensor an input in the model's order.
    ///
    /// # Errors
    /// `shape-mismatch` or `dtype-mismatch` where a feed does not fit its input; what a node's reference says.
    pub fn evaluate(&self, feeds: &[Tensor]) -> Result<Vec<Tensor>> {
        self.evaluate_with(feeds, &mut |_, _, _| Ok(()))
    }

    /// As [`Graph::evaluate`]; `observer` is called after each node, and its error ends the evaluation.
    ///
    /// # Errors
    /// As [`Graph::evaluate`].
    pub fn evaluate_with(&self, feeds: &[Tensor], observer: &mut Observer<'_>) -> Result<Vec<Tensor>> {
        let mut values: Vec<Option<Tensor>> = vec![None; self.values.len()];
        self.feed(feeds, &mut values)?;
        let last_readers = self.last_readers();
        for (i, node) in self.nodes.iter().enumerate() {
            let id = NodeId(i as u32);
            let inputs = node.inputs.iter().map(|input| input.map(|v| self.contents(v, &values)).transpose());
            let inputs = inputs.collect::<Result<Vec<_>>>().map_err(|e| e.at(node.place()))?;
            let outputs = node.evaluate(&inputs)?;
            observer(id, &inputs, &outputs)?;
            for (&v, tensor) in node.outputs.iter().zip(outputs) {
                if let Some(slot) = values.get_mut(v.index()) {
                    *slot = Some(tensor);
                }
            }
            for v in node.inputs.iter().flatten().chain(&node.outputs) {
                if last_readers.get(v.index()).copied().flatten().is_none_or(|last| last <= id)
                    && !self.outputs.contains(v)
                    && let Some(slot) = values.get_mut(v.index())
                {
                    *slot = None;
                }
            }
        }
        self.outputs.iter().map(|&v| self.contents(v, &values).cloned()).collect()
    }

    fn feed(&self, feeds: &[Tensor], values: &mut [Option<Tensor>]) -> Result<()> {
        if feeds.len() != self.inputs.len() {
            let message = format!("the model has {} inputs, {} were fed", self.inputs.len(), feeds.len());
            return Err(Error::new(ErrorKind::ShapeMismatch, message));
        }
        for (&v, tensor) in self.inputs.iter().zip(feeds) {
            let (name, ty) = (&self.value(v)?.name, self.ty(v)?);
            let mismatch = |kind| Error::new(kind, format!("expected {ty}, got {}", tensor.ty()));
            let error = if tensor.dtype() != ty.dtype {
                Some(mismatch(ErrorKind::DtypeMismatch))
            } else if *tensor.shape() != ty.shape {
                Some(mismatch(ErrorKind::ShapeMismatch))
            } else {
                None
            };
            if let Some(error) = error {
                return Err(error.at(format!("input {name:?}")));
            }
            if let Some(slot) = values.get_mut(v.index()) {
                *slot = Some(tensor.clone());
            }
        }
        Ok(())
    }

    fn contents<'a>(&'a self, v: ValueId, values: &'a [Option<Tensor>]) -> Result<&'a Tensor> {
        let computed = values.get(v.index()).and_then(Option::as_ref);
        match computed.or_else(|| self.constant(v)) {
            Some(tensor) => Ok(tensor),
            None => {
                let message = format!("tensor {:?} is read before it is made", self.value(v)?.name);
                Err(Error::new(ErrorKind::InvalidModel, message))
            }
        }
    }

    /// For each value, the last node that reads it.
    fn last_readers(&self) -> Vec<Option<NodeId>> {
        self.readers().iter().map(|list| list.last().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Builder;
    use crate::ops::{Binary, Epilogue, Step, Unary};
    use crate::tensor::DType;

    #[test]
    fn a_node_is_its_operator_then_its_epilogue() {
        let b = Builder::new("residual");
        let x = b.input("x", DType::F32, [2]);
        let y = b.input("y", DType::F32, [2]);
        let mut graph = b.finish([("z", x + y)]).unwrap();
        let node = &mut graph.nodes[0];
        node.inputs.push(Some(graph.inputs[0]));
        node.epilogue = Epilogue {
            steps: vec![
                Step::Scalar { op: Binary::Sub, value: 1.0, swapped: true },
                Step::Tensor { op: Binary::Mul, input: 2, swapped: false },
                Step::Unary(Unary::Relu),
            ],
        };
        let feeds = [Tensor::f32([2], vec![2.0, -3.0]).unwrap(), Tensor::f32([2], vec![1.0, 5.0]).unwrap()];
        // (1 - (x + y)) * x, and no less than zero.
        assert_eq!(graph.evaluate(&feeds).unwrap()[0].to_f32(), [0.0, 3.0]);
    }

    #[test]
    fn a_feed_must_fit_its_input() {
        let b = Builder::new("feeds");
        let x = b.input("x", DType::F32, [2]);
        let graph = b.finish([("y", x.relu())]).unwrap();
        let kind = |feeds: &[Tensor]| graph.evaluate(feeds).unwrap_err().kind();
        assert_eq!(kind(&[]), ErrorKind::ShapeMismatch);
        assert_eq!(kind(&[Tensor::f32([3], vec![0.0; 3]).unwrap()]), ErrorKind::ShapeMismatch);
        assert_eq!(kind(&[Tensor::i64([2], vec![0; 2]).unwrap()]), ErrorKind::DtypeMismatch);
    }

    #[test]
    fn the_observer_sees_each_node_with_its_inputs() {
        let b = Builder::new("chain");
        let x = b.input("x", DType::F32, [1]);
        let graph = b.finish([("y", x.relu() + b.scalar(1.0))]).unwrap();
        let mut seen = Vec::new();
        let feeds = [Tensor::f32([1], vec![-2.0]).unwrap()];
        let mut observer = |id: NodeId, inputs: &[Option<&Tensor>], outputs: &[Tensor]| {
            let inputs: Vec<_> = inputs.iter().flatten().map(|t| t.to_f32()).collect();
            seen.push((id.0, inputs, outputs[0].to_f32()));
            Ok(())
        };
        graph.evaluate_with(&feeds, &mut observer).unwrap();
        assert_eq!(seen, [(0, vec![vec![-2.0]], vec![0.0]), (1, vec![vec![0.0], vec![1.0]], vec![1.0])]);
    }
}
