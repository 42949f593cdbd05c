//! Every kernel in every variant, exactly as shipped, goes through naga; all failures are printed at once.
#![cfg(not(target_arch = "wasm32"))]

use frameway::kernels;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use std::collections::BTreeMap;

fn problem(wgsl: &str) -> Option<String> {
    let module = match naga::front::wgsl::parse_str(wgsl) {
        Ok(module) => module,
        Err(e) => return Some(e.emit_to_string(wgsl)),
    };
    let capabilities = Capabilities::SHADER_FLOAT16 | Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    Validator::new(ValidationFlags::all(), capabilities).validate(&module).err().map(|e| e.emit_to_string(wgsl))
}

#[test]
fn every_variant_is_valid() {
    let mut shaders = BTreeMap::new();
    let mut failures = Vec::new();
    for (k, sample) in kernels::variants().iter().enumerate() {
        match sample.shaders(kernels::select) {
            Ok(list) => list.into_iter().for_each(|s| {
                shaders.insert(s.wgsl, s.label);
            }),
            Err(e) => failures.push(format!("variant {k} has no kernel: {e}")),
        }
    }
    assert!(shaders.len() > 40, "{} shaders: the list of variants is not complete", shaders.len());
    failures.extend(shaders.iter().filter_map(|(wgsl, label)| Some(format!("{label}\n{}\n{wgsl}", problem(wgsl)?))));
    println!("{} distinct shaders", shaders.len());
    assert!(failures.is_empty(), "{} of {} shaders:\n{}", failures.len(), shaders.len(), failures.join("\n----\n"));
}

#[test]
fn every_file_is_valid_as_committed() {
    let failures: Vec<_> =
        kernels::FILES.iter().filter_map(|(name, text)| Some(format!("{name}\n{}", problem(text)?))).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n----\n"));
}
