//! Limits of a runtime's memory pools, over all engines and requests.

use crate::fixture::*;
use frameway::engine::{Bytes, CompileOptions, MemoryLimits, compile_graph};
use frameway::graph::Builder;
use frameway::ops::{Op, Pool, PoolKind, Window};
use frameway::runtime::{Feed, LoadOptions, LoadedEngine, Runtime, RuntimeOptions};
use frameway::tensor::{DType, Tensor};
use frameway::{Error, ErrorKind};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

fn limited(limits: MemoryLimits) -> RuntimeOptions {
    RuntimeOptions { limits, ..RuntimeOptions::default() }
}

/// The number in front of ` bytes` that the hint names for `pool`.
fn enough(error: &Error, pool: &str) -> u64 {
    let hint = error.advice().unwrap();
    let at = hint.find(&format!("{pool} of ")).unwrap_or_else(|| panic!("{hint}"));
    hint[at..].split(|c: char| !c.is_ascii_digit()).find_map(|n| n.parse().ok()).unwrap()
}

async fn runs(engine: &LoadedEngine) {
    let x = Tensor::f32([4], vec![1.0; 4]).unwrap();
    let y = engine.run(&[("x", Feed::Tensor(&x))]).await.unwrap();
    assert_eq!(y[0].as_ref().unwrap().as_slice::<f32>().unwrap(), [11.0, 12.0, 13.0, 14.0]);
}

fn taken(runtime: &Runtime) -> Vec<u64> {
    runtime.pools().iter().map(|pool| pool.in_use).collect()
}

#[test]
fn arenas_of_all_requests_count() {
    // An arena of `scale` has 512 bytes.
    let limits = |n| MemoryLimits { activations: Some(Bytes(n)), ..MemoryLimits::default() };
    on_device_with(limited(limits(2 * 512)), |runtime| async move {
        let (a, b) = (load(&runtime, scale()).await, load(&runtime, scale()).await);
        let first = a.requests(1).await.unwrap();
        let before = (runtime.ledger().memory(), runtime.ledger().snapshot().buffers_created);
        let e = b.requests(2).await.unwrap_err();
        assert_eq!((e.kind(), e.place()), (ErrorKind::MemoryLimit, Some("pool \"activations\" of the runtime")));
        for number in ["1024 bytes of activations", "512 are in use", "the limit is 1024", "2 requests of engine"] {
            assert!(e.message().contains(number), "{e}");
        }
        assert_eq!(enough(&e, "activations"), 3 * 512);
        // Nothing was made, nothing is lost, and what fits goes on.
        assert_eq!((runtime.ledger().memory(), runtime.ledger().snapshot().buffers_created), before);
        runs(&b).await;
        assert_eq!(taken(&runtime), [1024]);
        assert_eq!(kind(a.requests(1).await), ErrorKind::MemoryLimit);
        first.close().await;
        assert_eq!(taken(&runtime), [512]);
        runs(&a).await;
        b.close().await;
        drop(b);
        let last = a.requests(1).await.unwrap();
        assert_eq!(taken(&runtime), [1024]);
        assert_eq!(runtime.ledger().memory().gpu.arena, 1024);
        drop((first, last, a));
        assert_eq!(taken(&runtime), [0]);
    });
    on_device_with(limited(limits(3 * 512)), |runtime| async move {
        let (a, b) = (load(&runtime, scale()).await, load(&runtime, scale()).await);
        let pools = (a.requests(1).await.unwrap(), b.requests(2).await.unwrap());
        assert_eq!(runtime.ledger().memory().gpu.arena, 3 * 512);
        drop(pools);
    });
}

#[test]
fn weights_of_all_engines_count() {
    let limits = MemoryLimits { weights: Some(Bytes(40)), ..MemoryLimits::default() };
    on_device_with(limited(limits), |runtime| async move {
        let (a, b) = (load(&runtime, scale()).await, load(&runtime, scale()).await);
        let before = runtime.ledger().memory();
        let e = runtime.load(scale(), LoadOptions::default()).await.unwrap_err();
        assert_eq!((e.kind(), e.place()), (ErrorKind::MemoryLimit, Some("pool \"weights\" of the runtime")));
        assert!(e.message().contains("32 are in use, the limit is 40"), "{e}");
        assert_eq!(enough(&e, "weights"), 48);
        assert_eq!(runtime.ledger().memory(), before);
        runs(&b).await;
        a.close().await;
        let c = load(&runtime, scale()).await;
        runs(&c).await;
        assert_eq!(taken(&runtime), [32]);
    });
}

#[test]
fn staging_rings_count_whole() {
    on_device(|probe| async move {
        // With how much one request goes is what the error says.
        let options = |n| {
            limited(MemoryLimits { staging: Some(Bytes(n)), activations: Some(Bytes(1)), ..MemoryLimits::default() })
        };
        let tight = Runtime::create(options(1)).await.unwrap();
        let e = tight.load(scale(), LoadOptions::default()).await.unwrap_err();
        assert_eq!(e.place(), Some("pool \"activations\", pool \"staging\" of the runtime"));
        let (arena, ring) = (enough(&e, "activations"), enough(&e, "staging"));
        assert_eq!(arena, 512);
        let just = limited(MemoryLimits { staging: Some(Bytes(ring)), ..MemoryLimits::default() });
        let runtime = Runtime::create(just).await.unwrap();
        let engine = load(&runtime, scale()).await;
        let pool = engine.requests(1).await.unwrap();
        assert_eq!(kind(engine.requests(1).await), ErrorKind::MemoryLimit);
        let request = pool.acquire().await.unwrap();
        let x = Tensor::f32([4], vec![1.0; 4]).unwrap();
        let feeds = [("x", Feed::Tensor(&x))];
        let under_way = [(); 3].map(|()| request.submit(&feeds).unwrap());
        for run in under_way {
            run.await.unwrap();
        }
        // All that was counted is there now, and no more.
        assert_eq!(runtime.ledger().memory().gpu.staging, ring);
        // An engine that keeps fewer buffers for reading back takes less.
        drop((request, pool));
        let small = LoadOptions { staging_limit: Some(ring - 1), ..LoadOptions::default() };
        let narrow = runtime.load(scale(), small).await.unwrap();
        let pool = narrow.requests(1).await.unwrap();
        assert!(taken(&runtime)[0] < ring, "{:?}", runtime.pools());
        drop((pool, probe));
    });
}

#[test]
fn two_that_ask_at_once_do_not_share_the_last_room() {
    let limits = MemoryLimits { activations: Some(Bytes(512)), ..MemoryLimits::default() };
    on_device_with(limited(limits), |runtime| async move {
        let engine = load(&runtime, scale()).await;
        let (mut first, mut second) = (pin!(engine.requests(1)), pin!(engine.requests(1)));
        let mut outcomes = Vec::new();
        let mut pending = [true, true];
        while pending.contains(&true) {
            for (i, future) in [first.as_mut(), second.as_mut()].into_iter().enumerate() {
                if !pending[i] {
                    continue;
                }
                if let Poll::Ready(outcome) = future.poll(&mut Context::from_waker(Waker::noop())) {
                    pending[i] = false;
                    outcomes.push(outcome);
                }
            }
        }
        assert_eq!(outcomes.iter().filter(|o| o.is_ok()).count(), 1);
        assert_eq!(runtime.ledger().memory().peaks.arena, 512);
    });
}

#[test]
fn a_workspace_that_is_not_there_takes_another_kernel() {
    let graph = || {
        let window = Window { kernel: vec![5, 5], pads: vec![2; 4], ..Window::default() };
        let builder = Builder::new("pool");
        let op = Op::Pool(Pool { kind: PoolKind::Max, window, ceil_mode: false });
        let y = builder.input("x", DType::F32, [1, 4, 8, 8]).apply(op);
        builder.finish([("y", y)]).unwrap()
    };
    let compile = move |runtime: &Runtime| {
        compile_graph(graph(), 0, &CompileOptions::default(), &runtime.target(), &mut |_| {}).unwrap()
    };
    let workspace = |engine: &LoadedEngine| engine.engine().build.layers.iter().map(|l| l.workspace).max().unwrap();
    let limits = |bytes| MemoryLimits { workspace: Some(Bytes(bytes)), ..MemoryLimits::default() };
    on_device_with(limited(limits(1023)), move |runtime| async move {
        let engine = load(&runtime, compile(&runtime)).await;
        engine.requests(3).await.unwrap();
        assert_eq!(workspace(&engine), 0);
    });
    on_device_with(limited(limits(2 * 1024)), move |runtime| async move {
        let engine = load(&runtime, compile(&runtime)).await;
        assert_eq!(workspace(&engine), 1024);
        let e = engine.requests(3).await.unwrap_err();
        assert_eq!((e.kind(), enough(&e, "workspace")), (ErrorKind::MemoryLimit, 3 * 1024));
        engine.requests(2).await.unwrap();
    });
}
