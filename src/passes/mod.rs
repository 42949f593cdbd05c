//! Passes over the graph, in order: what is known at compile time is computed, what can be joined is joined, layouts are
//! chosen. A pass that does not apply says why.

mod activations;
mod affine;
mod dead;
mod epilogue;
mod layout;
mod layout_choice;
mod movement;
mod outputs;
mod padding;
mod shapes;
mod simplify;
mod site;
#[cfg(test)]
mod testing;

pub use shapes::infer_shapes;

use crate::error::Result;
use crate::graph::Graph;

/// What the passes may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassOptions {
    /// Joins operators into one kernel.
    pub fuse: bool,
    /// Packs channels by four where that is faster; else all tensors are row-major.
    pub layouts: bool,
}

impl Default for PassOptions {
    fn default() -> Self {
        Self { fuse: true, layouts: true }
    }
}

/// Why a rewrite was not made at a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The pattern is not there.
    NoMatch,
    /// The pattern is there, but a condition is not met.
    CheckFailed(&'static str),
}

/// What one pass did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PassOutcome {
    /// The pass.
    pub pass: &'static str,
    /// How often it changed something.
    pub applied: usize,
    /// Where it matched and was not applied: node and reason.
    pub refused: Vec<(String, &'static str)>,
}

/// What all passes did, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PassReport {
    /// One entry a pass.
    pub passes: Vec<PassOutcome>,
}

/// Brings an imported graph into the form that lowering wants.
///
/// # Errors
/// `unsupported-op`, `shape-mismatch` and the like from shape inference; `invalid-model` for an inconsistent graph.
pub fn optimize(graph: &mut Graph, options: &PassOptions) -> Result<PassReport> {
    let mut report = PassReport::default();
    let mut ran = |outcome: PassOutcome| report.passes.push(outcome);
    graph.sort()?;
    ran(infer_shapes(graph)?);
    ran(dead::eliminate(graph));
    ran(simplify::simplify(graph)?);
    if options.fuse {
        ran(activations::find(graph)?);
        ran(dead::eliminate(graph));
        ran(affine::fold(graph)?);
        ran(affine::spell_out_batch_norm(graph)?);
        ran(padding::fold(graph)?);
        ran(epilogue::fuse(graph)?);
        ran(epilogue::chain(graph)?);
    }
    ran(outputs::separate(graph)?);
    ran(dead::eliminate(graph));
    if options.layouts {
        ran(layout::assign(graph)?);
    }
    graph.check()?;
    Ok(report)
}
