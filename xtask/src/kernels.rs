//! `cargo xtask kernels`: compiling the CUDA kernels ahead of time.
//!
//! There are none in this version. The task says so rather than succeed in silence, and fails if sources appear without it.

use crate::run;
use anyhow::{Context, Result, bail};
use std::path::Path;

pub fn run(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => {}
        [flag, list] if flag == "--arch" => {
            if let Some(bad) = list.split(',').find(|arch| !is_architecture(arch)) {
                bail!("--arch {list}: {bad:?} is not an architecture such as 80 or 90a");
            }
        }
        _ => bail!("usage: cargo xtask kernels [--arch 80,90a,...]"),
    }
    let directory = run::root().join("kernels");
    let sources = count_sources(&directory)?;
    if sources > 0 {
        bail!("{sources} CUDA sources are in kernels/, but this version cannot compile them");
    }
    println!("kernels: there are no CUDA kernels to compile yet; the symbol table of bitgraph-kernels is empty");
    Ok(())
}

fn is_architecture(text: &str) -> bool {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_lowercase());
    (2..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) && text.len() - digits.len() <= 1
}

fn count_sources(directory: &Path) -> Result<usize> {
    let mut count = 0;
    for entry in directory.read_dir().with_context(|| format!("cannot list {}", directory.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            count += count_sources(&path)?;
        } else if path.extension().is_some_and(|e| e == "cu" || e == "cuh") {
            count += 1;
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures() {
        assert!(["80", "90a", "100", "120f"].iter().all(|a| is_architecture(a)));
        assert!(["", "sm_80", "8", "90ab", "a", "80 "].iter().all(|a| !is_architecture(a)));
    }

    #[test]
    fn there_is_nothing_to_compile() {
        assert!(run(&[]).is_ok());
        assert!(run(&["--arch".into(), "80,90a".into()]).is_ok());
        assert!(run(&["--arch".into(), "x".into()]).is_err());
    }
}
