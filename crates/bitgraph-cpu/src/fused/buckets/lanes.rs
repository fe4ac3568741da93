//! The arcs of a row that improve distances, found a vector at a time and without a branch on whether they do.
//!
//! Invariant: what is found is what one arc after the other would find, in the order of the row.
#![allow(unsafe_code)]

use super::arcs::Out;
use super::distance::Native;
use bitgraph_semiring::Scalar;
use std::arch::x86_64::*;

/// Distances that vectors compare.
pub(crate) trait Lanes: Scalar {
    /// Arcs that AVX-512 looks at together, at most 16.
    const WIDE: usize;
    /// Writes the neighbours whose distances `base` and the weights improve, and those distances, where these are below `limit`; returns how many they
    /// are, and to how many of the neighbours `base` and the weight lead below the limit. Without weights each is 1.
    ///
    /// # Safety
    /// The CPU has AVX-512 (see [`crate::Isa`]); there are at most [`Lanes::WIDE`] neighbours, as many weights, and a distance for every neighbour;
    /// so many of each can be written.
    unsafe fn improved_wide(
        ids: &[u32],
        weights: Option<&[Self]>,
        base: Self,
        limit: Self,
        dist: *const Self,
        to: (*mut u32, *mut Self),
    ) -> (usize, usize);
    /// The smallest of `best` and what the neighbours below `settled` and the weights lead to.
    ///
    /// # Safety
    /// As [`Lanes::improved_wide`]; nothing is written.
    unsafe fn nearest_wide(ids: &[u32], weights: &[Self], dist: *const Self, settled: Self, best: Self) -> Self;
}

/// The smallest of `best` and what neighbours below `settled` lead to over weights that rise, by AVX-512. None of those that count is below `nearest`.
///
/// # Safety
/// As [`Lanes::nearest_wide`] without the number of neighbours.
#[inline(always)]
pub(crate) unsafe fn pull_wide<D: Native>(ids: &[u32], weights: &[D], dist: *const D, (settled, nearest): (D, D), mut best: D) -> D {
    let mut done = 0;
    while done < ids.len() && nearest.extend(weights[done]) < best {
        // Few of the first are looked at where one is near.
        let end = ids.len().min(done + if done == 0 { 8 } else { D::WIDE });
        // SAFETY: the contract.
        best = unsafe { D::nearest_wide(&ids[done..end], &weights[done..end], dist, settled, best) };
        done = end;
    }
    best
}

/// Lists what a row improves below `limit`, by AVX-512, and lowers it if that is much. Where weights rise, it ends with the first arc that leads farther.
/// Returns how many arcs do not.
///
/// # Safety
/// As [`Lanes::improved_wide`] without the number of neighbours; `out` has the distances.
#[inline(always)]
pub(crate) unsafe fn list_wide<const RISING: bool, D: Native>(
    ids: &[u32],
    weights: Option<&[D]>,
    (base, limit): (D, D),
    out: &mut Out<'_, D>,
    key: impl Fn(D) -> u64 + Copy,
) -> usize {
    let (mut start, mut done) = (0, 0);
    while start < ids.len() {
        let end = ids.len().min(start + if RISING && start == 0 { 8 } else { D::WIDE });
        let (part, weights) = (&ids[start..end], weights.map(|w| &w[start..end]));
        start = end;
        let to = out.found.room();
        // SAFETY: the contract; there is room for a vector.
        let (count, near) = unsafe { D::improved_wide(part, weights, base, limit, out.dist.as_ptr().cast(), to) };
        out.found.add(count);
        out.lower_many(key);
        done += near;
        if RISING && near < part.len() {
            break;
        }
    }
    done
}

/// The lanes of `k` elements.
#[inline(always)]
const fn first(k: usize) -> u16 {
    (1u32 << k).wrapping_sub(1) as u16
}

impl Lanes for u32 {
    const WIDE: usize = 16;
    #[inline(always)]
    unsafe fn improved_wide(
        ids: &[u32],
        weights: Option<&[u32]>,
        base: u32,
        limit: u32,
        dist: *const Self,
        (to, sums): (*mut u32, *mut u32),
    ) -> (usize, usize) {
        // SAFETY: the contract; masked lanes are not read.
        unsafe {
            let all = _mm512_set1_epi32(base as i32);
            if ids.len() <= 8 {
                let inside = first(ids.len()) as u8;
                let heads = _mm256_maskz_loadu_epi32(inside, ids.as_ptr().cast());
                let weights = weights.map_or(_mm256_set1_epi32(1), |w| _mm256_maskz_loadu_epi32(inside, w.as_ptr().cast()));
                let base = _mm512_castsi512_si256(all);
                let sum = _mm256_add_epi32(base, weights);
                // A sum that does not fit improves nothing.
                let fits = _mm256_mask_cmpge_epu32_mask(inside, sum, base);
                let near = _mm256_mask_cmplt_epu32_mask(fits, sum, _mm256_set1_epi32(limit as i32));
                let known = _mm256_mmask_i32gather_epi32::<4>(heads, near, heads, dist.cast());
                let better = _mm256_mask_cmplt_epu32_mask(near, sum, known);
                _mm256_storeu_si256(to.cast(), _mm256_maskz_compress_epi32(better, heads));
                _mm256_storeu_si256(sums.cast(), _mm256_maskz_compress_epi32(better, sum));
                return (better.count_ones() as usize, near.count_ones() as usize);
            }
            let inside = first(ids.len());
            let heads = _mm512_maskz_loadu_epi32(inside, ids.as_ptr().cast());
            let weights = weights.map_or(_mm512_set1_epi32(1), |w| _mm512_maskz_loadu_epi32(inside, w.as_ptr().cast()));
            let sum = _mm512_add_epi32(all, weights);
            let fits = _mm512_mask_cmpge_epu32_mask(inside, sum, all);
            let near = _mm512_mask_cmplt_epu32_mask(fits, sum, _mm512_set1_epi32(limit as i32));
            let known = _mm512_mask_i32gather_epi32::<4>(heads, near, heads, dist.cast());
            let better = _mm512_mask_cmplt_epu32_mask(near, sum, known);
            _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi32(better, heads));
            _mm512_storeu_si512(sums.cast(), _mm512_maskz_compress_epi32(better, sum));
            (better.count_ones() as usize, near.count_ones() as usize)
        }
    }
    #[inline(always)]
    unsafe fn nearest_wide(ids: &[u32], weights: &[u32], dist: *const u32, settled: u32, best: u32) -> u32 {
        // SAFETY: the contract; masked lanes are not read.
        unsafe {
            if ids.len() <= 8 {
                let inside = first(ids.len()) as u8;
                let heads = _mm256_maskz_loadu_epi32(inside, ids.as_ptr().cast());
                let weights = _mm256_maskz_loadu_epi32(inside, weights.as_ptr().cast());
                let known = _mm256_mmask_i32gather_epi32::<4>(_mm256_set1_epi32(-1), inside, heads, dist.cast());
                let from = _mm256_cmplt_epu32_mask(known, _mm256_set1_epi32(settled as i32));
                let sum = _mm256_add_epi32(known, weights);
                let fits = _mm256_mask_cmpge_epu32_mask(from, sum, known);
                let sums = _mm512_castsi256_si512(sum);
                return best.min(_mm512_mask_reduce_min_epu32(fits.into(), sums));
            }
            let inside = first(ids.len());
            let heads = _mm512_maskz_loadu_epi32(inside, ids.as_ptr().cast());
            let weights = _mm512_maskz_loadu_epi32(inside, weights.as_ptr().cast());
            let known = _mm512_mask_i32gather_epi32::<4>(_mm512_set1_epi32(-1), inside, heads, dist.cast());
            let from = _mm512_cmplt_epu32_mask(known, _mm512_set1_epi32(settled as i32));
            let sum = _mm512_add_epi32(known, weights);
            best.min(_mm512_mask_reduce_min_epu32(_mm512_mask_cmpge_epu32_mask(from, sum, known), sum))
        }
    }
}

impl Lanes for f32 {
    const WIDE: usize = 16;
    #[inline(always)]
    unsafe fn improved_wide(
        ids: &[u32],
        weights: Option<&[f32]>,
        base: f32,
        limit: f32,
        dist: *const Self,
        (to, sums): (*mut u32, *mut f32),
    ) -> (usize, usize) {
        // SAFETY: the contract; masked lanes are not read.
        unsafe {
            let inside = first(ids.len());
            let heads = _mm512_maskz_loadu_epi32(inside, ids.as_ptr().cast());
            let weights = weights.map_or(_mm512_set1_ps(1.0), |w| _mm512_maskz_loadu_ps(inside, w.as_ptr()));
            let sum = _mm512_add_ps(_mm512_set1_ps(base), weights);
            let near = _mm512_mask_cmp_ps_mask::<_CMP_LT_OQ>(inside, sum, _mm512_set1_ps(limit));
            let known = _mm512_mask_i32gather_ps::<4>(weights, near, heads, dist.cast());
            let better = _mm512_mask_cmp_ps_mask::<_CMP_LT_OQ>(near, sum, known);
            _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi32(better, heads));
            _mm512_storeu_ps(sums, _mm512_maskz_compress_ps(better, sum));
            (better.count_ones() as usize, near.count_ones() as usize)
        }
    }
    #[inline(always)]
    unsafe fn nearest_wide(ids: &[u32], weights: &[f32], dist: *const f32, settled: f32, best: f32) -> f32 {
        // SAFETY: the contract; masked lanes are not read.
        unsafe {
            let inside = first(ids.len());
            let heads = _mm512_maskz_loadu_epi32(inside, ids.as_ptr().cast());
            let weights = _mm512_maskz_loadu_ps(inside, weights.as_ptr());
            let known = _mm512_mask_i32gather_ps::<4>(weights, inside, heads, dist.cast());
            let from = _mm512_mask_cmp_ps_mask::<_CMP_LT_OQ>(inside, known, _mm512_set1_ps(settled));
            let best = _mm512_set1_ps(best);
            _mm512_reduce_min_ps(_mm512_min_ps(best, _mm512_mask_add_ps(best, from, known, weights)))
        }
    }
}

impl Lanes for u64 {
    const WIDE: usize = 8;
    #[inline(always)]
    unsafe fn improved_wide(
        ids: &[u32],
        weights: Option<&[u64]>,
        base: u64,
        limit: u64,
        dist: *const Self,
        (to, sums): (*mut u32, *mut u64),
    ) -> (usize, usize) {
        // SAFETY: the contract; masked lanes are not read.
        unsafe {
            let inside = first(ids.len()) as u8;
            let heads = _mm256_maskz_loadu_epi32(inside, ids.as_ptr().cast());
            let weights = weights.map_or(_mm512_set1_epi64(1), |w| _mm512_maskz_loadu_epi64(inside, w.as_ptr().cast()));
            let base = _mm512_set1_epi64(base as i64);
            let sum = _mm512_add_epi64(base, weights);
            let fits = _mm512_mask_cmpge_epu64_mask(inside, sum, base);
            let near = _mm512_mask_cmplt_epu64_mask(fits, sum, _mm512_set1_epi64(limit as i64));
            let known = _mm512_mask_i32gather_epi64::<8>(weights, near, heads, dist.cast());
            let better = _mm512_mask_cmplt_epu64_mask(near, sum, known);
            _mm256_storeu_si256(to.cast(), _mm256_maskz_compress_epi32(better, heads));
            _mm512_storeu_si512(sums.cast(), _mm512_maskz_compress_epi64(better, sum));
            (better.count_ones() as usize, near.count_ones() as usize)
        }
    }
    #[inline(always)]
    unsafe fn nearest_wide(ids: &[u32], weights: &[u64], dist: *const u64, settled: u64, best: u64) -> u64 {
        // SAFETY: the contract; masked lanes are not read.
        unsafe {
            let inside = first(ids.len()) as u8;
            let heads = _mm256_maskz_loadu_epi32(inside, ids.as_ptr().cast());
            let weights = _mm512_maskz_loadu_epi64(inside, weights.as_ptr().cast());
            let known = _mm512_mask_i32gather_epi64::<8>(weights, inside, heads, dist.cast());
            let from = _mm512_mask_cmplt_epu64_mask(inside, known, _mm512_set1_epi64(settled as i64));
            let sum = _mm512_add_epi64(known, weights);
            best.min(_mm512_mask_reduce_min_epu64(_mm512_mask_cmpge_epu64_mask(from, sum, known), sum))
        }
    }
}

impl Lanes for f64 {
    const WIDE: usize = 8;
    #[inline(always)]
    unsafe fn improved_wide(
        ids: &[u32],
        weights: Option<&[f64]>,
        base: f64,
        limit: f64,
        dist: *const Self,
        (to, sums): (*mut u32, *mut f64),
    ) -> (usize, usize) {
        // SAFETY: the contract; masked lanes are not read.
        unsafe {
            let inside = first(ids.len()) as u8;
            let heads = _mm256_maskz_loadu_epi32(inside, ids.as_ptr().cast());
            let weights = weights.map_or(_mm512_set1_pd(1.0), |w| _mm512_maskz_loadu_pd(inside, w.as_ptr()));
            let sum = _mm512_add_pd(_mm512_set1_pd(base), weights);
            let near = _mm512_mask_cmp_pd_mask::<_CMP_LT_OQ>(inside, sum, _mm512_set1_pd(limit));
            let known = _mm512_mask_i32gather_pd::<8>(weights, near, heads, dist.cast());
            let better = _mm512_mask_cmp_pd_mask::<_CMP_LT_OQ>(near, sum, known);
            _mm256_storeu_si256(to.cast(), _mm256_maskz_compress_epi32(better, heads));
            _mm512_storeu_pd(sums, _mm512_maskz_compress_pd(better, sum));
            (better.count_ones() as usize, near.count_ones() as usize)
        }
    }
    #[inline(always)]
    unsafe fn nearest_wide(ids: &[u32], weights: &[f64], dist: *const f64, settled: f64, best: f64) -> f64 {
        // SAFETY: the contract; masked lanes are not read.
        unsafe {
            let inside = first(ids.len()) as u8;
            let heads = _mm256_maskz_loadu_epi32(inside, ids.as_ptr().cast());
            let weights = _mm512_maskz_loadu_pd(inside, weights.as_ptr());
            let known = _mm512_mask_i32gather_pd::<8>(weights, inside, heads, dist.cast());
            let from = _mm512_mask_cmp_pd_mask::<_CMP_LT_OQ>(inside, known, _mm512_set1_pd(settled));
            let best = _mm512_set1_pd(best);
            _mm512_reduce_min_pd(_mm512_min_pd(best, _mm512_mask_add_pd(best, from, known, weights)))
        }
    }
}
