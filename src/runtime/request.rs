//! A request: the right to run an engine now, on tensors of its own.

use super::context::Context;
use super::feed::Feed;
use super::lease::Lease;
use super::request_pool::{Member, Pool};
use super::run::{Done, Pending};
use crate::error::{Error, ErrorKind, Result};
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

/// The right to run an engine on one execution context. Returns to its pool when released or dropped.
#[derive(Debug, Clone)]
pub struct Request {
    handle: Rc<Handle>,
}

/// A request and who has it.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) pool: Rc<Pool>,
    pub(super) member: Rc<Member>,
    owner: Cell<u64>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.release();
    }
}

impl Handle {
    /// Gives the request back, unless somebody else has it.
    pub(super) fn release(&self) {
        if self.owner.get() != 0 && self.owner.replace(0) == self.member.owner.get() {
            self.pool.give_back(Rc::clone(&self.member));
        }
    }

    /// Makes sure that this handle has the context. One that was released takes it again where nobody else has it.
    fn claim(&self) -> Result<()> {
        if self.pool.closed.get() {
            return Err(self.pool.closed_error());
        }
        if self.owner.get() != 0 && self.owner.get() == self.member.owner.get() {
            return Ok(());
        }
        let at = self.pool.idle.borrow().iter().position(|m| Rc::ptr_eq(m, &self.member));
        match at.and_then(|at| self.pool.idle.borrow_mut().remove(at)) {
            Some(member) => {
                self.owner.set(member.hand_out());
                Ok(())
            }
            None => Err(Error::new(ErrorKind::Busy, "the request was released and somebody else has it now")
                .at(self.pool.place())
                .hint("acquire() another one")),
        }
    }
}

impl Request {
    pub(super) fn of(pool: &Rc<Pool>, member: Rc<Member>) -> Self {
        let owner = Cell::new(member.hand_out());
        Self { handle: Rc::new(Handle { pool: Rc::clone(pool), member, owner }) }
    }

    /// Runs the engine: `busy` while a run of this request is under way. The results are there until the next run.
    pub async fn run(&self, feeds: &[(&str, Feed<'_>)]) -> Result<Lease> {
        self.start(feeds)?.await
    }

    /// Hands a run to the GPU at once and gives a future of its results; `busy` while a run is under way.
    pub fn start(&self, feeds: &[(&str, Feed<'_>)]) -> Result<impl Future<Output = Result<Lease>> + use<>> {
        if self.handle.member.context.in_flight() > 0 {
            return Err(Error::new(ErrorKind::Busy, "the request is still running")
                .at(self.handle.pool.place())
                .hint("await the run before, or acquire another request"));
        }
        self.begin(feeds, false)
    }

    /// The same without waiting for the run before: the results of one run are read while the next computes. At most three
    /// runs are under way at once, fewer where a limit of staging says so; the results of as many stay readable.
    pub fn submit(&self, feeds: &[(&str, Feed<'_>)]) -> Result<impl Future<Output = Result<Lease>> + use<>> {
        self.begin(feeds, true)
    }

    fn begin(
        &self,
        feeds: &[(&str, Feed<'_>)],
        overlapped: bool,
    ) -> Result<impl Future<Output = Result<Lease>> + use<>> {
        self.handle.claim()?;
        let submitted = self.handle.member.context.submit(feeds, overlapped);
        let pending: Pending = submitted.map_err(|e| e.or_at(self.handle.pool.place()))?;
        let handle = Rc::clone(&self.handle);
        Ok(async move {
            let Done { slot, run, times } = pending.wait().await?;
            Ok(Lease::new(handle, slot, run, times))
        })
    }

    /// True while a run is under way.
    pub fn is_busy(&self) -> bool {
        self.handle.member.context.in_flight() > 0
    }

    /// Where input `index` is read from: what the caller's own kernels write there needs no copy. A run puts other tensors there,
    /// too, so it is written anew for each.
    #[cfg(target_arch = "wasm32")]
    pub fn input(&self, index: usize) -> Result<super::GpuRange> {
        self.handle.claim()?;
        self.handle.member.context.input(index)
    }

    /// Returns the request to its pool. Its leases are stale once somebody else runs it.
    pub fn release(&self) {
        self.handle.release();
    }

    /// The context it runs on, which nobody else has while this handle lives.
    pub(super) fn context(&self) -> &Rc<Context> {
        &self.handle.member.context
    }

    /// Fills the arena with one 32-bit word: a test of the plan.
    pub fn poison(&self, word: u32) -> Result<()> {
        self.handle.member.context.poison(word)
    }
}
