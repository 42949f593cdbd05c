//! Recurrent networks, unrolled: every step of the sequence becomes nodes of its own.

use crate::error::Result;
use crate::graph::ValueId;
use crate::import::onnx::scope::{Scope, unsupported};
use crate::ops::{Binary, Unary};
use crate::tensor::DType;

/// Longest sequence that is unrolled.
const MOST_STEPS: i64 = 256;

/// Which network; gates are numbered as in ONNX.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// <https://onnx.ai/onnx/operators/onnx__RNN.html>
    Rnn,
    /// <https://onnx.ai/onnx/operators/onnx__GRU.html>: update, reset, hidden.
    Gru,
    /// <https://onnx.ai/onnx/operators/onnx__LSTM.html>: input, output, forget, cell.
    Lstm,
}

impl Cell {
    const fn gates(self) -> i64 {
        match self {
            Self::Rnn => 1,
            Self::Gru => 3,
            Self::Lstm => 4,
        }
    }
}

/// What the steps of one direction share.
struct Direction {
    cell: Cell,
    hidden: i64,
    /// R of the direction, transposed: [hidden, gates * hidden].
    recurrence: ValueId,
    /// The recurrence's bias, [gates * hidden].
    bias: ValueId,
    /// Of the input, output and forget gates, each [hidden].
    peepholes: Option<[ValueId; 3]>,
    linear_before_reset: bool,
}

pub fn recurrent(s: &mut Scope<'_, '_>, cell: Cell) -> Result<()> {
    s.ignore(&["hidden_size", "output_sequence"]);
    for attribute in ["activations", "activation_alpha", "activation_beta", "clip"] {
        if s.has(attribute) {
            return Err(unsupported(format!("{attribute} is not supported")));
        }
    }
    s.only("input_forget", 0)?;
    let directions: &[bool] = match s.text("direction", "forward")? {
        "forward" => &[false],
        "reverse" => &[true],
        "bidirectional" => &[false, true],
        other => return Err(unsupported(format!("direction={other:?} is not supported"))),
    };
    let batch_first = s.flag("layout", false)?;
    let linear_before_reset = s.flag("linear_before_reset", false)?;
    let mut x = s.input(0)?;
    if batch_first {
        x = s.transposed(x, vec![1, 0, 2])?;
    }
    let (&[steps, batch, _], &[_, _, hidden]) = (&s.dims(x)?[..], &s.dims(s.input(2)?)?[..]) else {
        return Err(unsupported("X and R are of rank 3"));
    };
    if !(1..=MOST_STEPS).contains(&steps) {
        return Err(unsupported(format!("a sequence of {steps} steps; at most {MOST_STEPS} are unrolled")));
    }
    if s.constant_ints(4, "sequence_lens")?.is_some_and(|lens| lens.iter().any(|&n| n != steps)) {
        return Err(unsupported("sequences of different lengths are not supported"));
    }

    let mut sequences = Vec::with_capacity(directions.len());
    let (mut last_h, mut last_c) = (Vec::new(), Vec::new());
    for (d, &reverse) in directions.iter().enumerate() {
        let (direction, projected) = Direction::read(s, cell, d as i64, x, hidden, linear_before_reset)?;
        let mut h = initial(s, 5, d as i64, batch, hidden)?;
        let mut c = if cell == Cell::Lstm { initial(s, 6, d as i64, batch, hidden)? } else { h };
        let mut all = Vec::with_capacity(steps as usize);
        for t in 0..steps {
            let t = if reverse { steps - 1 - t } else { t };
            let now = s.cut(projected, 0, t, t + 1)?;
            let now = s.reshaped(now, vec![batch, cell.gates().saturating_mul(hidden)])?;
            (h, c) = direction.step(s, now, h, c)?;
            all.push(s.reshaped(h, vec![1, 1, batch, hidden])?);
        }
        if reverse {
            all.reverse();
        }
        sequences.push(s.concatenated(0, &all)?);
        last_h.push(s.reshaped(h, vec![1, batch, hidden])?);
        last_c.push(s.reshaped(c, vec![1, batch, hidden])?);
    }
    let mut y = s.concatenated(1, &sequences)?;
    if batch_first {
        y = s.transposed(y, vec![2, 0, 1, 3])?;
    }
    s.give(0, y)?;
    for (i, parts) in [(1, last_h), (2, last_c)] {
        if i == 1 || cell == Cell::Lstm {
            let mut last = s.concatenated(0, &parts)?;
            if batch_first {
                last = s.transposed(last, vec![1, 0, 2])?;
            }
            s.give(i, last)?;
        }
    }
    Ok(())
}

/// The state before the first step: input `i`, or zeros; [batch, hidden].
fn initial(s: &mut Scope<'_, '_>, i: usize, d: i64, batch: i64, hidden: i64) -> Result<ValueId> {
    let Some(given) = s.optional(i) else { return s.table(DType::F32, &[batch, hidden], |_| 0.0) };
    // [directions, batch, hidden], or with the batch first.
    let axis = i64::from(s.flag("layout", false)?);
    let part = s.cut(given, axis, d, d + 1)?;
    s.reshaped(part, vec![batch, hidden])
}

impl Direction {
    /// Direction `d`, and X W + bias for all its steps at once: [steps, batch, gates * hidden].
    fn read(
        s: &mut Scope<'_, '_>,
        cell: Cell,
        d: i64,
        x: ValueId,
        hidden: i64,
        linear_before_reset: bool,
    ) -> Result<(Self, ValueId)> {
        let width = cell.gates().saturating_mul(hidden);
        let inner = s.dims(x)?[2];
        let (recurrence, weights) = (matrix(s, 2, d, [width, hidden])?, matrix(s, 1, d, [width, inner])?);
        let mut projected = s.product(x, weights)?;
        let bias = if let Some(all) = s.optional(3) {
            let one = s.cut(all, 0, d, d + 1)?;
            let one = s.reshaped(one, vec![width.saturating_mul(2)])?;
            let of_input = s.cut(one, 0, 0, width)?;
            projected = s.join(Binary::Add, projected, of_input)?;
            s.cut(one, 0, width, width.saturating_mul(2))?
        } else {
            s.table(DType::F32, &[width], |_| 0.0)?
        };
        let peepholes = match s.optional(7).filter(|_| cell == Cell::Lstm) {
            None => None,
            Some(all) => {
                let one = s.cut(all, 0, d, d + 1)?;
                let one = s.reshaped(one, vec![hidden.saturating_mul(3)])?;
                Some([gate(s, one, 0, hidden, 0)?, gate(s, one, 1, hidden, 0)?, gate(s, one, 2, hidden, 0)?])
            }
        };
        Ok((Self { cell, hidden, recurrence, bias, peepholes, linear_before_reset }, projected))
    }

    /// One step: `x` is the projected input [batch, gates * hidden]; gives the next hidden and cell state.
    fn step(&self, s: &mut Scope<'_, '_>, x: ValueId, h: ValueId, c: ValueId) -> Result<(ValueId, ValueId)> {
        let recurrent = s.product(h, self.recurrence)?;
        let recurrent = s.join(Binary::Add, recurrent, self.bias)?;
        match self.cell {
            Cell::Rnn => {
                let sum = s.join(Binary::Add, x, recurrent)?;
                let h = s.map(Unary::Tanh, sum)?;
                Ok((h, h))
            }
            Cell::Gru => {
                let h = self.gru(s, x, recurrent, h)?;
                Ok((h, h))
            }
            Cell::Lstm => self.lstm(s, x, recurrent, c),
        }
    }

    fn gru(&self, s: &mut Scope<'_, '_>, x: ValueId, recurrent: ValueId, h: ValueId) -> Result<ValueId> {
        let n = self.hidden;
        let sum = s.join(Binary::Add, x, recurrent)?;
        let (update, reset) = (gate(s, sum, 0, n, 1)?, gate(s, sum, 1, n, 1)?);
        let (update, reset) = (s.map(Unary::Sigmoid, update)?, s.map(Unary::Sigmoid, reset)?);
        let of_input = gate(s, x, 2, n, 1)?;
        let of_state = if self.linear_before_reset {
            let part = gate(s, recurrent, 2, n, 1)?;
            s.join(Binary::Mul, reset, part)?
        } else {
            let (weights, bias) = (gate(s, self.recurrence, 2, n, 1)?, gate(s, self.bias, 2, n, 0)?);
            let kept = s.join(Binary::Mul, reset, h)?;
            let product = s.product(kept, weights)?;
            s.join(Binary::Add, product, bias)?
        };
        let candidate = s.join(Binary::Add, of_input, of_state)?;
        let candidate = s.map(Unary::Tanh, candidate)?;
        // (1 - z) candidate + z h
        let difference = s.join(Binary::Sub, h, candidate)?;
        let share = s.join(Binary::Mul, update, difference)?;
        s.join(Binary::Add, candidate, share)
    }

    fn lstm(&self, s: &mut Scope<'_, '_>, x: ValueId, recurrent: ValueId, c: ValueId) -> Result<(ValueId, ValueId)> {
        let n = self.hidden;
        let sum = s.join(Binary::Add, x, recurrent)?;
        let (input, forget) = (self.open(s, sum, 0, c)?, self.open(s, sum, 2, c)?);
        let candidate = gate(s, sum, 3, n, 1)?;
        let candidate = s.map(Unary::Tanh, candidate)?;
        let (kept, added) = (s.join(Binary::Mul, forget, c)?, s.join(Binary::Mul, input, candidate)?);
        let c = s.join(Binary::Add, kept, added)?;
        let output = self.open(s, sum, 1, c)?;
        let shown = s.map(Unary::Tanh, c)?;
        Ok((s.join(Binary::Mul, output, shown)?, c))
    }

    /// How far gate `k` of an LSTM is open, which may look at the cell.
    fn open(&self, s: &mut Scope<'_, '_>, sum: ValueId, k: i64, c: ValueId) -> Result<ValueId> {
        let mut part = gate(s, sum, k, self.hidden, 1)?;
        if let Some(weight) = self.peepholes.and_then(|p| p.get(k as usize).copied()) {
            let seen = s.join(Binary::Mul, weight, c)?;
            part = s.join(Binary::Add, part, seen)?;
        }
        s.map(Unary::Sigmoid, part)
    }
}

/// Direction `d` of input `i`, a matrix of these dimensions, transposed.
fn matrix(s: &mut Scope<'_, '_>, i: usize, d: i64, dims: [i64; 2]) -> Result<ValueId> {
    let all = s.input(i)?;
    let one = s.cut(all, 0, d, d + 1)?;
    let one = s.reshaped(one, dims.to_vec())?;
    s.transposed(one, vec![1, 0])
}

/// Part `k` of size `n` along `axis`.
fn gate(s: &mut Scope<'_, '_>, x: ValueId, k: i64, n: i64, axis: i64) -> Result<ValueId> {
    s.cut(x, axis, k.saturating_mul(n), (k + 1).saturating_mul(n))
}
