//! Properties of plans over random sets of blocks.
#![cfg(not(target_arch = "wasm32"))]

use frameway::plan::{Block, Lifetime, Options, Plan, PlanError, Violation, lower_bound, plan, validate};
use proptest::prelude::*;

fn block() -> impl Strategy<Value = Block> {
    (prop_oneof![4 => 0u64..100_000, 1 => Just(0)], 0u32..40, 0u32..12)
        .prop_map(|(bytes, start, length)| Block { bytes, life: Lifetime::new(start, start + length) })
}

fn alignment() -> impl Strategy<Value = u64> {
    prop_oneof![Just(1u64), Just(4), Just(256), Just(96)]
}

fn planned(blocks: &[Block], alignment: u64) -> Plan {
    plan(blocks, &Options { alignment, ..Options::default() }).expect("small sizes")
}

proptest! {
    #[test]
    fn plans_are_valid_bounded_and_repeatable(blocks in prop::collection::vec(block(), 0..60), alignment in alignment()) {
        let made = planned(&blocks, alignment);
        prop_assert_eq!(validate(&blocks, &made, alignment), Ok(()));
        let (bound, _) = lower_bound(&blocks, alignment).expect("small sizes");
        prop_assert_eq!(made.lower_bound, bound);
        prop_assert!(bound <= made.bytes && made.bytes <= made.naive);
        prop_assert_eq!(made.bytes % alignment, 0);
        prop_assert_eq!(planned(&blocks, alignment), made);
    }

    #[test]
    fn the_referee_sees_every_mutation(
        blocks in prop::collection::vec(block(), 2..40), pick in any::<[prop::sample::Index; 2]>(), alignment in alignment()
    ) {
        let good = planned(&blocks, alignment);
        let occupied: Vec<usize> =
            (0..blocks.len()).filter(|&at| blocks[at].bytes > 0 && !blocks[at].life.is_empty()).collect();
        prop_assume!(!occupied.is_empty());
        let block = occupied[pick[0].index(occupied.len())];
        let mutated = |change: &dyn Fn(&mut Plan)| {
            let mut plan = good.clone();
            change(&mut plan);
            validate(&blocks, &plan, alignment)
        };
        // Onto another block that is alive at the same time.
        let clashing: Vec<usize> = occupied.iter().copied()
            .filter(|&other| other != block && blocks[other].life.overlaps(blocks[block].life)).collect();
        if !clashing.is_empty() {
            let other = clashing[pick[1].index(clashing.len())];
            let overlap = mutated(&|plan| {
                plan.offsets[block] = plan.offsets[other];
                plan.bytes = u64::MAX;
            });
            prop_assert!(matches!(overlap, Err(Violation::Overlap { .. })), "{:?}", overlap);
        }
        if alignment > 1 {
            let shifted = mutated(&|plan| plan.offsets[block] += 1);
            prop_assert!(matches!(shifted, Err(Violation::Misaligned { .. } | Violation::Overlap { .. })), "{:?}", shifted);
        }
        // An arena one byte shorter than its highest block, a block past the end, past 64 bits, an offset lost.
        let end = occupied.iter().map(|&at| good.offsets[at] + blocks[at].bytes).max().unwrap_or(0);
        let shrunk = mutated(&|plan| plan.bytes = end - 1);
        let moved_out = mutated(&|plan| plan.offsets[block] = plan.bytes.next_multiple_of(alignment));
        let wrapped = mutated(&|plan| plan.offsets[block] = u64::MAX / alignment * alignment);
        for verdict in [shrunk, moved_out, wrapped] {
            prop_assert!(matches!(verdict, Err(Violation::OutOfBounds { .. })), "{:?}", verdict);
        }
        let lost = mutated(&|plan| plan.offsets.truncate(blocks.len() - 1));
        prop_assert_eq!(lost, Err(Violation::WrongCount { blocks: blocks.len(), offsets: blocks.len() - 1 }));
    }
}

#[test]
fn sizes_that_overflow_are_an_error() {
    let huge = |bytes| Block { bytes, life: Lifetime::through(0, 3) };
    let options = Options::default();
    assert_eq!(plan(&[huge(u64::MAX)], &options), Err(PlanError::Overflow));
    assert_eq!(plan(&[huge(1 << 63), huge(1 << 63)], &options), Err(PlanError::Overflow));
    assert_eq!(plan(&[], &Options { alignment: 0, ..options }), Err(PlanError::ZeroAlignment));
    assert_eq!(validate(&[], &planned(&[], 256), 256), Ok(()));
}

#[test]
fn a_capacity_that_is_not_met_says_what_would_do() {
    let blocks =
        [Block { bytes: 1000, life: Lifetime::through(0, 1) }, Block { bytes: 1, life: Lifetime::through(1, 2) }];
    let asked = plan(&blocks, &Options { capacity: Some(1024), ..Options::default() });
    assert_eq!(asked, Err(PlanError::OverCapacity { needed: 1280, capacity: 1024, lower_bound: 1280 }));
    assert!(plan(&blocks, &Options { capacity: Some(1280), ..Options::default() }).is_ok());
}

#[test]
fn the_referee_names_what_is_wrong() {
    let blocks =
        [Block { bytes: 300, life: Lifetime::through(0, 1) }, Block { bytes: 200, life: Lifetime::through(1, 2) }];
    let good = planned(&blocks, 256);
    let with = |offsets: [u64; 2], bytes| Plan { offsets: offsets.to_vec(), bytes, ..good.clone() };
    assert_eq!(validate(&blocks, &good, 256), Ok(()));
    assert_eq!(validate(&blocks[..1], &good, 256), Err(Violation::WrongCount { blocks: 1, offsets: 2 }));
    assert_eq!(validate(&blocks, &with([0, 513], 1024), 256), Err(Violation::Misaligned { block: 1, offset: 513 }));
    assert_eq!(validate(&blocks, &with([0, 256], 1024), 256), Err(Violation::Overlap { first: 0, second: 1 }));
    let end = Some(712);
    assert_eq!(validate(&blocks, &with([0, 512], 711), 256), Err(Violation::OutOfBounds { block: 1, end, arena: 711 }));
    assert_eq!(validate(&blocks, &with([0, 512], 712), 256), Ok(()));
}
