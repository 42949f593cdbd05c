//! The search proves what it says: against every order of small sets, and on the MiniMalloc benchmark.
#![cfg(not(target_arch = "wasm32"))]

use frameway::plan::{Block, Effort, Lifetime, Limit, Options, PlanError, plan, validate};
use proptest::prelude::*;
use std::path::Path;
use std::time::Instant;

/// The smallest arena for `blocks` at alignment 1: each order of placing blocks as low as they go, every one of them.
/// (Sort an optimal plan by offset and place again: no block ends up higher.)
fn smallest(blocks: &[Block]) -> u64 {
    fn place(blocks: &[Block], offsets: &mut [Option<u64>], best: &mut u64, height: u64) {
        if height >= *best {
            return;
        }
        if offsets.iter().all(Option::is_some) {
            *best = height;
            return;
        }
        for next in 0..blocks.len() {
            if offsets[next].is_some() {
                continue;
            }
            let mut offset = 0;
            while let Some((other, at)) = offsets.iter().enumerate().find_map(|(other, at)| {
                let at = (*at)?;
                let clash = blocks[other].life.overlaps(blocks[next].life)
                    && offset < at + blocks[other].bytes
                    && at < offset + blocks[next].bytes;
                clash.then_some((other, at))
            }) {
                offset = at + blocks[other].bytes;
            }
            offsets[next] = Some(offset);
            place(blocks, offsets, best, height.max(offset + blocks[next].bytes));
            offsets[next] = None;
        }
    }
    let mut best = u64::MAX;
    place(blocks, &mut vec![None; blocks.len()], &mut best, 0);
    best
}

fn thorough(capacity: Option<u64>) -> Options<'static> {
    Options { alignment: 1, capacity, effort: Effort::Thorough(Limit::Nodes(1_000_000)) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn small_sets_get_their_smallest_arena(
        raw in prop::collection::vec((1u64..12, 0u32..8, 1u32..6), 1..8)
    ) {
        let blocks: Vec<Block> = raw.iter()
            .map(|&(bytes, start, length)| Block { bytes, life: Lifetime::new(start, start + length) }).collect();
        let best = smallest(&blocks);
        let made = plan(&blocks, &thorough(None)).expect("small sizes");
        prop_assert_eq!(validate(&blocks, &made, 1), Ok(()));
        prop_assert_eq!((made.bytes, made.optimal), (best, true), "{}", made);
        prop_assert!(plan(&blocks, &thorough(Some(best))).is_ok());
        let short = matches!(
            plan(&blocks, &thorough(Some(best - 1))),
            Err(PlanError::OverCapacity { lower_bound, needed, .. }) if lower_bound <= best && best <= needed
        );
        prop_assert!(short);
    }
}

#[test]
fn an_optimum_above_the_bound_is_proven() {
    let block = |(bytes, start, end)| Block { bytes, life: Lifetime::new(start, end) };
    let blocks = [(1, 0, 4), (2, 4, 5), (2, 2, 5), (1, 0, 1), (1, 3, 7), (3, 0, 1), (3, 5, 6), (2, 2, 3)].map(block);
    assert_eq!(smallest(&blocks), 6);
    let made = plan(&blocks, &thorough(None)).expect("small sizes");
    assert_eq!((made.lower_bound, made.bytes, made.optimal), (5, 6, true));
    let asked = plan(&blocks, &thorough(Some(5)));
    assert_eq!(asked, Err(PlanError::OverCapacity { needed: 6, capacity: 5, lower_bound: 6 }));
}

#[test]
fn large_sets_neither_overflow_the_stack_nor_take_for_ever() {
    let block = |at: u32, bytes: u64, steps: u32| Block { bytes, life: Lifetime::new(at, at + steps) };
    // Many small blocks with room to spare in most slots: the search nests as deep as it may.
    let deep: Vec<Block> =
        (0..2000u32).map(|at| block(at / 4, 1 + u64::from(at * 7919 % 97), 1 + at * 31 % 9)).collect();
    let effort = Effort::Thorough(Limit::Nodes(5000));
    let made = plan(&deep, &Options { alignment: 1, capacity: None, effort }).expect("small sizes");
    assert_eq!(validate(&deep, &made, 1), Ok(()));
    // More conflicts than are listed.
    let wide: Vec<Block> = (0..5000u32).map(|at| block(at % 7, 1 + u64::from(at % 13), 10)).collect();
    let made = plan(&wide, &Options { alignment: 1, capacity: None, effort }).expect("small sizes");
    assert_eq!(validate(&wide, &made, 1), Ok(()));
    assert_eq!((made.bytes, made.packer), (made.lower_bound, "linear scan"));
}

#[test]
fn the_challenging_instances_fit_their_capacity() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/minimalloc/challenging");
    if !folder.is_dir() {
        println!("skipped: {} is absent", folder.display());
        return;
    }
    for name in 'A'..='K' {
        let text = std::fs::read_to_string(folder.join(format!("{name}.1048576.csv"))).expect("the instance is there");
        let blocks: Vec<Block> = text.lines().skip(1).map(parse).collect();
        let start = Instant::now();
        let now = || start.elapsed().as_secs_f64() * 1e3;
        let effort = Effort::Thorough(Limit::Clock { now: &now, milliseconds: 60_000.0 });
        let made = plan(&blocks, &Options { alignment: 1, capacity: Some(1_048_576), effort });
        let made = made.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(validate(&blocks, &made, 1), Ok(()), "{name}");
        assert!(made.bytes <= 1_048_576, "{name}: {made}");
        println!("{name}: {} blocks, {:.2} s, {made}", blocks.len(), now() / 1e3);
    }
}

/// `id,lower,upper,size`, half-open.
fn parse(line: &str) -> Block {
    let fields: Vec<u64> = line.split(',').skip(1).map(|field| field.parse().expect("a number")).collect();
    let step = |at: usize| u32::try_from(fields[at]).expect("a step");
    Block { bytes: fields[2], life: Lifetime::new(step(0), step(1)) }
}
