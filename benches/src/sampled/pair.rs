//! Attention of scores of two rows: dot products with keys and values apart; cosines and GATv2's sums with the values as keys.

use super::{Measured, Run, Runner, SLOPE, attended};
use crate::features::{Element, Subject, number};
use anyhow::{Context, Result, ensure};
use bitgraph::cuda::tensor::forms::attention::{PairInput, PairLayout, PairScore};
use bitgraph::cuda::tensor::{TensorKernels, explain, explain_gradient};
use bitgraph::prelude::*;
use bitgraph::tensor::ops::{Attention, AttentionGradient, Operation, agnn, dot_attention, gat_v2};
use bitgraph::tensor::{Any, Dense};

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
            let input = PairInput { score, query: &query, key: there, values: &values, dropout: None };
            let work = || layout.forward(input, &output, None);
            work()?;
            let found = output.to_vec()?;
            let of = |x: &[T], row: usize, h: usize| x[row * columns + h * width..row * columns + (h + 1) * width].to_vec();
            let score = |i: usize, j: usize, h: usize| formula(&of(&q, i, h), &of(keys, j, h), h);
            let rows: Vec<usize> = subject.rows.iter().copied().step_by(8).collect();
            let error = attended(csr, &rows, heads, score, &v, &found);
            ensure!(error <= 10.0 * T::OF_TERMS, "{operation} differs from f64 by {error:e} of the terms: {}", layout.explain());
            let over = |a: &Matrix<Cuda>| match operation {
                "dot forward" => dot_attention(a, &qd, &kd, &vd, heads),
                "gatv2 forward" => gat_v2(a, &qd, &vd, &ad, heads, f64::from(SLOPE)),
                _ => agnn(a, &vd, &bd),
            };
            let op = || over(&subject.matrix);
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
            if self.options.backward {
                let name = ["dot backward", "agnn backward", "gatv2 backward"][all.len() / 2];
                let general = Matrix::new(&self.bench.cuda.with_tensor_kernels(TensorKernels::General), csr, None, FormatKind::Csr)?;
                all.push(self.pair_backward(subject, columns, (name, shared), [op(), over(&general)])?);
            }
        }
        Ok(all)
    }
    /// The gradients through the front, which agree with those of the general kernels.
    fn pair_backward<T: Element>(
        &self,
        subject: &Subject<'_>,
        columns: usize,
        (operation, shared): (&'static str, bool),
        [op, general]: [Operation<Attention<Cuda, T>>; 2],
    ) -> Result<Measured> {
        let n = subject.csr.nrows();
        let dy = self.bench.dense(&self.bench.features::<T>(n, columns, 5)?.0, columns)?;
        let (y, lse) = op.eval_for_training()?;
        let (wanted, found) = (general.gradient_of(&lse, &dy)?, op.gradient_from(&y, &lse, &dy)?);
        let error = apart(&found, &wanted)?;
        let form = explain_gradient(op.descriptor())?;
        ensure!(error <= 10.0 * T::OF_ROW, "{operation} differs from the general kernels by {error:e}: {form}");
        let call = || op.gradient_from(&y, &lse, &dy).map(drop);
        let size = size_of::<T>() as u64;
        let (nodes, m, f) = (n as u64, subject.csr.nnz() as u64, columns as u64);
        let rows = if shared { 3 } else { 4 };
        let run = Run {
            operation,
            form: form.clone(),
            build_seconds: 0.0,
            error,
            peer: None,
            gathered: rows * m * f * size,
            bytes: 4 * (nodes + 3 * m) + (3 + 2 * rows) * nodes * f * size + 16 * m * self.options.heads as u64,
            work: &call,
            front: (form, &call),
        };
        self.timed::<T>(subject, columns, &run)
    }
}

/// The largest distance of two gradients of an operand, beside the length of the second one.
fn apart<T: Element>(found: &AttentionGradient<Cuda, T>, wanted: &AttentionGradient<Cuda, T>) -> Result<f64> {
    fn distance(found: &[impl Element], wanted: &[impl Element]) -> f64 {
        let squares = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
        let length = squares(&mut wanted.iter().map(|w| w.to()));
        let off = squares(&mut found.iter().zip(wanted).map(|(f, w)| f.to() - w.to()));
        if off.is_nan() { f64::INFINITY } else { off / length.max(1e-30) }
    }
    let typed = |any: &Any<Cuda>| any.clone().get::<T>().context("a gradient of another type").and_then(|x| Ok(x.to_host()?));
    let mut all =
        vec![distance(&found.values.to_host()?, &wanted.values.to_host()?), distance(&typed(&found.first)?, &typed(&wanted.first)?)];
    if let (Some(found), Some(wanted)) = (&found.second, &wanted.second) {
        all.push(distance(&typed(found)?, &typed(wanted)?));
    }
    if let (Some(found), Some(wanted)) = (&found.parameter, &wanted.parameter) {
        all.push(distance(&found.to_host()?, &wanted.to_host()?));
    }
    Ok(all.into_iter().fold(0.0, f64::max))
}
