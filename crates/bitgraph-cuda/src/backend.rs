//! The backend: matrices, vectors and values on one GPU.

use crate::layout::{DeviceCsr, Offsets};
use crate::matrix::CudaMatrix;
use crate::ops::elementwise;
use crate::vector::{CudaValue, CudaVector};
use crate::{Cuda, Error, Result, primitives};
use bitgraph_b2sr::Layout;
use bitgraph_backend::Backend;
use bitgraph_semiring::DType;
use bitgraph_sparse::{Csr, FormatKind, Stored, Values, Vector};

impl Backend for Cuda {
    type Error = Error;
    type Matrix = CudaMatrix;
    type Vector<T: Stored> = CudaVector<T>;
    type Value<T: Stored> = CudaValue<T>;

    fn name(&self) -> &'static str {
        "cuda"
    }
    fn shares_with(&self, other: &Self) -> bool {
        self.device().stream().is(other.device().stream())
    }
    fn label(&self) -> String {
        format!("stream {} of CUDA device {}", self.device().stream().number(), self.device().ordinal())
    }
    fn matrix(&self, csr: &Csr, values: Option<&Values>, format: FormatKind) -> Result<CudaMatrix> {
        CudaMatrix::new(self.device(), csr, values, format)
    }
    fn matrix_from(&self, layout: &Layout, values: Option<&Values>, format: FormatKind) -> Result<CudaMatrix> {
        CudaMatrix::from_host(self.device(), layout, values, format)
    }
    fn matrix_to_host(&self, matrix: &CudaMatrix) -> Result<(Csr, Option<Values>)> {
        matrix.to_host()
    }
    fn matrix_empty(&self, rows: usize, columns: usize, format: FormatKind) -> Result<CudaMatrix> {
        Csr::ids(rows as u64, columns as u64).map_err(Error::from)?;
        let offsets = Offsets::U32(self.device().zeroed(rows + 1)?);
        let lists = DeviceCsr { rows, columns, nnz: 0, offsets, indices: self.device().alloc(0)? };
        CudaMatrix::from_lists(self.device(), lists, None, format)
    }
    fn matrix_short_lived(&self, matrix: CudaMatrix, longest: u32) -> CudaMatrix {
        matrix.short_lived(longest)
    }
    fn matrix_pattern(&self, matrix: &CudaMatrix) -> CudaMatrix {
        matrix.pattern()
    }
    fn matrix_transposed(&self, matrix: &CudaMatrix) -> Result<CudaMatrix> {
        matrix.transpose()
    }
    fn matrix_shape(&self, matrix: &CudaMatrix) -> (usize, usize) {
        matrix.shape()
    }
    fn matrix_nvals(&self, matrix: &CudaMatrix) -> usize {
        matrix.nvals()
    }
    fn matrix_dtype(&self, matrix: &CudaMatrix) -> Option<DType> {
        matrix.dtype()
    }
    fn matrix_format(&self, matrix: &CudaMatrix) -> FormatKind {
        matrix.format()
    }
    fn matrix_bytes(&self, matrix: &CudaMatrix) -> u64 {
        matrix.bytes()
    }
    fn vector<T: Stored>(&self, host: Vector<T>) -> Result<CudaVector<T>> {
        CudaVector::upload(self.device(), &host)
    }
    fn vector_to_host<T: Stored>(&self, vector: &CudaVector<T>) -> Result<Vector<T>> {
        vector.to_host()
    }
    fn vector_empty<T: Stored>(&self, len: usize) -> Result<CudaVector<T>> {
        let empty = CudaVector::uninitialised(self.device(), len, true)?;
        empty.present.as_ref().map_or(Ok(()), |present| present.fill_bytes(0))?;
        Ok(empty)
    }
    fn vector_filled<T: Stored>(&self, len: usize, value: T) -> Result<CudaVector<T>> {
        elementwise::filled(self.device(), len, value)
    }
    fn vector_iota(&self, len: usize) -> Result<CudaVector<u32>> {
        Ok(CudaVector::from_parts(self.device(), len, primitives::iota(self.device(), len, 0)?.cast(), None))
    }
    fn vector_nvals<T: Stored>(&self, vector: &CudaVector<T>) -> Result<usize> {
        elementwise::count(vector)
    }
    fn vector_truth<T: Stored>(&self, vector: &CudaVector<T>, structural: bool) -> Result<CudaVector<bool>> {
        elementwise::truth(vector, structural)
    }
    fn vector_len<T: Stored>(&self, vector: &CudaVector<T>) -> usize {
        vector.len
    }
    fn read<T: Stored>(&self, value: &CudaValue<T>) -> Result<T> {
        value.read()
    }
}
