//! From a source of edges, or a rule for rows, to a symmetric pattern.
//!
//! Sampled edges are visited twice and never stored as pairs. The first visit counts entries per bucket of consecutive rows;
//! the second one writes each entry to its bucket, through small buffers that turn scattered stores into runs. A
//! bucket then fits a cache, where its entries are dealt to rows, sorted and freed of duplicates in place.
//!
//! Invariant: rows are sorted in the end, so the order in which threads fill a bucket leaves no trace.

use crate::memory;
use crate::sampled::EdgeSource;
use crate::{Error, Result};
use bitgraph_sparse::Meter;
use bitgraph_sparse::parallel::{self, DisjointSlice};
use bitgraph_sparse::{Control, Csr, Offsets};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Edges of one task.
const BLOCK: u64 = 1 << 20;
/// Entries that wait per bucket and task until they are written as one run.
const PENDING: usize = 32;
/// Entries of a bucket, on average, at most: columns, rows and their dealt copy then stay in a second-level cache.
const BUCKET: u64 = 1 << 17;
/// Buckets at most, unless rows within a bucket would not fit 16 bits: the waiting entries must stay in a cache too.
const BUCKETS: u64 = 1 << 11;

/// Buckets that are copied at once when gaps are closed: they take less than the rows of all entries, which are gone by then.
const WAVE: usize = 32;

/// Bytes that [`from_edges`] needs at its peak for `edges` edges of `n` vertices.
pub(crate) fn edge_bytes(n: u64, edges: u64) -> u64 {
    // A column of 4 bytes and a row of 2 per entry; a degree of 4 and an offset of 8 per vertex; task buffers.
    edges.saturating_mul(12).saturating_add(n.saturating_mul(12)).saturating_add(16 << 20)
}

/// Bytes that [`from_rows`] needs at its peak.
pub(crate) fn row_bytes(n: u64, entries: u64) -> u64 {
    entries.saturating_mul(4).saturating_add(n.saturating_mul(16))
}

/// The pattern with an entry at (u, v) and (v, u) for every edge but loops, each once.
///
/// # Errors
/// [`Error::OutOfMemory`] or [`Error::Cancelled`].
pub(crate) fn from_edges<S: EdgeSource>(source: &S, control: &Control, out_of_memory: impl Fn(u64) -> Error) -> Result<Csr> {
    let n = source.vertices() as usize;
    let shift = bucket_shift(n as u64, source.edges());
    let buckets = n.div_ceil(1 << shift);
    let blocks: Vec<Range<u64>> = ranges(source.edges());
    let meter = Meter::new(control, 3 * source.edges());

    let counts = count(source, &blocks, shift, buckets, &meter)?;
    let mut starts = Vec::with_capacity(buckets + 1);
    starts.push(0u64);
    for c in &counts {
        starts.push(starts[starts.len() - 1] + c);
    }
    let total = starts[buckets] as usize;
    let wanted = edge_bytes(n as u64, source.edges());
    let mut columns: Vec<u32> = memory::zeros(total).ok_or_else(|| out_of_memory(wanted))?;
    let mut rows: Vec<u16> = memory::zeros(total).ok_or_else(|| out_of_memory(wanted))?;
    fill(source, &blocks, shift, &starts, &mut columns, &mut rows, &meter)?;

    let mut degrees: Vec<u32> = memory::zeros(n).ok_or_else(|| out_of_memory(wanted))?;
    let kept = settle(shift, &starts, &mut columns, &rows, &mut degrees, &meter)?;
    drop(rows);
    let end = close_up(&starts, &kept, &mut columns);
    columns.truncate(end);
    columns.shrink_to_fit();
    Ok(Csr::from_valid(n, n, offsets(&degrees, end), columns.into()))
}

/// Moves what every bucket keeps, its first entries, to the end of what those before it keep; where the last one ends. Some buckets are copied
/// at once and then written, for what is written may lie where another of them was.
fn close_up(starts: &[u64], kept: &[usize], columns: &mut [u32]) -> usize {
    let mut ends = Vec::with_capacity(kept.len() + 1);
    ends.push(0);
    ends.extend(kept.iter().scan(0, |end, &k| Some((*end += k, *end).1)));
    // Buckets that stay where they are come first.
    let first = (0..kept.len()).find(|&b| starts[b] as usize != ends[b]).unwrap_or(kept.len());
    for start in (first..kept.len()).step_by(WAVE) {
        let wave = start..kept.len().min(start + WAVE);
        let copies = parallel::collect(wave.len(), |k| columns[starts[start + k] as usize..][..kept[start + k]].to_vec());
        let out = DisjointSlice::new(columns);
        parallel::each(wave.len(), &|k| {
            // SAFETY: what buckets keep is disjoint at its new place, too, and the array was long enough for all of them.
            #[allow(unsafe_code)]
            unsafe { out.range(ends[start + k]..ends[start + k + 1]) }.copy_from_slice(&copies[k]);
        });
    }
    ends[kept.len()]
}

/// A pattern from the degree and the ascending columns of every row.
///
/// # Errors
/// [`Error::OutOfMemory`] or [`Error::Cancelled`].
pub(crate) fn from_rows(
    n: usize,
    control: &Control,
    out_of_memory: impl Fn(u64) -> Error,
    degree: impl Fn(u32) -> u32 + Sync,
    row: impl Fn(u32, &mut [u32]) + Sync,
) -> Result<Csr> {
    let degrees = parallel::tabulate(n, 1 << 14, |i| degree(i as u32));
    let sum = |range: Range<usize>| degrees[range].iter().map(|&d: &u32| u64::from(d)).sum();
    let total: u64 = parallel::reduce(n, 1 << 16, sum, |a, b| a + b);
    let offsets = offsets(&degrees, total as usize);
    let mut columns: Vec<u32> = memory::zeros(total as usize).ok_or_else(|| out_of_memory(row_bytes(n as u64, total)))?;
    let meter = Meter::new(control, n as u64);
    control.check()?;
    match &offsets {
        Offsets::U32(o) => parallel::rows_mut(o, &mut columns, |i, out| row(i as u32, out)),
        Offsets::U64(o) => parallel::rows_mut(o, &mut columns, |i, out| row(i as u32, out)),
    }
    meter.advance(n as u64)?;
    Ok(Csr::from_valid(n, n, offsets, columns.into()))
}

/// The running sum of degrees, as wide as the total needs.
fn offsets(degrees: &[u32], total: usize) -> Offsets {
    if u32::try_from(total).is_ok() {
        let mut sum = 0u32;
        let mut o = Vec::with_capacity(degrees.len() + 1);
        o.push(0);
        o.extend(degrees.iter().map(|&d| {
            sum += d;
            sum
        }));
        Offsets::U32(o.into())
    } else {
        let mut sum = 0u64;
        let mut o = Vec::with_capacity(degrees.len() + 1);
        o.push(0);
        o.extend(degrees.iter().map(|&d| {
            sum += u64::from(d);
            sum
        }));
        Offsets::U64(o.into())
    }
}

/// The binary logarithm of the rows of a bucket, at most 16.
fn bucket_shift(n: u64, edges: u64) -> u32 {
    let buckets = (2 * edges).div_ceil(BUCKET).clamp(1, BUCKETS);
    n.div_ceil(buckets).next_power_of_two().trailing_zeros().min(16)
}

fn ranges(edges: u64) -> Vec<Range<u64>> {
    (0..edges.div_ceil(BLOCK)).map(|b| b * BLOCK..((b + 1) * BLOCK).min(edges)).collect()
}

/// Entries of every bucket.
fn count<S: EdgeSource>(source: &S, blocks: &[Range<u64>], shift: u32, buckets: usize, meter: &Meter<'_>) -> Result<Vec<u64>> {
    let totals: Vec<AtomicU64> = (0..buckets).map(|_| AtomicU64::new(0)).collect();
    parallel::try_each(blocks.len(), |b| {
        let block = &blocks[b];
        let mut counts = vec![0u32; buckets];
        source.visit(block.clone(), |u, v| {
            let entry = u32::from(u != v);
            counts[(u >> shift) as usize] += entry;
            counts[(v >> shift) as usize] += entry;
        });
        for (total, &c) in totals.iter().zip(&counts) {
            total.fetch_add(c.into(), Ordering::Relaxed);
        }
        meter.advance(block.end - block.start)
    })?;
    Ok(totals.into_iter().map(AtomicU64::into_inner).collect())
}

/// Writes every entry to its bucket, column and row within the bucket apart.
fn fill<S: EdgeSource>(
    source: &S,
    blocks: &[Range<u64>],
    shift: u32,
    starts: &[u64],
    columns: &mut [u32],
    rows: &mut [u16],
    meter: &Meter<'_>,
) -> Result<()> {
    let buckets = starts.len() - 1;
    let cursors: Vec<AtomicU64> = starts[..buckets].iter().map(|&s| AtomicU64::new(s)).collect();
    let (columns, rows) = (DisjointSlice::new(columns), DisjointSlice::new(rows));
    let write = |bucket: usize, c: &[u32], r: &[u16]| {
        let start = cursors[bucket].fetch_add(c.len() as u64, Ordering::Relaxed) as usize;
        let run = start..start + c.len();
        assert!(run.end as u64 <= starts[bucket + 1], "a second visit yields the same edges");
        // SAFETY: the cursor hands out every place of the bucket once, and the assertion keeps the run inside it.
        #[allow(unsafe_code)]
        let (to_columns, to_rows) = unsafe { (columns.range(run.clone()), rows.range(run)) };
        to_columns.copy_from_slice(c);
        to_rows.copy_from_slice(r);
    };
    let mask = (1u32 << shift) - 1;
    Ok(parallel::try_each(blocks.len(), |b| {
        let block = &blocks[b];
        let mut pending = vec![([0u32; PENDING], [0u16; PENDING]); buckets];
        let mut lengths = vec![0u8; buckets];
        let mut put = |row: u32, column: u32| {
            let b = (row >> shift) as usize;
            let k = lengths[b] as usize % PENDING;
            let (c, r) = &mut pending[b];
            c[k] = column;
            r[k] = (row & mask) as u16;
            lengths[b] = (k + 1) as u8;
            if k + 1 == PENDING {
                write(b, c, r);
                lengths[b] = 0;
            }
        };
        source.visit(block.clone(), |u, v| {
            if u != v {
                put(u, v);
                put(v, u);
            }
        });
        for (b, &k) in lengths.iter().enumerate() {
            let (c, r) = &pending[b];
            write(b, &c[..k as usize], &r[..k as usize]);
        }
        meter.advance(block.end - block.start)
    })?)
}

/// Sorts the entries of every bucket by row and column and drops repeated ones; the kept ones move to the bucket's front.
/// Returns how many each bucket keeps, and the degrees.
fn settle(shift: u32, starts: &[u64], columns: &mut [u32], rows: &[u16], degrees: &mut [u32], meter: &Meter<'_>) -> Result<Vec<usize>> {
    let mut tasks = Vec::with_capacity(starts.len());
    let mut rest = columns;
    for (window, degrees) in starts.windows(2).zip(degrees.chunks_mut(1 << shift)) {
        let range = window[0] as usize..window[1] as usize;
        let (bucket, tail) = rest.split_at_mut(range.len());
        tasks.push((bucket, &rows[range], degrees, 0));
        rest = tail;
    }
    parallel::try_each_mut(&mut tasks, |_, (columns, rows, degrees, kept)| {
        for &r in *rows {
            degrees[r as usize] += 1;
        }
        let mut places: Vec<u32> = Vec::with_capacity(degrees.len());
        let mut sum = 0;
        for &d in degrees.iter() {
            places.push(sum);
            sum += d;
        }
        let mut dealt = vec![0u32; columns.len()];
        for (&r, &c) in rows.iter().zip(columns.iter()) {
            let place = &mut places[r as usize];
            dealt[*place as usize] = c;
            *place += 1;
        }
        let mut start = 0usize;
        *kept = 0;
        for degree in degrees.iter_mut() {
            let row = &mut dealt[start..start + *degree as usize];
            start += row.len();
            row.sort_unstable();
            let first = *kept;
            for &c in &*row {
                // An equal column is overwritten by the next one.
                let repeated = *kept > first && columns[*kept - 1] == c;
                columns[*kept - usize::from(repeated)] = c;
                *kept += usize::from(!repeated);
            }
            *degree = (*kept - first) as u32;
        }
        meter.advance(columns.len() as u64 / 2)
    })?;
    Ok(tasks.into_iter().map(|task| task.3).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edges given as a list.
    struct List(u32, Vec<(u32, u32)>);
    impl EdgeSource for List {
        fn vertices(&self) -> u32 {
            self.0
        }
        fn edges(&self) -> u64 {
            self.1.len() as u64
        }
        fn visit(&self, range: Range<u64>, mut f: impl FnMut(u32, u32)) {
            self.1[range.start as usize..range.end as usize].iter().for_each(|&(u, v)| f(u, v));
        }
    }
    fn build(n: u32, edges: Vec<(u32, u32)>) -> Csr {
        let fail = |wanted| Error::OutOfMemory { generator: "test".into(), wanted, free: 0 };
        from_edges(&List(n, edges), &Control::default(), fail).unwrap()
    }

    #[test]
    fn loops_and_duplicates_vanish() {
        let a = build(4, vec![(0, 1), (1, 0), (2, 2), (0, 1), (3, 1)]);
        assert_eq!((a.row(0), a.row(1), a.row(2), a.row(3)), (&[1u32][..], &[0u32, 3][..], &[][..], &[1u32][..]));
        assert_eq!(build(0, vec![]).nrows(), 0);
        assert_eq!(build(1, vec![(0, 0); 9]).nnz(), 0);
        // More repeats of one edge than wait in one buffer.
        assert_eq!(build(2, vec![(0, 1); 1000]).nnz(), 2);
    }

    #[test]
    fn many_buckets_equal_a_set() {
        let n = 200_000u32;
        let s = crate::Stream::new(3, 9);
        let edges: Vec<_> = (0..300_000).map(|i| (s.below(2 * i, n.into()) as u32, s.below(2 * i + 1, 700) as u32)).collect();
        assert!(n as usize >> bucket_shift(n.into(), edges.len() as u64) > 2);
        let mut set = std::collections::BTreeSet::new();
        for &(u, v) in edges.iter().filter(|(u, v)| u != v) {
            set.insert((u, v));
            set.insert((v, u));
        }
        let a = build(n, edges);
        assert_eq!(a.nnz(), set.len());
        assert!((0..n as usize).flat_map(|i| a.row(i).iter().map(move |&c| (i as u32, c))).eq(set));
    }
}
