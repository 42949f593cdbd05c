//! The steps of `preprocess.image()`, read in order and folded into one [`Preprocess`].

use crate::error::{Error, ErrorKind, Result};
use crate::ops::{Color, Filter, Fit, Preprocess, Rect};
use crate::tensor::{DType, TensorType};
use serde::{Deserialize, Serialize};

/// One step as it arrives: `{ "crop": { "x": 0, … } }`. (A tag inside the object, or none, would bring a second reader of JSON
/// with it, 15 KB of it compressed; so would an untagged enum anywhere in what a page sends.)
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ImageStep {
    /// Part of the frame, in pixels.
    Crop {
        /// Left edge.
        x: f32,
        /// Top edge.
        y: f32,
        /// Width.
        width: f32,
        /// Height.
        height: f32,
    },
    /// Clockwise, in degrees: 0, 90, 180 or 270.
    Rotate {
        /// The angle.
        degrees: u32,
    },
    /// Mirror.
    Flip {
        /// `horizontal` or `vertical`.
        axis: String,
    },
    /// To the model's size, or the one given.
    Resize {
        /// Width in pixels; the model's own when absent.
        width: Option<usize>,
        /// Height in pixels; the model's own when absent.
        height: Option<usize>,
        /// `stretch`, `contain` or `cover`.
        fit: Option<String>,
        /// `linear`, `nearest` or `cubic`.
        filter: Option<String>,
        /// Level of the padding, 0..=255.
        pad: Option<f32>,
    },
    /// Channels.
    Color {
        /// `rgb`, `bgr`, `gray` or `rgba`.
        order: String,
    },
    /// Levels are mapped from 0..=255 to `low..=high`; 0..=1 when absent.
    Range {
        /// Value of level 0.
        low: f32,
        /// Value of level 255.
        high: f32,
    },
    /// (v - mean) / std per channel, after the range.
    Normalize {
        /// One, or one a channel.
        mean: Vec<f32>,
        /// One, or one a channel.
        std: Vec<f32>,
    },
    /// `NCHW` or `NHWC`; the model's own when absent.
    Layout {
        /// The word.
        layout: String,
    },
    /// `float32`, `float16` or `uint8`; the model's own when absent.
    Dtype {
        /// The word.
        dtype: String,
    },
}

/// The steps in order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Image {
    /// As written.
    pub steps: Vec<ImageStep>,
}

fn word<T>(what: &str, value: &str, known: &[(&str, T)]) -> Result<T>
where
    T: Copy,
{
    known.iter().find(|(name, _)| name.eq_ignore_ascii_case(value)).map(|&(_, v)| v).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|k| k.0).collect();
        Error::new(ErrorKind::BadSource, format!("{what} {value:?} is none of {}", names.join(", ")))
    })
}

/// Whether a shape is a picture, and where its channels are: (channels last, channels, height, width).
fn picture(ty: &TensorType) -> Option<(bool, usize, usize, usize)> {
    match ty.shape[..] {
        [1, c @ (1 | 3 | 4), h, w] if !(w <= 4 && h > 4) => Some((false, c, h, w)),
        [1, h, w, c @ (1 | 3 | 4)] => Some((true, c, h, w)),
        _ => None,
    }
}

impl Image {
    /// Folds the steps into one operator that writes the model input `target`.
    pub fn resolve(&self, name: &str, target: &TensorType) -> Result<Preprocess> {
        self.fold(target).map_err(|e| e.at(format!("pre-processing of input {name:?}")))
    }

    fn fold(&self, target: &TensorType) -> Result<Preprocess> {
        let Some((channels_last, channels, height, width)) = picture(target) else {
            return Err(Error::new(ErrorKind::ShapeMismatch, format!("{target} is no picture"))
                .hint("a picture is [1, C, H, W] or [1, H, W, C] with 1, 3 or 4 channels"));
        };
        let color = [Color::Gray, Color::Rgb, Color::Rgba][[1, 3, 4].iter().position(|&c| c == channels).unwrap_or(1)];
        let mut p = Preprocess { width, height, channels_last, color, dtype: target.dtype, ..Preprocess::default() };
        let mut vertical = false;
        for step in &self.steps {
            match step {
                &ImageStep::Crop { x, y, width, height } => p.crop = Some(Rect { x, y, width, height }),
                &ImageStep::Rotate { degrees } => {
                    let turns = [0, 90, 180, 270].iter().position(|&d| d == degrees).ok_or_else(|| {
                        let message = format!("rotate({degrees}): only 0, 90, 180 and 270 degrees");
                        Error::new(ErrorKind::BadSource, message)
                    })?;
                    p.quarter_turns = (p.quarter_turns + turns as u8) % 4;
                }
                ImageStep::Flip { axis } => match word("flip", axis, &[("horizontal", false), ("vertical", true)])? {
                    false => p.flip = !p.flip,
                    true => vertical = !vertical,
                },
                ImageStep::Resize { width, height, fit, filter, pad } => {
                    p.width = width.unwrap_or(p.width);
                    p.height = height.unwrap_or(p.height);
                    if let Some(fit) = fit {
                        let known = [("stretch", Fit::Stretch), ("contain", Fit::Contain), ("cover", Fit::Cover)];
                        p.fit = word("fit", fit, &known)?;
                    }
                    if let Some(filter) = filter {
                        let known =
                            [("linear", Filter::Linear), ("nearest", Filter::Nearest), ("cubic", Filter::Cubic)];
                        p.filter = word("filter", filter, &known)?;
                    }
                    p.pad = pad.unwrap_or(p.pad);
                }
                ImageStep::Color { order } => {
                    let known =
                        [("rgb", Color::Rgb), ("bgr", Color::Bgr), ("gray", Color::Gray), ("rgba", Color::Rgba)];
                    let wanted = word("color", order, &known)?;
                    // A fourth channel is the model's wish, whatever the order of the others.
                    p.color = if channels == 4 && wanted == Color::Rgb { Color::Rgba } else { wanted };
                }
                &ImageStep::Range { low, high } => {
                    for k in 0..p.color_count() {
                        p.scale[k] = high - low;
                        p.bias[k] = low;
                    }
                }
                ImageStep::Normalize { mean, std } => normalize(&mut p, mean, std)?,
                ImageStep::Layout { layout } => {
                    p.channels_last = word("layout", layout, &[("NCHW", false), ("NHWC", true)])?;
                }
                ImageStep::Dtype { dtype } => {
                    let known = [("float32", DType::F32), ("float16", DType::F16), ("uint8", DType::U8)];
                    p.dtype = word("dtype", dtype, &known)?;
                }
            }
        }
        if vertical {
            // Top to bottom is left to right after half a turn.
            p.flip = !p.flip;
            p.quarter_turns = (p.quarter_turns + 2) % 4;
        }
        if p.dtype == DType::U8 && !self.steps.iter().any(|s| matches!(s, ImageStep::Range { .. })) {
            p.scale[..3].fill(255.0);
        }
        if p.output() != *target {
            let message = format!("the steps give {}, the model takes {target}", p.output());
            return Err(Error::new(ErrorKind::ShapeMismatch, message)
                .hint("leave out size, layout and dtype to take the model's own"));
        }
        Ok(p)
    }
}

impl Preprocess {
    /// Channels that carry colour: the fourth of RGBA is left alone by range and normalize.
    fn color_count(&self) -> usize {
        self.color.channels().min(3)
    }
}

fn normalize(p: &mut Preprocess, mean: &[f32], std: &[f32]) -> Result<()> {
    let channels = p.color_count();
    if std.contains(&0.0) {
        return Err(Error::new(ErrorKind::BadSource, "normalize: a std of 0 divides by zero"));
    }
    let pick = |list: &[f32], k: usize| match list {
        [one] => Ok(*one),
        list if list.len() == channels => Ok(list[k]),
        list => {
            let message = format!("normalize has {} values for {channels} channels", list.len());
            Err(Error::new(ErrorKind::ShapeMismatch, message)
                .hint("give one value, or one a channel in the colour's order"))
        }
    };
    for k in 0..channels {
        let (m, s) = (pick(mean, k)?, pick(std, k)?);
        p.scale[k] /= s;
        p.bias[k] = (p.bias[k] - m) / s;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(json: &str, shape: [usize; 4]) -> Result<Preprocess> {
        let image: Image = serde_json::from_str(json).unwrap();
        image.resolve("x", &TensorType::new(DType::F32, shape))
    }

    #[test]
    fn takes_the_models_own_shape_and_layout() {
        let p = resolve("[]", [1, 128, 96, 3]).unwrap();
        assert_eq!((p.width, p.height, p.channels_last, p.color), (96, 128, true, Color::Rgb));
        let p = resolve("[]", [1, 1, 28, 28]).unwrap();
        assert_eq!((p.channels_last, p.color), (false, Color::Gray));
    }

    #[test]
    fn range_then_mean_and_std() {
        let json = r#"[{"color":{"order":"bgr"}},{"range":{"low":-1,"high":1}},
                       {"normalize":{"mean":[0,1,2],"std":[1,2,4]}}]"#;
        let p = resolve(json, [1, 3, 8, 8]).unwrap();
        assert_eq!(p.scale[..3], [2.0, 1.0, 0.5]);
        assert_eq!(p.bias[..3], [-1.0, -1.0, -0.75]);
        assert_eq!(p.color, Color::Bgr);
    }

    #[test]
    fn alpha_is_left_alone() {
        let p = resolve(r#"[{"color":{"order":"rgb"}},{"range":{"low":0,"high":255}}]"#, [1, 8, 8, 4]).unwrap();
        assert_eq!((p.color, p.scale, p.bias), (Color::Rgba, [255.0, 255.0, 255.0, 1.0], [0.0; 4]));
    }

    #[test]
    fn a_vertical_flip_is_half_a_turn_and_a_horizontal_one() {
        let p = resolve(r#"[{"flip":{"axis":"vertical"}}]"#, [1, 3, 8, 8]).unwrap();
        let t = p.transform(8, 8).unwrap();
        assert_eq!(t.to_frame(1.0, 2.0), (1.0, 6.0));
    }

    #[test]
    fn mistakes_are_told() {
        let kind = |json: &str, shape| resolve(json, shape).unwrap_err().kind();
        assert_eq!(kind("[]", [1, 7, 8, 9]), ErrorKind::ShapeMismatch);
        assert_eq!(kind(r#"[{"rotate":{"degrees":45}}]"#, [1, 3, 8, 8]), ErrorKind::BadSource);
        assert_eq!(kind(r#"[{"resize":{"width":9}}]"#, [1, 3, 8, 8]), ErrorKind::ShapeMismatch);
        assert_eq!(kind(r#"[{"normalize":{"mean":[0,0],"std":[1]}}]"#, [1, 3, 8, 8]), ErrorKind::ShapeMismatch);
        assert!(serde_json::from_str::<Image>(r#"[{"rotate":{"angle":90}}]"#).is_err());
    }
}
