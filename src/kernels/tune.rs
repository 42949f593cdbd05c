//! What a tuner measures: the same node in each of its variants, as plain data.
//!
//! Which variant is fastest is a property of the adapter. The runtime runs the candidates of each [`Probe`] on it, enters
//! the fastest with [`Choices::set`](super::Choices::set), and may keep the table for the next visit: it serialises, and is
//! the timing cache. Where nothing was measured, each kernel's own rule decides.

use super::{Context, DeviceLimits, Sample, Source, conv, select};
use crate::recording::Shader;

/// Variants of one node, alike in everything but speed.
#[derive(Debug, Clone)]
pub struct Probe {
    /// Key in [`Choices`](super::Choices).
    pub specialisation: String,
    /// What to measure against each other; at least two.
    pub candidates: Vec<Candidate>,
}

/// One variant: a dispatch over buffers whose contents do not matter.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The value to enter in [`Choices`](super::Choices).
    pub variant: &'static str,
    /// The module.
    pub shader: Shader,
    /// What each slot of group 0 is bound to. Storage is bound as the shader declares it: weights read-only.
    pub bindings: Vec<Slot>,
    /// Contents of the parameter block.
    pub params: Vec<u8>,
    /// Workgroups.
    pub groups: [u32; 3],
}

/// A buffer that a candidate binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The parameter block: uniform.
    Params,
    /// Zeros, so many bytes.
    Storage {
        /// Length.
        bytes: u64,
        /// Bound read-only.
        read_only: bool,
    },
}

/// The probes for an adapter, the most telling first, so that a tuner may stop when its time is up. Each is small: well under
/// a millisecond on a GPU, a few milliseconds on a CPU.
pub fn probes(limits: &DeviceLimits) -> Vec<Probe> {
    conv::samples().into_iter().filter_map(|sample| probe(sample.limits(|l| l.clone_from(limits)))).collect()
}

fn probe(sample: Sample) -> Option<Probe> {
    let choice = sample.with(|ctx| select(ctx).ok()?.choice)?;
    let mut candidates = Vec::new();
    let mut sample = sample;
    for variant in choice.candidates {
        sample = sample.choose(&choice.specialisation, variant);
        candidates.extend(sample.with(|ctx| candidate(ctx, variant)));
    }
    (candidates.len() > 1).then_some(Probe { specialisation: choice.specialisation, candidates })
}

fn candidate(ctx: &Context<'_>, variant: &'static str) -> Option<Candidate> {
    let kernel = select(ctx).ok().filter(|k| k.scratch == 0 && k.launches.len() == 1)?;
    let launch = kernel.launches.into_iter().next()?;
    let arena = |arg: crate::Result<super::Arg<'_>>| -> Option<Slot> {
        let arg = arg.ok()?;
        let bytes = (u64::from(arg.count().ok()?) * arg.ty.dtype.gpu_bytes() as u64).next_multiple_of(16);
        Some(Slot::Storage { bytes, read_only: false })
    };
    let bindings = launch.bindings.iter().map(|source| match source {
        Source::Params => Some(Slot::Params),
        Source::Input(i) => arena(ctx.input(*i)),
        Source::Output(i) => arena(ctx.output(*i)),
        Source::Weights(packed) => Some(Slot::Storage { bytes: packed.bytes, read_only: true }),
        _ => None,
    });
    let bindings = bindings.collect::<Option<Vec<_>>>()?;
    Some(Candidate { variant, shader: launch.shader, bindings, params: launch.params, groups: launch.groups })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_adapter_gets_probes_it_can_run() {
        for cpu in [false, true] {
            let limits = DeviceLimits { cpu, ..DeviceLimits::default() };
            let probes = probes(&limits);
            assert!(!probes.is_empty());
            for probe in &probes {
                let tiled = probe.candidates.iter().any(|c| c.variant == "tiled");
                assert_eq!(tiled, !cpu, "{}", probe.specialisation);
                for c in &probe.candidates {
                    assert!(c.groups.iter().all(|&g| g > 0 && g <= limits.max_groups), "{}", c.variant);
                    assert_eq!(c.bindings.first(), Some(&Slot::Params));
                }
            }
            let keys: std::collections::BTreeSet<_> = probes.iter().map(|p| &p.specialisation).collect();
            assert_eq!(keys.len(), probes.len(), "two probes decide the same thing");
        }
    }
}
