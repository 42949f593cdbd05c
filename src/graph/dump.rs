//! The graph as text: one line a node, the same on every run, for snapshot tests and for people.
//!
//! ```text
//! in x: float32[1, 3, 8, 8]
//! y: float32[1, 4, 8, 8] c4 = Conv 3x3 pads 1,1,1,1 (x, w: float32[4, 3, 3, 3]) | Relu | Add z
//! out y
//! ```

use super::{Graph, Node, ValueId};
use crate::ops::{AutoPad, Op, Step, Window};
use crate::tensor::{Layout, Tensor};
use std::fmt;

/// Largest constant whose elements are printed.
const PRINTED: usize = 8;

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &input in &self.inputs {
            writeln!(f, "in {}", Typed(self, input))?;
        }
        for node in &self.nodes {
            self.write_node(f, node)?;
        }
        for &output in &self.outputs {
            writeln!(f, "out {}", Name(self, output))?;
        }
        Ok(())
    }
}

impl Graph {
    fn write_node(&self, f: &mut fmt::Formatter<'_>, node: &Node) -> fmt::Result {
        for (i, &output) in node.outputs.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{}", Typed(self, output))?;
        }
        write!(f, " = {}{} (", op_label(&node.op), attributes(&node.op))?;
        for (i, input) in node.inputs.iter().take(node.own_inputs).enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            match input {
                Some(id) => write!(f, "{}", Name(self, *id))?,
                None => f.write_str("-")?,
            }
        }
        f.write_str(")")?;
        for step in &node.epilogue.steps {
            match *step {
                Step::Unary(op) => write!(f, " | {}", words(&format!("{op:?}")))?,
                Step::Scalar { op, value, swapped } => {
                    write!(f, " | {}{} {value}", words(&format!("{op:?}")), if swapped { " swapped" } else { "" })?;
                }
                Step::Tensor { op, input, swapped } => {
                    write!(f, " | {}{} ", words(&format!("{op:?}")), if swapped { " swapped" } else { "" })?;
                    match node.inputs.get(input).copied().flatten() {
                        Some(id) => write!(f, "{}", Name(self, id))?,
                        None => f.write_str("?")?,
                    }
                }
            }
        }
        writeln!(f)
    }
}

/// A value's name; a constant's contents or type instead.
struct Name<'g>(&'g Graph, ValueId);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(value) = self.0.values.get(self.1.index()) else { return write!(f, "?{}", self.1.0) };
        match value.constant.as_deref() {
            Some(t) if t.data().len() <= PRINTED => write_constant(f, t),
            Some(t) => write!(f, "{}: {}", value.name, t.ty()),
            None => f.write_str(&value.name),
        }
    }
}

fn write_constant(f: &mut fmt::Formatter<'_>, t: &Tensor) -> fmt::Result {
    let numbers = t.data().to_f64().iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    match t.shape().len() {
        0 => f.write_str(&numbers),
        1 => write!(f, "[{numbers}]"),
        _ => write!(f, "{}[{numbers}]", t.shape()),
    }
}

/// A value with its type.
struct Typed<'g>(&'g Graph, ValueId);

impl fmt::Display for Typed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(value) = self.0.values.get(self.1.index()) else { return write!(f, "?{}", self.1.0) };
        f.write_str(&value.name)?;
        if let Some(ty) = &value.ty {
            write!(f, ": {ty}")?;
        }
        if value.layout != Layout::RowMajor {
            write!(f, " {}", value.layout)?;
        }
        Ok(())
    }
}

/// The operator in one word; element-wise ones by their own name.
pub(super) fn op_label(op: &Op) -> String {
    match op {
        Op::Unary(u) => words(&format!("{u:?}")),
        Op::Binary(b) => words(&format!("{b:?}")),
        other => other.definition().name().to_owned(),
    }
}

/// `Clip { lo: 0.0, hi: 6.0 }` as `Clip lo=0.0 hi=6.0`.
fn words(debug: &str) -> String {
    debug.replace(" {", "").replace(" }", "").replace(": ", "=").replace(',', "")
}

fn attributes(op: &Op) -> String {
    match op {
        Op::Conv(c) => {
            format!("{}{}", window(&c.window), if c.groups > 1 { format!(" groups {}", c.groups) } else { "".into() })
        }
        Op::ConvTranspose(c) => window(&c.window),
        Op::Pool(p) => window(&p.window),
        Op::Concat(c) => format!(" axis {}", c.axis),
        Op::Gather(g) => format!(" axis {}", g.axis),
        Op::Softmax(s) => format!(" axis {}", s.axis),
        Op::Split(s) => format!(" axis {}", s.axis),
        Op::Transpose(t) => format!(" {}", list(&t.perm)),
        Op::Relayout(r) => format!(" {}", r.to),
        Op::Cast(c) => format!(" {}", c.to),
        _ => String::new(),
    }
}

fn window(w: &Window) -> String {
    let mut text = String::new();
    if !w.kernel.is_empty() {
        text += &format!(" {}", w.kernel.iter().map(usize::to_string).collect::<Vec<_>>().join("x"));
    }
    if w.strides.iter().any(|&s| s != 1) {
        text += &format!(" strides {}", list(&w.strides));
    }
    if w.dilations.iter().any(|&d| d != 1) {
        text += &format!(" dilations {}", list(&w.dilations));
    }
    if w.pads.iter().any(|&p| p != 0) {
        text += &format!(" pads {}", list(&w.pads));
    }
    match w.auto_pad {
        AutoPad::Explicit => {}
        other => text += &format!(" {other:?}"),
    }
    text
}

fn list(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use crate::graph::Builder;
    use crate::ops::{Binary, Epilogue, Step, Unary};
    use crate::tensor::{DType, Layout, TensorType};

    #[test]
    fn one_line_a_node() {
        let b = Builder::new("dump");
        let x = b.input("x", DType::F32, [1, 3, 8, 8]);
        let y = x.conv(b.weights("w", [4, 3, 3, 3]), None, 2, 1);
        let z = y.transpose([0, 2, 3, 1]).slice(1, 0, 2);
        let mut graph = b.finish([("y", y), ("z", z)]).unwrap();
        graph.values[y.id().index()].ty = Some(TensorType::new(DType::F32, [1, 4, 4, 4]));
        graph.values[y.id().index()].layout = Layout::C4;
        let steps = vec![
            Step::Unary(Unary::Clip { lo: 0.0, hi: 6.0 }),
            Step::Scalar { op: Binary::Sub, value: 1.0, swapped: true },
            Step::Tensor { op: Binary::Add, input: 3, swapped: false },
        ];
        graph.nodes[0].epilogue = Epilogue { steps };
        graph.nodes[0].inputs.push(Some(x.id()));
        let want = "in x: float32[1, 3, 8, 8]\n\
            y: float32[1, 4, 4, 4] c4 = Conv strides 2,2 pads 1,1,1,1 (x, w: float32[4, 3, 3, 3], -) \
            | Clip lo=0.0 hi=6.0 | Sub swapped 1 | Add x\n\
            Transpose1 = Transpose 0,2,3,1 (y)\n\
            z = Slice (Transpose1, [0], [2], [1])\n\
            out y\n\
            out z\n";
        assert_eq!(graph.to_string(), want);
    }
}
