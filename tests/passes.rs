//! The passes keep what a model computes, and make of it what the kernels want.

#[path = "common/golden.rs"]
#[allow(dead_code, reason = "shared by several tests")]
mod golden;

use frameway::graph::{Builder, Expr, Graph, noise};
use frameway::import::{Format, ImportOptions, import};
use frameway::ops::{Binary, Unary};
use frameway::passes::{PassOptions, PassReport, infer_shapes, optimize};
use frameway::tensor::{DType, Tensor};
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

/// What each model consists of once the passes have run. A line that grows is a fusion lost.
const AFTER: [(&str, usize, &str); 9] = [
    ("blazeface_front_128", 93, "Conv 37, MaxPool 3, Pad 11, Reshape 4, Transpose 5"),
    ("blazeface_back_256", 147, "Conv 69, MaxPool 3, Pad 2, Reshape 4, Transpose 5"),
    (
        "mlsd_320_tiny",
        100,
        "Cast 1, Concat 2, Conv 41, Equal 1, Identity 3, MaxPool 1, Reshape 2, Resize 3, Slice 2, Transpose 2",
    ),
    (
        "mlsd_512_tiny",
        101,
        "Cast 1, Concat 2, Conv 41, Equal 1, Identity 3, MaxPool 1, Reshape 2, Resize 3, Slice 2, Transpose 2",
    ),
    ("ppocr_cls", 215, "Conv 53, Identity 9, MatMul 1, MaxPool 1, ReduceMean 10, Relayout 1, Reshape 1, Softmax 1"),
    ("ppocr_det", 330, "Concat 1, Conv 62, ConvTranspose 2, Identity 10, ReduceMean 10, Relayout 2, Resize 6"),
    (
        "ppocr_rec",
        403,
        "AveragePool 1, Concat 1, Conv 38, Identity 19, MatMul 13, ReduceMean 12, Relayout 1, Reshape 13, Slice 6, Softmax 3, Transpose 9",
    ),
    (
        "sinet_portrait_320",
        246,
        "AveragePool 6, Concat 13, Conv 58, Expand 1, Gemm 3, Identity 15, ReduceMax 1, ReduceMean 2, Relayout 1, Reshape 26, Resize 9, Softmax 2, Transpose 15",
    ),
    ("yolox_nano_416", 369, "Concat 18, Conv 113, MaxPool 3, Relayout 1, Reshape 3, Resize 2, Slice 4, Transpose 1"),
];

/// `FRAMEWAY_DUMP=ppocr_det cargo test --test passes what_is_left -- --nocapture` prints the graph.
#[test]
fn what_is_left_of_each_model() {
    let mut wrong = Vec::new();
    for (name, before, after) in AFTER {
        let Some(golden) = Golden::load(name) else { continue };
        assert_eq!(imported(&golden).nodes.len(), before, "{name}: nodes before");
        let (graph, _) = optimized(&golden);
        if std::env::var("FRAMEWAY_DUMP").is_ok_and(|n| n == name) {
            println!("{graph}");
        }
        if counts(&graph) != after {
            wrong.push(format!("(\"{name}\", {before}, \"{}\"),", counts(&graph)));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A random network of rank-4 tensors: what it computes makes no sense, but every pass finds something to do.
fn random_graph(seed: u32) -> Graph {
    let mut state = seed.wrapping_mul(2_654_435_769);
    let mut pick = |n: usize| (((noise(&mut state) + 0.5) * n as f32) as usize).min(n - 1);
    let b = Builder::new(format!("random {seed}"));
    // Every value with its channels; all are 6 x 6.
    let mut values: Vec<(Expr<'_>, usize)> = vec![(b.input("x", DType::F32, [1, 4, 6, 6]), 4)];
    for i in 0..14 {
        let (x, c) = values[pick(values.len())];
        let same: Vec<_> = values.iter().filter(|v| v.1 == c).map(|v| v.0).collect();
        let other = same[pick(same.len())];
        let constant = |shape: &[usize]| b.weights(format!("c{i}"), shape);
        let m = [3, 4, 8][pick(3)];
        let numbers = |base: f32| (0..c).map(|i| base + 0.1 * i as f32).collect::<Vec<_>>();
        let parameter = |base| b.constant(format!("p{i}"), Tensor::f32([c], numbers(base)).expect("c numbers"));
        let next = match pick(20) {
            0 | 1 => (x.conv(constant(&[m, c, 1, 1]), None, 1, 0), m),
            2 => (x.conv(constant(&[m, c, 3, 3]), Some(b.weights("bias", [m])), 1, 1), m),
            3 => (x.conv_groups(constant(&[c, 1, 3, 3]), None, 1, 1, c), c),
            4 => (x.pad([0, 0, 1, 1, 0, 0, 1, 1]).conv(constant(&[m, c, 3, 3]), None, 1, 0), m),
            5 => (x.relu(), c),
            6 => (x * (x + 3.0).clip(0.0, 6.0) / 6.0, c),
            7 => (x * x.sigmoid(), c),
            8 => (x.batch_norm([parameter(0.5), parameter(0.1), parameter(-0.2), parameter(0.6)], 1e-3), c),
            9 => (x * constant(&[c, 1, 1]) + constant(&[1, c, 1, 1]), c),
            10 => (x + other, c),
            11 => (x * other.mean_of_axes([2, 3]).unary(Unary::HardSigmoid { alpha: 0.2, beta: 0.5 }), c),
            12 => (x.binary(Binary::PRelu, constant(&[c, 1, 1])), c),
            13 => {
                (x.concat(&[b.constant("zeros", Tensor::f32([1, 4, 6, 6], vec![0.0; 144]).expect("zeros"))], 1), c + 4)
            }
            14 => (x.relu().max_pool(3, 1, 1), c),
            15 => (x.transpose([0, 2, 3, 1]).unary(Unary::Tanh).transpose([0, 3, 1, 2]), c),
            16 => (x.reshape([c as i64, 36]).softmax(1).reshape([1, c as i64, 6, 6]), c),
            17 => (x.concat(&[other], 1), 2 * c),
            18 if c % 2 == 0 => (x.split(1, 2)[1], c / 2),
            19 => (x - x.mean_of_axes([1]), c),
            _ => (x * 0.5 - 1.0, c),
        };
        if next.1 <= 32 {
            values.push(next);
        }
    }
    let names = ["first", "second", "third"];
    let outputs = names.into_iter().map(|name| (name, values[pick(values.len() - 1) + 1].0));
    let mut seen = Vec::new();
    let distinct = outputs.filter(|(_, e)| {
        !seen.contains(&e.id()) && {
            seen.push(e.id());
            true
        }
    });
    let mut graph = b.finish(distinct.collect::<Vec<_>>()).expect("consistent");
    infer_shapes(&mut graph).expect("shapes");
    graph
}

#[test]
fn random_networks_compute_the_same_after_the_passes() {
    for seed in 0..150 {
        let before = random_graph(seed);
        let mut state = seed;
        let x = Tensor::f32([1, 4, 6, 6], (0..144).map(|_| noise(&mut state) * 4.0).collect()).expect("144 numbers");
        let want = before.evaluate(std::slice::from_ref(&x)).expect("before");
        for options in [
            PassOptions::default(),
            PassOptions { fuse: true, layouts: false },
            PassOptions { fuse: false, layouts: true },
        ] {
            let mut after = before.clone();
            optimize(&mut after, &options).unwrap_or_else(|e| panic!("{seed}: {e}\n{before}"));
            let got = after.evaluate(std::slice::from_ref(&x)).expect("after");
            for (i, (a, b)) in want.iter().zip(&got).enumerate() {
                assert_eq!(before.values[before.outputs[i].index()].name, after.values[after.outputs[i].index()].name);
                assert_eq!(a.ty(), b.ty());
                // Rounding grows with the largest number on the way, which is not far above the largest result.
                let scale = a.to_f32().iter().fold(1.0f32, |m, x| m.max(x.abs()));
                for (a, b) in a.to_f32().into_iter().zip(b.to_f32()) {
                    assert!((a - b).abs() <= 1e-5 * scale, "{seed}: {a} became {b}\n{before}\n{after}");
                }
            }
        }
    }
}

#[test]
fn passes_are_done_after_one_run() {
    for name in ONNX_MODELS {
        let Some(golden) = Golden::load(name) else { continue };
        let options = PassOptions { fuse: true, layouts: false };
        let mut graph = imported(&golden);
        optimize(&mut graph, &options).expect("first run");
        let report = optimize(&mut graph, &options).expect("second run");
        let changed: Vec<_> = report.passes.iter().filter(|p| p.applied > 0).collect();
        assert!(changed.is_empty(), "{name}: {changed:?}");
    }
}
