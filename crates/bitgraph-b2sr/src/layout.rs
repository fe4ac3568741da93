//! A pattern in any of the storage formats: what a container holds, and what a backend dispatches on above its hot loops.
//!
//! Invariant: each variant keeps the invariants of its own format; values that go with a pattern are in the order of its CSR form,
//! whatever the variant.

use crate::{B2sr, B2sr4, B2sr8, B2sr16, B2sr32, Hybrid, Tile};
use bitgraph_sparse::{Csr, Format, FormatKind, MirrorSum, Result, Section, Sections, Values};

/// A pattern in one of the storage formats. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub enum Layout {
    /// Lists.
    Csr(Csr),
    /// Bit tiles of 4 x 4.
    B2sr4(B2sr4),
    /// Bit tiles of 8 x 8.
    B2sr8(B2sr8),
    /// Bit tiles of 16 x 16.
    B2sr16(B2sr16),
    /// Bit tiles of 32 x 32.
    B2sr32(B2sr32),
    /// Tiles where they are filled, lists elsewhere.
    Hybrid(Hybrid),
}

/// Runs `$body` with `$m` bound to the pattern in its own format.
#[macro_export]
macro_rules! with_layout {
    ($layout:expr, $m:ident => $body:expr) => {
        match $layout {
            $crate::Layout::Csr($m) => $body,
            $crate::Layout::B2sr4($m) => $body,
            $crate::Layout::B2sr8($m) => $body,
            $crate::Layout::B2sr16($m) => $body,
            $crate::Layout::B2sr32($m) => $body,
            $crate::Layout::Hybrid($m) => $body,
        }
    };
}

impl Layout {
    /// Lays out lists in a format; lists themselves are shared. O(nnz), parallel.
    #[must_use]
    pub fn from_csr(csr: &Csr, kind: FormatKind) -> Self {
        match kind {
            FormatKind::Csr => Self::Csr(csr.clone()),
            FormatKind::B2sr4 => Self::B2sr4(B2sr4::from_csr(csr)),
            FormatKind::B2sr8 => Self::B2sr8(B2sr8::from_csr(csr)),
            FormatKind::B2sr16 => Self::B2sr16(B2sr16::from_csr(csr)),
            FormatKind::B2sr32 => Self::B2sr32(B2sr32::from_csr(csr)),
            FormatKind::Hybrid => Self::Hybrid(Hybrid::from_csr(csr)),
        }
    }
    /// From arrays that come from outside, which are shared, not copied; every invariant of the format is checked. O(arrays), parallel.
    ///
    /// # Errors
    /// The first breach, naming the section.
    pub fn from_sections(rows: usize, columns: usize, kind: FormatKind, sections: &Sections) -> Result<Self> {
        Ok(match kind {
            FormatKind::Csr => Self::Csr(Csr::from_sections(rows, columns, sections)?),
            FormatKind::B2sr4 => Self::B2sr4(B2sr4::from_sections(rows, columns, sections)?),
            FormatKind::B2sr8 => Self::B2sr8(B2sr8::from_sections(rows, columns, sections)?),
            FormatKind::B2sr16 => Self::B2sr16(B2sr16::from_sections(rows, columns, sections)?),
            FormatKind::B2sr32 => Self::B2sr32(B2sr32::from_sections(rows, columns, sections)?),
            FormatKind::Hybrid => Self::Hybrid(Hybrid::from_sections(rows, columns, sections)?),
        })
    }
    /// Which format it is.
    #[must_use]
    pub fn kind(&self) -> FormatKind {
        match self {
            Self::Csr(_) => FormatKind::Csr,
            Self::B2sr4(_) => FormatKind::B2sr4,
            Self::B2sr8(_) => FormatKind::B2sr8,
            Self::B2sr16(_) => FormatKind::B2sr16,
            Self::B2sr32(_) => FormatKind::B2sr32,
            Self::Hybrid(_) => FormatKind::Hybrid,
        }
    }
    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        with_layout!(self, m => Format::shape(m))
    }
    /// The number of entries.
    #[must_use]
    pub fn nnz(&self) -> usize {
        with_layout!(self, m => Format::nnz(m))
    }
    /// Exact size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        with_layout!(self, m => Format::bytes(m))
    }
    /// The arrays of the format.
    #[must_use]
    pub fn sections(&self) -> Vec<Section> {
        with_layout!(self, m => Format::sections(m))
    }
    /// The lists, if that is its format.
    #[must_use]
    pub fn as_csr(&self) -> Option<&Csr> {
        match self {
            Self::Csr(csr) => Some(csr),
            _ => None,
        }
    }
    /// The pattern as lists: shared if that is its format, converted otherwise. O(nnz), parallel.
    #[must_use]
    pub fn to_csr(&self) -> Csr {
        match self {
            Self::Csr(m) => m.clone(),
            Self::B2sr4(m) => m.to_csr(),
            Self::B2sr8(m) => m.to_csr(),
            Self::B2sr16(m) => m.to_csr(),
            Self::B2sr32(m) => m.to_csr(),
            Self::Hybrid(m) => m.to_csr(),
        }
    }
    /// The transpose in the same format.
    #[must_use]
    pub fn transpose(&self) -> Self {
        match self {
            Self::Csr(m) => Self::Csr(m.transpose()),
            Self::B2sr4(m) => Self::B2sr4(m.transpose()),
            Self::B2sr8(m) => Self::B2sr8(m.transpose()),
            Self::B2sr16(m) => Self::B2sr16(m.transpose()),
            Self::B2sr32(m) => Self::B2sr32(m.transpose()),
            Self::Hybrid(m) => Self::Hybrid(m.transpose()),
        }
    }
    /// Where the entries of each row start in CSR order, and their number at the end. O(arrays), parallel.
    #[must_use]
    pub fn row_offsets(&self) -> Vec<usize> {
        match self {
            Self::Csr(m) => (0..=m.nrows()).map(|i| m.offsets().get(i)).collect(),
            Self::B2sr4(m) => m.row_offsets(),
            Self::B2sr8(m) => m.row_offsets(),
            Self::B2sr16(m) => m.row_offsets(),
            Self::B2sr32(m) => m.row_offsets(),
            Self::Hybrid(m) => m.row_offsets(),
        }
    }
    /// Whether pattern and values equal their transpose, as far as a [`MirrorSum`] tells: see [`Csr::seems_symmetric`]. O(entries) in one
    /// pass, parallel; tiles with values are converted to lists first.
    #[must_use]
    pub fn seems_symmetric(&self, values: Option<&Values>) -> bool {
        fn tiles<T: Tile>(m: &B2sr<T>, test: MirrorSum) -> u64 {
            test.rows(m.nrows(), |u| test.row(u as u32, m.row(u)))
        }
        let (rows, columns) = self.shape();
        let test = MirrorSum::new();
        let sum = match (self, values) {
            (Self::Csr(m), _) => test.csr(m, values),
            (_, Some(_)) => test.csr(&self.to_csr(), values),
            (Self::B2sr4(m), None) => tiles(m, test),
            (Self::B2sr8(m), None) => tiles(m, test),
            (Self::B2sr16(m), None) => tiles(m, test),
            (Self::B2sr32(m), None) => tiles(m, test),
            (Self::Hybrid(m), None) => tiles(m.tiles(), test).wrapping_add(test.csr(m.list(), None)),
        };
        rows == columns && sum == 0
    }
    /// Non-empty tiles that are stored, and entries that are listed.
    #[must_use]
    pub fn parts(&self) -> (u64, u64) {
        match self {
            Self::Csr(m) => (0, m.nnz() as u64),
            Self::B2sr4(m) => (m.tile_count() as u64, 0),
            Self::B2sr8(m) => (m.tile_count() as u64, 0),
            Self::B2sr16(m) => (m.tile_count() as u64, 0),
            Self::B2sr32(m) => (m.tile_count() as u64, 0),
            Self::Hybrid(m) => (m.tiles().tile_count() as u64, m.list().nnz() as u64),
        }
    }
}

impl From<Csr> for Layout {
    fn from(csr: Csr) -> Self {
        Self::Csr(csr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_sparse::{Error, Offsets, SectionData};

    fn pattern() -> Csr {
        // Every row has the two columns behind it, and every fifth one that lies far off.
        let rows: Vec<Vec<u32>> = (0..70u32)
            .map(|i| {
                let mut row: Vec<u32> =
                    [i + 1, i + 2].into_iter().chain((i % 5 == 0).then_some((i * 37) % 90)).filter(|&c| c < 90).collect();
                row.sort_unstable();
                row.dedup();
                row
            })
            .collect();
        let starts: Vec<usize> = std::iter::once(0)
            .chain(rows.iter().scan(0, |n, r| {
                *n += r.len();
                Some(*n)
            }))
            .collect();
        Csr::new(70, 90, Offsets::from_usizes(&starts), rows.concat().into()).unwrap()
    }

    fn named(layout: &Layout) -> Sections {
        layout.sections().into_iter().map(|s| (s.name.to_string(), s.data)).collect()
    }

    #[test]
    fn every_format_comes_back() {
        let csr = pattern();
        for kind in FormatKind::ALL {
            let layout = Layout::from_csr(&csr, kind);
            assert_eq!((layout.kind(), layout.shape(), layout.nnz()), (kind, (70, 90), csr.nnz()));
            let again = Layout::from_sections(70, 90, kind, &named(&layout)).unwrap();
            assert!(again == layout && again.to_csr() == csr, "{kind}");
            assert_eq!(layout.transpose().to_csr(), csr.transpose(), "{kind}");
            assert_eq!(layout.row_offsets(), Layout::from(csr.clone()).row_offsets(), "{kind}");
            assert_eq!(layout.bytes(), layout.sections().iter().map(|s| s.data.bytes().len() as u64).sum::<u64>());
            assert_eq!(layout.as_csr().is_some(), kind == FormatKind::Csr);
            let (tiles, listed) = layout.parts();
            assert!(tiles + listed > 0 && (listed == 0 || matches!(kind, FormatKind::Csr | FormatKind::Hybrid)));
        }
    }

    #[test]
    fn symmetry_shows_in_every_format() {
        let square: Vec<u32> = (0..90u32).collect();
        let mut coo = bitgraph_sparse::Coo::pattern(90, 90, square.clone(), square.iter().map(|i| (i * i + 3) % 90).collect());
        let (directed, _) = coo.clone().into_csr(bitgraph_sparse::Duplicates::First).unwrap();
        coo.mirrored = true;
        let (both, _) = coo.into_csr(bitgraph_sparse::Duplicates::First).unwrap();
        let sums: Vec<i32> = (0..90).flat_map(|u| both.row(u).iter().map(move |&v| u as i32 + v as i32)).collect();
        let mut other = sums.clone();
        other[5] += 1;
        for kind in FormatKind::ALL {
            let layout = Layout::from_csr(&both, kind);
            assert!(layout.seems_symmetric(None) && !Layout::from_csr(&directed, kind).seems_symmetric(None), "{kind}");
            assert!(layout.seems_symmetric(Some(&sums.clone().into())) && !layout.seems_symmetric(Some(&other.clone().into())), "{kind}");
            assert!(!Layout::from_csr(&pattern(), kind).seems_symmetric(None), "{kind}");
        }
    }

    /// Whatever array is missing, of another type, too short or out of order, the error names its section.
    #[test]
    fn breaches_name_their_section() {
        let csr = pattern();
        for kind in FormatKind::ALL {
            let good = named(&Layout::from_csr(&csr, kind));
            for name in good.keys() {
                let names = |sections: &Sections| match Layout::from_sections(70, 90, kind, sections).unwrap_err() {
                    Error::Section { name: found } => found == *name,
                    Error::Length { array, .. } | Error::Invalid { array, .. } => array == name,
                    other => panic!("{kind}, {name}: {other}"),
                };
                let mut bad = good.clone();
                bad.remove(name);
                assert!(names(&bad), "{kind}, {name} missing");
                bad.insert(name.clone(), SectionData::U8(vec![1].into()));
                assert!(names(&bad), "{kind}, {name} of another type");
                // Any word may be a tile's.
                if let Some(SectionData::U32(words)) = good.get(name)
                    && name != "tile_words"
                    && !words.is_empty()
                {
                    let mut words = words.to_vec();
                    words[0] = u32::MAX - 1;
                    bad.insert(name.clone(), SectionData::U32(words.into()));
                    let error = Layout::from_sections(70, 90, kind, &bad).unwrap_err();
                    assert!(error.to_string().contains(name.as_str()), "{kind}, {name}: {error}");
                }
            }
        }
    }
}
