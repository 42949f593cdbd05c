//! The GPU objects of an execution context: what a run writes, binds and encodes.

use super::device::Gpu;
use super::feed::{FramePass, FrameSlot, FrameSource, TextureTarget};
use super::kernels::Kernel;
use super::ledger::{Class, Entry, Frame, Move, MoveKind, Object, Place};
use super::load::{Loaded, Part, Shared, home, port_bytes};
use super::memory::{Buffer, STAGING, Texture, UNIFORM};
use super::relay::Relay;
use super::tensor_feed::TensorSource;
use super::timestamps::{IN_PLACE_OFFSET, Phase, TIMESTAMP_BYTES, Timed, Timestamps};
use crate::engine::Port;
use crate::error::{Error, ErrorKind, Result};
use crate::recording::{Binding, FRAME_BYTES, Resource, Space};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

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

impl Live {
    /// Makes the arena and all that goes with it.
    pub(super) async fn new(loaded: &Loaded) -> Result<Self> {
        let shared = loaded.shared()?;
        let gpu = &loaded.gpu;
        let arena_bytes = loaded.engine.recording.arena_bytes.max(4);
        let arena = gpu.big_buffer(Class::Arena, "activations", arena_bytes).await?;
        let blocks = match loaded.frame_block_bytes {
            0 => None,
            n => Some(gpu.buffer(Class::Uniforms, "frame blocks", n, UNIFORM)),
        };
        let mut live = Self {
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
        Ok(live)
    }

    pub(super) fn filling(&self) -> usize {
        self.ring.borrow().iter().filter(|slot| matches!(slot.state.get(), SlotState::Filling(_))).count()
    }

    pub(super) fn release_filled(&self) {
        for slot in self.ring.borrow().iter().filter(|slot| matches!(slot.state.get(), SlotState::Filled(_))) {
            slot.free();
        }
    }

    /// Gives up the oldest results where a ring of `most` staging buffers is full.
    pub(super) fn make_room(&self, most: usize) {
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
    pub(super) fn slot(&self, loaded: &Loaded) -> Option<Rc<Slot>> {
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
    pub(super) fn write_block(
        &self,
        loaded: &Loaded,
        input: usize,
        size: Option<(u32, u32)>,
        frame: &Frame,
    ) -> Result<()> {
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
    pub(super) fn relay(
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
    pub(super) fn frame(
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
    pub(super) fn encode(
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
