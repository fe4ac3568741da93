//! Additive attention, forward and backward.

use super::{Measured, Run, Runner, SLOPE, attended};
use crate::features::{Element, Subject, number};
use crate::timing::Work;
use anyhow::{Result, ensure};
use bitgraph::cuda::device::Buffer;
use bitgraph::cuda::tensor::forms::attention::{AttentionGiven, GatBackwardLayout, GatGradients, GatInput, GatLayout};
use bitgraph::cuda::tensor::{explain, explain_gradient};
use bitgraph::prelude::*;
use bitgraph::tensor::Dense;
use bitgraph::tensor::ops::gat;
use std::collections::HashMap;

impl Runner<'_> {
    pub(super) fn gat<T: Element>(&self, subject: &Subject<'_>, columns: usize) -> Result<Vec<Measured>> {
        let (csr, heads) = (&subject.csr, self.options.heads);
        let n = csr.nrows();
        let (v, values) = self.bench.features::<T>(csr.ncols(), columns, 1)?;
        let scores = |n: usize, seed| -> Result<(Vec<f32>, Buffer<f32>)> {
            let host: Vec<f32> = (0..n * heads).map(|k| 2.0 * number(k, seed) as f32).collect();
            let there = self.bench.device.upload(&host)?;
            Ok((host, there))
        };
        let ((l, left), (r, right)) = (scores(n, 3)?, scores(csr.ncols(), 4)?);
        let (output, lse) = (self.bench.device.zeroed::<T>(n * columns)?, self.bench.device.zeroed::<f32>(n * heads)?);
        let (layout, build_seconds) = self.bench.built(|| GatLayout::<T>::build(&self.bench.device, &subject.lists, columns, heads))?;
        let input = GatInput { left: &left, right: &right, values: &values, slope: SLOPE, dropout: None };
        let work = || layout.forward(input, &output, Some(&lse));
        work()?;
        let found = output.to_vec()?;
        let score = |i: usize, j: usize, h: usize| {
            let z = f64::from(l[i * heads + h]) + f64::from(r[j * heads + h]);
            if z > 0.0 { z } else { f64::from(SLOPE) * z }
        };
        let error = attended(csr, &subject.rows, heads, score, &v, &found);
        ensure!(error <= f64::max(2.0 * T::OF_TERMS, 1e-5), "differs from f64 by {error:e} of the terms: {}", layout.explain());
        let (ld, rd) = (Dense::from_slice(&self.bench.cuda, n, heads, &l)?, Dense::from_slice(&self.bench.cuda, csr.ncols(), heads, &r)?);
        let vd = self.bench.dense(&v, columns)?;
        let op = || gat(&subject.matrix, &ld, &rd, &vd, f64::from(SLOPE));
        let form = explain(op().descriptor())?;
        let y = self.agreed(op, &found, 4.0)?;
        let front = || op().into(&mut *y.borrow_mut());
        let size = size_of::<T>() as u64;
        let (nodes, m, f) = (n as u64, csr.nnz() as u64, columns as u64);
        let run = Run {
            operation: "gat forward",
            form: layout.explain(),
            build_seconds,
            error,
            peer: None,
            gathered: m * f * size,
            bytes: 4 * (nodes + m) + 2 * nodes * f * size + 12 * nodes * heads as u64,
            work: &work,
            front: (form, &front),
        };
        let mut all = vec![self.timed::<T>(subject, columns, &run)?];
        if self.options.backward {
            let (dy, gradient) = self.bench.features::<T>(n, columns, 5)?;
            let rows = Rows { l: &l, r: &r, v: &v, dy: &dy };
            let given = AttentionGiven { output: Some(&output), lse: &lse, gradient: &gradient };
            let (lse, dy) = (Dense::from_slice(&self.bench.cuda, n, heads, &lse.to_vec()?)?, self.bench.dense(&dy, columns)?);
            let gradient = op();
            let call = || gradient.gradient_from(&y.borrow(), &lse, &dy).map(drop);
            let front = (explain_gradient(gradient.descriptor())?, &call as Work<'_>);
            call()?;
            all.push(self.gat_backward::<T>(subject, columns, input, given, (&rows, front))?);
        }
        Ok(all)
    }
    fn gat_backward<T: Element>(
        &self,
        subject: &Subject<'_>,
        columns: usize,
        input: GatInput<'_, T>,
        given: AttentionGiven<'_, T>,
        (rows, front): (&Rows<'_, T>, (String, Work<'_>)),
    ) -> Result<Measured> {
        let (csr, heads, device) = (&subject.csr, self.options.heads, &self.bench.device);
        let (n, m) = (csr.nrows(), csr.ncols());
        let (left, right) = (device.zeroed::<f32>(n * heads)?, device.zeroed::<f32>(m * heads)?);
        let values = device.zeroed::<T>(m * columns)?;
        let (layout, build_seconds) = self.bench.built(|| GatBackwardLayout::<T>::build(device, &subject.lists, columns, heads))?;
        let work = || layout.backward(input, given, GatGradients { left: &left, right: &right, values: &values });
        work()?;
        let error = rows.difference(csr, columns, heads, &given.lse.to_vec()?, &left.to_vec()?, &right.to_vec()?, &values.to_vec()?);
        ensure!(
            error <= f64::max(4.0 * T::OF_TERMS, 2e-5),
            "the gradient differs from f64 by {error:e} of the terms: {}",
            layout.explain()
        );
        let size = size_of::<T>() as u64;
        let (nodes, entries, f) = (n as u64, csr.nnz() as u64, columns as u64);
        let run = Run {
            operation: "gat backward",
            form: layout.explain(),
            build_seconds,
            error,
            peer: None,
            gathered: entries * f * size,
            bytes: 4 * (nodes + entries) + 5 * nodes * f * size + (12 * entries + 48 * nodes) * heads as u64,
            work: &work,
            front,
        };
        self.timed::<T>(subject, columns, &run)
    }
}

/// Operands of the backward pass on the host.
struct Rows<'a, T> {
    l: &'a [f32],
    r: &'a [f32],
    v: &'a [T],
    dy: &'a [T],
}

impl<T: Element> Rows<'_, T> {
    /// The largest difference of gradients from `f64` beside the sizes of their terms, at about a hundred rows and columns. Takes the
    /// logarithms of sums as they are.
    #[allow(clippy::too_many_arguments)]
    fn difference(&self, csr: &Csr, columns: usize, heads: usize, lse: &[f32], left: &[f32], right: &[f32], values: &[T]) -> f64 {
        let (n, width) = (csr.nrows(), columns / heads);
        let score = |i: usize, j: usize, h: usize| f64::from(self.l[i * heads + h]) + f64::from(self.r[j * heads + h]);
        let probability = |i: usize, j: usize, h: usize| {
            let z = score(i, j, h);
            (if z > 0.0 { z } else { f64::from(SLOPE) * z } - f64::from(lse[i * heads + h])).exp()
        };
        // The result at a row, and the sizes of its terms; formed once.
        let mut known: HashMap<usize, Vec<(f64, f64)>> = HashMap::new();
        let mut y = |i: usize| -> Vec<(f64, f64)> {
            let form = || {
                let mut sums = vec![(0.0, 0.0); columns];
                for &j in csr.row(i) {
                    for h in 0..heads {
                        let p = probability(i, j as usize, h);
                        for c in h * width..(h + 1) * width {
                            let t = p * self.v[j as usize * columns + c].to();
                            sums[c] = (sums[c].0 + t, sums[c].1 + t.abs());
                        }
                    }
                }
                sums
            };
            known.entry(i).or_insert_with(form).clone()
        };
        let mut worst = 0f64;
        let mut compare = |found: f64, sum: f64, size: f64| {
            let apart = ((found - sum).abs() - T::SMALLEST).max(0.0) / size.max(1e-30);
            worst = if found.is_nan() || apart.is_nan() { f64::INFINITY } else { worst.max(apart) };
        };
        // Columns of the matrix that are compared, with their entries.
        let step = n.div_ceil(100).max(1);
        let most = csr.max_degree_row().map_or(0, |r| r as usize);
        let mut wanted: Vec<Option<Vec<usize>>> = vec![None; csr.ncols()];
        (0..csr.ncols()).step_by(step).for_each(|j| wanted[j] = Some(Vec::new()));
        for i in 0..n {
            for &j in csr.row(i) {
                if let Some(list) = &mut wanted[j as usize] {
                    list.push(i);
                }
            }
        }
        // dy . (values(j) - y) of an entry times its probability and derivative, and the size of its terms.
        let entry = |i: usize, j: usize, h: usize, y: &[(f64, f64)]| -> (f64, f64) {
            let (mut dp, mut size) = (0.0, 0.0);
            for (c, &(y, terms)) in (h * width..(h + 1) * width).zip(y) {
                let (dy, v) = (self.dy[i * columns + c].to(), self.v[j * columns + c].to());
                dp += dy * (v - y);
                size += dy.abs() * (v.abs() + terms);
            }
            let p = probability(i, j, h);
            (p * dp * if score(i, j, h) > 0.0 { 1.0 } else { f64::from(SLOPE) }, p * size)
        };
        for (j, list) in wanted.iter().enumerate().filter_map(|(j, l)| Some((j, l.as_ref()?))) {
            for h in 0..heads {
                let (mut sum, mut size) = (0.0, 0.0);
                let mut sums = vec![(0.0, 0.0); width];
                for &i in list {
                    let (d, s) = entry(i, j, h, &y(i)[h * width..(h + 1) * width]);
                    (sum, size) = (sum + d, size + s);
                    for (c, total) in (h * width..(h + 1) * width).zip(&mut sums) {
                        let t = probability(i, j, h) * self.dy[i * columns + c].to();
                        *total = (total.0 + t, total.1 + t.abs());
                    }
                }
                compare(f64::from(right[j * heads + h]), sum, size);
                for (c, (sum, size)) in (h * width..(h + 1) * width).zip(sums) {
                    compare(values[j * columns + c].to(), sum, size);
                }
            }
        }
        for i in (0..n).step_by(step).chain([most]) {
            for h in 0..heads {
                let row = y(i);
                let terms = csr.row(i).iter().map(|&j| entry(i, j as usize, h, &row[h * width..(h + 1) * width]));
                let (sum, size) = terms.fold((0.0, 0.0), |(s, a), (d, e)| (s + d, a + e));
                compare(f64::from(left[i * heads + h]), sum, size);
            }
        }
        worst
    }
}
