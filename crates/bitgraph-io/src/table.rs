//! Tables of numbers in text: a line for each row, as many fields in each, apart by commas or blanks; plain or gzip.
//!
//! Invariant: what is held grows with what was read; row `r` is line `r + 1`, for only the last lines may be empty.

use crate::source::{Input, Source};
use crate::{Error, Problem, ReadOptions, Result};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Bytes of a line at most: a hundred thousand columns of long numbers.
const LONGEST: u64 = 1 << 22;
/// Lines between two looks at the control.
const PIECE: u64 = 1 << 12;

/// Numbers row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<T> {
    /// Fields of a line; 0 of a file without lines.
    pub columns: usize,
    /// All fields.
    pub values: Vec<T>,
}

impl<T> Table<T> {
    /// The number of lines.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.values.len().checked_div(self.columns).unwrap_or(0)
    }
}

/// A number that tables are of: `i64`, `f32` or `f64`. Floats may be `nan`, which stands for what is missing.
pub trait Field: Copy {
    /// From a field without blanks around it.
    ///
    /// # Errors
    /// What is wrong with it.
    fn read(text: &str) -> Result<Self, Problem>;
}
impl Field for i64 {
    fn read(text: &str) -> Result<Self, Problem> {
        text.parse().map_err(|_| Problem::NotAnInteger { found: text.to_owned() })
    }
}
impl Field for f64 {
    fn read(text: &str) -> Result<Self, Problem> {
        text.parse().map_err(|_| Problem::NotANumber { found: text.to_owned() })
    }
}
impl Field for f32 {
    fn read(text: &str) -> Result<Self, Problem> {
        text.parse().map_err(|_| Problem::NotANumber { found: text.to_owned() })
    }
}

/// Reads a table. Of `options` the mode, the control and the remarks count. O(bytes).
///
/// # Errors
/// [`Error::Io`], [`Error::Gzip`]; [`Error::Line`] for what is no number, and for a line of other fields than the first.
pub fn read_table<T: Field>(path: &Path, options: &ReadOptions) -> Result<Table<T>> {
    match Source::open(path, options.mode)?.input {
        Input::Whole(text) => lines(&mut &text[..], path, options).map_err(|fault| match fault {
            Fault::Io(source, _) => Error::Io { path: path.to_path_buf(), source },
            Fault::Other(error) => error,
        }),
        Input::Stream(stream) => {
            let mut reader = BufReader::with_capacity(1 << 16, stream);
            let read = lines(&mut reader, path, options);
            read.map_err(|fault| match fault {
                Fault::Io(source, bytes) => reader.get_ref().error(path, bytes, source),
                Fault::Other(error) => error,
            })
        }
    }
}

enum Fault {
    /// The reader's failure, after so many bytes.
    Io(std::io::Error, u64),
    Other(Error),
}

fn lines<T: Field>(reader: &mut impl BufRead, path: &Path, options: &ReadOptions) -> Result<Table<T>, Fault> {
    let (mut table, mut text, mut bytes, mut ended) = (Table { columns: 0, values: Vec::new() }, Vec::new(), 0u64, None);
    for line in 1u64.. {
        if line.is_multiple_of(PIECE) {
            options.control.check().map_err(|e| Fault::Other(e.into()))?;
        }
        text.clear();
        let found = reader.by_ref().take(LONGEST).read_until(b'\n', &mut text).map_err(|e| Fault::Io(e, bytes))?;
        if found == 0 {
            break;
        }
        bytes += found as u64;
        let at = |problem| Fault::Other(Error::Line { path: path.to_path_buf(), line, problem });
        if found as u64 == LONGEST {
            return Err(at(Problem::LineTooLong { limit: LONGEST }));
        }
        let shown = |text: &[u8]| String::from_utf8_lossy(&text[..text.len().min(40)]).trim_end().to_owned();
        let fields = std::str::from_utf8(&text).map_err(|_| at(Problem::NotANumber { found: shown(&text) }))?.trim();
        if fields.is_empty() {
            ended = ended.or(Some(line));
            continue;
        }
        if let Some(line) = ended {
            return Err(Fault::Other(Error::Line { path: path.to_path_buf(), line, problem: Problem::Missing { what: "a number" } }));
        }
        let before = table.values.len();
        let mut put = |field: &str| {
            table.values.push(T::read(field.trim()).map_err(at)?);
            Ok::<_, Fault>(())
        };
        match fields.contains(',') {
            true => fields.split(',').try_for_each(&mut put)?,
            false => fields.split_ascii_whitespace().try_for_each(&mut put)?,
        }
        let found = table.values.len() - before;
        if before == 0 {
            table.columns = found;
        } else if found != table.columns {
            return Err(at(Problem::Fields { expected: table.columns as u64, found: found as u64 }));
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn told<T: Field + std::fmt::Debug>(bytes: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, bytes).unwrap();
        let told = read_table::<T>(&path, &ReadOptions::default()).unwrap_err().to_string();
        told.replace(&path.display().to_string(), "F")
    }

    #[test]
    fn plain_and_compressed_tables_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv.gz");
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(b"1, 2\r\n-3,4\n\n\n").unwrap();
        std::fs::write(&path, gzip.finish().unwrap()).unwrap();
        let table = read_table::<i64>(&path, &ReadOptions::default()).unwrap();
        assert_eq!((table.rows(), table), (2, Table { columns: 2, values: vec![1, 2, -3, 4] }));
        std::fs::write(&path, "0.5 1e-3\nnan 2").unwrap();
        let table = read_table::<f32>(&path, &ReadOptions::default()).unwrap();
        assert!(table.columns == 2 && table.values[1] == 1e-3 && table.values[2].is_nan());
        std::fs::write(&path, "").unwrap();
        assert_eq!(read_table::<f64>(&path, &ReadOptions::default()).unwrap().rows(), 0);
    }

    #[test]
    fn faults_name_the_line() {
        assert_eq!(told::<i64>(b"1,2\n3\n"), "F, line 2: the line has 1 fields, and those before it have 2");
        assert_eq!(told::<i64>(b"1,2\n3,4.5\n"), "F, line 2: '4.5' is not a whole number");
        assert_eq!(told::<i64>(b"1,,2\n"), "F, line 1: '' is not a whole number");
        assert_eq!(told::<f32>(b"1\n\nx\n"), "F, line 2: the line ends where a number should be");
        assert_eq!(told::<f32>(b"\xff\xfe\n"), "F, line 1: '\u{fffd}\u{fffd}' is not a number");
        assert!(told::<f64>(&b"1 ".repeat(1 << 21)).contains("line is longer than"));
        assert!(told::<f64>(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2]).contains("gzip data is damaged"));
    }
}
