//! Who may import whom. Reads every `crate::` path in `src/` and fails on an arrow that the table does not allow.
#![cfg(not(target_arch = "wasm32"))]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The house's arrows, module → what it imports. What can be imported is downstream of one of these arrows: `graph` names `ops`, so it may
/// also name the tensors that `ops` is written in. `error` is everybody's.
const ARROWS: &[(&str, &[&str])] = &[
    ("web", &["runtime"]),
    ("runtime", &["engine", "recording", "tensor"]),
    ("engine", &["lower", "pipeline", "import", "passes", "heap"]),
    ("lower", &["kernels", "graph", "plan", "recording"]),
    ("pipeline", &["graph"]),
    ("import", &["graph"]),
    ("passes", &["graph"]),
    ("kernels", &["ops", "recording"]),
    ("graph", &["ops"]),
    ("ops", &["tensor"]),
    ("recording", &["tensor"]),
    ("tensor", &["error"]),
    ("plan", &[]),
    ("heap", &[]),
    ("error", &[]),
];

/// Foreign crates that live in some modules and only there.
const HOMES: &[(&str, &[&str])] = &[
    ("wgpu", &["runtime"]),
    ("wasm_bindgen", &["web", "runtime"]),
    ("js_sys", &["web", "runtime"]),
    ("web_sys", &["web", "runtime"]),
];

/// Everything downstream of a module.
fn downstream(module: &str) -> BTreeSet<&'static str> {
    let mut reached = BTreeSet::<&str>::new();
    let mut open = vec![module.to_owned()];
    while let Some(from) = open.pop() {
        for to in ARROWS.iter().filter(|(name, _)| *name == from).flat_map(|(_, targets)| *targets) {
            if reached.insert(to) {
                open.push((*to).to_owned());
            }
        }
    }
    reached
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        fs::read_dir(folder).expect("src/ is there").map(|e| e.expect("readable").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The text without its line comments: a link in a doc comment is no import.
fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.find("//").map_or(line, |at| &line[..at])).collect::<Vec<_>>().join("\n")
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// The first segments after each `crate::`, groups (`crate::{graph::Graph, ops}`) included, with the line each stands on.
fn crate_paths(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, marker) in text.match_indices("crate::") {
        if text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let line = text[..at].matches('\n').count() + 1;
        let rest = &text[at + marker.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            found.push((line, identifier(rest).to_owned()));
            continue;
        };
        let mut depth = 1;
        let mut start = 0;
        for (i, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if (c == ',' && depth == 1) || depth == 0 {
                found.push((line, identifier(group[start..i].trim_start()).to_owned()));
                start = i + 1;
            }
            if depth == 0 {
                break;
            }
        }
    }
    found.retain(|(_, name)| !name.is_empty());
    found
}

/// Mentions of a foreign crate: `wgpu::…` or `use wgpu`, but not `my_wgpu::…` or `as_webgpu`.
fn mentions(text: &str, name: &str) -> Option<usize> {
    text.match_indices(name).find_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        let starts = !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '.');
        let rest = &text[at + name.len()..];
        let is_path = rest.starts_with("::") || (rest.starts_with(';') && text[..at].ends_with("use "));
        (starts && is_path).then(|| text[..at].matches('\n').count() + 1)
    })
}

fn sources() -> Vec<(String, String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    files
        .into_iter()
        .filter_map(|path| {
            let inside = path.strip_prefix(&src).expect("found under src/");
            let first = inside.components().next().expect("a file has a name").as_os_str().to_string_lossy();
            let module = first.trim_end_matches(".rs").to_owned();
            let text = without_comments(&fs::read_to_string(&path).expect("readable"));
            (module != "lib").then(|| (module, inside.display().to_string(), text))
        })
        .collect()
}

#[test]
fn every_import_follows_an_arrow() {
    let modules: BTreeSet<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    let mut wrong = Vec::new();
    for (module, file, text) in sources() {
        if !modules.contains(module.as_str()) {
            wrong.push(format!("src/{file}: module `{module}` is not in the table"));
            continue;
        }
        let allowed = downstream(&module);
        for (line, target) in crate_paths(&text) {
            let is_module = modules.contains(target.as_str());
            if is_module && target != module && target != "error" && !allowed.contains(target.as_str()) {
                wrong.push(format!("src/{file}:{line}: {module} → {target}"));
            }
        }
    }
    assert!(wrong.is_empty(), "imports against the arrows:\n  {}", wrong.join("\n  "));
}

#[test]
fn foreign_crates_stay_at_home() {
    let mut wrong = Vec::new();
    for (module, file, text) in sources() {
        for (name, homes) in HOMES {
            if let Some(line) = mentions(&text, name).filter(|_| !homes.contains(&module.as_str())) {
                wrong.push(format!("src/{file}:{line}: `{name}` belongs in {}", homes.join(", ")));
            }
        }
    }
    assert!(wrong.is_empty(), "crates out of their homes:\n  {}", wrong.join("\n  "));
}

#[test]
fn the_arrows_have_no_cycle() {
    for (module, _) in ARROWS {
        assert!(!downstream(module).contains(module), "{module} reaches itself");
    }
}

#[test]
fn paths_are_read_in_every_spelling() {
    let text =
        "use crate::graph::Graph;\nuse crate::{ops::{Conv, Op}, tensor};\nlet x = crate::plan::pack(); mycrate::no();";
    let names: Vec<_> = crate_paths(text).into_iter().map(|(line, name)| format!("{line} {name}")).collect();
    assert_eq!(names, ["1 graph", "2 ops", "2 tensor", "3 plan"]);
    assert_eq!(mentions("use a;\nlet b = wgpu::Instance::new();", "wgpu"), Some(2));
    assert_eq!(mentions("raw.as_wgpu::x; // nothing", "wgpu"), None);
}
