//! Matrix times vector: by rows (pull), or by the entries of a sparse vector (push) for a transposed product.
//!
//! Determinism: every output is combined in ascending order of the other index, whatever the threads; sums of the float
//! layouts that a plan asked for use a fixed order of their own.

use super::build;
use super::selection::{Selection, write_back};
use crate::Cpu;
use crate::matrix::CpuMatrix;
use crate::tile::{RowEntries, sum};
use bitgraph_b2sr::with_layout;
use bitgraph_backend::ops::{VectorWrite, View};
use bitgraph_backend::{Accumulate, Error, Mxv, StorableSemiring};
use bitgraph_sparse::parallel::{self, DisjointSlice};
use bitgraph_sparse::{BitVector, Store, Stored, Vector};
use std::mem::MaybeUninit;

/// One thread pushes a vector with one value in so many positions in less time than it pulls it: with one in 20, over a small Kronecker graph in any
/// format, in .07 to .13 of that.
const PUSHED: usize = 4;
/// Threads from which on a push is shared: products are dealt out before they are summed, which takes two to three times as long as to sum them at
/// once. With two threads it took 1.2 times as long on lists as with one; on 16 cores .2 to .4 times with sixteen.
const SHARING: usize = 4;
/// A shared push takes less time than a pull for as many fewer values.
const PUSHED_BY_ALL: usize = 2 * PUSHED;

/// A vector with one value in fewer positions than this is pulled.
fn pushed() -> usize {
    match crate::threads::allowed() {
        threads if threads < SHARING => PUSHED * threads,
        _ => PUSHED_BY_ALL,
    }
}

impl<S: StorableSemiring> Mxv<S> for Cpu {
    fn mxv<C: Accumulate<S::Out>>(
        &self,
        w: &mut Vector<S::Out>,
        write: VectorWrite<'_, Self, C>,
        View { matrix: a, transposed }: View<'_, Self>,
        u: &Vector<S::X>,
    ) -> Result<(), Error> {
        let selection = Selection::new(write.mask);
        let everything = selection.is_everything() && !C::ACTIVE;
        if everything && !transposed && !self.is_reference() && a.values().is_none() && super::fast::sum_into::<S>(a, u, w) {
            return Ok(());
        }
        let t = product::<S>(*self, selection, a, u, transposed)?;
        if everything {
            *w = t;
        } else {
            write_back(*self, w, write, |i| t.get(i));
        }
        Ok(())
    }
}

/// The product at the positions that the selection wants; elsewhere it may hold anything. Apart from the write-back, so that
/// it is compiled once for a semiring whatever the accumulators.
fn product<S: StorableSemiring>(
    cpu: Cpu,
    selection: Selection<'_>,
    a: &CpuMatrix,
    u: &Vector<S::X>,
    transpose: bool,
) -> Result<Vector<S::Out>, Error> {
    let values = a.values().map(|v| v.expect::<S::A>()).transpose().map_err(Error::from)?;
    if transpose {
        // A sparse vector is pushed along its own rows; a fuller one is pulled through the transpose.
        if cpu.is_reference() || u.nvals() < u.len() / pushed() {
            return Ok(push::<S>(cpu, a, values, u));
        }
        return product::<S>(cpu, selection, a.transposed(), u, false);
    }
    if !cpu.is_reference()
        && values.is_none()
        && let Some(t) = super::fast::mxv::<S>(a, u, selection)
    {
        return Ok(t);
    }
    if values.is_some() && a.shape().0 > 0 {
        // Derived once here rather than by whichever task comes first.
        let _ = a.row_start(0);
    }
    let values = |i: usize| values.map(|v| &v[a.row_start(i)..]);
    let x = u.store().as_slice().filter(|_| u.is_full());
    Ok(with_layout!(a.layout(), m => {
        build::vector(a.shape().0, cpu.is_reference(), |i| selection.selects(i).then(|| row::<S>(m.row_entries(i), values(i), u, x)).flatten())
    }))
}

/// The sum over one row's entries that meet an entry of `u`, whose values are `x` if it is full; `None` if none does.
#[inline(always)]
fn row<S: StorableSemiring>(
    columns: impl Iterator<Item = u32>,
    values: Option<&[S::A]>,
    u: &Vector<S::X>,
    x: Option<&[S::X]>,
) -> Option<S::Out> {
    let sum = match (x, values) {
        (Some(x), None) => sum::<S>(columns.map(|c| S::multiply_pattern(x[c as usize]))),
        (Some(x), Some(values)) => sum::<S>(columns.zip(values).map(|(c, &value)| S::multiply(value, x[c as usize]))),
        (None, _) => sum::<S>(columns.enumerate().filter_map(|(k, c)| {
            let x = u.get(c as usize)?;
            Some(values.map_or_else(|| S::multiply_pattern(x), |values| S::multiply(values[k], x)))
        })),
    };
    sum.map(S::finish)
}

/// Entries of a push that threads share. Fewer are pushed by one in the time that waking others takes.
const SHARED: usize = 1 << 14;

/// The product with the transpose, row by row of the matrix: every output meets its rows in ascending order.
fn push<S: StorableSemiring>(cpu: Cpu, a: &CpuMatrix, values: Option<&[S::A]>, u: &Vector<S::X>) -> Vector<S::Out> {
    let columns = a.shape().1;
    let mut sums = parallel::tabulate(columns, 1 << 14, |_| S::zero());
    let mut touched = BitVector::zeros(columns);
    let threads = crate::threads::allowed();
    let shares = if cpu.is_reference() || threads < SHARING { Vec::new() } else { shares(a, u, threads * 4) };
    if shares.is_empty() {
        let mut range = Range { first: 0, sums: &mut sums, touched: touched.words64_mut() };
        let mut scratch = Vec::new();
        for (row, x) in u.iter() {
            products::<S>(a, values, row, x, None, &mut scratch, |c, product| range.add::<S>(c, product));
        }
    } else {
        push_shared::<S>(a, values, &shares, threads, (&mut sums, touched.words64_mut()));
    }
    build::vector(columns, cpu.is_reference(), |i| touched.get(i).then(|| S::finish(sums[i])))
}

/// Calls `f(column, product)` for the entries of a row, or for those in these places of it, times an element.
#[inline(always)]
fn products<S: StorableSemiring>(
    a: &CpuMatrix,
    values: Option<&[S::A]>,
    row: usize,
    x: S::X,
    places: Option<std::ops::Range<usize>>,
    scratch: &mut Vec<u32>,
    mut f: impl FnMut(usize, S::Acc),
) {
    let list = a.row(row, scratch);
    let places = places.unwrap_or(0..list.len());
    match values {
        None => list[places].iter().for_each(|&c| f(c as usize, S::multiply_pattern(x))),
        Some(values) => {
            let values = &values[a.row_start(row)..][places.clone()];
            list[places].iter().zip(values).for_each(|(&c, &value)| f(c as usize, S::multiply(value, x)));
        }
    }
}

/// Sums of consecutive columns, and which of them there are.
struct Range<'a, T> {
    /// The first column.
    first: usize,
    sums: &'a mut [T],
    touched: &'a mut [u64],
}

impl<T: Copy> Range<'_, T> {
    #[inline(always)]
    fn add<S: StorableSemiring<Acc = T>>(&mut self, column: usize, product: T) {
        let k = column - self.first;
        let (word, bit) = (&mut self.touched[k / 64], 1 << (k % 64));
        self.sums[k] = if *word & bit != 0 { S::add(self.sums[k], product) } else { product };
        *word |= bit;
    }
}

/// A task's part of a push: rows with their elements, and the places of the first and the last of them where its part begins and ends.
struct Share<X> {
    rows: Vec<(usize, X)>,
    begin: usize,
    end: usize,
    entries: usize,
}

/// The entries that a vector meets, in about equal parts and in their order; none where they are few.
fn shares<X: Stored>(a: &CpuMatrix, u: &Vector<X>, parts: usize) -> Vec<Share<X>> {
    let length = |row: usize| a.row_start(row + 1) - a.row_start(row);
    let total: usize = if a.shape().0 == 0 { 0 } else { u.iter().map(|(row, _)| length(row)).sum() };
    if total < SHARED {
        return Vec::new();
    }
    let most = total.div_ceil(parts);
    let mut shares = Vec::with_capacity(parts);
    let empty = || Share { rows: Vec::new(), begin: 0, end: 0, entries: 0 };
    let mut share = empty();
    let mut left = most;
    for (row, x) in u.iter() {
        let (mut at, length) = (0, length(row));
        while at < length {
            let taken = left.min(length - at);
            if share.rows.is_empty() {
                share.begin = at;
            }
            share.rows.push((row, x));
            (at, left) = (at + taken, left - taken);
            (share.end, share.entries) = (at, share.entries + taken);
            if left == 0 {
                shares.push(std::mem::replace(&mut share, empty()));
                left = most;
            }
        }
    }
    if !share.rows.is_empty() {
        shares.push(share);
    }
    shares
}

/// A push by all threads: each task deals the products of its share out to ranges of columns, and each range is summed by one task, share by
/// share, so that every sum is formed in the order of the rows.
fn push_shared<S: StorableSemiring>(
    a: &CpuMatrix,
    values: Option<&[S::A]>,
    shares: &[Share<S::X>],
    threads: usize,
    (sums, touched): (&mut [S::Acc], &mut [u64]),
) {
    // Whole words of presence.
    let width = sums.len().div_ceil(threads * 4).next_power_of_two().max(1024);
    let (shift, ranges) = (width.trailing_zeros(), sums.len().div_ceil(width));
    let mut total = 0;
    let mut starts = Vec::with_capacity(shares.len());
    for share in shares {
        starts.push(total);
        total += share.entries;
    }
    let multiply = |t: usize, found: DisjointSlice<'_, MaybeUninit<(u32, S::Acc)>>| {
        let Share { rows, begin, end, .. } = &shares[t];
        let (mut ends, mut scratch, mut at) = (vec![0; ranges + 1], Vec::new(), starts[t]);
        for (k, &(row, x)) in rows.iter().enumerate() {
            let from = if k == 0 { *begin } else { 0 };
            let to = if k + 1 == rows.len() { *end } else { a.row_start(row + 1) - a.row_start(row) };
            products::<S>(a, values, row, x, Some(from..to), &mut scratch, |c, product| {
                ends[(c >> shift) + 1] += 1;
                // SAFETY: a share has as many entries as it says, and their places are its own.
                #[allow(unsafe_code)]
                unsafe {
                    found.write(at, MaybeUninit::new((c as u32, product)));
                }
                at += 1;
            });
        }
        assert_eq!(at, starts[t] + shares[t].entries, "the entries of a share");
        (1..=ranges).for_each(|r| ends[r] += ends[r - 1]);
        ends
    };
    // SAFETY: every share writes all of its places, or has panicked.
    #[allow(unsafe_code)]
    let (found, mut ends) = unsafe { parallel::filled_by(total, |found| parallel::collect(shares.len(), |t| multiply(t, found))) };
    // SAFETY: the counts of a share's ranges lead each of its products to a place of its own.
    #[allow(unsafe_code)]
    let (dealt, ()) = unsafe {
        parallel::filled_by(total, |dealt: DisjointSlice<'_, MaybeUninit<(u32, S::Acc)>>| {
            parallel::each_mut(&mut ends, |t, ends| {
                for &(c, product) in &found[starts[t]..starts[t] + shares[t].entries] {
                    let place = &mut ends[c as usize >> shift];
                    dealt.write(starts[t] + *place, MaybeUninit::new((c, product)));
                    *place += 1;
                }
            });
        })
    };
    let mut parts: Vec<_> = sums.chunks_mut(width).zip(touched.chunks_mut(width / 64)).collect();
    parallel::each_mut(&mut parts, |r, (sums, touched)| {
        let mut range = Range { first: r * width, sums, touched };
        for (start, ends) in starts.iter().zip(&ends) {
            let first = if r == 0 { 0 } else { ends[r - 1] };
            for &(c, product) in &dealt[start + first..start + ends[r]] {
                range.add::<S>(c as usize, product);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_backend::ops::vxm;
    use bitgraph_backend::{Matrix, Vector as Handle};
    use bitgraph_semiring::{AnySecond, MinPlus, PlusTimes};
    use bitgraph_sparse::{FormatKind, Values};
    use bitgraph_testkit::graphs::directed;

    #[test]
    fn shared_pushes_sum_in_the_order_of_the_rows() {
        const N: usize = 9000;
        // A hub whose row is longer than a share, and rows of a few entries; weights whose sums depend on their order.
        let mut seed = 3u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 33) % N as u64) as u32
        };
        let few: Vec<(u32, u32)> = (0..8 * N).map(|_| (next(), next())).collect();
        let csr = directed(N, (0..N as u32).map(|v| (9, v)).chain(few));
        let values = Values::from_vec((0..csr.nnz()).map(|k| 1.0 / (1 + k % 97) as f32).collect::<Vec<_>>());
        let entries = (0..N as u32).step_by(9).map(|v| (v, 0.1 + v as f32));
        for kind in FormatKind::ALL {
            let of = |cpu: &Cpu| {
                let a = Matrix::new(cpu, &csr, Some(&values), kind).unwrap();
                let u = Handle::from_entries(cpu, N, entries.clone()).unwrap();
                let sums = vxm(&u, PlusTimes::<f32>::new(), &a).eval().unwrap().to_host().unwrap();
                let smallest = vxm(&u, MinPlus::<f32>::new(), &a).eval().unwrap().to_host().unwrap();
                let first = vxm(&u, AnySecond::<f32>::new(), &a.pattern()).eval().unwrap().to_host().unwrap();
                (sums, smallest, first)
            };
            let wanted = of(&Cpu::reference());
            for threads in [1, 4, 13] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| assert_eq!(of(&Cpu::new()), wanted, "{kind}, {threads} threads"));
            }
            let a = CpuMatrix::new(&csr, Some(&values), kind).unwrap();
            let u = Vector::from_entries(N, entries.clone()).unwrap();
            let found = shares(&a, &u, 16);
            assert_eq!(found.len(), 16, "{kind}: shared, and the hub's row cut");
            assert!(found.iter().filter(|share| share.rows.iter().any(|&(row, _)| row == 9)).count() > 1);
        }
    }
}
