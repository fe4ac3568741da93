//! Edge lists: a line per arc, two vertex numbers and perhaps a weight, apart by blanks, tabs or commas.
//!
//! Lines that begin with `#` or `%` are comments; one that says `Nodes: N` before the first arc gives the least number of vertices,
//! as in SNAP's files (whose numbers may go beyond it). The first arc says whether there are weights; all lines must agree.

use crate::source::Source;
use crate::text::blocks::Blocks;
use crate::text::entries::{Column, Entries, Id, Slots};
use crate::text::number::{self, Bad, digits16, swar, word};
use crate::text::value::{self, Value};
use crate::text::{AHEAD, Entry, Fault, LineParser, line_end, newlines, parse_block, shown};
use crate::{Error, Loaded, Problem, ReadOptions, Result};
use bitgraph_sparse::Coo;
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;

/// Reads an edge list.
pub(crate) fn read(source: Source<'_>, path: &Path, options: &ReadOptions) -> Result<Loaded> {
    if options.relabel {
        let list = List::<u64>::read(source, path, options)?;
        return relabelled(list, path, options);
    }
    let list = List::<u32>::read(source, path, options)?;
    let (bytes, told) = (list.bytes, list.told);
    let (rows, columns, values) = list.entries.into_parts();
    let largest = rows.par_iter().chain(&columns).with_min_len(65536).max().map_or(0, |&id| u64::from(id) + 1);
    let nodes = options.nodes.map_or(largest.max(told), |n| n as u64);
    crate::read::check_vertices(path, crate::error::VERTICES, nodes, bytes, options)?;
    let n = usize::try_from(nodes).unwrap_or(usize::MAX);
    crate::read::from_coo(Coo { values, ..Coo::pattern(n, n, rows, columns) }, path, options)
}

/// Replaces arbitrary vertex numbers by their rank.
fn relabelled(list: List<u64>, path: &Path, options: &ReadOptions) -> Result<Loaded> {
    let (from, to, values) = list.entries.into_parts();
    let mut ids = Vec::with_capacity(from.len() + to.len());
    ids.extend_from_slice(&from);
    ids.extend_from_slice(&to);
    ids.par_sort_unstable();
    ids.dedup();
    ids.shrink_to_fit();
    let n = ids.len();
    bitgraph_sparse::Csr::ids(n as u64, n as u64).map_err(|source| Error::Matrix { path: path.to_path_buf(), source })?;
    // Every number is in the list: the search always finds it.
    let rank = |list: Vec<u64>| -> Vec<u32> {
        list.into_par_iter().with_min_len(4096).map(|id| ids.binary_search(&id).unwrap_or_default() as u32).collect()
    };
    let (rows, columns) = (rank(from), rank(to));
    match crate::read::from_coo(Coo { values, ..Coo::pattern(n, n, rows, columns) }, path, options) {
        Ok(loaded) => Ok(Loaded { original_ids: Some(ids), ..loaded }),
        Err(mut error) => {
            use bitgraph_sparse::Error::{Duplicate, Overflow};
            // An arc is named by the numbers of the file.
            if let Error::Matrix { source: Duplicate { row, column } | Overflow { row, column, .. }, .. } = &mut error {
                (*row, *column) = (ids[*row as usize], ids[*column as usize]);
            }
            Err(error)
        }
    }
}

/// The arcs of a list as they are parsed.
struct List<I> {
    entries: Entries<I>,
    /// Vertices that a comment tells of.
    told: u64,
    bytes: u64,
}

impl<I: EdgeId> List<I> {
    fn read(source: Source<'_>, path: &Path, options: &ReadOptions) -> Result<Self> {
        let first = u64::from(options.one_based);
        let span = match options.nodes {
            Some(n) if !I::WIDE => n as u64,
            _ => I::SPAN,
        };
        let parser = Arcs::<I> { first, span: span.min(I::SPAN), id: std::marker::PhantomData };
        let mut blocks = Blocks::new(source, path, &options.control);
        // A mapped text is counted first, so that the arrays need not grow.
        let most = blocks.whole().map(|text| text.par_chunks(1 << 20).map(newlines).sum::<usize>() + 1);
        let (mut line, mut told, mut seen) = (1, 0, false);
        let mut entries = None;
        while let Some((text, range)) = blocks.next(line)? {
            seen |= !range.is_empty();
            if entries.is_none() {
                let Some(fields) = head(text, range.clone(), &mut told) else {
                    line += newlines(&text[range]) as u64;
                    continue;
                };
                let values = match (fields >= 3, options.as_pattern) {
                    (false, _) => Column::None(Vec::new()),
                    (true, true) => Column::CheckedWhole(Vec::new()),
                    (true, false) => Column::I32(Vec::new()),
                };
                entries = Some(Entries::new(values, true, most.unwrap_or(0), most.unwrap_or(usize::MAX)));
            }
            let Some(entries) = &mut entries else { continue };
            match parse_block(&parser, text, range, entries, None) {
                Ok(lines) => line += lines,
                Err(fault) => return Err(blocks.error(fault, line)),
            }
        }
        if !seen {
            return Err(Error::Empty { path: path.to_path_buf() });
        }
        let entries = entries.unwrap_or_else(|| Entries::new(Column::None(Vec::new()), true, 0, 0));
        Ok(Self { entries, told, bytes: blocks.bytes() })
    }
}

/// Reads the comments before the first arc; returns how many fields that has, if it is in the range.
fn head(text: &[u8], range: Range<usize>, told: &mut u64) -> Option<usize> {
    let mut at = range.start;
    while at < range.end {
        let end = line_end(text, at, range.end);
        let line = text[at..end].trim_ascii();
        match line.first() {
            Some(b'#' | b'%') => *told = nodes_told(line).unwrap_or(*told),
            Some(_) => return Some(fields(line).count()),
            None => {}
        }
        at = end + 1;
    }
    None
}

/// The number after the word `Nodes:` of a comment.
fn nodes_told(comment: &[u8]) -> Option<u64> {
    let mut words = comment.split(|b| b.is_ascii_whitespace() || *b == b'#').filter(|w| !w.is_empty());
    words.find(|w| w.eq_ignore_ascii_case(b"nodes:"))?;
    number::unsigned(words.next()?).ok()
}

fn separator(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b','
}

fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&b| separator(b)).filter(|w| !w.is_empty())
}

/// A type of vertex numbers.
trait EdgeId: Id {
    /// Numbers may have more than eight digits as a rule.
    const WIDE: bool;
    /// How many numbers there are.
    const SPAN: u64;
}
impl EdgeId for u32 {
    const WIDE: bool = false;
    // The number of vertices is one more than the largest number, and fits 32 bits too.
    const SPAN: u64 = u32::MAX as u64;
}
impl EdgeId for u64 {
    const WIDE: bool = true;
    const SPAN: u64 = u64::MAX;
}

/// What is asked of an arc: numbers from `first`, and `span` of them.
struct Arcs<I> {
    first: u64,
    span: u64,
    id: std::marker::PhantomData<I>,
}

impl<I: EdgeId> LineParser for Arcs<I> {
    type Id = I;
    const COMMENT: &'static [u8] = b"#%";

    fn parse<V: Value>(&self, text: &[u8], range: Range<usize>, out: Slots<'_, I, V>) -> Result<usize, Fault> {
        let Slots { rows, columns, values } = out;
        let fast_end = range.end.min(text.len().saturating_sub(AHEAD));
        let (mut at, mut k) = (range.start, 0);
        while at < range.end {
            if at < fast_end
                && let Some((row, column, value, end)) = self.fast::<V>(text, at)
            {
                // There are as many slots as lines.
                (rows[k], columns[k], values[k]) = (I::from_u64(row), I::from_u64(column), value);
                k += 1;
                at = end + 1;
                continue;
            }
            let end = line_end(text, at, range.end);
            if let Some((row, column, value)) = self.slow::<V>(&text[at..end]).map_err(|(problem, value)| Fault { at, problem, value })? {
                (rows[k], columns[k], values[k]) = (I::from_u64(row), I::from_u64(column), value);
                k += 1;
            }
            at = end + 1;
        }
        Ok(k)
    }
}

impl<I: EdgeId> Arcs<I> {
    /// A line of the form "from to[ weight]" with one separator between fields, and where its newline is.
    #[inline(always)]
    fn fast<V: Value>(&self, text: &[u8], at: usize) -> Option<(u64, u64, V, usize)> {
        let digits = |at| if I::WIDE { digits16(text, at) } else { swar(word(text, at)) };
        let between = |byte: u8| byte == b' ' || byte == b'\t' || byte == b',';
        let (from, n) = digits(at);
        let gap = at + n;
        let (to, m) = digits(gap + 1);
        let mut end = gap + 1 + m;
        // A number below the first wraps around to more than there are.
        let (from, to) = (from.wrapping_sub(self.first), to.wrapping_sub(self.first));
        if n == 0 || m == 0 || !between(text[gap]) || from >= self.span || to >= self.span {
            return None;
        }
        let mut value = V::default();
        if V::FIELD {
            if !between(text[end]) {
                return None;
            }
            (value, end) = V::fast(text, end + 1)?;
        }
        end += usize::from(text[end] == b'\r');
        (text[end] == b'\n').then_some((from, to, value, end))
    }

    /// A line of any form; None for one without an arc. A fault of the weight says so.
    #[cold]
    fn slow<V: Value>(&self, line: &[u8]) -> Result<Entry<u64, V>, (Problem, bool)> {
        let mut words = fields(line);
        let Some(first) = words.next().filter(|w| !Self::COMMENT.contains(&w[0])) else { return Ok(None) };
        let plain = |p| (p, false);
        let from = self.id(first).map_err(plain)?;
        let second = words.next().ok_or((Problem::Missing { what: "a second vertex" }, false))?;
        let to = self.id(second).map_err(plain)?;
        let mut value = V::default();
        let expected = if V::FIELD { 3 } else { 2 };
        if V::FIELD {
            let token = words.next().ok_or((Problem::Fields { expected, found: 2 }, false))?;
            value = V::slow(token).map_err(|bad| (value::problem::<V>(token, bad), true))?;
        }
        match words.next() {
            None => Ok(Some((from, to, value))),
            Some(_) if !V::FIELD => Err((Problem::Fields { expected, found: 3 + words.count() as u64 }, false)),
            Some(extra) => Err((Problem::Trailing { found: shown(extra) }, false)),
        }
    }

    fn id(&self, token: &[u8]) -> Result<u64, Problem> {
        match number::unsigned(token) {
            // The span of 64-bit numbers is one less than their count, which 64 bits cannot hold.
            Ok(id) if id.wrapping_sub(self.first) < self.span || (I::WIDE && id >= self.first) => Ok(id - self.first),
            Ok(id) if self.span == u64::from(u32::MAX) && id > u64::from(u32::MAX) - 1 => Err(Problem::WideId { id }),
            Ok(id) if self.span == 0 => Err(Problem::NoSuchId { what: "vertex", id }),
            Ok(id) => {
                let last = self.first.saturating_add(self.span - 1);
                Err(Problem::IdOutOfRange { what: "vertex", id, first: self.first, last })
            }
            Err(Bad::Overflow) => Err(Problem::Overflow { found: shown(token), width: "64 bits" }),
            Err(_) => Err(Problem::NotAnInteger { found: shown(token) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_sparse::Values;

    fn load(text: &str, options: &ReadOptions) -> Result<Loaded> {
        read(Source::from_reader(text.as_bytes()), Path::new("e.el"), options)
    }

    #[test]
    fn separators_comments_weights() {
        let plain = ReadOptions::default();
        let l = load("# Directed graph\n# Nodes: 6 Edges: 3\n0\t1\n1,2\n\n%x\n 3   0 \r\n4 4", &plain).unwrap();
        assert_eq!((l.csr.nrows(), l.csr.indices()), (6, &[1u32, 2, 0, 4][..]));
        let l = load("0 1 5\n1 0 -2.5e0\n", &plain).unwrap();
        assert_eq!(l.values, Some(Values::from_vec(vec![5.0f64, -2.5])));
        let l = load("0 1 5\n1 0 5000000000\n", &plain).unwrap();
        assert_eq!(l.values, Some(Values::from_vec(vec![5i64, 5_000_000_000])));
        let l = load("0 1 5\n1 0 .5\n", &ReadOptions { as_pattern: true, ..plain.clone() }).unwrap();
        assert_eq!((l.csr.nnz(), l.values), (2, None));
        let l = load("1 2\n", &ReadOptions { one_based: true, symmetrize: true, nodes: Some(3), ..plain.clone() }).unwrap();
        assert_eq!((l.csr.nrows(), l.csr.indices(), l.symmetric), (3, &[1u32, 0][..], Some(true)));
        let l = load("18446744073709551615 7\n7 1000000000000\n", &ReadOptions { relabel: true, ..plain.clone() }).unwrap();
        assert_eq!(l.original_ids, Some(vec![7, 1_000_000_000_000, u64::MAX]));
        assert_eq!((l.csr.nrows(), l.csr.indices()), (3, &[1u32, 0][..]));
        let strict = ReadOptions { relabel: true, duplicates: bitgraph_sparse::Duplicates::Error, ..plain.clone() };
        let error = load("7 5000000000\n9 7\n7 5000000000\n", &strict).unwrap_err().to_string();
        assert_eq!(error, "e.el: entry (7, 5000000000) is given more than once");
        let sum = ReadOptions { duplicates: bitgraph_sparse::Duplicates::Sum, ..plain.clone() };
        let l = load("0 1 2147483647\n0 1 1\n", &sum).unwrap();
        assert_eq!(l.values, Some(Values::from_vec(vec![1i64 << 31])));
        let error = load("0 1 9223372036854775807\n0 1 1\n", &sum).unwrap_err().to_string();
        assert!(error.starts_with("e.el: the value of entry (0, 1)") && error.ends_with("does not fit i64"), "{error}");
        assert_eq!(load("# nothing but a comment\n", &plain).unwrap().csr.nrows(), 0);
        assert_eq!(load("# Nodes: 4\n", &plain).unwrap().csr.nrows(), 4);
    }

    #[test]
    fn faults() {
        for (text, wanted) in [
            ("0 1\n1 2 3\n", "e.el, line 2: the line has 3 fields, and those before it have 2"),
            ("0 1 1\n1 2\n", "e.el, line 2: the line has 2 fields, and those before it have 3"),
            ("0 1 1\n1 2 3 4\n", "e.el, line 2: '4' follows the last field"),
            ("0 1\na b\n", "e.el, line 2: 'a' is not a whole number"),
            ("0\n", "e.el, line 1: the line ends where a second vertex should be"),
            ("0 -1\n", "e.el, line 1: '-1' is not a whole number"),
            ("0 4294967295\n", "e.el, line 1: vertex 4294967295 does not fit 32 bits; renumber with --relabel"),
            ("0 4294967294\n", "e.el: 4294967295 vertices for a file of 13 bytes"),
            ("0 1 x\n", "e.el, line 1: 'x' is not a number"),
            ("0 1 inf\n", "e.el, line 1: the value 'inf' is not finite"),
            ("", "e.el: the file is empty"),
        ] {
            let found = load(text, &ReadOptions::default()).unwrap_err().to_string();
            assert!(found.starts_with(wanted), "{text:?}: {found}");
        }
        let three = ReadOptions { nodes: Some(3), one_based: true, ..ReadOptions::default() };
        assert!(load("0 1\n", &three).unwrap_err().to_string().ends_with("line 1: vertex 0 is not in 1..=3"));
        assert!(load("3 4\n", &three).unwrap_err().to_string().ends_with("line 1: vertex 4 is not in 1..=3"));
    }
}
