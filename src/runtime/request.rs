//! Requests: who may run an engine now, and who reads its results. A pool hands its requests out in the order of asking;
//! a lease is the right to read the results of one run, until the request runs again.

use super::context::{Context, Slot};
use super::feed::Feed;
use super::ledger::{Move, MoveKind, Object, Place};
use super::load::{Loaded, home, port_bytes};
use super::pools::{Room, times};
use super::report::RunTimes;
use super::run::{Done, Pending};
use crate::engine::Port;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{DType, Data, Tensor};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::rc::{Rc, Weak};
use std::task::{Poll, Waker};

/// Several execution contexts of one engine; clones share them.
#[derive(Debug, Clone)]
pub struct RequestPool {
    inner: Rc<Pool>,
}

/// A pool's inside.
#[derive(Debug)]
pub(super) struct Pool {
    loaded: Rc<Loaded>,
    members: Vec<Rc<Member>>,
    idle: RefCell<VecDeque<Rc<Member>>>,
    waiting: RefCell<VecDeque<Rc<Waiter>>>,
    closed: Cell<bool>,
    room: RefCell<Option<Room>>,
}

/// A context of the pool and who has it.
#[derive(Debug)]
struct Member {
    context: Rc<Context>,
    /// Changes each time it is handed out; 0 while it is idle.
    owner: Cell<u64>,
    owners: Cell<u64>,
}

/// Somebody who waits for a request.
#[derive(Debug, Default)]
struct Waiter {
    outcome: RefCell<Option<Result<Request>>>,
    waker: RefCell<Option<Waker>>,
    gone: Cell<bool>,
}

impl Waiter {
    fn deliver(&self, outcome: Result<Request>) {
        *self.outcome.borrow_mut() = Some(outcome);
        let waker = self.waker.borrow_mut().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Cancels an acquisition that still waits.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    waiter: Rc<RefCell<Weak<Waiter>>>,
    canceled: Rc<Cell<bool>>,
}

impl Cancel {
    /// The acquisition fails with `canceled`, unless it has a request already.
    pub fn cancel(&self) {
        self.canceled.set(true);
        let waiter = self.waiter.borrow().upgrade();
        if let Some(waiter) = waiter.filter(|w| w.outcome.borrow().is_none()) {
            waiter.gone.set(true);
            waiter.deliver(Err(canceled()));
        }
    }
}

fn canceled() -> Error {
    Error::new(ErrorKind::Canceled, "the wait for a request was canceled")
        .at("acquire()")
        .hint("acquire() again when one is wanted: nothing was taken")
}

impl RequestPool {
    /// A pool of `n` requests, each with its arena.
    pub(super) async fn new(loaded: Rc<Loaded>, n: usize, strict: bool) -> Result<Self> {
        if n == 0 {
            return Err(Error::new(ErrorKind::BadSource, "a pool has at least one request"));
        }
        loaded.gpu.alive()?;
        loaded.shared()?;
        let who = format!("{n} request{} of engine {:?}", if n == 1 { "" } else { "s" }, loaded.engine.name);
        let room = loaded.gpu.pools.take(&who, times(loaded.request, n))?;
        let mut members = Vec::new();
        for _ in 0..n {
            let context = Context::new(Rc::clone(&loaded), strict).await?;
            members.push(Rc::new(Member { context, owner: Cell::new(0), owners: Cell::new(0) }));
        }
        let idle = RefCell::new(members.iter().cloned().collect());
        let waiting = RefCell::default();
        let inner =
            Rc::new(Pool { loaded, members, idle, waiting, closed: Cell::new(false), room: RefCell::new(Some(room)) });
        // The engine may have been closed while the arenas were being made.
        if inner.loaded.closed.get() {
            return Err(inner.closed_error());
        }
        let mut pools = inner.loaded.pools.borrow_mut();
        pools.retain(|p| p.strong_count() > 0);
        pools.push(Rc::downgrade(&inner));
        drop(pools);
        Ok(Self { inner })
    }

    /// A request that nobody uses. Waits for one; who asks first gets first.
    pub async fn acquire(&self) -> Result<Request> {
        self.acquire_unless(&Cancel::default()).await
    }

    /// A request, if one is free and nobody waits.
    pub fn try_acquire(&self) -> Option<Request> {
        let pool = &self.inner;
        if pool.closed.get() || !pool.waiting.borrow().is_empty() {
            return None;
        }
        let member = pool.idle.borrow_mut().pop_front()?;
        Some(Request::of(pool, member))
    }

    /// As [`Self::acquire`]; `cancel` ends the wait.
    pub fn acquire_unless(&self, cancel: &Cancel) -> impl Future<Output = Result<Request>> + use<> {
        let pool = Rc::clone(&self.inner);
        let cancel = cancel.clone();
        async move {
            if pool.closed.get() {
                return Err(pool.closed_error());
            }
            if cancel.canceled.get() {
                return Err(canceled());
            }
            if let Some(request) = (RequestPool { inner: Rc::clone(&pool) }).try_acquire() {
                return Ok(request);
            }
            let ticket = Ticket { waiter: Rc::default(), pool: Rc::clone(&pool) };
            let _entry = pool.loaded.gpu.ledger.open(Object::Waiter, 0);
            pool.waiting.borrow_mut().push_back(Rc::clone(&ticket.waiter));
            *cancel.waiter.borrow_mut() = Rc::downgrade(&ticket.waiter);
            poll_fn(|cx| match ticket.waiter.outcome.borrow_mut().take() {
                Some(outcome) => Poll::Ready(outcome),
                None => {
                    *ticket.waiter.waker.borrow_mut() = Some(cx.waker().clone());
                    Poll::Pending
                }
            })
            .await
        }
    }

    /// The number of requests.
    pub fn len(&self) -> usize {
        self.inner.members.len()
    }

    /// True where there is none, which cannot be.
    pub fn is_empty(&self) -> bool {
        self.inner.members.is_empty()
    }

    /// Requests that nobody uses.
    pub fn idle(&self) -> usize {
        self.inner.idle.borrow().len()
    }

    /// Turns waiting callers away with `closed`, waits for what is in flight, frees the arenas. A second call does
    /// nothing.
    pub async fn close(&self) {
        self.inner.close().await;
    }
}

/// Leaves the queue when dropped, and passes on what was delivered too late.
struct Ticket {
    waiter: Rc<Waiter>,
    pool: Rc<Pool>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.waiter.gone.set(true);
        self.pool.waiting.borrow_mut().retain(|w| !Rc::ptr_eq(w, &self.waiter));
        // A request inside returns to the pool by its own drop.
        drop(self.waiter.outcome.take());
    }
}

impl Pool {
    /// One of its requests, as errors name it.
    fn place(&self) -> String {
        format!("request of engine {:?}", self.loaded.engine.name)
    }

    fn closed_error(&self) -> Error {
        super::load::closed(&format!("request pool of engine {:?}", self.loaded.engine.name))
    }

    pub(super) async fn close(&self) {
        self.closed.set(true);
        for waiter in self.waiting.take() {
            waiter.deliver(Err(self.closed_error()));
        }
        for member in &self.members {
            member.context.close().await;
        }
        drop(self.room.take());
    }

    /// Takes a request back and hands it to whoever has waited longest.
    fn give_back(self: &Rc<Self>, member: Rc<Member>) {
        member.owner.set(0);
        loop {
            let next = self.waiting.borrow_mut().pop_front();
            match next {
                Some(waiter) if waiter.gone.get() => {}
                Some(waiter) => return waiter.deliver(Ok(Request::of(self, member))),
                None => return self.idle.borrow_mut().push_back(member),
            }
        }
    }
}

/// The right to run an engine on one execution context. Returns to its pool when released or dropped.
#[derive(Debug, Clone)]
pub struct Request {
    handle: Rc<Handle>,
}

#[derive(Debug)]
struct Handle {
    pool: Rc<Pool>,
    member: Rc<Member>,
    owner: Cell<u64>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.release();
    }
}

impl Handle {
    fn release(&self) {
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

impl Member {
    fn hand_out(&self) -> u64 {
        self.owners.set(self.owners.get() + 1);
        self.owner.set(self.owners.get());
        self.owners.get()
    }
}

impl Request {
    fn of(pool: &Rc<Pool>, member: Rc<Member>) -> Self {
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
            Ok(Lease { handle, slot, run, times })
        })
    }

    /// True while a run is under way.
    pub fn is_busy(&self) -> bool {
        self.handle.member.context.in_flight() > 0
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

/// The results of one run.
#[derive(Debug)]
pub struct Lease {
    handle: Rc<Handle>,
    slot: Option<Weak<Slot>>,
    run: u64,
    times: RunTimes,
}

impl Lease {
    fn context(&self) -> &Context {
        &self.handle.member.context
    }

    fn slot(&self) -> Option<Rc<Slot>> {
        self.slot.as_ref().and_then(Weak::upgrade)
    }

    /// The outputs' identity cards, in the model's order.
    pub fn outputs(&self) -> &[Port] {
        &self.handle.pool.loaded.engine.outputs
    }

    /// How long the run took.
    pub const fn times(&self) -> &RunTimes {
        &self.times
    }

    /// False once the request has run again or was released: reading would give `stale-output`.
    pub fn is_fresh(&self) -> bool {
        self.context().is_fresh(self.slot().as_deref(), self.run)
    }

    /// Looks at the bytes of output `output` where they are mapped, without a copy: as the arena holds them
    /// ([`DType::gpu_bytes`]), at the end up to two bytes of padding.
    pub fn with<T>(&self, output: usize, look: impl FnOnce(&wgpu::BufferView) -> T) -> Result<T> {
        let slot = self.slot();
        let view = self.context().read(slot.as_deref(), self.run, output)?;
        Ok(look(&view))
    }

    /// A copy of output `output`, in the model's own element type.
    pub fn read(&self, output: usize) -> Result<Tensor> {
        let port = self.outputs().get(output);
        let port = port.ok_or_else(|| Error::new(ErrorKind::BadSource, format!("there is no output {output}")))?;
        let (dtype, elements) = (port.desc.dtype, port.desc.shape.elements());
        // A browser maps no empty range.
        let data = if elements == 0 && self.is_fresh() && !self.is_on_gpu(output) {
            decode(dtype, 0, &[])?
        } else {
            self.with(output, |bytes| decode(dtype, elements, bytes))??
        };
        let m = Move::new(Place::Javascript, home(), MoveKind::Copy, port_bytes(port));
        self.handle.pool.loaded.gpu.ledger.enter(m.because("a copy that lives on"));
        Tensor::new(port.desc.shape.clone(), data)
    }

    /// Copies of all outputs that are read back, in the model's order; `None` for those that stay on the GPU.
    pub fn detach(&self) -> Result<Vec<Option<Tensor>>> {
        let staged = &self.handle.pool.loaded.staged;
        staged.iter().enumerate().map(|(i, s)| s.map(|_| self.read(i)).transpose()).collect()
    }

    /// True where output `output` is not read back.
    pub fn is_on_gpu(&self, output: usize) -> bool {
        self.handle.pool.loaded.staged.get(output).is_some_and(Option::is_none)
    }

    /// The browser's own buffer that holds output `output`, its offset and its bytes. Valid until the next run.
    #[cfg(target_arch = "wasm32")]
    pub fn on_gpu(&self, output: usize) -> Result<(wgpu::Buffer, u64, u64)> {
        self.context().on_gpu(self.run, output)
    }

    /// Gives the results up, and the request back to its pool. Nothing happens where the request has run again since: it
    /// belongs to the later lease.
    pub fn release(&self) {
        if self.is_fresh() {
            self.context().release(self.slot().as_deref(), self.run);
            self.handle.release();
        }
    }
}

/// Elements of type `dtype` from the form in which the arena holds them.
pub(super) fn decode(dtype: DType, elements: usize, bytes: &[u8]) -> Result<Data> {
    let want = elements.saturating_mul(dtype.gpu_bytes());
    let bytes = bytes.get(..want).ok_or_else(|| {
        Error::new(ErrorKind::ShapeMismatch, format!("{} bytes for {elements} elements of {dtype}", bytes.len()))
    })?;
    let words = || bytes.chunks_exact(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    Ok(match dtype {
        DType::I64 => Data::I64(words().map(i64::from).collect()),
        DType::U8 => Data::U8(words().map(|w| w as u8).collect()),
        DType::I8 => Data::I8(words().map(|w| w as i8).collect()),
        DType::Bool => Data::Bool(words().map(|w| u8::from(w != 0)).collect()),
        DType::F32 | DType::F16 | DType::I32 | DType::U32 => Data::from_le_bytes(dtype, bytes)?,
    })
}
