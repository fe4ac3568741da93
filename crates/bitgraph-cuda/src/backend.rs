//! The backend: matrices, vectors and values on one GPU.

use crate::device::Device;
use crate::matrix::CudaMatrix;
use crate::prepared::Prepared;
use crate::vector::{CudaValue, CudaVector};
use crate::{Error, Result};
use bitgraph_b2sr::Layout;
use bitgraph_backend::{Algorithm, Backend, Graph, Plan};
use bitgraph_semiring::DType;
use bitgraph_sparse::{Csr, FormatKind, Stored, Values, Vector};

/// The CUDA backend on one GPU. Cheap to clone; a clone is the same device and stream.
#[derive(Clone, Debug)]
pub struct Cuda {
    device: Device,
    reference: bool,
}

impl Cuda {
    /// Opens a GPU by its number.
    ///
    /// # Errors
    /// No driver, one too old, no such device, a device too old.
    pub fn open(ordinal: u32) -> Result<Self> {
        Ok(Self { device: Device::open(ordinal)?, reference: false })
    }
    /// Loads the kernels of an algorithm's fused form and of its layouts, and sets up what the driver needs for memory and copies. All of
    /// it is done at first use otherwise, as a part of whatever is timed then.
    ///
    /// # Errors
    /// A kernel that cannot be loaded or compiled; the driver's.
    pub fn warm_up(&self, algorithm: Algorithm) -> Result<()> {
        let own: &[&str] = match algorithm {
            Algorithm::Bfs => &["graph/bfs"],
            Algorithm::MsBfs => &["graph/msbfs"],
            // Without weights a breadth-first search.
            Algorithm::Sssp => &["graph/sssp", "graph/bfs"],
            // Meshes are ordered from the end of a search.
            Algorithm::PageRank => &["graph/pagerank", "graph/bfs", "ops/row_bins"],
            Algorithm::Cc => &["graph/cc"],
            Algorithm::Tc => &["graph/tc"],
            Algorithm::MxvFloat | Algorithm::MxvBool => &["ops/"],
        };
        self.device.preload(own)?;
        self.device.preload(&["formats/"])?;
        self.device.warm_up()
    }
    /// The same device without fused forms: the definitions of the algorithms over the operations.
    #[must_use]
    pub fn without_fused_forms(&self) -> Self {
        Self { device: self.device.clone(), reference: true }
    }
    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }
    /// The same device with a stream of its own: what is built on it and what is built on this one can be used from two threads at once. A
    /// vector or matrix goes with what was made by the same handle or a clone of it.
    ///
    /// # Errors
    /// The driver's.
    pub fn fork(&self) -> Result<Self> {
        Ok(Self { device: self.device.fork()?, reference: self.reference })
    }
}

impl Backend for Cuda {
    type Error = Error;
    type Matrix = CudaMatrix;
    type Vector<T: Stored> = CudaVector<T>;
    type Value<T: Stored> = CudaValue<T>;
    type Prepared = Prepared;

    fn name(&self) -> &'static str {
        "cuda"
    }
    fn matrix(&self, csr: &Csr, values: Option<&Values>, format: FormatKind) -> Result<CudaMatrix> {
        CudaMatrix::new(&self.device, csr, values, format)
    }
    fn matrix_from(&self, layout: &Layout, values: Option<&Values>, format: FormatKind) -> Result<CudaMatrix> {
        CudaMatrix::from_host(&self.device, layout, values, format)
    }
    fn matrix_to_host(&self, matrix: &CudaMatrix) -> Result<(Csr, Option<Values>)> {
        matrix.to_host()
    }
    fn matrix_pattern(&self, matrix: &CudaMatrix) -> CudaMatrix {
        matrix.pattern()
    }
    fn matrix_transposed(&self, matrix: &CudaMatrix) -> Result<CudaMatrix> {
        matrix.transposed().cloned()
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
        CudaVector::upload(&self.device, &host)
    }
    fn vector_to_host<T: Stored>(&self, vector: &CudaVector<T>) -> Result<Vector<T>> {
        vector.to_host()
    }
    fn vector_len<T: Stored>(&self, vector: &CudaVector<T>) -> usize {
        vector.len
    }
    fn read<T: Stored>(&self, value: &CudaValue<T>) -> Result<T> {
        value.read()
    }
    fn prepare(&self, graph: &Graph<Self>, plan: &Plan) -> Result<Prepared> {
        if self.reference { Ok(Prepared::default()) } else { Prepared::build(graph, plan) }
    }
    fn prepared_bytes(&self, prepared: &Prepared) -> u64 {
        prepared.bytes()
    }
}
