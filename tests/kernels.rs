//! Kernels on the native adapter against the operators' reference: odd sizes, last dimensions that are no multiple of
//! four, operands that coincide, results in place.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/cases.rs"]
mod cases;
#[path = "common/execute.rs"]
mod execute;

use cases::{Table, build, c4, fuse, rows};
use execute::Gpu;
use frameway::ops::*;
use frameway::tensor::DType;

const EXACT: f64 = 0.0;
const CLOSE: f64 = 2e-5;

const SHAPES: [&[usize]; 5] = [&[1, 5, 3, 7], &[2, 8, 4, 4], &[1, 3, 1, 1], &[1, 4, 5, 5], &[2, 6, 2, 3]];

fn unary_operators() -> Vec<Unary> {
    vec![
        Unary::Abs,
        Unary::Asinh,
        Unary::Atan,
        Unary::Ceil,
        Unary::Clip { lo: -0.5, hi: 1.0 },
        Unary::Cos,
        Unary::Cosh,
        Unary::Elu { alpha: 0.7 },
        Unary::Erf,
        Unary::Exp,
        Unary::Floor,
        Unary::Gelu { tanh: false },
        Unary::Gelu { tanh: true },
        Unary::HardSigmoid { alpha: 0.2, beta: 0.5 },
        Unary::HardSwish,
        Unary::LeakyRelu { alpha: 0.1 },
        Unary::Mish,
        Unary::Neg,
        Unary::Relu,
        Unary::Round,
        Unary::Sigmoid,
        Unary::Sign,
        Unary::Silu,
        Unary::Sin,
        Unary::Sinh,
        Unary::Softplus,
        Unary::Softsign,
        Unary::Tanh,
    ]
}

#[test]
fn unary() {
    let Some(gpu) = Gpu::open() else { return };
    let mut table = Table::default();
    for op in unary_operators() {
        table.case(&gpu, format!("{op:?}"), 1e-4, |b| {
            let x = b.input("x", DType::F32, SHAPES[0]);
            vec![x.unary(op), rows(c4(x).unary(op))]
        });
    }
    for op in [Unary::Log, Unary::Sqrt, Unary::Reciprocal] {
        table.case(&gpu, format!("{op:?}"), 1e-4, |b| {
            let x = b.input("x", DType::F32, SHAPES[0]).unary(Unary::Abs);
            vec![x.unary(Unary::Exp).unary(op)]
        });
    }
    // Kept off the poles and the steep ends, where rounding of the operand decides.
    for op in [Unary::Acos, Unary::Asin, Unary::Atanh, Unary::Tan] {
        table.case(&gpu, format!("{op:?}"), 1e-4, |b| {
            let x = b.input("x", DType::F32, SHAPES[0]).unary(Unary::Sin);
            vec![x.binary(Binary::Mul, b.scalar(0.9)).unary(op)]
        });
    }
    table.case(&gpu, "Acosh", 1e-4, |b| {
        vec![
            b.input("x", DType::F32, SHAPES[0])
                .unary(Unary::Exp)
                .binary(Binary::Add, b.scalar(1.0))
                .unary(Unary::Acosh),
        ]
    });
    table.case(&gpu, "Not", EXACT, |b| vec![b.input("x", DType::Bool, [7]).unary(Unary::Not)]);
    table.finish();
}

fn arithmetic() -> [Binary; 7] {
    [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Max, Binary::Min, Binary::PRelu]
}

#[test]
fn binary_broadcasts() {
    let Some(gpu) = Gpu::open() else { return };
    let mut table = Table::default();
    for shape in SHAPES {
        let [n, c, h, w] = <[usize; 4]>::try_from(shape).unwrap();
        let operands = [
            vec![n, c, h, w],
            vec![1],
            vec![w],
            vec![h, w],
            vec![c, 1, 1],
            vec![n, c, 1, 1],
            vec![n, 1, h, w],
            vec![1, c, 1, w],
            vec![1, 1, h, 1],
        ];
        for operand in operands {
            for op in arithmetic() {
                let name = format!("{op:?} {shape:?} {operand:?}");
                let (a, b) = (shape.to_vec(), operand.clone());
                table.case(&gpu, format!("{name} rows"), CLOSE, |g| {
                    let x = g.input("x", DType::F32, a.clone());
                    let y = g.input("y", DType::F32, b.clone());
                    // Away from zero, where a quotient is ill conditioned.
                    let y = if op == Binary::Div { y.unary(Unary::Exp) } else { y };
                    let mut out = vec![x.binary(op, y), x.binary(op, g.weights("w", b.clone()).unary(Unary::Exp))];
                    if op != Binary::PRelu {
                        out.push(y.binary(op, x.unary(Unary::Exp)));
                    }
                    out
                });
                table.case(&gpu, format!("{name} c4"), CLOSE, |g| {
                    let x = c4(g.input("x", DType::F32, a.clone()));
                    let y = g.input("y", DType::F32, b.clone());
                    let y = if op == Binary::Div { y.unary(Unary::Exp) } else { y };
                    let packed = if b.len() == 4 { c4(y) } else { y };
                    vec![
                        rows(x.binary(op, packed)),
                        rows(x.binary(op, y)),
                        rows(x.binary(op, g.weights("w", b).unary(Unary::Exp))),
                    ]
                });
            }
        }
    }
    for op in [Binary::Add, Binary::Mul] {
        table.case(&gpu, format!("{op:?} of one tensor with itself"), CLOSE, |g| {
            let x = g.input("x", DType::F32, SHAPES[0]).relu();
            let y = c4(x).relu();
            vec![x.binary(op, x), rows(y.binary(op, y))]
        });
    }
    table.case(&gpu, "widening", CLOSE, |g| {
        let x = g.input("x", DType::F32, [4, 1, 6]);
        let y = g.input("y", DType::F32, [5, 1]);
        vec![x.binary(Binary::Add, y), y.binary(Binary::Sub, x)]
    });
    table.finish();
}

#[test]
fn integers_and_bools() {
    let Some(gpu) = Gpu::open() else { return };
    let mut table = Table::default();
    let compare = [Binary::Equal, Binary::Greater, Binary::GreaterOrEqual, Binary::Less, Binary::LessOrEqual];
    for dtype in [DType::F32, DType::I32, DType::I64] {
        for op in compare {
            table.case(&gpu, format!("{op:?} {dtype}"), EXACT, |g| {
                vec![g.input("x", dtype, [3, 5]).binary(op, g.input("y", dtype, [5]))]
            });
        }
    }
    for op in [Binary::Add, Binary::Sub, Binary::Mul, Binary::Max, Binary::Min] {
        for dtype in [DType::I32, DType::I64] {
            table.case(&gpu, format!("{op:?} {dtype}"), EXACT, |g| {
                vec![g.input("x", dtype, [3, 5]).binary(op, g.input("y", dtype, [3, 1]))]
            });
        }
    }
    for op in [Binary::And, Binary::Or, Binary::Xor] {
        table.case(&gpu, format!("{op:?}"), EXACT, |g| {
            vec![g.input("x", DType::Bool, [3, 5]).binary(op, g.input("y", DType::Bool, [5]))]
        });
    }
    table.case(&gpu, "Pow", 1e-4, |g| {
        let x = g.input("x", DType::F32, [3, 5]);
        let pow = |e: f32| x.binary(Binary::Pow, g.scalar(e));
        vec![pow(2.0), pow(3.0), pow(-2.0), x.unary(Unary::Exp).binary(Binary::Pow, g.input("y", DType::F32, [5]))]
    });
    table.case(&gpu, "Where", EXACT, |g| {
        let condition = g.input("c", DType::Bool, [2, 1, 5]);
        let x = g.input("x", DType::F32, [2, 3, 5]);
        vec![condition.apply_with(Op::Where(Where), &[x, g.scalar(7.0)])]
    });
    table.case(&gpu, "Clip", EXACT, |g| {
        let x = g.input("x", DType::F32, [2, 3, 5]);
        vec![x.apply_with(Op::Clip(Clip), &[g.scalar(-1.0), g.scalar(0.5)])]
    });
    let casts = [
        (DType::F32, DType::I32),
        (DType::F32, DType::Bool),
        (DType::I64, DType::F32),
        (DType::Bool, DType::F32),
        (DType::F32, DType::I64),
        (DType::I32, DType::I8),
        (DType::I64, DType::I32),
        (DType::U8, DType::F32),
    ];
    for (from, to) in casts {
        table.case(&gpu, format!("Cast {from} to {to}"), EXACT, |g| {
            vec![g.input("x", from, [3, 5]).apply(Op::Cast(Cast { to }))]
        });
    }
    table.case(&gpu, "BatchNormalization", CLOSE, |g| {
        let mut out = Vec::new();
        for shape in [&[2, 6, 3, 5][..], &[3, 6], &[2, 6, 5]] {
            let x = g.input(format!("x{}", shape.len()), DType::F32, shape);
            let p = || [0, 1, 2, 3].map(|k| g.weights(format!("{k}"), [6]).unary(Unary::Exp));
            out.push(x.batch_norm(p(), 1e-3));
            if shape.len() == 4 {
                out.push(rows(c4(x).batch_norm(p(), 1e-3)));
            }
        }
        out
    });
    table.finish();
}

#[test]
fn steps_in_one_dispatch() {
    let Some(gpu) = Gpu::open() else { return };
    let mut table = Table::default();
    let steps = vec![
        Step::Scalar { op: Binary::Mul, value: 0.5, swapped: false },
        Step::Scalar { op: Binary::Sub, value: 1.0, swapped: true },
        Step::Tensor { op: Binary::Add, input: 0, swapped: false },
        Step::Unary(Unary::HardSwish),
        Step::Tensor { op: Binary::Mul, input: 1, swapped: true },
        Step::Tensor { op: Binary::PRelu, input: 2, swapped: false },
        Step::Unary(Unary::Silu),
        Step::Tensor { op: Binary::Sub, input: 3, swapped: false },
    ];
    for packed in [false, true] {
        for shape in SHAPES {
            let [n, c, h, w] = <[usize; 4]>::try_from(shape).unwrap();
            let mut tensors = Vec::new();
            let mut result = None;
            let mut graph = build(|g| {
                let x = g.input("x", DType::F32, shape);
                let full = g.input("full", DType::F32, [n, c, h, w]);
                let channel = g.input("channel", DType::F32, [n, c, 1, 1]);
                let slope = g.weights("slope", [c, 1, 1]);
                let one = g.input("one", DType::F32, [1]);
                let (x, full, channel) = if packed { (c4(x), c4(full), c4(channel)) } else { (x, full, channel) };
                tensors = vec![full.id(), channel.id(), slope.id(), one.id()];
                let y = x.apply(Op::Identity(Identity));
                result = Some(y.id());
                vec![if packed { rows(y) } else { y }]
            });
            fuse(&mut graph, result.unwrap(), steps.clone(), &tensors);
            table.graph(&gpu, format!("packed {packed} {shape:?}"), CLOSE, graph);
        }
    }
    table.finish();
}

#[test]
fn outputs_that_are_inputs_constants_or_each_other() {
    let Some(gpu) = Gpu::open() else { return };
    let mut table = Table::default();
    table.case(&gpu, "all at once", EXACT, |g| {
        let x = g.input("x", DType::F32, [1, 4, 4, 4]);
        let k = g.weights("k", [3, 2]);
        let y = x.relu();
        let flat = y.reshape(vec![-1]);
        let half = y.slice(1, 0, 2);
        vec![x, x, k, y, y, flat, half, flat.unary(Unary::Neg), x.reshape(vec![2, 32])]
    });
    table.case(&gpu, "a tensor read through two shapes", EXACT, |g| {
        let y = g.input("x", DType::F32, [4, 6]).relu();
        let z = y.reshape(vec![6, 4]).reshape(vec![4, 6]);
        vec![y.binary(Binary::Add, z), y.binary(Binary::Mul, y.reshape(vec![24]).reshape(vec![4, 6]))]
    });
    table.case(&gpu, "a slice beside its whole", EXACT, |g| {
        let y = g.input("x", DType::F32, [1, 64, 4, 4]).relu();
        let first = y.slice(1, 0, 1);
        vec![y.binary(Binary::Add, first), y.binary(Binary::Sub, y.slice(1, 32, 33))]
    });
    table.case(&gpu, "empty tensors", EXACT, |g| {
        let x = g.input("x", DType::F32, [0, 3]);
        let y = g.input("y", DType::F32, [2, 3]);
        vec![x.concat(&[y], 0), x.transpose(vec![1, 0]), x.relu(), y.slice(0, 1, 1), x.binary(Binary::Add, x)]
    });
    table.finish();
}
