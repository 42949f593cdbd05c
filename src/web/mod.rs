//! The JavaScript face of the crate: the only place that knows wasm-bindgen.

use wasm_bindgen::prelude::wasm_bindgen;

/// The crate's version, as in `Cargo.toml`.
#[must_use]
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
