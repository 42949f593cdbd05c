//! The JavaScript face of the crate: the only place that knows wasm-bindgen.
//!
//! The exports are made for the thin TypeScript of the package: options and reports cross as JSON, tensors as typed
//! arrays, frames as the browser's own objects, errors as `{ kind, message, where?, hint? }`.

mod ahead;
mod buffers;
mod check;
mod engine;
mod error;
mod frames;
mod js;
mod model;
mod runtime;
mod tensors;
mod webgpu;

pub use check::complete_card;
pub use engine::{CancelHandle, EngineHandle, LeaseHandle, LoadedHandle, PoolHandle, RequestHandle};
pub use model::stated_inputs;
pub use runtime::{RuntimeHandle, compile};

use wasm_bindgen::prelude::wasm_bindgen;

/// The crate's version, as in `Cargo.toml`.
#[must_use]
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
