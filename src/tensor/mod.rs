//! The identity card of a tensor: shape, element type, strides (or layout), device. All four, always.

mod card;
mod data;
mod desc;
mod dtype;
mod shape;
mod view;

pub use card::{Card, Check, Condition, Item, Reach, Verdict, check, conversion};
pub use data::{Data, Tensor};
pub use desc::{Device, Layout, TensorDesc, TensorType};
pub use dtype::{DType, Element};
pub use shape::Shape;
pub use view::View;
