//! The backend itself: where matrices and vectors live is the host's memory, so that putting them there costs nothing.

use crate::matrix::{CpuMatrix, Layout};
use crate::{Cpu, ops};
use bitgraph_backend::{Backend, DefaultBackend, Error, Resident, Unnamed};
use bitgraph_semiring::DType;
use bitgraph_sparse::{Csr, Format, FormatKind, Stored, Values, Vector};

impl Backend for Cpu {
    type Error = Error;
    type Matrix = CpuMatrix;
    type Vector<T: Stored> = Vector<T>;
    type Value<T: Stored> = T;

    fn name(&self) -> &'static str {
        "cpu"
    }
    /// There is one memory, and work is done when a call returns.
    fn shares_with(&self, _: &Self) -> bool {
        true
    }
    /// Runs `work` with at most so many of the threads of rayon's current pool, 0 for all of them, and no more than can run at a time: a fused
    /// algorithm whose threads take turns on a core would wait for each of them in every round.
    ///
    /// The pool is the caller's: inside `pool.install(|| ...)` that pool, elsewhere rayon's global one. It may be larger than the machine, or
    /// shared with other work: a run waits for no thread that has not come to it.
    fn with_threads<R>(&self, threads: usize, work: impl FnOnce() -> R) -> R {
        let most = crate::threads::available();
        crate::threads::limited(if threads == 0 { most } else { threads.min(most) }, work)
    }
    fn matrix(&self, csr: &Csr, values: Option<&Values>, format: FormatKind) -> Result<CpuMatrix, Error> {
        CpuMatrix::new(csr, values, format)
    }
    fn matrix_from(&self, layout: &Layout, values: Option<&Values>, format: FormatKind) -> Result<CpuMatrix, Error> {
        if layout.kind() == format {
            CpuMatrix::from_layout(layout.clone(), values)
        } else {
            CpuMatrix::new(&layout.to_csr(), values, format)
        }
    }
    fn matrix_to_host(&self, matrix: &CpuMatrix) -> Result<(Csr, Option<Values>), Error> {
        Ok((matrix.to_csr(), matrix.values().cloned()))
    }
    fn matrix_empty(&self, rows: usize, columns: usize, format: FormatKind) -> Result<CpuMatrix, Error> {
        CpuMatrix::new(&Csr::empty(rows, columns)?, None, format)
    }
    fn matrix_transposed(&self, matrix: &CpuMatrix) -> Result<CpuMatrix, Error> {
        Ok(matrix.transpose())
    }
    fn matrix_pattern(&self, matrix: &CpuMatrix) -> CpuMatrix {
        matrix.pattern()
    }
    fn matrix_shape(&self, matrix: &CpuMatrix) -> (usize, usize) {
        matrix.shape()
    }
    fn matrix_nvals(&self, matrix: &CpuMatrix) -> usize {
        matrix.nvals()
    }
    fn matrix_dtype(&self, matrix: &CpuMatrix) -> Option<DType> {
        matrix.values().map(Values::dtype)
    }
    fn matrix_format(&self, matrix: &CpuMatrix) -> FormatKind {
        matrix.format()
    }
    fn matrix_bytes(&self, matrix: &CpuMatrix) -> u64 {
        matrix.bytes()
    }
    fn vector<T: Stored>(&self, host: Vector<T>) -> Result<Vector<T>, Error> {
        Ok(host)
    }
    fn vector_to_host<T: Stored>(&self, vector: &Vector<T>) -> Result<Vector<T>, Error> {
        Ok(vector.clone())
    }
    fn vector_empty<T: Stored>(&self, len: usize) -> Result<Vector<T>, Error> {
        Ok(Vector::empty(len))
    }
    fn vector_filled<T: Stored>(&self, len: usize, value: T) -> Result<Vector<T>, Error> {
        Ok(Vector::filled(len, value))
    }
    fn vector_iota(&self, len: usize) -> Result<Vector<u32>, Error> {
        Ok(ops::build::vector(len, self.is_reference(), |i| Some(i as u32)))
    }
    fn vector_nvals<T: Stored>(&self, vector: &Vector<T>) -> Result<usize, Error> {
        Ok(vector.nvals())
    }
    fn vector_truth<T: Stored>(&self, vector: &Vector<T>, structural: bool) -> Result<Vector<bool>, Error> {
        Ok(match (structural, vector.present()) {
            (true, None) => Vector::filled(vector.len(), true),
            (true, Some(present)) => Vector::from_parts(present.clone(), None)?,
            (false, _) => ops::build::vector(vector.len(), self.is_reference(), |i| Some(vector.get(i).is_some_and(|v| v.is_non_zero()))),
        })
    }
    fn vector_len<T: Stored>(&self, vector: &Vector<T>) -> usize {
        vector.len()
    }
    fn read<T: Stored>(&self, value: &T) -> Result<T, Error> {
        Ok(*value)
    }
}

/// Every format is at home in the host's memory, and its arrays are shared.
impl<F: Format> Resident<F> for Cpu {
    type Form = F;

    fn reside(&self, format: &F) -> Result<F, Error> {
        Ok(format.clone())
    }
    fn form_bytes(&self, form: &F) -> u64 {
        form.bytes()
    }
}

impl DefaultBackend<Cpu> for Unnamed {
    fn backend() -> Cpu {
        Cpu::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_threads_are_used_than_can_run() {
        let cores = crate::place::cores();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4 * cores).build().unwrap();
        let used = |threads| pool.install(|| Cpu::new().with_threads(threads, crate::threads::allowed));
        assert_eq!([0, 1, cores, cores + 1, usize::MAX].map(used), [cores, 1, cores, cores, cores]);
    }
}
