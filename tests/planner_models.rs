//! The golden models' arenas, compiled without a GPU: valid, and as small as can be.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/golden.rs"]
#[allow(dead_code, reason = "nothing is run here")]
mod golden;

use frameway::import::{ImportOptions, import};
use frameway::lower::{LowerOptions, lower};
use frameway::passes::{PassOptions, optimize};
use frameway::plan::validate;
use frameway::recording::ALIGNMENT;
use golden::{Golden, ONNX_MODELS};
use std::time::Instant;

#[test]
fn the_golden_models_reach_their_lower_bound() {
    for name in ONNX_MODELS {
        let Some(golden) = Golden::load(name) else { continue };
        let shapes = golden.inputs.iter().map(|(n, t)| (n.clone(), t.shape().to_vec())).collect();
        let mut graph = import(&golden.model, None, &ImportOptions { shapes }).expect(name);
        optimize(&mut graph, &PassOptions::default()).expect(name);
        let start = Instant::now();
        let lowered = lower(&graph, &LowerOptions::default()).expect(name);
        println!("{name}: {} blocks, {} ms, {}", lowered.blocks.len(), start.elapsed().as_millis(), lowered.plan);
        assert_eq!(validate(&lowered.blocks, &lowered.plan, ALIGNMENT), Ok(()), "{name}");
        assert_eq!(lowered.plan.bytes, lowered.plan.lower_bound, "{name}: {}", lowered.plan);
    }
}
