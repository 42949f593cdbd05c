//! Operators on the edges where browser runtimes have failed, through the importer and the CPU reference; and the errors
//! that contradictory models give. Values: tests/fixtures/operators.py.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/operators.rs"]
mod operators;

use frameway::ErrorKind::{self, DtypeMismatch, InvalidModel, MemoryLimit, ShapeMismatch, UnsupportedOp};
use frameway::graph::{Builder, Expr};
use frameway::import::import;
use frameway::ops::*;
use frameway::tensor::{DType, Data, Tensor};

#[test]
fn every_edge_has_the_standards_value() {
    let mut wrong = Vec::new();
    let cases = operators::cases();
    for case in &cases {
        let graph = import(&case.model, None, &Default::default()).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let evaluate = || graph.evaluate(&case.inputs).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let results = evaluate();
        if let Err(why) = case.compare(&results) {
            wrong.push(format!("kind {} ({}): {}: {why}", case.kind, operators::kind(case.kind), case.name));
        }
        assert_eq!(results, evaluate(), "{}: a second run gives other bits", case.name);
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// Builds one node over `x`, a float32 input of the given shape, and tells the kind of the error that inference gives.
fn error(shape: &[usize], node: impl for<'b> Fn(&'b Builder, Expr<'b>) -> Expr<'b>) -> ErrorKind {
    let b = Builder::new("contradiction");
    let x = b.input("x", DType::F32, shape);
    let mut graph = b.finish([("y", node(&b, x))]).expect("a consistent graph");
    let nodes = graph.nodes.clone();
    let error = nodes.iter().find_map(|n| graph.infer(n).err()).expect("an error");
    assert!(error.place().is_some() && !error.message().is_empty(), "{error}");
    error.kind()
}

fn ints(list: &[i64]) -> Tensor {
    Tensor::i64([list.len()], list.to_vec()).expect("a list")
}

#[test]
fn contradictions_are_typed_errors() {
    let window = |strides: &[usize], pads: &[usize]| Window {
        kernel: vec![3, 3],
        strides: strides.to_vec(),
        pads: pads.to_vec(),
        ..Window::default()
    };
    let conv = |shape: &[usize], weights: &[usize], groups: usize, window: Window| {
        error(shape, |b, x| {
            let w = b.weights("w", weights);
            b.node(Op::Conv(Conv { window: window.clone(), groups }), [Some(x.id()), Some(w.id())])
        })
    };
    let image = [1, 4, 8, 8];
    assert_eq!(conv(&image, &[6, 3, 3, 3], 1, window(&[], &[])), ShapeMismatch, "channels");
    assert_eq!(conv(&image, &[6, 4, 3], 1, window(&[], &[])), ShapeMismatch, "ranks");
    assert_eq!(conv(&image, &[6, 2, 3, 3], 0, window(&[], &[])), InvalidModel, "no groups");
    assert_eq!(conv(&image, &[5, 2, 3, 3], 2, window(&[], &[])), ShapeMismatch, "outputs do not divide into groups");
    assert_eq!(conv(&image, &[6, 4, 5, 5], 1, window(&[], &[])), ShapeMismatch, "kernel_shape");
    assert_eq!(conv(&image, &[6, 4, 3, 3], 1, window(&[0, 1], &[])), InvalidModel, "stride 0");
    assert_eq!(conv(&image, &[6, 4, 3, 3], 1, window(&[1], &[])), InvalidModel, "one stride");
    assert_eq!(conv(&image, &[6, 4, 3, 3], 1, window(&[], &[1, 1])), InvalidModel, "two pads");
    assert_eq!(conv(&image, &[6, 4, 3, 3], 1, window(&[], &[usize::MAX; 4])), InvalidModel, "huge pads");
    assert_eq!(conv(&image, &[6, 4, 3, 3], 1, window(&[], &[1 << 30; 4])), MemoryLimit, "an output too large");
    assert_eq!(conv(&[1, 4, 2, 2], &[6, 4, 3, 3], 1, window(&[], &[])), ShapeMismatch, "kernel exceeds input");

    let with = |shape: &[usize], op: Op, constants: &[Tensor]| {
        error(shape, |b, x| {
            let ids = constants.iter().enumerate().map(|(i, t)| Some(b.constant(format!("c{i}"), t.clone()).id()));
            let inputs: Vec<_> = std::iter::once(Some(x.id())).chain(ids).collect();
            b.node(op.clone(), inputs)
        })
    };
    let bools = Tensor::new([2], Data::Bool(vec![0, 1])).expect("flags");
    let numbers = |n: usize| Tensor::f32([n], vec![0.0; n]).expect("numbers");
    let cases: Vec<(&[usize], Op, Vec<Tensor>, ErrorKind)> = vec![
        (&[2, 3], Op::Binary(Binary::Add), vec![numbers(2)], ShapeMismatch),
        (&[2], Op::Binary(Binary::Add), vec![ints(&[1, 2])], DtypeMismatch),
        (&[2], Op::Binary(Binary::And), vec![bools.clone()], DtypeMismatch),
        (&[2], Op::Binary(Binary::Mod { fmod: false }), vec![numbers(2)], InvalidModel),
        (&[2], Op::Binary(Binary::Add), vec![], InvalidModel),
        (&[3], Op::Binary(Binary::PRelu), vec![Tensor::f32([2, 3], vec![0.0; 6]).expect("slopes")], ShapeMismatch),
        (&[2], Op::Unary(Unary::Not), vec![], DtypeMismatch),
        (&[2], Op::Where(Where), vec![numbers(2), numbers(2)], DtypeMismatch),
        (&[2], Op::Clip(Clip), vec![numbers(2)], ShapeMismatch),
        (&[2, 3], Op::Concat(Concat { axis: 2 }), vec![], ShapeMismatch),
        (&[2, 3], Op::Concat(Concat { axis: i64::MIN }), vec![], ShapeMismatch),
        (&[2, 3], Op::Concat(Concat { axis: 0 }), vec![numbers(3)], ShapeMismatch),
        (&[2, 3], Op::Expand(Expand), vec![ints(&[2, 4])], ShapeMismatch),
        (&[2, 3], Op::Expand(Expand), vec![ints(&[i64::MAX, 1, 1])], MemoryLimit),
        (&[0, 3], Op::Expand(Expand), vec![ints(&[1 << 40, 0, 3])], MemoryLimit),
        (&[2, 3], Op::Flatten(Flatten { axis: 3 }), vec![], ShapeMismatch),
        (&[2, 3], Op::Gather(Gather { axis: 0 }), vec![numbers(2)], DtypeMismatch),
        (&[2, 3], Op::Transpose(Transpose { perm: vec![0, 0] }), vec![], ShapeMismatch),
        (&[2, 3], Op::Transpose(Transpose { perm: vec![0, usize::MAX] }), vec![], ShapeMismatch),
        (&[2, 3], Op::Reshape(Reshape::default()), vec![ints(&[-1, -1])], InvalidModel),
        (&[2, 3], Op::Reshape(Reshape::default()), vec![ints(&[4, -1])], ShapeMismatch),
        (&[2, 3], Op::Reshape(Reshape::default()), vec![ints(&[2, 3, 0])], ShapeMismatch),
        (&[2, 3], Op::Reshape(Reshape::default()), vec![ints(&[i64::MAX, i64::MAX])], ShapeMismatch),
        (&[2, 3], Op::Squeeze(Squeeze), vec![ints(&[0])], ShapeMismatch),
        (&[2, 3], Op::Unsqueeze(Unsqueeze), vec![ints(&[0, 0])], ShapeMismatch),
        (&[2, 3], Op::Slice(Slice), vec![ints(&[0]), ints(&[1]), ints(&[0]), ints(&[0])], InvalidModel),
        (&[2, 3], Op::Slice(Slice), vec![ints(&[0, 0]), ints(&[1])], ShapeMismatch),
        (&[2, 3], Op::Split(Split { axis: 1, parts: 2 }), vec![ints(&[1, 1])], ShapeMismatch),
        (&[2, 3], Op::Split(Split { axis: 1, parts: 0 }), vec![], InvalidModel),
        (&[2, 3], Op::Pad(Pad::default()), vec![ints(&[0, 0])], ShapeMismatch),
        (&[2, 3], Op::Pad(Pad::default()), vec![ints(&[-3, 0, 0, 0])], ShapeMismatch),
        (&[2, 3], Op::Pad(Pad::default()), vec![ints(&[i64::MIN, 0, 0, i64::MAX])], ShapeMismatch),
        (&[0, 3], Op::Pad(Pad { mode: PadMode::Reflect }), vec![ints(&[1, 0, 0, 0])], ShapeMismatch),
        (&[2, 3], Op::MatMul(MatMul), vec![numbers(2)], ShapeMismatch),
        (&[2, 3], Op::Softmax(Softmax { axis: -3, log: false, flattened: false }), vec![], ShapeMismatch),
        (&[2, 3], Op::BatchNorm(BatchNorm { epsilon: 0.0 }), vec![numbers(2); 4], ShapeMismatch),
    ];
    for (i, (shape, op, constants, kind)) in cases.into_iter().enumerate() {
        assert_eq!(with(shape, op.clone(), &constants), kind, "case {i}: {op:?}");
    }
}

#[test]
fn a_shape_that_is_computed_at_run_time_is_an_unsupported_operator() {
    let kind = error(&[2, 3], |b, x| {
        let shape = b.input("shape", DType::I64, [1]);
        b.node(Op::Reshape(Reshape::default()), [Some(x.id()), Some(shape.id())])
    });
    assert_eq!(kind, UnsupportedOp);
}

#[test]
fn an_index_out_of_range_is_an_error_not_a_neighbours_value() {
    let data = Tensor::f32([2, 2], vec![0.0; 4]).unwrap();
    for index in [2, -3, i64::MIN] {
        let e = Gather { axis: 0 }.eval(&[Some(&data), Some(&ints(&[index]))]).unwrap_err();
        assert_eq!(e.kind(), ShapeMismatch, "{e}");
    }
}

#[test]
fn integers_wrap_and_truncate_without_panic() {
    let eval = |op: Binary, a: i32, b: i32| {
        let t = |v| Tensor::new([1], Data::I32(vec![v])).unwrap();
        op.eval(&[Some(&t(a)), Some(&t(b))]).unwrap()[0].data().clone()
    };
    let table = [
        (Binary::Add, i32::MAX, 1, i32::MIN),
        (Binary::Mul, 1 << 20, 1 << 20, 0),
        (Binary::Div, -7, 2, -3),
        (Binary::Div, i32::MIN, -1, i32::MIN),
        (Binary::Div, 5, 0, 0),
        (Binary::Mod { fmod: false }, -7, 3, 2),
        (Binary::Mod { fmod: true }, -7, 3, -1),
        (Binary::Mod { fmod: false }, 7, 0, 0),
        (Binary::Pow, -2, 31, i32::MIN),
    ];
    for (op, a, b, want) in table {
        assert_eq!(eval(op, a, b), Data::I32(vec![want]), "{op:?} {a} {b}");
    }
}
