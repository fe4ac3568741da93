//! An open container: sections borrowed from the file, verified when they are first used.

use super::layout::{BLOCK_LOG2, Head, NO_FORMAT, Record, Role};
use crate::source::Bytes;
use crate::{Error, Loaded, ReadMode, ReadOptions, Result, StoredFormat};
use bitgraph_semiring::DType;
use bitgraph_sparse::ordering::Ordering as Renumbering;
use bitgraph_sparse::{Buffer, Csr, Format, FormatKind, Permutation, SectionData, Sections, Values, parallel};
use half::{bf16, f16};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The file's bytes as the owner of buffers.
struct Owner(Bytes);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// An open `.bgr` file. Opening reads header and table only, whatever the size of the file.
pub struct Container {
    path: PathBuf,
    owner: Arc<Owner>,
    head: Head,
    /// Whether the checksums of a section have been verified.
    verified: Vec<AtomicBool>,
}

impl std::fmt::Debug for Container {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Container").field("path", &self.path).field("head", &self.head).finish_non_exhaustive()
    }
}

impl Container {
    /// Opens a container and checks its header, section table and length. What becomes of later changes to the file, [`ReadMode`] says.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Malformed`], [`Error::Size`] for a file shorter or longer than it says, [`Error::Version`],
    /// [`Error::Checksum`].
    pub fn open(path: &Path, mode: ReadMode) -> Result<Self> {
        Self::from_bytes(crate::source::open_bytes(path, mode)?, path)
    }

    pub(crate) fn from_bytes(bytes: Bytes, path: &Path) -> Result<Self> {
        if cfg!(target_endian = "big") {
            let path = path.to_path_buf();
            return Err(Error::Unsupported {
                path,
                what: "byte order of this machine",
                found: "big endian".into(),
                known: "little endian",
            });
        }
        let head = Head::parse((*bytes).as_ref(), path)?;
        let verified = head.records.iter().map(|_| AtomicBool::new(false)).collect();
        let container = Self { path: path.to_path_buf(), owner: Arc::new(Owner(bytes)), head, verified };
        Csr::ids(container.head.rows, container.head.columns).map_err(|e| container.matrix(e))?;
        if container.head.format != NO_FORMAT && container.format().is_none() {
            return Err(container.malformed("header", "unknown format kind"));
        }
        Ok(container)
    }

    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.head.rows as usize, self.head.columns as usize)
    }
    /// The number of entries.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.head.entries
    }
    /// The format of the pattern, if there is one.
    #[must_use]
    pub fn format(&self) -> Option<FormatKind> {
        FormatKind::from_code(self.head.format)
    }
    /// Whether the matrix equals its transpose, if the writer knew.
    #[must_use]
    pub fn symmetric(&self) -> Option<bool> {
        self.head.symmetric
    }
    /// Name, element type and bytes of every section.
    pub fn sections(&self) -> impl Iterator<Item = (&str, DType, u64)> {
        self.head.records.iter().map(|r| (r.name.as_str(), r.dtype, r.bytes))
    }

    fn malformed(&self, part: &str, what: &'static str) -> Error {
        Error::Malformed { path: self.path.clone(), part: part.to_string(), what }
    }
    fn matrix(&self, source: bitgraph_sparse::Error) -> Error {
        Error::Matrix { path: self.path.clone(), source }
    }

    /// Verifies all checksums, used or not, and that the contents make a valid matrix where this crate knows the format (CSR);
    /// arrays of tiles are checked by whoever makes a layout of them. Reads the whole file.
    ///
    /// # Errors
    /// [`Error::Checksum`] with the first damaged block; [`Error::Matrix`] or [`Error::Malformed`] for contents that do not fit.
    pub fn check(&self) -> Result<()> {
        (0..self.head.records.len()).try_for_each(|i| self.verify(i))?;
        self.load(&ReadOptions::default()).map(drop)
    }

    /// Verifies the blocks of a section unless that was done before.
    fn verify(&self, index: usize) -> Result<()> {
        if self.verified[index].load(Ordering::Acquire) {
            return Ok(());
        }
        let record = &self.head.records[index];
        let range = record.padded();
        let bytes = &(*self.owner).as_ref()[range.start as usize..range.end as usize];
        let sums = &self.head.checksums[record.checksums.clone()];
        let damaged = parallel::first(bytes.len().div_ceil(1 << BLOCK_LOG2).min(sums.len()), 1, |block| {
            let start = block << BLOCK_LOG2;
            let (found, expected) = (crc32fast::hash(&bytes[start..bytes.len().min(start + (1 << BLOCK_LOG2))]), sums[block]);
            (found != expected).then_some((block, expected, found))
        });
        if let Some((block, expected, found)) = damaged {
            let (path, part) = (self.path.clone(), format!("section '{}'", record.name));
            return Err(Error::Checksum { path, part, block: block as u64, expected, found });
        }
        self.verified[index].store(true, Ordering::Release);
        Ok(())
    }

    /// The elements of a section, borrowed from the file.
    fn buffer<T: bytemuck::Pod>(&self, record: &Record) -> Result<Buffer<T>> {
        let len = record.bytes as usize / size_of::<T>();
        Buffer::from_owner(Arc::clone(&self.owner), record.offset as usize, len, "section").map_err(|e| self.matrix(e))
    }

    /// The verified sections of a role.
    fn of_role(&self, role: Role) -> Result<Vec<&Record>> {
        let mut found = Vec::new();
        for (i, record) in self.head.records.iter().enumerate().filter(|(_, r)| r.role == role) {
            self.verify(i)?;
            found.push(record);
        }
        Ok(found)
    }

    /// The arrays of the pattern's format, verified, borrowed from the file without copying.
    ///
    /// # Errors
    /// [`Error::Checksum`], [`Error::Malformed`].
    pub fn format_sections(&self) -> Result<Sections> {
        let mut sections = Sections::new();
        for record in self.of_role(Role::Format)? {
            let data = match record.dtype {
                DType::U8 => SectionData::U8(self.buffer(record)?),
                DType::U16 => SectionData::U16(self.buffer(record)?),
                DType::U32 => SectionData::U32(self.buffer(record)?),
                DType::U64 => SectionData::U64(self.buffer(record)?),
                _ => return Err(self.malformed(&format!("section '{}'", record.name), "a pattern's arrays are unsigned integers")),
            };
            sections.insert(record.name.clone(), data);
        }
        Ok(sections)
    }

    /// The values, verified, borrowed from the file (bools are copied).
    ///
    /// # Errors
    /// [`Error::Checksum`], [`Error::Malformed`].
    pub fn values(&self) -> Result<Option<Values>> {
        let records = self.of_role(Role::Values)?;
        let Some(&r) = records.first() else { return Ok(None) };
        Ok(Some(match r.dtype {
            DType::Bool => {
                let bytes = self.buffer::<u8>(r)?;
                if bytes.iter().any(|&b| b > 1) {
                    return Err(self.malformed("section 'values'", "a bool is neither 0 nor 1"));
                }
                bytes.iter().map(|&b| b != 0).collect::<Vec<bool>>().into()
            }
            DType::I8 => Values::I8(self.buffer(r)?),
            DType::I16 => Values::I16(self.buffer(r)?),
            DType::I32 => Values::I32(self.buffer(r)?),
            DType::I64 => Values::I64(self.buffer(r)?),
            DType::U8 => Values::U8(self.buffer(r)?),
            DType::U16 => Values::U16(self.buffer(r)?),
            DType::U32 => Values::U32(self.buffer(r)?),
            DType::U64 => Values::U64(self.buffer(r)?),
            DType::F16 => Values::F16(self.buffer::<f16>(r)?),
            DType::Bf16 => Values::Bf16(self.buffer::<bf16>(r)?),
            DType::F32 => Values::F32(self.buffer(r)?),
            DType::F64 => Values::F64(self.buffer(r)?),
        }))
    }

    /// A vector of a role that has one at most.
    fn only<T: bytemuck::Pod>(&self, role: Role, dtype: DType) -> Result<Option<Buffer<T>>> {
        match self.of_role(role)?.first() {
            None => Ok(None),
            Some(r) if r.dtype == dtype => self.buffer(r).map(Some),
            Some(r) => Err(self.malformed(&format!("section '{}'", r.name), "the elements are of another type")),
        }
    }

    /// The renumbering that rows and columns are in.
    ///
    /// # Errors
    /// [`Error::Checksum`], [`Error::Malformed`], [`Error::Matrix`] if it is none.
    pub fn permutation(&self) -> Result<Option<Permutation>> {
        let Some(map) = self.only::<u32>(Role::Permutation, DType::U32)? else { return Ok(None) };
        if map.len() as u64 != self.head.rows {
            return Err(self.malformed("section 'permutation'", "there are more or fewer elements than rows"));
        }
        Permutation::from_new_of_old(map.into_vec()).map(Some).map_err(|e| self.matrix(e))
    }

    /// The ordering that computed the renumbering; none if there is no renumbering, or it is not known.
    #[must_use]
    pub fn ordering(&self) -> Renumbering {
        let record = self.head.records.iter().find(|r| r.role == Role::Permutation);
        record.and_then(|r| r.name.strip_prefix("permutation.")).and_then(Renumbering::from_name).unwrap_or_default()
    }

    /// The vertices' numbers in the file they came from.
    ///
    /// # Errors
    /// [`Error::Checksum`], [`Error::Malformed`].
    pub fn original_ids(&self) -> Result<Option<Vec<u64>>> {
        let ids = self.only::<u64>(Role::OriginalIds, DType::U64)?;
        if ids.as_ref().is_some_and(|ids| ids.len() as u64 != self.head.rows) {
            return Err(self.malformed("section 'original_ids'", "there are more or fewer elements than rows"));
        }
        if ids.as_ref().is_some_and(|ids| !ids.is_sorted_by(|a, b| a < b)) {
            return Err(self.malformed("section 'original_ids'", "the numbers do not ascend"));
        }
        Ok(ids.map(Buffer::into_vec))
    }

    /// Everything in the container, verified.
    pub(crate) fn load(&self, options: &ReadOptions) -> Result<Loaded> {
        let (rows, columns) = self.shape();
        let kind = self.format().ok_or_else(|| self.malformed("header", "the container holds no pattern"))?;
        let sections = self.format_sections()?;
        let values = if options.as_pattern { None } else { self.values()? };
        if values.as_ref().is_some_and(|v| v.len() as u64 != self.head.entries) {
            return Err(self.malformed("section 'values'", "there are more or fewer values than entries"));
        }
        let (csr, format) = if kind == FormatKind::Csr {
            // A pattern with more rows than offsets is refused here, before anything is allocated by that number.
            (Csr::from_sections(rows, columns, &sections).map_err(|e| self.matrix(e))?, None)
        } else {
            crate::loaded::check_vertices(&self.path, "rows or columns", self.head.rows, (*self.owner).as_ref().len() as u64, options)?;
            let stored = StoredFormat { kind, rows, columns, entries: self.head.entries, sections };
            (Csr::empty(0, 0).map_err(|e| self.matrix(e))?, Some(stored))
        };
        if format.is_none() && csr.nnz() as u64 != self.head.entries {
            return Err(self.malformed("section 'indices'", "there are more or fewer entries than the header says"));
        }
        // What it says holds for pattern and values: without values the pattern may be symmetric though they are not.
        let forgotten = options.as_pattern && self.head.records.iter().any(|r| r.role == Role::Values);
        let symmetric = self.head.symmetric.filter(|&s| s || !forgotten);
        if symmetric == Some(true) && format.is_none() && !csr.seems_symmetric(values.as_ref()) {
            return Err(crate::loaded::not_symmetric(&self.path));
        }
        let mut loaded = Loaded { symmetric, format, ..Loaded::new(csr, values) };
        loaded.permutation = self.permutation()?;
        loaded.ordering = self.ordering();
        loaded.original_ids = self.original_ids()?;
        if options.symmetrize && self.head.symmetric != Some(true) && loaded.format.is_none() {
            return crate::loaded::symmetrized(loaded, &self.path, options);
        }
        Ok(loaded)
    }
}
