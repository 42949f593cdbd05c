//! What stands before and behind the model: a picture's way in, and the short result's way out.
//!
//! A pre-processing belongs to a model input ([`Image`] becomes one [`crate::ops::Preprocess`]); whoever runs the model hands
//! in a frame or a tensor. A post-processing is a chain of nodes appended to the graph, so that the planner, the inspector and
//! the ledger see it like any other layer.

mod anchors;
mod detections;
mod image;
mod postprocess;

pub use anchors::{Anchors, Grid};
pub use detections::Detections;
pub use image::{Image, ImageStep};
pub use postprocess::Postprocess;
pub(crate) use postprocess::output_named;
