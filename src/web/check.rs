//! `check`: what a page hands in held against an input's identity card, without running anything.

use super::error::thrown;
use super::js::json;
use super::runtime::RuntimeHandle;
use super::tensors::WebFeed;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{Card, Check, TensorDesc, check};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
impl RuntimeHandle {
    /// Holds `value`, as a run would take it, against `port`, an identity card as JSON. `takes_frames` says that the port has a
    /// pre-processing. Gives JSON `{ shape, dtype, strides, device, verdict }`.
    ///
    /// # Errors
    /// `bad-source` for what can be no input at all.
    pub fn check(&self, value: &JsValue, port: &str, takes_frames: bool) -> std::result::Result<String, JsValue> {
        let device = self.device();
        let checked = || -> Result<Check> {
            let port: TensorDesc = serde_json::from_str(port)
                .map_err(|e| Error::new(ErrorKind::BadSource, format!("the port is no identity card: {e}")))?;
            let feed = WebFeed::of(value, true)?;
            Ok(check(&feed.card(&port)?, &port, feed.reach(&device), takes_frames))
        };
        checked().map(|check| json(&check)).map_err(|e| thrown(&e))
    }
}

/// Completes an identity card, JSON `{ shape?, dtype?, strides?, layout?, device? }`: gives it whole, as JSON, or throws what is
/// missing.
///
/// # Errors
/// `shape-mismatch`, `dtype-mismatch`, `layout-mismatch` or `device-mismatch` for a missing part.
#[wasm_bindgen(js_name = completeCard)]
pub fn complete_card(card: &str) -> std::result::Result<String, JsValue> {
    let card: Card = serde_json::from_str(card)
        .map_err(|e| thrown(&Error::new(ErrorKind::BadSource, format!("it is no identity card: {e}"))))?;
    card.complete("tensor").map(|card| json(&card)).map_err(|e| thrown(&e))
}
