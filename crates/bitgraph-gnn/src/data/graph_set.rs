//! Many graphs, each with a label, side by side in one adjacency.

use super::{Error, Features, Labels, Normalise, Result, arrays};
use bitgraph_sparse::{Buffer, Csr, Offsets};

/// Elements of dense features at most: 4 GB.
const MOST_ELEMENTS: usize = 1 << 30;
/// Different labels of nodes at most, for each is a column of the features.
const MOST_TAGS: usize = 1 << 12;

/// A data set for the classification of graphs.
///
/// Invariant: the nodes of a graph follow each other, no entry leads from one graph to another, every graph has a label, and features are
/// dense.
#[derive(Clone, Debug)]
pub struct GraphSet {
    name: String,
    graph: Csr,
    features: Features,
    /// Where each graph's nodes begin, and where the last one's end.
    starts: Vec<usize>,
    labels: Labels,
    tags: Vec<Vec<i64>>,
}

impl GraphSet {
    /// Checks that the parts fit: graph `g` has the nodes from `starts[g]` to below `starts[g + 1]`. O(entries).
    ///
    /// # Errors
    /// [`Content`](super::Error::Content) with what does not fit; [`Between`](super::Error::Between) for an entry between graphs.
    pub fn new(name: impl Into<String>, graph: Csr, features: Features, starts: Vec<usize>, labels: Labels) -> Result<Self> {
        let nodes = graph.nrows();
        arrays::sized("columns of the adjacency", nodes, graph.ncols())?;
        arrays::sized("rows of the features", nodes, features.shape().0)?;
        arrays::sized("nodes of the graphs", nodes, starts.last().copied().unwrap_or(0))?;
        arrays::sized("labels of graphs", starts.len().saturating_sub(1), labels.of().len())?;
        if features.pattern().is_some() || labels.matrix().is_some() || labels.labelled().count() != labels.of().len() {
            let (what, why) = ("a set of graphs", "it needs dense features and a class for each graph");
            return Err(crate::Error::Combination { what, why }.into());
        }
        for w in starts.windows(2) {
            for i in w[0]..w[1] {
                if let Some(&j) = graph.row(i).iter().find(|&&j| !(w[0]..w[1]).contains(&(j as usize))) {
                    return Err(Error::Between { node: i as u64, other: j.into() });
                }
            }
        }
        Ok(Self { name: name.into(), graph, features, starts, labels, tags: Vec::new() })
    }
    /// The same with the numbers that the columns of its features stand for, ascending, of each kind of labels of nodes.
    #[must_use]
    pub(super) fn with_tags(self, tags: Vec<Vec<i64>>) -> Self {
        Self { tags, ..self }
    }
    /// The labels of nodes that features have a column for, of each kind: those of another set may be others, and their columns mean other things.
    #[must_use]
    pub fn tags(&self) -> &[Vec<i64>] {
        &self.tags
    }
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
    /// All graphs side by side.
    #[must_use]
    pub fn graph(&self) -> &Csr {
        &self.graph
    }
    /// The features of all nodes.
    #[must_use]
    pub fn features(&self) -> &Features {
        &self.features
    }
    /// The class of each graph.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        &self.labels
    }
    /// The number of graphs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.of().len()
    }
    /// Whether there are no graphs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The same with features divided as `how` says. O(elements).
    ///
    /// # Errors
    /// As [`GraphSet::new`].
    pub fn normalised(self, how: Normalise) -> Result<Self> {
        let features = self.features.normalised(how);
        Ok(Self::new(self.name, self.graph, features, self.starts, self.labels)?.with_tags(self.tags))
    }
    /// A checksum of what the graphs are, features apart: entries, sizes and labels. O(entries).
    #[must_use]
    pub fn fingerprint(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        let mut add = |number: u64| hasher.update(&number.to_le_bytes());
        self.starts.iter().for_each(|&s| add(s as u64));
        self.labels.of().iter().for_each(|&l| add(l as u64));
        (0..self.graph.nrows()).flat_map(|i| self.graph.row(i)).for_each(|&j| add(j.into()));
        hasher.finalize()
    }
    /// The nodes of a graph; none of one that there is not.
    #[must_use]
    pub fn nodes_of(&self, graph: u32) -> std::ops::Range<usize> {
        let at = |g: usize| self.starts.get(g).copied().unwrap_or_default();
        at(graph as usize)..at(graph as usize + 1)
    }
    /// Some of the graphs side by side in this order: their adjacency, features row by row, and the nodes of each. O(what is taken).
    ///
    /// # Errors
    /// More nodes or entries than an adjacency holds.
    pub fn side_by_side(&self, graphs: &[u32]) -> Result<(Csr, Vec<f32>, Vec<usize>)> {
        let (columns, all) = (self.features.shape().1, self.features.values());
        let (mut offsets, mut indices, mut values, mut sizes) = (vec![0usize], Vec::new(), Vec::new(), Vec::new());
        for &g in graphs {
            let (nodes, begin) = (self.nodes_of(g), offsets.len() - 1);
            values.extend_from_slice(&all[nodes.start * columns..nodes.end * columns]);
            sizes.push(nodes.len());
            for i in nodes.clone() {
                indices.extend(self.graph.row(i).iter().map(|&j| (j as usize - nodes.start + begin) as u32));
                offsets.push(indices.len());
            }
        }
        let nodes = offsets.len() - 1;
        Csr::ids(nodes as u64, nodes as u64)?;
        Ok((Csr::new(nodes, nodes, Offsets::from_usizes(&offsets), Buffer::from(indices))?, values, sizes))
    }
}

/// Where the graphs begin, from the graph of each node: numbers that rise by one from graph to graph.
pub(super) fn starts(indicator: &[i64], graphs: usize) -> Result<Vec<usize>> {
    let mut starts = vec![0];
    for (i, w) in indicator.windows(2).enumerate() {
        match w[1].checked_sub(w[0]) {
            Some(0) => {}
            Some(1) => starts.push(i + 1),
            _ => {
                let wanted = "the graph of a node must be that of the node before it, or the next one";
                return Err(Error::Element { position: i as u64 + 1, found: w[1] as f64, wanted });
            }
        }
    }
    if indicator.is_empty() {
        starts.clear();
    }
    starts.push(indicator.len());
    arrays::sized("graphs that nodes are of, for the labels of graphs,", graphs, starts.len() - 1)?;
    Ok(starts)
}

/// The numbers that there are, ascending, as classes from 0.
pub(super) fn ranked(labels: &[i64]) -> Result<Labels> {
    let mut known = labels.to_vec();
    known.sort_unstable();
    known.dedup();
    let rank = |l: &i64| known.partition_point(|k| k < l) as i32;
    if known.len() > 1 << 16 {
        let (what, allowed) = ("the number of classes", "at most 65536");
        return Err(crate::Error::Setting { what, found: known.len() as f64, allowed }.into());
    }
    Labels::new(labels.iter().map(rank).collect(), known.len())
}

/// Refuses dense features of more than is held.
pub(super) fn check_dense(rows: usize, columns: usize) -> Result<()> {
    match rows.checked_mul(columns) {
        Some(n) if n <= MOST_ELEMENTS => Ok(()),
        _ => {
            let (what, allowed) = ("elements of dense features", "at most 2^30 for sets of graphs");
            Err(crate::Error::Setting { what, found: rows as f64 * columns as f64, allowed }.into())
        }
    }
}

/// What nodes have, and the numbers that labels are of, for each kind of them.
type Tagged = (Features, Vec<Vec<i64>>);

/// The features of nodes: for each column of labels a column for each number in it, the attributes, and the logarithm of 1 + degree. Labels
/// and attributes are row by row, with their columns.
pub(super) fn features(graph: &Csr, tags: Option<(Vec<i64>, usize)>, attributes: Option<(Vec<f32>, usize)>) -> Result<Tagged> {
    let nodes = graph.nrows();
    let mut known: Vec<Vec<i64>> = Vec::new();
    let (tags, kinds) = tags.unwrap_or_default();
    let (attributes, width) = attributes.unwrap_or_default();
    arrays::sized("labels of nodes", nodes * kinds, tags.len())?;
    arrays::sized("attributes of nodes", nodes * width, attributes.len())?;
    for kind in 0..kinds {
        let mut of: Vec<i64> = tags.iter().skip(kind).step_by(kinds).copied().collect();
        of.sort_unstable();
        of.dedup();
        known.push(of);
    }
    let hot: usize = known.iter().map(Vec::len).sum();
    if hot > MOST_TAGS {
        let (what, allowed) = ("the number of different labels of nodes", "at most 4096");
        return Err(crate::Error::Setting { what, found: hot as f64, allowed }.into());
    }
    let columns = hot + width + 1;
    check_dense(nodes, columns)?;
    let mut values = vec![0f32; nodes * columns];
    for (i, row) in values.chunks_exact_mut(columns).enumerate() {
        let mut at = 0;
        for (kind, of) in known.iter().enumerate() {
            row[at + of.partition_point(|k| *k < tags[i * kinds + kind])] = 1.0;
            at += of.len();
        }
        row[at..at + width].copy_from_slice(&attributes[i * width..(i + 1) * width]);
        row[columns - 1] = (graph.degree(i) as f32).ln_1p();
    }
    Ok((Features::dense(nodes, columns, values)?, known))
}
