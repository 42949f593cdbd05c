//! A run under way, from submission until its results can be read.

use super::context::Context;
use super::ledger::{Entry, Frame, Move, MoveKind, Place};
use super::live::{Slot, SlotState};
use super::load::home;
use super::report::{GpuTimes, RunTimes, Stopwatch};
use super::signal::Signal;
use super::timestamps::Timed;
use crate::error::{Error, ErrorKind, Result};
use std::rc::{Rc, Weak};

/// What a run has left behind.
#[derive(Debug)]
pub(super) struct Done {
    /// Where the outputs are, unless none is read back.
    pub(super) slot: Option<Weak<Slot>>,
    /// Its number.
    pub(super) run: u64,
    pub(super) times: RunTimes,
}

/// A run handed to the GPU. Dropping it lets the GPU finish and forgets the results.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) context: Rc<Context>,
    /// Held weakly, so that closing the request frees it whoever still waits.
    pub(super) slot: Option<Weak<Slot>>,
    pub(super) mapped: Option<Signal<std::result::Result<(), wgpu::BufferAsyncError>>>,
    pub(super) submission: Option<wgpu::SubmissionIndex>,
    pub(super) run: u64,
    pub(super) frame: Option<Frame>,
    pub(super) timed: Timed,
    /// The conversion of a frame whose time the GPU takes.
    pub(super) pre: Option<Move>,
    pub(super) times: RunTimes,
    pub(super) watch: Stopwatch,
    /// The run's place in the ledger's queue, for as long as it lasts.
    pub(super) _entry: Entry,
}

impl Pending {
    /// Waits for the results.
    pub(super) async fn wait(mut self) -> Result<Done> {
        let gpu = Rc::clone(&self.context.loaded.gpu);
        let _awaited = self.context.awaited.enter();
        match self.mapped.take() {
            Some(mapped) => {
                gpu.wait(self.submission.take());
                mapped.await.map_err(|_| self.failure())?;
            }
            // Nothing is read back: the run is over when the GPU says so.
            None => gpu.idle().await,
        }
        gpu.alive()?;
        let mut times = self.times;
        times.wait_ms = self.watch.lap();
        if let Some(slot) = &self.slot {
            let slot = slot.upgrade().ok_or_else(|| self.failure())?;
            if slot.state.get() != SlotState::Filling(self.run) {
                return Err(self.failure());
            }
            slot.state.set(SlotState::Filled(self.run));
            times.gpu = self.gpu_times(&slot);
        }
        if let Some(frame) = self.frame.take() {
            let bytes: u64 = self.context.loaded.staged.iter().flatten().map(|s| s.bytes).sum();
            if bytes > 0 {
                frame.enter(Move::new(Place::Staging, Place::Javascript, MoveKind::Readback, bytes));
            }
            frame.finish();
        }
        Ok(Done { slot: self.slot.take(), run: self.run, times })
    }

    fn gpu_times(&self, slot: &Slot) -> Option<GpuTimes> {
        let live = self.context.live.borrow().clone()?;
        let timestamps = live.timestamps.as_ref()?;
        let view = slot.buffer.raw.get_mapped_range(self.context.loaded.staging_bytes..).ok()?;
        if let Some(frame) = &self.frame {
            let m = Move::new(Place::Staging, home(), MoveKind::Readback, view.len() as u64);
            frame.enter(m.because("timestamps"));
        }
        let times = timestamps.times(&view, self.timed);
        if let (Some(frame), Some(converted), Some(ms)) = (&self.frame, self.pre, times.pre_ms) {
            frame.gpu_time(converted, ms);
        }
        Some(times)
    }

    fn failure(&self) -> Error {
        match self.context.loaded.gpu.alive() {
            Err(lost) => lost,
            Ok(()) if self.context.closed.get() => self.context.closed_error(),
            Ok(()) => Error::new(ErrorKind::Canceled, "the run was given up"),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let slot = self.slot.take().and_then(|slot| slot.upgrade());
        if let Some(slot) = slot.filter(|slot| slot.state.get() == SlotState::Filling(self.run)) {
            slot.free();
        }
    }
}
