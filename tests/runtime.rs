//! The runtime on a real device, natively; skipped with a line where the machine has none.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(not(target_arch = "wasm32"))]

#[path = "runtime/fixture.rs"]
mod fixture;
#[path = "runtime/frames.rs"]
mod frames;
#[path = "runtime/half.rs"]
mod half;
#[path = "runtime/limits.rs"]
mod limits;
#[path = "runtime/requests.rs"]
mod requests;
#[path = "runtime/runs.rs"]
mod runs;
#[path = "runtime/strided.rs"]
mod strided;
#[path = "runtime/tuning.rs"]
mod tuning;
#[path = "runtime/verify.rs"]
mod verify;
