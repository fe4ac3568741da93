//! numpy's formats: `.npy` arrays and the `.npz` archives of scipy's sparse matrices. No pickles.

pub(crate) mod array;
pub(crate) mod npy;
pub(crate) mod npz;
pub(crate) mod zip;
