//! The passes keep what a model computes, and make of it what the kernels want.

#[path = "common/golden.rs"]
#[allow(dead_code, reason = "shared by several tests")]
mod golden;

use frameway::graph::Graph;
use frameway::import::{Format, ImportOptions, import};
use frameway::passes::{PassOptions, PassReport, optimize};
use golden::{Golden, ONNX_MODELS};
use std::collections::BTreeMap;

fn imported(golden: &Golden) -> Graph {
    let shapes = golden.inputs.iter().map(|(name, t)| (name.clone(), t.shape().to_vec())).collect();
    import(&golden.model, Some(Format::Onnx), &ImportOptions { shapes }).expect("import")
}

fn optimized(golden: &Golden) -> (Graph, PassReport) {
    let mut graph = imported(golden);
    let report = optimize(&mut graph, &PassOptions::default()).expect("optimize");
    (graph, report)
}

fn counts(graph: &Graph) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for node in &graph.nodes {
        *counts.entry(node.op.definition().name()).or_default() += 1;
    }
    counts.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
}

#[test]
fn nine_models_meet_their_goldens_after_the_passes() {
    for name in ONNX_MODELS {
        let Some(golden) = Golden::load(name) else { continue };
        let feeds: Vec<_> = golden.inputs.iter().map(|(_, t)| t.clone()).collect();
        let (graph, _) = optimized(&golden);
        let outputs = graph.evaluate(&feeds).expect(name);
        for (i, output) in outputs.iter().enumerate() {
            assert_eq!(graph.value(graph.outputs[i]).unwrap().name, golden.outputs[i].0);
            let error = golden.error(i, &output.to_f32());
            println!("{name} output {i}: {error:.3} of the tolerance");
            assert!(error <= 1.0, "{name}: output {i} is {error} times the tolerance away");
        }
    }
}

/// Prints what the passes leave of a model: `FRAMEWAY_DUMP=ppocr_det cargo test --test passes dump -- --nocapture`.
#[test]
fn dump() {
    for name in ONNX_MODELS {
        let Some(golden) = Golden::load(name) else { continue };
        let before = imported(&golden);
        let start = std::time::Instant::now();
        let (graph, report) = optimized(&golden);
        println!("{name}: {} -> {} nodes in {:?}", before.nodes.len(), graph.nodes.len(), start.elapsed());
        println!("  before: {}", counts(&before));
        println!("  after:  {}", counts(&graph));
        for pass in report.passes {
            println!("  {}: {}", pass.pass, pass.applied);
        }
        if std::env::var("FRAMEWAY_DUMP").is_ok_and(|n| n == name) {
            println!("{graph}");
        }
    }
}
