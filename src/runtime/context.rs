//! An execution context: one arena, its bind groups, its frame textures and its ring of staging buffers. Everything a run
//! needs is made once; a run only writes, encodes and submits.

use super::device::Gpu;
use super::feed::{
    Destination, Feed, FramePass, FrameSlot, FrameSource, TensorSource, TextureTarget, check_tensor, write_tensor,
};
use super::gate::Gate;
use super::kernels::Kernel;
use super::ledger::{Class, Entry, Frame, Move, MoveKind, Object, Place};
use super::load::{Loaded, Part, Shared, closed, home, port_bytes};
use super::memory::{Buffer, STAGING, Texture, UNIFORM};
use super::relay::Relay;
use super::report::{RunTimes, Stopwatch};
use super::run::Pending;
use super::timestamps::{IN_PLACE_OFFSET, Phase, TIMESTAMP_BYTES, Timed, Timestamps};
use crate::engine::Port;
use crate::error::{Error, ErrorKind, Result};
use crate::recording::{Binding, FRAME_BYTES, Resource, Space};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Staging buffers of a context: one is read while the GPU fills another and a third is asked for.
pub(super) const RING: usize = 3;

/// A context's inside, shared with its runs and leases.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) loaded: Rc<Loaded>,
    pub(super) live: RefCell<Option<Rc<Live>>>,
    pub(super) closed: Cell<bool>,
    runs: Cell<u64>,
    /// Runs whose results somebody waits for.
    pub(super) awaited: Rc<Gate>,
    strict: bool,
}

/// The GPU objects.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) arena: Buffer,
    blocks: Option<Buffer>,
    shared: Rc<Shared>,
    /// By binding set.
    pub(super) bind_groups: Vec<wgpu::BindGroup>,
    /// By model input.
    frames: Vec<RefCell<FrameState>>,
    ring: RefCell<Vec<Rc<Slot>>>,
    pub(super) timestamps: Option<Timestamps>,
    _entry: Entry,
}

/// What is kept from frame to frame of one input.
#[derive(Debug, Default)]
struct FrameState {
    texture: Option<(Rc<Texture>, wgpu::BindGroup)>,
    /// Frame size that the frame block was written for; `None` inside: for a tensor.
    block: Option<Option<(u32, u32)>>,
    /// The way in of a tensor with other strides, made on first need.
    relay: Option<Rc<Relay>>,
    /// What the source keeps for running in place.
    cache: Rc<RefCell<Option<Box<dyn Any>>>>,
}

/// A staging buffer and who has it.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) buffer: Buffer,
    pub(super) state: Cell<SlotState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotState {
    Free,
    /// Run `n` fills it.
    Filling(u64),
    /// It is mapped; the results of run `n` are in it.
    Filled(u64),
}

impl Slot {
    pub(super) fn free(&self) {
        if self.state.replace(SlotState::Free) != SlotState::Free {
            // Also takes back a mapping that is still pending.
            self.buffer.raw.unmap();
        }
    }
}

impl Context {
    /// Makes the arena and all that goes with it.
    pub(super) async fn new(loaded: Rc<Loaded>, strict: bool) -> Result<Rc<Self>> {
        loaded.gpu.alive()?;
        let shared = loaded.shared()?;
        let gpu = &loaded.gpu;
        let arena_bytes = loaded.engine.recording.arena_bytes.max(4);
        let arena = gpu.big_buffer(Class::Arena, "activations", arena_bytes).await?;
        let blocks = match loaded.frame_block_bytes {
            0 => None,
            n => Some(gpu.buffer(Class::Uniforms, "frame blocks", n, UNIFORM)),
        };
        let mut live = Live {
            arena,
            blocks,
            shared,
            bind_groups: Vec::new(),
            frames: loaded.engine.inputs.iter().map(|_| RefCell::default()).collect(),
            ring: RefCell::default(),
            timestamps: if loaded.staging_bytes > 0 { Timestamps::new(gpu) } else { None },
            _entry: gpu.ledger.open(Object::Request, 0),
        };
        live.bind_groups = loaded
            .binding_sets
            .iter()
            .map(|(kernel, bindings)| live.bind(gpu, &kernel.layout, bindings, None))
            .collect::<Result<_>>()?;
        Ok(Rc::new(Self {
            loaded,
            live: RefCell::new(Some(Rc::new(live))),
            closed: Cell::new(false),
            runs: Cell::new(0),
            awaited: Rc::default(),
            strict,
        }))
    }

    pub(super) fn closed_error(&self) -> Error {
        closed(&format!("request of engine {:?}", self.loaded.engine.name))
    }

    pub(super) fn live(&self) -> Result<Rc<Live>> {
        let live = self.live.borrow().clone();
        live.filter(|_| !self.closed.get() && !self.loaded.closed.get()).ok_or_else(|| self.closed_error())
    }

    /// Runs under way.
    pub(super) fn in_flight(&self) -> usize {
        let live = self.live.borrow().clone();
        live.map_or(0, |live| live.filling())
    }

    /// Writes the inputs, encodes the recording and hands it to the GPU. Results of runs that were finished before are
    /// stale from here on; with `overlapped` they stay until their staging buffer is needed, the oldest going first.
    pub(super) fn submit(self: &Rc<Self>, feeds: &[(&str, Feed<'_>)], overlapped: bool) -> Result<Pending> {
        let gpu = &self.loaded.gpu;
        gpu.alive()?;
        let live = self.live()?;
        let most = self.loaded.ring;
        if live.filling() >= most {
            return Err(Error::new(ErrorKind::Busy, format!("{most} runs of this request are under way"))
                .hint("await a run before starting the next, or acquire another request"));
        }
        let plan = self.match_feeds(feeds)?;
        if overlapped {
            live.make_room(most);
        } else {
            live.release_filled();
        }

        let run = self.runs.get() + 1;
        self.runs.set(run);
        let frame = gpu.ledger.begin_frame();
        let mut watch = Stopwatch::start(gpu.clock);
        let mut times = RunTimes { frame: frame.number(), ..RunTimes::default() };
        let (mut encoder, converted) = self.bring_in(&live, &plan, &frame, &mut times, &mut watch)?;
        let (pre, in_place) = converted.map_or((None, false), |(converted, by_source)| (Some(converted), by_source));
        let mut timed = Timed::default();
        timed[Phase::Pre as usize] = pre.is_some();

        let slot = live.slot(&self.loaded);
        live.encode(&self.loaded, &mut encoder, &mut timed, slot.as_deref(), &frame);
        if let (Some(timestamps), Some(slot)) = (&live.timestamps, &slot) {
            timestamps.resolve(&mut encoder, &slot.buffer.raw, self.loaded.staging_bytes, in_place);
        }
        let submission = gpu.queue.submit([encoder.finish()]);
        let mapped = slot.as_deref().map(|slot| {
            slot.state.set(SlotState::Filling(run));
            gpu.map(&slot.buffer, slot.buffer.raw.size())
        });
        times.encode_ms = watch.lap();
        Ok(Pending {
            context: Rc::clone(self),
            slot: slot.as_ref().map(Rc::downgrade),
            mapped,
            submission: Some(submission),
            run,
            frame: Some(frame),
            timed,
            pre,
            times,
            watch,
            _entry: gpu.ledger.open(Object::Run, 0),
        })
    }

    /// Writes the inputs alone, as a run would: the network does not run. Results of runs before are stale from here on.
    pub(super) fn feed(&self, feeds: &[(&str, Feed<'_>)]) -> Result<()> {
        let gpu = &self.loaded.gpu;
        gpu.alive()?;
        let live = self.live()?;
        let plan = self.match_feeds(feeds)?;
        live.release_filled();
        self.runs.set(self.runs.get() + 1);
        let frame = gpu.ledger.begin_frame();
        let mut watch = Stopwatch::start(gpu.clock);
        let (encoder, _) = self.bring_in(&live, &plan, &frame, &mut RunTimes::default(), &mut watch)?;
        gpu.queue.submit([encoder.finish()]);
        frame.finish();
        Ok(())
    }

    /// Writes tensors into the arena and encodes what brings frames there; gives the frame's
    /// conversion whose time the GPU takes, and whether the frame was read in place.
    fn bring_in(
        &self,
        live: &Live,
        plan: &[Way<'_>],
        frame: &Frame,
        times: &mut RunTimes,
        watch: &mut Stopwatch,
    ) -> Result<(wgpu::CommandEncoder, Option<(Move, bool)>)> {
        let gpu = &self.loaded.gpu;
        let mut relays = Vec::new();
        for (input, step) in plan.iter().enumerate() {
            if let Way::Tensor(source, conversion, to) = step {
                let port = &self.loaded.engine.inputs[input];
                let relay = live.relay(gpu, input, port, *source, *to)?;
                let destination = Destination::new(&live.arena, *to, port, relay.as_deref());
                write_tensor(gpu, &destination, *source, *conversion, frame)?;
                relays.extend(relay);
                live.write_block(&self.loaded, input, None, frame)?;
            }
        }
        times.upload_ms = watch.lap();
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        relays.iter().for_each(|relay| relay.encode(&mut encoder));
        let mut pre = None;
        for (input, step) in plan.iter().enumerate() {
            if let Way::Frame(source, size) = step {
                let converted = live.frame(&self.loaded, input, *source, *size, pre.is_none(), &mut encoder, frame)?;
                pre = pre.or(converted);
            }
        }
        times.pre_ms = watch.lap();
        Ok((encoder, pre))
    }

    /// Which way each input goes, in the model's order. Nothing has been written when this fails.
    fn match_feeds<'a>(&self, feeds: &[(&str, Feed<'a>)]) -> Result<Vec<Way<'a>>> {
        let inputs = &self.loaded.engine.inputs;
        let names = || inputs.iter().map(|p| p.desc.name.as_str()).collect::<Vec<_>>().join(", ");
        if let Some((name, _)) = feeds.iter().find(|(name, _)| inputs.iter().all(|p| p.desc.name != *name)) {
            let message = format!("the model has no input {name:?}");
            return Err(Error::new(ErrorKind::BadSource, message).hint(format!("its inputs are: {}", names())));
        }
        let mut ways = Vec::with_capacity(inputs.len());
        for (index, port) in inputs.iter().enumerate() {
            let place = || format!("input {:?}", port.desc.name);
            let feed = feeds.iter().find(|(name, _)| port.desc.name == *name).map(|(_, feed)| *feed);
            ways.push(match feed {
                None => {
                    return Err(Error::new(ErrorKind::BadSource, "nothing was handed in for it")
                        .at(place())
                        .hint(format!("a run takes: {}", names())));
                }
                Some(Feed::Tensor(source)) => {
                    let conversion = check_tensor(port, source, self.strict)?;
                    let to = self.loaded.uploads.get(index).copied().flatten().ok_or_else(|| {
                        Error::new(ErrorKind::BadSource, "it takes a frame, not a tensor").at(place())
                    })?;
                    Way::Tensor(source, conversion, to.offset)
                }
                Some(Feed::Frame(source)) => {
                    if self.loaded.frames.get(index).is_none_or(Option::is_none) {
                        return Err(Error::new(ErrorKind::BadSource, "it takes a tensor, not a frame")
                            .at(place())
                            .hint("say in `preprocess` how a frame becomes this input"));
                    }
                    Way::Frame(source, frame_size(&self.loaded.gpu, source).map_err(|e| e.at(place()))?)
                }
            });
        }
        Ok(ways)
    }

    /// The mapped bytes of an output of run `run`, or `stale-output`.
    pub(super) fn read(&self, slot: Option<&Slot>, run: u64, output: usize) -> Result<wgpu::BufferView> {
        let port = self.loaded.engine.outputs.get(output);
        let place = || port.map_or_else(|| format!("output {output}"), |p| format!("output {:?}", p.desc.name));
        let Some(staged) = self.loaded.staged.get(output).copied().flatten() else {
            return Err(Error::new(ErrorKind::DeviceMismatch, "it stays on the GPU")
                .at(place())
                .hint("compile with outputs: \"cpu\" to read it"));
        };
        self.live()?;
        let slot = slot.filter(|slot| slot.state.get() == SlotState::Filled(run)).ok_or_else(|| stale().at(place()))?;
        let range = staged.offset..staged.offset + staged.bytes;
        slot.buffer.raw.get_mapped_range(range).map_err(|e| stale().at(place()).hint(e.to_string()))
    }

    /// The buffer that holds an output of run `run` on the GPU, its offset and its bytes.
    #[cfg(target_arch = "wasm32")]
    pub(super) fn on_gpu(&self, run: u64, output: usize) -> Result<(wgpu::Buffer, u64, u64)> {
        let live = self.live()?;
        let port = self.loaded.engine.outputs.get(output);
        match port {
            Some(port) if run == self.runs.get() => Ok((live.arena.raw.clone(), port.range.offset, port_bytes(port))),
            Some(port) => Err(stale().at(format!("output {:?}", port.desc.name))),
            None => Err(Error::new(ErrorKind::BadSource, format!("there is no output {output}"))),
        }
    }

    /// True while the results of run `run` are there.
    pub(super) fn is_fresh(&self, slot: Option<&Slot>, run: u64) -> bool {
        match slot {
            Some(slot) => slot.state.get() == SlotState::Filled(run),
            None => self.runs.get() == run,
        }
    }

    /// Gives the results of run `run` up.
    pub(super) fn release(&self, slot: Option<&Slot>, run: u64) {
        if let Some(slot) = slot.filter(|slot| slot.state.get() == SlotState::Filled(run)) {
            slot.free();
        }
    }

    /// Fills the arena with copies of one 32-bit word, to show that a run reads nothing it has not written.
    pub(super) fn poison(&self, word: u32) -> Result<()> {
        let live = self.live()?;
        let words = vec![word; usize::try_from(live.arena.raw.size() / 4).unwrap_or(0)];
        self.loaded.gpu.write(&live.arena, 0, bytemuck::cast_slice(&words))
    }

    /// Lets nothing new begin, waits for what is in flight, frees everything. A second call does nothing.
    pub(super) async fn close(&self) {
        self.closed.set(true);
        if self.live.borrow().is_some() {
            self.loaded.gpu.idle().await;
            self.awaited.empty().await;
        }
        drop(self.live.borrow_mut().take());
    }
}

fn stale() -> Error {
    Error::new(ErrorKind::StaleOutput, "the request has run again or was released since")
        .hint("read outputs before the next run, or keep a copy with detach()")
}

/// The way an input goes.
enum Way<'a> {
    /// Checked, and written at an offset of the arena.
    Tensor(&'a dyn TensorSource, super::feed::Conversion, u64),
    /// Of a size in pixels.
    Frame(&'a dyn FrameSource, (u32, u32)),
}

fn frame_size(gpu: &Gpu, source: &dyn FrameSource) -> Result<(u32, u32)> {
    let (width, height) = source.size()?;
    if width == 0 || height == 0 {
        let message = format!("a frame of {width} x {height} pixels has no content");
        return Err(Error::new(ErrorKind::BadSource, message)
            .hint("wait until the source has data: a <video> needs readyState >= 2"));
    }
    let most = gpu.limits.max_texture_dimension_2d;
    if width.max(height) > most {
        let message = format!("a frame of {width} x {height} pixels, the device allows {most} a side");
        return Err(Error::new(ErrorKind::BadSource, message).hint("scale it down first"));
    }
    Ok((width, height))
}

impl Live {
    fn filling(&self) -> usize {
        self.ring.borrow().iter().filter(|slot| matches!(slot.state.get(), SlotState::Filling(_))).count()
    }

    fn release_filled(&self) {
        for slot in self.ring.borrow().iter().filter(|slot| matches!(slot.state.get(), SlotState::Filled(_))) {
            slot.free();
        }
    }

    /// Gives up the oldest results where a ring of `most` staging buffers is full.
    fn make_room(&self, most: usize) {
        let ring = self.ring.borrow();
        if ring.len() < most || ring.iter().any(|slot| slot.state.get() == SlotState::Free) {
            return;
        }
        let filled = |slot: &&Rc<Slot>| match slot.state.get() {
            SlotState::Filled(run) => run,
            _ => u64::MAX,
        };
        if let Some(oldest) = ring.iter().min_by_key(filled).filter(|slot| filled(slot) != u64::MAX) {
            oldest.free();
        }
    }

    /// A free staging buffer, made on first need; none where nothing is read back.
    fn slot(&self, loaded: &Loaded) -> Option<Rc<Slot>> {
        if loaded.staging_bytes == 0 {
            return None;
        }
        let mut ring = self.ring.borrow_mut();
        if let Some(slot) = ring.iter().find(|slot| slot.state.get() == SlotState::Free) {
            return Some(Rc::clone(slot));
        }
        let bytes = loaded.staging_bytes + self.timestamps.as_ref().map_or(0, |_| TIMESTAMP_BYTES);
        let buffer = loaded.gpu.buffer(Class::Staging, "staging", bytes, STAGING);
        let slot = Rc::new(Slot { buffer, state: Cell::new(SlotState::Free) });
        ring.push(Rc::clone(&slot));
        Some(slot)
    }

    fn buffer(&self, space: Space) -> Result<&wgpu::Buffer> {
        let buffer = match space {
            Space::Arena => Some(&self.arena),
            Space::Weights => self.shared.weights.as_ref(),
            Space::Params => self.shared.params.as_ref(),
            Space::Frame => self.blocks.as_ref(),
        };
        buffer.map(|b| &b.raw).ok_or_else(|| Error::new(ErrorKind::PlanMismatch, format!("{space:?} is empty")))
    }

    fn bind(
        &self,
        gpu: &Gpu,
        layout: &wgpu::BindGroupLayout,
        bindings: &[Binding],
        frame: Option<&wgpu::TextureView>,
    ) -> Result<wgpu::BindGroup> {
        let entry = |b: &Binding| -> Result<wgpu::BindGroupEntry<'_>> {
            let resource = match (b.resource, frame) {
                (Resource::Buffer(range), _) => wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: self.buffer(range.space)?,
                    offset: range.offset,
                    size: wgpu::BufferSize::new(range.bytes),
                }),
                (Resource::Frame { .. }, Some(view)) => wgpu::BindingResource::TextureView(view),
                (Resource::Frame { .. }, None) => {
                    return Err(Error::new(ErrorKind::PlanMismatch, "a kernel of the network binds a frame"));
                }
            };
            Ok(wgpu::BindGroupEntry { binding: b.slot, resource })
        };
        let entries: Vec<_> = bindings.iter().map(entry).collect::<Result<_>>()?;
        Ok(gpu.bind_group(layout, &entries))
    }

    /// Writes the frame block of an input, where the network reads it and the size is another than before.
    fn write_block(&self, loaded: &Loaded, input: usize, size: Option<(u32, u32)>, frame: &Frame) -> Result<()> {
        let Some(blocks) = &self.blocks else { return Ok(()) };
        let offset = FRAME_BYTES * input as u64;
        let mut state = self.frames[input].borrow_mut();
        if state.block == Some(size) || offset >= blocks.raw.size() {
            return Ok(());
        }
        let block = loaded.engine.inputs[input].frame_block(size)?;
        loaded.gpu.write(blocks, offset, &block)?;
        let m = Move::new(home(), Place::Input, MoveKind::Upload, block.len() as u64);
        frame.enter(m.because("where the frame lies"));
        state.block = Some(size);
        Ok(())
    }

    /// The way in of a tensor whose strides are not the input's; none where they are.
    fn relay(
        &self,
        gpu: &Gpu,
        input: usize,
        port: &Port,
        source: &dyn TensorSource,
        offset: u64,
    ) -> Result<Option<Rc<Relay>>> {
        let Some(view) = source.view().filter(|view| view.span() > 0) else { return Ok(None) };
        let mut state = self.frames[input].borrow_mut();
        if let Some(relay) = state.relay.as_ref().filter(|relay| relay.serves(view)) {
            return Ok(Some(Rc::clone(relay)));
        }
        let relay = Relay::new(gpu, view, port, &self.arena, offset)
            .map_err(|e| e.at(format!("input {:?}", port.desc.name)))?;
        let relay = Rc::new(relay);
        state.relay = Some(Rc::clone(&relay));
        Ok(Some(relay))
    }

    /// Brings a frame into the arena: without a copy where the source can, else by way of a texture. Gives the
    /// conversion where the GPU takes its time, and whether it was read in place.
    #[expect(clippy::too_many_arguments, reason = "the parts of a run, each of its own kind")]
    fn frame(
        &self,
        loaded: &Loaded,
        input: usize,
        source: &dyn FrameSource,
        size: (u32, u32),
        time: bool,
        encoder: &mut wgpu::CommandEncoder,
        frame: &Frame,
    ) -> Result<Option<(Move, bool)>> {
        let Some(step) = loaded.frames.get(input).and_then(Option::as_ref) else { return Ok(None) };
        let gpu = &loaded.gpu;
        let port = &loaded.engine.inputs[input];
        self.write_block(loaded, input, Some(size), frame)?;
        let converted = Move::new(Place::Texture, Place::Input, MoveKind::Convert, port_bytes(port));
        let place = source.place();
        let started = (gpu.clock)();
        // Nothing is borrowed while the source runs: it may call back.
        let cache = Rc::clone(&self.frames[input].borrow().cache);
        let shader = loaded.engine.recording.shaders.get(step.dispatch.shader);
        if let Some((wgsl, plain)) = shader.and_then(|s| Some((s.external.as_deref()?, s.wgsl.as_str()))) {
            let slots = step.dispatch.bindings.iter().map(|b| self.frame_slot(b)).collect::<Result<_>>()?;
            let timing = self.timestamps.as_ref().filter(|_| time).map(|t| (t.resolved(), IN_PLACE_OFFSET));
            let (groups, timed) = (step.dispatch.groups, Cell::new(false));
            let pass = FramePass { gpu, wgsl, plain, slots, groups, cache: &cache, timing, timed };
            if source.run_in_place(&pass)? {
                let took = (gpu.clock)() - started;
                // The page's own texture is read where it is.
                if place != Place::Texture {
                    frame.enter(Move::new(place, Place::Texture, MoveKind::Reference, 0).took(took));
                }
                frame.enter(converted);
                return Ok(pass.timed.get().then_some((converted, true)));
            }
        }
        let kept = self.frames[input].borrow_mut().texture.take();
        let (texture, group) = match kept.filter(|(t, _)| (t.width, t.height) == size) {
            Some(kept) => kept,
            None => {
                let texture = gpu.texture("frame", size.0, size.1);
                let group = self.bind(gpu, &step.kernel.layout, &step.dispatch.bindings, Some(&texture.view))?;
                (Rc::new(texture), group)
            }
        };
        let copied = source.copy(&TextureTarget { gpu, texture: &texture });
        let took = (gpu.clock)() - started;
        if copied.is_ok() {
            let bytes = u64::from(size.0) * u64::from(size.1) * 4;
            frame.enter(Move::new(place, Place::Texture, MoveKind::Copy, bytes).took(took));
            frame.enter(converted);
            let timestamp_writes = self.timestamps.as_ref().and_then(|t| t.writes(Phase::Pre, time, time));
            let mut pass =
                encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("frame"), timestamp_writes });
            pass.set_pipeline(&step.kernel.pipeline);
            pass.set_bind_group(0, &group, &[]);
            let [x, y, z] = step.dispatch.groups;
            pass.dispatch_workgroups(x, y, z);
        }
        self.frames[input].borrow_mut().texture = Some((texture, group));
        copied.map(|()| (self.timestamps.is_some() && time).then_some((converted, false)))
    }

    fn frame_slot(&self, binding: &Binding) -> Result<FrameSlot<'_>> {
        let slot = binding.slot;
        Ok(match binding.resource {
            Resource::Frame { .. } => FrameSlot::Frame { slot },
            Resource::Buffer(range) => {
                FrameSlot::Buffer { slot, buffer: self.buffer(range.space)?, offset: range.offset, bytes: range.bytes }
            }
        })
    }

    /// Encodes the network and the copies of its outputs.
    fn encode(
        &self,
        loaded: &Loaded,
        encoder: &mut wgpu::CommandEncoder,
        timed: &mut Timed,
        slot: Option<&Slot>,
        frame: &Frame,
    ) {
        for part in &loaded.parts {
            match part {
                Part::Pass { phase, steps, first, last } => {
                    let timestamp_writes = self.timestamps.as_ref().and_then(|t| t.writes(*phase, *first, *last));
                    timed[*phase as usize] |= timestamp_writes.is_some();
                    let label = Some("network");
                    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label, timestamp_writes });
                    let mut current: Option<&Rc<Kernel>> = None;
                    for step in steps {
                        if current.is_none_or(|kernel| !Rc::ptr_eq(kernel, &step.kernel)) {
                            pass.set_pipeline(&step.kernel.pipeline);
                            current = Some(&step.kernel);
                        }
                        pass.set_bind_group(0, self.bind_groups.get(step.set), &[]);
                        let [x, y, z] = step.groups;
                        pass.dispatch_workgroups(x, y, z);
                    }
                }
                Part::Download(staged) => {
                    let Some(slot) = slot.filter(|_| staged.bytes > 0) else { continue };
                    let (from, to) = (&self.arena.raw, &slot.buffer.raw);
                    encoder.copy_buffer_to_buffer(from, staged.from.offset, to, staged.offset, staged.bytes);
                    frame.enter(Move::new(Place::Result, Place::Staging, MoveKind::Copy, staged.bytes));
                }
            }
        }
    }
}
