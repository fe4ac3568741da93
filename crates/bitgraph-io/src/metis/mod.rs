//! METIS graph files: a line of neighbours per vertex, each edge listed from both sides.
//!
//! Header `n m [fmt [ncon]]`: `fmt` has a digit each for vertex sizes, vertex weights and edge weights. Sizes and vertex weights are
//! skipped, edge weights kept. Comments begin with `%`; an empty line is a vertex without neighbours.
//! Format: the manual of METIS 5.1, section 4.5.

mod rows;

use crate::source::Source;
use crate::text::blocks::Blocks;
use crate::text::{is_data, line_end, shown, whole};
use crate::{Error, Loaded, Problem, ReadOptions, Result};
use bitgraph_sparse::with_values;
use rows::Body;
use std::path::Path;

/// What the header says.
#[derive(Clone, Copy)]
struct Header {
    vertices: u64,
    edges: u64,
    /// Numbers before the first neighbour.
    skip: usize,
    weights: bool,
}

/// The longest line of a stream: the neighbours of one vertex.
const LONGEST: usize = 1 << 30;

/// Reads a METIS graph: rows come in order, and go straight where they belong.
pub(crate) fn read(source: Source<'_>, path: &Path, options: &ReadOptions) -> Result<Loaded> {
    let mut blocks = Blocks::new(source, path, &options.control).with_longest(LONGEST);
    let whole = blocks.whole().map(<[u8]>::len);
    let mut line = 1u64;
    let mut body = None;
    while let Some((text, mut range)) = blocks.next(line)? {
        let first = line;
        while body.is_none() && range.start < range.end {
            let here = range.start..line_end(text, range.start, range.end);
            range.start = (here.end + 1).min(range.end);
            if is_data(&text[here.clone()], b"%") {
                let header = header(&text[here]).map_err(|problem| Error::Line { path: path.to_path_buf(), line, problem })?;
                body = Some(Body::new(header, whole.map(|w| w - range.start), options.as_pattern));
            }
            line += 1;
        }
        let Some(body) = &mut body else { continue };
        match body.append(text, range) {
            Ok(lines) => line += lines,
            Err(fault) => return Err(blocks.error(fault, first)),
        }
    }
    match body {
        Some(body) => body.finish(path, options),
        None => Err(Error::Empty { path: path.to_path_buf() }),
    }
}

/// Every edge is listed from both sides, with one weight.
fn check_both_sides(loaded: &Loaded, path: &Path) -> Result<()> {
    let a = &loaded.csr;
    if a.is_symmetric_with(loaded.values.as_ref()) {
        return Ok(());
    }
    let (t, positions) = a.transpose_with_positions();
    let one_sided = |from: usize, to: u32| Error::OneSided { path: path.to_path_buf(), from: from as u64 + 1, to: u64::from(to) + 1 };
    for i in 0..a.nrows() {
        if a.row(i) != t.row(i) {
            if let Some(&to) = a.row(i).iter().find(|c| !t.row(i).contains(c)) {
                return Err(one_sided(i, to));
            }
            if let Some(&from) = t.row(i).iter().find(|c| !a.row(i).contains(c)) {
                return Err(one_sided(from as usize, i as u32));
            }
        }
    }
    if let Some(values) = &loaded.values {
        let differs = with_values!(values, v => (0..v.len()).find(|&k| v[k] != v[positions[k]]));
        if let Some(k) = differs {
            let i = (0..a.nrows()).find(|&i| a.row_range(i).contains(&k)).unwrap_or(0);
            return Err(one_sided(i, a.indices()[k]));
        }
    }
    Ok(())
}

fn header(line: &[u8]) -> Result<Header, Problem> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    let vertices = whole(words.next().ok_or(Problem::Missing { what: "the number of vertices" })?)?;
    let edges = whole(words.next().ok_or(Problem::Missing { what: "the number of edges" })?)?;
    let code = words.next().unwrap_or(b"0");
    let unknown = || Problem::Unknown { what: "format code", found: shown(code), known: "three digits of 0 and 1" };
    if code.len() > 3 || code.iter().any(|b| !matches!(b, b'0' | b'1')) {
        return Err(unknown());
    }
    let digit = |from_right: usize| code.len() > from_right && code[code.len() - 1 - from_right] == b'1';
    let constraints = words.next().map(whole).transpose()?;
    if let Some(extra) = words.next() {
        return Err(Problem::Trailing { found: shown(extra) });
    }
    if vertices >= u64::from(u32::MAX) {
        return Err(Problem::TooLarge { rows: vertices, columns: vertices });
    }
    let weights_of_vertex = if digit(1) { usize::try_from(constraints.unwrap_or(1)).unwrap_or(usize::MAX - 1) } else { 0 };
    Ok(Header { vertices, edges, skip: usize::from(digit(2)).saturating_add(weights_of_vertex), weights: digit(0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_sparse::Values;

    fn load(text: &str) -> Result<Loaded> {
        let path = Path::new("g.graph");
        read(Source::from_reader(text.as_bytes(), path)?, path, &ReadOptions::default())
    }

    #[test]
    fn formats() {
        let l = load("% c\n4 3\n2\n1 3\n% c\n2 \n\n").unwrap_err().to_string();
        assert_eq!(l, "g.graph: 3 edges are announced and 2 found");
        let l = load("% c\n4 2\n2\n1 3\n% c\n2 \n\n\n").unwrap();
        assert_eq!((l.csr.nrows(), l.csr.indices(), l.symmetric), (4, &[1u32, 0, 2, 1][..], Some(true)));
        let l = load("3 2 111 2\n9 9 9 2 5\n9 9 9 1 5 3 7\n9 9 9 2 7").unwrap();
        assert_eq!(l.values, Some(Values::from_vec(vec![5i32, 5, 7, 7])));
        let l = load("3 2 1\n2 5\n1 5 3 5000000000\n2 5000000000\n").unwrap();
        assert_eq!(l.values, Some(Values::from_vec(vec![5i64, 5, 5_000_000_000, 5_000_000_000])));
        // A loop once or twice, columns in any order, an edge given twice.
        for text in ["3 3\n3 1 2\n1\n1\n", "3 3\n3 1 1 2\n1\n1\n"] {
            assert_eq!(load(text).unwrap().csr.indices(), &[0u32, 1, 2, 0, 0]);
        }
        assert_eq!(load("2 2\n2 2\n1 1\n").unwrap().csr.indices(), &[1u32, 0]);
        assert_eq!(load("0 0").unwrap().csr.nrows(), 0);
    }

    /// Blocks and pieces that begin anywhere, from memory and from a stream, on any number of threads.
    #[test]
    fn long_texts() {
        let n = 40_000u64;
        let mut text = format!("% a comment\n{n} {} 011\n", n * 8);
        for v in 0..n {
            text += "7";
            for step in [1, 2, 3, 5, 8, 13, 21, 34] {
                for to in [(v + step) % n, (v + n - step) % n] {
                    text += &format!("  {} {}", to + 1, step + 1_000_000);
                }
            }
            text += if v % 1000 == 3 { "\n% in between\n" } else { " \n" };
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ring.graph");
        std::fs::write(&path, &text).unwrap();
        let streamed = load(&text).unwrap();
        assert_eq!((streamed.csr.nrows(), streamed.csr.nnz()), (n as usize, 16 * n as usize));
        assert_eq!(streamed.csr.row(0)[..4], [1, 2, 3, 5]);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mapped = pool.install(|| crate::read(&path, &ReadOptions::default())).unwrap();
            assert_eq!((&mapped.csr, &mapped.values), (&streamed.csr, &streamed.values));
        }
        let pattern = crate::read(&path, &ReadOptions { as_pattern: true, ..ReadOptions::default() }).unwrap();
        assert_eq!((&pattern.csr, pattern.values), (&streamed.csr, None));
        let last = text.lines().count();
        text.truncate(text.trim_end().len());
        text += " 1";
        assert_eq!(load(&text).unwrap_err().to_string(), format!("g.graph, line {last}: the line ends where an edge weight should be"));
    }

    #[test]
    fn faults() {
        for (text, wanted) in [
            ("3 2\n2\n1 4\n2\n", "g.graph, line 3: vertex 4 is not in 1..=3"),
            ("3 1\n2\n\n\n", "g.graph: edge 1 -> 2 has no equal counterpart 2 -> 1"),
            ("3 1\n2\n3\n\n", "g.graph: edge 1 -> 2 has no equal counterpart 2 -> 1"),
            ("2 1 1\n2 5\n1 6\n", "g.graph: edge 1 -> 2 has no equal"),
            ("2 1 1\n2 5\n1\n", "g.graph, line 3: the line ends where an edge weight should be"),
            ("2 1 1\n2 9223372036854775808\n1 5\n", "g.graph, line 2: 9223372036854775808 does not fit 63 bits"),
            ("2 1 111\n1 1 2 5\n\n", "g.graph, line 3: the line ends where a vertex weight or size should be"),
            ("4294967290 9999999999999\n2\n1\n", "g.graph: 4294967290 vertices are announced and 2 found"),
            ("2 1\n2\n1\n1\n", "g.graph, line 4: entry number 3 begins here, and the header announces 2"),
            ("2 1\n2\n", "g.graph: 2 vertices are announced and 1 found"),
            ("2 1 7\n2\n1\n", "g.graph, line 1: '7' is not a known format code"),
            ("2\n", "g.graph, line 1: the line ends where the number of edges should be"),
            ("2 1\nx\n1\n", "g.graph, line 2: 'x' is not a whole number"),
            ("99999999999 1\n", "g.graph, line 1: a matrix of 99999999999"),
            ("", "g.graph: the file is empty"),
        ] {
            let found = load(text).unwrap_err().to_string();
            assert!(found.starts_with(wanted), "{text:?}: {found}");
        }
    }
}
