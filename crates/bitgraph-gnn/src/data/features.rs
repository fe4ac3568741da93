//! Features in host memory, as files hold them.

use super::{Preparation, Result};
use crate::Error;
use bitgraph_sparse::{Buffer, Csr, Offsets};
use bitgraph_tensor::TensorBackend;

/// Columns that features may have: more are taken for a damaged header, for weights have a row for each.
const MOST_COLUMNS: usize = 1 << 24;

/// What features are divided by before they are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Normalise {
    /// Nothing.
    #[default]
    None,
    /// Each row by the sum of its absolute values; rows of zeros stay.
    Row,
    /// Each column by the mean absolute value of its elements that are not zero; columns of zeros stay.
    ColumnMeanNonzero,
    /// Columns first, so that none counts for more than others, and then rows; of features that are 0 and 1 it is [`Normalise::Row`].
    ColumnThenRow,
}

impl Normalise {
    /// Whether all rows are needed at once.
    #[must_use]
    pub const fn takes_columns(self) -> bool {
        matches!(self, Self::ColumnMeanNonzero | Self::ColumnThenRow)
    }
}

/// Features of a data set, a row for each node. Every value is finite.
#[derive(Clone, Debug)]
pub struct Features(Stored);

#[derive(Clone, Debug)]
enum Stored {
    Dense { rows: usize, columns: usize, values: Buffer<f32> },
    Sparse { pattern: Csr, values: Buffer<f32> },
}

impl Features {
    /// Dense features, row by row. O(elements).
    ///
    /// # Errors
    /// [`Error::Size`] for another number of values; [`Error::Setting`] for more than 2^24 columns; [`Error::Feature`] for a value that is not
    /// finite.
    pub fn dense(rows: usize, columns: usize, values: impl Into<Buffer<f32>>) -> Result<Self> {
        let values = values.into();
        check_columns(columns)?;
        let expected = (rows as u64).saturating_mul(columns as u64);
        if values.len() as u64 != expected {
            return Err(Error::Size { what: "values of dense features", expected, found: values.len() as u64 }.into());
        }
        let features = Self(Stored::Dense { rows, columns, values });
        features.check_finite().map(|()| features)
    }
    /// Sparse features: a pattern of nodes x columns, and a value for each entry. O(entries).
    ///
    /// # Errors
    /// As [`Features::dense`].
    pub fn sparse(pattern: Csr, values: impl Into<Buffer<f32>>) -> Result<Self> {
        let values = values.into();
        check_columns(pattern.ncols())?;
        let (expected, found) = (pattern.nnz() as u64, values.len() as u64);
        if expected != found {
            return Err(Error::Size { what: "values of sparse features", expected, found }.into());
        }
        let features = Self(Stored::Sparse { pattern, values });
        features.check_finite().map(|()| features)
    }
    fn check_finite(&self) -> Result<()> {
        let Some(at) = self.values().iter().position(|v| !v.is_finite()) else { return Ok(()) };
        let (node, column) = match &self.0 {
            Stored::Dense { columns, .. } => (at / columns, at % columns),
            Stored::Sparse { pattern, .. } => (row_of(pattern, at), pattern.indices()[at] as usize),
        };
        Err(Error::Feature { node: node as u64, column: column as u64 }.into())
    }
    /// Nodes and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        match &self.0 {
            Stored::Dense { rows, columns, .. } => (*rows, *columns),
            Stored::Sparse { pattern, .. } => (pattern.nrows(), pattern.ncols()),
        }
    }
    /// The stored values: all elements row by row, or those of the pattern's entries.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        match &self.0 {
            Stored::Dense { values, .. } | Stored::Sparse { values, .. } => values,
        }
    }
    /// The pattern of sparse features.
    #[must_use]
    pub fn pattern(&self) -> Option<&Csr> {
        match &self.0 {
            Stored::Dense { .. } => None,
            Stored::Sparse { pattern, .. } => Some(pattern),
        }
    }
    /// Bytes in memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.pattern().map_or(0, Csr::bytes) + size_of_val(self.values()) as u64
    }
    /// All elements, row by row. O(elements).
    #[must_use]
    pub fn to_dense(&self) -> Vec<f32> {
        let Stored::Sparse { pattern, values } = &self.0 else { return self.values().to_vec() };
        let mut all = vec![0.0; pattern.nrows() * pattern.ncols()];
        for i in 0..pattern.nrows() {
            for e in pattern.row_range(i) {
                all[i * pattern.ncols() + pattern.indices()[e] as usize] = values[e];
            }
        }
        all
    }
    /// The features divided as `how` says; sparse ones stay so. Sums are of 64 bits. O(stored values).
    #[must_use]
    pub fn normalised(&self, how: Normalise) -> Self {
        let (rows, columns) = self.shape();
        let mut made = self.clone();
        // Where each stored value stands.
        let places: Box<dyn Iterator<Item = (usize, usize)> + '_> = match &self.0 {
            Stored::Dense { columns, values, .. } => Box::new((0..values.len()).map(move |k| (k / columns, k % columns))),
            Stored::Sparse { pattern, .. } => Box::new((0..rows).flat_map(move |i| pattern.row(i).iter().map(move |&j| (i, j as usize)))),
        };
        let group: Vec<usize> = match how {
            Normalise::None => return made,
            Normalise::ColumnThenRow => return self.normalised(Normalise::ColumnMeanNonzero).normalised(Normalise::Row),
            Normalise::Row => places.map(|(i, _)| i).collect(),
            Normalise::ColumnMeanNonzero => places.map(|(_, j)| j).collect(),
        };
        let mut sums = vec![(0.0f64, 0u32); rows.max(columns)];
        for (&g, &v) in group.iter().zip(self.values()).filter(|(_, v)| **v != 0.0) {
            sums[g] = (sums[g].0 + f64::from(v).abs(), sums[g].1 + 1);
        }
        let by: Vec<f64> = sums.iter().map(|&(sum, n)| if how == Normalise::Row { sum } else { sum / f64::from(n.max(1)) }).collect();
        let (Stored::Dense { values, .. } | Stored::Sparse { values, .. }) = &mut made.0;
        let divided = |(&v, g): (&f32, usize)| if by[g] > 0.0 { (f64::from(v) / by[g]) as f32 } else { v };
        *values = values.iter().zip(group).map(divided).collect::<Vec<f32>>().into();
        made
    }
    /// The features times a number. O(stored values).
    ///
    /// # Errors
    /// [`Error::Feature`] for a value that is not finite then.
    pub fn times(&self, factor: f32) -> Result<Self> {
        let made = self.clone().multiplied(factor);
        made.check_finite().map(|()| made)
    }
    fn multiplied(mut self, factor: f32) -> Self {
        let (Stored::Dense { values, .. } | Stored::Sparse { values, .. }) = &mut self.0;
        *values = values.iter().map(|v| v * factor).collect::<Vec<f32>>().into();
        self
    }
    /// The features, which are some of those of the data set that the preparation is of, divided and multiplied. O(stored values).
    pub(crate) fn prepared(&self, how: Preparation) -> Self {
        let divided = self.normalised(how.normalise());
        if how.factor() == 1.0 { divided } else { divided.multiplied(how.factor()) }
    }
    /// The features of some nodes, in this order; sparse ones stay so. O(their stored values).
    ///
    /// # Panics
    /// For a node that there is not.
    #[must_use]
    pub fn select(&self, nodes: &[u32]) -> Self {
        let rows = nodes.iter().map(|&v| v as usize);
        Self(match &self.0 {
            Stored::Dense { columns, values, .. } => {
                let taken: Vec<f32> = rows.flat_map(|v| values[v * columns..][..*columns].iter().copied()).collect();
                Stored::Dense { rows: nodes.len(), columns: *columns, values: taken.into() }
            }
            Stored::Sparse { pattern, values } => {
                let (mut offsets, mut ids, mut taken) = (vec![0], Vec::new(), Vec::new());
                for v in rows {
                    ids.extend_from_slice(pattern.row(v));
                    taken.extend_from_slice(&values[pattern.row_range(v)]);
                    offsets.push(ids.len());
                }
                let pattern = Csr::from_valid(nodes.len(), pattern.ncols(), Offsets::from_usizes(&offsets), ids.into());
                Stored::Sparse { pattern, values: taken.into() }
            }
        })
    }
    /// The features on a backend, rounded to `T`; sparse ones stay so.
    ///
    /// # Errors
    /// Out of memory.
    pub fn on<B: TensorBackend, T: crate::Float>(&self, backend: &B) -> Result<crate::Features<B, T>, B::Error> {
        match &self.0 {
            Stored::Dense { rows, columns, values } => crate::Features::dense(backend, *rows, *columns, values),
            Stored::Sparse { pattern, values } => crate::Features::sparse(backend, pattern, values),
        }
    }
}

fn check_columns(columns: usize) -> Result<()> {
    if columns <= MOST_COLUMNS {
        return Ok(());
    }
    Err(Error::Setting { what: "the number of columns of the features", found: columns as f64, allowed: "at most 2^24" }.into())
}

/// The row of an entry. O(log rows).
pub(crate) fn row_of(pattern: &Csr, entry: usize) -> usize {
    let (mut low, mut high) = (0, pattern.nrows());
    while low < high {
        let middle = low.midpoint(high);
        if pattern.row_range(middle).end <= entry { low = middle + 1 } else { high = middle }
    }
    low
}
