//! The size below which no plan exists, and the size above which none is needed.

use super::{Block, PlanError, Step};

/// The largest sum of aligned sizes alive at one step, in bytes, and the first step that reaches it.
///
/// # Errors
/// [`PlanError::ZeroAlignment`]; [`PlanError::Overflow`] where sizes exceed 64 bits.
pub fn lower_bound(blocks: &[Block], alignment: u64) -> Result<(u64, Step), PlanError> {
    if alignment == 0 {
        return Err(PlanError::ZeroAlignment);
    }
    // An event's time is twice its step, and one more where a block starts: half-open neighbours do not add up.
    let mut events = Vec::with_capacity(2 * blocks.len());
    for block in blocks.iter().filter(|block| block.bytes > 0 && !block.life.is_empty()) {
        let bytes = block.bytes.checked_next_multiple_of(alignment).ok_or(PlanError::Overflow)?;
        events.push((2 * u64::from(block.life.start) + 1, bytes));
        events.push((2 * u64::from(block.life.end), bytes));
    }
    events.sort_unstable();
    let (mut alive, mut bound, mut peak) = (0u64, 0, 0);
    for (time, bytes) in events {
        let starts = time % 2 == 1;
        alive = if starts { alive.checked_add(bytes) } else { alive.checked_sub(bytes) }.ok_or(PlanError::Overflow)?;
        if alive > bound {
            (bound, peak) = (alive, (time / 2) as Step);
        }
    }
    Ok((bound, peak))
}

/// The sum of all aligned sizes in bytes: what it takes where nothing shares memory.
///
/// # Errors
/// [`PlanError::ZeroAlignment`]; [`PlanError::Overflow`] where sizes exceed 64 bits.
pub fn naive(blocks: &[Block], alignment: u64) -> Result<u64, PlanError> {
    if alignment == 0 {
        return Err(PlanError::ZeroAlignment);
    }
    blocks.iter().try_fold(0u64, |sum, block| {
        block
            .bytes
            .checked_next_multiple_of(alignment)
            .and_then(|bytes| sum.checked_add(bytes))
            .ok_or(PlanError::Overflow)
    })
}

#[cfg(test)]
mod tests {
    use super::super::Lifetime;
    use super::*;

    fn block(bytes: u64, start: Step, end: Step) -> Block {
        Block { bytes, life: Lifetime::new(start, end) }
    }

    #[test]
    fn adds_what_is_alive_and_rounds_each_block_up() {
        let blocks = [block(1, 0, 3), block(257, 2, 4), block(256, 3, 4)];
        assert_eq!(lower_bound(&blocks, 256), Ok((768, 2)));
        assert_eq!(lower_bound(&blocks, 1), Ok((513, 3)));
    }

    #[test]
    fn half_open_neighbours_do_not_add_up() {
        assert_eq!(lower_bound(&[block(8, 0, 2), block(8, 2, 4)], 1), Ok((8, 0)));
        assert_eq!(lower_bound(&[block(8, 2, 2), block(0, 0, 9), block(8, 5, 1)], 1), Ok((0, 0)));
    }

    #[test]
    fn overflow_is_an_error() {
        assert_eq!(lower_bound(&[block(u64::MAX, 0, 1)], 256), Err(PlanError::Overflow));
        assert_eq!(lower_bound(&[block(u64::MAX, 0, 2), block(1, 1, 2)], 1), Err(PlanError::Overflow));
        assert_eq!(lower_bound(&[], 0), Err(PlanError::ZeroAlignment));
        assert_eq!(naive(&[block(u64::MAX, 0, 2), block(1, 3, 4)], 1), Err(PlanError::Overflow));
        assert_eq!(naive(&[block(1, 0, 2), block(257, 3, 3)], 256), Ok(768));
    }
}
