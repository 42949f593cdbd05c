//! From a compiled engine to one on the GPU: kernels compiled, weights uploaded. Both are shared by all requests.

use super::LoadOptions;
use super::check::check;
use super::context::RING;
use super::device::Gpu;
use super::kernels::{Kernel, Kernels, compile_all};
use super::ledger::{Class, Entry, Move, MoveKind, Object, Place};
use super::limits::{Need, Room};
use super::memory::{Buffer, UNIFORM};
use super::request_pool::Pool;
use super::timestamps::{Phase, RESOLVED_BYTES, TIMESTAMP_BYTES};
use crate::engine::{Engine, Phase as LoadPhase, Port};
use crate::error::{Error, ErrorKind, Result};
use crate::recording::{ALIGNMENT, Binding, Command, Dispatch, FRAME_BYTES, Range, Resource, Space};
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

/// Weights go to the GPU in pieces of so many bytes.
const UPLOAD_CHUNK: usize = 8 << 20;

/// How far loading has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Kernels, weights, or ready.
    pub phase: LoadPhase,
    /// Kernels compiled or bytes uploaded.
    pub done: u64,
    /// Of so many.
    pub total: u64,
}

/// How long loading took, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadTimes {
    /// Compiling kernels that were not compiled yet.
    pub kernels_ms: f64,
    /// Handing the weights over.
    pub weights_ms: f64,
    /// Kernels compiled.
    pub kernels_compiled: u64,
    /// Kernels found compiled.
    pub kernels_reused: u64,
}

/// One part of what follows when the inputs are in place.
#[derive(Debug)]
pub(super) enum Part {
    /// Dispatches in one pass.
    Pass {
        phase: Phase,
        steps: Vec<Step>,
        /// Its first and its last pass take the timestamps of a phase.
        first: bool,
        last: bool,
    },
    /// An output is copied to the staging buffer.
    Download(Staged),
}

/// One dispatch.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) kernel: Rc<Kernel>,
    /// Index into [`Loaded::binding_sets`].
    pub(super) set: usize,
    pub(super) groups: [u32; 3],
    /// Index of the layer it belongs to.
    pub(super) layer: usize,
}

/// The way in of a frame.
#[derive(Debug)]
pub(super) struct FrameStep {
    pub(super) kernel: Rc<Kernel>,
    pub(super) dispatch: Dispatch,
}

/// Where an output lies in a staging buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Staged {
    pub(super) from: Range,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// The GPU objects of a loaded engine.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) weights: Option<Buffer>,
    pub(super) params: Option<Buffer>,
    _room: Room,
    _entry: Entry,
}

/// A loaded engine's inside.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) gpu: Rc<Gpu>,
    /// Without the contents of its weights.
    pub(super) engine: Engine,
    pub(super) shared: RefCell<Option<Rc<Shared>>>,
    pub(super) parts: Vec<Part>,
    /// Distinct sets of bindings, each with a kernel whose layout fits.
    pub(super) binding_sets: Vec<(Rc<Kernel>, Vec<Binding>)>,
    /// By model input.
    pub(super) uploads: Vec<Option<Range>>,
    /// By model input.
    pub(super) frames: Vec<Option<FrameStep>>,
    /// By model output; `None` where it stays on the GPU.
    pub(super) staged: Vec<Option<Staged>>,
    pub(super) staging_bytes: u64,
    /// Staging buffers of a request, at most.
    pub(super) ring: usize,
    /// What a request takes of the memory pools.
    pub(super) request: Need,
    pub(super) frame_block_bytes: u64,
    pub(super) times: LoadTimes,
    pub(super) pools: RefCell<Vec<Weak<Pool>>>,
    pub(super) closed: Cell<bool>,
}

impl Loaded {
    /// Compiles and uploads.
    pub(super) async fn load(
        gpu: Rc<Gpu>,
        kernels: &Kernels,
        mut engine: Engine,
        options: &LoadOptions,
        progress: &dyn Fn(Progress),
    ) -> Result<Self> {
        gpu.alive()?;
        check(&gpu, &engine).map_err(|e| e.at(format!("engine {:?}", engine.name)))?;
        let (ring, staging) = ring(&gpu, &engine, options)?;
        let workspace = engine.build.layers.iter().map(|layer| layer.workspace).max().unwrap_or(0);
        let request = [0, engine.recording.arena_bytes.max(4), workspace, staging];
        let who = format!("engine {:?}", engine.name);
        gpu.pools.permit(&format!("a request of {who}"), request)?;
        let room = gpu.pools.take(&who, [engine.recording.weights_bytes.next_multiple_of(4), 0, 0, 0])?;
        let started = (gpu.clock)();
        let mut times = LoadTimes::default();
        engine.build.residency.enter(LoadPhase::Kernels);
        let compiled = compile_all(&gpu, kernels, &engine, &mut times, progress).await?;
        times.kernels_ms = (gpu.clock)() - started;
        engine.build.residency.leave(scratch(&gpu));
        engine.build.residency.enter(LoadPhase::Weights);

        let weights = upload_weights(&gpu, &mut engine, progress).await?;
        let params = match engine.recording.params.len() {
            0 => None,
            n => {
                let buffer = gpu.buffer(Class::Uniforms, "parameters", (n as u64).next_multiple_of(4), UNIFORM);
                gpu.write(&buffer, 0, &engine.recording.params)?;
                let m = Move::new(home(), Place::Weights, MoveKind::Upload, n as u64);
                gpu.ledger.enter(m.because("kernel parameters"));
                Some(buffer)
            }
        };
        let uploaded = engine.recording.weights_bytes + engine.recording.params.len() as u64;
        engine.build.residency.leave(uploaded + scratch(&gpu));
        times.weights_ms = (gpu.clock)() - started - times.kernels_ms;

        let shared = Shared { weights, params, _room: room, _entry: gpu.ledger.open(Object::Engine, 0) };
        let mut loaded = Self {
            shared: RefCell::new(Some(Rc::new(shared))),
            parts: Vec::new(),
            binding_sets: Vec::new(),
            uploads: vec![None; engine.inputs.len()],
            frames: engine.inputs.iter().map(|_| None).collect(),
            staged: vec![None; engine.outputs.len()],
            staging_bytes: 0,
            ring,
            request,
            frame_block_bytes: 0,
            times,
            pools: RefCell::default(),
            closed: Cell::new(false),
            gpu,
            engine,
        };
        loaded.lay_out(compiled, &options.on_gpu);
        let residency = &mut loaded.engine.build.residency;
        residency.enter(LoadPhase::Ready);
        residency.leave(uploaded + scratch(&loaded.gpu));
        progress(Progress { phase: LoadPhase::Ready, done: 1, total: 1 });
        Ok(loaded)
    }

    /// Sorts the commands into the inputs' ways in and the steps that follow.
    fn lay_out(&mut self, compiled: Vec<Rc<Kernel>>, on_gpu: &[String]) {
        let mut kernels = compiled.into_iter();
        let first_post_layer = first_post_layer(&self.engine);
        let commands = std::mem::take(&mut self.engine.recording.commands);
        for command in &commands {
            match command {
                Command::Upload { input, to } => {
                    if let Some(slot) = self.uploads.get_mut(*input) {
                        *slot = Some(*to);
                    }
                }
                Command::Frame { input, dispatch } => {
                    if let (Some(slot), Some(kernel)) = (self.frames.get_mut(*input), kernels.next()) {
                        *slot = Some(FrameStep { kernel, dispatch: dispatch.clone() });
                    }
                }
                Command::Dispatch(d) => {
                    let Some(kernel) = kernels.next() else { continue };
                    // Equal bindings have equal layouts, so one bind group serves every kernel that binds them.
                    let known = self.binding_sets.iter().position(|(_, bindings)| *bindings == d.bindings);
                    let set = known.unwrap_or_else(|| {
                        self.binding_sets.push((Rc::clone(&kernel), d.bindings.clone()));
                        self.binding_sets.len() - 1
                    });
                    let phase = if d.layer >= first_post_layer { Phase::Post } else { Phase::Network };
                    self.push(phase, Step { kernel, set, groups: d.groups, layer: d.layer });
                }
                Command::Download { output, from } => {
                    let Some(port) = self.engine.outputs.get(*output) else { continue };
                    if !on_gpu.contains(&port.desc.name) {
                        let bytes = port_bytes(port);
                        let staged = Staged { from: *from, offset: self.staging_bytes, bytes };
                        self.staged[*output] = Some(staged);
                        self.staging_bytes += bytes.next_multiple_of(ALIGNMENT);
                        self.parts.push(Part::Download(staged));
                    }
                }
            }
        }
        self.engine.recording.commands = commands;
        for phase in [Phase::Network, Phase::Post] {
            let mut passes = self.parts.iter_mut().filter_map(|part| match part {
                Part::Pass { phase: p, first, last, .. } if *p == phase => Some((first, last)),
                _ => None,
            });
            if let Some((first, last)) = passes.next() {
                *first = true;
                *passes.last().map_or(last, |p| p.1) = true;
            }
        }
        let dispatches = self.engine.recording.commands.iter().filter_map(dispatch_of);
        let frame_ends = dispatches.flat_map(|d| &d.bindings).filter_map(|b| match b.resource {
            Resource::Buffer(r) if r.space == Space::Frame => Some(r.offset + r.bytes),
            _ => None,
        });
        self.frame_block_bytes = frame_ends.max().unwrap_or(0).next_multiple_of(FRAME_BYTES);
    }

    /// Joins the pass before, where that is of the same phase.
    fn push(&mut self, phase: Phase, step: Step) {
        match self.parts.last_mut() {
            Some(Part::Pass { phase: p, steps, .. }) if *p == phase => steps.push(step),
            _ => self.parts.push(Part::Pass { phase, steps: vec![step], first: false, last: false }),
        }
    }

    /// The GPU objects, or `closed`.
    pub(super) fn shared(&self) -> Result<Rc<Shared>> {
        self.shared.borrow().clone().ok_or_else(|| closed(&format!("engine {:?}", self.engine.name)))
    }

    /// Waits for what is in flight, closes every request pool, frees the weights. A second call does nothing.
    pub(super) async fn close(&self) {
        self.closed.set(true);
        let pools: Vec<_> = self.pools.borrow().iter().filter_map(Weak::upgrade).collect();
        for pool in pools {
            pool.close().await;
        }
        drop(self.shared.borrow_mut().take());
    }
}

/// How many staging buffers of a request the limit allows, and the bytes of all of them.
fn ring(gpu: &Gpu, engine: &Engine, options: &LoadOptions) -> Result<(usize, u64)> {
    let read_back = engine.outputs.iter().filter(|port| !options.on_gpu.contains(&port.desc.name));
    let outputs: u64 = read_back.map(|port| port_bytes(port).next_multiple_of(ALIGNMENT)).sum();
    let timed = gpu.features.contains(wgpu::Features::TIMESTAMP_QUERY);
    let (slot, once) = if outputs > 0 && timed { (outputs + TIMESTAMP_BYTES, RESOLVED_BYTES) } else { (outputs, 0) };
    let need = slot + once;
    let ring = match options.staging_limit {
        Some(limit) if need > limit => {
            let message = format!("reading back needs {need} bytes, the limit is {limit}");
            return Err(Error::new(ErrorKind::MemoryLimit, message)
                .at("pool \"staging\"")
                .hint(format!("the smallest limit that would do is {need}; or keep outputs on the GPU")));
        }
        Some(limit) if need > 0 => usize::try_from((limit - once) / slot).map_or(RING, |n| n.min(RING)),
        _ => RING,
    };
    Ok((ring, slot.saturating_mul(ring as u64).saturating_add(once)))
}

/// GPU memory that is only needed while something is loaded or measured.
fn scratch(gpu: &Gpu) -> u64 {
    gpu.ledger.memory().gpu.build
}

/// Where the decoding of boxes begins: what follows counts as post-processing in the times of a run.
fn first_post_layer(engine: &Engine) -> usize {
    let post = |op: &str| matches!(op, "DecodeBoxes" | "SelectBoxes");
    engine.build.layers.iter().position(|layer| post(&layer.op)).unwrap_or(usize::MAX)
}

/// The error of an object that was closed.
pub(super) fn closed(what: &str) -> Error {
    Error::new(ErrorKind::Closed, "it was closed").at(what).hint("make a new one")
}

/// Where this process's own bytes lie.
pub(super) const fn home() -> Place {
    if cfg!(target_arch = "wasm32") { Place::Wasm } else { Place::Javascript }
}

/// Bytes of a port's elements in GPU memory, a multiple of four.
pub(super) fn port_bytes(port: &Port) -> u64 {
    (port.desc.shape.elements() as u64).saturating_mul(port.desc.dtype.gpu_bytes() as u64).next_multiple_of(4)
}

pub(super) fn dispatch_of(command: &Command) -> Option<&Dispatch> {
    match command {
        Command::Frame { dispatch, .. } | Command::Dispatch(dispatch) => Some(dispatch),
        _ => None,
    }
}

async fn upload_weights(gpu: &Gpu, engine: &mut Engine, progress: &dyn Fn(Progress)) -> Result<Option<Buffer>> {
    let total = engine.recording.weights_bytes;
    if total == 0 {
        return Ok(None);
    }
    let buffer = gpu.big_buffer(Class::Weights, "weights", total.next_multiple_of(4)).await?;
    let weights = std::mem::take(&mut engine.weights);
    let mut done = 0u64;
    for chunk in weights.chunks(UPLOAD_CHUNK) {
        gpu.write(&buffer, done, chunk)?;
        done += chunk.len() as u64;
        progress(Progress { phase: LoadPhase::Weights, done, total });
    }
    gpu.ledger.enter(Move::new(home(), Place::Weights, MoveKind::Upload, done));
    Ok(Some(buffer))
}
