//! Connected components, weak on directed graphs; a label is the smallest vertex of the component.
//!
//! Two methods: `search` takes the giant component of a well-connected graph by breadth-first search over a bitmap, and
//! `hook` makes trees in one ascending pass, which sparse graphs with local numberings need no more than, and joins them through one more
//! neighbour of every vertex. Sparse graphs are hooked (`select.rs`); the search falls back on hooking where it finds no
//! giant in few levels.
//!
//! Invariant: labels do not depend on the method, the SIMD level or the number of threads.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod forest;
mod graph;
mod hook;
mod kernel;
mod pairs;
mod search;
mod select;
#[cfg(test)]
mod tests;

use crate::Isa;
use crate::fresh::fresh;
use crate::team::{self, Team};
use bitgraph_algorithms::{Cc, CcConfig};
use bitgraph_backend::{Error, Result};
use bitgraph_sparse::{Csr, Offsets};
use graph::{Graph, Width};
use kernel::Kernel;
use search::Scratch;
use std::mem::MaybeUninit;
use std::sync::Mutex;

/// Entries and vertices below which one thread does.
const SMALL: usize = 1 << 17;

/// Memory that runs on graphs of like size share: 4 bytes and 2 bits per vertex, and 1 bit per vertex and thread; 4 bytes more per
/// vertex where hooking leaves more than one tree, 12 (20 of a directed graph) with several threads. Holds nothing about a graph.
#[derive(Default)]
pub struct CcLayout {
    scratch: Mutex<Scratch>,
}

/// Which variant to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CcVariant {
    /// Breadth-first search for the giant component over a bitmap; hooking where it finds none in few levels.
    Search,
    /// Trees in one ascending pass, joined through one more neighbour of every vertex.
    Hook,
}

/// The components of a pattern: see [`CcLayout::run`].
///
/// # Errors
/// Those of [`CcLayout::run`].
pub fn run(csr: &Csr, incoming: Option<&Csr>, config: &CcConfig) -> Result<Cc> {
    CcLayout::new().run(csr, incoming, config)
}

impl CcLayout {
    /// Without memory yet; the first run takes it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
    /// The components of a symmetric pattern, or of the union of `csr` and its transpose `incoming`. Loops are allowed.
    /// Without `incoming` the pattern must be symmetric; otherwise labels are some partition of the vertices.
    ///
    /// O(nodes + entries); much less than all entries is read where there is a giant component.
    ///
    /// # Errors
    /// [`Error::NotSquare`], [`Error::Shape`] if the two patterns differ in size, [`Error::Cancelled`].
    pub fn run(&self, csr: &Csr, incoming: Option<&Csr>, config: &CcConfig) -> Result<Cc> {
        self.run_as(csr, incoming, config, CcVariant::choose(csr.nnz() + incoming.map_or(0, Csr::nnz), csr.nrows()))
    }
    /// As [`CcLayout::run`], by a variant of the caller's choice.
    ///
    /// # Errors
    /// As [`CcLayout::run`].
    pub fn run_as(&self, csr: &Csr, incoming: Option<&Csr>, config: &CcConfig, variant: CcVariant) -> Result<Cc> {
        self.run_with(csr, incoming, config, variant, Isa::current())
    }
    fn run_with(&self, csr: &Csr, incoming: Option<&Csr>, config: &CcConfig, variant: CcVariant, isa: Isa) -> Result<Cc> {
        let n = csr.nrows();
        if !csr.is_square() {
            return Err(Error::NotSquare { algorithm: "connected components", rows: n as u64, columns: csr.ncols() as u64 });
        }
        let kernel = Kernel::new(isa);
        let call = Call { layout: self, config, variant, kernel };
        let Some(incoming) = incoming else {
            return match csr.offsets() {
                Offsets::U32(o) => call.run(&Graph { nodes: n, offsets: [&o[..]], columns: [csr.indices()] }),
                Offsets::U64(o) => call.run(&Graph { nodes: n, offsets: [&o[..]], columns: [csr.indices()] }),
            };
        };
        for found in [incoming.nrows(), incoming.ncols()] {
            if found != n {
                let (expected, found) = (n as u64, found as u64);
                return Err(Error::Shape { operation: "connected components", operand: "the transpose", expected, found });
            }
        }
        let columns = [csr.indices(), incoming.indices()];
        match (csr.offsets(), incoming.offsets()) {
            (Offsets::U32(a), Offsets::U32(b)) => call.run(&Graph { nodes: n, offsets: [&a[..], &b[..]], columns }),
            (a, b) => {
                let (a, b) = (wide(a), wide(b));
                call.run(&Graph { nodes: n, offsets: [&a[..], &b[..]], columns })
            }
        }
    }
}

/// Offsets in 64 bits.
fn wide(offsets: &Offsets) -> Vec<u64> {
    (0..offsets.len()).map(|i| offsets.get(i) as u64).collect()
}

struct Call<'a> {
    layout: &'a CcLayout,
    config: &'a CcConfig,
    variant: CcVariant,
    kernel: Kernel,
}

impl Call<'_> {
    fn run<O: Width, const P: usize>(&self, graph: &Graph<'_, O, P>) -> Result<Cc> {
        let n = graph.nodes;
        if n == 0 {
            return Ok(Cc { labels: Vec::new(), components: 0, largest: 0 });
        }
        self.config.control.check()?;
        let workers = if n + graph.entries() < SMALL { 1 } else { usize::MAX };
        // A run that finds the memory in use brings its own.
        let mut own = Scratch::default();
        let mut guard = self.layout.scratch.try_lock();
        let scratch = guard.as_deref_mut().unwrap_or(&mut own);
        let mut labels = Vec::new();
        let counts = team::with(workers, |team| self.label(graph, fresh(&mut labels, n, team), scratch, team))?;
        // SAFETY: either variant has written all labels.
        #[allow(unsafe_code)]
        unsafe {
            labels.set_len(n);
        }
        self.config.control.report(1, Some(1));
        Ok(Cc { labels, components: counts.components, largest: counts.largest })
    }
    fn label<O: Width, const P: usize>(
        &self,
        graph: &Graph<'_, O, P>,
        labels: &mut [MaybeUninit<u32>],
        scratch: &mut Scratch,
        team: &Team<'_>,
    ) -> Result<Counts> {
        let control = &self.config.control;
        scratch.reserve(graph.nodes, team.workers());
        if self.variant == CcVariant::Search
            && let Some(counts) = search::search(graph, labels, scratch, self.kernel, team, control)?
        {
            return Ok(counts);
        }
        hook::hook(graph, labels, scratch, team, control)
    }
}

/// The numbers beside the labels.
struct Counts {
    components: u64,
    largest: u64,
}

/// Labels that have been written.
///
/// # Safety
/// All of them have been.
#[allow(unsafe_code)]
unsafe fn written(labels: &[MaybeUninit<u32>]) -> &[u32] {
    // SAFETY: by the contract; the layout is the same.
    unsafe { &*(std::ptr::from_ref(labels) as *const [u32]) }
}

/// The size of the largest component, if one has `size` vertices and `others` vertices may be in larger ones.
fn largest_of(labels: &[u32], size: usize, others: usize) -> u64 {
    if others <= size {
        return size as u64;
    }
    let mut sizes = vec![0u32; labels.len()];
    for &label in labels {
        sizes[label as usize] += 1;
    }
    u64::from(sizes.iter().copied().max().unwrap_or(0))
}
