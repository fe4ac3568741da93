//! The graphs at hand: files of a folder, and those matrices of the paper that a generator makes.

use super::published;
use anyhow::{Context, Result};
use bitgraph::{GraphSource, LoadOptions, LoadedGraph};
use std::collections::BTreeMap;
use std::path::Path;

/// A graph by the name that the paper would use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtHand {
    /// The file's name without its ending, or the matrix's.
    pub name: String,
    /// The file or the generator.
    pub source: String,
}

const ENDINGS: [&str; 7] = [".mtx.gz", ".mtx", ".el.gz", ".el", ".npz", ".graph", ".bgr"];

/// All of them by name, a file before a generator; only those of `names` if any are given.
///
/// # Errors
/// If the folder cannot be listed, or a name is not there.
pub fn at_hand(folder: Option<&Path>, names: &[String]) -> Result<Vec<AtHand>> {
    let mut found = BTreeMap::new();
    for time in published::times()? {
        if let Some(generator) = published::generator(time.matrix) {
            found.insert(time.matrix.to_string(), generator);
        }
    }
    if let Some(folder) = folder {
        for entry in folder.read_dir().with_context(|| format!("cannot list {}", folder.display()))? {
            let entry = entry?;
            let (path, file) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if let Some(name) = ENDINGS.iter().find_map(|e| file.strip_suffix(e)) {
                found.insert(name.to_string(), path.to_string_lossy().into_owned());
            }
        }
    }
    if let Some(missing) = names.iter().find(|n| !found.contains_key(*n)) {
        anyhow::bail!("no graph is called {missing:?}: neither a file of the folder nor a generator of the paper's matrices");
    }
    let wanted = |name: &String| names.is_empty() || names.contains(name);
    Ok(found.into_iter().filter(|(name, _)| wanted(name)).map(|(name, source)| AtHand { name, source }).collect())
}

impl AtHand {
    /// Loads the pattern, as the paper's matrices are.
    ///
    /// # Errors
    /// Whatever is wrong with the file.
    pub fn load(&self) -> Result<LoadedGraph> {
        let source: GraphSource = self.source.parse()?;
        let mut loaded = source.load(&LoadOptions::default()).with_context(|| format!("cannot load {}", self.source))?;
        loaded.values = None;
        Ok(loaded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_generators() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["uk.mtx", "mycielskian9.mtx.gz", "expected.json"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let all = at_hand(Some(folder.path()), &[]).unwrap();
        let names: Vec<&str> = all.iter().map(|g| g.name.as_str()).collect();
        assert_eq!(names, ["debr", "mycielskian10", "mycielskian12", "mycielskian13", "mycielskian9", "uk"]);
        assert!(all[4].source.ends_with(".mtx.gz"));
        assert_eq!(at_hand(None, &["debr".into()]).unwrap().len(), 1);
        assert!(at_hand(None, &["uk".into()]).is_err());
    }
}
