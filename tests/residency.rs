//! What loading holds, phase by phase, on a heap that is counted. One test, for there is one heap.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(not(target_arch = "wasm32"))]

#[path = "runtime/fixture.rs"]
#[allow(dead_code, reason = "only the device is needed here")]
mod fixture;
#[path = "common/onnx_file.rs"]
#[allow(dead_code, reason = "it can write more than is needed here")]
mod onnx_file;

use fixture::on_device;
use frameway::engine::{CompileOptions, Detail, Phase, compile, compile_owned};
use frameway::heap::{self, Counting};
use frameway::runtime::LoadOptions;
use onnx_file::{Dim, model, node, tensor, value};

#[global_allocator]
static HEAP: Counting = Counting;

/// Side of the matrices.
const N: usize = 512;
const MATRIX: u64 = (N * N * 4) as u64;

/// `y = x · a · b`, a and b of 1 MiB each.
fn file() -> Vec<u8> {
    let matrix = |name: &str, seed: usize| {
        let values: Vec<u8> = (0..N * N).flat_map(|i| (((i * seed) % 101) as f32).to_le_bytes()).collect();
        tensor(name, 1, &[N as i64; 2]).bytes(9, &values)
    };
    let port = |name| value(name, 1, &[Dim::Is(1), Dim::Is(N as i64)]);
    model(
        13,
        &[node("MatMul", &["x", "a"], &["h"], &[]), node("MatMul", &["h", "b"], &["y"], &[])],
        &[matrix("a", 7), matrix("b", 11)],
        &[port("x")],
        &[port("y")],
    )
}

#[test]
fn each_phase_holds_what_it_needs_and_scratch_is_freed() {
    counted();
    let mut file = file();
    file.shrink_to_fit();
    let size = file.len() as u64;
    on_device(|runtime| async move {
        let options = CompileOptions::default();
        // Whoever lends the file keeps it; whoever gives it away has it counted until it is read.
        let lent = compile(&file, &options, &runtime.target(), &mut |_| {}).unwrap();
        let mut told = Vec::new();
        let owned = compile_owned(file, &options, &runtime.target(), &mut |phase| told.push(phase)).unwrap();
        assert_eq!(told, [Phase::Import, Phase::Optimize, Phase::Plan, Phase::Lower]);
        let of = |engine: &frameway::engine::Engine| engine.build.residency.phases().to_vec();
        let import = of(&owned)[0].1 - of(&lent)[0].1;
        assert!(import.abs_diff(size) < size / 50, "{import} of {size}");
        drop(lent);

        runtime.tune(1.0).await.unwrap();
        assert!(runtime.ledger().memory().peaks.build > 0, "measuring needs scratch");
        let engine = runtime.load(owned, LoadOptions::default()).await.unwrap();
        let report = engine.engine().inspect(Detail::Names);
        let phases = &report.accounts.load.phases;
        let held = |phase| phases.iter().find(|p| p.phase == phase).unwrap().resident_bytes;
        println!("{:?}", phases.iter().map(|p| (p.phase, p.multiplier)).collect::<Vec<_>>());
        assert_eq!(phases.len(), 7);
        assert!(phases.iter().all(|p| p.multiplier == p.resident_bytes as f64 / size as f64));
        // The file and what was read from it.
        assert!(held(Phase::Import) >= 2 * size);
        // The file is gone, its matrices are there.
        assert!((2 * MATRIX..2 * MATRIX + size / 4).contains(&held(Phase::Optimize)), "{}", held(Phase::Optimize));
        // Packed beside unpacked.
        assert!(held(Phase::Lower) >= 4 * MATRIX);
        // Packed only.
        assert!((2 * MATRIX..3 * MATRIX).contains(&held(Phase::Kernels)), "{}", held(Phase::Kernels));
        // Still on the heap, and on the GPU.
        assert!(held(Phase::Weights) >= 4 * MATRIX);
        // On the GPU only.
        let memory = runtime.ledger().memory();
        assert_eq!(memory.gpu.build, 0, "scratch is freed");
        assert_eq!(memory.gpu.weights, 2 * MATRIX);
        assert!(
            (memory.gpu.total..memory.gpu.total + size / 2).contains(&held(Phase::Ready)),
            "{}",
            held(Phase::Ready)
        );
    });
}

/// The counts follow the heap, by whichever way it grows. The harness has a thread of its own with a little memory.
fn counted() {
    let before = heap::live();
    let since = |bytes: u64, expected: u64| bytes.abs_diff(before + expected) < 32 << 10;
    let mut bytes: Vec<u8> = Vec::with_capacity(1 << 20);
    let zeros = vec![0u64; 1 << 17];
    assert!(since(heap::live(), 2 << 20));
    bytes.reserve_exact(3 << 20);
    assert!(since(heap::live(), 4 << 20));
    heap::restart_peak();
    drop(bytes);
    assert!(since(heap::live(), 1 << 20));
    assert!(since(heap::peak(), 4 << 20));
    drop(zeros);
    assert!(since(heap::live(), 0));
}
