//! frameway: a neural-network runtime for the browser.
//!
//! ```text
//! model file ── import ──▶ Graph ── passes ──▶ Graph ── plan ──▶ Plan
//!                                                 └──── lower ──▶ Recording
//! Engine = Recording + weights + report   (compiled without a GPU)
//! Runtime ── load ──▶ requests, each with one arena
//!
//! <video> ── texture ── preprocess ─▶ arena ─▶ … ─▶ decode ─▶ compact result ── read back
//! ```

pub mod error;
pub mod heap;
pub mod tensor;

pub mod graph;
pub mod ops;

pub mod import;
pub mod passes;
pub mod pipeline;

pub mod plan;

pub mod kernels;
pub mod lower;
pub mod recording;

pub mod engine;
pub mod runtime;

#[cfg(target_arch = "wasm32")]
pub mod web;

pub use error::{Error, ErrorKind, Result};

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static HEAP: heap::Counting = heap::Counting;
