//! Which source element each element of an output takes, by operator; and the same in vectors of four.

use super::access::{Strided, broadcast_strides, merge};
use super::context::{Arg, Context, to_u32};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{Op, PadMode};
use crate::tensor::Layout;

/// Which source element an output element takes, both counted in row-major order whatever their layout.
#[derive(Debug, Clone)]
pub enum Rule {
    /// `base + Σ index · stride`; strides wrap, so that they may be negative.
    Linear { dims: Vec<u32>, strides: Vec<u32>, base: u32 },
    /// The index less `begins` of each dimension; where that is not below `sizes`, the fill value.
    Window { dims: Vec<u32>, begins: Vec<i32>, sizes: Vec<u32>, strides: Vec<u32> },
    /// A source index per output index and dimension; none is the fill value.
    Tables { dims: Vec<u32>, sources: Vec<Vec<Option<usize>>>, strides: Vec<u32> },
    /// Rows picked by an index tensor, input 1: dimensions [outer, picked, inner] of the output, `n` rows in the source.
    Rows { picked: u32, inner: u32, n: u32 },
}

pub fn axis_of(axis: i64, rank: usize) -> Result<usize> {
    let at = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(at)
        .ok()
        .filter(|a| *a < rank)
        .ok_or_else(|| Error::new(ErrorKind::ShapeMismatch, format!("axis {axis} is out of range for rank {rank}")))
}

pub fn axis_len(x: &Arg<'_>, axis: i64) -> Result<usize> {
    Ok(x.shape()[axis_of(axis, x.shape().len())?])
}

pub fn strides_of(x: &Arg<'_>) -> Result<Vec<u32>> {
    x.shape().row_major_strides().into_iter().map(to_u32).collect()
}

/// The rule of every operator but slices, and whether it keeps the order of elements.
pub fn rule(ctx: &Context<'_>, x: &Arg<'_>) -> Result<(Rule, bool)> {
    let out = ctx.output(0)?;
    let dims = out.dims()?;
    Ok(match ctx.op {
        Op::Transpose(op) => {
            let perm = op.permutation(x.shape().len())?;
            let own = strides_of(x)?;
            let strides: Vec<u32> = perm.iter().map(|&p| own[p]).collect();
            let same = merge(&dims, &strides).strides.iter().all(|s| *s == 1) && merge(&dims, &strides).dims.len() <= 1;
            (Rule::Linear { dims, strides, base: 0 }, same)
        }
        Op::Expand(_) => {
            let same = x.shape().elements() == out.shape().elements();
            (Rule::Linear { strides: broadcast_strides(x.shape(), out.shape())?, dims, base: 0 }, same)
        }
        Op::Pad(op) => {
            let amounts = op.amounts(&ctx.operands())?;
            if op.mode == PadMode::Constant {
                let begins = amounts.iter().map(|a| i32::try_from(a.0).unwrap_or(i32::MAX)).collect();
                return Ok((Rule::Window { dims, begins, sizes: x.dims()?, strides: strides_of(x)? }, false));
            }
            let sources: Result<Vec<_>> =
                x.shape().iter().zip(amounts).map(|(&n, amount)| op.sources(n, amount)).collect();
            (Rule::Tables { dims, sources: sources?, strides: strides_of(x)? }, false)
        }
        Op::Gather(op) => {
            let axis = axis_of(op.axis, x.shape().len())?;
            let inner: usize = x.shape()[axis + 1..].iter().product();
            let picked = to_u32(ctx.input(1)?.shape().elements())?;
            (Rule::Rows { picked, inner: to_u32(inner)?, n: to_u32(x.shape()[axis])? }, false)
        }
        _ => {
            if x.shape().elements() != out.shape().elements() {
                let message = format!("{} elements become {}", x.shape(), out.shape());
                return Err(Error::new(ErrorKind::ShapeMismatch, message));
            }
            let strides = out.shape().row_major_strides().into_iter().map(to_u32).collect::<Result<_>>()?;
            (Rule::Linear { dims, strides, base: 0 }, true)
        }
    })
}

/// The rule in vectors of four, where source and output (of one layout) allow it.
pub fn vectors(x: &Arg<'_>, out: &Arg<'_>, from: &Rule, fill: f64) -> Result<Option<Rule>> {
    if out.layout == Layout::RowMajor {
        return Ok(row_major_vectors(from));
    }
    let (&[_, xc, xh, xw], &[n, c, h, w]) = (&x.shape()[..], &out.shape()[..]) else { return Ok(None) };
    let (xg, g) = (xc.div_ceil(4), c.div_ceil(4));
    // Strides of the source in vectors: of a picture, a channel group, a row, a pixel.
    let unit = [to_u32(xg * xh * xw)?, to_u32(xh * xw)?, to_u32(xw)?, 1];
    let plain = [to_u32(xc * xh * xw)?, to_u32(xh * xw)?, to_u32(xw)?, 1];
    let dims = [to_u32(n)?, to_u32(g)?, to_u32(h)?, to_u32(w)?];
    Ok(match from {
        Rule::Linear { dims: d, strides, base } if d.len() == 4 => {
            // Each dimension must step along itself; channels one by one from a multiple of four.
            let mut rest = *base;
            let mut start = [0u32; 4];
            for (s, p) in start.iter_mut().zip(plain) {
                *s = rest.checked_div(p).unwrap_or(0);
                rest = rest.checked_rem(p).unwrap_or(0);
            }
            let steps: Option<Vec<u32>> = (0..4)
                .map(|k| match (d[k], strides[k]) {
                    (1, _) => Some(u32::from(k == 1)),
                    (_, s) if plain[k] > 0 && s % plain[k] == 0 && (s as i32) >= 0 => Some(s / plain[k]),
                    _ => None,
                })
                .collect();
            let Some(steps) = steps else { return Ok(None) };
            let end = start[1] as usize + c;
            let channels = steps[1] == 1 && start[1] % 4 == 0 && (c % 4 == 0 || end == xc);
            let inside = (0..4).all(|k| {
                let last = u64::from(start[k]) + u64::from(steps[k]) * u64::from(d[k].saturating_sub(1));
                last < x.shape()[k] as u64
            });
            if !channels || !inside || d[1] != c as u32 {
                return Ok(None);
            }
            let base = start[0] * unit[0] + (start[1] / 4) * unit[1] + start[2] * unit[2] + start[3];
            let strides = vec![steps[0] * unit[0], unit[1], steps[2] * unit[2], steps[3]];
            Some(Rule::Linear { dims: dims.to_vec(), strides, base })
        }
        Rule::Window { begins, .. } => {
            let &[b0, b1, b2, b3] = &begins[..] else { return Ok(None) };
            // By whole vectors: a fill value gets into no padding lane, nor does a source's zero lane stand where the fill
            // should, nor a source's element behind the last channel.
            let filled = fill == 0.0 || (c % 4 == 0 && xc % 4 == 0);
            let cut = i64::from(b1) + xc as i64 > c as i64;
            if !filled || b1 % 4 != 0 || (cut && c % 4 != 0) {
                return Ok(None);
            }
            let sizes = vec![to_u32(x.shape()[0])?, to_u32(xg)?, to_u32(xh)?, to_u32(xw)?];
            let begins = vec![b0, b1 / 4, b2, b3];
            Some(Rule::Window { dims: dims.to_vec(), begins, sizes, strides: unit.to_vec() })
        }
        Rule::Tables { sources, .. } => {
            let [sn, sc, sh, sw] = &sources[..] else { return Ok(None) };
            let groups: Option<Vec<Option<usize>>> = (0..g)
                .map(|k| {
                    let lane = |l: usize| sc.get(4 * k + l).copied();
                    let first = lane(0)?;
                    let fits = (1..4).all(|l| match (first, lane(l)) {
                        (None, Some(other)) => other.is_none(),
                        (Some(f), Some(other)) => other == Some(f + l),
                        // Beyond the last channel: padding lanes, which the source has as zeros there too.
                        (Some(f), None) => f + l >= xc,
                        (None, None) => fill == 0.0,
                    });
                    (fits && first.is_none_or(|f| f % 4 == 0)).then_some(first.map(|f| f / 4))
                })
                .collect();
            // A fill value would be written into padding lanes too.
            let clean = c % 4 == 0 || fill == 0.0;
            groups.filter(|_| clean).map(|groups| Rule::Tables {
                dims: dims.to_vec(),
                sources: vec![sn.clone(), groups, sh.clone(), sw.clone()],
                strides: unit.to_vec(),
            })
        }
        _ => None,
    })
}

fn row_major_vectors(from: &Rule) -> Option<Rule> {
    match from {
        Rule::Linear { dims, strides, base } => {
            let Strided { mut dims, mut strides } = merge(dims, strides);
            let whole = dims.last().is_none_or(|d| d % 4 == 0) || (dims.len() == 1 && *base == 0);
            let last = strides.pop().unwrap_or(1);
            if last != 1 || !whole || base % 4 != 0 || strides.iter().any(|s| s % 4 != 0) {
                return None;
            }
            if let Some(d) = dims.last_mut() {
                *d = d.div_ceil(4);
            }
            strides.iter_mut().for_each(|s| *s = (*s as i32 / 4) as u32);
            strides.push(1);
            strides.truncate(dims.len());
            Some(Rule::Linear { dims, strides, base: (*base as i32 / 4) as u32 })
        }
        Rule::Rows { picked, inner, n } if inner % 4 == 0 && *inner > 0 => {
            Some(Rule::Rows { picked: *picked, inner: inner / 4, n: *n })
        }
        _ => None,
    }
}
