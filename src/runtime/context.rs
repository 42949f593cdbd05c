//! An execution context: one arena, its bind groups, its frame textures and its ring of staging buffers. Everything a run
//! needs is made once; a run only writes, encodes and submits.

use super::device::Gpu;
use super::feed::{Feed, FrameSource};
use super::gate::Gate;
use super::ledger::{Frame, Move, Object};
use super::live::{Live, Slot, SlotState};
use super::load::{Loaded, closed};
use super::report::{RunTimes, Stopwatch};
use super::run::Pending;
use super::tensor_feed::{Conversion, Destination, TensorSource, check_tensor, write_tensor};
use super::timestamps::{Phase, Timed};
use crate::error::{Error, ErrorKind, Result};
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

impl Context {
    /// Makes the arena and all that goes with it.
    pub(super) async fn new(loaded: Rc<Loaded>, strict: bool) -> Result<Rc<Self>> {
        loaded.gpu.alive()?;
        let live = Live::new(&loaded).await?;
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

    /// Where an output of run `run` lies on the GPU.
    #[cfg(target_arch = "wasm32")]
    pub(super) fn on_gpu(&self, run: u64, output: usize) -> Result<super::GpuRange> {
        let live = self.live()?;
        let port = self.loaded.engine.outputs.get(output);
        match port {
            Some(port) if run == self.runs.get() => Ok(live.arena.range(port.range.offset, port)),
            Some(port) => Err(stale().at(format!("output {:?}", port.desc.name))),
            None => Err(Error::new(ErrorKind::BadSource, format!("there is no output {output}"))),
        }
    }

    /// Where an input is read from: what a caller writes there needs no copy.
    #[cfg(target_arch = "wasm32")]
    pub(super) fn input(&self, input: usize) -> Result<super::GpuRange> {
        let live = self.live()?;
        let Some(port) = self.loaded.engine.inputs.get(input) else {
            return Err(Error::new(ErrorKind::BadSource, format!("there is no input {input}")));
        };
        match self.loaded.uploads.get(input).copied().flatten() {
            Some(range) => Ok(live.arena.range(range.offset, port)),
            None => Err(Error::new(ErrorKind::BadSource, "it takes a frame, not a tensor")
                .at(format!("input {:?}", port.desc.name))),
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
    Tensor(&'a dyn TensorSource, Conversion, u64),
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
