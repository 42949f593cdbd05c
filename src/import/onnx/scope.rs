//! What the importer of one node sees: attributes that are ticked off as they are read, inputs, and ways to add nodes.

use super::proto::{AttributeValue, Node as NodeProto};
use super::tensor;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, Inferred, Node, Value, ValueId};
use crate::ops::{Identity, Op};
use crate::tensor::{DType, Data, Layout, Shape, Tensor, TensorType};

/// One node of the file on its way into the graph.
pub struct Scope<'g, 'a> {
    proto: &'g NodeProto<'a>,
    /// Attributes that have been read.
    seen: Vec<bool>,
    /// Version of the default operator set.
    pub opset: i64,
    graph: &'g mut Graph,
    inputs: Vec<Option<ValueId>>,
    /// `None`: nobody reads it.
    outputs: Vec<Option<ValueId>>,
    name: String,
    made: usize,
}

/// An error that joins the list of unsupported nodes.
pub fn unsupported(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::UnsupportedOp, reason)
}

fn invalid(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidModel, reason)
}

fn wrong_kind(name: &str, want: &str, got: &AttributeValue<'_>) -> Error {
    let got = match got {
        AttributeValue::Float(_) => "a float",
        AttributeValue::Int(_) => "an int",
        AttributeValue::Text(_) => "a string",
        AttributeValue::Tensor(_) => "a tensor",
        AttributeValue::Floats(_) => "a list of floats",
        AttributeValue::Ints(_) => "a list of ints",
        AttributeValue::Other(what) => what,
    };
    invalid(format!("attribute {name:?} should be {want} and is {got}"))
}

impl<'g, 'a> Scope<'g, 'a> {
    pub fn new(
        proto: &'g NodeProto<'a>,
        opset: i64,
        graph: &'g mut Graph,
        inputs: Vec<Option<ValueId>>,
        outputs: Vec<Option<ValueId>>,
    ) -> Self {
        let name = [proto.name, proto.outputs.first().copied().unwrap_or_default()];
        let name = name.into_iter().find(|n| !n.is_empty()).unwrap_or_default().to_owned();
        Self { proto, seen: vec![false; proto.attributes.len()], opset, graph, inputs, outputs, name, made: 0 }
    }

    // Attributes

    fn attribute(&mut self, name: &str) -> Option<&'g AttributeValue<'a>> {
        let proto = self.proto;
        let i = proto.attributes.iter().position(|a| a.name == name)?;
        *self.seen.get_mut(i)? = true;
        Some(&proto.attributes.get(i)?.value)
    }

    /// Marks attributes that do not change the result at inference.
    pub fn ignore(&mut self, names: &[&str]) {
        for name in names {
            self.attribute(name);
        }
    }

    /// An error where an attribute was not read: a feature that this importer does not know must not be passed over.
    pub fn all_attributes_read(&self) -> Result<()> {
        match self.proto.attributes.iter().zip(&self.seen).find(|(_, seen)| !**seen) {
            Some((a, _)) => Err(unsupported(format!("attribute {:?} is not supported", a.name))),
            None => Ok(()),
        }
    }

    /// True where the file states the attribute.
    pub fn has(&self, name: &str) -> bool {
        self.proto.attributes.iter().any(|a| a.name == name)
    }

    pub fn optional_int(&mut self, name: &str) -> Result<Option<i64>> {
        match self.attribute(name) {
            None => Ok(None),
            Some(AttributeValue::Int(i)) => Ok(Some(*i)),
            Some(other) => Err(wrong_kind(name, "an int", other)),
        }
    }

    pub fn int(&mut self, name: &str, default: i64) -> Result<i64> {
        Ok(self.optional_int(name)?.unwrap_or(default))
    }

    /// An int that is used as a flag.
    pub fn flag(&mut self, name: &str, default: bool) -> Result<bool> {
        Ok(self.int(name, i64::from(default))? != 0)
    }

    /// Accepts only `value` for an int attribute.
    pub fn only(&mut self, name: &str, value: i64) -> Result<()> {
        match self.int(name, value)? {
            v if v == value => Ok(()),
            v => Err(unsupported(format!("{name}={v} is not supported"))),
        }
    }

    pub fn float(&mut self, name: &str, default: f32) -> Result<f32> {
        match self.attribute(name) {
            None => Ok(default),
            Some(AttributeValue::Float(f)) => Ok(*f),
            Some(other) => Err(wrong_kind(name, "a float", other)),
        }
    }

    pub fn floats(&mut self, name: &str) -> Result<Option<Vec<f32>>> {
        match self.attribute(name) {
            None => Ok(None),
            Some(AttributeValue::Floats(v)) => Ok(Some(v.clone())),
            Some(other) => Err(wrong_kind(name, "a list of floats", other)),
        }
    }

    pub fn ints(&mut self, name: &str) -> Result<Option<Vec<i64>>> {
        match self.attribute(name) {
            None => Ok(None),
            Some(AttributeValue::Ints(v)) => Ok(Some(v.clone())),
            Some(other) => Err(wrong_kind(name, "a list of ints", other)),
        }
    }

    /// Ints that may not be negative; none given is an empty list.
    pub fn sizes(&mut self, name: &str) -> Result<Vec<usize>> {
        let size = |i: i64| match u32::try_from(i) {
            Ok(size) => Ok(size as usize),
            Err(_) if i < 0 => Err(unsupported(format!("{name} with the negative number {i} is not supported"))),
            Err(_) => Err(invalid(format!("{name} holds {i}, which is absurd"))),
        };
        self.ints(name)?.unwrap_or_default().into_iter().map(size).collect()
    }

    pub fn text(&mut self, name: &str, default: &'static str) -> Result<&'g str> {
        match self.attribute(name) {
            None => Ok(default),
            Some(AttributeValue::Text(bytes)) => {
                std::str::from_utf8(bytes).map_err(|_| invalid(format!("attribute {name:?} is not UTF-8")))
            }
            Some(other) => Err(wrong_kind(name, "a string", other)),
        }
    }

    pub fn tensor(&mut self, name: &str) -> Result<Option<Tensor>> {
        match self.attribute(name) {
            None => Ok(None),
            Some(AttributeValue::Tensor(t)) => Ok(Some(tensor::read(t)?)),
            Some(other) => Err(wrong_kind(name, "a tensor", other)),
        }
    }

    // Inputs

    /// Input `i`, or none where it was left out.
    pub fn optional(&self, i: usize) -> Option<ValueId> {
        self.inputs.get(i).copied().flatten()
    }

    /// Input `i`, or `invalid-model`.
    pub fn input(&self, i: usize) -> Result<ValueId> {
        self.optional(i).ok_or_else(|| invalid(format!("input {i} is missing")))
    }

    /// Every input; none may be left out, and there is at least one.
    pub fn all(&self) -> Result<Vec<ValueId>> {
        (0..self.inputs.len().max(1)).map(|i| self.input(i)).collect()
    }

    /// An input that counts as left out where it is an empty constant.
    pub fn unless_empty(&self, i: usize) -> Option<ValueId> {
        self.optional(i).filter(|&id| self.graph.constant(id).is_none_or(|t| !t.data().is_empty()))
    }

    /// An error where there are more than `n` inputs.
    pub fn at_most(&self, n: usize) -> Result<()> {
        match self.inputs.iter().skip(n).any(Option::is_some) {
            true => Err(invalid(format!("it has {} inputs, at most {n} are allowed", self.inputs.len()))),
            false => Ok(()),
        }
    }

    pub fn ty(&self, id: ValueId) -> Result<&TensorType> {
        self.graph.ty(id)
    }

    pub fn constant(&self, id: ValueId) -> Option<&Tensor> {
        self.graph.constant(id)
    }

    // Results

    /// True where output `i` is read by a node or is an output of the graph.
    pub fn output_is_read(&self, i: usize) -> bool {
        self.outputs.get(i).is_some_and(Option::is_some)
    }

    /// How many outputs the file gives the node.
    pub fn output_count(&self) -> usize {
        self.outputs.len()
    }

    /// An error where a later output than the first `n` is read.
    pub fn only_outputs(&self, n: usize, what: &str) -> Result<()> {
        match (n..self.outputs.len()).any(|i| self.output_is_read(i)) {
            true => Err(unsupported(format!("{what} output is not supported"))),
            false => Ok(()),
        }
    }

    /// A constant beside the node's inputs.
    pub fn constant_input(&mut self, what: &str, tensor: Tensor) -> ValueId {
        self.graph.add_constant(format!("{}/{what}", self.name), tensor)
    }

    /// A one-dimensional int64 constant.
    pub fn ints_input(&mut self, what: &str, ints: Vec<i64>) -> Result<ValueId> {
        Ok(self.constant_input(what, Tensor::i64([ints.len()], ints)?))
    }

    /// A scalar of the given element type.
    pub fn scalar_input(&mut self, what: &str, dtype: DType, value: f32) -> Result<ValueId> {
        let data = Data::from_f64(dtype, vec![f64::from(value)]);
        Ok(self.constant_input(what, Tensor::new(Shape::default(), data)?))
    }

    /// Adds the node that gives the outputs.
    pub fn finish(&mut self, op: Op, inputs: Vec<Option<ValueId>>) -> Result<()> {
        let mut outputs = Vec::with_capacity(self.outputs.len());
        for i in 0..self.outputs.len() {
            outputs.push(match self.outputs.get(i).copied().flatten() {
                Some(id) => id,
                None => self.fresh(),
            });
        }
        self.push(Node::new(self.name.clone(), op, inputs, outputs))
    }

    /// Adds the node that gives the first output, where the others are not read.
    pub fn finish_one(&mut self, op: Op, inputs: Vec<Option<ValueId>>) -> Result<()> {
        self.outputs.truncate(1);
        self.finish(op, inputs)
    }

    /// Gives output `i`, where somebody reads it, the value of an intermediate result.
    pub fn give(&mut self, i: usize, id: ValueId) -> Result<()> {
        let Some(output) = self.outputs.get(i).copied().flatten() else { return Ok(()) };
        self.push(Node::new(self.name.clone(), Op::Identity(Identity), vec![Some(id)], vec![output]))
    }

    /// Gives the first output its contents.
    pub fn finish_constant(&mut self, tensor: Tensor) {
        if let Some(value) =
            self.outputs.first().copied().flatten().and_then(|id| self.graph.values.get_mut(id.index()))
        {
            value.ty = Some(tensor.ty());
            value.constant = Some(std::sync::Arc::new(tensor));
        }
    }

    /// Adds a node with one intermediate result.
    pub fn step(&mut self, op: Op, inputs: Vec<Option<ValueId>>) -> Result<ValueId> {
        let output = self.fresh();
        let name = format!("{}/{}", self.name, self.made);
        self.push(Node::new(name, op, inputs, vec![output]))?;
        Ok(output)
    }

    fn fresh(&mut self) -> ValueId {
        self.made += 1;
        let name = format!("{}/{}", self.name, self.made);
        self.graph.add_value(Value { name, ty: None, layout: Layout::RowMajor, constant: None })
    }

    fn push(&mut self, node: Node) -> Result<()> {
        if self.graph.infer(&node)? == Inferred::Types {
            self.graph.nodes.push(node);
        }
        Ok(())
    }
}
