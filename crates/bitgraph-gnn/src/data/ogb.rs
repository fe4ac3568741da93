//! OGB's layout of a node classification set: tables in `raw/`, and node numbers of the three parts in a folder below `split/`.

use super::error::Within;
use super::{Dataset, Error, Features, Labels, Result, arrays};
use crate::Nodes;
use bitgraph_generate::Control;
use bitgraph_io::{Field, ReadOptions, Table, read_table};
use bitgraph_sparse::{Coo, Csr, Duplicates};
use std::path::{Path, PathBuf};

/// What tells such a folder.
pub(super) const FILES: [&str; 2] = ["raw/edge.csv.gz", "raw/edge.csv"];

pub(super) fn open(folder: &Path, control: &Control) -> Result<Dataset> {
    let options = ReadOptions { control: control.clone(), ..ReadOptions::default() };
    let edges = table::<i64>(folder, &FILES, "raw/edge.csv.gz", &options)?;
    let names = ["raw/node-feat.csv.gz", "raw/node-feat.csv"];
    let (features, path) = table::<f32>(folder, &names, "raw/node-feat.csv.gz", &options)?;
    let nodes = features.rows();
    let columns = features.columns;
    let features = Features::dense(nodes, columns, features.values).within(&path)?;

    // The number of nodes is told twice: both must agree.
    let names = ["raw/num-node-list.csv.gz", "raw/num-node-list.csv"];
    let (counts, counts_path) = table::<i64>(folder, &names, "raw/num-node-list.csv.gz", &options)?;
    match counts.values[..] {
        [n] if n == nodes as i64 => {}
        [n] => {
            let (expected, found) = (u64::try_from(n).unwrap_or_default(), nodes as u64);
            return Err(crate::Error::Size { what: "rows of the features", expected, found }).within(&path);
        }
        _ => {
            let (what, why) = ("a set of many graphs in OGB's layout", "only sets of one graph are read; others in TU's layout are");
            return Err(crate::Error::Combination { what, why }).within(&counts_path);
        }
    }
    let graph = graph(&edges.0, nodes).within(&edges.1)?;
    let names = ["raw/node-label.csv.gz", "raw/node-label.csv"];
    let (table, path) = table::<f64>(folder, &names, "raw/node-label.csv.gz", &options)?;
    let labels = labels(&table, nodes).within(&path)?;
    let split = split(folder, nodes, &options)?;
    let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
    Dataset::new(name, graph, features, labels, vec![split]).within(folder)
}

/// The first of these tables that is there, and its path.
fn table<T: Field>(folder: &Path, names: &[&str], wanted: &'static str, options: &ReadOptions) -> Result<(Table<T>, PathBuf)> {
    let found = names.iter().map(|name| folder.join(name)).find(|path| path.is_file());
    let path = found.ok_or_else(|| Error::Missing { folder: folder.to_path_buf(), wanted })?;
    Ok((read_table(&path, options)?, path))
}

/// The graph of a table of two columns, made symmetric; an edge that is given twice counts once.
fn graph(edges: &Table<i64>, nodes: usize) -> Result<Csr> {
    if edges.rows() > 0 && edges.columns != 2 {
        return Err(Error::Shape { found: vec![edges.rows(), edges.columns], wanted: "an edge is of two nodes" });
    }
    let ids = node_ids(&edges.values, nodes)?;
    let ends = |side: usize| ids.iter().skip(side).step_by(2).copied().collect();
    let coo = Coo::pattern(nodes, nodes, ends(0), ends(1));
    Ok(coo.into_csr(Duplicates::First)?.0.symmetrized()?)
}

/// Numbers as nodes of a graph of so many.
pub(super) fn node_ids(numbers: &[i64], nodes: usize) -> Result<Vec<u32>> {
    let of = |(position, &v): (usize, &i64)| {
        let valid = u32::try_from(v).ok().filter(|&v| (v as usize) < nodes);
        valid.ok_or(Error::Element { position: position as u64, found: v as f64, wanted: "it must be a node of the graph" })
    };
    numbers.iter().enumerate().map(of).collect()
}

/// Classes of one column, or 0 and 1 in several; what is not a number is no label.
fn labels(table: &Table<f64>, nodes: usize) -> Result<Labels> {
    arrays::sized("rows of the labels", nodes, table.rows())?;
    let whole = |(position, &found): (usize, &f64)| {
        let wanted = "a label must be a whole number, or nan for none";
        let right = found.is_nan() || (found.fract() == 0.0 && found.abs() <= f64::from(i32::MAX));
        if right {
            Ok(if found.is_nan() { -1 } else { found as i64 })
        } else {
            Err(Error::Element { position: position as u64, found, wanted })
        }
    };
    let all = table.values.iter().enumerate().map(whole).collect::<Result<Vec<i64>>>()?;
    if table.columns == 1 {
        return arrays::classes(all, nodes, &[]);
    }
    let unlabelled: Vec<u32> = (0u32..).zip(all.chunks(table.columns)).filter(|(_, row)| row.contains(&-1)).map(|(v, _)| v).collect();
    let bits = all.iter().map(|&l| u8::try_from(l.max(0)).unwrap_or(u8::MAX)).collect();
    Labels::several(bits, table.columns, &unlabelled)
}

/// The parts of the only folder below `split/`.
fn split(folder: &Path, nodes: usize, options: &ReadOptions) -> Result<Nodes> {
    let all = folder.join("split");
    let listed = std::fs::read_dir(&all).map(|list| list.flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect::<Vec<_>>());
    let [only] = &listed.unwrap_or_default()[..] else {
        return Err(Error::Missing { folder: folder.to_path_buf(), wanted: "single folder below split/" });
    };
    let part = |name: &'static str, zipped: &'static str| {
        let (table, path) = table::<i64>(only, &[zipped, name], zipped, options)?;
        node_ids(&table.values, nodes).within(&path)
    };
    Ok(Nodes {
        train: part("train.csv", "train.csv.gz")?,
        validation: part("valid.csv", "valid.csv.gz")?,
        test: part("test.csv", "test.csv.gz")?,
    })
}
