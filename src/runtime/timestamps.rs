//! The GPU's clock: two timestamps for each phase of a run, read back with the outputs.

use super::device::Gpu;
use super::ledger::Class;
use super::memory::{Buffer, TIMESTAMPS};
use super::report::GpuTimes;

/// A stretch of a run on the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Pre,
    Network,
    Post,
}

const PHASES: usize = 3;

/// Bytes that the timestamps of a run take in a staging buffer.
pub(super) const TIMESTAMP_BYTES: u64 = 2 * 8 * PHASES as u64;

/// Where the source of a frame puts the two timestamps of a pass of its own: resolving wants multiples of 256.
pub(super) const IN_PLACE_OFFSET: u64 = 256;

/// Bytes of one phase's timestamps.
const PAIR_BYTES: u64 = 2 * 8;

/// Bytes of the buffer through which a request's timestamps go.
pub(super) const RESOLVED_BYTES: u64 = IN_PLACE_OFFSET + PAIR_BYTES;

/// Which phases a run has timed.
pub(super) type Timed = [bool; PHASES];

/// A query set and the buffer its values go through.
#[derive(Debug)]
pub(super) struct Timestamps {
    set: wgpu::QuerySet,
    resolved: Buffer,
    /// Nanoseconds of a tick.
    period: f64,
}

impl Timestamps {
    /// None where the adapter has no timestamps.
    pub(super) fn new(gpu: &Gpu) -> Option<Self> {
        gpu.features.contains(wgpu::Features::TIMESTAMP_QUERY).then(|| Self {
            set: gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("phases"),
                ty: wgpu::QueryType::Timestamp,
                count: 2 * PHASES as u32,
            }),
            resolved: gpu.buffer(Class::Staging, "timestamps", RESOLVED_BYTES, TIMESTAMPS),
            period: gpu.queue.get_timestamp_period().into(),
        })
    }

    /// What a pass writes: at its beginning, at its end, or both.
    pub(super) fn writes(&self, phase: Phase, begin: bool, end: bool) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        let first = 2 * phase as u32;
        (begin || end).then(|| wgpu::ComputePassTimestampWrites {
            query_set: &self.set,
            beginning_of_pass_write_index: begin.then_some(first),
            end_of_pass_write_index: end.then_some(first + 1),
        })
    }

    /// The buffer that takes resolved timestamps.
    pub(super) const fn resolved(&self) -> &wgpu::Buffer {
        &self.resolved.raw
    }

    /// Copies the values to `offset` of a staging buffer; those of the frame from where its source has put them, where it
    /// was read `in_place`.
    pub(super) fn resolve(&self, encoder: &mut wgpu::CommandEncoder, to: &wgpu::Buffer, offset: u64, in_place: bool) {
        encoder.resolve_query_set(&self.set, 0..2 * PHASES as u32, &self.resolved.raw, 0);
        encoder.copy_buffer_to_buffer(&self.resolved.raw, 0, to, offset, TIMESTAMP_BYTES);
        if in_place {
            let pre = offset + PAIR_BYTES * Phase::Pre as u64;
            encoder.copy_buffer_to_buffer(&self.resolved.raw, IN_PLACE_OFFSET, to, pre, PAIR_BYTES);
        }
    }

    /// Reads the values.
    pub(super) fn times(&self, bytes: &[u8], timed: Timed) -> GpuTimes {
        let ticks: Vec<u64> =
            bytes.chunks_exact(8).map(|b| b.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))).collect();
        let ms = |phase: Phase| {
            let pair = ticks.get(2 * phase as usize..2 * phase as usize + 2)?;
            let ticks = pair[1].checked_sub(pair[0])?;
            timed[phase as usize].then(|| ticks as f64 * self.period / 1e6)
        };
        GpuTimes { pre_ms: ms(Phase::Pre), network_ms: ms(Phase::Network), post_ms: ms(Phase::Post) }
    }
}
