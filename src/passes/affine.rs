//! Per-channel scale and shift behind a convolution or matrix product become part of its weights: batch normalisation,
//! biases, learned scales.

use super::simplify::{input, same_name};
use super::site::{Answer, Change, Order, Site, rewrite};
use super::{PassOutcome, Refusal};
use crate::error::Result;
use crate::graph::{Graph, Node, NodeId, ValueId};
use crate::ops::{Binary, Gemm, Op};
use crate::tensor::{DType, Shape, Tensor};

/// Folds into weights until nothing folds.
pub fn fold(graph: &mut Graph) -> Result<PassOutcome> {
    rewrite(graph, "fold-affine", Order::Forward, &[into_weights])
}

/// Turns the batch normalisations that are left into a product and a sum, which can join an epilogue.
pub fn spell_out_batch_norm(graph: &mut Graph) -> Result<PassOutcome> {
    rewrite(graph, "batch-norm", Order::Forward, &[spell_out])
}

/// y = scale * x + shift along axis 1, one number a channel.
struct Affine {
    x: ValueId,
    scale: Vec<f64>,
    shift: Vec<f64>,
}

/// One number a channel from a constant that broadcasts along axis 1 only.
fn per_channel(tensor: &Tensor, out: &Shape) -> Option<Vec<f64>> {
    let &channels = out.get(1)?;
    let offset = out.len().checked_sub(tensor.shape().len())?;
    let along_channels = tensor.shape().iter().enumerate().all(|(i, &d)| d == 1 || i + offset == 1);
    let numbers = tensor.data().to_f64();
    match numbers.len() {
        1 => Some(vec![*numbers.first()?; channels]),
        n if n == channels && along_channels && tensor.dtype().is_float() => Some(numbers),
        _ => None,
    }
}

fn affine(site: &Site<'_>, node: &Node) -> Option<Affine> {
    let out = site.shape(*node.outputs.first()?).ok()?;
    let &channels = out.get(1)?;
    match &node.op {
        Op::BatchNorm(bn) => {
            let parameter = |i: usize| {
                let numbers = site.constant(input(node, i).ok()?)?.data().to_f64();
                (numbers.len() == channels).then_some(numbers)
            };
            let (gamma, beta, mean, variance) = (parameter(1)?, parameter(2)?, parameter(3)?, parameter(4)?);
            let scale: Vec<f64> =
                gamma.iter().zip(&variance).map(|(g, v)| g / (v + f64::from(bn.epsilon)).sqrt()).collect();
            let shift = beta.iter().zip(&mean).zip(&scale).map(|((b, m), s)| b - m * s).collect();
            Some(Affine { x: input(node, 0).ok()?, scale, shift })
        }
        Op::Binary(op) => {
            let (a, b) = (input(node, 0).ok()?, input(node, 1).ok()?);
            let (x, c, swapped) = match (site.constant(a), site.constant(b)) {
                (None, Some(c)) => (a, c, false),
                (Some(c), None) => (b, c, true),
                _ => return None,
            };
            let (c, one, zero) = (per_channel(c, out)?, vec![1.0; channels], vec![0.0; channels]);
            let (scale, shift) = match (op, swapped) {
                (Binary::Add, _) => (one, c),
                (Binary::Sub, false) => (one, c.into_iter().map(|c| -c).collect()),
                (Binary::Sub, true) => (vec![-1.0; channels], c),
                (Binary::Mul, _) => (c, zero),
                (Binary::Div, false) => (c.into_iter().map(|c| 1.0 / c).collect(), zero),
                _ => return None,
            };
            Some(Affine { x, scale, shift })
        }
        _ => None,
    }
}

/// Scales and shifts the weights of the one node in front.
fn into_weights(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?;
    let affine = affine(site, node).ok_or(Refusal::NoMatch)?;
    let (maker, before) = site.producer(affine.x).ok_or(Refusal::NoMatch)?;
    if !matches!(before.op, Op::Conv(_) | Op::ConvTranspose(_) | Op::Gemm(_)) || !before.epilogue.is_empty() {
        return Err(Refusal::NoMatch);
    }
    if site.sole_reader(affine.x) != Some(id) {
        return Err(Refusal::CheckFailed("the result in front is read elsewhere too"));
    }
    if site.shape(affine.x)? != site.shape(*node.outputs.first().ok_or(Refusal::NoMatch)?)? {
        return Err(Refusal::CheckFailed("the constant widens the result"));
    }
    let weights = input(before, 1)?;
    let (Some(w), Some(bias)) = (site.constant(weights), bias(site, before, affine.scale.len())) else {
        return Err(Refusal::CheckFailed("weights or bias are not constant"));
    };
    if w.dtype() != DType::F32 || affine.scale.iter().chain(&affine.shift).any(|x| !x.is_finite()) {
        return Err(Refusal::CheckFailed("weights are not float32, or a scale is not finite"));
    }
    let scaled = scale_weights(w, &before.op, &affine.scale).ok_or(Refusal::CheckFailed("weights of an odd shape"))?;
    let bias = bias.iter().zip(&affine.scale).zip(&affine.shift).map(|((b, s), t)| (b * s + t) as f32).collect();
    let bias = Tensor::f32([affine.scale.len()], bias).map_err(|_| Refusal::NoMatch)?;

    let mut folded = before.clone();
    folded.outputs.clone_from(&node.outputs);
    if let Op::Gemm(gemm) = &mut folded.op {
        gemm.beta = 1.0;
    }
    let scaled = if affine.scale.iter().all(|&s| s == 1.0) { weights } else { site.add_constant(weights, "'", scaled) };
    let bias = site.add_constant(affine.x, "/bias", bias);
    folded.inputs = vec![input(&folded, 0).ok(), Some(scaled), Some(bias)];
    folded.own_inputs = 3;
    Ok(Change { replaced: vec![(maker, Vec::new()), (id, vec![folded])], redirected: Vec::new() })
}

/// The bias of a convolution or product, zeros where it has none.
fn bias(site: &Site<'_>, node: &Node, channels: usize) -> Option<Vec<f64>> {
    let Some(bias) = node.inputs.get(2).copied().flatten() else { return Some(vec![0.0; channels]) };
    let tensor = site.constant(bias)?;
    match node.op {
        Op::Gemm(Gemm { beta, .. }) => {
            let numbers = per_channel(tensor, &Shape::from([1, channels]))?;
            Some(numbers.into_iter().map(|b| b * f64::from(beta)).collect())
        }
        _ => Some(tensor.data().to_f64()).filter(|b| b.len() == channels),
    }
}

/// Multiplies what belongs to output channel m by `scale[m]`.
fn scale_weights(w: &Tensor, op: &Op, scale: &[f64]) -> Option<Tensor> {
    let shape = w.shape();
    let (rows, columns) = (*shape.first()?, *shape.get(1)?);
    let inner = shape.iter().skip(2).product::<usize>();
    // For each (row, column) of the weight, the output channel it belongs to.
    let channel: Box<dyn Fn(usize, usize) -> usize> = match op {
        Op::Conv(_) => Box::new(|row, _| row),
        Op::ConvTranspose(op) => {
            let rows_a_group = rows.checked_div(op.groups).filter(|&r| r > 0)?;
            Box::new(move |row, column| row / rows_a_group * columns + column)
        }
        Op::Gemm(Gemm { trans_b: true, .. }) => Box::new(|row, _| row),
        Op::Gemm(_) => Box::new(|_, column| column),
        _ => return None,
    };
    let mut data = w.as_slice::<f32>().ok()?.to_vec();
    for (i, chunk) in data.chunks_mut(inner.max(1)).enumerate() {
        let factor = *scale.get(channel(i / columns.max(1), i % columns.max(1)))?;
        chunk.iter_mut().for_each(|x| *x = (f64::from(*x) * factor) as f32);
    }
    Tensor::f32(shape.clone(), data).ok()
}

/// A batch normalisation with nothing to fold into.
fn spell_out(site: &mut Site<'_>, id: NodeId) -> Answer {
    let node = site.expect(id)?.clone();
    let Op::BatchNorm(_) = node.op else { return Err(Refusal::NoMatch) };
    let affine = affine(site, &node).ok_or(Refusal::CheckFailed("its parameters are not constant"))?;
    let &[y] = &node.outputs[..] else { return Err(Refusal::NoMatch) };
    if site.dtype(y)? != DType::F32 {
        return Err(Refusal::CheckFailed("its elements are not float32"));
    }
    let mut shape = vec![1; site.shape(y)?.len().saturating_sub(1)];
    *shape.first_mut().ok_or(Refusal::NoMatch)? = affine.scale.len();
    let mut constant = |numbers: &[f64], what| {
        let tensor = Tensor::f32(shape.clone(), numbers.iter().map(|&x| x as f32).collect());
        Ok(site.add_constant(y, what, tensor.map_err(|_| Refusal::NoMatch)?))
    };
    let (scale, shift) = (constant(&affine.scale, "/scale")?, constant(&affine.shift, "/shift")?);
    let scaled = site.derive(y, "/scaled")?;
    let product = Op::Binary(Binary::Mul);
    let product = Node::new(format!("{}/scale", node.name), product, vec![Some(affine.x), Some(scale)], vec![scaled]);
    let sum = same_name(&node, Op::Binary(Binary::Add), vec![Some(scaled), Some(shift)]);
    Ok(Change { replaced: vec![(id, vec![product, sum])], redirected: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;
    use super::{fold, spell_out_batch_norm};
    use crate::graph::{Builder, Expr};
    use crate::tensor::{DType, Tensor};

    fn parameters(b: &Builder, channels: usize) -> [Expr<'_>; 4] {
        let of = |name: &str, base: f32| {
            let numbers = (0..channels).map(|i| base + 0.1 * i as f32).collect();
            b.constant(name, Tensor::f32([channels], numbers).unwrap())
        };
        [of("scale", 0.5), of("shift", -0.2), of("mean", 0.3), of("variance", 0.7)]
    }

    fn folded(formula: impl for<'b> Fn(&'b Builder, Expr<'b>) -> Expr<'b>) -> Vec<String> {
        let b = Builder::new("fold");
        let x = b.input("x", DType::F32, [2, 4, 5, 5]);
        after(&b, formula(&b, x), &[fold, spell_out_batch_norm])
    }

    #[test]
    fn batch_norm_into_a_convolution() {
        let nodes = folded(|b, x| x.conv(b.weights("w", [6, 4, 3, 3]), None, 1, 1).batch_norm(parameters(b, 6), 1e-3));
        assert_eq!(nodes.len(), 1);
        assert!(nodes[0].starts_with("y = Conv pads 1,1,1,1 (x, w': float32[6, 4, 3, 3], ["), "{nodes:?}");
    }

    #[test]
    fn scales_and_biases_into_every_kind_of_weight() {
        let one = |nodes: Vec<String>| assert_eq!(nodes.len(), 1, "{nodes:?}");
        one(folded(|b, x| x.conv(b.weights("w", [9, 4, 1, 1]), Some(b.weights("b", [9])), 1, 0) * 0.5 + 0.25));
        one(folded(|b, x| {
            x.conv_groups(b.weights("w", [8, 1, 3, 3]), None, 1, 1, 4).batch_norm(parameters(b, 8), 1e-5)
        }));
        one(folded(|b, x| x.conv_transpose(b.weights("w", [4, 3, 2, 2]), 2).batch_norm(parameters(b, 3), 1e-5)));
        one(folded(|b, x| x.conv(b.weights("w", [9, 4, 1, 1]), None, 1, 0) - b.weights("c", [9, 1, 1])));
        let gemm = |b: &Builder| {
            let x = b.input("x", DType::F32, [2, 4]);
            after(b, x.gemm(b.weights("w", [4, 9]), Some(b.weights("b", [9]))) * b.weights("c", [9]) + 1.0, &[fold])
        };
        one(gemm(&Builder::new("gemm")));
    }

    #[test]
    fn a_result_that_is_read_twice_is_left_alone() {
        let nodes = folded(|b, x| {
            let y = x.conv(b.weights("w", [6, 4, 1, 1]), None, 1, 0);
            y.batch_norm(parameters(b, 6), 1e-5) + y
        });
        assert_eq!(nodes.len(), 4);
        assert!(nodes[1].contains("= Mul (Conv0, ") && nodes[2].contains("= Add ("), "{nodes:?}");
    }

    #[test]
    fn a_constant_along_another_axis_is_left_alone() {
        let nodes = folded(|b, x| x.conv(b.weights("w", [5, 4, 1, 1]), None, 1, 0) * b.weights("c", [5]));
        assert_eq!(nodes.len(), 2);
    }
}
