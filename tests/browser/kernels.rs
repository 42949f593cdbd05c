//! Kernels in the browser against the operators' reference: small graphs, compiled, loaded and run as any model is.

use frameway::engine::{CompileOptions, compile, compile_graph};
use frameway::graph::{Builder, Expr, noise};
use frameway::ops::*;
use frameway::runtime::{Feed, LoadOptions, Runtime, RuntimeOptions};
use frameway::tensor::{DType, Data, Tensor, TensorType};
use frameway::{Error, ErrorKind, Result};
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

const EXACT: f64 = 0.0;
const CLOSE: f64 = 2e-5;

/// A runtime, and what went wrong on it.
struct Table {
    runtime: Runtime,
    cases: usize,
    failures: Vec<String>,
}

impl Table {
    async fn open() -> Self {
        let runtime = Runtime::create(RuntimeOptions::default()).await.expect("a device");
        Self { runtime, cases: 0, failures: Vec::new() }
    }

    /// The graph of the outputs that `f` gives, fed with noise, against its own evaluation: no pass has touched that one.
    async fn case(&mut self, name: &str, tolerance: f64, f: impl for<'b> FnOnce(&'b Builder) -> Vec<Expr<'b>>) {
        self.cases += 1;
        if let Err(e) = self.attempt(tolerance, f).await {
            self.failures.push(format!("{name}: {e}"));
        }
    }

    async fn attempt(&self, tolerance: f64, f: impl for<'b> FnOnce(&'b Builder) -> Vec<Expr<'b>>) -> Result<()> {
        let builder = Builder::new("case");
        let outputs = f(&builder);
        let names: Vec<String> = (0..outputs.len()).map(|i| format!("out{i}")).collect();
        let mut graph = builder.finish(names.iter().map(String::as_str).zip(outputs))?;
        frameway::passes::infer_shapes(&mut graph)?;
        let feeds = graph.inputs.iter().map(|&v| Ok(feed(graph.ty(v)?, v.0 + 1))).collect::<Result<Vec<_>>>()?;
        let want = graph.evaluate(&feeds)?;
        let inputs: Vec<String> =
            graph.inputs.iter().map(|&v| Ok(graph.value(v)?.name.clone())).collect::<Result<_>>()?;
        let engine = compile_graph(graph, 0, &CompileOptions::default(), &self.runtime.target(), &mut |_| {})?;
        let loaded = self.runtime.load(engine, LoadOptions::default()).await?;
        let named: Vec<(&str, Feed<'_>)> =
            inputs.iter().zip(&feeds).map(|(name, tensor)| (name.as_str(), Feed::Tensor(tensor))).collect();
        let got = loaded.run(&named).await?;
        loaded.close().await;
        got.iter().zip(&want).enumerate().try_for_each(|(i, (got, want))| {
            let got = got.as_ref().ok_or_else(|| failed(format!("output {i} was not read back")))?;
            compare(got, want, tolerance).map_err(|why| failed(format!("output {i}: {why}")))
        })
    }

    /// Fails with all failures; nothing is left on the GPU.
    async fn finish(self) {
        console_log!("{} cases", self.cases);
        let n = self.failures.len();
        assert!(self.failures.is_empty(), "{n} of {} cases:\n{}", self.cases, self.failures.join("\n"));
        assert_eq!(self.runtime.errors(), Vec::<String>::new());
        self.runtime.close().await;
        assert_eq!(self.runtime.ledger().memory().gpu.total, 0);
    }
}

fn failed(message: String) -> Error {
    Error::new(ErrorKind::InvalidModel, message)
}

/// The same numbers each time, in -2..2; whole ones for integers.
fn feed(ty: &TensorType, seed: u32) -> Tensor {
    let mut seed = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || 4.0 * noise(&mut seed);
    let n = ty.shape.elements();
    let data = match ty.dtype {
        DType::I32 => Data::I32((0..n).map(|_| (8.0 * next()) as i32).collect()),
        DType::I64 => Data::I64((0..n).map(|_| (8.0 * next()) as i64).collect()),
        DType::Bool => Data::Bool((0..n).map(|_| u8::from(next() > 0.0)).collect()),
        _ => Data::F32((0..n).map(|_| next()).collect()),
    };
    Tensor::new(ty.shape.clone(), data).expect("as many elements as the shape says")
}

/// Absolute below one, relative above.
fn compare(got: &Tensor, want: &Tensor, tolerance: f64) -> std::result::Result<(), String> {
    if got.ty() != want.ty() {
        return Err(format!("{} where {} was expected", got.ty(), want.ty()));
    }
    for (i, (a, b)) in got.data().to_f64().into_iter().zip(want.data().to_f64()).enumerate() {
        // Written so that NaN does not fit.
        let fits = a == b || (a - b).abs() <= tolerance * b.abs().max(1.0);
        if !fits {
            return Err(format!("element {i} of {} is {a}, expected {b}", got.ty()));
        }
    }
    Ok(())
}

fn unary() -> Vec<Unary> {
    use Unary::*;
    let mut all = vec![Abs, Asinh, Atan, Ceil, Cos, Cosh, Erf, Exp, Floor, HardSwish, Mish, Neg, Relu, Round];
    all.extend([Sigmoid, Sign, Silu, Sin, Sinh, Softplus, Softsign, Tanh]);
    all.extend([Clip { lo: -0.5, hi: 1.0 }, Elu { alpha: 0.7 }, Gelu { tanh: false }, Gelu { tanh: true }]);
    all.extend([HardSigmoid { alpha: 0.2, beta: 0.5 }, LeakyRelu { alpha: 0.1 }]);
    all
}

#[wasm_bindgen_test]
async fn elementwise_kernels() {
    let mut table = Table::open().await;
    // Six at a time: every output is a buffer range of its own.
    for some in unary().chunks(6) {
        table
            .case(&format!("{some:?}"), 1e-4, |g| {
                let x = g.input("x", DType::F32, [1, 5, 3, 7]);
                some.iter().map(|&op| x.unary(op)).collect()
            })
            .await;
    }
    for operand in [&[2, 5, 3, 4][..], &[1], &[4], &[3, 1], &[5, 1, 1], &[2, 1, 3, 4]] {
        table
            .case(&format!("broadcast of {operand:?}"), CLOSE, |g| {
                let x = g.input("x", DType::F32, [2, 5, 3, 4]);
                let y = g.input("y", DType::F32, operand).unary(Unary::Exp);
                use Binary::{Add, Div, Max, Min, Mul, Sub};
                [Add, Sub, Mul, Div, Max, Min].map(|op| x.binary(op, y)).into()
            })
            .await;
    }
    table
        .case("integers and conditions", EXACT, |g| {
            let (x, y) = (g.input("x", DType::I64, [3, 5]), g.input("y", DType::I64, [5]));
            let larger = x.binary(Binary::Greater, y);
            let chosen = larger.apply_with(Op::Where(Where), &[x, y]);
            let real = x.apply(Op::Cast(Cast { to: DType::F32 }));
            vec![x.binary(Binary::Mul, y), larger, chosen, real, larger.unary(Unary::Not)]
        })
        .await;
    table
        .case("a chain behind one producer", CLOSE, |g| {
            let x = g.input("x", DType::F32, [1, 6, 5, 5]);
            let y = x.conv(g.weights("w", [8, 6, 1, 1]), Some(g.weights("b", [8])), 1, 0);
            let gate = y.binary(Binary::Add, g.scalar(3.0)).clip(0.0, 6.0).binary(Binary::Div, g.scalar(6.0));
            vec![y.binary(Binary::Mul, gate)]
        })
        .await;
    table.finish().await;
}

#[wasm_bindgen_test]
async fn convolution_kernels() {
    let mut table = Table::open().await;
    // Channels in and out, groups, side of the kernel, stride, pad.
    let windows = [
        (3, 16, 1, 3, 2, 1),
        (3, 8, 1, 5, 2, 2),
        (16, 24, 1, 1, 1, 0),
        (5, 7, 1, 1, 1, 0),
        (24, 24, 24, 3, 1, 1),
        (24, 24, 24, 3, 2, 1),
        (16, 16, 16, 5, 1, 2),
        (6, 6, 6, 3, 1, 1),
        (8, 12, 1, 3, 1, 1),
        (16, 16, 4, 3, 1, 1),
        (6, 9, 3, 3, 1, 1),
        (8, 8, 1, 2, 2, 0),
    ];
    for (from, to, groups, side, stride, pad) in windows {
        for n in [1, 2] {
            let name = format!("{n} x {from} to {to}, {groups} groups, {side} x {side}, stride {stride}, pad {pad}");
            table
                .case(&name, CLOSE, |g| {
                    let x = g.input("x", DType::F32, [n, from, 11, 13]);
                    let w = g.weights("w", [to, from / groups, side, side]);
                    vec![x.conv_groups(w, Some(g.weights("b", [to])), stride, pad, groups).relu()]
                })
                .await;
        }
    }
    for (from, to, side, stride) in [(8, 8, 2, 2), (5, 6, 3, 2), (16, 4, 4, 2)] {
        table
            .case(&format!("transposed, {from} to {to}, {side} x {side}, stride {stride}"), CLOSE, |g| {
                let x = g.input("x", DType::F32, [1, from, 6, 5]);
                vec![x.conv_transpose(g.weights("w", [from, to, side, side]), stride)]
            })
            .await;
    }
    table
        .case("a residual block", CLOSE, |g| {
            let x = g.input("x", DType::F32, [1, 24, 12, 12]);
            let wide = x.conv_groups(g.weights("a", [24, 1, 3, 3]), Some(g.weights("ab", [24])), 1, 1, 24);
            let narrow = wide.conv(g.weights("c", [24, 24, 1, 1]), Some(g.weights("cb", [24])), 1, 0);
            let sum = narrow.binary(Binary::Add, x).relu();
            let pooled = x.max_pool(2, 2, 0).pad(vec![0, 0, 0, 0, 0, 8, 0, 0]);
            vec![sum, pooled]
        })
        .await;
    table.finish().await;
}

#[wasm_bindgen_test]
async fn kernels_over_windows_rows_and_matrices() {
    let mut table = Table::open().await;
    for shape in [[1, 5, 7, 6], [2, 8, 6, 9]] {
        table
            .case(&format!("pools, means and softmax of {shape:?}"), CLOSE, |g| {
                let x = g.input("x", DType::F32, shape);
                vec![
                    x.max_pool(3, 2, 1),
                    x.average_pool(2, 2, 0, false),
                    x.average_pool(3, 1, 1, true),
                    x.mean_of_axes(vec![2, 3]),
                    x.mean_of_axes(vec![1]),
                    x.softmax(-1),
                    x.softmax(1),
                ]
            })
            .await;
    }
    for (m, k, n) in [(1, 64, 10), (7, 33, 5), (32, 48, 64)] {
        table
            .case(&format!("{m} x {k} by {k} x {n}"), CLOSE, |g| {
                let x = g.input("x", DType::F32, [m, k]);
                let stacked = g.input("y", DType::F32, [2, m, k]);
                vec![
                    x.matmul(g.weights("w", [k, n])),
                    stacked.matmul(g.input("z", DType::F32, [2, k, n])),
                    stacked.matmul(g.weights("v", [k, n])).relu(),
                ]
            })
            .await;
    }
    table.finish().await;
}

#[wasm_bindgen_test]
async fn kernels_that_move() {
    let mut table = Table::open().await;
    for shape in [[1, 5, 3, 7], [2, 8, 4, 4]] {
        table
            .case(&format!("{shape:?}"), EXACT, |g| {
                let x = g.input("x", DType::F32, shape);
                let y = x.relu();
                let mut out = vec![
                    y.transpose(vec![0, 2, 3, 1]),
                    y.transpose(vec![3, 2, 1, 0]),
                    y.reshape(vec![-1]),
                    y.slice(1, 1, 3),
                    y.slice(3, 0, 2),
                    y.pad(vec![0, 0, 1, 2, 0, 4, 0, 1]),
                ];
                out.push(y.concat(&[x, y], 1));
                out.push(y.concat(&[x], 3));
                out
            })
            .await;
        table
            .case(&format!("around a convolution of {shape:?}"), CLOSE, |g| {
                let c = shape[1];
                let x = g.input("x", DType::F32, shape);
                let y = x.conv(g.weights("w", [8, c, 1, 1]), None, 1, 0);
                let mut out = y.split(1, 2);
                out.push(y.transpose(vec![0, 2, 3, 1]).reshape(vec![shape[0] as i64, -1, 8]));
                out.push(y.concat(&[x], 1).relu());
                out
            })
            .await;
    }
    let modes = [
        ResizeMode::Nearest(NearestMode::Floor),
        ResizeMode::Nearest(NearestMode::RoundPreferFloor),
        ResizeMode::Linear,
        ResizeMode::Cubic { coefficient: -0.75, exclude_outside: false },
    ];
    for mode in modes {
        table
            .case(&format!("{mode:?}"), CLOSE, |g| {
                let x = g.input("x", DType::F32, [1, 5, 4, 3]);
                let at = [Coordinates::HalfPixel, Coordinates::AlignCorners, Coordinates::Asymmetric];
                at.into_iter()
                    .map(|coordinates| {
                        let op = Op::Resize(Resize { mode, coordinates, axes: Vec::new() });
                        g.node(op, [Some(x.id()), None, None, Some(g.ints([1, 5, 7, 9]).id())])
                    })
                    .collect()
            })
            .await;
    }
    table.finish().await;
}

/// Models of one operator on the edges where browser runtimes have failed, from file to result.
#[wasm_bindgen_test]
async fn every_edge_has_the_standards_value() {
    let mut table = Table::open().await;
    let mut unsupported = 0;
    for case in super::operators::cases() {
        table.cases += 1;
        let run = async {
            let target = table.runtime.target();
            let engine = compile(&case.model, &CompileOptions::default(), &target, &mut |_| {})?;
            let loaded = table.runtime.load(engine, LoadOptions::default()).await?;
            let names: Vec<String> = loaded.inputs().iter().map(|port| port.desc.name.clone()).collect();
            let feeds: Vec<(&str, Feed<'_>)> =
                names.iter().zip(&case.inputs).map(|(name, t)| (name.as_str(), Feed::Tensor(t))).collect();
            let got = loaded.run(&feeds).await?;
            loaded.close().await;
            got.into_iter().collect::<Option<Vec<_>>>().ok_or_else(|| failed("an output is missing".to_owned()))
        };
        let why = match run.await {
            Ok(results) => case.compare(&results).err(),
            Err(e) if e.kind() == ErrorKind::UnsupportedOp => {
                console_log!("unsupported: {}: {e}", case.name);
                unsupported += 1;
                None
            }
            Err(e) => Some(e.to_string()),
        };
        let kind = || super::operators::kind(case.kind);
        table.failures.extend(why.map(|why| format!("{} ({}): {why}", case.name, kind())));
    }
    // float16, which this adapter has not.
    assert!(unsupported <= MOST_UNSUPPORTED, "{unsupported} are unsupported");
    table.finish().await;
}

/// Cases that an adapter without shader-f16 may refuse.
const MOST_UNSUPPORTED: usize = 10;
