//! Graph to recording: kernels are selected, tensors get their places in the arena, weights are packed, and every node
//! becomes dispatches.
//!
//! ```text
//! Graph ─ select ─▶ kernels ─ wishes (in place, views) ─▶ plan::unify ─▶ plan::plan ─ places ─▶ select ─▶ Recording
//! ```
//!
//! A node's kernel is selected twice: first to learn what it would share, then, with places decided, for shaders in which
//! operands of one range share a binding.

mod emit;
mod layers;
mod place;
mod prepare;

pub use layers::{Layer, LayerTensor};
pub use prepare::with_outputs_of_their_own;

use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, Node};
use crate::kernels::{Arg, Choices, Context, DeviceLimits, Kernel};
use crate::ops::Preprocess;
use crate::plan::{self, Plan};
use crate::recording::{Range, Recording};

/// How to lower.
#[derive(Clone)]
pub struct LowerOptions<'a> {
    /// The adapter.
    pub limits: DeviceLimits,
    /// Kernel variants measured on it.
    pub choices: Choices,
    /// How hard the planner looks.
    pub effort: plan::Effort<'a>,
    /// Most bytes of the arena.
    pub max_arena: Option<u64>,
    /// Most bytes of workspace of one node.
    pub max_workspace: Option<u64>,
    /// Most bytes of weights.
    pub max_weights: Option<u64>,
    /// False: every tensor gets memory of its own, for comparison.
    pub share: bool,
    /// For each model input, how a frame becomes its tensor.
    pub preprocess: Vec<Option<Preprocess>>,
}

impl Default for LowerOptions<'_> {
    fn default() -> Self {
        Self {
            limits: DeviceLimits::default(),
            choices: Choices::default(),
            effort: plan::Effort::Fast,
            max_arena: None,
            max_workspace: None,
            max_weights: None,
            share: true,
            preprocess: Vec::new(),
        }
    }
}

/// A model as commands, with everything a report tells about it.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// What a run does.
    pub recording: Recording,
    /// Contents of the weights buffer.
    pub weights: Vec<u8>,
    /// Where each model input lies; exact length in bytes, rounded up to four.
    pub inputs: Vec<Range>,
    /// Where each model output lies.
    pub outputs: Vec<Range>,
    /// One for each node, in order: a layer's index is its step.
    pub layers: Vec<Layer>,
    /// The arena's plan; its blocks are [`Self::blocks`].
    pub plan: Plan,
    /// What the plan placed: tensors that share memory are one block.
    pub blocks: Vec<plan::Block>,
}

/// Lowers a graph whose shapes are all known.
///
/// # Errors
/// `unsupported-op` naming every node that no kernel serves; `memory-limit` naming the pool; `shape-mismatch` where a
/// shape is not known.
pub fn lower(graph: &Graph, options: &LowerOptions<'_>) -> Result<Lowered> {
    lower_telling(graph, options, &mut || {})
}

/// The same; `planned` is called when all places are decided, before weights are packed and shaders written.
///
/// # Errors
/// As [`lower`].
pub fn lower_telling(graph: &Graph, options: &LowerOptions<'_>, planned: &mut dyn FnMut()) -> Result<Lowered> {
    let graph = with_outputs_of_their_own(graph)?;
    let mut options = options.clone();
    options.limits.max_workspace_bytes = options.max_workspace.unwrap_or(options.limits.max_workspace_bytes);
    let options = &options;
    let layout = place::place(&graph, options)?;
    planned();
    emit::emit(&graph, &layout, options)
}

/// The node as its kernel sees it. `storage` numbers the ranges: equal numbers, equal ranges.
fn context<'g>(
    graph: &'g Graph,
    node: &'g Node,
    options: &'g LowerOptions<'_>,
    storage: impl Fn(usize) -> u32,
) -> Result<Context<'g>> {
    let arg = |id: crate::graph::ValueId| -> Result<Arg<'g>> {
        let value = graph.value(id)?;
        Ok(Arg {
            ty: graph.ty(id)?,
            layout: value.layout,
            constant: value.constant.as_deref(),
            storage: storage(id.index()),
        })
    };
    Ok(Context {
        op: &node.op,
        inputs: node.inputs.iter().map(|i| i.map(arg).transpose()).collect::<Result<_>>()?,
        own_inputs: node.own_inputs,
        epilogue: &node.epilogue,
        outputs: node.outputs.iter().map(|&o| arg(o)).collect::<Result<_>>()?,
        choices: &options.choices,
        limits: &options.limits,
    })
}

/// The kernels of all nodes, or one error that lists every node without one.
fn select_all<'g>(
    graph: &'g Graph,
    options: &'g LowerOptions<'_>,
    storage: impl Fn(usize) -> u32,
) -> Result<Vec<Kernel<'g>>> {
    let mut kernels = Vec::with_capacity(graph.nodes.len());
    let mut refused: Vec<Error> = Vec::new();
    for node in &graph.nodes {
        let kernel = context(graph, node, options, &storage).and_then(|ctx| crate::kernels::select(&ctx));
        match kernel.map_err(|e| e.at(node.place())) {
            Ok(kernel) => kernels.push(kernel),
            Err(e) if e.kind() == ErrorKind::UnsupportedOp => refused.push(e),
            Err(e) => return Err(e),
        }
    }
    match &refused[..] {
        [] => Ok(kernels),
        [one] => Err(one.clone()),
        all => {
            let lines: Vec<String> =
                all.iter().map(|e| format!("{}: {}", e.place().unwrap_or_default(), e.message())).collect();
            let message = format!("{} nodes have no kernel:\n  {}", all.len(), lines.join("\n  "));
            Err(Error::new(ErrorKind::UnsupportedOp, message))
        }
    }
}
