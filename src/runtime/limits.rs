//! The limits of a runtime: most bytes of each memory pool, summed over all its engines and requests. Room is taken before
//! anything is made, so what would go over leaves everything as it was.

use crate::engine::{Bytes, MemoryLimits};
use crate::error::{Error, ErrorKind, Result};
use serde::Serialize;
use std::cell::Cell;
use std::rc::Rc;

/// The pools, in the order of [`Need`].
const NAMES: [&str; 4] = ["weights", "activations", "workspace", "staging"];

/// Bytes of each pool: weights, activations, workspace, staging.
pub(super) type Need = [u64; NAMES.len()];

/// Bytes of `need`, `n` times.
pub(super) fn times(need: Need, n: usize) -> Need {
    need.map(|bytes| bytes.saturating_mul(n as u64))
}

/// A pool's limit and what is taken of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolUse {
    /// The pool's name in `limits`.
    pub pool: &'static str,
    /// Most bytes.
    pub limit: u64,
    /// Bytes taken by the engines and requests there are. Staging buffers are counted from the beginning and made when they
    /// are first needed.
    pub in_use: u64,
}

/// What is allowed and what is taken.
#[derive(Debug, Default)]
pub(super) struct Pools {
    most: [Option<u64>; NAMES.len()],
    taken: Cell<Need>,
}

/// Room in the pools; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Room {
    pools: Rc<Pools>,
    need: Need,
}

impl Drop for Room {
    fn drop(&mut self) {
        let taken = self.pools.taken.get();
        self.pools.taken.set(std::array::from_fn(|i| taken[i].saturating_sub(self.need[i])));
    }
}

impl Pools {
    pub(super) fn new(limits: &MemoryLimits) -> Self {
        let most = [limits.weights, limits.activations, limits.workspace, limits.staging];
        Self { most: most.map(|bytes| bytes.map(|Bytes(n)| n)), taken: Cell::default() }
    }

    /// Takes room for `who`, or says which pools have too little, as `memory-limit`.
    pub(super) fn take(self: &Rc<Self>, who: &str, need: Need) -> Result<Room> {
        let taken = self.taken.get();
        self.check(who, need, taken)?;
        self.taken.set(std::array::from_fn(|i| taken[i].saturating_add(need[i])));
        Ok(Room { pools: Rc::clone(self), need })
    }

    /// The error of what would not fit even if nothing else were there.
    pub(super) fn permit(&self, who: &str, need: Need) -> Result<()> {
        self.check(who, need, Need::default())
    }

    fn check(&self, who: &str, need: Need, taken: Need) -> Result<()> {
        let (mut pools, mut words, mut enough) = (Vec::new(), Vec::new(), Vec::new());
        for (i, name) in NAMES.iter().enumerate() {
            let whole = taken[i].saturating_add(need[i]);
            if let Some(most) = self.most[i].filter(|&most| need[i] > 0 && whole > most) {
                pools.push(format!("pool {name:?}"));
                words.push(format!("{} bytes of {name}, {} are in use, the limit is {most}", need[i], taken[i]));
                enough.push(format!("{name} of {whole} bytes"));
            }
        }
        if pools.is_empty() {
            return Ok(());
        }
        let closing = if taken == Need::default() { "" } else { "; or close engines and requests no longer needed" };
        Err(Error::new(ErrorKind::MemoryLimit, format!("{who} would take {}", words.join("; ")))
            .at(format!("{} of the runtime", pools.join(", ")))
            .hint(format!("the smallest limit that would do: {}{closing}", enough.join(", "))))
    }

    /// The most that kernels may take as workspace.
    pub(super) const fn workspace(&self) -> Option<u64> {
        self.most[2]
    }

    /// Every pool that has a limit.
    pub(super) fn report(&self) -> Vec<PoolUse> {
        let taken = self.taken.get();
        let pool =
            |(i, &pool): (usize, &&'static str)| self.most[i].map(|limit| PoolUse { pool, limit, in_use: taken[i] });
        NAMES.iter().enumerate().filter_map(pool).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pools(activations: u64, staging: u64) -> Rc<Pools> {
        let limits = MemoryLimits {
            activations: Some(Bytes(activations)),
            staging: Some(Bytes(staging)),
            ..MemoryLimits::default()
        };
        Rc::new(Pools::new(&limits))
    }

    #[test]
    fn room_is_given_back() {
        let pools = pools(100, 50);
        let first = pools.take("a", [1 << 40, 60, 0, 10]).unwrap();
        let refused = pools.take("b", [0, 41, 0, 10]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::MemoryLimit);
        assert_eq!(refused.place(), Some("pool \"activations\" of the runtime"));
        assert_eq!(refused.message(), "b would take 41 bytes of activations, 60 are in use, the limit is 100");
        assert!(refused.advice().unwrap().contains("activations of 101 bytes"));
        // What was refused took nothing.
        assert_eq!(pools.report()[1].in_use, 10);
        let second = pools.take("b", [0, 40, 0, 40]).unwrap();
        assert_eq!(pools.report().iter().map(|p| p.in_use).collect::<Vec<_>>(), [100, 50]);
        drop((first, second));
        assert_eq!(pools.report().iter().map(|p| p.in_use).collect::<Vec<_>>(), [0, 0]);
        pools.take("c", [0, 100, 0, 50]).unwrap();
    }

    #[test]
    fn all_pools_that_are_too_small_are_named() {
        let pools = pools(100, 50);
        let error = pools.permit("engine \"m\"", times([0, 40, 0, 20], 3)).unwrap_err().to_string();
        assert!(error.contains("pool \"activations\", pool \"staging\" of the runtime"), "{error}");
        assert!(error.contains("activations of 120 bytes, staging of 60 bytes"), "{error}");
        assert!(pools.permit("engine", times([7, 1, 1, 1], usize::MAX)).is_err());
        assert!(pools.permit("engine", [u64::MAX, 100, u64::MAX, 50]).is_ok());
    }
}
