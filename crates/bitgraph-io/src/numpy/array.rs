//! Arrays of any number of dimensions, alone in a `.npy` file or by name in an `.npz` archive.

use super::npy::{self, Fault};
use super::zip::{self, Member};
use crate::source::{Bytes, open_bytes};
use crate::{Error, ReadMode, Result};
use bitgraph_sparse::Values;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Numbers and a shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The sizes of the dimensions; none for a single number.
    pub shape: Vec<usize>,
    /// The elements, the last dimension fastest.
    pub values: Values,
}

/// Reads a `.npy` file of bools, integers or floats of at most 64 bits. O(elements).
///
/// # Errors
/// [`Error::Io`]; [`Error::Malformed`], [`Error::Size`] or [`Error::Shape`] for what is no such array: arrays of objects are refused, since
/// reading one would execute what it holds.
pub fn read_array(path: &Path, mode: ReadMode) -> Result<Array> {
    let bytes = open_bytes(path, mode)?;
    array(&mut (*bytes).as_ref()).map_err(|f| f.at(path, "array".to_string()))
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
