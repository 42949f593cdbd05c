//! Pre-processing of a picture: crop, rotate, flip, resize, colour, scale, layout, in one step.

use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{DType, Data, Shape, Tensor, TensorType};

/// A rectangle in pixels of the frame.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Rect {
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
}

/// How a picture is fitted into a size of another aspect ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fit {
    /// Both sides are scaled on their own.
    #[default]
    Stretch,
    /// The whole picture is seen; the rest is padding (letterbox).
    Contain,
    /// No padding is seen; what does not fit is cut off.
    Cover,
}

/// How a pixel between pixels is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Filter {
    #[default]
    Linear,
    Nearest,
    /// Catmull-Rom, a = -0.5.
    Cubic,
}

/// Channels of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Color {
    /// Red, green, blue.
    #[default]
    Rgb,
    /// Blue, green, red.
    Bgr,
    /// Red, green, blue, and a fourth channel that is 1 everywhere.
    Rgba,
    /// BT.601 luma, one channel.
    Gray,
}

impl Color {
    /// The number of channels.
    pub const fn channels(self) -> usize {
        match self {
            Self::Rgb | Self::Bgr => 3,
            Self::Rgba => 4,
            Self::Gray => 1,
        }
    }
}

/// From a frame (RGBA, 8 bits a channel) to a model's input.
///
/// Element c of a pixel is `level * scale[c] + bias[c]`, where `level` is 0..=1, clamped.
#[derive(Debug, Clone, PartialEq)]
pub struct Preprocess {
    /// Part of the frame that is looked at; all of it when absent.
    pub crop: Option<Rect>,
    /// Quarter turns clockwise, applied after the crop.
    pub quarter_turns: u8,
    /// Mirrored left to right, after the turn.
    pub flip: bool,
    /// Width of the result in pixels.
    pub width: usize,
    /// Height of the result in pixels.
    pub height: usize,
    /// What happens to the aspect ratio.
    pub fit: Fit,
    /// Resampling.
    pub filter: Filter,
    /// Level of the padding, 0..=255, of every channel.
    pub pad: f32,
    /// Channels.
    pub color: Color,
    /// Factor per channel of the result.
    pub scale: [f32; 4],
    /// Summand per channel of the result.
    pub bias: [f32; 4],
    /// The result is [1, H, W, C] rather than [1, C, H, W].
    pub channels_last: bool,
    /// Element type of the result: float32, float16 or uint8.
    pub dtype: DType,
}

/// Where the pixels of a model's input lie in a frame: the contents of the frame block.
///
/// The point (x, y) of the input, in pixels with pixel centres at halves, lies at
/// `(m[0][0] x + m[0][1] y + m[0][2], m[1][0] x + m[1][1] y + m[1][2])` of the frame, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameTransform {
    /// Two rows of an affine matrix.
    pub matrix: [[f32; 3]; 2],
    /// Part of the frame that is looked at: left, top, right, bottom; outside lies padding.
    pub bounds: [f32; 4],
    /// Width and height of the frame.
    pub frame: [f32; 2],
}

impl FrameTransform {
    /// Coordinates of the model's own input of `width` x `height`: for inputs that came as tensors.
    pub fn identity(width: usize, height: usize) -> Self {
        let (w, h) = (width as f32, height as f32);
        Self { matrix: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], bounds: [0.0, 0.0, w, h], frame: [w, h] }
    }

    /// Where the point (x, y) of the model's input lies in the frame.
    pub fn to_frame(&self, x: f32, y: f32) -> (f32, f32) {
        let [p, q] = self.matrix;
        (p[0] * x + p[1] * y + p[2], q[0] * x + q[1] * y + q[2])
    }

    /// The head of the frame block as the kernels read it: two matrix rows, the bounds, the frame's size, each a vec4 of
    /// float32.
    pub fn to_block(&self) -> [u8; 64] {
        let [p, q] = self.matrix;
        let rows =
            [[p[0], p[1], p[2], 0.0], [q[0], q[1], q[2], 0.0], self.bounds, [self.frame[0], self.frame[1], 0.0, 0.0]];
        bytemuck::cast(rows)
    }
}

impl Preprocess {
    /// Shape and type of the result.
    pub fn output(&self) -> TensorType {
        let (c, h, w) = (self.color.channels(), self.height, self.width);
        TensorType::new(self.dtype, if self.channels_last { [1, h, w, c] } else { [1, c, h, w] })
    }

    /// The transform for frames of `width` x `height` pixels.
    pub fn transform(&self, width: u32, height: u32) -> Result<FrameTransform> {
        if width == 0 || height == 0 || self.width == 0 || self.height == 0 {
            return Err(Error::new(
                ErrorKind::BadSource,
                format!("a frame of {width} x {height} pixels has no content"),
            )
            .hint("wait until the source has data: a <video> needs readyState >= 2"));
        }
        let (fw, fh) = (width as f32, height as f32);
        let crop = self.crop.unwrap_or(Rect { x: 0.0, y: 0.0, width: fw, height: fh });
        let inside = crop.x >= 0.0 && crop.y >= 0.0 && crop.x + crop.width <= fw && crop.y + crop.height <= fh;
        if !(inside && crop.width > 0.0 && crop.height > 0.0) {
            let message = format!(
                "the crop {} x {} at ({}, {}) does not lie in a frame of {width} x {height} pixels",
                crop.width, crop.height, crop.x, crop.y
            );
            return Err(Error::new(ErrorKind::BadSource, message).hint("crop() takes pixels of the frame"));
        }
        let turned = self.quarter_turns % 2 == 1;
        let (cw, ch) = (f64::from(crop.width), f64::from(crop.height));
        let (rw, rh) = if turned { (ch, cw) } else { (cw, ch) };
        let (ow, oh) = (self.width as f64, self.height as f64);
        let (sx, sy) = match self.fit {
            Fit::Stretch => (rw / ow, rh / oh),
            Fit::Contain => {
                let s = (rw / ow).max(rh / oh);
                (s, s)
            }
            Fit::Cover => {
                let s = (rw / ow).min(rh / oh);
                (s, s)
            }
        };
        // Output to turned region: centred.
        let mut m = [[sx, 0.0, (rw - ow * sx) / 2.0], [0.0, sy, (rh - oh * sy) / 2.0]];
        if self.flip {
            m[0] = [-m[0][0], -m[0][1], rw - m[0][2]];
        }
        // Turned region to region: (u, v) of a region turned clockwise by a quarter is (v, h - u) of the region.
        let [u, v] = m;
        let less = |size: f64, row: [f64; 3]| [-row[0], -row[1], size - row[2]];
        m = match self.quarter_turns % 4 {
            0 => [u, v],
            1 => [v, less(rw, u)],
            2 => [less(rw, u), less(rh, v)],
            _ => [less(rh, v), u],
        };
        m[0][2] += f64::from(crop.x);
        m[1][2] += f64::from(crop.y);
        let bounds = [crop.x, crop.y, crop.x + crop.width, crop.y + crop.height];
        Ok(FrameTransform { matrix: m.map(|row| row.map(|v| v as f32)), bounds, frame: [fw, fh] })
    }

    /// The reference: `frame` is [H, W, 4], uint8, RGBA.
    pub fn eval(&self, frame: &Tensor) -> Result<Tensor> {
        let &[fh, fw, 4] = &frame.shape()[..] else {
            let message = format!("a frame is [height, width, 4], got {}", frame.shape());
            return Err(Error::new(ErrorKind::ShapeMismatch, message));
        };
        let too_big = |_| Error::new(ErrorKind::BadSource, "the frame has more than 2^32 pixels a side");
        let transform = self.transform(u32::try_from(fw).map_err(too_big)?, u32::try_from(fh).map_err(too_big)?)?;
        let sampler = Sampler { pixels: frame.as_slice::<u8>()?, width: fw, bounds: transform.bounds };
        let output = self.output();
        let (c, h, w) = (self.color.channels(), self.height, self.width);
        let mut out = vec![0.0f32; output.shape.checked_elements()?];
        for y in 0..h {
            for x in 0..w {
                let (px, py) = transform.to_frame(x as f32 + 0.5, y as f32 + 0.5);
                let rgb = sampler.sample(px, py, self.filter).unwrap_or([self.pad / 255.0; 3]);
                let levels = match self.color {
                    Color::Rgb => [rgb[0], rgb[1], rgb[2], 1.0],
                    Color::Bgr => [rgb[2], rgb[1], rgb[0], 1.0],
                    Color::Rgba => [rgb[0], rgb[1], rgb[2], 1.0],
                    Color::Gray => [0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2], 0.0, 0.0, 0.0],
                };
                for (k, level) in levels.into_iter().enumerate().take(c) {
                    let at = if self.channels_last { (y * w + x) * c + k } else { (k * h + y) * w + x };
                    out[at] = level * self.scale[k] + self.bias[k];
                }
            }
        }
        let data = match self.dtype {
            DType::F16 => Data::F16(out.into_iter().map(half::f16::from_f32).collect()),
            DType::U8 => Data::U8(out.into_iter().map(|v| v.round_ties_even().clamp(0.0, 255.0) as u8).collect()),
            _ => Data::F32(out),
        };
        Tensor::new(output.shape, data)
    }
}

struct Sampler<'a> {
    pixels: &'a [u8],
    width: usize,
    bounds: [f32; 4],
}

impl Sampler<'_> {
    /// Levels at a point, or none outside the bounds.
    fn sample(&self, x: f32, y: f32, filter: Filter) -> Option<[f32; 3]> {
        let [left, top, right, bottom] = self.bounds;
        if x < left || x >= right || y < top || y >= bottom {
            return None;
        }
        let (bx, by) = (x - 0.5, y - 0.5);
        let (x0, y0) = (bx.floor(), by.floor());
        Some(match filter {
            Filter::Nearest => self.pixel(x.floor(), y.floor()),
            Filter::Linear => self.weighted(x0, y0, &[1.0 - (bx - x0), bx - x0], &[1.0 - (by - y0), by - y0]),
            Filter::Cubic => self.weighted(x0 - 1.0, y0 - 1.0, &catmull_rom(bx - x0), &catmull_rom(by - y0)),
        })
    }

    fn weighted(&self, x0: f32, y0: f32, wx: &[f32], wy: &[f32]) -> [f32; 3] {
        let mut sum = [0.0f32; 3];
        for (j, &v) in wy.iter().enumerate() {
            for (i, &u) in wx.iter().enumerate() {
                let p = self.pixel(x0 + i as f32, y0 + j as f32);
                for k in 0..3 {
                    sum[k] += p[k] * u * v;
                }
            }
        }
        sum.map(|v| v.clamp(0.0, 1.0))
    }

    /// The pixel at whole coordinates, the nearest inside the bounds.
    fn pixel(&self, x: f32, y: f32) -> [f32; 3] {
        let [left, top, right, bottom] = self.bounds;
        let x = x.clamp(left.floor(), right.ceil() - 1.0) as usize;
        let y = y.clamp(top.floor(), bottom.ceil() - 1.0) as usize;
        let at = (y * self.width + x) * 4;
        [0, 1, 2].map(|k| self.pixels.get(at + k).map_or(0.0, |&v| f32::from(v) / 255.0))
    }
}

/// Weights of four neighbours at fraction `t`; Keys (1981) with a = -0.5.
fn catmull_rom(t: f32) -> [f32; 4] {
    let a = -0.5;
    let near = |d: f32| ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
    let far = |d: f32| ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
    [far(1.0 + t), near(t), near(1.0 - t), far(2.0 - t)]
}

impl Default for Preprocess {
    /// RGB, levels 0..=1, stretched, [1, 3, H, W], float32; the size is to be filled in.
    fn default() -> Self {
        Self {
            crop: None,
            quarter_turns: 0,
            flip: false,
            width: 0,
            height: 0,
            fit: Fit::Stretch,
            filter: Filter::Linear,
            pad: 0.0,
            color: Color::Rgb,
            scale: [1.0; 4],
            bias: [0.0; 4],
            channels_last: false,
            dtype: DType::F32,
        }
    }
}

/// The shape of a frame at compile time, when its size is not known.
pub fn unknown_frame() -> TensorType {
    TensorType::new(DType::U8, Shape::from([0, 0, 4]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corners(p: &Preprocess, w: u32, h: u32) -> [(f32, f32); 2] {
        let t = p.transform(w, h).unwrap();
        [t.to_frame(0.0, 0.0), t.to_frame(p.width as f32, p.height as f32)]
    }

    #[test]
    fn fits() {
        let p = |fit| Preprocess { width: 64, height: 64, fit, ..Default::default() };
        assert_eq!(corners(&p(Fit::Stretch), 640, 480), [(0.0, 0.0), (640.0, 480.0)]);
        assert_eq!(corners(&p(Fit::Contain), 640, 480), [(0.0, -80.0), (640.0, 560.0)]);
        assert_eq!(corners(&p(Fit::Cover), 640, 480), [(80.0, 0.0), (560.0, 480.0)]);
    }

    #[test]
    fn turns_and_flips() {
        let p = |quarter_turns, flip| Preprocess { width: 48, height: 64, quarter_turns, flip, ..Default::default() };
        // After a quarter turn clockwise, the top left of the result is the bottom left of the frame.
        assert_eq!(corners(&p(1, false), 640, 480), [(0.0, 480.0), (640.0, 0.0)]);
        assert_eq!(corners(&p(2, false), 640, 480), [(640.0, 480.0), (0.0, 0.0)]);
        assert_eq!(corners(&p(3, false), 640, 480), [(640.0, 0.0), (0.0, 480.0)]);
        assert_eq!(corners(&p(0, true), 640, 480), [(640.0, 0.0), (0.0, 480.0)]);
    }

    #[test]
    fn turned_picture_equals_turned_pixels() {
        // 2 x 3 pixels, red levels 0..=5.
        let frame = Tensor::new([2, 3, 4], Data::U8((0..6u8).flat_map(|v| [v, 0, 0, 255]).collect())).unwrap();
        let run = |quarter_turns, flip, w, h| {
            let p = Preprocess {
                width: w,
                height: h,
                quarter_turns,
                flip,
                filter: Filter::Nearest,
                color: Color::Rgba,
                scale: [255.0, 255.0, 255.0, 1.0],
                ..Default::default()
            };
            p.eval(&frame).unwrap().as_slice::<f32>().unwrap()[..6].to_vec()
        };
        assert_eq!(run(0, false, 3, 2), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(run(1, false, 2, 3), [3.0, 0.0, 4.0, 1.0, 5.0, 2.0]);
        assert_eq!(run(2, false, 3, 2), [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]);
        assert_eq!(run(3, false, 2, 3), [2.0, 5.0, 1.0, 4.0, 0.0, 3.0]);
        assert_eq!(run(0, true, 3, 2), [2.0, 1.0, 0.0, 5.0, 4.0, 3.0]);
        assert_eq!(run(1, true, 2, 3), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    }

    #[test]
    fn letterbox_is_padding() {
        let frame = Tensor::new([2, 4, 4], Data::U8(vec![255; 32])).unwrap();
        let p = Preprocess { width: 4, height: 4, fit: Fit::Contain, pad: 51.0, ..Default::default() };
        let out = p.eval(&frame).unwrap();
        let red = &out.as_slice::<f32>().unwrap()[..16];
        assert_eq!(red[..4], [0.2; 4]);
        assert_eq!(red[4..12], [1.0; 8]);
        assert_eq!(red[12..], [0.2; 4]);
    }

    #[test]
    fn cubic_weights_sum_to_one() {
        for t in [0.0, 0.25, 0.5, 0.9] {
            assert!((catmull_rom(t).iter().sum::<f32>() - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn a_crop_outside_is_refused() {
        let crop = Some(Rect { x: 600.0, y: 0.0, width: 100.0, height: 10.0 });
        let p = Preprocess { width: 4, height: 4, crop, ..Default::default() };
        assert_eq!(p.transform(640, 480).unwrap_err().kind(), ErrorKind::BadSource);
        assert_eq!(Preprocess { crop: None, ..p }.transform(0, 480).unwrap_err().kind(), ErrorKind::BadSource);
    }
}
