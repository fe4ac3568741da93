//! The rows of a METIS file: counted, then parsed in parallel straight to where they belong.
//!
//! Invariant: columns and weights are as many as the degrees add up to.

use super::{Header, check_both_sides, whole};
use crate::text::number::{swar, word};
use crate::text::{AHEAD, Fault, is_data, line_end, pieces};
use crate::{Error, Loaded, Problem, ReadOptions, Result};
use bitgraph_sparse::{Offsets, RowLists, parallel};
use std::ops::Range;
use std::path::Path;

/// Bytes of a piece of text.
const PIECE: usize = 256 << 10;

/// A type of edge weights.
trait Weight: Copy + Default + Send + Sync {
    /// Whether edges have weights.
    const FIELD: bool;
    /// The number as a weight; none if it does not fit.
    fn of(number: u64) -> Option<Self>;
}
impl Weight for () {
    const FIELD: bool = false;
    fn of(_: u64) -> Option<()> {
        Some(())
    }
}
impl Weight for i32 {
    const FIELD: bool = true;
    fn of(number: u64) -> Option<i32> {
        number.try_into().ok()
    }
}
impl Weight for i64 {
    const FIELD: bool = true;
    fn of(number: u64) -> Option<i64> {
        number.try_into().ok()
    }
}

/// A weight that is checked and forgotten.
#[derive(Clone, Copy, Default)]
struct Checked;
impl Weight for Checked {
    const FIELD: bool = true;
    fn of(number: u64) -> Option<Checked> {
        i64::of(number).map(|_| Checked)
    }
}

/// The weights, of the smallest type that holds all of them.
enum Weights {
    None(Vec<()>),
    Checked(Vec<Checked>),
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
}

macro_rules! with_weights {
    ($weights:expr, $v:ident => $body:expr) => {
        match $weights {
            Weights::None($v) => $body,
            Weights::Checked($v) => $body,
            Weights::Narrow($v) => $body,
            Weights::Wide($v) => $body,
        }
    };
}

/// Lengthens an array by zeros: by half as many again as there were, but by no more than there can be, where there is no room.
fn lengthen<T: Copy + Default>(v: &mut Vec<T>, len: usize, most: usize) {
    if len > v.capacity() {
        let room = len.max(v.len() / 2 * 3).min(most).max(len);
        v.reserve_exact(room - v.len());
    }
    v.resize(len, T::default());
}

/// The rows, as they are parsed.
pub(super) struct Body {
    header: Header,
    /// Lines of vertices that were read; some more than there are vertices may be empty.
    lines: usize,
    degrees: Vec<u32>,
    columns: Vec<u32>,
    weights: Weights,
    loops: u64,
}

/// What a piece of text holds.
struct Count {
    lines: usize,
    vertices: usize,
    /// Arcs, if every line is as it should be.
    arcs: usize,
}

impl Body {
    /// No rows yet. `rest` bytes of text follow, if that is known.
    pub(super) fn new(header: Header, rest: Option<usize>, as_pattern: bool) -> Self {
        let weights = match (header.weights, as_pattern) {
            (false, _) => Weights::None(Vec::new()),
            (true, true) => Weights::Checked(Vec::new()),
            (true, false) => Weights::Narrow(Vec::new()),
        };
        let mut body = Self { header, lines: 0, degrees: Vec::new(), columns: Vec::new(), weights, loops: 0 };
        if let Some(rest) = rest {
            // An arc has a digit and a blank, or two of both, and a vertex has a line.
            let (vertices, arcs) = body.most();
            body.degrees.reserve_exact(vertices.min(rest + 1) + 1);
            let arcs = arcs.min(rest / if header.weights { 4 } else { 2 } + 1);
            body.columns.reserve_exact(arcs);
            with_weights!(&mut body.weights, v => v.reserve_exact(arcs));
        }
        body
    }

    /// Vertices and arcs as announced.
    fn most(&self) -> (usize, usize) {
        let arcs = self.header.edges.saturating_mul(2);
        (self.header.vertices as usize, usize::try_from(arcs).unwrap_or(usize::MAX))
    }

    /// Parses the lines of `text[range]`; returns how many they are.
    pub(super) fn append(&mut self, text: &[u8], range: Range<usize>) -> Result<u64, Fault> {
        let (header, (vertices, most)) = (self.header, self.most());
        let pieces = pieces(text, range, PIECE);
        let counts: Vec<Count> = parallel::collect(pieces.len(), |p| count(text, pieces[p].clone(), &header));
        let first = self.lines;
        self.lines += counts.iter().map(|c| c.vertices).sum::<usize>();
        let (old_rows, old_arcs) = (first.min(vertices), self.columns.len());
        let arcs = old_arcs + counts.iter().map(|c| c.arcs).sum::<usize>();
        lengthen(&mut self.degrees, self.lines.min(vertices), vertices + 1);
        lengthen(&mut self.columns, arcs, most);
        with_weights!(&mut self.weights, v => lengthen(v, arcs, most));
        loop {
            let (degrees, columns) = (&mut self.degrees[old_rows..], &mut self.columns[old_arcs..]);
            let parsed = with_weights!(&mut self.weights, v => {
                let rest = Slots { degrees, columns, weights: &mut v[old_arcs..] };
                parse_pieces(text, &pieces, &counts, first, &header, rest)
            });
            match (parsed, &self.weights) {
                (Ok(loops), _) => {
                    self.loops += loops;
                    return Ok(counts.iter().map(|c| c.lines as u64).sum());
                }
                (Err(fault), Weights::Narrow(v)) if fault.value => {
                    self.weights = Weights::Wide(v.iter().map(|&w| w.into()).collect());
                }
                (Err(fault), _) => return Err(fault),
            }
        }
    }

    /// The graph.
    pub(super) fn finish(self, path: &Path, options: &ReadOptions) -> Result<Loaded> {
        let Self { header, lines, degrees, mut columns, mut weights, loops } = self;
        let n = header.vertices as usize;
        if lines < n {
            return Err(Error::Count { path: path.to_path_buf(), what: "vertices", expected: header.vertices, found: lines as u64 });
        }
        options.control.step(0, None)?;
        let (found, announced) = (columns.len() as u64, header.edges.saturating_mul(2));
        columns.shrink_to_fit();
        with_weights!(&mut weights, v => v.shrink_to_fit());
        let values = match weights {
            Weights::None(_) | Weights::Checked(_) => None,
            Weights::Narrow(v) => Some(v.into()),
            Weights::Wide(v) => Some(v.into()),
        };
        let lists = RowLists { nrows: n, ncols: n, offsets: offsets(degrees, columns.len()), columns, values };
        let (csr, values) = lists.into_csr(options.duplicates).map_err(|source| Error::Matrix { path: path.to_path_buf(), source })?;
        let loaded = Loaded { symmetric: Some(true), ..Loaded::new(csr, values) };
        check_both_sides(&loaded, path)?;
        // A loop may be listed once or twice. Only where both sides are listed is half of what is listed a number of edges.
        if found != announced && found.saturating_add(loops) != announced {
            return Err(Error::Count { path: path.to_path_buf(), what: "edges", expected: header.edges, found: found.div_ceil(2) });
        }
        Ok(loaded)
    }
}

/// Where rows of these lengths begin. In place, unless there are too many entries.
fn offsets(mut degrees: Vec<u32>, entries: usize) -> Offsets {
    if u32::try_from(entries).is_ok() {
        let mut sum = 0;
        degrees.iter_mut().for_each(|d| sum += std::mem::replace(d, sum));
        degrees.push(sum);
        return Offsets::U32(degrees.into());
    }
    let mut wide = Vec::with_capacity(degrees.len() + 1);
    wide.push(0u64);
    wide.extend(degrees.iter().scan(0, |sum, &d| {
        *sum += u64::from(d);
        Some(*sum)
    }));
    Offsets::U64(wide.into())
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

/// Counts what is to be expected of a piece of text.
fn count(text: &[u8], range: Range<usize>, header: &Header) -> Count {
    let mut found = Count { lines: 0, vertices: 0, arcs: 0 };
    for line in lines_of(text, range) {
        found.lines += 1;
        if is_vertex(&text[line.clone()]) {
            found.vertices += 1;
            let numbers = words(&text[line]).saturating_sub(header.skip);
            found.arcs += if header.weights { numbers / 2 } else { numbers };
        }
    }
    found
}

/// The number of words of a line. Sums in bytes, which vectorises.
fn words(line: &[u8]) -> usize {
    let begins = |before: u8, byte: u8| u8::from(before.is_ascii_whitespace() & !byte.is_ascii_whitespace());
    let (Some(&first), Some((_, rest))) = (line.first(), line.split_first()) else { return 0 };
    let pairs = line.chunks(240).zip(rest.chunks(240));
    let inner: usize = pairs.map(|(a, b)| usize::from(a.iter().zip(b).map(|(&a, &b)| begins(a, b)).sum::<u8>())).sum();
    inner + usize::from(begins(b' ', first))
}

/// The part of the output that belongs to a piece of text.
struct Slots<'a, W> {
    degrees: &'a mut [u32],
    columns: &'a mut [u32],
    weights: &'a mut [W],
}

/// Parses pieces of text in parallel; returns the number of loops. `first` is the number of the vertex on the first line.
fn parse_pieces<W: Weight>(
    text: &[u8],
    pieces: &[Range<usize>],
    counts: &[Count],
    mut first: usize,
    header: &Header,
    rest: Slots<'_, W>,
) -> Result<u64, Fault> {
    let Slots { mut degrees, mut columns, mut weights } = rest;
    let mut tasks = Vec::with_capacity(pieces.len());
    for (piece, count) in pieces.iter().zip(counts) {
        let (d, c, w);
        (d, degrees) = degrees.split_at_mut(count.vertices.min(degrees.len()));
        (c, columns) = columns.split_at_mut(count.arcs);
        (w, weights) = weights.split_at_mut(count.arcs);
        tasks.push((piece.clone(), first, Slots { degrees: d, columns: c, weights: w }));
        first += count.vertices;
    }
    let found = parallel::collect_from(tasks, |(piece, first, out)| parse(text, piece, first as u64, header, out));
    // The first fault in the order of the file, whatever the threads did first.
    found.into_iter().sum()
}

fn parse<W: Weight>(text: &[u8], range: Range<usize>, first: u64, header: &Header, out: Slots<'_, W>) -> Result<u64, Fault> {
    let (mut loops, mut k) = (0, 0);
    let vertices = lines_of(text, range).filter(|r| is_vertex(&text[r.clone()]));
    for (vertex, line) in (first..).zip(vertices) {
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
        let start = k;
        while let Some(id) = numbers.next().map_err(fault)? {
            if id.wrapping_sub(1) >= header.vertices {
                return Err(fault(Problem::IdOutOfRange { what: "vertex", id, first: 1, last: header.vertices }));
            }
            let mut weight = W::default();
            if W::FIELD {
                let number = numbers.next().map_err(fault)?.ok_or_else(|| fault(Problem::Missing { what: "an edge weight" }))?;
                let problem = || Problem::Overflow { found: number.to_string(), width: "63 bits" };
                weight = W::of(number).ok_or_else(|| Fault { value: true, ..fault(problem()) })?;
            }
            // There are as many slots as pairs of words, or words.
            (out.columns[k], out.weights[k]) = ((id - 1) as u32, weight);
            loops += u64::from(id - 1 == vertex);
            k += 1;
        }
        let degree = u32::try_from(k - start).map_err(|_| fault(Problem::Overflow { found: (k - start).to_string(), width: "32 bits" }))?;
        out.degrees[(vertex - first) as usize] = degree;
    }
    Ok(loops)
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

    #[test]
    fn words_of_a_line() {
        for (line, wanted) in [("", 0), (" ", 0), ("a", 1), (" a", 1), ("a ", 1), ("a\tb\r", 2), ("  12  3", 2)] {
            assert_eq!(words(line.as_bytes()), wanted);
        }
        assert_eq!(words("x ".repeat(1000).as_bytes()), 1000);
        assert_eq!(words("xy ".repeat(1000).as_bytes()), 1000);
    }
}
