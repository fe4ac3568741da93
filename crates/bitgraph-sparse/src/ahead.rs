//! Memory asked for before it is wanted: cache lines, and what lies beside a vertex where neighbours have near numbers.
//!
//! Invariant: asking never changes a result.
#![allow(unsafe_code)]

use crate::Csr;
use std::ops::Range;

/// Asks for the cache line of an address, which need not be valid.
#[inline(always)]
pub fn fetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of the architecture, and a prefetch may be of any address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Bytes to either side of what is looked at whose cache line is asked for: the next line, most of the time.
const REACH: usize = 72;

/// Asks for what lies to either side of a place of an array. Where neighbours have numbers near each other, the searched part grows along the numbers
/// of vertices, and its border is wider than caches hold; what lies beside a vertex is wanted some levels later. Asking for it one level ahead is
/// too late: with one thread, grids of 160 thousand to a million vertices took .64 to .38 of the time to search so, a road network .58, triangulations
/// .8, and shortest paths .66, .66 and .9.
#[inline(always)]
pub fn beside<T>(array: *const T, place: Range<usize>) {
    let reach = REACH / size_of::<T>().max(1);
    fetch(array.wrapping_add(place.end + reach));
    fetch(array.wrapping_add(place.start).wrapping_sub(reach));
}

/// Vertices from which on what lies beside one is asked for. Grids of 90 thousand vertices took .9 to 1.3 times as long with it.
const BESIDE: usize = 1 << 17;
/// Neighbours whose numbers differ by more are apart.
const APART: usize = 1 << 14;
/// Vertices from which on neighbours may be too far apart for a cache.
const SCATTERED: usize = 1 << 16;

/// Whether the neighbours of consecutive vertices lie apart by more than caches hold, by a sample.
#[must_use]
pub fn scattered(csr: &Csr) -> bool {
    csr.nrows() >= SCATTERED && apart(csr, APART)
}

/// Whether a graph is larger than caches close to a core, and neighbours near each other: where [`beside`] pays.
#[must_use]
pub fn near(csr: &Csr) -> bool {
    csr.nrows() >= BESIDE && !apart(csr, APART)
}

/// Whether more than a quarter of the neighbours have numbers that differ by more than `distance`, by a sample.
#[must_use]
pub fn apart(csr: &Csr, distance: usize) -> bool {
    let n = csr.nrows();
    let (mut far, mut all) = (0u64, 0u64);
    for k in 0..ASKED.min(n) {
        let v = k * n / ASKED.min(n);
        for &u in csr.row(v).iter().take(16) {
            far += u64::from(v.abs_diff(u as usize) > distance);
            all += 1;
        }
    }
    far * 4 > all
}

/// Rows that are asked.
const ASKED: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Offsets;

    #[test]
    fn near_neighbours_are_told_from_far_ones() {
        // A cycle whose neighbours are `step` apart.
        let ring = |n: usize, step: usize| {
            let ends: Vec<u32> = (0..n).map(|v| ((v + step) % n) as u32).collect();
            Csr::from_valid(n, n, Offsets::U64((0..=n as u64).collect::<Vec<_>>().into()), ends.into())
        };
        assert!(near(&ring(BESIDE, 3)) && !scattered(&ring(BESIDE, 3)));
        assert!(!near(&ring(BESIDE, APART + 1)) && scattered(&ring(BESIDE, APART + 1)));
        assert!(!near(&ring(BESIDE - 1, 3)) && !scattered(&ring(SCATTERED - 1, APART + 1)));
        assert!(!apart(&ring(10, 1), 9) && apart(&ring(10, 5), 4));
        // Nothing to ask for is no harm.
        beside(std::ptr::null::<u32>(), 0..0);
        beside(std::ptr::null::<()>(), 0..0);
    }
}
