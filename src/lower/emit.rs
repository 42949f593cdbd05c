//! Dispatches, with weights and parameters laid out.

use super::layers::layer;
use super::place::{Placement, bound_bytes};
use super::{LowerOptions, Lowered, select_all};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, Node, ValueId};
use crate::kernels::{Launch, Packed, Source};
use crate::recording::{
    self, ALIGNMENT, Binding, Command, Dispatch, FRAME_BYTES, Range, Recording, Resource, Shader, Space,
};
use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Byte blocks one after the other, each once however often it is asked for.
struct Blob {
    space: Space,
    bytes: Vec<u8>,
    /// Blocks by their hash.
    known: BTreeMap<u64, Vec<Range>>,
}

impl Blob {
    fn new(space: Space) -> Self {
        Self { space, bytes: Vec::new(), known: BTreeMap::new() }
    }

    fn add(&mut self, block: &[u8]) -> Range {
        let mut hasher = DefaultHasher::new();
        block.hash(&mut hasher);
        let known = self.known.entry(hasher.finish()).or_default();
        let holds = |r: &&Range| self.bytes.get(r.offset as usize..(r.offset + r.bytes) as usize) == Some(block);
        if let Some(range) = known.iter().find(holds) {
            return *range;
        }
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT as usize), 0);
        let range = Range { space: self.space, offset: self.bytes.len() as u64, bytes: block.len() as u64 };
        self.bytes.extend_from_slice(block);
        known.push(range);
        range
    }
}

struct Emitter<'g, 'o> {
    graph: &'g Graph,
    places: &'g Placement,
    options: &'o LowerOptions<'o>,
    weights: Blob,
    params: Blob,
    shaders: Vec<Shader>,
}

pub(super) fn emit(graph: &Graph, places: &Placement, options: &LowerOptions<'_>) -> Result<Lowered> {
    let kernels = select_all(graph, options, storages(graph, places)?)?;
    let mut emitter = Emitter {
        graph,
        places,
        options,
        weights: Blob::new(Space::Weights),
        params: Blob::new(Space::Params),
        shaders: Vec::new(),
    };
    let ports = |ids: &[ValueId]| ids.iter().map(|&id| emitter.port(id)).collect::<Result<Vec<_>>>();
    let (inputs, outputs) = (ports(&graph.inputs)?, ports(&graph.outputs)?);
    let mut commands: Vec<Command> =
        inputs.iter().enumerate().map(|(input, &to)| Command::Upload { input, to }).collect();
    for (input, &id) in graph.inputs.iter().enumerate() {
        let Some(step) = options.preprocess.get(input).and_then(Option::as_ref) else { continue };
        if step.output() != *graph.ty(id)? {
            let message = format!("pre-processing gives {}, the input is {}", step.output(), graph.ty(id)?);
            return Err(Error::new(ErrorKind::ShapeMismatch, message).at(format!("input {:?}", graph.value(id)?.name)));
        }
        let launch = crate::kernels::preprocess(step, input, &options.limits)?;
        let frame = Node::new("frame", crate::ops::Op::Identity(crate::ops::Identity), vec![], vec![id]);
        if let Some(dispatch) = emitter.dispatch(launch, &frame, graph.nodes.len())? {
            commands.push(Command::Frame { input, dispatch });
        }
    }
    let mut layers = Vec::with_capacity(graph.nodes.len());
    for (step, (node, mut kernel)) in graph.nodes.iter().zip(kernels).enumerate() {
        let before = commands.len();
        for (l, launch) in std::mem::take(&mut kernel.launches).into_iter().enumerate() {
            if places.skipped.get(step).is_some_and(|s| s.contains(&l)) {
                continue;
            }
            let dispatch = emitter.dispatch(launch, node, step).map_err(|e| e.at(node.place()))?;
            commands.extend(dispatch.map(Command::Dispatch));
        }
        layers.push(layer(graph, node, &kernel, places, step, commands.len() - before)?);
    }
    commands.extend(outputs.iter().enumerate().map(|(output, &from)| Command::Download { output, from }));
    let Blob { bytes: mut weights, .. } = emitter.weights;
    weights.resize(weights.len().next_multiple_of(16), 0);
    over("weights", weights.len() as u64, options.max_weights)?;
    over("weights", weights.len() as u64, Some(options.limits.max_buffer_bytes))?;
    over("activations", places.plan.bytes, Some(options.limits.max_buffer_bytes))?;
    let recording = Recording {
        arena_bytes: places.plan.bytes,
        weights_bytes: weights.len() as u64,
        params: emitter.params.bytes,
        shaders: emitter.shaders,
        commands,
    };
    recording::check(&recording)?;
    let (plan, blocks) = (places.plan.clone(), places.blocks.clone());
    Ok(Lowered { recording, weights, inputs, outputs, layers, plan, blocks })
}

/// A number for each distinct range; constants get numbers that nobody shares.
fn storages(graph: &Graph, places: &Placement) -> Result<impl Fn(usize) -> u32 + use<>> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let mut of_value = Vec::with_capacity(graph.values.len());
    for (i, offset) in places.offsets.iter().enumerate() {
        // Ranges of tensors that never live together may coincide as well: no node sees both.
        of_value.push(match offset {
            Some(offset) => {
                let range = (*offset, bound_bytes(graph, ValueId(i as u32))?);
                let known = ranges.iter().position(|known| *known == range);
                known.unwrap_or_else(|| {
                    ranges.push(range);
                    ranges.len() - 1
                }) as u32
            }
            None => u32::MAX - i as u32,
        });
    }
    Ok(move |value: usize| of_value.get(value).copied().unwrap_or(u32::MAX))
}

impl Emitter<'_, '_> {
    /// Where a model input or output lies, without the vector padding.
    fn port(&self, id: ValueId) -> Result<Range> {
        let (value, ty) = (self.graph.value(id)?, self.graph.ty(id)?);
        if value.layout != crate::tensor::Layout::RowMajor {
            let message = format!("a model's input or output is row-major, this one is {}", value.layout);
            return Err(Error::new(ErrorKind::LayoutMismatch, message).at(format!("tensor {:?}", value.name)));
        }
        let bytes = (ty.shape.elements() as u64).saturating_mul(ty.dtype.gpu_bytes() as u64);
        Ok(Range { bytes: bytes.next_multiple_of(4), ..self.value(id)? })
    }

    fn value(&self, id: ValueId) -> Result<Range> {
        let offset = self.places.offsets.get(id.index()).copied().flatten();
        let offset =
            offset.ok_or_else(|| Error::new(ErrorKind::InvalidModel, "a kernel binds a tensor without a place"))?;
        Ok(Range { space: Space::Arena, offset, bytes: bound_bytes(self.graph, id)? })
    }

    fn dispatch(&mut self, launch: Launch<'_>, node: &Node, layer: usize) -> Result<Option<Dispatch>> {
        if launch.groups.contains(&0) {
            return Ok(None);
        }
        let params = (!launch.params.is_empty()).then(|| self.params.add(&launch.params));
        let missing = || Error::new(ErrorKind::InvalidModel, "a kernel binds what the node does not have");
        let mut bindings = Vec::with_capacity(launch.bindings.len());
        for (slot, source) in launch.bindings.into_iter().enumerate() {
            let range = match source {
                Source::Params => params.ok_or_else(missing)?,
                Source::Frame(input) => {
                    Range { space: Space::Frame, offset: FRAME_BYTES * input as u64, bytes: FRAME_BYTES }
                }
                Source::Picture(input) => {
                    bindings.push(Binding { slot: slot as u32, resource: Resource::Frame { input } });
                    continue;
                }
                Source::Input(i) => self.value(node.inputs.get(i).copied().flatten().ok_or_else(missing)?)?,
                Source::Output(i) => self.value(node.outputs.get(i).copied().ok_or_else(missing)?)?,
                Source::Scratch => {
                    let place = self.places.scratch.get(layer).copied().flatten();
                    let (offset, bytes) = place.ok_or_else(missing)?;
                    Range { space: Space::Arena, offset, bytes }
                }
                Source::Weights(packed) => self.pack(&packed)?,
            };
            if matches!(range.space, Space::Arena | Space::Weights)
                && range.bytes > self.options.limits.max_binding_bytes
            {
                let message = format!(
                    "a tensor of {} bytes is larger than this device binds ({} bytes)",
                    range.bytes, self.options.limits.max_binding_bytes
                );
                return Err(
                    Error::new(ErrorKind::MemoryLimit, message).hint("use a smaller input shape or a smaller batch")
                );
            }
            bindings.push(Binding { slot: slot as u32, resource: Resource::Buffer(range) });
        }
        let known = self.shaders.iter().position(|known| known.wgsl == launch.shader.wgsl);
        let shader = known.unwrap_or_else(|| {
            self.shaders.push(launch.shader);
            self.shaders.len() - 1
        });
        Ok(Some(Dispatch { shader, bindings, groups: launch.groups, layer }))
    }

    fn pack(&mut self, packed: &Packed<'_>) -> Result<Range> {
        Ok(self.weights.add(&packed.pack()?))
    }
}

fn over(pool: &str, need: u64, most: Option<u64>) -> Result<()> {
    match most {
        Some(most) if need > most => {
            Err(Error::new(ErrorKind::MemoryLimit, format!("{pool}: {need} bytes are needed, allowed are {most}"))
                .at(format!("pool {pool:?}"))
                .hint(format!("allow {pool} of {need} bytes")))
        }
        _ => Ok(()),
    }
}
