//! One run: values, element types, accounts, errors.

use crate::fixture::*;
use frameway::ErrorKind;
use frameway::engine::{Build, Engine, Phase};
use frameway::recording::{Command, Range, Recording};
use frameway::runtime::ledger::Bounds;
use frameway::runtime::{Feed, LoadOptions, Pixels};
use frameway::tensor::{DType, Data, Tensor};
use std::cell::RefCell;

#[test]
fn computes_with_weights_and_parameters() {
    on_device(|runtime| async move {
        let engine = load(&runtime, scale()).await;
        let x = Tensor::f32([4], vec![1.0, 1.0, 2.0, -1.0]).unwrap();
        let y = engine.run(&[("x", Feed::Tensor(&x))]).await.unwrap();
        assert_eq!(y, [Some(Tensor::f32([4], vec![11.0, 12.0, 16.0, 6.0]).unwrap())]);
        println!("{:?}", runtime.adapter());
    });
}

#[test]
fn every_element_type_comes_back_as_it_went() {
    on_device(|runtime| async move {
        let cases = [
            Data::F32(vec![1.5, -2.0, f32::MAX]),
            Data::F16([0.5, -1.0, 3.0].map(half::f16::from_f32).to_vec()),
            Data::I32(vec![1, -2, i32::MIN]),
            Data::U32(vec![1, 2, u32::MAX]),
            Data::I64(vec![1, -2, i64::from(i32::MAX)]),
            Data::U8(vec![0, 7, 255]),
            Data::I8(vec![0, -7, -128]),
            Data::Bool(vec![0, 1, 1]),
        ];
        for data in cases {
            let dtype = data.dtype();
            let engine = load(&runtime, identity(dtype, 3)).await;
            let x = Tensor::new([3], data).unwrap();
            let y = engine.run(&[("x", Feed::Tensor(&x))]).await.unwrap();
            assert_eq!(y, [Some(x)], "{dtype}");
            engine.close().await;
        }
        assert_eq!(runtime.ledger().memory().gpu.total, 0);
    });
}

#[test]
fn conversions_are_counted_and_strict_refuses_them() {
    on_device(|runtime| async move {
        let long = Tensor::i64([3], vec![1, 2, 3]).unwrap();
        let engine = load(&runtime, identity(DType::I64, 3)).await;
        engine.run(&[("x", Feed::Tensor(&long))]).await.unwrap();
        let s = runtime.ledger().snapshot();
        let convert = s.edges.iter().find(|e| e.reason == Some("int64 becomes int32")).unwrap();
        assert_eq!((convert.bytes, convert.count, convert.implicit), (12, 1, true));
        assert_eq!(
            kind(runtime.ledger().assert(&Bounds { implicit: Some(0), ..Default::default() })),
            ErrorKind::LayoutMismatch
        );

        let far = Tensor::i64([3], vec![1, 1 << 40, 3]).unwrap();
        let e = engine.run(&[("x", Feed::Tensor(&far))]).await.unwrap_err();
        assert_eq!((e.kind(), e.place()), (ErrorKind::DtypeMismatch, Some("input \"x\"")));

        let options = LoadOptions { strict: true, ..Default::default() };
        let strict = runtime.load(identity(DType::I64, 3), options).await.unwrap();
        let e = strict.run(&[("x", Feed::Tensor(&long))]).await.unwrap_err();
        assert!(e.to_string().contains("edge javascript>input"), "{e}");
        let int = Tensor::new([3], Data::I32(vec![1, 2, 3])).unwrap();
        assert_eq!(strict.run(&[("x", Feed::Tensor(&int))]).await.unwrap(), [Some(long)]);
    });
}

#[test]
fn wrong_feeds_are_named() {
    on_device(|runtime| async move {
        let engine = load(&runtime, scale()).await;
        let run = async |name: &str, tensor: Tensor| {
            engine.run(&[(name, Feed::Tensor(&tensor))]).await.unwrap_err().to_string()
        };
        assert_eq!(
            run("z", Tensor::f32([4], vec![0.0; 4]).unwrap()).await,
            "bad-source: request of engine \"scale\": the model has no input \"z\" (its inputs are: x)"
        );
        assert_eq!(
            run("x", Tensor::f32([2, 2], vec![0.0; 4]).unwrap()).await,
            "shape-mismatch: input \"x\": expected [4], got [2, 2] (compile again with `shapes` for another input shape)"
        );
        assert_eq!(
            run("x", Tensor::new([4], Data::I32(vec![0; 4])).unwrap()).await,
            "dtype-mismatch: input \"x\": expected float32, got int32"
        );
        assert_eq!(
            engine.run(&[]).await.unwrap_err().to_string(),
            "bad-source: input \"x\": nothing was handed in for it (a run takes: x)"
        );
        let frame = Pixels { width: 1, height: 1, rgba: &[0; 4] };
        assert_eq!(kind(engine.run(&[("x", Feed::Frame(&frame))]).await), ErrorKind::BadSource);
    });
}

#[test]
fn the_account_of_a_run() {
    on_device(|runtime| async move {
        let engine = load(&runtime, scale()).await;
        let x = Tensor::f32([4], vec![1.0; 4]).unwrap();
        for _ in 0..5 {
            engine.run(&[("x", Feed::Tensor(&x))]).await.unwrap();
        }
        let s = runtime.ledger().snapshot();
        let bytes = |id: &str| s.edges.iter().find(|e| e.id == id).map(|e| (e.bytes_per_frame, e.count, e.bytes));
        assert_eq!(bytes("javascript>weights:upload"), Some((0, 1, 16)));
        assert_eq!(bytes("javascript>input:upload"), Some((16, 5, 80)));
        assert_eq!(bytes("result>staging:copy"), Some((16, 5, 80)));
        assert_eq!(bytes("staging>javascript:readback"), Some((16, 5, 80)));
        assert_eq!(s.frames, 5);
        let to_gpu: u64 = s.edges.iter().filter(|e| !e.from.on_gpu() && e.to.on_gpu()).map(|e| e.bytes).sum();
        assert_eq!(s.to_gpu_bytes, to_gpu);
        assert_eq!(to_gpu, 16 + 16 + 80);
    });
}

#[test]
fn a_thousand_runs_make_nothing() {
    on_device(|runtime| async move {
        let engine = load(&runtime, scale()).await;
        let pool = engine.requests(1).await.unwrap();
        let request = pool.acquire().await.unwrap();
        let x = Tensor::f32([4], vec![1.0; 4]).unwrap();
        drop(request.run(&[("x", Feed::Tensor(&x))]).await.unwrap());
        let warm = (runtime.ledger().snapshot(), runtime.ledger().memory());
        for _ in 0..1000 {
            request.run(&[("x", Feed::Tensor(&x))]).await.unwrap();
        }
        let after = (runtime.ledger().snapshot(), runtime.ledger().memory());
        assert_eq!(warm.0.buffers_created, after.0.buffers_created);
        assert_eq!(warm.0.bind_groups_created, after.0.bind_groups_created);
        assert_eq!(warm.1, after.1);
        assert_eq!(after.0.frames, 1001);
    });
}

#[test]
fn kernels_are_compiled_once() {
    on_device(|runtime| async move {
        let steps = RefCell::new(Vec::new());
        let first = runtime
            .load_with(scale(), LoadOptions::default(), &|p| steps.borrow_mut().push((p.phase, p.done, p.total)))
            .await
            .unwrap();
        let second = load(&runtime, scale()).await;
        assert_eq!((first.load_times().kernels_compiled, first.load_times().kernels_reused), (1, 0));
        assert_eq!((second.load_times().kernels_compiled, second.load_times().kernels_reused), (0, 1));
        assert_eq!(steps.into_inner(), [(Phase::Kernels, 1, 1), (Phase::Weights, 16, 16), (Phase::Ready, 1, 1)]);
    });
}

#[test]
fn a_kernel_that_does_not_compile_is_named() {
    on_device(|runtime| async move {
        let mut engine = scale();
        engine.recording.shaders[0].wgsl = "fn main() { this is no WGSL }".into();
        let e = runtime.load(engine, LoadOptions::default()).await.unwrap_err();
        assert_eq!((e.kind(), e.place()), (ErrorKind::UnsupportedOp, Some("kernel \"multiply_add\"")));
        assert_eq!(runtime.ledger().memory().gpu.total, 0);
    });
}

#[test]
fn a_recording_out_of_bounds_is_refused() {
    let break_it: [fn(&mut Engine); 6] = [
        |e| e.recording.arena_bytes = 256,
        |e| e.weights.truncate(15),
        |e| e.recording.commands.push(Command::Download { output: 7, from: Range { bytes: 4, ..e.outputs[0].range } }),
        |e| e.recording.commands.swap(0, 1),
        |e| e.recording.shaders.clear(),
        |e| {
            if let Command::Dispatch(d) = &mut e.recording.commands[1] {
                d.groups = [70_000, 1, 1];
            }
        },
    ];
    on_device(|runtime| async move {
        for (i, change) in break_it.iter().enumerate() {
            let mut engine = scale();
            change(&mut engine);
            let e = runtime.load(engine, LoadOptions::default()).await.unwrap_err();
            assert_eq!(e.kind(), ErrorKind::PlanMismatch, "case {i}: {e}");
        }
    });
}

#[test]
fn what_the_device_cannot_hold_is_a_memory_limit() {
    on_device(|runtime| async move {
        let mut engine = scale();
        engine.recording.arena_bytes = 1 << 45;
        let engine = load(&runtime, engine).await;
        let e = engine.requests(1).await.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::MemoryLimit);
        assert_eq!(e.place(), Some("pool \"activations\""));
        assert!(e.message().contains(&(1u64 << 45).to_string()), "{e}");
    });
}

#[test]
fn outputs_can_stay_on_the_gpu() {
    on_device(|runtime| async move {
        let options = LoadOptions { on_gpu: vec!["y".into()], ..Default::default() };
        let engine = runtime.load(scale(), options).await.unwrap();
        let x = Tensor::f32([4], vec![1.0; 4]).unwrap();
        let lease = engine.run_leased(&[("x", Feed::Tensor(&x))]).await.unwrap();
        assert_eq!(kind(lease.read(0)), ErrorKind::DeviceMismatch);
        assert_eq!(lease.detach().unwrap(), [None]);
        assert_eq!(runtime.ledger().snapshot().to_cpu_bytes, 0);
        assert_eq!(runtime.ledger().memory().gpu.staging, 0);
    });
}

#[test]
fn an_empty_recording_runs() {
    on_device(|runtime| async move {
        let engine = Engine {
            name: "empty".into(),
            recording: Recording::default(),
            weights: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            build: Build::default(),
        };
        let engine = load(&runtime, engine).await;
        assert_eq!(engine.run(&[]).await.unwrap(), []);
    });
}

#[test]
fn a_staging_limit_bounds_the_ring() {
    on_device(|runtime| async move {
        let small = LoadOptions { staging_limit: Some(100), ..Default::default() };
        let e = runtime.load(scale(), small).await.unwrap_err();
        assert_eq!((e.kind(), e.place()), (ErrorKind::MemoryLimit, Some("pool \"staging\"")));
        let need: u64 = e.advice().unwrap().split(|c: char| !c.is_ascii_digit()).find_map(|n| n.parse().ok()).unwrap();
        let just = LoadOptions { staging_limit: Some(need), ..Default::default() };
        let engine = runtime.load(scale(), just).await.unwrap();
        let pool = engine.requests(1).await.unwrap();
        let request = pool.acquire().await.unwrap();
        let x = Tensor::f32([4], vec![1.0; 4]).unwrap();
        let run = request.submit(&[("x", Feed::Tensor(&x))]).unwrap();
        assert_eq!(kind(request.submit(&[("x", Feed::Tensor(&x))])), ErrorKind::Busy);
        run.await.unwrap();
        request.run(&[("x", Feed::Tensor(&x))]).await.unwrap();
        assert!(runtime.ledger().memory().peaks.staging <= need);
    });
}
