use super::{Graph, Node};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{Op, Operand};
use crate::tensor::{Tensor, TensorType};
use std::sync::Arc;

/// Most elements that folding a constant may produce; a small file must not be able to ask for unlimited memory.
const FOLD_LIMIT: usize = 1 << 24;

/// What inference found out about a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inferred {
    /// The types of its outputs; the node is still needed.
    Types,
    /// The contents of its outputs; the node can go.
    Constants,
}

impl Graph {
    /// Gives the outputs of `node` their types, and their contents where all inputs are constants. The node may but need
    /// not be part of the graph.
    ///
    /// # Errors
    /// What the operator's inference says, with the node's place.
    pub fn infer(&mut self, node: &Node) -> Result<Inferred> {
        let types = self.infer_types(node).map_err(|e| e.at(node.place()))?;
        let constants = if self.folds(node, &types) {
            self.fold(node, &types).map_err(|e| e.at(node.place()))?
        } else {
            Vec::new()
        };
        let inferred = if constants.is_empty() { Inferred::Types } else { Inferred::Constants };
        let mut constants = constants.into_iter();
        for (&id, ty) in node.outputs.iter().zip(types) {
            if let Some(value) = self.values.get_mut(id.index()) {
                value.ty = Some(ty);
                value.constant = constants.next().map(Arc::new);
            }
        }
        Ok(inferred)
    }

    fn infer_types(&self, node: &Node) -> Result<Vec<TensorType>> {
        let own = node.inputs.get(..node.own_inputs).unwrap_or(&node.inputs);
        let operand = |id| Ok::<_, Error>(Operand { ty: self.ty(id)?, constant: self.constant(id) });
        let operands = own.iter().map(|i| i.map(operand).transpose()).collect::<Result<Vec<_>>>()?;
        let types = node.op.definition().infer(&operands)?;
        if types.len() < node.outputs.len() {
            let message = format!("it has {} outputs, the operator gives {}", node.outputs.len(), types.len());
            return Err(Error::new(ErrorKind::InvalidModel, message));
        }
        for ty in &types {
            ty.shape.checked_elements()?;
        }
        Ok(types)
    }

    fn folds(&self, node: &Node, types: &[TensorType]) -> bool {
        let small = types.iter().all(|t| t.shape.elements() <= FOLD_LIMIT);
        // A shape is known at compile time even where the elements are not.
        let known =
            matches!(node.op, Op::ShapeOf(_)) || node.inputs.iter().flatten().all(|&i| self.constant(i).is_some());
        small && known && node.epilogue.is_empty()
    }

    fn fold(&self, node: &Node, types: &[TensorType]) -> Result<Vec<Tensor>> {
        let tensors = if let Op::ShapeOf(op) = &node.op {
            let Some(Some(input)) = node.inputs.first() else { return Ok(Vec::new()) };
            let dims: Vec<i64> = self.ty(*input)?.shape.iter().map(|&d| d as i64).collect();
            let rank = dims.len() as i64;
            let start = if op.start < 0 { op.start.saturating_add(rank) } else { op.start }.clamp(0, rank);
            let count = types.first().map_or(0, |t| t.shape.elements());
            let range = dims.into_iter().skip(start as usize).take(count).collect::<Vec<_>>();
            vec![Tensor::i64([range.len()], range)?]
        } else {
            let inputs: Vec<_> = node.inputs.iter().map(|i| i.and_then(|i| self.constant(i))).collect();
            node.op.definition().eval(&inputs)?
        };
        for (tensor, ty) in tensors.iter().zip(types) {
            if tensor.ty() != *ty {
                let message = format!("inference says {ty}, evaluation gives {}", tensor.ty());
                return Err(Error::new(ErrorKind::ShapeMismatch, message));
            }
        }
        Ok(tensors)
    }
}
