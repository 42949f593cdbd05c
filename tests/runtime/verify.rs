//! Layers against their references: a sound network passes, a kernel broken on purpose is named.

use crate::fixture::*;
use frameway::engine::{CompileOptions, Engine, compile_keeping_graph};
use frameway::graph::{Builder, Graph, noise};
use frameway::runtime::{Feed, Runtime};
use frameway::tensor::{DType, Tensor};

fn network(runtime: &Runtime) -> (Engine, Graph) {
    let b = Builder::new("block");
    let x = b.input("x", DType::F32, [1, 3, 16, 16]);
    let y = x.conv(b.weights("w", [8, 3, 3, 3]), None, 1, 1).relu();
    let z = y.conv(b.weights("v", [8, 8, 1, 1]), None, 1, 0) + y;
    let graph = b.finish([("y", z.mean_of_axes([2, 3]))]).unwrap();
    compile_keeping_graph(graph, 0, &CompileOptions::default(), &runtime.target(), &mut |_| {}).unwrap()
}

fn picture() -> Tensor {
    let mut seed = 3;
    Tensor::f32([1, 3, 16, 16], (0..3 * 256).map(|_| noise(&mut seed)).collect()).unwrap()
}

#[test]
fn a_sound_network_agrees_with_its_references() {
    on_device(|runtime| async move {
        let (engine, graph) = network(&runtime);
        let loaded = load(&runtime, engine).await;
        let x = picture();
        let found = loaded.verify(&graph, &[("x", Feed::Tensor(&x))], 3).await.unwrap();
        println!("{found:?}");
        assert!(found.ok && found.repeatable && found.first.is_none());
        assert_eq!((found.runs, found.layers), (3, graph.nodes.len()));
        assert!(found.worst.unwrap().error < 1e-5);
        loaded.close().await;
        assert_eq!(runtime.ledger().memory().gpu.total, 0);
    });
}

#[test]
fn a_broken_kernel_is_named() {
    on_device(|runtime| async move {
        let (mut engine, graph) = network(&runtime);
        let reduce = engine.build.layers.iter().position(|l| l.op.starts_with("Reduce")).unwrap();
        let used = engine.recording.commands.iter().find_map(|c| match c {
            frameway::recording::Command::Dispatch(d) if d.layer == reduce => Some(d.shader),
            _ => None,
        });
        let wgsl = &mut engine.recording.shaders[used.unwrap()].wgsl;
        let broken = wgsl.replacen("params.elements", "(params.elements - 1u)", 9);
        assert_ne!(*wgsl, broken);
        *wgsl = broken;
        let loaded = load(&runtime, engine).await;
        let x = picture();
        let found = loaded.verify(&graph, &[("x", Feed::Tensor(&x))], 2).await.unwrap();
        let first = found.first.unwrap();
        println!("{first:?}");
        assert!(!found.ok && first.index == reduce && first.op.starts_with("Reduce") && first.error > 1e-3);
    });
}

#[test]
fn an_input_that_is_an_output_is_a_layer_of_its_own() {
    on_device(|runtime| async move {
        let b = Builder::new("aside");
        let x = b.input("x", DType::F32, [1, 3, 16, 16]);
        let graph = b.finish([("y", x.relu()), ("x", x)]).unwrap();
        let options = CompileOptions::default();
        let (engine, graph) = compile_keeping_graph(graph, 0, &options, &runtime.target(), &mut |_| {}).unwrap();
        let layers = engine.build.layers.len();
        let loaded = load(&runtime, engine).await;
        let x = picture();
        let found = loaded.verify(&graph, &[("x", Feed::Tensor(&x))], 1).await.unwrap();
        assert!(found.ok && found.layers == layers && layers == 2);
    });
}

#[test]
fn another_models_graph_is_refused() {
    on_device(|runtime| async move {
        let (engine, _) = network(&runtime);
        let loaded = load(&runtime, engine).await;
        let b = Builder::new("other");
        let other = b.finish([("y", b.input("x", DType::F32, [1, 3, 16, 16]).relu())]).unwrap();
        let x = picture();
        let e = loaded.verify(&other, &[("x", Feed::Tensor(&x))], 1).await.unwrap_err();
        assert_eq!(e.kind(), frameway::ErrorKind::PlanMismatch);
    });
}
