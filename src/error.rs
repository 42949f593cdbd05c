//! The one error type of the crate: a kind from a closed list, a message, the place, and what to do about it.

use std::fmt;

/// What went wrong, as a closed list; the strings are part of the public contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The model uses an operator, or a form of one, that no kernel serves.
    UnsupportedOp,
    /// The file is not a model, is damaged, or contradicts itself.
    InvalidModel,
    /// A shape does not fit where it was put.
    ShapeMismatch,
    /// An element type does not fit where it was put.
    DtypeMismatch,
    /// A buffer lives on another device.
    DeviceMismatch,
    /// Strides or layout differ and converting was forbidden.
    LayoutMismatch,
    /// A memory pool would exceed its limit.
    MemoryLimit,
    /// The request is still running.
    Busy,
    /// The output was overwritten by a later run.
    StaleOutput,
    /// The caller canceled.
    Canceled,
    /// The GPU device was lost.
    DeviceLost,
    /// This browser or machine offers no WebGPU.
    NoWebgpu,
    /// The frame, URL or buffer handed in cannot be used.
    BadSource,
    /// A plan file does not fit this build, device or model.
    PlanMismatch,
    /// The object was closed.
    Closed,
}

impl ErrorKind {
    /// The word used in JavaScript and in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnsupportedOp => "unsupported-op",
            Self::InvalidModel => "invalid-model",
            Self::ShapeMismatch => "shape-mismatch",
            Self::DtypeMismatch => "dtype-mismatch",
            Self::DeviceMismatch => "device-mismatch",
            Self::LayoutMismatch => "layout-mismatch",
            Self::MemoryLimit => "memory-limit",
            Self::Busy => "busy",
            Self::StaleOutput => "stale-output",
            Self::Canceled => "canceled",
            Self::DeviceLost => "device-lost",
            Self::NoWebgpu => "no-webgpu",
            Self::BadSource => "bad-source",
            Self::PlanMismatch => "plan-mismatch",
            Self::Closed => "closed",
        }
    }
}

impl ErrorKind {
    /// What helps in most cases: the hint of errors that know no better.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::UnsupportedOp => {
                "`npx frameway inspect MODEL` lists every operator that is not served; export the model without them"
            }
            Self::InvalidModel => {
                "check that the file is complete and an ONNX model; `npx frameway inspect MODEL` reads it without a GPU"
            }
            Self::ShapeMismatch => {
                "compare with the shapes in engine.inputs; another shape needs another compile() with `shapes`"
            }
            Self::DtypeMismatch => "compare with the dtypes in engine.inputs, and hand in the typed array of that type",
            Self::DeviceMismatch => "use one GPUDevice: runtime.device, or your own in Runtime.create({ device })",
            Self::LayoutMismatch => "hand in a contiguous row-major tensor, or compile with copies: \"report\"",
            Self::MemoryLimit => "use a smaller input shape, or close engines and requests that are no longer needed",
            Self::Busy => "await the run before, or acquire another request",
            Self::StaleOutput => "read outputs before the next run, or keep a copy with detach()",
            Self::Canceled => "call it again when its result is wanted",
            Self::DeviceLost => "make a new Runtime and compile again",
            Self::NoWebgpu => "use a browser with WebGPU, over https or from localhost",
            Self::BadSource => "look at the options and sources in the package's types: index.d.ts",
            Self::PlanMismatch => "compile the model again with this version",
            Self::Closed => "make a new one",
        }
    }
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error with its kind, the place it concerns and, where one is known, the way out.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    message: String,
    place: Option<String>,
    hint: Option<String>,
}

impl Error {
    /// An error of `kind` that says `message`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), place: None, hint: None }))
    }

    /// Names the place: a node, an input, an edge. The innermost place stays in front.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.0.place = Some(match self.0.place.take() {
            Some(inner) => format!("{inner} in {place}"),
            None => place.to_string(),
        });
        self
    }

    /// Names the place where none is named yet.
    #[must_use]
    pub fn or_at(self, place: impl fmt::Display) -> Self {
        if self.0.place.is_some() { self } else { self.at(place) }
    }

    /// Says what the caller can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Which of the closed list it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What happened, without place and hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The place it concerns.
    pub fn place(&self) -> Option<&str> {
        self.0.place.as_deref()
    }

    /// What the caller can do.
    pub fn advice(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.0.kind.as_str())?;
        if let Some(place) = &self.0.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.0.message)?;
        if let Some(hint) = &self.0.hint {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_kind_place_message_and_hint() {
        let e = Error::new(ErrorKind::ShapeMismatch, "expected 3, got 4")
            .at("input \"x\"")
            .at("model m")
            .hint("pass shapes");
        assert_eq!(e.to_string(), "shape-mismatch: input \"x\" in model m: expected 3, got 4 (pass shapes)");
        assert_eq!(e.clone().or_at("elsewhere"), e);
        assert_eq!(Error::new(ErrorKind::Busy, "it runs").or_at("request").place(), Some("request"));
    }
}
