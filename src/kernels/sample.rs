//! Small nodes out of nothing, for listing a kernel's variants.

use super::context::{Arg, Context};
use super::launch::Kernel;
use super::{Choices, DeviceLimits};
use crate::error::Result;
use crate::ops::{Epilogue, Op, Step};
use crate::recording::Shader;
use crate::tensor::{DType, Layout, Tensor, TensorType};

struct Operand {
    ty: TensorType,
    layout: Layout,
    constant: Option<Tensor>,
    storage: u32,
}

impl Operand {
    fn arg(&self) -> Arg<'_> {
        Arg { ty: &self.ty, layout: self.layout, constant: self.constant.as_ref(), storage: self.storage }
    }
}

/// A node with made-up operands.
pub struct Sample {
    op: Op,
    inputs: Vec<Option<Operand>>,
    own_inputs: usize,
    outputs: Vec<Operand>,
    epilogue: Epilogue,
    choices: Choices,
    limits: DeviceLimits,
}

impl Sample {
    /// A node of `op` without operands yet.
    pub fn new(op: Op) -> Self {
        Self {
            op,
            inputs: Vec::new(),
            own_inputs: 0,
            outputs: Vec::new(),
            epilogue: Epilogue::default(),
            choices: Choices::default(),
            limits: DeviceLimits { f16: true, ..DeviceLimits::default() },
        }
    }

    /// An input in the arena.
    #[must_use]
    pub fn input(mut self, dtype: DType, shape: &[usize], layout: Layout) -> Self {
        let storage = self.inputs.len() as u32;
        self.inputs.push(Some(Operand { ty: TensorType::new(dtype, shape), layout, constant: None, storage }));
        self.own_inputs = self.inputs.len();
        self
    }

    /// An input left out.
    #[must_use]
    pub fn absent(mut self) -> Self {
        self.inputs.push(None);
        self.own_inputs = self.inputs.len();
        self
    }

    /// A constant input.
    #[must_use]
    pub fn constant(mut self, tensor: Tensor) -> Self {
        let storage = self.inputs.len() as u32;
        let operand = Operand { ty: tensor.ty(), layout: Layout::RowMajor, constant: Some(tensor), storage };
        self.inputs.push(Some(operand));
        self.own_inputs = self.inputs.len();
        self
    }

    /// A float32 constant of zeros.
    #[must_use]
    pub fn zeros(self, shape: &[usize]) -> Self {
        match Tensor::zeros(&TensorType::new(DType::F32, shape)) {
            Ok(tensor) => self.constant(tensor),
            Err(_) => self.absent(),
        }
    }

    /// An output.
    #[must_use]
    pub fn output(mut self, dtype: DType, shape: &[usize], layout: Layout) -> Self {
        let storage = 1000 + self.outputs.len() as u32;
        self.outputs.push(Operand { ty: TensorType::new(dtype, shape), layout, constant: None, storage });
        self
    }

    /// Steps on the result; call after the operator's own inputs. `tensors` are the epilogue's own inputs.
    #[must_use]
    pub fn epilogue(mut self, steps: Vec<Step>, tensors: &[(&[usize], Layout)]) -> Self {
        let own = self.own_inputs;
        for (shape, layout) in tensors {
            self = self.input(DType::F32, shape, *layout);
        }
        self.own_inputs = own;
        self.epilogue = Epilogue { steps };
        self
    }

    /// Output 0 takes over the storage of input `i`.
    #[must_use]
    pub fn in_place(mut self, i: usize) -> Self {
        if let (Some(Some(input)), Some(output)) = (self.inputs.get(i), self.outputs.first_mut()) {
            output.storage = input.storage;
        }
        self
    }

    /// Inputs `a` and `b` are one tensor.
    #[must_use]
    pub fn same(mut self, a: usize, b: usize) -> Self {
        let storage = self.inputs.get(a).and_then(|o| o.as_ref()).map(|o| o.storage);
        if let (Some(storage), Some(Some(input))) = (storage, self.inputs.get_mut(b)) {
            input.storage = storage;
        }
        self
    }

    /// Enters a choice.
    #[must_use]
    pub fn choose(mut self, specialisation: &str, variant: &str) -> Self {
        self.choices.set(specialisation, variant);
        self
    }

    /// Changes the limits.
    #[must_use]
    pub fn limits(mut self, change: impl FnOnce(&mut DeviceLimits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// Runs `f` on the node.
    pub fn with<T>(&self, f: impl FnOnce(&Context<'_>) -> T) -> T {
        f(&Context {
            op: &self.op,
            inputs: self.inputs.iter().map(|o| o.as_ref().map(Operand::arg)).collect(),
            own_inputs: self.own_inputs,
            epilogue: &self.epilogue,
            outputs: self.outputs.iter().map(Operand::arg).collect(),
            choices: &self.choices,
            limits: &self.limits,
        })
    }

    /// The shaders of the kernel that `f` gives for the node.
    pub fn shaders(&self, f: impl for<'a> FnOnce(&Context<'a>) -> Result<Kernel<'a>>) -> Result<Vec<Shader>> {
        self.with(|ctx| Ok(f(ctx)?.launches.into_iter().map(|l| l.shader).collect()))
    }
}
