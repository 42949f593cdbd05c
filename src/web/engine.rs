//! Engines, requests and leases as JavaScript holds them. Whatever waits gives a promise that owns all it needs, so a page
//! may call, free or close a handle at any time.

use super::error::thrown;
use super::js::{json, object, promise};
use super::tensors::{WebFeeds, array, view};
use crate::engine::{CompileOptions, Copies, Detail, Engine, Keep, Port};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::{Cancel, GpuRange, Lease, LoadOptions, LoadedEngine, Request, RequestPool};
use crate::tensor::TensorDesc;
use js_sys::{Array, Promise};
use serde::Serialize;
use std::cell::Cell;
use std::rc::Rc;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

/// An identity card, and whether a frame may be handed in for it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PortCard<'a> {
    #[serde(flatten)]
    desc: &'a TensorDesc,
    takes_frames: bool,
}

fn cards(ports: &[Port]) -> String {
    let cards = ports.iter().map(|p| PortCard { desc: &p.desc, takes_frames: p.preprocess.is_some() });
    json(&cards.collect::<Vec<_>>())
}

fn inspect(engine: &Engine, detail: &str) -> std::result::Result<String, JsValue> {
    let detail = Detail::parse(detail).ok_or_else(|| {
        thrown(&Error::new(ErrorKind::BadSource, format!("{detail:?} is neither \"names\" nor \"detailed\"")))
    })?;
    Ok(json(&engine.inspect(detail)))
}

/// A compiled engine, not on any GPU.
#[wasm_bindgen]
pub struct EngineHandle {
    pub(super) engine: Engine,
    pub(super) options: LoadOptions,
}

impl EngineHandle {
    pub(super) fn new(engine: Engine, options: &CompileOptions) -> Self {
        let on_gpu = options.outputs.iter().filter(|(_, keep)| **keep == Keep::Gpu).map(|(name, _)| name.clone());
        let options = LoadOptions {
            on_gpu: on_gpu.collect(),
            strict: options.copies == Copies::Strict,
            staging_limit: options.limits.staging.map(|bytes| bytes.0),
        };
        Self { engine, options }
    }
}

#[wasm_bindgen]
impl EngineHandle {
    /// The model's name.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn name(&self) -> String {
        self.engine.name.clone()
    }

    /// Identity cards of the inputs: JSON.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn inputs(&self) -> String {
        cards(&self.engine.inputs)
    }

    /// Identity cards of the outputs: JSON.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn outputs(&self) -> String {
        cards(&self.engine.outputs)
    }

    /// The inspector's report: JSON. `detail` is `names` or `detailed`.
    ///
    /// # Errors
    /// `bad-source` for another word.
    pub fn inspect(&self, detail: &str) -> std::result::Result<String, JsValue> {
        inspect(&self.engine, detail)
    }
}

/// An engine on the GPU.
#[wasm_bindgen]
pub struct LoadedHandle {
    loaded: LoadedEngine,
    in_place: Rc<Cell<bool>>,
}

impl LoadedHandle {
    pub(super) fn new(loaded: LoadedEngine) -> Self {
        Self { loaded, in_place: Rc::new(Cell::new(true)) }
    }

    pub(super) fn loaded(&self) -> LoadedEngine {
        self.loaded.clone()
    }
}

#[wasm_bindgen]
impl LoadedHandle {
    /// The model's name.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn name(&self) -> String {
        self.loaded.engine().name.clone()
    }

    /// Identity cards of the inputs: JSON.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn inputs(&self) -> String {
        cards(self.loaded.inputs())
    }

    /// Identity cards of the outputs: JSON.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn outputs(&self) -> String {
        cards(self.loaded.outputs())
    }

    /// How long loading took: JSON `{ kernelsMs, weightsMs, kernelsCompiled, kernelsReused }`.
    #[wasm_bindgen(getter, js_name = loadTimes)]
    #[must_use]
    pub fn load_times(&self) -> String {
        json(&self.loaded.load_times())
    }

    /// The inspector's report: JSON. `detail` is `names` or `detailed`.
    ///
    /// # Errors
    /// `bad-source` for another word.
    pub fn inspect(&self, detail: &str) -> std::result::Result<String, JsValue> {
        inspect(self.loaded.engine(), detail)
    }

    /// Whether video frames may be read without a copy, as an external texture; true at first. For comparing the two ways.
    #[wasm_bindgen(js_name = setExternalTextures)]
    pub fn set_external_textures(&self, allowed: bool) {
        self.in_place.set(allowed);
    }

    /// Runs the engine. Resolves with `{ outputs, times }`: a typed array for each output in the model's order (undefined for
    /// one that stays on the GPU), and JSON of the run's times. Calls wait for one another.
    pub fn run(&self, feeds: &JsValue) -> Promise {
        let feeds = WebFeeds::of(feeds, self.in_place.get());
        let loaded = self.loaded.clone();
        // Where nobody is running, the frame is read before this call returns.
        let started = feeds.as_ref().ok().and_then(|feeds| loaded.start(&feeds.feeds()));
        promise(async move {
            let feeds = feeds?;
            let lease = match started {
                Some(run) => run?.await?,
                None => loaded.run_leased(&feeds.feeds()).await?,
            };
            feeds.settled().await?;
            let outputs = detach(&lease)?;
            let times = json(lease.times());
            lease.release();
            Ok(object(&[("outputs", outputs.into()), ("times", times.into())]))
        })
    }

    /// Makes `n` requests, each with its arena. Resolves with a `PoolHandle`.
    pub fn requests(&self, n: usize) -> Promise {
        let (loaded, in_place) = (self.loaded.clone(), Rc::clone(&self.in_place));
        promise(async move { Ok(PoolHandle { pool: loaded.requests(n).await?, in_place }) })
    }

    /// Waits for what is in flight, then frees everything of this engine. Resolves with nothing.
    pub fn close(&self) -> Promise {
        let loaded = self.loaded.clone();
        promise(async move {
            loaded.close().await;
            Ok(JsValue::UNDEFINED)
        })
    }
}

/// Ends a wait for a request.
#[wasm_bindgen]
#[derive(Default)]
pub struct CancelHandle {
    cancel: Cancel,
}

#[wasm_bindgen]
impl CancelHandle {
    /// For one call of `acquireUnless`.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The acquisition rejects with `canceled`, unless it has a request already.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

/// Several requests of one engine.
#[wasm_bindgen]
pub struct PoolHandle {
    pool: RequestPool,
    in_place: Rc<Cell<bool>>,
}

#[wasm_bindgen]
impl PoolHandle {
    /// A free request; waits for one in the order of asking. Resolves with a `RequestHandle`.
    pub fn acquire(&self) -> Promise {
        self.acquire_unless(&CancelHandle::default())
    }

    /// The same; `cancel` ends the wait.
    #[wasm_bindgen(js_name = acquireUnless)]
    pub fn acquire_unless(&self, cancel: &CancelHandle) -> Promise {
        let acquired = self.pool.acquire_unless(&cancel.cancel);
        let in_place = Rc::clone(&self.in_place);
        promise(async move { Ok(RequestHandle { request: acquired.await?, in_place }) })
    }

    /// The number of requests.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn size(&self) -> usize {
        self.pool.len()
    }

    /// Requests that nobody uses.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn idle(&self) -> usize {
        self.pool.idle()
    }

    /// Waits for what is in flight, then frees the arenas. Resolves with nothing.
    pub fn close(&self) -> Promise {
        let pool = self.pool.clone();
        promise(async move {
            pool.close().await;
            Ok(JsValue::UNDEFINED)
        })
    }
}

/// The right to run an engine.
#[wasm_bindgen]
pub struct RequestHandle {
    request: Request,
    in_place: Rc<Cell<bool>>,
}

#[wasm_bindgen]
impl RequestHandle {
    /// Runs the engine; rejects with `busy` while a run is under way. The feeds are read before this call returns. Resolves
    /// with a `LeaseHandle`.
    pub fn run(&self, feeds: &JsValue) -> Promise {
        let started =
            WebFeeds::of(feeds, self.in_place.get()).and_then(|feeds| Ok((self.request.start(&feeds.feeds())?, feeds)));
        promise(finished(started))
    }

    /// The same, without waiting for the run before; at most three runs are under way.
    pub fn submit(&self, feeds: &JsValue) -> Promise {
        let started = WebFeeds::of(feeds, self.in_place.get())
            .and_then(|feeds| Ok((self.request.submit(&feeds.feeds())?, feeds)));
        promise(finished(started))
    }

    /// Where input `index` is read from: `{ buffer, offset, bytes }`. A tensor that lies there is not copied.
    ///
    /// # Errors
    /// `closed`; `busy` where the request was released and somebody else has it; `bad-source` for an input that takes frames alone.
    pub fn input(&self, index: usize) -> std::result::Result<JsValue, JsValue> {
        self.request.input(index).map(range).map_err(|e| thrown(&e))
    }

    /// True while a run is under way.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn busy(&self) -> bool {
        self.request.is_busy()
    }

    /// Returns the request to its pool.
    pub fn release(&self) {
        self.request.release();
    }
}

/// The results of one run.
#[wasm_bindgen]
pub struct LeaseHandle {
    lease: Lease,
}

#[wasm_bindgen]
impl LeaseHandle {
    /// Output `index` as a typed array: over mapped GPU memory for float32, float16, int32 and uint32 (the browser empties
    /// it when the request runs again), a copy for the other types.
    ///
    /// # Errors
    /// `stale-output` once the request has run again, `closed`, `device-mismatch` where the output stays on the GPU.
    pub fn read(&self, index: usize) -> std::result::Result<JsValue, JsValue> {
        read(&self.lease, index).map_err(|e| thrown(&e))
    }

    /// Copies of all outputs in the model's order, undefined for one that stays on the GPU.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn detach(&self) -> std::result::Result<Array, JsValue> {
        detach(&self.lease).map_err(|e| thrown(&e))
    }

    /// Where output `index` lies on the GPU: `{ buffer, offset, bytes }`. Valid until the request runs again.
    ///
    /// # Errors
    /// `stale-output` once the request has run again, `closed`.
    pub fn buffer(&self, index: usize) -> std::result::Result<JsValue, JsValue> {
        self.lease.on_gpu(index).map(range).map_err(|e| thrown(&e))
    }

    /// How long the run took: JSON `{ frame, uploadMs, preMs, encodeMs, waitMs, gpu?: { preMs?, networkMs?, postMs? } }`.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn times(&self) -> String {
        json(self.lease.times())
    }

    /// False once reading would give `stale-output`.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn fresh(&self) -> bool {
        self.lease.is_fresh()
    }

    /// Gives the results up and the request back to its pool.
    pub fn release(&self) {
        self.lease.release();
    }
}

/// The lease of a run, once what it was fed with is known to be usable.
async fn finished(started: Result<(impl Future<Output = Result<Lease>>, WebFeeds)>) -> Result<LeaseHandle> {
    let (run, feeds) = started?;
    let lease = run.await?;
    feeds.settled().await?;
    Ok(LeaseHandle { lease })
}

fn range(range: GpuRange) -> JsValue {
    let buffer = range.raw().map_or(JsValue::UNDEFINED, |b| JsValue::from(b.clone()));
    object(&[("buffer", buffer), ("offset", (range.offset as f64).into()), ("bytes", (range.bytes as f64).into())])
}

fn read(lease: &Lease, index: usize) -> Result<JsValue> {
    let Some(port) = lease.outputs().get(index) else {
        return Err(Error::new(ErrorKind::BadSource, format!("there is no output {index}")));
    };
    let (dtype, elements) = (port.desc.dtype, port.desc.shape.elements());
    if elements == 0 {
        return lease.read(index).map(|tensor| array(tensor.data()));
    }
    match lease.with(index, |bytes| view(dtype, elements, bytes.as_uint8array()))? {
        Some(view) => Ok(view),
        None => lease.read(index).map(|tensor| array(tensor.data())),
    }
}

fn detach(lease: &Lease) -> Result<Array> {
    let outputs = Array::new();
    for index in 0..lease.outputs().len() {
        outputs.push(&if lease.is_on_gpu(index) { JsValue::UNDEFINED } else { copied(&read(lease, index)?) });
    }
    Ok(outputs)
}

/// `view.slice()`: the same class over memory of its own.
fn copied(view: &JsValue) -> JsValue {
    let slice = super::js::field(view, "slice").dyn_into::<js_sys::Function>();
    slice.ok().and_then(|slice| slice.call0(view).ok()).unwrap_or_else(|| view.clone())
}
