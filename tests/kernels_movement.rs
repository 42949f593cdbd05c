//! Movement and concatenation on the native adapter, in both layouts, against the operators' reference.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/cases.rs"]
mod cases;
#[path = "common/execute.rs"]
mod execute;

use cases::{Table, c4, rows};
use execute::Gpu;
use frameway::graph::Expr;
use frameway::ops::*;
use frameway::tensor::DType;

const EXACT: f64 = 0.0;

const SHAPES: [&[usize]; 5] = [&[1, 5, 3, 7], &[2, 8, 4, 4], &[1, 3, 1, 1], &[1, 4, 5, 5], &[2, 6, 2, 3]];

fn ints<'b>(g: &'b frameway::graph::Builder, v: &[i64]) -> Expr<'b> {
    g.ints(v.to_vec())
}

/// The operator on a row-major tensor and on a C4 one, the result taken as it is and as the other layout.
fn both<'b>(x: Expr<'b>, f: impl Fn(Expr<'b>) -> Expr<'b>) -> Vec<Expr<'b>> {
    vec![f(x), rows(f(c4(x)))]
}

#[test]
fn movement() {
    let Some(gpu) = Gpu::open() else { return };
    let mut table = Table::default();
    for shape in SHAPES.into_iter().chain([&[1, 8, 2, 4][..], &[1, 12, 1, 3]]) {
        let [n, c, h, w] = <[usize; 4]>::try_from(shape).unwrap();
        for dtype in [DType::F32, DType::I32, DType::Bool] {
            table.case(&gpu, format!("Relayout {shape:?} {dtype}"), EXACT, |g| {
                vec![rows(c4(g.input("x", dtype, shape)))]
            });
        }
        for perm in [[0, 2, 3, 1], [0, 3, 1, 2], [0, 1, 3, 2], [1, 0, 2, 3], [3, 2, 1, 0], [0, 1, 2, 3]] {
            table.case(&gpu, format!("Transpose {shape:?} {perm:?}"), EXACT, |g| {
                both(g.input("x", DType::F32, shape), |x| x.transpose(perm.to_vec()))
            });
        }
        let reshapes = [vec![-1], vec![n as i64, -1], vec![n as i64, (c * h) as i64, w as i64, 1], vec![1, 1, -1, 1]];
        for to in reshapes {
            table.case(&gpu, format!("Reshape {shape:?} {to:?}"), EXACT, |g| {
                both(g.input("x", DType::F32, shape), |x| x.relu().reshape(to.clone()).relu())
            });
        }
        for (axis, start, end, step) in [
            (1, 0, 4, 1),
            (1, 1, 3, 1),
            (2, 1, 9, 1),
            (3, 0, 2, 1),
            (3, -1, -99, -1),
            (2, 0, 9, 2),
            (1, -1, -99, -2),
            (0, 0, 1, 1),
        ] {
            table.case(&gpu, format!("Slice {shape:?} axis {axis} {start}:{end}:{step}"), EXACT, |g| {
                both(g.input("x", DType::F32, shape), |x| {
                    let axes = [ints(g, &[start]), ints(g, &[end]), ints(g, &[axis]), ints(g, &[step])];
                    x.relu().apply_with(Op::Slice(Slice), &axes).relu()
                })
            });
        }
        for mode in [PadMode::Constant, PadMode::Edge, PadMode::Reflect, PadMode::Wrap] {
            let most = |d: usize| (d as i64 - 1).min(2);
            for pads in [
                [0, 0, most(h), most(w), 0, 0, most(h), 0],
                [0, 0, 0, 0, 0, most(c), 0, 0],
                [0, most(c), 0, -1, 0, 0, 0, 0],
                [0, 4, 0, 0, 0, -1, 0, 0],
                [1, -1, 2, 0, 0, 4, 0, 1],
            ] {
                for value in [0.0, 1.5] {
                    if pads[3] == -1 && w == 1 {
                        continue;
                    }
                    table.case(&gpu, format!("Pad {mode:?} {shape:?} {pads:?} {value}"), EXACT, |g| {
                        both(g.input("x", DType::F32, shape), |x| {
                            x.apply_with(Op::Pad(Pad { mode }), &[ints(g, &pads), g.scalar(value)])
                        })
                    });
                }
            }
        }
        table.case(&gpu, format!("Pad channels by fours {shape:?}"), EXACT, |g| {
            both(g.input("x", DType::F32, shape), |x| x.pad(vec![0, 4, 0, 0, 0, 3, 0, 0]))
        });
        for from in [vec![n, c, h, w], vec![1, c, 1, 1], vec![1, 1, h, w], vec![n, c, h, 1], vec![1, 1, 1, 1]] {
            table.case(&gpu, format!("Expand {from:?} to {shape:?}"), EXACT, |g| {
                let to: Vec<i64> = shape.iter().map(|&d| d as i64).collect();
                both(g.input("x", DType::F32, from), |x| x.apply_with(Op::Expand(Expand), &[ints(g, &to)]))
            });
        }
        for axis in 0..4 {
            let parts = if shape[axis] % 2 == 0 { 2 } else { 1 };
            table.case(&gpu, format!("Split {shape:?} axis {axis}"), EXACT, |g| {
                let x = g.input("x", DType::F32, shape).relu();
                let mut out = x.split(axis as i64, parts);
                out.extend(c4(x).split(axis as i64, parts).into_iter().map(rows));
                out
            });
        }
    }
    for inner in [1, 3, 4, 8] {
        for axis in [0, 1] {
            table.case(&gpu, format!("Gather inner {inner} axis {axis}"), EXACT, |g| {
                let x = g.input("x", DType::F32, [5, 6, inner]);
                let picked = g.constant("i", frameway::tensor::Tensor::i64([2, 2], vec![1, -1, 0, 4]).unwrap());
                let flags = g.input("b", DType::Bool, [5, 6, inner]);
                let op = Op::Gather(Gather { axis });
                vec![x.apply_with(op.clone(), &[picked]), flags.apply_with(op, &[picked])]
            });
        }
    }
    table.case(&gpu, "six dimensions", EXACT, |g| {
        vec![g.input("x", DType::F32, [2, 3, 2, 3, 2, 3]).transpose(vec![5, 3, 1, 4, 2, 0])]
    });
    table.finish();
}

#[test]
fn concatenation() {
    let Some(gpu) = Gpu::open() else { return };
    let mut table = Table::default();
    for axis in 0..4usize {
        for parts in [vec![1, 1], vec![4, 4], vec![4, 3], vec![3, 5], vec![8, 16, 4], vec![5, 3, 2], vec![64, 64]] {
            for n in [1, 2] {
                let shape = |part: usize| {
                    let mut s = vec![n, 5, 4, 4];
                    s[axis] = part;
                    s
                };
                table.case(&gpu, format!("axis {axis} parts {parts:?} n {n}"), EXACT, |g| {
                    let inputs: Vec<_> = parts
                        .iter()
                        .enumerate()
                        .map(|(i, &p)| g.input(format!("x{i}"), DType::F32, shape(p)))
                        .collect();
                    let made: Vec<_> = inputs.iter().map(|x| x.relu()).collect();
                    let packed: Vec<_> = inputs.iter().map(|x| c4(*x).relu()).collect();
                    let constant = g.weights("w", shape(3));
                    let mut mixed = packed.clone();
                    mixed.push(constant);
                    vec![
                        made[0].concat(&made[1..], axis as i64).unary(Unary::Neg),
                        inputs[0].concat(&inputs[1..], axis as i64),
                        rows(packed[0].concat(&packed[1..], axis as i64).unary(Unary::Neg)),
                        rows(mixed[0].concat(&mixed[1..], axis as i64)),
                        made[0].concat(&[made[0], constant, made[1]], axis as i64),
                        rows(packed[0].concat(&[packed[1], packed[0]], axis as i64)),
                    ]
                });
            }
        }
    }
    table.case(&gpu, "32 parts", EXACT, |g| {
        let x: Vec<_> = (0..32).map(|i| g.input(format!("x{i}"), DType::F32, [1, 3, 2, 2]).relu()).collect();
        vec![x[0].concat(&x[1..], 1), rows(c4(x[0]).concat(&x[1..].iter().map(|e| c4(*e)).collect::<Vec<_>>(), 1))]
    });
    table.finish();
}
