//! The entries of a matrix one by one, as the reference sees them.

use super::plain::Plain;
use crate::Cpu;
use crate::matrix::CpuMatrix;
use bitgraph_backend::Matrix;
use bitgraph_tensor::ops::Edge;

/// An entry: its row and column in the matrix as seen, and its position in the order of the matrix's CSR form.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub row: usize,
    pub column: usize,
    pub position: usize,
}

/// All entries, by rows of the matrix as seen, columns ascending.
pub fn entries(matrix: &CpuMatrix, transposed: bool) -> Vec<Entry> {
    let csr = matrix.to_csr();
    let mut all: Vec<Entry> = (0..csr.nrows())
        .flat_map(|i| csr.row_range(i).map(move |k| (i, k)))
        .map(|(i, k)| {
            let j = csr.indices()[k] as usize;
            if transposed { Entry { row: j, column: i, position: k } } else { Entry { row: i, column: j, position: k } }
        })
        .collect();
    all.sort_by_key(|e| (e.row, e.column));
    all
}

/// The values of entries: position, head to value.
pub struct Weights(Option<Plain>);

impl Weights {
    pub fn of(edge: &Edge<Cpu>, matrix: &Matrix<Cpu>) -> Self {
        Self(match edge {
            Edge::One => None,
            Edge::Own => matrix.values().map(|values| {
                let data = (0..values.len()).map(|k| values.get_f64(k)).collect();
                Plain { rows: values.len(), columns: 1, data }
            }),
            Edge::Values(e) => Some(Plain::of(e)),
        })
    }
    /// Values of one head serve all heads.
    pub fn get(&self, position: usize, head: usize) -> f64 {
        self.0.as_ref().map_or(1.0, |w| w.get(position, if w.columns == 1 { 0 } else { head }))
    }
}
