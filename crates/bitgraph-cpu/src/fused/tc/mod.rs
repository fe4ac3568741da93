//! Fused triangle counting: hub bit matrix and filtered intersections, renumbered by degree only where that pays.
//!
//! The pattern is taken to be symmetric; of one that is not, some number is counted. Loops do not count. Three forms share
//! the work, chosen by degrees and a sample of the numbering (`select.rs`); the result never depends on the choice.

mod ascending;
#[cfg(target_arch = "x86_64")]
mod ascending_avx2;
#[cfg(target_arch = "x86_64")]
mod filter_avx2;
mod low;
mod ranked;
#[cfg(target_arch = "x86_64")]
mod ranked_avx2;
#[cfg(target_arch = "x86_64")]
mod ranked_avx512;
mod select;
pub(crate) mod work;

use crate::{Isa, team, trace};
use bitgraph_algorithms::{Tc, TcConfig};
use bitgraph_backend::{Error, Result, Stats};
use bitgraph_sparse::Csr;
use work::Pool;

/// Entries and vertices that are worth another thread.
const THREAD_WORK: usize = 1 << 13;

/// Which form counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TcForm {
    /// Few neighbours everywhere: every pair of them is looked up.
    Low,
    /// No skew: intersections in the order of vertex numbers.
    Ascending,
    /// Hubs: vertices ranked by degree, a bit matrix for those of largest degree.
    Ranked,
}

/// Memory that runs use again; it holds nothing of a graph, and everything a run needs to know is found in the run.
#[derive(Debug, Default)]
pub struct TcLayout {
    lists: Pool<ranked::Lists>,
    ranked: Pool<ranked::Scratch>,
    below: Pool<ascending::Lists>,
    ascending: Pool<ascending::Scratch>,
}

/// Whether the fused form takes this pattern: a square one with offsets of 32 bits, and not within 65536 of 2^32 entries.
#[must_use]
pub fn supports(csr: &Csr) -> bool {
    csr.is_square() && csr.offsets().as_u32().is_some() && ranked::fits(csr.nnz())
}

/// Counts the triangles of a symmetric pattern.
///
/// # Errors
/// See [`TcLayout::run`].
pub fn count(csr: &Csr, config: &TcConfig) -> Result<Tc> {
    TcLayout::default().run(csr, config)
}

impl TcLayout {
    /// Counts the triangles of a symmetric pattern, renumbering included. O(nnz^1.5) time at worst on skewed graphs;
    /// memory up to the bytes of the pattern, and 4 MiB of bit rows (17 MiB below 16384 vertices). Deterministic.
    ///
    /// # Errors
    /// [`Error::NotSquare`], [`Error::Unsupported`] (see [`supports`]), or [`Error::Cancelled`].
    pub fn run(&self, csr: &Csr, config: &TcConfig) -> Result<Tc> {
        let form = if csr.is_square() { TcForm::choose(&Stats::of(csr)) } else { TcForm::Ascending };
        self.run_form(csr, config, form)
    }
    /// As [`TcLayout::run`], by a form of the caller's choice.
    ///
    /// # Errors
    /// As [`TcLayout::run`].
    pub fn run_form(&self, csr: &Csr, config: &TcConfig, form: TcForm) -> Result<Tc> {
        self.run_isa(csr, config, form, Isa::current())
    }
    /// `isa` must be one that the CPU has.
    pub(super) fn run_isa(&self, csr: &Csr, config: &TcConfig, form: TcForm, isa: Isa) -> Result<Tc> {
        if !csr.is_square() {
            return Err(Error::NotSquare { algorithm: "triangle counting", rows: csr.nrows() as u64, columns: csr.ncols() as u64 });
        }
        let offsets = csr.offsets().as_u32().filter(|_| ranked::fits(csr.nnz())).ok_or_else(|| Error::Unsupported {
            operation: "fused triangle counting",
            what: "offsets of 64 bits".into(),
            available: "offsets of 32 bits",
        })?;
        let (indices, control) = (csr.indices(), &config.control);
        control.check()?;
        let most = (indices.len() + csr.nrows()).div_ceil(THREAD_WORK);
        let triangles = match form {
            TcForm::Low => {
                trace::enter("tc: low");
                let blocks = work::chunks(offsets, (indices.len() + csr.nrows()) / 64 + 4096);
                work::sum_chunks(blocks.len(), control, &Pool::<()>::default(), |(), chunk| {
                    low::count_rows(offsets, indices, blocks[chunk].clone(), isa)
                })
            }
            TcForm::Ascending => {
                trace::enter("tc: ascending");
                let mut below = self.below.take();
                let count = team::with(most, |team| ascending::count(offsets, indices, isa, control, &mut below, &self.ascending, team));
                self.below.give(below);
                count
            }
            TcForm::Ranked => {
                trace::enter("tc: ranked");
                let mut lists = self.lists.take();
                let count = team::with(most, |team| ranked::count(offsets, indices, isa, control, &mut lists, &self.ranked, team));
                self.lists.give(lists);
                count
            }
        }?;
        Ok(Tc { triangles })
    }
}

#[cfg(test)]
mod tests;
