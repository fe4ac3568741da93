//! The backward pass: a row at a time the softmax again and the gradient of its scores, a number for each entry and head; then products with
//! these, by rows for what belongs to rows, and by columns for what belongs to columns. Nothing is added to from two threads.
#![allow(unsafe_code)]

use super::drop_entries;
use super::scores::{Norms, Operands, dot};
use crate::tensor::dense::{rows_of, sums, write_row};
use crate::tensor::finish::Finish;
use crate::tensor::number::Number;
use crate::tensor::pairs::Paired;
use crate::tensor::reference;
use crate::tensor::sddmm::{by_rows, softmax_gradient};
use crate::tensor::spmm::factors::Entries;
use crate::tensor::spmm::gather::{Gather, Gathers, Rule};
use crate::tensor::spmm::store::{self, After, shared};
use crate::tensor::view::{AnyView, any_of, reals};
use crate::{Cpu, Isa};
use bitgraph_semiring::DType;
use bitgraph_sparse::Csr;
use bitgraph_sparse::parallel::DisjointSlice;
use bitgraph_tensor::ops::{AttentionGradients, AttentionOp};
use bitgraph_tensor::{Any, AnyMut, Epilogue, Reals};
use std::ops::Range;

pub fn backward(op: &AttentionOp<Cpu>, lse: &Reals<Cpu>, dy: &Any<Cpu>, gradients: AttentionGradients<'_, Cpu>) {
    match op.values.dtype() {
        DType::F16 | DType::Bf16 | DType::F32 => typed::<f32>(op, lse, dy, gradients),
        DType::F64 => typed::<f64>(op, lse, dy, gradients),
        _ => reference::attention::backward(op, lse, dy, gradients),
    }
}

/// A pattern, or the pattern by columns with its entries' positions.
type Side<'a> = (&'a Csr, Option<&'a [usize]>);

/// What the passes share.
struct Pass<'a, R> {
    isa: Isa,
    csr: &'a Csr,
    heads: usize,
    operands: Operands<'a, R>,
}

/// Numbers for every entry and head.
struct Messages<R> {
    /// The softmax, with dropout: what values are weighed with.
    weights: Vec<R>,
    /// The gradient of the scores.
    scores: Vec<R>,
    /// The cosines.
    cosines: Vec<R>,
}

fn typed<R: Number + Paired + Gathers>(op: &AttentionOp<Cpu>, lse: &Reals<Cpu>, dy: &Any<Cpu>, gradients: AttentionGradients<'_, Cpu>) {
    let isa = Isa::current();
    let pass = Pass { isa, csr: op.matrix.csr(), heads: op.heads, operands: Operands::<R>::new(isa, op) };
    let dy = AnyView::of(dy);
    let AttentionGradients { values, first, second, parameter } = gradients;
    let messages = pass.messages(op, &reals::<R>(lse), dy);
    let by_columns = op.matrix.by_columns();
    let columns = (&by_columns.csr, Some(&by_columns.positions[..]));
    if let Some(out) = values {
        pass.product(columns, &messages.weights, dy, None, out);
    }
    pass.chain(columns, messages, first, second, parameter);
}

impl<R: Number + Paired + Gathers> Pass<'_, R> {
    /// The first pass, row by row.
    fn messages(&self, op: &AttentionOp<Cpu>, lse: &[R], dy: AnyView<'_>) -> Messages<R> {
        let values = AnyView::of(&op.values);
        let Self { isa, csr, heads, operands } = self;
        let (isa, heads, len) = (*isa, *heads, csr.nnz() * self.heads);
        let cosine = matches!(operands, Operands::Cosine { .. });
        let mut all = Messages { weights: vec![R::ZERO; len], scores: vec![R::ZERO; len], cosines: Vec::new() };
        all.cosines.resize(if cosine { len } else { 0 }, R::ZERO);
        let (weights, scores) = (DisjointSlice::new(&mut all.weights), DisjointSlice::new(&mut all.scores));
        let cosines = DisjointSlice::new(&mut all.cosines);
        shared(csr, &|rows| {
            let (mut scratch, mut p) = (Vec::new(), Vec::new());
            for i in rows {
                let range = csr.row_range(i);
                let places = range.start * heads..range.end * heads;
                // SAFETY: the entries of different rows are disjoint, and each row is in one range.
                let (w, ds) = unsafe { (weights.range(places.clone()), scores.range(places.clone())) };
                operands.row(isa, csr, i, heads, w, &mut scratch);
                if cosine {
                    // SAFETY: as above.
                    unsafe { cosines.range(places) }.copy_from_slice(w);
                }
                let (beta, lse) = (operands.beta(), &lse[i * heads..(i + 1) * heads]);
                for entry in w.chunks_exact_mut(heads) {
                    entry.iter_mut().zip(lse).for_each(|(s, &lse)| *s = (*s * beta - lse).exponential());
                }
                let (ids, rest) = (csr.row(i), &csr.indices()[range.start..]);
                dot(isa, (dy, i), values, (ids, rest), heads, ds, &mut scratch);
                p.clear();
                p.extend_from_slice(w);
                if let Some(dropout) = &op.dropout {
                    drop_entries(dropout, range.start, heads, w);
                    drop_entries(dropout, range.start, heads, ds);
                }
                softmax_gradient(&p, ds, heads, &mut scratch);
            }
        });
        all
    }
    /// Sums of features weighed with numbers of entries, each row perhaps mended by `fix`.
    #[allow(clippy::type_complexity)] // what a caller writes
    fn product(
        &self,
        (csr, positions): Side<'_>,
        weights: &[R],
        features: AnyView<'_>,
        fix: Option<&(dyn Fn(usize, &mut [R]) + Sync)>,
        out: AnyMut<'_, Cpu>,
    ) {
        let (isa, heads) = (self.isa, self.heads);
        let values = Some(any_of(weights, heads));
        let entries = Entries { csr, positions, values, columns: None, computed: None, heads, isa };
        let gather = Gather { entries: &entries, features, own: None, rule: Rule::Sum };
        let width = features.window().columns();
        self.store(csr, out, &|rows: Range<usize>, out: &mut [R], stride: usize| {
            R::gather(&gather, rows.clone(), out, stride);
            if let Some(fix) = fix {
                rows.enumerate().for_each(|(k, i)| fix(i, &mut out[k * stride..k * stride + width]));
            }
        });
    }
    /// Stores rows as they are reduced.
    fn store(&self, csr: &Csr, out: AnyMut<'_, Cpu>, reduced: store::Reduced<'_, R>) {
        let nothing = Epilogue::default();
        store::rows::<R, R>(csr, self.isa, reduced, &After::only(Finish::new(self.isa, &nothing)), out.into());
    }
    /// From the gradient of the scores to those of their operands.
    fn chain(
        &self,
        columns: Side<'_>,
        messages: Messages<R>,
        first: Option<AnyMut<'_, Cpu>>,
        second: Option<AnyMut<'_, Cpu>>,
        parameter: Option<AnyMut<'_, Cpu>>,
    ) {
        let Messages { weights, mut scores, cosines } = messages;
        let (isa, heads, rows) = (self.isa, self.heads, (self.csr, None));
        match &self.operands {
            Operands::Edge(_) => {
                drop(weights);
                let Some(first) = first else { return };
                by_rows::<R>(isa, self.csr, heads, first, &|i, values, _| {
                    let range = self.csr.row_range(i);
                    values.copy_from_slice(&scores[range.start * heads..range.end * heads]);
                });
            }
            Operands::Additive { left, right, slope } => {
                self.each_entry(&mut scores, |i, j, h, ds| {
                    let z = left[i * heads + h] + right[j * heads + h];
                    if z > R::ZERO { ds } else { ds * *slope }
                });
                self.totals(rows, &scores, first);
                self.totals(columns, &scores, second);
            }
            Operands::AdditiveV2 { left, right, vector, slope } => {
                self.second_version(&scores, (*left, *right), (vector, *slope), (first, parameter));
                if let Some(out) = second {
                    let (csr, positions) = columns;
                    self.by_sides((csr, positions), &scores, (*right, *left), (vector, *slope), out);
                }
            }
            Operands::Dot { query, key, factor } => {
                scores.iter_mut().for_each(|s| *s *= *factor);
                first.into_iter().for_each(|out| self.product(rows, &scores, *key, None, out));
                second.into_iter().for_each(|out| self.product(columns, &scores, *query, None, out));
            }
            Operands::Cosine { query, key, rows: q, columns: k, beta } => {
                // The gradient of the cosines, and their products with the cosines by rows and by columns.
                let mut along = weights;
                along.iter_mut().zip(&scores).zip(&cosines).for_each(|((a, &ds), &c)| *a = ds * c);
                if let Some(out) = parameter {
                    let total = sums::<R>((self.csr.nnz(), heads), 1, &|entries, sums, _| {
                        along[entries.start * heads..entries.end * heads].iter().for_each(|&v| sums[0] += v);
                    });
                    write_row(isa, &total, out);
                }
                self.each_entry(&mut scores, |i, j, h, ds| ds * *beta * q.inverse[i * heads + h] * k.inverse[j * heads + h]);
                let side = |side, norms: &Norms<R>, x: AnyView<'_>, other: AnyView<'_>, out: Option<AnyMut<'_, Cpu>>| {
                    let Some(out) = out else { return };
                    let totals = self.row_totals(side, &along);
                    let fix = |i: usize, row: &mut [R]| {
                        let mut scratch = Vec::new();
                        let x = x.row_as::<R>(isa, i, &mut scratch);
                        for (h, block) in blocks(row.len(), heads).enumerate() {
                            let at = i * heads + h;
                            // Below its floor a norm is a constant.
                            let share = *beta * norms.inverse[at] * norms.inverse[at] * totals[at];
                            if norms.free[at] {
                                row[block.clone()].iter_mut().zip(&x[block]).for_each(|(g, &x)| *g -= share * x);
                            }
                        }
                    };
                    self.product(side, &scores, other, Some(&fix), out);
                };
                side(rows, q, *query, *key, first);
                side(columns, k, *key, *query, second);
            }
        }
    }
    /// Replaces the number of every entry and head: `f(row, column, head, number)`.
    fn each_entry(&self, numbers: &mut [R], f: impl Fn(usize, usize, usize, R) -> R + Sync) {
        let (csr, heads) = (self.csr, self.heads);
        let all = DisjointSlice::new(numbers);
        shared(csr, &|rows| {
            for i in rows {
                let range = csr.row_range(i);
                // SAFETY: the entries of different rows are disjoint, and each row is in one range.
                let row = unsafe { all.range(range.start * heads..range.end * heads) };
                for (&j, entry) in csr.row(i).iter().zip(row.chunks_exact_mut(heads)) {
                    entry.iter_mut().enumerate().for_each(|(h, v)| *v = f(i, j as usize, h, *v));
                }
            }
        });
    }
    /// The sums over rows, `heads` for each, stored.
    fn totals(&self, (csr, positions): Side<'_>, numbers: &[R], out: Option<AnyMut<'_, Cpu>>) {
        let Some(out) = out else { return };
        let heads = self.heads;
        rows_of::<R>(self.isa, out, &|i, row, _| total(csr, positions, i, heads, numbers, row));
    }
    /// The sums over rows, `heads` for each.
    fn row_totals(&self, (csr, positions): Side<'_>, numbers: &[R]) -> Vec<R> {
        let heads = self.heads;
        let mut totals = vec![R::ZERO; csr.nrows() * heads];
        let all = DisjointSlice::new(&mut totals);
        shared(csr, &|rows| {
            for i in rows {
                // SAFETY: rows are disjoint, and each is in one range.
                total(csr, positions, i, heads, numbers, unsafe { all.range(i * heads..(i + 1) * heads) });
            }
        });
        totals
    }
    /// GATv2, by rows: the gradient of the left features and of the vector.
    fn second_version(
        &self,
        ds: &[R],
        (left, right): (AnyView<'_>, AnyView<'_>),
        (vector, slope): (&[R], R),
        (first, parameter): (Option<AnyMut<'_, Cpu>>, Option<AnyMut<'_, Cpu>>),
    ) {
        let (isa, csr, heads, width) = (self.isa, self.csr, self.heads, vector.len());
        if let Some(out) = parameter {
            let add = |i: usize, sums: &mut [R], [a, b]: &mut [Vec<R>; 2]| {
                let l = left.row_as::<R>(isa, i, a);
                for (&j, k) in csr.row(i).iter().zip(csr.row_range(i)) {
                    let r = right.row_as::<R>(isa, j as usize, b);
                    for (h, block) in blocks(width, heads).enumerate() {
                        let ds = ds[k * heads + h];
                        for ((sum, &l), &r) in sums[block.clone()].iter_mut().zip(&l[block.clone()]).zip(&r[block]) {
                            let z = l + r;
                            *sum += ds * if z > R::ZERO { z } else { slope * z };
                        }
                    }
                }
            };
            let total = sums::<R>((csr.nrows(), width), width, &|rows, sums, scratch| rows.for_each(|i| add(i, sums, scratch)));
            write_row(isa, &total, out);
        }
        if let Some(out) = first {
            self.by_sides((csr, None), ds, (left, right), (vector, slope), out);
        }
    }
    /// GATv2: the gradient of one side's features, whose rows the pattern's are.
    fn by_sides(
        &self,
        (csr, positions): Side<'_>,
        ds: &[R],
        (own, other): (AnyView<'_>, AnyView<'_>),
        (vector, slope): (&[R], R),
        out: AnyMut<'_, Cpu>,
    ) {
        let (isa, heads, width) = (self.isa, self.heads, vector.len());
        self.store(csr, out, &|rows: Range<usize>, out: &mut [R], stride: usize| {
            let (mut a, mut b) = (Vec::<R>::new(), Vec::<R>::new());
            for (n, i) in rows.enumerate() {
                let row = &mut out[n * stride..n * stride + width];
                row.fill(R::ZERO);
                let l = own.row_as::<R>(isa, i, &mut a);
                for (&j, k) in csr.row(i).iter().zip(csr.row_range(i)) {
                    let r = other.row_as::<R>(isa, j as usize, &mut b);
                    let k = positions.map_or(k, |p| p[k]);
                    for (h, block) in blocks(width, heads).enumerate() {
                        let ds = ds[k * heads + h];
                        let each = row[block.clone()].iter_mut().zip(&l[block.clone()]).zip(&r[block]);
                        each.for_each(|((sum, &l), &r)| *sum += if l + r > R::ZERO { ds } else { ds * slope });
                    }
                }
                row.iter_mut().zip(vector).for_each(|(sum, &a)| *sum *= a);
            }
        });
    }
}

/// The columns of each head.
fn blocks(width: usize, heads: usize) -> impl Iterator<Item = Range<usize>> {
    let block = width / heads.max(1);
    (0..heads).map(move |h| h * block..(h + 1) * block)
}

/// The sum over the entries of a row.
fn total<R: Number>(csr: &Csr, positions: Option<&[usize]>, i: usize, heads: usize, numbers: &[R], row: &mut [R]) {
    row.fill(R::ZERO);
    for k in csr.row_range(i) {
        let k = positions.map_or(k, |p| p[k]);
        row.iter_mut().zip(&numbers[k * heads..(k + 1) * heads]).for_each(|(sum, &v)| *sum += v);
    }
}
