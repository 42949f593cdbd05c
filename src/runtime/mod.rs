//! Running compiled engines on WebGPU. This is the only place that knows wgpu.
//!
//! ```text
//! Runtime ─ load ─▶ LoadedEngine ─ requests(n) ─▶ RequestPool ─ acquire ─▶ Request ─ run ─▶ Lease
//!   device            kernels, weights              n arenas                 tensors, frames   results
//! ```
//!
//! Every buffer, texture and bind group is made through the [`ledger`]; every byte that moves is entered there.

mod check;
pub mod clock;
mod context;
mod device;
mod feed;
mod gate;
mod kernels;
mod lease;
pub mod ledger;
mod limits;
mod live;
mod load;
mod memory;
mod relay;
mod report;
mod request;
mod request_pool;
mod run;
mod signal;
mod tensor_feed;
mod timestamps;
mod trace;
mod tune;

pub use clock::Clock;
pub use device::{AdapterInfo, Lost, NO_WEBGPU_ADVICE, PowerPreference};
pub use feed::{Feed, FramePass, FrameSlot, FrameSource, Pixels, TextureTarget};
pub use lease::Lease;
pub use ledger::Ledger;
pub use limits::PoolUse;
pub use load::{LoadTimes, Progress};
#[cfg(target_arch = "wasm32")]
pub use memory::GpuRange;
pub use report::{GpuTimes, RunTimes};
pub use request::Request;
pub use request_pool::{Cancel, RequestPool};
pub use tensor_feed::{BufferTarget, TensorSource, Viewed};

use crate::engine::{Engine, MemoryLimits, Port, Target, Verification};
use crate::error::Result;
use crate::graph::Graph;
use crate::kernels::{Choices, DeviceLimits};
use device::Gpu;
use kernels::Kernels;
use limits::Pools;
use load::Loaded;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

/// What a runtime is made with.
#[derive(Clone)]
pub struct RuntimeOptions {
    /// Which adapter to prefer.
    pub power_preference: Option<PowerPreference>,
    /// The host's clock.
    pub clock: Clock,
    /// Most bytes of each memory pool, over all engines and requests.
    pub limits: MemoryLimits,
    /// A device of the caller's, used in place of a new one; it outlives the runtime.
    pub foreign: Option<Rc<dyn ForeignDevice>>,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self { power_preference: None, clock: clock::system, limits: MemoryLimits::default(), foreign: None }
    }
}

/// A device of the caller's. wgpu opens devices only by asking an adapter, so the host makes the adapter's next answer be
/// this one.
pub trait ForeignDevice {
    /// From now on the adapter answers with this device. [`Self::end`] follows before anything else can run.
    fn begin(&self) -> Result<()>;
    /// The adapter answers as ever again.
    fn end(&self);
}

/// What an engine is loaded with.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Names of outputs that are not read back.
    pub on_gpu: Vec<String>,
    /// Conversions that nobody asked for are errors.
    pub strict: bool,
    /// Most bytes of buffers for reading back, of each request. Fewer buffers let fewer runs be under way at once.
    pub staging_limit: Option<u64>,
}

/// A GPU device with its ledger and its compiled kernels; clones share them.
#[derive(Debug, Clone)]
pub struct Runtime {
    inner: Rc<Inner>,
}

#[derive(Debug)]
struct Inner {
    gpu: Rc<Gpu>,
    adapter: RefCell<AdapterInfo>,
    kernels: Kernels,
    /// Measured; nothing before that.
    choices: RefCell<Option<Choices>>,
    engines: RefCell<Vec<Weak<Loaded>>>,
    closed: Cell<bool>,
}

impl Runtime {
    /// Finds an adapter and opens a device with all it offers; `no-webgpu` where there is none.
    pub async fn create(options: RuntimeOptions) -> Result<Self> {
        let pools = Pools::new(&options.limits);
        let gpu = Gpu::request(options.power_preference, options.clock, pools, options.foreign.as_deref()).await?;
        let adapter = gpu.describe();
        gpu.ledger.open_account(&adapter.key());
        let inner = Inner {
            gpu: Rc::new(gpu),
            adapter: RefCell::new(adapter),
            kernels: Kernels::default(),
            choices: RefCell::default(),
            engines: RefCell::default(),
            closed: Cell::new(false),
        };
        Ok(Self { inner: Rc::new(inner) })
    }

    /// What is known about the adapter.
    pub fn adapter(&self) -> AdapterInfo {
        self.inner.adapter.borrow().clone()
    }

    /// What the compiler needs to know of this adapter.
    pub fn target(&self) -> Target {
        let cpu = self.inner.adapter.borrow().is_fallback;
        let limits = DeviceLimits { cpu, ..self.inner.gpu.kernel_limits() };
        Target { limits, choices: self.choices() }
    }

    /// Measures which kernel variants this adapter runs fastest, for [`Self::target`]. Takes `budget_ms` milliseconds, or the
    /// one measurement longer that it began in time. A second call, or one after [`Self::set_choices`], does nothing.
    pub async fn tune(&self, budget_ms: f64) -> Result<()> {
        if self.inner.choices.borrow().is_some() || self.inner.closed.get() {
            return Ok(());
        }
        let limits = self.target().limits;
        let choices = tune::measure(&self.inner.gpu, &self.inner.kernels, &limits, budget_ms).await?;
        self.set_choices(choices);
        Ok(())
    }

    /// The kernel variants measured on this adapter: the timing cache, worth keeping under [`AdapterInfo::key`].
    pub fn choices(&self) -> Choices {
        self.inner.choices.borrow().clone().unwrap_or_default()
    }

    /// Takes what an earlier visit measured in place of measuring.
    pub fn set_choices(&self, choices: Choices) {
        *self.inner.choices.borrow_mut() = Some(choices);
    }

    /// Adds what the host knows about the adapter and wgpu does not; the account in the ledger changes with the adapter.
    pub fn identify(&self, vendor: &str, architecture: &str, is_fallback: bool) {
        let mut adapter = self.inner.adapter.borrow_mut();
        vendor.clone_into(&mut adapter.vendor);
        architecture.clone_into(&mut adapter.architecture);
        adapter.is_fallback |= is_fallback;
        self.inner.gpu.ledger.open_account(&adapter.key());
    }

    /// The account of memory and movements.
    pub fn ledger(&self) -> &Ledger {
        &self.inner.gpu.ledger
    }

    /// The memory pools that have a limit, and what is taken of them.
    pub fn pools(&self) -> Vec<PoolUse> {
        self.inner.gpu.pools.report()
    }

    /// Why the device is gone, if it is.
    pub fn lost(&self) -> Option<Lost> {
        self.inner.gpu.lost()
    }

    /// Resolves when the device is gone: also when the runtime was closed.
    pub async fn until_lost(&self) -> Lost {
        self.inner.gpu.until_lost().await
    }

    /// Errors of the GPU that no call reported. None are expected.
    pub fn errors(&self) -> Vec<String> {
        self.inner.gpu.errors()
    }

    /// Compiles an engine's kernels and uploads its weights. Kernels that another engine uses are not compiled again.
    pub async fn load(&self, engine: Engine, options: LoadOptions) -> Result<LoadedEngine> {
        self.load_with(engine, options, &|_| {}).await
    }

    /// The same; `progress` is told how far it has come.
    pub async fn load_with(
        &self,
        engine: Engine,
        options: LoadOptions,
        progress: &dyn Fn(Progress),
    ) -> Result<LoadedEngine> {
        if self.inner.closed.get() {
            return Err(load::closed("runtime"));
        }
        let gpu = Rc::clone(&self.inner.gpu);
        let loaded = Loaded::load(gpu, &self.inner.kernels, engine, &options, progress).await?;
        let loaded = Rc::new(loaded);
        let mut engines = self.inner.engines.borrow_mut();
        engines.retain(|e| e.strong_count() > 0);
        engines.push(Rc::downgrade(&loaded));
        Ok(LoadedEngine { loaded, strict: options.strict, own: Rc::default() })
    }

    /// Waits for what is in flight, closes every engine, gives the device up. A second call does nothing.
    pub async fn close(&self) {
        self.inner.closed.set(true);
        let engines: Vec<_> = self.inner.engines.take().iter().filter_map(Weak::upgrade).collect();
        for engine in engines {
            engine.close().await;
        }
        self.inner.kernels.clear();
        self.inner.gpu.destroy();
    }

    /// The browser's own device.
    #[cfg(target_arch = "wasm32")]
    pub fn raw_device(&self) -> Option<&wgpu::webgpu::GpuDevice> {
        self.inner.gpu.device.as_webgpu()
    }
}

/// An engine on the GPU; clones share it.
#[derive(Debug, Clone)]
pub struct LoadedEngine {
    loaded: Rc<Loaded>,
    strict: bool,
    /// The request of [`LoadedEngine::run`].
    own: Rc<Own>,
}

/// Where the engine's own pool of one is kept; whoever comes while it is being made waits.
#[derive(Debug, Default)]
struct Own {
    pool: RefCell<Option<RequestPool>>,
    making: Rc<gate::Gate>,
}

impl LoadedEngine {
    /// The model's inputs, in its order.
    pub fn inputs(&self) -> &[Port] {
        &self.loaded.engine.inputs
    }

    /// The model's outputs, in its order.
    pub fn outputs(&self) -> &[Port] {
        &self.loaded.engine.outputs
    }

    /// How long loading took.
    pub fn load_times(&self) -> LoadTimes {
        self.loaded.times
    }

    /// The compiled engine, without the contents of its weights.
    pub fn engine(&self) -> &Engine {
        &self.loaded.engine
    }

    /// A pool of `n` requests, each with an arena of its own; the weights are shared.
    pub async fn requests(&self, n: usize) -> Result<RequestPool> {
        RequestPool::new(Rc::clone(&self.loaded), n, self.strict).await
    }

    /// Runs the engine and copies its outputs out, in the model's order; `None` for those that stay on the GPU. Calls wait
    /// for one another.
    pub async fn run(&self, feeds: &[(&str, Feed<'_>)]) -> Result<Vec<Option<crate::tensor::Tensor>>> {
        let lease = self.run_leased(feeds).await?;
        let outputs = lease.detach();
        lease.release();
        outputs
    }

    /// The same, without copying: the outputs are there until the lease is released or dropped.
    pub async fn run_leased(&self, feeds: &[(&str, Feed<'_>)]) -> Result<Lease> {
        let request = self.own_pool().await?.acquire().await?;
        request.run(feeds).await
    }

    /// Starts a run at once where the engine's own request is free; none where the caller must wait, as in
    /// [`Self::run_leased`]. A frame that lives only as long as the calling task is read in time.
    pub fn start(&self, feeds: &[(&str, Feed<'_>)]) -> Option<Result<impl Future<Output = Result<Lease>> + use<>>> {
        let request = self.own.pool.borrow().as_ref()?.try_acquire()?;
        Some(request.start(feeds))
    }

    /// Holds every layer against the operator's reference on the CPU, fed with what the GPU computed before it, `runs` times.
    /// `graph` is what [`crate::engine::compile_with_graph`] gives beside an engine like this one.
    ///
    /// # Errors
    /// `plan-mismatch` where the graph is another engine's; what a run and a reference can say.
    pub async fn verify(&self, graph: &Graph, feeds: &[(&str, Feed<'_>)], runs: usize) -> Result<Verification> {
        let request = self.own_pool().await?.acquire().await?;
        trace::verify(request.context(), graph, feeds, runs).await
    }

    async fn own_pool(&self) -> Result<RequestPool> {
        loop {
            self.own.making.empty().await;
            let made = self.own.pool.borrow().clone();
            if let Some(pool) = made {
                return Ok(pool);
            }
            // Nothing was awaited since the gate was seen empty, so nobody else is making one.
            let _making = self.own.making.enter();
            let pool = self.requests(1).await?;
            *self.own.pool.borrow_mut() = Some(pool);
        }
    }

    /// Waits for what is in flight, closes every request, frees the weights. A second call does nothing.
    pub async fn close(&self) {
        self.loaded.close().await;
    }
}
