//! `PageRank` by power iteration, fused: one pass over the layout and the scores an iteration.
//!
//! An iteration sums the scores, divided by out-degrees, over the arcs into every vertex, part by part of a
//! [`SpmvLayout`], and turns a part's sums into the next iteration's operand while they are in the cache. Scores themselves are
//! stored once, at the end: the operand and the out-degrees give them, and their change as well, because an iteration does not
//! overwrite the operand that it reads. A tolerance therefore costs no memory traffic beyond the operand, and that only where the
//! residual may have reached it: [`ResidualLooks`].
//!
//! Invariant: the scores are those of Jacobi iteration from the teleport distribution. Parts are fixed by the layout and their
//! residuals and dangling masses are added in order, in `f64`: results do not depend on the number of threads.

mod order;
mod select;
#[cfg(test)]
mod tests;
mod update;

use crate::Isa;
use crate::fresh::fresh;
use crate::fused::tc::work::{Pool, reserve};
use crate::spmv::{Real, SpmvKind, SpmvLayout};
use crate::team::{self, Team};
use bitgraph_algorithms::{Dangling, PageRank, PageRankConfig, ResidualLooks};
use bitgraph_backend::{Error, Result};
use bitgraph_sparse::parallel::DisjointSlice;
use bitgraph_sparse::{Csr, Permutation};
use std::mem::MaybeUninit;
use std::sync::Mutex;
use update::{Operands, Rates, Totals, restore, update};

/// Work below which one thread does.
const SMALL: usize = 1 << 15;

/// A graph laid out for `PageRank`.
#[derive(Debug)]
pub struct PageRankLayout<T> {
    matrix: SpmvLayout,
    entries: usize,
    /// What a score is multiplied by to be an operand: one over the out-degree; -1 for dangling vertices, whose operand no thread
    /// reads and is the score itself.
    inverse: Vec<T>,
    dangling: usize,
    /// The renumbering that the arrays above are in, if any.
    order: Option<Permutation>,
    /// The operands of runs that are over: of two iterations, as long as the matrix asks for, zero where it has no columns.
    operands: Pool<[Vec<T>; 2]>,
}

impl<T: Real> PageRankLayout<T> {
    /// Lays out a graph in a given way, its vertices renumbered by falling out-degree: the scores that are read most lie
    /// together in the cache. Scores come back in the graph's own numbers.
    ///
    /// # Errors
    /// Those of [`PageRankLayout::build_as`].
    pub fn build_ordered(incoming: &Csr, out_degrees: &[u32], kind: SpmvKind) -> Result<Self> {
        check(incoming, out_degrees)?;
        let order = order::by_degree(out_degrees)?;
        let layout = Self::build_as(&order.apply(incoming)?, &order.permute(out_degrees), kind)?;
        Ok(Self { order: Some(order), ..layout })
    }
    /// Lays out a graph in a given way: row `v` of `incoming` lists the `u` with an arc `u -> v`; `out_degrees[u]` counts the arcs of `u`,
    /// loops included.
    ///
    /// # Errors
    /// [`Error::NotSquare`], [`Error::Shape`] if there is not one degree for every vertex.
    pub fn build_as(incoming: &Csr, out_degrees: &[u32], kind: SpmvKind) -> Result<Self> {
        check(incoming, out_degrees)?;
        let inverse = out_degrees.iter().map(|&d| T::from_f64(if d > 0 { 1.0 / f64::from(d) } else { -1.0 })).collect();
        let dangling = out_degrees.iter().filter(|&&d| d == 0).count();
        Ok(Self {
            matrix: SpmvLayout::build(incoming, kind),
            entries: incoming.nnz(),
            inverse,
            dangling,
            order: None,
            operands: Pool::default(),
        })
    }
    /// Which layout it is.
    #[must_use]
    pub fn kind(&self) -> SpmvKind {
        self.matrix.kind()
    }
    /// Bytes beyond the matrix that the layout was built from.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let order = self.order.as_ref().map_or(0, |o| 8 * o.len());
        self.matrix.extra_bytes() + (self.inverse.len() * size_of::<T>() + order) as u64
    }
    /// The scores. O(iterations (nodes + entries)) time; two vectors of the nodes beside the result.
    ///
    /// The residual is only formed where it is asked for: with a tolerance above 0 where it may be below ([`ResidualLooks`]), and in the last.
    /// Without any iteration it is infinite. It is the change of the scores over the out-degrees, times these: within two
    /// roundings of a score, or `2^-23` in all in `f32`, of the change of the scores.
    ///
    /// # Errors
    /// Those of [`PageRankConfig::validate`], [`Error::Cancelled`].
    pub fn run(&self, config: &PageRankConfig) -> Result<PageRank<T>> {
        self.run_at(config, Isa::current())
    }
    fn run_at(&self, config: &PageRankConfig, isa: Isa) -> Result<PageRank<T>> {
        let n = self.inverse.len();
        config.validate(n)?;
        if n == 0 {
            return Ok(PageRank { scores: Vec::new(), iterations: 0, residual: 0.0, converged: true });
        }
        let workers = if n + self.entries < SMALL { 1 } else { self.matrix.parts().len() };
        let mut teleport: Option<Vec<T>> = config.teleport(n).map(|p| p.into_iter().map(T::from_f64).collect());
        if let (Some(order), Some(p)) = (&self.order, &mut teleport) {
            *p = order.permute(p);
        }
        let mut operands = self.operands.take();
        let result = team::with(workers, |team| self.iterate(config, teleport.as_deref(), isa, &mut operands, team));
        self.operands.give(operands);
        result
    }
    fn iterate(
        &self,
        config: &PageRankConfig,
        teleport: Option<&[T]>,
        isa: Isa,
        [operand, next]: &mut [Vec<T>; 2],
        team: &Team<'_>,
    ) -> Result<PageRank<T>> {
        let n = self.inverse.len();
        let parts = self.matrix.parts();
        let even = 1.0 / n as f64;
        let lost = self.dangling > 0 && config.dangling == Dangling::Spread;
        for operand in [&mut *operand, &mut *next] {
            reserve(operand, self.matrix.padded_len());
        }
        let runs = self.matrix.runs(team.workers());
        let longest = runs.iter().map(|run| self.matrix.rows_of(run).len()).max().unwrap_or(0);
        let sums: Vec<Mutex<Vec<T>>> = (0..team.workers()).map(|_| Mutex::new(vec![T::ZERO; longest])).collect();
        // Before the first iteration scores are the teleport distribution.
        let start = |v: usize| teleport.map_or(T::from_f64(even), |p| p[v]);
        let mut totals = vec![Totals::default(); parts.len()];
        {
            let (out, totals) = (DisjointSlice::new(&mut operand[..]), DisjointSlice::new(&mut totals));
            team.run(parts.len(), |_, part| {
                let mut total = Totals::default();
                for (first, element, length) in self.matrix.stretches(parts[part].clone()) {
                    // SAFETY: parts are disjoint ranges of vertices, and so of the operand's elements.
                    #[allow(unsafe_code)]
                    let operand = unsafe { out.range(element..element + length) };
                    let inverse = &self.inverse[first..first + length];
                    match teleport {
                        None => operand.iter_mut().zip(inverse).for_each(|(slot, i)| *slot = T::from_f64(even) * i.magnitude()),
                        Some(p) => operand.iter_mut().zip(inverse).zip(&p[first..]).for_each(|((slot, i), &p)| *slot = p * i.magnitude()),
                    }
                    if lost {
                        let dangling = (first..).zip(inverse).filter(|(_, i)| **i < T::ZERO);
                        total.lost[0] = dangling.fold(total.lost[0], |sum, (v, _)| sum + start(v).to_f64());
                    }
                }
                // SAFETY: every part has its own element.
                #[allow(unsafe_code)]
                unsafe {
                    totals.write(part, total);
                }
            });
        }
        let mut mass: f64 = totals.iter().map(|t| t.lost[0]).sum();
        let (mut iterations, mut residual, mut converged) = (0, f64::INFINITY, false);
        let mut looks = ResidualLooks::new(config);
        while iterations < config.max_iterations && !converged {
            config.control.check()?;
            let change = looks.due(iterations);
            let base = 1.0 - config.damping + config.damping * mass;
            let rates = Rates { base, even: base * even, damping: T::from_f64(config.damping), lost, change };
            {
                let (out, totals) = (DisjointSlice::new(&mut next[..]), DisjointSlice::new(&mut totals));
                team.run(runs.len(), |worker, run| {
                    let Ok(mut sums) = sums[worker].lock() else { return };
                    let (run, all) = (&runs[run], self.matrix.rows_of(&runs[run]));
                    let sums = &mut sums[..all.len()];
                    self.matrix.sum_run(isa, run.clone(), operand, sums);
                    for part in run.clone() {
                        let mut total = Totals::default();
                        for (first, element, length) in self.matrix.stretches(parts[part].clone()) {
                            let (vertices, elements) = (first..first + length, element..element + length);
                            // SAFETY: parts are disjoint ranges of vertices, and so of the operand's elements.
                            #[allow(unsafe_code)]
                            let next = unsafe { out.range(elements.clone()) };
                            let operands = Operands {
                                sums: &sums[first - all.start..][..length],
                                inverse: &self.inverse[vertices.clone()],
                                teleport: teleport.map(|p| &p[vertices]),
                                before: &operand[elements],
                            };
                            update(isa, operands, rates, next, &mut total);
                        }
                        // SAFETY: every part has its own element.
                        #[allow(unsafe_code)]
                        unsafe {
                            totals.write(part, total);
                        }
                    }
                });
            }
            std::mem::swap(operand, next);
            mass = totals.iter().flat_map(|t| t.lost).sum();
            if change {
                residual = totals.iter().flat_map(|t| t.change).sum();
                converged = residual < config.tolerance;
                looks.saw(iterations, residual);
            }
            iterations += 1;
            config.control.report(iterations.into(), Some(config.max_iterations.into()));
        }
        let mut scores = Vec::new();
        let out = DisjointSlice::new(fresh(&mut scores, n, team));
        team.run(parts.len(), |_, part| {
            for (first, element, length) in self.matrix.stretches(parts[part].clone()) {
                let (operand, inverse) = (&operand[element..element + length], &self.inverse[first..first + length]);
                let Some(order) = &self.order else {
                    // SAFETY: parts are disjoint ranges of vertices.
                    #[allow(unsafe_code)]
                    restore(isa, operand, inverse, unsafe { out.range(first..first + length) });
                    continue;
                };
                for ((&place, &share), i) in order.old_of_new()[first..].iter().zip(operand).zip(inverse) {
                    // SAFETY: parts are disjoint ranges of vertices, and so are their old numbers.
                    #[allow(unsafe_code)]
                    unsafe {
                        out.write(place as usize, MaybeUninit::new(share / i.magnitude()));
                    }
                }
            }
        });
        // SAFETY: the parts are all vertices.
        #[allow(unsafe_code)]
        unsafe {
            scores.set_len(n);
        }
        Ok(PageRank { scores, iterations, residual, converged })
    }
}

/// Checks the shapes of a graph.
fn check(incoming: &Csr, out_degrees: &[u32]) -> Result<()> {
    let n = incoming.nrows();
    if !incoming.is_square() {
        return Err(Error::NotSquare { algorithm: "PageRank", rows: n as u64, columns: incoming.ncols() as u64 });
    }
    if out_degrees.len() != n {
        let (expected, found) = (n as u64, out_degrees.len() as u64);
        return Err(Error::Shape { operation: "PageRank", operand: "the out-degrees", expected, found });
    }
    Ok(())
}

/// The number of entries of every row of a pattern: the out-degrees, if rows are tails.
#[must_use]
pub fn out_degrees(csr: &Csr) -> Vec<u32> {
    bitgraph_sparse::with_offsets!(csr.offsets(), o => {
        o.windows(2).map(|w| (bitgraph_sparse::OffsetInt::index(w[1]) - bitgraph_sparse::OffsetInt::index(w[0])) as u32).collect()
    })
}
