//! Holds a recording against the device's limits and against itself, so that nothing later can go out of bounds.

use super::device::Gpu;
use super::load::{dispatch_of, port_bytes};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::recording::{ALIGNMENT, Command, Dispatch, FRAME_BYTES, Range, Resource, Space};

pub(super) fn mismatch(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::PlanMismatch, message).hint("compile the model again with this version")
}

/// Holds the recording against the device's limits and against itself, so that nothing later can go out of bounds.
pub(super) fn check(gpu: &Gpu, engine: &Engine) -> Result<()> {
    let r = &engine.recording;
    if engine.weights.len() as u64 != r.weights_bytes {
        return Err(mismatch(format!("{} bytes of weights, expected {}", engine.weights.len(), r.weights_bytes)));
    }
    let frame_bytes = FRAME_BYTES * engine.inputs.len() as u64;
    let size = |space| match space {
        Space::Arena => r.arena_bytes,
        Space::Weights => r.weights_bytes,
        Space::Params => r.params.len() as u64,
        Space::Frame => frame_bytes,
    };
    let fits = |range: &Range| -> Result<()> {
        let end = range.offset.checked_add(range.bytes);
        if end.is_none_or(|end| end > size(range.space)) || !range.offset.is_multiple_of(ALIGNMENT) {
            return Err(mismatch(format!("{range:?} does not lie in its buffer")));
        }
        Ok(())
    };
    let mut begun = false;
    for command in &r.commands {
        match command {
            Command::Upload { input, .. } | Command::Frame { input, .. } if *input >= engine.inputs.len() => {
                return Err(mismatch(format!("there is no input {input}")));
            }
            Command::Upload { .. } | Command::Frame { .. } if begun => {
                return Err(mismatch("an input is written after the network has begun"));
            }
            Command::Upload { input, to } => {
                fits(to)?;
                if port_bytes(&engine.inputs[*input]) > to.bytes {
                    return Err(mismatch(format!("input {input} is larger than its range")));
                }
            }
            Command::Download { output, from } => {
                fits(from)?;
                let port = engine.outputs.get(*output);
                if port.is_none_or(|port| port_bytes(port) > from.bytes) {
                    return Err(mismatch(format!("output {output} is no output or larger than its range")));
                }
                begun = true;
            }
            Command::Dispatch(_) => begun = true,
            Command::Frame { .. } => {}
        }
        if let Some(dispatch) = dispatch_of(command) {
            check_dispatch(gpu, dispatch, &fits)?;
        }
    }
    Ok(())
}

fn check_dispatch(gpu: &Gpu, dispatch: &Dispatch, fits: &dyn Fn(&Range) -> Result<()>) -> Result<()> {
    let limits = &gpu.limits;
    let mut storage = 0;
    for binding in &dispatch.bindings {
        let Resource::Buffer(range) = &binding.resource else { continue };
        fits(range)?;
        let (limit, what) = match range.space {
            Space::Arena | Space::Weights => {
                storage += 1;
                (limits.max_storage_buffer_binding_size, "a kernel's binding")
            }
            Space::Params | Space::Frame => (limits.max_uniform_buffer_binding_size, "a kernel's parameters"),
        };
        if range.bytes > limit {
            let message = format!("{what} needs {} bytes, the device allows {limit}", range.bytes);
            let pool = if range.space == Space::Arena { "activations" } else { "weights" };
            return Err(Error::new(ErrorKind::MemoryLimit, message)
                .at(format!("pool {pool:?}"))
                .hint("use a smaller input shape or a smaller batch"));
        }
        if range.bytes == 0 || !range.bytes.is_multiple_of(4) {
            return Err(mismatch(format!("{range:?} cannot be bound")));
        }
    }
    if storage > limits.max_storage_buffers_per_shader_stage {
        let most = limits.max_storage_buffers_per_shader_stage;
        return Err(mismatch(format!("a kernel binds {storage} buffers, the device allows {most}")));
    }
    let most = limits.max_compute_workgroups_per_dimension;
    if dispatch.groups.iter().any(|&n| n > most) {
        return Err(mismatch(format!("{:?} workgroups, the device allows {most} a dimension", dispatch.groups)));
    }
    Ok(())
}
