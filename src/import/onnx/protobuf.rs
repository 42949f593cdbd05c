//! The protobuf wire format, borrowed from the file: <https://protobuf.dev/programming-guides/encoding/>.
//!
//! An own reader of a hundred lines rather than a library, for one property: a weight is copied once, from the file's
//! bytes into its typed vector. prost copies `bytes` fields, or wants the file as an owned `Bytes`, which our caller does
//! not have; quick-protobuf borrows, but has seen no release since 2022.

use crate::error::{Error, ErrorKind, Result};

/// A cursor over one message.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Place of `rest` in the file, for errors.
    offset: usize,
}

/// A field's value, by wire type.
#[derive(Debug, Clone, Copy)]
pub enum Field<'a> {
    Varint(u64),
    Fixed64(u64),
    /// A string, bytes, a nested message or packed numbers.
    Chunk(Reader<'a>),
    Fixed32(u32),
}

impl<'a> Reader<'a> {
    /// Reads from the beginning of a file.
    pub fn new(file: &'a [u8]) -> Self {
        Self { rest: file, offset: 0 }
    }

    /// What has not been read yet.
    pub fn bytes(self) -> &'a [u8] {
        self.rest
    }

    /// The rest as text.
    pub fn text(self) -> Result<&'a str> {
        std::str::from_utf8(self.rest).map_err(|_| self.damaged("a name is not UTF-8"))
    }

    /// True at the end of the message.
    pub fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next field's number and value; none at the end.
    pub fn next(&mut self) -> Result<Option<(u64, Field<'a>)>> {
        if self.at_end() {
            return Ok(None);
        }
        let start = *self;
        let key = self.varint()?;
        let field = match key & 7 {
            0 => Field::Varint(self.varint()?),
            1 => Field::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = self.varint()?;
                Field::Chunk(self.take(length)?)
            }
            5 => Field::Fixed32(u32::from_le_bytes(self.array()?)),
            wire => return Err(start.damaged(&format!("wire type {wire} does not occur in a model"))),
        };
        match key >> 3 {
            0 => Err(start.damaged("field number 0")),
            number => Ok(Some((number, field))),
        }
    }

    /// A base-128 number of at most ten bytes.
    pub fn varint(&mut self) -> Result<u64> {
        let start = *self;
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let [byte] = self.array()?;
            // The tenth byte holds one bit; what lies beyond 64 bits is dropped, as protobuf does.
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(start.damaged("a number is longer than ten bytes"))
    }

    /// Four bytes.
    pub fn fixed32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Eight bytes.
    pub fn fixed64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.truncated())?;
        self.rest = rest;
        self.offset += N;
        Ok(*head)
    }

    fn take(&mut self, length: u64) -> Result<Reader<'a>> {
        let length = usize::try_from(length).map_err(|_| self.truncated())?;
        let (head, rest) = self.rest.split_at_checked(length).ok_or_else(|| self.truncated())?;
        let chunk = Reader { rest: head, offset: self.offset };
        self.rest = rest;
        self.offset += length;
        Ok(chunk)
    }

    fn truncated(&self) -> Error {
        self.damaged("a field reaches beyond the end of its message")
    }

    /// An `invalid-model` error that names the place in the file.
    pub fn damaged(&self, what: &str) -> Error {
        Error::new(ErrorKind::InvalidModel, format!("at byte {}: {what}", self.offset))
            .hint("the file is truncated, damaged, or no ONNX model")
    }
}

impl<'a> Field<'a> {
    /// Bytes, a message or packed numbers.
    pub fn chunk(self) -> Result<Reader<'a>> {
        match self {
            Self::Chunk(reader) => Ok(reader),
            _ => Err(wrong_type("bytes")),
        }
    }

    /// A string.
    pub fn text(self) -> Result<&'a str> {
        self.chunk()?.text()
    }

    /// A signed number.
    pub fn int(self) -> Result<i64> {
        match self {
            Self::Varint(v) => Ok(v as i64),
            _ => Err(wrong_type("a number")),
        }
    }

    /// A float32.
    pub fn float(self) -> Result<f32> {
        match self {
            Self::Fixed32(bits) => Ok(f32::from_bits(bits)),
            _ => Err(wrong_type("a float")),
        }
    }

    /// Appends one number, or many packed ones.
    pub fn ints(self, out: &mut Vec<i64>) -> Result<()> {
        match self {
            Self::Chunk(mut packed) => {
                while !packed.at_end() {
                    out.push(packed.varint()? as i64);
                }
            }
            single => out.push(single.int()?),
        }
        Ok(())
    }

    /// Appends one float, or many packed ones.
    pub fn floats(self, out: &mut Vec<f32>) -> Result<()> {
        match self {
            Self::Chunk(mut packed) => {
                out.reserve(packed.bytes().len() / 4);
                while !packed.at_end() {
                    out.push(f32::from_bits(packed.fixed32()?));
                }
            }
            single => out.push(single.float()?),
        }
        Ok(())
    }

    /// Appends one double, or many packed ones.
    pub fn doubles(self, out: &mut Vec<f64>) -> Result<()> {
        match self {
            Self::Chunk(mut packed) => {
                while !packed.at_end() {
                    out.push(f64::from_bits(packed.fixed64()?));
                }
            }
            Self::Fixed64(bits) => out.push(f64::from_bits(bits)),
            _ => return Err(wrong_type("a double")),
        }
        Ok(())
    }
}

fn wrong_type(want: &str) -> Error {
    Error::new(ErrorKind::InvalidModel, format!("a field that should hold {want} holds something else"))
        .hint("the file is damaged, or no ONNX model")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_wire_type() {
        let file = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 0, 0, 0x80, 0x3f, 0x21, 1, 0, 0, 0, 0, 0, 0, 0];
        let mut r = Reader::new(&file);
        let (n, f) = r.next().unwrap().unwrap();
        assert_eq!((n, f.int().unwrap()), (1, 150));
        let (n, f) = r.next().unwrap().unwrap();
        assert_eq!((n, f.text().unwrap()), (2, "hi"));
        let (n, f) = r.next().unwrap().unwrap();
        assert_eq!((n, f.float().unwrap()), (3, 1.0));
        let (n, f) = r.next().unwrap().unwrap();
        assert!(n == 4 && matches!(f, Field::Fixed64(1)));
        assert!(r.next().unwrap().is_none());
    }

    #[test]
    fn negative_numbers_take_ten_bytes() {
        let mut bytes = vec![0xff; 9];
        bytes.push(1);
        assert_eq!(Reader::new(&bytes).varint().unwrap() as i64, -1);
        bytes[9] = 0xff;
        bytes.push(1);
        assert!(Reader::new(&bytes).varint().is_err());
    }

    #[test]
    fn a_length_beyond_the_end_names_the_byte() {
        let e = Reader::new(&[0x08, 1, 0x12, 9, 0]).take(9).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidModel);
        let mut r = Reader::new(&[0x08, 1, 0x12, 9, 0]);
        r.next().unwrap();
        assert!(r.next().unwrap_err().message().starts_with("at byte 4:"));
    }
}
