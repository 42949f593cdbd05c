use super::{Arg, Choices, Context, DeviceLimits, Head, Launch, Source, exact_groups, to_u32};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{Color, Epilogue, Filter, Identity, Op, Preprocess};
use crate::tensor::{DType, Layout};

pub(super) const FILE: &str = include_str!("preprocess.wgsl");

/// From the frame handed in for model input `input` to its tensor, output 0 of the launch: row-major, as the model states it.
pub fn preprocess(step: &Preprocess, input: usize, limits: &DeviceLimits) -> Result<Launch<'static>> {
    let ty = step.output();
    let (op, epilogue, choices) = (Op::Identity(Identity), Epilogue::default(), Choices::default());
    let output = Arg { ty: &ty, layout: Layout::RowMajor, constant: None, storage: 0 };
    output.count()?;
    let ctx = Context {
        op: &op,
        inputs: Vec::new(),
        own_inputs: 0,
        epilogue: &epilogue,
        outputs: vec![output],
        choices: &choices,
        limits,
    };
    let mut head = Head::new(&ctx);
    let (width, height) = (to_u32(step.width)?, to_u32(step.height)?);
    head.params.vec4f("pad", [step.pad / 255.0; 4]);
    head.params.vec4f("scale", step.scale);
    head.params.vec4f("bias", step.bias);
    head.params.vec4u("size", [width, height, 0, 0]);
    head.frame(input);
    head.picture(input);
    let slot = head.output(0, false)?;
    head.storer("put", slot, false)?;
    head.define(
        "FILTER",
        [Filter::Linear, Filter::Nearest, Filter::Cubic].iter().position(|f| *f == step.filter).unwrap_or(0) as u32,
    );
    let levels = match step.color {
        Color::Rgb | Color::Rgba => "vec4f(rgb, 1.0)",
        Color::Bgr => "vec4f(rgb.bgr, 1.0)",
        Color::Gray => "vec4f(dot(rgb, vec3f(0.299, 0.587, 0.114)))",
    };
    head.declare(&format!("fn levels(rgb: vec3f) -> vec4f {{\n    return {levels};\n}}"));
    let channels = step.color.channels();
    let value = |k: usize| match step.dtype {
        DType::U8 => format!("u32(clamp(round(v[{k}]), 0.0, 255.0))"),
        _ => format!("v[{k}]"),
    };
    let mut store = String::from("fn store(pixel: u32, v: vec4f) {\n");
    for k in 0..channels {
        let at = if step.channels_last {
            format!("{channels}u * pixel + {k}u")
        } else {
            format!("{k}u * params.size.x * params.size.y + pixel")
        };
        store.push_str(&format!("    put({at}, {});\n", value(k)));
    }
    head.declare(&(store + "}"));
    let groups = exact_groups([step.width.div_ceil(8), step.height.div_ceil(8), 1], limits)?;
    let label = format!("preprocess {:?} {:?}", step.color, step.filter).to_ascii_lowercase();
    let launch = head.finish(label, FILE, groups)?;
    // It reads no weights, so nothing of it borrows from a model.
    let bindings = launch.bindings.into_iter().map(|source| match source {
        Source::Params => Ok(Source::Params),
        Source::Frame(n) => Ok(Source::Frame(n)),
        Source::Picture(n) => Ok(Source::Picture(n)),
        Source::Output(n) => Ok(Source::Output(n)),
        _ => Err(Error::new(ErrorKind::UnsupportedOp, "pre-processing reads the frame alone")),
    });
    Ok(Launch { shader: launch.shader, bindings: bindings.collect::<Result<_>>()?, params: launch.params, groups })
}

/// Every specialisation.
pub(super) fn variants() -> Vec<Preprocess> {
    let mut all = Vec::new();
    for color in [Color::Rgb, Color::Bgr, Color::Rgba, Color::Gray] {
        for filter in [Filter::Linear, Filter::Nearest, Filter::Cubic] {
            for channels_last in [false, true] {
                for dtype in [DType::F32, DType::F16, DType::U8] {
                    let size = Preprocess { width: 9, height: 7, ..Preprocess::default() };
                    all.push(Preprocess { color, filter, channels_last, dtype, ..size });
                }
            }
        }
    }
    all
}
