//! Text in lines, one entry a line: parsed in parallel, every line checked, every fault with its place.
//!
//! A block of whole lines is cut into pieces at line ends. Counting the lines of each piece gives every piece its own places in
//! the output, so that pieces are parsed in parallel without copying afterwards. Line numbers are counted only once a fault is found.

pub(crate) mod blocks;
pub(crate) mod entries;
pub(crate) mod number;
pub(crate) mod value;

use crate::Problem;
use bitgraph_sparse::parallel;
use entries::{Entries, Id, Slots};
use number::Bad;
use std::ops::Range;
use value::Value;

/// Bytes of a piece: small enough that the second pass over it finds it in the cache.
const PIECE: usize = 128 << 10;
/// Fast paths may look this far ahead.
pub(crate) const AHEAD: usize = 160;

/// A fault and where in the text it is.
#[derive(Debug)]
pub(crate) struct Fault {
    /// A byte of the faulty line.
    pub at: usize,
    /// What is wrong.
    pub problem: Problem,
    /// Values of a wider type might mend it.
    pub value: bool,
}

impl Fault {
    pub(crate) fn new(at: usize, problem: Problem) -> Self {
        Self { at, problem, value: false }
    }
}

/// What a line holds: row, column and value, or nothing.
pub(crate) type Entry<I, V> = Option<(I, I, V)>;

/// An entry and where its line's newline is.
pub(crate) type Ended<I, V> = ((I, I, V), usize);

/// Something that parses lines of entries.
pub(crate) trait LineParser: Sync {
    /// The type of row and column numbers.
    type Id: Id;
    /// The bytes that begin a line without an entry.
    const COMMENT: &'static [u8];
    /// The entry of a line in the usual form, and where its newline is; [`AHEAD`] bytes behind `at` may be looked at. All that is not
    /// quite so is left to [`LineParser::slow`].
    fn fast<V: Value>(&self, text: &[u8], at: usize) -> Option<Ended<Self::Id, V>>;
    /// A line of any form; None for one without an entry. With a fault: whether it is the value's.
    fn slow<V: Value>(&self, line: &[u8]) -> Result<Entry<Self::Id, V>, (Problem, bool)>;

    /// Parses the lines of `text[range]` into `out`, which has a place for each line; returns the number of entries.
    fn parse<V: Value>(&self, text: &[u8], range: Range<usize>, out: Slots<'_, Self::Id, V>) -> Result<usize, Fault> {
        let Slots { rows, columns, values } = out;
        let fast_end = range.end.min(text.len().saturating_sub(AHEAD));
        let (mut at, mut k) = (range.start, 0);
        while at < range.end {
            if at < fast_end
                && let Some((entry, end)) = self.fast::<V>(text, at)
            {
                (rows[k], columns[k], values[k]) = entry;
                k += 1;
                at = end + 1;
                continue;
            }
            let end = line_end(text, at, range.end);
            if let Some(entry) = self.slow::<V>(&text[at..end]).map_err(|(problem, value)| Fault { at, problem, value })? {
                (rows[k], columns[k], values[k]) = entry;
                k += 1;
            }
            at = end + 1;
        }
        Ok(k)
    }
}

/// The end of the line that begins at `at`: where its newline is, or `end`.
#[inline]
pub(crate) fn line_end(text: &[u8], at: usize, end: usize) -> usize {
    text[at..end].iter().position(|&b| b == b'\n').map_or(end, |k| at + k)
}

/// A line without surrounding blanks and carriage return.
pub(crate) fn trim(line: &[u8]) -> &[u8] {
    line.trim_ascii()
}

/// The beginning of a token, as an error message shows it.
pub(crate) fn shown(token: &[u8]) -> String {
    let cut = &token[..token.len().min(40)];
    let text = cut.escape_ascii().to_string();
    if cut.len() < token.len() { text + "..." } else { text }
}

/// A whole number.
pub(crate) fn whole(token: &[u8]) -> Result<u64, Problem> {
    number::unsigned(token).map_err(|bad| match bad {
        Bad::Overflow => Problem::Overflow { found: shown(token), width: "64 bits" },
        _ => Problem::NotAnInteger { found: shown(token) },
    })
}

/// One of `count` ids that are counted from 1, as one that is counted from 0.
pub(crate) fn id(what: &'static str, token: &[u8], count: u64) -> Result<u64, Problem> {
    match whole(token)? {
        id if id.wrapping_sub(1) < count => Ok(id - 1),
        id if count == 0 => Err(Problem::NoSuchId { what, id }),
        id => Err(Problem::IdOutOfRange { what, id, first: 1, last: count }),
    }
}

/// Whether a line holds an entry: it is neither blank nor a comment.
#[inline]
pub(crate) fn is_data(line: &[u8], comment: &[u8]) -> bool {
    line.iter().find(|b| !b.is_ascii_whitespace()).is_some_and(|b| !comment.contains(b))
}

/// The number of newlines. Sums in bytes, which vectorises.
pub(crate) fn newlines(bytes: &[u8]) -> usize {
    bytes.chunks(240).map(|c| usize::from(c.iter().map(|&b| u8::from(b == b'\n')).sum::<u8>())).sum()
}

/// The number of lines: a last one without newline counts.
fn lines(bytes: &[u8]) -> usize {
    newlines(bytes) + usize::from(bytes.last().is_some_and(|&b| b != b'\n'))
}

/// Cuts `range` at line ends into pieces of about `size` bytes.
pub(crate) fn pieces(text: &[u8], range: Range<usize>, size: usize) -> Vec<Range<usize>> {
    let mut cut = Vec::with_capacity((range.len() / size) + 1);
    let mut start = range.start;
    while start < range.end {
        let aim = start.saturating_add(size);
        let end = if aim >= range.end { range.end } else { (line_end(text, aim, range.end) + 1).min(range.end) };
        cut.push(start..end);
        start = end;
    }
    cut
}

/// Parses the lines of `text[range]` and appends their entries; returns the number of lines. At most `limit` entries in all.
pub(crate) fn parse_block<P: LineParser>(
    parser: &P,
    text: &[u8],
    range: Range<usize>,
    entries: &mut Entries<P::Id>,
    limit: Option<u64>,
) -> Result<u64, Fault> {
    let pieces = pieces(text, range, PIECE);
    let mut counts: Vec<usize> = parallel::collect(pieces.len(), |p| lines(&text[pieces[p].clone()]));
    let total: usize = counts.iter().sum();
    let limit = limit.map_or(usize::MAX, |l| usize::try_from(l).unwrap_or(usize::MAX));
    if entries.len().saturating_add(total) > limit {
        // Perhaps only because of blank lines.
        let data = |piece: &Range<usize>| text[piece.clone()].split(|&b| b == b'\n').filter(|l| is_data(l, P::COMMENT)).count();
        counts = parallel::collect(pieces.len(), |p| data(&pieces[p]));
        let mut room = limit - entries.len();
        for (piece, &count) in pieces.iter().zip(&counts) {
            if count > room {
                let at = nth_data_line(text, piece.clone(), room, P::COMMENT);
                return Err(Fault::new(at, Problem::TooMany { expected: limit as u64, found: limit as u64 + 1 }));
            }
            room -= count;
        }
    }
    loop {
        match entries.append(parser, text, &pieces, &counts) {
            Err(fault) if fault.value && entries.widen() => {}
            Err(fault) => return Err(fault),
            Ok(()) => return Ok(total as u64),
        }
    }
}

/// Where the data line number `n` (from 0) of a piece begins.
fn nth_data_line(text: &[u8], piece: Range<usize>, n: usize, comment: &[u8]) -> usize {
    let mut at = piece.start;
    let mut seen = 0;
    while at < piece.end {
        let end = line_end(text, at, piece.end);
        if is_data(&text[at..end], comment) {
            if seen == n {
                return at;
            }
            seen += 1;
        }
        at = end + 1;
    }
    piece.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_lines() {
        let text = b"1 2\n\n3 4\n5 6\nlast";
        for size in 1..20 {
            let cut = pieces(text, 0..text.len(), size);
            assert_eq!((cut[0].start, cut.last().unwrap().end), (0, text.len()));
            assert!(cut.windows(2).all(|w| w[0].end == w[1].start && text[w[0].end - 1] == b'\n'));
            assert_eq!(cut.iter().map(|r| lines(&text[r.clone()])).sum::<usize>(), 5);
        }
        assert_eq!(newlines(&[b'\n'; 1000]), 1000);
        assert_eq!(nth_data_line(text, 0..text.len(), 1, b"%"), 5);
    }
}
