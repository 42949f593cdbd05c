//! What the package calls: the wasm exports, used from JavaScript's side of the border.

use super::onnx::multiply;
use frameway::web::{RuntimeHandle, compile};
use js_sys::{Array, Float32Array, Function, Object, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen(module = "/tests/browser/sources.js")]
extern "C" {
    #[wasm_bindgen(js_name = makeSource)]
    async fn make_source(kind: &str, width: u32, height: u32) -> JsValue;
    fn pixels(width: u32, height: u32) -> js_sys::Uint8ClampedArray;
    #[wasm_bindgen(js_name = makeDevice)]
    async fn make_device() -> JsValue;
    #[wasm_bindgen(js_name = makeBuffer)]
    fn make_buffer(device: &JsValue, values: &Float32Array, offset: u32) -> JsValue;
    #[wasm_bindgen(js_name = readBuffer)]
    async fn read_buffer(device: &JsValue, buffer: &JsValue, offset: f64, bytes: f64) -> JsValue;
}

/// A field that must be there.
pub fn get(of: &JsValue, name: &str) -> JsValue {
    Reflect::get(of, &name.into()).expect("a field")
}

fn call(of: &JsValue, name: &str, arguments: &[JsValue]) -> Result<JsValue, JsValue> {
    let function: Function = get(of, name).dyn_into().unwrap_or_else(|_| panic!("{name} is a method"));
    function.apply(of, &arguments.iter().collect::<Array>())
}

/// Calls and awaits.
pub async fn ask(of: &JsValue, name: &str, arguments: &[JsValue]) -> Result<JsValue, JsValue> {
    JsFuture::from(call(of, name, arguments)?.unchecked_into::<Promise>()).await
}

/// A report, parsed.
pub fn report(of: &JsValue, name: &str) -> serde_json::Value {
    let text = call(of, name, &[]).expect("a report").as_string().expect("a text");
    serde_json::from_str(&text).expect("JSON")
}

fn kind(error: &JsValue) -> String {
    get(error, "kind").as_string().unwrap_or_else(|| format!("{error:?}"))
}

fn feeds(value: &JsValue) -> JsValue {
    let object = Object::new();
    Reflect::set(&object, &"x".into(), value).expect("a plain object");
    object.into()
}

/// The values of a Float32Array.
pub fn floats(values: &JsValue) -> Vec<f32> {
    values.clone().dyn_into::<Float32Array>().expect("a Float32Array").to_vec()
}

/// A `RuntimeHandle`.
pub async fn runtime() -> JsValue {
    JsFuture::from(RuntimeHandle::create(String::new(), JsValue::UNDEFINED)).await.expect("a device")
}

/// An engine that multiplies, its options as JSON.
async fn load(runtime: &JsValue, shape: &[u64], factor: f32, options: &str) -> JsValue {
    let engine = compile(multiply(shape, factor), options, None).expect("it compiles");
    ask(runtime, "load", &[engine.into()]).await.expect("it loads")
}

async fn run(engine: &JsValue, value: &JsValue) -> Result<Vec<f32>, JsValue> {
    let result = ask(engine, "run", &[feeds(value)]).await?;
    Ok(floats(&get(&get(&result, "outputs"), "0")))
}

fn edge<'a>(ledger: &'a serde_json::Value, id: &str) -> Option<&'a serde_json::Value> {
    ledger["edges"].as_array().expect("edges").iter().find(|e| e["id"] == id)
}

/// No error of the GPU went by unseen, and nothing is left.
pub async fn finish(runtime: &JsValue) {
    assert_eq!(report(runtime, "errors"), serde_json::json!([]));
    ask(runtime, "close", &[]).await.expect("it closes");
    assert_eq!(report(runtime, "memory")["gpu"]["total"], 0);
}

#[wasm_bindgen_test]
async fn arrays_in_arrays_out() {
    let runtime = runtime().await;
    let adapter: serde_json::Value =
        serde_json::from_str(&get(&runtime, "adapter").as_string().expect("a text")).expect("JSON");
    assert_eq!(adapter["isFallback"], true, "{adapter}");
    let engine = load(&runtime, &[4], 2.0, "{}").await;
    let x = Float32Array::from([1.0, 2.0, 3.0, -4.0].as_slice());
    assert_eq!(run(&engine, &x).await.expect("it runs"), [2.0, 4.0, 6.0, -8.0]);

    let ledger = report(&runtime, "ledger");
    // Straight from the JavaScript heap: no stop in the wasm heap.
    assert_eq!(edge(&ledger, "javascript>input:upload").expect("the feed")["bytes"], 16);
    assert_eq!(edge(&ledger, "staging>javascript:readback").expect("the result")["bytes"], 16);
    assert_eq!(ledger["frames"], 1);
    finish(&runtime).await;
}

#[wasm_bindgen_test]
async fn three_stages_agree_bit_for_bit() {
    let runtime = runtime().await;
    let engine = load(&runtime, &[5], 0.1, "{}").await;
    let x = Float32Array::from([1.0, 0.3, -7.7, 1e-30, 3.0e30].as_slice());
    let first = run(&engine, &x).await.expect("it runs");

    let tensor = Object::new();
    for (name, value) in
        [("data", x.clone().into()), ("shape", Array::of1(&5.into()).into()), ("dtype", "float32".into())]
    {
        Reflect::set(&tensor, &name.into(), &value).expect("a plain object");
    }
    assert_eq!(run(&engine, &tensor).await.expect("it runs"), first);

    let pool = ask(&engine, "requests", &[2.into()]).await.expect("arenas");
    let request = ask(&pool, "acquire", &[]).await.expect("it is free");
    let lease = ask(&request, "run", &[feeds(&x)]).await.expect("it runs");
    let view = call(&lease, "read", &[0.into()]).expect("it is fresh");
    assert_eq!(floats(&view), first);

    let warm = report(&runtime, "ledger");
    for _ in 0..100 {
        ask(&request, "run", &[feeds(&x)]).await.expect("it runs");
    }
    let after = report(&runtime, "ledger");
    for counter in ["buffersCreated", "bindGroupsCreated", "texturesCreated"] {
        assert_eq!(warm[counter], after[counter], "{counter}");
    }
    // The view is emptied rather than wrong, and asking again is an error.
    assert_eq!(view.unchecked_into::<Float32Array>().length(), 0);
    assert_eq!(kind(&call(&lease, "read", &[0.into()]).expect_err("stale")), "stale-output");
    finish(&runtime).await;
}

#[wasm_bindgen_test]
async fn every_source_gives_the_same_pixels() {
    let (width, height) = (24u32, 16u32);
    let runtime = runtime().await;
    let engine = load(&runtime, &[1, 3, height.into(), width.into()], 255.0, "{}").await;
    let rgba = pixels(width, height).to_vec();
    let area = (width * height) as usize;
    let want: Vec<f32> = (0..3 * area).map(|i| rgba[i % area * 4 + i / area].into()).collect();
    let cases = [
        ("imagedata", "javascript"),
        ("bitmap", "javascript"),
        ("image", "javascript"),
        ("canvas", "canvas"),
        ("offscreencanvas", "canvas"),
        ("videoframe", "video"),
    ];
    for external in [false, true] {
        call(&engine, "setExternalTextures", &[external.into()]).expect("a switch");
        for (source, place) in cases {
            let before = report(&runtime, "ledger");
            let picture = make_source(source, width, height).await;
            let got = run(&engine, &picture).await.unwrap_or_else(|e| panic!("{source}: {e:?}"));
            let worst = got.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst <= 1.01, "{source}, external {external}: off by {worst} levels");

            let after = report(&runtime, "ledger");
            let in_place = external && source == "videoframe";
            let word = if in_place { "reference" } else { "copy" };
            let id = format!("{place}>texture:{word}");
            let count =
                |ledger: &serde_json::Value| edge(ledger, &id).map_or(0, |e| e["count"].as_u64().expect("a number"));
            assert_eq!(count(&after), count(&before) + 1, "{source}, external {external}: {id}");
            let bytes = if in_place { 0 } else { width * height * 4 };
            assert_eq!(edge(&after, &id).expect("the frame")["bytesPerFrame"], bytes, "{id}");
        }
    }
    finish(&runtime).await;
}

#[wasm_bindgen_test]
async fn a_video_is_read_in_place_and_makes_one_bind_group_a_frame() {
    let runtime = runtime().await;
    let engine = load(&runtime, &[1, 3, 8, 8], 255.0, "{}").await;
    let video = make_source("video", 64, 48).await;
    let grey = |got: Vec<f32>| assert!(got.iter().all(|v| (v - 128.0).abs() <= 4.0), "{got:?}");
    grey(run(&engine, &video).await.expect("it runs"));
    let warm = report(&runtime, "ledger");
    for _ in 0..10 {
        grey(run(&engine, &video).await.expect("it runs"));
    }
    let after = report(&runtime, "ledger");
    assert_eq!(edge(&after, "video>texture:reference").expect("in place")["count"], 11);
    assert_eq!(after["buffersCreated"], warm["buffersCreated"]);
    assert_eq!(after["texturesCreated"], 0);
    let groups = |l: &serde_json::Value| l["bindGroupsCreated"].as_u64().expect("a number");
    assert_eq!(groups(&after), groups(&warm) + 10);

    call(&engine, "setExternalTextures", &[false.into()]).expect("a switch");
    grey(run(&engine, &video).await.expect("it runs"));
    let warm = report(&runtime, "ledger");
    for _ in 0..10 {
        grey(run(&engine, &video).await.expect("it runs"));
    }
    let after = report(&runtime, "ledger");
    assert_eq!(edge(&after, "video>texture:copy").expect("copied")["bytesPerFrame"], 64 * 48 * 4);
    for counter in ["buffersCreated", "bindGroupsCreated", "texturesCreated"] {
        assert_eq!(warm[counter], after[counter], "{counter}");
    }
    finish(&runtime).await;
}

#[wasm_bindgen_test]
async fn what_cannot_be_read_says_why() {
    let runtime = runtime().await;
    let engine = load(&runtime, &[1, 3, 8, 8], 1.0, "{}").await;
    for source in ["closedframe", "emptyvideo"] {
        let picture = make_source(source, 8, 8).await;
        let error = run(&engine, &picture).await.expect_err(source);
        assert_eq!(kind(&error), "bad-source", "{source}");
        assert!(get(&error, "hint").is_string() && get(&error, "where") == "input \"x\"", "{source}: {error:?}");
    }
    let cases: [(JsValue, &str); 6] = [
        (Array::of1(&1.into()).into(), "bad-source"),
        ("text".into(), "bad-source"),
        (JsValue::NULL, "bad-source"),
        (js_sys::Float64Array::new_with_length(192).into(), "bad-source"),
        (js_sys::Int32Array::new_with_length(192).into(), "dtype-mismatch"),
        (Float32Array::new_with_length(191).into(), "shape-mismatch"),
    ];
    for (value, want) in cases {
        assert_eq!(kind(&run(&engine, &value).await.expect_err(want)), want, "{value:?}");
    }
    assert_eq!(kind(&ask(&engine, "run", &[JsValue::from(7)]).await.expect_err("no object")), "bad-source");
    finish(&runtime).await;
}

#[wasm_bindgen_test]
async fn the_pages_own_device_and_buffers() {
    let device = make_device().await;
    let created = RuntimeHandle::create(String::new(), device.clone());
    let runtime = JsFuture::from(created).await.expect("a shared device");
    assert_eq!(get(&runtime, "device"), device);
    // Others get devices of their own, as ever.
    assert_ne!(make_device().await, device);

    let engine = load(&runtime, &[4], 3.0, r#"{"outputs":{"y":"gpu"}}"#).await;
    let values = Float32Array::from([1.0, 2.0, 3.0, 4.0].as_slice());
    let tensor = Object::new();
    let fields: [(&str, JsValue); 4] = [
        ("buffer", make_buffer(&device, &values, 256)),
        ("offset", 16.into()),
        ("shape", Array::of1(&4.into()).into()),
        ("dtype", "float32".into()),
    ];
    for (name, value) in fields {
        Reflect::set(&tensor, &name.into(), &value).expect("a plain object");
    }
    let pool = ask(&engine, "requests", &[1.into()]).await.expect("an arena");
    let request = ask(&pool, "acquire", &[]).await.expect("it is free");
    let error = ask(&request, "run", &[feeds(&tensor)]).await.expect_err("it begins at no multiple of 256");
    assert_eq!(kind(&error), "layout-mismatch");
    Reflect::set(&tensor, &"offset".into(), &256.into()).expect("a plain object");
    let lease = ask(&request, "run", &[feeds(&tensor)]).await.expect("it runs");
    let at = call(&lease, "buffer", &[0.into()]).expect("it is fresh");
    let number = |name| get(&at, name).as_f64().expect("a number");
    let y = read_buffer(&device, &get(&at, "buffer"), number("offset"), number("bytes")).await;
    assert_eq!(floats(&y), [3.0, 6.0, 9.0, 12.0]);
    assert_eq!(report(&runtime, "ledger")["toCpuBytes"], 0);
    assert_eq!(kind(&call(&lease, "read", &[0.into()]).expect_err("on the GPU")), "device-mismatch");

    ask(&runtime, "close", &[]).await.expect("it closes");
    assert_eq!(report(&runtime, "memory")["gpu"]["total"], 0);
    // The page's device outlives the runtime.
    make_buffer(&device, &values, 0);
}

#[wasm_bindgen_test]
async fn waiting_cancelling_closing() {
    let runtime = runtime().await;
    let engine = load(&runtime, &[4], 2.0, "{}").await;
    let pool = ask(&engine, "requests", &[1.into()]).await.expect("an arena");
    let request = ask(&pool, "acquire", &[]).await.expect("it is free");
    let x: JsValue = Float32Array::new_with_length(4).into();

    let run = call(&request, "run", &[feeds(&x)]).expect("a promise");
    assert_eq!(kind(&ask(&request, "run", &[feeds(&x)]).await.expect_err("busy")), "busy");
    let lease = JsFuture::from(run.unchecked_into::<Promise>()).await.expect("it runs");

    let cancel: JsValue = frameway::web::CancelHandle::new().into();
    let waiting = call(&pool, "acquireUnless", std::slice::from_ref(&cancel)).expect("a promise");
    let next = call(&pool, "acquire", &[]).expect("a promise");
    call(&cancel, "cancel", &[]).expect("it is a call");
    let canceled = JsFuture::from(waiting.unchecked_into::<Promise>()).await.expect_err("canceled");
    assert_eq!(kind(&canceled), "canceled");
    call(&lease, "release", &[]).expect("it is a call");
    let second = JsFuture::from(next.unchecked_into::<Promise>()).await.expect("who waits gets it");

    // Closed in mid-run: the run ends well or says so, nothing is left behind.
    let in_flight = call(&second, "run", &[feeds(&x)]).expect("a promise");
    let closing = call(&engine, "close", &[]).expect("a promise");
    let ended = JsFuture::from(in_flight.unchecked_into::<Promise>()).await;
    JsFuture::from(closing.unchecked_into::<Promise>()).await.expect("it closes");
    if let Ok(lease) = ended {
        assert_eq!(kind(&call(&lease, "read", &[0.into()]).expect_err("closed")), "closed");
    }
    assert_eq!(report(&runtime, "memory")["gpu"]["total"], 0);
    assert_eq!(kind(&ask(&second, "run", &[feeds(&x)]).await.expect_err("closed")), "closed");
    finish(&runtime).await;
}
