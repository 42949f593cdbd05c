use crate::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Dimensions, outermost first. A scalar has none. A dimension may be zero.
#[derive(Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Shape(pub Vec<usize>);

impl Shape {
    /// The number of elements, or an error where it does not fit in `usize`.
    pub fn checked_elements(&self) -> Result<usize> {
        self.0.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).ok_or_else(|| {
            Error::new(ErrorKind::ShapeMismatch, format!("shape {self} has more elements than memory can address"))
        })
    }

    /// The number of elements; saturates, so a size that was not checked can never wrap round to a small one.
    pub fn elements(&self) -> usize {
        self.0.iter().fold(1usize, |n, &d| n.saturating_mul(d))
    }

    /// Row-major strides in elements.
    pub fn row_major_strides(&self) -> Vec<usize> {
        let mut strides = vec![1usize; self.0.len()];
        for i in (1..self.0.len()).rev() {
            strides[i - 1] = strides[i].saturating_mul(self.0[i].max(1));
        }
        strides
    }

    /// The numpy broadcast of two shapes, or none where they do not fit.
    pub fn broadcast(&self, other: &Shape) -> Option<Shape> {
        let rank = self.len().max(other.len());
        let dim = |s: &Shape, i: usize| (i + s.len()).checked_sub(rank).map_or(1, |j| s.0[j]);
        (0..rank)
            .map(|i| match (dim(self, i), dim(other, i)) {
                (a, b) if a == b => Some(a),
                (1, b) => Some(b),
                (a, 1) => Some(a),
                _ => None,
            })
            .collect::<Option<Vec<_>>>()
            .map(Shape)
    }
}

impl std::ops::Deref for Shape {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl From<Vec<usize>> for Shape {
    fn from(dims: Vec<usize>) -> Self {
        Self(dims)
    }
}

impl From<&[usize]> for Shape {
    fn from(dims: &[usize]) -> Self {
        Self(dims.to_vec())
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(dims: [usize; N]) -> Self {
        Self(dims.to_vec())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{d}")?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasts_like_numpy() {
        let b = |x: &[usize], y: &[usize]| Shape::from(x).broadcast(&Shape::from(y)).map(|s| s.0);
        assert_eq!(b(&[4, 1, 6], &[5, 1]), Some(vec![4, 5, 6]));
        assert_eq!(b(&[4, 6], &[1]), Some(vec![4, 6]));
        assert_eq!(b(&[], &[2]), Some(vec![2]));
        assert_eq!(b(&[3], &[2]), None);
    }

    #[test]
    fn absurd_sizes_are_errors() {
        assert!(Shape::from([usize::MAX, 2]).checked_elements().is_err());
        assert_eq!(Shape::from([2, 3]).row_major_strides(), [3, 1]);
    }
}
