//! What every storage format is to a container, an upload or a byte count: a kind and typed, named arrays.

use crate::{Buffer, Csr, Error, Offsets, Result};
use std::collections::BTreeMap;
use std::fmt;

/// The storage formats. The codes are those of the container. Exhaustive on purpose: a backend that does not know a new one does not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FormatKind {
    /// Compressed sparse rows.
    Csr = 0,
    /// Bit tiles of 4 x 4.
    B2sr4 = 4,
    /// Bit tiles of 8 x 8.
    B2sr8 = 8,
    /// Bit tiles of 16 x 16.
    B2sr16 = 16,
    /// Bit tiles of 32 x 32.
    B2sr32 = 32,
    /// Bit tiles of 8 x 8 where they are filled, lists elsewhere.
    Hybrid = 64,
}

impl FormatKind {
    /// Every format.
    pub const ALL: [Self; 6] = [Self::Csr, Self::B2sr4, Self::B2sr8, Self::B2sr16, Self::B2sr32, Self::Hybrid];
    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::B2sr4 => "b2sr-4",
            Self::B2sr8 => "b2sr-8",
            Self::B2sr16 => "b2sr-16",
            Self::B2sr32 => "b2sr-32",
            Self::Hybrid => "hybrid",
        }
    }
    /// The format of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.name() == name)
    }
    /// The format of a container's code.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|&k| k as u32 == code)
    }
    /// The side of a tile, for the pure tile formats.
    #[must_use]
    pub const fn tile(self) -> Option<usize> {
        match self {
            Self::B2sr4 => Some(4),
            Self::B2sr8 => Some(8),
            Self::B2sr16 => Some(16),
            Self::B2sr32 => Some(32),
            Self::Csr | Self::Hybrid => None,
        }
    }
}

impl fmt::Display for FormatKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The elements of a section.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum SectionData {
    U8(Buffer<u8>),
    U16(Buffer<u16>),
    U32(Buffer<u32>),
    U64(Buffer<u64>),
}

impl SectionData {
    /// The elements as bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::U8(b) => b,
            Self::U16(b) => bytemuck::cast_slice(b),
            Self::U32(b) => bytemuck::cast_slice(b),
            Self::U64(b) => bytemuck::cast_slice(b),
        }
    }
    /// Bytes of one element.
    #[must_use]
    pub fn width(&self) -> usize {
        match self {
            Self::U8(_) => 1,
            Self::U16(_) => 2,
            Self::U32(_) => 4,
            Self::U64(_) => 8,
        }
    }
}

/// A named array.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The name, unique within a format.
    pub name: &'static str,
    /// The elements.
    pub data: SectionData,
}

/// The arrays of a format by name, as a container hands them back.
pub type Sections = BTreeMap<String, SectionData>;

/// A storage format of a sparse pattern. Any crate may have its own: arrays of names and types are all that an upload, a byte count or a
/// container needs of it. [`FormatKind`] lists the ones that planners weigh and containers number.
pub trait Format: Sized + Clone + Send + Sync + 'static {
    /// The name.
    const NAME: &'static str;
    /// Rows and columns.
    fn shape(&self) -> (usize, usize);
    /// The number of entries.
    fn nnz(&self) -> usize;
    /// The arrays: all that a container, an upload or a byte count needs.
    fn sections(&self) -> Vec<Section>;
    /// From arrays that come from outside; every invariant is checked.
    ///
    /// # Errors
    /// [`Error::Section`] for a missing or mistyped array, or whatever invariant does not hold.
    fn from_sections(rows: usize, columns: usize, sections: &Sections) -> Result<Self>;
    /// Exact size in bytes.
    fn bytes(&self) -> u64 {
        self.sections().iter().map(|s| s.data.bytes().len() as u64).sum()
    }
}

/// Takes a section of a given type out of a container's arrays.
#[macro_export]
macro_rules! section {
    ($sections:expr, $name:literal, $variant:ident) => {
        match $sections.get($name) {
            Some($crate::SectionData::$variant(buffer)) => Ok(buffer.clone()),
            _ => Err($crate::Error::Section { name: $name.to_string() }),
        }
    };
}

impl Offsets {
    /// The offsets as a section's elements.
    #[must_use]
    pub fn to_section(&self) -> SectionData {
        match self {
            Offsets::U32(b) => SectionData::U32(b.clone()),
            Offsets::U64(b) => SectionData::U64(b.clone()),
        }
    }
    /// Offsets from a section of either width.
    ///
    /// # Errors
    /// [`Error::Section`] if it is missing or of another type.
    pub fn from_section(sections: &Sections, name: &str) -> Result<Self> {
        match sections.get(name) {
            Some(SectionData::U32(b)) => Ok(Offsets::U32(b.clone())),
            Some(SectionData::U64(b)) => Ok(Offsets::U64(b.clone())),
            _ => Err(Error::Section { name: name.to_string() }),
        }
    }
}

impl Format for Csr {
    const NAME: &'static str = FormatKind::Csr.name();
    fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }
    fn nnz(&self) -> usize {
        Csr::nnz(self)
    }
    fn sections(&self) -> Vec<Section> {
        vec![
            Section { name: "offsets", data: self.offsets().to_section() },
            Section { name: "indices", data: SectionData::U32(self.indices_buffer().clone()) },
        ]
    }
    fn from_sections(rows: usize, columns: usize, sections: &Sections) -> Result<Self> {
        Csr::new(rows, columns, Offsets::from_section(sections, "offsets")?, section!(sections, "indices", U32)?)
    }
}
