//! Values that share memory on purpose: results in place of an operand, parts of a concatenation, slices and reshapes.
//!
//! Runs before [`plan`](super::plan()): values and the sharing one would like go in, blocks to place and each value's
//! position in its block come out. A relation that would let live bytes be overwritten is refused with its reason, and
//! the caller falls back to a copy or to a result of its own.
//!
//! Two notions carry it. A *cluster* is a set of values with fixed positions to one another; it becomes one block. Inside
//! a cluster, an *image* is a set of values joined by views: they hold the same bytes wherever they cover the same
//! addresses, so they may overlap freely. Values of different images may cover the same address only at different
//! times, with one exception: at the step of an in-place operation the operand is read while the result is written.

use super::{Block, Lifetime, PlanError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// A wish to share memory between two values, named by their indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Relation {
    /// The step that writes `result` first may write it over `operand`, byte for byte. Granted only where that step is
    /// the last reader of `operand`, that is `operand.life.end == result.life.start + 1`, and both have the same size.
    InPlace {
        /// The value read.
        operand: usize,
        /// The value written.
        result: usize,
    },
    /// `part` holds the bytes `[offset, offset + part.bytes)` of `whole`, and no step moves them.
    ///
    /// A concatenation states one for each of its operands (parts are written into the whole's memory and stay occupied
    /// until the whole dies); a slice or a reshape states one for its result (the source's memory stays occupied until
    /// the result dies). Whichever value begins later, the earlier one is kept alive up to that step.
    View {
        /// The value that contains the other.
        whole: usize,
        /// The value contained.
        part: usize,
        /// Byte offset of the part in the whole; a multiple of the alignment, else the relation is refused.
        offset: u64,
    },
}

/// Why a relation was not granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Refusal {
    /// A value's index is out of range, or a value is related to itself.
    NoSuchValue,
    /// In place: the two values differ in size.
    SizesDiffer,
    /// In place: the step that writes the result is not the last one that reads the operand.
    OperandNotDying,
    /// View: the offset is not a multiple of the alignment.
    Misaligned,
    /// View: the part does not lie inside the whole.
    OutsideWhole,
    /// View: the part is already a proper part of another whole, and bytes cannot lie in two places.
    PartElsewhere,
    /// Earlier relations fix the two at other positions to one another.
    PositionFixed,
    /// Bytes still needed by one value would be overwritten by another.
    Clash {
        /// A value on the first side of the relation.
        first: usize,
        /// A value on the other side.
        second: usize,
    },
    /// Two values that one dispatch binds as separate ranges would share a byte.
    BoundTogether {
        /// A value on the first side of the relation.
        first: usize,
        /// A value on the other side.
        second: usize,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchValue => f.write_str("no such pair of values"),
            Self::SizesDiffer => f.write_str("operand and result differ in size"),
            Self::OperandNotDying => f.write_str("the operand is read again later"),
            Self::Misaligned => f.write_str("the part's offset is not aligned"),
            Self::OutsideWhole => f.write_str("the part does not lie inside the whole"),
            Self::PartElsewhere => f.write_str("the part already lies in another whole"),
            Self::PositionFixed => f.write_str("the two already lie elsewhere to one another"),
            Self::Clash { first, second } => write!(f, "values {first} and {second} are needed at the same time"),
            Self::BoundTogether { first, second } => write!(f, "one dispatch binds values {first} and {second} apart"),
        }
    }
}

/// Where a value lies: `offset` bytes into block `block`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Index into [`Aliased::blocks`].
    pub block: usize,
    /// Byte offset in the block, a multiple of the alignment.
    pub offset: u64,
}

/// What [`unify`] makes of values and relations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Aliased {
    /// The buffers to place. A block lives from the first write to the last read of any value in it.
    pub blocks: Vec<Block>,
    /// Where each value lies, in the order given.
    pub places: Vec<Place>,
    /// For each relation, in the order given: `None` where it was granted, else why not.
    pub refusals: Vec<Option<Refusal>>,
}

/// Grants `relations` one after the other where that is safe, and joins related values into blocks.
///
/// Each value comes with its own lifetime only, from its first write through its last read by any step, the steps of
/// views included; how views prolong one another is worked out here. `apart` lists pairs of values that one dispatch
/// binds as separate ranges: WebGPU forbids those to share a byte. An in-place operand and its result are bound once and
/// need not be left out of it.
///
/// # Errors
/// [`PlanError::ZeroAlignment`]; [`PlanError::Overflow`] where a block would exceed 64 bits.
pub fn unify(
    values: &[Block],
    relations: &[Relation],
    apart: &[[usize; 2]],
    alignment: u64,
) -> Result<Aliased, PlanError> {
    if alignment == 0 {
        return Err(PlanError::ZeroAlignment);
    }
    let mut clusters = Clusters::new(values, apart);
    let refusals = relations.iter().map(|&relation| clusters.grant(relation, alignment).err()).collect();
    let (blocks, places) = clusters.into_blocks()?;
    Ok(Aliased { blocks, places, refusals })
}

/// A value in its cluster.
struct Member {
    bytes: u64,
    /// Prolonged by views.
    life: Lifetime,
    /// Index of the cluster, and the position there; 128 bits hold any sum of offsets that this module forms.
    cluster: usize,
    position: i128,
    /// Index of the image.
    image: usize,
}

impl Member {
    fn end(&self) -> i128 {
        self.position + i128::from(self.bytes)
    }

    /// True where the two cover a common byte, `other` being shifted.
    fn shares_bytes(&self, other: &Member, shift: i128) -> bool {
        let (from, to) = (other.position + shift, other.end() + shift);
        self.bytes > 0 && other.bytes > 0 && self.position < to && from < self.end()
    }
}

struct Clusters {
    members: Vec<Member>,
    /// Members of each cluster; empty where it was merged into another.
    lists: Vec<Vec<usize>>,
    /// The value that covers all of each image.
    roots: Vec<usize>,
    apart: BTreeSet<[usize; 2]>,
}

impl Clusters {
    fn new(values: &[Block], pairs: &[[usize; 2]]) -> Self {
        let mut apart = BTreeSet::new();
        apart.extend(pairs.iter().map(|&pair| sorted(pair)));
        let member = |(index, value): (usize, &Block)| Member {
            bytes: value.bytes,
            life: value.life,
            cluster: index,
            position: 0,
            image: index,
        };
        Self {
            members: values.iter().enumerate().map(member).collect(),
            lists: (0..values.len()).map(|index| vec![index]).collect(),
            roots: (0..values.len()).collect(),
            apart,
        }
    }

    fn grant(&mut self, relation: Relation, alignment: u64) -> Result<(), Refusal> {
        match relation {
            Relation::InPlace { operand, result } => self.grant_in_place(operand, result),
            Relation::View { whole, part, offset } if offset % alignment == 0 => self.grant_view(whole, part, offset),
            Relation::View { .. } => Err(Refusal::Misaligned),
        }
    }

    fn grant_in_place(&mut self, operand: usize, result: usize) -> Result<(), Refusal> {
        let (from, to) = self.pair(operand, result)?;
        if from.bytes != to.bytes {
            return Err(Refusal::SizesDiffer);
        }
        if from.life.is_empty() || to.life.is_empty() || Some(from.life.end) != to.life.start.checked_add(1) {
            return Err(Refusal::OperandNotDying);
        }
        if from.cluster == to.cluster {
            return Err(Refusal::PositionFixed);
        }
        let shift = from.position - to.position;
        self.check(operand, result, shift, Join::Write { operand, result })?;
        self.merge(operand, result, shift);
        Ok(())
    }

    fn grant_view(&mut self, whole: usize, part: usize, offset: u64) -> Result<(), Refusal> {
        let (outer, inner) = self.pair(whole, part)?;
        if offset.checked_add(inner.bytes).is_none_or(|end| end > outer.bytes) {
            return Err(Refusal::OutsideWhole);
        }
        let target = outer.position + i128::from(offset);
        let (image, inner_image) = (outer.image, inner.image);
        let same_cluster = outer.cluster == inner.cluster;
        if image == inner_image && inner.position != target || image != inner_image && same_cluster {
            return Err(Refusal::PositionFixed);
        }
        let root = &self.members[self.roots[inner_image]];
        if image != inner_image && (root.position, root.bytes) != (inner.position, inner.bytes) {
            return Err(Refusal::PartElsewhere);
        }
        let shift = target - inner.position;
        let (earlier, later) = if outer.life.start < inner.life.start { (whole, part) } else { (part, whole) };
        let before = self.members[earlier].life;
        self.prolong(earlier, self.members[later].life)?;
        if image == inner_image {
            return Ok(());
        }
        if let Err(refusal) = self.check(whole, part, shift, Join::Images { image, inner_image }) {
            self.members[earlier].life = before;
            return Err(refusal);
        }
        self.merge(whole, part, shift);
        self.members.iter_mut().filter(|member| member.image == inner_image).for_each(|member| member.image = image);
        Ok(())
    }

    fn pair(&self, a: usize, b: usize) -> Result<(&Member, &Member), Refusal> {
        match (self.members.get(a), self.members.get(b)) {
            (Some(x), Some(y)) if a != b => Ok((x, y)),
            _ => Err(Refusal::NoSuchValue),
        }
    }

    /// Keeps a value alive until the life of a view of it (or of what it is a part of) has begun, unless another image
    /// in its cluster needs the memory by then.
    fn prolong(&mut self, value: usize, view: Lifetime) -> Result<(), Refusal> {
        let member = &self.members[value];
        let added = Lifetime::new(member.life.end, view.start.saturating_add(1));
        if member.life.is_empty() || view.is_empty() || added.is_empty() {
            return Ok(());
        }
        for &other in &self.lists[member.cluster] {
            let b = &self.members[other];
            if b.image != member.image && member.shares_bytes(b, 0) && added.overlaps(b.life) {
                return Err(Refusal::Clash { first: value, second: other });
            }
        }
        self.members[value].life.end = added.end;
        Ok(())
    }

    /// Would the clusters of `kept` and `moved`, the latter shifted, clash anywhere but where `join` allows it?
    fn check(&self, kept: usize, moved: usize, shift: i128, join: Join) -> Result<(), Refusal> {
        for &first in &self.lists[self.members[kept].cluster] {
            for &second in &self.lists[self.members[moved].cluster] {
                let (a, b) = (&self.members[first], &self.members[second]);
                if !a.shares_bytes(b, shift) {
                    continue;
                }
                let (one_range, one_content) = match join {
                    Join::Write { operand, result } => ((first, second) == (operand, result), false),
                    Join::Images { image, inner_image } => (false, (a.image, b.image) == (image, inner_image)),
                };
                if self.apart.contains(&sorted([first, second])) && !one_range {
                    return Err(Refusal::BoundTogether { first, second });
                }
                if a.life.overlaps(b.life) && !one_range && !one_content {
                    return Err(Refusal::Clash { first, second });
                }
            }
        }
        Ok(())
    }

    /// Joins the cluster of `moved`, shifted, to the cluster of `kept`.
    fn merge(&mut self, kept: usize, moved: usize, shift: i128) {
        let (cluster, old) = (self.members[kept].cluster, self.members[moved].cluster);
        let list = std::mem::take(&mut self.lists[old]);
        for &value in &list {
            self.members[value].cluster = cluster;
            self.members[value].position += shift;
        }
        self.lists[cluster].extend(list);
    }

    fn into_blocks(self) -> Result<(Vec<Block>, Vec<Place>), PlanError> {
        let mut blocks = Vec::new();
        let mut places = vec![Place { block: 0, offset: 0 }; self.members.len()];
        for list in self.lists.iter().filter(|list| !list.is_empty()) {
            let members = || list.iter().map(|&value| &self.members[value]);
            let base = members().map(|member| member.position).min().unwrap_or(0);
            let end = members().map(Member::end).max().unwrap_or(0);
            let occupied = || members().filter(|member| member.bytes > 0 && !member.life.is_empty());
            let life = Lifetime {
                start: occupied().map(|member| member.life.start).min().unwrap_or(0),
                end: occupied().map(|member| member.life.end).max().unwrap_or(0),
            };
            for &value in list {
                let offset = u64::try_from(self.members[value].position - base).map_err(|_| PlanError::Overflow)?;
                places[value] = Place { block: blocks.len(), offset };
            }
            blocks.push(Block { bytes: u64::try_from(end - base).map_err(|_| PlanError::Overflow)?, life });
        }
        Ok((blocks, places))
    }
}

/// What two clusters are joined by, and so which overlaps are meant.
#[derive(Clone, Copy)]
enum Join {
    /// The result is written over the operand.
    Write { operand: usize, result: usize },
    /// The inner image becomes part of the other one.
    Images { image: usize, inner_image: usize },
}

fn sorted([a, b]: [usize; 2]) -> [usize; 2] {
    [a.min(b), a.max(b)]
}
