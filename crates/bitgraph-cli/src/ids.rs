//! Vertices, and weights of vertices, in files that go with a graph: `--sources` and `--personalize`.
//!
//! Invariant: what is wrong with a file is told with the file and the line, or the element.

use crate::failure::{Failure, Result};
use bitgraph::io::{ReadMode, read_vector};
use bitgraph::semiring::Scalar;
use bitgraph::sparse::{Values, with_values};
use std::path::Path;

/// Calls `field` for the numbers on each line of a file, up to `most` of them, apart by blanks, commas or semicolons. Lines of a comment (`#` or
/// `%`) and empty ones are skipped. Of a table whose heading begins with `node` the first `most` columns count. A failure of `field` is
/// told with the line.
fn lines(path: &Path, most: usize, field: &mut dyn FnMut(&[&str]) -> Result<()>) -> Result<()> {
    let bytes = std::fs::read(path).map_err(|e| Failure::other(format_args!("{}: {e}", path.display())))?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut columns = None;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '%']) {
            continue;
        }
        let bare = |f: &'_ str| f.trim().trim_matches('"').to_string();
        let fields: Vec<String> = if line.contains([',', ';']) {
            line.split([',', ';']).map(bare).collect()
        } else {
            line.split_ascii_whitespace().map(bare).collect()
        };
        if columns.is_none() && ["node", "vertex"].iter().any(|n| fields[0].eq_ignore_ascii_case(n)) {
            columns = Some(fields.len());
            continue;
        }
        let limit = *columns.get_or_insert(most);
        let mut fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let outcome = match fields.get(limit) {
            Some(extra) => Err(Failure::other(format_args!("'{extra}' follows the last field"))),
            None => {
                fields.truncate(most);
                field(&fields)
            }
        };
        outcome.map_err(|failure| failure.at(format_args!("{}, line {}", path.display(), i + 1)))?;
    }
    Ok(())
}

/// A vertex number in a file.
fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| Failure::other(format_args!("'{text}' is not a vertex number")))
}

/// The vertices in a file, by the graph's own numbers: `vertex` finds the one that the user calls so.
pub fn vertices(path: &Path, vertex: &mut dyn FnMut(u64) -> Result<u32>) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy")) {
        let numbers = read_vector(path, ReadMode::Copy)?;
        if numbers.dtype().is_float() || matches!(numbers, Values::Bool(_)) {
            return Err(Failure::other(format_args!("{}: {} elements are no vertex numbers", path.display(), numbers.dtype())));
        }
        for k in 0..numbers.len() {
            let text = with_values!(&numbers, v => whole(v[k]));
            let outcome = number(&text).and_then(&mut *vertex);
            found.push(outcome.map_err(|failure| failure.at(format_args!("{}, element {k}", path.display())))?);
        }
    } else {
        lines(path, 1, &mut |fields| {
            found.push(vertex(number(fields[0])?)?);
            Ok(())
        })?;
    }
    if found.is_empty() {
        return Err(Failure::other(format_args!("{}: the file names no vertices", path.display())));
    }
    Ok(found)
}

/// A whole number as text.
fn whole<T: Scalar>(value: T) -> String {
    // Whole numbers are debugged as they are displayed.
    format!("{value:?}")
}

/// The vertices in a file with their weights, 1 unless given.
pub fn weights(path: &Path, vertex: &mut dyn FnMut(u64) -> Result<u32>) -> Result<Vec<(u32, f64)>> {
    let mut found = Vec::new();
    lines(path, 2, &mut |fields| {
        let text = fields.get(1).copied().unwrap_or("1");
        let weight: f64 = text.parse().map_err(|_| Failure::other(format_args!("'{text}' is not a number")))?;
        if !(weight >= 0.0 && weight.is_finite()) {
            return Err(Failure::other(format_args!("'{text}' is no weight: it must be a finite number, 0 or more")));
        }
        found.push((vertex(number(fields[0])?)?, weight));
        Ok(())
    })?;
    Ok(found)
}
