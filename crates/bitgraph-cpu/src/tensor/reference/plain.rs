//! What the reference computes with: matrices of `f64`, and the steps of an epilogue element by element.
//!
//! Invariant: nothing here depends on an instruction set, a thread or an order of work other than by rows and columns, ascending.

use crate::Cpu;
use bitgraph_tensor::{Any, AnyMut, Epilogue, Reals, Step, with_dense, with_out};

/// A matrix in double precision, row-major without gaps.
#[derive(Clone, Debug)]
pub struct Plain {
    pub rows: usize,
    pub columns: usize,
    pub data: Vec<f64>,
}

impl Plain {
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, data: vec![0.0; rows * columns] }
    }
    pub fn of(x: &Any<Cpu>) -> Self {
        let (rows, columns) = x.shape();
        let data = with_dense!(x, d => {
            let (all, window) = (d.raw().as_slice(), d.window());
            (0..rows).flat_map(|i| all[window.row(i)].iter().map(|v| bitgraph_semiring::Scalar::to_f64(*v))).collect()
        });
        Self { rows, columns, data }
    }
    pub fn of_reals(x: &Reals<Cpu>) -> Self {
        Self::of(&x.any())
    }
    #[inline]
    pub fn get(&self, i: usize, c: usize) -> f64 {
        self.data[i * self.columns + c]
    }
    #[inline]
    pub fn at(&mut self, i: usize, c: usize) -> &mut f64 {
        &mut self.data[i * self.columns + c]
    }
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.columns..(i + 1) * self.columns]
    }
    /// Writes to an output, rounded to its type, ties to even.
    pub fn store(&self, y: AnyMut<'_, Cpu>) {
        let whole = !y.dtype().is_float();
        with_out!(y, out => {
            let all = out.array.as_mut_slice();
            for i in 0..self.rows {
                for (slot, &value) in all[out.window.row(i)].iter_mut().zip(self.row(i)) {
                    *slot = bitgraph_semiring::Scalar::from_f64(if whole { value.round_ties_even() } else { value });
                }
            }
        });
    }
    /// Goes through the steps of an epilogue, in double precision.
    pub fn finish(&mut self, epilogue: &Epilogue<Cpu>) {
        epilogue.0.iter().for_each(|step| self.step(step));
    }
    fn step(&mut self, step: &Step<Cpu>) {
        match step {
            Step::ScaleRows(d) => self.with(&Self::of_reals(d), |x, d, i, _| x * d.get(i, 0)),
            Step::ScaleColumns(d) => self.with(&Self::of_reals(d), |x, d, _, c| x * d.get(0, c)),
            Step::Scale(factor) => self.each(|x, _, _| x * factor),
            Step::Bias(b) => self.with(&Self::of_reals(b), |x, b, _, c| x + b.get(0, c)),
            Step::Add { other, factor, columns } => {
                let columns = columns.as_ref().map(Self::of_reals);
                self.with(&Self::of(other), |x, z, i, c| x + factor * columns.as_ref().map_or(1.0, |d| d.get(0, c)) * z.get(i, c));
            }
            Step::Multiply(z) => self.with(&Self::of(z), |x, z, i, c| x * z.get(i, c)),
            Step::BatchNorm(norm) => {
                let (mean, variance) = (Self::of_reals(&norm.mean), Self::of_reals(&norm.variance));
                let (gamma, beta) = (norm.gamma.as_ref().map(Self::of_reals), norm.beta.as_ref().map(Self::of_reals));
                self.each(|x, _, c| {
                    let normal = (x - mean.get(0, c)) / (variance.get(0, c) + norm.epsilon).sqrt();
                    normal * gamma.as_ref().map_or(1.0, |g| g.get(0, c)) + beta.as_ref().map_or(0.0, |b| b.get(0, c))
                });
            }
            Step::Activation(f) => self.each(|x, _, _| f.apply(x)),
            Step::ActivationGradient(f, value) => self.with(&Self::of(value), |x, v, i, c| x * f.derivative(v.get(i, c))),
            // A dropped element is zero, be it infinite or NaN.
            Step::Dropout(dropout) => self.each(|x, i, c| {
                let factor = dropout.at(i as u64, c as u32);
                if factor == 0.0 { 0.0 } else { x * factor }
            }),
            Step::Sign(None) => self.each(|x, _, _| if x >= 0.0 { 1.0 } else { -1.0 }),
            Step::Sign(Some(t)) => self.with(&Self::of_reals(t), |x, t, _, c| if x >= t.get(0, c) { 1.0 } else { -1.0 }),
            Step::Quantise(q) => self.each(|x, _, _| q.level(x)),
        }
    }
    fn each(&mut self, f: impl Fn(f64, usize, usize) -> f64) {
        for i in 0..self.rows {
            for c in 0..self.columns {
                *self.at(i, c) = f(self.get(i, c), i, c);
            }
        }
    }
    fn with(&mut self, other: &Self, f: impl Fn(f64, &Self, usize, usize) -> f64) {
        self.each(|x, i, c| f(x, other, i, c));
    }
}
