//! What a layer gets: a dense matrix, or input features that are sparse and stay so, or that stay in host memory.

use crate::Float;
use bitgraph_backend::Matrix;
use bitgraph_sparse::{Csr, FormatKind};
use bitgraph_tensor::ops::{gemm, map, spmm};
use bitgraph_tensor::{Dense, DenseMut, Dropout, TensorBackend};
use std::sync::Arc;

/// Features that are not on a backend, but come to it block by block.
pub trait Elsewhere<B: TensorBackend, T: Float>: Send + Sync {
    /// Rows and columns.
    fn shape(&self) -> (usize, usize);
    /// The backend.
    fn backend(&self) -> &B;
    /// The product with a weight of `columns x outputs`.
    ///
    /// # Errors
    /// A weight of another shape; out of memory.
    fn times(&self, weight: &Dense<B, T>) -> Result<Dense<B, T>, B::Error>;
}

/// Features, a row for each node.
pub enum Features<B: TensorBackend, T: Float> {
    /// A dense matrix.
    Dense(Dense<B, T>),
    /// A pattern and a value for each entry, in the order of its CSR form.
    Sparse {
        /// The pattern, nodes x columns.
        pattern: Matrix<B>,
        /// The values, of one column.
        values: Dense<B, T>,
    },
    /// Features that are not on the backend: for inference alone.
    Streamed(Arc<dyn Elsewhere<B, T>>),
}

impl<B: TensorBackend, T: Float> Clone for Features<B, T> {
    fn clone(&self) -> Self {
        match self {
            Self::Dense(x) => Self::Dense(x.clone()),
            Self::Sparse { pattern, values } => Self::Sparse { pattern: pattern.clone(), values: values.clone() },
            Self::Streamed(x) => Self::Streamed(Arc::clone(x)),
        }
    }
}

impl<B: TensorBackend, T: Float> Features<B, T> {
    /// Sparse features from a pattern and its values, rounded to `T`. O(entries).
    ///
    /// # Errors
    /// [`Error::Size`](crate::Error::Size) for another number of values than entries, [`Error::Feature`](crate::Error::Feature) for one that
    /// is not finite; out of memory.
    pub fn sparse(backend: &B, pattern: &Csr, values: &[f32]) -> Result<Self, B::Error> {
        if values.len() != pattern.nnz() {
            let (expected, found) = (pattern.nnz() as u64, values.len() as u64);
            return Err(crate::refused::<B>(crate::Error::Size { what: "values of sparse features", expected, found }));
        }
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            let node = (0..pattern.nrows()).find(|&i| pattern.row_range(i).contains(&at)).unwrap_or(0) as u64;
            return Err(crate::refused::<B>(crate::Error::Feature { node, column: u64::from(pattern.indices()[at]) }));
        }
        let values = Dense::column_vector(backend, values.to_vec())?;
        Ok(Self::Sparse { pattern: Matrix::new(backend, pattern, None, FormatKind::Csr)?, values: map(&values).eval_as()? })
    }
    /// Dense features row by row, rounded to `T`. O(elements).
    ///
    /// # Errors
    /// As [`Features::sparse`].
    pub fn dense(backend: &B, rows: usize, columns: usize, values: &[f32]) -> Result<Self, B::Error> {
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            let columns = columns.max(1);
            return Err(crate::refused::<B>(crate::Error::Feature { node: (at / columns) as u64, column: (at % columns) as u64 }));
        }
        Ok(Self::Dense(map(&Dense::from_slice(backend, rows, columns, values)?).eval_as()?))
    }
    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        match self {
            Self::Dense(x) => x.shape(),
            Self::Sparse { pattern, .. } => pattern.shape(),
            Self::Streamed(x) => x.shape(),
        }
    }
    /// The backend.
    pub fn backend(&self) -> &B {
        match self {
            Self::Dense(x) => x.backend(),
            Self::Sparse { values, .. } => values.backend(),
            Self::Streamed(x) => x.backend(),
        }
    }
    /// The dense matrix, for layers that need one.
    ///
    /// # Errors
    /// [`Error::Combination`](crate::Error::Combination) for sparse or streamed features.
    pub fn as_dense(&self, what: &'static str) -> Result<&Dense<B, T>, B::Error> {
        match self {
            Self::Dense(x) => Ok(x),
            Self::Sparse { .. } | Self::Streamed(_) => {
                let why = "it takes dense features; put a linear layer before it";
                Err(crate::refused::<B>(crate::Error::Combination { what, why }))
            }
        }
    }
    /// The product with a weight of `columns x outputs`. O(entries * outputs).
    ///
    /// # Errors
    /// A weight of another shape; out of memory.
    pub fn times(&self, weight: &Dense<B, T>) -> Result<Dense<B, T>, B::Error> {
        match self {
            Self::Dense(x) => gemm(x, weight).eval(),
            Self::Sparse { pattern, values } => spmm(pattern, weight).edge_values(values).eval(),
            Self::Streamed(x) => x.times(weight),
        }
    }
    /// The same with a factor for each row.
    ///
    /// # Errors
    /// As [`Features::times`]; another number of factors than rows.
    pub fn times_scaled(&self, weight: &Dense<B, T>, rows: &Dense<B, T::Real>) -> Result<Dense<B, T>, B::Error> {
        match self {
            Self::Dense(x) => gemm(x, weight).times_rows(rows).eval(),
            Self::Sparse { pattern, values } => spmm(pattern, weight).edge_values(values).scale_rows(rows).eval(),
            Self::Streamed(x) => map(&x.times(weight)?).times_rows(rows).eval(),
        }
    }
    /// The same into a matrix that there is.
    pub(crate) fn times_into(&self, weight: &Dense<B, T>, to: DenseMut<'_, B, T>) -> Result<(), B::Error> {
        match self {
            Self::Dense(x) => gemm(x, weight).into(to),
            Self::Sparse { pattern, values } => spmm(pattern, weight).edge_values(values).into(to),
            Self::Streamed(_) => streamed::<B>("a block of features"),
        }
    }
    /// The gradient of the weight of [`Features::times`] from that of the product, into `to`.
    ///
    /// # Errors
    /// As [`Features::times`].
    pub fn weight_gradient(&self, dy: &Dense<B, T>, to: DenseMut<'_, B, T::Real>) -> Result<(), B::Error> {
        match self {
            Self::Dense(x) => gemm(x, dy).transpose_a().into(to),
            Self::Sparse { pattern, values } => spmm(pattern, dy).transpose().edge_values(values).into(to),
            Self::Streamed(_) => streamed::<B>("training on a whole graph"),
        }
    }
    /// Some of the elements set to zero; of sparse features some of the entries.
    ///
    /// # Errors
    /// Out of memory.
    pub fn dropout(&self, dropout: Dropout) -> Result<Self, B::Error> {
        Ok(match self {
            Self::Dense(x) => Self::Dense(map(x).dropout(dropout).eval()?),
            Self::Sparse { pattern, values } => Self::Sparse { pattern: pattern.clone(), values: map(values).dropout(dropout).eval()? },
            Self::Streamed(_) => streamed::<B>("training on a whole graph").map(|()| self.clone())?,
        })
    }
}

/// What is refused of features that are not on the backend.
fn streamed<B: TensorBackend>(what: &'static str) -> Result<(), B::Error> {
    let why = "its features are streamed from host memory; train on batches, or leave the features on the device";
    Err(crate::refused::<B>(crate::Error::Combination { what, why }))
}
