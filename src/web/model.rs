//! What a model's file says of itself, read without compiling it.

use super::error::thrown;
use super::js::json;
use crate::import::{self, Dim};
use crate::tensor::DType;
use serde::Serialize;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[derive(Serialize)]
struct StatedInput {
    name: String,
    dtype: DType,
    /// A number where the file fixes the dimension; a name, or null, where it does not. Absent where not even their number is
    /// stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    dims: Option<Vec<StatedDim>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum StatedDim {
    Fixed(usize),
    Symbolic(String),
    Unknown(()),
}

/// The inputs as the file states them: JSON, an array of `{ name, dtype, dims? }`.
///
/// # Errors
/// `invalid-model` for a damaged or foreign file.
#[wasm_bindgen(js_name = statedInputs)]
pub fn stated_inputs(bytes: &[u8]) -> Result<String, JsValue> {
    let summary = import::summary(bytes, None).map_err(|e| thrown(&e.or_at("model")))?;
    let dim = |d: Dim| match d {
        Dim::Fixed(n) => StatedDim::Fixed(n),
        Dim::Symbolic(name) => StatedDim::Symbolic(name),
        Dim::Unknown => StatedDim::Unknown(()),
    };
    let inputs: Vec<StatedInput> = summary
        .inputs
        .into_iter()
        .map(|p| StatedInput {
            name: p.name,
            dtype: p.dtype,
            dims: p.dims.map(|dims| dims.into_iter().map(dim).collect()),
        })
        .collect();
    Ok(json(&inputs))
}
