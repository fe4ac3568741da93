//! Lists the CUDA sources, and the machine code of `cargo xtask kernels` where it was built, for the crate to embed.
//!
//! Invariant: without a bundle nothing but the sources is embedded; no compiler is called here.

#[path = "build/declarations.rs"]
mod declarations;
#[path = "build/hash.rs"]
mod hash;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folders that hold sources.
const FOLDERS: &[&str] = &["common", "formats", "graph", "host", "ops", "tensor", "tuning"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut paths = Vec::new();
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={folder}");
        let directory = root.join(folder);
        if directory.is_dir() {
            collect(&directory, &root, &mut paths)?;
        }
    }
    paths.sort();
    let texts = paths.iter().map(|p| Ok((p.clone(), fs::read_to_string(root.join(p))?))).collect::<io::Result<Vec<_>>>()?;
    let find = |path: &str| texts.binary_search_by(|(other, _)| other.as_str().cmp(path)).ok().map(|i| (&*texts[i].0, &*texts[i].1));
    let line = |(path, text): &(String, String)| format!("    ({path:?}, {}, 0x{:016x}),\n", text.len(), hash::of_text(text, &find));
    fs::write(out.join("sources.rs"), format!("&[\n{}]\n", texts.iter().map(line).collect::<String>()))?;
    let all: String = texts.iter().map(|(_, text)| text.as_str()).collect();
    fs::write(out.join("sources.zst"), zstd::bulk::compress(all.as_bytes(), 19)?)?;
    fs::write(out.join("structs.rs"), table(&declarations::structs(&texts)))?;
    let constants = declarations::constants(&texts).into_iter();
    let constants = constants.map(|(file, name, value)| format!("    ({file:?}, {name:?}, {value}),\n")).collect::<String>();
    fs::write(out.join("constants.rs"), format!("&[\n{constants}]\n"))?;
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    // What is not there counts as changed at every build; where a bundle is made, the folder around it changes.
    println!("cargo::rerun-if-changed={}", if root.join("bundle").is_dir() { "bundle" } else { "." });
    fs::write(out.join("bundle.rs"), bundle(&root.join("bundle"))?)
}

fn collect(directory: &Path, root: &Path, paths: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let wanted = path.extension().is_some_and(|e| ["cu", "cuh", "hpp", "cpp"].iter().any(|w| e == *w));
        if path.is_dir() {
            collect(&path, root, paths)?;
        } else if wanted && let Ok(below) = path.strip_prefix(root) {
            paths.push(below.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}

/// The structs as Rust.
fn table(structs: &[declarations::Struct]) -> String {
    let mut text = String::from("&[\n");
    for s in structs {
        text +=
            &format!("    Struct {{ file: {:?}, name: {:?}, argument: {:?}, bytes: {}, fields: &[", s.file, s.name, s.argument, s.bytes);
        for (name, offset, bytes) in &s.fields {
            text += &format!("Field {{ name: {name:?}, offset: {offset}, bytes: {bytes} }}, ");
        }
        text += "] },\n";
    }
    text + "]\n"
}

/// The manifest as Rust: a line `architectures A B`, then lines `module NAME FILE SOURCE_HASH`.
fn bundle(directory: &Path) -> io::Result<String> {
    let Ok(manifest) = fs::read_to_string(directory.join("manifest.txt")) else { return Ok("None\n".into()) };
    let (mut architectures, mut modules) = (String::new(), String::new());
    for line in manifest.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields[..] {
            ["architectures", ref rest @ ..] => architectures = format!("{rest:?}"),
            ["module", name, file, source] => {
                let path = directory.join(file);
                if !path.is_file() {
                    return Ok("None\n".into());
                }
                modules += &format!("        Module {{ name: {name:?}, packed: include_bytes!({path:?}), source_hash: 0x{source} }},\n");
            }
            _ => {}
        }
    }
    Ok(format!("Some(Bundle {{\n    architectures: &{architectures},\n    modules: &[\n{modules}    ],\n}})\n"))
}
