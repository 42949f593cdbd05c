//! The choice of layouts as a small optimisation problem: which of two layouts each group of nodes takes, so that the
//! bytes moved by conversions, and by copies that could have been views, are fewest.
//!
//! Local search by single flips, from two starts (all packed, all row-major). Groups are few, and most are settled by what
//! surrounds them.

use crate::graph::ValueId;
use crate::tensor::Layout;

/// What a dispatch costs beside its bytes: the bytes that could be moved in its time.
const DISPATCH: u64 = 1 << 16;
/// Sweeps of the local search; it settles in two or three.
const SWEEPS: usize = 8;

/// How a layout is determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// By a rule.
    Fixed(Layout),
    /// Index of a choice.
    Choice(usize),
}

/// A copy that a layout may save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copy {
    /// Source.
    pub from: ValueId,
    /// Target.
    pub to: ValueId,
    /// The one of the two whose bytes are moved.
    pub moved: ValueId,
    /// Nothing is moved where both are row-major.
    pub saved_row_major: bool,
    /// Nothing is moved where both are C4.
    pub saved_c4: bool,
}

/// The choices to make, and what they cost.
#[derive(Debug, Default)]
pub struct Problem {
    /// For each value, the layout it is made in; none for constants.
    made: Vec<Option<Label>>,
    wants: Vec<Vec<Label>>,
    bytes: Vec<u64>,
    /// Copies that may be saved.
    pub copies: Vec<Copy>,
    choices: usize,
}

impl Problem {
    /// Of a graph with `n` values.
    pub fn new(n: usize) -> Self {
        Self { made: vec![None; n], wants: vec![Vec::new(); n], bytes: vec![0; n], ..Self::default() }
    }

    /// States the layout a value is made in.
    pub fn make(&mut self, value: ValueId, label: Label) {
        if let Label::Choice(c) = label {
            self.choices = self.choices.max(c + 1);
        }
        if let Some(slot) = self.made.get_mut(value.index()) {
            *slot = Some(label);
        }
    }

    /// States that a reader wants a value in a layout.
    pub fn want(&mut self, value: ValueId, label: Label) {
        if let Some(list) = self.wants.get_mut(value.index()) {
            list.push(label);
        }
    }

    /// States the size of a value.
    pub fn set_bytes(&mut self, value: ValueId, bytes: u64) {
        if let Some(slot) = self.bytes.get_mut(value.index()) {
            *slot = bytes;
        }
    }

    /// The layout each value is made in.
    pub fn layouts(&self, choices: &[Layout]) -> impl Iterator<Item = Layout> {
        self.made.iter().map(|made| made.map_or(Layout::RowMajor, |m| Self::layout(m, choices)))
    }

    /// What a label stands for.
    pub fn layout(label: Label, choices: &[Layout]) -> Layout {
        match label {
            Label::Fixed(layout) => layout,
            Label::Choice(c) => choices.get(c).copied().unwrap_or_default(),
        }
    }

    fn made(&self, value: ValueId, choices: &[Layout]) -> Layout {
        let made = self.made.get(value.index()).copied().flatten();
        made.map_or(Layout::RowMajor, |m| Self::layout(m, choices))
    }

    fn cost(&self, choices: &[Layout]) -> u64 {
        let moved = |bytes: u64| bytes.saturating_mul(2).saturating_add(DISPATCH);
        let mut cost = 0u64;
        for ((made, wants), &bytes) in self.made.iter().zip(&self.wants).zip(&self.bytes) {
            let Some(made) = made.map(|m| Self::layout(m, choices)) else { continue };
            if wants.iter().any(|&w| Self::layout(w, choices) != made) {
                // One more than a copy: where a copy could convert as it moves, no conversion is wanted.
                cost = cost.saturating_add(moved(bytes)).saturating_add(1);
            }
        }
        for copy in &self.copies {
            let saved = match (self.made(copy.from, choices), self.made(copy.to, choices)) {
                (Layout::RowMajor, Layout::RowMajor) => copy.saved_row_major,
                (Layout::C4, Layout::C4) => copy.saved_c4,
                _ => false,
            };
            if !saved {
                cost = cost.saturating_add(moved(self.bytes.get(copy.moved.index()).copied().unwrap_or(0)));
            }
        }
        cost
    }

    /// The best choices found.
    pub fn solve(&self) -> Vec<Layout> {
        let search = |start: Layout| {
            let mut choices = vec![start; self.choices];
            let mut best = self.cost(&choices);
            for _ in 0..SWEEPS {
                let before = best;
                for c in 0..choices.len() {
                    let kept = choices[c];
                    choices[c] = if kept == Layout::C4 { Layout::RowMajor } else { Layout::C4 };
                    match self.cost(&choices) {
                        cost if cost < best => best = cost,
                        _ => choices[c] = kept,
                    }
                }
                if best == before {
                    break;
                }
            }
            (best, choices)
        };
        let (packed, row_major) = (search(Layout::C4), search(Layout::RowMajor));
        // A group that touches nothing packed costs the same either way, and is simplest row-major.
        if packed.0 < row_major.0 { packed.1 } else { row_major.1 }
    }
}
