//! Which format a file is in: as told, else what its first bytes cannot but be, else as the ending of its name says.
//!
//! Invariant: nothing is read as an edge list that begins like another format, so that a size line never becomes an edge.

use crate::{Error, Result};
use std::fmt;
use std::path::Path;

/// The formats of graph files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileFormat {
    /// Matrix Market.
    Mtx,
    /// Edge list.
    Edges,
    /// METIS.
    Metis,
    /// scipy's npz archive.
    Npz,
    /// bitgraph's container.
    Bgr,
    /// DIMACS shortest-path graph. Read, not written.
    Gr,
    /// GAP's serialized graph, with weights (`.wsg`) or without. Read, not written.
    Sg,
}

impl FileFormat {
    /// All formats.
    pub const ALL: [Self; 7] = [Self::Mtx, Self::Edges, Self::Metis, Self::Npz, Self::Bgr, Self::Gr, Self::Sg];
    /// The formats that are written too.
    pub const WRITTEN: [Self; 5] = [Self::Mtx, Self::Edges, Self::Metis, Self::Npz, Self::Bgr];

    /// The name that chooses it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mtx => "mtx",
            Self::Edges => "edges",
            Self::Metis => "metis",
            Self::Npz => "npz",
            Self::Bgr => "bgr",
            Self::Gr => "gr",
            Self::Sg => "sg",
        }
    }
    /// The format of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.name() == name)
    }
    /// The format that a file's name says, `.gz` not counted; None where it says none. KONECT's lists have no ending, but names `out.*`.
    #[must_use]
    pub fn from_name_of(path: &Path) -> Option<Self> {
        let konect = || path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("out."));
        ending(path).map(|(format, _)| format).or_else(|| konect().then_some(Self::Edges))
    }
    /// Whether files of the format are text.
    pub(crate) const fn is_text(self) -> bool {
        matches!(self, Self::Mtx | Self::Edges | Self::Metis | Self::Gr)
    }
    /// Whether a file of the format can hold vertex numbers other than 0, 1, 2, ...: [`WriteSource::original_ids`](crate::WriteSource).
    #[must_use]
    pub const fn holds_ids(self) -> bool {
        matches!(self, Self::Bgr | Self::Edges)
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The format that a name's ending says, and whether it says compressed.
pub(crate) fn ending(path: &Path) -> Option<(FileFormat, bool)> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let (name, gz) = name.strip_suffix(".gz").map_or((&name[..], false), |n| (n, true));
    let format = match name.rsplit_once('.')?.1 {
        "mtx" => FileFormat::Mtx,
        "el" | "wel" | "txt" | "tsv" | "csv" | "edges" | "edgelist" | "dat" => FileFormat::Edges,
        "graph" => FileFormat::Metis,
        "npz" => FileFormat::Npz,
        "bgr" => FileFormat::Bgr,
        "gr" => FileFormat::Gr,
        "sg" | "wsg" => FileFormat::Sg,
        _ => return None,
    };
    Some((format, gz))
}

/// How many bytes of a file are looked at.
pub(crate) const HEAD: usize = 4096;

/// What the first bytes of a file say.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sign {
    /// It cannot be anything else.
    Format(FileFormat),
    /// What is not read: what it is, and what makes something of it that is.
    Foreign(&'static str, &'static str),
    /// A line that an edge list might begin with, or no line at all.
    Lines,
    /// Nothing that is known.
    Unknown,
}

/// The first line that is neither blank nor a comment of an edge list.
fn first_line(head: &[u8]) -> &[u8] {
    let mut lines = head.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
    lines.find(|l| !l.is_empty() && !matches!(l[0], b'#' | b'%')).unwrap_or_default()
}

fn sign(head: &[u8]) -> Sign {
    const NETWORKX: &str = "networkx reads it, and its write_edgelist writes an edge list";
    for (magic, sign) in [
        (&b"\x93BGR"[..], Sign::Format(FileFormat::Bgr)),
        (b"PK\x03\x04", Sign::Format(FileFormat::Npz)),
        (b"PK\x05\x06", Sign::Format(FileFormat::Npz)),
        (b"\x93NUMPY", Sign::Foreign("one numpy array", "scipy.sparse.save_npz writes matrices")),
        (b"\x28\xb5\x2f\xfd", Sign::Foreign("compressed with zstd", "unpack it: zstd -dc FILE | bitgraph COMMAND -")),
        (b"\xfd7zXZ\0", Sign::Foreign("compressed with xz", "unpack it: xz -dc FILE | bitgraph COMMAND -")),
        (b"BZh", Sign::Foreign("compressed with bzip2", "unpack it: bzip2 -dc FILE | bitgraph COMMAND -")),
        (b"\xff\xfe", Sign::Foreign("text in UTF-16", "convert it: iconv -f UTF-16 -t UTF-8 FILE | bitgraph COMMAND -")),
        (b"\xfe\xff", Sign::Foreign("text in UTF-16", "convert it: iconv -f UTF-16 -t UTF-8 FILE | bitgraph COMMAND -")),
        (b"\x01\0\0\0\0\0\0\0", Sign::Foreign("a binary graph of Galois", "its graph-convert writes edge lists")),
    ] {
        if head.starts_with(magic) {
            return sign;
        }
    }
    let head = without_mark(head);
    if is_banner(head) {
        return Sign::Format(FileFormat::Mtx);
    }
    let line = first_line(head).to_ascii_lowercase();
    let has = |word: &[u8]| head.windows(word.len()).any(|w| w.eq_ignore_ascii_case(word));
    let word = line.split(|b| !b.is_ascii_alphanumeric()).next().unwrap_or_default();
    match line.first() {
        None | Some(b'0'..=b'9' | b'"' | b'\'' | b'-' | b'+' | b',' | b';') => Sign::Lines,
        Some(b'<') if has(b"<graphml") => Sign::Foreign("GraphML", NETWORKX),
        Some(b'<') if has(b"<gexf") => Sign::Foreign("GEXF", NETWORKX),
        Some(b'*') => Sign::Foreign("a Pajek network", NETWORKX),
        Some(_) => match word {
            b"graph" | b"creator" if has(b"[") => Sign::Foreign("GML", NETWORKX),
            b"graph" | b"digraph" | b"strict" if has(b"{") => Sign::Foreign("a DOT graph of Graphviz", NETWORKX),
            _ if is_dimacs(head) => Sign::Format(FileFormat::Gr),
            // A heading has its names apart as a list has its fields.
            _ if line.is_ascii() && line.iter().any(|b| matches!(b, b',' | b';' | b'\t')) => Sign::Lines,
            _ => Sign::Unknown,
        },
    }
}

/// Whether a text begins with the banner of Matrix Market.
pub(crate) fn is_banner(head: &[u8]) -> bool {
    head.get(..14).is_some_and(|h| h.eq_ignore_ascii_case(b"%%MatrixMarket"))
}

/// Comments of one letter, then the problem line.
fn is_dimacs(head: &[u8]) -> bool {
    let mut lines = head.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).filter(|l| !l.is_empty());
    let comment = |l: &[u8]| l == b"c" || l.starts_with(b"c ") || l.starts_with(b"c\t");
    lines.find(|l| !comment(l)).is_none_or(|l| l.starts_with(b"p "))
}

/// A text without the mark that some programs put before UTF-8.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// The byte-order mark of UTF-8.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

/// The format of a file that begins with `head`. `named` says whether it has a name: a stream without is an edge list if nothing
/// speaks against it.
pub(crate) fn detect(head: &[u8], path: &Path, forced: Option<FileFormat>, named: bool) -> Result<FileFormat> {
    if let Some(format) = forced {
        return Ok(format);
    }
    let by_name = if named { FileFormat::from_name_of(path) } else { None };
    match (sign(head), by_name) {
        (Sign::Format(format), _) => Ok(format),
        // A text may begin as it likes where its ending says what it is; compressed data do not look like any of it.
        (Sign::Foreign(..), Some(format)) if format.is_text() && format != FileFormat::Edges && head.is_ascii() => Ok(format),
        (Sign::Foreign(..), Some(FileFormat::Sg)) => Ok(FileFormat::Sg),
        (Sign::Foreign(found, hint), _) => Err(Error::Foreign { path: path.to_path_buf(), found, hint }),
        (_, Some(format)) => Ok(format),
        (Sign::Lines, None) => Ok(FileFormat::Edges),
        (Sign::Unknown, None) if !named => Ok(FileFormat::Edges),
        (Sign::Unknown, None) => Err(unknown(path)),
    }
}

/// The error for a name that says no format of a file that does not say it either.
pub(crate) fn unknown(path: &Path) -> Error {
    const KNOWN: &str = "endings .mtx, .el, .wel, .txt, .tsv, .csv, .edges, .edgelist, .dat, .graph, .npz, .bgr, .gr, .sg, .wsg (each with .gz or without), names out.*, and --input-format for any name";
    Error::UnknownEnding { path: path.to_path_buf(), known: KNOWN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_that_can_be_one_thing_only() {
        for (head, format) in [
            (&b"%%MatrixMarket matrix coordinate real general\n"[..], FileFormat::Mtx),
            (b"\xef\xbb\xbf%%matrixmarket matrix", FileFormat::Mtx),
            (b"\x93BGR\r\n\x1a\n", FileFormat::Bgr),
            (b"PK\x03\x04rest", FileFormat::Npz),
            (b"c a comment\nc\n\np sp 3 2\na 1 2 5\n", FileFormat::Gr),
            (b"c only comments so far\n", FileFormat::Gr),
        ] {
            for name in ["x", "x.txt", "x.el", "x.graph", "out.x", "-"] {
                assert_eq!(detect(head, Path::new(name), None, true).unwrap(), format, "{head:?}");
                assert_eq!(detect(head, Path::new(name), Some(FileFormat::Edges), true).unwrap(), FileFormat::Edges);
            }
        }
    }

    #[test]
    fn lines_and_names() {
        for head in ["", "0 1\n", "# text\n\n 5,6", "\u{feff}1 2\n", "from,to\n", "\"a\";\"b\"\n", "% sym\n1 2\n"] {
            assert_eq!(detect(head.as_bytes(), Path::new("x"), None, true).unwrap(), FileFormat::Edges, "{head:?}");
        }
        for (name, format) in [
            ("a.graph", FileFormat::Metis),
            ("A.MTX.GZ", FileFormat::Mtx),
            ("out.karate", FileFormat::Edges),
            ("out.graph", FileFormat::Metis),
            ("x.edges", FileFormat::Edges),
            ("x.edgelist.gz", FileFormat::Edges),
            ("x.dat", FileFormat::Edges),
            ("x.gr", FileFormat::Gr),
            ("x.wsg", FileFormat::Sg),
        ] {
            assert_eq!(detect(b"1 2\n", Path::new(name), None, true).unwrap(), format, "{name}");
        }
        let error = detect(b"hello\n", Path::new("x.xyz"), None, true).unwrap_err().to_string();
        assert!(error.starts_with("x.xyz: the ending names no known format") && error.contains("--input-format"), "{error}");
        assert_eq!(detect(b"hello\n", Path::new("-"), None, false).unwrap(), FileFormat::Edges);
    }

    #[test]
    fn what_is_not_read_is_named_with_what_makes_it_so() {
        for (head, words) in [
            (&b"<?xml version='1.0'?>\n<graphml xmlns="[..], "GraphML"),
            (b"Creator \"Mark\"\ngraph\n[\n", "GML"),
            (b"graph [\n", "GML"),
            (b"digraph G {\n", "DOT"),
            (b"strict graph { a -- b }", "DOT"),
            (b"*Vertices 3\n", "Pajek"),
            (b"\x28\xb5\x2f\xfd....", "zstd -dc"),
            (b"\xfd7zXZ\0...", "xz -dc"),
            (b"BZh91AY", "bzip2 -dc"),
            (b"\xff\xfe1\0 \x002\0", "UTF-16"),
            (b"\x93NUMPY\x01\0", "save_npz"),
        ] {
            for name in ["x", "x.txt", "x.csv"] {
                let error = detect(head, Path::new(name), None, true).unwrap_err().to_string();
                assert!(error.contains(words), "{error} lacks {words}");
            }
        }
        let error = detect(b"\x28\xb5\x2f\xfd....", Path::new("x.mtx"), None, true).unwrap_err().to_string();
        assert!(error.contains("zstd"), "{error}");
    }
}
