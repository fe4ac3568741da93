//! What the backend needs of a device, so that a GPU and the host shim are driven alike.
//!
//! Invariant: work on a stream is ordered as it was given; `download`, `synchronize`, `await_stamp` and `elapsed` wait for it, the rest may not.
#![allow(unsafe_code)]

use crate::Result;
use bitgraph_kernels::Struct;

/// What a device is.
#[derive(Clone, Debug, PartialEq)]
pub struct Properties {
    /// The name.
    pub name: String,
    /// Multiprocessors.
    pub sms: u32,
    /// Most threads of a block.
    pub max_threads_per_block: u32,
    /// Most bytes of dynamic shared memory that a block can ask for.
    pub shared_per_block: u32,
    /// Bytes of shared memory of a multiprocessor.
    pub shared_per_sm: u32,
    /// Bytes of the second-level cache.
    pub l2_bytes: u64,
    /// The compute capability.
    pub compute: (u32, u32),
    /// Whether blocks can form clusters.
    pub clusters: bool,
    /// Whether this is the host shim and not a GPU.
    pub emulated: bool,
    /// What the driver supports, as 1000 x major + 10 x minor.
    pub driver: i32,
    /// Bytes of device memory.
    pub memory: u64,
}

/// How the blocks of a launch relate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// They do not wait for each other.
    #[default]
    Plain,
    /// They do: all are resident at once, or the launch is refused.
    Cooperative,
    /// They are one cluster and reach each other's shared memory; at most 8.
    Cluster,
}

/// A launch's grid: one dimension of blocks and of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Blocks, at least 1.
    pub grid: u32,
    /// Threads of a block, a multiple of 32.
    pub block: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
    /// How the blocks relate.
    pub mode: Mode,
}

/// Loaded code; an index into the driver's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleHandle(pub usize);

/// A kernel's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionHandle(pub usize);

/// A queue of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamHandle(pub usize);

/// A moment in the order of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(pub usize);

/// Work that is written down and not yet done.
#[derive(Debug, PartialEq, Eq)]
pub struct Recording(pub usize);

/// A device. Addresses are the device's own.
pub trait Driver: Send + Sync {
    fn properties(&self) -> &Properties;
    fn open_stream(&self) -> Result<StreamHandle>;
    /// What was given to the stream is still done.
    fn close_stream(&self, stream: StreamHandle);
    /// The stream, for a library that works on it; none on the host shim. The device's context is current afterwards.
    fn raw_stream(&self, stream: StreamHandle) -> Result<Option<*mut std::ffi::c_void>> {
        let _ = stream;
        Ok(None)
    }
    /// Bytes free and in all.
    fn memory(&self) -> Result<(u64, u64)>;
    fn allocate(&self, stream: StreamHandle, bytes: u64, what: &'static str) -> Result<u64>;
    /// Gives memory that is kept for later allocations back to the driver, whose own wants, code among them, it does not serve.
    fn trim(&self) -> Result<()> {
        Ok(())
    }
    fn release(&self, stream: StreamHandle, address: u64, bytes: u64);
    fn upload(&self, stream: StreamHandle, to: u64, from: &[u8]) -> Result<()>;
    fn download(&self, stream: StreamHandle, to: &mut [u8], from: u64) -> Result<()>;
    fn copy(&self, stream: StreamHandle, to: u64, from: u64, bytes: u64) -> Result<()>;
    fn fill(&self, stream: StreamHandle, to: u64, byte: u8, bytes: u64) -> Result<()>;
    /// Zeroed host memory that the device reads and writes too; the device's address equals the host's.
    fn pinned(&self, bytes: usize) -> Result<*mut u8>;
    /// # Safety
    /// `words` is of `pinned` with as many bytes, and no thread uses it any more.
    unsafe fn unpin(&self, words: *mut u8, bytes: usize);
    /// The code of a listed module.
    fn module(&self, name: &str) -> Result<ModuleHandle>;
    /// The code of a text, compiled at run time or found in the cache.
    fn compile(&self, name: &str, text: &str) -> Result<ModuleHandle>;
    /// The entry of a kernel; where code tells what it takes, that is held against `parameters`.
    fn function(&self, module: ModuleHandle, module_name: &str, kernel: &str, parameters: Option<&Struct>) -> Result<FunctionHandle>;
    /// Blocks of a kernel that a multiprocessor holds at once.
    fn resident(&self, function: FunctionHandle, block: u32, shared: u32) -> Result<u32>;
    /// # Safety
    /// `parameters` are the bytes of the struct that the kernel takes, and the kernel may do with them what it does.
    unsafe fn launch(&self, stream: StreamHandle, function: FunctionHandle, kernel: &str, shape: Shape, parameters: &[u8]) -> Result<()>;
    fn synchronize(&self, stream: StreamHandle) -> Result<()>;
    /// Whether all work given so far is done.
    fn finished(&self, stream: StreamHandle) -> Result<bool>;
    /// A moment for a caller to use again and again.
    fn stamp(&self) -> Result<Stamp>;
    fn record(&self, stream: StreamHandle, stamp: Stamp) -> Result<()>;
    /// The stream's work to come waits for a recorded moment.
    fn wait(&self, stream: StreamHandle, stamp: Stamp) -> Result<()>;
    /// Whether a recorded moment is past.
    fn reached(&self, stamp: Stamp) -> Result<bool>;
    fn await_stamp(&self, stamp: Stamp) -> Result<()>;
    /// Seconds between two moments that are past.
    fn elapsed(&self, from: Stamp, to: Stamp) -> Result<f64>;
    /// Writes down the launches that `work` makes, none of which is done yet; nothing, and `work` is not called, where the device cannot.
    fn written(&self, stream: StreamHandle, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Recording>> {
        let _ = (stream, work);
        Ok(None)
    }
    /// Does what was written down, as one launch.
    fn replay(&self, stream: StreamHandle, recording: &Recording) -> Result<()> {
        let _ = (stream, recording);
        Ok(())
    }
    /// Gives a recording up; one that is still at work is finished.
    fn forget(&self, recording: &Recording) {
        let _ = recording;
    }
}
