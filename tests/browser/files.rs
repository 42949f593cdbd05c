//! Files for the browser tests. The test page's own server knows only the test, so `npm test` starts a second one that serves this repository
//! (and `shared/`, which lies beside it) and says where in the environment variable `FRAMEWAY_FILES` when the test is compiled.
//! Without it, as under plain `wasm-pack test`, tests that need files skip with a printed line.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

#[wasm_bindgen(inline_js = "export async function fetchFile(url) {
    const response = await fetch(url);
    if (response.status === 404) return undefined;
    if (!response.ok) throw new Error(`${url}: ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
}")]
extern "C" {
    #[wasm_bindgen(js_name = fetchFile, catch)]
    async fn fetch_file(url: &str) -> Result<JsValue, JsValue>;
}

/// The bytes of a file, its path relative to the repository's root (`shared/…` for the folder beside it); `None`, and a printed line, where
/// there is no file server or no such file.
pub async fn read(path: &str) -> Option<Vec<u8>> {
    let Some(server) = option_env!("FRAMEWAY_FILES") else {
        console_log!("skipped: {path} needs the file server that `npm test` starts");
        return None;
    };
    let content = fetch_file(&format!("{server}/{path}")).await.expect("the file server answers");
    if content.is_undefined() {
        console_log!("skipped: {path} is absent");
        return None;
    }
    Some(Uint8Array::new(&content).to_vec())
}

#[wasm_bindgen_test]
async fn reads_a_file_of_the_repository() {
    if let Some(bytes) = read("Cargo.toml").await {
        assert!(bytes.starts_with(b"[package]\nname = \"frameway\""));
    }
}

#[wasm_bindgen_test]
async fn an_absent_file_is_none() {
    assert!(read("no/such/file").await.is_none());
}
