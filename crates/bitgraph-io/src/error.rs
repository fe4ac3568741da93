//! Errors of reading and writing: which file, which line, what was found and what to do.

use bitgraph_sparse::Cancelled;
use std::path::PathBuf;

/// The result of this crate's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What edge lists have: numbers that can be replaced by others.
pub(crate) const VERTICES: &str = "vertices";

/// Everything that can go wrong when a file is read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A compressed file that cannot be unpacked.
    #[error("{}: the gzip data is damaged or cut short after {bytes} unpacked bytes: {source}", path.display())]
    Gzip {
        /// The file.
        path: PathBuf,
        /// Bytes unpacked before the fault.
        bytes: u64,
        /// Why.
        source: std::io::Error,
    },
    /// A name whose ending says nothing.
    #[error("{}: the ending names no known format; known are {known}", path.display())]
    UnknownEnding {
        /// The file.
        path: PathBuf,
        /// The endings that are known.
        known: &'static str,
    },
    /// A file of a format that is not read.
    #[error("{}: this is {found}, which is not read; {hint}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: &'static str,
        /// What makes something of it that is read.
        hint: &'static str,
    },
    /// A folder that no file can be made in.
    #[error("{}: no file can be made in the folder {}: {source}", path.display(), folder.display())]
    Folder {
        /// The file.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A text file with a fault on one line.
    #[error("{}, line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong there.
        problem: Problem,
    },
    /// Something the format allows and this library does not read.
    #[error("{}: {what} '{found}' is not supported; supported are {known}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// What was found.
        found: String,
        /// What is supported.
        known: &'static str,
    },
    /// A file that holds fewer or more entries than it says.
    #[error("{}: {expected} {what} are announced and {found} found", path.display())]
    Count {
        /// The file.
        path: PathBuf,
        /// What is counted.
        what: &'static str,
        /// How many the file announces.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// A text file without anything to read.
    #[error("{}: the file is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Vertex numbers so far apart that the matrix would be almost all empty rows.
    #[error(
        "{}: {vertices} {what} for a file of {bytes} bytes is more than is taken on trust; confirm it with --nodes {vertices}{}", path.display(), if *what == VERTICES { ", or renumber with --relabel" } else { "" }
    )]
    TooSparse {
        /// The file.
        path: PathBuf,
        /// What the file calls them: vertices, or rows and columns.
        what: &'static str,
        /// Vertices asked for.
        vertices: u64,
        /// Bytes of text read.
        bytes: u64,
    },
    /// An undirected graph in which an edge is listed from one side only, or with two weights.
    #[error("{}: edge {from} -> {to} has no equal counterpart {to} -> {from}", path.display())]
    OneSided {
        /// The file.
        path: PathBuf,
        /// Start of the edge, in the file's numbering.
        from: u64,
        /// End of the edge, in the file's numbering.
        to: u64,
    },
    /// A binary file whose structure is broken.
    #[error("{}: {part}: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Which part of it.
        part: String,
        /// What is wrong.
        what: &'static str,
    },
    /// An element of a binary file's array that cannot be.
    #[error("{}: array '{array}': element {position} is {found}; {wanted}", path.display())]
    Element {
        /// The file.
        path: PathBuf,
        /// Which array.
        array: String,
        /// Where in it, from 0.
        position: u64,
        /// The element.
        found: String,
        /// What it must be.
        wanted: &'static str,
    },
    /// A binary file that ends too early, or goes on too long.
    #[error("{}: {part} has {found} bytes where {expected} are needed", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// Which part of it.
        part: String,
        /// Bytes needed.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// An array announced with more bytes than there can be.
    #[error("{}: {part} is announced with elements of {bytes} bytes in the shape ({shape}): more bytes than 64 bits can count", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// Which part of it.
        part: String,
        /// The shape announced.
        shape: String,
        /// Bytes of an element.
        bytes: u64,
    },
    /// A container of a later version.
    #[error("{}: container version {found} is not known; this library reads up to {supported}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Version found.
        found: u32,
        /// The last version known.
        supported: u32,
    },
    /// Stored bytes that are not the ones that were written.
    #[error("{}: {part}, block {block}: checksum {found:#010x} where {expected:#010x} is stored; the file is damaged", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// Which part of it.
        part: String,
        /// Which block of that part.
        block: u64,
        /// The stored checksum.
        expected: u32,
        /// The checksum of the bytes.
        found: u32,
    },
    /// Contents that make no valid matrix.
    #[error("{}: {source}", path.display())]
    Matrix {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: bitgraph_sparse::Error,
    },
    /// Something that the format of the output cannot express.
    #[error("{}: {what}", path.display())]
    Inexpressible {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// The reader was asked to stop.
    #[error("cancelled")]
    Cancelled,
}

impl From<Cancelled> for Error {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// What can be wrong with a line.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Something else where a whole number should be.
    #[error("'{found}' is not a whole number")]
    NotAnInteger {
        /// The text found.
        found: String,
    },
    /// Something else where a number should be.
    #[error("'{found}' is not a number")]
    NotANumber {
        /// The text found.
        found: String,
    },
    /// A number that its type cannot hold.
    #[error("{found} does not fit {width}")]
    Overflow {
        /// The text found.
        found: String,
        /// The type.
        width: &'static str,
    },
    /// NaN or an infinity.
    #[error("the value '{found}' is not finite")]
    NotFinite {
        /// The text found.
        found: String,
    },
    /// A line that ends too early.
    #[error("the line ends where {what} should be")]
    Missing {
        /// What should be there.
        what: &'static str,
    },
    /// Nothing between two separators.
    #[error("column {column} is empty")]
    EmptyField {
        /// Which column, from 1.
        column: u64,
    },
    /// A line that goes on too long.
    #[error("'{found}' follows the last field")]
    Trailing {
        /// The text found.
        found: String,
    },
    /// A row, column or vertex number that is not in the matrix.
    #[error("{what} {id} is not in {first}..={last}")]
    IdOutOfRange {
        /// Row, column or vertex.
        what: &'static str,
        /// The number found.
        id: u64,
        /// The smallest that is allowed.
        first: u64,
        /// The largest that is allowed.
        last: u64,
    },
    /// A vertex number of more than 32 bits.
    #[error("vertex {id} does not fit 32 bits; renumber with --relabel")]
    WideId {
        /// The number found.
        id: u64,
    },
    /// A number in a matrix that has none.
    #[error("{what} {id} is given, and the matrix has none")]
    NoSuchId {
        /// Row, column or vertex.
        what: &'static str,
        /// The number found.
        id: u64,
    },
    /// An entry on or above the diagonal of a skew-symmetric matrix.
    #[error("entry ({row}, {column}) lies on or above the diagonal of a skew-symmetric matrix, which lists what is below it")]
    NotBelowDiagonal {
        /// Row found.
        row: u64,
        /// Column found.
        column: u64,
    },
    /// More entries than announced.
    #[error("entry number {found} begins here, and the header announces {expected}")]
    TooMany {
        /// How many are announced.
        expected: u64,
        /// Which one this is.
        found: u64,
    },
    /// A first line that is not the format's.
    #[error("the file begins with '{found}' where {expected} should be")]
    Banner {
        /// The text found.
        found: String,
        /// What should be there.
        expected: &'static str,
    },
    /// A header that contradicts itself.
    #[error("a {symmetry} matrix must be square, and {rows} x {columns} is announced")]
    NotSquare {
        /// The symmetry announced.
        symmetry: &'static str,
        /// Rows announced.
        rows: u64,
        /// Columns announced.
        columns: u64,
    },
    /// A size that 32-bit ids cannot express.
    #[error("a matrix of {rows} x {columns} has more rows or columns than 32-bit ids can name")]
    TooLarge {
        /// Rows announced.
        rows: u64,
        /// Columns announced.
        columns: u64,
    },
    /// More entries announced than the file has room for.
    #[error("{entries} entries are announced, and the file has room for {room} at most")]
    TooManyEntries {
        /// Entries announced.
        entries: u64,
        /// Entries that fit the bytes there are.
        room: u64,
    },
    /// A line longer than any line of this format is.
    #[error("the line is longer than {limit} bytes; this is not a text file of this format")]
    LineTooLong {
        /// The limit, in bytes.
        limit: u64,
    },
    /// An edge with a weight in a list without, or the other way round.
    #[error("the line has {found} fields, and those before it have {expected}")]
    Fields {
        /// Fields of the earlier lines.
        expected: u64,
        /// Fields found.
        found: u64,
    },
    /// A combination that the format does not know.
    #[error("'{found}' is not a known {what}; known are {known}")]
    Unknown {
        /// What it is.
        what: &'static str,
        /// The text found.
        found: String,
        /// What is known.
        known: &'static str,
    },
}
