//! Builds a graph from expressions, so that a test reads like a formula.
//!
//! ```
//! use frameway::graph::Builder;
//! use frameway::tensor::DType;
//!
//! let b = Builder::new("block");
//! let x = b.input("x", DType::F32, [1, 3, 8, 8]);
//! let y = x.conv(b.weights("w", [4, 3, 3, 3]), None, 1, 1).relu() + x.mean_of_axes([1, 2, 3]);
//! let graph = b.finish([("y", y)]).unwrap();
//! assert_eq!(graph.nodes.len(), 4);
//! ```

use super::{Graph, Node, Value, ValueId};
use crate::error::Result;
use crate::ops::{
    BatchNorm, Binary, Clip, Concat, Conv, ConvTranspose, Gemm, MatMul, Op, Pad, PadMode, Pool, PoolKind, Reduce,
    ReduceKind, Reshape, Slice, Softmax, Split, Transpose, Unary, Window,
};
use crate::tensor::{DType, Layout, Shape, Tensor, TensorType};
use std::cell::RefCell;

/// Collects values and nodes.
#[derive(Debug, Default)]
pub struct Builder {
    graph: RefCell<Graph>,
    seed: RefCell<u32>,
}

/// A value under construction. Operators add nodes to the builder it came from.
#[derive(Debug, Clone, Copy)]
pub struct Expr<'b> {
    builder: &'b Builder,
    id: ValueId,
}

impl Builder {
    /// An empty graph.
    pub fn new(name: impl Into<String>) -> Self {
        Self { graph: RefCell::new(Graph { name: name.into(), ..Graph::default() }), seed: RefCell::new(1) }
    }

    /// A model input.
    pub fn input(&self, name: impl Into<String>, dtype: DType, shape: impl Into<Shape>) -> Expr<'_> {
        let mut graph = self.graph.borrow_mut();
        let ty = Some(TensorType::new(dtype, shape));
        let id = graph.add_value(Value { name: name.into(), ty, layout: Layout::RowMajor, constant: None });
        graph.inputs.push(id);
        Expr { builder: self, id }
    }

    /// A constant.
    pub fn constant(&self, name: impl Into<String>, tensor: Tensor) -> Expr<'_> {
        Expr { builder: self, id: self.graph.borrow_mut().add_constant(name, tensor) }
    }

    /// A float32 scalar.
    pub fn scalar(&self, value: f32) -> Expr<'_> {
        self.constant(format!("{value}"), Tensor::scalar(value))
    }

    /// A list of int64.
    pub fn ints(&self, ints: impl Into<Vec<i64>>) -> Expr<'_> {
        let ints = ints.into();
        let tensor = Tensor::i64([ints.len()], ints.clone()).unwrap_or_else(|_| Tensor::scalar(0.0));
        self.constant(format!("{ints:?}"), tensor)
    }

    /// A float32 constant of reproducible numbers in [-0.5, 0.5).
    pub fn weights(&self, name: impl Into<String>, shape: impl Into<Shape>) -> Expr<'_> {
        let shape = shape.into();
        let mut seed = self.seed.borrow_mut();
        let data = (0..shape.elements()).map(|_| noise(&mut seed)).collect();
        self.constant(name, Tensor::f32(shape, data).unwrap_or_else(|_| Tensor::scalar(0.0)))
    }

    /// Adds a node with one output, named after its operator.
    pub fn node(&self, op: Op, inputs: impl IntoIterator<Item = Option<ValueId>>) -> Expr<'_> {
        self.nodes(op, inputs, 1).first().copied().unwrap_or(Expr { builder: self, id: ValueId(0) })
    }

    /// Adds a node with `n` outputs.
    pub fn nodes(&self, op: Op, inputs: impl IntoIterator<Item = Option<ValueId>>, n: usize) -> Vec<Expr<'_>> {
        let mut graph = self.graph.borrow_mut();
        let label = super::dump::op_label(&op);
        let outputs: Vec<ValueId> = (0..n)
            .map(|i| {
                let name = match n {
                    1 => format!("{label}{}", graph.nodes.len()),
                    _ => format!("{label}{}.{i}", graph.nodes.len()),
                };
                graph.add_value(Value { name, ty: None, layout: Layout::RowMajor, constant: None })
            })
            .collect();
        let name = format!("{label}{}", graph.nodes.len());
        graph.nodes.push(Node::new(name, op, inputs.into_iter().collect(), outputs.clone()));
        outputs.into_iter().map(|id| Expr { builder: self, id }).collect()
    }

    /// The graph with these outputs. Types are not inferred yet: [`crate::graph::Graph::infer`] or the passes do it.
    ///
    /// # Errors
    /// `invalid-model` where the graph is inconsistent.
    pub fn finish<'b>(self: &'b Builder, outputs: impl IntoIterator<Item = (&'b str, Expr<'b>)>) -> Result<Graph> {
        let mut graph = self.graph.borrow().clone();
        for (name, expr) in outputs {
            if let Some(value) = graph.values.get_mut(expr.id.index()) {
                name.clone_into(&mut value.name);
            }
            graph.outputs.push(expr.id);
        }
        graph.check()?;
        Ok(graph)
    }
}

/// Reproducible noise in [-0.5, 0.5): a linear congruential generator (Numerical Recipes' constants).
pub fn noise(seed: &mut u32) -> f32 {
    *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (*seed >> 8) as f32 / (1 << 24) as f32 - 0.5
}

/// The square window of a convolution or pool: size (0: the weight's), stride, padding on every side.
fn window(size: usize, stride: usize, pad: usize) -> Window {
    let kernel = if size == 0 { Vec::new() } else { vec![size; 2] };
    Window { kernel, strides: vec![stride; 2], pads: vec![pad; 4], ..Window::default() }
}

impl<'b> Expr<'b> {
    /// The value it stands for.
    pub fn id(self) -> ValueId {
        self.id
    }

    /// Applies `op` to this value alone.
    pub fn apply(self, op: Op) -> Expr<'b> {
        self.builder.node(op, [Some(self.id)])
    }

    /// Applies `op` to this value and others.
    pub fn apply_with(self, op: Op, others: &[Expr<'b>]) -> Expr<'b> {
        let inputs = std::iter::once(self.id).chain(others.iter().map(|e| e.id)).map(Some);
        self.builder.node(op, inputs)
    }

    /// 2-D convolution with a square stride and padding.
    pub fn conv(self, w: Expr<'b>, bias: Option<Expr<'b>>, stride: usize, pad: usize) -> Expr<'b> {
        self.conv_groups(w, bias, stride, pad, 1)
    }

    /// 2-D convolution in channel groups.
    pub fn conv_groups(
        self,
        w: Expr<'b>,
        bias: Option<Expr<'b>>,
        stride: usize,
        pad: usize,
        groups: usize,
    ) -> Expr<'b> {
        let op = Conv { window: window(0, stride, pad), groups };
        self.builder.node(Op::Conv(op), [Some(self.id), Some(w.id), bias.map(|b| b.id)])
    }

    /// 2-D transposed convolution.
    pub fn conv_transpose(self, w: Expr<'b>, stride: usize) -> Expr<'b> {
        let op = ConvTranspose { window: window(0, stride, 0), groups: 1, ..ConvTranspose::default() };
        self.apply_with(Op::ConvTranspose(op), &[w])
    }

    /// Max pool over a square window.
    pub fn max_pool(self, size: usize, stride: usize, pad: usize) -> Expr<'b> {
        let window = window(size, stride, pad);
        self.apply(Op::Pool(Pool { kind: PoolKind::Max, window, ceil_mode: false }))
    }

    /// Average pool over a square window.
    pub fn average_pool(self, size: usize, stride: usize, pad: usize, count_include_pad: bool) -> Expr<'b> {
        let (kind, window) = (PoolKind::Average { count_include_pad }, window(size, stride, pad));
        self.apply(Op::Pool(Pool { kind, window, ceil_mode: false }))
    }

    /// Element-wise operator of one operand.
    pub fn unary(self, op: Unary) -> Expr<'b> {
        self.apply(Op::Unary(op))
    }

    /// max(x, 0).
    pub fn relu(self) -> Expr<'b> {
        self.unary(Unary::Relu)
    }

    /// 1 / (1 + exp(-x)).
    pub fn sigmoid(self) -> Expr<'b> {
        self.unary(Unary::Sigmoid)
    }

    /// Clip with constant bounds.
    pub fn clip(self, lo: f32, hi: f32) -> Expr<'b> {
        self.apply_with(Op::Clip(Clip), &[self.builder.scalar(lo), self.builder.scalar(hi)])
    }

    /// Element-wise operator of two operands.
    pub fn binary(self, op: Binary, other: Expr<'b>) -> Expr<'b> {
        self.apply_with(Op::Binary(op), &[other])
    }

    /// Batch normalisation; scale, bias, mean, variance.
    pub fn batch_norm(self, parameters: [Expr<'b>; 4], epsilon: f32) -> Expr<'b> {
        self.apply_with(Op::BatchNorm(BatchNorm { epsilon }), &parameters)
    }

    /// Joins along an axis.
    pub fn concat(self, others: &[Expr<'b>], axis: i64) -> Expr<'b> {
        self.apply_with(Op::Concat(Concat { axis }), others)
    }

    /// Transposition.
    pub fn transpose(self, perm: impl Into<Vec<usize>>) -> Expr<'b> {
        self.apply(Op::Transpose(Transpose { perm: perm.into() }))
    }

    /// Reshape to constant dimensions.
    pub fn reshape(self, shape: impl Into<Vec<i64>>) -> Expr<'b> {
        self.apply_with(Op::Reshape(Reshape { allow_zero: false }), &[self.builder.ints(shape)])
    }

    /// Zero padding: begins, then ends.
    pub fn pad(self, pads: impl Into<Vec<i64>>) -> Expr<'b> {
        self.apply_with(Op::Pad(Pad { mode: PadMode::Constant }), &[self.builder.ints(pads)])
    }

    /// `start..end` along one axis.
    pub fn slice(self, axis: i64, start: i64, end: i64) -> Expr<'b> {
        let b = self.builder;
        self.apply_with(Op::Slice(Slice), &[b.ints([start]), b.ints([end]), b.ints([axis])])
    }

    /// Equal parts along an axis.
    pub fn split(self, axis: i64, parts: usize) -> Vec<Expr<'b>> {
        self.builder.nodes(Op::Split(Split { axis, parts }), [Some(self.id)], parts)
    }

    /// Mean along axes, which stay with size 1.
    pub fn mean_of_axes(self, axes: impl Into<Vec<i64>>) -> Expr<'b> {
        let op = Reduce { kind: ReduceKind::Mean, keep_dims: true, noop_with_empty_axes: false };
        self.apply_with(Op::Reduce(op), &[self.builder.ints(axes)])
    }

    /// Softmax along an axis.
    pub fn softmax(self, axis: i64) -> Expr<'b> {
        self.apply(Op::Softmax(Softmax { axis, log: false, flattened: false }))
    }

    /// numpy.matmul.
    pub fn matmul(self, other: Expr<'b>) -> Expr<'b> {
        self.apply_with(Op::MatMul(MatMul), &[other])
    }

    /// x * w, plus the bias where there is one.
    pub fn gemm(self, w: Expr<'b>, bias: Option<Expr<'b>>) -> Expr<'b> {
        let op = Gemm { alpha: 1.0, beta: 1.0, trans_a: false, trans_b: false };
        self.builder.node(Op::Gemm(op), [Some(self.id), Some(w.id), bias.map(|b| b.id)])
    }
}

macro_rules! operator {
    ($($trait:ident $method:ident $op:ident),*) => { $(
        impl<'b> std::ops::$trait for Expr<'b> {
            type Output = Expr<'b>;
            fn $method(self, other: Expr<'b>) -> Expr<'b> {
                self.binary(Binary::$op, other)
            }
        }
        impl<'b> std::ops::$trait<f32> for Expr<'b> {
            type Output = Expr<'b>;
            fn $method(self, other: f32) -> Expr<'b> {
                self.binary(Binary::$op, self.builder.scalar(other))
            }
        }
    )* };
}
operator!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div);
