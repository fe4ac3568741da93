//! Sums of signs over the neighbours of a vertex, on the CPU: as whole numbers of 16 bits, as planes of counts, and as sums of floats of the
//! same width, which is what bits are to be faster than.

use crate::contender::{Answer, Contender, Layout, timed};
use crate::task::{SIGNS, Subject, Task};
use anyhow::Result;
use bitgraph::prelude::*;
use bitgraph::tensor::ops::{bit_spmm, spmm};
use bitgraph::tensor::{Dense, Signs};
use bitgraph_bittensor::{BitLayout, BitMatrix, Levels, MOST_BITS, Packing, Scales, TileShape};
use std::time::Instant;

/// Signs by a hash of their place.
fn signs(rows: usize) -> Result<BitMatrix> {
    let layout = BitLayout::new(rows, SIGNS, Packing::Rows, TileShape::WORD)?;
    let hash = |k: u64| (k ^ k >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let words: Vec<u32> = (0..layout.words() as u64).map(|k| (hash(k + 1) >> 32) as u32).collect();
    Ok(BitMatrix::from_words(layout, Levels::Signs, words.into(), Scales::None)?)
}

/// Sums as whole numbers of 16 bits, then the same as planes, where no row has more neighbours than they can count, and as floats.
///
/// # Errors
/// If memory is short.
pub fn contenders(subject: &Subject) -> Result<Vec<Contender>> {
    let (start, cpu) = (Instant::now(), Cpu::new());
    let (rows, csr) = (subject.csr().nrows(), subject.csr());
    let matrix = Matrix::new(&cpu, csr, None, FormatKind::Csr)?;
    let x = Signs::from_host(&cpu, &signs(csr.ncols())?)?;
    let bytes = Task::Signs.bytes(rows as u64, matrix.bytes(), 0);
    let built = start.elapsed().as_secs_f64();

    let (a, features, mut y) = (matrix.clone(), x.clone(), Dense::<_, i16>::zeros(&cpu, rows, SIGNS)?);
    let halves = move |purpose| {
        let mut outcome = timed(purpose, || Ok(bit_spmm(&a, &features).into(&mut y)?), |()| Answer::Sums(Vec::new()))?;
        if outcome.answer.is_some() {
            let sums: Vec<f32> = y.to_host()?.into_iter().map(f32::from).collect();
            outcome.answer = Some(Answer::Sums(Subject::of_rows(&sums, SIGNS)));
        }
        Ok(outcome)
    };

    let mut all = vec![Contender::new("ours", built, halves).with_layout(Layout { format: "csr", order: "none", bytes })];
    let most = (0..rows).map(|i| csr.degree(i)).max().unwrap_or(0);
    let bits = (usize::BITS - most.leading_zeros()).max(1);
    if bits <= MOST_BITS {
        let mut counts = bit_spmm(&matrix, &x).eval_counts(bits)?;
        let (a, features) = (matrix.clone(), x.clone());
        let planes = move |purpose| {
            let mut outcome = timed(purpose, || Ok(bit_spmm(&a, &features).into_counts(&mut counts)?), |()| Answer::Sums(Vec::new()))?;
            if outcome.answer.is_some() {
                outcome.answer = Some(Answer::Sums(Subject::of_rows(&counts.to_dense()?.to_host()?, SIGNS)));
            }
            Ok(outcome)
        };

        all.push(Contender::new("planes", built, planes));
    }

    let (values, mut y) = (x.to_dense()?, Dense::<_, f32>::zeros(&cpu, rows, SIGNS)?);
    let floats = move |purpose| {
        let mut outcome = timed(purpose, || Ok(spmm(&matrix, &values).into(&mut y)?), |()| Answer::Sums(Vec::new()))?;
        if outcome.answer.is_some() {
            outcome.answer = Some(Answer::Sums(Subject::of_rows(&y.to_host()?, SIGNS)));
        }
        Ok(outcome)
    };
    all.push(Contender::new("f32", built, floats));
    Ok(all)
}
