//! `postprocess.detections()`: decode, threshold, suppress; a short list in frame coordinates.

use super::anchors::Anchors;
use super::postprocess::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, Node, ValueId};
use crate::ops::{BoxFormat, DecodeBoxes, Op, ScoreFormat, SelectBoxes, Suppression};
use serde::{Deserialize, Serialize};

/// What the page wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Detections {
    /// `ssd` (default) or `yolox`.
    #[serde(default)]
    pub format: Option<String>,
    /// Names of the outputs with raw scores, in the order of the anchors.
    pub scores: Vec<String>,
    /// Names of the outputs with raw boxes, in the same order.
    pub boxes: Vec<String>,
    /// The anchors.
    pub anchors: Anchors,
    /// Keypoints of a box.
    #[serde(default)]
    pub keypoints: usize,
    /// Raw scores are logits (default) rather than probabilities.
    #[serde(default)]
    pub sigmoid: Option<bool>,
    /// Logits are clamped to this magnitude before the sigmoid; 100 when absent.
    #[serde(default)]
    pub score_limit: Option<f32>,
    /// Boxes with a lower score are dropped; 0.5 when absent.
    #[serde(default)]
    pub threshold: Option<f32>,
    /// Boxes overlap above this intersection over union; 0.3 when absent.
    #[serde(default)]
    pub iou: Option<f32>,
    /// `blend` (overlapping boxes are averaged by score) or `best` (default).
    #[serde(default)]
    pub nms: Option<String>,
    /// Boxes of different classes suppress one another.
    #[serde(default)]
    pub class_agnostic: bool,
    /// Most boxes in the result; 32 when absent.
    #[serde(default)]
    pub max: Option<usize>,
    /// The input whose frame the coordinates refer to; the first when absent.
    #[serde(default)]
    pub input: Option<String>,
    /// Name of the resulting output; `detections` when absent.
    #[serde(default)]
    pub output: Option<String>,
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadSource, message).at("detections()")
}

impl Detections {
    /// Appends the nodes; returns the result and the outputs it stands for.
    pub(super) fn append(&self, graph: &mut Graph) -> Result<Target> {
        let input = match &self.input {
            None => 0,
            Some(name) => graph
                .inputs
                .iter()
                .position(|&v| graph.value(v).is_ok_and(|v| v.name == *name))
                .ok_or_else(|| bad(format!("the model has no input {name:?}")))?,
        };
        let first = *graph.inputs.get(input).ok_or_else(|| bad("the model has no input"))?;
        let (width, height) = match graph.ty(first)?.shape[..] {
            [_, h, w, 1 | 3 | 4] => (w, h),
            [_, _, h, w] => (w, h),
            _ => return Err(bad(format!("the input {} is no picture", graph.ty(first)?))),
        };
        if self.scores.len() != self.boxes.len() || self.scores.is_empty() {
            return Err(bad(format!("{} scores for {} boxes", self.scores.len(), self.boxes.len()))
                .hint("name one scores output for each boxes output"));
        }
        let yolox = match self.format.as_deref() {
            None | Some("ssd") => false,
            Some("yolox") => true,
            Some(other) => return Err(bad(format!("format {other:?} is neither ssd nor yolox"))),
        };
        let suppression = match self.nms.as_deref() {
            None | Some("best") => Suppression::Best,
            Some("blend") => Suppression::Blend,
            Some(other) => return Err(bad(format!("nms {other:?} is neither best nor blend"))),
        };
        let size = [width as f32, height as f32];
        let decode = DecodeBoxes {
            format: if yolox { BoxFormat::Yolox } else { BoxFormat::Ssd { scale: size } },
            score: match self.sigmoid.unwrap_or(!yolox) {
                true => ScoreFormat::Sigmoid { limit: self.score_limit.unwrap_or(100.0) },
                false => ScoreFormat::Probability,
            },
            keypoints: self.keypoints,
            threshold: self.threshold.unwrap_or(0.5).max(f32::MIN_POSITIVE),
            input: size,
        };
        let select = SelectBoxes {
            suppression,
            iou: self.iou.unwrap_or(0.3),
            class_agnostic: self.class_agnostic,
            max: self.max.unwrap_or(32),
            input,
        };
        let mut consumed = Vec::new();
        let anchors = self.anchors.tensor(width, height, yolox)?;
        let mut inputs = vec![Some(graph.add_constant("anchors", anchors))];
        for (scores, boxes) in self.scores.iter().zip(&self.boxes) {
            for name in [scores, boxes] {
                let id = super::postprocess::output_named(graph, name)?;
                consumed.push(id);
                inputs.push(Some(id));
            }
        }
        let rows = append_node(graph, "decode boxes", Op::DecodeBoxes(decode), inputs)?;
        let name = self.output.as_deref().unwrap_or("detections");
        let result = append_node(graph, name, Op::SelectBoxes(select), vec![Some(rows)])?;
        Ok(Target { result, consumed })
    }
}

/// Appends a node with one output, both called `name`, and infers the output's type.
pub(super) fn append_node(graph: &mut Graph, name: &str, op: Op, inputs: Vec<Option<ValueId>>) -> Result<ValueId> {
    let operands = inputs
        .iter()
        .map(|i| i.map(|id| Ok(crate::ops::Operand { ty: graph.ty(id)?, constant: graph.constant(id) })).transpose())
        .collect::<Result<Vec<_>>>()?;
    let ty = op.definition().infer(&operands).map_err(|e| e.at(format!("post-processing {name:?}")))?;
    let output = graph.add_value(crate::graph::Value {
        name: name.to_owned(),
        ty: ty.into_iter().next(),
        layout: crate::tensor::Layout::RowMajor,
        constant: None,
    });
    graph.nodes.push(Node::new(name, op, inputs, vec![output]));
    Ok(output)
}
