//! Matrix Market files: coordinate and array; pattern, integer and real; general, symmetric and skew-symmetric.
//!
//! Every line is checked: ids in range, values finite and within their type, nothing behind them, and as many entries as announced.
//! A symmetric file may list an entry on either side of the diagonal; each stands for its mirror image too.
//! Format: Boisvert, Pozo, Remington, "The Matrix Market exchange formats", NISTIR 5935, 1996.

mod array;
mod header;
mod lines;
pub(crate) mod write;

use crate::source::Source;
use crate::text::blocks::Blocks;
use crate::text::entries::{Column, Entries};
use crate::text::{Fault, is_data, line_end, parse_block};
use crate::{Error, Loaded, Problem, ReadOptions, Result};
use bitgraph_sparse::Coo;
use header::{Field, Header, Layout, Symmetry};
use lines::Lines;
use std::path::Path;

/// Reads a Matrix Market text.
pub(crate) fn read(source: Source<'_>, path: &Path, options: &ReadOptions) -> Result<Loaded> {
    let file_bytes = source.size;
    let mut blocks = Blocks::new(source, path, &options.control);
    let whole = blocks.whole().map(<[u8]>::len);
    let mut state = State::Banner;
    let mut line = 1u64;
    while let Some((text, mut range)) = blocks.next(line)? {
        let first = line;
        if !matches!(state, State::Body(_)) {
            let (next, end, lines) = state.header(text, range.clone()).map_err(|(fault, n)| fault.at(path, first + n))?;
            line += lines;
            range.start = end;
            state = match next {
                State::Size(_, Some(header)) => {
                    State::Body(Box::new(Body::new(header, whole.map(|w| w - end), file_bytes, options, path, line)?))
                }
                other => other,
            };
        }
        let State::Body(body) = &mut state else { continue };
        match body.parse(text, range) {
            Ok(lines) => line += lines,
            Err(fault) => return Err(blocks.error(fault, first)),
        }
    }
    match state {
        State::Body(body) => body.finish(path, options),
        State::Banner => Err(Error::Empty { path: path.to_path_buf() }),
        State::Size(..) => Err(Error::Line {
            path: path.to_path_buf(),
            line,
            problem: Problem::Missing { what: "the size line (rows, columns, entries)" },
        }),
    }
}

type Kind = (Layout, Field, Symmetry);

/// How far the file has been read.
enum State {
    Banner,
    Size(Kind, Option<Header>),
    Body(Box<Body>),
}

impl State {
    /// Reads header lines; returns the new state, where the rest begins, and how many lines were read. A fault comes with the number
    /// of lines before it.
    fn header(self, text: &[u8], range: std::ops::Range<usize>) -> Result<(Self, usize, u64), (header::HeaderFault, u64)> {
        let mut state = self;
        let (mut at, mut lines) = (range.start, 0);
        while at < range.end {
            let end = line_end(text, at, range.end);
            let line = &text[at..end];
            match &mut state {
                State::Banner => {
                    // A binary file has few newlines: only a banner's worth is looked at.
                    let kind = header::banner(&line[..line.len().min(1024)]).map_err(|f| (f, lines))?;
                    state = State::Size(kind, None);
                }
                State::Size(kind, found) if is_data(line, b"%") => {
                    *found = Some(header::size(line, *kind).map_err(|p| (p.into(), lines))?);
                    return Ok((state, (end + 1).min(range.end), lines + 1));
                }
                State::Size(..) | State::Body(_) => {}
            }
            at = end + 1;
            lines += 1;
        }
        Ok((state, range.end, lines))
    }
}

/// The entries, as they are parsed.
struct Body {
    header: Header,
    entries: Entries<u32>,
    lines: Lines,
    array: Option<array::Array>,
}

impl Body {
    fn new(header: Header, rest: Option<usize>, file_bytes: Option<u64>, options: &ReadOptions, path: &Path, line: u64) -> Result<Self> {
        let longest = header.rows.max(header.columns);
        crate::loaded::check_vertices(path, "rows or columns", longest, file_bytes.unwrap_or(0), options)?;
        // "1 1\n" is the shortest line of a coordinate file, "0\n" that of an array; the last newline may be missing.
        let shortest = match (header.layout, header.field) {
            (Layout::Array, _) => 2,
            (_, Field::Pattern) => 4,
            _ => 6,
        };
        if let Some(rest) = rest {
            let room = (rest as u64 + 1) / shortest;
            if header.entries > room {
                let problem = Problem::TooManyEntries { entries: header.entries, room };
                return Err(Error::Line { path: path.to_path_buf(), line: line - 1, problem });
            }
        }
        let values = match (header.field, options.as_pattern) {
            (Field::Pattern, _) => Column::None(Vec::new()),
            (Field::Integer, true) => Column::CheckedWhole(Vec::new()),
            (Field::Unsigned, true) => Column::CheckedUnsigned(Vec::new()),
            (Field::Real, true) => Column::CheckedFloat(Vec::new()),
            (Field::Integer, false) => Column::I32(Vec::new()),
            (Field::Unsigned, false) => Column::U32(Vec::new()),
            (Field::Real, false) => Column::F64(Vec::new()),
        };
        let most = usize::try_from(header.entries).unwrap_or(usize::MAX);
        let array = (header.layout == Layout::Array).then(|| array::Array::new(&header));
        // An array may hold few entries: zeros are none.
        let room = if rest.is_some() && array.is_none() { most } else { 0 };
        let lines = Lines { rows: header.rows, columns: header.columns, below: header.symmetry == Symmetry::Skew };
        Ok(Self { header, entries: Entries::new(values, false, room, most), lines, array })
    }

    fn parse(&mut self, text: &[u8], range: std::ops::Range<usize>) -> Result<u64, Fault> {
        match &mut self.array {
            Some(array) => array.parse(text, range, &self.header),
            None => parse_block(&self.lines, text, range, &mut self.entries, Some(self.header.entries)),
        }
    }

    fn finish(self, path: &Path, options: &ReadOptions) -> Result<Loaded> {
        let header = self.header;
        let found = self.array.as_ref().map_or(self.entries.len() as u64, |a| a.count);
        if found != header.entries {
            return Err(Error::Count { path: path.to_path_buf(), what: "entries", expected: header.entries, found });
        }
        let (rows, columns, values) = match self.array {
            Some(array) => array.into_parts(options.as_pattern),
            None => self.entries.into_parts(),
        };
        let coo = Coo {
            nrows: header.rows as usize,
            ncols: header.columns as usize,
            rows,
            columns,
            values,
            mirrored: header.symmetry != Symmetry::General,
            skew: header.symmetry == Symmetry::Skew,
        };
        crate::loaded::from_coo(coo, path, options)
    }
}

#[cfg(test)]
mod tests;
