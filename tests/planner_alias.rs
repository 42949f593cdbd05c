//! Sharing memory on purpose: the rules one by one, then random programs run on a memory that remembers who wrote what.
#![cfg(not(target_arch = "wasm32"))]

use frameway::plan::{Aliased, Block, Lifetime, Options, Place, Refusal, Relation, plan, unify, validate};
use proptest::prelude::*;

const ALIGNMENT: u64 = 256;

fn value(bytes: u64, first_write: u32, last_read: u32) -> Block {
    Block { bytes, life: Lifetime::through(first_write, last_read) }
}

fn in_place(operand: usize, result: usize) -> Relation {
    Relation::InPlace { operand, result }
}

fn view(whole: usize, part: usize, offset: u64) -> Relation {
    Relation::View { whole, part, offset }
}

fn unified(values: &[Block], relations: &[Relation]) -> Aliased {
    unify(values, relations, &[], ALIGNMENT).expect("small sizes")
}

#[test]
fn a_result_takes_the_place_of_an_operand_that_dies() {
    let made = unified(&[value(512, 0, 1), value(512, 1, 4)], &[in_place(0, 1)]);
    assert_eq!(made.refusals, [None]);
    assert_eq!(made.blocks, [value(512, 0, 4)]);
    assert_eq!(made.places, [Place { block: 0, offset: 0 }; 2]);
}

#[test]
fn a_result_does_not_overwrite_what_is_read_later() {
    let refusal = |values: &[Block]| unified(values, &[in_place(0, 1)]).refusals[0];
    assert_eq!(refusal(&[value(512, 0, 2), value(512, 1, 4)]), Some(Refusal::OperandNotDying));
    assert_eq!(refusal(&[value(512, 0, 1), value(512, 2, 4)]), Some(Refusal::OperandNotDying));
    assert_eq!(refusal(&[value(512, 0, 1), value(256, 1, 4)]), Some(Refusal::SizesDiffer));
    assert_eq!(refusal(&[value(512, 0, 1)]), Some(Refusal::NoSuchValue));
}

#[test]
fn only_one_operand_of_a_sum_gives_its_place() {
    let made = unified(&[value(512, 0, 2), value(512, 1, 2), value(512, 2, 3)], &[in_place(0, 2), in_place(1, 2)]);
    assert_eq!(made.refusals, [None, Some(Refusal::Clash { first: 1, second: 0 })]);
    assert_eq!(made.blocks.len(), 2);
}

#[test]
fn parts_of_a_concatenation_lie_inside_it_from_their_first_write() {
    let values = [value(256, 0, 3), value(512, 2, 3), value(768, 3, 6)];
    let made = unified(&values, &[view(2, 0, 0), view(2, 1, 256)]);
    assert_eq!(made.refusals, [None, None]);
    assert_eq!(made.blocks, [value(768, 0, 6)]);
    assert_eq!(made.places.map_offsets(), [0, 256, 0]);
}

#[test]
fn a_value_cannot_lie_in_two_concatenations_nor_twice_in_one() {
    let values = [value(256, 0, 4), value(256, 0, 4), value(512, 3, 6), value(512, 4, 6)];
    let made = unified(&values, &[view(2, 0, 0), view(2, 1, 256), view(3, 0, 256), view(2, 0, 256)]);
    assert_eq!(made.refusals[..2], [None, None]);
    assert_eq!(made.refusals[2..], [Some(Refusal::PartElsewhere), Some(Refusal::PositionFixed)]);
}

#[test]
fn a_slice_keeps_its_source_and_protects_it() {
    // The source is read last by step 2; its slice lives on to step 5, so step 2 may not write over the source.
    let values = [value(512, 0, 2), value(256, 1, 5), value(512, 2, 3)];
    let made = unified(&values, &[view(0, 1, 256), in_place(0, 2)]);
    assert_eq!(made.refusals, [None, Some(Refusal::Clash { first: 1, second: 2 })]);
    assert_eq!(made.blocks[0], value(512, 0, 5));
    // The other way round the slice is the one that is refused: its bytes would be gone.
    assert_eq!(
        unified(&values, &[in_place(0, 2), view(0, 1, 256)]).refusals[1],
        Some(Refusal::Clash { first: 2, second: 1 })
    );
}

#[test]
fn a_source_survives_until_its_view_begins() {
    let values = [value(512, 0, 1), value(256, 4, 5), value(512, 1, 3)];
    let made = unified(&values, &[view(0, 1, 256), in_place(0, 2)]);
    assert_eq!(made.refusals, [None, Some(Refusal::OperandNotDying)]);
    let made = unified(&values, &[in_place(0, 2), view(0, 1, 256)]);
    assert_eq!(made.refusals, [None, Some(Refusal::Clash { first: 0, second: 2 })]);
}

#[test]
fn a_reshape_of_a_part_still_fits_into_a_concatenation() {
    let values = [value(256, 0, 1), value(256, 1, 2), value(512, 2, 3), value(256, 1, 2)];
    let made = unified(&values, &[view(0, 1, 0), view(2, 1, 256), view(2, 3, 0)]);
    assert_eq!(made.refusals, [None; 3]);
    assert_eq!(made.places.map_offsets(), [256, 256, 0, 0]);
}

#[test]
fn views_must_be_aligned_and_inside() {
    let values = [value(512, 0, 3), value(256, 1, 3)];
    let made = unified(&values, &[view(0, 1, 128), view(0, 1, 512), view(0, 1, u64::MAX - 255), view(0, 0, 0)]);
    let outside = Some(Refusal::OutsideWhole);
    assert_eq!(made.refusals, [Some(Refusal::Misaligned), outside, outside, Some(Refusal::NoSuchValue)]);
}

#[test]
fn values_bound_by_one_dispatch_stay_apart() {
    let values = [value(512, 0, 3), value(512, 1, 3)];
    let made = unify(&values, &[view(0, 1, 0)], &[[1, 0]], ALIGNMENT).expect("small sizes");
    assert_eq!(made.refusals, [Some(Refusal::BoundTogether { first: 0, second: 1 })]);
    let made = unify(&[value(8, 0, 1), value(8, 1, 3)], &[in_place(0, 1)], &[[0, 1]], ALIGNMENT).expect("small sizes");
    assert_eq!(made.refusals, [None]);
}

trait Offsets {
    fn map_offsets(&self) -> Vec<u64>;
}

impl Offsets for Vec<Place> {
    fn map_offsets(&self) -> Vec<u64> {
        self.iter().map(|place| place.offset).collect()
    }
}

/// One step of a random program; operands are indices into the values made so far, taken modulo their number.
#[derive(Debug, Clone)]
enum Op {
    /// A new value of so many granules, computed from two others in any order of reading and writing.
    Mix {
        granules: usize,
        operands: [usize; 2],
    },
    /// An element-wise result that would like its operand's place.
    Map {
        operand: usize,
    },
    Concat {
        parts: Vec<usize>,
    },
    Slice {
        source: usize,
        from: usize,
        granules: usize,
    },
}

fn op() -> impl Strategy<Value = Op> {
    // Recent values are the likely operands, as in a network.
    prop_oneof![
        (1usize..5, any::<[usize; 2]>()).prop_map(|(granules, operands)| Op::Mix { granules, operands }),
        (0usize..3).prop_map(|operand| Op::Map { operand }),
        prop::collection::vec(0usize..6, 1..4).prop_map(|parts| Op::Concat { parts }),
        (0usize..4, 0usize..4, 1usize..5).prop_map(|(source, from, granules)| Op::Slice { source, from, granules }),
    ]
}

/// A program with its values: `content[v][g]` names what granule `g` of value `v` holds.
struct Program {
    steps: Vec<(Op, Vec<usize>)>,
    content: Vec<Vec<u32>>,
    last_read: Vec<u32>,
}

fn program(ops: &[Op]) -> Program {
    let mut fresh = 0..;
    let mut made = Program { steps: vec![], content: vec![], last_read: vec![] };
    for (step, op) in (0u32..).zip(ops) {
        let count = made.content.len();
        let recent = |operand: &usize| count - 1 - operand % count;
        let operands: Vec<usize> = match op {
            _ if count == 0 => vec![],
            Op::Mix { operands, .. } => operands.iter().map(recent).collect(),
            Op::Map { operand } => vec![recent(operand)],
            Op::Concat { parts } => parts.iter().map(recent).collect(),
            Op::Slice { source, .. } => vec![recent(source)],
        };
        let content: Vec<u32> = match op {
            _ if count == 0 => fresh.by_ref().take(2).collect(),
            Op::Mix { granules, .. } => fresh.by_ref().take(*granules).collect(),
            Op::Map { .. } => fresh.by_ref().take(made.content[operands[0]].len()).collect(),
            Op::Concat { .. } => operands.iter().flat_map(|&part| made.content[part].clone()).collect(),
            Op::Slice { from, granules, .. } => {
                let source = &made.content[operands[0]];
                let from = from % source.len();
                source[from..source.len().min(from + granules)].to_vec()
            }
        };
        operands.iter().for_each(|&operand| made.last_read[operand] = step);
        let op = if count == 0 { Op::Mix { granules: 2, operands: [0; 2] } } else { op.clone() };
        made.steps.push((op, operands));
        made.content.push(content);
        made.last_read.push(step);
    }
    made
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Plans a random program with every sharing it could wish for, runs it, and looks at every byte every step reads.
    #[test]
    fn every_read_sees_what_was_written(ops in prop::collection::vec(op(), 1..24)) {
        let program = program(&ops);
        let values: Vec<Block> = (0u32..).zip(&program.content).zip(&program.last_read)
            .map(|((step, content), &last)| value(content.len() as u64 * ALIGNMENT, step, last)).collect();
        let mut relations = Vec::new();
        for (result, (op, operands)) in program.steps.iter().enumerate() {
            match op {
                Op::Mix { .. } => {}
                Op::Map { .. } => relations.push(in_place(operands[0], result)),
                Op::Concat { .. } => {
                    let mut offset = 0;
                    for &part in operands {
                        relations.push(view(result, part, offset));
                        offset += values[part].bytes;
                    }
                }
                Op::Slice { from, .. } => {
                    let from = from % program.content[operands[0]].len();
                    relations.push(view(operands[0], result, from as u64 * ALIGNMENT));
                }
            }
        }
        let aliased = unified(&values, &relations);
        let planned = plan(&aliased.blocks, &Options::default()).expect("small sizes");
        prop_assert_eq!(validate(&aliased.blocks, &planned, ALIGNMENT), Ok(()));

        let mut memory = vec![u32::MAX; (planned.bytes / ALIGNMENT) as usize];
        let range = |value: usize| {
            let place = aliased.places[value];
            let from = ((planned.offsets[place.block] + place.offset) / ALIGNMENT) as usize;
            from..from + program.content[value].len()
        };
        let mut asked = aliased.refusals.iter().map(Option::is_none);
        for (result, (op, operands)) in program.steps.iter().enumerate() {
            for &operand in operands {
                prop_assert_eq!(&memory[range(operand)], &program.content[operand][..], "step {} reads {}", result, operand);
            }
            let wishes = match op { Op::Mix { .. } => 0, Op::Concat { .. } => operands.len(), _ => 1 };
            let granted: Vec<bool> = asked.by_ref().take(wishes).collect();
            let apart = |operand: usize| range(operand).start >= range(result).end || range(result).start >= range(operand).end;
            match op {
                Op::Mix { .. } => prop_assert!(operands.iter().all(|&operand| apart(operand))),
                Op::Map { .. } => prop_assert!(granted[0] || apart(operands[0])),
                Op::Slice { .. } => prop_assert!(granted[0] || apart(operands[0])),
                Op::Concat { .. } => {}
            }
            // What is a view is there already; the rest is written, a part that was refused by a copy.
            let mut at = range(result).start;
            match op {
                Op::Slice { .. } if granted[0] => {}
                Op::Concat { .. } => for (&operand, &granted) in operands.iter().zip(&granted) {
                    let part = &program.content[operand];
                    if !granted {
                        prop_assert!(range(operand).start >= at + part.len() || at >= range(operand).end);
                        memory[at..at + part.len()].copy_from_slice(part);
                    }
                    at += part.len();
                },
                _ => memory[range(result)].copy_from_slice(&program.content[result]),
            }
            prop_assert_eq!(&memory[range(result)], &program.content[result][..]);
        }
    }
}
