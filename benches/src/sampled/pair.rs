//! Attention of scores of two rows: dot products with keys and values apart; cosines and GATv2's sums with the values as keys.

use super::{Measured, Run, Runner, SLOPE, attended};
use crate::features::{Element, Subject, number};
use anyhow::{Result, ensure};
use bitgraph::cuda::tensor::forms::attention::{PairInput, PairLayout, PairScore};
use bitgraph::cuda::tensor::{TensorKernels, explain};
use bitgraph::prelude::*;
use bitgraph::tensor::Dense;
use bitgraph::tensor::ops::{agnn, dot_attention, gat_v2};

impl Runner<'_> {
    /// Dot products with keys and values apart; cosines and sums with the values as keys.
    pub(super) fn pair<T: Element>(&self, subject: &Subject<'_>, columns: usize) -> Result<Vec<Measured>> {
        let (csr, heads, device) = (&subject.csr, self.options.heads, &self.bench.device);
        let (n, width) = (csr.nrows(), columns / heads.max(1));
        let ((q, query), (k, key)) = (self.bench.features::<T>(n, columns, 1)?, self.bench.features::<T>(csr.ncols(), columns, 2)?);
        let (v, values) = self.bench.features::<T>(csr.ncols(), columns, 3)?;
        let a: Vec<f32> = (0..columns).map(|c| number(c, 4) as f32).collect();
        let (vector, beta) = (device.upload(&a)?, device.upload(&[2f32])?);
        let output = device.zeroed::<T>(n * columns)?;
        let (layout, build_seconds) = self.bench.built(|| PairLayout::<T>::build(device, &subject.lists, columns, heads))?;
        let factor = 1.0 / (width as f32).sqrt();
        let (qd, kd, vd) = (self.bench.dense(&q, columns)?, self.bench.dense(&k, columns)?, self.bench.dense(&v, columns)?);
        let (ad, bd) = (Dense::from_slice(&self.bench.cuda, 1, columns, &a)?, Dense::filled(&self.bench.cuda, 1, 1, 2f32)?);
        let dot = |x: &[T], y: &[T]| x.iter().zip(y).map(|(x, y)| x.to() * y.to()).sum::<f64>();
        let cosine = |x: &[T], y: &[T], _: usize| 2.0 * dot(x, y) / (dot(x, x).sqrt().max(1e-12) * dot(y, y).sqrt().max(1e-12));
        let sum = |x: &[T], y: &[T], h: usize| {
            let z = |c: usize| x[c].to() + y[c].to();
            (0..width).map(|c| f64::from(a[h * width + c]) * if z(c) > 0.0 { z(c) } else { f64::from(SLOPE) * z(c) }).sum()
        };
        let product = |x: &[T], y: &[T], _: usize| f64::from(factor) * dot(x, y);
        type Formula<'a, T> = &'a dyn Fn(&[T], &[T], usize) -> f64;
        let kinds: [(&'static str, PairScore<'_>, bool, Formula<'_, T>); 3] = [
            ("dot forward", PairScore::Dot { factor }, false, &product),
            ("agnn forward", PairScore::Cosine { beta: &beta }, true, &cosine),
            ("gatv2 forward", PairScore::Sum { vector: &vector, slope: SLOPE }, true, &sum),
        ];
        let mut all = Vec::new();
        for (operation, score, shared, formula) in kinds {
            let (keys, there) = if shared { (&v, &values) } else { (&k, &key) };
            let input = PairInput { score, query: &query, key: there, values: &values };
            let work = || layout.forward(input, &output, None);
            work()?;
            let found = output.to_vec()?;
            let of = |x: &[T], row: usize, h: usize| x[row * columns + h * width..row * columns + (h + 1) * width].to_vec();
            let score = |i: usize, j: usize, h: usize| formula(&of(&q, i, h), &of(keys, j, h), h);
            let rows: Vec<usize> = subject.rows.iter().copied().step_by(8).collect();
            let error = attended(csr, &rows, heads, score, &v, &found);
            ensure!(error <= 10.0 * T::OF_TERMS, "{operation} differs from f64 by {error:e} of the terms: {}", layout.explain());
            let op = || match operation {
                "dot forward" => dot_attention(&subject.matrix, &qd, &kd, &vd, heads),
                "gatv2 forward" => gat_v2(&subject.matrix, &qd, &vd, &ad, heads, f64::from(SLOPE)),
                _ => agnn(&subject.matrix, &vd, &bd),
            };
            let form = explain(op().descriptor())?;
            // AGNN's front has one array for queries and values, and one head.
            let y = match operation {
                "agnn forward" => {
                    let general = self.bench.cuda.with_tensor_kernels(TensorKernels::General);
                    let matrix = Matrix::new(&general, csr, None, FormatKind::Csr)?;
                    let (v, beta) = (Dense::from_slice(&general, csr.ncols(), columns, &v)?, Dense::filled(&general, 1, 1, 2f32)?);
                    self.agreed(op, &agnn(&matrix, &v, &beta).eval()?.to_host()?, 20.0)?
                }
                _ => self.agreed(op, &found, 20.0)?,
            };
            let front = || op().into(&mut *y.borrow_mut());
            let size = size_of::<T>() as u64;
            let (nodes, m, f) = (n as u64, csr.nnz() as u64, columns as u64);
            let rows = if shared { 1 } else { 2 };
            let run = Run {
                operation,
                form: layout.explain(),
                build_seconds,
                error,
                peer: None,
                gathered: rows * m * f * size,
                bytes: 4 * (nodes + m) + (2 + rows) * nodes * f * size,
                work: &work,
                front: (form, &front),
            };
            all.push(self.timed::<T>(subject, columns, &run)?);
        }
        Ok(all)
    }
}
