//! Tests that run in headless Chromium, on a real WebGPU device:
//! `npm test`, or `wasm-pack test --headless --chrome --test browser`.
#![cfg(target_arch = "wasm32")]

mod device;
mod files;
mod kernels;
mod models;
#[path = "../common/npy.rs"]
mod npy;
mod onnx;
#[path = "../common/operators.rs"]
mod operators;
mod page;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
