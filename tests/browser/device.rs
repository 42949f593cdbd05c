//! The harness itself: this browser has a WebGPU device, and one dispatch on it computes.

use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
async fn one_dispatch_doubles_its_input() {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapter = instance.request_adapter(&wgpu::RequestAdapterOptions::default()).await.expect("an adapter");
    let (device, queue) = adapter.request_device(&wgpu::DeviceDescriptor::default()).await.expect("a device");

    let input: Vec<f32> = (0..1000u16).map(f32::from).collect();
    let bytes = 4 * input.len() as u64;
    let buffer = |usage| {
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size: bytes, usage, mapped_at_creation: false })
    };
    let values = buffer(wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC);
    let staging = buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
    queue.write_buffer(&values, 0, bytemuck::cast_slice(&input));

    let module = device.create_shader_module(wgpu::include_wgsl!("double.wgsl"));
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let bindings = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry { binding: 0, resource: values.as_entire_binding() }],
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &bindings, &[]);
        pass.dispatch_workgroups(1000_u32.div_ceil(64), 1, 1);
    }
    encoder.copy_buffer_to_buffer(&values, 0, &staging, 0, bytes);
    queue.submit([encoder.finish()]);

    let mapped = js_sys::Promise::new(&mut |resolve, reject| {
        staging.map_async(wgpu::MapMode::Read, .., move |result| {
            let settle = if result.is_ok() { resolve } else { reject };
            settle.call0(&JsValue::NULL).expect("a promise settles");
        });
    });
    JsFuture::from(mapped).await.expect("the buffer maps");
    let output = staging.slice(..).get_mapped_range().expect("the range is mapped");
    let output: &[f32] = bytemuck::cast_slice(&output);
    assert!(input.iter().zip(output).all(|(x, y)| *y == 2.0 * x));
}
