//! Edge lists: a line per arc, two vertex numbers and perhaps a weight, apart by blanks or tabs, or by commas or semicolons.
//!
//! Lines that begin with `#` or `%` are comments; one that says `Nodes: N` before the first arc gives the smallest number of vertices,
//! as in SNAP's files (whose numbers may go beyond it). The first arc says whether there are weights; all lines must agree. A fourth
//! column, such as the time stamps of KONECT's lists, must hold numbers and is left out. A first line of names, apart by commas,
//! semicolons or tabs, is a heading. Fields may stand in double quotes; between two separators there must be something.

use crate::source::Source;
use crate::text::blocks::Blocks;
use crate::text::entries::{Column, Entries, Id};
use crate::text::number::{self, digits16, swar, word};
use crate::text::value::{self, Value};
use crate::text::{Ended, Entry, Fault, LineParser, line_end, newlines, parse_block, shown, whole};
use crate::{Error, Loaded, Problem, ReadOptions, Remark, Result};
use bitgraph_sparse::{Coo, parallel};
use rayon::slice::ParallelSliceMut;
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
    let ends = |ids: &[u32]| {
        const BLOCK: usize = 1 << 16;
        let wider = |(smallest, most): (u32, u32), a, b| (smallest.min(a), most.max(b));
        let block = |range: Range<usize>| ids[range].iter().fold((u32::MAX, 0), |ends, &id| wider(ends, id, id));
        let blocks = parallel::collect(ids.len().div_ceil(BLOCK), |b| block(b * BLOCK..((b + 1) * BLOCK).min(ids.len())));
        blocks.into_iter().fold((u32::MAX, 0), |ends, (a, b)| wider(ends, a, b))
    };
    let ((a, b), (c, d)) = (ends(&rows), ends(&columns));
    let (smallest, most) = (a.min(c), b.max(d));
    let largest = if rows.is_empty() { 0 } else { u64::from(most) + 1 };
    // A number of vertices that is told, and is more than the largest number, counts from 0.
    if smallest == 1 && !options.one_based && options.nodes.is_none() && told < largest {
        options.remark.tell(&Remark::UnusedZero { path: path.to_path_buf() });
    }
    let nodes = options.nodes.map_or(largest.max(told), |n| n as u64);
    crate::loaded::check_vertices(path, crate::error::VERTICES, nodes, bytes, options)?;
    let n = usize::try_from(nodes).unwrap_or(usize::MAX);
    crate::loaded::from_coo(Coo { values, ..Coo::pattern(n, n, rows, columns) }, path, options)
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
    let rank = |list: Vec<u64>| -> Vec<u32> { parallel::map(&list, |id| ids.binary_search(id).unwrap_or_default() as u32) };
    let (rows, columns) = (rank(from), rank(to));
    match crate::loaded::from_coo(Coo { values, ..Coo::pattern(n, n, rows, columns) }, path, options) {
        Ok(loaded) => Ok(Loaded { original_ids: Some(ids), ..loaded }),
        Err(mut error) => {
            use bitgraph_sparse::Error::{Duplicate, Opposite, Overflow};
            // An arc is named by the numbers of the file.
            if let Error::Matrix { source: Duplicate { row, column } | Opposite { row, column } | Overflow { row, column, .. }, .. } =
                &mut error
            {
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
        let mut parser = Arcs::<I> { first, span: span.min(I::SPAN), stamped: false, id: std::marker::PhantomData };
        let mut blocks = Blocks::new(source, path, &options.control);
        // A mapped text is counted first, so that the arrays need not grow.
        let most = blocks.whole().map(|text| parallel::reduce(text.len(), 1 << 20, |range| newlines(&text[range]), |a, b| a + b) + 1);
        let mut line = 1;
        let mut head = Head::default();
        let mut entries = None;
        while let Some((text, mut range)) = blocks.next(line)? {
            let first = line;
            head.seen |= !range.is_empty();
            if entries.is_none() {
                let before = range.start;
                let found = head.read(text, &mut range);
                line += newlines(&text[before..range.start]) as u64;
                let fields = match found {
                    Ok(Some(fields)) => fields,
                    Ok(None) => continue,
                    Err(fault) => return Err(blocks.error(fault, first)),
                };
                let values = match (fields >= 3, options.as_pattern) {
                    (false, _) => Column::None(Vec::new()),
                    (true, true) => Column::CheckedWhole(Vec::new()),
                    (true, false) => Column::I32(Vec::new()),
                };
                parser.stamped = fields >= 4;
                entries = Some(Entries::new(values, true, most.unwrap_or(0), most.unwrap_or(usize::MAX)));
            }
            let Some(entries) = &mut entries else { continue };
            match parse_block(&parser, text, range, entries, None) {
                Ok(lines) => line += lines,
                Err(fault) => return Err(blocks.error(fault, first)),
            }
        }
        if !head.seen {
            return Err(Error::Empty { path: path.to_path_buf() });
        }
        let entries = entries.unwrap_or_else(|| Entries::new(Column::None(Vec::new()), true, 0, 0));
        // Names alone are no list.
        if let (0, Some((line, found))) = (entries.len(), head.heading) {
            return Err(Error::Line { path: path.to_path_buf(), line, problem: Problem::NotAnInteger { found } });
        }
        if parser.stamped {
            options.remark.tell(&Remark::FourthColumn { path: path.to_path_buf() });
        }
        Ok(Self { entries, told: head.told, bytes: blocks.bytes() })
    }
}

/// What is before the first arc.
#[derive(Default)]
struct Head {
    /// Vertices that a comment tells of.
    told: u64,
    /// Whether there was any text.
    seen: bool,
    /// The line of a heading, and its first name.
    heading: Option<(u64, String)>,
    /// Lines that were read.
    lines: u64,
}

impl Head {
    /// Reads comments and a heading, and takes them off the range; returns how many fields the first arc has, if it is in the range.
    fn read(&mut self, text: &[u8], range: &mut Range<usize>) -> Result<Option<usize>, Fault> {
        while range.start < range.end {
            let at = range.start;
            let end = line_end(text, at, range.end);
            let line = text[at..end].trim_ascii();
            let fault = |problem| Fault::new(at, problem);
            match line.first() {
                Some(b'#' | b'%') if self.lines == 0 && crate::detect::is_banner(line) => {
                    return Err(fault(Problem::Banner { found: shown(line), expected: "an edge list" }));
                }
                Some(b'%') if self.lines == 0 && is_bipartite(line) => {
                    let (what, known) = ("KONECT network with two sets of vertices", "sym, asym");
                    return Err(fault(Problem::Unknown { what, found: "bip".into(), known }));
                }
                Some(b'#' | b'%') => self.told = nodes_told(line).unwrap_or(self.told),
                Some(_) => {
                    let mut found = [&b""[..]; FIELDS];
                    let count = fields(line, &mut found).map_err(fault)?;
                    if self.heading.is_some() || !is_heading(line, &found[..count.min(FIELDS)]) {
                        return Ok(Some(count));
                    }
                    self.heading = Some((self.lines + 1, shown(found[0])));
                }
                None => {}
            }
            range.start = (end + 1).min(range.end);
            self.lines += 1;
        }
        Ok(None)
    }
}

/// The first line of KONECT's lists whose two columns number two sets of vertices.
fn is_bipartite(comment: &[u8]) -> bool {
    const KINDS: [&[u8]; 8] =
        [b"unweighted", b"positive", b"posweighted", b"signed", b"multisigned", b"weighted", b"multiweighted", b"dynamic"];
    let mut words = comment[1..].split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    words.next() == Some(b"bip") && words.next().is_some_and(|w| KINDS.contains(&w))
}

/// Whether a line names columns: two names or more, apart as the fields of a table are.
fn is_heading(line: &[u8], fields: &[&[u8]]) -> bool {
    let name = |f: &&[u8]| f.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
    fields.len() >= 2 && fields.iter().take(2).all(name) && line.iter().any(|b| matches!(b, b',' | b';' | b'\t'))
}

/// The number after the word `Nodes:` of a comment.
fn nodes_told(comment: &[u8]) -> Option<u64> {
    let mut words = comment.split(|b| b.is_ascii_whitespace() || *b == b'#').filter(|w| !w.is_empty());
    words.find(|w| w.eq_ignore_ascii_case(b"nodes:"))?;
    number::unsigned(words.next()?).ok()
}

/// The most fields that are looked at: one more than there may be.
pub(crate) const FIELDS: usize = 5;

/// The fields of a line into `out`, and how many there are. Semicolons part them if there are any, else commas; blanks always do.
pub(crate) fn fields<'a>(line: &'a [u8], out: &mut [&'a [u8]; FIELDS]) -> Result<usize, Problem> {
    let separator = [b';', b','].into_iter().find(|b| line.contains(b));
    let mut count = 0;
    let mut put = |field: &'a [u8]| {
        let bare = field.strip_prefix(b"\"").and_then(|f| f.strip_suffix(b"\"")).unwrap_or(field).trim_ascii();
        if bare.is_empty() {
            return Err(Problem::EmptyField { column: count as u64 + 1 });
        }
        if let Some(slot) = out.get_mut(count) {
            *slot = bare;
        }
        count += 1;
        Ok(())
    };
    for part in line.split(|&b| Some(b) == separator) {
        let mut words = part.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).peekable();
        if words.peek().is_none() && separator.is_some() {
            put(b"")?;
        }
        words.try_for_each(&mut put)?;
    }
    Ok(count)
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
    /// Lines have a fourth field, which is left out.
    stamped: bool,
    id: std::marker::PhantomData<I>,
}

impl<I: EdgeId> LineParser for Arcs<I> {
    type Id = I;
    const COMMENT: &'static [u8] = b"#%";

    /// A line of the form "from to[ weight]" with one separator between fields, and where its newline is.
    #[inline(always)]
    fn fast<V: Value>(&self, text: &[u8], at: usize) -> Option<Ended<I, V>> {
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
            if self.stamped {
                if !between(text[end]) {
                    return None;
                }
                (_, end) = number::fast_float(text, end + 1)?;
            }
        }
        end += usize::from(text[end] == b'\r');
        (text[end] == b'\n').then_some(((I::from_u64(from), I::from_u64(to), value), end))
    }

    /// A line of any form; None for one without an arc. A fault of the weight says so.
    #[cold]
    fn slow<V: Value>(&self, line: &[u8]) -> Result<Entry<I, V>, (Problem, bool)> {
        if !crate::text::is_data(line, Self::COMMENT) {
            return Ok(None);
        }
        let plain = |p| (p, false);
        let mut words = [&b""[..]; FIELDS];
        let found = fields(line.trim_ascii(), &mut words).map_err(plain)?;
        let from = self.id(words[0]).map_err(plain)?;
        if found == 1 {
            return Err(plain(Problem::Missing { what: "a second vertex" }));
        }
        let to = self.id(words[1]).map_err(plain)?;
        let expected = if self.stamped { 4 } else { 2 + usize::from(V::FIELD) };
        if found > expected && V::FIELD {
            return Err(plain(Problem::Trailing { found: shown(words[expected]) }));
        }
        if found != expected {
            return Err(plain(Problem::Fields { expected: expected as u64, found: found as u64 }));
        }
        let mut value = V::default();
        if V::FIELD {
            value = V::slow(words[2]).map_err(|bad| (value::problem::<V>(words[2], bad), true))?;
        }
        if self.stamped && number::float(words[3]).is_err() {
            return Err(plain(Problem::NotANumber { found: shown(words[3]) }));
        }
        Ok(Some((I::from_u64(from), I::from_u64(to), value)))
    }
}

impl<I: EdgeId> Arcs<I> {
    fn id(&self, token: &[u8]) -> Result<u64, Problem> {
        match whole(token)? {
            // The span of 64-bit numbers is one less than their count, which 64 bits cannot hold.
            id if id.wrapping_sub(self.first) < self.span || (I::WIDE && id >= self.first) => Ok(id - self.first),
            id if self.span == u64::from(u32::MAX) && id > u64::from(u32::MAX) - 1 => Err(Problem::WideId { id }),
            id if self.span == 0 => Err(Problem::NoSuchId { what: "vertex", id }),
            id => {
                let last = self.first.saturating_add(self.span - 1);
                Err(Problem::IdOutOfRange { what: "vertex", id, first: self.first, last })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_sparse::Values;

    fn load(text: &str, options: &ReadOptions) -> Result<Loaded> {
        read(Source::from_reader(text.as_bytes(), Path::new("e.el"))?, Path::new("e.el"), options)
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
        // SNAP's numbers may go beyond what it tells.
        assert_eq!(load("# Nodes: 2 Edges: 1\n0 5\n", &plain).unwrap().csr.nrows(), 6);
    }

    #[test]
    fn tables() {
        let plain = ReadOptions::default();
        // Long enough for the fast path, which must agree with the slow one.
        let rows: Vec<(u32, u32, i32)> = (0..4000).map(|i| (i, (i * 7 + 1) % 4000, i as i32 % 50)).collect();
        for (head, line) in [
            ("u,v,w,t\n", &(|(u, v, w): (u32, u32, i32)| format!("{u},{v},{w},{}\n", u * 3)) as &dyn Fn(_) -> String),
            ("", &|(u, v, w)| format!("{u} {v} {w} 1{u:09}.5\n")),
            ("u;v;w\n", &|(u, v, w)| format!("{u};\"{v}\"; {w}\r\n")),
            ("# c\n\nu\tv\tw\n", &|(u, v, w)| format!("{u}\t{v}\t{w}\n")),
        ] {
            let text: String = std::iter::once(head.to_string()).chain(rows.iter().map(|&r| line(r))).collect();
            let l = load(&text, &plain).unwrap();
            assert!(rows.iter().all(|&(u, v, _)| l.csr.row(u as usize) == [v]), "{head:?}");
            assert_eq!(l.values, Some(Values::from_vec(rows.iter().map(|r| r.2).collect::<Vec<i32>>())), "{head:?}");
            assert_eq!(load(&text, &ReadOptions { as_pattern: true, ..plain.clone() }).unwrap().values, None);
            let wrong = format!("{text}1,2,3,4,5,6\n");
            let lines = text.lines().count() + 1;
            assert!(load(&wrong, &plain).unwrap_err().to_string().starts_with(&format!("e.el, line {lines}: ")), "{head:?}");
        }
    }

    #[test]
    fn numbers_that_are_none_matter_to_who_takes_them() {
        for text in ["0 1 inf\n", "0 1 -nan\n", "0 1 1e999\n", "0 1 2\n1 2 nan\n"] {
            let as_pattern = ReadOptions { as_pattern: true, ..ReadOptions::default() };
            assert_eq!(load(text, &as_pattern).unwrap().values, None, "{text}");
            assert!(load(text, &ReadOptions::default()).is_err(), "{text}");
        }
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
            ("0,,1\n", "e.el, line 1: column 2 is empty"),
            ("0,1,5\n1,2,\n", "e.el, line 2: column 3 is empty"),
            (" ; 1\n", "e.el, line 1: column 1 is empty"),
            ("%%MatrixMarket matrix\n0 1\n", "e.el, line 1: the file begins with '%%MatrixMarket matrix' where an edge list should be"),
            ("u,v\n", "e.el, line 1: 'u' is not a whole number"),
            ("0 1 2 3\n0 1 2\n", "e.el, line 2: the line has 3 fields, and those before it have 4"),
            ("0 1 2 x\n", "e.el, line 1: 'x' is not a number"),
        ] {
            let found = load(text, &ReadOptions::default()).unwrap_err().to_string();
            assert!(found.starts_with(wanted), "{text:?}: {found}");
        }
        let three = ReadOptions { nodes: Some(3), one_based: true, ..ReadOptions::default() };
        assert!(load("0 1\n", &three).unwrap_err().to_string().ends_with("line 1: vertex 0 is not in 1..=3"));
        assert!(load("3 4\n", &three).unwrap_err().to_string().ends_with("line 1: vertex 4 is not in 1..=3"));
    }
}
