//! The few things of JavaScript that are used everywhere.

use super::error::thrown;
use crate::error::Result;
use js_sys::{Object, Promise, Reflect};
use serde_json::ser::{Formatter, Serializer};
use std::future::Future;
use std::io;
use std::pin::Pin;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen_futures::future_to_promise;

#[wasm_bindgen]
extern "C" {
    /// Milliseconds; the same in a window, a worker and Node.
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    pub(super) fn now() -> f64;
}

/// An object of the given fields.
pub(super) fn object(fields: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    for (name, value) in fields {
        // Setting a field of a fresh plain object cannot fail.
        let _ = Reflect::set(&object, &JsValue::from_str(name), value);
    }
    object.into()
}

/// A field; undefined where there is none or where there is no object.
pub(super) fn field(of: &JsValue, name: &str) -> JsValue {
    Reflect::get(of, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED)
}

/// A field that is a number.
pub(super) fn number(of: &JsValue, name: &str) -> Option<f64> {
    field(of, name).as_f64()
}

/// The class by which a platform object names itself: `HTMLVideoElement`, `Float32Array`.
pub(super) fn class(value: &JsValue) -> String {
    if !value.is_object() {
        return String::new();
    }
    Reflect::get(value, &js_sys::Symbol::to_string_tag().into())
        .ok()
        .and_then(|tag| tag.as_string())
        .unwrap_or_default()
}

/// A promise of what `future` gives. It owns all it needs: nothing stays borrowed while it waits.
pub(super) fn promise<T: Into<JsValue>>(future: impl Future<Output = Result<T>> + 'static) -> Promise {
    // Boxed, so that all promises share one type of future: each type brings 3 KB of wasm-bindgen's own code with it.
    let future: Pin<Box<dyn Future<Output = std::result::Result<JsValue, JsValue>>>> =
        Box::pin(async move { future.await.map(Into::into).map_err(|e| thrown(&e)) });
    future_to_promise(future)
}

/// JSON in which fractions are written by Rust's own formatter: serde_json's faster one has 10 KB of tables.
struct Compact;

impl Formatter for Compact {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write!(writer, "{value}")
    }

    fn write_f32<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        write!(writer, "{value}")
    }
}

/// A report as JSON.
pub(super) fn json(report: &impl serde::Serialize) -> String {
    let mut text = Vec::new();
    // The reports are plain structs with string keys: they always serialise, and as UTF-8.
    match report.serialize(&mut Serializer::with_formatter(&mut text, Compact)) {
        Ok(()) => String::from_utf8(text).unwrap_or_default(),
        Err(_) => String::new(),
    }
}
