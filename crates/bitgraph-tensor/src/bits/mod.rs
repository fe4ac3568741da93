//! Matrices of few bits on a backend: [`Signs`], one bit an element, and [`Planes`], codes of 1 to 16 bits.
//!
//! Both are packed as [`bitgraph_bittensor`] packs them on the host, so that a matrix moves between the two by copying words: bit `i` of a
//! line is bit `i % 32` of its word `i / 32`, lines are rows or columns, planes follow each other, bits beyond the matrix are zero. Words are
//! held as `i32`, the element type of 32 bits, and are bit patterns.

mod operand;
mod planes;
mod signs;

pub use operand::{BitOperand, BitOut, CodesOut};
pub(crate) use planes::width;
pub use planes::{PlaneSteps, Planes};
pub use signs::{SignScales, Signs};

use crate::error::refused;
use crate::{Bits, Dense, Error, Tensor, Window};
use bitgraph_backend::Backend;
use bitgraph_bittensor::BitLayout;

/// Rows and columns of the matrix of words that holds so many planes.
fn words_shape(layout: &BitLayout, planes: u32) -> (usize, usize) {
    // A layout is refused where the words of 16 planes would not fit an address space.
    (planes as usize * layout.padded_lines(), layout.stride())
}

/// An error of the host's bit tensors as one of a backend.
pub(crate) fn refused_bits<B: Backend>(error: bitgraph_bittensor::Error) -> B::Error {
    refused::<B>(Error::Bits(error))
}

/// Words of a host matrix on a backend.
fn upload<B: Bits>(backend: &B, layout: &BitLayout, planes: u32, words: &[u32]) -> Result<Dense<B, i32>, B::Error> {
    let (rows, columns) = words_shape(layout, planes);
    let window = Window::whole(rows, columns).map_err(refused::<B>)?;
    Ok(Dense::from_raw(backend, backend.words(words)?, window))
}

/// Words of zeros for a result.
pub(crate) fn empty<B: Tensor>(backend: &B, layout: &BitLayout, planes: u32) -> Result<Dense<B, i32>, B::Error> {
    let (rows, columns) = words_shape(layout, planes);
    Dense::zeros(backend, rows, columns)
}

/// Words on the host.
fn download<B: Tensor>(words: &Dense<B, i32>) -> Result<Vec<u32>, B::Error> {
    Ok(words.to_host()?.into_iter().map(i32::cast_unsigned).collect())
}

/// Refuses words that are not as many as a layout needs, or not next to each other.
fn fits(words: (usize, usize), contiguous: bool, layout: &BitLayout, planes: u32) -> Result<(), Error> {
    crate::error::same_shape("a matrix of bits", "its words", words_shape(layout, planes), words)?;
    if contiguous {
        return Ok(());
    }
    let why = "kernels step from line to line by the layout's stride";
    Err(Error::Combination { operation: "a matrix of bits", what: "words with gaps between the lines", why })
}
