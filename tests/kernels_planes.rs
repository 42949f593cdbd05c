//! Pools, resizes, reductions and softmax on the native adapter against the operators' reference.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/cases.rs"]
mod cases;
#[path = "common/execute.rs"]
mod execute;

use cases::{Table, build, c4, fuse, rows};
use execute::Gpu;
use frameway::graph::Expr;
use frameway::ops::*;
use frameway::tensor::{DType, Tensor};

const EXACT: f64 = 0.0;
const CLOSE: f64 = 2e-5;

fn both<'b>(x: Expr<'b>, f: impl Fn(Expr<'b>) -> Expr<'b>) -> Vec<Expr<'b>> {
    vec![f(x), rows(f(c4(x)))]
}

/// The native adapter as it is, and as if it were no CPU: other rules choose the variants.
fn adapters() -> Option<[Gpu; 2]> {
    let (mut cpu, mut gpu) = (Gpu::open()?, Gpu::open()?);
    cpu.limits.cpu = true;
    gpu.limits.cpu = false;
    Some([cpu, gpu])
}

#[test]
fn pools() {
    let Some(gpu) = Gpu::open() else { return };
    let mut table = Table::default();
    let windows = [
        (vec![2, 2], vec![2, 2], vec![1, 1], vec![0; 4], AutoPad::Explicit, false),
        (vec![3, 3], vec![1, 1], vec![1, 1], vec![1; 4], AutoPad::Explicit, false),
        (vec![3, 2], vec![2, 1], vec![1, 2], vec![1, 0, 0, 1], AutoPad::Explicit, true),
        (vec![5, 5], vec![1, 1], vec![1, 1], vec![2; 4], AutoPad::Explicit, false),
        (vec![3, 3], vec![2, 2], vec![1, 1], vec![], AutoPad::SameUpper, false),
        (vec![2, 2], vec![2, 2], vec![1, 1], vec![], AutoPad::SameLower, false),
    ];
    let kinds =
        [PoolKind::Max, PoolKind::Average { count_include_pad: false }, PoolKind::Average { count_include_pad: true }];
    for kind in kinds {
        for (kernel, strides, dilations, pads, auto_pad, ceil_mode) in windows.clone() {
            for shape in [[1, 5, 7, 6], [2, 8, 6, 9]] {
                let name = format!("{kind:?} {kernel:?} strides {strides:?} pads {pads:?} {auto_pad:?} {shape:?}");
                let window = Window {
                    kernel: kernel.clone(),
                    strides: strides.clone(),
                    dilations: dilations.clone(),
                    pads: pads.clone(),
                    auto_pad,
                };
                let op = Op::Pool(Pool { kind, window, ceil_mode });
                table.case(&gpu, name, CLOSE, |g| both(g.input("x", DType::F32, shape), |x| x.apply(op.clone())));
            }
        }
        for (shape, n) in [(&[2, 3, 9][..], 1), (&[1, 2, 5, 6, 7], 3)] {
            let pads = vec![1; 2 * n];
            let window = Window { kernel: vec![3; n], strides: vec![2; n], pads, ..Window::default() };
            let op = Op::Pool(Pool { kind, window, ceil_mode: true });
            table.case(&gpu, format!("{kind:?} {shape:?}"), CLOSE, |g| {
                vec![g.input("x", DType::F32, shape).apply(op.clone())]
            });
        }
        let mut value = None;
        let mut tensors = Vec::new();
        let mut graph = build(|g| {
            let (x, y) =
                (c4(g.input("x", DType::F32, [1, 6, 4, 4])), c4(g.input("y", DType::F32, [1, 6, 2, 2])).relu());
            let window = Window { kernel: vec![2, 2], strides: vec![2, 2], ..Window::default() };
            let pooled = x.apply(Op::Pool(Pool { kind, window, ceil_mode: false }));
            value = Some(pooled.id());
            tensors = vec![y.id()];
            vec![rows(pooled)]
        });
        let steps = vec![Step::Tensor { op: Binary::Add, input: 0, swapped: false }, Step::Unary(Unary::Relu)];
        fuse(&mut graph, value.unwrap(), steps, &tensors);
        table.graph(&gpu, format!("{kind:?} with steps"), CLOSE, graph);
    }
    let window = Window { kernel: vec![7], strides: vec![3], pads: vec![3, 3], ..Window::default() };
    let kind = PoolKind::Average { count_include_pad: true };
    let op = Op::Pool(Pool { kind, window, ceil_mode: true });
    table
        .case(&gpu, "length 9, kernel 7, ceil", CLOSE, |g| vec![g.input("x", DType::F32, [1, 1, 9]).apply(op.clone())]);
    table.finish();
}

#[test]
fn resizes() {
    let Some(gpu) = Gpu::open() else { return };
    let mut table = Table::default();
    let modes = [
        ResizeMode::Nearest(NearestMode::RoundPreferFloor),
        ResizeMode::Nearest(NearestMode::RoundPreferCeil),
        ResizeMode::Nearest(NearestMode::Floor),
        ResizeMode::Nearest(NearestMode::Ceil),
        ResizeMode::Linear,
        ResizeMode::Cubic { coefficient: -0.75, exclude_outside: false },
        ResizeMode::Cubic { coefficient: -0.5, exclude_outside: true },
    ];
    let coordinates = [
        Coordinates::HalfPixel,
        Coordinates::PytorchHalfPixel,
        Coordinates::AlignCorners,
        Coordinates::Asymmetric,
        Coordinates::HalfPixelSymmetric,
    ];
    for mode in modes {
        for coordinates in coordinates {
            for (shape, sizes) in
                [([1, 5, 4, 3], [1, 5, 7, 9]), ([2, 4, 6, 7], [2, 4, 3, 2]), ([1, 3, 5, 5], [1, 3, 10, 1])]
            {
                let op = Op::Resize(Resize { mode, coordinates, axes: Vec::new() });
                let name = format!("{mode:?} {coordinates:?} {shape:?} to {sizes:?}");
                table.case(&gpu, name, CLOSE, |g| {
                    both(g.input("x", DType::F32, shape), |x| {
                        let inputs = [Some(x.id()), None, None, Some(g.ints(sizes.map(i64::from)).id())];
                        g.node(op.clone(), inputs)
                    })
                });
            }
            let op = Op::Resize(Resize { mode, coordinates, axes: vec![0, 2] });
            table.case(&gpu, format!("{mode:?} {coordinates:?} of dimensions 0 and 2"), CLOSE, |g| {
                let x = g.input("x", DType::F32, [3, 4, 5]);
                let scales = g.constant("s", Tensor::f32([2], vec![1.5, 2.0]).unwrap());
                vec![g.node(op.clone(), [Some(x.id()), None, Some(scales.id())])]
            });
        }
    }
    table.case(&gpu, "a whole number in exact arithmetic", EXACT, |g| {
        let x = g.input("x", DType::F32, [1, 1, 1, 72]);
        let mode = ResizeMode::Nearest(NearestMode::Floor);
        let op = Op::Resize(Resize { mode, coordinates: Coordinates::Asymmetric, axes: Vec::new() });
        vec![g.node(op, [Some(x.id()), None, None, Some(g.ints([1, 1, 1, 21_600]).id())])]
    });
    table.finish();
}

#[test]
fn reductions() {
    let Some(adapters) = adapters() else { return };
    let kinds = [
        ReduceKind::Sum,
        ReduceKind::Mean,
        ReduceKind::Max,
        ReduceKind::Min,
        ReduceKind::Prod,
        ReduceKind::L1,
        ReduceKind::L2,
        ReduceKind::LogSum,
        ReduceKind::LogSumExp,
        ReduceKind::SumSquare,
    ];
    for gpu in &adapters {
        let mut table = Table::default();
        for kind in kinds {
            let reduce = |keep_dims| Op::Reduce(Reduce { kind, keep_dims, noop_with_empty_axes: false });
            for (shape, axes) in [
                (&[1, 5, 3, 7][..], &[2, 3][..]),
                (&[2, 8, 12, 13], &[2, 3]),
                (&[3, 5, 7], &[0, 2]),
                (&[3, 5, 7], &[1]),
                (&[2, 2, 3, 5, 4], &[1, 3]),
                (&[6, 300], &[1]),
                (&[300, 6], &[-2]),
                (&[7], &[0]),
            ] {
                table.case(gpu, format!("{kind:?} {shape:?} {axes:?}"), 1e-4, |g| {
                    let x = g.input("x", DType::F32, shape);
                    // Products and logarithms of many numbers of both signs say little.
                    let x = match kind {
                        ReduceKind::LogSum | ReduceKind::Prod => x.unary(Unary::Sigmoid).unary(Unary::Sqrt),
                        _ => x,
                    };
                    let axes_ = g.ints(axes.to_vec());
                    let mut out = vec![x.apply_with(reduce(true), &[axes_]), x.apply_with(reduce(false), &[axes_])];
                    if axes == [2, 3] {
                        out.push(rows(c4(x).apply_with(reduce(true), &[axes_])));
                    }
                    out
                });
            }
            if matches!(kind, ReduceKind::Sum | ReduceKind::Max | ReduceKind::Min | ReduceKind::Mean) {
                table.case(gpu, format!("{kind:?} of int32"), EXACT, |g| {
                    vec![g.input("x", DType::I32, [3, 5]).apply_with(reduce(false), &[g.ints([1])])]
                });
            }
        }
        table.case(gpu, "a sum of nothing", EXACT, |g| {
            let op = Op::Reduce(Reduce { kind: ReduceKind::Sum, keep_dims: true, noop_with_empty_axes: false });
            vec![g.input("x", DType::F32, [2, 0, 3]).apply_with(op, &[g.ints([1])])]
        });
        table.finish();
    }
}

#[test]
fn softmaxes() {
    let Some(adapters) = adapters() else { return };
    for gpu in &adapters {
        let mut table = Table::default();
        for log in [false, true] {
            for (shape, axis, flattened) in [
                (&[1, 5, 3, 7][..], 1, false),
                (&[1, 5, 3, 7], 1, true),
                (&[3, 5], -1, false),
                (&[4, 1000], 1, false),
                (&[6, 300, 2], 1, false),
                (&[9], 0, false),
                (&[2, 0], 1, false),
            ] {
                table.case(gpu, format!("{shape:?} axis {axis} log {log}"), CLOSE, |g| {
                    let x = g.input("x", DType::F32, shape);
                    let op = Op::Softmax(Softmax { axis, log, flattened });
                    vec![x.apply(op.clone()), x.unary(Unary::Exp).apply(op)]
                });
            }
        }
        table.finish();
    }
}
