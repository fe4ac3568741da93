//! Writing Matrix Market files: a symmetric matrix as its lower triangle, any other as it is.

use crate::lines::{number, rows, value, whole};
use crate::sink::Sink;
use crate::{Result, WriteSource};
use bitgraph_semiring::DType;
use bitgraph_sparse::parallel;

/// Writes a matrix.
pub(crate) fn write(out: &mut Sink<'_>, source: &WriteSource<'_>) -> Result<()> {
    let csr = source.csr;
    let field = match source.values {
        None => "pattern",
        Some(v) if v.dtype() == DType::U64 => "unsigned-integer",
        Some(v) if whole(v) => "integer",
        Some(_) => "real",
    };
    let symmetric = source.is_symmetric();
    // Columns ascend, so the lower triangle is the front of every row.
    let lower = |i: usize| if symmetric { csr.row(i).partition_point(|&c| c as usize <= i) } else { csr.row(i).len() };
    let entries = parallel::reduce(csr.nrows(), 4096, |rows| rows.map(lower).sum::<usize>(), |a, b| a + b);
    let symmetry = if symmetric { "symmetric" } else { "general" };
    out.put(format!("%%MatrixMarket matrix coordinate {field} {symmetry}\n{} {} {entries}\n", csr.nrows(), csr.ncols()).as_bytes())?;
    rows(out, csr, |text, i| {
        let start = csr.row_range(i).start;
        for k in start..start + lower(i) {
            number(text, i as u64 + 1);
            text.push(b' ');
            number(text, u64::from(csr.indices()[k]) + 1);
            if let Some(values) = source.values {
                text.push(b' ');
                value(text, values, k);
            }
            text.push(b'\n');
        }
    })
}
