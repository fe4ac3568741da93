//! `sprs`: the serial product of a CSR matrix of ones and a dense vector.

use crate::contender::{Answer, Contender, timed};
use crate::task::{Subject, Task};
use anyhow::{Result, anyhow};
use sprs::CsMatI;
use sprs::prod::mul_acc_mat_vec_csr;
use std::time::Instant;

pub(super) fn contender(subject: &Subject, task: Task) -> Result<Option<Contender>> {
    let csr = subject.csr();
    let Some(offsets) = csr.offsets().as_u32().filter(|_| task == Task::Mxv) else { return Ok(None) };
    let start = Instant::now();
    let (shape, ones) = ((csr.nrows(), csr.ncols()), vec![1f32; csr.nnz()]);
    let matrix = CsMatI::<f32, u32>::try_new(shape, offsets.to_vec(), csr.indices().to_vec(), ones)
        .map_err(|(_, _, _, error)| anyhow!("sprs does not take the matrix: {error}"))?;
    let build_seconds = start.elapsed().as_secs_f64();
    let (x, mut y) = (subject.operand(), vec![0f32; csr.nrows()]);
    Ok(Some(Contender::new("sprs", build_seconds, move |purpose| {
        let multiply = || {
            y.fill(0.0);
            mul_acc_mat_vec_csr(matrix.view(), &x[..], &mut y[..]);
            Ok(())
        };
        let mut outcome = timed(purpose, multiply, |()| Answer::Sums(Vec::new()))?;
        if outcome.answer.is_some() {
            outcome.answer = Some(Answer::Sums(y.iter().copied().map(f64::from).collect()));
        }
        Ok(outcome)
    })))
}
