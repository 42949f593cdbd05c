//! The table of operators, one line each. Importers give every operator the newest opset's form, and say what they
//! cannot serve: attributes that are not read are refused by the caller.

mod arithmetic;
mod attention;
mod index;
mod movement;
mod normalize;
mod quantize;
mod recurrent;
mod resample;
mod steps;
mod windows;

use super::scope::Scope;
use crate::error::Result;
use crate::ops::{Binary, ReduceKind, Unary};
use recurrent::Cell;

/// Reads one node into the graph.
pub type Importer = fn(&mut Scope<'_, '_>) -> Result<()>;

/// The importer of an operator of the default domain.
pub fn find(op_type: &str) -> Option<Importer> {
    OPERATORS.binary_search_by(|(name, _)| name.cmp(&op_type)).ok().and_then(|i| OPERATORS.get(i)).map(|(_, f)| *f)
}

/// Sorted by name.
const OPERATORS: &[(&str, Importer)] = &[
    ("Abs", |s| s.unary(Unary::Abs)),
    ("Acos", |s| s.unary(Unary::Acos)),
    ("Acosh", |s| s.unary(Unary::Acosh)),
    ("Add", |s| s.binary(Binary::Add)),
    ("And", |s| s.binary(Binary::And)),
    ("ArgMax", |s| index::arg(s, ReduceKind::Max)),
    ("ArgMin", |s| index::arg(s, ReduceKind::Min)),
    ("Asin", |s| s.unary(Unary::Asin)),
    ("Asinh", |s| s.unary(Unary::Asinh)),
    ("Atan", |s| s.unary(Unary::Atan)),
    ("Atanh", |s| s.unary(Unary::Atanh)),
    ("Attention", attention::attention),
    ("AveragePool", windows::average_pool),
    ("BatchNormalization", normalize::batch_norm),
    ("Cast", movement::cast),
    ("CastLike", movement::cast_like),
    ("Ceil", |s| s.unary(Unary::Ceil)),
    ("Clip", arithmetic::clip),
    ("Concat", movement::concat),
    ("Constant", movement::constant),
    ("ConstantOfShape", movement::constant_of_shape),
    ("Conv", windows::conv),
    ("ConvInteger", quantize::conv_integer),
    ("ConvTranspose", windows::conv_transpose),
    ("Cos", |s| s.unary(Unary::Cos)),
    ("Cosh", |s| s.unary(Unary::Cosh)),
    ("DepthToSpace", movement::depth_to_space),
    ("DequantizeLinear", quantize::dequantize),
    ("Div", |s| s.binary(Binary::Div)),
    ("Dropout", movement::dropout),
    ("DynamicQuantizeLinear", quantize::dynamic_quantize),
    ("Elu", arithmetic::elu),
    ("Equal", |s| s.binary(Binary::Equal)),
    ("Erf", |s| s.unary(Unary::Erf)),
    ("Exp", |s| s.unary(Unary::Exp)),
    ("Expand", movement::expand),
    ("Flatten", movement::flatten),
    ("Floor", |s| s.unary(Unary::Floor)),
    ("GRU", |s| recurrent::recurrent(s, Cell::Gru)),
    ("Gather", movement::gather),
    ("GatherElements", index::gather_elements),
    ("GatherND", index::gather_nd),
    ("Gelu", arithmetic::gelu),
    ("Gemm", arithmetic::gemm),
    ("GlobalAveragePool", |s| normalize::global(s, ReduceKind::Mean)),
    ("GlobalMaxPool", |s| normalize::global(s, ReduceKind::Max)),
    ("Greater", |s| s.binary(Binary::Greater)),
    ("GreaterOrEqual", |s| s.binary(Binary::GreaterOrEqual)),
    ("GroupNormalization", normalize::group_norm),
    ("HardSigmoid", arithmetic::hard_sigmoid),
    ("HardSwish", |s| s.unary(Unary::HardSwish)),
    ("Identity", movement::identity),
    ("InstanceNormalization", normalize::instance_norm),
    ("LSTM", |s| recurrent::recurrent(s, Cell::Lstm)),
    ("LayerNormalization", normalize::layer_norm),
    ("LeakyRelu", arithmetic::leaky_relu),
    ("Less", |s| s.binary(Binary::Less)),
    ("LessOrEqual", |s| s.binary(Binary::LessOrEqual)),
    ("Log", |s| s.unary(Unary::Log)),
    ("LogSoftmax", |s| normalize::softmax(s, true)),
    ("MatMul", arithmetic::matmul),
    ("MatMulInteger", quantize::matmul_integer),
    ("Max", |s| arithmetic::variadic(s, Binary::Max)),
    ("MaxPool", windows::max_pool),
    ("Mean", arithmetic::mean),
    ("Min", |s| arithmetic::variadic(s, Binary::Min)),
    ("Mish", |s| s.unary(Unary::Mish)),
    ("Mod", arithmetic::modulo),
    ("Mul", |s| s.binary(Binary::Mul)),
    ("Neg", |s| s.unary(Unary::Neg)),
    ("Not", |s| s.unary(Unary::Not)),
    ("OneHot", index::one_hot),
    ("Or", |s| s.binary(Binary::Or)),
    ("PRelu", |s| s.binary(Binary::PRelu)),
    ("Pad", movement::pad),
    ("Pow", arithmetic::power),
    ("QLinearConv", quantize::conv),
    ("QLinearMatMul", quantize::matmul),
    ("QuantizeLinear", quantize::quantize),
    ("RMSNormalization", normalize::rms_norm),
    ("RNN", |s| recurrent::recurrent(s, Cell::Rnn)),
    ("Range", index::range),
    ("Reciprocal", |s| s.unary(Unary::Reciprocal)),
    ("ReduceL1", |s| normalize::reduce(s, ReduceKind::L1)),
    ("ReduceL2", |s| normalize::reduce(s, ReduceKind::L2)),
    ("ReduceLogSum", |s| normalize::reduce(s, ReduceKind::LogSum)),
    ("ReduceLogSumExp", |s| normalize::reduce(s, ReduceKind::LogSumExp)),
    ("ReduceMax", |s| normalize::reduce(s, ReduceKind::Max)),
    ("ReduceMean", |s| normalize::reduce(s, ReduceKind::Mean)),
    ("ReduceMin", |s| normalize::reduce(s, ReduceKind::Min)),
    ("ReduceProd", |s| normalize::reduce(s, ReduceKind::Prod)),
    ("ReduceSum", |s| normalize::reduce(s, ReduceKind::Sum)),
    ("ReduceSumSquare", |s| normalize::reduce(s, ReduceKind::SumSquare)),
    ("Relu", |s| s.unary(Unary::Relu)),
    ("Reshape", movement::reshape),
    ("Resize", resample::resize),
    ("RotaryEmbedding", attention::rotary_embedding),
    ("Round", |s| s.unary(Unary::Round)),
    ("Selu", arithmetic::selu),
    ("Shape", movement::shape),
    ("Sigmoid", |s| s.unary(Unary::Sigmoid)),
    ("Sign", |s| s.unary(Unary::Sign)),
    ("Sin", |s| s.unary(Unary::Sin)),
    ("Sinh", |s| s.unary(Unary::Sinh)),
    ("Size", movement::size),
    ("Slice", movement::slice),
    ("Softmax", |s| normalize::softmax(s, false)),
    ("Softplus", |s| s.unary(Unary::Softplus)),
    ("Softsign", |s| s.unary(Unary::Softsign)),
    ("SpaceToDepth", movement::space_to_depth),
    ("Split", movement::split),
    ("Sqrt", |s| s.unary(Unary::Sqrt)),
    ("Squeeze", movement::squeeze),
    ("Sub", |s| s.binary(Binary::Sub)),
    ("Sum", |s| arithmetic::variadic(s, Binary::Add)),
    ("Swish", arithmetic::swish),
    ("Tan", |s| s.unary(Unary::Tan)),
    ("Tanh", |s| s.unary(Unary::Tanh)),
    ("Tile", index::tile),
    ("Transpose", movement::transpose),
    ("Trilu", index::triangle),
    ("Unsqueeze", movement::unsqueeze),
    ("Upsample", resample::upsample),
    ("Where", arithmetic::select),
    ("Xor", |s| s.binary(Binary::Xor)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(OPERATORS.windows(2).all(|w| w[0].0 < w[1].0));
        assert!(find("Conv").is_some() && find("If").is_none());
    }
}
