//! The node tests of the ONNX standard and the operators' edges on the native adapter: importer, passes, plan, kernels.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/execute.rs"]
mod execute;
#[path = "common/onnx_node.rs"]
mod onnx_node;
#[path = "common/operators.rs"]
mod operators;

use execute::Gpu;
use frameway::import::import;
use frameway::lower::{LowerOptions, lower};
use frameway::passes;
use frameway::tensor::{Tensor, TensorType};
use frameway::{Error, ErrorKind};
use onnx_node::{Outcome, Tally};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Cases of the list that must pass; raise it when a kernel is added.
const MUST_PASS: usize = 713;

/// Likewise of the edges; float16 is refused by an adapter without shader-f16.
const EDGES_MUST_PASS: usize = 89;

/// Compiles a model and runs it with `feeds`, twice; the second run must give the same bits.
fn run(gpu: &Gpu, model: &[u8], feeds: &[Tensor]) -> Result<Vec<Tensor>, Error> {
    let mut graph = import(model, None, &Default::default())?;
    passes::infer_shapes(&mut graph)?;
    passes::optimize(&mut graph, &Default::default())?;
    let types: Vec<TensorType> = graph.outputs.iter().map(|&v| graph.ty(v).cloned()).collect::<Result<_, _>>()?;
    let lowered = lower(&graph, &LowerOptions { limits: gpu.limits.clone(), ..LowerOptions::default() })?;
    let loaded = gpu.load(&lowered);
    let (first, second) = (loaded.run(feeds, &types), loaded.run(feeds, &types));
    let bits = |run: &[Tensor]| run.iter().map(|t| t.data().as_bytes().to_vec()).collect::<Vec<_>>();
    assert_eq!(bits(&first), bits(&second), "two runs differ");
    Ok(first)
}

fn outcome(
    compare: impl FnOnce(&[Tensor]) -> Outcome,
    results: impl FnOnce() -> Result<Vec<Tensor>, Error>,
) -> Outcome {
    match catch_unwind(AssertUnwindSafe(results)) {
        Ok(Ok(results)) => compare(&results),
        Ok(Err(e)) if e.kind() == ErrorKind::UnsupportedOp => Outcome::Unsupported(e.to_string()),
        Ok(Err(e)) => Outcome::Fail(e.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            Outcome::Fail(format!("panic: {}", text.unwrap_or_else(|| "without words".to_owned())))
        }
    }
}

#[test]
fn kernels_give_the_standards_values() {
    let Some(names) = onnx_node::core() else { return };
    let Some(gpu) = Gpu::open() else { return };
    let mut tally = Tally::default();
    for name in names {
        let case = onnx_node::case(&name);
        tally.add(&name, case.attempt(|model, feeds| outcome(|r| case.compare(r), || run(&gpu, model, feeds))));
    }
    tally.finish(MUST_PASS);
}

#[test]
fn every_edge_has_the_standards_value() {
    let Some(gpu) = Gpu::open() else { return };
    let mut tally = Tally::default();
    let cases = operators::cases();
    for case in &cases {
        let compare = |results: &[Tensor]| match case.compare(results) {
            Ok(()) => Outcome::Pass,
            Err(why) => Outcome::Fail(format!("kind {} ({}): {why}", case.kind, operators::kind(case.kind))),
        };
        tally.add(&case.name, outcome(compare, || run(&gpu, &case.model, &case.inputs)));
    }
    tally.finish(EDGES_MUST_PASS);
}
