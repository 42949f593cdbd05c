use super::{ALIGNMENT, Command, Dispatch, Recording, Resource, Space};
use crate::error::{Error, ErrorKind, Result};

/// Holds a recording against WebGPU's rules for buffer bindings, as far as they can be known without a device:
///
/// - ranges begin at multiples of 256, are multiples of four bytes long, not empty, and inside their buffer;
/// - arena ranges of one dispatch are disjoint (all are read_write; one range is bound once);
/// - slots are distinct, shaders exist, and no dimension has more than 65,535 workgroups.
///
/// # Errors
/// `plan-mismatch` naming the command.
pub fn check(recording: &Recording) -> Result<()> {
    for (i, command) in recording.commands.iter().enumerate() {
        let result = match command {
            Command::Dispatch(dispatch) | Command::Frame { dispatch, .. } => check_dispatch(recording, dispatch),
            Command::Upload { to: range, .. } | Command::Download { from: range, .. } => {
                check_range(recording, range.space, range.offset, range.bytes, true)
            }
        };
        result.map_err(|why| Error::new(ErrorKind::PlanMismatch, why).at(format!("command {i}")))?;
    }
    Ok(())
}

fn check_range(
    recording: &Recording,
    space: Space,
    offset: u64,
    bytes: u64,
    may_be_empty: bool,
) -> std::result::Result<(), String> {
    if !offset.is_multiple_of(ALIGNMENT) || !bytes.is_multiple_of(4) || (bytes == 0 && !may_be_empty) {
        return Err(format!("range {offset}+{bytes} of {space:?} is not aligned"));
    }
    let size = match space {
        Space::Arena => recording.arena_bytes,
        Space::Weights => recording.weights_bytes,
        Space::Params => recording.params.len() as u64,
        Space::Frame => return Ok(()),
    };
    if offset.checked_add(bytes).is_none_or(|end| end > size) {
        return Err(format!("range {offset}+{bytes} lies outside {space:?} of {size} bytes"));
    }
    Ok(())
}

fn check_dispatch(recording: &Recording, dispatch: &Dispatch) -> std::result::Result<(), String> {
    if recording.shaders.get(dispatch.shader).is_none() {
        return Err(format!("shader {} does not exist", dispatch.shader));
    }
    if dispatch.groups.iter().any(|g| *g == 0 || *g > 65_535) {
        return Err(format!("{:?} workgroups", dispatch.groups));
    }
    let mut arena = Vec::new();
    for (i, binding) in dispatch.bindings.iter().enumerate() {
        if dispatch.bindings[..i].iter().any(|other| other.slot == binding.slot) {
            return Err(format!("slot {} is bound twice", binding.slot));
        }
        let Resource::Buffer(range) = binding.resource else { continue };
        check_range(recording, range.space, range.offset, range.bytes, false)?;
        if range.space == Space::Arena {
            arena.push(range);
        }
    }
    for (i, a) in arena.iter().enumerate() {
        if let Some(b) = arena[i + 1..].iter().find(|b| a.overlaps(b)) {
            return Err(format!(
                "arena ranges {}+{} and {}+{} share bytes and are bound apart",
                a.offset, a.bytes, b.offset, b.bytes
            ));
        }
    }
    Ok(())
}
