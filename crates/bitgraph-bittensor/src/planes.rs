//! `BitPlanes`: codes of 1 to 16 bits, a plane for each bit (QGTC's 3D-stacked bit compression, section 4.2).
//!
//! # Invariants
//! Plane `p` holds bit `p` of every code, laid out as [`BitLayout`] says, one plane after the other; bits beyond the matrix are zero. The
//! steps fit the shape.
//!
//! # Bytes
//! `4 * bits * stride * padded_lines`, and 8 for each step.

use crate::pack::{Encode, pack};
use crate::quantize::width;
use crate::repack::repack;
use crate::unpack::{Decode, unpack};
use crate::{BitLayout, BitMatrix, Error, Levels, Packing, Quantization, Result, Rounding, Scales, Step, Steps, TileMap, TileShape, View};
use bitgraph_sparse::{Buffer, Control};

/// A dense matrix of codes, plane by plane. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct BitPlanes {
    layout: BitLayout,
    words: Buffer<u32>,
    quantization: Quantization,
}

/// Whole numbers from which exact codes may begin: their sums with any code, and their zero points, are exact in `f32`.
const LOWEST: std::ops::RangeInclusive<i32> = -(1 << 24)..=(1 << 24) - (1 << 16);

impl<T: Copy + Into<f32>> Encode<T> for Quantization {
    #[inline]
    fn encode(&self, row: usize, first: usize, elements: &[T], codes: &mut [u32]) -> bool {
        let (top, rounding) = (self.top() as f32, self.rounding());
        let one = |step: Step, x: T, code: &mut u32| {
            let x: f32 = x.into();
            *code = step.code(x, top, rounding);
            x.is_nan()
        };
        match self.steps() {
            Steps::Columns(steps) => {
                elements.iter().zip(&steps[first..]).zip(codes).fold(false, |breach, ((&x, &step), code)| breach | one(step, x, code))
            }
            Steps::Rows(_) | Steps::Tensor(_) => {
                let step = self.steps().get(row, first);
                elements.iter().zip(codes).fold(false, |breach, (&x, code)| breach | one(step, x, code))
            }
        }
    }
}

/// Codes that are whole numbers already.
struct Whole {
    lowest: i64,
    top: i64,
}

impl<T: Copy + Into<i64>> Encode<T> for Whole {
    #[inline]
    fn encode(&self, _: usize, _: usize, elements: &[T], codes: &mut [u32]) -> bool {
        elements.iter().zip(codes).fold(false, |breach, (&x, code)| {
            let above: i64 = Into::<i64>::into(x) - self.lowest;
            *code = above as u32;
            breach | !(0..=self.top).contains(&above)
        })
    }
}

struct Codes;

impl Decode<u16> for Codes {
    #[inline]
    fn decode(&self, _: usize, _: usize, codes: &[u32], elements: &mut [u16]) {
        elements.iter_mut().zip(codes).for_each(|(element, &code)| *element = code as u16);
    }
}

impl Decode<f32> for Quantization {
    #[inline]
    fn decode(&self, row: usize, first: usize, codes: &[u32], elements: &mut [f32]) {
        match self.steps() {
            Steps::Columns(steps) => {
                elements.iter_mut().zip(codes).zip(&steps[first..]).for_each(|((x, &code), step)| *x = step.value(code));
            }
            Steps::Rows(_) | Steps::Tensor(_) => {
                let step = self.steps().get(row, first);
                elements.iter_mut().zip(codes).for_each(|(x, &code)| *x = step.value(code));
            }
        }
    }
}

impl BitPlanes {
    /// The codes of elements. Infinities get the code of their end. O(elements), parallel; peak memory the result twice if packed by
    /// columns.
    ///
    /// # Errors
    /// [`Error::NotANumber`] for an element without a code, [`Error::Length`] for steps that do not fit the shape, [`Error::TooLarge`],
    /// [`Error::OutOfMemory`] or [`Error::Cancelled`].
    pub fn quantize<T: Copy + Sync + Into<f32>>(
        view: &View<'_, T>,
        quantization: &Quantization,
        packing: Packing,
        padding: TileShape,
        control: &Control,
    ) -> Result<Self> {
        let layout = BitLayout::new(view.nrows(), view.ncols(), packing, padding)?;
        quantization.check(view.nrows(), view.ncols())?;
        let (words, breach) = pack(view, &layout, quantization.bits() as usize, quantization, control)?;
        if breach {
            let (row, column) = view.find(|&x| Into::<f32>::into(x).is_nan()).unwrap_or_default();
            return Err(Error::NotANumber { row, column });
        }
        Ok(Self { layout, words: words.into(), quantization: quantization.clone() })
    }
    /// Whole numbers of at least `lowest`, exactly: the code of `v` is `v - lowest`, and its value is `v` again. (`lowest` of 0 packs
    /// codes as they are, `-(1 << (bits - 1))` signed numbers.) O(elements), parallel.
    ///
    /// # Errors
    /// [`Error::Width`]; [`Error::Lowest`] if values could not be exact in `f32`; [`Error::Code`] for a number that does not fit;
    /// [`Error::TooLarge`], [`Error::OutOfMemory`] or [`Error::Cancelled`].
    pub fn from_integers<T: Copy + Sync + Into<i64>>(
        view: &View<'_, T>,
        bits: u32,
        lowest: i32,
        packing: Packing,
        padding: TileShape,
        control: &Control,
    ) -> Result<Self> {
        width(bits, 1)?;
        if !LOWEST.contains(&lowest) {
            let (smallest, largest) = (i64::from(*LOWEST.start()), i64::from(*LOWEST.end()));
            return Err(Error::Lowest { lowest: lowest.into(), smallest, largest });
        }
        let layout = BitLayout::new(view.nrows(), view.ncols(), packing, padding)?;
        let whole = Whole { lowest: lowest.into(), top: (1 << bits) - 1 };
        let (words, breach) = pack(view, &layout, bits as usize, &whole, control)?;
        if breach {
            let (smallest, largest) = (whole.lowest, whole.lowest + whole.top);
            let mut value = 0;
            let place = view.find(|&x| {
                value = x.into();
                !(smallest..=largest).contains(&value)
            });
            let (row, column) = place.unwrap_or_default();
            return Err(Error::Code { row, column, value, bits, smallest, largest });
        }
        let steps = Steps::Tensor(Step { scale: 1.0, zero: -lowest as f32 });
        Ok(Self { layout, words: words.into(), quantization: Quantization::new(bits, Rounding::Nearest, steps)? })
    }
    /// From words that come from outside, plane after plane: every invariant is checked. O(lines) and the padding.
    ///
    /// # Errors
    /// [`Error::Length`], or [`Error::Invalid`] for a bit beyond the matrix.
    pub fn from_words(layout: BitLayout, quantization: Quantization, words: Buffer<u32>) -> Result<Self> {
        let expected = layout.words() as u64 * u64::from(quantization.bits());
        if words.len() as u64 != expected {
            return Err(Error::Length { array: "words", expected, found: words.len() as u64 });
        }
        if let Some(k) = layout.breach(&words) {
            return Err(Error::Invalid { array: "words", position: k as u64, what: "a bit beyond the edge of the matrix" });
        }
        quantization.check(layout.nrows(), layout.ncols())?;
        Ok(Self { layout, words, quantization })
    }
    /// Planes, the lowest bit first, put together: the inverse of [`BitPlanes::plane`]. What the bits of the planes mean, and their
    /// scales, do not matter. O(words).
    ///
    /// # Errors
    /// [`Error::Width`] if there are none or more than 16, [`Error::Length`] if `quantization` has another number of bits or does not
    /// fit the shape, [`Error::Shape`] if two differ in shape, [`Error::Packed`] in packing, [`Error::Padded`] in padding.
    pub fn compose(planes: &[BitMatrix], quantization: Quantization) -> Result<Self> {
        width(u32::try_from(planes.len()).unwrap_or(u32::MAX), 1)?;
        let layout = *planes[0].layout();
        for plane in planes.iter().map(BitMatrix::layout) {
            if (plane.nrows(), plane.ncols()) != (layout.nrows(), layout.ncols()) {
                return Err(Error::Shape {
                    operation: "planes of one matrix",
                    left_rows: layout.nrows() as u64,
                    left_columns: layout.ncols() as u64,
                    right_rows: plane.nrows() as u64,
                    right_columns: plane.ncols() as u64,
                });
            }
            if plane.packing() != layout.packing() {
                return Err(Error::Packed { operand: "planes'", expected: layout.packing(), found: plane.packing() });
            }
            if plane.padding() != layout.padding() {
                return Err(Error::Padded { expected: layout.padding(), found: plane.padding() });
            }
        }
        if planes.len() != quantization.bits() as usize {
            return Err(Error::Length { array: "planes", expected: quantization.bits().into(), found: planes.len() as u64 });
        }
        quantization.check(layout.nrows(), layout.ncols())?;
        let words: Vec<u32> = planes.iter().flat_map(|plane| plane.words().iter().copied()).collect();
        Ok(Self { layout, words: words.into(), quantization })
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
    /// Bits of a code: the number of planes.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.quantization.bits()
    }
    /// Where each bit of a plane is.
    #[must_use]
    pub fn layout(&self) -> &BitLayout {
        &self.layout
    }
    /// What the codes stand for.
    #[must_use]
    pub fn quantization(&self) -> &Quantization {
        &self.quantization
    }
    /// The words, plane by plane and line by line, for kernels and uploads.
    #[must_use]
    pub fn words(&self) -> &Buffer<u32> {
        &self.words
    }
    /// The words of plane `p`, line by line.
    ///
    /// # Panics
    /// If there is no such plane.
    #[must_use]
    pub fn plane_words(&self, p: u32) -> &[u32] {
        assert!(p < self.bits(), "plane {p} of {}", self.bits());
        let words = self.layout.words();
        &self.words[p as usize * words..(p as usize + 1) * words]
    }
    /// Plane `p` as a matrix of zeros and ones: QGTC's bit decomposition. O(words of a plane).
    ///
    /// # Panics
    /// If there is no such plane.
    #[must_use]
    pub fn plane(&self, p: u32) -> BitMatrix {
        BitMatrix::from_valid(self.layout, Levels::ZeroOne, self.plane_words(p).to_vec().into(), Scales::None)
    }
    /// The code of an element. O(bits).
    ///
    /// # Panics
    /// If it is outside the matrix.
    #[must_use]
    pub fn code(&self, row: usize, column: usize) -> u32 {
        let (word, bit) = self.layout.position(row, column);
        (0..self.bits()).map(|p| (self.words[p as usize * self.layout.words() + word] >> bit & 1) << p).sum()
    }
    /// The value of an element. O(bits).
    ///
    /// # Panics
    /// If it is outside the matrix.
    #[must_use]
    pub fn value(&self, row: usize, column: usize) -> f32 {
        self.quantization.value(self.code(row, column), row, column)
    }
    /// All codes, row by row. O(elements), parallel.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Cancelled`].
    pub fn codes(&self, control: &Control) -> Result<Vec<u16>> {
        unpack(&self.words, &self.layout, &Codes, control)
    }
    /// All values, row by row. O(elements), parallel.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Cancelled`].
    pub fn dequantize(&self, control: &Control) -> Result<Vec<f32>> {
        unpack(&self.words, &self.layout, &self.quantization, control)
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
        Ok(Self { layout, words, quantization: self.quantization.clone() })
    }
    /// The transpose, packed the other way, sharing the words. O(1).
    #[must_use]
    pub fn transposed(&self) -> Self {
        Self { layout: self.layout.transposed(), words: self.words.clone(), quantization: self.quantization.transposed() }
    }
    /// Which tiles hold a 1 in any plane. O(words), parallel.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Cancelled`].
    pub fn tiles(&self, shape: TileShape, control: &Control) -> Result<TileMap> {
        TileMap::of(&self.words, &self.layout, shape, control)
    }
    /// Exact size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.layout.bytes() * u64::from(self.bits()) + self.quantization.steps().bytes()
    }
    /// Bytes of the same matrix in `f32`.
    #[must_use]
    pub fn float_bytes(&self) -> u64 {
        4 * (self.nrows() * self.ncols()) as u64
    }
}

impl From<&BitMatrix> for BitPlanes {
    /// One plane of the same values, sharing the words: a bit of 0/1 is its own code; signs with scale `s` are codes of step `2 s` around
    /// one half. A scale of 0 has no step: such elements get values of less than 10^-44. Scales of signs above half the largest `f32` count as that.
    fn from(bits: &BitMatrix) -> Self {
        let step = |scale: f32| match bits.levels() {
            Levels::ZeroOne => Step { scale: scale.max(f32::from_bits(1)), zero: 0.0 },
            // Twice the largest scales would be infinite.
            Levels::Signs => Step { scale: (2.0 * scale).clamp(f32::from_bits(2), f32::MAX), zero: 0.5 },
        };
        let all = |scales: &Buffer<f32>| scales.iter().map(|&s| step(s)).collect::<Vec<_>>().into();
        let steps = match bits.scales() {
            Scales::None => Steps::Tensor(step(1.0)),
            Scales::Rows(scales) => Steps::Rows(all(scales)),
            Scales::Columns(scales) => Steps::Columns(all(scales)),
        };
        let quantization = Quantization::new(1, Rounding::Nearest, steps).expect("one bit, positive finite scales");
        Self { layout: *bits.layout(), words: bits.words().clone(), quantization }
    }
}
