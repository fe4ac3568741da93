//! Binary aggregation: the ones among the rows of features that a row's entries name, counted bit-sliced.
//!
//! A counter of every column is kept as planes of bits, a register for the words of a block: full adders take in eight rows of features with
//! fourteen instructions, and what they carry ripples up the planes. No bit is moved, and no population is counted. Source: positional
//! population counts by carry-save adders (Mula, Kurz, Lemire, 2018), the adders turned along the rows of a sparse matrix.
#![allow(unsafe_code)]

use super::codes::Codes;
use super::words::{MOST_PLANES, Plain, Words};
#[cfg(target_arch = "x86_64")]
use super::words::{Ymm, Zmm};
use crate::Isa;
use crate::tensor::sink::word_at;
use bitgraph_sparse::Csr;
use bitgraph_sparse::parallel::DisjointSlice;
use bitgraph_tensor::Window;
use bitgraph_tensor::bittensor::BitLayout;
use std::ops::Range;

/// Entries from the group at hand to the one whose features are prefetched.
const AHEAD: usize = 48;

/// Memory that rows are finished in.
#[derive(Default)]
pub struct Scratch {
    pub reals: Vec<f32>,
    pub more: Vec<f32>,
}

/// Takes a row, its number of messages, and its counts.
pub type Take<'a, T> = &'a (dyn Fn(usize, usize, &mut [T], &mut Scratch) + Sync);

/// What becomes of the counts.
pub enum Emit<'a> {
    /// A bit where at least half of the messages are ones.
    Signs(DisjointSlice<'a, u32>, BitLayout),
    /// The planes of the counts themselves.
    Planes(DisjointSlice<'a, u32>, BitLayout, usize),
    /// Twice the count less the messages, saturated.
    Halves(DisjointSlice<'a, i16>, Window),
    /// The counts of features of one plane.
    Counts(Take<'a, i32>),
    /// The sums of codes of several planes.
    Sums(Take<'a, f64>),
}

/// An aggregation.
pub struct Job<'a> {
    pub csr: &'a Csr,
    /// Whether every row has one more entry, on the diagonal.
    pub own: bool,
    pub codes: &'a Codes<'a>,
    pub emit: Emit<'a>,
}

impl Job<'_> {
    /// The number of messages of a row.
    pub fn messages(&self, row: usize) -> usize {
        self.csr.degree(row) + usize::from(self.own)
    }
}

/// Aggregates some rows, which no other task does.
pub fn rows(isa: Isa, job: &Job<'_>, rows: Range<usize>) {
    // What the loops rely on: every column has a row of features.
    let features = job.codes.layout.nrows();
    assert!(features >= job.csr.ncols() && rows.end <= job.csr.nrows() && !(job.own && rows.end > features));
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
        fn avx2(job: &Job<'_>, rows: Range<usize>) {
            // SAFETY: these are the vector's instructions, and the operands have just been checked.
            unsafe { rows_of::<Ymm>(job, rows) }
        }
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx2,fma,bmi1,bmi2")]
        fn avx512(job: &Job<'_>, rows: Range<usize>) {
            // SAFETY: as above. Stores that went past the caches are ordered before those that say that the work is done.
            unsafe {
                rows_of::<Zmm>(job, rows);
                std::arch::x86_64::_mm_sfence();
            }
        }
        match isa {
            // SAFETY: an instruction set is in force only where the CPU has its features.
            Isa::Avx512 => return unsafe { avx512(job, rows) },
            // SAFETY: as above.
            Isa::Avx2 => return unsafe { avx2(job, rows) },
            Isa::Portable => {}
        }
    }
    let _ = isa;
    // SAFETY: the portable vector needs no instructions; the operands have just been checked.
    unsafe { rows_of::<Plain>(job, rows) }
}

/// # Safety
/// The CPU has the vector's instruction set, and the operands are as `rows` checks.
#[inline(always)]
unsafe fn rows_of<V: Words>(job: &Job<'_>, rows: Range<usize>) {
    let (codes, used) = (job.codes, job.codes.used());
    let columns = codes.layout.ncols();
    let (mut counts, mut sums, mut scratch) = (vec![0i32; 32 * used], Vec::new(), Scratch::default());
    if matches!(job.emit, Emit::Sums(_)) {
        sums = vec![0f64; columns];
    }
    // SAFETY: by the contract.
    let mut planes = unsafe { [V::zero(); MOST_PLANES] };
    for i in rows {
        let range = job.csr.row_range(i);
        let row = Row {
            entries: &job.csr.indices()[range.clone()],
            rest: &job.csr.indices()[range.start..],
            own: job.own.then_some(i),
            stride: codes.layout.stride(),
        };
        let messages = job.messages(i);
        // SAFETY: by the contract every entry has a row of features; a block is within its words.
        unsafe {
            for start in (0..used).step_by(V::LEN) {
                let words = (used - start).min(V::LEN);
                match &job.emit {
                    Emit::Signs(out, layout) => {
                        let used = row.count(codes.plane(0).as_ptr().add(start), words, &mut planes);
                        signs(&planes[..used], messages, words, *layout, out, word_at(layout, 0, i, start), start);
                    }
                    Emit::Planes(out, layout, most) => {
                        let used = row.count(codes.plane(0).as_ptr().add(start), words, &mut planes);
                        for p in 0..*most {
                            let at = word_at(layout, p, i, start);
                            let plane = if p < used { planes[p] } else { V::zero() };
                            let to = out.range(at..at + words).as_mut_ptr();
                            if words == V::LEN { plane.stream(to) } else { plane.store(to, words) }
                        }
                    }
                    Emit::Halves(out, window) => {
                        let used = row.count(codes.plane(0).as_ptr().add(start), words, &mut planes);
                        let width = (columns - 32 * start).min(32 * words);
                        let at = window.row(i).start + 32 * start;
                        let to = out.range(at..at + width);
                        if messages >= 1 << 15 || !V::differences(&planes[..used], messages, width, to.as_mut_ptr()) {
                            V::numbers(&planes[..used], words, counts.as_mut_ptr());
                            for (to, &count) in to.iter_mut().zip(&counts) {
                                *to = (2 * i64::from(count) - messages as i64).clamp(i16::MIN.into(), i16::MAX.into()) as i16;
                            }
                        }
                    }
                    Emit::Counts(_) => {
                        let used = row.count(codes.plane(0).as_ptr().add(start), words, &mut planes);
                        V::numbers(&planes[..used], words, counts[32 * start..].as_mut_ptr());
                    }
                    Emit::Sums(_) => {
                        let first = 32 * start;
                        let sums = &mut sums[first..columns.min(first + 32 * words)];
                        sums.fill(0.0);
                        for p in 0..codes.planes {
                            let used = row.count(codes.plane(p).as_ptr().add(start), words, &mut planes);
                            V::numbers(&planes[..used], words, counts.as_mut_ptr());
                            let weight = f64::from(1u32 << p);
                            sums.iter_mut().zip(&counts).for_each(|(sum, &count)| *sum += weight * f64::from(count));
                        }
                    }
                }
            }
        }
        match &job.emit {
            Emit::Counts(take) => take(i, messages, &mut counts[..columns], &mut scratch),
            Emit::Sums(take) => take(i, messages, &mut sums, &mut scratch),
            _ => {}
        }
    }
}

/// The bits of columns of which at least half of the messages are ones.
///
/// # Safety
/// The CPU has the vector's instruction set; the words from `at` on are this task's.
#[inline(always)]
unsafe fn signs<V: Words>(
    planes: &[V],
    messages: usize,
    words: usize,
    layout: BitLayout,
    out: &DisjointSlice<'_, u32>,
    at: usize,
    start: usize,
) {
    let half = messages.div_ceil(2);
    // SAFETY: by the contract.
    unsafe {
        // From the lowest plane up: at least as many as the bits of `half` so far.
        let mut enough = V::splat(!0);
        for (k, &plane) in planes.iter().enumerate() {
            enough = if half >> k & 1 != 0 { plane.and(enough) } else { plane.or(enough) };
        }
        let to = out.range(at..at + words);
        enough.store(to.as_mut_ptr(), words);
        let columns = layout.ncols() - 32 * start;
        if columns < 32 * words {
            to[words - 1] &= (1 << (columns % 32)) - 1;
        }
    }
}

/// The entries of a row, and those after it.
struct Row<'a> {
    entries: &'a [u32],
    rest: &'a [u32],
    own: Option<usize>,
    stride: usize,
}

impl Row<'_> {
    /// Counts the ones of a block of words into planes; how many of them there are.
    ///
    /// # Safety
    /// The CPU has the vector's instruction set; `words` words from `from + j * stride` on are readable for every entry `j`, and for the row itself
    /// where it is one of its messages.
    #[inline(always)]
    unsafe fn count<V: Words>(&self, from: *const u32, words: usize, planes: &mut [V; MOST_PLANES]) -> usize {
        // SAFETY: by the contract.
        unsafe {
            if words == V::LEN {
                self.count_block::<V, true>(from, words, planes)
            } else {
                self.count_block::<V, false>(from, words, planes)
            }
        }
    }
    /// # Safety
    /// As [`Row::count`].
    #[inline(always)]
    unsafe fn count_block<V: Words, const WHOLE: bool>(&self, from: *const u32, words: usize, planes: &mut [V; MOST_PLANES]) -> usize {
        let messages = self.entries.len() + usize::from(self.own.is_some());
        let used = (usize::BITS - messages.leading_zeros()) as usize;
        // SAFETY: by the contract; a prefetch has no effect but on caches, wherever it points.
        unsafe {
            // No closures here: what is called through one is not compiled for the vector's instruction set.
            macro_rules! load {
                ($j:expr) => {
                    V::load::<WHOLE>(from.add($j as usize * self.stride), words)
                };
            }
            let mut k = 3;
            while k < used {
                planes[k] = V::zero();
                k += 1;
            }
            let mut low = [V::zero(); 3];
            let (groups, left) = self.entries.as_chunks::<8>();
            let mut done = 0;
            for group in groups {
                if let Some(next) = self.rest.get(done + AHEAD..done + AHEAD + 8) {
                    for &j in next {
                        prefetch(from.wrapping_add(j as usize * self.stride));
                    }
                }
                done += 8;
                let [a, b, c, d, e, f, g, h] = *group;
                let rows = [load!(a), load!(b), load!(c), load!(d), load!(e), load!(f), load!(g), load!(h)];
                add(rows, &mut low, done, planes);
            }
            if messages > done {
                let mut rows = [V::zero(); 8];
                let mut k = 0;
                while k < left.len() {
                    rows[k] = load!(left[k]);
                    k += 1;
                }
                if let Some(i) = self.own {
                    rows[k] = load!(i);
                }
                add(rows, &mut low, messages, planes);
            }
            [planes[0], planes[1], planes[2]] = low;
        }
        used
    }
}

/// Adds eight rows to counters, which have `done` messages then.
///
/// # Safety
/// The CPU has the vector's instruction set.
#[inline(always)]
unsafe fn add<V: Words>(x: [V; 8], low: &mut [V; 3], done: usize, planes: &mut [V; MOST_PLANES]) {
    // SAFETY: by the contract.
    unsafe {
        let [ones, twos, fours] = low;
        let (a, b) = (V::carry(ones, x[0], x[1]), V::carry(ones, x[2], x[3]));
        let first = V::carry(twos, a, b);
        let (a, b) = (V::carry(ones, x[4], x[5]), V::carry(ones, x[6], x[7]));
        let second = V::carry(twos, a, b);
        let mut carried = V::carry(fours, first, second);
        let mut k = 3;
        while k < MOST_PLANES && done >> k != 0 {
            let next = planes[k].and(carried);
            planes[k] = planes[k].xor(carried);
            carried = next;
            k += 1;
        }
    }
}

#[inline(always)]
fn prefetch(words: *const u32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect but on caches, wherever it points.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(words.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = words;
}
