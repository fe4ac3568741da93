//! A device as the rest of the crate uses it: memory with accounting, kernels by name, launches, timed runs.
//!
//! # Invariants
//! Work is ordered as it was given. A clone of a [`Device`] is the same device.

mod buffer;
mod cache;
mod compiler;
mod cuda;
mod driver;
mod host;
mod persistent;
mod recycle;
mod repeat;
#[cfg(test)]
pub(crate) mod testing;

pub use buffer::{Buffer, DevicePtr};
pub use cache::{BYTES_VARIABLE, Cache, DEFAULT_BYTES, FOLDER_VARIABLE};
pub use compiler::version as compiler_version;
pub use cuda::{OLDEST_COMPUTE, OLDEST_DRIVER, device_count, driver_version};
pub use driver::{Mode, Properties, Shape};
pub use host::{EMULATED_MEMORY_VARIABLE, EMULATOR_VARIABLE};
pub use persistent::{GridState, HostLink};
pub use repeat::Launches;

use crate::{Error, Result};
use bytemuck::Pod;
use driver::{Driver, FunctionHandle, ModuleHandle, Stamp};
use persistent::Persistent;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A GPU, or the host shim in its place. Cheap to clone.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    driver: Box<dyn Driver>,
    ordinal: u32,
    modules: Mutex<HashMap<String, ModuleHandle>>,
    /// By module, then by name.
    kernels: Mutex<HashMap<String, HashMap<String, Kernel>>>,
    used: AtomicU64,
    peak: AtomicU64,
    run: Mutex<Option<(Stamp, Stamp)>>,
    timing: AtomicBool,
    timed: Mutex<Option<(Stamp, Stamp)>>,
    /// Memory that is filled ahead of a timed run, once there is any.
    ahead: OnceLock<Option<u64>>,
    persistent: Mutex<Option<Persistent>>,
}

/// Filling so much takes about as long as giving a launch to the device.
const AHEAD_BYTES: u64 = 8 << 20;

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(Some(address)) = self.ahead.get() {
            self.driver.release(*address, AHEAD_BYTES);
        }
    }
}

/// A kernel ready to launch.
#[derive(Clone, Debug)]
pub struct Kernel {
    name: Arc<str>,
    function: FunctionHandle,
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
            Some(folder) => Box::new(host::HostDriver::open(PathBuf::from(folder))?),
            None => Box::new(cuda::CudaDriver::open(ordinal)?),
        };
        Ok(Self(Arc::new(Inner {
            driver,
            ordinal,
            modules: Mutex::default(),
            kernels: Mutex::default(),
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            run: Mutex::default(),
            timing: AtomicBool::new(false),
            timed: Mutex::default(),
            ahead: OnceLock::new(),
            persistent: Mutex::default(),
        })))
    }
    fn driver(&self) -> &dyn Driver {
        self.0.driver.as_ref()
    }
    pub(crate) fn raw_stream(&self) -> Result<Option<*mut std::ffi::c_void>> {
        self.driver().raw_stream()
    }
    /// Its number.
    #[must_use]
    pub fn ordinal(&self) -> u32 {
        self.0.ordinal
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
        let (free, total) = self.driver().memory()?;
        Ok(MemoryUse { used: self.0.used.load(Ordering::Relaxed), peak: self.0.peak.load(Ordering::Relaxed), free, total })
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
    fn reserve(&self, bytes: u64, what: &'static str) -> Result<u64> {
        let address = self.driver().allocate(bytes, what)?;
        let used = self.0.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.0.peak.fetch_max(used, Ordering::Relaxed);
        Ok(address)
    }
    fn release(&self, address: u64, bytes: u64) {
        self.driver().release(address, bytes);
        self.0.used.fetch_sub(bytes, Ordering::Relaxed);
    }
    /// A kernel of a listed module, loaded at first use.
    ///
    /// # Errors
    /// [`Error::NoKernel`], [`Error::NoCompiler`] where nothing was compiled ahead and nothing can be now.
    pub fn kernel(&self, module: &str, kernel: &str) -> Result<Kernel> {
        self.kernel_of(module, kernel, |driver| driver.module(module))
    }
    /// Loads the listed modules whose names start with one of `prefixes`, so that no later run waits for it.
    ///
    /// # Errors
    /// As [`Device::kernel`].
    pub fn preload(&self, prefixes: &[&str]) -> Result<()> {
        for module in bitgraph_kernels::MODULES.iter().filter(|m| prefixes.iter().any(|p| m.name.starts_with(p))) {
            for kernel in module.kernels {
                self.kernel(module.name, kernel)?;
            }
        }
        Ok(())
    }
    /// A kernel of a text that is compiled at first use; `name` tells texts apart.
    ///
    /// # Errors
    /// [`Error::Compile`], [`Error::NoCompiler`], [`Error::NoKernel`].
    pub fn compiled(&self, name: &str, kernel: &str, text: impl FnOnce() -> String) -> Result<Kernel> {
        self.kernel_of(name, kernel, |driver| driver.compile(name, &text()))
    }
    fn kernel_of(&self, module: &str, kernel: &str, load: impl FnOnce(&dyn Driver) -> Result<ModuleHandle>) -> Result<Kernel> {
        if let Some(known) = lock(&self.0.kernels).get(module).and_then(|kernels| kernels.get(kernel)) {
            return Ok(known.clone());
        }
        let mut modules = lock(&self.0.modules);
        let handle = match modules.get(module) {
            Some(&handle) => handle,
            None => {
                let handle = load(self.driver())?;
                modules.insert(module.to_string(), handle);
                handle
            }
        };
        drop(modules);
        let function = self.driver().function(handle, module, kernel)?;
        let found = Kernel { name: kernel.into(), function };
        lock(&self.0.kernels).entry(module.to_string()).or_default().insert(kernel.to_string(), found.clone());
        Ok(found)
    }
    /// Blocks of a kernel that a multiprocessor holds at once; 0 if it does not fit at all.
    ///
    /// # Errors
    /// The driver's.
    pub fn resident(&self, kernel: &Kernel, block: u32, shared: u32) -> Result<u32> {
        if block > self.properties().max_threads_per_block || shared > self.properties().shared_per_block {
            return Ok(0);
        }
        self.driver().resident(kernel.function, block, shared)
    }
    /// Launches a kernel; returns before it is done.
    ///
    /// `parameters` is laid out as the kernel's struct of parameters.
    ///
    /// # Errors
    /// [`Error::NotResident`] for a cooperative launch that does not fit, or the driver's.
    pub fn launch<P: Pod>(&self, kernel: &Kernel, shape: Shape, parameters: &P) -> Result<()> {
        if shape.grid == 0 {
            return Ok(());
        }
        self.driver().launch(kernel.function, &kernel.name, shape, bytemuck::bytes_of(parameters))
    }
    /// Waits for all work.
    ///
    /// # Errors
    /// Whatever went wrong in it.
    pub fn synchronize(&self) -> Result<()> {
        self.driver().synchronize()
    }
    /// Gives an algorithm's work to the device and marks its start and end there, for [`Device::last_run_seconds`]. Within another timed run it is a part of that one.
    ///
    /// # Errors
    /// Whatever went wrong in the work.
    pub fn timed<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        if self.0.timing.swap(true, Ordering::Relaxed) {
            return work();
        }
        let result = self.time(work);
        self.0.timing.store(false, Ordering::Relaxed);
        result
    }
    fn time<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let (from, to) = {
            let mut run = lock(&self.0.run);
            match *run {
                Some(pair) => pair,
                None => *run.insert(self.driver().stamps()?),
            }
        };
        *lock(&self.0.timed) = None;
        self.stay_busy()?;
        self.driver().record(from)?;
        let result = work()?;
        self.driver().record(to)?;
        *lock(&self.0.timed) = Some((from, to));
        Ok(result)
    }
    /// Keeps the device at work until the host has given it what comes next: an idle one would reach the mark of the start at once, and the
    /// time until the host's launch arrives, two microseconds, would be taken for a part of the run.
    fn stay_busy(&self) -> Result<()> {
        if self.properties().emulated {
            return Ok(());
        }
        match self.0.ahead.get_or_init(|| self.driver().allocate(AHEAD_BYTES, "keeping the device busy").ok()) {
            Some(address) => self.driver().fill(*address, 0, AHEAD_BYTES),
            None => Ok(()),
        }
    }
    /// Forgets the last timed run, so that the next reading is of what was timed since, or nothing.
    pub fn forget_run(&self) {
        *lock(&self.0.timed) = None;
    }
    /// Seconds of the last timed run that succeeded, by the device's own clock; waits for its end.
    #[must_use]
    pub fn last_run_seconds(&self) -> Option<f64> {
        let (from, to) = (*lock(&self.0.timed))?;
        self.driver().elapsed(from, to).ok()
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({}: {})", self.0.ordinal, self.properties().name)
    }
}
