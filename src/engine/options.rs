//! What a page may say about compiling, as it arrives: JSON in the words of the public contract.

use crate::error::{Error, ErrorKind, Result};
use crate::pipeline::{Image, Postprocess};
use serde::{Deserialize, Deserializer, de};
use std::collections::BTreeMap;
use std::fmt;

/// Bytes of a memory pool: a number, or a text with a unit (`"8MiB"`, `"64 KiB"`, `"1GB"`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Reads `"8MiB"`; binary units (KiB, MiB, GiB) count 1024, decimal ones (KB, MB, GB) 1000.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let factor = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1.0,
            "kib" => 1024.0,
            "mib" => 1024.0 * 1024.0,
            "gib" => 1024.0 * 1024.0 * 1024.0,
            "kb" => 1e3,
            "mb" => 1e6,
            "gb" => 1e9,
            _ => return None,
        };
        // JSON's numbers: their parser is there already, the standard library's would bring a table of 10 KiB.
        let bytes = serde_json::from_str::<f64>(number).ok()? * factor;
        (bytes.is_finite() && bytes >= 0.0 && bytes < 2f64.powi(53)).then_some(Self(bytes as u64))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(BytesVisitor)
    }
}

struct BytesVisitor;

impl de::Visitor<'_> for BytesVisitor {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size in bytes, or a text such as \"8MiB\"")
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> std::result::Result<Bytes, E> {
        self.visit_str(&bytes.to_string())
    }

    fn visit_f64<E: de::Error>(self, bytes: f64) -> std::result::Result<Bytes, E> {
        self.visit_str(&bytes.to_string())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Bytes, E> {
        Bytes::parse(text).ok_or_else(|| E::custom(format!("{text:?} is no size; write bytes, or \"8MiB\"")))
    }
}

/// Most bytes of each pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemoryLimits {
    /// The arena of each request.
    pub activations: Option<Bytes>,
    /// Scratch of a kernel, part of the arena.
    pub workspace: Option<Bytes>,
    /// Weights, shared by all requests.
    pub weights: Option<Bytes>,
    /// Buffers for reading back, of each request.
    pub staging: Option<Bytes>,
}

/// What happens at a copy or re-layout that nobody asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Copies {
    /// It is done and entered in the ledger.
    #[default]
    Report,
    /// It is an error that names the edge.
    Strict,
}

/// Where an output is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// Read back.
    #[default]
    Cpu,
    /// Left in the arena.
    Gpu,
}

/// One or several post-processings.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(transparent)]
pub struct PostprocessList(pub Vec<Postprocess>);

/// Options of `runtime.compile`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CompileOptions {
    /// `onnx`, `tflite` or `plan`; found out from the bytes when absent.
    pub format: Option<String>,
    /// Shapes of inputs with dynamic dimensions.
    pub shapes: BTreeMap<String, Vec<usize>>,
    /// How a frame becomes an input.
    pub preprocess: BTreeMap<String, Image>,
    /// What happens to the outputs on the GPU.
    pub postprocess: PostprocessList,
    /// Limits of the memory pools.
    pub limits: MemoryLimits,
    /// Treatment of implicit copies.
    pub copies: Copies,
    /// `float32`, `float16` or `auto`.
    pub precision: Option<String>,
    /// Where each output is wanted.
    pub outputs: BTreeMap<String, Keep>,
    /// The model's name for reports; the file's own when absent.
    pub name: Option<String>,
}

impl CompileOptions {
    /// Reads the options of a page.
    pub fn from_json(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|e| {
            Error::new(ErrorKind::BadSource, format!("the compile options cannot be read: {e}")).at("compile options")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let parse = |t| Bytes::parse(t).map(|b| b.0);
        assert_eq!(parse("8MiB"), Some(8 << 20));
        assert_eq!(parse(" 64 KiB"), Some(64 << 10));
        assert_eq!(parse("1.5kb"), Some(1500));
        assert_eq!(parse("123"), Some(123));
        assert_eq!(parse("lots"), None);
        assert_eq!(parse("-1"), None);
    }

    #[test]
    fn reads_the_public_words() {
        let options = CompileOptions::from_json(
            r#"{"shapes":{"x":[1,3,8,8]},"copies":"strict","limits":{"activations":"8MiB","weights":1000},
                "preprocess":{"x":[{"color":{"order":"bgr"}}]},"outputs":{"y":"gpu"},
                "postprocess":[{"softmax":{}}]}"#,
        )
        .unwrap();
        assert_eq!(options.limits.activations, Some(Bytes(8 << 20)));
        assert_eq!(options.copies, Copies::Strict);
        assert_eq!(options.outputs["y"], Keep::Gpu);
        assert!(CompileOptions::from_json(r#"{"shape":{}}"#).unwrap_err().to_string().contains("shape"));
    }
}
