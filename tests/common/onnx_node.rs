//! The node tests of the ONNX standard: models, their inputs and the outputs they must give.
//!
//! They come with the Python package onnx 1.19.1 and are found through FRAMEWAY_ONNX_NODE_TESTS, a folder of `test_*`
//! folders, or by asking `python3`. Which of them are in scope is listed in `../shared/onnx-node/core.txt`.

#![allow(dead_code, reason = "each test takes what it needs")]

use frameway::tensor::{DType, Data, Tensor};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// How a case went.
pub enum Outcome {
    Pass,
    /// An operator or a form of one that is not served, with the error.
    Unsupported(String),
    /// A wrong value, or an error of another kind.
    Fail(String),
}

/// One test.
pub struct Case {
    model: Vec<u8>,
    /// Name and contents of each input that is fed.
    inputs: Vec<(String, Tensor)>,
    outputs: Vec<Tensor>,
    /// The inputs as the files hold them.
    raw_inputs: Vec<Vec<u8>>,
}

/// Where the tests lie, if they do.
fn folder() -> Option<&'static PathBuf> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let ask = "import onnx, os; print(os.path.join(os.path.dirname(onnx.__file__), 'backend/test/data/node'))";
    let python = || {
        let out = Command::new("python3").args(["-c", ask]).output().ok()?;
        Some(String::from_utf8(out.stdout).ok()?.trim().to_owned())
    };
    let find = || {
        let folder = PathBuf::from(std::env::var("FRAMEWAY_ONNX_NODE_TESTS").ok().or_else(python)?);
        folder.join("test_add").is_dir().then_some(folder)
    };
    FOLDER.get_or_init(find).as_ref()
}

/// Cases whose expected values wrap round the range of int8, where the operator's specification says saturate. We saturate.
const AGAINST_SPECIFICATION: [&str; 4] = [
    "test_qlinearmatmul_2D_int8_float16",
    "test_qlinearmatmul_2D_int8_float32",
    "test_qlinearmatmul_3D_int8_float16",
    "test_qlinearmatmul_3D_int8_float32",
];

/// How a list of cases went.
#[derive(Default)]
pub struct Tally(BTreeMap<&'static str, Vec<String>>);

impl Tally {
    pub fn add(&mut self, name: &str, outcome: Outcome) {
        let (word, detail) = match outcome {
            Outcome::Pass => ("pass", String::new()),
            Outcome::Unsupported(why) => ("unsupported", why),
            Outcome::Fail(why) if AGAINST_SPECIFICATION.contains(&name) => ("against the specification", why),
            Outcome::Fail(why) => ("FAIL", why),
        };
        self.0.entry(word).or_default().push(format!("{name}: {detail}"));
    }

    /// Prints the counts and what did not pass; fails on a wrong result, and on fewer passes than before.
    pub fn finish(self, must_pass: usize) {
        for (word, cases) in &self.0 {
            println!("{word}: {}", cases.len());
            if *word != "pass" {
                cases.iter().for_each(|case| println!("  {case}"));
            }
        }
        let failed = self.0.get("FAIL").map_or(0, Vec::len);
        assert_eq!(failed, 0, "wrong results or errors, listed above");
        let passed = self.0.get("pass").map_or(0, Vec::len);
        assert!(passed >= must_pass, "{passed} cases pass, {must_pass} did before");
    }
}

/// The names of the cases in scope; `None`, and a printed line, where they or the tests are absent.
pub fn core() -> Option<Vec<String>> {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/onnx-node/core.txt");
    let names = std::fs::read_to_string(&list).ok().filter(|_| folder().is_some());
    if names.is_none() {
        println!("skipped: needs {} and the node tests of onnx 1.19.1", list.display());
    }
    Some(names?.split_whitespace().map(str::to_owned).collect())
}

/// The case of this name.
pub fn case(name: &str) -> Case {
    let folder = folder().expect("the node tests");
    Case::read(&folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

impl Case {
    /// Tries `f` with the model and all inputs fed; where an operator wants some of them at compile time, all but the
    /// first become constants, and at last all.
    pub fn attempt(&self, mut f: impl FnMut(&[u8], &[Tensor]) -> Outcome) -> Outcome {
        let mut outcome = Outcome::Pass;
        for fed in [self.inputs.len(), 1, 0] {
            let Some(inputs) = self.inputs.get(..fed) else { continue };
            let feeds: Vec<Tensor> = inputs.iter().map(|(_, t)| t.clone()).collect();
            outcome = f(&self.with_constants(fed), &feeds);
            if !matches!(outcome, Outcome::Unsupported(_)) {
                break;
            }
        }
        outcome
    }

    /// Reads the model and the first data set.
    fn read(folder: &Path) -> Result<Self, String> {
        let read = |path: PathBuf| std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()));
        let model = read(folder.join("model.onnx"))?;
        let set = |what: &str| -> Result<Vec<Vec<u8>>, String> {
            let file = |i: usize| folder.join(format!("test_data_set_0/{what}_{i}.pb"));
            (0..).map(file).take_while(|path| path.exists()).map(read).collect()
        };
        let raw_inputs = set("input")?;
        let inputs = raw_inputs.iter().map(|bytes| tensor(bytes)).collect::<Result<_, _>>()?;
        let outputs = set("output")?.iter().map(|bytes| tensor(bytes).map(|(_, t)| t)).collect::<Result<_, _>>()?;
        Ok(Self { model, inputs, outputs, raw_inputs })
    }

    /// The model, in which inputs from `fed` on are weights.
    fn with_constants(&self, fed: usize) -> Vec<u8> {
        let mut model = Vec::new();
        for field in fields(&self.model) {
            let Field { number: 7, wire: 2, payload, .. } = field else {
                model.extend_from_slice(field.whole);
                continue;
            };
            let mut graph = payload.to_vec();
            for raw in &self.raw_inputs[fed..] {
                delimited(5, raw, &mut graph);
            }
            delimited(7, &graph, &mut model);
        }
        model
    }

    /// Holds results against the expected outputs, as the standard's own runner does: 1e-3 relative.
    pub fn compare(&self, results: &[Tensor]) -> Outcome {
        if results.len() != self.outputs.len() {
            return Outcome::Fail(format!("{} outputs, expected {}", results.len(), self.outputs.len()));
        }
        for (i, (got, want)) in results.iter().zip(&self.outputs).enumerate() {
            if got.ty() != want.ty() {
                return Outcome::Fail(format!("output {i} is {}, expected {}", got.ty(), want.ty()));
            }
            let absolute = if want.dtype() == DType::F16 { 1e-3 } else { 1e-6 };
            let close =
                |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= absolute + 1e-3 * b.abs();
            let (got, want) = (got.data().to_f64(), want.data().to_f64());
            if let Some(at) = (0..want.len()).find(|&j| !close(got[j], want[j])) {
                return Outcome::Fail(format!("output {i} at {at}: {}, expected {}", got[at], want[at]));
            }
        }
        Outcome::Pass
    }
}

struct Field<'a> {
    number: u64,
    wire: u64,
    /// Of a varint field the number; of a length-delimited or fixed one the bytes.
    value: u64,
    payload: &'a [u8],
    whole: &'a [u8],
}

fn varint(bytes: &[u8], at: &mut usize) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn fields(bytes: &[u8]) -> Vec<Field<'_>> {
    let mut all = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let key = varint(bytes, &mut at);
        let (mut value, mut payload) = (0, &bytes[at..at]);
        match key & 7 {
            0 => value = varint(bytes, &mut at),
            wire => {
                let len = match wire {
                    1 => 8,
                    5 => 4,
                    _ => varint(bytes, &mut at) as usize,
                };
                payload = &bytes[at..at + len];
                at += len;
            }
        }
        all.push(Field { number: key >> 3, wire: key & 7, value, payload, whole: &bytes[start..at] });
    }
    all
}

fn delimited(number: u64, payload: &[u8], out: &mut Vec<u8>) {
    for mut value in [number << 3 | 2, payload.len() as u64] {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }
    out.extend_from_slice(payload);
}

/// A TensorProto: name and contents.
fn tensor(bytes: &[u8]) -> Result<(String, Tensor), String> {
    let (mut dims, mut kind, mut name, mut raw) = (Vec::new(), 0, String::new(), None);
    let (mut varints, mut floats) = (Vec::new(), Vec::new());
    let all_varints = |f: &Field<'_>, into: &mut Vec<u64>| {
        if f.wire == 0 {
            into.push(f.value);
        }
        let mut at = 0;
        while at < f.payload.len() {
            into.push(varint(f.payload, &mut at));
        }
    };
    for f in fields(bytes) {
        match f.number {
            1 => all_varints(&f, &mut dims),
            2 => kind = f.value,
            4 => floats.extend_from_slice(f.payload),
            5 | 7 | 11 => all_varints(&f, &mut varints),
            8 => name = String::from_utf8_lossy(f.payload).into_owned(),
            9 => raw = Some(f.payload.to_vec()),
            _ => {}
        }
    }
    let dtype = match kind {
        1 => DType::F32,
        2 => DType::U8,
        3 => DType::I8,
        6 => DType::I32,
        7 => DType::I64,
        9 => DType::Bool,
        10 => DType::F16,
        12 => DType::U32,
        other => return Err(format!("element type {other} of {name:?} is not known to this test")),
    };
    let bytes = raw.unwrap_or_else(|| match dtype {
        DType::F32 => floats,
        _ => varints.iter().flat_map(|v| v.to_le_bytes()[..dtype.bytes()].to_vec()).collect(),
    });
    let dims: Vec<usize> = dims.into_iter().map(|d| d as usize).collect();
    let data = Data::from_le_bytes(dtype, &bytes).map_err(|e| e.to_string())?;
    Ok((name, Tensor::new(dims, data).map_err(|e| e.to_string())?))
}
