//! The graphs that a paper lists: a file where there is one, and else a generated graph of the same size that stands in for it.
//!
//! Invariant: what is generated says so, with its own numbers; nothing of a stand-in is called by a graph's name alone.

use super::small_graphs::SmallGraphs;
use super::table::Table;
use anyhow::{Context, Result, ensure};
use bitgraph::sparse::Csr;
use bitgraph::{GraphSource, LoadOptions};
use std::path::{Path, PathBuf};

/// Entries that a stand-in has at most in a quick run.
const QUICK_ENTRIES: u64 = 1 << 16;
/// Parts that a stand-in of parts has at minimum, if as many are asked for.
const QUICK_PARTS: u64 = 32;
/// Endings of files of graphs.
const ENDINGS: [&str; 7] = ["mtx", "mtx.gz", "el", "el.gz", "npz", "graph", "bgr"];

/// What is generated where there is no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandIn {
    /// Degrees that fall like a power of the vertex number.
    Skew,
    /// So many small graphs without edges between them.
    Graphs(u64),
    /// Communities, as many as parts are wanted.
    Planted,
}

/// A graph of a paper's table.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The paper's name.
    pub name: &'static str,
    /// The paper's short name, or nothing.
    pub abbreviation: &'static str,
    /// The paper's type: I, II or III.
    pub kind: &'static str,
    /// Vertices as printed.
    pub vertices: u64,
    /// Entries as printed.
    pub entries: u64,
    /// Columns of its features as printed.
    pub width: usize,
    stand_in: StandIn,
    files: Vec<&'static str>,
}

/// A graph that was found or generated.
pub struct Loaded {
    /// The pattern.
    pub csr: Csr,
    /// The name of the file, or what was generated.
    pub source: String,
    /// Whether it was generated.
    pub stand_in: bool,
    /// The vertices' parts, where what was generated has them: the first vertex of each, and the number of vertices.
    pub parts: Option<Vec<usize>>,
}

/// What ran for a graph of the paper.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The paper's name.
    pub name: &'static str,
    /// The paper's type.
    pub kind: &'static str,
    /// Vertices and entries as printed.
    pub printed: (u64, u64),
    /// Vertices and entries of what ran.
    pub found: (u64, u64),
    /// The file, or what stands in for it.
    pub source: String,
    /// Whether it stands in.
    pub stand_in: bool,
}

impl Ran {
    /// The name, with a mark if another graph stands in.
    #[must_use]
    pub fn marked(&self) -> String {
        if self.stand_in { format!("{}*", self.name) } else { self.name.into() }
    }
}

/// Which graphs ran, beside the sizes that are printed.
#[must_use]
pub fn table<'a>(title: &str, all: impl IntoIterator<Item = &'a Ran>) -> Table {
    let header = ["graph", "type", "published vertices", "published entries", "vertices", "entries", "what ran"];
    let (mut table, mut stand_ins) = (Table::new(title, &header), false);
    for ran in all {
        let counts = [ran.printed.0, ran.printed.1, ran.found.0, ran.found.1].map(|count| count.to_string());
        table.row([ran.name.into(), ran.kind.into()].into_iter().chain(counts).chain([ran.source.clone()]));
        stand_ins |= ran.stand_in;
    }
    if stand_ins {
        table.note("A stand-in is a random graph of that size, with fewer entries where draws repeat: its numbers are not those of the paper's graph.");
    }
    table
}

/// Lines without comments and header, as cells.
pub(crate) fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().filter(|l| !l.starts_with('#')).skip(1).map(|l| l.split(',').collect())
}

/// A cell as a number.
pub(crate) fn cell<T: std::str::FromStr>(text: &str) -> Result<T> {
    text.parse().ok().with_context(|| format!("{text:?} is not a number of its column"))
}

impl StandIn {
    fn from_data(text: &str) -> Result<Self> {
        match text.split_once(' ') {
            None if text == "skew" => Ok(Self::Skew),
            None if text == "planted" => Ok(Self::Planted),
            Some(("graphs", count)) => Ok(Self::Graphs(cell(count)?)),
            _ => anyhow::bail!("no kind of stand-in is called {text:?}"),
        }
    }
}

/// Reads a table of graphs.
///
/// # Errors
/// If the data is damaged.
pub fn read(text: &'static str) -> Result<Vec<Listed>> {
    let one = |cells: Vec<&'static str>| -> Result<Listed> {
        let [name, abbreviation, kind, vertices, entries, width, _, stand_in, files] = cells[..] else {
            anyhow::bail!("{cells:?} has not nine cells")
        };
        let (vertices, entries) = (cell(vertices)?, cell(entries)?);
        ensure!(vertices > 0 && entries > 0, "{name} is empty");
        let (stand_in, files) = (StandIn::from_data(stand_in)?, files.split(';').collect());
        Ok(Listed { name, abbreviation, kind, vertices, entries, width: cell(width)?, stand_in, files })
    };
    rows(text).map(one).collect()
}

/// Only those of the names or short names, all if none is given.
///
/// # Errors
/// A name that is not listed.
pub fn chosen(all: Vec<Listed>, names: &[String]) -> Result<Vec<Listed>> {
    let is = |g: &Listed, name: &String| g.name.eq_ignore_ascii_case(name) || (!name.is_empty() && g.abbreviation == name);
    if let Some(missing) = names.iter().find(|name| !all.iter().any(|g| is(g, name))) {
        anyhow::bail!("the paper lists no graph {missing:?}; it lists {}", all.iter().map(|g| g.name).collect::<Vec<_>>().join(", "));
    }
    Ok(all.into_iter().filter(|g| names.is_empty() || names.iter().any(|name| is(g, name))).collect())
}

impl Listed {
    /// Its file: `NAME.ENDING` or `NAME/graph.ENDING`, in the folder or in `gnn` in it.
    #[must_use]
    pub fn file(&self, folder: &Path) -> Option<PathBuf> {
        let folders = [folder.to_path_buf(), folder.join("gnn")];
        let candidates = folders.iter().flat_map(|folder| {
            self.files.iter().flat_map(move |name| {
                ENDINGS
                    .iter()
                    .flat_map(move |ending| [format!("{name}.{ending}"), format!("{name}/graph.{ending}")])
                    .map(|n| folder.join(n))
            })
        });
        candidates.into_iter().find(|path| path.is_file())
    }
    /// What is said of it.
    #[must_use]
    pub fn ran(&self, loaded: &Loaded) -> Ran {
        Ran {
            name: self.name,
            kind: self.kind,
            printed: (self.vertices, self.entries),
            found: (loaded.csr.nrows() as u64, loaded.csr.nnz() as u64),
            source: loaded.source.clone(),
            stand_in: loaded.stand_in,
        }
    }
    /// Reads its file, or generates what stands in for it; in a quick run a small one.
    ///
    /// # Errors
    /// A file that cannot be read; out of memory.
    pub fn load(&self, folder: Option<&Path>, parts: u64, quick: bool) -> Result<Loaded> {
        if let Some(path) = folder.and_then(|folder| self.file(folder)) {
            let csr = pattern(&path.to_string_lossy()).with_context(|| format!("cannot load {}", path.display()))?;
            let source = path.components().rev().take(2).map(|c| c.as_os_str().to_string_lossy()).collect::<Vec<_>>();
            let source = source.into_iter().rev().collect::<Vec<_>>().join("/");
            return Ok(Loaded { csr, source, stand_in: false, parts: None });
        }
        let smaller = if quick { self.entries.div_ceil(QUICK_ENTRIES) } else { 1 };
        let (vertices, entries) = ((self.vertices / smaller).max(1), self.entries / smaller);
        let scaled = |count: u64| (count / smaller).clamp(1, vertices);
        let (csr, what, parts) = match self.stand_in {
            StandIn::Skew => {
                let generator = format!("skew:{vertices}:{}", entries / 2);
                (pattern(&generator)?, generator, None)
            }
            StandIn::Planted => {
                // Parts are what such a graph stands in for: a quick run, too, has several batches of them.
                let communities = scaled(parts).max(QUICK_PARTS.min(parts)).min(vertices);
                let degree = (entries as f64 / vertices as f64).round().max(1.0) as u64;
                let generator = format!("planted:{vertices}:{communities}:{degree}");
                // The generator's communities: as equal as whole numbers let them be.
                let starts = (0..=communities).map(|c| (c * vertices / communities) as usize).collect();
                (pattern(&generator)?, generator, Some(starts))
            }
            StandIn::Graphs(count) => {
                let graphs = SmallGraphs { vertices, graphs: scaled(count), entries };
                (graphs.generate()?, graphs.to_string(), None)
            }
        };
        Ok(Loaded { csr, source: format!("stand-in {what}"), stand_in: true, parts })
    }
}

fn pattern(source: &str) -> Result<Csr> {
    let csr = source.parse::<GraphSource>()?.load(&LoadOptions::default())?.csr;
    ensure!(csr.is_square(), "{source} is {} x {}; graphs are square", csr.nrows(), csr.ncols());
    Ok(csr)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &str = "# a comment\nheader\nA,a,I,100,400,16,2,skew,one;two\nB,,II,90,300,8,3,graphs 9,b\nC,,III,64,600,8,3,planted,c\n";

    #[test]
    fn a_file_before_a_stand_in() {
        let all = read(DATA).unwrap();
        assert_eq!((all.len(), all[1].stand_in, all[0].width), (3, StandIn::Graphs(9), 16));
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(all[0].file(folder.path()), None);
        let stand_in = all[0].load(Some(folder.path()), 4, false).unwrap();
        let text = table("Graphs", [&all[0].ran(&stand_in)]).text();
        assert!(text.contains("stand-in skew:100:200\nA stand-in is") && all[0].ran(&stand_in).marked() == "A*", "{text}");
        assert!(stand_in.stand_in && stand_in.source == "stand-in skew:100:200" && stand_in.csr.nrows() == 100);
        std::fs::create_dir(folder.path().join("two")).unwrap();
        let text = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 1\n";
        std::fs::write(folder.path().join("two/graph.mtx"), text).unwrap();
        let found = all[0].load(Some(folder.path()), 4, false).unwrap();
        assert_eq!((found.source.as_str(), found.stand_in, found.csr.nnz()), ("two/graph.mtx", false, 4));
    }

    #[test]
    fn stand_ins_have_the_size_and_the_parts() {
        let all = read(DATA).unwrap();
        let small = all[1].load(None, 4, false).unwrap();
        assert!(small.source.contains("9 small graphs") && small.csr.nrows() == 90 && small.parts.is_none());
        let planted = all[2].load(None, 4, false).unwrap();
        assert_eq!(planted.parts, Some(vec![0, 16, 32, 48, 64]));
        assert!(planted.source.starts_with("stand-in planted:64:4:9"), "{}", planted.source);
    }

    #[test]
    fn a_quick_run_is_small_and_names_are_checked() {
        let big = read("header\nBig,BG,I,1000000,8000000,16,2,skew,big\n").unwrap();
        let loaded = big[0].load(None, 4, true).unwrap();
        assert!(loaded.csr.nnz() as u64 <= QUICK_ENTRIES && loaded.csr.nrows() < 10_000 && loaded.csr.nnz() > 1000);
        let parts = read("header\nBig,BG,I,3000000,60000000,16,2,planted,big\n").unwrap()[0].load(None, 1500, true).unwrap().parts;
        assert_eq!(parts.map(|starts| starts.len()), Some(33));
        assert_eq!(chosen(big.clone(), &["BG".into()]).unwrap().len(), 1);
        assert!(chosen(big, &["other".into()]).unwrap_err().to_string().contains("it lists Big"));
        assert!(read("header\nA,a,I,100\n").is_err() && read("header\nA,a,I,0,4,1,1,skew,a\n").is_err());
    }
}
