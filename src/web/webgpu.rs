//! Hand-written bindings of the pieces of WebGPU that wgpu's browser back end lacks or panics in: external textures, and
//! writes that may throw.

use super::js::object;
use js_sys::{Array, Promise};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

#[wasm_bindgen]
extern "C" {
    /// `GPUDevice`.
    #[derive(Clone)]
    pub(super) type Device;
    #[wasm_bindgen(method, getter)]
    pub(super) fn queue(this: &Device) -> Queue;
    #[wasm_bindgen(method, catch, js_name = importExternalTexture)]
    pub(super) fn import_external_texture(this: &Device, descriptor: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, js_name = createBindGroup)]
    pub(super) fn create_bind_group(this: &Device, descriptor: &JsValue) -> JsValue;
    #[wasm_bindgen(method, js_name = createShaderModule)]
    pub(super) fn create_shader_module(this: &Device, descriptor: &JsValue) -> JsValue;
    #[wasm_bindgen(method, js_name = createBindGroupLayout)]
    pub(super) fn create_bind_group_layout(this: &Device, descriptor: &JsValue) -> JsValue;
    #[wasm_bindgen(method, js_name = createPipelineLayout)]
    pub(super) fn create_pipeline_layout(this: &Device, descriptor: &JsValue) -> JsValue;
    #[wasm_bindgen(method, js_name = createComputePipelineAsync)]
    pub(super) fn create_compute_pipeline_async(this: &Device, descriptor: &JsValue) -> Promise;
    #[wasm_bindgen(method, js_name = createComputePipeline)]
    fn create_compute_pipeline(this: &Device, descriptor: &JsValue) -> Pipeline;
    #[wasm_bindgen(method, js_name = createCommandEncoder)]
    pub(super) fn create_command_encoder(this: &Device) -> Encoder;
    #[wasm_bindgen(method, catch, js_name = createQuerySet)]
    fn create_query_set(this: &Device, descriptor: &JsValue) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, js_name = pushErrorScope)]
    pub(super) fn push_error_scope(this: &Device, filter: &str);
    #[wasm_bindgen(method, js_name = popErrorScope)]
    pub(super) fn pop_error_scope(this: &Device) -> Promise;

    /// `GPUQueue`.
    pub(super) type Queue;
    #[wasm_bindgen(method)]
    pub(super) fn submit(this: &Queue, commands: &Array);
    #[wasm_bindgen(method, catch, js_name = writeBuffer)]
    pub(super) fn write_buffer(this: &Queue, buffer: &JsValue, offset: f64, data: &JsValue) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch, js_name = copyExternalImageToTexture)]
    pub(super) fn copy_external_image(
        this: &Queue,
        source: &JsValue,
        target: &JsValue,
        size: &Array,
    ) -> Result<(), JsValue>;

    /// `GPUTexture`.
    pub(super) type Texture;
    #[wasm_bindgen(method, js_name = createView)]
    pub(super) fn create_view(this: &Texture) -> JsValue;

    /// `GPUComputePipeline`.
    #[derive(Clone)]
    pub(super) type Pipeline;
    #[wasm_bindgen(method, js_name = getBindGroupLayout)]
    pub(super) fn bind_group_layout(this: &Pipeline, group: u32) -> JsValue;

    /// `GPUCommandEncoder`.
    pub(super) type Encoder;
    #[wasm_bindgen(method, js_name = beginComputePass)]
    pub(super) fn begin_compute_pass(this: &Encoder, descriptor: &JsValue) -> Pass;
    #[wasm_bindgen(method, js_name = resolveQuerySet)]
    pub(super) fn resolve_query_set(this: &Encoder, set: &JsValue, first: u32, count: u32, to: &JsValue, offset: f64);
    #[wasm_bindgen(method, catch, js_name = copyBufferToBuffer)]
    pub(super) fn copy_buffer(
        this: &Encoder,
        from: &JsValue,
        from_offset: f64,
        to: &JsValue,
        to_offset: f64,
        bytes: f64,
    ) -> Result<(), JsValue>;
    #[wasm_bindgen(method)]
    pub(super) fn finish(this: &Encoder) -> JsValue;

    /// `GPUComputePassEncoder`.
    pub(super) type Pass;
    #[wasm_bindgen(method, js_name = setPipeline)]
    pub(super) fn set_pipeline(this: &Pass, pipeline: &Pipeline);
    #[wasm_bindgen(method, js_name = setBindGroup)]
    pub(super) fn set_bind_group(this: &Pass, group: u32, bind_group: &JsValue);
    #[wasm_bindgen(method, js_name = dispatchWorkgroups)]
    pub(super) fn dispatch(this: &Pass, x: u32, y: u32, z: u32);
    #[wasm_bindgen(method)]
    pub(super) fn end(this: &Pass);
}

impl Device {
    /// A set of `count` timestamps; none where the device has no clock.
    pub(super) fn timestamps(&self, count: u32) -> Option<JsValue> {
        self.create_query_set(&object(&[("type", "timestamp".into()), ("count", count.into())])).ok()
    }

    /// A pipeline of entry point `main`, its layout taken from the text.
    pub(super) fn pipeline(&self, wgsl: &str) -> Pipeline {
        let module = self.create_shader_module(&object(&[("code", wgsl.into())]));
        let compute = object(&[("module", module), ("entryPoint", "main".into())]);
        self.create_compute_pipeline(&object(&[("layout", "auto".into()), ("compute", compute)]))
    }
}

/// The browser's own object behind one of wgpu's.
pub(super) fn raw<T: JsCast>(of: &impl AsRef<JsValue>) -> &T {
    of.as_ref().unchecked_ref()
}
