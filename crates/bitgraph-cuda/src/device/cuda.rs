//! An NVIDIA GPU through its driver.
//!
//! Invariant: the library is probed before anything is called, because the bindings stop the program where it is missing; every
//! call makes the device's primary context current first, since threads come and go.
#![allow(unsafe_code)]

use super::cache::Cache;
use super::compiler;
use super::driver::{Driver, FunctionHandle, Mode, ModuleHandle, Properties, Recording, Shape, Stamp, StreamHandle};
use crate::{Error, Result};
use bitgraph_kernels::Struct;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use cudarc::driver::{DriverError, result};
use std::ffi::{CString, c_void};
use std::sync::{Mutex, PoisonError};

/// The oldest driver interface that works: that of the compiler which makes the kernels.
pub const OLDEST_DRIVER: i32 = 13000;
/// With less than this free, code that does not load is taken for a lack of memory.
const CODE_ROOM: u64 = 64 << 20;
/// The oldest compute capability that the kernels are written for.
pub const OLDEST_COMPUTE: (u32, u32) = (8, 0);

/// A GPU.
pub struct CudaDriver {
    device: sys::CUdevice,
    context: sys::CUcontext,
    pool: sys::CUmemoryPool,
    properties: Properties,
    cache: Cache,
    lists: Mutex<Lists>,
}

#[derive(Default)]
struct Lists {
    /// With the bytes of their code.
    modules: Vec<(sys::CUmodule, u64)>,
    functions: Vec<sys::CUfunction>,
    events: Vec<sys::CUevent>,
}

// SAFETY: the driver's handles may be used from any thread, and its functions are thread-safe; the lists are behind a mutex.
unsafe impl Send for CudaDriver {}
// SAFETY: as above.
unsafe impl Sync for CudaDriver {}

fn driver_error(call: &'static str, error: DriverError) -> Error {
    let text = |t: Result<&std::ffi::CStr, DriverError>| t.map_or_else(|_| "unknown".into(), |t| t.to_string_lossy().into_owned());
    Error::Driver { call, name: text(error.error_name()), description: text(error.error_string()) }
}

trait Named<T> {
    fn named(self, call: &'static str) -> Result<T>;
}
impl<T> Named<T> for Result<T, DriverError> {
    fn named(self, call: &'static str) -> Result<T> {
        self.map_err(|e| driver_error(call, e))
    }
}

/// What the driver supports, as 1000 x major + 10 x minor.
///
/// # Errors
/// [`Error::NoDriver`], or [`Error::NoDevice`] where it cannot start.
pub fn driver_version() -> Result<i32> {
    // SAFETY: loads the driver library, whose initialisers are the vendor's.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::NoDriver);
    }
    let mut version = 0;
    // SAFETY: the library is there; the function only writes the number.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().named("asking for the driver's version")?;
    Ok(version)
}

/// The number of devices, after checking the driver.
///
/// # Errors
/// Whatever keeps the driver from working, [`Error::NoDevice`] if there is none.
pub fn device_count() -> Result<u32> {
    let found = driver_version()?;
    if found < OLDEST_DRIVER {
        return Err(Error::OldDriver { found, needed: OLDEST_DRIVER });
    }
    result::init().map_err(|e| match driver_error("starting the driver", e) {
        Error::Driver { name, description, .. } => Error::NoDevice { reason: format!("the driver says {name} ({description})") },
        other => other,
    })?;
    match result::device::get_count().named("counting devices")? {
        0 => Err(Error::NoDevice { reason: "the driver lists no device".into() }),
        count => Ok(count as u32),
    }
}

impl CudaDriver {
    /// Opens a device by its number.
    pub fn open(ordinal: u32) -> Result<Self> {
        let count = device_count()?;
        if ordinal >= count {
            return Err(Error::NoSuchDevice { wanted: ordinal, count });
        }
        let device = result::device::get(ordinal as i32).named("opening a device")?;
        let name = result::device::get_name(device).named("asking for a device's name")?;
        // SAFETY: `device` is valid, here and below.
        let attribute = |a: Attribute| unsafe { result::device::get_attribute(device, a) }.named("asking for a device's properties");
        let number = |a: Attribute| attribute(a).map(|v| v.max(0) as u32);
        let compute = (
            number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        if compute < OLDEST_COMPUTE {
            return Err(Error::OldDevice { name, found: compute });
        }
        // SAFETY: as above.
        let memory = unsafe { result::device::total_mem(device) }.named("asking for the memory of a device")? as u64;
        let properties = Properties {
            name,
            sms: number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            max_threads_per_block: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            shared_per_block: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            shared_per_sm: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            l2_bytes: number(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
            compute,
            clusters: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH)? != 0 && compiled_for_clusters(),
            emulated: false,
            driver: driver_version()?,
            memory,
        };
        // SAFETY: the device is valid; the primary context is never released, which the driver does at exit.
        let context = unsafe { result::primary_ctx::retain(device) }.named("making a context")?;
        // SAFETY: the context was just retained.
        unsafe { result::ctx::set_current(context) }.named("using a context")?;
        // SAFETY: the device is valid.
        let pool = unsafe { result::device::get_default_mem_pool(device) }.named("asking for the memory pool")?;
        let mut keep = u64::MAX;
        let mut waits = 0i32;
        // SAFETY: the first attribute takes a pointer to a u64: freed memory stays with the pool for the next allocation. The second takes
        // one to an int: no stream is made to wait for the memory that another has yet to give back.
        unsafe {
            let apart = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
            sys::cuMemPoolSetAttribute(pool, apart, (&raw mut waits).cast()).result().named("setting up the memory pool")?;
            sys::cuMemPoolSetAttribute(pool, sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (&raw mut keep).cast())
                .result()
                .named("setting up the memory pool")?;
        }
        Ok(Self { device, context, pool, properties, cache: Cache::open(), lists: Mutex::default() })
    }

    fn bind(&self) -> Result<()> {
        // SAFETY: the context lives as long as the process.
        unsafe { result::ctx::set_current(self.context) }.named("using a context")
    }
    fn lists(&self) -> std::sync::MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn load(&self, code: &[u8]) -> Result<ModuleHandle> {
        self.bind()?;
        let bytes = code.len() as u64;
        // SAFETY: the bytes are a whole fat binary or machine code, checked against their hash; the driver copies them.
        let module = unsafe { result::module::load_data(code.as_ptr().cast()) }.map_err(|e| self.unloaded(bytes, e))?;
        let mut lists = self.lists();
        lists.modules.push((module, bytes));
        Ok(ModuleHandle(lists.modules.len() - 1))
    }
    /// Why code was not loaded. It takes device memory that the driver allocates itself, and where none is left it names an unknown error
    /// as often as a lack of memory: what is free outside the pool decides what to call it.
    fn unloaded(&self, bytes: u64, error: DriverError) -> Error {
        match result::mem_get_info() {
            Ok((free, total)) if (free as u64) < bytes.max(CODE_ROOM) => {
                Error::OutOfMemory { wanted: bytes, free: free as u64, total: total as u64, what: "the code of kernels" }
            }
            _ => driver_error("loading kernels", error),
        }
    }
    fn try_allocate(&self, stream: StreamHandle, bytes: u64) -> Result<u64, DriverError> {
        // SAFETY: the stream is valid and the context current.
        unsafe { result::malloc_async(raw(stream), bytes as usize) }
    }
    fn function_of(&self, handle: FunctionHandle) -> Result<sys::CUfunction> {
        let lost = || Error::Driver { call: "launching", name: "bitgraph".into(), description: "no such function".into() };
        self.lists().functions.get(handle.0).copied().ok_or_else(lost)
    }
    fn event(&self, stamp: Stamp) -> Result<sys::CUevent> {
        let lost = || Error::Driver { call: "timing", name: "bitgraph".into(), description: "no such event".into() };
        self.lists().events.get(stamp.0).copied().ok_or_else(lost)
    }
}

/// The driver's own handle.
fn raw(stream: StreamHandle) -> sys::CUstream {
    stream.0 as sys::CUstream
}

/// Whether the kernels at hand were compiled for an architecture with clusters, 90 or later: where they were not, those of a cluster are
/// empty. Without a bundle they are compiled for the device.
fn compiled_for_clusters() -> bool {
    let number = |name: &str| name.split('_').nth(1).and_then(|n| n.trim_end_matches(|c: char| c.is_ascii_lowercase()).parse().ok());
    bitgraph_kernels::embedded().is_none_or(|b| b.architectures.iter().filter_map(|a| number(a)).any(|n: u32| n >= 90))
}

impl Driver for CudaDriver {
    fn properties(&self) -> &Properties {
        &self.properties
    }
    fn open_stream(&self) -> Result<StreamHandle> {
        self.bind()?;
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking).named("making a stream")?;
        Ok(StreamHandle(stream as usize))
    }
    fn close_stream(&self, stream: StreamHandle) {
        if self.bind().is_ok() {
            // SAFETY: the handle is of `open_stream` and used no longer. An error here means a dead context.
            let _ = unsafe { result::stream::destroy(raw(stream)) };
        }
    }
    fn raw_stream(&self, stream: StreamHandle) -> Result<Option<*mut c_void>> {
        self.bind()?;
        Ok(Some(raw(stream).cast()))
    }
    fn memory(&self) -> Result<(u64, u64)> {
        self.bind()?;
        let (free, total) = result::mem_get_info().named("asking for free memory")?;
        // What the pool keeps for us is as good as free.
        let (mut reserved, mut used) = (0u64, 0u64);
        // SAFETY: both attributes write a u64.
        unsafe {
            use sys::CUmemPool_attribute::{CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT as RESERVED, CU_MEMPOOL_ATTR_USED_MEM_CURRENT as USED};
            sys::cuMemPoolGetAttribute(self.pool, RESERVED, (&raw mut reserved).cast()).result().named("asking for the pool's memory")?;
            sys::cuMemPoolGetAttribute(self.pool, USED, (&raw mut used).cast()).result().named("asking for the pool's memory")?;
        }
        Ok((free as u64 + reserved.saturating_sub(used), total as u64))
    }
    fn allocate(&self, stream: StreamHandle, bytes: u64, what: &'static str) -> Result<u64> {
        self.bind()?;
        match self.try_allocate(stream, bytes) {
            Ok(address) => Ok(address),
            Err(e) if e.0 == sys::cudaError_enum::CUDA_ERROR_OUT_OF_MEMORY => {
                // Memory freed on the stream comes back once the work before it is done.
                self.synchronize(stream)?;
                self.trim()?;
                self.try_allocate(stream, bytes).or_else(|_| {
                    let (free, total) = self.memory()?;
                    Err(Error::OutOfMemory { wanted: bytes, free, total, what })
                })
            }
            Err(e) => Err(driver_error("allocating device memory", e)),
        }
    }
    fn trim(&self) -> Result<()> {
        self.bind()?;
        // SAFETY: the pool is valid.
        unsafe { sys::cuMemPoolTrimTo(self.pool, 0) }.result().named("trimming the memory pool")
    }
    fn release(&self, stream: StreamHandle, address: u64, _: u64) {
        if self.bind().is_ok() {
            // SAFETY: the address came from `allocate`; the free is ordered after all work given to the stream before. An error here
            // means a dead context, whose memory is gone anyway.
            let _ = unsafe { result::free_async(address, raw(stream)) };
        }
    }
    fn upload(&self, stream: StreamHandle, to: u64, from: &[u8]) -> Result<()> {
        self.bind()?;
        // SAFETY: the caller's buffer holds as many bytes; from pageable memory the call returns once the source is read.
        unsafe { result::memcpy_htod_async(to, from, raw(stream)) }.named("copying to the device")
    }
    fn download(&self, stream: StreamHandle, to: &mut [u8], from: u64) -> Result<()> {
        self.bind()?;
        // SAFETY: the caller's buffer holds as many bytes, and `to` outlives the wait.
        unsafe { result::memcpy_dtoh_async(to, from, raw(stream)) }.named("copying from the device")?;
        self.synchronize(stream)
    }
    fn copy(&self, stream: StreamHandle, to: u64, from: u64, bytes: u64) -> Result<()> {
        self.bind()?;
        // SAFETY: both buffers hold as many bytes.
        unsafe { result::memcpy_dtod_async(to, from, bytes as usize, raw(stream)) }.named("copying on the device")
    }
    fn fill(&self, stream: StreamHandle, to: u64, byte: u8, bytes: u64) -> Result<()> {
        self.bind()?;
        // SAFETY: the buffer holds as many bytes.
        unsafe { result::memset_d8_async(to, byte, bytes as usize, raw(stream)) }.named("filling device memory")
    }
    fn pinned(&self, bytes: usize) -> Result<*mut u8> {
        self.bind()?;
        // SAFETY: plain allocation, portable between contexts and mapped; with unified addressing both sides use one address.
        let p = unsafe { result::malloc_host(bytes, sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP) }
            .named("pinning host memory")?;
        let p: *mut u8 = p.cast();
        // SAFETY: the allocation holds that many bytes.
        unsafe { p.write_bytes(0, bytes) };
        Ok(p)
    }
    unsafe fn unpin(&self, words: *mut u8, _: usize) {
        if self.bind().is_ok() {
            // SAFETY: the caller's promise; the memory is of `pinned`.
            let _ = unsafe { result::free_host(words.cast()) };
        }
    }
    fn module(&self, name: &str) -> Result<ModuleHandle> {
        match bitgraph_kernels::code(name) {
            Ok(code) => self.load(&code),
            // Absent, stale or corrupt: the sources are there always.
            Err(_) => {
                let missing = || Error::NoKernel { kernel: "any kernel".into(), module: name.into(), compute: self.properties.compute };
                let source = bitgraph_kernels::source(&format!("{name}.cu")).ok_or_else(missing)?;
                self.compile(name, source.text)
            }
        }
    }
    fn compile(&self, name: &str, text: &str) -> Result<ModuleHandle> {
        let target = compiler::architecture(self.properties.compute);
        let key = compiler::key(text, &target, self.properties.driver);
        if let Some(code) = self.cache.get(&key)
            && let Ok(module) = self.load(&code)
        {
            return Ok(module);
        }
        let code = compiler::compile(name, text, &target)?;
        self.cache.put(&key, &code);
        self.load(&code)
    }
    fn function(&self, module: ModuleHandle, module_name: &str, kernel: &str, _: Option<&Struct>) -> Result<FunctionHandle> {
        self.bind()?;
        let missing = || Error::NoKernel { kernel: kernel.into(), module: module_name.into(), compute: self.properties.compute };
        let name = CString::new(kernel).map_err(|_| missing())?;
        let (loaded, bytes) = self.lists().modules.get(module.0).copied().ok_or_else(missing)?;
        // SAFETY: the module is loaded and never unloaded.
        let function = unsafe { result::module::get_function(loaded, name) }.map_err(|e| match e.0 {
            sys::cudaError_enum::CUDA_ERROR_NOT_FOUND => missing(),
            _ => self.unloaded(bytes, e),
        })?;
        // SAFETY: the function is valid. The driver may put its loading off to the launch, which then fails for a reason of its own.
        unsafe { sys::cuFuncLoad(function) }.result().map_err(|e| self.unloaded(bytes, e))?;
        let limit = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function is valid; kernels declare no static shared memory of their own.
        unsafe { result::function::set_function_attribute(function, limit, self.properties.shared_per_block as i32) }
            .named("raising the limit of shared memory")?;
        let mut lists = self.lists();
        lists.functions.push(function);
        Ok(FunctionHandle(lists.functions.len() - 1))
    }
    fn resident(&self, function: FunctionHandle, block: u32, shared: u32) -> Result<u32> {
        self.bind()?;
        let f = self.function_of(function)?;
        let mut blocks = 0;
        // SAFETY: the function is valid; the call only writes the number.
        unsafe { sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, f, block as i32, shared as usize) }
            .result()
            .named("asking for occupancy")?;
        Ok(blocks.max(0) as u32)
    }
    unsafe fn launch(&self, stream: StreamHandle, function: FunctionHandle, kernel: &str, shape: Shape, parameters: &[u8]) -> Result<()> {
        self.bind()?;
        let f = self.function_of(function)?;
        let mut attributes = [const { std::mem::MaybeUninit::<sys::CUlaunchAttribute>::zeroed() }; 1];
        // SAFETY: all-zero bytes are a valid attribute: the identifier "ignore" and a plain union.
        let attribute = unsafe { attributes[0].assume_init_mut() };
        let count = match shape.mode {
            Mode::Plain => 0,
            Mode::Cooperative => {
                attribute.id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
                attribute.value.cooperative = 1;
                1
            }
            Mode::Cluster => {
                attribute.id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
                attribute.value.clusterDim = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x: shape.grid, y: 1, z: 1 };
                1
            }
        };
        let config = sys::CUlaunchConfig {
            gridDimX: shape.grid,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: shape.block,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: shape.shared,
            hStream: raw(stream),
            attrs: std::ptr::from_mut(attribute),
            numAttrs: count,
        };
        let mut arguments = [parameters.as_ptr().cast_mut().cast::<c_void>()];
        // SAFETY: the one parameter is a struct that the caller laid out as the kernel declares it; the driver copies it.
        let code = unsafe { sys::cuLaunchKernelEx(&raw const config, f, arguments.as_mut_ptr(), std::ptr::null_mut()) }.result();
        code.or_else(|e| {
            if e.0 == sys::cudaError_enum::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE {
                let resident = self.resident(function, shape.block, shape.shared)? * self.properties.sms;
                return Err(Error::NotResident { kernel: kernel.into(), wanted: shape.grid, resident });
            }
            Err(driver_error("launching a kernel", e))
        })
    }
    fn synchronize(&self, stream: StreamHandle) -> Result<()> {
        self.bind()?;
        // SAFETY: the stream is valid.
        unsafe { result::stream::synchronize(raw(stream)) }.named("waiting for the device")
    }
    fn finished(&self, stream: StreamHandle) -> Result<bool> {
        self.bind()?;
        // SAFETY: the stream is valid.
        match unsafe { sys::cuStreamQuery(raw(stream)) }.result() {
            Ok(()) => Ok(true),
            Err(e) if e.0 == sys::cudaError_enum::CUDA_ERROR_NOT_READY => Ok(false),
            Err(e) => Err(driver_error("waiting for the device", e)),
        }
    }
    fn stamp(&self) -> Result<Stamp> {
        self.bind()?;
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).named("making an event")?;
        let mut lists = self.lists();
        lists.events.push(event);
        Ok(Stamp(lists.events.len() - 1))
    }
    fn record(&self, stream: StreamHandle, stamp: Stamp) -> Result<()> {
        self.bind()?;
        let event = self.event(stamp)?;
        // SAFETY: event and stream are valid.
        unsafe { result::event::record(event, raw(stream)) }.named("recording an event")
    }
    fn wait(&self, stream: StreamHandle, stamp: Stamp) -> Result<()> {
        self.bind()?;
        let event = self.event(stamp)?;
        // SAFETY: event and stream are valid.
        let waits = unsafe { result::stream::wait_event(raw(stream), event, sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT) };
        waits.named("waiting for an event")
    }
    fn reached(&self, stamp: Stamp) -> Result<bool> {
        self.bind()?;
        // SAFETY: the event is valid.
        match unsafe { sys::cuEventQuery(self.event(stamp)?) }.result() {
            Ok(()) => Ok(true),
            Err(e) if e.0 == sys::cudaError_enum::CUDA_ERROR_NOT_READY => Ok(false),
            Err(e) => Err(driver_error("asking for an event", e)),
        }
    }
    fn await_stamp(&self, stamp: Stamp) -> Result<()> {
        self.bind()?;
        // SAFETY: the event is valid.
        unsafe { result::event::synchronize(self.event(stamp)?) }.named("waiting for an event")
    }
    fn elapsed(&self, from: Stamp, to: Stamp) -> Result<f64> {
        self.bind()?;
        let (from, to) = (self.event(from)?, self.event(to)?);
        // SAFETY: both events are valid.
        let milliseconds = unsafe { result::event::elapsed(from, to) }.named("reading an event")?;
        Ok(f64::from(milliseconds) * 1e-3)
    }
    fn written(&self, stream: StreamHandle, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Recording>> {
        self.bind()?;
        let (mut graph, mut ready) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the stream is valid; the recording ends below whatever the work does.
        unsafe { sys::cuStreamBeginCapture_v2(raw(stream), sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED) }
            .result()
            .named("recording a graph")?;
        let worked = work();
        // SAFETY: as above; the calls write the handles, and the graph is needed no longer once it is instantiated.
        unsafe {
            let ended = sys::cuStreamEndCapture(raw(stream), &raw mut graph).result();
            let made = worked
                .and_then(|()| ended.named("recording a graph"))
                .and_then(|()| sys::cuGraphInstantiateWithFlags(&raw mut ready, graph, 0).result().named("making a graph"));
            let _ = sys::cuGraphDestroy(graph);
            made?;
            sys::cuGraphUpload(ready, raw(stream)).result().named("uploading a graph")?;
        }
        Ok(Some(Recording(ready as usize)))
    }
    fn replay(&self, stream: StreamHandle, recording: &Recording) -> Result<()> {
        self.bind()?;
        // SAFETY: the handle is that of `written`.
        unsafe { sys::cuGraphLaunch(recording.0 as *mut _, raw(stream)) }.result().named("launching a graph")
    }
    fn forget(&self, recording: &Recording) {
        if self.bind().is_ok() {
            // SAFETY: the handle is that of `written` and used no longer; one that is still at work is freed once it is done.
            let _ = unsafe { sys::cuGraphExecDestroy(recording.0 as *mut _) };
        }
    }
}

impl Drop for CudaDriver {
    fn drop(&mut self) {
        if self.bind().is_err() {
            return;
        }
        let lists = std::mem::take(&mut *self.lists());
        // SAFETY: nothing uses the handles any more; errors at the end of the process cannot be reported.
        unsafe {
            for event in lists.events {
                let _ = result::event::destroy(event);
            }
            for (module, _) in lists.modules {
                let _ = result::module::unload(module);
            }
            let _ = result::primary_ctx::release(self.device);
        }
    }
}
