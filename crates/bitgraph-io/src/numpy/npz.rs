//! scipy's sparse matrices: the arrays of CSR, CSC or COO in an npz archive, as `scipy.sparse.save_npz` writes them.
//!
//! A matrix of bools that are all true is a pattern; that is how patterns are written.

use super::npy::{self, Fault, Header};
use super::zip::{self, Member};
use crate::{Error, Loaded, ReadOptions, Result};
use bitgraph_semiring::DType;
use bitgraph_sparse::{Coo, Csr, Offsets, Values, parallel, with_offsets, with_values};
use std::io::{self, Write};
use std::path::Path;

const NO_INTEGERS: &str = "the elements are not integers of 32 or 64 bits";

/// The arrays of an archive.
struct Archive<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    members: Vec<Member>,
}

impl Archive<'_> {
    fn fault(&self, name: &str, fault: Fault) -> Error {
        fault.at(self.path, format!("array '{name}'"))
    }

    fn member(&self, name: &str) -> Result<&Member> {
        let file = format!("{name}.npy");
        let member = self.members.iter().find(|m| m.name == file);
        member.ok_or_else(|| self.fault(name, Fault::What("the archive has no such array")))
    }

    fn open(&self, name: &str) -> Result<(Header, zip::Unpack<'_>)> {
        let mut reader = self.member(name)?.open(self.bytes);
        let header = npy::read_header(&mut reader).map_err(|f| self.fault(name, f))?;
        Ok((header, reader))
    }

    /// A vector of numbers.
    fn vector(&self, name: &str) -> Result<Values> {
        if let Some(stored) = self.member(name)?.stored(self.bytes) {
            let mut bytes = stored.map_err(|e| self.fault(name, e.into()))?;
            let header = npy::read_header(&mut bytes);
            let values = header.and_then(|header| npy::check_vector(&header).and_then(|()| npy::values_of(bytes, &header)));
            return values.map_err(|f| self.fault(name, f));
        }
        let (header, mut reader) = self.open(name)?;
        npy::check_vector(&header).map_err(|f| self.fault(name, f))?;
        let values = npy::read_values(&mut reader, &header).and_then(|v| npy::at_end(&mut reader).map(|()| v));
        values.map_err(|f| self.fault(name, f))
    }

    /// A vector of ids or offsets, which must fit `T`.
    fn whole<T: TryFrom<i64> + TryFrom<u64> + Default + Send>(&self, name: &str) -> Result<Vec<T>> {
        let (signed, unsigned) = (|x: i64| T::try_from(x).ok(), |x: u64| T::try_from(x).ok());
        if let Some(stored) = self.member(name)?.stored(self.bytes) {
            // Straight from the bytes: large arrays are written once.
            let mut bytes = stored.map_err(|e| self.fault(name, e.into()))?;
            let header = npy::read_header(&mut bytes).map_err(|f| self.fault(name, f))?;
            npy::check_vector(&header).map_err(|f| self.fault(name, f))?;
            let big = header.big_endian;
            let fault = |f| self.fault(name, f);
            return match header.code.as_str() {
                "i4" => self.typed(
                    name,
                    npy::words(bytes, &header).map_err(fault)?,
                    |&b| npy::ordered(b, big, i32::from_le_bytes),
                    |x| signed(x.into()),
                ),
                "i8" => self.typed(name, npy::words(bytes, &header).map_err(fault)?, |&b| npy::ordered(b, big, i64::from_le_bytes), signed),
                "u4" => self.typed(
                    name,
                    npy::words(bytes, &header).map_err(fault)?,
                    |&b| npy::ordered(b, big, u32::from_le_bytes),
                    |x| unsigned(x.into()),
                ),
                "u8" => {
                    self.typed(name, npy::words(bytes, &header).map_err(fault)?, |&b| npy::ordered(b, big, u64::from_le_bytes), unsigned)
                }
                _ => Err(fault(Fault::What(NO_INTEGERS))),
            };
        }
        match &self.vector(name)? {
            Values::I32(v) => self.typed(name, v, |&x| x, |x| signed(x.into())),
            Values::I64(v) => self.typed(name, v, |&x| x, signed),
            Values::U32(v) => self.typed(name, v, |&x| x, |x| unsigned(x.into())),
            Values::U64(v) => self.typed(name, v, |&x| x, unsigned),
            _ => Err(self.fault(name, Fault::What(NO_INTEGERS))),
        }
    }
    /// What `fits` makes of elements that `of` reads, all of which must fit.
    fn typed<S: Sync, N: std::fmt::Display, T: Default + Send>(
        &self,
        name: &str,
        elements: &[S],
        of: impl Fn(&S) -> N + Sync,
        fits: impl Fn(N) -> Option<T> + Sync,
    ) -> Result<Vec<T>> {
        if let Some(position) = parallel::position(elements, |x| fits(of(x)).is_none()) {
            let wanted = if size_of::<T>() == 4 { "it must be from 0 to 4294967295" } else { "it must not be negative" };
            return Err(self.element(name, position, &of(&elements[position]), wanted));
        }
        Ok(parallel::map(elements, |x| fits(of(x)).unwrap_or_default()))
    }
    fn element(&self, array: &str, position: usize, found: &dyn std::fmt::Display, wanted: &'static str) -> Error {
        let (path, array) = (self.path.to_path_buf(), array.to_string());
        Error::Element { path, array, position: position as u64, found: found.to_string(), wanted }
    }
    /// Checks the type and length of the values without reading them.
    fn check_values(&self, entries: usize) -> Result<()> {
        let (header, _) = self.open("data")?;
        npy::check_vector(&header).map_err(|f| self.fault("data", f))?;
        self.same_length("data", entries, header.shape[0])
    }
    /// As many elements as there are entries.
    fn same_length(&self, name: &str, expected: usize, found: u64) -> Result<()> {
        let (path, expected) = (self.path.to_path_buf(), expected as u64);
        let what = match name {
            "data" => "elements of array 'data'",
            "col" => "elements of array 'col'",
            _ => "elements of array 'indptr'",
        };
        if expected == found { Ok(()) } else { Err(Error::Count { path, what, expected, found }) }
    }

    /// The name of the format: a string of zero dimensions.
    fn format(&self) -> Result<String> {
        let (header, mut reader) = self.open("format")?;
        let width = match header.code.as_bytes() {
            [b'S', digits @ ..] => std::str::from_utf8(digits).ok().and_then(|d| d.parse::<usize>().ok()),
            [b'U', digits @ ..] => std::str::from_utf8(digits).ok().and_then(|d| d.parse::<usize>().ok()?.checked_mul(4)),
            _ => None,
        };
        let width = width.filter(|&w| w <= 64 && header.shape.is_empty());
        let width = width.ok_or_else(|| self.fault("format", Fault::What("the array is not a short string")))?;
        let mut bytes = vec![0; width];
        io::Read::read_exact(&mut reader, &mut bytes).map_err(|e| self.fault("format", e.into()))?;
        npy::at_end(&mut reader).map_err(|f| self.fault("format", f))?;
        // Of four-byte characters only ASCII ones make a known name.
        Ok(bytes.iter().filter(|&&b| b != 0).map(|&b| char::from(b)).collect())
    }
}

/// Reads a scipy sparse matrix.
pub(crate) fn from_bytes(bytes: &[u8], path: &Path, options: &ReadOptions) -> Result<Loaded> {
    let members = zip::archive_members(bytes, path)?;
    let archive = Archive { path, bytes, members };
    let format = archive.format()?;
    if !matches!(format.as_str(), "csr" | "csc" | "coo") {
        let found = crate::text::shown(format.as_bytes());
        return Err(Error::Unsupported { path: path.to_path_buf(), what: "sparse format", found, known: "csr, csc, coo" });
    }
    let shape = archive.whole::<u64>("shape")?;
    let &[rows, columns] = &shape[..] else {
        return Err(archive.fault("shape", Fault::What("a matrix has two dimensions")));
    };
    let matrix = |source| Error::Matrix { path: path.to_path_buf(), source };
    Csr::ids(rows, columns).map_err(matrix)?;
    crate::loaded::check_vertices(path, "rows or columns", rows.max(columns), bytes.len() as u64, options)?;
    let (nrows, ncols) = (rows as usize, columns as usize);
    let values = if options.as_pattern { None } else { Some(archive.vector("data")?).filter(|v| !all_true(v)) };
    if format == "coo" {
        let (r, c): (Vec<u32>, Vec<u32>) = (archive.whole("row")?, archive.whole("col")?);
        archive.same_length("col", r.len(), c.len() as u64)?;
        archive.check_values(r.len())?;
        return crate::loaded::from_coo(Coo { values, ..Coo::pattern(nrows, ncols, r, c) }, path, options);
    }
    let by_column = format == "csc";
    let (major, minor) = if by_column { (ncols, nrows) } else { (nrows, ncols) };
    let offsets = archive.whole::<u64>("indptr")?;
    let indices = archive.whole::<u32>("indices")?;
    archive.same_length("indptr", major + 1, offsets.len() as u64)?;
    check_offsets(&archive, &offsets, indices.len())?;
    archive.check_values(indices.len())?;
    let ordered = parallel::all(major, 4096, |i| indices[offsets[i] as usize..offsets[i + 1] as usize].is_sorted_by(|a, b| a < b));
    if !ordered || by_column || options.symmetrize {
        let mut majors = vec![0u32; indices.len()];
        parallel::rows_mut(&offsets, &mut majors, |i, row| row.fill(i as u32));
        let (r, c) = if by_column { (indices, majors) } else { (majors, indices) };
        return crate::loaded::from_coo(Coo { values, ..Coo::pattern(nrows, ncols, r, c) }, path, options);
    }
    let offsets = Offsets::from_usizes(&offsets.iter().map(|&o| o as usize).collect::<Vec<_>>());
    let csr = Csr::new(major, minor, offsets, indices.into()).map_err(matrix)?;
    Ok(Loaded::new(csr, values))
}

/// Offsets rise from 0 to the number of indices.
fn check_offsets(archive: &Archive<'_>, offsets: &[u64], indices: usize) -> Result<()> {
    let breach = |position: usize, wanted| Err(archive.element("indptr", position, &offsets[position], wanted));
    if offsets[0] != 0 {
        return breach(0, "the first offset must be 0");
    }
    if let Some(i) = offsets.windows(2).position(|w| w[0] > w[1]) {
        return breach(i + 1, "offsets must not decrease");
    }
    let last = offsets.len() - 1;
    if offsets[last] == indices as u64 { Ok(()) } else { breach(last, "the last offset must be the number of elements of array 'indices'") }
}

fn all_true(values: &Values) -> bool {
    matches!(values, Values::Bool(v) if parallel::position(v, |&b| !b).is_none())
}

/// numpy's name of a type, little endian; none for bf16.
pub(crate) fn descr(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::Bool => "|b1",
        DType::I8 => "|i1",
        DType::I16 => "<i2",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::U8 => "|u1",
        DType::U16 => "<u2",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::F16 => "<f2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::Bf16 => return None,
    })
}

/// Writes a CSR matrix as `scipy.sparse.load_npz` reads it.
pub(crate) fn write(out: &mut dyn Write, csr: &Csr, values: Option<&Values>) -> io::Result<()> {
    let mut zip = zip::Writer::new(out);
    let n = csr.nnz();
    let vector = |descr: &str, len: usize| npy::header_bytes(descr, &format!("({len},)"));
    // scipy's ids and offsets are signed and of one width.
    let narrow = n <= i32::MAX as usize && csr.ncols() <= i32::MAX as usize;
    if narrow {
        zip.add("indices.npy", &[&vector("<i4", n), bytemuck::cast_slice(csr.indices())])?;
        let offsets: Vec<u32> = with_offsets!(csr.offsets(), o => o.iter().map(|&x| bitgraph_sparse::OffsetInt::index(x) as u32).collect());
        zip.add("indptr.npy", &[&vector("<i4", offsets.len()), bytemuck::cast_slice(&offsets)])?;
    } else {
        let wide: Vec<u64> = csr.indices().iter().map(|&c| c.into()).collect();
        zip.add("indices.npy", &[&vector("<i8", n), bytemuck::cast_slice(&wide)])?;
        let offsets: Vec<u64> = with_offsets!(csr.offsets(), o => o.iter().map(|&x| bitgraph_sparse::OffsetInt::index(x) as u64).collect());
        zip.add("indptr.npy", &[&vector("<i8", offsets.len()), bytemuck::cast_slice(&offsets)])?;
    }
    zip.add("format.npy", &[&npy::header_bytes("|S3", "()"), b"csr"])?;
    let shape = [csr.nrows() as u64, csr.ncols() as u64];
    zip.add("shape.npy", &[&vector("<i8", 2), bytemuck::cast_slice(&shape)])?;
    match values {
        None => zip.add("data.npy", &[&vector("|b1", n), &vec![1u8; n]])?,
        Some(values) => {
            let name = descr(values.dtype()).ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "numpy has no bf16"))?;
            with_values!(values, v => zip.add("data.npy", &[&vector(name, n), bytemuck::cast_slice(v)]))?;
        }
    }
    zip.finish()
}
