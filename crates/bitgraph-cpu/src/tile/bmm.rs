//! Products of bit-tile matrices reduced to one number, for triangle counting.
//!
//! Invariant: the result is the exact integer sum, whatever the order.

use super::{BitTile, compiled};
use bitgraph_b2sr::B2sr;
use bitgraph_sparse::parallel;
use std::ops::Range;

/// The sum of all elements of `A B` over (plus, times): of the products of the column counts of `a` and the row counts of `b`.
/// O(tiles). `None` if the shapes do not fit.
#[must_use]
pub fn bmm_sum<T: BitTile>(a: &B2sr<T>, b: &B2sr<T>) -> Option<u64> {
    if a.ncols() != b.nrows() {
        return None;
    }
    let mut columns = vec![0u64; a.ncols().next_multiple_of(T::SIZE)];
    compiled(|| {
        for (tile, &column) in a.tiles().iter().zip(a.tile_columns()) {
            tile.for_each(|_, c| columns[((column as usize) << T::SHIFT) + c as usize] += 1);
        }
    });
    let starts = b.row_offsets();
    Some(columns.iter().zip(starts.windows(2)).map(|(count, w)| count * (w[1] - w[0]) as u64).sum())
}

/// The sum of the elements of `A B` at the entries of `mask`, `b_transposed` being the transpose of `B`: for every entry (`i`,
/// `j`) of the mask, the number of common columns of row `i` of `a` and row `j` of `b_transposed`. With the lower triangle `L` for
/// all three it counts triangles. `None` if the shapes do not fit.
///
/// A tile row of `a` is spread over a table by tile column; each tile of the mask then walks its tile row of `b_transposed` up to
/// the last column of `a`'s. O(sum over mask tiles of the tiles in their row of `b_transposed`), parallel over tile rows.
#[must_use]
pub fn bmm_sum_masked<T: BitTile>(a: &B2sr<T>, b_transposed: &B2sr<T>, mask: &B2sr<T>) -> Option<u64> {
    let fits = a.ncols() == b_transposed.ncols() && mask.nrows() == a.nrows() && mask.ncols() == b_transposed.nrows();
    if !fits {
        return None;
    }
    let width = a.ncols().div_ceil(T::SIZE);
    let threads = rayon::current_num_threads();
    let part = if threads == 1 { mask.tile_rows().max(1) } else { mask.tile_rows().div_ceil(threads * 16).max(64) };
    let some = |rows: Range<usize>| {
        let mut slots = vec![u32::MAX; width];
        compiled(|| rows.map(|t| tile_row(a, b_transposed, mask, t, &mut slots)).sum::<u64>())
    };
    Some(parallel::reduce(mask.tile_rows(), part, some, |a, b| a + b))
}

#[inline(always)]
fn tile_row<T: BitTile>(a: &B2sr<T>, b: &B2sr<T>, mask: &B2sr<T>, t: usize, slots: &mut [u32]) -> u64 {
    let (of_a, of_mask) = (a.tile_range(t), mask.tile_range(t));
    let columns = &a.tile_columns()[of_a.clone()];
    let (Some(&first), Some(&last)) = (columns.first(), columns.last()) else { return 0 };
    let tiles = &a.tiles()[of_a];
    for (slot, &column) in columns.iter().enumerate() {
        slots[column as usize] = slot as u32;
    }
    let mut sum = 0u64;
    for (m, &j) in mask.tiles()[of_mask.clone()].iter().zip(&mask.tile_columns()[of_mask]) {
        let range = b.tile_range(j as usize);
        for (tile, &column) in b.tiles()[range.clone()].iter().zip(&b.tile_columns()[range]) {
            if column > last {
                break;
            }
            if column >= first {
                let slot = slots[column as usize];
                if slot != u32::MAX {
                    sum += u64::from(m.common(&tiles[slot as usize], tile));
                }
            }
        }
    }
    for &column in columns {
        slots[column as usize] = u32::MAX;
    }
    sum
}
