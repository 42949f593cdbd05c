//! How much lies on the heap: an allocator that counts. The wasm build uses it, so that a load can be told by what it holds;
//! the size of wasm's memory itself never shrinks and says little.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counted. Only as the global allocator does it count everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counting;

fn grown(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Relaxed).wrapping_add(bytes);
    PEAK.fetch_max(live, Relaxed);
}

fn shrunk(bytes: usize) {
    LIVE.fetch_sub(bytes, Relaxed);
}

// SAFETY: every call goes to the system's allocator as it came, and its answer goes back as it is; counting touches none of the
// memory handed out.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        let memory = unsafe { System.alloc(layout) };
        if !memory.is_null() {
            grown(layout.size());
        }
        memory
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        let memory = unsafe { System.alloc_zeroed(layout) };
        if !memory.is_null() {
            grown(layout.size());
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(memory, layout) };
        shrunk(layout.size());
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as in `alloc`.
        let moved = unsafe { System.realloc(memory, layout, bytes) };
        if !moved.is_null() {
            grown(bytes);
            shrunk(layout.size());
        }
        moved
    }
}

/// Bytes on the heap now; 0 where nothing counts them.
pub fn live() -> u64 {
    LIVE.load(Relaxed) as u64
}

/// The most bytes there were since [`restart_peak`].
pub fn peak() -> u64 {
    PEAK.load(Relaxed) as u64
}

/// From now on [`peak`] is of what follows.
pub fn restart_peak() {
    PEAK.store(LIVE.load(Relaxed), Relaxed);
}
