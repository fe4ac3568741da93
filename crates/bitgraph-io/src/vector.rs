//! Vectors as files: `.npy`, `.csv`, `.tsv`.

use crate::numpy::npy::{self, Fault};
use crate::sink::{Sink, atomically};
use crate::text::number;
use crate::text::{is_data, shown};
use crate::{Error, Problem, ReadMode, Result, WriteOptions};
use bitgraph_sparse::{Values, parallel};
use std::io::Write;
use std::path::Path;

/// A vector to be written.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum VectorData<'a> {
    I32(&'a [i32]),
    U32(&'a [u32]),
    I64(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    /// Whole distances, [`u64::MAX`] where there is none: in text as they are and `inf`, in `.npy` as floats, of 32 bits if `single`.
    Distances {
        values: &'a [u64],
        single: bool,
    },
    /// Vertices by the numbers of `names`, which ascend; [`u32::MAX`] for none. In text as they are and -1; in `.npy` as `i64` with -1, or as `u64`
    /// with 2^64 - 1 for none where a name needs it.
    Vertices {
        values: &'a [u32],
        names: &'a [u64],
    },
}

/// What an element of a vector is of, which the heading of a table says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Item {
    /// A vertex: the column "node".
    #[default]
    Node,
    /// One of many graphs: the column "graph".
    Graph,
}

impl Item {
    const fn heading(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Graph => "graph",
        }
    }
}

/// What the elements of a vector belong to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Naming<'a> {
    /// The numbers of the vertices; without, they are 0, 1, 2, ...
    pub vertices: Option<&'a [u64]>,
    /// There are values of all vertices for each of these sources, one after the other; without, there is one for each vertex.
    pub sources: Option<&'a [u64]>,
    /// What each of them is of.
    pub item: Item,
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
            Self::Distances { values, .. } => values.len(),
            Self::Vertices { values, .. } => values.len(),
        }
    }
    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The type in `.npy`.
    fn descr(&self) -> &'static str {
        match self {
            Self::I32(_) => "<i4",
            Self::U32(_) => "<u4",
            Self::I64(_) => "<i8",
            Self::F32(_) | Self::Distances { single: true, .. } => "<f4",
            Self::F64(_) | Self::Distances { single: false, .. } => "<f8",
            Self::Vertices { names, .. } if is_wide(names) => "<u8",
            Self::Vertices { .. } => "<i8",
        }
    }
    /// The bytes in `.npy`.
    fn put(&self, out: &mut Sink<'_>) -> Result<()> {
        /// Converted a block at a time.
        fn blocks<T: Copy, U: bytemuck::Pod>(out: &mut Sink<'_>, values: &[T], convert: impl Fn(T) -> U) -> Result<()> {
            values.chunks(1 << 16).try_for_each(|block| {
                let block: Vec<U> = block.iter().map(|&x| convert(x)).collect();
                out.put(bytemuck::cast_slice(&block))
            })
        }
        let distance = |d: u64| if d == u64::MAX { f64::INFINITY } else { d as f64 };
        match *self {
            Self::I32(v) => out.put(bytemuck::cast_slice(v)),
            Self::U32(v) => out.put(bytemuck::cast_slice(v)),
            Self::I64(v) => out.put(bytemuck::cast_slice(v)),
            Self::F32(v) => out.put(bytemuck::cast_slice(v)),
            Self::F64(v) => out.put(bytemuck::cast_slice(v)),
            Self::Distances { values, single: true } => blocks(out, values, |d| distance(d) as f32),
            Self::Distances { values, single: false } => blocks(out, values, distance),
            // All ones are -1, and the largest number.
            Self::Vertices { values, names } => blocks(out, values, |v| name(names, v).unwrap_or(u64::MAX)),
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
                Self::Distances { values, .. } if values[k] == u64::MAX => writeln!(out, "inf"),
                Self::Distances { values, .. } => writeln!(out, "{}", values[k]),
                Self::Vertices { values, names } => match name(names, values[k]) {
                    Some(number) => writeln!(out, "{number}"),
                    None => writeln!(out, "-1"),
                },
            };
        }
        out
    }
}

/// The number of a vertex; None for none.
fn name(names: &[u64], vertex: u32) -> Option<u64> {
    names.get(vertex as usize).copied()
}

/// Whether some number does not fit 63 bits.
fn is_wide(names: &[u64]) -> bool {
    names.last().is_some_and(|&n| i64::try_from(n).is_err())
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
/// [`Error::UnknownEnding`], [`Error::Io`], [`Error::Folder`], [`Error::Cancelled`]; [`Error::Inexpressible`] for the vertex 2^64 - 1 beside none in
/// `.npy`; [`Error::Count`] for a vector that has not one element for each vertex
/// (of each source). Nothing is left behind.
pub fn write_vector<'a>(path: &Path, vector: impl Into<VectorData<'a>>, naming: &Naming<'_>, options: &WriteOptions) -> Result<()> {
    let vector = vector.into();
    let separator = separator(path)?;
    let rows = naming.sources.map_or(1, <[u64]>::len);
    let vertices = naming.vertices.map_or(vector.len() / rows.max(1), <[u64]>::len);
    if rows * vertices != vector.len() {
        let (path, expected, found) = (path.to_path_buf(), (rows * vertices) as u64, vector.len() as u64);
        return Err(Error::Count { path, what: "elements", expected, found });
    }
    if let (None, VectorData::Vertices { values, names }) = (separator, vector)
        && names.last() == Some(&u64::MAX)
        && values.contains(&u32::MAX)
    {
        let what = "vertex 18446744073709551615 cannot be told from none in .npy; write .csv or .tsv";
        return Err(Error::Inexpressible { path: path.to_path_buf(), what });
    }
    atomically(path, options, |out: &mut Sink<'_>| {
        let Some(separator) = separator else {
            let shape = if naming.sources.is_some() { format!("({rows}, {vertices})") } else { format!("({vertices},)") };
            out.put(&npy::header_bytes(vector.descr(), &shape))?;
            return vector.put(out);
        };
        let item = naming.item.heading().as_bytes();
        let heading = if naming.sources.is_some() { vec![b"source", item, b"value\n"] } else { vec![item, b"value\n"] };
        out.put(&heading.join(&separator))?;
        const ROWS: usize = 1 << 14;
        let blocks: Vec<usize> = (0..vector.len()).step_by(ROWS).collect();
        for batch in blocks.chunks(64) {
            let rows = |start: usize| start..(start + ROWS).min(vector.len());
            let lines = parallel::collect(batch.len(), |b| vector.lines(rows(batch[b]), separator, naming, vertices));
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
    npy_vector(bytes).map_err(|fault| fault.at(path, "array".to_string()))
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
        if !is_data(line, b"#%") || [Item::Node, Item::Graph].iter().any(|item| line.starts_with(item.heading().as_bytes())) {
            continue;
        }
        let fail = |problem| Error::Line { path: path.to_path_buf(), line: number_of, problem };
        let mut words = [&b""[..]; crate::edges::FIELDS];
        let count = crate::edges::fields(line.trim_ascii(), &mut words).map_err(fail)?;
        let first = words[0];
        let token = match words[1] {
            _ if count < 2 => first,
            second => {
                let id = number::unsigned(first).map_err(|_| fail(Problem::NotAnInteger { found: shown(first) }))?;
                let next = values.len() as u64;
                if id != next {
                    return Err(fail(Problem::IdOutOfRange { what: "node", id, first: next, last: next }));
                }
                second
            }
        };
        if count > 2 {
            return Err(fail(Problem::Trailing { found: shown(words[2]) }));
        }
        let value = std::str::from_utf8(token).ok().and_then(|t| t.parse::<f64>().ok()).filter(|v| !v.is_nan());
        values.push(value.ok_or_else(|| fail(Problem::NotANumber { found: shown(token) }))?);
    }
    Ok(values.into())
}
