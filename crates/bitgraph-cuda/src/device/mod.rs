//! A device as the rest of the crate uses it: memory with accounting, streams, kernels by name, launches.
//!
//! # Invariants
//! A [`Device`] is a device and one stream of it: work is ordered as it was given to that stream. A clone is the same device and stream; a
//! fork has a stream of its own.

mod blas;
mod buffer;
mod cache;
mod claim;
mod compiler;
mod cuda;
mod driver;
mod host;
mod kernel;
mod observe;
mod parameters;
mod persistent;
mod recorder;
mod recycle;
mod stream;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod workspace;

pub use bitgraph_kernels::{Field, Struct};
pub(crate) use blas::{Product, Side};
pub use buffer::{Buffer, DevicePtr};
pub use cache::{BYTES_VARIABLE, Cache, DEFAULT_BYTES, FOLDER_VARIABLE};
pub use compiler::version as compiler_version;
pub use cuda::{OLDEST_COMPUTE, OLDEST_DRIVER, device_count, driver_version};
pub use driver::{Mode, Properties, Shape};
pub use host::{EMULATED_MEMORY_VARIABLE, EMULATOR_VARIABLE};
pub use kernel::Kernel;
pub use observe::Observer;
pub use parameters::{Parameters, parameters};
pub use persistent::{GridState, HostLink};
use recorder::Pass;
pub use recorder::Recorder;
pub use stream::{Event, Stream};
pub use workspace::Workspace;

use crate::{Error, Result};
use blas::Blas;
use bytemuck::Pod;
use driver::{Driver, ModuleHandle, Stamp};
use kernel::Loaded;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use stream::Queue;

/// A GPU, or the host shim in its place, and one stream of it. Cheap to clone.
#[derive(Clone)]
pub struct Device {
    stream: Stream,
}

/// What the streams of a device share. Its locks are held for moments, never while a device works; what does wait for other streams' work is a
/// kernel whose blocks wait for each other (`claim.rs`).
struct Shared {
    /// The vendor's dense products, if they are installed; given up before the driver.
    blas: OnceLock<Option<Blas>>,
    driver: Box<dyn Driver>,
    ordinal: u32,
    modules: Mutex<HashMap<String, ModuleHandle>>,
    /// By module, then by name.
    kernels: Mutex<HashMap<String, HashMap<String, Loaded>>>,
    streams: Mutex<Vec<Weak<Queue>>>,
    /// Moments that no event is of.
    events: Mutex<Vec<Stamp>>,
    used: AtomicU64,
    peak: AtomicU64,
    uploads: AtomicU64,
    downloads: AtomicU64,
}

/// Device memory in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    /// Bytes in buffers now.
    pub used: u64,
    /// The most bytes in buffers at any time.
    pub peak: u64,
    /// Bytes free on the device, what the pool keeps for reuse included.
    pub free: u64,
    /// Bytes of the device.
    pub total: u64,
}

/// Copies between host and device so far: what an algorithm over operations has to keep few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossings {
    /// Copies to the device.
    pub uploads: u64,
    /// Copies to the host; each waits for the work before it.
    pub downloads: u64,
}

impl Shared {
    /// Counts memory that is in use from now on.
    fn count_memory(&self, bytes: u64) {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(used, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Device {
    /// Opens a device by its number. With [`EMULATOR_VARIABLE`] set it is the host shim.
    ///
    /// # Errors
    /// No driver, one too old, no such device, a device too old.
    pub fn open(ordinal: u32) -> Result<Self> {
        let driver: Box<dyn Driver> = match std::env::var_os(EMULATOR_VARIABLE) {
            Some(_) if ordinal > 0 => return Err(Error::NoSuchDevice { wanted: ordinal, count: 1 }),
            Some(folder) => Box::new(host::HostDriver::open(PathBuf::from(folder), host::memory())?),
            None => Box::new(cuda::CudaDriver::open(ordinal)?),
        };
        Self::over(driver, ordinal)
    }
    fn over(driver: Box<dyn Driver>, ordinal: u32) -> Result<Self> {
        let shared = Shared {
            blas: OnceLock::new(),
            driver,
            ordinal,
            modules: Mutex::default(),
            kernels: Mutex::default(),
            streams: Mutex::default(),
            events: Mutex::default(),
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            uploads: AtomicU64::new(0),
            downloads: AtomicU64::new(0),
        };
        Ok(Self { stream: Stream::new(&Arc::new(shared))? })
    }
    /// The same device with a stream of its own: its work and that of this one do not wait for each other.
    ///
    /// # Errors
    /// The driver's.
    pub fn fork(&self) -> Result<Self> {
        Ok(Self { stream: Stream::new(self.shared())? })
    }
    /// The stream that work is given to.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }
    /// Whether the calling thread writes down what it gives to the stream, and does not do it.
    #[must_use]
    pub fn writes_down(&self) -> bool {
        self.stream.0.recorded.is_written()
    }
    fn shared(&self) -> &Arc<Shared> {
        &self.stream.0.shared
    }
    fn driver(&self) -> &dyn Driver {
        self.shared().driver.as_ref()
    }
    /// Where launches that a recorder writes down find what changes from replay to replay; the null address for others.
    pub(crate) fn moment<T>(&self) -> DevicePtr<T> {
        DevicePtr::new(self.stream.0.recorded.moment())
    }
    /// Its number.
    #[must_use]
    pub fn ordinal(&self) -> u32 {
        self.shared().ordinal
    }
    /// What it is.
    #[must_use]
    pub fn properties(&self) -> &Properties {
        self.driver().properties()
    }
    /// Memory in use and free.
    ///
    /// # Errors
    /// The driver's.
    pub fn memory(&self) -> Result<MemoryUse> {
        let shared = self.shared();
        let (free, total) = shared.driver.memory()?;
        let kept: u64 = self.streams().iter().map(|s| lock(&s.recycled).bytes()).sum();
        let (used, peak) = (shared.used.load(Ordering::Relaxed), shared.peak.load(Ordering::Relaxed));
        Ok(MemoryUse { used, peak, free: free + kept, total })
    }
    /// Counts [`MemoryUse::peak`] anew, from what is in use now.
    pub fn reset_peak(&self) {
        let shared = self.shared();
        shared.peak.store(shared.used.load(Ordering::Relaxed), Ordering::Relaxed);
    }
    /// Copies between host and device so far.
    #[must_use]
    pub fn crossings(&self) -> Crossings {
        let shared = self.shared();
        Crossings { uploads: shared.uploads.load(Ordering::Relaxed), downloads: shared.downloads.load(Ordering::Relaxed) }
    }
    /// What a copy between host and device holds meanwhile; refused while work is written down.
    fn crosses(&self) -> Result<Pass> {
        self.stream.0.recorded.refuse("a copy between host and device")?;
        Ok(Pass::new())
    }
    fn count_upload(&self) {
        self.shared().uploads.fetch_add(1, Ordering::Relaxed);
    }
    fn count_download(&self) {
        self.shared().downloads.fetch_add(1, Ordering::Relaxed);
    }
    /// An array of unspecified content.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        self.alloc_for(len, "an array")
    }
    /// As [`Device::alloc`], with a word for the error.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn alloc_for<T: Pod>(&self, len: usize, what: &'static str) -> Result<Buffer<T>> {
        Buffer::allocate(self, len, what)
    }
    /// An array of zeros.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn zeroed<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        let buffer = self.alloc(len)?;
        buffer.fill_bytes(0)?;
        Ok(buffer)
    }
    /// An array with the host's content.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn upload<T: Pod>(&self, from: &[T]) -> Result<Buffer<T>> {
        let buffer = self.alloc(from.len())?;
        buffer.copy_from_slice(0, from)?;
        Ok(buffer)
    }
    fn streams(&self) -> Vec<Arc<Queue>> {
        lock(&self.shared().streams).iter().filter_map(Weak::upgrade).collect()
    }
    fn reserve(&self, bytes: u64, what: &'static str) -> Result<u64> {
        let (queue, shared) = (&self.stream.0, self.shared());
        let take = || {
            let _pass = Pass::new();
            let kept = lock(&queue.recycled).take(bytes);
            kept.map_or_else(|| shared.driver.allocate(queue.handle, bytes, what), Ok)
        };
        let address = match take() {
            Err(Error::OutOfMemory { .. }) => {
                self.give_up_recycled()?;
                take()?
            }
            other => other?,
        };
        shared.count_memory(bytes);
        Ok(address)
    }
    /// Gives the memory that streams keep for later back to the device, and waits until it is there.
    pub(super) fn give_up_recycled(&self) -> Result<()> {
        for queue in self.streams().into_iter().filter(|queue| !queue.recorded.is_written()) {
            let _pass = Pass::new();
            for (address, bytes) in lock(&queue.recycled).drain() {
                self.driver().release(queue.handle, address, bytes);
            }
            self.driver().synchronize(queue.handle)?;
        }
        Ok(())
    }
    fn release(&self, address: u64, bytes: u64) {
        let queue = &self.stream.0;
        let _pass = Pass::new();
        // The shim checks memory when it is released.
        let kept = queue.recorded.puts_off(address, bytes) || (!self.properties().emulated && lock(&queue.recycled).keep(bytes, address));
        if !kept {
            self.driver().release(queue.handle, address, bytes);
        }
        self.shared().used.fetch_sub(bytes, Ordering::Relaxed);
    }
    /// Waits for all work of the stream.
    ///
    /// # Errors
    /// Whatever went wrong in it.
    pub fn synchronize(&self) -> Result<()> {
        self.stream.synchronize()
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({}: {})", self.ordinal(), self.properties().name)
    }
}
