//! The invariants of compressed rows: offsets that do not decrease, columns in range and ascending in every row.
//!
//! Invariant: [`check`] accepts what its slow half accepts. The fast half looks at all entries as one sequence, without a branch an entry:
//! rows ascend if the sequence descends nowhere but where a row begins.

use crate::parallel::{self, balanced_rows};
use crate::{Error, OffsetInt, Result};

/// Entries between two additions to a count of 64 bits.
const CHUNK: usize = 1 << 16;

/// Refuses offsets and columns that break an invariant, naming the first place. `offsets` is not empty. O(rows + nnz), parallel.
pub(crate) fn check<O: OffsetInt>(offsets: &[O], indices: &[u32], columns: u32) -> Result<()> {
    if offsets[0].index() != 0 {
        return Err(Error::Invalid { array: "offsets", position: 0, what: "the first offset is not 0" });
    }
    // Without a branch first, as below.
    let decreases = offsets.iter().zip(&offsets[1..]).fold(false, |found, (a, b)| found | (a > b));
    if decreases && let Some(i) = offsets.windows(2).position(|w| w[0] > w[1]) {
        return Err(Error::Invalid { array: "offsets", position: i as u64 + 1, what: "offsets decrease" });
    }
    let nnz = offsets[offsets.len() - 1].index();
    if nnz != indices.len() {
        return Err(Error::Length { array: "indices", expected: nnz as u64, found: indices.len() as u64 });
    }
    let blocks = balanced_rows(offsets, rayon::current_num_threads() * 8);
    if parallel::all(blocks.len(), 1, |k| ascends(&offsets[blocks[k].start..=blocks[k].end], indices, columns)) {
        return Ok(());
    }
    first_breach(offsets, indices, columns)
}

/// Whether all columns of some rows are in range, and ascend in each row.
fn ascends<O: OffsetInt>(offsets: &[O], indices: &[u32], columns: u32) -> bool {
    let first = offsets[0].index();
    let all = &indices[first..offsets[offsets.len() - 1].index()];
    let Some((_, next)) = all.split_first() else { return true };
    let mut descents = 0u64;
    for (a, b) in all.chunks(CHUNK).zip(next.chunks(CHUNK)) {
        descents += u64::from(a.iter().zip(b).map(|(a, b)| u32::from(a >= b)).sum::<u32>());
    }
    let in_range = all.chunks(CHUNK).all(|c| c.iter().fold(0, |largest, &c| largest.max(c)) < columns);
    // Where a row with entries ends and another begins.
    let at_ends = offsets.windows(2).map(|w| {
        let end = w[1].index() - first;
        let between = w[0] < w[1] && end < all.len();
        u64::from(between && all[end - 1] >= all[end])
    });
    in_range && descents == at_ends.sum::<u64>()
}

/// The first breach, by rows.
#[cold]
fn first_breach<O: OffsetInt>(offsets: &[O], indices: &[u32], columns: u32) -> Result<()> {
    // The place of the first breach, and in its lowest bit which one it is.
    let first = parallel::first(offsets.len() - 1, 4096, |i| {
        let (start, end) = (offsets[i].index(), offsets[i + 1].index());
        let row = &indices[start..end];
        match row.last() {
            Some(&last) if last >= columns => Some((end - 1) << 1),
            _ => row.windows(2).position(|w| w[0] >= w[1]).map(|k| (start + k + 1) << 1 | 1),
        }
    });
    match first {
        None => Ok(()),
        Some(breach) => Err(Error::Invalid {
            array: "indices",
            position: (breach >> 1) as u64,
            what: if breach & 1 == 0 { "a column past the last one" } else { "columns of a row are not ascending" },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every sequence of up to four columns below three, cut into rows in every way: both halves agree.
    #[test]
    fn the_fast_half_accepts_what_the_slow_half_does() {
        let mut accepted = 0;
        for length in 0..=4u32 {
            for code in 0..4u32.pow(length) {
                let indices: Vec<u32> = (0..length).map(|k| code >> (2 * k) & 3).collect();
                for cuts in 0..125u32 {
                    let mut inner = [cuts % 5, cuts / 5 % 5, cuts / 25].map(|c| c.min(length));
                    inner.sort_unstable();
                    let offsets = [0, inner[0], inner[1], inner[2], length];
                    let slow = first_breach(&offsets, &indices, 3);
                    assert_eq!(ascends(&offsets, &indices, 3), slow.is_ok(), "{offsets:?} {indices:?}");
                    accepted += u32::from(check(&offsets, &indices, 3).is_ok());
                }
            }
        }
        assert!(accepted > 1000, "{accepted}");
    }

    /// A row that is longer than what is looked at together, with a breach at either end of that and in between.
    #[test]
    fn breaches_in_long_rows_are_found_wherever_they_are() {
        let n = 2 * CHUNK + 3;
        let good: Vec<u32> = (0..n as u32).map(|k| 2 * k).collect();
        let offsets = [0, n as u32];
        assert!(check(&offsets, &good, 2 * n as u32).is_ok());
        for at in [1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK - 1, 2 * CHUNK, 2 * CHUNK + 1, n - 1] {
            let mut bad = good.clone();
            bad[at] = bad[at - 1];
            let found = check(&offsets, &bad, 2 * n as u32).unwrap_err();
            assert!(matches!(found, Error::Invalid { array: "indices", position, .. } if position == at as u64), "{at}: {found}");
            // As the last of a row.
            assert!(check(&[0, at as u32, n as u32], &bad, 2 * n as u32).is_ok(), "{at}");
            bad[at] = 2 * n as u32;
            assert!(check(&offsets, &bad, 2 * n as u32).is_err(), "{at}");
        }
    }
}
