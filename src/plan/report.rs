//! The plan in words.

use super::Plan;
use std::fmt;

impl Plan {
    /// Size over lower bound; 1.0 is as small as can be. An empty arena counts as 1.0.
    pub fn ratio(&self) -> f64 {
        if self.lower_bound == 0 { 1.0 } else { self.bytes as f64 / self.lower_bound as f64 }
    }
}

impl fmt::Display for Plan {
    /// `naive 19.248 MiB, plan 4.594 MiB, lower bound 4.594 MiB (1.000 of the bound, optimal; by greedy by size)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MIB: f64 = 1024.0 * 1024.0;
        write!(
            f,
            "naive {:.3} MiB, plan {:.3} MiB, lower bound {:.3} MiB ({:.3} of the bound, {}; by {})",
            self.naive as f64 / MIB,
            self.bytes as f64 / MIB,
            self.lower_bound as f64 / MIB,
            self.ratio(),
            if self.optimal { "optimal" } else { "not proven optimal" },
            self.packer
        )
    }
}
