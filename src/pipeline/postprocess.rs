//! Steps appended behind the model's outputs.

use super::detections::{Detections, append_node};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, ValueId};
use crate::ops::{Cast, Op, Softmax, Unary};
use crate::tensor::DType;
use serde::{Deserialize, Serialize};

/// A post-processing as it arrives: `{ "softmax": { "output": "y" } }`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Postprocess {
    /// Boxes.
    Detections(Box<Detections>),
    /// Softmax over the last axis of an output.
    Softmax {
        /// The output; the first when absent.
        output: Option<String>,
    },
    /// Sigmoid of an output.
    Sigmoid {
        /// The output; the first when absent.
        output: Option<String>,
    },
    /// Outputs in another element type: half the bytes are read back as float16.
    To {
        /// float16, or float32 back again.
        dtype: DType,
        /// The output; every output of floats when absent.
        output: Option<String>,
    },
}

/// A value that takes the place of others among the model's outputs.
pub(super) struct Target {
    pub(super) result: ValueId,
    pub(super) consumed: Vec<ValueId>,
}

/// The output called `name`, or an error that lists those there are.
pub(crate) fn output_named(graph: &Graph, name: &str) -> Result<ValueId> {
    let named = |v: &ValueId| graph.value(*v).is_ok_and(|v| v.name == name);
    graph.outputs.iter().copied().find(named).ok_or_else(|| {
        let names: Vec<&str> =
            graph.outputs.iter().filter_map(|&v| graph.value(v).ok()).map(|v| v.name.as_str()).collect();
        Error::new(ErrorKind::BadSource, format!("the model has no output {name:?}"))
            .at("post-processing")
            .hint(format!("its outputs are {}", names.join(", ")))
    })
}

impl Postprocess {
    /// Appends the nodes to a graph whose shapes are known. The result replaces the outputs it was made from.
    pub fn append(&self, graph: &mut Graph) -> Result<()> {
        let target = match self {
            Self::To { dtype, output } => return convert(graph, *dtype, output.as_deref()),
            Self::Detections(spec) => spec.append(graph)?,
            Self::Softmax { output } => {
                let op = Op::Softmax(Softmax { axis: -1, log: false, flattened: false });
                simple(graph, output.as_deref(), op)?
            }
            Self::Sigmoid { output } => simple(graph, output.as_deref(), Op::Unary(Unary::Sigmoid))?,
        };
        target.put(graph);
        Ok(())
    }
}

impl Target {
    fn put(&self, graph: &mut Graph) {
        let at = graph.outputs.iter().position(|v| self.consumed.contains(v)).unwrap_or(graph.outputs.len());
        graph.outputs.insert(at, self.result);
        graph.outputs.retain(|v| !self.consumed.contains(v));
    }
}

fn convert(graph: &mut Graph, dtype: DType, output: Option<&str>) -> Result<()> {
    if !dtype.is_float() {
        return Err(Error::new(
            ErrorKind::DtypeMismatch,
            format!("outputs are read as float16 or float32, not {dtype}"),
        )
        .at("post-processing"));
    }
    let chosen = match output {
        Some(name) => vec![output_named(graph, name)?],
        None => graph.outputs.clone(),
    };
    for id in chosen {
        let ty = graph.ty(id)?;
        if output.is_some() && !ty.dtype.is_float() {
            let message = format!("it is {}, which float16 does not hold", ty.dtype);
            return Err(Error::new(ErrorKind::DtypeMismatch, message).at(format!("output {:?}", graph.value(id)?.name)));
        }
        if ty.dtype.is_float() && ty.dtype != dtype {
            let name = graph.value(id)?.name.clone();
            let result = append_node(graph, &name, Op::Cast(Cast { to: dtype }), vec![Some(id)])?;
            Target { result, consumed: vec![id] }.put(graph);
        }
    }
    Ok(())
}

fn simple(graph: &mut Graph, output: Option<&str>, op: Op) -> Result<Target> {
    let id = match output {
        Some(name) => output_named(graph, name)?,
        None => *graph.outputs.first().ok_or_else(|| Error::new(ErrorKind::InvalidModel, "the model has no output"))?,
    };
    // The page reads the output by the model's name for it, so the new value takes the name over.
    let name = graph.value(id)?.name.clone();
    let result = append_node(graph, &name, op, vec![Some(id)])?;
    Ok(Target { result, consumed: vec![id] })
}
