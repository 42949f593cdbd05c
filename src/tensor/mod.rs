//! The identity card of a tensor: shape, element type, strides (or layout), device. All four, always.

mod data;
mod desc;
mod dtype;
mod shape;

pub use data::{Data, Tensor};
pub use desc::{Device, Layout, TensorDesc, TensorType};
pub use dtype::{DType, Element};
pub use shape::Shape;
