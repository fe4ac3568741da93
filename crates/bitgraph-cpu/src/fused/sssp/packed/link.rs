//! How the searchers of one run keep in step: alone, or two that own alternate blocks of vertices.
//!
//! # Invariants
//! Both searchers meet equally often and in the same order, and take every decision from what a meeting returns, which is
//! the same for both. Messages and reports stay untouched until the next meeting but one, so that the other may read them until it
//! comes to the next: one wait per meeting is enough.

use std::ops::Range;

/// What a searcher tells at a meeting; sums and such over both come back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// Queued ids, messages included.
    pub live: u64,
    /// The sum of 2^class over the settled rows.
    pub settled: u64,
    /// Vertices that are not settled.
    pub open: u64,
    /// The sum of 2^class over them (a sample, scaled).
    pub open_size: u64,
    /// The smallest distance of a settled vertex whose row was not pushed wholly.
    pub nearest: u32,
    /// Whether a settled row has entries left to push.
    pub pending: bool,
    /// Whether the search is to end here: the target is final.
    pub found: bool,
    /// Whether the search was cancelled.
    pub stop: bool,
}

impl Report {
    pub const EMPTY: Self =
        Self { live: 0, settled: 0, open: 0, open_size: 0, nearest: u32::MAX, pending: false, found: false, stop: false };
}

/// The other searcher, if there is one.
pub(crate) trait Link {
    /// Whether this searcher is alone and owns every vertex.
    const ALONE: bool;
    /// Whether this searcher owns `vertex`.
    fn owns(&self, vertex: u32) -> bool;
    /// Whether this is the searcher that asks for cancellation and reports progress.
    fn leads(&self) -> bool;
    /// The blocks of vertices below `nodes` that this searcher owns.
    fn blocks(&self, nodes: usize) -> impl Iterator<Item = Range<usize>>;
    /// Sends an improvement of a vertex of the other's, to be delivered at the next meeting, if `really`; without a branch on it.
    fn send_if(&mut self, vertex: u32, distance: u32, really: bool);
    /// Waits for the other, calls `deliver(vertex, distance)` for what it sent, and combines the reports.
    fn meet(&mut self, dist: *const u32, report: Report, deliver: impl FnMut(u32, u32)) -> Report;
    /// Copies the other's distances below `now`, right after a meeting; both do, and meet once more when it is done.
    fn adopt(&mut self, dist: *mut u32, nodes: usize, now: u32);
}

/// No other searcher.
#[derive(Clone, Copy)]
pub(crate) struct Alone;

impl Link for Alone {
    const ALONE: bool = true;
    #[inline(always)]
    fn owns(&self, _: u32) -> bool {
        true
    }
    #[inline(always)]
    fn leads(&self) -> bool {
        true
    }
    #[inline(always)]
    fn blocks(&self, nodes: usize) -> impl Iterator<Item = Range<usize>> {
        std::iter::once(0..nodes)
    }
    #[inline(always)]
    fn send_if(&mut self, _: u32, _: u32, _: bool) {}
    #[inline(always)]
    fn meet(&mut self, _: *const u32, report: Report, _: impl FnMut(u32, u32)) -> Report {
        report
    }
    #[inline(always)]
    fn adopt(&mut self, _: *mut u32, _: usize, _: u32) {}
}
