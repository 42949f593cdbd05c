//! Reading an operator's inputs, and the checks that every family shares.

use super::{Operand, Operator};
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{DType, Tensor, TensorType};

/// Most elements of one tensor: the largest count whose int64 elements a 32-bit address space can hold.
const MAX_ELEMENTS: usize = (1 << 28) - 1;

/// Most dimensions of one tensor. ONNX sets no limit; a file with thousands of dimensions is an attack, not a model.
const MAX_RANK: usize = 32;

pub(super) fn shape_error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::ShapeMismatch, message)
}

pub(super) fn dtype_error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::DtypeMismatch, message)
}

pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidModel, message)
}

/// Input `index`, which must be there; `what` names it in the error.
pub(super) fn required<T: Copy>(inputs: &[Option<T>], index: usize, what: &str) -> Result<T> {
    optional(inputs, index).ok_or_else(|| invalid(format!("input {index} ({what}) is missing")))
}

/// Input `index`, which may have been left out.
pub(super) fn optional<T: Copy>(inputs: &[Option<T>], index: usize) -> Option<T> {
    inputs.get(index).copied().flatten()
}

/// Refuses inputs beyond what the operator takes.
pub(super) fn at_most<T>(inputs: &[Option<T>], most: usize) -> Result<()> {
    if inputs.len() > most {
        return Err(invalid(format!("takes at most {most} inputs, got {}", inputs.len())));
    }
    Ok(())
}

/// The contents of an input that decides the shape of the output.
pub(super) fn known<'a>(operand: Operand<'a>, what: &str) -> Result<&'a Tensor> {
    operand.constant.ok_or_else(|| {
        Error::new(ErrorKind::UnsupportedOp, format!("its {what} are computed from the model's inputs")).hint(
            "fix the model's dynamic dimensions with `shapes`; what only depends on shapes is computed at compile time",
        )
    })
}

/// Whole numbers of a constant input of rank 1 (or of a scalar, taken as one number).
pub(super) fn ints(operand: Operand<'_>, what: &str) -> Result<Vec<i64>> {
    let tensor = known(operand, what)?;
    if tensor.shape().len() > 1 {
        return Err(shape_error(format!("its {what} have shape {}, expected a list", tensor.shape())));
    }
    tensor.to_ints().map_err(|e| e.at(format!("its {what}")))
}

/// As [`ints`], for an optional input; `None` where it was left out.
pub(super) fn optional_ints(inputs: &[Option<Operand<'_>>], index: usize, what: &str) -> Result<Option<Vec<i64>>> {
    optional(inputs, index).map(|operand| ints(operand, what)).transpose()
}

/// A dimension's index; negative counts from the end.
pub(super) fn axis(axis: i64, rank: usize) -> Result<usize> {
    let at = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    match at.and_then(|a| usize::try_from(a).ok()) {
        Some(a) if a < rank => Ok(a),
        _ => Err(shape_error(format!("axis {axis} is out of range for rank {rank}"))),
    }
}

/// Dimensions' indices, each at most once, in the order given.
pub(super) fn distinct_axes(list: &[i64], rank: usize) -> Result<Vec<usize>> {
    let mut seen = vec![false; rank];
    let mut axes = Vec::with_capacity(list.len().min(rank));
    for &a in list {
        let at = axis(a, rank)?;
        if std::mem::replace(&mut seen[at], true) {
            return Err(shape_error(format!("axis {a} is given twice")));
        }
        axes.push(at);
    }
    Ok(axes)
}

/// A non-negative size from a number in the file.
pub(super) fn size(value: i64, what: &str) -> Result<usize> {
    usize::try_from(value).map_err(|_| shape_error(format!("{what} is {value}, expected a size")))
}

/// Refuses tensors of too many dimensions.
pub(super) fn check_rank(rank: usize) -> Result<()> {
    if rank > MAX_RANK {
        return Err(shape_error(format!("its output has {rank} dimensions, at most {MAX_RANK} are supported")));
    }
    Ok(())
}

/// The type of an output, refused where it is too large to exist.
pub(super) fn output(dtype: DType, dims: Vec<usize>) -> Result<TensorType> {
    check_rank(dims.len())?;
    let ty = TensorType::new(dtype, dims);
    // An empty tensor counts by its other dimensions, so that every single dimension is bounded too.
    let extent = ty.shape.iter().filter(|&&d| d > 0).fold(1usize, |n, &d| n.saturating_mul(d));
    if extent > MAX_ELEMENTS {
        return Err(Error::new(
            ErrorKind::MemoryLimit,
            format!("its output {ty} has more than {MAX_ELEMENTS} elements"),
        ));
    }
    Ok(ty)
}

/// Refuses all but float32 and float16.
pub(super) fn float(ty: &TensorType, what: &str) -> Result<()> {
    if ty.dtype.is_float() {
        return Ok(());
    }
    Err(dtype_error(format!("{what} is {}, expected float32 or float16", ty.dtype)))
}

/// Refuses bool.
pub(super) fn number(ty: &TensorType, what: &str) -> Result<()> {
    if ty.dtype != DType::Bool {
        return Ok(());
    }
    Err(dtype_error(format!("{what} is bool, expected numbers")))
}

/// Refuses operands of different element types.
pub(super) fn same_dtype(a: &TensorType, b: &TensorType) -> Result<()> {
    if a.dtype == b.dtype {
        return Ok(());
    }
    Err(dtype_error(format!("its operands are {} and {}, expected one element type", a.dtype, b.dtype)))
}

/// Calls `f` with inputs whose contents are all known.
pub(super) fn known_operands<R>(
    inputs: &[Option<&Tensor>],
    f: impl FnOnce(&[Option<Operand<'_>>]) -> Result<R>,
) -> Result<R> {
    let types: Vec<Option<TensorType>> = inputs.iter().map(|t| t.map(Tensor::ty)).collect();
    let operands: Vec<Option<Operand<'_>>> =
        types.iter().zip(inputs).map(|(ty, tensor)| ty.as_ref().map(|ty| Operand { ty, constant: *tensor })).collect();
    f(&operands)
}

/// The output types where the inputs are known: what `eval` starts from, so that it may rely on every check made there.
pub(super) fn infer_known(op: &dyn Operator, inputs: &[Option<&Tensor>]) -> Result<Vec<TensorType>> {
    known_operands(inputs, |operands| op.infer(operands))
}

/// As [`infer_known`], for an operator with one output.
pub(super) fn infer_one(op: &dyn Operator, inputs: &[Option<&Tensor>]) -> Result<TensorType> {
    infer_known(op, inputs)?.into_iter().next().ok_or_else(|| invalid("it has no output"))
}
