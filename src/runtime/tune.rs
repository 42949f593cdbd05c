//! Which variant of a kernel is fastest is a property of the adapter: here it is measured.

use super::device::Gpu;
use super::kernels::{Kernel, Kernels, SlotKind};
use super::ledger::{Class, Move, MoveKind, Place};
use super::load::home;
use super::memory::{Buffer, STORAGE, UNIFORM};
use crate::error::Result;
use crate::kernels::tune::{Candidate, Probe, Slot, probes};
use crate::kernels::{Choices, DeviceLimits};
use std::rc::Rc;

/// A measurement shorter than this says more of the clock than of the kernel, in milliseconds.
const SHORTEST_MS: f64 = 2.0;
/// A measurement longer than this is not repeated: who waits for the first result waits for it, too.
const LONG_MS: f64 = 6.0;
/// Most dispatches of one measurement.
const MOST: u32 = 512;

/// Measures the variants that `limits` permit, the most telling first, and stops before the next one when `budget_ms` is used
/// up. What was not measured is left to the kernels' own rules.
pub(super) async fn measure(gpu: &Gpu, kernels: &Kernels, limits: &DeviceLimits, budget_ms: f64) -> Result<Choices> {
    let started = (gpu.clock)();
    let mut choices = Choices::default();
    for probe in probes(limits) {
        if (gpu.clock)() - started >= budget_ms {
            break;
        }
        gpu.alive()?;
        if let Some(variant) = fastest(gpu, kernels, &probe).await? {
            choices.set(probe.specialisation, variant);
        }
    }
    Ok(choices)
}

async fn fastest(gpu: &Gpu, kernels: &Kernels, probe: &Probe) -> Result<Option<&'static str>> {
    // All are handed to the compiler before the first is waited for.
    let started: Vec<_> = probe
        .candidates
        .iter()
        .map(|c| {
            let signature = c.bindings.iter().enumerate().map(|(i, slot)| (i as u32, kind(slot))).collect();
            let (kernel, check) = kernels.compile(gpu, &c.shader, &signature);
            (c, signature, kernel, check)
        })
        .collect();
    let mut best: Option<(f64, &'static str)> = None;
    for (candidate, signature, kernel, check) in started {
        if check.await.is_some() {
            // An adapter may refuse a variant; another will do.
            kernels.forget(&candidate.shader, &signature);
            continue;
        }
        let ms = time(gpu, candidate, &kernel).await?;
        if best.is_none_or(|(least, _)| ms < least) {
            best = Some((ms, candidate.variant));
        }
    }
    Ok(best.map(|(_, variant)| variant))
}

fn kind(slot: &Slot) -> SlotKind {
    match slot {
        Slot::Params => SlotKind::Uniform,
        Slot::Storage { read_only: true, .. } => SlotKind::ReadOnly,
        Slot::Storage { read_only: false, .. } => SlotKind::ReadWrite,
    }
}

/// Milliseconds of one dispatch.
async fn time(gpu: &Gpu, candidate: &Candidate, kernel: &Rc<Kernel>) -> Result<f64> {
    let buffers = buffers(gpu, candidate)?;
    let entries: Vec<_> = buffers
        .iter()
        .enumerate()
        .map(|(i, b)| wgpu::BindGroupEntry { binding: i as u32, resource: b.raw.as_entire_binding() })
        .collect();
    let group = gpu.bind_group(&kernel.layout, &entries);
    let run = async |times: u32| {
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&kernel.pipeline);
        pass.set_bind_group(0, &group, &[]);
        let [x, y, z] = candidate.groups;
        (0..times).for_each(|_| pass.dispatch_workgroups(x, y, z));
        drop(pass);
        let started = (gpu.clock)();
        gpu.queue.submit([encoder.finish()]);
        gpu.idle().await;
        (gpu.clock)() - started
    };
    run(1).await;
    let mut times = 1;
    let mut ms = run(times).await;
    while ms < SHORTEST_MS && times < MOST {
        times *= 8;
        ms = run(times).await;
    }
    for _ in 0..2 {
        if ms < LONG_MS {
            ms = ms.min(run(times).await);
        }
    }
    Ok(ms / f64::from(times))
}

fn buffers(gpu: &Gpu, candidate: &Candidate) -> Result<Vec<Buffer>> {
    let make = |slot: &Slot| {
        Ok(match *slot {
            Slot::Params => {
                let bytes = candidate.params.len() as u64;
                let buffer = gpu.buffer(Class::Build, "probe parameters", bytes, UNIFORM);
                gpu.write(&buffer, 0, &candidate.params)?;
                gpu.ledger
                    .enter(Move::new(home(), Place::Weights, MoveKind::Upload, bytes).because("kernel parameters"));
                buffer
            }
            Slot::Storage { bytes, .. } => gpu.buffer(Class::Build, "probe", bytes, STORAGE),
        })
    };
    candidate.bindings.iter().map(make).collect()
}
