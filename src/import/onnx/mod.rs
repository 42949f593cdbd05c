//! ONNX files, opsets 7 to 24: <https://onnx.ai/onnx/repo-docs/IR.html>.

mod operators;
mod proto;
mod protobuf;
mod scope;
mod shapes;
mod tensor;

use super::{ImportOptions, PortInfo, Summary};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, Value, ValueId};
use crate::tensor::{Layout, TensorType};
use scope::{Scope, unsupported};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// Versions of the default operator set whose meaning the importer knows.
const OPSETS: RangeInclusive<i64> = 7..=24;

/// Reads a model. See [`super::import`].
///
/// # Errors
/// As [`super::import`].
pub fn import(bytes: &[u8], options: &ImportOptions) -> Result<Graph> {
    let (model, opset) = read(bytes)?;
    let proto = model.graph.unwrap_or_default();
    let mut graph = Graph { name: proto.name.to_owned(), ..Graph::default() };
    let mut names: BTreeMap<&str, ValueId> = BTreeMap::new();

    for initializer in &proto.initializers {
        let place = || format!("weight {:?}", initializer.name);
        let tensor = tensor::read(initializer).map_err(|e| e.at(place()))?;
        let id = graph.add_constant(initializer.name, tensor);
        if names.insert(initializer.name, id).is_some() {
            return Err(Error::new(ErrorKind::InvalidModel, "two weights have this name").at(place()));
        }
    }
    if proto.has_sparse_initializers {
        return Err(unsupported("the model has sparse weights, which are not supported"));
    }
    let ports = input_ports(&proto)?;
    let input_shapes = shapes::resolve(&ports, &options.shapes)?;
    for (port, shape) in ports.iter().zip(input_shapes) {
        let ty = Some(TensorType::new(port.dtype, shape));
        let id = graph.add_value(Value { name: port.name.clone(), ty, layout: Layout::RowMajor, constant: None });
        graph.inputs.push(id);
    }
    let fed: Vec<&str> = proto.inputs.iter().map(|v| v.name).filter(|name| !names.contains_key(name)).collect();
    names.extend(fed.into_iter().zip(graph.inputs.iter().copied()));

    import_nodes(&proto, opset, &mut graph, &mut names)?;
    for output in &proto.outputs {
        let id = names.get(output.name).ok_or_else(|| {
            Error::new(ErrorKind::InvalidModel, "no node makes it").at(format!("output {:?}", output.name))
        })?;
        graph.outputs.push(*id);
    }
    if graph.outputs.is_empty() {
        return Err(Error::new(ErrorKind::InvalidModel, "the model has no outputs"));
    }
    Ok(graph)
}

/// Reads what the file says of itself. See [`super::summary`].
///
/// # Errors
/// As [`super::summary`].
pub fn summary(bytes: &[u8]) -> Result<Summary> {
    let (model, opset) = read(bytes)?;
    let graph = model.graph.unwrap_or_default();
    let mut operators = BTreeMap::new();
    for node in &graph.nodes {
        *operators.entry(node.op_type.to_owned()).or_default() += 1;
    }
    let outputs = graph.outputs.iter().filter_map(|v| port(v).ok()).collect();
    Ok(Summary {
        name: graph.name.to_owned(),
        producer: model.producer.to_owned(),
        opset,
        inputs: input_ports(&graph)?,
        outputs,
        operators,
    })
}

/// The messages of the file, and its opset; refuses what is no ONNX model.
fn read(bytes: &[u8]) -> Result<(proto::Model<'_>, i64)> {
    if bytes.is_empty() {
        return Err(Error::new(ErrorKind::InvalidModel, "the file is empty"));
    }
    if let Some(what) = foreign(bytes) {
        return Err(Error::new(ErrorKind::InvalidModel, format!("this is {what}, not an ONNX model")));
    }
    let model = proto::Model::read(protobuf::Reader::new(bytes))?;
    if model.graph.is_none() {
        return Err(
            Error::new(ErrorKind::InvalidModel, "the file holds no graph").hint("it is truncated, or no ONNX model")
        );
    }
    let opset = model.opsets.iter().find(|(domain, _)| is_default(domain)).map(|&(_, version)| version);
    match opset {
        Some(v) if OPSETS.contains(&v) => Ok((model, v)),
        Some(v) => Err(unsupported(format!("operator set {v} is not among {} to {}", OPSETS.start(), OPSETS.end()))
            .hint("convert the model with onnx.version_converter")),
        None => Err(Error::new(ErrorKind::InvalidModel, "the file states no operator set")
            .hint("it is truncated, or no ONNX model")),
    }
}

/// Names a file of another kind by its first bytes.
fn foreign(bytes: &[u8]) -> Option<&'static str> {
    let text = bytes.trim_ascii_start();
    Some(match () {
        () if text.starts_with(b"<") => "an HTML or XML page",
        () if bytes.starts_with(b"version https://git-lfs") => "a Git LFS pointer",
        () if bytes.starts_with(b"PK\x03\x04") => "a zip archive (perhaps a PyTorch or Keras model)",
        () if bytes.starts_with(b"\x89HDF") => "an HDF5 file",
        () if bytes.starts_with(&[0x1f, 0x8b]) => "a gzip archive",
        () if bytes.starts_with(b"\x80\x02") => "a Python pickle",
        () if bytes.get(4..8) == Some(b"TFL3") => "a TFLite model",
        () if bytes.starts_with(b"ORTM") || bytes.get(4..8) == Some(b"ORTM") => "an ORT-format model",
        () if text.starts_with(b"{") => "JSON",
        () => return None,
    })
}

fn is_default(domain: &str) -> bool {
    matches!(domain, "" | "ai.onnx")
}

/// The inputs that are no weights; old files list both.
fn input_ports(graph: &proto::Graph<'_>) -> Result<Vec<PortInfo>> {
    let mut weights = BTreeSet::new();
    weights.extend(graph.initializers.iter().map(|t| t.name));
    let mut seen = BTreeSet::new();
    graph
        .inputs
        .iter()
        .filter(|v| !weights.contains(v.name))
        .map(|v| {
            let place = || format!("input {:?}", v.name);
            if !seen.insert(v.name) {
                return Err(Error::new(ErrorKind::InvalidModel, "two inputs have this name").at(place()));
            }
            port(v).map_err(|e| e.at(place()))
        })
        .collect()
}

fn port(value: &proto::Value<'_>) -> Result<PortInfo> {
    if value.elem_type == 0 {
        return Err(Error::new(ErrorKind::InvalidModel, "it is no tensor, or its element type is not stated"));
    }
    Ok(PortInfo { name: value.name.to_owned(), dtype: tensor::dtype(value.elem_type)?, dims: value.dims.clone() })
}

/// Imports node after node; those that are not served are collected into one error.
fn import_nodes<'a>(
    proto: &proto::Graph<'a>,
    opset: i64,
    graph: &mut Graph,
    names: &mut BTreeMap<&'a str, ValueId>,
) -> Result<()> {
    let mut read = BTreeSet::new();
    read.extend(proto.nodes.iter().flat_map(|n| n.inputs.iter().copied()));
    read.extend(proto.outputs.iter().map(|v| v.name));
    let mut refused: Vec<String> = Vec::new();
    // Results of refused nodes: who reads one is passed over, for nothing can be said of it.
    let mut unknown: BTreeSet<&str> = BTreeSet::new();

    for node in &proto.nodes {
        let place = || format!("node {:?} ({})", node.outputs.first().copied().unwrap_or(node.name), node.op_type);
        let skipped = node.inputs.iter().any(|name| unknown.contains(name));
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for name in &node.inputs {
            inputs.push(match names.get(name) {
                Some(&id) => Some(id),
                None if name.is_empty() || unknown.contains(name) => None,
                None => {
                    let message = format!("it reads {name:?}, which nothing before it makes");
                    return Err(Error::new(ErrorKind::InvalidModel, message).at(place()));
                }
            });
        }
        let outcome = if skipped {
            known_operator(node).map(|_| ())
        } else {
            let outputs = add_outputs(node, &read, graph, names).map_err(|e| e.at(place()))?;
            let mut scope = Scope::new(node, opset, graph, inputs, outputs);
            known_operator(node).and_then(|import| import(&mut scope)).and_then(|()| scope.all_attributes_read())
        };
        match outcome {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::UnsupportedOp => refused.push(format!("{}: {}", place(), e.message())),
            Err(e) if e.place().is_some() => return Err(e),
            Err(e) => return Err(e.at(place())),
        }
        if skipped || outcome_is_unknown(graph, node, names) {
            unknown.extend(&node.outputs);
        }
    }
    match refused.len() {
        0 => Ok(()),
        n => {
            let nodes = if n == 1 { "1 node is".to_owned() } else { format!("{n} nodes are") };
            Err(unsupported(format!("{nodes} not supported:\n  {}", refused.join("\n  "))))
        }
    }
}

fn outcome_is_unknown(graph: &Graph, node: &proto::Node<'_>, names: &BTreeMap<&str, ValueId>) -> bool {
    node.outputs.iter().filter_map(|name| names.get(name)).any(|&id| graph.ty(id).is_err())
}

fn known_operator(node: &proto::Node<'_>) -> Result<operators::Importer> {
    if !is_default(node.domain) {
        return Err(unsupported(format!("the operator belongs to {:?}, which is not supported", node.domain)));
    }
    if matches!(node.op_type, "If" | "Loop" | "Scan") {
        return Err(unsupported("operators with subgraphs are not supported"));
    }
    operators::find(node.op_type).ok_or_else(|| unsupported("the operator is not supported"))
}

/// Makes the values of a node's outputs; `None` for those that nobody reads.
fn add_outputs<'a>(
    node: &proto::Node<'a>,
    read: &BTreeSet<&str>,
    graph: &mut Graph,
    names: &mut BTreeMap<&'a str, ValueId>,
) -> Result<Vec<Option<ValueId>>> {
    let mut outputs = Vec::with_capacity(node.outputs.len());
    for (i, &name) in node.outputs.iter().enumerate() {
        if name.is_empty() || (i > 0 && !read.contains(name)) {
            outputs.push(None);
            continue;
        }
        let value = Value { name: name.to_owned(), ty: None, layout: Layout::RowMajor, constant: None };
        let id = graph.add_value(value);
        if names.insert(name, id).is_some() {
            return Err(Error::new(ErrorKind::InvalidModel, format!("{name:?} is made twice")));
        }
        outputs.push(Some(id));
    }
    match outputs.is_empty() {
        true => Err(Error::new(ErrorKind::InvalidModel, "it has no outputs")),
        false => Ok(outputs),
    }
}
