//! The body of an array file: every value, column by column, one a line. Zeros are no entries.
//!
//! Read line by line: dense matrices as text are small.

use super::header::{Field, Header, Symmetry};
use crate::Problem;
use crate::text::value::{self, Value};
use crate::text::{Fault, is_data, line_end, shown, trim};
use bitgraph_sparse::Values;
use std::ops::Range;

/// The values met so far.
pub(super) struct Array {
    /// Values read, zeros included.
    pub count: u64,
    row: u64,
    column: u64,
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Numbers,
}

enum Numbers {
    Whole(Vec<i64>),
    Unsigned(Vec<u64>),
    Real(Vec<f64>),
}

impl Array {
    pub(super) fn new(header: &Header) -> Self {
        let values = match header.field {
            Field::Pattern | Field::Integer => Numbers::Whole(Vec::new()),
            Field::Unsigned => Numbers::Unsigned(Vec::new()),
            Field::Real => Numbers::Real(Vec::new()),
        };
        let row = u64::from(header.symmetry == Symmetry::Skew);
        Self { count: 0, row, column: 0, rows: Vec::new(), columns: Vec::new(), values }
    }

    pub(super) fn parse(&mut self, text: &[u8], range: Range<usize>, header: &Header) -> Result<u64, Fault> {
        let (mut at, mut lines) = (range.start, 0);
        while at < range.end {
            let end = line_end(text, at, range.end);
            let line = &text[at..end];
            if is_data(line, b"%") {
                self.line(trim(line), header).map_err(|problem| Fault::new(at, problem))?;
            }
            at = end + 1;
            lines += 1;
        }
        Ok(lines)
    }

    fn line(&mut self, line: &[u8], header: &Header) -> Result<(), Problem> {
        if self.count == header.entries {
            return Err(Problem::TooMany { expected: header.entries, found: self.count + 1 });
        }
        let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
        let token = words.next().unwrap_or_default();
        if let Some(extra) = words.next() {
            return Err(Problem::Trailing { found: shown(extra) });
        }
        fn number<T: Value + PartialEq>(token: &[u8], values: &mut Vec<T>) -> Result<bool, Problem> {
            let v = T::slow(token).map_err(|bad| value::problem::<T>(token, bad))?;
            let entry = v != T::default();
            if entry {
                values.push(v);
            }
            Ok(entry)
        }
        let entry = match &mut self.values {
            Numbers::Whole(v) => number(token, v)?,
            Numbers::Unsigned(v) => number(token, v)?,
            Numbers::Real(v) => number(token, v)?,
        };
        if entry {
            self.rows.push(self.row as u32);
            self.columns.push(self.column as u32);
        }
        self.count += 1;
        self.row += 1;
        if self.row == header.rows {
            self.column += 1;
            self.row = match header.symmetry {
                Symmetry::General => 0,
                Symmetry::Symmetric => self.column,
                Symmetry::Skew => self.column + 1,
            };
        }
        Ok(())
    }

    pub(super) fn into_parts(self, as_pattern: bool) -> (Vec<u32>, Vec<u32>, Option<Values>) {
        let values = (!as_pattern).then(|| match self.values {
            Numbers::Whole(v) => match v.iter().map(|&x| i32::try_from(x)).collect::<Result<Vec<i32>, _>>() {
                Ok(narrow) => narrow.into(),
                Err(_) => v.into(),
            },
            Numbers::Unsigned(v) => match v.iter().map(|&x| u32::try_from(x)).collect::<Result<Vec<u32>, _>>() {
                Ok(narrow) => narrow.into(),
                Err(_) => v.into(),
            },
            Numbers::Real(v) => v.into(),
        });
        (self.rows, self.columns, values)
    }
}
