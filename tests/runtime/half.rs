//! Outputs as float16: half the bytes are read back, on adapters with and without that type in their shaders.

use crate::fixture::*;
use frameway::engine::{CompileOptions, compile_graph};
use frameway::graph::{Builder, noise};
use frameway::kernels::DeviceLimits;
use frameway::runtime::Feed;
use frameway::tensor::{DType, Tensor};

#[test]
fn half_the_bytes_come_back_within_half_a_unit() {
    on_device(|runtime| async move {
        let n = 1003;
        let x = Tensor::f32([n], samples(n)).unwrap();
        let mut read_back = Vec::new();
        for (post, dtype) in [("[]", DType::F32), (r#"[{"to":{"dtype":"float16"}}]"#, DType::F16)] {
            let b = Builder::new("scale");
            let input = b.input("x", DType::F32, [n]);
            let graph = b.finish([("y", input * b.scalar(1.5))]).unwrap();
            let options = CompileOptions::from_json(&format!(r#"{{"postprocess":{post}}}"#)).unwrap();
            let target = runtime.target();
            let engine = compile_graph(graph, 0, &options, &target, &mut |_| {}).unwrap();
            let engine = load(&runtime, engine).await;
            let before = runtime.ledger().snapshot().to_cpu_bytes;
            let y = engine.run(&[("x", Feed::Tensor(&x))]).await.unwrap().remove(0).unwrap();
            read_back.push(runtime.ledger().snapshot().to_cpu_bytes - before);
            assert_eq!(y.dtype(), dtype);
            for (y, x) in y.to_f32().iter().zip(x.to_f32()) {
                // Half a unit of ten bits, or one where the adapter rounds towards zero.
                assert!((y - x * 1.5).abs() <= (x * 1.5).abs() / 1024.0 + 1e-7, "{y} {x}");
            }
            engine.close().await;
        }
        // Timestamps, where there are any, are read back either way.
        assert_eq!(read_back[0] - read_back[1], (n as u64 * 4) - (n as u64 * 2).next_multiple_of(4));
    });
}

#[test]
fn whole_numbers_are_not_halved() {
    let b = Builder::new("ints");
    let x = b.input("x", DType::I32, [2]);
    let graph = b.finish([("y", x + x)]).unwrap();
    let compile = |step: &str| {
        let options = CompileOptions::from_json(&format!(r#"{{"postprocess":[{step}]}}"#)).unwrap();
        let target = frameway::engine::Target { limits: DeviceLimits::default(), ..Default::default() };
        compile_graph(graph.clone(), 0, &options, &target, &mut |_| {})
    };
    assert_eq!(
        compile(r#"{"to":{"dtype":"float16","output":"y"}}"#).unwrap_err().to_string(),
        "dtype-mismatch: output \"y\": it is int32, which float16 does not hold"
    );
    assert_eq!(
        compile(r#"{"to":{"dtype":"uint8"}}"#).unwrap_err().to_string(),
        "dtype-mismatch: post-processing: outputs are read as float16 or float32, not uint8"
    );
    assert_eq!(compile(r#"{"to":{"dtype":"float16"}}"#).unwrap().outputs[0].desc.dtype, DType::I32);
}

fn samples(n: usize) -> Vec<f32> {
    let mut seed = 7;
    (0..n).map(|_| noise(&mut seed) * 200.0).collect()
}
