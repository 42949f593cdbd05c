//! Small graphs, lowered and run on the adapter, held against the operators' own reference.

#![allow(dead_code, reason = "each test takes what it needs")]

use super::execute::Gpu;
use frameway::graph::{Builder, Expr, Graph, ValueId, noise};
use frameway::lower::{LowerOptions, Lowered, lower};
use frameway::ops::{Epilogue, Op, Relayout, Step};
use frameway::tensor::{DType, Data, Layout, Tensor, TensorType};

/// Conversion into C4.
pub fn c4(x: Expr<'_>) -> Expr<'_> {
    x.apply(Op::Relayout(Relayout { to: Layout::C4 }))
}

/// Conversion out of C4.
pub fn rows(x: Expr<'_>) -> Expr<'_> {
    x.apply(Op::Relayout(Relayout { to: Layout::RowMajor }))
}

/// Types for all values; what an operator makes of a C4 tensor is C4 where it has four dimensions.
pub fn infer(graph: &mut Graph) {
    for i in 0..graph.nodes.len() {
        let node = graph.nodes[i].clone();
        graph.infer(&node).expect("types");
        let c4 = match node.op {
            Op::Relayout(Relayout { to }) => to == Layout::C4,
            _ => node.inputs.iter().flatten().any(|v| graph.values[v.index()].layout == Layout::C4),
        };
        for output in node.outputs {
            let value = &mut graph.values[output.index()];
            let rank = value.ty.as_ref().map_or(0, |t| t.shape.len());
            value.layout = if c4 && rank == 4 { Layout::C4 } else { Layout::RowMajor };
        }
    }
}

/// Puts steps behind the node that makes `value`; tensors are (operator, operand, swapped).
pub fn fuse(graph: &mut Graph, value: ValueId, steps: Vec<Step>, tensors: &[ValueId]) {
    let node = graph.nodes.iter_mut().find(|n| n.outputs.contains(&value)).expect("its node");
    let first = node.inputs.len();
    node.inputs.extend(tensors.iter().map(|&t| Some(t)));
    let shift = |step| match step {
        Step::Tensor { op, input, swapped } => Step::Tensor { op, input: first + input, swapped },
        other => other,
    };
    node.epilogue = Epilogue { steps: steps.into_iter().map(shift).collect() };
    graph.sort().expect("no cycle");
}

/// Reproducible contents in -2..2; whole numbers where the type is integer.
pub fn feed(ty: &TensorType, seed: u32) -> Tensor {
    let mut seed = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let n = ty.shape.elements();
    let mut next = || 4.0 * noise(&mut seed);
    let data = match ty.dtype {
        DType::F32 => Data::F32((0..n).map(|_| next()).collect()),
        DType::F16 => Data::F16((0..n).map(|_| half::f16::from_f32(next())).collect()),
        DType::I32 => Data::I32((0..n).map(|_| (8.0 * next()) as i32).collect()),
        DType::I64 => Data::I64((0..n).map(|_| (8.0 * next()) as i64).collect()),
        DType::U32 => Data::U32((0..n).map(|_| (8.0 * next().abs()) as u32).collect()),
        DType::U8 => Data::U8((0..n).map(|_| (100.0 * next().abs()) as u8).collect()),
        DType::I8 => Data::I8((0..n).map(|_| (50.0 * next()) as i8).collect()),
        DType::Bool => Data::Bool((0..n).map(|_| u8::from(next() > 0.0)).collect()),
    };
    Tensor::new(ty.shape.clone(), data).expect("a tensor")
}

/// Runs `graph` in the planned arena, twice, and compares. Gives what went wrong.
pub fn check(gpu: &Gpu, graph: &Graph, feeds: &[Tensor], tolerance: f64) -> Result<Lowered, String> {
    let options = LowerOptions { limits: gpu.limits.clone(), ..LowerOptions::default() };
    check_with(gpu, graph, feeds, tolerance, &options)
}

/// As [`check`], with options.
pub fn check_with(
    gpu: &Gpu,
    graph: &Graph,
    feeds: &[Tensor],
    tolerance: f64,
    options: &LowerOptions<'_>,
) -> Result<Lowered, String> {
    let lowered = lower(graph, options).map_err(|e| e.to_string())?;
    let want = graph.evaluate(feeds).map_err(|e| e.to_string())?;
    let types: Vec<TensorType> = want.iter().map(Tensor::ty).collect();
    let loaded = gpu.load(&lowered);
    let first = loaded.run(feeds, &types);
    let second = loaded.run(feeds, &types);
    for (k, ((a, b), want)) in first.iter().zip(&second).zip(&want).enumerate() {
        if a.data().as_bytes() != b.data().as_bytes() {
            return Err(format!("output {k}: two runs differ"));
        }
        compare(a, want, tolerance).map_err(|e| format!("output {k}: {e}"))?;
    }
    Ok(lowered)
}

/// Largest error, absolute below one and relative above.
pub fn compare(got: &Tensor, want: &Tensor, tolerance: f64) -> Result<(), String> {
    assert_eq!(got.ty(), want.ty());
    for (i, (a, b)) in got.data().to_f64().into_iter().zip(want.data().to_f64()).enumerate() {
        let same = a == b || (a.is_nan() && b.is_nan());
        let error = (a - b).abs() / b.abs().max(1.0);
        let close = error <= tolerance;
        if !same && !close {
            return Err(format!("element {i} of {}: got {a}, want {b}", got.ty()));
        }
    }
    Ok(())
}

/// Collects failures of a table of cases and fails with all of them.
#[derive(Default)]
pub struct Table {
    cases: usize,
    failures: Vec<String>,
}

impl Table {
    /// Builds a graph of the outputs that `f` gives, feeds it with noise, and checks it.
    pub fn case(
        &mut self,
        gpu: &Gpu,
        name: impl std::fmt::Display,
        tolerance: f64,
        f: impl for<'b> FnOnce(&'b Builder) -> Vec<Expr<'b>>,
    ) {
        self.graph(gpu, name, tolerance, build(f));
    }

    /// Checks a graph whose types are inferred.
    pub fn graph(&mut self, gpu: &Gpu, name: impl std::fmt::Display, tolerance: f64, graph: Graph) {
        self.cases += 1;
        let feeds: Vec<Tensor> = graph.inputs.iter().map(|&v| feed(graph.ty(v).expect("a type"), v.0 + 1)).collect();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(gpu, &graph, &feeds, tolerance)));
        let result = result
            .unwrap_or_else(|e| Err(e.downcast_ref::<String>().cloned().unwrap_or_else(|| "it panicked".to_owned())));
        if let Err(e) = result {
            self.failures.push(format!("{name}: {e}"));
        }
    }

    /// Fails with all failures.
    pub fn finish(self) {
        println!("{} cases", self.cases);
        let n = self.failures.len();
        assert!(self.failures.is_empty(), "{n} of {} cases:\n{}", self.cases, self.failures.join("\n"));
    }
}

/// A graph of the outputs that `f` gives, with types and layouts.
pub fn build(f: impl for<'b> FnOnce(&'b Builder) -> Vec<Expr<'b>>) -> Graph {
    let builder = Builder::new("case");
    let outputs = f(&builder);
    let names: Vec<String> = (0..outputs.len()).map(|i| format!("out{i}")).collect();
    let mut graph = builder.finish(names.iter().map(String::as_str).zip(outputs)).expect("a graph");
    infer(&mut graph);
    graph
}
