//! The inspector: what an engine is made of, layer by layer, and what it costs.

use super::{Eater, Engine, Phase, Residency};
use crate::graph::{Graph, Node};
use crate::lower::{Layer, LayerTensor};
use crate::ops::{Op, Step};
use crate::passes::PassReport;
use crate::plan::{Block, Plan};
use crate::tensor::{DType, Layout, Shape};
use serde::Serialize;

/// What compiling leaves for the inspector.
#[derive(Debug, Clone, Default)]
pub struct Build {
    /// Size of the model's file.
    pub file_bytes: u64,
    /// One entry a node.
    pub layers: Vec<Layer>,
    /// What the planner placed.
    pub blocks: Vec<Block>,
    /// Where.
    pub plan: Plan,
    /// One entry a node.
    pub costs: Vec<Cost>,
    /// What the passes did.
    pub passes: PassReport,
    /// What was held in memory meanwhile.
    pub residency: Residency,
}

/// Work of a layer, estimated from its shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// Multiplications and additions; a multiply-add counts two, an activation one a result.
    pub flops: u64,
    /// Bytes read and written once each: operands, constants, results.
    pub traffic_bytes: u64,
}

/// Estimates a node.
pub(super) fn cost(graph: &Graph, node: &Node) -> Cost {
    let shape = |i: usize| node.inputs.get(i).copied().flatten().and_then(|v| graph.ty(v).ok()).map(|t| &t.shape);
    let elements = |shape: Option<&Shape>| shape.map_or(0, |s| s.elements() as u64);
    let out = node.outputs.first().and_then(|&v| graph.ty(v).ok()).map(|t| &t.shape);
    let results = elements(out);
    let per_result = |weights: Option<&Shape>, skip: usize| {
        weights.map_or(0, |w| w.iter().skip(skip).map(|&d| d as u64).product::<u64>())
    };
    let own = match &node.op {
        Op::Conv(_) => 2 * results * per_result(shape(1), 1),
        // Every input element meets every tap of every output channel of its group.
        Op::ConvTranspose(_) => 2 * elements(shape(0)) * per_result(shape(1), 1),
        Op::MatMul(_) => 2 * results * shape(0).and_then(|s| s.last()).map_or(0, |&k| k as u64),
        Op::Gemm(op) => 2 * results * shape(0).map_or(0, |s| s.get(usize::from(!op.trans_a)).map_or(0, |&k| k as u64)),
        Op::Pool(op) => results * op.window.kernel.iter().map(|&k| k as u64).product::<u64>(),
        Op::Reduce(_) | Op::Softmax(_) => elements(shape(0)),
        Op::Binary(_) | Op::Unary(_) | Op::BatchNorm(_) | Op::Clip(_) | Op::Where(_) | Op::Resize(_) => results,
        _ => 0,
    };
    let steps = node.epilogue.steps.iter().filter(|s| !matches!(s, Step::Unary(crate::ops::Unary::Not))).count();
    let bytes =
        |v: crate::graph::ValueId| graph.ty(v).map_or(0, |t| t.shape.elements() as u64 * t.dtype.gpu_bytes() as u64);
    Cost {
        flops: own + results * steps as u64,
        traffic_bytes: node.inputs.iter().flatten().chain(&node.outputs).map(|&v| bytes(v)).sum(),
    }
}

/// `engine.inspect()`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "documented in the public types of the package")]
pub struct EngineReport {
    pub model: String,
    pub arena: ArenaReport,
    pub weights: WeightsReport,
    pub layers: Vec<LayerReport>,
    /// Who takes how much memory, the biggest at the peak first; left out by `names`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub eaters: Vec<Eater>,
    pub accounts: Accounts,
    pub totals: Totals,
}

/// The arena, and how good its plan is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ArenaReport {
    /// Bytes of the arena of each request.
    pub bytes: u64,
    /// No plan can be smaller.
    pub lower_bound: u64,
    /// Bytes if nothing were shared.
    pub naive: u64,
    /// Alignment of every tensor, in bytes.
    pub alignment: u64,
    /// The packer whose plan was kept.
    pub planner: &'static str,
    /// Step at which most memory is alive.
    pub peak_step: u32,
    /// Number of steps.
    pub steps: usize,
}

/// The weights buffer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WeightsReport {
    /// Bytes, packed and aligned.
    pub bytes: u64,
}

/// One layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "documented in the public types of the package")]
pub struct LayerReport {
    pub index: usize,
    pub name: String,
    pub op: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    pub fused: usize,
    pub dispatches: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<TensorReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<TensorReport>,
    pub workspace_bytes: u64,
    /// First byte of the workspace in the arena, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_offset: Option<u64>,
    pub first_step: u32,
    pub last_step: u32,
    /// Part of the arena's peak that is its own, as in the table of eaters.
    pub share_of_peak: f64,
    #[serde(flatten)]
    pub cost: Cost,
}

/// A tensor of a layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "documented in the public types of the package")]
pub struct TensorReport {
    pub name: String,
    pub shape: Shape,
    pub dtype: DType,
    pub layout: Layout,
    /// First byte in the arena; none for a constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    pub bytes: u64,
    /// Steps it is needed in, `[first, end)`.
    pub life: [u32; 2],
}

/// The three accounts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "documented in the public types of the package")]
pub struct Accounts {
    pub load: LoadAccount,
    pub batch: Vec<BatchAccount>,
}

/// What the model takes in memory for what it is on disk.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "documented in the public types of the package")]
pub struct LoadAccount {
    pub file_bytes: u64,
    /// Weights, parameters and one arena.
    pub resident_bytes: u64,
    pub multiplier: f64,
    /// The most of each phase of loading so far; empty where the heap is not counted.
    pub phases: Vec<PhaseAccount>,
}

/// What a phase of loading holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseAccount {
    /// The phase.
    pub phase: Phase,
    /// Bytes of heap and GPU memory held for the model, at most.
    pub resident_bytes: u64,
    /// For a byte of the model's file.
    pub multiplier: f64,
}

/// What a batch would take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "documented in the public types of the package")]
pub struct BatchAccount {
    pub n: u64,
    pub arena_bytes: u64,
}

/// Sums over the layers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "documented in the public types of the package")]
pub struct Totals {
    pub layers: usize,
    pub dispatches: usize,
    pub shaders: usize,
    pub flops: u64,
    pub traffic_bytes: u64,
}

/// How much the inspector tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// Names, operators, sizes.
    Names,
    /// Kernels and every tensor, too.
    #[default]
    Detailed,
}

impl Detail {
    /// Reads the public word.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "names" => Some(Self::Names),
            "detailed" => Some(Self::Detailed),
            _ => None,
        }
    }
}

/// Batches the account shows.
const BATCHES: [u64; 4] = [1, 2, 4, 8];

impl Engine {
    /// What the engine is made of.
    pub fn inspect(&self, detail: Detail) -> EngineReport {
        let build = &self.build;
        let plan = &build.plan;
        let eaters = super::eaters::eaters(self);
        let mut shares = vec![0.0; build.layers.len()];
        for (index, share) in eaters.iter().filter_map(|row| Some((row.layer?, row.share_of_peak))) {
            shares[index] = share;
        }
        let layers = build.layers.iter().zip(&build.costs).zip(shares).enumerate();
        let layers: Vec<LayerReport> =
            layers.map(|(index, ((layer, &cost), share))| layer_report(index, layer, cost, share, detail)).collect();
        let resident = self.recording.weights_bytes + self.recording.arena_bytes + self.recording.params.len() as u64;
        let file_bytes = build.file_bytes.max(1) as f64;
        let phase = |&(phase, resident_bytes): &(Phase, u64)| PhaseAccount {
            phase,
            resident_bytes,
            multiplier: resident_bytes as f64 / file_bytes,
        };
        let batch = |n: u64| {
            let blocks: Vec<Block> =
                build.blocks.iter().map(|b| Block { bytes: b.bytes.saturating_mul(n), life: b.life }).collect();
            let options = crate::plan::Options { alignment: plan.alignment, ..crate::plan::Options::default() };
            crate::plan::plan(&blocks, &options).ok().map(|p| BatchAccount { n, arena_bytes: p.bytes })
        };
        EngineReport {
            model: self.name.clone(),
            arena: ArenaReport {
                bytes: plan.bytes,
                lower_bound: plan.lower_bound,
                naive: plan.naive,
                alignment: plan.alignment,
                planner: plan.packer,
                peak_step: plan.peak_step,
                steps: build.layers.len(),
            },
            weights: WeightsReport { bytes: self.recording.weights_bytes },
            accounts: Accounts {
                load: LoadAccount {
                    file_bytes: build.file_bytes,
                    resident_bytes: resident,
                    multiplier: resident as f64 / file_bytes,
                    phases: build.residency.phases().iter().map(phase).collect(),
                },
                batch: BATCHES.into_iter().filter_map(batch).collect(),
            },
            totals: Totals {
                layers: layers.len(),
                dispatches: build.layers.iter().map(|l| l.dispatches).sum(),
                shaders: self.recording.shaders.len(),
                flops: build.costs.iter().map(|c| c.flops).sum(),
                traffic_bytes: build.costs.iter().map(|c| c.traffic_bytes).sum(),
            },
            layers,
            eaters: if detail == Detail::Detailed { eaters } else { Vec::new() },
        }
    }
}

fn layer_report(index: usize, layer: &Layer, cost: Cost, share_of_peak: f64, detail: Detail) -> LayerReport {
    let detailed = detail == Detail::Detailed;
    let tensors = |list: &[LayerTensor]| {
        let list = if detailed { list } else { &[] };
        list.iter().map(tensor_report).collect::<Vec<_>>()
    };
    LayerReport {
        index,
        name: layer.name.clone(),
        op: layer.op.clone(),
        kernel: detailed.then(|| layer.kernel.clone()),
        fused: layer.fused,
        dispatches: layer.dispatches,
        inputs: tensors(&layer.inputs),
        outputs: tensors(&layer.outputs),
        workspace_bytes: layer.workspace,
        workspace_offset: layer.workspace_offset.filter(|_| detailed),
        first_step: layer.first_step,
        last_step: layer.last_step,
        share_of_peak,
        cost,
    }
}

fn tensor_report(t: &LayerTensor) -> TensorReport {
    TensorReport {
        name: t.name.clone(),
        shape: t.shape.clone(),
        dtype: t.dtype,
        layout: t.layout,
        offset: t.offset,
        bytes: t.bytes,
        life: t.life,
    }
}
