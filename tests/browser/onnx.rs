//! A model file small enough to be written by hand.

fn varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// A field of bytes: a text, a message.
fn bytes(field: u64, content: &[u8], out: &mut Vec<u8>) {
    varint(field << 3 | 2, out);
    varint(content.len() as u64, out);
    out.extend(content);
}

fn number(field: u64, n: u64, out: &mut Vec<u8>) {
    varint(field << 3, out);
    varint(n, out);
}

fn message(fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    fill(&mut out);
    out
}

/// Name, float32, shape.
fn port(name: &str, shape: &[u64]) -> Vec<u8> {
    let dims = message(|m| shape.iter().for_each(|&d| bytes(1, &message(|m| number(1, d, m)), m)));
    let tensor = message(|m| {
        number(1, 1, m);
        bytes(2, &dims, m);
    });
    message(|m| {
        bytes(1, name.as_bytes(), m);
        bytes(2, &message(|m| bytes(1, &tensor, m)), m);
    })
}

/// `y = x * factor`, float32 of one shape.
pub fn multiply(shape: &[u64], factor: f32) -> Vec<u8> {
    let node = message(|m| {
        bytes(1, b"x", m);
        bytes(1, b"factor", m);
        bytes(2, b"y", m);
        bytes(4, b"Mul", m);
    });
    let constant = message(|m| {
        number(2, 1, m);
        bytes(8, b"factor", m);
        bytes(9, &factor.to_le_bytes(), m);
    });
    let graph = message(|m| {
        bytes(1, &node, m);
        bytes(2, b"multiply", m);
        bytes(5, &constant, m);
        bytes(11, &port("x", shape), m);
        bytes(12, &port("y", shape), m);
    });
    message(|m| {
        number(1, 8, m);
        bytes(7, &graph, m);
        bytes(8, &message(|m| number(2, 13, m)), m);
    })
}
