//! What the papers publish of trained networks, read from the tables in `benches/data`.

use crate::reproduce::listed::{cell, rows};
use anyhow::Result;

const BITGNN: &str = include_str!("../../../data/bitgnn_transductive.csv");
const HALFGNN: &str = include_str!("../../../data/halfgnn_headlines.csv");
const QGTC: &str = include_str!("../../../data/qgtc_accuracy.csv");

/// A row of BitGNN's Table 3.
#[derive(Clone, Debug, PartialEq)]
pub struct Transductive {
    /// The data set.
    pub dataset: &'static str,
    /// The paper's name of the variant.
    pub variant: &'static str,
    /// Peak memory, MB.
    pub memory: f64,
    /// Test accuracy and its deviation, percent.
    pub accuracy: (f64, f64),
    /// End-to-end inference on a GTX 1080, a TITAN V and an RTX 3060 Ti, ms.
    pub times: [f64; 3],
}

/// BitGNN's Table 3.
///
/// # Errors
/// If the data is damaged.
pub fn bitgnn() -> Result<Vec<Transductive>> {
    let one = |cells: Vec<&'static str>| -> Result<Transductive> {
        let [dataset, variant, memory, accuracy, deviation, a, b, c] = cells[..] else { anyhow::bail!("{cells:?} has not eight cells") };
        let (accuracy, times) = ((cell(accuracy)?, cell(deviation)?), [cell(a)?, cell(b)?, cell(c)?]);
        Ok(Transductive { dataset, variant, memory: cell(memory)?, accuracy, times })
    };
    rows(BITGNN).map(one).collect()
}

/// HalfGNN's figures, with what they are of.
///
/// # Errors
/// If the data is damaged.
pub fn halfgnn() -> Result<Vec<(&'static str, f64)>> {
    let one = |cells: Vec<&'static str>| -> Result<(&'static str, f64)> {
        let [what, value] = cells[..] else { anyhow::bail!("{cells:?} has not two cells") };
        Ok((what, cell(value)?))
    };
    rows(HALFGNN).map(one).collect()
}

/// QGTC's Table 2: a data set, and accuracies in f32 and with 16, 8, 4 and 2 bits.
///
/// # Errors
/// If the data is damaged.
pub fn qgtc() -> Result<Vec<(&'static str, [f64; 5])>> {
    let one = |cells: Vec<&'static str>| -> Result<(&'static str, [f64; 5])> {
        let [name, a, b, c, d, e] = cells[..] else { anyhow::bail!("{cells:?} has not six cells") };
        Ok((name, [cell(a)?, cell(b)?, cell(c)?, cell(d)?, cell(e)?]))
    };
    rows(QGTC).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_is_whole() {
        let table = bitgnn().unwrap();
        assert_eq!(table.len(), 15);
        for set in super::super::SETS {
            let of = |variant| table.iter().find(|r| r.dataset == set && r.variant == variant).unwrap();
            // The paper's claim: signs that are aggregated as signs take the smallest memory and time.
            let (bin, full, float) = (of("Ours (bin)"), of("Ours (full)"), of("FP32 (T)"));
            assert!(bin.memory < full.memory && full.memory < float.memory && bin.times[2] < full.times[2], "{set}");
        }
        assert_eq!(halfgnn().unwrap().len(), 5);
        // Fewer bits are never more accurate.
        assert!(qgtc().unwrap().iter().all(|(_, row)| row.is_sorted_by(|a, b| a >= b)));
    }
}
