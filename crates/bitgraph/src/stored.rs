//! Patterns in any format, as a container holds them: packing them, and back to lists.
//!
//! Invariant: values are in the order of the pattern's CSR form, whatever the format.

use bitgraph_b2sr::{B2sr4, B2sr8, B2sr16, B2sr32, Hybrid};
use bitgraph_io::Loaded;
use bitgraph_sparse::{Coo, Csr, Duplicates, Format, FormatKind, Permutation, Result, Section, Sections, Values};

/// The arrays of a pattern in a format. O(nnz).
#[must_use]
pub fn pack(csr: &Csr, kind: FormatKind) -> Vec<Section> {
    match kind {
        FormatKind::Csr => csr.sections(),
        FormatKind::B2sr4 => B2sr4::from_csr(csr).sections(),
        FormatKind::B2sr8 => B2sr8::from_csr(csr).sections(),
        FormatKind::B2sr16 => B2sr16::from_csr(csr).sections(),
        FormatKind::B2sr32 => B2sr32::from_csr(csr).sections(),
        FormatKind::Hybrid => Hybrid::from_csr(csr).sections(),
    }
}

/// The pattern that arrays of a format make; every invariant is checked. O(nnz).
///
/// # Errors
/// The first breach of the format's invariants.
pub fn unpack(rows: usize, columns: usize, kind: FormatKind, sections: &Sections) -> Result<Csr> {
    Ok(match kind {
        FormatKind::Csr => Csr::from_sections(rows, columns, sections)?,
        FormatKind::B2sr4 => B2sr4::from_sections(rows, columns, sections)?.to_csr(),
        FormatKind::B2sr8 => B2sr8::from_sections(rows, columns, sections)?.to_csr(),
        FormatKind::B2sr16 => B2sr16::from_sections(rows, columns, sections)?.to_csr(),
        FormatKind::B2sr32 => B2sr32::from_sections(rows, columns, sections)?.to_csr(),
        FormatKind::Hybrid => Hybrid::from_sections(rows, columns, sections)?.to_csr(),
    })
}

/// Pattern and values of a file as lists, in the numbering of the file.
pub(crate) fn unpack_loaded(loaded: &mut Loaded, symmetrize: bool, duplicates: Duplicates) -> Result<(Csr, Option<Values>)> {
    let (mut csr, mut values) = (loaded.csr.clone(), loaded.values.take());
    if let Some((kind, sections)) = loaded.format.take() {
        csr = unpack(csr.nrows(), csr.ncols(), kind, &sections)?;
        if let Some(v) = &values
            && v.len() != csr.nnz()
        {
            let (expected, found) = (csr.nnz() as u64, v.len() as u64);
            return Err(bitgraph_sparse::Error::Length { array: "values", expected, found });
        }
        // A reader mirrors lists only.
        if symmetrize && loaded.symmetric != Some(true) {
            (csr, values) = mirrored(&csr, values, duplicates)?;
            loaded.symmetric = Some(true);
        }
    }
    Ok((csr, values))
}

/// A pattern and its values before the renumbering.
pub(crate) fn restore(csr: &Csr, values: Option<&Values>, permutation: &Permutation) -> Result<(Csr, Option<Values>)> {
    Permutation::from_new_of_old(permutation.old_of_new().to_vec())?.apply_with(csr, values)
}

/// The union with the transpose.
fn mirrored(csr: &Csr, values: Option<Values>, duplicates: Duplicates) -> Result<(Csr, Option<Values>)> {
    if values.is_none() {
        return Ok((csr.symmetrized()?, None));
    }
    let rows = (0..csr.nrows()).flat_map(|u| std::iter::repeat_n(u as u32, csr.degree(u))).collect();
    let mut coo = Coo::pattern(csr.nrows(), csr.ncols(), rows, csr.indices().to_vec());
    coo.values = values;
    coo.mirrored = true;
    // Opposite arcs are no duplicates of each other.
    coo.into_csr(if duplicates == Duplicates::Error { Duplicates::First } else { duplicates })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_comes_back() {
        let csr: Csr = "kron:7".parse::<crate::GraphSource>().unwrap().load(&crate::LoadOptions::default()).unwrap().csr;
        for kind in FormatKind::ALL {
            let sections: Sections = pack(&csr, kind).into_iter().map(|s| (s.name.to_string(), s.data)).collect();
            assert_eq!(unpack(csr.nrows(), csr.ncols(), kind, &sections).unwrap(), csr, "{kind}");
            let mut fewer = sections.clone();
            fewer.pop_first();
            assert!(unpack(csr.nrows(), csr.ncols(), kind, &fewer).is_err());
        }
    }

    #[test]
    fn mirrored_values() {
        let mut coo = Coo::pattern(3, 3, vec![0, 1, 2], vec![1, 0, 0]);
        coo.values = Some(Values::from_vec(vec![4i32, 6, 9]));
        let (csr, values) = coo.into_csr(Duplicates::First).unwrap();
        let (csr, values) = mirrored(&csr, values, Duplicates::Min).unwrap();
        assert_eq!((csr.row(0), csr.row(1), csr.row(2)), (&[1u32, 2][..], &[0u32][..], &[0u32][..]));
        assert_eq!(values, Some(Values::from_vec(vec![4i32, 9, 4, 9])));
    }
}
