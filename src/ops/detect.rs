//! From a detector's raw outputs to a short list of boxes: decoding, then non-maximum suppression.

use super::{FrameTransform, Operand, Operator};
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{DType, Tensor, TensorType};

/// Values of a row before its keypoints: x, y, width, height, score, class.
pub const ROW_HEAD: usize = 6;

/// What the raw box values mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BoxFormat {
    /// SSD without variances, as in MediaPipe: centre = anchor centre + raw / scale * anchor size, size = raw / scale *
    /// anchor size; keypoints like centres. `scale` is the model's input size in pixels.
    /// <https://github.com/google-ai-edge/mediapipe/blob/master/mediapipe/calculators/tensor/tensors_to_detections_calculator.cc>
    Ssd {
        /// Divisor of raw values, x and y.
        scale: [f32; 2],
    },
    /// YOLOX: a row of the one raw tensor is x, y, w, h, objectness, class scores; an anchor is its grid cell's column,
    /// row, and the stride twice. Centre = (raw + cell) * stride, size = exp(raw) * stride.
    /// <https://github.com/Megvii-BaseDetection/YOLOX/blob/main/yolox/models/yolo_head.py>
    Yolox,
}

/// How a raw score becomes a probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ScoreFormat {
    /// It is one already.
    Probability,
    /// Sigmoid of the raw value, clamped to +-`limit` first.
    Sigmoid {
        /// Largest magnitude let through.
        limit: f32,
    },
}

/// Inputs: anchors [N, 4], then pairs of raw scores [1, n, classes] and raw boxes [1, n, 4 + 2 keypoints] whose `n` sum to N
/// (for YOLOX one pair, the same tensor twice). Output [N, 6 + 2 keypoints]: centre x, centre y, width, height in pixels
/// of the model's input, score (0 below the threshold), class, keypoints.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodeBoxes {
    /// Meaning of the boxes.
    pub format: BoxFormat,
    /// Meaning of the scores.
    pub score: ScoreFormat,
    /// Keypoints of a row.
    pub keypoints: usize,
    /// Rows with a lower score count as empty.
    pub threshold: f32,
    /// Width and height of the model's input in pixels.
    pub input: [f32; 2],
}

/// What happens to overlapping boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suppression {
    /// The best stays, the others go.
    Best,
    /// The best takes the mean of the overlapping ones, weighted by score, as BlazeFace does: section 4.3 of
    /// <https://arxiv.org/abs/1907.05047>.
    Blend,
}

/// Input: decoded rows [N, R]. Output [1 + max, R]: the number of boxes in element [0, 0] (the rest of row 0 is zero),
/// then the boxes, best first: left, top, width, height in pixels of the frame, score, class, keypoints; unused rows are zero.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectBoxes {
    /// Treatment of overlap.
    pub suppression: Suppression,
    /// Boxes of the same class overlap when their intersection over union is larger.
    pub iou: f32,
    /// Boxes of different classes suppress one another too.
    pub class_agnostic: bool,
    /// Most boxes in the result.
    pub max: usize,
    /// Index of the model input whose frame the coordinates refer to.
    pub input: usize,
}

fn mismatch(message: String) -> Error {
    Error::new(ErrorKind::ShapeMismatch, message)
}

impl DecodeBoxes {
    /// Values of a row.
    pub fn row(&self) -> usize {
        ROW_HEAD + 2 * self.keypoints
    }

    /// For each pair of inputs: rows and classes, checked against the anchors.
    pub fn pairs(&self, types: &[&TensorType]) -> Result<Vec<(usize, usize)>> {
        let (anchors, raw) = types.split_first().ok_or_else(|| mismatch("anchors are missing".into()))?;
        let &[rows, 4] = &anchors.shape[..] else {
            return Err(mismatch(format!("anchors are [n, 4], got {}", anchors.shape)));
        };
        let mut pairs = Vec::new();
        for pair in raw.chunks(2) {
            let [scores, boxes] = pair else {
                return Err(mismatch("a scores tensor has no boxes tensor beside it".into()));
            };
            let (&[1, n, classes], &[1, m, values]) = (&scores.shape[..], &boxes.shape[..]) else {
                let message = format!("scores and boxes are [1, n, ..], got {} and {}", scores.shape, boxes.shape);
                return Err(mismatch(message));
            };
            let (want, classes) = match self.format {
                BoxFormat::Ssd { .. } => (4 + 2 * self.keypoints, classes),
                BoxFormat::Yolox => (values.max(6), values.saturating_sub(5)),
            };
            if n != m || values != want || classes == 0 {
                let message = format!(
                    "scores {} and boxes {} do not fit: {want} values a box were expected",
                    scores.shape, boxes.shape
                );
                return Err(mismatch(message)
                    .hint("a box has four values and two for each keypoint; check `keypoints` in detections()"));
            }
            pairs.push((n, classes));
        }
        let total: usize = pairs.iter().map(|p| p.0).sum();
        if total != rows {
            return Err(mismatch(format!("{rows} anchors for {total} rows of boxes"))
                .hint("check `anchors` in detections(): stride and count of each grid"));
        }
        Ok(pairs)
    }
}

impl Operator for DecodeBoxes {
    fn name(&self) -> &'static str {
        "DecodeBoxes"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        let types: Vec<&TensorType> = inputs.iter().flatten().map(|o| o.ty).collect();
        if let Some(t) = types.iter().find(|t| t.dtype != DType::F32) {
            return Err(Error::new(ErrorKind::DtypeMismatch, format!("expected float32, got {t}")));
        }
        let rows = self.pairs(&types)?.iter().map(|p| p.0).sum();
        Ok(vec![TensorType::new(DType::F32, [rows, self.row()])])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let inputs: Vec<&Tensor> = inputs.iter().flatten().copied().collect();
        let types: Vec<TensorType> = inputs.iter().map(|t| t.ty()).collect();
        let pairs = self.pairs(&types.iter().collect::<Vec<_>>())?;
        let row = self.row();
        let mut anchors = inputs[0].as_slice::<f32>()?.chunks_exact(4);
        let mut out = Vec::new();
        for (pair, &(n, classes)) in inputs[1..].chunks(2).zip(&pairs) {
            let (scores, boxes) = (pair[0].as_slice::<f32>()?, pair[1].as_slice::<f32>()?);
            for i in 0..n {
                let anchor = anchors.next().unwrap_or(&[0.0; 4]);
                let values = &boxes[i * boxes.len() / n..];
                let raw: &[f32] = match self.format {
                    BoxFormat::Ssd { .. } => &scores[i * classes..][..classes],
                    BoxFormat::Yolox => &values[5..][..classes],
                };
                let (class, best) =
                    raw.iter().enumerate().fold((0, f32::NEG_INFINITY), |m, (k, &v)| if v > m.1 { (k, v) } else { m });
                let mut score = match self.score {
                    ScoreFormat::Probability => best,
                    ScoreFormat::Sigmoid { limit } => 1.0 / (1.0 + (-best.clamp(-limit, limit)).exp()),
                };
                let mut decoded = vec![0.0; row];
                match self.format {
                    BoxFormat::Ssd { scale } => {
                        let point = |k: usize| {
                            let x = values[k] / scale[0] * anchor[2] + anchor[0];
                            let y = values[k + 1] / scale[1] * anchor[3] + anchor[1];
                            [x * self.input[0], y * self.input[1]]
                        };
                        decoded[..2].copy_from_slice(&point(0));
                        decoded[2] = values[2] / scale[0] * anchor[2] * self.input[0];
                        decoded[3] = values[3] / scale[1] * anchor[3] * self.input[1];
                        for k in 0..self.keypoints {
                            decoded[ROW_HEAD + 2 * k..][..2].copy_from_slice(&point(4 + 2 * k));
                        }
                    }
                    BoxFormat::Yolox => {
                        score *= values[4];
                        decoded[0] = (values[0] + anchor[0]) * anchor[2];
                        decoded[1] = (values[1] + anchor[1]) * anchor[3];
                        decoded[2] = values[2].exp() * anchor[2];
                        decoded[3] = values[3].exp() * anchor[3];
                    }
                }
                // Also false for NaN: a score that is no number is no detection.
                decoded[4] = if score >= self.threshold { score } else { 0.0 };
                decoded[5] = class as f32;
                out.extend(decoded);
            }
        }
        let rows = out.len() / row;
        Ok(vec![Tensor::f32([rows, row], out)?])
    }
}

/// Intersection over union of two boxes given by centre and size.
pub fn intersection_over_union(a: &[f32], b: &[f32]) -> f32 {
    let side = |k: usize| {
        let low = (a[k] - a[k + 2] / 2.0).max(b[k] - b[k + 2] / 2.0);
        let high = (a[k] + a[k + 2] / 2.0).min(b[k] + b[k + 2] / 2.0);
        (high - low).max(0.0)
    };
    let inner = side(0) * side(1);
    let union = a[2] * a[3] + b[2] * b[3] - inner;
    if union > 0.0 { inner / union } else { 0.0 }
}

impl SelectBoxes {
    /// The reference, in coordinates of `frame`.
    pub fn select(&self, rows: &Tensor, frame: Option<&FrameTransform>) -> Result<Tensor> {
        let &[n, r] = &rows.shape()[..] else {
            return Err(mismatch(format!("decoded boxes are [n, row], got {}", rows.shape())));
        };
        let data = rows.as_slice::<f32>()?;
        let mut alive: Vec<&[f32]> = data.chunks_exact(r.max(1)).take(n).filter(|b| b[4] > 0.0).collect();
        let mut out = vec![0.0f32; r];
        let mut count = 0;
        while count < self.max {
            let Some(best) = alive.iter().copied().reduce(|a, b| if b[4] > a[4] { b } else { a }) else { break };
            let (group, rest): (Vec<&[f32]>, Vec<&[f32]>) = alive.iter().partition(|b| {
                std::ptr::eq(b.as_ptr(), best.as_ptr())
                    || ((self.class_agnostic || b[5] == best[5]) && intersection_over_union(best, b) > self.iou)
            });
            alive = rest;
            let mut chosen = best.to_vec();
            if self.suppression == Suppression::Blend {
                let total: f32 = group.iter().map(|b| b[4]).sum();
                for k in (0..r).filter(|&k| k != 4 && k != 5) {
                    chosen[k] = group.iter().map(|b| b[k] * b[4]).sum::<f32>() / total;
                }
            }
            let (x0, y0) = (chosen[0] - chosen[2] / 2.0, chosen[1] - chosen[3] / 2.0);
            let (x1, y1) = (chosen[0] + chosen[2] / 2.0, chosen[1] + chosen[3] / 2.0);
            let place = |x, y| frame.map_or((x, y), |f| f.to_frame(x, y));
            let ((ax, ay), (bx, by)) = (place(x0, y0), place(x1, y1));
            chosen[..4].copy_from_slice(&[ax.min(bx), ay.min(by), (ax - bx).abs(), (ay - by).abs()]);
            for point in chosen[ROW_HEAD..].chunks_exact_mut(2) {
                let (x, y) = place(point[0], point[1]);
                point.copy_from_slice(&[x, y]);
            }
            out.extend(chosen);
            count += 1;
        }
        out[0] = count as f32;
        out.resize((self.max + 1) * r, 0.0);
        Tensor::f32([self.max + 1, r], out)
    }
}

impl Operator for SelectBoxes {
    fn name(&self) -> &'static str {
        "SelectBoxes"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        match inputs {
            [Some(rows)] if rows.ty.shape.len() == 2 && rows.ty.shape[1] >= ROW_HEAD => {
                Ok(vec![TensorType::new(DType::F32, [self.max.saturating_add(1), rows.ty.shape[1]])])
            }
            _ => Err(mismatch("decoded boxes are one tensor [n, row]".into())),
        }
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        match inputs {
            [Some(rows)] => Ok(vec![self.select(rows, None)?]),
            _ => Err(mismatch("decoded boxes are one tensor [n, row]".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(suppression: Suppression, rows: &[[f32; 8]]) -> Vec<f32> {
        let op = SelectBoxes { suppression, iou: 0.3, class_agnostic: false, max: 3, input: 0 };
        let rows = Tensor::f32([rows.len(), 8], rows.concat()).unwrap();
        op.eval(&[Some(&rows)]).unwrap()[0].as_slice::<f32>().unwrap().to_vec()
    }

    #[test]
    fn best_stays_or_blends() {
        let rows = [
            [10.0, 10.0, 4.0, 4.0, 0.25, 0.0, 1.0, 1.0],
            [11.0, 10.0, 4.0, 4.0, 0.75, 0.0, 5.0, 1.0],
            [11.0, 10.0, 4.0, 4.0, 0.5, 1.0, 0.0, 0.0],
            [50.0, 50.0, 4.0, 4.0, 0.0, 0.0, 0.0, 0.0],
        ];
        let best = select(Suppression::Best, &rows);
        assert_eq!(best[0], 2.0);
        assert_eq!(best[8..16], [9.0, 8.0, 4.0, 4.0, 0.75, 0.0, 5.0, 1.0]);
        assert_eq!(best[16..24], [9.0, 8.0, 4.0, 4.0, 0.5, 1.0, 0.0, 0.0]);
        assert_eq!(best[24..], [0.0; 8]);
        let blend = select(Suppression::Blend, &rows);
        assert_eq!(blend[8..16], [8.75, 8.0, 4.0, 4.0, 0.75, 0.0, 4.0, 1.0]);
    }

    #[test]
    fn ssd_decodes_around_the_anchor() {
        let op = DecodeBoxes {
            format: BoxFormat::Ssd { scale: [128.0, 128.0] },
            score: ScoreFormat::Sigmoid { limit: 100.0 },
            keypoints: 1,
            threshold: 0.5,
            input: [128.0, 128.0],
        };
        let anchors = Tensor::f32([2, 4], vec![0.5, 0.5, 1.0, 1.0, 0.25, 0.25, 1.0, 1.0]).unwrap();
        let scores = Tensor::f32([1, 2, 1], vec![0.0, -1.0]).unwrap();
        let boxes =
            Tensor::f32([1, 2, 6], vec![8.0, 4.0, 16.0, 32.0, -2.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
        let out = op.eval(&[Some(&anchors), Some(&scores), Some(&boxes)]).unwrap().remove(0);
        let out = out.as_slice::<f32>().unwrap();
        assert_eq!(out[..8], [72.0, 68.0, 16.0, 32.0, 0.5, 0.0, 62.0, 65.0]);
        assert_eq!(out[12], 0.0, "below the threshold");
        let wrong = Tensor::f32([3, 4], vec![0.0; 12]).unwrap();
        assert!(op.eval(&[Some(&wrong), Some(&scores), Some(&boxes)]).is_err());
    }
}
