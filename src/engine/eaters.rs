//! Who holds the arena when it is fullest: every byte in use at the peak step belongs to one layer, or to an input of the model.

use super::Engine;
use crate::lower::LayerTensor;
use crate::plan::Lifetime;
use crate::tensor::Shape;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A row of the ranked table of what takes memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Eater {
    /// Index of the layer; none for an input of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// Its name.
    pub name: String,
    /// Its operator; `Input` for an input of the model.
    pub op: String,
    /// Shapes of what it reads from the arena.
    pub inputs: Vec<Shape>,
    /// Shapes of what it writes.
    pub outputs: Vec<Shape>,
    /// Bytes of its results and its workspace.
    pub bytes: u64,
    /// Bytes of the arena that are its own at the peak, alignment included. The sum over all rows is the peak.
    pub peak_bytes: u64,
    /// Of the peak.
    pub share_of_peak: f64,
}

/// Somebody's bytes at the peak.
struct Claim {
    /// Index of its row.
    row: usize,
    /// What is written outweighs what is only a view of it or waits to be written; then the latest writer has it.
    rank: (bool, usize),
    bytes: (u64, u64),
}

/// The rows: the biggest at the peak first, then the biggest altogether.
pub(super) fn eaters(engine: &Engine) -> Vec<Eater> {
    let plan = &engine.build.plan;
    let (peak, alignment) = (plan.peak_step, plan.alignment.max(1));
    let (mut rows, mut claims) = (Vec::new(), Vec::new());
    let aligned = |offset: u64, bytes: u64| (offset, offset.saturating_add(bytes.next_multiple_of(alignment)));
    let layers = &engine.build.layers;
    let in_arena = |tensors: &[LayerTensor]| {
        tensors.iter().filter(|t| t.offset.is_some()).map(|t| t.shape.clone()).collect::<Vec<_>>()
    };

    let written: BTreeSet<usize> = layers.iter().flat_map(|l| &l.outputs).map(|t| t.value).collect();
    for port in &engine.inputs {
        let read = layers
            .iter()
            .flat_map(|l| &l.inputs)
            .find(|t| !written.contains(&t.value) && t.offset == Some(port.range.offset) && t.name == port.desc.name);
        // An input that nobody reads has its place in the first step.
        let life = read.map_or(Lifetime::new(0, 1), |t| Lifetime::new(t.life[0], t.life[1]));
        let bytes = read.map_or(port.range.bytes, |t| t.bytes);
        if life.contains(peak) {
            claims.push(Claim { row: rows.len(), rank: (true, 0), bytes: aligned(port.range.offset, bytes) });
        }
        rows.push(Eater {
            layer: None,
            name: port.desc.name.clone(),
            op: "Input".to_owned(),
            inputs: Vec::new(),
            outputs: vec![port.desc.shape.clone()],
            bytes,
            peak_bytes: 0,
            share_of_peak: 0.0,
        });
    }
    for (index, layer) in layers.iter().enumerate() {
        let rank = (layer.dispatches > 0 && index <= peak as usize, index + 1);
        for (t, offset) in layer.outputs.iter().filter_map(|t| Some((t, t.offset?))) {
            if Lifetime::new(t.life[0], t.life[1]).contains(peak) {
                claims.push(Claim { row: rows.len(), rank, bytes: aligned(offset, t.bytes) });
            }
        }
        if let Some(offset) = layer.workspace_offset.filter(|_| index == peak as usize) {
            claims.push(Claim { row: rows.len(), rank, bytes: aligned(offset, layer.workspace) });
        }
        rows.push(Eater {
            layer: Some(index),
            name: layer.name.clone(),
            op: layer.op.clone(),
            inputs: in_arena(&layer.inputs),
            outputs: layer.outputs.iter().map(|t| t.shape.clone()).collect(),
            bytes: layer.outputs.iter().map(|t| t.bytes).sum::<u64>().saturating_add(layer.workspace),
            peak_bytes: 0,
            share_of_peak: 0.0,
        });
    }

    share_out(&claims, &mut rows);
    for row in &mut rows {
        row.share_of_peak = row.peak_bytes as f64 / plan.lower_bound.max(1) as f64;
    }
    rows.sort_by_key(|row| (Reverse(row.peak_bytes), Reverse(row.bytes), row.layer));
    rows
}

/// Gives every byte to the claim of the highest rank.
fn share_out(claims: &[Claim], rows: &mut [Eater]) {
    let cuts: BTreeSet<u64> = claims.iter().flat_map(|c| [c.bytes.0, c.bytes.1]).collect();
    let cuts: Vec<u64> = cuts.into_iter().collect();
    for pair in cuts.windows(2) {
        let covers = |c: &&Claim| c.bytes.0 <= pair[0] && pair[1] <= c.bytes.1;
        if let Some(best) = claims.iter().filter(covers).max_by_key(|c| c.rank) {
            rows[best.row].peak_bytes += pair[1] - pair[0];
        }
    }
}
