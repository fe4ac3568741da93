//! Sums of `f32` through the layout that a plan had built for them, instead of the semiring's own kernels.
//!
//! Invariant: the result's entries are those of the general product; values differ by rounding alone.

use super::mxv::nonempty_rows;
use crate::matrix::CudaMatrix;
use crate::vector::CudaVector;
use crate::{Cuda, Result};
use bitgraph_backend::StorableSemiring;
use bitgraph_backend::ops::VectorMask;
use bitgraph_semiring::builtin_name;
use std::any::TypeId;

/// `t = A x`, where a layout was built, the semiring is its own, and nothing is masked or absent.
pub(super) fn prepared<S: StorableSemiring>(
    cuda: &Cuda,
    a: &CudaMatrix,
    x: &CudaVector<S::X>,
    mask: Option<VectorMask<'_, Cuda>>,
) -> Result<Option<CudaVector<S::Out>>> {
    let Some(layout) = a.sums().filter(|_| mask.is_none() && x.present.is_none()) else { return Ok(None) };
    // A pattern's values are ones, whichever of the two it is multiplied by.
    let fits = TypeId::of::<S::Out>() == TypeId::of::<f32>()
        && match builtin_name::<S>() {
            Some("plus_times") => true,
            Some("plus_second") => a.values().is_none(),
            _ => false,
        };
    if !fits {
        return Ok(None);
    }
    let mut t = CudaVector::<S::Out>::uninitialised(cuda.device(), a.shape().0, false)?;
    layout.run(&x.store.cast(), &t.store.cast())?;
    t.present = nonempty_rows(cuda, a)?.cloned();
    Ok(Some(t))
}
