//! A folder of plain files: `graph.mtx` (or another form of graph), `features.npz` or `.npy`, `labels.npy`, and masks; or of many graphs side
//! by side, with `graph_indicator.npy` and `graph_labels.npy`.

use super::error::Within;
use super::{Dataset, Error, Features, GraphSet, Labels, Result, Sizes, arrays, graph_set, split};
use crate::Nodes;
use bitgraph_generate::Control;
use bitgraph_io::{ReadMode, ReadOptions, read, read_array};
use bitgraph_sparse::{Csr, Duplicates};
use std::path::{Path, PathBuf};

const GRAPHS: &str = "graph.mtx, graph.mtx.gz, graph.npz, graph.bgr or graph.el";
const GRAPH_FILES: [&str; 6] = ["graph.mtx", "graph.mtx.gz", "graph.npz", "graph.bgr", "graph.el", "graph.el.gz"];
/// What tells a folder of many graphs.
pub(super) const INDICATOR: &str = "graph_indicator.npy";

/// The first of these files that is there.
fn find(folder: &Path, names: &[&str], wanted: &'static str) -> Result<PathBuf> {
    let found = names.iter().map(|name| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| Error::Missing { folder: folder.to_path_buf(), wanted })
}

pub(super) fn open(folder: &Path, mode: ReadMode, control: &Control) -> Result<Dataset> {
    let options = ReadOptions { control: control.clone(), ..ReadOptions::default() };
    let graph_path = find(folder, &GRAPH_FILES, GRAPHS)?;
    let path = find(folder, &["features.npz", "features.npy"], "features.npz or features.npy")?;
    let features = features(&path, mode, &options).within(&path)?;
    let rows = features.shape().0;
    let graph = graph(&graph_path, rows, &options).within(&graph_path)?;
    let nodes = graph.nrows();
    if rows != nodes {
        let (expected, found) = (nodes as u64, rows as u64);
        return Err(crate::Error::Size { what: "rows of the features", expected, found }).within(&path);
    }

    let path = find(folder, &["labels.npy"], "labels.npy")?;
    let unlabelled_path = folder.join("unlabelled_nodes.npy");
    let unlabelled = match unlabelled_path.is_file() {
        true => arrays::ids(&read_array(&unlabelled_path, ReadMode::Copy)?, nodes).within(&unlabelled_path)?,
        false => Vec::new(),
    };
    let labels = arrays::labels(&read_array(&path, ReadMode::Copy)?, nodes, &unlabelled).within(&path)?;

    let splits = splits(folder, &labels)?;
    let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
    Dataset::new(name, graph, features, labels, splits).within(folder)
}

/// A folder of many graphs: the graph side by side, the graph of each node, a label for each graph, and of the nodes labels or features.
pub(super) fn open_graphs(folder: &Path, control: &Control) -> Result<GraphSet> {
    let options = ReadOptions { control: control.clone(), ..ReadOptions::default() };
    let array = |name: &str| read_array(&folder.join(name), ReadMode::Copy);
    let vector = |name: &str| arrays::whole(&array(name)?).within(&folder.join(name));
    let indicator = vector(INDICATOR)?;
    let nodes = indicator.len();
    let path = find(folder, &["graph_labels.npy"], "graph_labels.npy")?;
    let labels = vector("graph_labels.npy")?;
    let starts = graph_set::starts(&indicator, labels.len()).within(&folder.join(INDICATOR))?;
    let labels = graph_set::ranked(&labels).within(&path)?;
    let graph_path = find(folder, &GRAPH_FILES, GRAPHS)?;
    let graph = graph(&graph_path, nodes, &options).within(&graph_path)?;
    let tags = match folder.join("node_labels.npy").is_file() {
        true => Some((vector("node_labels.npy")?, 1)),
        false => None,
    };
    let attributes = match find(folder, &["features.npz", "features.npy"], "features.npz or features.npy") {
        Ok(path) => Some((features(&path, ReadMode::Copy, &options).within(&path)?, path)),
        Err(_) => None,
    };
    let attributes = attributes.map(|(of, path)| {
        let (rows, columns) = of.shape();
        arrays::sized("rows of the features", nodes, rows).within(&path)?;
        graph_set::check_dense(rows, columns).within(&path)?;
        Ok::<_, Error>((of.to_dense(), columns))
    });
    let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
    let (features, known) = graph_set::features(&graph, tags, attributes.transpose()?).within(folder)?;
    Ok(GraphSet::new(name, graph, features, starts, labels).within(folder)?.with_tags(known))
}

/// The graph in the file's own numbers of nodes, which are those of features and labels. An edge list says nothing of isolated nodes:
/// it has as many nodes as the features have rows.
fn graph(path: &Path, rows: usize, options: &ReadOptions) -> Result<Csr> {
    let list = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("graph.el"));
    let nodes = list.then_some(rows);
    let loaded = read(path, &ReadOptions { as_pattern: true, nodes, ..options.clone() })?;
    if loaded.format.is_some() {
        let (what, why) = ("the graph of a data set", "the container must hold it as lists, not as tiles");
        return Err(crate::Error::Combination { what, why }.into());
    }
    Ok(match loaded.permutation {
        Some(order) => order.inverse().apply_with(&loaded.csr, None)?.0,
        None => loaded.csr,
    })
}

fn features(path: &Path, mode: ReadMode, options: &ReadOptions) -> Result<Features> {
    if path.extension().is_some_and(|e| e == "npy") {
        return arrays::features(&read_array(path, mode)?);
    }
    // scipy adds up entries that are given twice; a choice of one would be as silent.
    let loaded = read(path, &ReadOptions { duplicates: Duplicates::Sum, ..options.clone() })?;
    // A matrix of true alone is read as a pattern.
    let values = loaded.values.map_or_else(|| vec![1.0; loaded.csr.nnz()], |v| arrays::floats(&v));
    Features::sparse(loaded.csr, values)
}

/// The splits of the masks; where there are no masks, one that is drawn by the seed 1.
fn splits(folder: &Path, labels: &Labels) -> Result<Vec<Nodes>> {
    let paths = |ending: &str| ["train", "val", "test"].map(|part| folder.join(format!("{part}_{ending}.npy")));
    let present = [paths("mask"), paths("masks")].into_iter().find(|all| all.iter().any(|path| path.is_file()));
    let Some(present) = present else {
        return Ok(vec![split::seeded(labels, Sizes::fitting(labels), 1).within(folder)?]);
    };
    let mut parts = Vec::new();
    for path in &present {
        if !path.is_file() {
            let wanted = "mask for each of training, validation and test (train_mask.npy, val_mask.npy, test_mask.npy; or *_masks.npy)";
            return Err(Error::Missing { folder: folder.to_path_buf(), wanted });
        }
        parts.push(arrays::masks(&read_array(path, ReadMode::Copy)?, labels.of().len()).within(path)?);
    }
    together(parts).within(folder)
}

/// Three parts of each split.
fn together(parts: Vec<Vec<Vec<u32>>>) -> Result<Vec<Nodes>> {
    let expected = parts.first().map_or(0, Vec::len) as u64;
    if let Some(other) = parts.iter().find(|part| part.len() as u64 != expected) {
        return Err(crate::Error::Size { what: "splits of the masks", expected, found: other.len() as u64 }.into());
    }
    let mut parts = parts.into_iter().map(Vec::into_iter);
    let (Some(train), Some(validation), Some(test)) = (parts.next(), parts.next(), parts.next()) else { return Ok(Vec::new()) };
    let each = train.zip(validation).zip(test);
    Ok(each.map(|((train, validation), test)| Nodes { train, validation, test }).collect())
}
