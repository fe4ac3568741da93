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

/// What the elements of a vector belong to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Naming<'a> {
    /// The numbers of the vertices; without, they are 0, 1, 2, ...
    pub vertices: Option<&'a [u64]>,
    /// There are values of all vertices for each of these sources, one after the other; without, there is one for each vertex.
    pub sources: Option<&'a [u64]>,
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
    /// Elements `range` as lines "number separator value", the source before it if there are several. Floats are written so that reading
    /// gives back the same bits.
    fn lines(&self, range: std::ops::Range<usize>, separator: u8, naming: &Naming<'_>, vertices: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(range.len() * 16);
        for k in range {
            let vertex = k % vertices;
            if let Some(sources) = naming.sources {
                crate::lines::number(&mut out, sources[k / vertices]);
                out.push(separator);
            }
            crate::lines::number(&mut out, naming.vertices.map_or(vertex as u64, |ids| ids[vertex]));
            out.push(separator);
            // Writing to memory does not fail.
            let _ = match self {
                Self::I32(v) => writeln!(out, "{}", v[k]),
                Self::U32(v) => writeln!(out, "{}", v[k]),
                Self::I64(v) => writeln!(out, "{}", v[k]),
                Self::F32(v) => writeln!(out, "{:?}", v[k]),
                Self::F64(v) => writeln!(out, "{:?}", v[k]),
            };
        }
        out
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

/// Writes a vector: `.npy`, or `.csv` and `.tsv` with a heading and a line "node, value" per element. Of several sources `.npy` has a row
/// each, and lines are "source, node, value". `.npy` holds no vertex numbers: elements are in the order of [`Naming::vertices`].
///
/// # Errors
/// [`Error::UnknownEnding`], [`Error::Io`], [`Error::Cancelled`]; [`Error::Count`] for a vector that has not one element for each vertex
/// (of each source). Nothing is left behind.
pub fn write_vector<'a>(path: &Path, vector: impl Into<VectorData<'a>>, naming: &Naming<'_>, control: &Control) -> Result<()> {
    let vector = vector.into();
    let separator = separator(path)?;
    let rows = naming.sources.map_or(1, <[u64]>::len);
    let vertices = naming.vertices.map_or(vector.len() / rows.max(1), <[u64]>::len);
    if rows * vertices != vector.len() {
        let (path, expected, found) = (path.to_path_buf(), (rows * vertices) as u64, vector.len() as u64);
        return Err(Error::Count { path, what: "elements", expected, found });
    }
    atomically(path, control, |out: &mut Sink<'_>| {
        let Some(separator) = separator else {
            let (descr, bytes) = vector.npy();
            let shape = if naming.sources.is_some() { format!("({rows}, {vertices})") } else { format!("({vertices},)") };
            out.put(&npy::header_bytes(descr, &shape))?;
            return out.put(bytes);
        };
        let heading: &[&[u8]] = if naming.sources.is_some() { &[b"source", b"node", b"value\n"] } else { &[b"node", b"value\n"] };
        out.put(&heading.join(&separator))?;
        const ROWS: usize = 1 << 14;
        let blocks: Vec<usize> = (0..vector.len()).step_by(ROWS).collect();
        for batch in blocks.chunks(64) {
            let lines: Vec<Vec<u8>> =
                batch.par_iter().map(|&start| vector.lines(start..(start + ROWS).min(vector.len()), separator, naming, vertices)).collect();
            lines.iter().try_for_each(|bytes| out.put(bytes))?;
        }
        Ok(())
    })
}

/// Reads a vector: `.npy` of one dimension (of any type it may have), or text with a number per line, or a line number and a number as
/// [`write_vector`] writes them of vertices 0, 1, 2, ... (then of `f64`). Infinities are allowed.
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
