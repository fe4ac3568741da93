//! A matrix on the device: one of the formats, its values, and what was derived from them on demand.
//!
//! Invariant: derived data never changes a result; it is dropped with the matrix.

use crate::device::Device;
use crate::layout::{DeviceB2sr, DeviceCsr, DeviceHybrid, DeviceValues, Layout};
use crate::spmv::SpmvLayout;
use crate::{Error, Result, convert};
use bitgraph_b2sr::Layout as HostLayout;
use bitgraph_semiring::DType;
use bitgraph_sparse::{Csr, FormatKind, Values};
use std::any::Any;
use std::sync::{Arc, OnceLock};

/// A matrix on a GPU. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CudaMatrix {
    pub(crate) device: Device,
    layout: Arc<Layout>,
    values: Option<DeviceValues>,
    derived: Arc<Derived>,
    /// Entries of a row at most, of a matrix of few products.
    short_lived: Option<u32>,
}

/// What is computed at first use, and the layout for sums that the matrix was made with.
#[derive(Default)]
struct Derived {
    /// The pattern as lists, for tile formats.
    csr: OnceLock<DeviceCsr>,
    /// The transpose, in the same format.
    transpose: OnceLock<CudaMatrix>,
    sums: Option<SpmvLayout>,
    kept: KeptList,
}

/// What operations keep with a matrix: a value of a type of theirs, made at first use.
pub(crate) trait Kept: Any + Default + Send + Sync {
    /// Bytes on the device.
    fn bytes(&self) -> u64;
}
/// The same without its type.
trait AnyKept: Any + Send + Sync {
    fn kept_bytes(&self) -> u64;
}
impl<T: Kept> AnyKept for T {
    fn kept_bytes(&self) -> u64 {
        self.bytes()
    }
}
/// A value for each type that something is kept of, in the order of their first uses.
#[derive(Default)]
struct KeptList {
    first: OnceLock<Box<KeptNode>>,
}
struct KeptNode {
    value: Box<dyn AnyKept>,
    next: KeptList,
}
impl KeptList {
    fn get<T: Kept>(&self) -> &T {
        let node = self.first.get_or_init(|| Box::new(KeptNode { value: Box::new(T::default()), next: Self::default() }));
        let value: &dyn Any = &*node.value;
        value.downcast_ref().unwrap_or_else(|| node.next.get())
    }
    fn bytes(&self) -> u64 {
        self.first.get().map_or(0, |node| node.value.kept_bytes() + node.next.bytes())
    }
}

impl std::fmt::Debug for Derived {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Derived").field("csr", &self.csr).field("sums", &self.sums).finish_non_exhaustive()
    }
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
            return Ok(Self { device: device.clone(), layout: Arc::new(layout), values, derived: Arc::default(), short_lived: None });
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
        Ok(Self { device: device.clone(), layout: Arc::new(layout), values, derived: Arc::default(), short_lived: None })
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
            None => Ok(set(&self.derived.transpose, self.transpose()?)),
        }
    }
    /// The transpose in the same format, made on the device.
    ///
    /// # Errors
    /// Out of memory.
    pub fn transpose(&self) -> Result<CudaMatrix> {
        let (lists, values) = convert::transpose(&self.device, self.lists()?, self.values.as_ref())?;
        Self::from_lists(&self.device, lists, values, self.format())
    }
    /// The same matrix as one of few products, whose rows have so many entries at most: no product lays it out, and none waits for what it would
    /// choose a layout by.
    #[must_use]
    pub fn short_lived(self, longest: u32) -> Self {
        Self { short_lived: Some(longest), derived: Arc::default(), ..self }
    }
    /// The entries of a row at most, if this is a matrix of few products.
    pub(crate) fn longest_if_short_lived(&self) -> Option<u32> {
        self.short_lived
    }
    /// What a family of operations keeps with the matrix, made at first use.
    pub(crate) fn kept<T: Kept>(&self) -> &T {
        self.derived.kept.get()
    }
    /// The layout for sums of `f32` that the matrix was made with.
    pub(crate) fn sums(&self) -> Option<&SpmvLayout> {
        self.derived.sums.as_ref()
    }
    /// The same matrix with a layout for sums of `f32`, which products over (plus, times) use from now on; the pattern is shared.
    #[must_use]
    pub fn with_sums(&self, layout: SpmvLayout) -> Self {
        Self { derived: Arc::new(Derived { sums: Some(layout), ..Derived::default() }), ..self.clone() }
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
            + self.derived.sums.as_ref().map_or(0, SpmvLayout::bytes)
            + self.derived.kept.bytes()
    }
    /// The matrix as CSR on the host.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub fn to_host(&self) -> Result<(Csr, Option<Values>)> {
        Ok((self.lists()?.to_host()?, self.values.as_ref().map(DeviceValues::to_host).transpose()?))
    }
}
