//! The node tests of the ONNX standard, through the importer and the CPU reference.
//!
//! They come with the Python package onnx 1.19.1 and are found through FRAMEWAY_ONNX_NODE_TESTS, a folder of `test_*`
//! folders, or by asking `python3`. Which of them are in scope is listed in `../shared/onnx-node/core.txt`.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/onnx_node.rs"]
mod onnx_node;

use frameway::ErrorKind;
use frameway::import::import;
use onnx_node::{Outcome, Tally};

/// Cases of the list that must pass; raise it when an operator is added.
const MUST_PASS: usize = 720;

#[test]
fn supported_node_tests_give_the_standards_values() {
    let Some(names) = onnx_node::core() else { return };
    let mut tally = Tally::default();
    for name in names {
        let case = onnx_node::case(&name);
        let outcome = case.attempt(|model, feeds| {
            match import(model, None, &Default::default()).and_then(|graph| graph.evaluate(feeds)) {
                Ok(results) => case.compare(&results),
                Err(e) if e.kind() == ErrorKind::UnsupportedOp => Outcome::Unsupported(e.to_string()),
                Err(e) => Outcome::Fail(e.to_string()),
            }
        });
        tally.add(&name, outcome);
    }
    tally.finish(MUST_PASS);
}
