use super::{DType, Data, Shape};
use crate::error::{Error, ErrorKind, Result};

/// A way of reading memory as a tensor: dimensions, distances between neighbours and the first element, all in elements. Views of
/// one memory need no copy.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct View {
    shape: Shape,
    strides: Vec<usize>,
    offset: usize,
}

impl View {
    /// All of a contiguous row-major tensor.
    pub fn contiguous(shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        Self { strides: shape.row_major_strides(), shape, offset: 0 }
    }

    /// Dimensions, strides and the first element, written out.
    ///
    /// # Errors
    /// `layout-mismatch` where there is not one stride a dimension; `shape-mismatch` where the last element's place is no number.
    pub fn new(shape: impl Into<Shape>, strides: Vec<usize>, offset: usize) -> Result<Self> {
        let shape = shape.into();
        if shape.len() != strides.len() {
            let message = format!("shape {shape} has {} dimensions, there are {} strides", shape.len(), strides.len());
            return Err(Error::new(ErrorKind::LayoutMismatch, message)
                .hint("give one stride for each dimension, in elements, the outermost first"));
        }
        let view = Self { shape, strides, offset };
        view.checked_extent()?;
        Ok(view)
    }

    /// Dimensions.
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Distance between neighbours of each dimension, in elements.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// The first element.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The number of elements from the first to the last in memory, both included; 0 where the tensor is empty.
    pub fn span(&self) -> usize {
        if self.shape.contains(&0) {
            return 0;
        }
        let last = self.shape.iter().zip(&self.strides).map(|(d, s)| (d - 1).saturating_mul(*s));
        last.fold(1, usize::saturating_add)
    }

    /// The number of elements that memory must hold.
    pub fn extent(&self) -> usize {
        match self.span() {
            0 => 0,
            span => self.offset.saturating_add(span),
        }
    }

    fn checked_extent(&self) -> Result<()> {
        self.shape.checked_elements()?;
        if self.extent() == usize::MAX {
            let message = format!("strides {:?} reach beyond what memory can address", self.strides);
            return Err(Error::new(ErrorKind::ShapeMismatch, message));
        }
        Ok(())
    }

    /// True where the elements lie one behind the other in row-major order. Dimensions of one element may have any stride.
    pub fn is_contiguous(&self) -> bool {
        let wanted = self.shape.row_major_strides();
        self.shape.contains(&0)
            || self.shape.iter().zip(self.strides.iter().zip(&wanted)).all(|(&d, (have, want))| d == 1 || have == want)
    }

    /// The same elements with dimension `order[i]` in place `i`.
    ///
    /// # Errors
    /// `shape-mismatch` where `order` is no permutation of the dimensions.
    pub fn permute(&self, order: &[usize]) -> Result<Self> {
        let rank = self.shape.len();
        let mut seen = vec![false; rank];
        let fits = order.len() == rank
            && order.iter().all(|&axis| seen.get_mut(axis).is_some_and(|seen| !std::mem::replace(seen, true)));
        if !fits {
            let message = format!("{order:?} is no order of {rank} dimensions");
            return Err(Error::new(ErrorKind::ShapeMismatch, message).hint("name each dimension once, counted from 0"));
        }
        let shape: Vec<usize> = order.iter().map(|&axis| self.shape[axis]).collect();
        let strides = order.iter().map(|&axis| self.strides[axis]).collect();
        Ok(Self { shape: shape.into(), strides, offset: self.offset })
    }

    /// The part that begins at `start` and has `size` elements a dimension: a region of interest.
    ///
    /// # Errors
    /// `shape-mismatch` where the part is not inside.
    pub fn region(&self, start: &[usize], size: &[usize]) -> Result<Self> {
        let rank = self.shape.len();
        if start.len() != rank || size.len() != rank {
            let message = format!("a region of {} has {rank} starts and {rank} sizes", self.shape);
            return Err(Error::new(ErrorKind::ShapeMismatch, message));
        }
        let mut offset = self.offset;
        for (axis, (&from, &n)) in start.iter().zip(size).enumerate() {
            let have = self.shape[axis];
            if from.checked_add(n).is_none_or(|end| end > have) {
                let message = format!("the region's dimension {axis} is {from}..{} of {have}", from.saturating_add(n));
                return Err(Error::new(ErrorKind::ShapeMismatch, message).hint("keep the region inside the tensor"));
            }
            offset = offset.saturating_add(from.saturating_mul(self.strides[axis]));
        }
        Ok(Self { shape: size.into(), strides: self.strides.clone(), offset })
    }

    /// Places of all elements in memory, in row-major order.
    pub fn places(&self) -> impl Iterator<Item = usize> + '_ {
        let wanted = self.shape.row_major_strides();
        (0..self.shape.elements()).map(move |i| {
            let index = self.shape.iter().zip(&wanted).map(|(&d, &w)| (i / w) % d.max(1));
            index.zip(&self.strides).fold(self.offset, |at, (i, s)| at + i * s)
        })
    }

    /// A row-major copy of the elements.
    ///
    /// # Errors
    /// `shape-mismatch` where `memory` is too short.
    pub fn gather(&self, memory: &Data) -> Result<Data> {
        self.holds(memory.len(), memory.dtype())?;
        let size = memory.dtype().bytes();
        let bytes = memory.as_bytes();
        let mut out = Vec::with_capacity(self.shape.elements().saturating_mul(size));
        for at in self.places() {
            out.extend_from_slice(bytes.get(at * size..(at + 1) * size).unwrap_or_default());
        }
        Data::from_le_bytes(memory.dtype(), &out)
    }

    /// That memory of `elements` elements is long enough.
    ///
    /// # Errors
    /// `shape-mismatch` with what is needed.
    pub fn holds(&self, elements: usize, dtype: DType) -> Result<()> {
        let need = self.extent();
        if need <= elements {
            return Ok(());
        }
        let message = format!(
            "a view {} with strides {:?} from element {} needs {need} elements of {dtype}, there are {elements}",
            self.shape, self.strides, self.offset
        );
        Err(Error::new(ErrorKind::ShapeMismatch, message)
            .hint("strides and offset count elements, not bytes; check them against the array"))
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The region, copied out of a row-major tensor element by element.
    fn crop(shape: &[usize], start: &[usize], size: &[usize]) -> Vec<i32> {
        let strides = Shape::from(shape).row_major_strides();
        let inside = |i: usize| {
            (0..shape.len()).all(|a| {
                let at = (i / strides[a]) % shape[a];
                at >= start[a] && at < start[a] + size[a]
            })
        };
        (0..shape.iter().product()).filter(|&i| inside(i)).map(|i| i as i32).collect()
    }

    proptest! {
        #[test]
        fn a_region_equals_the_cropped_copy(dims in prop::collection::vec((1usize..5, 0usize..5, 0usize..5), 1..5)) {
            let shape: Vec<usize> = dims.iter().map(|d| d.0).collect();
            let start: Vec<usize> = dims.iter().map(|d| d.1 % d.0).collect();
            let size: Vec<usize> = dims.iter().zip(&start).map(|(d, s)| d.2.min(d.0 - s)).collect();
            let memory = Data::I32((0..shape.iter().product::<usize>() as i32).collect());
            let view = View::contiguous(&shape[..]).region(&start, &size).unwrap();
            prop_assert_eq!(view.gather(&memory).unwrap(), Data::I32(crop(&shape, &start, &size)));
            if view.is_contiguous() && view.span() > 0 {
                let stretch: Vec<usize> = (view.offset()..view.extent()).collect();
                prop_assert_eq!(view.places().collect::<Vec<_>>(), stretch);
            }
        }

        #[test]
        fn permuting_back_changes_nothing(dims in prop::collection::vec(0usize..4, 1..5), seed in any::<u64>()) {
            let view = View::contiguous(&dims[..]);
            let mut order: Vec<usize> = (0..dims.len()).collect();
            order.sort_by_key(|&a| (seed >> (8 * a)) & 0xff);
            let back: Vec<usize> = (0..order.len()).map(|a| order.iter().position(|&o| o == a).unwrap()).collect();
            prop_assert_eq!(view.permute(&order).unwrap().permute(&back).unwrap(), view);
        }
    }

    #[test]
    fn channels_last_read_as_channels_first() {
        let nhwc = View::contiguous([1, 2, 2, 3]);
        let nchw = nhwc.permute(&[0, 3, 1, 2]).unwrap();
        assert_eq!((nchw.shape(), nchw.strides()), (&Shape::from([1, 3, 2, 2]), &[12, 1, 6, 3][..]));
        assert!(!nchw.is_contiguous());
        let picture = Data::U8((0..12).collect());
        assert_eq!(nchw.gather(&picture).unwrap(), Data::U8(vec![0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]));
    }

    #[test]
    fn what_reaches_outside_is_an_error() {
        let view = View::new([2, 2], vec![4, 1], 3).unwrap();
        assert_eq!(
            view.gather(&Data::F32(vec![0.0; 8])).unwrap_err().to_string(),
            "shape-mismatch: a view [2, 2] with strides [4, 1] from element 3 needs 9 elements of float32, there are 8 \
             (strides and offset count elements, not bytes; check them against the array)"
        );
        assert_eq!(View::new([2, 2], vec![1], 0).unwrap_err().kind(), ErrorKind::LayoutMismatch);
        assert_eq!(View::new([2, 2], vec![usize::MAX, 1], 0).unwrap_err().kind(), ErrorKind::ShapeMismatch);
        assert_eq!(
            View::contiguous([2, 3]).region(&[0, 2], &[2, 2]).unwrap_err().to_string(),
            "shape-mismatch: the region's dimension 1 is 2..4 of 3 (keep the region inside the tensor)"
        );
        assert!(View::contiguous([2, 3]).permute(&[0, 0]).is_err());
        assert_eq!(View::new([0, 2], vec![2, 1], 9).unwrap().extent(), 0);
    }
}
