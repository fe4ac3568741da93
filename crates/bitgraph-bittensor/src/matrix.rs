//! `BitMatrix`: one bit an element, as signs or as 0 and 1, with scales.
//!
//! # Invariants
//! Those of [`BitLayout`]: bits beyond the matrix are zero. Scales, where there are any, fit the shape, are finite and not negative.
//!
//! # Bytes
//! `4 * stride * padded_lines`, and 4 for each scale.

use crate::pack::{Encode, pack};
use crate::repack::repack;
use crate::scales::means;
use crate::unpack::{Decode, unpack};
use crate::{BitLayout, Error, Packing, Result, Scales, Scaling, TileMap, TileShape, View};
use bitgraph_sparse::{Buffer, Control, Csr};
use rayon::prelude::*;

/// What the two values of a bit mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Levels {
    /// 1 is +1 and 0 is -1: binarised weights and activations.
    #[default]
    Signs,
    /// 1 is 1 and 0 is 0: an adjacency matrix, one plane of a code.
    ZeroOne,
}

impl Levels {
    /// The value of a bit.
    #[inline]
    #[must_use]
    pub const fn value(self, bit: bool) -> f32 {
        match (self, bit) {
            (_, true) => 1.0,
            (Self::Signs, false) => -1.0,
            (Self::ZeroOne, false) => 0.0,
        }
    }
}

/// From where on an element's bit is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Threshold<'a> {
    /// At zero and above; both zeros count as above.
    #[default]
    Zero,
    /// Where it is at or above its column's threshold.
    From(&'a [f32]),
    /// Where it is above its column's threshold.
    Above(&'a [f32]),
}

/// How elements become bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Binarize<'a> {
    /// The direction of packing.
    pub packing: Packing,
    /// What to pad to.
    pub padding: TileShape,
    /// From where on a bit is 1.
    pub threshold: Threshold<'a>,
    /// Which scales to find. They are of the elements themselves, whatever the threshold.
    pub scaling: Scaling,
}

/// A dense matrix of bits. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct BitMatrix {
    layout: BitLayout,
    levels: Levels,
    words: Buffer<u32>,
    scales: Scales,
}

struct FromZero;
struct FromThresholds<'a>(&'a [f32]);
struct AboveThresholds<'a>(&'a [f32]);

impl<T: Copy + Into<f32>> Encode<T> for FromZero {
    #[inline]
    fn encode(&self, _: usize, _: usize, elements: &[T], codes: &mut [u32]) -> bool {
        elements.iter().zip(codes).fold(false, |breach, (&x, code)| {
            let x: f32 = x.into();
            *code = u32::from(x >= 0.0);
            breach | x.is_nan()
        })
    }
}

impl<T: Copy + Into<f32>> Encode<T> for FromThresholds<'_> {
    #[inline]
    fn encode(&self, _: usize, first: usize, elements: &[T], codes: &mut [u32]) -> bool {
        elements.iter().zip(&self.0[first..]).zip(codes).fold(false, |breach, ((&x, &threshold), code)| {
            let x: f32 = x.into();
            *code = u32::from(x >= threshold);
            breach | x.is_nan()
        })
    }
}

impl<T: Copy + Into<f32>> Encode<T> for AboveThresholds<'_> {
    #[inline]
    fn encode(&self, _: usize, first: usize, elements: &[T], codes: &mut [u32]) -> bool {
        elements.iter().zip(&self.0[first..]).zip(codes).fold(false, |breach, ((&x, &threshold), code)| {
            let x: f32 = x.into();
            *code = u32::from(x > threshold);
            breach | x.is_nan()
        })
    }
}

impl Decode<f32> for BitMatrix {
    #[inline]
    fn decode(&self, row: usize, first: usize, codes: &[u32], elements: &mut [f32]) {
        for (element, &code) in elements.iter_mut().zip(codes) {
            *element = self.levels.value(code != 0);
        }
        match &self.scales {
            Scales::None => {}
            Scales::Rows(scales) => elements.iter_mut().for_each(|x| *x *= scales[row]),
            Scales::Columns(scales) => elements.iter_mut().zip(&scales[first..]).for_each(|(x, scale)| *x *= scale),
        }
    }
}

impl BitMatrix {
    /// The signs of elements, or where they reach thresholds, and their scales. Infinite elements have a sign, but no mean.
    /// O(elements), parallel; peak memory the result twice if packed by columns.
    ///
    /// # Errors
    /// [`Error::NotANumber`] for an element without a sign, [`Error::Infinite`] if scales are asked for and one is infinite,
    /// [`Error::Length`] or [`Error::Invalid`] for thresholds that do not fit or are not numbers, [`Error::TooLarge`],
    /// [`Error::OutOfMemory`] or [`Error::Cancelled`].
    pub fn binarize<T: Copy + Sync + Into<f32>>(view: &View<'_, T>, how: &Binarize<'_>, control: &Control) -> Result<Self> {
        let layout = BitLayout::new(view.nrows(), view.ncols(), how.packing, how.padding)?;
        if let Threshold::From(thresholds) | Threshold::Above(thresholds) = how.threshold {
            if thresholds.len() != view.ncols() {
                return Err(Error::Length { array: "thresholds", expected: view.ncols() as u64, found: thresholds.len() as u64 });
            }
            if let Some(k) = thresholds.iter().position(|t| t.is_nan()) {
                return Err(Error::Invalid { array: "thresholds", position: k as u64, what: "not a number" });
            }
        }
        let scales = means(view, how.scaling, control)?;
        let (words, breach) = match how.threshold {
            Threshold::Zero => pack(view, &layout, 1, &FromZero, control)?,
            Threshold::From(thresholds) => pack(view, &layout, 1, &FromThresholds(thresholds), control)?,
            Threshold::Above(thresholds) => pack(view, &layout, 1, &AboveThresholds(thresholds), control)?,
        };
        if breach {
            let (row, column) = view.find(|&x| Into::<f32>::into(x).is_nan()).unwrap_or_default();
            return Err(Error::NotANumber { row, column });
        }
        Ok(Self { layout, levels: Levels::Signs, words: words.into(), scales })
    }
    /// The entries of a sparse pattern as ones, everything else as zeros: QGTC's dense adjacency matrix of a part of a graph.
    /// O(words + entries), parallel over rows; peak memory the result twice if packed by columns.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::OutOfMemory`] or [`Error::Cancelled`].
    pub fn from_csr(csr: &Csr, packing: Packing, padding: TileShape, control: &Control) -> Result<Self> {
        let to = BitLayout::new(csr.nrows(), csr.ncols(), packing, padding)?;
        let by_rows = match packing {
            Packing::Rows => to,
            Packing::Columns => BitLayout::new(csr.nrows(), csr.ncols(), Packing::Rows, TileShape::WORD)?,
        };
        let mut words = crate::memory::zeros::<u32>(by_rows.words(), "planes of bits")?;
        if by_rows.words() > 0 {
            words.par_chunks_mut(by_rows.stride()).take(csr.nrows()).enumerate().with_min_len(64).try_for_each(|(i, line)| {
                if i % 64 == 0 {
                    control.check()?;
                }
                csr.row(i).iter().for_each(|&j| line[j as usize / 32] |= 1 << (j % 32));
                Ok::<(), Error>(())
            })?;
        }
        let words = if packing == Packing::Rows { words } else { repack(&words, &by_rows, &to, control)? };
        Ok(Self { layout: to, levels: Levels::ZeroOne, words: words.into(), scales: Scales::None })
    }
    /// From words that come from outside: every invariant is checked. O(lines) and the padding.
    ///
    /// # Errors
    /// [`Error::Length`], or [`Error::Invalid`] for a bit beyond the matrix or a scale that cannot be.
    pub fn from_words(layout: BitLayout, levels: Levels, words: Buffer<u32>, scales: Scales) -> Result<Self> {
        if words.len() != layout.words() {
            return Err(Error::Length { array: "words", expected: layout.words() as u64, found: words.len() as u64 });
        }
        if let Some(k) = layout.breach(&words) {
            return Err(Error::Invalid { array: "words", position: k as u64, what: "a bit beyond the edge of the matrix" });
        }
        scales.check(layout.nrows(), layout.ncols())?;
        Ok(Self { layout, levels, words, scales })
    }
    /// From words that this crate made.
    pub(crate) fn from_valid(layout: BitLayout, levels: Levels, words: Buffer<u32>, scales: Scales) -> Self {
        debug_assert!(Self::from_words(layout, levels, words.clone(), scales.clone()).is_ok());
        Self { layout, levels, words, scales }
    }
    /// The same bits with other scales.
    ///
    /// # Errors
    /// [`Error::Length`] or [`Error::Invalid`] for scales that do not fit, are negative or not finite.
    pub fn with_scales(self, scales: Scales) -> Result<Self> {
        scales.check(self.nrows(), self.ncols())?;
        Ok(Self { scales, ..self })
    }
    /// The number of rows.
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.layout.nrows()
    }
    /// The number of columns.
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.layout.ncols()
    }
    /// Where each bit is.
    #[must_use]
    pub fn layout(&self) -> &BitLayout {
        &self.layout
    }
    /// What the bits mean.
    #[must_use]
    pub fn levels(&self) -> Levels {
        self.levels
    }
    /// The words, line by line, for kernels and uploads.
    #[must_use]
    pub fn words(&self) -> &Buffer<u32> {
        &self.words
    }
    /// The scales.
    #[must_use]
    pub fn scales(&self) -> &Scales {
        &self.scales
    }
    /// The words of a line: a row, or a column, by the packing.
    ///
    /// # Panics
    /// If it is beyond the padded lines.
    #[must_use]
    pub fn line(&self, line: usize) -> &[u32] {
        self.layout.line(&self.words, line)
    }
    /// The bit of an element.
    ///
    /// # Panics
    /// If it is outside the matrix.
    #[inline]
    #[must_use]
    pub fn bit(&self, row: usize, column: usize) -> bool {
        let (word, bit) = self.layout.position(row, column);
        self.words[word] >> bit & 1 != 0
    }
    /// The value of an element: its level times its scale.
    ///
    /// # Panics
    /// If it is outside the matrix.
    #[must_use]
    pub fn value(&self, row: usize, column: usize) -> f32 {
        self.levels.value(self.bit(row, column)) * self.scales.get(row, column)
    }
    /// How many bits are 1. O(words), parallel.
    #[must_use]
    pub fn count_ones(&self) -> u64 {
        self.words.par_chunks(1 << 14).map(crate::dot::ones).sum()
    }
    /// All values, row by row. O(elements), parallel.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Cancelled`].
    pub fn to_dense(&self, control: &Control) -> Result<Vec<f32>> {
        unpack(&self.words, &self.layout, self, control)
    }
    /// The same matrix packed and padded otherwise. O(words), parallel; shares the words if nothing changes.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::OutOfMemory`] or [`Error::Cancelled`].
    pub fn repacked(&self, packing: Packing, padding: TileShape, control: &Control) -> Result<Self> {
        let layout = BitLayout::new(self.nrows(), self.ncols(), packing, padding)?;
        if layout == self.layout {
            return Ok(self.clone());
        }
        let words = repack(&self.words, &self.layout, &layout, control)?.into();
        Ok(Self::from_valid(layout, self.levels, words, self.scales.clone()))
    }
    /// The transpose, packed the other way, sharing the words. O(1).
    #[must_use]
    pub fn transposed(&self) -> Self {
        Self { layout: self.layout.transposed(), scales: self.scales.transposed(), ..self.clone() }
    }
    /// Which tiles hold a 1. O(words), parallel.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Cancelled`].
    pub fn tiles(&self, shape: TileShape, control: &Control) -> Result<TileMap> {
        TileMap::of(&self.words, &self.layout, shape, control)
    }
    /// Exact size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.layout.bytes() + self.scales.bytes()
    }
    /// Bytes of the same matrix in `f32`.
    #[must_use]
    pub fn float_bytes(&self) -> u64 {
        4 * (self.nrows() * self.ncols()) as u64
    }
}
