//! `sprs`: the serial products of a CSR matrix of ones with a dense vector and with dense features.

use crate::contender::{Answer, Contender, timed};
use crate::task::{FEATURES, Subject, Task};
use anyhow::{Result, anyhow};
use ndarray::{ArrayView2, ArrayViewMut2};
use sprs::CsMatI;
use sprs::prod::{csr_mulacc_dense_rowmaj, mul_acc_mat_vec_csr};
use std::time::Instant;

pub(super) fn contender(subject: &Subject, task: Task) -> Result<Option<Contender>> {
    let csr = subject.csr();
    let columns = match task {
        Task::Mxv => 1,
        Task::Spmm => FEATURES,
        _ => return Ok(None),
    };
    let Some(offsets) = csr.offsets().as_u32() else { return Ok(None) };
    let start = Instant::now();
    let (shape, ones) = ((csr.nrows(), csr.ncols()), vec![1f32; csr.nnz()]);
    let matrix = CsMatI::<f32, u32>::try_new(shape, offsets.to_vec(), csr.indices().to_vec(), ones)
        .map_err(|(_, _, _, error)| anyhow!("sprs does not take the matrix: {error}"))?;
    let build_seconds = start.elapsed().as_secs_f64();
    let (x, mut y) = (subject.operand(columns), vec![0f32; csr.nrows() * columns]);
    Ok(Some(Contender::new("sprs", build_seconds, move |purpose| {
        let multiply = || {
            y.fill(0.0);
            if columns == 1 {
                mul_acc_mat_vec_csr(matrix.view(), &x[..], &mut y[..]);
            } else {
                let x = ArrayView2::from_shape((shape.1, columns), &x)?;
                csr_mulacc_dense_rowmaj(matrix.view(), x, ArrayViewMut2::from_shape((shape.0, columns), &mut y)?);
            }
            Ok(())
        };
        let mut outcome = timed(purpose, multiply, |()| Answer::Sums(Vec::new()))?;
        if outcome.answer.is_some() {
            outcome.answer = Some(Answer::Sums(Subject::of_rows(&y, columns)));
        }
        Ok(outcome)
    })))
}
