//! The entry lines of a coordinate file: a fast path for the usual form, a slow one that takes any form and words every fault.

use crate::Problem;
use crate::text::entries::Slots;
use crate::text::number::{self, Bad, swar, word};
use crate::text::value::{self, Value};
use crate::text::{AHEAD, Entry, Fault, LineParser, line_end, shown};
use std::ops::Range;

/// What is asked of an entry.
pub(super) struct Lines {
    pub rows: u64,
    pub columns: u64,
    /// Only entries below the diagonal may be listed.
    pub below: bool,
}

impl LineParser for Lines {
    type Id = u32;
    const COMMENT: &'static [u8] = b"%";

    fn parse<V: Value>(&self, text: &[u8], range: Range<usize>, out: Slots<'_, u32, V>) -> Result<usize, Fault> {
        let Slots { rows, columns, values } = out;
        let fast_end = range.end.min(text.len().saturating_sub(AHEAD));
        let (mut at, mut k) = (range.start, 0);
        while at < range.end {
            if at < fast_end
                && let Some((row, column, value, end)) = self.fast::<V>(text, at)
            {
                // There are as many slots as lines.
                (rows[k], columns[k], values[k]) = (row, column, value);
                k += 1;
                at = end + 1;
                continue;
            }
            let end = line_end(text, at, range.end);
            if let Some((row, column, value)) = self.slow::<V>(&text[at..end]).map_err(|(problem, value)| Fault { at, problem, value })? {
                (rows[k], columns[k], values[k]) = (row, column, value);
                k += 1;
            }
            at = end + 1;
        }
        Ok(k)
    }
}

/// What ends a number before another.
#[inline(always)]
fn blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

impl Lines {
    /// A line of the form "row column[ value]" with single blanks and ids of at most eight digits, and where its newline is. All
    /// that is not quite so is left to [`Lines::slow`].
    #[inline(always)]
    fn fast<V: Value>(&self, text: &[u8], at: usize) -> Option<(u32, u32, V, usize)> {
        let (row, digits) = swar(word(text, at));
        let gap = at + digits;
        let (column, more) = swar(word(text, gap + 1));
        let mut end = gap + 1 + more;
        // Id 0 wraps around to more than there are rows.
        let (row, column) = (row.wrapping_sub(1), column.wrapping_sub(1));
        if digits == 0 || more == 0 || !blank(text[gap]) || row >= self.rows || column >= self.columns || (self.below && row <= column) {
            return None;
        }
        let mut value = V::default();
        if V::FIELD {
            if !blank(text[end]) {
                return None;
            }
            (value, end) = V::fast(text, end + 1)?;
        }
        end += usize::from(text[end] == b'\r');
        (text[end] == b'\n').then_some((row as u32, column as u32, value, end))
    }

    /// A line of any form; None for one without an entry. A fault of the value says so.
    #[cold]
    fn slow<V: Value>(&self, line: &[u8]) -> Result<Entry<u32, V>, (Problem, bool)> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
        let Some(first) = words.next().filter(|w| w[0] != b'%') else { return Ok(None) };
        let plain = |p| (p, false);
        let row = id("row", first, self.rows).map_err(plain)?;
        let second = words.next().ok_or((Problem::Missing { what: "a column" }, false))?;
        let column = id("column", second, self.columns).map_err(plain)?;
        let mut value = V::default();
        if V::FIELD {
            let token = words.next().ok_or((Problem::Missing { what: "a value" }, false))?;
            value = V::slow(token).map_err(|bad| (value::problem::<V>(token, bad), true))?;
        }
        if let Some(extra) = words.next() {
            return Err((Problem::Trailing { found: shown(extra) }, false));
        }
        if self.below && row <= column {
            return Err((Problem::NotBelowDiagonal { row: row + 1, column: column + 1 }, false));
        }
        Ok(Some((row as u32, column as u32, value)))
    }
}

/// An id that counts from 1, as one that counts from 0.
fn id(what: &'static str, token: &[u8], count: u64) -> Result<u64, Problem> {
    match number::unsigned(token) {
        Ok(id) if id.wrapping_sub(1) < count => Ok(id - 1),
        Ok(id) if count == 0 => Err(Problem::NoSuchId { what, id }),
        Ok(id) => Err(Problem::IdOutOfRange { what, id, first: 1, last: count }),
        Err(Bad::Overflow) => Err(Problem::Overflow { found: shown(token), width: "64 bits" }),
        Err(_) => Err(Problem::NotAnInteger { found: shown(token) }),
    }
}
