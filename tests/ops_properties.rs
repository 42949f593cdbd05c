//! Whatever a file says, an operator answers with types or with an error: it never panics, and its reference gives what its
//! inference promised.
#![cfg(not(target_arch = "wasm32"))]

use frameway::ops::*;
use frameway::tensor::{DType, Data, Layout, Tensor, TensorType};
use proptest::prelude::*;

/// Sizes on the edges of what a file can hold.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0usize..5, 1 => Just(1 << 30), 1 => Just(u32::MAX as usize), 1 => Just(usize::MAX)]
}

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![8 => -4i64..5, 1 => Just(i64::MIN), 1 => Just(i64::MAX), 1 => Just(1i64 << 31), 1 => Just(-(1i64 << 31))]
}

fn dtype() -> impl Strategy<Value = DType> {
    use DType::*;
    prop_oneof![6 => Just(F32), 1 => Just(F16), 1 => Just(I32), 1 => Just(U32), 1 => Just(I64), 1 => Just(U8), 1 => Just(I8), 1 => Just(Bool)]
}

/// A tensor of at most 4 dimensions of at most 4 elements, or a list of numbers on the edges.
fn tensor() -> impl Strategy<Value = Tensor> {
    let small = (dtype(), prop::collection::vec(0usize..5, 0..5)).prop_map(|(dtype, dims)| {
        let n = dims.iter().product::<usize>();
        let data = Data::from_f64(dtype, (0..n).map(|i| i as f64 - 2.5).collect());
        Tensor::new(dims, data).expect("as many elements as the shape says")
    });
    let list = prop::collection::vec(number(), 0..9)
        .prop_map(|v| Tensor::i64([v.len()], v).expect("as many elements as the shape says"));
    let scales =
        prop::collection::vec(prop_oneof![Just(0.0f32), Just(2.0), Just(0.5), Just(f32::NAN), Just(1e30)], 0..5)
            .prop_map(|v| Tensor::f32([v.len()], v).expect("as many elements as the shape says"));
    prop_oneof![4 => small, 3 => list, 1 => scales]
}

fn window() -> impl Strategy<Value = Window> {
    let list = || prop_oneof![3 => Just(Vec::new()), 2 => prop::collection::vec(1usize..4, 2), 1 => prop::collection::vec(size(), 0..7)];
    let auto_pad = prop_oneof![
        3 => Just(AutoPad::Explicit),
        1 => Just(AutoPad::SameUpper),
        1 => Just(AutoPad::SameLower),
        1 => Just(AutoPad::Valid)
    ];
    (list(), list(), list(), list(), auto_pad).prop_map(|(kernel, strides, dilations, pads, auto_pad)| Window {
        kernel,
        strides,
        dilations,
        pads,
        auto_pad,
    })
}

fn op() -> impl Strategy<Value = Op> {
    let float = || prop_oneof![Just(0.0f32), Just(1.0), Just(-1.0), Just(f32::NAN), Just(f32::INFINITY)];
    let unary = prop_oneof![
        Just(Unary::Abs),
        Just(Unary::Erf),
        Just(Unary::Neg),
        Just(Unary::Not),
        Just(Unary::Round),
        (float(), float()).prop_map(|(lo, hi)| Unary::Clip { lo, hi }),
    ];
    let binary = prop::sample::select(vec![
        Binary::Add,
        Binary::And,
        Binary::Div,
        Binary::Equal,
        Binary::Max,
        Binary::Mod { fmod: false },
        Binary::Mod { fmod: true },
        Binary::Mul,
        Binary::PRelu,
        Binary::Pow,
    ]);
    let resize_mode = prop_oneof![
        Just(ResizeMode::Nearest(NearestMode::Floor)),
        Just(ResizeMode::Nearest(NearestMode::RoundPreferCeil)),
        Just(ResizeMode::Linear),
        (float(), any::<bool>())
            .prop_map(|(coefficient, exclude_outside)| ResizeMode::Cubic { coefficient, exclude_outside }),
    ];
    let coordinates = prop::sample::select(vec![
        Coordinates::AlignCorners,
        Coordinates::Asymmetric,
        Coordinates::HalfPixel,
        Coordinates::HalfPixelSymmetric,
        Coordinates::PytorchHalfPixel,
    ]);
    let kind = prop::sample::select(vec![
        ReduceKind::L2,
        ReduceKind::LogSumExp,
        ReduceKind::Max,
        ReduceKind::Mean,
        ReduceKind::Prod,
    ]);
    let pad_mode = prop::sample::select(vec![PadMode::Constant, PadMode::Edge, PadMode::Reflect, PadMode::Wrap]);
    let pool_kind = prop_oneof![
        Just(PoolKind::Max),
        any::<bool>().prop_map(|count_include_pad| PoolKind::Average { count_include_pad })
    ];
    let sizes = || prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(size(), 0..4)];
    prop_oneof![
        float().prop_map(|epsilon| Op::BatchNorm(BatchNorm { epsilon })),
        binary.prop_map(Op::Binary),
        dtype().prop_map(|to| Op::Cast(Cast { to })),
        Just(Op::Clip(Clip)),
        number().prop_map(|axis| Op::Concat(Concat { axis })),
        tensor().prop_map(|value| Op::ConstantOfShape(ConstantOfShape { value })),
        (window(), size()).prop_map(|(window, groups)| Op::Conv(Conv { window, groups })),
        (window(), size(), sizes(), sizes()).prop_map(|(window, groups, output_padding, output_shape)| {
            Op::ConvTranspose(ConvTranspose { window, groups, output_padding, output_shape })
        }),
        Just(Op::Expand(Expand)),
        number().prop_map(|axis| Op::Flatten(Flatten { axis })),
        number().prop_map(|axis| Op::Gather(Gather { axis })),
        (float(), any::<bool>(), any::<bool>()).prop_map(|(alpha, trans_a, trans_b)| Op::Gemm(Gemm {
            alpha,
            beta: 1.0,
            trans_a,
            trans_b
        })),
        Just(Op::MatMul(MatMul)),
        pad_mode.prop_map(|mode| Op::Pad(Pad { mode })),
        (pool_kind, window(), any::<bool>()).prop_map(|(kind, window, ceil_mode)| Op::Pool(Pool {
            kind,
            window,
            ceil_mode
        })),
        (kind, any::<bool>(), any::<bool>()).prop_map(|(kind, keep_dims, noop_with_empty_axes)| Op::Reduce(Reduce {
            kind,
            keep_dims,
            noop_with_empty_axes
        })),
        Just(Op::Relayout(Relayout { to: Layout::C4 })),
        any::<bool>().prop_map(|allow_zero| Op::Reshape(Reshape { allow_zero })),
        (resize_mode, coordinates, prop::collection::vec(number(), 0..3))
            .prop_map(|(mode, coordinates, axes)| Op::Resize(Resize { mode, coordinates, axes })),
        (number(), prop::option::of(number())).prop_map(|(start, end)| Op::ShapeOf(ShapeOf { start, end })),
        Just(Op::Slice(Slice)),
        (number(), any::<bool>(), any::<bool>()).prop_map(|(axis, log, flattened)| Op::Softmax(Softmax {
            axis,
            log,
            flattened
        })),
        (number(), 0usize..5).prop_map(|(axis, parts)| Op::Split(Split { axis, parts })),
        Just(Op::Squeeze(Squeeze)),
        sizes().prop_map(|perm| Op::Transpose(Transpose { perm })),
        unary.prop_map(Op::Unary),
        Just(Op::Unsqueeze(Unsqueeze)),
        Just(Op::Where(Where)),
    ]
}

/// What an input of an operator usually is.
#[derive(Clone, Copy)]
enum Habit {
    /// Like the first input, or broadcast to it.
    Alike,
    /// A list of whole numbers, as long as the first input's rank or twice that.
    Numbers,
    /// As many numbers as the first input has channels.
    Channels,
    /// A convolution's weights.
    Weights,
    /// One number.
    Scalar,
    /// True or false, like the first input.
    Flags,
}

fn habits(op: &Op) -> Vec<Habit> {
    use Habit::*;
    match op {
        Op::BatchNorm(_) => vec![Alike, Channels, Channels, Channels, Channels],
        Op::Binary(Binary::And) => vec![Flags, Flags],
        Op::Binary(_) | Op::Concat(_) | Op::MatMul(_) => vec![Alike, Alike],
        Op::Clip(_) => vec![Alike, Scalar, Scalar],
        Op::ConstantOfShape(_) => vec![Numbers],
        Op::Conv(_) | Op::ConvTranspose(_) => vec![Alike, Weights],
        Op::Gemm(_) => vec![Alike, Alike, Alike],
        Op::Expand(_) | Op::Gather(_) | Op::Reduce(_) | Op::Reshape(_) => vec![Alike, Numbers],
        Op::Split(_) | Op::Squeeze(_) | Op::Unsqueeze(_) => vec![Alike, Numbers],
        Op::Pad(_) => vec![Alike, Numbers],
        Op::Resize(_) => vec![Alike, Alike, Numbers],
        Op::Slice(_) => vec![Alike, Numbers, Numbers, Numbers],
        Op::Where(_) => vec![Flags, Alike, Alike],
        _ => vec![Alike],
    }
}

/// An operator with inputs that often fit it: `wild` replaces the one at its index.
fn application() -> impl Strategy<Value = (Op, Vec<Option<Tensor>>)> {
    let dims = prop_oneof![1 => prop::collection::vec(0usize..5, 0..6), 4 => prop::collection::vec(1usize..5, 1..5)];
    let dtype = prop_oneof![4 => Just(DType::F32), 1 => dtype()];
    let numbers = prop::collection::vec(-1i64..4, 12);
    let wild = prop_oneof![3 => Just(None), 1 => (0usize..5, prop::option::of(tensor())).prop_map(Some)];
    (op(), dims, dtype, numbers, any::<u8>(), wild).prop_map(|(op, dims, dtype, numbers, bits, wild)| {
        let bit = |i: usize| bits >> (i % 8) & 1 == 1;
        let channels = dims.get(1).copied().unwrap_or(1);
        let groups = match &op {
            Op::Conv(c) => c.groups.clamp(1, 4),
            _ => 1,
        };
        let input = |(i, habit): (usize, Habit)| {
            let mut shape = dims.clone();
            let mut ty = dtype;
            match habit {
                Habit::Alike if i > 0 && bit(i) => shape.iter_mut().for_each(|d| *d = (*d).min(1)),
                Habit::Alike => {}
                Habit::Flags => ty = DType::Bool,
                Habit::Channels => shape = vec![channels],
                Habit::Scalar => shape = Vec::new(),
                Habit::Weights => {
                    shape.iter_mut().skip(2).for_each(|d| *d = (*d).min(2));
                    if let [m, c, ..] = &mut shape[..] {
                        (*m, *c) = (channels, channels / groups);
                    }
                }
                Habit::Numbers => {
                    let n = dims.len() * (1 + usize::from(bit(0)));
                    let list: Vec<i64> =
                        numbers.iter().cycle().skip(i).take(n.min(if bit(1) { 1 } else { n })).copied().collect();
                    return Tensor::i64([list.len()], list).expect("a list");
                }
            }
            let n = shape.iter().product::<usize>();
            let data = Data::from_f64(ty, (0..n).map(|k| k as f64 - 2.5).collect());
            Tensor::new(shape, data).expect("as many elements as the shape says")
        };
        let mut inputs: Vec<_> = habits(&op).into_iter().enumerate().map(|pair| Some(input(pair))).collect();
        if let Some((i, tensor)) = wild {
            match inputs.get_mut(i) {
                Some(slot) => *slot = tensor,
                None => inputs.push(tensor),
            }
        }
        (op, inputs)
    })
}

/// Elements beyond which a promised output is not computed.
const SMALL: usize = 1 << 16;

proptest! {
    #![proptest_config(ProptestConfig { cases: 50_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_reference_gives_what_inference_promises((op, inputs) in application()) {
        let tensors: Vec<Option<&Tensor>> = inputs.iter().map(Option::as_ref).collect();
        let types: Vec<Option<TensorType>> = tensors.iter().map(|t| t.map(Tensor::ty)).collect();
        let operands: Vec<Option<Operand<'_>>> = types
            .iter()
            .zip(&tensors)
            .map(|(ty, t)| ty.as_ref().map(|ty| Operand { ty, constant: *t }))
            .collect();
        let definition = op.definition();
        let promised = definition.infer(&operands);
        let large = promised.as_ref().is_ok_and(|all| all.iter().any(|t| t.shape.iter().any(|&d| d > SMALL) || t.shape.elements() > SMALL));
        if large {
            return Ok(());
        }
        match (promised, definition.eval(&tensors)) {
            (Ok(types), Ok(outputs)) => {
                prop_assert_eq!(outputs.iter().map(Tensor::ty).collect::<Vec<_>>(), types);
            }
            (Ok(_), Err(e)) => prop_assert!(matches!(op, Op::Gather(_)), "{e} after inference was content with {op:?}"),
            (Err(_), Ok(_)) => prop_assert!(false, "{op:?} gives what inference refused"),
            (Err(_), Err(_)) => {}
        }
    }

    /// Shapes that no memory could hold must be refused in inference, not met by a panic or an allocation.
    #[test]
    fn inference_survives_absurd_shapes(op in op(), shapes in prop::collection::vec(prop::collection::vec(size(), 0..6), 1..4), types in prop::collection::vec(dtype(), 3)) {
        let types: Vec<TensorType> = shapes.into_iter().zip(types).map(|(dims, dtype)| TensorType::new(dtype, dims)).collect();
        let operands: Vec<Option<Operand<'_>>> = types.iter().map(|ty| Some(Operand { ty, constant: None })).collect();
        let _ = op.definition().infer(&operands);
    }
}
