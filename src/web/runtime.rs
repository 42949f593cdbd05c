//! `RuntimeHandle`: the device, its ledger, its compiler.

use super::ahead;
use super::engine::{EngineHandle, LoadedHandle};
use super::error::thrown;
use super::js::{class, field, json, now, promise};
use super::tensors::WebFeeds;
use super::webgpu::raw;
use crate::engine::{self, CompileOptions, MemoryLimits, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::ledger::Bounds;
use crate::runtime::{ForeignDevice, NO_WEBGPU_ADVICE, PowerPreference, Runtime, RuntimeOptions};
use js_sys::{Function, Promise, Reflect};
use serde::Deserialize;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Options {
    power_preference: Option<PowerPreference>,
    limits: MemoryLimits,
}

/// A GPU device with its ledger. `create` resolves with one.
#[wasm_bindgen]
pub struct RuntimeHandle {
    runtime: Runtime,
}

#[wasm_bindgen]
impl RuntimeHandle {
    /// Opens a device; or uses `device`, a GPUDevice of the page's. `options` is JSON: `{ "powerPreference"?: "low-power" |
    /// "high-performance", "limits"?: { "activations"?, "workspace"?, "weights"?, "staging"? } }`, or empty. Resolves with a
    /// `RuntimeHandle`.
    pub fn create(options: String, device: JsValue) -> Promise {
        promise(create(options, device))
    }

    /// What is known about the adapter: JSON `{ vendor, architecture, description, isFallback, topology, features, limits }`.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn adapter(&self) -> String {
        json(&self.runtime.adapter())
    }

    /// The account of movements: JSON.
    #[must_use]
    pub fn ledger(&self) -> String {
        json(&self.runtime.ledger().snapshot())
    }

    /// The accounts of all adapters, the current one last: JSON.
    #[must_use]
    pub fn accounts(&self) -> String {
        json(&self.runtime.ledger().accounts())
    }

    /// What is alive: JSON.
    #[must_use]
    pub fn memory(&self) -> String {
        json(&self.runtime.ledger().memory())
    }

    /// The memory pools that have a limit: JSON `[{ pool, limit, inUse }]`.
    #[must_use]
    pub fn pools(&self) -> String {
        json(&self.runtime.pools())
    }

    /// Throws where a bound of the ledger is exceeded. `bounds` is JSON, for instance `{ "toCpuBytesPerFrame": 4096 }`.
    ///
    /// # Errors
    /// `memory-limit` or `layout-mismatch`; `bad-source` for bounds that do not exist.
    #[wasm_bindgen(js_name = assertLedger)]
    pub fn assert_ledger(&self, bounds: &str) -> std::result::Result<(), JsValue> {
        let bounds: Bounds = serde_json::from_str(bounds)
            .map_err(|e| thrown(&Error::new(ErrorKind::BadSource, format!("bounds of the ledger: {e}"))))?;
        self.runtime.ledger().assert(&bounds).map_err(|e| thrown(&e))
    }

    /// Errors of the GPU that no call reported: JSON, an array of texts. None are expected.
    #[must_use]
    pub fn errors(&self) -> String {
        json(&self.runtime.errors())
    }

    /// Resolves with JSON `{ reason, message }` when the device is gone.
    pub fn lost(&self) -> Promise {
        let runtime = self.runtime.clone();
        promise(async move { Ok(JsValue::from(json(&runtime.until_lost().await))) })
    }

    /// The GPUDevice.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn device(&self) -> JsValue {
        self.runtime.raw_device().map_or(JsValue::UNDEFINED, |d| JsValue::from(d.clone()))
    }

    /// Measures which kernel variants this adapter runs fastest, once, for about `budget_ms` milliseconds; or takes `kept`, what
    /// an earlier visit resolved with. Resolves with the table as JSON.
    pub fn tune(&self, budget_ms: f64, kept: Option<String>) -> Promise {
        let runtime = self.runtime.clone();
        promise(async move {
            // What does not read as a table is measured anew.
            if let Some(choices) = kept.and_then(|text| serde_json::from_str(&text).ok()) {
                runtime.set_choices(choices);
            }
            runtime.tune(budget_ms).await?;
            Ok(JsValue::from(json(&runtime.choices())))
        })
    }

    /// Compiles a model for this adapter. `options` is JSON as in the package's types; `progress(phase, done, total)` is called
    /// while it runs.
    ///
    /// # Errors
    /// Every kind that a model or an option can provoke.
    pub fn compile(
        &self,
        bytes: Vec<u8>,
        options: &str,
        progress: Option<Function>,
    ) -> std::result::Result<EngineHandle, JsValue> {
        compile_for(&self.runtime.target(), bytes, options, progress).map_err(|e| thrown(&e))
    }

    /// Compiles the kernels of an engine, which is used up, and uploads its weights. Resolves with a `LoadedHandle`.
    pub fn load(&self, engine: EngineHandle, progress: Option<Function>) -> Promise {
        let runtime = self.runtime.clone();
        promise(async move {
            let EngineHandle { engine, options } = engine;
            let report =
                |p: crate::runtime::Progress| call(progress.as_ref(), p.phase.as_str(), p.done as f64, p.total as f64);
            call(progress.as_ref(), engine::Phase::Kernels.as_str(), 0.0, engine.recording.shaders.len() as f64);
            let _kept = match runtime.raw_device() {
                Some(device) => ahead::compile(raw(device), &engine.recording).await,
                None => Vec::new(),
            };
            let loaded = runtime.load_with(engine, options, &report).await?;
            Ok(LoadedHandle::new(loaded))
        })
    }

    /// Holds every layer of `loaded` against its reference on the CPU, `runs` times. `bytes` and `options` are those that it was
    /// compiled from. Resolves with JSON `{ ok, layers, runs, repeatable, tolerance, worst, first? }`.
    pub fn verify(
        &self,
        loaded: &LoadedHandle,
        bytes: Vec<u8>,
        options: &str,
        feeds: &JsValue,
        runs: usize,
    ) -> Promise {
        let (runtime, options) = (self.runtime.clone(), CompileOptions::from_json(options));
        let (loaded, feeds) = (loaded.loaded(), WebFeeds::of(feeds, true));
        promise(async move {
            let (options, feeds) = (options?, feeds?);
            let (_, graph) = engine::compile_with_graph(&bytes, &options, &runtime.target())?;
            drop(bytes);
            let found = loaded.verify(&graph, &feeds.feeds(), runs).await?;
            feeds.settled().await?;
            Ok(JsValue::from(json(&found)))
        })
    }

    /// Waits for what is in flight, then frees everything. Resolves with nothing.
    pub fn close(&self) -> Promise {
        let runtime = self.runtime.clone();
        promise(async move {
            runtime.close().await;
            Ok(JsValue::UNDEFINED)
        })
    }
}

/// Compiles a model without a GPU, for any adapter.
///
/// # Errors
/// As [`RuntimeHandle::compile`].
#[wasm_bindgen]
pub fn compile(
    bytes: Vec<u8>,
    options: &str,
    progress: Option<Function>,
) -> std::result::Result<EngineHandle, JsValue> {
    compile_for(&Target::default(), bytes, options, progress).map_err(|e| thrown(&e))
}

fn call(progress: Option<&Function>, phase: &str, done: f64, total: f64) {
    if let Some(progress) = progress {
        // What the page's own function throws is the page's affair.
        let _ = progress.call3(&JsValue::UNDEFINED, &phase.into(), &done.into(), &total.into());
    }
}

fn compile_for(target: &Target, bytes: Vec<u8>, options: &str, progress: Option<Function>) -> Result<EngineHandle> {
    let options = CompileOptions::from_json(if options.is_empty() { "{}" } else { options })?;
    let mut done = 0.0;
    let mut report = |phase: engine::Phase| {
        call(progress.as_ref(), phase.as_str(), done, engine::Phase::OF_COMPILING as f64);
        done += 1.0;
    };
    let compiled = engine::compile_owned(bytes, &options, target, &mut report)?;
    Ok(EngineHandle::new(compiled, &options))
}

async fn create(options: String, device: JsValue) -> Result<RuntimeHandle> {
    let read = serde_json::from_str(if options.is_empty() { "{}" } else { &options });
    let Options { power_preference, limits } = read.map_err(|e| {
        Error::new(ErrorKind::BadSource, format!("the options cannot be read: {e}"))
            .at("Runtime.create()")
            .hint("it takes { powerPreference?, device?, limits? }; a limit is bytes, or a text such as \"8MiB\"")
    })?;
    let global = js_sys::global();
    if field(&field(&global, "navigator"), "gpu").is_undefined() {
        let insecure = field(&global, "isSecureContext").as_bool() == Some(false);
        let (message, hint) = if insecure {
            ("WebGPU is off because this page is not secure", "serve it over https, or from localhost")
        } else {
            ("there is no navigator.gpu here", NO_WEBGPU_ADVICE)
        };
        return Err(Error::new(ErrorKind::NoWebgpu, message).at("navigator.gpu").hint(hint));
    }
    let foreign: Option<Rc<dyn ForeignDevice>> = match class(&device).as_str() {
        _ if device.is_undefined() || device.is_null() => None,
        "GPUDevice" => Some(Rc::new(Shared::of(device))),
        _ => {
            return Err(Error::new(ErrorKind::DeviceMismatch, "`device` is no GPUDevice")
                .at("Runtime.create()")
                .hint("hand in what requestDevice() resolved with, awaited, or nothing"));
        }
    };
    let runtime = Runtime::create(RuntimeOptions { power_preference, clock: now, limits, foreign }).await?;
    if let Some(device) = runtime.raw_device() {
        let info = field(device.as_ref(), "adapterInfo");
        let text = |name| field(&info, name).as_string().unwrap_or_default();
        let (vendor, architecture) = (text("vendor"), text("architecture"));
        let software = matches!(architecture.as_str(), "swiftshader" | "llvmpipe" | "lavapipe");
        runtime.identify(&vendor, &architecture, software);
    }
    Ok(RuntimeHandle { runtime })
}

/// Makes `GPUAdapter.prototype.requestDevice` answer with the page's own device, for the one call that wgpu makes.
struct Shared {
    answer: Closure<dyn FnMut() -> Promise>,
    original: RefCell<JsValue>,
}

impl Shared {
    fn of(device: JsValue) -> Self {
        Self { answer: Closure::new(move || Promise::resolve(&device)), original: RefCell::new(JsValue::UNDEFINED) }
    }

    fn prototype() -> JsValue {
        field(&field(&js_sys::global(), "GPUAdapter"), "prototype")
    }

    fn replace(with: &JsValue) -> bool {
        Reflect::set(&Self::prototype(), &"requestDevice".into(), with).unwrap_or(false)
    }
}

impl ForeignDevice for Shared {
    fn begin(&self) -> Result<()> {
        *self.original.borrow_mut() = field(&Self::prototype(), "requestDevice");
        if Self::replace(self.answer.as_ref().unchecked_ref()) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::DeviceMismatch, "this browser does not let a device be shared")
            .at("Runtime.create()")
            .hint("let the runtime make its own device, and take that from `runtime.device`"))
    }

    fn end(&self) {
        Self::replace(&self.original.borrow());
    }
}
