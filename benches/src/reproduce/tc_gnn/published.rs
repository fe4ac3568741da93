//! What TC-GNN (USENIX ATC 2023) publishes: facts to hold ours against, read from the tables in `benches/data`.

use crate::reproduce::listed::{self, Listed, cell, rows};
use anyhow::Result;

const DATASETS: &str = include_str!("../../../data/tcgnn_datasets.csv");
const SPMM: &str = include_str!("../../../data/tcgnn_spmm.csv");
const SPARSITY: &str = include_str!("../../../data/tcgnn_sparsity.csv");

/// Section 5.3, Figure 7: blocks that translation saves, the mean over all graphs and both shapes, in percent. Single bars have no numbers.
pub const REDUCTION_PERCENT: f64 = 67.47;
/// Section 5.3, Figure 8: translation beside the training of 200 epochs, the mean over all graphs, in percent.
pub const OVERHEAD_PERCENT: f64 = 4.43;
/// Section 4.1 says another mean of the same.
pub const OTHER_OVERHEAD_PERCENT: f64 = 2.0;
/// Section 5.2: the mean speed-ups of Table 5 over tSparse and Triton.
pub const SPEEDUPS: (f64, f64) = (3.60, 5.42);
/// Epochs of a training.
pub const EPOCHS: u32 = 200;
/// Columns of features in the hidden layer of its GCN, and in Table 6.
pub const HIDDEN: usize = 16;
/// Rows and columns of the matrices of Table 6.
pub const SIDE: usize = 4096;
/// Rows and columns of their dense blocks.
pub const BLOCK: usize = 16;

/// A row of Table 5, times in ms.
#[derive(Clone, Debug, PartialEq)]
pub struct Spmm {
    /// The graph's short name.
    pub graph: &'static str,
    /// tSparse's.
    pub tsparse: f64,
    /// Triton's.
    pub triton: f64,
    /// Theirs.
    pub tcgnn: f64,
}

/// A row of Table 6, in GFLOPS.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparsity {
    /// Dense blocks in a window of 16 rows.
    pub blocks: usize,
    /// The part of the matrix that is zero, in percent.
    pub percent: f64,
    /// cuSPARSE's on blocks.
    pub bspmm: f64,
    /// Theirs.
    pub tcgnn: f64,
}

/// Table 4.
///
/// # Errors
/// If the data is damaged.
pub fn datasets() -> Result<Vec<Listed>> {
    listed::read(DATASETS)
}

/// Table 5.
///
/// # Errors
/// If the data is damaged.
pub fn spmm() -> Result<Vec<Spmm>> {
    let one = |cells: Vec<&'static str>| -> Result<Spmm> {
        let [graph, tsparse, triton, tcgnn] = cells[..] else { anyhow::bail!("{cells:?} has not four cells") };
        Ok(Spmm { graph, tsparse: cell(tsparse)?, triton: cell(triton)?, tcgnn: cell(tcgnn)? })
    };
    rows(SPMM).map(one).collect()
}

/// Table 6.
///
/// # Errors
/// If the data is damaged.
pub fn sparsity() -> Result<Vec<Sparsity>> {
    let one = |cells: Vec<&'static str>| -> Result<Sparsity> {
        let [blocks, percent, bspmm, tcgnn] = cells[..] else { anyhow::bail!("{cells:?} has not four cells") };
        Ok(Sparsity { blocks: cell(blocks)?, percent: cell(percent)?, bspmm: cell(bspmm)?, tcgnn: cell(tcgnn)? })
    };
    rows(SPARSITY).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_is_whole() {
        let graphs = datasets().unwrap();
        assert_eq!(graphs.len(), 14);
        assert_eq!(["I", "II", "III"].map(|kind| graphs.iter().filter(|g| g.kind == kind).count()), [4, 5, 5]);
        let table = spmm().unwrap();
        // What the text says of the table follows from its cells.
        let mean = |ratio: &dyn Fn(&Spmm) -> f64| table.iter().map(ratio).sum::<f64>() / table.len() as f64;
        assert!((mean(&|r| r.tsparse / r.tcgnn) - SPEEDUPS.0).abs() < 0.01 && (mean(&|r| r.triton / r.tcgnn) - SPEEDUPS.1).abs() < 0.01);
        assert!(table.iter().all(|row| graphs.iter().any(|g| g.abbreviation == row.graph && g.kind == "III")));
    }

    #[test]
    fn blocks_and_sparsity_agree() {
        let table = sparsity().unwrap();
        assert_eq!(table.iter().map(|row| row.blocks).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32]);
        for row in table {
            let zero = 100.0 * (1.0 - (row.blocks * BLOCK) as f64 / SIDE as f64);
            assert!((zero - row.percent).abs() < 0.01, "{row:?}");
        }
    }
}
