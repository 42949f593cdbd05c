//! The cases of tests/fixtures/operators.json: one-node models on the edges where browser runtimes have failed.

use frameway::tensor::{DType, Data, Tensor};
use serde_json::Value;

/// One case.
pub struct Case {
    pub kind: u64,
    pub name: String,
    pub model: Vec<u8>,
    pub inputs: Vec<Tensor>,
    pub outputs: Vec<Tensor>,
}

fn fixture() -> Value {
    serde_json::from_str(include_str!("../fixtures/operators.json")).expect("JSON")
}

/// What a kind is about.
pub fn kind(number: u64) -> String {
    fixture()["kinds"][number.to_string()].as_str().expect("a kind").to_owned()
}

/// All cases.
pub fn cases() -> Vec<Case> {
    let tensors = |list: &Value| list.as_array().expect("a list").iter().map(tensor).collect();
    let fixture = fixture();
    let case = |c: &Value| Case {
        kind: c["kind"].as_u64().expect("a number"),
        name: c["name"].as_str().expect("a name").to_owned(),
        model: base64(c["model"].as_str().expect("a model")),
        inputs: tensors(&c["inputs"]),
        outputs: tensors(&c["outputs"]),
    };
    fixture["cases"].as_array().expect("a list").iter().map(case).collect()
}

impl Case {
    /// Holds results against the expected ones: 1e-4 relative and absolute for float32, 2e-3 for float16, else equal.
    pub fn compare(&self, results: &[Tensor]) -> Result<(), String> {
        for (i, want) in self.outputs.iter().enumerate() {
            let got = results.get(i).ok_or("an output is missing")?;
            if got.ty() != want.ty() {
                return Err(format!("output {i} is {}, expected {}", got.ty(), want.ty()));
            }
            let tolerance = match want.dtype() {
                DType::F32 => 1e-4,
                DType::F16 => 2e-3,
                _ => 0.0,
            };
            let pairs = got.data().to_f64().into_iter().zip(want.data().to_f64());
            for (at, (a, b)) in pairs.enumerate() {
                // Written so that NaN does not fit.
                let fits = (a - b).abs() <= tolerance * (1.0 + b.abs());
                if !fits {
                    return Err(format!("output {i} at {at}: {a}, expected {b}"));
                }
            }
        }
        Ok(())
    }
}

fn tensor(value: &Value) -> Tensor {
    let dtype = DType::parse(value["dtype"].as_str().expect("a type")).expect("a known type");
    let shape: Vec<usize> =
        value["shape"].as_array().expect("a shape").iter().map(|d| d.as_u64().expect("a size") as usize).collect();
    let numbers: Vec<f64> =
        value["data"].as_array().expect("numbers").iter().map(|v| v.as_f64().expect("a number")).collect();
    let data = match dtype {
        DType::F32 => Data::F32(numbers.into_iter().map(|v| v as f32).collect()),
        DType::F16 => Data::F16(numbers.into_iter().map(half::f16::from_f64).collect()),
        DType::I64 => Data::I64(numbers.into_iter().map(|v| v as i64).collect()),
        DType::Bool => Data::Bool(numbers.into_iter().map(|v| v as u8).collect()),
        other => panic!("{other} is not used by the fixture"),
    };
    Tensor::new(shape, data).expect("as many elements as the shape says")
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|&c| c != b'=').map(digit).collect();
    digits
        .chunks(4)
        .flat_map(|four| {
            let bits = four.iter().fold(0u32, |n, &d| n << 6 | u32::from(d)) << (6 * (4 - four.len()));
            bits.to_be_bytes()[1..four.len()].to_vec()
        })
        .collect()
}
