//! Sparse times features of few bits: which loop counts, and what counts become.
#![allow(unsafe_code)]

use super::codes::{Codes, Steps};
use super::count::{Emit, Job, Scratch, rows};
use crate::spmv::per_level;
use crate::tensor::finish::Finish;
use crate::tensor::number::Reading;
use crate::tensor::sink::{Sink, Target, words_of};
use crate::tensor::spmm::store::shared;
use crate::tensor::spmm::{into, seen};
use crate::tensor::view::reals;
use crate::{Cpu, Isa};
use bitgraph_backend::Error;
use bitgraph_sparse::parallel::DisjointSlice;
use bitgraph_tensor::ops::{BitSpmmOp, Reconcile};
use bitgraph_tensor::{Any, AnyMut, BitOperand, BitOut, Epilogue, Error as TensorError, Reals, Step};

/// What bits are stored in, by the last step of an epilogue.
pub fn target<'a>(y: BitOut<'a, Cpu>, epilogue: &Epilogue<Cpu>) -> Target<'a> {
    match y {
        BitOut::Dense(y) => Target::Dense(y),
        BitOut::Codes(y) | BitOut::Counts(y) if matches!(epilogue.0.last(), Some(Step::Sign(_))) => Target::Signs(y),
        BitOut::Codes(y) | BitOut::Counts(y) => Target::Levels(y),
    }
}

/// Refuses counts that do not fit so many planes.
pub fn fits(most: usize, planes: u32) -> Result<(), Error> {
    if most < 1 << planes {
        return Ok(());
    }
    let (parameter, allowed) = ("the number of messages of a row", "below 2 to the number of bits of a count");
    Err(TensorError::Parameter { operation: "bit_spmm", parameter, found: most as f64, allowed }.into())
}

pub fn spmm(op: &BitSpmmOp<Cpu>, y: BitOut<'_, Cpu>) -> Result<(), Error> {
    match Codes::of(&op.features) {
        // Adding +1 or -1 for each entry is a sum of the values: what a narrow matrix, whose words are mostly empty, gains by.
        Some(codes) if op.is_counting() && !(op.reconcile == Reconcile::Branch && adds_values(op, &y)) => counting(op, &codes, y),
        _ => summing(op, y),
    }
}

/// Whether sums of signs may be formed as sums of values: exact in floats, and no counts are asked for.
fn adds_values(op: &BitSpmmOp<Cpu>, y: &BitOut<'_, Cpu>) -> bool {
    let exact = op.matrix_shape().1 < 1 << 24;
    matches!(op.features, BitOperand::Signs(_)) && op.features.is_whole() && !op.is_whole() && exact && !matches!(y, BitOut::Counts(_))
}

/// Sums of values: the features as floats.
fn summing(op: &BitSpmmOp<Cpu>, y: BitOut<'_, Cpu>) -> Result<(), Error> {
    let features = match &op.features {
        BitOperand::Dense(x) => x.clone(),
        bits => Any::F32(super::unpack::dense(bits)?),
    };
    let sums = op.over_values(features, op.epilogue.clone());
    into(&sums, target(y, &op.epilogue), None);
    Ok(())
}

/// Whether factors of rows change no sign.
fn are_positive(scale: &Option<Reals<Cpu>>) -> bool {
    scale.as_ref().is_none_or(|d| reals::<f32>(d).iter().all(|&d| d > 0.0 && d.is_finite()))
}

fn counting(op: &BitSpmmOp<Cpu>, codes: &Codes<'_>, y: BitOut<'_, Cpu>) -> Result<(), Error> {
    let csr = seen(&op.matrix, op.transposed).0;
    let run = |emit: Emit<'_>| {
        let job = Job { csr, own: op.own, codes, emit };
        shared(csr, &|range| rows(Isa::current(), &job, range));
    };
    let plain_signs = codes.signs && op.features.is_whole();
    match y {
        _ if y.shape().0 == 0 || y.shape().1 == 0 => {}
        BitOut::Counts(out) => {
            let most = (0..csr.nrows()).map(|i| csr.degree(i)).max().unwrap_or(0) + usize::from(op.own);
            fits(most, out.planes)?;
            let (layout, planes) = (out.layout, out.planes as usize);
            run(Emit::Planes(DisjointSlice::new(words_of(out)), layout, planes));
        }
        BitOut::Codes(out) if plain_signs && matches!(op.epilogue.0[..], [Step::Sign(None)]) && are_positive(&op.scale_rows) => {
            let layout = out.layout;
            run(Emit::Signs(DisjointSlice::new(words_of(out)), layout));
        }
        BitOut::Dense(AnyMut::I16(out)) if plain_signs && op.is_whole() => {
            let (window, all) = (out.window, out.array.as_mut_slice());
            assert!(window.end() <= all.len(), "a window of {} elements in an array of {}", window.end(), all.len());
            run(Emit::Halves(DisjointSlice::new(all), window));
        }
        y if op.is_whole() => {
            let sink = Sink::<i32>::new(Isa::current(), target(y, &op.epilogue));
            let signs = codes.signs;
            let counts = |i: usize, messages: usize, counts: &mut [i32], _: &mut Scratch| {
                if signs {
                    differences(Isa::current(), counts, messages as i32);
                }
                // SAFETY: rows are disjoint, and each is in one range.
                unsafe { sink.rows(i, counts) };
            };
            let sums = |i: usize, _: usize, sums: &mut [f64], _: &mut Scratch| {
                let whole: Vec<i32> = sums.iter().map(|&sum| sum as i64 as i32).collect();
                // SAFETY: as above.
                unsafe { sink.rows(i, &whole) };
            };
            if codes.planes == 1 { run(Emit::Counts(&counts)) } else { run(Emit::Sums(&sums)) }
        }
        y => {
            let isa = Isa::current();
            let sink = Sink::<f32>::new(isa, target(y, &op.epilogue));
            let after = After { isa, scale: op.scale_rows.as_ref().map(reals), finish: Finish::new(isa, &op.epilogue), sink };
            let counts = |i: usize, messages: usize, counts: &mut [i32], scratch: &mut Scratch| {
                let Scratch { reals, more } = scratch;
                reals.resize(counts.len(), 0.0);
                if plain_signs {
                    differences(isa, counts, messages as i32);
                    f32::read(isa, counts, reals);
                } else {
                    reals.iter_mut().zip(&*counts).enumerate().for_each(|(c, (x, &count))| {
                        *x = value(codes, f64::from(count), messages, c);
                    });
                }
                after.row(i, reals, more);
            };
            let sums = |i: usize, messages: usize, sums: &mut [f64], scratch: &mut Scratch| {
                let Scratch { reals, more } = scratch;
                reals.resize(sums.len(), 0.0);
                reals.iter_mut().zip(&*sums).enumerate().for_each(|(c, (x, &sum))| *x = value(codes, sum, messages, c));
                after.row(i, reals, more);
            };
            if codes.planes == 1 { run(Emit::Counts(&counts)) } else { run(Emit::Sums(&sums)) }
        }
    }
    Ok(())
}

/// What the sum of the codes of so many messages stands for.
#[inline(always)]
fn value(codes: &Codes<'_>, sum: f64, messages: usize, column: usize) -> f32 {
    debug_assert!(!matches!(codes.steps, Steps::Rows(_)));
    let (scale, zero) = codes.step(0, column);
    (scale * (sum - messages as f64 * zero)) as f32
}

/// What is done to the values of a row.
struct After<'a> {
    isa: Isa,
    scale: Option<Vec<f32>>,
    finish: Finish<'a, f32>,
    sink: Sink<'a, f32>,
}

impl After<'_> {
    fn row(&self, i: usize, x: &mut [f32], scratch: &mut Vec<f32>) {
        finish(self.isa, &self.finish, self.scale.as_ref().map_or(1.0, |d| d[i]), i, x, scratch);
        // SAFETY: rows are disjoint, and each is in one range.
        unsafe { self.sink.rows(i, x) };
    }
}

per_level! {
    /// Scales and finishes the values of a row.
    pub fn finish<>(steps: &Finish<'_, f32>, scale: f32, i: usize, x: &mut [f32], scratch: &mut Vec<f32>) = finish_body
}
#[inline(always)]
fn finish_body(steps: &Finish<'_, f32>, scale: f32, i: usize, x: &mut [f32], scratch: &mut Vec<f32>) {
    if scale != 1.0 {
        x.iter_mut().for_each(|x| *x *= scale);
    }
    steps.row(i, x, scratch);
}

per_level! {
    /// Counts of +1 to sums of signs.
    fn differences<>(counts: &mut [i32], messages: i32) = differences_body
}
#[inline(always)]
fn differences_body(counts: &mut [i32], messages: i32) {
    counts.iter_mut().for_each(|count| *count = 2 * *count - messages);
}
