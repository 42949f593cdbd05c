//! Places, and how bytes get from one to another.

use serde::Serialize;

/// A place where bytes lie, as the copy diagram draws it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// A camera's current frame, held by the browser.
    Camera,
    /// A video's current frame, held by the browser.
    Video,
    /// The JavaScript heap; the process's own memory in a native build.
    Javascript,
    /// The wasm heap.
    Wasm,
    /// A frame on the GPU.
    Texture,
    /// The model's input in the arena.
    Input,
    /// Intermediates in the arena.
    Arena,
    /// The model's output in the arena.
    Result,
    /// A buffer that the CPU can map.
    Staging,
    /// A canvas.
    Canvas,
    /// The weights buffer and the kernel parameters.
    Weights,
}

impl Place {
    /// Every place, CPU memory first.
    pub const ALL: [Place; 11] = [
        Self::Camera,
        Self::Video,
        Self::Javascript,
        Self::Wasm,
        Self::Texture,
        Self::Input,
        Self::Arena,
        Self::Result,
        Self::Staging,
        Self::Canvas,
        Self::Weights,
    ];

    /// True for GPU memory. A page treats every machine as one with two memories.
    pub const fn on_gpu(self) -> bool {
        !matches!(self, Self::Camera | Self::Video | Self::Javascript | Self::Wasm)
    }

    /// The id in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Camera => "camera",
            Self::Video => "video",
            Self::Javascript => "javascript",
            Self::Wasm => "wasm",
            Self::Texture => "texture",
            Self::Input => "input",
            Self::Arena => "arena",
            Self::Result => "result",
            Self::Staging => "staging",
            Self::Canvas => "canvas",
            Self::Weights => "weights",
        }
    }
}

/// How bytes get from one place to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MoveKind {
    /// Nothing moves: the reader reads where the bytes lie.
    Reference,
    /// The same bytes in another place.
    Copy,
    /// From CPU memory to GPU memory.
    Upload,
    /// From GPU memory to CPU memory.
    Readback,
    /// Other element type or picture format.
    Convert,
    /// Other strides or layout.
    Relayout,
}

impl MoveKind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Copy => "copy",
            Self::Upload => "upload",
            Self::Readback => "readback",
            Self::Convert => "convert",
            Self::Relayout => "relayout",
        }
    }
}

/// One movement of bytes.
#[derive(Debug, Clone, Copy)]
pub struct Move {
    /// Where the bytes were.
    pub from: Place,
    /// Where they are afterwards.
    pub to: Place,
    /// How.
    pub kind: MoveKind,
    /// How many were written at `to`; 0 for a reference.
    pub bytes: u64,
    /// True where the caller did not ask for it: a conversion behind his back.
    pub implicit: bool,
    /// Why, where it is not plain.
    pub reason: Option<&'static str>,
    /// Milliseconds of CPU time.
    pub cpu_ms: f64,
}

impl Move {
    /// An explicit movement without a reason.
    pub const fn new(from: Place, to: Place, kind: MoveKind, bytes: u64) -> Self {
        Self { from, to, kind, bytes, implicit: false, reason: None, cpu_ms: 0.0 }
    }

    /// Says why.
    #[must_use]
    pub const fn because(mut self, reason: &'static str) -> Self {
        self.reason = Some(reason);
        self
    }

    /// Marks it as not asked for.
    #[must_use]
    pub const fn implicit(mut self) -> Self {
        self.implicit = true;
        self
    }

    /// Says how long the CPU took.
    #[must_use]
    pub const fn took(mut self, cpu_ms: f64) -> Self {
        self.cpu_ms = cpu_ms;
        self
    }
}
