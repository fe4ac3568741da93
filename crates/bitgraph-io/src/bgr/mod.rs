//! The container `.bgr`: typed arrays that are used where they lie in a mapped file.
//!
//! # Layout (little endian, version 1)
//! ```text
//! header    128 bytes: magic, version, sizes, shape, format kind, flags; its own CRC-32 and that of the table
//! table     64 bytes per section: name, role, element type, where its bytes are, how many
//! checksums a CRC-32 for every block of every section, in order
//! padding   zeros up to a multiple of 64
//! sections  one after the other, each padded with zeros to a multiple of 64
//! ```
//! The sections of a format are those of its `Format::sections`, by their names; values are in the order of the pattern's CSR form,
//! whatever the format; a permutation (`permutation.ORDERING`, or `permutation` where the ordering is not known) gives the number of every
//! vertex in rows and columns as they are stored, and everything but `original_ids` is in those numbers.
//!
//! # Invariants
//! Header, table, checksums and padding are checked at opening, in time that does not depend on the sections but for one number per
//! block. The sections fill the rest of the file without gap or overlap, so that every byte of it is covered by some checksum; a
//! section's are verified, in parallel, when it is first used. That a matrix is symmetric is not believed: it is tested when the matrix is
//! read (`Csr::seems_symmetric`), because whoever forges the flag can forge checksums. A CRC-32 finds every single flipped bit and every burst of 32 bits.

mod container;
mod layout;
pub(crate) mod write;

pub use container::Container;

#[cfg(test)]
mod tests;
