//! Reductions along axes.

use super::args::{at_most, distinct_axes, infer_one, number, optional, optional_ints, output, required};
use super::elements::{from_i64, range, to_i64};
use super::remap::{identity, remap};
use super::{Operand, Operator, scalar};
use crate::error::Result;
use crate::tensor::{DType, Data, Tensor, TensorType};

/// How elements are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub enum ReduceKind {
    Sum,
    Mean,
    Max,
    Min,
    Prod,
    L1,
    L2,
    LogSum,
    LogSumExp,
    SumSquare,
}

/// Inputs: x, optional axes (int64). GlobalAveragePool and GlobalMaxPool arrive here too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reduce {
    /// How.
    pub kind: ReduceKind,
    /// Reduced dimensions stay with size 1.
    pub keep_dims: bool,
    /// No axes given means nothing is reduced (else everything is).
    pub noop_with_empty_axes: bool,
}

impl Operator for Reduce {
    fn name(&self) -> &'static str {
        match self.kind {
            ReduceKind::Sum => "ReduceSum",
            ReduceKind::Mean => "ReduceMean",
            ReduceKind::Max => "ReduceMax",
            ReduceKind::Min => "ReduceMin",
            ReduceKind::Prod => "ReduceProd",
            ReduceKind::L1 => "ReduceL1",
            ReduceKind::L2 => "ReduceL2",
            ReduceKind::LogSum => "ReduceLogSum",
            ReduceKind::LogSumExp => "ReduceLogSumExp",
            ReduceKind::SumSquare => "ReduceSumSquare",
        }
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 2)?;
        let x = required(inputs, 0, "input")?.ty;
        if !matches!(self.kind, ReduceKind::Max | ReduceKind::Min) {
            number(x, "its input")?;
        }
        let reduced = self.reduced(x.shape.len(), optional_ints(inputs, 1, "axes")?)?;
        let dims = x.shape.iter().zip(&reduced);
        let dims = if self.keep_dims {
            dims.map(|(&d, &r)| if r { 1 } else { d }).collect()
        } else {
            dims.filter(|(_, r)| !**r).map(|(&d, _)| d).collect()
        };
        Ok(vec![output(x.dtype, dims)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let x = required(inputs, 0, "input")?;
        let axes = optional(inputs, 1).map(Tensor::to_ints).transpose()?;
        if self.noop_with_empty_axes && axes.as_ref().is_none_or(Vec::is_empty) {
            return Ok(vec![x.clone()]);
        }
        let reduced = self.reduced(x.shape().len(), axes)?;
        // The elements of each result lie together once the reduced dimensions are the last.
        let (kept, rest): (Vec<_>, Vec<_>) = identity(x.shape()).into_iter().zip(&reduced).partition(|(_, r)| !**r);
        let count = rest.iter().map(|(map, _)| map.len()).product::<usize>();
        let maps: Vec<_> = kept.into_iter().chain(rest).map(|(map, _)| map).collect();
        let data = remap(x.data(), &maps, None)?;
        let results = ty.shape.checked_elements()?;
        let data = if ty.dtype.is_float() {
            let v = data.to_f64();
            let (low, high) = range(ty.dtype);
            let part = |i: usize| &v[i * count..][..count];
            Data::from_f64(ty.dtype, (0..results).map(|i| self.kind.join(part(i), low, high)).collect())
        } else {
            let v = to_i64(&data);
            let part = |i: usize| &v[i * count..][..count];
            from_i64(ty.dtype, (0..results).map(|i| self.kind.join_int(part(i), ty.dtype)).collect())
        };
        Ok(vec![Tensor::new(ty.shape, data)?])
    }
}

impl Reduce {
    /// For each dimension, whether it is reduced.
    pub fn reduced(&self, rank: usize, axes: Option<Vec<i64>>) -> Result<Vec<bool>> {
        match axes {
            Some(list) if !list.is_empty() => {
                let axes = distinct_axes(&list, rank)?;
                Ok((0..rank).map(|i| axes.contains(&i)).collect())
            }
            _ => Ok(vec![!self.noop_with_empty_axes; rank]),
        }
    }
}

impl ReduceKind {
    /// Joins real numbers; `low` and `high` are what the extremes of nothing are.
    fn join(self, v: &[f64], low: f64, high: f64) -> f64 {
        let sum = |f: fn(f64) -> f64| v.iter().map(|&x| f(x)).sum::<f64>();
        match self {
            Self::Sum => sum(|x| x),
            Self::Mean => sum(|x| x) / v.len() as f64,
            Self::Max => v.iter().copied().fold(low, scalar::max),
            Self::Min => v.iter().copied().fold(high, scalar::min),
            Self::Prod => v.iter().product(),
            Self::L1 => sum(f64::abs),
            Self::L2 => sum(|x| x * x).sqrt(),
            Self::LogSum => sum(|x| x).ln(),
            Self::LogSumExp => {
                let top = v.iter().copied().fold(f64::NEG_INFINITY, scalar::max);
                if top.is_infinite() {
                    return top;
                }
                v.iter().map(|x| (x - top).exp()).sum::<f64>().ln() + top
            }
            Self::SumSquare => sum(|x| x * x),
        }
    }

    /// Joins integers, wrapping; means and roots are truncated.
    fn join_int(self, v: &[i64], dtype: DType) -> i64 {
        let sum = |f: fn(i64) -> i64| v.iter().fold(0i64, |s, &x| s.wrapping_add(f(x)));
        let (low, high) = range(dtype);
        match self {
            Self::Sum => sum(|x| x),
            Self::Mean => sum(|x| x).checked_div(v.len() as i64).unwrap_or(0),
            Self::Max => v.iter().copied().max().unwrap_or(low as i64),
            Self::Min => v.iter().copied().min().unwrap_or(high as i64),
            Self::Prod => v.iter().fold(1i64, |p, &x| p.wrapping_mul(x)),
            Self::L1 => sum(i64::wrapping_abs),
            Self::SumSquare => sum(|x| x.wrapping_mul(x)),
            Self::L2 | Self::LogSum | Self::LogSumExp => {
                let v: Vec<f64> = v.iter().map(|&x| x as f64).collect();
                self.join(&v, low, high) as i64
            }
        }
    }
}
