//! The search over short rows of one fixed length, for grids and other graphs of small degree: exact buckets, and no branch on whether
//! an arc improves anything.
//!
//! Invariant: rows are `K` entries at stride `K`, padded with weight 255 and the row's own id, which never improves.
#![allow(unsafe_code)]

use super::buckets::Buckets;
use super::ops::{Ops, Portable};
use super::rows::ID;
use bitgraph_backend::{Control, Result};

/// How many vertices ahead memory is asked for.
const AHEAD: usize = 6;

/// Fills `dist`, which holds the greatest value everywhere. With a target, distances above the target's are upper bounds.
///
/// # Errors
/// [`bitgraph_backend::Error::Cancelled`].
pub(crate) fn search<const K: usize>(
    rows: &[u32],
    source: u32,
    target: Option<u32>,
    control: &Control,
    dist: &mut [u32],
    buckets: &mut Buckets,
) -> Result<()> {
    assert!(rows.len() >= dist.len() * K && (source as usize) < dist.len());
    dist[source as usize] = 0;
    buckets.clear();
    buckets.push(0, source);
    let (mut now, mut live) = (0u32, 1u64);
    let (rows, known) = (rows.as_ptr(), dist.as_mut_ptr());
    while live > 0 {
        let following = buckets.last(now.wrapping_add(1)).first;
        let mut chunk = Some(buckets.last(now));
        // SAFETY: the bucket is not pushed to while it is read, since weights are 1 to 255; ids in it and in entries are
        // vertices; what is read from `following` is memory of the buckets, and only prefetched for.
        unsafe {
            while let Some(run) = chunk {
                chunk = run.before();
                let ids = run.ids();
                live -= ids.len() as u64;
                let beyond = chunk.map_or(following, |c| c.first);
                for (i, &v) in ids.iter().enumerate() {
                    let place = i + AHEAD;
                    let ahead = if place < ids.len() { ids.as_ptr().add(place) } else { beyond.add(place - ids.len()) };
                    let ahead = *ahead as usize;
                    Portable::prefetch(rows.wrapping_add(ahead.wrapping_mul(K)));
                    Portable::prefetch(known.wrapping_add(ahead));
                    if *known.add(v as usize) != now {
                        continue;
                    }
                    let row = rows.add(v as usize * K);
                    for k in 0..K {
                        let entry = *row.add(k);
                        let id = entry & ID;
                        let sum = now + (entry >> 24);
                        let old = *known.add(id as usize);
                        let better = sum < old;
                        *known.add(id as usize) = if better { sum } else { old };
                        buckets.push_if(sum, id, better);
                        live += u64::from(better);
                    }
                }
            }
        }
        buckets.release(now);
        control.check()?;
        control.report(u64::from(now) + 1, None);
        if let Some(t) = target
            && dist[t as usize] <= now
        {
            break;
        }
        now += 1;
    }
    Ok(())
}
