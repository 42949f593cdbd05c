use std::fmt::Write;

/// A parameter block: its WGSL struct and its bytes, built side by side by the rules of the uniform address space.
#[derive(Debug, Clone, Default)]
pub struct Params {
    fields: String,
    bytes: Vec<u8>,
}

impl Params {
    /// `name: u32`.
    pub fn u32(&mut self, name: &str, value: u32) {
        self.field(name, "u32", 4, &[value.to_le_bytes()]);
    }

    /// `name: i32`.
    pub fn i32(&mut self, name: &str, value: i32) {
        self.field(name, "i32", 4, &[value.to_le_bytes()]);
    }

    /// `name: f32`.
    pub fn f32(&mut self, name: &str, value: f32) {
        self.field(name, "f32", 4, &[value.to_le_bytes()]);
    }

    /// `name: vec4u`.
    pub fn vec4u(&mut self, name: &str, value: [u32; 4]) {
        self.field(name, "vec4u", 16, &value.map(u32::to_le_bytes));
    }

    /// `name: vec4i`.
    pub fn vec4i(&mut self, name: &str, value: [i32; 4]) {
        self.field(name, "vec4i", 16, &value.map(i32::to_le_bytes));
    }

    /// `name: vec4f`.
    pub fn vec4f(&mut self, name: &str, value: [f32; 4]) {
        self.field(name, "vec4f", 16, &value.map(f32::to_le_bytes));
    }

    /// `name: array<vec4u, 2>`: up to eight numbers, the rest zero; element i is `name[i / 4][i % 4]`.
    pub fn eight_u(&mut self, name: &str, values: &[u32]) {
        let mut eight = [[0; 4]; 8];
        for (to, from) in eight.iter_mut().zip(values) {
            *to = from.to_le_bytes();
        }
        self.field(name, "array<vec4u, 2>", 16, &eight);
    }

    /// `name: array<vec4i, 2>`.
    pub fn eight_i(&mut self, name: &str, values: &[i32]) {
        let mut eight = [[0; 4]; 8];
        for (to, from) in eight.iter_mut().zip(values) {
            *to = from.to_le_bytes();
        }
        self.field(name, "array<vec4i, 2>", 16, &eight);
    }

    fn field(&mut self, name: &str, ty: &str, align: usize, words: &[[u8; 4]]) {
        self.bytes.resize(self.bytes.len().next_multiple_of(align), 0);
        words.iter().for_each(|w| self.bytes.extend_from_slice(w));
        let _ = writeln!(self.fields, "    {name}: {ty},");
    }

    /// True where it has no field.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The struct's declaration.
    pub fn declaration(&self) -> String {
        format!("struct Params {{\n{}}}\n", self.fields)
    }

    /// The bytes, padded to 16.
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len().next_multiple_of(16), 0);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_like_a_uniform_struct() {
        let mut p = Params::default();
        p.u32("a", 1);
        p.vec4u("b", [2, 3, 4, 5]);
        p.f32("c", 1.0);
        p.eight_i("d", &[-1, 7]);
        let bytes = p.clone().into_bytes();
        let word = |i: usize| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap());
        assert_eq!((word(0), word(4), word(7), word(8), word(12), word(13)), (1, 2, 5, 0x3f80_0000, u32::MAX, 7));
        assert_eq!(bytes.len(), 80);
        assert!(p.declaration().contains("d: array<vec4i, 2>"));
    }
}
