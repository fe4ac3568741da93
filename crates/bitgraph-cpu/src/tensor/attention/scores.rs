//! The scores of a row's entries, by the kind of attention.
//!
//! Invariant: the scores of a row are a function of its operands alone, so that the backward pass finds the ones of the forward pass.
#![allow(unsafe_code)]

use crate::tensor::number::Number;
use crate::tensor::pairs::{Kind, Paired, Pairs};
use crate::tensor::sddmm::read_entries;
use crate::tensor::view::{AnyView, reals};
use crate::{Cpu, Isa};
use bitgraph_sparse::Csr;
use bitgraph_sparse::parallel::{self, DisjointSlice};
use bitgraph_tensor::ops::{AttentionOp, NORM_FLOOR, Score};

/// The operands of scores, in the type that is computed in where they are small.
pub enum Operands<'a, R> {
    /// `leaky(left + right)`.
    Additive { left: Vec<R>, right: Vec<R>, slope: R },
    /// `vector . leaky(left + right)`.
    AdditiveV2 { left: AnyView<'a>, right: AnyView<'a>, vector: Vec<R>, slope: R },
    /// `factor * query . key`.
    Dot { query: AnyView<'a>, key: AnyView<'a>, factor: R },
    /// `beta * query . key`, over norms.
    Cosine { query: AnyView<'a>, key: AnyView<'a>, rows: Norms<R>, columns: Norms<R>, beta: R },
    /// Scores that are there.
    Edge(AnyView<'a>),
}

/// One over the norm of every head's block of every row, and whether that norm is above its floor.
pub struct Norms<R> {
    pub inverse: Vec<R>,
    pub free: Vec<bool>,
}

impl<R: Number> Norms<R> {
    /// In double precision, so that no square overflows. O(elements).
    fn of(isa: Isa, x: AnyView<'_>, heads: usize) -> Self {
        const ROWS: usize = 256;
        let (rows, columns) = x.window().shape();
        let width = columns / heads;
        let mut norms = Self { inverse: vec![R::ZERO; rows * heads], free: vec![false; rows * heads] };
        let (inverse, free) = (DisjointSlice::new(&mut norms.inverse), DisjointSlice::new(&mut norms.free));
        parallel::each(rows.div_ceil(ROWS), &|block| {
            let mut scratch = Vec::new();
            for i in block * ROWS..((block + 1) * ROWS).min(rows) {
                let row = x.row_as::<f64>(isa, i, &mut scratch);
                for h in 0..heads {
                    let norm = row[h * width..(h + 1) * width].iter().map(|v| v * v).sum::<f64>().sqrt();
                    // SAFETY: rows are disjoint, and each is in one block.
                    unsafe {
                        inverse.write(i * heads + h, R::of(1.0 / norm.max(NORM_FLOOR)));
                        free.write(i * heads + h, norm > NORM_FLOOR);
                    }
                }
            }
        });
        norms
    }
}

impl<'a, R: Number + Paired> Operands<'a, R> {
    pub fn new(isa: Isa, op: &'a AttentionOp<Cpu>) -> Self {
        match &op.score {
            Score::Additive { left, right, slope } => Self::Additive { left: reals(left), right: reals(right), slope: R::of(*slope) },
            Score::AdditiveV2 { left, right, vector, slope } => {
                let (left, right) = (AnyView::of(left), AnyView::of(right));
                Self::AdditiveV2 { left, right, vector: reals(vector), slope: R::of(*slope) }
            }
            Score::Dot { query, key, factor } => Self::Dot { query: AnyView::of(query), key: AnyView::of(key), factor: R::of(*factor) },
            Score::Cosine { query, key, beta } => {
                let (query, key) = (AnyView::of(query), AnyView::of(key));
                let (rows, columns) = (Norms::of(isa, query, op.heads), Norms::of(isa, key, op.heads));
                Self::Cosine { query, key, rows, columns, beta: reals(beta)[0] }
            }
            Score::Edge(scores) => Self::Edge(AnyView::of(scores)),
        }
    }
    /// The scores of row `i`, `heads` for each entry. Those of cosines are without their beta.
    pub fn row(&self, isa: Isa, csr: &Csr, i: usize, heads: usize, scores: &mut [R], scratch: &mut Vec<R>) {
        let (ids, range) = (csr.row(i), csr.row_range(i));
        let rest = &csr.indices()[range.start..];
        match self {
            Self::Additive { left, right, slope } => {
                let left = &left[i * heads..(i + 1) * heads];
                for (&j, scores) in ids.iter().zip(scores.chunks_exact_mut(heads)) {
                    let right = &right[j as usize * heads..(j as usize + 1) * heads];
                    for ((s, &l), &r) in scores.iter_mut().zip(left).zip(right) {
                        let z = l + r;
                        *s = if z > R::ZERO { z } else { *slope * z };
                    }
                }
            }
            Self::AdditiveV2 { left, right, vector, slope } => {
                let row = left.row_as(isa, i, scratch);
                let pairs = Pairs { kind: Kind::Leaky, row, vector, slope: *slope, features: *right, ids, rest, heads };
                R::pair(isa, &pairs, scores);
            }
            Self::Dot { query, key, factor } => {
                dot(isa, (*query, i), *key, (ids, rest), heads, scores, scratch);
                scores.iter_mut().for_each(|s| *s *= *factor);
            }
            Self::Cosine { query, key, rows, columns, .. } => {
                dot(isa, (*query, i), *key, (ids, rest), heads, scores, scratch);
                let q = &rows.inverse[i * heads..(i + 1) * heads];
                for (&j, scores) in ids.iter().zip(scores.chunks_exact_mut(heads)) {
                    let k = &columns.inverse[j as usize * heads..(j as usize + 1) * heads];
                    scores.iter_mut().zip(q).zip(k).for_each(|((s, &q), &k)| *s *= q * k);
                }
            }
            Self::Edge(e) => read_entries(isa, e, range, heads, scores),
        }
    }
    /// What the scores of [`Operands::row`] are multiplied by.
    pub fn beta(&self) -> R {
        if let Self::Cosine { beta, .. } = self { *beta } else { R::ONE }
    }
}

/// The dot products of a row with the rows of its entries.
pub fn dot<R: Number + Paired>(
    isa: Isa,
    (x, i): (AnyView<'_>, usize),
    features: AnyView<'_>,
    (ids, rest): (&[u32], &[u32]),
    heads: usize,
    out: &mut [R],
    scratch: &mut Vec<R>,
) {
    let row = x.row_as(isa, i, scratch);
    R::pair(isa, &Pairs { kind: Kind::Dot, row, vector: &[], slope: R::ZERO, features, ids, rest, heads }, out);
}
