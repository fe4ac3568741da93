//! `Signs`: one bit an element on a backend, 1 for +1 and 0 for -1, with scales of rows or columns.
//!
//! Invariant: the words are as the layout says, and bits beyond the matrix are zero.

use super::{BitOperand, CodesOut, download, fits, refused_bits, upload};
use crate::any::Out;
use crate::error::{refused, same_shape};
use crate::{Bits, Dense, Error, Tensor};
use bitgraph_bittensor::{BitLayout, BitMatrix, Levels, Packing, Scales, TileShape};
use bitgraph_sparse::Control;
use std::fmt::{Debug, Formatter};

/// What signs are multiplied by (BitGNN's SCL).
pub enum SignScales<B: Tensor> {
    /// Nothing: BitGNN's BIN.
    None,
    /// One factor for each row, rows x 1.
    Rows(Dense<B, f32>),
    /// One factor for each column, 1 x columns.
    Columns(Dense<B, f32>),
}
impl<B: Tensor> Clone for SignScales<B> {
    fn clone(&self) -> Self {
        match self {
            Self::None => Self::None,
            Self::Rows(d) => Self::Rows(d.clone()),
            Self::Columns(d) => Self::Columns(d.clone()),
        }
    }
}

/// A matrix of `rows x columns` signs on a backend. Cheap to clone.
pub struct Signs<B: Tensor> {
    words: Dense<B, i32>,
    layout: BitLayout,
    scales: SignScales<B>,
}

impl<B: Bits> Signs<B> {
    /// A host matrix on a backend. O(words).
    ///
    /// # Errors
    /// [`Error::Combination`] for a matrix of zeros and ones, which are a plane ([`Planes`](super::Planes)); out of memory.
    pub fn from_host(backend: &B, host: &BitMatrix) -> Result<Self, B::Error> {
        if host.levels() != Levels::Signs {
            let why = "its bits are 0 and 1: make planes of one bit of it";
            return Err(refused::<B>(Error::Combination { operation: "signs", what: "a matrix of zeros and ones", why }));
        }
        let words = upload(backend, host.layout(), 1, host.words())?;
        let scales = match host.scales() {
            Scales::None => SignScales::None,
            Scales::Rows(s) => SignScales::Rows(Dense::column_vector(backend, s.to_vec())?),
            Scales::Columns(s) => SignScales::Columns(Dense::row_vector(backend, s.to_vec())?),
        };
        Ok(Self { words, layout: *host.layout(), scales })
    }
    /// The same signs packed and padded otherwise, through the host. O(words); shares the words if nothing changes.
    ///
    /// # Errors
    /// Out of memory.
    pub fn repacked(&self, packing: Packing, padding: TileShape) -> Result<Self, B::Error> {
        if (packing, padding) == (self.layout.packing(), self.layout.padding()) {
            return Ok(self.clone());
        }
        let host = self.clone().without_scales().to_host()?;
        let host = host.repacked(packing, padding, &Control::default()).map_err(refused_bits::<B>)?;
        Ok(Self { scales: self.scales.clone(), ..Self::from_host(self.backend(), &host)? })
    }
    /// The values, -1 and 1 times their scales, on the backend. O(elements).
    ///
    /// # Errors
    /// Out of memory.
    pub fn to_dense(&self) -> Result<Dense<B, f32>, B::Error> {
        BitOperand::from(self).to_dense()
    }
}

impl<B: Tensor> Signs<B> {
    /// The handle of words that a backend made. Bits beyond the matrix must be zero.
    ///
    /// # Errors
    /// [`Error::Shape`] if the words are not `padded_lines x stride`; [`Error::Combination`] if there are gaps between lines.
    pub fn from_raw(words: Dense<B, i32>, layout: BitLayout) -> Result<Self, Error> {
        fits(words.shape(), words.window().is_contiguous(), &layout, 1)?;
        Ok(Self { words, layout, scales: SignScales::None })
    }
    /// The matrix on the host. O(words).
    ///
    /// # Errors
    /// [`Error::Bits`] for scales that are negative or not finite; out of memory; whatever went wrong in the work before.
    pub fn to_host(&self) -> Result<BitMatrix, B::Error> {
        let scales = match &self.scales {
            SignScales::None => Scales::None,
            SignScales::Rows(d) => Scales::Rows(d.to_host()?.into()),
            SignScales::Columns(d) => Scales::Columns(d.to_host()?.into()),
        };
        BitMatrix::from_words(self.layout, Levels::Signs, download(&self.words)?.into(), scales).map_err(refused_bits::<B>)
    }
    /// The words, `padded_lines x stride`, line by line.
    #[must_use]
    pub fn words(&self) -> &Dense<B, i32> {
        &self.words
    }
    /// Where each bit is.
    #[must_use]
    pub fn layout(&self) -> &BitLayout {
        &self.layout
    }
    /// What the signs are multiplied by.
    #[must_use]
    pub fn scales(&self) -> &SignScales<B> {
        &self.scales
    }
    /// The backend.
    #[must_use]
    pub fn backend(&self) -> &B {
        self.words.backend()
    }
    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.layout.nrows(), self.layout.ncols())
    }
    /// The words to write to, for signs without scales; what other handles share is copied or replaced first.
    pub(crate) fn open(&mut self) -> Result<CodesOut<'_, B>, B::Error> {
        self.scales = SignScales::None;
        let Out { array, window } = self.words.as_mut().open()?;
        Ok(CodesOut { words: Out { array, window }, layout: self.layout, planes: 1 })
    }
    /// Bytes of words and scales.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let scales = match &self.scales {
            SignScales::None => 0,
            SignScales::Rows(d) | SignScales::Columns(d) => d.bytes(),
        };
        self.words.bytes() + scales
    }
    /// The same signs with a factor for each row, of one column. A negative factor turns the signs of its row.
    ///
    /// # Errors
    /// [`Error::Shape`].
    pub fn with_row_scales(self, d: &Dense<B, f32>) -> Result<Self, B::Error> {
        same_shape("signs", "the row scale", (self.layout.nrows(), 1), d.shape()).map_err(refused::<B>)?;
        Ok(Self { scales: SignScales::Rows(d.clone()), ..self })
    }
    /// The same signs with a factor for each column, of one row. A negative factor turns the signs of its column.
    ///
    /// # Errors
    /// [`Error::Shape`].
    pub fn with_column_scales(self, d: &Dense<B, f32>) -> Result<Self, B::Error> {
        same_shape("signs", "the column scale", (1, self.layout.ncols()), d.shape()).map_err(refused::<B>)?;
        Ok(Self { scales: SignScales::Columns(d.clone()), ..self })
    }
    /// The signs alone.
    #[must_use]
    pub fn without_scales(self) -> Self {
        Self { scales: SignScales::None, ..self }
    }
    /// The transpose, packed the other way: the words are shared. O(1), or O(scales) where a backend has to move them.
    ///
    /// # Errors
    /// Out of memory.
    pub fn transposed(&self) -> Result<Self, B::Error> {
        let scales = match &self.scales {
            SignScales::None => SignScales::None,
            SignScales::Rows(d) => SignScales::Columns(d.reshaped(1, d.nrows())?),
            SignScales::Columns(d) => SignScales::Rows(d.reshaped(d.ncols(), 1)?),
        };
        Ok(Self { words: self.words.clone(), layout: self.layout.transposed(), scales })
    }
}

impl<B: Tensor> Clone for Signs<B> {
    fn clone(&self) -> Self {
        Self { words: self.words.clone(), layout: self.layout, scales: self.scales.clone() }
    }
}
impl<B: Tensor> Debug for Signs<B> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (rows, columns) = self.shape();
        write!(f, "Signs({rows} x {columns}, packed along {} on {})", self.layout.packing(), self.backend().name())
    }
}
