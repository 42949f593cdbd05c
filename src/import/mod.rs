//! Model files to [graphs](crate::graph).
