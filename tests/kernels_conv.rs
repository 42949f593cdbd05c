//! Convolutions and matrix products on the native adapter, every variant, against the operators' reference.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/gpu.rs"]
mod gpu;

use frameway::ops::{Binary, Conv, ConvTranspose, Gemm, MatMul, Op, Step, Unary, Window};
use frameway::tensor::Layout;
use gpu::{Case, Gpu, c4, constant, noise, rows};

/// Input [n, c, h, w], output channels, kernel, stride, dilation, pads (top, left, bottom, right), groups.
type Dense = ([usize; 4], usize, [usize; 2], [usize; 2], [usize; 2], [usize; 4], usize);

const DENSE: &[Dense] = &[
    ([1, 8, 5, 7], 8, [1, 1], [1, 1], [1, 1], [0; 4], 1),
    ([2, 3, 9, 6], 5, [1, 1], [1, 1], [1, 1], [0; 4], 1),
    ([1, 42, 1, 1], 10, [1, 1], [1, 1], [1, 1], [0; 4], 1),
    ([1, 13, 2, 2], 70, [1, 1], [1, 1], [1, 1], [0; 4], 1),
    ([1, 6, 7, 7], 6, [1, 1], [2, 2], [1, 1], [0; 4], 1),
    ([1, 3, 13, 10], 6, [3, 3], [2, 2], [1, 1], [0, 0, 1, 1], 1),
    ([2, 5, 11, 9], 9, [3, 3], [1, 1], [2, 2], [2; 4], 1),
    ([1, 3, 12, 12], 24, [5, 5], [2, 2], [1, 1], [1, 1, 2, 2], 1),
    ([1, 9, 4, 11], 7, [1, 3], [1, 1], [1, 1], [0, 1, 0, 1], 1),
    ([1, 4, 8, 6], 4, [3, 2], [2, 1], [1, 3], [1, 0, 0, 2], 1),
    ([1, 2, 3, 3], 2, [3, 3], [1, 1], [5, 5], [5; 4], 1),
    ([2, 16, 6, 5], 8, [1, 1], [1, 1], [1, 1], [0; 4], 2),
    ([1, 24, 7, 6], 36, [3, 3], [1, 1], [1, 1], [1; 4], 3),
    ([1, 40, 17, 9], 41, [3, 3], [1, 1], [1, 1], [1; 4], 1),
];

fn window(strides: [usize; 2], dilations: [usize; 2], pads: [usize; 4]) -> Window {
    Window { strides: strides.into(), dilations: dilations.into(), pads: pads.into(), ..Window::default() }
}

fn conv_case(&(x, m, k, strides, dilations, pads, groups): &Dense, bias: bool) -> Case {
    let op = Op::Conv(Conv { window: window(strides, dilations, pads), groups });
    let mut inputs = vec![c4(noise(&x, 1)), constant(noise(&[m, x[1] / groups, k[0], k[1]], 2))];
    if bias {
        inputs.push(constant(noise(&[m], 3)));
    }
    Case::new(
        format!("{x:?} to {m}, {k:?} / {strides:?}, dilation {dilations:?}, {groups} groups"),
        op,
        inputs,
        Layout::C4,
    )
}

fn run(cases: impl IntoIterator<Item = Case>) {
    let Some(gpu) = Gpu::new() else { return };
    let results: Vec<_> = cases.into_iter().map(|case| case.check(&gpu)).collect();
    let failures: Vec<_> = results.iter().filter_map(|r| r.as_ref().err()).collect();
    assert!(failures.is_empty(), "{} of {}: {failures:#?}", failures.len(), results.len());
}

#[test]
fn dense_variants() {
    let variants = ["outer", "matrix", "matrix wide", "tiled"];
    run(variants.iter().flat_map(|&v| {
        DENSE.iter().enumerate().map(move |(i, c)| {
            let mut case = conv_case(c, i % 2 == 0);
            case.name = format!("{v}: {}", case.name);
            case.variant = Some(v);
            case
        })
    }));
}

#[test]
fn fused_steps() {
    let relu6 = Step::Unary(Unary::Clip { lo: 0.0, hi: 6.0 });
    let add = |input| Step::Tensor { op: Binary::Add, input, swapped: false };
    let variants = ["outer", "matrix", "tiled"];
    run(variants.iter().flat_map(|&v| {
        [false, true].map(|in_place| {
            let mut case = conv_case(&([2, 8, 5, 7], 6, [3, 3], [1, 1], [1, 1], [1; 4], 1), true);
            case.name = format!("{v} with a residual, in place: {in_place}");
            case.steps = vec![
                add(3),
                Step::Unary(Unary::HardSwish),
                Step::Scalar { op: Binary::Sub, value: 0.25, swapped: true },
                Step::Tensor { op: Binary::PRelu, input: 4, swapped: false },
                relu6,
            ];
            case.extra = vec![c4(noise(&[2, 6, 5, 7], 9)), constant(noise(&[6, 1, 1], 10))];
            case.in_place = in_place.then_some(3);
            case.variant = Some(v);
            case
        })
    }));
}

#[test]
fn depthwise() {
    let shapes: &[Dense] = &[
        ([1, 8, 7, 9], 8, [3, 3], [1, 1], [1, 1], [1; 4], 8),
        ([2, 6, 21, 10], 6, [3, 3], [1, 1], [1, 1], [0, 1, 2, 0], 6),
        ([2, 6, 9, 5], 6, [5, 5], [1, 1], [1, 1], [2; 4], 6),
        ([1, 5, 10, 7], 5, [3, 3], [2, 2], [1, 1], [0, 0, 1, 1], 5),
        ([1, 13, 6, 12], 13, [5, 5], [2, 1], [1, 1], [2; 4], 13),
        ([2, 4, 9, 9], 4, [3, 3], [1, 1], [2, 3], [2, 3, 2, 3], 4),
        ([1, 7, 3, 2], 7, [1, 1], [1, 1], [1, 1], [0; 4], 7),
        ([1, 4, 6, 6], 4, [4, 2], [1, 1], [1, 1], [0, 1, 3, 0], 4),
    ];
    run(shapes.iter().map(|c| {
        let mut case = conv_case(c, true);
        case.steps = vec![Step::Unary(Unary::Relu)];
        case
    }));
}

#[test]
fn transposed() {
    /// Input [n, c, h, w], output channels, kernel, stride, dilation, pads, output padding.
    type Transposed = ([usize; 4], usize, [usize; 2], [usize; 2], [usize; 2], [usize; 4], [usize; 2]);
    let shapes: &[Transposed] = &[
        ([1, 8, 5, 6], 8, [2, 2], [2, 2], [1, 1], [0; 4], [0; 2]),
        ([2, 5, 4, 7], 1, [2, 2], [2, 2], [1, 1], [0; 4], [0; 2]),
        ([2, 7, 3, 5], 13, [2, 3], [2, 3], [1, 1], [0; 4], [0; 2]),
        ([1, 5, 4, 3], 6, [2, 2], [2, 2], [1, 1], [0; 4], [1, 0]),
        ([1, 6, 5, 5], 9, [3, 3], [2, 2], [1, 1], [1; 4], [1, 1]),
        ([1, 3, 4, 4], 5, [4, 3], [1, 3], [2, 1], [2, 0, 1, 1], [0, 2]),
        ([1, 4, 3, 3], 4, [3, 3], [3, 2], [2, 2], [0; 4], [0; 2]),
    ];
    run(shapes.iter().map(|&(x, m, k, strides, dilations, pads, more)| {
        let op = ConvTranspose {
            window: window(strides, dilations, pads),
            groups: 1,
            output_padding: more.to_vec(),
            output_shape: vec![],
        };
        let inputs = vec![c4(noise(&x, 1)), constant(noise(&[x[1], m, k[0], k[1]], 2)), constant(noise(&[m], 3))];
        Case::new(format!("transposed {x:?} to {m}, {k:?}/{strides:?}"), Op::ConvTranspose(op), inputs, Layout::C4)
    }));
}

#[test]
fn row_major() {
    let one = |list: [usize; 2]| list.to_vec();
    let window_1d = |stride, dilation, pads| Window {
        strides: vec![stride],
        dilations: vec![dilation],
        pads: one(pads),
        ..Window::default()
    };
    let conv = |window, groups| Op::Conv(Conv { window, groups });
    let volume = Window { strides: vec![1, 2, 1], pads: vec![1, 0, 1, 1, 1, 0], ..Window::default() };
    let back = |window, groups| {
        Op::ConvTranspose(ConvTranspose { window, groups, output_padding: vec![], output_shape: vec![] })
    };
    run([
        Case::new(
            "1-D",
            conv(window_1d(2, 1, [1, 1]), 1),
            vec![rows(noise(&[2, 3, 11], 1)), constant(noise(&[4, 3, 3], 2)), constant(noise(&[4], 3))],
            Layout::RowMajor,
        ),
        Case::new(
            "1-D in odd groups, weights computed",
            conv(window_1d(1, 2, [0, 2]), 3),
            vec![rows(noise(&[1, 6, 9], 1)), rows(noise(&[9, 2, 3], 2)), rows(noise(&[9], 3))],
            Layout::RowMajor,
        ),
        Case::new(
            "3-D",
            conv(volume.clone(), 1),
            vec![rows(noise(&[1, 2, 4, 5, 6], 1)), constant(noise(&[3, 2, 3, 2, 3], 2))],
            Layout::RowMajor,
        ),
        Case::new(
            "transposed 3-D in groups",
            back(volume, 2),
            vec![rows(noise(&[1, 4, 3, 4, 5], 1)), constant(noise(&[4, 3, 3, 2, 3], 2)), constant(noise(&[6], 3))],
            Layout::RowMajor,
        ),
    ]);
}

#[test]
fn matrix_products() {
    let product = |a: &[usize], b: &[usize], known: bool| {
        let right = noise(b, 2);
        let inputs = vec![rows(noise(a, 1)), if known { constant(right) } else { rows(right) }];
        Case::new(format!("{a:?} x {b:?}, known: {known}"), Op::MatMul(MatMul), inputs, Layout::RowMajor)
    };
    let gemm = |trans_a, trans_b, addend: &[usize], known: bool| {
        let a = if trans_a { [13, 9] } else { [9, 13] };
        let b = if trans_b { [10, 13] } else { [13, 10] };
        let op = Gemm { alpha: 0.5, beta: -2.0, trans_a, trans_b };
        let right = noise(&b, 2);
        let inputs = vec![
            rows(noise(&a, 1)),
            if known { constant(right) } else { rows(right) },
            if known { constant(noise(addend, 3)) } else { rows(noise(addend, 3)) },
        ];
        Case::new(format!("gemm {trans_a} {trans_b} {addend:?} {known}"), Op::Gemm(op), inputs, Layout::RowMajor)
    };
    let mut fused = product(&[2, 9, 12], &[12, 20], true);
    fused.steps = vec![
        Step::Tensor { op: Binary::Add, input: 2, swapped: false },
        Step::Unary(Unary::Gelu { tanh: false }),
        Step::Tensor { op: Binary::Add, input: 3, swapped: false },
    ];
    fused.extra = vec![constant(noise(&[20], 4)), rows(noise(&[2, 9, 20], 5))];
    fused.in_place = Some(3);
    run([
        product(&[9, 13], &[13, 10], true),
        product(&[1, 200], &[200, 2], true),
        product(&[17, 6], &[6, 24], true),
        product(&[9, 13], &[13, 10], false),
        product(&[3, 9, 8], &[3, 8, 12], false),
        product(&[2, 1, 5, 7], &[3, 7, 9], false),
        product(&[2, 1, 5, 7], &[3, 7, 9], true),
        product(&[7], &[4, 7, 9], false),
        product(&[2, 5, 7], &[7], false),
        product(&[7], &[7], true),
        gemm(false, false, &[10], true),
        gemm(true, false, &[9, 1], false),
        gemm(false, true, &[9, 10], true),
        gemm(true, true, &[1], false),
        fused,
    ]);
}
