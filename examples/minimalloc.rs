//! Plans the MiniMalloc benchmark's challenging instances and prints a table:
//!
//! `cargo run --release --example minimalloc [FILE.csv …]`
//!
//! A file is `id,lower,upper,size` a line, lifetimes half-open; the capacity in bytes is the number in its name. Without
//! arguments it reads `../shared/minimalloc/challenging`.

use frameway::plan::{Block, Effort, Lifetime, Limit, Options, PlanError, lower_bound, plan, validate};
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if files.is_empty() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/minimalloc/challenging");
        files = std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        files.sort();
    }
    println!("| instance | blocks | capacity | lower bound | plan | packer | time |");
    println!("|---|---:|---:|---:|---:|---|---:|");
    for file in files {
        let (name, capacity) = name_and_capacity(&file).ok_or("a file's name is NAME.CAPACITY.csv")?;
        let blocks = parse(&std::fs::read_to_string(&file)?).ok_or("a line is id,lower,upper,size")?;
        let start = Instant::now();
        let now = || start.elapsed().as_secs_f64() * 1e3;
        let effort = Effort::Thorough(Limit::Clock { now: &now, milliseconds: 60_000.0 });
        let (bound, _) = lower_bound(&blocks, 1)?;
        let outcome = match plan(&blocks, &Options { alignment: 1, capacity: Some(capacity), effort }) {
            Ok(plan) => {
                validate(&blocks, &plan, 1)?;
                format!("{} | {}", plan.bytes, plan.packer)
            }
            Err(PlanError::OverCapacity { needed, .. }) => format!("{needed} (does not fit) |"),
            Err(error) => return Err(error.into()),
        };
        println!("| {name} | {} | {capacity} | {bound} | {outcome} | {:.2} s |", blocks.len(), now() / 1e3);
    }
    Ok(())
}

fn name_and_capacity(file: &Path) -> Option<(&str, u64)> {
    let (name, capacity) = file.file_stem()?.to_str()?.rsplit_once('.')?;
    Some((name, capacity.parse().ok()?))
}

fn parse(text: &str) -> Option<Vec<Block>> {
    let line = |line: &str| {
        let mut fields = line.split(',').skip(1);
        let life = Lifetime::new(fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(Block { bytes: fields.next()?.parse().ok()?, life })
    };
    text.lines().skip(1).map(line).collect()
}
