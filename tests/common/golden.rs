//! The golden models: a model file, inputs, and the outputs that onnxruntime gives, from `../shared/goldens/NAME`.

#[path = "npy.rs"]
mod npy;

use frameway::tensor::Tensor;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The ONNX models that must meet their goldens.
pub const ONNX_MODELS: [&str; 9] = [
    "blazeface_front_128",
    "blazeface_back_256",
    "mlsd_320_tiny",
    "mlsd_512_tiny",
    "ppocr_cls",
    "ppocr_det",
    "ppocr_rec",
    "sinet_portrait_320",
    "yolox_nano_416",
];

/// One model with what it must give.
pub struct Golden {
    pub name: String,
    pub model: Vec<u8>,
    /// Name and contents, in the model's order.
    pub inputs: Vec<(String, Tensor)>,
    pub outputs: Vec<(String, Tensor)>,
    /// A result `a` fits the golden `b` where `|a - b| <= atol + rtol |b|`.
    pub rtol: f64,
    pub atol: f64,
}

impl Golden {
    /// Reads a golden; `None`, and a printed line, where its files or the npm package of its model are absent.
    pub fn load(name: &str) -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = root.join("../shared/goldens").join(name);
        let Ok(meta) = std::fs::read(folder.join("meta.json")) else {
            println!("skipped: {name} needs {}", folder.display());
            return None;
        };
        let meta: Value = serde_json::from_slice(&meta).expect("meta.json is JSON");
        let Some(model) = model(root, &folder, &meta) else {
            println!("skipped: the model of {name} ({}) is not installed", meta["source"]);
            return None;
        };
        let tensors = |list: &Value| {
            let list = list.as_array().expect("a list of ports");
            let tensor = |port: &Value| (text(&port["name"]), npy(&folder.join(text(&port["file"]))));
            list.iter().map(tensor).collect()
        };
        let tolerance = |word: &str| meta["tolerance"][word].as_f64().expect("a tolerance");
        Some(Self {
            name: name.to_owned(),
            model,
            inputs: tensors(&meta["inputs"]),
            outputs: tensors(&meta["outputs"]),
            rtol: tolerance("rtol"),
            atol: tolerance("atol"),
        })
    }

    /// The largest `|a - b| / (atol + rtol |b|)` over all elements of output `i`: above 1 the result does not fit.
    pub fn error(&self, i: usize, got: &[f32]) -> f64 {
        let (name, want) = &self.outputs[i];
        let want = want.data().to_f64();
        assert_eq!(got.len(), want.len(), "{}: elements of output {name:?}", self.name);
        let error = |(&a, b): (&f32, f64)| (f64::from(a) - b).abs() / (self.atol + self.rtol * b.abs());
        // NaN must not pass for small.
        got.iter().zip(want).map(error).fold(0.0, |m, e| if e > m || e.is_nan() { e } else { m })
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

/// The model beside the golden, or in the npm package that the meta names; there it is told by its size.
fn model(root: &Path, folder: &Path, meta: &Value) -> Option<Vec<u8>> {
    if let Ok(bytes) = std::fs::read(folder.join("model.onnx")) {
        return Some(bytes);
    }
    let source = text(&meta["source"]);
    let package = source.strip_prefix("npm:")?.rsplit_once('@')?.0;
    let file = find(&root.join("node_modules").join(package), meta["size"].as_u64()?)?;
    std::fs::read(file).ok()
}

fn find(folder: &Path, size: u64) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut folders = Vec::new();
    for entry in entries {
        let meta = entry.metadata().ok()?;
        if meta.is_dir() {
            folders.push(entry.path());
        } else if meta.len() == size {
            return Some(entry.path());
        }
    }
    folders.iter().find_map(|f| find(f, size))
}

/// The tensor in a NumPy file.
pub fn npy(path: &Path) -> Tensor {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    npy::parse(&bytes, &path.display().to_string())
}
