//! METIS graph files: a line of neighbours per vertex, each edge listed from both sides.
//!
//! Header `n m [fmt [ncon]]`: `fmt` has a digit each for vertex sizes, vertex weights and edge weights. Sizes and vertex weights are
//! skipped, edge weights kept. Comments begin with `%`; an empty line is a vertex without neighbours.
//! Format: the manual of METIS 5.1, section 4.5.

use crate::source::{Input, Source};
use crate::text::number::{self, Bad, swar, word};
use crate::text::{AHEAD, Fault, is_data, line_end, newlines, pieces, shown};
use crate::{Error, Loaded, Problem, ReadOptions, Result};
use bitgraph_sparse::{Coo, Values, with_values};
use rayon::prelude::*;
use std::io::Read;
use std::ops::Range;
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

/// Reads a METIS graph.
pub(crate) fn read(source: Source<'_>, path: &Path, options: &ReadOptions) -> Result<Loaded> {
    let mut owned = Vec::new();
    let text: &[u8] = match source.input {
        Input::Whole(ref whole) => whole,
        Input::Stream(mut stream) => {
            if let Err(source) = stream.read_to_end(&mut owned) {
                return Err(stream.error(path, owned.len() as u64, source));
            }
            &owned
        }
    };
    let fail = |fault: Fault| {
        let line = 1 + newlines(&text[..fault.at.min(text.len())]) as u64;
        Error::Line { path: path.to_path_buf(), line, problem: fault.problem }
    };
    let mut at = 0;
    while at < text.len() && !is_data(&text[at..line_end(text, at, text.len())], b"%") {
        at = line_end(text, at, text.len()) + 1;
    }
    if at >= text.len() {
        return Err(Error::Empty { path: path.to_path_buf() });
    }
    let end = line_end(text, at, text.len());
    let header = header(&text[at..end]).map_err(|problem| fail(Fault::new(at, problem)))?;
    let body = (end + 1).min(text.len())..text.len();
    crate::read::check_vertices(path, header.vertices, text.len() as u64, options)?;
    let n = header.vertices as usize;

    let cuts = pieces(text, body, 256 << 10);
    let counts: Vec<usize> = cuts.par_iter().map(|r| lines_of(text, r.clone()).filter(|r| is_vertex(&text[r.clone()])).count()).collect();
    let mut first = 0;
    let mut firsts = Vec::with_capacity(counts.len());
    for count in counts {
        firsts.push(first);
        first += count;
    }
    let parts: Vec<Part> =
        cuts.par_iter().zip(firsts).map(|(r, first)| parse(text, r.clone(), first, header)).collect::<Result<_, _>>().map_err(fail)?;
    if first < n {
        return Err(Error::Count { path: path.to_path_buf(), what: "vertices", expected: header.vertices, found: first as u64 });
    }
    let total: usize = parts.iter().map(|p| p.columns.len()).sum();
    let (mut rows, mut columns, mut weights) = (Vec::with_capacity(total), Vec::with_capacity(total), Vec::new());
    for mut part in parts {
        rows.append(&mut part.rows);
        columns.append(&mut part.columns);
        weights.append(&mut part.weights);
    }
    // A loop may be listed once or twice.
    let loops = rows.iter().zip(&columns).filter(|(r, c)| r == c).count() as u64;
    let (found, announced) = (total as u64, header.edges.saturating_mul(2));
    let values = (header.weights && !options.as_pattern).then(|| narrowed(weights));
    let coo = Coo { values, ..Coo::pattern(n, n, rows, columns) };
    let mut loaded = crate::read::from_coo(coo, path, &ReadOptions { symmetrize: false, ..options.clone() })?;
    check_both_sides(&loaded, path)?;
    // Only where both sides are listed is half of what is listed a number of edges.
    if found != announced && found.saturating_add(loops) != announced {
        return Err(Error::Count { path: path.to_path_buf(), what: "edges", expected: header.edges, found: found.div_ceil(2) });
    }
    loaded.symmetric = Some(true);
    Ok(loaded)
}

/// The smallest type that holds all weights.
fn narrowed(weights: Vec<i64>) -> Values {
    match weights.iter().map(|&w| i32::try_from(w)).collect::<Result<Vec<_>, _>>() {
        Ok(narrow) => narrow.into(),
        Err(_) => weights.into(),
    }
}

/// Every edge is listed from both sides, with one weight.
fn check_both_sides(loaded: &Loaded, path: &Path) -> Result<()> {
    let a = &loaded.csr;
    if loaded.values.is_none() && a.is_symmetric() {
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

fn whole(token: &[u8]) -> Result<u64, Problem> {
    number::unsigned(token).map_err(|bad| match bad {
        Bad::Overflow => Problem::Overflow { found: shown(token), width: "64 bits" },
        _ => Problem::NotAnInteger { found: shown(token) },
    })
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

/// The lines of a range, newlines left out.
fn lines_of(text: &[u8], range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        (at < range.end).then(|| {
            let end = line_end(text, at, range.end);
            std::mem::replace(&mut at, end + 1)..end
        })
    })
}

/// Whether a line stands for a vertex: all but comments do.
fn is_vertex(line: &[u8]) -> bool {
    line.trim_ascii_start().first() != Some(&b'%')
}

/// The arcs of a piece of text.
struct Part {
    rows: Vec<u32>,
    columns: Vec<u32>,
    weights: Vec<i64>,
}

fn parse(text: &[u8], range: Range<usize>, first: usize, header: Header) -> Result<Part, Fault> {
    let mut part = Part { rows: Vec::new(), columns: Vec::new(), weights: Vec::new() };
    let vertices = lines_of(text, range).filter(|r| is_vertex(&text[r.clone()]));
    for (vertex, line) in (first as u64..).zip(vertices) {
        let fault = |problem| Fault::new(line.start, problem);
        if vertex >= header.vertices {
            if is_data(&text[line.clone()], b"%") {
                return Err(fault(Problem::TooMany { expected: header.vertices, found: vertex + 1 }));
            }
            continue;
        }
        let mut numbers = Numbers { text, at: line.start, end: line.end };
        for _ in 0..header.skip {
            if numbers.next().map_err(fault)?.is_none() {
                return Err(fault(Problem::Missing { what: "a vertex weight or size" }));
            }
        }
        while let Some(id) = numbers.next().map_err(fault)? {
            if id.wrapping_sub(1) >= header.vertices {
                return Err(fault(Problem::IdOutOfRange { what: "vertex", id, first: 1, last: header.vertices }));
            }
            part.rows.push(vertex as u32);
            part.columns.push((id - 1) as u32);
            if header.weights {
                let weight = numbers.next().map_err(fault)?.ok_or_else(|| fault(Problem::Missing { what: "an edge weight" }))?;
                let weight = i64::try_from(weight).map_err(|_| fault(Problem::Overflow { found: weight.to_string(), width: "63 bits" }))?;
                part.weights.push(weight);
            }
        }
    }
    Ok(part)
}

/// The whole numbers of a line.
struct Numbers<'a> {
    text: &'a [u8],
    at: usize,
    end: usize,
}

impl Numbers<'_> {
    #[inline]
    fn next(&mut self) -> Result<Option<u64>, Problem> {
        while self.at < self.end && self.text[self.at].is_ascii_whitespace() {
            self.at += 1;
        }
        if self.at == self.end {
            return Ok(None);
        }
        if self.at + AHEAD < self.text.len() {
            let (value, digits) = swar(word(self.text, self.at));
            let stop = self.at + digits;
            if digits > 0 && stop <= self.end && (stop == self.end || self.text[stop].is_ascii_whitespace()) {
                self.at = stop;
                return Ok(Some(value));
            }
        }
        let line = &self.text[self.at..self.end];
        let token = &line[..line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len())];
        self.at += token.len();
        whole(token).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Loaded> {
        read(Source::from_reader(text.as_bytes()), Path::new("g.graph"), &ReadOptions::default())
    }

    #[test]
    fn formats() {
        let l = load("% c\n4 3\n2\n1 3\n% c\n2 \n\n").unwrap_err().to_string();
        assert_eq!(l, "g.graph: 3 edges are announced and 2 found");
        let l = load("% c\n4 2\n2\n1 3\n% c\n2 \n\n\n").unwrap();
        assert_eq!((l.csr.nrows(), l.csr.indices(), l.symmetric), (4, &[1u32, 0, 2, 1][..], Some(true)));
        let l = load("3 2 111 2\n9 9 9 2 5\n9 9 9 1 5 3 7\n9 9 9 2 7").unwrap();
        assert_eq!(l.values, Some(Values::from_vec(vec![5i32, 5, 7, 7])));
    }

    #[test]
    fn faults() {
        for (text, wanted) in [
            ("3 2\n2\n1 4\n2\n", "g.graph, line 3: vertex 4 is not in 1..=3"),
            ("3 1\n2\n\n\n", "g.graph: edge 1 -> 2 has no equal counterpart 2 -> 1"),
            ("3 1\n2\n3\n\n", "g.graph: edge 1 -> 2 has no equal counterpart 2 -> 1"),
            ("2 1 1\n2 5\n1 6\n", "g.graph: edge 1 -> 2 has no equal"),
            ("2 1 1\n2 5\n1\n", "g.graph, line 3: the line ends where an edge weight should be"),
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
