//! The inner loops of the search: plain forms, and the choice between them and the vector forms.
//!
//! Invariant: both forms give the same bits, labels and counts; only the order of the queue of [`Kernel::top_down`] is the
//! same too, so that runs can be compared step by step.

use super::graph::{Graph, Width};
use crate::Isa;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The form of the inner loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kernel {
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    isa: Isa,
}

/// What [`Kernel::label`] found in its range.
#[derive(Default, PartialEq, Eq, Debug)]
pub(super) struct Labelled {
    /// Visited vertices that have neighbours.
    pub(super) giant: usize,
    /// Isolated vertices.
    pub(super) isolated: usize,
    /// Vertices listed because the search did not visit them.
    pub(super) rest: usize,
}

/// Runs the vector form where the CPU has it and offsets are of 32 bits.
macro_rules! vector_form {
    ($self:ident, $graph:ident, $o:ident => $call:expr) => {
        #[cfg(target_arch = "x86_64")]
        if $self.isa == Isa::Avx512 {
            let narrow = $graph.offsets.map(Width::narrow);
            if narrow.iter().all(Option::is_some) {
                let $o = narrow.map(|o| o.unwrap_or_default());
                // SAFETY: `Kernel::new` asked the CPU for the features of the instruction set.
                #[allow(unsafe_code)]
                return unsafe { $call };
            }
        }
    };
}

/// Entries of a level for each vertex that is yet to be visited, above which a small part of the level leads to them: where there are hubs, the
/// neighbours of the first lead to most of the graph. On 16 cores a Kronecker graph of scale 20 took .95 ms that way, and 3.4 where all threads
/// visited all of its second level.
const MOST_ARCS: usize = 32;
/// Vertices whose degrees stand for a level's.
const SAMPLE: usize = 64;

/// The entries of a level's vertices, about.
fn arcs<O: Width, const P: usize>(graph: &Graph<'_, O, P>, level: &[u32]) -> usize {
    let step = level.len().div_ceil(SAMPLE).max(1);
    level.iter().step_by(step).map(|&v| graph.degree(v as usize)).sum::<usize>() * step
}

/// Vertices between the one looked at and the one whose list is fetched.
pub(super) const AHEAD: usize = 32;

/// Where [`Kernel::top_down`] stopped.
pub(super) struct Top {
    /// Vertices visited.
    pub(super) visited: usize,
    /// Where in the queue the level is that was too wide; none if enough are visited, or no more can be.
    pub(super) level: Range<usize>,
    /// Levels that may follow.
    pub(super) levels: u32,
}

impl Kernel {
    /// The form of an instruction set, which the CPU must have: `Isa::current()` or lower.
    pub(super) fn new(isa: Isa) -> Self {
        Self { isa: isa.min(Isa::detect()) }
    }
    /// Writes the bitmap of isolated vertices from the word of vertex `64 * first` on; the largest degree and its smallest
    /// vertex. Bits past the last vertex are set.
    pub(super) fn scan<O: Width, const P: usize>(self, graph: &Graph<'_, O, P>, isolated: &mut [u64], first: usize) -> (usize, u32) {
        vector_form!(self, graph, o => super::avx512::scan(o, graph.nodes, isolated, first));
        let mut best = (0, std::cmp::Reverse(u32::MAX));
        for (i, word) in isolated.iter_mut().enumerate() {
            *word = !0;
            for v in (first + i) * 64..((first + i) * 64 + 64).min(graph.nodes) {
                let degree = graph.degree(v);
                if degree > 0 {
                    *word &= !(1 << (v & 63));
                }
                best = best.max((degree, std::cmp::Reverse(v as u32)));
            }
        }
        (best.0, best.1.0)
    }
    /// Visits from `source`, level by level, until so many vertices are visited, or a level is wider than `wide` and no small part of it leads to
    /// as many; `None` if `levels` levels do not lead to as many as are worth it, or do not seem to by how the last one grew. `queue` holds 16
    /// more elements than there are vertices.
    pub(super) fn top_down<O: Width, const P: usize>(
        self,
        graph: &Graph<'_, O, P>,
        visited: &mut [u64],
        queue: &mut [u32],
        source: u32,
        (enough, target): (usize, usize),
        levels: u32,
        wide: usize,
    ) -> Option<Top> {
        visited[source as usize >> 6] |= 1 << (source & 63);
        queue[0] = source;
        let (mut head, mut tail) = (0, 1);
        for levels in (1..=levels).rev() {
            let (level_start, level_end) = (head, tail);
            if level_end - head > wide && arcs(graph, &queue[head..level_end]) <= MOST_ARCS * target.saturating_sub(tail) {
                return Some(Top { visited: tail, level: head..tail, levels });
            }
            while head < level_end && tail < target {
                for list in graph.lists(queue[head] as usize) {
                    tail = self.expand(list, visited, queue, tail);
                }
                head += 1;
            }
            if tail >= target || head == tail {
                return Some(Top { visited: tail, level: tail..tail, levels: 0 });
            }
            let growth = (tail - level_end) as f64 / (level_end - level_start) as f64;
            if tail as f64 * growth.powi(levels as i32 - 1) < enough as f64 {
                return None;
            }
        }
        (tail >= enough).then_some(Top { visited: tail, level: tail..tail, levels: 0 })
    }
    /// Visits the unvisited of a list and appends them to the queue; its new end.
    #[inline]
    fn expand(self, list: &[u32], visited: &mut [u64], queue: &mut [u32], mut tail: usize) -> usize {
        #[cfg(target_arch = "x86_64")]
        if self.isa == Isa::Avx512 {
            // SAFETY: `Kernel::new` asked the CPU for the features of the instruction set.
            #[allow(unsafe_code)]
            return unsafe { super::avx512::expand(list, visited, queue, tail) };
        }
        for &u in list {
            let (word, bit) = (&mut visited[u as usize >> 6], 1u64 << (u & 63));
            queue[tail] = u;
            tail += usize::from(*word & bit == 0);
            *word |= bit;
        }
        tail
    }
    /// Visits, in place, every unvisited vertex of a range of words that has a visited neighbour; how many there were.
    pub(super) fn bottom_up<O: Width, const P: usize>(self, graph: &Graph<'_, O, P>, visited: &mut [u64], words: Range<usize>) -> usize {
        vector_form!(self, graph, o => super::avx512::bottom_up(o, graph.columns, visited, words));
        let mut found = 0;
        for i in words {
            let mut rest = !visited[i];
            while rest != 0 {
                let v = i * 64 + rest.trailing_zeros() as usize;
                graph.fetch((v + AHEAD).min(graph.nodes));
                if graph.lists(v).iter().any(|l| l.iter().any(|&u| visited[u as usize >> 6] >> (u & 63) & 1 != 0)) {
                    visited[i] |= rest & rest.wrapping_neg();
                    found += 1;
                }
                rest &= rest - 1;
            }
        }
        found
    }
    /// Labels a range of words of vertices from `first` on: the visited that are not isolated with `giant`, every other vertex
    /// with itself. Lists the unvisited in `rest`, which has room for them all.
    pub(super) fn label(
        self,
        visited: &[u64],
        isolated: &[u64],
        first: usize,
        giant: u32,
        labels: &mut [MaybeUninit<u32>],
        rest: &mut [u32],
    ) -> Labelled {
        #[cfg(target_arch = "x86_64")]
        if self.isa == Isa::Avx512 {
            // SAFETY: `Kernel::new` asked the CPU for the features of the instruction set.
            #[allow(unsafe_code)]
            return unsafe { super::avx512::label(visited, isolated, first, giant, labels, rest) };
        }
        let mut found = Labelled::default();
        for (i, labels) in labels.chunks_mut(64).enumerate() {
            for (bit, label) in labels.iter_mut().enumerate() {
                let v = (first + i * 64 + bit) as u32;
                let (visited, isolated) = (visited[i] >> bit & 1 != 0, isolated[i] >> bit & 1 != 0);
                label.write(if visited && !isolated { giant } else { v });
                found.giant += usize::from(visited && !isolated);
                found.isolated += usize::from(isolated);
                if !visited {
                    rest[found.rest] = v;
                    found.rest += 1;
                }
            }
        }
        found
    }
}
