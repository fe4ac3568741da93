//! GAP's serialized graphs: the CSR arrays of the benchmark's programs as they lie in memory, without weights (`.sg`) or with (`.wsg`).
//!
//! ```text
//! directed     1 byte, 0 or 1
//! arcs         8 bytes, both directions of an undirected edge counted
//! vertices     8 bytes
//! offsets      8 bytes for each vertex and one more
//! neighbours   4 bytes for each arc, and 4 of its weight if there are weights
//! if directed  offsets and neighbours of the transpose
//! ```
//! All are signed and little-endian. Which of the two it is shows in the length, which must be exact. The transpose of a directed graph is
//! left out; that an undirected graph is one is checked.

use crate::{Error, Loaded, ReadOptions, Result};
use bitgraph_sparse::{Coo, Csr, Offsets, Values, parallel};
use std::path::Path;

/// Bytes before the offsets.
const HEADER: usize = 17;

/// Reads a serialized graph.
pub(crate) fn read(bytes: &[u8], path: &Path, options: &ReadOptions) -> Result<Loaded> {
    let malformed = |what| Error::Malformed { path: path.to_path_buf(), part: "header".into(), what };
    let matrix = |source| Error::Matrix { path: path.to_path_buf(), source };
    let element = |array: &str, position: usize, found: i64, wanted| Error::Element {
        path: path.to_path_buf(),
        array: array.into(),
        position: position as u64,
        found: found.to_string(),
        wanted,
    };
    let size = |part: &str, expected: u64, found: usize| Error::Size {
        path: path.to_path_buf(),
        part: part.into(),
        expected,
        found: found as u64,
    };
    if bytes.is_empty() {
        return Err(Error::Empty { path: path.to_path_buf() });
    }
    let Some((head, rest)) = bytes.split_at_checked(HEADER) else { return Err(size("header", HEADER as u64, bytes.len())) };
    let directed = match head[0] {
        0 => false,
        1 => true,
        _ => return Err(malformed("the first byte, which says whether the graph is directed, is neither 0 nor 1")),
    };
    let count = |at: usize, what| u64::try_from(word(&head[at..])).map_err(|_| malformed(what));
    let arcs = count(1, "the number of arcs is negative")?;
    let vertices = count(9, "the number of vertices is negative")?;
    Csr::ids(vertices, vertices).map_err(matrix)?;
    let sides = 1 + u128::from(directed);
    let expected = |width: u128| sides * (8 * (u128::from(vertices) + 1) + width * u128::from(arcs));
    let weighted = rest.len() as u128 == expected(8) && (arcs > 0 || path.extension().is_some_and(|e| e.eq_ignore_ascii_case("wsg")));
    if !weighted && rest.len() as u128 != expected(4) {
        return Err(size("file", u64::try_from(expected(4) + HEADER as u128).unwrap_or(u64::MAX), bytes.len()));
    }
    // The lengths agree: both numbers are smaller than the file.
    let (n, m, width) = (vertices as usize, arcs as usize, if weighted { 8 } else { 4 });
    let (offsets, rest) = rest.split_at(8 * (n + 1));
    let neighbours = &rest[..m * width];
    let offsets: Vec<i64> = parallel::tabulate(n + 1, 4096, |k| word(&offsets[8 * k..8 * k + 8]));
    if let Some(k) = (0..=n).find(|&k| offsets[k] < if k == 0 { 0 } else { offsets[k - 1] } || (k == 0 && offsets[0] != 0)) {
        return Err(element("offsets", k, offsets[k], "offsets rise from 0"));
    }
    if offsets[n] as u64 != arcs {
        return Err(element("offsets", n, offsets[n], "the last offset must be the number of arcs"));
    }
    let half = |k: usize, at: usize| i32::from_le_bytes([0, 1, 2, 3].map(|b| neighbours[k * width + at + b]));
    let outside = |k: usize| u64::try_from(half(k, 0)).map_or(true, |v| v >= vertices).then_some(k);
    if let Some(k) = parallel::first(m, 1 << 16, outside) {
        return Err(element("neighbours", k, half(k, 0).into(), "it must be a vertex"));
    }
    let columns: Vec<u32> = parallel::tabulate(m, 1 << 16, |k| half(k, 0) as u32);
    let values: Option<Values> = (weighted && !options.as_pattern).then(|| parallel::tabulate(m, 1 << 16, |k| half(k, 4)).into());
    let row = |u: usize| offsets[u] as usize..offsets[u + 1] as usize;
    let ordered = parallel::all(n, 4096, |u| columns[row(u)].is_sorted_by(|a, b| a < b));
    if !ordered || (directed && options.symmetrize) {
        let rows = (0..n).flat_map(|u| std::iter::repeat_n(u as u32, row(u).len())).collect();
        let loaded = crate::loaded::from_coo(Coo { values, ..Coo::pattern(n, n, rows, columns) }, path, options)?;
        return undirected(loaded, !directed, path);
    }
    let starts: Vec<usize> = offsets.iter().map(|&o| o as usize).collect();
    let csr = Csr::new(n, n, Offsets::from_usizes(&starts), columns.into()).map_err(matrix)?;
    undirected(Loaded::new(csr, values), !directed, path)
}

/// Holds an undirected graph to its word.
fn undirected(loaded: Loaded, told: bool, path: &Path) -> Result<Loaded> {
    if told && !loaded.csr.seems_symmetric(loaded.values.as_ref()) {
        return Err(crate::loaded::not_symmetric(path));
    }
    Ok(Loaded { symmetric: loaded.symmetric.or(told.then_some(true)), ..loaded })
}

/// The number that the first eight bytes are.
fn word(bytes: &[u8]) -> i64 {
    i64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|b| bytes[b]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a graph of these rows.
    fn file(directed: bool, rows: &[&[(i32, i32)]], weighted: bool) -> Vec<u8> {
        let side = |rows: &[Vec<(i32, i32)>]| {
            let mut out = Vec::new();
            let mut at = 0i64;
            out.extend_from_slice(&at.to_le_bytes());
            for row in rows {
                at += row.len() as i64;
                out.extend_from_slice(&at.to_le_bytes());
            }
            for (v, w) in rows.iter().flatten() {
                out.extend_from_slice(&v.to_le_bytes());
                if weighted {
                    out.extend_from_slice(&w.to_le_bytes());
                }
            }
            out
        };
        let rows: Vec<Vec<(i32, i32)>> = rows.iter().map(|r| r.to_vec()).collect();
        let mut out = vec![u8::from(directed)];
        out.extend_from_slice(&rows.iter().map(|r| r.len() as i64).sum::<i64>().to_le_bytes());
        out.extend_from_slice(&(rows.len() as i64).to_le_bytes());
        out.extend(side(&rows));
        if directed {
            let mut back = vec![Vec::new(); rows.len()];
            for (u, row) in rows.iter().enumerate() {
                row.iter().for_each(|&(v, w)| back[v as usize].push((u as i32, w)));
            }
            out.extend(side(&back));
        }
        out
    }
    fn load(bytes: &[u8]) -> Result<Loaded> {
        read(bytes, Path::new("g.sg"), &ReadOptions::default())
    }

    #[test]
    fn directed_and_not_weighted_and_not() {
        let l = load(&file(false, &[&[(1, 0)], &[(0, 0), (2, 0)], &[(1, 0)]], false)).unwrap();
        assert_eq!((l.csr.indices(), l.values, l.symmetric), (&[1u32, 0, 2, 1][..], None, Some(true)));
        let l = load(&file(true, &[&[(1, 7), (2, 8)], &[(2, 9)], &[]], true)).unwrap();
        assert_eq!((l.csr.indices(), l.symmetric), (&[1u32, 2, 2][..], None));
        assert_eq!(l.values, Some(Values::from_vec(vec![7i32, 8, 9])));
        let options = ReadOptions { symmetrize: true, ..ReadOptions::default() };
        let l = read(&file(true, &[&[(2, 8), (1, 7)], &[], &[]], true), Path::new("g.sg"), &options).unwrap();
        assert_eq!((l.csr.indices(), l.symmetric), (&[1u32, 2, 0, 0][..], Some(true)));
        assert_eq!(load(&file(false, &[&[], &[]], false)).unwrap().csr.nrows(), 2);
    }

    #[test]
    fn faults() {
        let good = file(true, &[&[(1, 7), (2, 8)], &[(2, 9)], &[]], true);
        for len in 0..good.len() {
            assert!(load(&good[..len]).is_err(), "{len}");
        }
        let told = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bad = good.clone();
            change(&mut bad);
            load(&bad).unwrap_err().to_string()
        };
        assert!(told(&|b| b[0] = 2).contains("neither 0 nor 1"));
        assert!(told(&|b| b[8] = 0x80).contains("the number of arcs is negative"));
        assert!(told(&|b| b[9] = 4).contains("bytes where"));
        assert!(told(&|b| b[17] = 1).contains("array 'offsets': element 0 is 1"));
        assert!(told(&|b| b[25] = 9).contains("array 'offsets': element 2 is 3"));
        assert!(told(&|b| b[17 + 32] = 3).contains("array 'neighbours': element 0 is 3"));
        let forged = file(false, &[&[(1, 0)], &[(2, 0)], &[]], false);
        assert!(load(&forged).unwrap_err().to_string().contains("symmetric, which it is not"));
        let weights = file(false, &[&[(1, 5)], &[(0, 6)]], true);
        assert!(load(&weights).unwrap_err().to_string().contains("symmetric, which it is not"));
    }
}
