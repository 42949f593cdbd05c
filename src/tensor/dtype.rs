use half::f16;
use serde::{Deserialize, Serialize};

/// Element types, named by WebNN's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum DType {
    #[serde(rename = "float32")]
    F32,
    #[serde(rename = "float16")]
    F16,
    #[serde(rename = "int32")]
    I32,
    #[serde(rename = "uint32")]
    U32,
    #[serde(rename = "int64")]
    I64,
    #[serde(rename = "uint8")]
    U8,
    #[serde(rename = "int8")]
    I8,
    #[serde(rename = "bool")]
    Bool,
}

impl DType {
    /// Bytes of one element in host memory.
    pub const fn bytes(self) -> usize {
        match self {
            Self::I64 => 8,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 => 2,
            Self::U8 | Self::I8 | Self::Bool => 1,
        }
    }

    /// Bytes of one element in GPU memory: 8-bit types and bool widen to 32 bits, int64 narrows to int32.
    pub const fn gpu_bytes(self) -> usize {
        match self {
            Self::F16 => 2,
            _ => 4,
        }
    }

    /// WebNN's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::F32 => "float32",
            Self::F16 => "float16",
            Self::I32 => "int32",
            Self::U32 => "uint32",
            Self::I64 => "int64",
            Self::U8 => "uint8",
            Self::I8 => "int8",
            Self::Bool => "bool",
        }
    }

    /// Reads WebNN's word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::F32, Self::F16, Self::I32, Self::U32, Self::I64, Self::U8, Self::I8, Self::Bool]
            .into_iter()
            .find(|t| t.as_str() == word)
    }

    /// True for float16 and float32.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16)
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A Rust type that is the element of a [`super::Tensor`]. Bool is not one: it is stored as `u8` under [`DType::Bool`].
pub trait Element: bytemuck::Pod + PartialEq + std::fmt::Debug {
    /// The matching element type.
    const DTYPE: DType;
}

macro_rules! element {
    ($($t:ty => $d:ident),*) => { $(impl Element for $t { const DTYPE: DType = DType::$d; })* };
}
element!(f32 => F32, f16 => F16, i32 => I32, u32 => U32, i64 => I64, u8 => U8, i8 => I8);
