//! The golden models' arenas, planned without a GPU: at the lower bound, and said so by the report.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/golden.rs"]
#[allow(dead_code, reason = "outputs are not looked at here")]
mod golden;

use frameway::engine::{CompileOptions, Detail, EngineReport, Target, compile, compile_graph};
use frameway::tensor::DType;
use golden::Golden;
use std::collections::BTreeMap;
use std::time::Instant;

fn report(golden: &Golden, shapes: BTreeMap<String, Vec<usize>>) -> EngineReport {
    let options = CompileOptions { shapes, ..CompileOptions::default() };
    let begin = Instant::now();
    let engine = compile(&golden.model, &options, &Target::default(), &mut |_| {}).unwrap_or_else(|e| panic!("{e}"));
    let ms = begin.elapsed().as_secs_f64() * 1e3;
    let report = engine.inspect(Detail::Detailed);
    let a = &report.arena;
    println!(
        "{}: naive {} plan {} bound {} ({:.4} of the bound, {}), compiled in {ms:.0} ms",
        golden.name,
        a.naive,
        a.bytes,
        a.lower_bound,
        a.bytes as f64 / a.lower_bound as f64,
        a.planner
    );
    report
}

#[test]
fn the_nine_models_are_planned_at_their_lower_bound() {
    for name in golden::ONNX_MODELS {
        let Some(golden) = Golden::load(name) else { continue };
        let shapes = golden.inputs.iter().map(|(n, t)| (n.clone(), t.shape().to_vec())).collect();
        let report = report(&golden, shapes);
        assert_eq!(report.arena.bytes, report.arena.lower_bound, "{name}");
        assert!(report.arena.naive >= 2 * report.arena.bytes, "{name}: sharing memory saves half at least");
    }
}

#[test]
fn the_layers_alive_at_the_peak_account_for_the_arena() {
    for name in golden::ONNX_MODELS {
        let Some(golden) = Golden::load(name) else { continue };
        let shapes = golden.inputs.iter().map(|(n, t)| (n.clone(), t.shape().to_vec())).collect();
        let report = report(&golden, shapes);
        let peak = report.arena.peak_step;
        let mut held: BTreeMap<u64, u64> = BTreeMap::new();
        for layer in &report.layers {
            for t in layer.inputs.iter().chain(&layer.outputs) {
                if let Some(offset) = t.offset.filter(|_| t.life[0] <= peak && peak < t.life[1]) {
                    let end = held.entry(offset).or_default();
                    *end = (*end).max(offset + t.bytes.next_multiple_of(report.arena.alignment));
                }
            }
        }
        let mut covered = 0;
        let mut at = 0;
        for (offset, end) in held {
            covered += end.saturating_sub(at.max(offset));
            at = at.max(end);
        }
        let workspace: u64 = report
            .layers
            .iter()
            .filter(|l| l.index as u32 == peak)
            .map(|l| l.workspace_bytes.next_multiple_of(256))
            .sum();
        assert_eq!(covered + workspace, report.arena.lower_bound, "{name}: bytes alive at step {peak}");
    }
}

#[test]
fn the_table_of_eaters_shares_the_peak_out_to_the_byte() {
    for name in golden::ONNX_MODELS {
        let Some(golden) = Golden::load(name) else { continue };
        let shapes = golden.inputs.iter().map(|(n, t)| (n.clone(), t.shape().to_vec())).collect();
        let report = report(&golden, shapes);
        let eaters = &report.eaters;
        assert_eq!(eaters.len(), report.layers.len() + golden.inputs.len(), "{name}");
        assert_eq!(eaters.iter().map(|e| e.peak_bytes).sum::<u64>(), report.arena.lower_bound, "{name}");
        assert!((eaters.iter().map(|e| e.share_of_peak).sum::<f64>() - 1.0).abs() < 1e-9, "{name}");
        assert!(eaters.is_sorted_by(|a, b| a.peak_bytes >= b.peak_bytes), "{name}");
        for eater in eaters {
            let Some(layer) = eater.layer.map(|at| &report.layers[at]) else { continue };
            assert_eq!((&layer.name, &layer.op), (&eater.name, &eater.op));
            assert_eq!(layer.share_of_peak, eater.share_of_peak);
            let own: u64 = layer.outputs.iter().map(|t| t.bytes).sum::<u64>() + layer.workspace_bytes;
            assert_eq!(eater.bytes, own);
            // No layer has more than what it wrote, and none that writes later has anything.
            let pieces = layer.outputs.len() as u64 + 1;
            assert!(eater.peak_bytes <= own + pieces * report.arena.alignment, "{name}: {eater:?}");
            let early = layer.first_step <= report.arena.peak_step;
            assert!(early || eater.peak_bytes == 0, "{name}: {eater:?}");
        }
        println!("{name}: {:?}", eaters.iter().take(3).map(|e| (&e.name, &e.op, e.peak_bytes)).collect::<Vec<_>>());
    }
}

#[test]
fn another_input_size_is_another_plan_at_its_own_bound() {
    let Some(golden) = Golden::load("ppocr_det") else { return };
    let mut last = 0;
    for side in [96, 320, 640] {
        let report = report(&golden, [("x".to_owned(), vec![1, 3, side, side])].into());
        assert_eq!(report.arena.bytes, report.arena.lower_bound, "{side} x {side}");
        assert!(report.arena.bytes > last);
        last = report.arena.bytes;
    }
}

#[test]
fn the_batch_account_is_what_compiling_the_batch_gives() {
    let Some(golden) = Golden::load("ppocr_cls") else { return };
    let shapes = |n: usize| [("x".to_owned(), vec![n, 3, 48, 192])].into();
    let one = report(&golden, shapes(1));
    for account in &one.accounts.batch {
        let measured = report(&golden, shapes(account.n as usize));
        assert_eq!(measured.weights.bytes, one.weights.bytes, "weights do not grow with the batch");
        assert_eq!(account.arena_bytes, measured.arena.bytes, "a batch of {}", account.n);
    }
}

#[test]
fn what_only_a_view_holds_belongs_to_its_writer() {
    use frameway::graph::Builder;
    use frameway::ops::Unary;
    let builder = Builder::new("joined");
    let x = builder.input("x", DType::F32, [1, 64, 4, 4]);
    let joined = x.unary(Unary::Neg).concat(&[x.unary(Unary::Abs)], 1);
    let graph = builder.finish([("y", joined.reshape(vec![2048]).unary(Unary::Sqrt))]).unwrap();
    let engine = compile_graph(graph, 0, &CompileOptions::default(), &Target::default(), &mut |_| {}).unwrap();
    let report = engine.inspect(Detail::Detailed);
    let rows: Vec<_> = report.eaters.iter().map(|e| (e.op.as_str(), e.bytes, e.peak_bytes)).collect();
    // In the first step the input is read and its negative written, both where the joined tensor will lie; that is written by
    // nobody, and what comes later has nothing yet.
    assert_eq!((report.arena.lower_bound, report.arena.peak_step), (8192, 0));
    assert_eq!(rows[..2], [("Input", 4096, 4096), ("Identity", 4096, 4096)]);
    let rest: Vec<_> = rows[2..].iter().map(|r| (r.0, r.2)).collect();
    assert_eq!(rest, [("Concat", 0), ("Reshape", 0), ("Identity", 0), ("Identity", 0)]);
    assert_eq!((report.eaters[1].layer, report.eaters[1].name.as_str()), (Some(0), report.layers[0].name.as_str()));
    assert!(engine.inspect(Detail::Names).eaters.is_empty());
}
