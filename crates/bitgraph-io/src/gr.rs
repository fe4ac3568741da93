//! DIMACS graphs for shortest paths: `c` comments, the line `p sp VERTICES ARCS`, and a line `a FROM TO WEIGHT` per arc.
//!
//! Invariant: vertices are numbered from 1, and there are as many arcs as announced.
//! Format: the 9th DIMACS Implementation Challenge, "Challenge graphs", file formats.

use crate::source::Source;
use crate::text::blocks::Blocks;
use crate::text::entries::{Column, Entries};
use crate::text::number::{swar, word};
use crate::text::value::{self, Value};
use crate::text::{Ended, Entry, LineParser, id, is_data, line_end, parse_block, shown, whole};
use crate::{Error, Loaded, Problem, ReadOptions, Result};
use bitgraph_sparse::Coo;
use std::path::Path;

/// Reads a DIMACS text.
pub(crate) fn read(source: Source<'_>, path: &Path, options: &ReadOptions) -> Result<Loaded> {
    let file_bytes = source.size;
    let mut blocks = Blocks::new(source, path, &options.control);
    let whole = blocks.whole().map(<[u8]>::len);
    let mut line = 1u64;
    let mut body: Option<(Arcs, u64, Entries<u32>)> = None;
    while let Some((text, mut range)) = blocks.next(line)? {
        let first = line;
        while body.is_none() && range.start < range.end {
            let here = range.start..line_end(text, range.start, range.end);
            range.start = (here.end + 1).min(range.end);
            if is_data(&text[here.clone()], Arcs::COMMENT) {
                let told = |problem| Error::Line { path: path.to_path_buf(), line, problem };
                let (vertices, arcs) = header(&text[here]).map_err(told)?;
                crate::loaded::check_vertices(path, "announced vertices", vertices, file_bytes.unwrap_or(0), options)?;
                // "a 1 1 0\n" is the shortest line; the last newline may be missing.
                let room = whole.map(|w| (w - range.start) as u64 / 8 + 1);
                if let Some(room) = room.filter(|&room| arcs > room) {
                    return Err(told(Problem::TooManyEntries { entries: arcs, room }));
                }
                let values = if options.as_pattern { Column::CheckedWhole(Vec::new()) } else { Column::I32(Vec::new()) };
                let most = usize::try_from(arcs).unwrap_or(usize::MAX);
                let entries = Entries::new(values, true, if whole.is_some() { most } else { 0 }, most);
                body = Some((Arcs { vertices }, arcs, entries));
            }
            line += 1;
        }
        let Some((lines, arcs, entries)) = &mut body else { continue };
        match parse_block(lines, text, range, entries, Some(*arcs)) {
            Ok(lines) => line += lines,
            Err(fault) => return Err(blocks.error(fault, first)),
        }
    }
    let Some((lines, expected, entries)) = body else { return Err(Error::Empty { path: path.to_path_buf() }) };
    let found = entries.len() as u64;
    if found != expected {
        return Err(Error::Count { path: path.to_path_buf(), what: "arcs", expected, found });
    }
    let n = lines.vertices as usize;
    let (rows, columns, values) = entries.into_parts();
    crate::loaded::from_coo(Coo { values, ..Coo::pattern(n, n, rows, columns) }, path, options)
}

/// The problem line: vertices and arcs.
fn header(line: &[u8]) -> Result<(u64, u64), Problem> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    if words.next() != Some(b"p") {
        return Err(Problem::Banner { found: shown(line.trim_ascii()), expected: "'p sp VERTICES ARCS'" });
    }
    match words.next() {
        Some(b"sp") => {}
        Some(other) => return Err(Problem::Unknown { what: "DIMACS problem", found: shown(other), known: "sp" }),
        None => return Err(Problem::Missing { what: "'sp'" }),
    }
    let mut number = |what| words.next().ok_or(Problem::Missing { what }).and_then(whole);
    let (vertices, arcs) = (number("the number of vertices")?, number("the number of arcs")?);
    match words.next() {
        Some(extra) => Err(Problem::Trailing { found: shown(extra) }),
        None if vertices > u64::from(u32::MAX) => Err(Problem::TooLarge { rows: vertices, columns: vertices }),
        None => Ok((vertices, arcs)),
    }
}

/// What is asked of an arc.
struct Arcs {
    vertices: u64,
}

impl LineParser for Arcs {
    type Id = u32;
    const COMMENT: &'static [u8] = b"c";

    /// A line with single blanks and ids of at most eight digits, and where its newline is. All that is not quite so is left to
    /// [`LineParser::slow`].
    #[inline(always)]
    fn fast<V: Value>(&self, text: &[u8], at: usize) -> Option<Ended<u32, V>> {
        let (from, n) = swar(word(text, at + 2));
        let gap = at + 2 + n;
        let (to, m) = swar(word(text, gap + 1));
        let end = gap + 1 + m;
        // Vertex 0 wraps around to more than there are.
        let (from, to) = (from.wrapping_sub(1), to.wrapping_sub(1));
        let blanks = text[at + 1] == b' ' && text[gap] == b' ' && text[end] == b' ';
        if text[at] != b'a' || !blanks || n == 0 || m == 0 || from >= self.vertices || to >= self.vertices {
            return None;
        }
        let (value, end) = V::fast(text, end + 1)?;
        let end = end + usize::from(text[end] == b'\r');
        (text[end] == b'\n').then_some(((from as u32, to as u32, value), end))
    }

    /// A line of any form; None for one without an arc. A fault of the weight says so.
    #[cold]
    fn slow<V: Value>(&self, line: &[u8]) -> Result<Entry<u32, V>, (Problem, bool)> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
        let Some(first) = words.next().filter(|w| w[0] != b'c') else { return Ok(None) };
        let plain = |p| (p, false);
        if first != b"a" {
            return Err(plain(Problem::Unknown { what: "line of an arc", found: shown(first), known: "a FROM TO WEIGHT" }));
        }
        let mut vertex = |what| {
            let token = words.next().ok_or(Problem::Missing { what })?;
            id("vertex", token, self.vertices)
        };
        let (from, to) = (vertex("a vertex").map_err(plain)?, vertex("a second vertex").map_err(plain)?);
        let token = words.next().ok_or(plain(Problem::Missing { what: "a weight" }))?;
        let value = V::slow(token).map_err(|bad| (value::problem::<V>(token, bad), true))?;
        match words.next() {
            Some(extra) => Err(plain(Problem::Trailing { found: shown(extra) })),
            None => Ok(Some((from as u32, to as u32, value))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_sparse::Values;

    fn load(text: &str) -> Result<Loaded> {
        let path = Path::new("g.gr");
        read(Source::from_reader(text.as_bytes(), path)?, path, &ReadOptions::default())
    }

    #[test]
    fn arcs() {
        let l = load("c road\nc\n\np sp 4 3\nc arcs\na 1 2 5\na\t2  3 7\r\na 4 4 -1\n").unwrap();
        assert_eq!((l.csr.nrows(), l.csr.indices(), l.symmetric), (4, &[1u32, 2, 3][..], None));
        assert_eq!(l.values, Some(Values::from_vec(vec![5i32, 7, -1])));
        // Enough lines for the fast path, which must agree.
        let many: String = (0..5000).map(|i| format!("a {} {} {}\n", i + 1, (i * 7) % 5000 + 1, i % 300)).collect();
        let l = load(&format!("p sp 5000 5000\n{many}")).unwrap();
        assert!((0..5000).all(|i| l.csr.row(i) == [(i as u32 * 7) % 5000]));
        assert_eq!(l.values, Some(Values::from_vec((0..5000).map(|i| i % 300).collect::<Vec<i32>>())));
        assert_eq!(load("p sp 1 1\na 1 1 .5\n").unwrap().values, Some(Values::from_vec(vec![0.5f64])));
        assert_eq!(load("p sp 3 0\n").unwrap().csr.nrows(), 3);
    }

    #[test]
    fn faults() {
        for (text, wanted) in [
            ("a 1 2 3\n", "g.gr, line 1: the file begins with 'a 1 2 3' where 'p sp VERTICES ARCS' should be"),
            ("c x\np edge 3 2\n", "g.gr, line 2: 'edge' is not a known DIMACS problem; known are sp"),
            ("p sp 3\n", "g.gr, line 1: the line ends where the number of arcs should be"),
            ("p sp 5000000000 1\n", "g.gr, line 1: a matrix of 5000000000 x 5000000000"),
            ("p sp 3 1\na 1 4 1\n", "g.gr, line 2: vertex 4 is not in 1..=3"),
            ("p sp 3 1\na 0 1 1\n", "g.gr, line 2: vertex 0 is not in 1..=3"),
            ("p sp 3 1\na 1 2\n", "g.gr, line 2: the line ends where a weight should be"),
            ("p sp 3 1\na 1 2 3 4\n", "g.gr, line 2: '4' follows the last field"),
            ("p sp 3 1\ne 1 2\n", "g.gr, line 2: 'e' is not a known line of an arc"),
            ("p sp 3 2\na 1 2 1\n", "g.gr: 2 arcs are announced and 1 found"),
            ("p sp 3 1\na 1 2 1\na 2 1 1\n", "g.gr, line 3: entry number 2 begins here"),
            ("p sp 3 1\na 1 2 x\n", "g.gr, line 2: 'x' is not a number"),
            ("c nothing\n", "g.gr: the file is empty"),
        ] {
            let found = load(text).unwrap_err().to_string();
            assert!(found.starts_with(wanted), "{text:?}: {found}");
        }
    }
}
