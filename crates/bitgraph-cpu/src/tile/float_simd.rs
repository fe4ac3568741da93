//! The AVX-512 forms of float mxv: one masked add of a register for each 4x4 tile, four (or eight) for an 8x8 tile.
//!
//! Invariant: lane `c + SIZE r` of the accumulators holds the sum of column `c` of row `r`; the bits of a tile are the lane mask.

#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code)]

use super::float::Pieces;
use std::arch::x86_64::*;

/// Sums of a tile row of 4x4 tiles in `f32`: two accumulators hide the latency of the add.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt,fma")]
#[inline]
pub(super) fn tile4_f32(columns: &[u32], tiles: &[u16], x: &Pieces<'_, f32>, out: &mut [f32]) {
    assert!(out.len() >= 4);
    let (mut even, mut odd) = (_mm512_setzero_ps(), _mm512_setzero_ps());
    let load = |column: u32| {
        let piece: &[f32; 4] = x.piece(column).first_chunk().expect("a piece is as wide as a tile");
        // SAFETY: the four elements are in bounds.
        _mm512_broadcast_f32x4(unsafe { _mm_loadu_ps(piece.as_ptr()) })
    };
    let n = columns.len().min(tiles.len());
    let (columns, tiles) = (&columns[..n], &tiles[..n]);
    let mut i = 0;
    while i + 2 <= n {
        even = _mm512_mask_add_ps(even, tiles[i], even, load(columns[i]));
        odd = _mm512_mask_add_ps(odd, tiles[i + 1], odd, load(columns[i + 1]));
        i += 2;
    }
    if i < n {
        even = _mm512_mask_add_ps(even, tiles[i], even, load(columns[i]));
    }
    // Lane 4 c + r after the permutation: one quarter for each column.
    let by_column = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    let sums = _mm512_permutexvar_ps(by_column, _mm512_add_ps(even, odd));
    let halves = _mm256_add_ps(_mm512_castps512_ps256(sums), _mm512_extractf32x8_ps::<1>(sums));
    let total = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps::<1>(halves));
    // SAFETY: `out` has four elements.
    unsafe { _mm_storeu_ps(out.as_mut_ptr(), total) };
}

/// Sums of a tile row of 4x4 tiles in `f64`: rows 0 and 1 in one accumulator, 2 and 3 in the other.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt,fma")]
#[inline]
pub(super) fn tile4_f64(columns: &[u32], tiles: &[u16], x: &Pieces<'_, f64>, out: &mut [f64]) {
    assert!(out.len() >= 4);
    let (mut low, mut high) = (_mm512_setzero_pd(), _mm512_setzero_pd());
    for (&column, &tile) in columns.iter().zip(tiles) {
        let piece: &[f64; 4] = x.piece(column).first_chunk().expect("a piece is as wide as a tile");
        // SAFETY: the four elements are in bounds.
        let x = _mm512_broadcast_f64x4(unsafe { _mm256_loadu_pd(piece.as_ptr()) });
        low = _mm512_mask_add_pd(low, tile as u8, low, x);
        high = _mm512_mask_add_pd(high, (tile >> 8) as u8, high, x);
    }
    let rows = |v| (_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd::<1>(v));
    let ((r0, r1), (r2, r3)) = (rows(low), rows(high));
    let total = sum_rows_f64(r0, r1, r2, r3);
    // SAFETY: `out` has four elements.
    unsafe { _mm256_storeu_pd(out.as_mut_ptr(), total) };
}

/// Element `r` of the result is the sum of row `r`.
#[target_feature(enable = "avx512f,avx512vl,avx512dq")]
#[inline]
fn sum_rows_f64(r0: __m256d, r1: __m256d, r2: __m256d, r3: __m256d) -> __m256d {
    let (a, b) = (_mm256_hadd_pd(r0, r1), _mm256_hadd_pd(r2, r3));
    _mm256_add_pd(_mm256_permute2f128_pd::<0x20>(a, b), _mm256_permute2f128_pd::<0x31>(a, b))
}

/// Sums of a tile row of 8x8 tiles in `f32`: two rows in each of four accumulators.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt,fma")]
#[inline]
pub(super) fn tile8_f32(columns: &[u32], tiles: &[u64], x: &Pieces<'_, f32>, out: &mut [f32]) {
    assert!(out.len() >= 8);
    let mut acc = [_mm512_setzero_ps(); 4];
    for (&column, &tile) in columns.iter().zip(tiles) {
        let piece: &[f32; 8] = x.piece(column).first_chunk().expect("a piece is as wide as a tile");
        // SAFETY: the eight elements are in bounds.
        let x = _mm512_broadcast_f32x8(unsafe { _mm256_loadu_ps(piece.as_ptr()) });
        for (k, acc) in acc.iter_mut().enumerate() {
            *acc = _mm512_mask_add_ps(*acc, (tile >> (16 * k)) as u16, *acc, x);
        }
    }
    let rows = |v| (_mm512_castps512_ps256(v), _mm512_extractf32x8_ps::<1>(v));
    let [(r0, r1), (r2, r3), (r4, r5), (r6, r7)] = acc.map(rows);
    let low = _mm256_hadd_ps(_mm256_hadd_ps(r0, r1), _mm256_hadd_ps(r2, r3));
    let high = _mm256_hadd_ps(_mm256_hadd_ps(r4, r5), _mm256_hadd_ps(r6, r7));
    let halves = |v| _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
    // SAFETY: `out` has eight elements.
    unsafe { _mm256_storeu_ps(out.as_mut_ptr(), _mm256_set_m128(halves(high), halves(low))) };
}

/// Sums of a tile row of 8x8 tiles in `f64`: an accumulator for each row.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt,fma")]
#[inline]
pub(super) fn tile8_f64(columns: &[u32], tiles: &[u64], x: &Pieces<'_, f64>, out: &mut [f64]) {
    let mut acc = [_mm512_setzero_pd(); 8];
    for (&column, &tile) in columns.iter().zip(tiles) {
        let piece: &[f64; 8] = x.piece(column).first_chunk().expect("a piece is as wide as a tile");
        // SAFETY: the eight elements are in bounds.
        let x = unsafe { _mm512_loadu_pd(piece.as_ptr()) };
        for (k, acc) in acc.iter_mut().enumerate() {
            *acc = _mm512_mask_add_pd(*acc, (tile >> (8 * k)) as u8, *acc, x);
        }
    }
    let quarter = |v| _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd::<1>(v));
    let [r0, r1, r2, r3, r4, r5, r6, r7] = acc.map(quarter);
    let (low, high) = (sum_rows_f64(r0, r1, r2, r3), sum_rows_f64(r4, r5, r6, r7));
    let out: &mut [f64; 8] = out.first_chunk_mut().expect("room for a tile row");
    // SAFETY: `out` has eight elements.
    unsafe {
        _mm256_storeu_pd(out.as_mut_ptr(), low);
        _mm256_storeu_pd(out.as_mut_ptr().add(4), high);
    }
}
