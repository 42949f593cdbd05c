//! A run layer by layer: after each layer its results are read back, before a later one takes over their memory.

use super::context::Context;
use super::feed::Feed;
use super::lease::decode;
use super::ledger::{Class, Move, MoveKind, Place};
use super::load::{Part, Step, home};
use super::memory::STAGING;
use crate::engine::{Verification, Verifier};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::Graph;
use crate::lower::LayerTensor;
use crate::ops::FrameTransform;
use crate::tensor::{Data, Layout, Tensor, View};
use std::rc::Rc;

/// Runs the network of `context` layer by layer, `runs` times, and holds what each gives against its reference.
pub(super) async fn verify(
    context: &Rc<Context>,
    graph: &Graph,
    feeds: &[(&str, Feed<'_>)],
    runs: usize,
) -> Result<Verification> {
    let engine = &context.loaded.engine;
    let mut verifier = Verifier::new(graph, &engine.build.layers, transforms(context, feeds)?)?;
    for _ in 0..runs.max(1) {
        context.feed(feeds)?;
        let inputs: Vec<LayerTensor> = engine.inputs.iter().map(input_tensor).collect();
        verifier.begin(read(context, &[], &inputs).await?)?;
        for (index, layer) in engine.build.layers.iter().enumerate() {
            let steps: Vec<&Step> = steps(context).filter(|step| step.layer == index).collect();
            let outputs = read(context, &steps, &layer.outputs).await?;
            verifier.layer(index, outputs)?;
        }
    }
    Ok(verifier.finish())
}

/// For each input that is fed with a frame, where the frame lies.
fn transforms(context: &Context, feeds: &[(&str, Feed<'_>)]) -> Result<Vec<Option<FrameTransform>>> {
    let transform = |port: &crate::engine::Port| {
        let feed = feeds.iter().find(|(name, _)| port.desc.name == *name).map(|(_, feed)| feed);
        match (feed, &port.preprocess) {
            (Some(Feed::Frame(source)), Some(preprocess)) => {
                let (width, height) = source.size()?;
                preprocess.transform(width, height).map(Some)
            }
            _ => Ok(None),
        }
    };
    context.loaded.engine.inputs.iter().map(transform).collect()
}

fn steps(context: &Context) -> impl Iterator<Item = &Step> {
    context.loaded.parts.iter().flat_map(|part| match part {
        Part::Pass { steps, .. } => steps.as_slice(),
        Part::Download(_) => &[],
    })
}

fn input_tensor(port: &crate::engine::Port) -> LayerTensor {
    LayerTensor {
        value: 0,
        name: port.desc.name.clone(),
        shape: port.desc.shape.clone(),
        dtype: port.desc.dtype,
        layout: Layout::RowMajor,
        offset: Some(port.range.offset),
        bytes: port.range.bytes,
        life: [0, 0],
    }
}

/// Submits `steps` and reads `tensors` from the arena.
async fn read(context: &Context, steps: &[&Step], tensors: &[LayerTensor]) -> Result<Vec<Tensor>> {
    let live = context.live()?;
    let gpu = &context.loaded.gpu;
    let bytes_of = |t: &LayerTensor| (t.layout.elements(&t.shape) * t.dtype.gpu_bytes()).next_multiple_of(4) as u64;
    let total: u64 = tensors.iter().map(bytes_of).sum();
    let staging = gpu.buffer(Class::Build, "layer read back", total.max(4), STAGING);
    let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    if !steps.is_empty() {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        for step in steps {
            pass.set_pipeline(&step.kernel.pipeline);
            pass.set_bind_group(0, live.bind_groups.get(step.set), &[]);
            let [x, y, z] = step.groups;
            pass.dispatch_workgroups(x, y, z);
        }
    }
    let mut at = 0;
    for tensor in tensors {
        let offset = tensor.offset.ok_or_else(|| {
            Error::new(ErrorKind::PlanMismatch, "it has no place in the arena").at(format!("tensor {:?}", tensor.name))
        })?;
        let bytes = bytes_of(tensor);
        if bytes > 0 {
            encoder.copy_buffer_to_buffer(&live.arena.raw, offset, &staging.raw, at, bytes);
        }
        at += bytes;
    }
    let submission = gpu.queue.submit([encoder.finish()]);
    let mapped = gpu.map(&staging, total.max(4));
    gpu.wait(Some(submission));
    mapped.await.map_err(|e| Error::new(ErrorKind::DeviceLost, e.to_string()))?;
    gpu.alive()?;
    let m = Move::new(Place::Arena, home(), MoveKind::Readback, total);
    gpu.ledger.enter(m.because("verification"));
    let view = staging.raw.get_mapped_range(..).map_err(|e| Error::new(ErrorKind::DeviceLost, e.to_string()))?;
    let mut rest: &[u8] = &view;
    let mut found = Vec::with_capacity(tensors.len());
    for tensor in tensors {
        let (bytes, behind) = rest.split_at_checked(bytes_of(tensor) as usize).unwrap_or((rest, &[]));
        rest = behind;
        let data = decode(tensor.dtype, tensor.layout.elements(&tensor.shape), bytes)?;
        found.push(Tensor::new(tensor.shape.clone(), row_major(tensor, data)?)?);
    }
    Ok(found)
}

/// The elements in row-major order, padding lanes left out.
fn row_major(tensor: &LayerTensor, data: Data) -> Result<Data> {
    match (tensor.layout, &tensor.shape[..]) {
        (Layout::C4, &[n, c, h, w]) => {
            let groups = c.div_ceil(4);
            let planes = View::contiguous([n, groups, h, w, 4]).permute(&[0, 1, 4, 2, 3])?.gather(&data)?;
            View::contiguous([n, groups * 4, h, w]).region(&[0; 4], &[n, c, h, w])?.gather(&planes)
        }
        _ => Ok(data),
    }
}
