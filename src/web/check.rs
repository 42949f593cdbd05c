//! `check`: what a page hands in held against an input's identity card, without running anything.

use super::error::thrown;
use super::js::json;
use super::runtime::RuntimeHandle;
use super::tensors::WebFeed;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{Card, Check, Reach, TensorDesc, check};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
impl RuntimeHandle {
    /// Holds `value`, as a run would take it, against `port`, an identity card as JSON; `takes_frames` says that it has a
    /// pre-processing. `known` is what the package knows of a GPU object: `here`, `elsewhere` for another device's, `in-place` for
    /// the memory that a request reads. Gives JSON `{ shape, dtype, strides, device, verdict }`.
    ///
    /// # Errors
    /// `bad-source` for what can be no input at all.
    pub fn check(
        &self,
        value: &JsValue,
        port: &str,
        takes_frames: bool,
        known: &str,
    ) -> std::result::Result<String, JsValue> {
        let known = match known {
            "elsewhere" => Reach::OtherDevice,
            "in-place" => Reach::InPlace,
            _ => Reach::SameDevice,
        };
        let checked = || -> Result<Check> {
            let port: TensorDesc = serde_json::from_str(port)
                .map_err(|e| Error::new(ErrorKind::BadSource, format!("the port is no identity card: {e}")))?;
            let feed = WebFeed::of(value, true)?;
            Ok(check(&feed.card(&port)?, &port, feed.reach(known), takes_frames))
        };
        checked().map(|check| json(&check)).map_err(|e| thrown(&e))
    }
}

/// Holds what `runtime.tensor()` is given against the rules: all four parts are said (`card` is JSON `{ shape?, dtype?, strides?,
/// layout?, device? }`), and the memory of `value` holds what they say. Gives the card whole, as JSON.
///
/// # Errors
/// `shape-mismatch`, `dtype-mismatch`, `layout-mismatch` or `device-mismatch` for a part that is missing or wrong.
#[wasm_bindgen(js_name = completeCard)]
pub fn complete_card(card: &str, value: &JsValue) -> std::result::Result<String, JsValue> {
    let complete = || -> Result<TensorDesc> {
        let card: Card = serde_json::from_str(card)
            .map_err(|e| Error::new(ErrorKind::BadSource, format!("it is no identity card: {e}")).at("tensor()"))?;
        let card = card.complete("")?;
        WebFeed::of(value, true).map_err(|e| e.at("tensor()"))?;
        Ok(card)
    };
    complete().map(|card| json(&card)).map_err(|e| thrown(&e))
}
