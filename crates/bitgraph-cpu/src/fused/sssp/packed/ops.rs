//! The steps of the packed search that have vector forms: relaxing a run of entries, pulling the smallest distance over one,
//! and listing what is due.
//!
//! Invariant: every form calls the sink for the same arcs and gives the same results as [`Portable`]; the order of the calls may differ.
//!
//! # Safety
//! Of all methods: `dist` has an element for every id that occurs in an entry; runs lie inside arrays that are readable for
//! `PAD` elements more; outputs have room for every hit and `PAD` elements more; the CPU has the form's instructions.
#![allow(unsafe_code)]

use super::rows::HEAD;
pub(super) use super::rows::ID;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where improvements go.
pub(crate) trait Sink {
    /// The distances.
    fn dist(&self) -> *mut u32;
    /// Takes an arc that improves `id` to `distance`.
    ///
    /// # Safety
    /// `id` is a vertex.
    unsafe fn improve(&mut self, id: u32, distance: u32);
    /// Whether improvements are written to a list, some of a vector at a time, and looked at later.
    const LISTS: bool = false;
    /// Where to write ids and distances of up to a vector of improvements.
    #[inline(always)]
    fn room(&mut self) -> (*mut u32, *mut u32) {
        (std::ptr::null_mut(), std::ptr::null_mut())
    }
    /// So many were written.
    #[inline(always)]
    fn add(&mut self, _count: usize) {}
}

/// The largest entry of a weight below `limit`.
#[inline(always)]
pub(crate) fn below(limit: u32) -> u32 {
    if limit > 255 { u32::MAX } else { (limit << 24).wrapping_sub(1) }
}

/// The steps.
pub(crate) trait Ops: Copy {
    /// Relaxes the entries of a head that are at most `most`, from a vertex at distance `base`;
    /// returns how many there are.
    unsafe fn head<S: Sink>(head: *const u32, most: u32, base: u32, sink: &mut S) -> usize;
    /// Relaxes the leading entries of `run` that are at most `most`, from a vertex at distance `base`; returns how many there are.
    unsafe fn tail<S: Sink>(run: &[u32], most: u32, base: u32, sink: &mut S) -> usize;
    /// The smallest of `best` and the distances over arcs of a head from vertices below `now`.
    unsafe fn pull_head(head: *const u32, dist: *const u32, now: u32, best: u32) -> u32;
    /// The same over a sorted run, which may be left once weight + `nearest` is not below the best.
    unsafe fn pull_tail(run: &[u32], dist: *const u32, now: u32, nearest: u32, best: u32) -> u32;
    /// Writes the vertices of `first..first + len` that have a class and are not below `now`; returns their number.
    unsafe fn open(dist: *const u32, classes: *const u8, first: u32, len: usize, now: u32, out: *mut u32) -> usize;
    /// Writes the positions of the keys below `limit`; returns their number.
    unsafe fn due(keys: &[u32], limit: u32, out: *mut u32) -> usize;
    /// Relaxes rows of four entries from vertices at these distances.
    #[inline(always)]
    unsafe fn fours<S: Sink>(rows: [*const u32; 4], bases: [u32; 4], sink: &mut S) {
        for (row, base) in rows.into_iter().zip(bases) {
            // SAFETY: the trait's contract.
            (0..4).for_each(|k| unsafe { relax(*row.add(k), base, sink) });
        }
    }
    /// Relaxes one arc from a vertex at distance `base`.
    #[inline(always)]
    unsafe fn one<S: Sink>(entry: u32, base: u32, sink: &mut S) {
        // SAFETY: the trait's contract.
        unsafe { relax(entry, base, sink) }
    }
}

/// The plain form, and the oracle of the others.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

/// A distance that other threads may lower.
#[inline(always)]
unsafe fn read(at: *const u32) -> u32 {
    // SAFETY: an atomic has the layout of its number; the contract of the methods.
    unsafe { (*at.cast::<AtomicU32>()).load(Ordering::Relaxed) }
}

/// Relaxes one arc from a vertex at distance `base`.
///
/// # Safety
/// As the methods of [`Ops`].
#[inline(always)]
pub(super) unsafe fn relax<S: Sink>(entry: u32, base: u32, sink: &mut S) {
    let (id, distance) = (entry & ID, base + (entry >> 24));
    // SAFETY: ids of entries have distances; a list has room.
    unsafe {
        if S::LISTS {
            let (ids, distances) = sink.room();
            (*ids, *distances) = (id, distance);
            let better = distance < read(sink.dist().add(id as usize));
            sink.add(usize::from(better));
        } else if distance < read(sink.dist().add(id as usize)) {
            sink.improve(id, distance);
        }
    }
}

#[inline(always)]
unsafe fn pull(entry: u32, dist: *const u32, now: u32, best: u32) -> u32 {
    // SAFETY: ids of entries have distances.
    let from = unsafe { read(dist.add((entry & ID) as usize)) };
    if from < now { best.min(from + (entry >> 24)) } else { best }
}

impl Ops for Portable {
    #[inline(always)]
    unsafe fn head<S: Sink>(head: *const u32, most: u32, base: u32, sink: &mut S) -> usize {
        // SAFETY: the trait's contract; a head has `HEAD` entries.
        unsafe { Self::tail(std::slice::from_raw_parts(head, HEAD), most, base, sink) }
    }
    #[inline(always)]
    unsafe fn tail<S: Sink>(run: &[u32], most: u32, base: u32, sink: &mut S) -> usize {
        for (k, &entry) in run.iter().enumerate() {
            if entry > most {
                return k;
            }
            // SAFETY: the trait's contract.
            unsafe { relax(entry, base, sink) };
        }
        run.len()
    }
    #[inline(always)]
    unsafe fn pull_head(head: *const u32, dist: *const u32, now: u32, mut best: u32) -> u32 {
        for k in 0..HEAD {
            // SAFETY: the trait's contract; a head has `HEAD` entries.
            best = unsafe { pull(*head.add(k), dist, now, best) };
        }
        best
    }
    #[inline(always)]
    unsafe fn pull_tail(run: &[u32], dist: *const u32, now: u32, nearest: u32, mut best: u32) -> u32 {
        for &entry in run {
            if (entry >> 24) + nearest >= best {
                break;
            }
            // SAFETY: the trait's contract.
            best = unsafe { pull(entry, dist, now, best) };
        }
        best
    }
    #[inline(always)]
    unsafe fn open(dist: *const u32, classes: *const u8, first: u32, len: usize, now: u32, out: *mut u32) -> usize {
        let mut count = 0;
        for v in first as usize..first as usize + len {
            // SAFETY: the trait's contract.
            unsafe {
                *out.add(count) = v as u32;
                count += usize::from(*dist.add(v) >= now && *classes.add(v) != 0);
            }
        }
        count
    }
    #[inline(always)]
    unsafe fn due(keys: &[u32], limit: u32, out: *mut u32) -> usize {
        let mut count = 0;
        for (i, &key) in keys.iter().enumerate() {
            // SAFETY: the trait's contract.
            unsafe { *out.add(count) = i as u32 };
            count += usize::from(key < limit);
        }
        count
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::Avx512;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{HEAD, ID, Ops, Sink};
    use std::arch::x86_64::*;

    /// Sixteen lanes.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512;

    /// The first `k` of 16 lanes.
    #[inline(always)]
    fn lanes(k: usize) -> u16 {
        if k >= 16 { u16::MAX } else { (1 << k) - 1 }
    }

    impl Ops for Avx512 {
        #[inline(always)]
        unsafe fn head<S: Sink>(head: *const u32, most: u32, base: u32, sink: &mut S) -> usize {
            // SAFETY: the trait's contract; a head has `HEAD` = 8 entries, masked lanes are not gathered.
            unsafe {
                let x = _mm256_loadu_si256(head.cast());
                let near = _mm256_cmple_epu32_mask(x, _mm256_set1_epi32(most as i32));
                let id = _mm256_and_si256(x, _mm256_set1_epi32(ID as i32));
                let known = _mm256_mmask_i32gather_epi32::<4>(id, near, id, sink.dist().cast());
                let sum = _mm256_add_epi32(_mm256_srli_epi32::<24>(x), _mm256_set1_epi32(base as i32));
                let better = _mm256_mask_cmplt_epu32_mask(near, sum, known);
                if S::LISTS {
                    let (ids, sums) = sink.room();
                    _mm256_storeu_si256(ids.cast(), _mm256_maskz_compress_epi32(better, id));
                    _mm256_storeu_si256(sums.cast(), _mm256_maskz_compress_epi32(better, sum));
                    sink.add(better.count_ones() as usize);
                } else if better != 0 {
                    let (mut ids, mut sums) = ([0u32; HEAD], [0u32; HEAD]);
                    _mm256_storeu_si256(ids.as_mut_ptr().cast(), _mm256_maskz_compress_epi32(better, id));
                    _mm256_storeu_si256(sums.as_mut_ptr().cast(), _mm256_maskz_compress_epi32(better, sum));
                    for k in 0..better.count_ones() as usize {
                        sink.improve(*ids.get_unchecked(k), *sums.get_unchecked(k));
                    }
                }
                near.count_ones() as usize
            }
        }
        #[inline(always)]
        unsafe fn tail<S: Sink>(run: &[u32], most: u32, base: u32, sink: &mut S) -> usize {
            let mut at = 0;
            while at < run.len() {
                // SAFETY: the trait's contract: loads may pass the run's end by up to `PAD`; masked lanes are not gathered.
                unsafe {
                    let x = _mm512_loadu_si512(run.as_ptr().add(at).cast());
                    let near = _mm512_mask_cmple_epu32_mask(lanes(run.len() - at), x, _mm512_set1_epi32(most as i32));
                    let count = near.count_ones() as usize;
                    if count <= 3 && !S::LISTS {
                        for &entry in run.get_unchecked(at..at + count) {
                            super::relax(entry, base, sink);
                        }
                        return at + count;
                    }
                    let id = _mm512_and_si512(x, _mm512_set1_epi32(ID as i32));
                    let known = _mm512_mask_i32gather_epi32::<4>(id, near, id, sink.dist().cast());
                    let sum = _mm512_add_epi32(_mm512_srli_epi32::<24>(x), _mm512_set1_epi32(base as i32));
                    let better = _mm512_mask_cmplt_epu32_mask(near, sum, known);
                    if S::LISTS {
                        let (ids, sums) = sink.room();
                        _mm512_storeu_si512(ids.cast(), _mm512_maskz_compress_epi32(better, id));
                        _mm512_storeu_si512(sums.cast(), _mm512_maskz_compress_epi32(better, sum));
                        sink.add(better.count_ones() as usize);
                    } else if better != 0 {
                        let (mut ids, mut sums) = ([0u32; 16], [0u32; 16]);
                        _mm512_storeu_si512(ids.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(better, id));
                        _mm512_storeu_si512(sums.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(better, sum));
                        for k in 0..better.count_ones() as usize {
                            sink.improve(*ids.get_unchecked(k), *sums.get_unchecked(k));
                        }
                    }
                    at += count;
                    if near != u16::MAX {
                        return at;
                    }
                }
            }
            at
        }
        #[inline(always)]
        unsafe fn fours<S: Sink>(rows: [*const u32; 4], bases: [u32; 4], sink: &mut S) {
            const { assert!(S::LISTS, "no list to write to") };
            // SAFETY: the trait's contract; rows have four entries, and the sink a list.
            unsafe {
                let [a, b, c, d] = rows.map(|row| _mm_loadu_si128(row.cast()));
                let x = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(_mm256_set_m128i(b, a)), _mm256_set_m128i(d, c));
                let places = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
                let base = _mm512_permutexvar_epi32(places, _mm512_castsi128_si512(_mm_loadu_si128(bases.as_ptr().cast())));
                let id = _mm512_and_si512(x, _mm512_set1_epi32(ID as i32));
                let known = _mm512_i32gather_epi32::<4>(id, sink.dist().cast());
                let sum = _mm512_add_epi32(_mm512_srli_epi32::<24>(x), base);
                let better = _mm512_cmplt_epu32_mask(sum, known);
                let (ids, sums) = sink.room();
                _mm512_storeu_si512(ids.cast(), _mm512_maskz_compress_epi32(better, id));
                _mm512_storeu_si512(sums.cast(), _mm512_maskz_compress_epi32(better, sum));
                sink.add(better.count_ones() as usize);
            }
        }
        #[inline(always)]
        unsafe fn pull_head(head: *const u32, dist: *const u32, now: u32, best: u32) -> u32 {
            // SAFETY: the trait's contract; a head has 8 entries.
            unsafe {
                let x = _mm256_loadu_si256(head.cast());
                let id = _mm256_and_si256(x, _mm256_set1_epi32(ID as i32));
                let from = _mm256_i32gather_epi32::<4>(dist.cast(), id);
                let settled = _mm256_cmplt_epu32_mask(from, _mm256_set1_epi32(now as i32));
                let sum = _mm256_add_epi32(from, _mm256_srli_epi32::<24>(x));
                // Lanes without a settled vertex give the largest value.
                best.min(_mm512_mask_reduce_min_epu32(u16::from(settled), _mm512_castsi256_si512(sum)))
            }
        }
        #[inline(always)]
        unsafe fn pull_tail(run: &[u32], dist: *const u32, now: u32, nearest: u32, mut best: u32) -> u32 {
            let mut at = 0;
            while at < run.len() {
                // SAFETY: the trait's contract: loads may pass the run's end by up to `PAD`; masked lanes are not gathered.
                unsafe {
                    if (run.get_unchecked(at) >> 24) + nearest >= best {
                        return best;
                    }
                    let valid = lanes(run.len() - at);
                    let x = _mm512_loadu_si512(run.as_ptr().add(at).cast());
                    let id = _mm512_and_si512(x, _mm512_set1_epi32(ID as i32));
                    let from = _mm512_mask_i32gather_epi32::<4>(_mm512_set1_epi32(-1), valid, id, dist.cast());
                    let settled = _mm512_cmplt_epu32_mask(from, _mm512_set1_epi32(now as i32));
                    let sum = _mm512_add_epi32(from, _mm512_srli_epi32::<24>(x));
                    best = best.min(_mm512_mask_reduce_min_epu32(settled, sum));
                }
                at += 16;
            }
            best
        }
        #[inline(always)]
        unsafe fn open(dist: *const u32, classes: *const u8, first: u32, len: usize, now: u32, out: *mut u32) -> usize {
            let mut count = 0;
            for k in (0..len).step_by(16) {
                // SAFETY: the trait's contract; loads of distances are masked to the range.
                unsafe {
                    let at = first as usize + k;
                    let valid = lanes(len - k);
                    let known = _mm512_maskz_loadu_epi32(valid, dist.add(at).cast());
                    let classes = _mm_loadu_si128(classes.add(at).cast());
                    let open =
                        _mm512_mask_cmpge_epu32_mask(valid, known, _mm512_set1_epi32(now as i32)) & _mm_test_epi8_mask(classes, classes);
                    let ids = _mm512_add_epi32(_mm512_set1_epi32(at as i32), iota());
                    _mm512_storeu_si512(out.add(count).cast(), _mm512_maskz_compress_epi32(open, ids));
                    count += open.count_ones() as usize;
                }
            }
            count
        }
        #[inline(always)]
        unsafe fn due(keys: &[u32], limit: u32, out: *mut u32) -> usize {
            let mut count = 0;
            for k in (0..keys.len()).step_by(16) {
                // SAFETY: the trait's contract; loads are masked to the slice.
                unsafe {
                    let valid = lanes(keys.len() - k);
                    let key = _mm512_maskz_loadu_epi32(valid, keys.as_ptr().add(k).cast());
                    let due = _mm512_mask_cmplt_epu32_mask(valid, key, _mm512_set1_epi32(limit as i32));
                    let places = _mm512_add_epi32(_mm512_set1_epi32(k as i32), iota());
                    _mm512_storeu_si512(out.add(count).cast(), _mm512_maskz_compress_epi32(due, places));
                    count += due.count_ones() as usize;
                }
            }
            count
        }
    }

    /// 0 to 15.
    #[inline(always)]
    unsafe fn iota() -> __m512i {
        // SAFETY: the caller has AVX-512.
        unsafe { _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) }
    }
}
