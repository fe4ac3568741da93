//! A table that is printed on a terminal and written as Markdown.
//!
//! Invariant: every row has as many cells as the header.

use serde::{Serialize, Serializer};
use std::fmt::Write;

/// What stands in cells of a GPU where there is none.
pub const NO_GPU: &str = "no GPU";
/// What stands in them where a measurement failed.
pub const FAILED: &str = "failed";
/// What stands where there is no number.
pub const NONE: &str = "-";

/// What a GPU gave, or what stands in the cells instead: [`NO_GPU`] or [`FAILED`].
pub type Gpu<T> = Result<T, &'static str>;

/// Cells of what a GPU gave.
pub fn gpu_cells<T, const N: usize>(gpu: &Gpu<T>, of: impl FnOnce(&T) -> [String; N]) -> [String; N] {
    match gpu {
        Ok(found) => of(found),
        Err(instead) => std::array::from_fn(|_| (*instead).to_string()),
    }
}

/// Cells under a title.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// What it shows, where the paper has it, and the units.
    pub title: String,
    /// The names of the columns.
    pub header: Vec<String>,
    /// The cells, row by row.
    #[serde(serialize_with = "cells")]
    pub rows: Vec<Vec<String>>,
    /// What a reader must know of single numbers.
    pub notes: Vec<String>,
}

impl Table {
    /// Without rows.
    #[must_use]
    pub fn new(title: &str, header: &[&str]) -> Self {
        Self { title: title.into(), header: header.iter().map(ToString::to_string).collect(), rows: Vec::new(), notes: Vec::new() }
    }
    /// Adds a row; cells that are missing are empty, and those past the header are dropped.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = cells.into_iter().take(self.header.len()).collect();
        row.resize(self.header.len(), String::new());
        self.rows.push(row);
    }
    /// Adds a sentence below the rows.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
    /// In columns: the first one to the left, numbers to the right.
    #[must_use]
    pub fn text(&self) -> String {
        let width = |c: usize| self.rows.iter().chain([&self.header]).map(|r| r[c].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let mut text = format!("{}\n", self.title);
        for row in [&self.header].into_iter().chain(&self.rows) {
            let mut line = String::new();
            for (c, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                let _ = if c == 0 { write!(line, "{cell:width$}") } else { write!(line, "  {cell:>width$}") };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        self.notes.iter().for_each(|note| {
            let _ = writeln!(text, "{note}");
        });
        text
    }
    /// As Markdown, under a heading of the second level.
    #[must_use]
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.iter().map(|c| c.replace('|', "\\|")).collect::<Vec<_>>().join(" | "));
        let rule: Vec<String> = (0..self.header.len()).map(|c| if c == 0 { "---" } else { "---:" }.into()).collect();
        let mut text = format!("## {}\n\n{}{}", self.title, line(&self.header), line(&rule));
        self.rows.iter().for_each(|row| text.push_str(&line(row)));
        self.notes.iter().for_each(|note| {
            let _ = write!(text, "\n{note}\n");
        });
        text
    }
}

/// A number with so many digits behind the point, or [`NONE`].
#[must_use]
pub fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or(NONE.into(), |v| format!("{v:.digits$}"))
}

/// A part as a number of percent; the column says so.
#[must_use]
pub fn percent(part: f64) -> String {
    number(Some(100.0 * part), 2)
}

/// A cell that is a number is written as one.
fn cells<S: Serializer>(rows: &[Vec<String>], serializer: S) -> Result<S::Ok, S::Error> {
    let value = |cell: &String| cell.parse::<f64>().map_or_else(|_| cell.clone().into(), serde_json::Value::from);
    serializer.collect_seq(rows.iter().map(|row| row.iter().map(value).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_rows_are_whole() {
        let mut table = Table::new("Times in ms", &["graph", "ours", "theirs"]);
        table.row(["a".into(), number(Some(1.25), 1), NONE.into(), "dropped".into()]);
        table.row(["a|b".into()]);
        table.note("One note.");
        assert_eq!(table.text(), "Times in ms\ngraph  ours  theirs\na       1.2       -\na|b\nOne note.\n");
        let json = serde_json::to_value(&table).unwrap();
        assert_eq!(json["rows"], serde_json::json!([["a", 1.2, "-"], ["a|b", "", ""]]));
        let markdown = table.markdown();
        assert!(markdown.contains("| graph | ours | theirs |\n| --- | ---: | ---: |\n| a | 1.2 | - |\n| a\\|b |  |  |\n"), "{markdown}");
        assert!(markdown.starts_with("## Times in ms\n\n") && markdown.ends_with("\nOne note.\n"));
    }
}
