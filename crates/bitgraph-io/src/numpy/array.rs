//! Arrays of any number of dimensions, alone in a `.npy` file or by name in an `.npz` archive.

use super::npy::{self, Fault};
use super::zip::{self, Member};
use crate::source::{Bytes, open_bytes};
use crate::{Error, ReadMode, Result};
use bitgraph_sparse::{Buffer, Values};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Numbers and a shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The sizes of the dimensions; none for a single number.
    pub shape: Vec<usize>,
    /// The elements, the last dimension fastest.
    pub values: Values,
}

/// Reads a `.npy` file of bools, integers or floats of at most 64 bits. O(elements). 32-bit floats row by row, in the byte order of this
/// machine, stay where the bytes of the file are: in the file, where it is mapped.
///
/// # Errors
/// [`Error::Io`]; [`Error::Malformed`], [`Error::Size`] or [`Error::Shape`] for what is no such array: arrays of objects are refused, since
/// reading one would execute what it holds.
pub fn read_array(path: &Path, mode: ReadMode) -> Result<Array> {
    let bytes = open_bytes(path, mode)?;
    if let Some(array) = in_place(&bytes) {
        return Ok(array);
    }
    array(&mut (*bytes).as_ref()).map_err(|f| f.at(path, "array".to_string()))
}

/// An array of 32-bit floats over the bytes of its file; none for other arrays, those that are not aligned, and files that are not right.
fn in_place(bytes: &Bytes) -> Option<Array> {
    let mut rest: &[u8] = (**bytes).as_ref();
    let all = rest.len();
    let header = npy::read_header(&mut rest).ok()?;
    if header.code != "f4" || header.fortran || header.big_endian != cfg!(target_endian = "big") {
        return None;
    }
    let shape = header.shape.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<Vec<_>>>()?;
    let count = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|n| n.checked_mul(4) == Some(rest.len()))?;
    let (offset, owner) = (all - rest.len(), Arc::new(Owner(Arc::clone(bytes))));
    Some(Array { shape, values: Values::F32(Buffer::from_owner(owner, offset, count, "values").ok()?) })
}

/// What keeps the bytes of a file.
struct Owner(Bytes);
impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// An `.npz` archive, whose arrays are read when they are asked for.
pub struct Archive {
    path: PathBuf,
    bytes: Bytes,
    members: Vec<Member>,
}

impl Archive {
    /// Opens an archive: its directory is read.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Empty`], [`Error::Malformed`].
    pub fn open(path: &Path, mode: ReadMode) -> Result<Self> {
        let bytes = open_bytes(path, mode)?;
        let members = zip::archive_members((*bytes).as_ref(), path)?;
        Ok(Self { path: path.to_path_buf(), bytes, members })
    }
    /// The names of the arrays, in the order of the archive.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().filter_map(|m| m.name.strip_suffix(".npy"))
    }
    /// Whether there is an array of this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.names().any(|n| n == name)
    }
    /// Reads an array.
    ///
    /// # Errors
    /// [`Error::Malformed`] where there is none of this name; as [`read_array`].
    pub fn array(&self, name: &str) -> Result<Array> {
        let fault = |f: Fault| f.at(&self.path, format!("array '{name}'"));
        let member = self.members.iter().find(|m| m.name.strip_suffix(".npy") == Some(name));
        let member = member.ok_or_else(|| fault(Fault::What("the archive has no such array")))?;
        array(&mut member.open((*self.bytes).as_ref())).map_err(fault)
    }
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Archive").field("path", &self.path).field("names", &self.names().collect::<Vec<_>>()).finish()
    }
}

fn array(reader: &mut impl Read) -> Result<Array, Fault> {
    let header = npy::read_header(reader)?;
    if header.code.starts_with('O') {
        return Err(Fault::What("the array holds Python objects, which are not read: that would execute what the file says"));
    }
    let values = npy::read_values(reader, &header)?;
    npy::at_end(reader)?;
    let sizes = header.shape.iter().map(|&d| usize::try_from(d)).collect::<Result<Vec<_>, _>>();
    let shape = sizes.map_err(|_| Fault::What("a dimension is too large for this machine"))?;
    let values = match shape[..] {
        [rows, columns] if header.fortran => {
            let order: Vec<usize> = (0..rows).flat_map(|i| (0..columns).map(move |j| j * rows + i)).collect();
            values.gather(&order)
        }
        [_, _, _, ..] if header.fortran => return Err(Fault::What("an array of more than two dimensions is stored by columns")),
        _ => values,
    };
    Ok(Array { shape, values })
}

impl Fault {
    /// The error, in a part of a file.
    pub(crate) fn at(self, path: &Path, part: String) -> Error {
        let path = path.to_path_buf();
        match self {
            Self::What(what) => Error::Malformed { path, part, what },
            Self::Size { expected, found } => Error::Size { path, part, expected, found },
            Self::Shape { shape, bytes } => Error::Shape { path, part, shape, bytes },
            Self::Io(e) if e.kind() == io::ErrorKind::InvalidData => {
                Error::Malformed { path, part, what: "the stored bytes are damaged (wrong checksum, size or compression)" }
            }
            Self::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                Error::Malformed { path, part, what: "the compressed bytes end early" }
            }
            Self::Io(source) => Error::Io { path, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(descr: &str, fortran: bool, shape: &str, bytes: &[u8]) -> Vec<u8> {
        let order = if fortran { "True" } else { "False" };
        let dict = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut all = b"\x93NUMPY\x01\x00".to_vec();
        all.extend_from_slice(&(dict.len() as u16).to_le_bytes());
        all.extend_from_slice(dict.as_bytes());
        all.extend_from_slice(bytes);
        all
    }

    #[test]
    fn floats_stay_where_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.npy");
        let data: Vec<u8> = (0..6).flat_map(|i| (i as f32).to_le_bytes()).collect();
        // The header of 10 bytes is filled up to a multiple of 64, as numpy does it.
        let header = format!("{:<117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(&data);
        std::fs::write(&file, &bytes).unwrap();
        for mode in [ReadMode::Map, ReadMode::Copy] {
            let found = read_array(&file, mode).unwrap();
            assert_eq!(found, Array { shape: vec![2, 3], values: vec![0f32, 1.0, 2.0, 3.0, 4.0, 5.0].into() });
        }
        let held: Bytes = Arc::new(bytes.clone());
        let at = (*held).as_ref().as_ptr() as usize;
        if let Some(Array { values: Values::F32(values), .. }) = in_place(&held) {
            assert_eq!(values.as_ptr() as usize, at + 128);
        }
        bytes.pop();
        std::fs::write(&file, &bytes).unwrap();
        assert!(matches!(read_array(&file, ReadMode::Map), Err(Error::Size { .. })));
    }
    #[test]
    fn arrays_come_by_rows_and_objects_are_refused() {
        let read = |bytes: Vec<u8>| array(&mut &bytes[..]);
        let wanted = Array { shape: vec![2, 3], values: vec![1u8, 2, 3, 4, 5, 6].into() };
        assert_eq!(read(npy("|u1", false, "(2, 3)", &[1, 2, 3, 4, 5, 6])).unwrap(), wanted);
        assert_eq!(read(npy("|u1", true, "(2, 3)", &[1, 4, 2, 5, 3, 6])).unwrap(), wanted);
        assert_eq!(read(npy("|u1", false, "()", &[7])).unwrap(), Array { shape: vec![], values: vec![7u8].into() });
        assert!(matches!(read(npy("|O", false, "(1,)", b"cos\nsystem")), Err(Fault::What(what)) if what.contains("objects")));
        assert!(matches!(read(npy("|u1", false, "(2, 3)", &[1])), Err(Fault::Size { expected: 6, found: 1 })));
        assert!(matches!(read(npy("|u1", true, "(1, 1, 1)", &[1])), Err(Fault::What(_))));
    }
}
