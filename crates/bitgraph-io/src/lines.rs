//! Text output: lines of entries, formatted in parallel by blocks of rows and written in order.

use crate::sink::Sink;
use crate::{Error, Result, WriteSource};
use bitgraph_semiring::Scalar;
use bitgraph_sparse::{Csr, Values, parallel, with_values};
use std::io::Write;
use std::ops::Range;
use std::path::Path;

/// Entries of a block of rows.
const BLOCK: usize = 1 << 16;

/// Appends a whole number.
#[inline]
pub(crate) fn number(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends the value at `position`. Floats are written with as many digits as their type needs to be read back the same.
pub(crate) fn value(out: &mut Vec<u8>, values: &Values, position: usize) {
    // Writing to memory does not fail.
    let _ = match values {
        Values::Bool(v) => write!(out, "{}", u8::from(v[position])),
        Values::I8(v) => write!(out, "{}", v[position]),
        Values::I16(v) => write!(out, "{}", v[position]),
        Values::I32(v) => write!(out, "{}", v[position]),
        Values::I64(v) => write!(out, "{}", v[position]),
        Values::U8(v) => write!(out, "{}", v[position]),
        Values::U16(v) => write!(out, "{}", v[position]),
        Values::U32(v) => write!(out, "{}", v[position]),
        Values::U64(v) => write!(out, "{}", v[position]),
        Values::F16(v) => write!(out, "{:?}", v[position].to_f32()),
        Values::Bf16(v) => write!(out, "{:?}", v[position].to_f32()),
        Values::F32(v) => write!(out, "{:?}", v[position]),
        Values::F64(v) => write!(out, "{:?}", v[position]),
    };
}

/// Whether values are whole numbers.
pub(crate) fn whole(values: &Values) -> bool {
    !values.dtype().is_float()
}

/// Calls `row(out, i)` for every row and writes what it appends, in order.
pub(crate) fn rows(out: &mut Sink<'_>, csr: &Csr, row: impl Fn(&mut Vec<u8>, usize) + Sync) -> Result<()> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for i in 0..csr.nrows() {
        if csr.row_range(i).end - csr.row_range(start).start + (i + 1 - start) >= BLOCK {
            blocks.push(start..i + 1);
            start = i + 1;
        }
    }
    if start < csr.nrows() {
        blocks.push(start..csr.nrows());
    }
    for batch in blocks.chunks(4 * rayon::current_num_threads()) {
        let texts = parallel::collect(batch.len(), |b| {
            let mut text = Vec::with_capacity(16 * BLOCK);
            batch[b].clone().for_each(|i| row(&mut text, i));
            text
        });
        texts.iter().try_for_each(|text| out.put(text))?;
    }
    Ok(())
}

/// Writes an edge list; its first line tells the number of vertices.
pub(crate) fn edge_list(out: &mut Sink<'_>, path: &Path, source: &WriteSource<'_>) -> Result<()> {
    let csr = source.csr;
    let separator = if path.to_string_lossy().to_ascii_lowercase().trim_end_matches(".gz").ends_with(".csv") { b',' } else { b'\t' };
    out.put(format!("# Nodes: {} Edges: {}\n", csr.nrows(), csr.nnz()).as_bytes())?;
    let called = |v: u32| source.original_ids.map_or(u64::from(v), |ids| ids[v as usize]);
    rows(out, csr, |text, i| {
        for k in csr.row_range(i) {
            number(text, called(i as u32));
            text.push(separator);
            number(text, called(csr.indices()[k]));
            if let Some(values) = source.values {
                text.push(separator);
                value(text, values, k);
            }
            text.push(b'\n');
        }
    })
}

/// Whether a METIS file can hold the graph.
pub(crate) fn check_metis(path: &Path, source: &WriteSource<'_>) -> Result<()> {
    let no = |what| Err(Error::Inexpressible { path: path.to_path_buf(), what });
    if !source.is_symmetric() {
        return no("a METIS file holds undirected graphs only; use --symmetrize");
    }
    if source.csr.count_loops() > 0 {
        return no("a METIS file holds no self loops");
    }
    if let Some(values) = source.values
        && (!whole(values) || with_values!(values, v => v.iter().any(|x| Scalar::to_f64(*x) < 0.0)))
    {
        return no("a METIS file holds whole, non-negative weights only");
    }
    Ok(())
}

/// Writes a METIS graph.
pub(crate) fn metis(out: &mut Sink<'_>, source: &WriteSource<'_>) -> Result<()> {
    let csr = source.csr;
    let code = if source.values.is_some() { " 001" } else { "" };
    out.put(format!("{} {}{code}\n", csr.nrows(), csr.nnz() / 2).as_bytes())?;
    rows(out, csr, |text, i| {
        for (slot, k) in csr.row_range(i).enumerate() {
            if slot > 0 {
                text.push(b' ');
            }
            number(text, u64::from(csr.indices()[k]) + 1);
            if let Some(values) = source.values {
                text.push(b' ');
                value(text, values, k);
            }
        }
        text.push(b'\n');
    })
}
