//! Arrays of files as labels, masks, features and matrices.

use super::{Error, Features, Labels, Result};
use bitgraph_io::Array;
use bitgraph_sparse::{Coo, Csr, Duplicates, Values};

/// A vector of whole numbers; one row or column is a vector too.
pub(super) fn whole(array: &Array) -> Result<Vec<i64>> {
    if array.shape.iter().filter(|&&d| d != 1).count() > 1 {
        return Err(Error::Shape { found: array.shape.clone(), wanted: "a vector is needed" });
    }
    let wanted = "it must be a whole number of at most 53 bits";
    (0..array.values.len())
        .map(|position| {
            let found = array.values.get_f64(position);
            let exact = found.fract() == 0.0 && found.abs() <= (1u64 << 53) as f64;
            if exact { Ok(found as i64) } else { Err(Error::Element { position: position as u64, found, wanted }) }
        })
        .collect()
}

/// Nodes of a graph of so many.
pub(super) fn ids(array: &Array, nodes: usize) -> Result<Vec<u32>> {
    let of = |(position, v): (usize, i64)| {
        let valid = u32::try_from(v).ok().filter(|&v| (v as usize) < nodes);
        valid.ok_or(Error::Element { position: position as u64, found: v as f64, wanted: "it must be a node of the graph" })
    };
    whole(array)?.into_iter().enumerate().map(of).collect()
}

/// Labels of as many classes as the largest of them asks for, or of a matrix of 0 and 1 with a column for each class. The nodes of `unlabelled`, which are of the graph, have none, whatever
/// number the array holds for them.
pub(super) fn labels(array: &Array, nodes: usize, unlabelled: &[u32]) -> Result<Labels> {
    if let [rows, classes] = array.shape[..]
        && rows > 1
        && classes > 1
    {
        sized("rows of the labels", nodes, rows)?;
        let bit = |position: usize| match array.values.get_f64(position) {
            0.0 => Ok(0),
            1.0 => Ok(1),
            found => Err(Error::Element { position: position as u64, found, wanted: "labels in a matrix are 0 and 1" }),
        };
        return Labels::several((0..array.values.len()).map(bit).collect::<Result<_>>()?, classes, unlabelled);
    }
    classes(whole(array)?, nodes, unlabelled)
}

/// Refuses another number than is needed.
pub(super) fn sized(what: &'static str, expected: usize, found: usize) -> Result<()> {
    match expected == found {
        true => Ok(()),
        false => Err(crate::Error::Size { what, expected: expected as u64, found: found as u64 }.into()),
    }
}

/// Labels of whole numbers.
pub(super) fn classes(mut all: Vec<i64>, nodes: usize, unlabelled: &[u32]) -> Result<Labels> {
    sized("labels", nodes, all.len())?;
    unlabelled.iter().for_each(|&v| all[v as usize] = Labels::NONE.into());
    let of = |(position, label): (usize, i64)| {
        let wanted = "a label must be from 0 to 65535, or -1 for none";
        let valid = i32::try_from(label).ok().filter(|l| (Labels::NONE..=0xffff).contains(l));
        valid.ok_or(Error::Element { position: position as u64, found: label as f64, wanted })
    };
    let of = all.into_iter().enumerate().map(of).collect::<Result<Vec<i32>>>()?;
    let classes = of.iter().max().map_or(0, |&c| c + 1) as usize;
    Labels::new(of, classes)
}

/// The nodes of each split: of a mask of the shape `nodes`, or `splits x nodes`.
pub(super) fn masks(array: &Array, nodes: usize) -> Result<Vec<Vec<u32>>> {
    match array.shape[..] {
        [n] if n == nodes && n > 0 => {}
        [rows, n] if n == nodes && n > 0 && rows > 0 => {}
        _ => {
            let wanted = "a mask has an element for each node of the graph, or such a row for each split";
            return Err(Error::Shape { found: array.shape.clone(), wanted });
        }
    }
    let mut all = vec![Vec::new(); array.values.len() / nodes];
    for position in 0..array.values.len() {
        match array.values.get_f64(position) {
            0.0 => {}
            1.0 => all[position / nodes].push((position % nodes) as u32),
            found => return Err(Error::Element { position: position as u64, found, wanted: "a mask is of 0 and 1" }),
        }
    }
    match all.iter().position(Vec::is_empty) {
        Some(split) => Err(Error::Nothing { split }),
        None => Ok(all),
    }
}

/// Dense features.
pub(super) fn features(array: &Array) -> Result<Features> {
    let [rows, columns] = array.shape[..] else {
        return Err(Error::Shape { found: array.shape.clone(), wanted: "features have a row for each node" });
    };
    match &array.values {
        Values::F32(values) => Features::dense(rows, columns, values.clone()),
        values => Features::dense(rows, columns, floats(values)),
    }
}

/// Values as f32.
pub(super) fn floats(values: &Values) -> Vec<f32> {
    (0..values.len()).map(|k| values.get_f64(k) as f32).collect()
}

/// A matrix from the three arrays of its CSR form and its shape, whose rows need not be sorted; entries given twice are refused.
pub(super) fn csr(shape: &Array, offsets: &Array, indices: &Array, data: &Array) -> Result<(Csr, Vec<f32>)> {
    let (shape, offsets, indices) = (whole(shape)?, whole(offsets)?, whole(indices)?);
    let [rows, columns] = shape[..] else {
        return Err(Error::Shape { found: vec![shape.len()], wanted: "a matrix has two dimensions" });
    };
    let size = |what, expected: u64, found: usize| match found as u64 == expected {
        true => Ok(()),
        false => Err(Error::Content(crate::Error::Size { what, expected, found: found as u64 })),
    };
    let (rows, columns) = Csr::ids(rows.max(0) as u64, columns.max(0) as u64)?;
    size("offsets of the rows", u64::from(rows) + 1, offsets.len())?;
    size("values", indices.len() as u64, data.values.len())?;
    let whole_range = offsets.first() == Some(&0) && offsets.last() == Some(&(indices.len() as i64));
    if let Some(at) = offsets.windows(2).position(|w| w[0] > w[1]).or((!whole_range).then_some(0)) {
        let wanted = "offsets of rows must rise from 0 to the number of indices";
        return Err(Error::Element { position: at as u64 + 1, found: offsets.get(at + 1).map_or(0.0, |&o| o as f64), wanted });
    }
    let of = |(position, &j): (usize, &i64)| {
        let wanted = "an index must be a column of the matrix";
        u32::try_from(j).ok().filter(|&j| j < columns).ok_or(Error::Element { position: position as u64, found: j as f64, wanted })
    };
    let ids = indices.iter().enumerate().map(of).collect::<Result<Vec<u32>>>()?;
    let majors = (0..rows).zip(offsets.windows(2)).flat_map(|(i, w)| std::iter::repeat_n(i, (w[1] - w[0]) as usize)).collect();
    let coo = Coo { values: Some(floats(&data.values).into()), ..Coo::pattern(rows as usize, columns as usize, majors, ids) };
    let (csr, values) = coo.into_csr(Duplicates::Error)?;
    Ok((csr, values.as_ref().map_or_else(Vec::new, floats)))
}
