//! TU's layout of many graphs: text files that begin with the set's name; nodes and graphs are numbered from 1.

use super::error::Within;
use super::ogb::node_ids;
use super::{Error, GraphSet, Result, arrays, graph_set};
use bitgraph_generate::Control;
use bitgraph_io::{Field, ReadOptions, Table, read_table};
use bitgraph_sparse::{Coo, Duplicates};
use std::path::{Path, PathBuf};

const INDICATOR: &str = "_graph_indicator.txt";

/// The names that files of a folder begin with which say the graph of each node.
pub(super) fn prefixes(folder: &Path) -> Result<Vec<String>> {
    let io = |source| bitgraph_io::Error::Io { path: folder.to_path_buf(), source };
    let listed = std::fs::read_dir(folder).map_err(io)?;
    Ok(listed.flatten().filter_map(|e| Some(e.file_name().to_str()?.strip_suffix(INDICATOR)?.to_owned())).collect())
}

pub(super) fn open(folder: &Path, control: &Control) -> Result<GraphSet> {
    let [name] = &prefixes(folder)?[..] else {
        return Err(Error::Missing { folder: folder.to_path_buf(), wanted: "single file NAME_graph_indicator.txt" });
    };
    let options = ReadOptions { control: control.clone(), ..ReadOptions::default() };
    let path = |ending: &str| folder.join(format!("{name}_{ending}.txt"));
    let needed = |ending: &str, wanted: &'static str| {
        let path = path(ending);
        if path.is_file() { Ok(path) } else { Err(Error::Missing { folder: folder.to_path_buf(), wanted }) }
    };
    let at = path("graph_indicator");
    let indicator = column(&at, &options)?;
    let nodes = indicator.len();
    let labels_path = needed("graph_labels", "NAME_graph_labels.txt")?;
    let labels = column(&labels_path, &options)?;
    let starts = graph_set::starts(&indicator, labels.len()).within(&at)?;
    let labels = graph_set::ranked(&labels).within(&labels_path)?;

    let edges_path = needed("A", "NAME_A.txt")?;
    let edges: Table<i64> = read_table(&edges_path, &options)?;
    let graph = || {
        if edges.rows() > 0 && edges.columns != 2 {
            return Err(Error::Shape { found: vec![edges.rows(), edges.columns], wanted: "an edge is of two nodes" });
        }
        let from_zero: Vec<i64> = edges.values.iter().map(|v| v.saturating_sub(1)).collect();
        let ids = node_ids(&from_zero, nodes)?;
        let ends = |side: usize| ids.iter().skip(side).step_by(2).copied().collect();
        Ok(Coo::pattern(nodes, nodes, ends(0), ends(1)).into_csr(Duplicates::First)?.0.symmetrized()?)
    };
    let graph = graph().within(&edges_path)?;
    let tags = rows_of::<i64>(path("node_labels"), nodes, &options)?;
    let attributes = rows_of::<f32>(path("node_attributes"), nodes, &options)?;
    let (features, known) = graph_set::features(&graph, tags, attributes).within(folder)?;
    Ok(GraphSet::new(name, graph, features, starts, labels).within(folder)?.with_tags(known))
}

/// A table of one column.
fn column(path: &Path, options: &ReadOptions) -> Result<Vec<i64>> {
    let table: Table<i64> = read_table(path, options)?;
    if table.columns > 1 {
        return Err(Error::Shape { found: vec![table.rows(), table.columns], wanted: "a line must be of one number" }).within(path);
    }
    Ok(table.values)
}

/// What a table says of each node, and its columns; none where there is no such file.
fn rows_of<T: Field>(path: PathBuf, nodes: usize, options: &ReadOptions) -> Result<Option<(Vec<T>, usize)>> {
    if !path.is_file() {
        return Ok(None);
    }
    let table: Table<T> = read_table(&path, options)?;
    arrays::sized("lines, one for each node,", nodes, table.rows()).within(&path)?;
    Ok(Some((table.values, table.columns)))
}
