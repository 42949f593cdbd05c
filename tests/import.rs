//! The importer: every form a file may take, every way it may be wrong.

#[path = "common/golden.rs"]
#[allow(dead_code, reason = "shared by several tests")]
mod golden;
#[path = "common/onnx_file.rs"]
mod onnx_file;

use frameway::error::ErrorKind;
use frameway::graph::{Graph, noise};
use frameway::import::{ImportOptions, import, summary};
use frameway::passes::{PassOptions, optimize};
use frameway::tensor::{DType, Tensor};
use frameway::{Error, Result};
use onnx_file::{Dim, Message, float, floats, int, ints, model, node, tensor, tensor_attribute, text, value};

fn read(bytes: &[u8]) -> Result<Graph> {
    import(bytes, None, &ImportOptions::default())
}

fn with_shapes(bytes: &[u8], shapes: &[(&str, &[usize])]) -> Result<Graph> {
    let shapes = shapes.iter().map(|(n, s)| ((*n).to_owned(), s.to_vec())).collect();
    import(bytes, None, &ImportOptions { shapes })
}

fn refused(bytes: &[u8]) -> Error {
    read(bytes).expect_err("the file should be refused")
}

fn x() -> Message {
    value("x", 1, &[Dim::Is(2), Dim::Is(3)])
}

fn y() -> Message {
    value("y", 1, &[])
}

/// A model of one node from `x` to `y`.
fn one(opset: i64, op: &str, attributes: &[Message]) -> Vec<u8> {
    model(opset, &[node(op, &["x"], &["y"], attributes)], &[], &[x()], &[y()])
}

/// The value of a model's only output, which must be a constant.
fn folded(opset: i64, nodes: &[Message], weights: &[Message]) -> Tensor {
    let graph = read(&model(opset, nodes, weights, &[], &[y()])).expect("a valid file");
    graph.constant(graph.outputs[0]).expect("a constant").clone()
}

#[test]
fn constants_in_every_form() {
    let scalar = tensor("", 1, &[]).float(4, 2.5);
    let cases = [
        (tensor_attribute("value", &scalar), DType::F32, vec![], vec![2.5]),
        (float("value_float", 1.5), DType::F32, vec![], vec![1.5]),
        (floats("value_floats", &[1.0, 2.0]), DType::F32, vec![2], vec![1.0, 2.0]),
        (int("value_int", -3), DType::I64, vec![], vec![-3.0]),
        (ints("value_ints", &[4, 5, 6]), DType::I64, vec![3], vec![4.0, 5.0, 6.0]),
    ];
    for (attribute, dtype, shape, numbers) in cases {
        let got = folded(13, &[node("Constant", &[], &["y"], &[attribute])], &[]);
        assert_eq!((got.dtype(), got.shape().to_vec(), got.data().to_f64()), (dtype, shape, numbers));
    }
    let e = refused(&model(13, &[node("Constant", &[], &["y"], &[text("value_string", "no")])], &[], &[], &[y()]));
    assert_eq!(e.kind(), ErrorKind::UnsupportedOp);
}

#[test]
fn weights_in_every_element_type() {
    let packed = |field, bytes: &[u8], data_type| tensor("w", data_type, &[2]).bytes(field, bytes);
    let cases = [
        (tensor("w", 1, &[2]).float(4, 1.0).float(4, -2.0), DType::F32, [1.0, -2.0]),
        (packed(4, &[0, 0, 128, 63, 0, 0, 0, 192], 1), DType::F32, [1.0, -2.0]),
        (packed(9, &[0, 0, 128, 63, 0, 0, 0, 192], 1), DType::F32, [1.0, -2.0]),
        (tensor("w", 7, &[2]).int(7, -1).int(7, 9), DType::I64, [-1.0, 9.0]),
        (packed(7, &[1, 2], 7), DType::I64, [1.0, 2.0]),
        (tensor("w", 6, &[2]).int(5, -1).int(5, 9), DType::I32, [-1.0, 9.0]),
        (tensor("w", 9, &[2]).int(5, 1).int(5, 0), DType::Bool, [1.0, 0.0]),
        (packed(9, &[7, 0], 9), DType::Bool, [1.0, 0.0]),
        (tensor("w", 2, &[2]).int(5, 255).int(5, 0), DType::U8, [255.0, 0.0]),
        (tensor("w", 3, &[2]).int(5, -128).int(5, 0), DType::I8, [-128.0, 0.0]),
        (tensor("w", 10, &[2]).int(5, 0x3c00).int(5, 0xc000), DType::F16, [1.0, -2.0]),
        (packed(9, &[0, 0x3c, 0, 0xc0], 10), DType::F16, [1.0, -2.0]),
        // Element types that no GPU holds are taken in the next one that holds them.
        (packed(9, &[0x80, 0x3f, 0, 0xc0], 16), DType::F32, [1.0, -2.0]),
        (packed(9, &[1f64.to_le_bytes(), (-2f64).to_le_bytes()].concat(), 11), DType::F32, [1.0, -2.0]),
        (packed(9, &[1, 0, 0xfe, 0xff], 5), DType::I32, [1.0, -2.0]),
        (tensor("w", 12, &[2]).int(11, 1).int(11, 0xffff_ffff), DType::U32, [1.0, 4_294_967_295.0]),
    ];
    for (weight, dtype, numbers) in cases {
        let graph = read(&model(13, &[node("Identity", &["w"], &["y"], &[])], &[weight], &[], &[y()])).unwrap();
        let got = graph.constant(graph.outputs[0]).unwrap();
        assert_eq!((got.dtype(), got.data().to_f64()), (dtype, numbers.to_vec()));
    }
}

#[test]
fn weights_that_contradict_themselves() {
    let with =
        |weight| refused(&model(13, &[node("Identity", &["w"], &["y"], &[])], &[weight], &[], &[y()])).to_string();
    let cases = [
        (tensor("w", 1, &[3]).float(4, 1.0), "weight \"w\": shape [3] needs 3 elements, the file holds 1"),
        (tensor("w", 1, &[2]).bytes(9, &[1, 2, 3]), "3 bytes are no whole number of float32 elements"),
        (tensor("w", 1, &[-2]), "is negative or too large"),
        (tensor("w", 1, &[i64::MAX, i64::MAX]), "more elements than memory can address"),
        (tensor("w", 1, &[1 << 40]), "the file holds 0"),
        (tensor("w", 8, &[1]), "string elements are not supported"),
        (tensor("w", 99, &[1]), "element type 99 does not exist"),
        (tensor("w", 0, &[1]), "the element type is not stated"),
        (tensor("w", 2, &[1]).int(5, 256), "element 256 is too large"),
        (tensor("w", 1, &[1]).int(14, 1), "external data"),
    ];
    for (weight, want) in cases {
        let got = with(weight);
        assert!(got.contains(want), "{got} should say {want}");
    }
}

#[test]
fn older_opsets_become_the_newest_form() {
    let weights = |names: &[(&str, &[i64])]| -> Vec<Message> {
        names.iter().map(|(n, v)| v.iter().fold(tensor(n, 7, &[v.len() as i64]), |m, &i| m.int(7, i))).collect()
    };
    let data = tensor("d", 1, &[2, 1, 3]);
    let data = (0..6).fold(data, |m, i| m.float(4, i as f32 - 2.0));
    let both = |old_opset, op: &str, old: &[Message], inputs: &[(&str, &[i64])]| {
        let old = folded(old_opset, &[node(op, &["d"], &["y"], old)], std::slice::from_ref(&data));
        let names: Vec<&str> = ["d"].into_iter().chain(inputs.iter().map(|(n, _)| *n)).collect();
        let weights = [weights(inputs), vec![data.clone()]].concat();
        let new = folded(18, &[node(op, &names, &["y"], &[])], &weights);
        assert_eq!(old, new, "{op}");
    };
    both(9, "Squeeze", &[ints("axes", &[1])], &[("axes", &[1])]);
    both(11, "Unsqueeze", &[ints("axes", &[0, 4])], &[("axes", &[0, 4])]);
    both(
        9,
        "Slice",
        &[ints("starts", &[1]), ints("ends", &[3]), ints("axes", &[2])],
        &[("s", &[1]), ("e", &[3]), ("a", &[2])],
    );
    both(10, "Pad", &[ints("pads", &[0, 0, 1, 0, 0, 1])], &[("pads", &[0, 0, 1, 0, 0, 1])]);
    both(13, "ReduceMean", &[ints("axes", &[2])], &[("axes", &[2])]);
    both(11, "ReduceSum", &[ints("axes", &[0])], &[("axes", &[0])]);
    let clipped = folded(
        9,
        &[node("Clip", &["d"], &["y"], &[float("min", -1.0), float("max", 2.0)])],
        std::slice::from_ref(&data),
    );
    assert_eq!(clipped.to_f32(), [-1.0, -1.0, 0.0, 1.0, 2.0, 2.0]);
}

#[test]
fn every_unsupported_node_is_listed_at_once() {
    let nodes = [
        node("Relu", &["x"], &["a"], &[]),
        node("Frobnicate", &["a"], &["b"], &[]),
        node("MaxPool", &["p"], &["c", "indices"], &[ints("kernel_shape", &[2, 2])]),
        node("If", &["b"], &["d"], &[]),
        node("Add", &["b", "indices"], &["e"], &[]),
        node("Softmax", &["a"], &["y"], &[int("axis", 1), int("temperature", 2)]),
    ];
    let p = value("p", 1, &[Dim::Is(1), Dim::Is(1), Dim::Is(4), Dim::Is(4)]);
    let e = refused(&model(13, &nodes, &[], &[x(), p], &[y()]));
    assert_eq!(e.kind(), ErrorKind::UnsupportedOp);
    assert_eq!(
        e.message(),
        "4 nodes are not supported:\n  \
         node \"b\" (Frobnicate): the operator is not supported\n  \
         node \"c\" (MaxPool): the indices output is not supported\n  \
         node \"d\" (If): operators with subgraphs are not supported\n  \
         node \"y\" (Softmax): attribute \"temperature\" is not supported"
    );
}

#[test]
fn an_output_that_nobody_reads_is_no_obstacle() {
    let p = value("p", 1, &[Dim::Is(1), Dim::Is(1), Dim::Is(4), Dim::Is(4)]);
    let nodes = [node("MaxPool", &["p"], &["y", "indices"], &[ints("kernel_shape", &[2, 2])])];
    assert!(read(&model(13, &nodes, &[], &[p], &[y()])).is_ok());
}

#[test]
fn graphs_that_contradict_themselves() {
    let relu = |from, to| node("Relu", &[from], &[to], &[]);
    let cases = [
        (
            model(13, &[relu("nowhere", "y")], &[], &[x()], &[y()]),
            "it reads \"nowhere\", which nothing before it makes",
        ),
        (
            model(13, &[relu("y", "a"), relu("x", "y")], &[], &[x()], &[y()]),
            "it reads \"y\", which nothing before it makes",
        ),
        (model(13, &[relu("x", "y"), relu("x", "y")], &[], &[x()], &[y()]), "\"y\" is made twice"),
        (model(13, &[relu("x", "z")], &[], &[x()], &[y()]), "output \"y\": no node makes it"),
        (model(13, &[relu("x", "y")], &[], &[x(), x()], &[y()]), "two inputs have this name"),
        (model(13, &[relu("x", "y")], &[], &[x()], &[]), "the model has no outputs"),
        (model(13, &[node("Relu", &[], &["y"], &[])], &[], &[x()], &[y()]), "input 0 is missing"),
        (model(13, &[node("Relu", &["x"], &[], &[])], &[], &[x()], &[y()]), "it has no outputs"),
        (one(13, "Concat", &[text("axis", "one")]), "attribute \"axis\" should be an int and is a string"),
    ];
    for (bytes, want) in cases {
        let e = refused(&bytes);
        assert_eq!(e.kind(), ErrorKind::InvalidModel, "{e}");
        assert!(e.to_string().contains(want), "{e} should say {want}");
    }
}

#[test]
fn files_of_another_kind() {
    let cases: [(&[u8], &str); 7] = [
        (b"", "the file is empty"),
        (b"\n<!DOCTYPE html><html>", "an HTML or XML page"),
        (b"version https://git-lfs.github.com/spec/v1", "a Git LFS pointer"),
        (b"PK\x03\x04\x14\0", "a zip archive"),
        (b"{\"model\": 1}", "JSON"),
        (b"\x1c\0\0\0TFL3\0\0", "TFLite"),
        (b"\x08\x07\x12\x04test", "holds no graph"),
    ];
    for (bytes, want) in cases {
        let e = refused(bytes);
        assert_eq!(e.kind(), ErrorKind::InvalidModel);
        assert!(e.to_string().contains(want), "{e} should say {want}");
    }
    for opset in [6, 99] {
        let e = refused(&one(opset, "Relu", &[]));
        assert_eq!(e.kind(), ErrorKind::UnsupportedOp);
        assert!(e.message().contains(&format!("operator set {opset}")), "{e}");
    }
}

#[test]
fn dynamic_dimensions() {
    let x = || value("x", 1, &[Dim::Named("N"), Dim::Is(3), Dim::Is(-1)]);
    let bytes = model(13, &[node("Relu", &["x"], &["y"], &[])], &[], &[x()], &[y()]);
    let e = refused(&bytes);
    assert_eq!(
        e.to_string(),
        "shape-mismatch: input \"x\": its shape [N, 3, ?] is not fixed (pass shapes: { \"x\": […, 3, …] })"
    );
    let graph = with_shapes(&bytes, &[("x", &[2, 3, 5])]).unwrap();
    assert_eq!(graph.ty(graph.outputs[0]).unwrap().shape.to_vec(), [2, 3, 5]);
    for (shapes, want) in [(("x", &[2, 4, 5][..]), "does not fit"), (("z", &[1][..]), "the model's inputs are \"x\"")] {
        let e = with_shapes(&bytes, &[shapes]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::ShapeMismatch);
        assert!(e.message().contains(want), "{e}");
    }
    let summary = summary(&bytes, None).unwrap();
    assert_eq!(summary.dynamic_inputs().map(|i| i.dims_text()).collect::<Vec<_>>(), ["[N, 3, ?]"]);
    assert_eq!((summary.opset, summary.operators["Relu"]), (13, 1));
}

#[test]
fn a_small_file_cannot_ask_for_unlimited_memory() {
    let of_shape = |dims: [i64; 2]| {
        let shape = dims.iter().fold(tensor("s", 7, &[2]), |m, &d| m.int(7, d));
        let nodes = [node("ConstantOfShape", &["s"], &["a"], &[]), node("Add", &["a", "x"], &["y"], &[])];
        read(&model(13, &nodes, &[shape], &[value("x", 1, &[Dim::Is(1)])], &[y()]))
    };
    // A large constant is not computed at compile time; an absurd one is refused.
    assert_eq!(of_shape([1 << 10, 1 << 16]).unwrap().nodes.len(), 2);
    assert_eq!(of_shape([1 << 20, 1 << 20]).unwrap_err().kind(), ErrorKind::MemoryLimit);
}

/// Bytes cut short or changed must give an error or a graph, never a panic.
fn damage(name: &str, bytes: &[u8], shapes: &ImportOptions, rounds: usize) {
    let mut seed = 1;
    let mut place = |n: usize| ((noise(&mut seed) + 0.5) * n as f32) as usize;
    let mut refused = 0;
    for _ in 0..rounds {
        let cut = place(bytes.len());
        refused += usize::from(import(&bytes[..cut], None, shapes).is_err());
    }
    assert!(refused * 100 >= rounds * 99, "{name}: {refused} of {rounds} truncated files refused");
    let mut changed = bytes.to_vec();
    for _ in 0..rounds {
        // Most of a model is weights, so half of the changes go where the structure is.
        let at = if place(2) == 0 { place(bytes.len()) } else { place(bytes.len().min(4096)) };
        let before = changed[at];
        changed[at] = place(256) as u8;
        if let Ok(mut graph) = import(&changed, None, shapes) {
            graph.check().expect(name);
            let _ = optimize(&mut graph, &PassOptions::default());
        }
        changed[at] = before;
    }
}

#[test]
fn damaged_files_never_panic() {
    let small = one(13, "Softmax", &[int("axis", 1)]);
    damage("small", &small, &ImportOptions::default(), 2000);
    for at in 0..small.len() {
        for value in 0..=255 {
            let mut changed = small.clone();
            changed[at] = value;
            if let Ok(mut graph) = read(&changed) {
                let _ = optimize(&mut graph, &PassOptions::default());
            }
        }
    }
    for (name, rounds) in [("blazeface_front_128", 150), ("ppocr_cls", 100), ("sinet_portrait_320", 100)] {
        let Some(golden) = golden::Golden::load(name) else { continue };
        let shapes = golden.inputs.iter().map(|(name, t)| (name.clone(), t.shape().to_vec())).collect();
        damage(name, &golden.model, &ImportOptions { shapes }, rounds);
    }
}
