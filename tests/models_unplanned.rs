//! The golden models in a planned arena full of NaN, and with memory of its own for every tensor: the same bits.
//!
//! `FRAMEWAY_LAYERS=1 cargo test --test models_unplanned NAME -- --nocapture` prints the time of each layer.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/execute.rs"]
mod execute;
#[path = "common/golden.rs"]
mod golden;

use execute::Gpu;
use frameway::import::{ImportOptions, import};
use frameway::lower::{LowerOptions, Lowered, lower};
use frameway::passes::{PassOptions, optimize};
use frameway::tensor::{Tensor, TensorType};
use golden::Golden;

fn check(name: &str) {
    let (Some(golden), Some(gpu)) = (Golden::load(name), Gpu::open()) else { return };
    let shapes = golden.inputs.iter().map(|(n, t)| (n.clone(), t.shape().to_vec())).collect();
    let mut graph = import(&golden.model, None, &ImportOptions { shapes }).expect(name);
    optimize(&mut graph, &PassOptions::default()).expect(name);
    let feeds: Vec<Tensor> = golden.inputs.iter().map(|(_, t)| t.clone()).collect();
    let types: Vec<TensorType> = golden.outputs.iter().map(|(_, t)| t.ty()).collect();
    let options = LowerOptions { limits: gpu.limits.clone(), ..LowerOptions::default() };
    let planned = lower(&graph, &options).expect(name);
    let apart = lower(&graph, &LowerOptions { share: false, ..options }).expect(name);
    let loaded = gpu.load(&planned);
    let first = loaded.run(&feeds, &types);
    let alone = gpu.load(&apart).run(&feeds, &types);
    for (i, output) in first.iter().enumerate() {
        let error = golden.error(i, &output.to_f32());
        println!("{name} output {i}: {error:.4} of the tolerance");
        assert!(error <= 1.0, "{name}: output {i} is off by {error:.2} times the tolerance");
        assert!(output.data().as_bytes() == alone[i].data().as_bytes(), "{name}: output {i} depends on the plan");
    }
    println!("{name}: {}", figures(&planned));
    if std::env::var_os("FRAMEWAY_LAYERS").is_some() {
        println!("{name}: median of 5 runs {:.1} ms", loaded.time(5).as_secs_f64() * 1e3);
        let times = loaded.time_layers(5);
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(times[i]));
        for i in order.into_iter().take(40) {
            let layer = &planned.layers[i];
            let shape = |t: &frameway::lower::LayerTensor| format!("{}", t.shape);
            let inputs: Vec<_> = layer.inputs.iter().map(shape).collect();
            let outputs: Vec<_> = layer.outputs.iter().map(shape).collect();
            let ms = times[i].as_secs_f64() * 1e3;
            println!("{ms:8.3} ms  {}  {} -> {}", layer.kernel, inputs.join(" "), outputs.join(" "));
        }
    }
    assert!(planned.plan.bytes <= apart.plan.bytes);
}

fn figures(lowered: &Lowered) -> String {
    let dispatches: usize = lowered.layers.iter().map(|l| l.dispatches).sum();
    format!(
        "{} layers, {dispatches} dispatches, {} shaders; {}; weights {:.3} MiB",
        lowered.layers.len(),
        lowered.recording.shaders.len(),
        lowered.plan,
        lowered.recording.weights_bytes as f64 / f64::from(1 << 20)
    )
}

macro_rules! models {
    ($($name:ident),*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
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
