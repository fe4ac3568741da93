//! The search over short rows of one fixed length, for grids and other graphs of small degree: no branch on whether an arc
//! improves anything, and buckets wide enough to hold some work.
//!
//! # Invariants
//! Rows are `K` entries at stride `K`, padded with weight 255 and the row's own id, which never improves. A bucket is emptied until
//! it stays empty: what it receives meanwhile is worked off in a further round, so that distances below its end are final.
#![allow(unsafe_code)]

use super::buckets::Buckets;
use super::rows::ID;
use bitgraph_backend::{Control, Result};
use bitgraph_sparse::ahead::{beside, fetch};

/// How many vertices ahead memory is asked for.
const AHEAD: usize = 6;

/// Fills `dist`, which holds the largest value everywhere; buckets are `2^shift` wide. Where neighbours are near, what lies beside a vertex is
/// fetched. With a target, distances above the
/// target's are upper bounds.
///
/// # Errors
/// [`bitgraph_backend::Error::Cancelled`].
pub(crate) fn search<const K: usize>(
    rows: &[u32],
    (shift, near): (u32, bool),
    source: u32,
    target: Option<u32>,
    control: &Control,
    dist: &mut [u32],
    buckets: &mut Buckets,
) -> Result<()> {
    assert!(shift < 8 && rows.len() >= dist.len() * K && (source as usize) < dist.len());
    dist[source as usize] = 0;
    buckets.clear();
    buckets.push(0, source);
    let (mut now, mut live) = (0u32, 1u64);
    let (rows, known) = (rows.as_ptr(), dist.as_mut_ptr());
    loop {
        loop {
            let taken = buckets.last(now);
            // SAFETY: nothing was released since.
            if unsafe { taken.is_empty() } {
                break;
            }
            buckets.take(now);
            let following = buckets.last(now.wrapping_add(1)).first;
            let mut chunk = Some(taken);
            // SAFETY: taken chunks are not pushed to; ids in them and in entries are vertices; what is read from `beyond` is memory
            // of the buckets, and only prefetched for.
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
                        fetch(rows.wrapping_add(ahead.wrapping_mul(K)));
                        fetch(known.wrapping_add(ahead));
                        let base = *known.add(v as usize);
                        // Settled in an earlier bucket.
                        if base >> shift != now {
                            continue;
                        }
                        let at = v as usize;
                        if near {
                            beside(rows, at * K..at * K);
                            beside(known.cast_const(), at..at);
                        }
                        let row = rows.add(at * K);
                        for k in 0..K {
                            let entry = *row.add(k);
                            let id = entry & ID;
                            let sum = base + (entry >> 24);
                            let old = *known.add(id as usize);
                            let better = sum < old;
                            *known.add(id as usize) = if better { sum } else { old };
                            buckets.push_if(sum >> shift, id, better);
                            live += u64::from(better);
                        }
                    }
                }
            }
            buckets.give_back(taken);
        }
        control.check()?;
        control.report(u64::from(now) + 1, None);
        // SAFETY: the target is a vertex.
        let found = target.is_some_and(|t| unsafe { *known.add(t as usize) } >> shift <= now);
        if found || live == 0 {
            return Ok(());
        }
        now += 1;
    }
}
