//! The storage formats on the device: the same sections as on the host, by the same names.
//!
//! # Invariants
//! Those of the formats on the host; rows are sorted by column. Values, if any, are in CSR order whatever the format.

use crate::Result;
use crate::device::{Buffer, Device, DevicePtr};
use bitgraph_b2sr::{B2sr, Hybrid, Tile};
use bitgraph_semiring::{DType, Scalar};
use bitgraph_sparse::{Csr, FormatKind, Offsets as HostOffsets, Values, with_values};

/// Offsets of rows, 32 bits wide where that is enough.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Offsets {
    U32(Buffer<u32>),
    U64(Buffer<u64>),
}

impl Offsets {
    /// From the host.
    pub(crate) fn upload(device: &Device, host: &HostOffsets) -> Result<Self> {
        match host {
            HostOffsets::U32(o) => device.upload(o).map(Self::U32),
            HostOffsets::U64(o) => device.upload(o).map(Self::U64),
        }
    }
    /// On the host.
    pub(crate) fn to_host(&self) -> Result<HostOffsets> {
        Ok(match self {
            Self::U32(o) => HostOffsets::U32(o.to_vec()?.into()),
            Self::U64(o) => HostOffsets::U64(o.to_vec()?.into()),
        })
    }
    /// The offsets, if they are 32 bits wide.
    #[must_use]
    pub fn as_u32(&self) -> Option<&Buffer<u32>> {
        match self {
            Self::U32(o) => Some(o),
            Self::U64(_) => None,
        }
    }
    /// Where they are.
    #[must_use]
    pub fn address(&self) -> DevicePtr<u8> {
        match self {
            Self::U32(o) => o.ptr().cast(),
            Self::U64(o) => o.ptr().cast(),
        }
    }
    /// Bytes on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::U32(o) => o.bytes(),
            Self::U64(o) => o.bytes(),
        }
    }
}

/// Compressed sparse rows, the pattern.
#[derive(Clone, Debug)]
pub struct DeviceCsr {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Entries.
    pub nnz: usize,
    /// Where each row starts, and the number of entries at the end.
    pub offsets: Offsets,
    /// The column of each entry, ascending within a row.
    pub indices: Buffer<u32>,
}

impl DeviceCsr {
    /// From the host.
    ///
    /// # Errors
    /// Out of memory.
    pub fn upload(device: &Device, csr: &Csr) -> Result<Self> {
        Ok(Self {
            rows: csr.nrows(),
            columns: csr.ncols(),
            nnz: csr.nnz(),
            offsets: Offsets::upload(device, csr.offsets())?,
            indices: device.upload(csr.indices())?,
        })
    }
    /// On the host.
    ///
    /// # Errors
    /// The driver's.
    pub fn to_host(&self) -> Result<Csr> {
        Ok(Csr::from_valid(self.rows, self.columns, self.offsets.to_host()?, self.indices.to_vec()?.into()))
    }
    /// Bytes on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.offsets.bytes() + self.indices.bytes()
    }
}

/// Bit tiles of one size; sections `tile_offsets`, `tile_columns`, `tile_words`.
#[derive(Clone, Debug)]
pub struct DeviceB2sr {
    /// One of the B2SR formats.
    pub kind: FormatKind,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Entries.
    pub nnz: usize,
    /// Where each row of tiles starts.
    pub tile_offsets: Offsets,
    /// The tile column of each tile, ascending within a row of tiles.
    pub tile_columns: Buffer<u32>,
    /// The words of the tiles as bytes: for side s, s * s / 8 bytes a tile, as on the host.
    pub tile_words: Buffer<u8>,
}

impl DeviceB2sr {
    /// From the host.
    ///
    /// # Errors
    /// Out of memory.
    pub fn upload<T: Tile>(device: &Device, tiles: &B2sr<T>) -> Result<Self> {
        Ok(Self {
            kind: T::KIND,
            rows: tiles.nrows(),
            columns: tiles.ncols(),
            nnz: tiles.nnz(),
            tile_offsets: Offsets::upload(device, tiles.offsets())?,
            tile_columns: device.upload(tiles.tile_columns())?,
            tile_words: device.upload(bytemuck::cast_slice::<_, u8>(tiles.words()))?,
        })
    }
    /// The side of a tile.
    #[must_use]
    pub fn tile(&self) -> usize {
        self.kind.tile().unwrap_or(8)
    }
    /// Bytes on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tile_offsets.bytes() + self.tile_columns.bytes() + self.tile_words.bytes()
    }
}

/// Tiles of 8 x 8 where they are filled, a list elsewhere; sections of both, the list's as `list_offsets` and `list_indices`.
#[derive(Clone, Debug)]
pub struct DeviceHybrid {
    /// The tiles.
    pub tiles: DeviceB2sr,
    /// The entries outside the tiles.
    pub list: DeviceCsr,
}

impl DeviceHybrid {
    /// From the host.
    ///
    /// # Errors
    /// Out of memory.
    pub fn upload(device: &Device, hybrid: &Hybrid) -> Result<Self> {
        Ok(Self { tiles: DeviceB2sr::upload(device, hybrid.tiles())?, list: DeviceCsr::upload(device, hybrid.list())? })
    }
    /// Bytes on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tiles.bytes() + self.list.bytes()
    }
}

/// A pattern in one of the storage formats.
#[derive(Clone, Debug)]
pub enum Layout {
    /// Lists.
    Csr(DeviceCsr),
    /// Bit tiles.
    B2sr(DeviceB2sr),
    /// Tiles where they are filled, lists elsewhere.
    Hybrid(DeviceHybrid),
}

/// A typed array of matrix values; entry `k` belongs to the `k`-th entry of the pattern in CSR order.
#[derive(Clone, Debug)]
pub struct DeviceValues {
    /// The element type; `bool` is a byte.
    pub dtype: DType,
    /// The number of values.
    pub len: usize,
    /// The elements.
    pub data: Buffer<u8>,
}

impl DeviceValues {
    /// From the host.
    ///
    /// # Errors
    /// Out of memory.
    pub fn upload(device: &Device, values: &Values) -> Result<Self> {
        let data = with_values!(values, v => device.upload(crate::bytes::of(v)))?;
        Ok(Self { dtype: values.dtype(), len: values.len(), data })
    }
    /// On the host.
    ///
    /// # Errors
    /// The driver's.
    pub fn to_host(&self) -> Result<Values> {
        fn typed<T: Scalar>(v: &DeviceValues) -> Result<Values> {
            let bytes = v.data.to_vec()?;
            crate::bytes::filled::<T>(v.len, |out| {
                out.copy_from_slice(&bytes[..out.len()]);
                Ok(())
            })
            .map(Values::from_vec)
        }
        crate::with_dtype!(self.dtype, T => typed::<T>(self))
    }
}

/// Runs `$body` with the type `$t` that a run-time name stands for.
#[macro_export]
#[doc(hidden)]
macro_rules! with_dtype {
    ($dtype:expr, $t:ident => $body:expr) => {
        $crate::with_dtype!(@arms $dtype, $t, $body;
            Bool bool, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F16 half::f16, Bf16 half::bf16, F32 f32, F64 f64)
    };
    (@arms $dtype:expr, $t:ident, $body:expr; $($variant:ident $type:ty),*) => {
        match $dtype { $( bitgraph_semiring::DType::$variant => { type $t = $type; $body } )* }
    };
}
