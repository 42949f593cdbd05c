//! From a file to an engine: import, passes, plan, lowering.

use super::{CompileOptions, Engine, Phase, Port, Residency, report};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::Graph;
use crate::import::{self, Format, ImportOptions};
use crate::kernels::{Choices, DeviceLimits};
use crate::lower::{self, LowerOptions};
use crate::ops::Preprocess;
use crate::passes::{self, PassOptions};
use crate::pipeline::Image;
use crate::plan::Effort;
use crate::tensor::{Device, TensorDesc};
use std::borrow::Cow;

/// What compiling needs to know of the machine: nothing but plain data, so that it works without a GPU.
#[derive(Debug, Clone, Default)]
pub struct Target {
    /// The adapter's limits.
    pub limits: DeviceLimits,
    /// Kernel variants measured on it.
    pub choices: Choices,
}

/// Who is told each phase as it begins, and what is held in it.
struct Phases<'a> {
    progress: &'a mut dyn FnMut(Phase),
    residency: Residency,
}

impl Phases<'_> {
    fn enter(&mut self, phase: Phase) {
        (self.progress)(phase);
        self.residency.enter(phase);
    }
}

/// Compiles a model. `progress` is told each phase as it begins.
///
/// # Errors
/// Every kind a model or an option can provoke: `invalid-model`, `unsupported-op` (all nodes at once), `shape-mismatch`,
/// `memory-limit`, `bad-source` for options that name what is not there.
pub fn compile(
    bytes: &[u8],
    options: &CompileOptions,
    target: &Target,
    progress: &mut dyn FnMut(Phase),
) -> Result<Engine> {
    compile_file(Cow::Borrowed(bytes), options, target, progress)
}

/// The same for bytes that nobody needs afterwards: they are freed as soon as they are read.
///
/// # Errors
/// As [`compile`].
pub fn compile_owned(
    bytes: Vec<u8>,
    options: &CompileOptions,
    target: &Target,
    progress: &mut dyn FnMut(Phase),
) -> Result<Engine> {
    compile_file(Cow::Owned(bytes), options, target, progress)
}

fn compile_file(
    bytes: Cow<'_, [u8]>,
    options: &CompileOptions,
    target: &Target,
    progress: &mut dyn FnMut(Phase),
) -> Result<Engine> {
    let own = match &bytes {
        Cow::Owned(bytes) => bytes.capacity(),
        Cow::Borrowed(_) => 0,
    };
    let mut phases = Phases { progress, residency: Residency::begin(own) };
    phases.enter(Phase::Import);
    let format = options.format.as_deref().map(format_named).transpose()?;
    let import_options = ImportOptions { shapes: options.shapes.clone() };
    let mut graph = import::import(&bytes, format, &import_options).map_err(|e| e.or_at("model"))?;
    let file_bytes = bytes.len() as u64;
    drop(bytes);
    if let Some(name) = &options.name {
        graph.name.clone_from(name);
    }
    let place = format!("model {:?}", graph.name);
    compile_phases(graph, file_bytes, options, target, phases).map(|(engine, _)| engine).map_err(|e| e.or_at(place))
}

fn format_named(word: &str) -> Result<Format> {
    match word {
        "onnx" => Ok(Format::Onnx),
        "tflite" => Ok(Format::Tflite),
        "plan" => Ok(Format::Plan),
        other => Err(Error::new(ErrorKind::BadSource, format!("format {other:?} is none of onnx, tflite, plan"))
            .at("compile options")),
    }
}

/// As [`compile`]; the optimised graph comes along: one node a layer, with the constants that the engine holds packed.
///
/// # Errors
/// As [`compile`].
pub fn compile_with_graph(bytes: &[u8], options: &CompileOptions, target: &Target) -> Result<(Engine, Graph)> {
    let format = options.format.as_deref().map(format_named).transpose()?;
    let graph = import::import(bytes, format, &ImportOptions { shapes: options.shapes.clone() })?;
    compile_keeping_graph(graph, bytes.len() as u64, options, target, &mut |_| {})
}

/// Compiles a graph whose shapes are known; `file_bytes` is for the report.
///
/// # Errors
/// As [`compile`].
pub fn compile_graph(
    graph: Graph,
    file_bytes: u64,
    options: &CompileOptions,
    target: &Target,
    progress: &mut dyn FnMut(Phase),
) -> Result<Engine> {
    compile_keeping_graph(graph, file_bytes, options, target, progress).map(|(engine, _)| engine)
}

/// As [`compile_graph`]; gives the graph back as it was lowered.
///
/// # Errors
/// As [`compile`].
pub fn compile_keeping_graph(
    graph: Graph,
    file_bytes: u64,
    options: &CompileOptions,
    target: &Target,
    progress: &mut dyn FnMut(Phase),
) -> Result<(Engine, Graph)> {
    compile_phases(graph, file_bytes, options, target, Phases { progress, residency: Residency::begin(0) })
}

fn compile_phases(
    mut graph: Graph,
    file_bytes: u64,
    options: &CompileOptions,
    target: &Target,
    mut phases: Phases<'_>,
) -> Result<(Engine, Graph)> {
    match options.precision.as_deref() {
        None | Some("float32" | "auto") => {}
        Some("float16") => {
            let message = "intermediates in float16 are not served yet";
            return Err(Error::new(ErrorKind::UnsupportedOp, message)
                .at("compile option `precision`")
                .hint("leave it out, or say \"auto\""));
        }
        Some(other) => {
            let message = format!("precision {other:?} is none of float32, float16, auto");
            return Err(Error::new(ErrorKind::BadSource, message).at("compile option `precision`"));
        }
    }
    phases.enter(Phase::Optimize);
    passes::infer_shapes(&mut graph)?;
    for step in &options.postprocess.0 {
        step.append(&mut graph)?;
    }
    for name in options.outputs.keys() {
        crate::pipeline::output_named(&graph, name)?;
    }
    let passes = passes::optimize(&mut graph, &PassOptions::default())?;
    let preprocess = preprocess(&graph, options)?;
    phases.enter(Phase::Plan);
    let limit = |bytes: Option<super::Bytes>| bytes.map(|b| b.0);
    let lower_options = LowerOptions {
        limits: target.limits.clone(),
        choices: target.choices.clone(),
        effort: Effort::Fast,
        max_arena: limit(options.limits.activations),
        max_workspace: limit(options.limits.workspace),
        max_weights: limit(options.limits.weights),
        share: true,
        preprocess,
    };
    let lowered = lower::lower_telling(&graph, &lower_options, &mut || phases.enter(Phase::Lower))?;
    let costs = graph.nodes.iter().map(|node| report::cost(&graph, node)).collect();
    let port = |(&id, &range): (&crate::graph::ValueId, &crate::recording::Range), step: Option<Preprocess>| {
        let (value, ty) = (graph.value(id)?, graph.ty(id)?);
        let desc = TensorDesc::contiguous(value.name.clone(), ty, Device::Gpu);
        Ok(Port { desc, range, preprocess: step })
    };
    let inputs = graph.inputs.iter().zip(&lowered.inputs).zip(lower_options.preprocess.iter().cloned());
    let inputs = inputs.map(|(pair, step)| port(pair, step)).collect::<Result<Vec<_>>>()?;
    let outputs =
        graph.outputs.iter().zip(&lowered.outputs).map(|pair| port(pair, None)).collect::<Result<Vec<_>>>()?;
    phases.residency.leave(0);
    let engine = Engine {
        name: graph.name.clone(),
        recording: lowered.recording,
        weights: lowered.weights,
        inputs,
        outputs,
        build: report::Build {
            file_bytes,
            layers: lowered.layers,
            blocks: lowered.blocks,
            plan: lowered.plan,
            costs,
            passes,
            residency: phases.residency,
        },
    };
    Ok((engine, graph))
}

/// For each model input, how a frame becomes it: as the page says, or, for an input that is a picture, the plainest way.
fn preprocess(graph: &Graph, options: &CompileOptions) -> Result<Vec<Option<Preprocess>>> {
    let names = graph.inputs.iter().map(|&id| Ok(graph.value(id)?.name.clone())).collect::<Result<Vec<_>>>()?;
    if let Some(unknown) = options.preprocess.keys().find(|name| !names.contains(name)) {
        let message = format!("the model has no input {unknown:?}");
        return Err(Error::new(ErrorKind::BadSource, message)
            .at("compile option `preprocess`")
            .hint(format!("its inputs are {}", names.join(", "))));
    }
    let step = |(&id, name): (&crate::graph::ValueId, &String)| {
        let ty = graph.ty(id)?;
        match options.preprocess.get(name) {
            Some(image) => image.resolve(name, ty).map(Some),
            None => Ok(Image::default().resolve(name, ty).ok()),
        }
    };
    graph.inputs.iter().zip(&names).map(step).collect()
}
