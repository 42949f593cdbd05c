//! Kernels compiled side by side. wgpu asks for one pipeline after another, and a browser then compiles them on one thread; asked
//! for all at once it uses several. A pipeline that is still alive is not compiled a second time, so those made here ahead of
//! wgpu's are what wgpu gets.

use super::js::object;
use super::webgpu::Device;
use crate::recording::{Binding, Command, Recording, Resource, Space};
use js_sys::Array;
use std::collections::BTreeSet;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

/// `GPUShaderStage.COMPUTE`.
const COMPUTE: u32 = 4;

/// The pipelines of a recording. They must be kept until wgpu has made its own. What the browser refuses is left out: wgpu asks
/// again and reports why.
pub(super) async fn compile(device: &Device, recording: &Recording) -> Vec<JsValue> {
    let mut seen = BTreeSet::new();
    let mut asked = Vec::new();
    for command in &recording.commands {
        let (Command::Frame { dispatch, .. } | Command::Dispatch(dispatch)) = command else { continue };
        let Some(shader) = recording.shaders.get(dispatch.shader) else { continue };
        let slots: Vec<_> = dispatch.bindings.iter().map(|b| (b.slot, kind(b))).collect();
        if !seen.insert((dispatch.shader, slots.clone())) {
            continue;
        }
        let entries = slots.iter().map(|&(slot, kind)| entry(slot, kind)).collect::<Array>();
        let group = device.create_bind_group_layout(&object(&[("entries", entries.into())]));
        let layout = device.create_pipeline_layout(&object(&[("bindGroupLayouts", Array::of1(&group).into())]));
        let module = device.create_shader_module(&object(&[("code", shader.wgsl.as_str().into())]));
        let compute = object(&[("module", module), ("entryPoint", "main".into())]);
        asked.push(device.create_compute_pipeline_async(&object(&[("layout", layout), ("compute", compute)])));
    }
    let mut made = Vec::with_capacity(asked.len());
    for promise in asked {
        made.extend(JsFuture::from(promise).await);
    }
    made
}

/// The type of a buffer binding; none for a texture.
fn kind(binding: &Binding) -> Option<&'static str> {
    match binding.resource {
        Resource::Buffer(range) => Some(match range.space {
            Space::Arena => "storage",
            Space::Weights => "read-only-storage",
            Space::Params | Space::Frame => "uniform",
        }),
        Resource::Frame { .. } => None,
    }
}

fn entry(slot: u32, kind: Option<&str>) -> JsValue {
    let what = match kind {
        Some(kind) => ("buffer", object(&[("type", kind.into())])),
        None => ("texture", object(&[("sampleType", "float".into())])),
    };
    object(&[("binding", slot.into()), ("visibility", COMPUTE.into()), what])
}
