//! The model as a graph: values (tensors with an identity card) and nodes (operators with an epilogue).
//!
//! Values and nodes are named by index. Nodes are kept in topological order; a graph changes only by a [`Patch`].

mod builder;
mod check;
mod dump;
mod evaluate;
mod infer;
mod patch;

pub use builder::{Builder, Expr, noise};
pub use infer::Inferred;
pub use patch::Patch;

use crate::error::{Error, ErrorKind, Result};
use crate::ops::{Epilogue, Op};
use crate::tensor::{Layout, Tensor, TensorType};
use std::sync::Arc;

/// Names a value of one graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// Names a node by its place in [`Graph::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl ValueId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl NodeId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A tensor of the graph.
#[derive(Debug, Clone)]
pub struct Value {
    /// Its name in the model; made from the producer's where a pass made it.
    pub name: String,
    /// Shape and element type; `None` until the shapes pass has run.
    pub ty: Option<TensorType>,
    /// Layout in GPU memory.
    pub layout: Layout,
    /// Contents known at compile time.
    pub constant: Option<Arc<Tensor>>,
}

/// An operator applied.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its name in the model, or the name of its first output.
    pub name: String,
    /// What it computes.
    pub op: Op,
    /// The operator's own inputs (`None`: optional and left out), then the epilogue's.
    pub inputs: Vec<Option<ValueId>>,
    /// How many of `inputs` are the operator's own.
    pub own_inputs: usize,
    /// Steps applied to the (only) output.
    pub epilogue: Epilogue,
    /// Results.
    pub outputs: Vec<ValueId>,
}

impl Node {
    /// A node without an epilogue.
    pub fn new(name: impl Into<String>, op: Op, inputs: Vec<Option<ValueId>>, outputs: Vec<ValueId>) -> Self {
        let own_inputs = inputs.len();
        Self { name: name.into(), op, inputs, own_inputs, epilogue: Epilogue::default(), outputs }
    }

    /// Where it is, for an error: `node "conv1" (Conv)`.
    pub fn place(&self) -> String {
        format!("node {:?} ({})", self.name, self.op.definition().name())
    }
}

/// A model.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Its name, from the file.
    pub name: String,
    /// All tensors.
    pub values: Vec<Value>,
    /// Operators in topological order.
    pub nodes: Vec<Node>,
    /// What a run is fed with, in the model's order.
    pub inputs: Vec<ValueId>,
    /// What a run gives, in the model's order.
    pub outputs: Vec<ValueId>,
}

impl Graph {
    /// Adds a value.
    pub fn add_value(&mut self, value: Value) -> ValueId {
        let id = ValueId(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        self.values.push(value);
        id
    }

    /// Adds a constant.
    pub fn add_constant(&mut self, name: impl Into<String>, tensor: Tensor) -> ValueId {
        self.add_value(Value {
            name: name.into(),
            ty: Some(tensor.ty()),
            layout: Layout::RowMajor,
            constant: Some(Arc::new(tensor)),
        })
    }

    /// The value, or an error that says the graph is inconsistent.
    pub fn value(&self, id: ValueId) -> Result<&Value> {
        self.values
            .get(id.index())
            .ok_or_else(|| Error::new(ErrorKind::InvalidModel, format!("value {} does not exist", id.0)))
    }

    /// The type of a value, or an error where it is not known yet.
    pub fn ty(&self, id: ValueId) -> Result<&TensorType> {
        let value = self.value(id)?;
        value.ty.as_ref().ok_or_else(|| {
            Error::new(ErrorKind::ShapeMismatch, "its shape is not known").at(format!("tensor {:?}", value.name))
        })
    }

    /// The contents of a value, where they are known at compile time.
    pub fn constant(&self, id: ValueId) -> Option<&Tensor> {
        self.values.get(id.index())?.constant.as_deref()
    }

    /// For each value, the node that makes it.
    pub fn producers(&self) -> Vec<Option<NodeId>> {
        let mut made = vec![None; self.values.len()];
        for (i, node) in self.nodes.iter().enumerate() {
            for output in &node.outputs {
                if let Some(slot) = made.get_mut(output.index()) {
                    *slot = Some(NodeId(i as u32));
                }
            }
        }
        made
    }

    /// For each value, the nodes that read it (once per reading input); graph outputs are not counted.
    pub fn readers(&self) -> Vec<Vec<NodeId>> {
        let mut read = vec![Vec::new(); self.values.len()];
        for (i, node) in self.nodes.iter().enumerate() {
            for input in node.inputs.iter().flatten() {
                if let Some(list) = read.get_mut(input.index()) {
                    list.push(NodeId(i as u32));
                }
            }
        }
        read
    }
}
