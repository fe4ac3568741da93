//! Repeated products of a graph's matrix with vectors of `f32`: a matrix with a layout for sums.
//!
//! Invariant: a layout gives the same bits on every run; other types have no fused form, and their definitions run in the plan's format.

mod select;

pub use select::{VARIANTS, Variant};

use crate::device::Device;
use crate::spmv::{SpmvForm, SpmvLayout};
use crate::{CudaMatrix, Result};
use bitgraph_backend::Error as Base;

/// A matrix laid out for many products.
#[derive(Clone, Debug)]
pub struct ProductLayout {
    matrix: CudaMatrix,
}

impl ProductLayout {
    /// Lays out the pattern of a matrix, which is shared. Rows stand in for a form that the matrix does not have:
    /// [`ProductLayout::variant`]. None for a matrix in another format or with wide offsets.
    ///
    /// # Errors
    /// Out of memory.
    pub fn build(device: &Device, matrix: &CudaMatrix, variant: Variant) -> Result<Option<Self>> {
        let Some(lists) = matrix.as_csr() else { return Ok(None) };
        let found = SpmvLayout::build(device, lists, None, variant.form())?;
        Ok(found.map(|sums| Self { matrix: matrix.pattern().with_sums(sums) }))
    }
    /// The matrix: operations over (plus, times) and, as it is a pattern, over (plus, second) in `f32` use the layout.
    #[must_use]
    pub fn matrix(&self) -> &CudaMatrix {
        &self.matrix
    }
    /// The variant that runs.
    #[must_use]
    pub fn variant(&self) -> Variant {
        match self.matrix.sums().map(SpmvLayout::form) {
            Some(SpmvForm::Diagonals) => Variant::Diagonals,
            Some(SpmvForm::Columns) => Variant::Columns,
            _ => Variant::Rows,
        }
    }
    /// Bytes beyond the matrix.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.matrix.sums().map_or(0, SpmvLayout::bytes)
    }
    /// `y = A x`. Waits.
    ///
    /// # Errors
    /// [`Base::Shape`] for a vector of another length; the driver's.
    pub fn run(&self, device: &Device, x: &[f32]) -> Result<Vec<f32>> {
        let (rows, columns) = self.matrix.shape();
        let Some(sums) = self.matrix.sums().filter(|_| x.len() == columns) else {
            let (expected, found) = (columns as u64, x.len() as u64);
            return Err(Base::Shape { operation: "product", operand: "vector", expected, found }.into());
        };
        let y = device.alloc::<f32>(rows)?;
        sums.run(&device.upload(x)?, &y)?;
        y.to_vec()
    }
}
