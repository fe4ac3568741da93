//! Elements to bits: signs and codes, along rows or columns.
#![allow(unsafe_code)]

use crate::spmv::per_level;
use crate::tensor::sink::{plane_of, word_at, words_of};
use crate::tensor::view::{AnyView, reals};
use crate::{Cpu, Isa};
use bitgraph_sparse::parallel::{self, DisjointSlice};
use bitgraph_tensor::bittensor::{Packing, Rounding};
use bitgraph_tensor::ops::{Coding, PackOp};
use bitgraph_tensor::{CodesOut, Dense, PlaneSteps, Reals};

/// Rows of a task: whole words along columns.
const ROWS: usize = 64;

/// A step of a code: its scale and its zero point.
type Step = (f32, f32);

/// How a row's elements become codes.
pub enum Coder {
    /// At or above zero.
    Sign,
    /// At or above a threshold of each column.
    Threshold(Vec<f32>),
    /// The nearest code, or the one below.
    Steps { top: f32, half: f32, steps: Steps },
}

/// What shares a step.
pub enum Steps {
    All(Step),
    Rows(Vec<Step>),
    Columns(Vec<Step>),
}

impl Coder {
    pub fn of(coding: &Coding<Cpu>) -> Self {
        match coding {
            Coding::Sign(None) => Self::Sign,
            Coding::Sign(Some(t)) => Self::Threshold(reals(t)),
            Coding::Steps { bits, rounding, steps } => {
                let join = |scale: &_, zero: &_| {
                    let all = |d: &Dense<Cpu, f32>| reals::<f32>(&Reals::F32(d.clone()));
                    all(scale).into_iter().zip(all(zero)).collect()
                };
                let steps = match steps {
                    PlaneSteps::Tensor(step) => Steps::All((step.scale, step.zero)),
                    PlaneSteps::Rows { scale, zero } => Steps::Rows(join(scale, zero)),
                    PlaneSteps::Columns { scale, zero } => Steps::Columns(join(scale, zero)),
                };
                let half = if *rounding == Rounding::Nearest { 0.5 } else { 0.0 };
                Self::Steps { top: ((1u32 << bits) - 1) as f32, half, steps }
            }
        }
    }
    /// The codes of a row.
    #[inline(always)]
    pub fn row(&self, i: usize, x: &[f32], codes: &mut [i32]) {
        let each = x.iter().zip(codes);
        match self {
            Self::Sign => each.for_each(|(&x, code)| *code = i32::from(x >= 0.0)),
            Self::Threshold(t) => each.zip(t).for_each(|((&x, code), &t)| *code = i32::from(x >= t)),
            Self::Steps { top, half, steps } => {
                // In range first, so that the number fits; a NaN becomes 0.
                let code = |x: f32, (scale, zero): Step| ((x / scale + zero).max(0.0).min(*top) + half) as i32;
                match steps {
                    Steps::All(step) => each.for_each(|(&x, slot)| *slot = code(x, *step)),
                    Steps::Rows(steps) => each.for_each(|(&x, slot)| *slot = code(x, steps[i])),
                    Steps::Columns(steps) => each.zip(steps).for_each(|((&x, slot), &step)| *slot = code(x, step)),
                }
            }
        }
    }
}

per_level! {
    /// The codes of a row.
    fn encode<>(coder: &Coder, i: usize, x: &[f32], codes: &mut [i32]) = encode_body
}
#[inline(always)]
fn encode_body(coder: &Coder, i: usize, x: &[f32], codes: &mut [i32]) {
    coder.row(i, x, codes);
}

per_level! {
    /// Bit `p` of the codes, a word for each 32; those past the end are 0.
    pub fn planes_of<>(codes: &[i32], p: usize, words: &mut [u32]) = planes_body
}
#[inline(always)]
fn planes_body(codes: &[i32], p: usize, words: &mut [u32]) {
    let (whole, rest) = codes.as_chunks::<32>();
    whole.iter().zip(&mut *words).for_each(|(codes, word)| *word = plane_of(codes, p));
    if !rest.is_empty() {
        let mut last = [0; 32];
        last[..rest.len()].copy_from_slice(rest);
        words[whole.len()] = plane_of(&last, p);
    }
}

per_level! {
    /// Adds bit `p` of a row's codes to words of columns, at bit `bit`.
    fn stack<>(codes: &[i32], p: usize, bit: usize, words: &mut [u32]) = stack_body
}
#[inline(always)]
fn stack_body(codes: &[i32], p: usize, bit: usize, words: &mut [u32]) {
    words.iter_mut().zip(codes).for_each(|(word, &code)| *word |= (code.cast_unsigned() >> p & 1) << bit);
}

/// The codes of a dense matrix.
pub fn pack(op: &PackOp<Cpu>, out: CodesOut<'_, Cpu>) {
    let (isa, x, coder) = (Isa::current(), AnyView::of(&op.x), Coder::of(&op.coding));
    let ((rows, columns), layout, planes) = (op.x.shape(), out.layout, out.planes as usize);
    if rows == 0 || columns == 0 {
        return;
    }
    let all = DisjointSlice::new(words_of(out));
    parallel::each(rows.div_ceil(ROWS), &|block| {
        let (mut scratch, mut codes) = (Vec::new(), vec![0i32; columns]);
        let mut stacked = vec![0u32; if layout.packing() == Packing::Columns { planes * columns } else { 0 }];
        let block = block * ROWS..((block + 1) * ROWS).min(rows);
        for first in block.clone().step_by(32) {
            stacked.fill(0);
            for i in first..(first + 32).min(block.end) {
                encode(isa, &coder, i, x.row_as::<f32>(isa, i, &mut scratch), &mut codes);
                for p in 0..planes {
                    if layout.packing() == Packing::Columns {
                        stack(isa, &codes, p, i - first, &mut stacked[p * columns..(p + 1) * columns]);
                    } else {
                        let at = word_at(&layout, p, i, 0);
                        // SAFETY: a row's words are within its line, and each row is in one block.
                        planes_of(isa, &codes, p, unsafe { all.range(at..at + columns.div_ceil(32)) });
                    }
                }
            }
            for (k, &word) in stacked.iter().enumerate() {
                // SAFETY: the word of a column for 32 rows, which are in one block.
                unsafe { all.write(word_at(&layout, k / columns, k % columns, first / 32), word) };
            }
        }
    });
}
