//! The header of a Matrix Market file: banner, comments, size line.

use crate::Problem;
use crate::text::{shown, trim, whole};
use std::path::Path;

/// How entries are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    Coordinate,
    Array,
}

/// The values of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Pattern,
    Integer,
    Unsigned,
    Real,
}

/// Which entries stand for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symmetry {
    General,
    Symmetric,
    Skew,
}

/// What the header says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub layout: Layout,
    pub field: Field,
    pub symmetry: Symmetry,
    pub rows: u64,
    pub columns: u64,
    /// Entries announced; for an array, those that its shape asks for.
    pub entries: u64,
}

/// A fault of the header: on this line, or one that concerns the whole file.
pub(crate) enum HeaderFault {
    Line(Problem),
    Unsupported { what: &'static str, found: String, known: &'static str },
}

impl From<Problem> for HeaderFault {
    fn from(problem: Problem) -> Self {
        Self::Line(problem)
    }
}

impl HeaderFault {
    pub(crate) fn at(self, path: &Path, line: u64) -> crate::Error {
        let path = path.to_path_buf();
        match self {
            Self::Line(problem) => crate::Error::Line { path, line, problem },
            Self::Unsupported { what, found, known } => crate::Error::Unsupported { path, what, found, known },
        }
    }
}

/// The banner: `%%MatrixMarket matrix LAYOUT FIELD SYMMETRY`, in any case of letters.
pub(crate) fn banner(line: &[u8]) -> Result<(Layout, Field, Symmetry), HeaderFault> {
    const EXPECTED: &str = "'%%MatrixMarket matrix'";
    let not = || Problem::Banner { found: shown(trim(line)), expected: EXPECTED };
    let lower = line.to_ascii_lowercase();
    let mut words = lower.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    if words.next() != Some(b"%%matrixmarket") {
        return Err(not().into());
    }
    match words.next() {
        Some(b"matrix") => {}
        Some(other) => return Err(HeaderFault::Unsupported { what: "object", found: shown(other), known: "matrix" }),
        None => return Err(not().into()),
    }
    let mut word = |what| words.next().ok_or(Problem::Missing { what });
    let layout = match word("coordinate or array")? {
        b"coordinate" => Layout::Coordinate,
        b"array" => Layout::Array,
        other => return Err(Problem::Unknown { what: "layout", found: shown(other), known: "coordinate, array" }.into()),
    };
    const FIELDS: &str = "pattern, integer, unsigned-integer, real, double";
    let field = match word("the field")? {
        b"pattern" => Field::Pattern,
        b"integer" => Field::Integer,
        b"unsigned-integer" => Field::Unsigned,
        b"real" | b"double" => Field::Real,
        b"complex" => return Err(HeaderFault::Unsupported { what: "field", found: "complex".into(), known: FIELDS }),
        other => return Err(Problem::Unknown { what: "field", found: shown(other), known: FIELDS }.into()),
    };
    const SYMMETRIES: &str = "general, symmetric, skew-symmetric";
    let symmetry = match word("the symmetry")? {
        b"general" => Symmetry::General,
        b"symmetric" => Symmetry::Symmetric,
        b"skew-symmetric" => Symmetry::Skew,
        b"hermitian" => return Err(HeaderFault::Unsupported { what: "symmetry", found: "hermitian".into(), known: SYMMETRIES }),
        other => return Err(Problem::Unknown { what: "symmetry", found: shown(other), known: SYMMETRIES }.into()),
    };
    if let Some(extra) = words.next() {
        return Err(Problem::Trailing { found: shown(extra) }.into());
    }
    if layout == Layout::Array && field == Field::Pattern {
        return Err(
            Problem::Unknown { what: "field of an array", found: "pattern".into(), known: "integer, unsigned-integer, real" }.into()
        );
    }
    if symmetry == Symmetry::Skew && matches!(field, Field::Pattern | Field::Unsigned) {
        let found = if field == Field::Pattern { "pattern" } else { "unsigned-integer" };
        return Err(Problem::Unknown { what: "field of a skew-symmetric matrix", found: found.into(), known: "integer, real" }.into());
    }
    Ok((layout, field, symmetry))
}

/// The size line: rows, columns and, for coordinates, entries.
pub(crate) fn size(line: &[u8], (layout, field, symmetry): (Layout, Field, Symmetry)) -> Result<Header, Problem> {
    let mut words = trim(line).split(|b| b.is_ascii_whitespace()).filter(|w| !w.is_empty());
    let mut number = |what| words.next().ok_or(Problem::Missing { what }).and_then(whole);
    let rows = number("the number of rows")?;
    let columns = number("the number of columns")?;
    let given = if layout == Layout::Coordinate { Some(number("the number of entries")?) } else { None };
    if let Some(extra) = words.next() {
        return Err(Problem::Trailing { found: shown(extra) });
    }
    if rows > u64::from(u32::MAX) || columns > u64::from(u32::MAX) {
        return Err(Problem::TooLarge { rows, columns });
    }
    if symmetry != Symmetry::General && rows != columns {
        let symmetry = if symmetry == Symmetry::Skew { "skew-symmetric" } else { "symmetric" };
        return Err(Problem::NotSquare { symmetry, rows, columns });
    }
    // Both are below 2^32: the product fits 64 bits.
    let entries = given.unwrap_or(match symmetry {
        Symmetry::General => rows * columns,
        Symmetry::Symmetric => (u128::from(rows) * u128::from(rows + 1) / 2) as u64,
        Symmetry::Skew => (u128::from(rows) * u128::from(rows.saturating_sub(1)) / 2) as u64,
    });
    Ok(Header { layout, field, symmetry, rows, columns, entries })
}
