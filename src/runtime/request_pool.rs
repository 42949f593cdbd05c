//! Several requests of one engine, handed out in the order of asking.

use super::context::Context;
use super::ledger::Object;
use super::limits::{Room, times};
use super::load::Loaded;
use super::request::Request;
use crate::error::{Error, ErrorKind, Result};
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
    pub(super) loaded: Rc<Loaded>,
    members: Vec<Rc<Member>>,
    pub(super) idle: RefCell<VecDeque<Rc<Member>>>,
    waiting: RefCell<VecDeque<Rc<Waiter>>>,
    pub(super) closed: Cell<bool>,
    room: RefCell<Option<Room>>,
}

/// A context of the pool and who has it.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) context: Rc<Context>,
    /// Changes each time it is handed out; 0 while it is idle.
    pub(super) owner: Cell<u64>,
    owners: Cell<u64>,
}

impl Member {
    /// Gives it to a new owner, whose number this is.
    pub(super) fn hand_out(&self) -> u64 {
        self.owners.set(self.owners.get() + 1);
        self.owner.set(self.owners.get());
        self.owners.get()
    }
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
    pub(super) fn place(&self) -> String {
        format!("request of engine {:?}", self.loaded.engine.name)
    }

    pub(super) fn closed_error(&self) -> Error {
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
    pub(super) fn give_back(self: &Rc<Self>, member: Rc<Member>) {
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
