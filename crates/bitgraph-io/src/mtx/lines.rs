//! The entry lines of a coordinate file: a fast path for the usual form, a slow one that takes any form and words every fault.

use crate::Problem;
use crate::text::number::{swar, word};
use crate::text::value::{self, Value};
use crate::text::{Ended, Entry, LineParser, id, shown};

/// What is asked of an entry.
pub(super) struct Lines {
    pub rows: u64,
    pub columns: u64,
    /// Only entries below the diagonal may be listed.
    pub below: bool,
}

/// What ends a number before another.
#[inline(always)]
fn blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

impl LineParser for Lines {
    type Id = u32;
    const COMMENT: &'static [u8] = b"%";

    /// A line of the form "row column[ value]" with single blanks and ids of at most eight digits, and where its newline is. All
    /// that is not quite so is left to [`LineParser::slow`].
    #[inline(always)]
    fn fast<V: Value>(&self, text: &[u8], at: usize) -> Option<Ended<u32, V>> {
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
        (text[end] == b'\n').then_some(((row as u32, column as u32, value), end))
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
