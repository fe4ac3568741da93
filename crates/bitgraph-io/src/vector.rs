//! Vectors as files: `.npy`, `.csv`, `.tsv`.

use crate::numpy::npy::{self, Fault};
use crate::text::number;
use crate::text::{is_data, shown};
use crate::write::{Sink, atomically};
use crate::{Control, Error, Problem, ReadMode, Result};
use bitgraph_sparse::Values;
use rayon::prelude::*;
use std::io::Write;
use std::path::Path;

/// A vector to be written.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum VectorData<'a> {
    I32(&'a [i32]),
    U32(&'a [u32]),
    I64(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
}

macro_rules! from_slice {
    ($($variant:ident $t:ty),*) => { $( impl<'a> From<&'a [$t]> for VectorData<'a> {
        fn from(v: &'a [$t]) -> Self { VectorData::$variant(v) }
    } )* };
}
from_slice!(I32 i32, U32 u32, I64 i64, F32 f32, F64 f64);

impl VectorData<'_> {
    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::I32(v) => v.len(),
            Self::U32(v) => v.len(),
            Self::I64(v) => v.len(),
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
        }
    }
    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    fn npy(&self) -> (&'static str, &[u8]) {
        match self {
            Self::I32(v) => ("<i4", bytemuck::cast_slice(v)),
            Self::U32(v) => ("<u4", bytemuck::cast_slice(v)),
            Self::I64(v) => ("<i8", bytemuck::cast_slice(v)),
            Self::F32(v) => ("<f4", bytemuck::cast_slice(v)),
            Self::F64(v) => ("<f8", bytemuck::cast_slice(v)),
        }
    }
    /// Elements `range` as lines "number separator value". Floats are written so that reading gives back the same bits.
    fn lines(&self, range: std::ops::Range<usize>, separator: u8) -> Vec<u8> {
        fn write<T: std::fmt::Debug>(v: &[T], first: usize, separator: char) -> Vec<u8> {
            let mut out = Vec::with_capacity(v.len() * 16);
            for (i, x) in (first..).zip(v) {
                // Writing to memory does not fail.
                let _ = writeln!(out, "{i}{separator}{x:?}");
            }
            out
        }
        let (first, separator) = (range.start, char::from(separator));
        match self {
            Self::I32(v) => write(&v[range], first, separator),
            Self::U32(v) => write(&v[range], first, separator),
            Self::I64(v) => write(&v[range], first, separator),
            Self::F32(v) => write(&v[range], first, separator),
            Self::F64(v) => write(&v[range], first, separator),
        }
    }
}

/// What a vector's file is by its ending: none for `.npy`, otherwise what is between a number and its value.
fn separator(path: &Path) -> Result<Option<u8>> {
    match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("npy") => Ok(None),
        Some("csv") => Ok(Some(b',')),
        Some("tsv") => Ok(Some(b'\t')),
        _ => Err(Error::UnknownEnding { path: path.to_path_buf(), known: ".npy, .csv, .tsv" }),
    }
}

/// Refuses a name that [`write_vector`] does not know the ending of, before there is anything to write.
///
/// # Errors
/// [`Error::UnknownEnding`].
pub fn check_vector_ending(path: &Path) -> Result<()> {
    separator(path).map(drop)
}

/// Writes a vector: `.npy`, or `.csv` and `.tsv` with a heading and a line "node, value" per element.
///
/// # Errors
/// [`Error::UnknownEnding`], [`Error::Io`], [`Error::Cancelled`]. Nothing is left behind.
pub fn write_vector<'a>(path: &Path, vector: impl Into<VectorData<'a>>, control: &Control) -> Result<()> {
    let vector = vector.into();
    let separator = separator(path)?;
    atomically(path, control, |out: &mut Sink<'_>| {
        let Some(separator) = separator else {
            let (descr, bytes) = vector.npy();
            out.put(&npy::header_bytes(descr, &format!("({},)", vector.len())))?;
            return out.put(bytes);
        };
        out.put(&[b"node", &[separator][..], b"value\n"].concat())?;
        const ROWS: usize = 1 << 14;
        let blocks: Vec<usize> = (0..vector.len()).step_by(ROWS).collect();
        for batch in blocks.chunks(64) {
            let lines: Vec<Vec<u8>> =
                batch.par_iter().map(|&start| vector.lines(start..(start + ROWS).min(vector.len()), separator)).collect();
            lines.iter().try_for_each(|bytes| out.put(bytes))?;
        }
        Ok(())
    })
}

/// Reads a vector: `.npy` of one dimension (of any type it may have), or text with a number per line, or a line number and a number as
/// [`write_vector`] writes them (then of `f64`). Infinities are allowed.
///
/// # Errors
/// Any [`Error`] that names the file and what is wrong.
pub fn read_vector(path: &Path, mode: ReadMode) -> Result<Values> {
    let bytes = crate::source::open_bytes(path, mode)?;
    let bytes: &[u8] = (*bytes).as_ref();
    if path.extension().is_none_or(|e| !e.eq_ignore_ascii_case("npy")) {
        return text(bytes, path);
    }
    npy_vector(bytes).map_err(|fault| {
        let (path, part) = (path.to_path_buf(), "array".to_string());
        match fault {
            Fault::What(what) => Error::Malformed { path, part, what },
            Fault::Size { expected, found } => Error::Size { path, part, expected, found },
            Fault::Shape { shape, bytes } => Error::Shape { path, part, shape, bytes },
            Fault::Io(source) => Error::Io { path, source },
        }
    })
}

pub(crate) fn npy_vector(mut bytes: &[u8]) -> Result<Values, Fault> {
    let header = npy::read_header(&mut bytes)?;
    // One row or column is a vector too.
    if header.shape.iter().filter(|&&d| d != 1).count() > 1 || header.shape.is_empty() {
        return Err(Fault::What("the array is not a vector"));
    }
    let values = npy::read_values(&mut bytes, &header)?;
    npy::at_end(&mut bytes)?;
    Ok(values)
}

fn text(bytes: &[u8], path: &Path) -> Result<Values> {
    let mut values = Vec::new();
    for (line, number_of) in bytes.split(|&b| b == b'\n').zip(1u64..) {
        if !is_data(line, b"#%") || line.starts_with(b"node") {
            continue;
        }
        let fail = |problem| Error::Line { path: path.to_path_buf(), line: number_of, problem };
        let mut words = line.split(|&b| b.is_ascii_whitespace() || b == b',').filter(|w| !w.is_empty());
        let first = words.next().unwrap_or_default();
        let token = match words.next() {
            None => first,
            Some(second) => {
                let id = number::unsigned(first).map_err(|_| fail(Problem::NotAnInteger { found: shown(first) }))?;
                let next = values.len() as u64;
                if id != next {
                    return Err(fail(Problem::IdOutOfRange { what: "node", id, first: next, last: next }));
                }
                second
            }
        };
        if let Some(extra) = words.next() {
            return Err(fail(Problem::Trailing { found: shown(extra) }));
        }
        let value = std::str::from_utf8(token).ok().and_then(|t| t.parse::<f64>().ok()).filter(|v| !v.is_nan());
        values.push(value.ok_or_else(|| fail(Problem::NotANumber { found: shown(token) }))?);
    }
    Ok(values.into())
}
