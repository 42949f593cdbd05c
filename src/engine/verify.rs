//! Layers held against the operators' references. The reference of a layer is fed with what the GPU computed before it, so that
//! errors do not add up and a difference is found where it arises.

use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, Node};
use crate::lower::{self, Layer};
use crate::ops::{FrameTransform, Op};
use crate::tensor::{DType, Data, Tensor};
use serde::Serialize;
use std::rc::Rc;

/// A float32 result may differ from the reference by so much of the layer's largest value: sums are taken in another order, and
/// WGSL grants exponentials a few units in the last place.
const TOLERANCE: f64 = 1e-4;
/// The same for float16 results.
const HALF_TOLERANCE: f64 = 2e-3;
/// Differences up to this size never count.
const FLOOR: f64 = 1e-6;

/// How far a layer's result is from its reference.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LayerError {
    /// The layer's index.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// Its operator.
    pub op: String,
    /// Its kernel and variant.
    pub kernel: String,
    /// The run in which it was seen, from 0 on.
    pub run: usize,
    /// The largest difference, as a part of the largest value of the reference.
    pub error: f64,
    /// Where: a row-major index into the output.
    pub element: usize,
    /// What the reference has there.
    pub expected: f64,
    /// What the GPU has there.
    pub got: f64,
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// Every layer is within its tolerance, in every run.
    pub ok: bool,
    /// Layers held against their reference in each run.
    pub layers: usize,
    /// Runs made.
    pub runs: usize,
    /// Every layer made the same bits of the same bits in every run.
    pub repeatable: bool,
    /// The part of a layer's largest value that a difference may have.
    pub tolerance: f64,
    /// The layer that is furthest from its reference.
    pub worst: Option<LayerError>,
    /// The first layer that is outside its tolerance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<LayerError>,
}

/// Takes the results of an engine's layers, run by run.
#[derive(Debug)]
pub struct Verifier<'a> {
    graph: Rc<Graph>,
    layers: &'a [Layer],
    frames: Vec<Option<FrameTransform>>,
    /// What the GPU computed in this run, by value.
    values: Vec<Option<Tensor>>,
    /// The same of the first run.
    before: Vec<Option<Tensor>>,
    runs: usize,
    repeatable: bool,
    worst: Option<LayerError>,
    first: Option<LayerError>,
}

impl<'a> Verifier<'a> {
    /// For an engine of `layers`, one for each node of `graph`. `frames` says for each input where its frame lies, where it is fed
    /// with one.
    ///
    /// # Errors
    /// `plan-mismatch` where layers and nodes do not match.
    pub fn new(graph: &Graph, layers: &'a [Layer], frames: Vec<Option<FrameTransform>>) -> Result<Self> {
        let graph = lower::with_outputs_of_their_own(graph)?;
        let same = |(node, layer): (&Node, &Layer)| {
            node.op.definition().name() == layer.op
                && node.name == layer.name
                && node.outputs.len() == layer.outputs.len()
        };
        if graph.nodes.len() != layers.len() || !graph.nodes.iter().zip(layers).all(same) {
            return Err(Error::new(ErrorKind::PlanMismatch, "the engine's layers are not those of this model")
                .hint("verify with the bytes and the options that the engine was compiled from"));
        }
        let values = vec![None; graph.values.len()];
        Ok(Self {
            graph: Rc::new(graph),
            layers,
            frames,
            values,
            before: Vec::new(),
            runs: 0,
            repeatable: true,
            worst: None,
            first: None,
        })
    }

    /// A run begins, with these inputs as the GPU has them.
    ///
    /// # Errors
    /// `plan-mismatch` where their number is wrong.
    pub fn begin(&mut self, inputs: Vec<Tensor>) -> Result<()> {
        let values = std::mem::replace(&mut self.values, vec![None; self.graph.values.len()]);
        if self.runs == 1 {
            self.before = values;
        }
        self.runs += 1;
        if inputs.len() != self.graph.inputs.len() {
            return Err(Error::new(ErrorKind::PlanMismatch, format!("{} inputs were read", inputs.len())));
        }
        for (id, tensor) in self.graph.inputs.iter().zip(inputs) {
            if let Some(slot) = self.values.get_mut(id.index()) {
                *slot = Some(tensor);
            }
        }
        Ok(())
    }

    /// Layer `index` gave `outputs`.
    ///
    /// # Errors
    /// What the reference says.
    pub fn layer(&mut self, index: usize, outputs: Vec<Tensor>) -> Result<()> {
        let graph = Rc::clone(&self.graph);
        let Some(node) = graph.nodes.get(index) else { return Ok(()) };
        if !self.known(node, &outputs) {
            let expected = self.reference(node)?;
            for (got, expected) in outputs.iter().zip(&expected) {
                self.compare(index, got, expected);
            }
        }
        for (id, tensor) in node.outputs.iter().zip(outputs) {
            if let Some(slot) = self.values.get_mut(id.index()) {
                *slot = Some(tensor);
            }
        }
        Ok(())
    }

    /// Whether the first run computed the same from the same; it was held against the reference then.
    fn known(&mut self, node: &Node, outputs: &[Tensor]) -> bool {
        if self.before.is_empty() {
            return false;
        }
        let before = |id: &crate::graph::ValueId| self.before.get(id.index()).and_then(Option::as_ref);
        let now = |id: &crate::graph::ValueId| self.values.get(id.index()).and_then(Option::as_ref);
        let bits = |t: Option<&Tensor>| t.map(|t| t.data().as_bytes().to_vec());
        let same_inputs = node.inputs.iter().flatten().all(|id| bits(before(id)) == bits(now(id)));
        let same_outputs = node.outputs.iter().zip(outputs).all(|(id, got)| bits(before(id)) == bits(Some(got)));
        // A frame may be another in the next run.
        self.repeatable &= same_outputs || !same_inputs;
        same_inputs && same_outputs
    }

    fn reference(&self, node: &Node) -> Result<Vec<Tensor>> {
        let contents = |id: crate::graph::ValueId| {
            let computed = self.values.get(id.index()).and_then(Option::as_ref);
            computed.or_else(|| self.graph.constant(id)).ok_or_else(|| {
                Error::new(ErrorKind::PlanMismatch, "a layer reads what no layer has made").at(node.place())
            })
        };
        let inputs = node.inputs.iter().map(|i| i.map(contents).transpose()).collect::<Result<Vec<_>>>()?;
        if let (Op::SelectBoxes(op), [Some(rows), ..]) = (&node.op, &inputs[..]) {
            // Boxes come back in the coordinates of the frame.
            let frame = self.frames.get(op.input).and_then(Option::as_ref);
            return Ok(vec![op.select(rows, frame)?]);
        }
        node.evaluate(&inputs)
    }

    fn compare(&mut self, index: usize, got: &Tensor, expected: &Tensor) {
        let Some(layer) = self.layers.get(index) else { return };
        let difference = difference(got.data(), expected.data());
        let found = LayerError {
            index,
            name: layer.name.clone(),
            op: layer.op.clone(),
            kernel: layer.kernel.clone(),
            run: self.runs.saturating_sub(1),
            error: difference.error,
            element: difference.element,
            expected: difference.expected,
            got: difference.got,
        };
        if difference.error > tolerance(got.dtype()) && self.first.is_none() {
            self.first = Some(found.clone());
        }
        if self.worst.as_ref().is_none_or(|worst| found.error > worst.error) {
            self.worst = Some(found);
        }
    }

    /// What was found.
    pub fn finish(self) -> Verification {
        Verification {
            ok: self.first.is_none(),
            layers: self.layers.len(),
            runs: self.runs,
            repeatable: self.repeatable,
            tolerance: TOLERANCE,
            worst: self.worst,
            first: self.first,
        }
    }
}

/// Whole numbers must be equal.
const fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => TOLERANCE,
        DType::F16 => HALF_TOLERANCE,
        _ => 0.0,
    }
}

struct Difference {
    error: f64,
    element: usize,
    expected: f64,
    got: f64,
}

/// The largest difference. Numbers that are none must be none on both sides; an infinity must be the same.
fn difference(got: &Data, expected: &Data) -> Difference {
    let (got, expected) = (got.to_f64(), expected.to_f64());
    let largest = expected.iter().filter(|v| v.is_finite()).fold(0.0f64, |m, v| m.max(v.abs()));
    let mut worst = Difference { error: 0.0, element: 0, expected: 0.0, got: 0.0 };
    if got.len() != expected.len() {
        worst.error = f64::MAX;
        return worst;
    }
    for (element, (&g, &e)) in got.iter().zip(&expected).enumerate() {
        let error = if g == e || (g.is_nan() && e.is_nan()) || (g - e).abs() <= FLOOR {
            0.0
        } else if g.is_finite() && e.is_finite() {
            (g - e).abs() / largest.max(FLOOR)
        } else {
            f64::MAX
        };
        if error > worst.error {
            worst = Difference { error, element, expected: e, got: g };
        }
    }
    worst
}
