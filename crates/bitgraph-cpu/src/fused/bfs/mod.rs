//! Fused breadth-first search: direction-switching over bitmaps where levels are wide, a prefetching queue where they are not, and threads that do not
//! wait for each other where levels are many as well.
//!
//! A search fills one array of *marks*, levels or parents, whose unreached value has all bits set in either case. Levels do
//! not depend on the number of threads or the instruction set. Parents that must not either are found after the levels, each
//! as the smallest vertex of the level before. The bottom-up direction reads arcs into a vertex, so that directed graphs need
//! their transpose.

mod at_will;
mod down;
#[cfg(target_arch = "x86_64")]
mod down_avx512;
mod marks;
mod parents;
mod rounds;
mod search;
pub(crate) mod select;
mod spread;
mod state;
mod up;

use crate::Isa;
use crate::fused::buckets::MOST_NODES;
use crate::fused::buckets::free::Own;
use crate::fused::tc::work::Pool;
use crate::{team, threads, trace};
use bitgraph_algorithms::{Bfs, BfsConfig, BfsOutput};
use bitgraph_backend::{Error, Result};
use bitgraph_sparse::ahead;
use bitgraph_sparse::{Csr, parallel};
use search::{Scratch, Search};

/// What is known about a graph before any search.
#[derive(Debug)]
pub struct BfsLayout {
    nodes: usize,
    entries: usize,
    /// Vertices that no arc enters, and the bits past the last vertex: nothing ever finds them.
    closed: Vec<u64>,
    /// The other vertices.
    open: u64,
    /// The out-degrees of those that no arc enters, added up.
    closed_degrees: u64,
    /// For every vertex the tail of largest out-degree among its incoming arcs, where degrees are skewed; 0 if it has none.
    max_neighbour: Option<Vec<u32>>,
    /// What is fetched before it is wanted.
    ahead: Ahead,
    /// Whether neighbours have numbers near each other, so that those of several parts of a level are seldom the same.
    local: bool,
    /// Whether the ends of rows are hard to foresee.
    uneven: bool,
    /// Whether searches take more threads the longer they last.
    growing: bool,
    /// Whether several threads search without waiting for each other.
    at_will: bool,
    scratch: Pool<Scratch>,
    /// Of searches at will.
    members: Pool<Vec<Own<u32>>>,
}

/// What levels that are pushed over marks fetch before it is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ahead {
    /// The rows of vertices further on in the queue.
    Rows,
    /// Those, and the marks of their neighbours, which are far from each other in memory.
    Marks,
    /// Those, and all that lies beside a vertex, where neighbours are few and near and the graph is larger than caches close to a core. (Stencils of
    /// 27 points took 1.3 to 1.5 times as long with it.)
    Beside,
}

impl Ahead {
    fn of(csr: &Csr) -> Self {
        if ahead::scattered(csr) {
            Self::Marks
        } else if csr.nnz() < search::LOW_DEGREE * csr.nrows() && ahead::near(csr) {
            Self::Beside
        } else {
            Self::Rows
        }
    }
}

/// What a layout is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BfsOptions {
    /// The neighbour of maximum degree of every vertex: one pass over the arcs, 4 bytes for a vertex. Halves a search of a graph with
    /// hubs, so it pays from about 20 searches on. Default: true.
    pub max_degree: bool,
    /// Whether a search begins on one thread and takes more of them the longer it lasts, instead of all at once. A search of less than
    /// 40 us then wakes one at most. Default: false.
    pub growing: bool,
    /// Whether several threads search without waiting for each other at the end of a level, which pays where levels are many and narrow. Default: false.
    pub at_will: bool,
}

impl Default for BfsOptions {
    fn default() -> Self {
        Self { max_degree: true, growing: false, at_will: false }
    }
}

/// Whether the fused form takes this pattern: a square one with offsets of 32 bits.
#[must_use]
pub fn supports(csr: &Csr) -> bool {
    csr.is_square() && csr.offsets().as_u32().is_some()
}

/// The offsets of a supported pattern.
fn offsets(csr: &Csr) -> Result<&[u32]> {
    if !csr.is_square() {
        return Err(Error::NotSquare { algorithm: "breadth-first search", rows: csr.nrows() as u64, columns: csr.ncols() as u64 });
    }
    csr.offsets().as_u32().ok_or_else(|| Error::Unsupported {
        operation: "fused breadth-first search",
        what: "offsets of 64 bits".into(),
        available: "offsets of 32 bits",
    })
}

impl BfsLayout {
    /// Prepares for searches of the graph with the arcs `out`, `incoming` being its transpose, or `out` again if it is
    /// symmetric. O(n + nnz) time, n / 8 bytes, and 4 n more if degrees are skewed. A pattern that is not supported gets an
    /// empty layout, and the run says why.
    #[must_use]
    pub fn build(out: &Csr, incoming: &Csr) -> Self {
        Self::build_with(out, incoming, BfsOptions::default())
    }
    /// As [`BfsLayout::build`], with options.
    #[must_use]
    pub fn build_with(out: &Csr, incoming: &Csr, options: BfsOptions) -> Self {
        let n = out.nrows();
        let mut layout = Self {
            nodes: n,
            entries: out.nnz(),
            closed: vec![0; n.div_ceil(64)],
            open: 0,
            closed_degrees: 0,
            max_neighbour: None,
            ahead: Ahead::Rows,
            local: false,
            uneven: false,
            growing: options.growing,
            at_will: options.at_will,
            scratch: Pool::default(),
            members: Pool::default(),
        };
        let (Ok(o), Ok(i)) = (offsets(out), offsets(incoming)) else { return layout };
        if i.len() != o.len() {
            return layout;
        }
        let degree = |v: usize| o[v + 1] - o[v];
        for v in 0..n {
            if i[v] == i[v + 1] {
                layout.closed[v >> 6] |= 1 << (v & 63);
                layout.closed_degrees += u64::from(degree(v));
            } else {
                layout.open += 1;
            }
        }
        if !n.is_multiple_of(64) {
            layout.closed[n >> 6] |= !0 << (n & 63);
        }
        (layout.ahead, layout.local, layout.uneven) = (Ahead::of(out), !ahead::apart(out, n / LOCAL), uneven(o));
        if options.max_degree {
            let degrees: Vec<u32> = (0..n).map(degree).collect();
            let mut max_neighbour = vec![0u32; n.next_multiple_of(64)];
            parallel::update(&mut max_neighbour[..n], 4096, |v, slot| {
                let mut best = 0;
                for &u in incoming.row(v) {
                    // Ties keep the first; a degree of 0 cannot be an incoming arc's tail.
                    let d = degrees[u as usize];
                    *slot = if d > best { u } else { *slot };
                    best = best.max(d);
                }
            });
            layout.max_neighbour = Some(max_neighbour);
        }
        layout
    }
    /// Whether vertices know their neighbours of maximum degree.
    #[must_use]
    pub fn knows_max_degree(&self) -> bool {
        self.max_neighbour.is_some()
    }
    /// Whether several threads search without waiting for each other.
    #[must_use]
    pub fn searches_at_will(&self) -> bool {
        self.at_will
    }
    /// Bytes of the layout, the memory that searches use again not counted.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        8 * self.closed.len() as u64 + self.max_neighbour.as_ref().map_or(0, |h| 4 * h.len() as u64)
    }
    /// Searches from `config.source`. `out` and `incoming` are those that the layout was built from. O(n + nnz) time, mostly
    /// far less; n / 2 bytes beside the result and n / 8 for each thread, used again, at will 8 for each vertex that is queued at once.
    ///
    /// # Errors
    /// [`Error::NotSquare`], [`Error::Unsupported`] (see [`supports`]), [`Error::Shape`] if the layout is of another graph,
    /// [`Error::VertexOutOfRange`] for the source, or [`Error::Cancelled`].
    pub fn run(&self, out: &Csr, incoming: &Csr, config: &BfsConfig) -> Result<Bfs> {
        self.run_isa(out, incoming, config, Isa::current())
    }
    /// The levels from `config.source`, unreached the largest number, and how many vertices are reached.
    ///
    /// # Errors
    /// As [`BfsLayout::run`].
    pub(crate) fn levels(&self, out: &Csr, incoming: &Csr, config: &BfsConfig) -> Result<(Vec<u32>, u64)> {
        let (marks, found) = self.search(out, incoming, config, false, Isa::current())?;
        Ok((marks, found.reached))
    }
    /// A search for parents or for levels. The CPU has `isa`.
    fn search(&self, out: &Csr, incoming: &Csr, config: &BfsConfig, parents: bool, isa: Isa) -> Result<(Vec<u32>, search::Found)> {
        let (o, i) = (offsets(out)?, offsets(incoming)?);
        for (operand, expected, found) in [
            ("the layout", self.nodes, out.nrows()),
            ("the layout", self.entries, out.nnz()),
            ("the transpose", out.nrows(), incoming.nrows()),
            ("the transpose", out.nnz(), incoming.nnz()),
        ] {
            if expected != found {
                return Err(Error::Shape { operation: "bfs", operand, expected: expected as u64, found: found as u64 });
            }
        }
        let n = self.nodes;
        let source = config.source;
        if source as usize >= n {
            return Err(Error::VertexOutOfRange { vertex: source.into(), nodes: n as u64 });
        }
        config.control.check()?;
        if self.at_will && threads::allowed() > 1 && n <= MOST_NODES {
            trace::enter("bfs: by several at will");
            let (mut members, mut marks) = (self.members.take(), Vec::new());
            let rows = ((o, out.indices()), self.ahead == Ahead::Beside, isa);
            let found = team::with(usize::MAX, |team| at_will::search(rows, source, (&config.control, team), &mut marks, &mut members));
            self.members.give(members);
            return found.map(|found| (marks, found));
        }
        let mut scratch = self.scratch.take();
        let (out, incoming) = ((o, out.indices()), (i, incoming.indices()));
        let found = Search { layout: self, out, incoming, parents, isa, control: &config.control }.run(source, &mut scratch)?;
        self.scratch.give(scratch);
        Ok(found)
    }
    /// The CPU has `isa`.
    fn run_isa(&self, out: &Csr, incoming: &Csr, config: &BfsConfig, isa: Isa) -> Result<Bfs> {
        // Both arrays, and parents that nothing but the graph decides, follow from the levels.
        let direct = config.output == BfsOutput::Parents && !config.deterministic && !self.at_will;
        let (marks, found) = self.search(out, incoming, config, direct, isa)?;
        let source = config.source;
        let (levels, parents) = match config.output {
            _ if direct => (None, Some(marks)),
            BfsOutput::Levels => (Some(marks), None),
            output => {
                let parents = parents::smallest(offsets(incoming)?, incoming.indices(), &marks, source, &config.control)?;
                (output.levels().then_some(marks), Some(parents))
            }
        };
        Ok(Bfs { source, levels: levels.map(signed), parents, reached: found.reached, depth: found.depth, edges_traversed: found.edges })
    }
}

/// The same numbers with a sign, in the same memory; unreached becomes -1.
#[allow(unsafe_code)]
fn signed(marks: Vec<u32>) -> Vec<i32> {
    let mut marks = std::mem::ManuallyDrop::new(marks);
    // SAFETY: the parts of a vector that is not used any more; both types have one layout, and no invalid values.
    unsafe { Vec::from_raw_parts(marks.as_mut_ptr().cast(), marks.len(), marks.capacity()) }
}

/// Neighbours whose numbers differ by less than this part of the vertices are near each other: what is found in parts of a level is seldom the same.
const LOCAL: usize = 8;

/// Rows that are asked.
const ASKED: usize = 512;
/// Mean entries of a row from which on rows are worth joining: with one thread uniform graphs of 4 took .95 times as long so, a triangulation (6) and a
/// census graph (5) .75 and .6 times. Shorter rows were not seen to gain.
const JOINED: usize = 3;

/// Whether most rows have another length than the next one, by a sample: how many entries come next is foreseen by those that came last.
fn uneven(offsets: &[u32]) -> bool {
    let n = offsets.len() - 1;
    let step = n / ASKED;
    let differs = |v: usize| offsets[v + 1] - offsets[v] != offsets[v + 2] - offsets[v + 1];
    step > 1 && offsets[n] as usize >= JOINED * n && (0..ASKED).filter(|k| differs(k * step)).count() > ASKED / 2
}

#[cfg(test)]
mod tests;
