//! A matrix on the device: one of the formats, its values, and what was derived from them on demand.
//!
//! Invariant: derived data never changes a result; it is dropped with the matrix.

use crate::device::Device;
use crate::layout::{DeviceB2sr, DeviceCsr, DeviceHybrid, DeviceValues};
use crate::spmv::SpmvLayout;
use crate::{Error, Result, convert};
use bitgraph_b2sr::Layout as HostLayout;
use bitgraph_semiring::DType;
use bitgraph_sparse::{Csr, FormatKind, Values};
use std::sync::{Arc, OnceLock};

/// The storage formats.
#[derive(Clone, Debug)]
pub enum Layout {
    /// Lists.
    Csr(DeviceCsr),
    /// Bit tiles.
    B2sr(DeviceB2sr),
    /// Tiles where they are filled, lists elsewhere.
    Hybrid(DeviceHybrid),
}

/// A matrix on a GPU. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CudaMatrix {
    pub(crate) device: Device,
    layout: Arc<Layout>,
    values: Option<DeviceValues>,
    derived: Arc<Derived>,
}

/// What is computed at first use.
#[derive(Debug, Default)]
struct Derived {
    /// The pattern as lists, for tile formats.
    csr: OnceLock<DeviceCsr>,
    /// The transpose, in the same format.
    transpose: OnceLock<CudaMatrix>,
    /// The layout for sums of floats, where a plan asked for one.
    sums: OnceLock<SpmvLayout>,
    /// What the operations keep.
    operations: crate::ops::Derived,
}

fn set<T>(slot: &OnceLock<T>, value: T) -> &T {
    // Another thread may have been faster; both values are equal.
    let _ = slot.set(value);
    slot.get_or_init(|| unreachable!("just set"))
}

impl CudaMatrix {
    /// Uploads a matrix and lays it out on the device. O(nnz).
    ///
    /// # Errors
    /// Out of memory, found before anything is uploaded.
    pub fn new(device: &Device, csr: &Csr, values: Option<&Values>, format: FormatKind) -> Result<Self> {
        Self::from_host(device, &HostLayout::Csr(csr.clone()), values, format)
    }
    /// Uploads a matrix as it is laid out on the host, and converts it on the device if another format is wanted. O(its arrays), and
    /// O(nnz) for a conversion.
    ///
    /// # Errors
    /// Out of memory, found before anything is uploaded.
    pub fn from_host(device: &Device, host: &HostLayout, values: Option<&Values>, format: FormatKind) -> Result<Self> {
        if let Some(v) = values
            && v.len() != host.nnz()
        {
            let (expected, found) = (host.nnz() as u64, v.len() as u64);
            return Err(bitgraph_backend::Error::Shape { operation: "matrix", operand: "value array", expected, found }.into());
        }
        let memory = device.memory()?;
        let wanted = host.bytes() + values.map_or(0, Values::bytes);
        if wanted > memory.free {
            return Err(Error::OutOfMemory { wanted, free: memory.free, total: memory.total, what: "the matrix" });
        }
        let layout = match host {
            HostLayout::Csr(csr) => Layout::Csr(DeviceCsr::upload(device, csr)?),
            HostLayout::B2sr4(tiles) => Layout::B2sr(DeviceB2sr::upload(device, tiles)?),
            HostLayout::B2sr8(tiles) => Layout::B2sr(DeviceB2sr::upload(device, tiles)?),
            HostLayout::B2sr16(tiles) => Layout::B2sr(DeviceB2sr::upload(device, tiles)?),
            HostLayout::B2sr32(tiles) => Layout::B2sr(DeviceB2sr::upload(device, tiles)?),
            HostLayout::Hybrid(hybrid) => Layout::Hybrid(DeviceHybrid::upload(device, hybrid)?),
        };
        let values = values.map(|v| DeviceValues::upload(device, v)).transpose()?;
        if host.kind() == format {
            return Ok(Self { device: device.clone(), layout: Arc::new(layout), values, derived: Arc::default() });
        }
        let lists = convert::lists(device, &layout)?;
        drop(layout);
        Self::from_lists(device, lists, values, format)
    }
    /// Lays out a matrix whose lists are on the device already.
    ///
    /// # Errors
    /// Out of memory.
    pub fn from_lists(device: &Device, lists: DeviceCsr, values: Option<DeviceValues>, format: FormatKind) -> Result<Self> {
        let layout = convert::layout(device, lists, format)?;
        Ok(Self { device: device.clone(), layout: Arc::new(layout), values, derived: Arc::default() })
    }
    /// The pattern in its format.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
    /// The values, in CSR order.
    #[must_use]
    pub fn values(&self) -> Option<&DeviceValues> {
        self.values.as_ref()
    }
    /// The pattern as lists, if that is its format.
    #[must_use]
    pub fn as_csr(&self) -> Option<&DeviceCsr> {
        match &*self.layout {
            Layout::Csr(c) => Some(c),
            _ => None,
        }
    }
    /// The pattern as lists: its own, or made on the device at first use and kept.
    ///
    /// # Errors
    /// Out of memory.
    pub fn lists(&self) -> Result<&DeviceCsr> {
        match &*self.layout {
            Layout::Csr(c) => Ok(c),
            _ => match self.derived.csr.get() {
                Some(c) => Ok(c),
                None => Ok(set(&self.derived.csr, convert::lists(&self.device, &self.layout)?)),
            },
        }
    }
    /// The transpose in the same format, made on the device at first use and kept.
    ///
    /// # Errors
    /// Out of memory.
    pub fn transposed(&self) -> Result<&CudaMatrix> {
        match self.derived.transpose.get() {
            Some(t) => Ok(t),
            None => {
                let (lists, values) = convert::transpose(&self.device, self.lists()?, self.values.as_ref())?;
                Ok(set(&self.derived.transpose, Self::from_lists(&self.device, lists, values, self.format())?))
            }
        }
    }
    /// What the operations keep with the matrix.
    pub(crate) fn operations(&self) -> &crate::ops::Derived {
        &self.derived.operations
    }
    /// The layout for sums of floats, where a plan asked for one.
    pub(crate) fn sums(&self) -> Option<&SpmvLayout> {
        self.derived.sums.get()
    }
    /// Keeps a layout for sums of floats with the matrix it was built from.
    pub(crate) fn keep_sums(&self, layout: SpmvLayout) {
        let _ = self.derived.sums.set(layout);
    }
    /// The same pattern with other values, as many as it has entries.
    pub(crate) fn with_values(&self, values: DeviceValues) -> Self {
        Self { values: Some(values), derived: Arc::default(), ..self.clone() }
    }
    /// The same matrix without values; the pattern is shared.
    #[must_use]
    pub fn pattern(&self) -> Self {
        Self { values: None, derived: if self.values.is_none() { Arc::clone(&self.derived) } else { Arc::default() }, ..self.clone() }
    }
    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        match &*self.layout {
            Layout::Csr(c) => (c.rows, c.columns),
            Layout::B2sr(t) => (t.rows, t.columns),
            Layout::Hybrid(h) => (h.tiles.rows, h.tiles.columns),
        }
    }
    /// The number of entries.
    #[must_use]
    pub fn nvals(&self) -> usize {
        match &*self.layout {
            Layout::Csr(c) => c.nnz,
            Layout::B2sr(t) => t.nnz,
            Layout::Hybrid(h) => h.tiles.nnz + h.list.nnz,
        }
    }
    /// The storage format.
    #[must_use]
    pub fn format(&self) -> FormatKind {
        match &*self.layout {
            Layout::Csr(_) => FormatKind::Csr,
            Layout::B2sr(t) => t.kind,
            Layout::Hybrid(_) => FormatKind::Hybrid,
        }
    }
    /// The type of the values.
    #[must_use]
    pub fn dtype(&self) -> Option<DType> {
        self.values.as_ref().map(|v| v.dtype)
    }
    /// Bytes of pattern and values, and of what was derived from them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let pattern = match &*self.layout {
            Layout::Csr(c) => c.bytes(),
            Layout::B2sr(t) => t.bytes(),
            Layout::Hybrid(h) => h.bytes(),
        };
        pattern
            + self.values.as_ref().map_or(0, |v| v.data.bytes())
            + self.derived.csr.get().map_or(0, DeviceCsr::bytes)
            + self.derived.transpose.get().map_or(0, Self::bytes)
            + self.derived.sums.get().map_or(0, SpmvLayout::bytes)
    }
    /// The matrix as CSR on the host.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub fn to_host(&self) -> Result<(Csr, Option<Values>)> {
        Ok((self.lists()?.to_host()?, self.values.as_ref().map(DeviceValues::to_host).transpose()?))
    }
}
