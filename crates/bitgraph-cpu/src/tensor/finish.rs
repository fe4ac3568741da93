//! Epilogues, made ready once for an operation and run over a row at a time.
//!
//! Invariant: a row's result depends on the row alone, not on which rows came before it.
#![allow(unsafe_code)]

use super::number::Number;
use super::view::{AnyView, reals};
use crate::spmv::per_level;
use crate::{Cpu, Isa};
use bitgraph_tensor::{Activation, Dropout, Epilogue, Philox, Quantise, Step};

/// A step whose operands are at hand.
enum Ready<'a, R> {
    ScaleRows(Vec<R>),
    ScaleColumns(Vec<R>),
    Scale(R),
    Bias(Vec<R>),
    Add(AnyView<'a>, R),
    /// What is added, times a factor for each column.
    AddScaled(AnyView<'a>, Vec<R>),
    Multiply(AnyView<'a>),
    /// Mean, and factor and summand after it.
    Normalise(Vec<R>, Vec<R>, Vec<R>),
    Activation(Activation),
    Gradient(Activation, AnyView<'a>),
    Dropout(Dropout),
    Sign,
    Threshold(Vec<R>),
    Quantise(Quantise),
}

/// The steps of an epilogue.
pub struct Finish<'a, R> {
    steps: Vec<Ready<'a, R>>,
    isa: Isa,
}

impl<'a, R: Number> Finish<'a, R> {
    pub fn new(isa: Isa, epilogue: &'a Epilogue<Cpu>) -> Self {
        let ready = |step: &'a Step<Cpu>| match step {
            Step::ScaleRows(d) => Ready::ScaleRows(reals(d)),
            Step::ScaleColumns(d) => Ready::ScaleColumns(reals(d)),
            Step::Scale(factor) => Ready::Scale(R::of(*factor)),
            Step::Bias(b) => Ready::Bias(reals(b)),
            Step::Add { other, factor, columns: None } => Ready::Add(AnyView::of(other), R::of(*factor)),
            Step::Add { other, factor, columns: Some(d) } => {
                let mut factors: Vec<R> = reals(d);
                factors.iter_mut().for_each(|d| *d *= R::of(*factor));
                Ready::AddScaled(AnyView::of(other), factors)
            }
            Step::Multiply(z) => Ready::Multiply(AnyView::of(z)),
            Step::BatchNorm(norm) => {
                let mean: Vec<R> = reals(&norm.mean);
                let mut factor: Vec<R> = reals(&norm.variance);
                factor.iter_mut().for_each(|v| *v = (*v + R::of(norm.epsilon)).sqrt().recip());
                if let Some(gamma) = &norm.gamma {
                    factor.iter_mut().zip(reals::<R>(gamma)).for_each(|(f, g)| *f *= g);
                }
                let beta = norm.beta.as_ref().map_or_else(|| vec![R::ZERO; mean.len()], reals);
                Ready::Normalise(mean, factor, beta)
            }
            Step::Activation(f) => Ready::Activation(*f),
            Step::ActivationGradient(f, value) => Ready::Gradient(*f, AnyView::of(value)),
            Step::Dropout(dropout) => Ready::Dropout(*dropout),
            Step::Sign(None) => Ready::Sign,
            Step::Sign(Some(t)) => Ready::Threshold(reals(t)),
            Step::Quantise(q) => Ready::Quantise(*q),
        };
        Self { steps: epilogue.0.iter().map(ready).collect(), isa }
    }
    /// Whether rows stay as they are.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
    /// Takes a row through all steps.
    #[inline(always)]
    pub fn row(&self, i: usize, x: &mut [R], scratch: &mut Vec<R>) {
        for step in &self.steps {
            self.step(step, i, x, scratch);
        }
    }
    /// Takes consecutive rows of so many columns through all steps.
    pub fn block(&self, first: usize, columns: usize, x: &mut [R]) {
        if !self.is_empty() {
            block(self.isa, self, first, columns, x);
        }
    }
    #[inline(always)]
    fn rows(&self, first: usize, columns: usize, x: &mut [R], scratch: &mut Vec<R>) {
        let of_elements = |step: &Ready<'_, R>| matches!(step, Ready::Scale(_) | Ready::Activation(_) | Ready::Dropout(_) | Ready::Sign);
        if columns == 1 && self.steps.iter().all(of_elements) {
            // Rows of one element are worth no loop of their own.
            for step in &self.steps {
                match step {
                    Ready::Dropout(dropout) => drop_out_column(dropout, first, x),
                    step => self.step(step, first, x, scratch),
                }
            }
        } else {
            // A loop, which is inlined: a closure given to an iterator is compiled by itself, and not for the instruction set in force.
            for (k, row) in x.chunks_exact_mut(columns).enumerate() {
                self.row(first + k, row, scratch);
            }
        }
    }
    #[inline(always)]
    fn step(&self, step: &Ready<'a, R>, i: usize, x: &mut [R], scratch: &mut Vec<R>) {
        match step {
            Ready::ScaleRows(d) => each(x, |x| x * d[i]),
            Ready::ScaleColumns(d) => with(x, d, |x, d| x * d),
            Ready::Scale(factor) => each(x, |x| x * *factor),
            Ready::Bias(b) => with(x, b, |x, b| x + b),
            Ready::Add(z, factor) => with(x, z.row_as(self.isa, i, scratch), |x, z| x + z * *factor),
            Ready::AddScaled(z, factors) => {
                let added = z.row_as(self.isa, i, scratch).iter().zip(factors);
                x.iter_mut().zip(added).for_each(|(x, (&z, &d))| *x += z * d);
            }
            Ready::Multiply(z) => with(x, z.row_as(self.isa, i, scratch), |x, z| x * z),
            Ready::Normalise(mean, factor, beta) => {
                for (((x, &mean), &factor), &beta) in x.iter_mut().zip(mean).zip(factor).zip(beta) {
                    *x = (*x - mean) * factor + beta;
                }
            }
            Ready::Activation(f) => activate(*f, x),
            Ready::Gradient(f, value) => {
                let value = value.row_as(self.isa, i, scratch);
                match *f {
                    Activation::Relu => with(x, value, |x, v| x * if v > R::ZERO { R::ONE } else { R::ZERO }),
                    Activation::LeakyRelu { slope } => {
                        let slope = R::of(slope);
                        with(x, value, |x, v| x * if v > R::ZERO { R::ONE } else { slope });
                    }
                    Activation::Elu { alpha } => {
                        let alpha = R::of(alpha);
                        with(x, value, |x, v| x * if v > R::ZERO { R::ONE } else { v + alpha });
                    }
                }
            }
            Ready::Dropout(dropout) => drop_out(dropout, i, x),
            Ready::Sign => each(x, |x| if x >= R::ZERO { R::ONE } else { -R::ONE }),
            Ready::Threshold(t) => with(x, t, |x, t| if x >= t { R::ONE } else { -R::ONE }),
            Ready::Quantise(q) => each(x, |x| R::of(q.level(x.to_f64()))),
        }
    }
}

per_level! {
    /// Takes consecutive rows of so many columns through all steps.
    fn block<R: Number>(steps: &Finish<'_, R>, first: usize, columns: usize, x: &mut [R]) = block_body
}
#[inline(always)]
fn block_body<R: Number>(steps: &Finish<'_, R>, first: usize, columns: usize, x: &mut [R]) {
    steps.rows(first, columns, x, &mut Vec::new());
}

#[inline(always)]
fn each<R: Copy>(x: &mut [R], f: impl Fn(R) -> R) {
    x.iter_mut().for_each(|x| *x = f(*x));
}
#[inline(always)]
fn with<R: Copy>(x: &mut [R], other: &[R], f: impl Fn(R, R) -> R) {
    x.iter_mut().zip(other).for_each(|(x, &other)| *x = f(*x, other));
}

/// An activation of every element.
#[inline(always)]
pub fn activate<R: Number>(f: Activation, x: &mut [R]) {
    match f {
        // Written so that a NaN stays one.
        Activation::Relu => each(x, |x| if x < R::ZERO { R::ZERO } else { x }),
        Activation::LeakyRelu { slope } => {
            let slope = R::of(slope);
            each(x, |x| if x > R::ZERO { x } else { slope * x });
        }
        Activation::Elu { alpha } => {
            let alpha = R::of(alpha);
            each(x, |x| if x > R::ZERO { x } else { alpha * x.exp_m1() });
        }
    }
}

/// Groups of four elements whose words are drawn at a time.
const QUADS: usize = 16;

/// Dropout of a row's elements.
#[inline(always)]
pub fn drop_out<R: Number>(dropout: &Dropout, i: usize, x: &mut [R]) {
    let (generator, threshold, factor): (Philox, u32, R) = (dropout.generator(), dropout.threshold(), R::of(dropout.factor()));
    let (many, rest) = x.as_chunks_mut::<{ 4 * QUADS }>();
    for (k, x) in many.iter_mut().enumerate() {
        // Word by word of all groups: a loop that becomes vectors.
        let mut words = [[0u32; QUADS]; 4];
        for quad in 0..QUADS {
            let [a, b, c, d] = generator.words(i as u64, (k * QUADS + quad) as u32);
            (words[0][quad], words[1][quad], words[2][quad], words[3][quad]) = (a, b, c, d);
        }
        for (quad, four) in x.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            four.iter_mut().zip(&words).for_each(|(x, words)| *x = kept(*x, words[quad] >= threshold, factor));
        }
    }
    for (quad, four) in rest.chunks_mut(4).enumerate() {
        let words = generator.words(i as u64, (many.len() * QUADS + quad) as u32);
        four.iter_mut().zip(words).for_each(|(x, word)| *x = kept(*x, word >= threshold, factor));
    }
}

/// Dropout of the elements of a column, from a row on.
#[inline(always)]
fn drop_out_column<R: Number>(dropout: &Dropout, first: usize, x: &mut [R]) {
    let (generator, threshold, factor): (Philox, u32, R) = (dropout.generator(), dropout.threshold(), R::of(dropout.factor()));
    x.iter_mut().enumerate().for_each(|(k, x)| *x = kept(*x, generator.words((first + k) as u64, 0)[0] >= threshold, factor));
}

/// An element times a factor, or zero. Not a product with zero: a dropped element is zero, be it infinite or NaN.
#[inline(always)]
fn kept<R: Number>(x: R, is_kept: bool, factor: R) -> R {
    if is_kept { x * factor } else { R::ZERO }
}
