//! `generate INPUT.wasm OUTPUT_DIR`: writes `frameway.js`, `frameway_bg.wasm` and their `.d.ts` for the `web` target.

use anyhow::{Context, Result};

fn main() -> Result<()> {
    let mut args = std::env::args_os().skip(1);
    let usage = "usage: generate INPUT.wasm OUTPUT_DIR";
    let input = args.next().context(usage)?;
    let output = args.next().context(usage)?;
    wasm_bindgen_cli_support::Bindgen::new()
        .input_path(&input)
        .web(true)?
        .typescript(true)
        .omit_default_module_path(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .out_name("frameway")
        .generate(&output)
        .with_context(|| format!("generating bindings for {}", input.display()))
}
