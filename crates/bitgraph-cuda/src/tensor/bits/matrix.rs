//! Matrices of bits on the device: the words and scales of `bitgraph-bittensor`, in its layout, so that a conversion is a copy.
//!
//! Invariant: those of [`BitLayout`]: bits beyond the matrix are zero.

use super::expect;
use crate::Result;
use crate::device::{Buffer, Device};
use bitgraph_bittensor::{BitLayout, BitMatrix, BitPlanes, Levels, Packing, Quantization, Scales, TileShape};
use bitgraph_sparse::Control;

/// Scales of a matrix of bits on the device.
#[derive(Clone, Debug, Default)]
pub enum DeviceScales {
    /// None.
    #[default]
    None,
    /// One for each row.
    Rows(Buffer<f32>),
    /// One for each column.
    Columns(Buffer<f32>),
}

impl DeviceScales {
    /// From the host.
    ///
    /// # Errors
    /// Out of memory.
    pub fn upload(device: &Device, scales: &Scales) -> Result<Self> {
        Ok(match scales {
            Scales::None => Self::None,
            Scales::Rows(s) => Self::Rows(device.upload(s)?),
            Scales::Columns(s) => Self::Columns(device.upload(s)?),
        })
    }
    /// On the host; waits.
    ///
    /// # Errors
    /// The driver's.
    pub fn to_host(&self) -> Result<Scales> {
        Ok(match self {
            Self::None => Scales::None,
            Self::Rows(s) => Scales::Rows(s.to_vec()?.into()),
            Self::Columns(s) => Scales::Columns(s.to_vec()?.into()),
        })
    }
    /// Bytes on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Rows(s) | Self::Columns(s) => s.bytes(),
        }
    }
}

/// A dense matrix of bits on the device. A clone shares the memory.
#[derive(Clone, Debug)]
pub struct DeviceBits {
    layout: BitLayout,
    levels: Levels,
    words: Buffer<u32>,
    scales: DeviceScales,
}

impl DeviceBits {
    /// From the host. A copy.
    ///
    /// # Errors
    /// Out of memory.
    pub fn upload(device: &Device, bits: &BitMatrix) -> Result<Self> {
        let scales = DeviceScales::upload(device, bits.scales())?;
        Ok(Self { layout: *bits.layout(), levels: bits.levels(), words: device.upload(bits.words())?, scales })
    }
    /// On the host. A copy, and a check of the padding; waits.
    ///
    /// # Errors
    /// The driver's; a bit beyond the matrix, which only words of a caller's own can have.
    pub fn to_host(&self) -> Result<BitMatrix> {
        let words = self.words.to_vec()?;
        BitMatrix::from_words(self.layout, self.levels, words.into(), self.scales.to_host()?).map_err(super::host_error)
    }
    /// Words of a caller's own, with bits beyond the matrix zero.
    ///
    /// # Errors
    /// Another number of words than the layout has.
    pub fn from_words(layout: BitLayout, levels: Levels, words: Buffer<u32>) -> Result<Self> {
        expect("a matrix of bits", "its words", layout.words() as u64, words.len() as u64)?;
        Ok(Self { layout, levels, words, scales: DeviceScales::None })
    }
    /// All bits zero, for a result.
    ///
    /// # Errors
    /// Out of memory.
    pub fn zeroed(device: &Device, layout: BitLayout, levels: Levels) -> Result<Self> {
        Ok(Self { layout, levels, words: device.zeroed(layout.words())?, scales: DeviceScales::None })
    }
    /// The same bits with other scales.
    ///
    /// # Errors
    /// Another number of scales than the matrix has rows or columns.
    pub fn with_scales(self, scales: DeviceScales) -> Result<Self> {
        match &scales {
            DeviceScales::None => {}
            DeviceScales::Rows(s) => expect("a matrix of bits", "the scales of rows", self.layout.nrows() as u64, s.len() as u64)?,
            DeviceScales::Columns(s) => expect("a matrix of bits", "the scales of columns", self.layout.ncols() as u64, s.len() as u64)?,
        }
        Ok(Self { scales, ..self })
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
    /// The words, line by line.
    #[must_use]
    pub fn words(&self) -> &Buffer<u32> {
        &self.words
    }
    /// The scales.
    #[must_use]
    pub fn scales(&self) -> &DeviceScales {
        &self.scales
    }
    /// The transpose, packed the other way, sharing the words. O(1).
    #[must_use]
    pub fn transposed(&self) -> Self {
        let scales = match &self.scales {
            DeviceScales::None => DeviceScales::None,
            DeviceScales::Rows(s) => DeviceScales::Columns(s.clone()),
            DeviceScales::Columns(s) => DeviceScales::Rows(s.clone()),
        };
        Self { layout: self.layout.transposed(), scales, ..self.clone() }
    }
    /// Bytes on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.words.bytes() + self.scales.bytes()
    }
}

/// A dense matrix of codes of 1 to 16 bits on the device, plane by plane; the steps stay on the host. A clone shares the memory.
#[derive(Clone, Debug)]
pub struct DevicePlanes {
    layout: BitLayout,
    quantization: Quantization,
    words: Buffer<u32>,
}

impl DevicePlanes {
    /// From the host. A copy.
    ///
    /// # Errors
    /// Out of memory.
    pub fn upload(device: &Device, planes: &BitPlanes) -> Result<Self> {
        Ok(Self { layout: *planes.layout(), quantization: planes.quantization().clone(), words: device.upload(planes.words())? })
    }
    /// On the host. A copy, and a check of the padding; waits.
    ///
    /// # Errors
    /// The driver's; a bit beyond the matrix, which only words of a caller's own can have.
    pub fn to_host(&self) -> Result<BitPlanes> {
        let words = self.words.to_vec()?;
        BitPlanes::from_words(self.layout, self.quantization.clone(), words.into()).map_err(super::host_error)
    }
    /// Words of a caller's own, plane by plane, with bits beyond the matrix zero; the steps fit the shape.
    ///
    /// # Errors
    /// Another number of words than the planes have.
    pub fn from_words(layout: BitLayout, quantization: Quantization, words: Buffer<u32>) -> Result<Self> {
        let expected = layout.words() as u64 * u64::from(quantization.bits());
        expect("planes of bits", "their words", expected, words.len() as u64)?;
        Ok(Self { layout, quantization, words })
    }
    /// A matrix of bits as one plane of codes, sharing the words; its scales become steps, for which they are read back.
    ///
    /// # Errors
    /// The driver's.
    pub fn from_bits(bits: &DeviceBits) -> Result<Self> {
        // The steps come from the scales and the levels alone: a matrix without bits has them.
        let scales = bits.scales.to_host()?;
        let (rows, columns) = if matches!(scales, Scales::Rows(_)) { (bits.layout.nrows(), 0) } else { (0, bits.layout.ncols()) };
        let layout = BitLayout::new(rows, columns, Packing::Rows, TileShape::WORD).map_err(super::host_error)?;
        let none = BitMatrix::from_words(layout, bits.levels, Vec::new().into(), scales).map_err(super::host_error)?;
        let quantization = BitPlanes::from(&none).quantization().clone();
        Ok(Self { layout: bits.layout, quantization, words: bits.words.clone() })
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
    /// Bits of a code.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.quantization.bits()
    }
    /// The words, plane by plane and line by line.
    #[must_use]
    pub fn words(&self) -> &Buffer<u32> {
        &self.words
    }
    /// Bytes on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.words.bytes()
    }
}

/// A map of the tiles of a first operand that hold a 1, a bit each, for kernels that jump over the others.
#[derive(Clone, Debug)]
pub struct DeviceTiles {
    pub(super) shape: TileShape,
    pub(super) tile_rows: usize,
    pub(super) tile_columns: usize,
    /// For each row of tiles, words of bits for its columns.
    pub(super) words: Buffer<u32>,
}

impl DeviceTiles {
    /// From the host's map of a matrix.
    ///
    /// # Errors
    /// Out of memory.
    pub fn upload(device: &Device, tiles: &bitgraph_bittensor::TileMap) -> Result<Self> {
        let stride = tiles.tile_columns().div_ceil(32);
        let mut words = vec![0u32; tiles.tile_rows() * stride];
        for tile in tiles.occupied().iter_ones() {
            let (row, column) = (tile / tiles.tile_columns(), tile % tiles.tile_columns());
            words[row * stride + column / 32] |= 1 << (column % 32);
        }
        let (tile_rows, tile_columns) = (tiles.tile_rows(), tiles.tile_columns());
        Ok(Self { shape: tiles.shape(), tile_rows, tile_columns, words: device.upload(&words)? })
    }
    /// The map of a host matrix in the tiles that products jump over.
    ///
    /// # Errors
    /// Out of memory, on the host or on the device.
    pub fn of(device: &Device, bits: &BitMatrix) -> Result<Self> {
        let tiles = bits.tiles(super::product::map_tiles(), &Control::default()).map_err(super::host_error)?;
        Self::upload(device, &tiles)
    }
}
