//! The node tests of the ONNX standard, through the importer and the CPU reference.
//!
//! They come with the Python package onnx 1.19.1 and are found through FRAMEWAY_ONNX_NODE_TESTS, a folder of `test_*`
//! folders, or by asking `python3`. Which of them are in scope is listed in `../shared/onnx-node/core.txt`.

#[path = "common/onnx_node.rs"]
mod onnx_node;

use frameway::ErrorKind;
use frameway::tensor::Tensor;
use onnx_node::{Case, Outcome};
use std::collections::BTreeMap;
use std::path::Path;

/// Cases of the list that must pass; raise it when an operator is added.
const MUST_PASS: usize = 691;

#[test]
fn supported_node_tests_give_the_standards_values() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/onnx-node/core.txt");
    let (Ok(list), Some(folder)) = (std::fs::read_to_string(&list), onnx_node::folder()) else {
        println!("skipped: needs {} and the node tests of onnx 1.19.1", list.display());
        return;
    };
    let mut counts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for name in list.split_whitespace() {
        let (word, detail) = match run(&folder.join(name)) {
            Outcome::Pass => ("pass", String::new()),
            Outcome::Unsupported(why) => ("unsupported", why),
            Outcome::Fail(why) => ("FAIL", why),
        };
        counts.entry(word).or_default().push(format!("{name}: {detail}"));
    }
    for (word, cases) in &counts {
        println!("{word}: {}", cases.len());
        if *word != "pass" {
            cases.iter().for_each(|case| println!("  {case}"));
        }
    }
    assert!(!counts.contains_key("FAIL"), "{:#?}", counts["FAIL"]);
    let passed = counts.get("pass").map_or(0, Vec::len);
    assert!(passed >= MUST_PASS, "{passed} cases pass, {MUST_PASS} did before");
}

/// Tries the case with all inputs fed; where an operator wants some of them at compile time, all but the first become
/// constants, and at last all.
fn run(folder: &Path) -> Outcome {
    let case = match Case::read(folder) {
        Ok(case) => case,
        Err(why) => return Outcome::Fail(why),
    };
    let mut outcome = Outcome::Pass;
    for fed in [case.inputs.len(), 1, 0] {
        if fed > case.inputs.len() {
            continue;
        }
        outcome = run_with(&case, fed);
        if !matches!(outcome, Outcome::Unsupported(_)) {
            break;
        }
    }
    outcome
}

fn run_with(case: &Case, fed: usize) -> Outcome {
    let feeds: Vec<Tensor> = case.inputs[..fed].iter().map(|(_, t)| t.clone()).collect();
    let results = frameway::import::import(&case.with_constants(fed), None, &Default::default())
        .and_then(|graph| graph.evaluate(&feeds));
    match results {
        Ok(results) => case.compare(&results),
        Err(e) if e.kind() == ErrorKind::UnsupportedOp => Outcome::Unsupported(e.to_string()),
        Err(e) => Outcome::Fail(e.to_string()),
    }
}
