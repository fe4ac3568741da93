//! Entries as they are parsed: row and column numbers, and values of a type that widens when it must.
//!
//! Invariant: the arrays are of equal length, at least `len`; what is past `len` is room.

use super::value::{Checked, Value};
use super::{Fault, LineParser};
use bitgraph_sparse::{Values, parallel};
use std::ops::Range;

/// A type of row and column numbers.
pub(crate) trait Id: Copy + Default + Send + Sync {
    fn from_u64(id: u64) -> Self;
}
impl Id for u32 {
    #[inline(always)]
    fn from_u64(id: u64) -> Self {
        id as u32
    }
}
impl Id for u64 {
    #[inline(always)]
    fn from_u64(id: u64) -> Self {
        id
    }
}

/// The values that go with the entries.
pub(crate) enum Column {
    None(Vec<()>),
    CheckedWhole(Vec<Checked<i64>>),
    CheckedUnsigned(Vec<Checked<u64>>),
    CheckedFloat(Vec<Checked<f64>>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
}

macro_rules! with_column {
    ($column:expr, $v:ident => $body:expr) => {
        match $column {
            Column::None($v) => $body,
            Column::CheckedWhole($v) => $body,
            Column::CheckedUnsigned($v) => $body,
            Column::CheckedFloat($v) => $body,
            Column::I32($v) => $body,
            Column::I64($v) => $body,
            Column::U32($v) => $body,
            Column::U64($v) => $body,
            Column::F64($v) => $body,
        }
    };
}

/// The part of the output that belongs to one piece of text.
pub(crate) struct Slots<'a, I, V> {
    pub rows: &'a mut [I],
    pub columns: &'a mut [I],
    pub values: &'a mut [V],
}

/// Entries in the order of the file.
pub(crate) struct Entries<I> {
    rows: Vec<I>,
    columns: Vec<I>,
    values: Column,
    /// What a whole number that does not fit becomes: a float (edge lists), or an error (Matrix Market).
    to_float: bool,
    len: usize,
    /// The most entries there can be, if known: no room beyond it is ever taken.
    most: usize,
}

impl<I: Id> Entries<I> {
    /// No entries yet; at most `most` will come, and `room` are made room for now.
    pub(crate) fn new(values: Column, to_float: bool, room: usize, most: usize) -> Self {
        let mut entries = Self { rows: Vec::new(), columns: Vec::new(), values, to_float, len: 0, most };
        if room > 0 {
            // Zeroed pages come untouched from the system.
            entries.rows = vec![I::default(); room];
            entries.columns = vec![I::default(); room];
            with_column!(&mut entries.values, v => *v = vec![Default::default(); room]);
        }
        entries
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Makes room for `wanted` entries: half as many again as there were, but never more than there can be.
    fn grow(&mut self, wanted: usize) {
        if wanted <= self.rows.len() {
            return;
        }
        let room = wanted.max(self.rows.len() / 2 * 3).min(self.most).max(wanted);
        fn resize<T: Copy + Default>(v: &mut Vec<T>, room: usize) {
            v.reserve_exact(room - v.len());
            v.resize(room, T::default());
        }
        resize(&mut self.rows, room);
        resize(&mut self.columns, room);
        with_column!(&mut self.values, v => resize(v, room));
    }

    /// Parses pieces of text in parallel; piece `k` has at most `counts[k]` entries.
    pub(crate) fn append<P: LineParser<Id = I>>(
        &mut self,
        parser: &P,
        text: &[u8],
        pieces: &[Range<usize>],
        counts: &[usize],
    ) -> Result<(), Fault> {
        let total: usize = counts.iter().sum();
        self.grow(self.len + total);
        let range = self.len..self.len + total;
        let found = with_column!(&mut self.values, values => {
            parse_pieces(parser, text, pieces, counts, &mut self.rows[range.clone()], &mut self.columns[range.clone()], &mut values[range])
        })?;
        if found.iter().sum::<usize>() == total {
            self.len += total;
            return Ok(());
        }
        let (mut from, mut to) = (self.len, self.len);
        for (&count, &found) in counts.iter().zip(&found) {
            self.rows.copy_within(from..from + found, to);
            self.columns.copy_within(from..from + found, to);
            with_column!(&mut self.values, v => v.copy_within(from..from + found, to));
            from += count;
            to += found;
        }
        self.len = to;
        Ok(())
    }

    /// Turns the values into a wider type, if there is one.
    pub(crate) fn widen(&mut self) -> bool {
        let wider = match &self.values {
            Column::I32(v) => Column::I64(v.iter().map(|&x| x.into()).collect()),
            Column::U32(v) => Column::U64(v.iter().map(|&x| x.into()).collect()),
            Column::I64(v) if self.to_float => Column::F64(v.iter().map(|&x| x as f64).collect()),
            Column::CheckedWhole(v) if self.to_float => Column::CheckedFloat(vec![Checked::default(); v.len()]),
            _ => return false,
        };
        self.values = wider;
        true
    }

    /// Rows, columns and values.
    pub(crate) fn into_parts(mut self) -> (Vec<I>, Vec<I>, Option<Values>) {
        fn fit<T>(v: &mut Vec<T>, len: usize) {
            v.truncate(len);
            v.shrink_to_fit();
        }
        fit(&mut self.rows, self.len);
        fit(&mut self.columns, self.len);
        with_column!(&mut self.values, v => fit(v, self.len));
        let values = match self.values {
            Column::None(_) | Column::CheckedWhole(_) | Column::CheckedUnsigned(_) | Column::CheckedFloat(_) => None,
            Column::I32(v) => Some(v.into()),
            Column::I64(v) => Some(v.into()),
            Column::U32(v) => Some(v.into()),
            Column::U64(v) => Some(v.into()),
            Column::F64(v) => Some(v.into()),
        };
        (self.rows, self.columns, values)
    }
}

fn parse_pieces<P: LineParser, V: Value>(
    parser: &P,
    text: &[u8],
    pieces: &[Range<usize>],
    counts: &[usize],
    mut rows: &mut [P::Id],
    mut columns: &mut [P::Id],
    mut values: &mut [V],
) -> Result<Vec<usize>, Fault> {
    let mut tasks = Vec::with_capacity(pieces.len());
    for (piece, &count) in pieces.iter().zip(counts) {
        let (r, c, v);
        (r, rows) = rows.split_at_mut(count);
        (c, columns) = columns.split_at_mut(count);
        (v, values) = values.split_at_mut(count);
        tasks.push((piece.clone(), Slots { rows: r, columns: c, values: v }));
    }
    let found = parallel::collect_from(tasks, |(piece, slots)| parser.parse(text, piece, slots));
    // The first fault in the order of the file, whatever the threads did first.
    found.into_iter().collect()
}
