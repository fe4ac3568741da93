//! Arrays whose length comes from a caller's shape: memory that cannot be had is an error value.

use crate::{Error, Result};

/// `len` default elements.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(crate) fn zeros<T: Clone + Default>(len: usize, what: &'static str) -> Result<Vec<T>> {
    let mut data = Vec::new();
    let wanted = (len as u64).saturating_mul(size_of::<T>() as u64);
    data.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { wanted, what })?;
    data.resize(len, T::default());
    Ok(data)
}
