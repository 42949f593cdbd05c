//! The account of GPU memory and of every byte that moves between memory spaces. Pure bookkeeping: nothing here knows
//! wgpu. Code that makes a buffer gets an [`Entry`] here and gives it back by dropping it; code that moves bytes enters a
//! [`Move`].

mod account;
mod moves;
mod report;

pub use moves::{Move, MoveKind, Place};
pub use report::{Bounds, Bytes, Edge, Memory, Queue, Snapshot};

use crate::error::{Error, ErrorKind, Result};
use account::Account;
use serde::Serialize;
use std::cell::{Ref, RefCell};
use std::rc::Rc;

/// What GPU memory is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Class {
    /// Packed weights, shared by all requests of an engine.
    Weights,
    /// One per request: inputs, intermediates, outputs.
    Arena,
    /// Buffers that the CPU maps for reading.
    Staging,
    /// Frames on the GPU.
    Textures,
    /// Kernel parameters and frame blocks.
    Uniforms,
    /// Scratch that lives only while an engine is loaded or measured.
    Build,
}

/// How many classes there are.
const CLASSES: usize = 6;

/// What an [`Entry`] stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object {
    /// A GPU buffer.
    Buffer(Class),
    /// A GPU texture.
    Texture,
    /// A bind group; takes no bytes.
    BindGroup,
    /// A loaded engine.
    Engine,
    /// A request.
    Request,
    /// A run under way.
    Run,
    /// A caller in a queue.
    Waiter,
}

/// The ledger of a runtime; clones share it. Another adapter opens another account.
#[derive(Debug, Clone)]
pub struct Ledger {
    /// The account in use is the last.
    accounts: Rc<RefCell<Vec<Rc<RefCell<Account>>>>>,
}

/// An object that is alive; dropping it enters its end.
#[derive(Debug)]
pub struct Entry {
    account: Rc<RefCell<Account>>,
    object: Object,
    bytes: u64,
}

impl Entry {
    /// Bytes of GPU memory.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.account.borrow_mut().close(self.object, self.bytes);
    }
}

/// Movements of one run, so that "bytes per frame" is of one frame even while several runs overlap.
#[derive(Debug)]
pub struct Frame {
    account: Rc<RefCell<Account>>,
    number: u64,
}

impl Frame {
    /// Enters a movement that belongs to this frame.
    pub fn enter(&self, m: Move) {
        self.account.borrow_mut().enter(&m, self.number);
    }

    /// Enters GPU time of the movements like `m`.
    pub fn gpu_time(&self, m: Move, ms: f64) {
        let mut account = self.account.borrow_mut();
        let total = account.total(&m);
        total.gpu_ms += ms;
        total.gpu_count += 1;
    }

    /// Counts the frame as finished.
    pub fn finish(self) {
        self.account.borrow_mut().frames += 1;
    }

    /// Its number, from 1.
    pub const fn number(&self) -> u64 {
        self.number
    }
}

impl Ledger {
    /// A ledger with one account, for the adapter that `key` names.
    pub fn new(key: &str) -> Self {
        let ledger = Self { accounts: Rc::default() };
        ledger.open_account(key);
        ledger
    }

    /// Makes the account of adapter `key` the current one; a new adapter begins at zero. Objects stay in the account
    /// they were entered in.
    pub fn open_account(&self, key: &str) {
        let mut accounts = self.accounts.borrow_mut();
        let at = accounts.iter().position(|a| a.borrow().key == key);
        let account = match at {
            Some(at) => accounts.remove(at),
            None => Rc::new(RefCell::new(Account { key: key.to_owned(), ..Account::default() })),
        };
        accounts.push(account);
    }

    fn account(&self) -> Rc<RefCell<Account>> {
        let accounts = self.accounts.borrow();
        Ref::map(accounts, |a| a.as_slice()).last().cloned().unwrap_or_default()
    }

    /// Enters an object that takes `bytes` of GPU memory.
    pub fn open(&self, object: Object, bytes: u64) -> Entry {
        let account = self.account();
        account.borrow_mut().open(object, bytes);
        Entry { account, object, bytes }
    }

    /// Enters a movement that belongs to no frame.
    pub fn enter(&self, m: Move) {
        self.account().borrow_mut().enter(&m, 0);
    }

    /// Begins a frame.
    pub fn begin_frame(&self) -> Frame {
        let account = self.account();
        let number = {
            let mut a = account.borrow_mut();
            a.begun += 1;
            a.begun
        };
        Frame { account, number }
    }

    /// The current account.
    pub fn snapshot(&self) -> Snapshot {
        self.account().borrow().snapshot()
    }

    /// The accounts of all adapters, the current one last.
    pub fn accounts(&self) -> Vec<Snapshot> {
        self.accounts.borrow().iter().map(|a| a.borrow().snapshot()).collect()
    }

    /// What is alive in the current account.
    pub fn memory(&self) -> Memory {
        let account = self.account();
        let a = account.borrow();
        Memory {
            gpu: a.bytes(&a.live),
            peaks: a.bytes(&a.peaks),
            wasm_bytes: wasm_bytes(),
            requests: a.requests,
            engines: a.engines,
            buffers: a.buffers,
            textures: a.textures,
            queue: Queue { in_flight: a.runs, waiting: a.waiters },
        }
    }

    /// An error that names every bound that is exceeded: `layout-mismatch` where only movements nobody asked for are too
    /// many, `memory-limit` otherwise.
    pub fn assert(&self, bounds: &Bounds) -> Result<()> {
        let s = self.snapshot();
        let per_frame = |to_gpu: bool| -> u64 {
            let crosses = |e: &&Edge| e.from.on_gpu() != to_gpu && e.to.on_gpu() == to_gpu;
            s.edges.iter().filter(crosses).map(|e| e.bytes_per_frame).sum()
        };
        let implicit: Vec<&Edge> = s.edges.iter().filter(|e| e.implicit).collect();
        let checks = [
            ("implicit", bounds.implicit, implicit.iter().map(|e| e.count).sum()),
            ("toCpuBytesPerFrame", bounds.to_cpu_bytes_per_frame, per_frame(false)),
            ("toGpuBytesPerFrame", bounds.to_gpu_bytes_per_frame, per_frame(true)),
            ("toCpuBytes", bounds.to_cpu_bytes, s.to_cpu_bytes),
            ("toGpuBytes", bounds.to_gpu_bytes, s.to_gpu_bytes),
            ("buffersCreated", bounds.buffers_created, s.buffers_created),
            ("bindGroupsCreated", bounds.bind_groups_created, s.bind_groups_created),
            ("gpuBytes", bounds.gpu_bytes, self.memory().gpu.total),
        ];
        let over: Vec<_> = checks.iter().filter_map(|&(n, b, v)| b.filter(|&b| v > b).map(|b| (n, v, b))).collect();
        if over.is_empty() {
            return Ok(());
        }
        let words: Vec<String> = over.iter().map(|(n, v, b)| format!("{n} is {v}, allowed are {b}")).collect();
        let kind =
            if over.iter().all(|o| o.0 == "implicit") { ErrorKind::LayoutMismatch } else { ErrorKind::MemoryLimit };
        let edges: Vec<&str> = implicit.iter().map(|e| e.id.as_str()).collect();
        let error = Error::new(kind, words.join("; ")).at("ledger");
        Err(error.hint(match &edges[..] {
            [] => "ledger.snapshot().edges tells what moved where".to_owned(),
            edges => format!("not asked for: {}", edges.join(", ")),
        }))
    }
}

/// Bytes of the wasm heap.
fn wasm_bytes() -> u64 {
    #[cfg(target_arch = "wasm32")]
    return core::arch::wasm32::memory_size(0) as u64 * 65_536;
    #[cfg(not(target_arch = "wasm32"))]
    0
}

#[cfg(test)]
mod tests;
