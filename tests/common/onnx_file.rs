//! Writes small ONNX files for tests of the importer: the wire format, and the messages that matter.

/// A message under construction.
#[derive(Clone, Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    pub fn int(mut self, field: u32, value: i64) -> Self {
        varint(&mut self.0, u64::from(field) << 3);
        varint(&mut self.0, value as u64);
        self
    }

    pub fn float(mut self, field: u32, value: f32) -> Self {
        varint(&mut self.0, u64::from(field) << 3 | 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        varint(&mut self.0, u64::from(field) << 3 | 2);
        varint(&mut self.0, bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    pub fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    pub fn message(self, field: u32, message: &Message) -> Self {
        self.bytes(field, &message.0)
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A dimension in a test.
pub enum Dim {
    Is(i64),
    Named(&'static str),
}

/// A tensor of the graph's face: name, element type, dimensions.
pub fn value(name: &str, elem_type: i64, dims: &[Dim]) -> Message {
    let shape = dims.iter().fold(Message::default(), |shape, dim| {
        shape.message(
            1,
            &match dim {
                Dim::Is(n) => Message::default().int(1, *n),
                Dim::Named(name) => Message::default().text(2, name),
            },
        )
    });
    let tensor = Message::default().int(1, elem_type).message(2, &shape);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
}

/// A node; attributes are messages made by the functions below.
pub fn node(op: &str, inputs: &[&str], outputs: &[&str], attributes: &[Message]) -> Message {
    let mut m = inputs.iter().fold(Message::default(), |m, name| m.text(1, name));
    m = outputs.iter().fold(m, |m, name| m.text(2, name)).text(4, op);
    attributes.iter().fold(m, |m, a| m.message(5, a))
}

pub fn int(name: &str, value: i64) -> Message {
    Message::default().text(1, name).int(3, value).int(20, 2)
}

pub fn ints(name: &str, values: &[i64]) -> Message {
    values.iter().fold(Message::default().text(1, name), |m, &v| m.int(8, v)).int(20, 7)
}

pub fn float(name: &str, value: f32) -> Message {
    Message::default().text(1, name).float(2, value).int(20, 1)
}

pub fn floats(name: &str, values: &[f32]) -> Message {
    values.iter().fold(Message::default().text(1, name), |m, &v| m.float(7, v)).int(20, 6)
}

pub fn text(name: &str, value: &str) -> Message {
    Message::default().text(1, name).text(4, value).int(20, 3)
}

pub fn tensor_attribute(name: &str, tensor: &Message) -> Message {
    Message::default().text(1, name).message(5, tensor).int(20, 4)
}

/// The head of a tensor: name, element type, dimensions.
pub fn tensor(name: &str, data_type: i64, dims: &[i64]) -> Message {
    dims.iter().fold(Message::default(), |m, &d| m.int(1, d)).int(2, data_type).text(8, name)
}

/// A graph of nodes, weights, inputs and outputs in a model of the given opset.
pub fn model(opset: i64, nodes: &[Message], weights: &[Message], inputs: &[Message], outputs: &[Message]) -> Vec<u8> {
    let mut graph = nodes.iter().fold(Message::default(), |m, n| m.message(1, n)).text(2, "test");
    graph = weights.iter().fold(graph, |m, w| m.message(5, w));
    graph = inputs.iter().fold(graph, |m, v| m.message(11, v));
    graph = outputs.iter().fold(graph, |m, v| m.message(12, v));
    Message::default().int(1, 8).message(7, &graph).message(8, &Message::default().int(2, opset)).0
}
