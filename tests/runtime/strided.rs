//! Tensors whose strides are not the input's: laid again on the GPU and counted, or refused.

use crate::fixture::*;
use frameway::ErrorKind;
use frameway::engine::{Bytes, Engine, MemoryLimits};
use frameway::runtime::ledger::MoveKind;
use frameway::runtime::{Feed, LoadOptions, RuntimeOptions, Viewed};
use frameway::tensor::{DType, Data, Tensor, View};

/// `x [1, 3, 2, 2] -> y`, a copy.
fn copied(dtype: DType) -> Engine {
    let mut engine = identity(dtype, 12);
    for port in engine.inputs.iter_mut().chain(&mut engine.outputs) {
        let ty = frameway::tensor::TensorType::new(dtype, [1, 3, 2, 2]);
        port.desc = frameway::tensor::TensorDesc::contiguous(port.desc.name.clone(), &ty, port.desc.device);
    }
    engine
}

#[test]
fn channels_last_goes_into_channels_first() {
    on_device(|runtime| async move {
        let nchw = View::contiguous([1, 2, 2, 3]).permute(&[0, 3, 1, 2]).unwrap();
        let halves: Vec<_> = (0..12).map(|v| half::f16::from_f32(v as f32)).collect();
        let all = [
            Data::F32((0..12).map(|v| v as f32).collect()),
            Data::F16(halves),
            Data::U8((0..12).collect()),
            Data::I64((0..12).collect()),
        ];
        for memory in all {
            let dtype = memory.dtype();
            let engine = load(&runtime, copied(dtype)).await;
            let x = Viewed::new(&memory, nchw.clone()).unwrap();
            let expected = Tensor::new([1, 3, 2, 2], nchw.gather(&memory).unwrap()).unwrap();
            let buffers = |r: &frameway::runtime::Runtime| r.ledger().snapshot().buffers_created;
            for run in 0..3 {
                let before = buffers(&runtime);
                assert_eq!(engine.run(&[("x", Feed::Tensor(&x))]).await.unwrap(), [Some(expected.clone())], "{dtype}");
                assert!(run == 0 || buffers(&runtime) == before, "the way in is made once");
            }
            engine.close().await;
        }
        let snapshot = runtime.ledger().snapshot();
        let again: Vec<_> = snapshot.edges.iter().filter(|e| e.kind == MoveKind::Relayout).collect();
        assert_eq!(again.len(), 1);
        assert_eq!((again[0].count, again[0].bytes, again[0].implicit), (12, 3 * (3 * 48 + 24), true));
        assert_eq!(again[0].id, "staging>input:relayout/strides are not the input's");
        assert_eq!(runtime.ledger().memory().gpu.total, 0);
    });
}

#[test]
fn a_region_of_a_larger_picture_needs_no_copy_before() {
    on_device(|runtime| async move {
        let memory = Data::F32((0..3 * 5 * 7).map(|v| v as f32).collect());
        let engine = load(&runtime, copied(DType::F32)).await;
        for start in [[0, 0, 1, 2], [0, 0, 3, 4]] {
            let view = View::contiguous([1, 3, 5, 7]).region(&start, &[1, 3, 2, 2]).unwrap();
            let expected = Tensor::new([1, 3, 2, 2], view.gather(&memory).unwrap()).unwrap();
            let x = Viewed::new(&memory, view).unwrap();
            assert_eq!(engine.run(&[("x", Feed::Tensor(&x))]).await.unwrap(), [Some(expected)]);
        }
    });
}

#[test]
fn strict_names_the_edge() {
    on_device(|runtime| async move {
        let options = LoadOptions { strict: true, ..Default::default() };
        let engine = runtime.load(copied(DType::F32), options).await.unwrap();
        let memory = Data::F32(vec![0.0; 12]);
        let nchw = View::contiguous([1, 2, 2, 3]).permute(&[0, 3, 1, 2]).unwrap();
        let x = Viewed::new(&memory, nchw).unwrap();
        let e = engine.run(&[("x", Feed::Tensor(&x))]).await.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::LayoutMismatch);
        assert_eq!(
            e.to_string(),
            "layout-mismatch: input \"x\" (edge javascript>input): expected strides [12, 4, 2, 1], got [12, 1, 6, 3], and copies \
             are \"strict\" (hand in a contiguous row-major copy, or compile with copies: \"report\" to have it laid again on \
             the GPU)"
        );
    });
}

#[test]
fn the_way_in_counts_as_staging_memory() {
    let limits = MemoryLimits { staging: Some(Bytes(100)), ..MemoryLimits::default() };
    on_device_with(RuntimeOptions { limits, ..RuntimeOptions::default() }, |runtime| async move {
        let mut options = LoadOptions::default();
        options.on_gpu.push("y".to_owned());
        let engine = runtime.load(copied(DType::F32), options).await.unwrap();
        let small = Data::F32((0..12).map(|v| v as f32).collect());
        let nchw = View::contiguous([1, 2, 2, 3]).permute(&[0, 3, 1, 2]).unwrap();
        let x = Viewed::new(&small, nchw).unwrap();
        engine.run(&[("x", Feed::Tensor(&x))]).await.unwrap();
        let large = Data::F32(vec![0.0; 3 * 5 * 7]);
        let view = View::contiguous([1, 3, 5, 7]).region(&[0, 0, 1, 2], &[1, 3, 2, 2]).unwrap();
        let x = Viewed::new(&large, view).unwrap();
        let e = engine.run(&[("x", Feed::Tensor(&x))]).await.unwrap_err();
        assert_eq!(
            (e.kind(), e.place()),
            (ErrorKind::MemoryLimit, Some("pool \"staging\" of the runtime in input \"x\""))
        );
    });
}
