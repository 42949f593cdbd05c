//! Counts who is inside, and lets others wait until nobody is.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};

#[derive(Debug, Default)]
pub(super) struct Gate {
    inside: Cell<usize>,
    wakers: RefCell<Vec<Waker>>,
}

/// Somebody inside; leaves when dropped.
#[derive(Debug)]
pub(super) struct Visit(Rc<Gate>);

impl Gate {
    pub(super) fn enter(self: &Rc<Self>) -> Visit {
        self.inside.set(self.inside.get() + 1);
        Visit(Rc::clone(self))
    }

    /// Resolves when nobody is inside.
    pub(super) fn empty(self: &Rc<Self>) -> impl Future<Output = ()> + use<> {
        let gate = Rc::clone(self);
        poll_fn(move |cx| {
            if gate.inside.get() == 0 {
                return Poll::Ready(());
            }
            gate.wakers.borrow_mut().push(cx.waker().clone());
            Poll::Pending
        })
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.0.inside.set(self.0.inside.get().saturating_sub(1));
        if self.0.inside.get() == 0 {
            for waker in self.0.wakers.take() {
                waker.wake();
            }
        }
    }
}
