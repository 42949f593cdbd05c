//! The golden models on the native adapter: compiled, loaded, run, held against onnxruntime's outputs.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/golden.rs"]
mod golden;

use frameway::ErrorKind;
use frameway::engine::{CompileOptions, Engine, Target, compile};
use frameway::runtime::{Feed, LoadOptions, Runtime, RuntimeOptions};
use frameway::tensor::Tensor;
use golden::Golden;
use std::time::Instant;

fn compiled(golden: &Golden, target: &Target) -> Engine {
    let shapes = golden.inputs.iter().map(|(n, t)| (n.clone(), t.shape().to_vec())).collect();
    let options = CompileOptions { shapes, ..CompileOptions::default() };
    compile(&golden.model, &options, target, &mut |_| {}).unwrap_or_else(|e| panic!("{}: {e}", golden.name))
}

fn hold(golden: &Golden, outputs: &[Option<Tensor>]) {
    assert_eq!(outputs.len(), golden.outputs.len());
    for (i, output) in outputs.iter().enumerate() {
        let output = output.as_ref().expect("read back");
        assert_eq!(output.shape(), golden.outputs[i].1.shape(), "{}: shape of output {i}", golden.name);
        let error = golden.error(i, &output.to_f32());
        println!("{} output {i}: {error:.4} of the tolerance", golden.name);
        assert!(error <= 1.0, "{}: output {i} is off by {error:.2} times the tolerance", golden.name);
    }
}

async fn check(runtime: &Runtime, golden: &Golden) {
    let started = Instant::now();
    let engine = runtime.load(compiled(golden, &runtime.target()), LoadOptions::default()).await.expect("it loads");
    let loaded = started.elapsed();
    let pool = engine.requests(1).await.expect("an arena");
    let request = pool.acquire().await.expect("it is free");
    let feeds: Vec<_> = golden.inputs.iter().map(|(n, t)| (n.as_str(), Feed::Tensor(t))).collect();
    let first = request.run(&feeds).await.expect("it runs").detach().expect("it is fresh");
    hold(golden, &first);

    // An arena full of NaN changes nothing: a run reads only what it has written.
    request.poison(0x7fc0_0000).expect("it is open");
    let started = Instant::now();
    let lease = request.run(&feeds).await.expect("it runs");
    println!("{}: loaded in {loaded:?}, steady {:?}, {:?}", golden.name, started.elapsed(), lease.times());
    assert_eq!(lease.detach().expect("it is fresh"), first, "{}: on a poisoned arena", golden.name);

    let m = runtime.ledger().memory();
    let recording = &engine.engine().recording;
    assert_eq!((m.gpu.weights, m.gpu.arena), (recording.weights_bytes, recording.arena_bytes));
    engine.close().await;
    assert_eq!(runtime.ledger().memory().gpu.total, 0);
    assert_eq!(runtime.errors(), Vec::<String>::new());
}

macro_rules! models {
    ($($name:ident),*) => {
        $(#[test]
        fn $name() {
            let Some(golden) = Golden::load(stringify!($name)) else { return };
            match pollster::block_on(Runtime::create(RuntimeOptions::default())) {
                Ok(runtime) => pollster::block_on(check(&runtime, &golden)),
                Err(e) if e.kind() == ErrorKind::NoWebgpu => println!("skipped: {e}"),
                Err(e) => panic!("{e}"),
            }
        })*

        #[test]
        fn every_model_is_listed() {
            assert_eq!([$(stringify!($name)),*], golden::ONNX_MODELS);
        }
    };
}

models!(
    blazeface_front_128,
    blazeface_back_256,
    mlsd_320_tiny,
    mlsd_512_tiny,
    ppocr_cls,
    ppocr_det,
    ppocr_rec,
    sinet_portrait_320,
    yolox_nano_416
);
