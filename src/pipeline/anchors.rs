//! Anchors of a detector: reference boxes laid out in grids over the input.

use crate::error::{Error, ErrorKind, Result};
use crate::tensor::Tensor;
use serde::{Deserialize, Serialize};

/// One grid: a cell every `stride` pixels of the input, `count` anchors a cell, row by row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Pixels of the model's input between cells.
    pub stride: usize,
    /// Anchors of a cell, one after the other.
    #[serde(default = "one")]
    pub count: usize,
}

const fn one() -> usize {
    1
}

/// Grids, or every anchor written out as centre x, centre y, width, height in 0..=1 of the input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Anchors {
    /// Grids in the order of the model's rows; the anchors have size 1.
    Grids(Vec<Grid>),
    /// Every anchor.
    Boxes(Vec<[f32; 4]>),
}

impl Anchors {
    /// As a tensor [N, 4] for an input of `width` x `height` pixels: centre and size in 0..=1, or, where `cells`, the cell's
    /// column and row and the stride twice.
    pub fn tensor(&self, width: usize, height: usize, cells: bool) -> Result<Tensor> {
        let rows: Vec<[f32; 4]> = match self {
            Self::Boxes(boxes) => boxes.clone(),
            Self::Grids(grids) => {
                let mut rows = Vec::new();
                for grid in grids {
                    // A million anchors is far beyond any detector; more is a typing error that would fill the memory.
                    let count = |side: usize| side.div_ceil(grid.stride.max(1));
                    let total = count(width).saturating_mul(count(height)).saturating_mul(grid.count);
                    if grid.stride == 0 || total > 1_000_000 {
                        let message =
                            format!("a grid with stride {} and count {} has no sense", grid.stride, grid.count);
                        return Err(Error::new(ErrorKind::ShapeMismatch, message).at("anchors"));
                    }
                    for y in 0..count(height) {
                        for x in 0..count(width) {
                            let s = grid.stride as f32;
                            let row = if cells {
                                [x as f32, y as f32, s, s]
                            } else {
                                let centre = |i: usize, n: usize| (i as f32 + 0.5) / n as f32;
                                [centre(x, count(width)), centre(y, count(height)), 1.0, 1.0]
                            };
                            rows.extend(std::iter::repeat_n(row, grid.count));
                        }
                    }
                }
                rows
            }
        };
        Tensor::f32([rows.len(), 4], rows.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blazeface_has_896() {
        let json = r#"{"grids":[{"stride":8,"count":2},{"stride":16,"count":6}]}"#;
        let anchors: Anchors = serde_json::from_str(json).unwrap();
        let t = anchors.tensor(128, 128, false).unwrap();
        assert_eq!(t.shape()[..], [896, 4]);
        let v = t.as_slice::<f32>().unwrap();
        assert_eq!(v[..4], [0.03125, 0.03125, 1.0, 1.0]);
        assert_eq!(v[4..8], v[..4]);
        assert_eq!(v[512 * 4..][..2], [0.0625, 0.0625]);
    }

    #[test]
    fn absurd_grids_are_errors() {
        assert!(Anchors::Grids(vec![Grid { stride: 0, count: 1 }]).tensor(8, 8, false).is_err());
        assert!(Anchors::Grids(vec![Grid { stride: 1, count: usize::MAX }]).tensor(8, 8, false).is_err());
    }
}
