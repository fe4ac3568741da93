//! Graphs as their files lay them out: in a format of tiles or lists, in an order, borrowed from the file without copying.
//!
//! Invariant: values are in the order of the pattern's CSR form, whatever the format, and in the same numbering as the pattern.

#[cfg(feature = "io")]
use crate::{Error, LoadOptions};
use crate::{LoadedGraph, Result};
use bitgraph_b2sr::Layout;
use bitgraph_backend::{Backend, Graph, GraphData, Symmetry};
#[cfg(feature = "io")]
use bitgraph_io::{self as io, Loaded, StoredFormat};
#[cfg(feature = "io")]
use bitgraph_sparse::mirrored;
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Permutation, Values};
use std::cmp::Reverse;
#[cfg(feature = "io")]
use std::path::Path;

/// A graph on the host, in the format and order that its file holds it in: what [`GraphSource::load_stored`](crate::GraphSource::load_stored)
/// gives. A graph from anywhere but a `.bgr` file has lists, in the input's order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoredGraph {
    /// What it was loaded from.
    pub name: String,
    /// The pattern.
    pub layout: Layout,
    /// Weights in the order of the pattern's CSR form; none for unit weights.
    pub values: Option<Values>,
    /// Whether pattern and values equal their transpose.
    pub symmetric: bool,
    /// The number in the file of every vertex, ascending, if they were relabelled.
    pub original_ids: Option<Vec<u64>>,
    /// The renumbering that pattern and values are in, and the ordering that computed it; none where that is not known.
    pub order: Option<(Ordering, Permutation)>,
}

impl From<LoadedGraph> for StoredGraph {
    fn from(graph: LoadedGraph) -> Self {
        let LoadedGraph { name, csr, values, symmetric, original_ids } = graph;
        Self { name, layout: Layout::Csr(csr), values, symmetric, original_ids, order: None }
    }
}

impl LoadedGraph {
    /// The graph on a backend.
    ///
    /// # Errors
    /// A matrix that is not square.
    pub fn on<B: Backend>(self, backend: B) -> Result<Graph<B>> {
        StoredGraph::from(self).on(backend)
    }
}

impl StoredGraph {
    /// From what a reader found: every array of a format is checked here.
    #[cfg(feature = "io")]
    pub(crate) fn new(name: String, loaded: Loaded, options: &LoadOptions) -> Result<Self> {
        let matrix = |source| Error::from(io::Error::Matrix { path: name.clone().into(), source });
        let mut symmetric = loaded.symmetric;
        let mut values = loaded.values;
        let mut layout = match loaded.format {
            None => Layout::Csr(loaded.csr),
            Some(stored) => {
                let layout = unpack(stored, values.as_ref(), Path::new(&name))?;
                if symmetric == Some(true) && !layout.seems_symmetric(values.as_ref()) {
                    let what = "it says that the matrix is symmetric, which it is not";
                    return Err(io::Error::Malformed { path: name.into(), part: "header".into(), what }.into());
                }
                layout
            }
        };
        // A reader mirrors lists only.
        if options.symmetrize && symmetric != Some(true) {
            if layout.as_csr().is_none() {
                let (csr, both) = mirrored(&layout.to_csr(), values, loaded.permutation.as_ref(), options.duplicates).map_err(matrix)?;
                (layout, values) = (Layout::Csr(csr), both);
            }
            symmetric = Some(true);
        }
        let symmetric = symmetric.unwrap_or_else(|| layout.to_csr().is_symmetric_with(values.as_ref()));
        let order = loaded.permutation.map(|p| (loaded.ordering, p));
        Ok(Self { name, layout, values, symmetric, original_ids: loaded.original_ids, order })
    }
    /// The number of vertices, of a square matrix.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.layout.shape().0
    }
    /// Lists in the input's order. O(nnz) unless that is what it is.
    ///
    /// # Errors
    /// If there is not enough memory to number the entries.
    pub fn into_lists(self) -> Result<LoadedGraph> {
        let Self { name, layout, mut values, symmetric, original_ids, order } = self;
        let mut csr = layout.to_csr();
        drop(layout);
        if let Some((_, permutation)) = order {
            (csr, values) = permutation.inverse().apply_with(&csr, values.as_ref())?;
        }
        Ok(LoadedGraph { name, csr, values, symmetric, original_ids })
    }
    /// The graph for [`Graph::new`], in the format and order that it has: nothing is converted or copied.
    ///
    /// # Errors
    /// A matrix that is not square.
    pub fn into_data(self) -> Result<GraphData> {
        let symmetry = if self.symmetric { Symmetry::Symmetric } else { Symmetry::Find };
        Ok(GraphData::new(self.layout, self.values, symmetry, self.order)?)
    }
    /// The graph on a backend.
    ///
    /// # Errors
    /// As [`StoredGraph::into_data`].
    pub fn on<B: Backend>(self, backend: B) -> Result<Graph<B>> {
        Ok(Graph::new(backend, self.into_data()?))
    }
    /// The number of out-going arcs of each vertex, by the input's numbers. O(arrays of the pattern).
    #[must_use]
    pub fn degrees(&self) -> Vec<u32> {
        let stored: Vec<u32> = match &self.layout {
            Layout::Csr(csr) => (0..csr.nrows()).map(|v| csr.degree(v) as u32).collect(),
            tiles => tiles.row_offsets().windows(2).map(|w| (w[1] - w[0]) as u32).collect(),
        };
        match &self.order {
            Some((_, p)) => p.restore(&stored),
            None => stored,
        }
    }
    /// The input's number of the vertex with most out-going arcs, the smallest among equals; none without vertices.
    #[must_use]
    pub fn max_degree_vertex(&self) -> Option<u32> {
        if let (Layout::Csr(csr), None) = (&self.layout, &self.order) {
            return csr.max_degree_row();
        }
        self.degrees().iter().zip(0u32..).max_by_key(|&(&degree, v)| (degree, Reverse(v))).map(|(_, v)| v)
    }
    /// The ends of the arc that a value belongs to, by the numbers that the input calls them.
    ///
    /// # Panics
    /// If there are not as many entries.
    #[must_use]
    pub fn arc(&self, position: usize) -> (u64, u64) {
        let csr = self.layout.to_csr();
        let row = (0..csr.nrows()).find(|&u| csr.row_range(u).end > position).unwrap_or(0) as u32;
        let number = |v: u32| {
            let input = self.order.as_ref().map_or(v, |(_, p)| p.old_of_new()[v as usize]);
            self.original_ids.as_ref().map_or(u64::from(input), |ids| ids[input as usize])
        };
        (number(row), number(csr.indices()[position]))
    }
}

/// The layout that a container's arrays make.
#[cfg(feature = "io")]
fn unpack(stored: StoredFormat, values: Option<&Values>, path: &Path) -> Result<Layout> {
    let StoredFormat { kind, rows, columns, entries, sections, .. } = stored;
    let layout =
        Layout::from_sections(rows, columns, kind, &sections).map_err(|source| io::Error::Matrix { path: path.to_path_buf(), source })?;
    let found = layout.nnz() as u64;
    let malformed = |part: &str, what| {
        let (path, part) = (path.to_path_buf(), part.to_string());
        Err(io::Error::Malformed { path, part, what }.into())
    };
    if found != entries {
        return malformed("section 'tile_words'", "there are more or fewer entries than the header says");
    }
    if values.is_some_and(|v| v.len() as u64 != found) {
        return malformed("section 'values'", "there are more or fewer values than entries");
    }
    Ok(layout)
}
