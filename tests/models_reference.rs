//! The golden models on the CPU reference: importer and operators' references agree with onnxruntime.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/golden.rs"]
mod golden;

use frameway::import::{ImportOptions, import};
use golden::Golden;
use std::time::Instant;

fn check(name: &str) {
    let Some(golden) = Golden::load(name) else { return };
    let shapes = golden.inputs.iter().map(|(n, t)| (n.clone(), t.shape().to_vec())).collect();
    let graph = import(&golden.model, None, &ImportOptions { shapes }).expect(name);
    let feeds: Vec<_> = golden.inputs.iter().map(|(_, t)| t.clone()).collect();
    let start = Instant::now();
    let outputs = graph.evaluate(&feeds).expect(name);
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(outputs.len(), golden.outputs.len());
    for (i, output) in outputs.iter().enumerate() {
        assert_eq!(output.shape(), golden.outputs[i].1.shape(), "{name}: shape of output {i}");
        let error = golden.error(i, &output.to_f32());
        println!("{name} output {i}: {error:.4} of the tolerance, {seconds:.1} s");
        assert!(error <= 1.0, "{name}: output {i} is off by {error:.2} times the tolerance");
    }
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
