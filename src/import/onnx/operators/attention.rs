//! Attention and the rotation of its positions, spelled out in matrix products and element-wise operators.

use crate::error::Result;
use crate::graph::ValueId;
use crate::import::onnx::scope::{Scope, unsupported};
use crate::ops::{Binary, Expand, Op, Pad, PadMode, Softmax, Unary};
use crate::tensor::DType;

/// softmax(Q K^T scale + mask) V: <https://onnx.ai/onnx/operators/onnx__Attention.html>. Computed in float32, whatever
/// `softmax_precision` asks for.
pub fn attention(s: &mut Scope<'_, '_>) -> Result<()> {
    s.ignore(&["softmax_precision"]);
    let (q, k, v) = (s.input(0)?, s.input(1)?, s.input(2)?);
    let flat = s.dims(q)?.len() == 3;
    let (q_heads, kv_heads) = (s.int("q_num_heads", 0)?, s.int("kv_num_heads", 0)?);
    let (q, k, v) = (heads(s, q, q_heads)?, heads(s, k, kv_heads)?, heads(s, v, kv_heads)?);
    let (k, past) = with_past(s, 4, k)?;
    let (v, _) = with_past(s, 5, v)?;
    s.give(1, k)?;
    s.give(2, v)?;

    let dtype = s.dtype(q)?;
    let &[_, q_heads, queries, size] = &s.dims(q)?[..] else { return Err(unsupported("Q is not of rank 3 or 4")) };
    let scale = s.float("scale", 1.0 / (size as f32).sqrt())?;
    let (k, v) = (repeat_heads(s, k, q_heads)?, repeat_heads(s, v, q_heads)?);
    let keys = s.dims(k)?[2];
    let (q, k, v) = (s.convert(q, DType::F32)?, s.convert(k, DType::F32)?, s.convert(v, DType::F32)?);
    let q = s.with_scalar(Binary::Mul, q, scale)?;
    let k = s.transposed(k, vec![0, 1, 3, 2])?;
    let raw = s.product(q, k)?;

    let mut biased = raw;
    if let Some(mask) = s.optional(3) {
        let mask = additive(s, mask, keys)?;
        biased = s.join(Binary::Add, biased, mask)?;
    }
    if s.flag("is_causal", false)? {
        let mask = s.table(DType::F32, &[queries, keys], |i| hidden(i[1] - past > i[0]))?;
        biased = s.join(Binary::Add, biased, mask)?;
    }
    if let Some(lengths) = s.optional(6) {
        let mask = beyond(s, lengths, keys)?;
        biased = s.join(Binary::Add, biased, mask)?;
    }
    let softcap = s.float("softcap", 0.0)?;
    let capped = match softcap > 0.0 {
        false => biased,
        true => {
            let scaled = s.with_scalar(Binary::Div, biased, softcap)?;
            let bent = s.map(Unary::Tanh, scaled)?;
            s.with_scalar(Binary::Mul, bent, softcap)?
        }
    };
    let softmax = Softmax { axis: -1, log: false, flattened: false };
    let weights = s.step(Op::Softmax(softmax), vec![Some(capped)])?;
    let y = s.product(weights, v)?;

    let scores = match s.int("qk_matmul_output_mode", 0)? {
        0 => raw,
        1 => biased,
        2 => capped,
        3 => weights,
        mode => return Err(unsupported(format!("qk_matmul_output_mode={mode} is not supported"))),
    };
    if s.output_is_read(3) {
        let scores = s.convert(scores, dtype)?;
        s.give(3, scores)?;
    }
    let mut y = s.convert(y, dtype)?;
    if flat {
        let &[batch, heads, queries, size] = &s.dims(y)?[..] else { return Err(unsupported("a result of that rank")) };
        y = s.transposed(y, vec![0, 2, 1, 3])?;
        y = s.reshaped(y, vec![batch, queries, heads.saturating_mul(size)])?;
    }
    s.give(0, y)
}

/// What is added to the score of a key that must not be seen.
fn hidden(hide: bool) -> f64 {
    if hide { f64::NEG_INFINITY } else { 0.0 }
}

/// [batch, positions, heads * size] as [batch, heads, positions, size].
fn heads(s: &mut Scope<'_, '_>, x: ValueId, heads: i64) -> Result<ValueId> {
    match s.dims(x)?[..] {
        [_, _, _, _] => Ok(x),
        [batch, positions, width] if heads > 0 && width % heads == 0 => {
            let split = s.reshaped(x, vec![batch, positions, heads, width / heads])?;
            s.transposed(split, vec![0, 2, 1, 3])
        }
        ref dims => Err(unsupported(format!("shape {dims:?} with {heads} heads"))),
    }
}

/// Earlier positions, input `i`, before the new ones; and how many there are.
fn with_past(s: &mut Scope<'_, '_>, i: usize, x: ValueId) -> Result<(ValueId, i64)> {
    let Some(past) = s.optional(i) else { return Ok((x, 0)) };
    let count = s.dims(past)?.get(2).copied().unwrap_or(0);
    Ok((s.concatenated(2, &[past, x])?, count))
}

/// Each head as often as there are queries' heads for it: [h0, h0, h1, h1, …].
fn repeat_heads(s: &mut Scope<'_, '_>, x: ValueId, wanted: i64) -> Result<ValueId> {
    let [batch, heads, positions, size] = s.dims(x)?[..] else { return Err(unsupported("K or V is not of rank 4")) };
    if heads == wanted {
        return Ok(x);
    }
    if heads == 0 || wanted % heads != 0 {
        return Err(unsupported(format!("{wanted} heads of Q for {heads} of K and V")));
    }
    let split = s.reshaped(x, vec![batch, heads, 1, positions, size])?;
    let repeated = s.ints_input("repeated", vec![batch, heads, wanted / heads, positions, size])?;
    let repeated = s.step(Op::Expand(Expand), vec![Some(split), Some(repeated)])?;
    s.reshaped(repeated, vec![batch, wanted, positions, size])
}

/// The mask as numbers to add; keys that it does not reach are hidden.
fn additive(s: &mut Scope<'_, '_>, mask: ValueId, keys: i64) -> Result<ValueId> {
    let mask = match s.dtype(mask)? {
        DType::Bool => {
            let (seen, hide) = (s.table(DType::F32, &[], |_| 0.0)?, s.table(DType::F32, &[], |_| hidden(true))?);
            s.choose(mask, seen, hide)?
        }
        _ => s.convert(mask, DType::F32)?,
    };
    let dims = s.dims(mask)?;
    let missing = keys - dims.last().copied().unwrap_or(keys);
    if missing <= 0 {
        return Ok(mask);
    }
    let mut pads = vec![0; dims.len() * 2];
    pads[dims.len() * 2 - 1] = missing;
    let pads = s.ints_input("pads", pads)?;
    let hide = s.table(DType::F32, &[], |_| hidden(true))?;
    s.step(Op::Pad(Pad { mode: PadMode::Constant }), vec![Some(mask), Some(pads), Some(hide)])
}

/// Hides the keys from each batch's length on.
fn beyond(s: &mut Scope<'_, '_>, lengths: ValueId, keys: i64) -> Result<ValueId> {
    let batch = super::steps::count(&s.dims(lengths)?);
    let lengths = s.reshaped(lengths, vec![batch, 1, 1, 1])?;
    let places = s.table(DType::I64, &[keys], |i| i[0] as f64)?;
    let seen = s.join(Binary::Less, places, lengths)?;
    let (zero, hide) = (s.table(DType::F32, &[], |_| 0.0)?, s.table(DType::F32, &[], |_| hidden(true))?);
    s.choose(seen, zero, hide)
}

/// <https://onnx.ai/onnx/operators/onnx__RotaryEmbedding.html>: pairs of numbers are turned by an angle that their
/// position gives.
pub fn rotary_embedding(s: &mut Scope<'_, '_>) -> Result<()> {
    let interleaved = s.flag("interleaved", false)?;
    let count = s.int("num_heads", 0)?;
    let x = s.input(0)?;
    let flat = s.dims(x)?.len() == 3;
    // [batch, positions, heads, size]
    let x = match s.dims(x)?[..] {
        [_, _, _, _] => s.transposed(x, vec![0, 2, 1, 3])?,
        [batch, positions, width] if count > 0 && width % count == 0 => {
            s.reshaped(x, vec![batch, positions, count, width / count])?
        }
        ref dims => return Err(unsupported(format!("shape {dims:?} with {count} heads"))),
    };
    let dims = s.dims(x)?;
    let size = dims[3];
    let turned = match s.int("rotary_embedding_dim", 0)? {
        0 => size,
        n if n > 0 && n <= size && n % 2 == 0 => n,
        n => return Err(unsupported(format!("rotary_embedding_dim={n} of {size}"))),
    };
    let half = turned / 2;
    let (cos, sin) = (angle(s, 1, half)?, angle(s, 2, half)?);
    let part = s.cut(x, 3, 0, turned)?;
    let (a, b) = if interleaved {
        let pairs = s.reshaped(part, vec![dims[0], dims[1], dims[2], half, 2])?;
        let (a, b) = (s.cut(pairs, 4, 0, 1)?, s.cut(pairs, 4, 1, 2)?);
        let each = vec![dims[0], dims[1], dims[2], half];
        (s.reshaped(a, each.clone())?, s.reshaped(b, each)?)
    } else {
        (s.cut(part, 3, 0, half)?, s.cut(part, 3, half, turned)?)
    };
    let turn = |s: &mut Scope<'_, '_>, f: Binary, p: ValueId, q: ValueId| {
        let (p, q) = (s.join(Binary::Mul, cos, p)?, s.join(Binary::Mul, sin, q)?);
        s.join(f, p, q)
    };
    let (real, imaginary) = (turn(s, Binary::Sub, a, b)?, turn(s, Binary::Add, b, a)?);
    let mut y = if interleaved {
        let each = vec![dims[0], dims[1], dims[2], half, 1];
        let (real, imaginary) = (s.reshaped(real, each.clone())?, s.reshaped(imaginary, each)?);
        let pairs = s.concatenated(4, &[real, imaginary])?;
        s.reshaped(pairs, vec![dims[0], dims[1], dims[2], turned])?
    } else {
        s.concatenated(3, &[real, imaginary])?
    };
    if turned < size {
        let rest = s.cut(x, 3, turned, size)?;
        y = s.concatenated(3, &[y, rest])?;
    }
    y = if flat {
        s.reshaped(y, vec![dims[0], dims[1], dims[2].saturating_mul(size)])?
    } else {
        s.transposed(y, vec![0, 2, 1, 3])?
    };
    s.give(0, y)
}

/// Input `i`, a table of cosines or sines, for each position: [batch, positions, 1, half].
fn angle(s: &mut Scope<'_, '_>, i: usize, half: i64) -> Result<ValueId> {
    let mut table = s.input(i)?;
    if let Some(positions) = s.optional(3) {
        table = s.rows(0, table, positions)?;
    }
    match s.dims(table)?[..] {
        [batch, positions, width] if width == half => s.reshaped(table, vec![batch, positions, 1, half]),
        ref dims => Err(unsupported(format!("a table of shape {dims:?} for {half} angles"))),
    }
}
