//! Random small graphs: lowering them breaks none of WebGPU's binding rules, and what they compute does not depend on how
//! their tensors share memory.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/cases.rs"]
mod cases;
#[path = "common/execute.rs"]
mod execute;

use cases::{build, c4, check_with, compare, feed, rows};
use execute::Gpu;
use frameway::ErrorKind;
use frameway::graph::{Expr, Graph};
use frameway::kernels::DeviceLimits;
use frameway::lower::{LowerOptions, lower};
use frameway::ops::*;
use frameway::plan;
use frameway::recording::{Command, Resource, Space, check};
use frameway::tensor::DType;
use proptest::prelude::*;

/// A value under construction with what the builder does not tell.
#[derive(Clone, Copy)]
struct Made<'b> {
    x: Expr<'b>,
    shape: [usize; 4],
    packed: bool,
}

/// Grows a graph by one node: `what` picks the operator, `a` and `b` its operands.
fn grow<'b>(made: &mut Vec<Made<'b>>, what: u8, a: u8, b: u8) {
    let v = made[a as usize % made.len()];
    let alike = |same: &dyn Fn(&Made<'_>) -> bool| {
        let fits: Vec<Made<'b>> = made.iter().copied().filter(|m| m.packed == v.packed && same(m)).collect();
        fits[b as usize % fits.len()]
    };
    let [n, c, h, w] = v.shape;
    let new = match what % 13 {
        0 => Made { x: v.x.relu(), ..v },
        1 => Made { x: v.x.unary(Unary::Neg), ..v },
        2 | 3 => {
            let other = alike(&|m| m.shape == v.shape);
            Made { x: v.x.binary(if what % 13 == 2 { Binary::Add } else { Binary::Sub }, other.x), ..v }
        }
        4 | 5 if c < 256 => {
            let other = alike(&|m| [m.shape[0], m.shape[2], m.shape[3]] == [n, h, w]);
            Made { x: v.x.concat(&[other.x], 1), shape: [n, c + other.shape[1], h, w], packed: v.packed }
        }
        6 if c > 16 => {
            let first = 16 * (b as usize % (c / 16));
            Made { x: v.x.slice(1, first as i64, c as i64), shape: [n, c - first, h, w], packed: v.packed }
        }
        7 if c % 2 == 0 => {
            let parts = v.x.split(1, 2);
            made.push(Made { x: parts[0], shape: [n, c / 2, h, w], packed: v.packed });
            Made { x: parts[1], shape: [n, c / 2, h, w], packed: v.packed }
        }
        8 if !v.packed => {
            let flat = v.x.reshape(vec![-1]).reshape(vec![n as i64, c as i64, w as i64, h as i64]);
            Made { x: flat, shape: [n, c, w, h], packed: false }
        }
        9 => Made { x: v.x.transpose(vec![0, 1, 3, 2]), shape: [n, c, w, h], packed: v.packed },
        10 if !v.packed => Made { x: v.x.softmax(1), ..v },
        11 => {
            let channel = alike(&|m| m.shape[1] == c).x.mean_of_axes(vec![2, 3]);
            Made { x: v.x.binary(Binary::Add, channel), ..v }
        }
        _ if v.packed => Made { x: rows(v.x), packed: false, ..v },
        _ => Made { x: c4(v.x), packed: true, ..v },
    };
    made.push(new);
}

fn graph(nodes: &[(u8, u8, u8)], kept: &[u8], channels: usize) -> Graph {
    build(|g| {
        let shape = [1, channels, 2, 4];
        let mut made = vec![
            Made { x: g.input("x", DType::F32, shape), shape, packed: false },
            Made { x: g.input("y", DType::F32, shape), shape, packed: false },
        ];
        for &(what, a, b) in nodes {
            grow(&mut made, what, a, b);
        }
        let kept = kept.iter().map(|&k| made[k as usize % made.len()]).chain(made.last().copied());
        kept.map(|m| if m.packed { rows(m.x) } else { m.x }).collect()
    })
}

fn recipe() -> impl Strategy<Value = (Vec<(u8, u8, u8)>, Vec<u8>, usize)> {
    let nodes = prop::collection::vec(any::<(u8, u8, u8)>(), 1..14);
    (nodes, prop::collection::vec(any::<u8>(), 0..3), prop::sample::select(vec![16usize, 32, 6]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_dispatch_is_valid((nodes, kept, channels) in recipe()) {
        let graph = graph(&nodes, &kept, channels);
        let lowered = lower(&graph, &LowerOptions::default()).expect("it lowers");
        check(&lowered.recording).expect("valid bindings");
        prop_assert_eq!(plan::validate(&lowered.blocks, &lowered.plan, 256), Ok(()));
        // Said again in other words: an arena range that two dispatch slots share would be bound twice.
        for command in &lowered.recording.commands {
            let Command::Dispatch(dispatch) = command else { continue };
            let mut ends = 0;
            let mut ranges: Vec<_> = dispatch
                .bindings
                .iter()
                .filter_map(|b| match b.resource {
                    Resource::Buffer(range) if range.space == Space::Arena => Some((range.offset, range.offset + range.bytes)),
                    _ => None,
                })
                .collect();
            ranges.sort_unstable();
            for (start, end) in ranges {
                prop_assert!(start >= ends && start % 256 == 0 && end <= lowered.recording.arena_bytes);
                ends = end;
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_sharing() {
    let Some(gpu) = Gpu::open() else { return };
    let config = ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    runner
        .run(&recipe(), |(nodes, kept, channels)| {
            let graph = graph(&nodes, &kept, channels);
            let feeds: Vec<_> = graph.inputs.iter().map(|&v| feed(graph.ty(v).expect("a type"), v.0)).collect();
            let options = LowerOptions { limits: gpu.limits.clone(), ..LowerOptions::default() };
            let shared = check_with(&gpu, &graph, &feeds, 1e-4, &options).map_err(TestCaseError::fail)?;
            let apart = lower(&graph, &LowerOptions { share: false, ..options }).expect("it lowers");
            let types: Vec<_> = graph.outputs.iter().map(|&v| graph.ty(v).expect("a type").clone()).collect();
            let (a, b) = (gpu.load(&shared).run(&feeds, &types), gpu.load(&apart).run(&feeds, &types));
            for (a, b) in a.iter().zip(&b) {
                compare(a, b, 0.0).map_err(TestCaseError::fail)?;
            }
            prop_assert!(shared.plan.bytes <= apart.plan.bytes);
            Ok(())
        })
        .unwrap();
}

#[test]
fn views_and_in_place_results_save_memory_and_dispatches() {
    let count = |graph: &Graph| {
        let lowered = lower(graph, &LowerOptions::default()).expect("it lowers");
        let dispatches: usize = lowered.layers.iter().map(|l| l.dispatches).sum();
        (dispatches, lowered.plan.bytes)
    };
    // 64 channels of 4 x 4 floats: 4096 bytes.
    let chain = build(|g| vec![g.input("x", DType::F32, [1, 64, 4, 4]).relu().unary(Unary::Neg).relu()]);
    assert_eq!(count(&chain), (3, 4096), "each result in place of the last, the first in place of the input");
    let joined = build(|g| {
        let x = g.input("x", DType::F32, [1, 64, 4, 4]);
        vec![x.relu().concat(&[x.unary(Unary::Neg)], 1)]
    });
    assert_eq!(
        count(&joined),
        (2, 2 * 4096),
        "both parts are computed where the whole lies, one of them over the input"
    );
    let cut = build(|g| {
        let parts = g.input("x", DType::F32, [1, 64, 4, 4]).relu().split(1, 2);
        vec![parts[0].binary(Binary::Add, parts[1])]
    });
    assert_eq!(count(&cut), (2, 4096), "the halves are read where the whole lies, the sum is written over one of them");
    let shaped = build(|g| vec![g.input("x", DType::F32, [1, 64, 4, 4]).relu().reshape(vec![64, 16]).softmax(1)]);
    assert_eq!(count(&shaped), (2, 4096), "a reshape is nothing but another name");
}

#[test]
fn limits_name_the_pool_and_what_would_do() {
    let graph =
        build(|g| vec![g.input("x", DType::F32, [1, 64, 4, 4]).conv(g.weights("w", [64, 64, 1, 1]), None, 1, 0)]);
    let fails = |options: LowerOptions<'_>| {
        let error = lower(&graph, &options).expect_err("over the limit");
        assert_eq!(error.kind(), ErrorKind::MemoryLimit, "{error}");
        error.to_string()
    };
    let need = lower(&graph, &LowerOptions::default()).expect("it lowers");
    let arena = need.recording.arena_bytes;
    let text = fails(LowerOptions { max_arena: Some(arena - 1), ..LowerOptions::default() });
    assert!(text.contains("activations") && text.contains(&arena.to_string()), "{text}");
    assert!(lower(&graph, &LowerOptions { max_arena: Some(arena), ..LowerOptions::default() }).is_ok());
    let weights = need.recording.weights_bytes;
    let text = fails(LowerOptions { max_weights: Some(weights - 1), ..LowerOptions::default() });
    assert!(text.contains("weights") && text.contains(&weights.to_string()), "{text}");
    let limits = DeviceLimits { max_binding_bytes: 1024, ..DeviceLimits::default() };
    assert!(fails(LowerOptions { limits, ..LowerOptions::default() }).contains("1024"));
}

#[test]
fn a_tighter_workspace_takes_another_kernel() {
    let window = Window { kernel: vec![5, 5], pads: vec![2; 4], ..Window::default() };
    let graph = build(|g| {
        let op = Op::Pool(Pool { kind: PoolKind::Max, window, ceil_mode: false });
        vec![g.input("x", DType::F32, [1, 4, 8, 8]).apply(op)]
    });
    let with =
        |max_workspace| lower(&graph, &LowerOptions { max_workspace, ..LowerOptions::default() }).expect("lowers");
    let (roomy, tight) = (with(None), with(Some(1023)));
    assert_eq!((roomy.layers[0].workspace, roomy.layers[0].dispatches), (1024, 2), "rows, then columns");
    assert_eq!((tight.layers[0].workspace, tight.layers[0].dispatches), (0, 1), "the window as a whole");
    assert_eq!(roomy.plan.bytes, tight.plan.bytes + 1024);
}

#[test]
fn all_nodes_without_a_kernel_are_named_at_once() {
    let graph = build(|g| {
        let x = g.input("x", DType::I32, [4]);
        let l2 = Op::Reduce(Reduce { kind: ReduceKind::L2, keep_dims: true, noop_with_empty_axes: false });
        vec![x.apply(l2.clone()), x.unary(Unary::Neg).apply(l2)]
    });
    let error = lower(&graph, &LowerOptions::default()).expect_err("no root of integers");
    assert_eq!(error.kind(), ErrorKind::UnsupportedOp);
    assert!(error.to_string().contains("2 nodes"), "{error}");
}
