//! The messages of `onnx.proto3` with the fields an import needs, borrowed from the file:
//! <https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3>.

use super::protobuf::{Field, Reader};
use crate::error::Result;
use crate::import::Dim;

/// `ModelProto`.
#[derive(Debug, Default)]
pub struct Model<'a> {
    pub producer: &'a str,
    /// Domain and version.
    pub opsets: Vec<(&'a str, i64)>,
    pub graph: Option<Graph<'a>>,
}

/// `GraphProto`.
#[derive(Debug, Default)]
pub struct Graph<'a> {
    pub name: &'a str,
    pub nodes: Vec<Node<'a>>,
    pub initializers: Vec<Tensor<'a>>,
    pub inputs: Vec<Value<'a>>,
    pub outputs: Vec<Value<'a>>,
    pub has_sparse_initializers: bool,
}

/// `NodeProto`.
#[derive(Debug, Default)]
pub struct Node<'a> {
    pub name: &'a str,
    pub op_type: &'a str,
    pub domain: &'a str,
    /// An empty name stands for an optional input left out.
    pub inputs: Vec<&'a str>,
    pub outputs: Vec<&'a str>,
    pub attributes: Vec<Attribute<'a>>,
}

/// `AttributeProto`.
#[derive(Debug)]
pub struct Attribute<'a> {
    pub name: &'a str,
    pub value: AttributeValue<'a>,
}

/// The value of an attribute.
#[derive(Debug)]
pub enum AttributeValue<'a> {
    Float(f32),
    Int(i64),
    Text(&'a [u8]),
    Tensor(Tensor<'a>),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    /// A subgraph, strings, sparse tensors, type descriptions: named, not read.
    Other(&'static str),
}

/// `TensorProto`. The elements stay in the file until [`super::tensor`] reads them.
#[derive(Debug)]
pub struct Tensor<'a> {
    pub name: &'a str,
    pub dims: Vec<i64>,
    pub data_type: i64,
    pub raw: Option<&'a [u8]>,
    pub external: bool,
    /// The whole message, for the fields that hold elements one by one.
    pub message: Reader<'a>,
}

/// `ValueInfoProto` of a tensor.
#[derive(Debug, Default)]
pub struct Value<'a> {
    pub name: &'a str,
    /// Zero where it is no tensor.
    pub elem_type: i64,
    pub dims: Option<Vec<Dim>>,
}

impl<'a> Model<'a> {
    pub fn read(mut r: Reader<'a>) -> Result<Self> {
        let mut model = Self::default();
        while let Some((number, field)) = r.next()? {
            match number {
                2 => model.producer = field.text()?,
                7 => model.graph = Some(Graph::read(field.chunk()?)?),
                8 => {
                    let (mut domain, mut version) = ("", 0);
                    let mut r = field.chunk()?;
                    while let Some((number, field)) = r.next()? {
                        match number {
                            1 => domain = field.text()?,
                            2 => version = field.int()?,
                            _ => {}
                        }
                    }
                    model.opsets.push((domain, version));
                }
                _ => {}
            }
        }
        Ok(model)
    }
}

impl<'a> Graph<'a> {
    fn read(mut r: Reader<'a>) -> Result<Self> {
        let mut graph = Self::default();
        while let Some((number, field)) = r.next()? {
            match number {
                1 => graph.nodes.push(Node::read(field.chunk()?)?),
                2 => graph.name = field.text()?,
                5 => graph.initializers.push(Tensor::read(field.chunk()?)?),
                11 => graph.inputs.push(Value::read(field.chunk()?)?),
                12 => graph.outputs.push(Value::read(field.chunk()?)?),
                15 => graph.has_sparse_initializers = true,
                _ => {}
            }
        }
        Ok(graph)
    }
}

impl<'a> Node<'a> {
    fn read(mut r: Reader<'a>) -> Result<Self> {
        let mut node = Self::default();
        while let Some((number, field)) = r.next()? {
            match number {
                1 => node.inputs.push(field.text()?),
                2 => node.outputs.push(field.text()?),
                3 => node.name = field.text()?,
                4 => node.op_type = field.text()?,
                5 => node.attributes.push(Attribute::read(field.chunk()?)?),
                7 => node.domain = field.text()?,
                _ => {}
            }
        }
        Ok(node)
    }
}

impl<'a> Attribute<'a> {
    fn read(mut r: Reader<'a>) -> Result<Self> {
        let (mut name, mut kind) = ("", 0);
        let (mut float, mut int, mut text, mut tensor) = (None, None, None, None);
        let (mut floats, mut ints) = (Vec::new(), Vec::new());
        let mut other = None;
        while let Some((number, field)) = r.next()? {
            match number {
                1 => name = field.text()?,
                2 => float = Some(field.float()?),
                3 => int = Some(field.int()?),
                4 => text = Some(field.chunk()?.bytes()),
                5 => tensor = Some(Tensor::read(field.chunk()?)?),
                6 | 11 => other = Some("a subgraph"),
                7 => field.floats(&mut floats)?,
                8 => field.ints(&mut ints)?,
                9 => other = Some("strings"),
                10 => other = Some("a list of tensors"),
                20 => kind = field.int()?,
                21 => other = Some("a reference to a function's attribute"),
                22 | 23 => other = Some("a sparse tensor"),
                _ => {}
            }
        }
        // Writers of proto3 leave out zeros and empty lists, so the stated type decides; very old files state none.
        let value = match (kind, other, tensor) {
            (_, Some(what), _) => AttributeValue::Other(what),
            (4 | 0, _, Some(t)) => AttributeValue::Tensor(t),
            (1, ..) => AttributeValue::Float(float.unwrap_or(0.0)),
            (2, ..) => AttributeValue::Int(int.unwrap_or(0)),
            (3, ..) => AttributeValue::Text(text.unwrap_or(b"")),
            (6, ..) => AttributeValue::Floats(floats),
            (7, ..) => AttributeValue::Ints(ints),
            (0, ..) => match (float, int, text) {
                (Some(f), ..) => AttributeValue::Float(f),
                (_, Some(i), _) => AttributeValue::Int(i),
                (.., Some(s)) => AttributeValue::Text(s),
                _ if !floats.is_empty() => AttributeValue::Floats(floats),
                _ => AttributeValue::Ints(ints),
            },
            _ => AttributeValue::Other("a value of a kind that is not read"),
        };
        Ok(Self { name, value })
    }
}

impl<'a> Tensor<'a> {
    pub fn read(message: Reader<'a>) -> Result<Self> {
        let mut tensor = Self { name: "", dims: Vec::new(), data_type: 0, raw: None, external: false, message };
        let mut r = message;
        while let Some((number, field)) = r.next()? {
            match number {
                1 => field.ints(&mut tensor.dims)?,
                2 => tensor.data_type = field.int()?,
                8 => tensor.name = field.text()?,
                9 => tensor.raw = Some(field.chunk()?.bytes()),
                13 => tensor.external = true,
                14 => tensor.external |= field.int()? == 1,
                _ => {}
            }
        }
        Ok(tensor)
    }

    /// Calls `each` with every field `number` of the message.
    pub fn each_field(&self, number: u64, mut each: impl FnMut(Field<'a>) -> Result<()>) -> Result<()> {
        let mut r = self.message;
        while let Some((n, field)) = r.next()? {
            if n == number {
                each(field)?;
            }
        }
        Ok(())
    }
}

impl<'a> Value<'a> {
    fn read(mut r: Reader<'a>) -> Result<Self> {
        let mut value = Self::default();
        while let Some((number, field)) = r.next()? {
            match number {
                1 => value.name = field.text()?,
                2 => {
                    let mut r = field.chunk()?;
                    while let Some((number, field)) = r.next()? {
                        if number == 1 {
                            value.read_tensor_type(field.chunk()?)?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(value)
    }

    fn read_tensor_type(&mut self, mut r: Reader<'a>) -> Result<()> {
        while let Some((number, field)) = r.next()? {
            match number {
                1 => self.elem_type = field.int()?,
                2 => {
                    let dims = self.dims.get_or_insert_default();
                    let mut r = field.chunk()?;
                    while let Some((number, field)) = r.next()? {
                        if number == 1 {
                            dims.push(read_dim(field.chunk()?)?);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn read_dim(mut r: Reader<'_>) -> Result<Dim> {
    let mut dim = Dim::Unknown;
    while let Some((number, field)) = r.next()? {
        match number {
            // Some exporters write -1 for a dimension they do not know.
            1 => dim = usize::try_from(field.int()?).map_or(Dim::Unknown, Dim::Fixed),
            2 if !field.text()?.is_empty() => dim = Dim::Symbolic(field.text()?.to_owned()),
            _ => {}
        }
    }
    Ok(dim)
}
