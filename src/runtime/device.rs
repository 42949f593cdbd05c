//! The GPU device: found, described, watched. `wgpu::Device` and `wgpu::Queue` are reached only through [`Gpu`].

use super::ForeignDevice;
use super::clock::Clock;
use super::ledger::Ledger;
use super::limits::Pools;
use super::signal::{Sender, Signal, lock, signal};
use crate::error::{Error, ErrorKind, Result};
use crate::kernels::DeviceLimits;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// Which adapter to prefer on a machine with two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PowerPreference {
    /// The one that spares the battery.
    LowPower,
    /// The fast one.
    HighPerformance,
}

/// What the page is told about the adapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AdapterInfo {
    /// Who made it, as the browser says; empty where it does not.
    pub vendor: String,
    /// Its family.
    pub architecture: String,
    /// Its name, where it is known.
    pub description: String,
    /// True where a CPU plays the GPU.
    pub is_fallback: bool,
    /// "discrete" where the adapter is known to have memory of its own, otherwise "unknown".
    pub topology: &'static str,
    /// Optional features in use, by WebGPU's names.
    pub features: Vec<&'static str>,
    /// Limits that bound a network, by WebGPU's names.
    pub limits: BTreeMap<&'static str, u64>,
}

impl AdapterInfo {
    /// Names the adapter in the ledger and in a timing cache.
    pub fn key(&self) -> String {
        format!("{}/{}/{}", self.vendor, self.architecture, self.description)
    }
}

/// Why the device is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// "destroyed" or "unknown", as in WebGPU.
    pub reason: &'static str,
    /// The browser's or driver's words.
    pub message: String,
}

#[derive(Debug, Default)]
struct Health {
    lost: Option<Lost>,
    waiters: Vec<Sender<Lost>>,
    errors: Vec<String>,
}

/// At most so many uncaptured errors are kept.
const KEPT_ERRORS: usize = 32;

/// The device and its queue, with what is known about them.
#[derive(Debug)]
pub(super) struct Gpu {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) ledger: Ledger,
    pub(super) pools: Rc<Pools>,
    pub(super) clock: Clock,
    pub(super) limits: wgpu::Limits,
    pub(super) features: wgpu::Features,
    info: wgpu::AdapterInfo,
    health: Arc<Mutex<Health>>,
    /// False where the device is the caller's own: then it outlives the runtime.
    owned: bool,
}

impl Gpu {
    pub(super) async fn request(
        power: Option<PowerPreference>,
        clock: Clock,
        pools: Pools,
        foreign: Option<&dyn ForeignDevice>,
    ) -> Result<Self> {
        let mut instance = wgpu::InstanceDescriptor::new_without_display_handle();
        instance.backends = wgpu::Backends::VULKAN | wgpu::Backends::BROWSER_WEBGPU;
        let options = wgpu::RequestAdapterOptions {
            power_preference: match power {
                Some(PowerPreference::LowPower) => wgpu::PowerPreference::LowPower,
                Some(PowerPreference::HighPerformance) => wgpu::PowerPreference::HighPerformance,
                None => wgpu::PowerPreference::None,
            },
            ..Default::default()
        };
        let adapter = wgpu::Instance::new(instance).request_adapter(&options).await.map_err(|e| no_webgpu(&e))?;
        let wanted = wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::SHADER_F16;
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("frameway"),
            required_features: adapter.features() & wanted,
            required_limits: adapter.limits(),
            ..Default::default()
        };
        foreign.map_or(Ok(()), ForeignDevice::begin)?;
        // The adapter is asked as the future is made, not when it is first polled.
        let answer = adapter.request_device(&descriptor);
        if let Some(foreign) = foreign {
            foreign.end();
        }
        let (device, queue) = answer.await.map_err(|e| no_webgpu(&e))?;
        let owned = foreign.is_none();
        let health = watch(&device, owned);
        let (info, limits, features) = (adapter.get_info(), device.limits(), device.features());
        let (ledger, pools) = (Ledger::new(&info.name), Rc::new(pools));
        Ok(Self { device, queue, ledger, pools, clock, limits, features, info, health, owned })
    }

    /// What kernels may ask of this device.
    pub(super) fn kernel_limits(&self) -> DeviceLimits {
        let l = &self.limits;
        DeviceLimits {
            max_storage_buffers: l.max_storage_buffers_per_shader_stage,
            max_binding_bytes: l.max_storage_buffer_binding_size,
            max_buffer_bytes: l.max_buffer_size,
            max_invocations: l.max_compute_invocations_per_workgroup,
            max_workgroup_bytes: l.max_compute_workgroup_storage_size,
            max_groups: l.max_compute_workgroups_per_dimension,
            f16: self.features.contains(wgpu::Features::SHADER_F16),
            max_workspace_bytes: self.pools.workspace().unwrap_or(u64::MAX),
            ..DeviceLimits::default()
        }
    }

    /// What wgpu knows of the adapter. In a browser the vendor's name is known to the web layer only.
    pub(super) fn describe(&self) -> AdapterInfo {
        let l = &self.limits;
        let mut limits = BTreeMap::new();
        limits.extend([
            ("maxBufferSize", l.max_buffer_size),
            ("maxStorageBufferBindingSize", l.max_storage_buffer_binding_size),
            ("maxStorageBuffersPerShaderStage", l.max_storage_buffers_per_shader_stage.into()),
            ("maxComputeWorkgroupStorageSize", l.max_compute_workgroup_storage_size.into()),
            ("maxComputeInvocationsPerWorkgroup", l.max_compute_invocations_per_workgroup.into()),
            ("maxComputeWorkgroupsPerDimension", l.max_compute_workgroups_per_dimension.into()),
            ("maxTextureDimension2D", l.max_texture_dimension_2d.into()),
        ]);
        let names = [(wgpu::Features::TIMESTAMP_QUERY, "timestamp-query"), (wgpu::Features::SHADER_F16, "shader-f16")];
        AdapterInfo {
            vendor: match self.info.vendor {
                0 => String::new(),
                id => format!("{id:#06x}"),
            },
            architecture: self.info.driver.clone(),
            description: self.info.name.clone(),
            is_fallback: self.info.device_type == wgpu::DeviceType::Cpu,
            topology: match self.info.device_type {
                wgpu::DeviceType::DiscreteGpu => "discrete",
                _ => "unknown",
            },
            features: names.iter().filter(|(f, _)| self.features.contains(*f)).map(|&(_, name)| name).collect(),
            limits,
        }
    }

    /// An error where the device is lost.
    pub(super) fn alive(&self) -> Result<()> {
        match self.lost() {
            Some(lost) => Err(Error::new(ErrorKind::DeviceLost, format!("{}: {}", lost.reason, lost.message))
                .at("GPUDevice")
                .hint("make a new Runtime and load the engine again")),
            None => Ok(()),
        }
    }

    pub(super) fn lost(&self) -> Option<Lost> {
        lock(&self.health).lost.clone()
    }

    /// Resolves when the device is lost.
    pub(super) fn until_lost(&self) -> Signal<Lost> {
        let (sender, receiver) = signal();
        let mut health = lock(&self.health);
        match health.lost.clone() {
            Some(lost) => sender.send(lost),
            None => health.waiters.push(sender),
        }
        receiver
    }

    /// Errors that no scope caught. None are expected.
    pub(super) fn errors(&self) -> Vec<String> {
        lock(&self.health).errors.clone()
    }

    /// Waits until the GPU has done all that was submitted.
    pub(super) async fn idle(&self) {
        if self.lost().is_some() {
            return;
        }
        let (sender, done) = signal();
        self.queue.on_submitted_work_done(move || sender.send(()));
        self.wait(None);
        done.await;
    }

    /// Blocks a native caller until `submission` (or all work) is done; in a browser the event loop does it.
    pub(super) fn wait(&self, submission: Option<wgpu::SubmissionIndex>) {
        if cfg!(not(target_arch = "wasm32")) {
            // The only errors are a time-out, which cannot be, and a wrong index; both leave the callback to say so.
            let _ = self.device.poll(wgpu::PollType::Wait { submission_index: submission, timeout: None });
        }
    }

    /// Gives the device up, unless it is the caller's own.
    pub(super) fn destroy(&self) {
        if self.owned {
            self.device.destroy();
            // Natively the news of it comes with the next poll.
            self.wait(None);
        }
    }
}

/// Listens to a device. The uncaptured errors of a foreign one are the caller's own affair.
fn watch(device: &wgpu::Device, owned: bool) -> Arc<Mutex<Health>> {
    let health = Arc::new(Mutex::new(Health::default()));
    if owned {
        let seen = Arc::clone(&health);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            let mut health = lock(&seen);
            if health.errors.len() < KEPT_ERRORS {
                health.errors.push(error.to_string());
            }
        }));
    }
    let seen = Arc::clone(&health);
    device.set_device_lost_callback(move |reason, message| {
        let reason = match reason {
            wgpu::DeviceLostReason::Destroyed => "destroyed",
            _ => "unknown",
        };
        let lost = Lost { reason, message };
        let waiters = {
            let mut health = lock(&seen);
            health.lost = Some(lost.clone());
            std::mem::take(&mut health.waiters)
        };
        for waiter in waiters {
            waiter.send(lost.clone());
        }
    });
    health
}

fn no_webgpu(cause: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::NoWebgpu, format!("there is no GPU to be had: {cause}"))
        .at("GPUAdapter")
        .hint(NO_WEBGPU_ADVICE)
}

/// What someone without WebGPU can do.
pub const NO_WEBGPU_ADVICE: &str = "use a browser with WebGPU (Chrome or Edge 113, Safari 26, Firefox 141, or newer), \
serve the page over https or from localhost, and switch hardware acceleration on in the browser's settings";
