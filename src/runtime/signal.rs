//! A value that arrives once, awaited as a future: what the GPU's callbacks turn into.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Locks; a lock that a panic left behind is as good as any other here, since every critical section is one assignment.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
struct State<T> {
    value: Option<T>,
    waker: Option<Waker>,
}

/// Where the value is awaited. Resolves once.
#[derive(Debug)]
pub(super) struct Signal<T>(Arc<Mutex<State<T>>>);

/// Where the value is sent from.
#[derive(Debug)]
pub(super) struct Sender<T>(Arc<Mutex<State<T>>>);

/// A pair of the two.
pub(super) fn signal<T>() -> (Sender<T>, Signal<T>) {
    let state = Arc::new(Mutex::new(State { value: None, waker: None }));
    (Sender(Arc::clone(&state)), Signal(state))
}

impl<T> Sender<T> {
    /// Delivers the value and wakes whoever waits.
    pub(super) fn send(&self, value: T) {
        let waker = {
            let mut state = lock(&self.0);
            state.value = Some(value);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Future for Signal<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let mut state = lock(&self.0);
        match state.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}
