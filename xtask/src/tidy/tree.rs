//! Reading the tree: every text file that tidy has rules for.

use anyhow::{Context, Result};
use std::path::Path;

/// A text file of the tree.
pub struct File {
    /// Its path below the root, with `/` between the parts.
    pub path: String,
    /// Its text.
    pub text: String,
}

const ENDINGS: &[&str] = &["rs", "toml", "md", "sh", "cu", "cuh", "h", "c", "yml", "yaml"];

/// All text files below `root`, sorted by path; build outputs and hidden directories other than the CI's are left out.
///
/// # Errors
/// If a directory cannot be listed or a file cannot be read.
pub fn texts(root: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    walk(root, "", &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn walk(root: &Path, below: &str, files: &mut Vec<File>) -> Result<()> {
    let directory = root.join(below);
    for entry in directory.read_dir().with_context(|| format!("cannot list {}", directory.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if entry.file_type()?.is_dir() {
            if !skipped(&name) {
                walk(root, &path, files)?;
            }
        } else if path == ".ci/run" || Path::new(&name).extension().is_some_and(|e| ENDINGS.iter().any(|known| e == *known)) {
            let text = std::fs::read_to_string(entry.path()).with_context(|| format!("cannot read {path} as text"))?;
            files.push(File { path, text });
        }
    }
    Ok(())
}

fn skipped(name: &str) -> bool {
    (name.starts_with('.') && ![".ci", ".cargo", ".github"].contains(&name)) || name.starts_with("target") || name == "out"
}
