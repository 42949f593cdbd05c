//! Tensors in NumPy's files.

use frameway::tensor::{DType, Data, Tensor};

/// A little-endian, C-ordered NumPy file: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.
/// `name` is for the messages.
pub fn parse(bytes: &[u8], name: &str) -> Tensor {
    assert_eq!(&bytes[..6], b"\x93NUMPY", "{name}");
    let (start, len) = match bytes[6] {
        1 => (10, usize::from(u16::from_le_bytes([bytes[8], bytes[9]]))),
        _ => (12, u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize),
    };
    let header = std::str::from_utf8(&bytes[start..start + len]).expect("an ASCII header");
    assert!(header.contains("'fortran_order': False"), "{header}");
    let after = |word: &str| &header[header.find(word).expect(word) + word.len()..];
    let dtype = match after("'descr': '").split('\'').next() {
        Some("<f4") => DType::F32,
        Some("<f2") => DType::F16,
        Some("<i8") => DType::I64,
        Some("<i4") => DType::I32,
        Some("|u1") => DType::U8,
        other => panic!("element type {other:?}"),
    };
    let dims = after("'shape': (").split(')').next().expect("a tuple");
    let dims: Vec<usize> = dims.split(',').filter_map(|d| d.trim().parse().ok()).collect();
    let data = Data::from_le_bytes(dtype, &bytes[start + len..]).expect("whole elements");
    Tensor::new(dims, data).expect("as many elements as the shape says")
}
