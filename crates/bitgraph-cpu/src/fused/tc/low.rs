//! Triangles where degrees are small: for every two smaller neighbours of a vertex, look for the edge between them.
//!
//! Nothing is prepared and nothing is stored; a row of four is scanned faster than any index over it is built.
//! O(sum of d^3) at worst, so the caller takes this form for small mean degrees without skew only.

use std::ops::Range;

/// Triangles whose largest vertex is in `rows`. Loops are passed over.
pub(super) fn count_rows(offsets: &[u32], indices: &[u32], rows: Range<usize>) -> u64 {
    let mut count = 0u64;
    let mut start = offsets[rows.start] as usize;
    for v in rows {
        let end = offsets[v + 1] as usize;
        let row = &indices[start..end];
        start = end;
        for (i, &u) in row.iter().enumerate().skip(1) {
            if u as usize >= v {
                break;
            }
            let other = &indices[offsets[u as usize] as usize..offsets[u as usize + 1] as usize];
            for &w in &row[..i] {
                for &x in other {
                    if x >= w {
                        count += u64::from(x == w);
                        break;
                    }
                }
            }
        }
    }
    count
}
