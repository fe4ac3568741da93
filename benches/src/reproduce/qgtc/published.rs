//! What QGTC (PPoPP 2022) publishes: facts to hold ours against, read from the tables in `benches/data`.

use crate::reproduce::listed::{self, Listed, cell, rows};
use anyhow::Result;

const DATASETS: &str = include_str!("../../../data/qgtc_datasets.csv");
const GEMM: &str = include_str!("../../../data/qgtc_gemm.csv");

/// Section 6: parts of a graph.
pub const PARTS: u64 = 1500;
/// Columns of features in the hidden layers of its cluster GCN.
pub const HIDDEN: usize = 16;
/// Section 6.3: columns, and bits of the second operand, where tiles are used again (Figure 10).
pub const REUSE: (usize, [u32; 3]) = (1024, [4, 8, 16]);
/// The rows of the square first operand there.
pub const REUSE_SIZES: [usize; 4] = [1024, 2048, 4096, 8192];
/// Section 6.2: bits that are held against 8-bit numbers (Figure 7c).
pub const AGAINST_INT8: std::ops::RangeInclusive<u32> = 2..=7;

/// A row of Table 3, in TFLOPS.
#[derive(Clone, Debug, PartialEq)]
pub struct Gemm {
    /// Rows and columns of the first operand.
    pub n: usize,
    /// Columns of the second.
    pub columns: usize,
    /// CUTLASS with both in 4 bits.
    pub cutlass: f64,
    /// Theirs with a first operand of 1 bit and a second one of 1 to 4.
    pub bits: [f64; 4],
}

/// Table 1.
///
/// # Errors
/// If the data is damaged.
pub fn datasets() -> Result<Vec<Listed>> {
    listed::read(DATASETS)
}

/// Table 3.
///
/// # Errors
/// If the data is damaged.
pub fn gemm() -> Result<Vec<Gemm>> {
    let one = |cells: Vec<&'static str>| -> Result<Gemm> {
        let [n, columns, cutlass, b1, b2, b3, b4] = cells[..] else { anyhow::bail!("{cells:?} has not seven cells") };
        Ok(Gemm { n: cell(n)?, columns: cell(columns)?, cutlass: cell(cutlass)?, bits: [cell(b1)?, cell(b2)?, cell(b3)?, cell(b4)?] })
    };
    rows(GEMM).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_is_whole() {
        let graphs = datasets().unwrap();
        assert_eq!(graphs.len(), 6);
        assert_eq!(["I", "II", "III"].map(|kind| graphs.iter().filter(|g| g.kind == kind).count()), [2, 2, 2]);
        let table = gemm().unwrap();
        assert_eq!(
            table.iter().map(|r| (r.columns, r.n)).collect::<Vec<_>>(),
            [32, 64].map(|d| [2048, 4096, 8192].map(|n| (d, n))).concat()
        );
        for row in table {
            // Fewer bits are faster, and 4 of them as fast as CUTLASS or faster.
            assert!(row.bits.is_sorted_by(|a, b| a > b) && row.bits[3] > row.cutlass, "{row:?}");
        }
    }
}
