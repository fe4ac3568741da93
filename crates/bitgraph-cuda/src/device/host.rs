//! The host shim as a device: kernels compiled as C++ run on the CPU, one fibre for each CUDA thread, so that everything above
//! can be verified where there is no GPU.
//!
//! Invariant: slow and strict: memory starts with rubbish, and whoever reads or writes past an allocation's end is stopped, at once beyond the
//! next multiple of 16 bytes and at its release before that.
#![allow(unsafe_code)]

use super::driver::{Driver, FunctionHandle, Mode, ModuleHandle, Properties, Recording, Shape, Stamp, StreamHandle};
use crate::{Error, Result};
use bitgraph_kernels::Struct;
use libloading::Library;
use std::collections::HashMap;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The variable that names the folder of `cargo xtask kernels --host` and so turns the shim on.
pub const EMULATOR_VARIABLE: &str = "BITGRAPH_CUDA_EMULATOR";
/// The variable that sets the bytes of memory of the shim.
pub const EMULATED_MEMORY_VARIABLE: &str = "BITGRAPH_CUDA_EMULATED_MEMORY";

const MEMORY: u64 = 8 << 30;
const RUBBISH: u8 = 0xCD;
const GUARD: u8 = 0x5A;
const ALIGNMENT: usize = 16;
const PAGE: usize = 4096;

type Entry = unsafe extern "C" fn(*const c_void);
type Launch = unsafe extern "C" fn(Entry, *const c_void, u32, u32, u64, i32) -> i32;

struct Loaded {
    library: Library,
    launch: Launch,
}

/// The shim.
pub struct HostDriver {
    folder: PathBuf,
    properties: Properties,
    used: AtomicU64,
    modules: Mutex<Vec<Loaded>>,
    functions: Mutex<Vec<(usize, Entry)>>,
    stamps: Mutex<Vec<Option<Instant>>>,
    /// What is written down now, by its stream, and what was; none for what was given up.
    writing: Mutex<HashMap<usize, Vec<Work>>>,
    streams: AtomicUsize,
    written: Mutex<Vec<Option<Arc<[Work]>>>>,
}

/// Something that is written down.
enum Work {
    Launch { function: FunctionHandle, kernel: String, shape: Shape, parameters: Vec<u8> },
    Copy { to: u64, from: u64, bytes: u64 },
    Fill { to: u64, byte: u8, bytes: u64 },
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn failed(call: &'static str, description: impl ToString) -> Error {
    Error::Driver { call, name: "host shim".into(), description: description.to_string() }
}

/// Bytes of memory that the environment gives the shim.
pub(super) fn memory() -> u64 {
    std::env::var(EMULATED_MEMORY_VARIABLE).ok().and_then(|v| v.parse().ok()).unwrap_or(MEMORY)
}

impl HostDriver {
    /// Finds the folder of compiled kernels. `memory`: bytes that there are.
    pub fn open(folder: PathBuf, memory: u64) -> Result<Self> {
        if !folder.join("shim.o").is_file() {
            let text = format!("{} holds no kernels for the host; `cargo xtask kernels --host` makes them", folder.display());
            return Err(Error::NoDevice { reason: text });
        }
        Ok(Self {
            folder,
            properties: Properties {
                name: "host shim".into(),
                sms: 3,
                max_threads_per_block: 128,
                shared_per_block: 227 << 10,
                shared_per_sm: 228 << 10,
                l2_bytes: 50 << 20,
                compute: (9, 0),
                clusters: true,
                emulated: true,
                driver: super::cuda::OLDEST_DRIVER,
                memory,
            },
            used: AtomicU64::new(0),
            modules: Mutex::default(),
            functions: Mutex::default(),
            stamps: Mutex::default(),
            writing: Mutex::default(),
            streams: AtomicUsize::new(0),
            written: Mutex::default(),
        })
    }

    /// Writes work of a stream down, if that is what is done with it now; whether it was.
    fn write_down(&self, stream: StreamHandle, work: impl FnOnce() -> Work) -> bool {
        lock(&self.writing).get_mut(&stream.0).map(|writing| writing.push(work())).is_some()
    }
    fn load(&self, path: &Path) -> Result<ModuleHandle> {
        // SAFETY: the library was built by us from kernels and the shim; its initialisers only build empty containers.
        let library = unsafe { Library::new(path) }.map_err(|e| failed("loading a host module", e))?;
        // SAFETY: the shim exports the function with this type.
        let launch = unsafe { library.get::<Launch>(b"bg_host_launch\0") }.map(|s| *s).map_err(|e| failed("loading a host module", e))?;
        let mut modules = lock(&self.modules);
        modules.push(Loaded { library, launch });
        Ok(ModuleHandle(modules.len() - 1))
    }
}

/// Where an allocation of `bytes` lies in pages of its own: bytes of the pages, and of the allocation rounded up. It ends where the
/// last page begins, which may not be touched.
fn placement(bytes: u64) -> Option<(usize, usize)> {
    let size = usize::try_from(bytes).ok()?.checked_next_multiple_of(ALIGNMENT)?;
    Some((size.checked_next_multiple_of(PAGE)?.checked_add(PAGE)?, size))
}

impl Driver for HostDriver {
    fn properties(&self) -> &Properties {
        &self.properties
    }
    /// Work is done as it is given, whatever the stream.
    fn open_stream(&self) -> Result<StreamHandle> {
        Ok(StreamHandle(self.streams.fetch_add(1, Ordering::Relaxed)))
    }
    fn close_stream(&self, _: StreamHandle) {}
    fn memory(&self) -> Result<(u64, u64)> {
        let total = self.properties.memory;
        Ok((total.saturating_sub(self.used.load(Ordering::Relaxed)), total))
    }
    fn allocate(&self, _: StreamHandle, bytes: u64, what: &'static str) -> Result<u64> {
        let (free, total) = self.memory()?;
        let refused = Error::OutOfMemory { wanted: bytes, free, total, what };
        let Some((pages, size)) = placement(bytes).filter(|_| bytes <= free) else { return Err(refused) };
        // SAFETY: a fresh mapping that nothing else refers to; the last page is made inaccessible, and the fills stay before it.
        let address = unsafe {
            let (both, private) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let base = libc::mmap(std::ptr::null_mut(), pages, both, private, -1, 0);
            if base == libc::MAP_FAILED {
                return Err(refused);
            }
            let end = base.cast::<u8>().add(pages - PAGE);
            libc::mprotect(end.cast(), PAGE, libc::PROT_NONE);
            let start = end.sub(size);
            start.write_bytes(RUBBISH, bytes as usize);
            start.add(bytes as usize).write_bytes(GUARD, size - bytes as usize);
            start
        };
        self.used.fetch_add(bytes, Ordering::Relaxed);
        Ok(address as u64)
    }
    fn release(&self, _: StreamHandle, address: u64, bytes: u64) {
        let Some((pages, size)) = placement(bytes) else { return };
        // SAFETY: `address` came from `allocate` with the same size, and nothing uses it any more.
        unsafe {
            let start = address as *mut u8;
            let guard = std::slice::from_raw_parts(start.add(bytes as usize), size - bytes as usize);
            if guard.iter().any(|&b| b != GUARD) {
                eprintln!("host shim: a kernel wrote past the end of an allocation of {bytes} bytes");
                std::process::abort();
            }
            libc::munmap(start.add(size).sub(pages - PAGE).cast(), pages);
        }
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
    fn upload(&self, _: StreamHandle, to: u64, from: &[u8]) -> Result<()> {
        // SAFETY: the caller's buffer holds that many bytes at `to`, in memory that only it refers to.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to as *mut u8, from.len()) };
        Ok(())
    }
    fn download(&self, _: StreamHandle, to: &mut [u8], from: u64) -> Result<()> {
        // SAFETY: as in `upload`.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to.as_mut_ptr(), to.len()) };
        Ok(())
    }
    fn copy(&self, stream: StreamHandle, to: u64, from: u64, bytes: u64) -> Result<()> {
        if self.write_down(stream, || Work::Copy { to, from, bytes }) {
            return Ok(());
        }
        // SAFETY: as in `upload`, on both sides; the ranges may overlap.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes as usize) };
        Ok(())
    }
    fn fill(&self, stream: StreamHandle, to: u64, byte: u8, bytes: u64) -> Result<()> {
        if self.write_down(stream, || Work::Fill { to, byte, bytes }) {
            return Ok(());
        }
        #[cfg(test)]
        super::testing::given(if byte == 0 { "zeros" } else { "fill" });
        // SAFETY: as in `upload`.
        unsafe { (to as *mut u8).write_bytes(byte, bytes as usize) };
        Ok(())
    }
    fn pinned(&self, bytes: usize) -> Result<*mut u8> {
        Ok(Box::into_raw(vec![0u64; bytes.div_ceil(8)].into_boxed_slice()).cast())
    }
    unsafe fn unpin(&self, words: *mut u8, bytes: usize) {
        // SAFETY: the caller's promise: the box of `pinned`.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(words.cast::<u64>(), bytes.div_ceil(8))) });
    }
    fn module(&self, name: &str) -> Result<ModuleHandle> {
        let path = self.folder.join(format!("{}.so", name.replace('/', "-")));
        if !path.is_file() {
            let text = format!("{} is missing; `cargo xtask kernels --host` makes it", path.display());
            return Err(failed("loading a host module", text));
        }
        // Written beside it by what compiled it: the hash of the module's sources, and the shim's.
        let stamp = std::fs::read_to_string(path.with_extension("stamp")).unwrap_or_default();
        let sources = bitgraph_kernels::module_hash(name).map(|hash| format!("{hash:016x}"));
        if stamp.split_whitespace().next() != sources.as_deref() {
            let text = format!("{} is of other sources; `cargo xtask kernels --host` makes it anew", path.display());
            return Err(failed("loading a host module", text));
        }
        self.load(&path)
    }
    fn compile(&self, name: &str, text: &str) -> Result<ModuleHandle> {
        let key = bitgraph_kernels::text_hash(text);
        let folder = self.folder.join("compiled");
        let library = folder.join(format!("{key:016x}.so"));
        if !library.is_file() {
            // Each process writes files of its own; the last rename wins with the same content.
            let own = folder.join(format!("{key:016x}.{}", std::process::id()));
            let (source, partial) = (own.with_extension(format!("{}.cpp", std::process::id())), own);
            let headers = folder.join(format!("headers-{:016x}", headers_hash()));
            let io = |e: std::io::Error| failed("writing a source for the host", e);
            std::fs::create_dir_all(&folder).map_err(io)?;
            for header in bitgraph_kernels::sources().iter().filter(|s| !s.path.ends_with(".cu")) {
                let path = headers.join(header.path);
                if !path.is_file() {
                    let temporary = path.with_extension(format!("{}.new", std::process::id()));
                    std::fs::create_dir_all(path.parent().unwrap_or(&headers)).map_err(io)?;
                    std::fs::write(&temporary, header.text).and_then(|()| std::fs::rename(&temporary, &path)).map_err(io)?;
                }
            }
            std::fs::write(&source, text).map_err(io)?;
            let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
            let mut command = Command::new(compiler);
            command.args(["-std=c++17", "-O0", "-fPIC", "-fvisibility=hidden", "-w", "-DBITGRAPH_HOST", "-shared", "-I"]).arg(&headers);
            command.arg("-o").arg(&partial).arg(&source).arg(self.folder.join("shim.o"));
            let output = command.output().map_err(|e| failed("starting the C++ compiler", e))?;
            let _ = std::fs::remove_file(&source);
            if !output.status.success() {
                let log = String::from_utf8_lossy(&output.stderr).into_owned();
                return Err(Error::Compile { what: name.to_string(), log });
            }
            std::fs::rename(&partial, &library).map_err(io)?;
        }
        self.load(&library)
    }
    fn function(&self, module: ModuleHandle, module_name: &str, kernel: &str, parameters: Option<&Struct>) -> Result<FunctionHandle> {
        let modules = lock(&self.modules);
        let missing = || Error::NoKernel { kernel: kernel.into(), module: module_name.into(), compute: self.properties.compute };
        let loaded = modules.get(module.0).ok_or_else(missing)?;
        // SAFETY: every exported name but the launch is an entry of this type.
        let entry = unsafe { loaded.library.get::<Entry>(format!("{kernel}\0").as_bytes()) }.map(|s| *s).map_err(|_| missing())?;
        if let Some(parameters) = parameters {
            // SAFETY: beside every entry the library exports the name of the struct that it takes: a variable that points to a C string.
            let declared = unsafe { loaded.library.get::<*const *const std::ffi::c_char>(format!("{kernel}_takes\0").as_bytes()) };
            // SAFETY: as above.
            let declared = unsafe { std::ffi::CStr::from_ptr(**declared.map_err(|_| missing())?) }.to_string_lossy();
            if declared.split('<').next().and_then(|n| n.rsplit("::").next()) != Some(parameters.short_name()) {
                let (expected, found) = (declared.into_owned(), parameters.name);
                return Err(Error::OtherParameters { kernel: kernel.into(), expected, found });
            }
        }
        let mut functions = lock(&self.functions);
        functions.push((module.0, entry));
        Ok(FunctionHandle(functions.len() - 1))
    }
    fn resident(&self, _: FunctionHandle, _: u32, _: u32) -> Result<u32> {
        Ok(1)
    }
    unsafe fn launch(&self, stream: StreamHandle, function: FunctionHandle, kernel: &str, shape: Shape, parameters: &[u8]) -> Result<()> {
        let later = || Work::Launch { function, kernel: kernel.into(), shape, parameters: parameters.into() };
        if self.write_down(stream, later) {
            return Ok(());
        }
        #[cfg(test)]
        super::testing::launched(kernel);
        let resident = if shape.mode == Mode::Cluster { 8 } else { self.properties.sms };
        if shape.mode != Mode::Plain && shape.grid > resident {
            return Err(Error::NotResident { kernel: kernel.into(), wanted: shape.grid, resident });
        }
        if shape.block > self.properties.max_threads_per_block || shape.shared > self.properties.shared_per_block {
            return Err(failed("launching on the host", format!("{kernel}: {} threads, {} bytes shared", shape.block, shape.shared)));
        }
        let Some((module, entry)) = lock(&self.functions).get(function.0).copied() else {
            return Err(failed("launching", "no such function"));
        };
        let Some(launch) = lock(&self.modules).get(module).map(|m| m.launch) else { return Err(failed("launching", "no such module")) };
        // Parameters in memory aligned for any of their fields.
        let mut aligned = vec![0u128; parameters.len().div_ceil(16)];
        bytemuck::cast_slice_mut::<u128, u8>(&mut aligned)[..parameters.len()].copy_from_slice(parameters);
        let together = i32::from(shape.mode != Mode::Plain);
        // SAFETY: the entry takes a pointer to a struct that the caller laid out as the kernel declares it; kernels keep to their buffers.
        let code = unsafe { launch(entry, aligned.as_ptr().cast(), shape.grid, shape.block, u64::from(shape.shared), together) };
        if code == 0 { Ok(()) } else { Err(failed("launching on the host", format!("{kernel}: code {code}"))) }
    }
    fn synchronize(&self, _: StreamHandle) -> Result<()> {
        Ok(())
    }
    fn finished(&self, _: StreamHandle) -> Result<bool> {
        Ok(true)
    }
    fn stamp(&self) -> Result<Stamp> {
        let mut stamps = lock(&self.stamps);
        stamps.push(None);
        Ok(Stamp(stamps.len() - 1))
    }
    fn record(&self, _: StreamHandle, stamp: Stamp) -> Result<()> {
        if let Some(slot) = lock(&self.stamps).get_mut(stamp.0) {
            *slot = Some(Instant::now());
        }
        Ok(())
    }
    fn wait(&self, _: StreamHandle, _: Stamp) -> Result<()> {
        Ok(())
    }
    fn reached(&self, _: Stamp) -> Result<bool> {
        Ok(true)
    }
    fn await_stamp(&self, _: Stamp) -> Result<()> {
        Ok(())
    }
    fn elapsed(&self, from: Stamp, to: Stamp) -> Result<f64> {
        let stamps = lock(&self.stamps);
        let at = |s: Stamp| stamps.get(s.0).copied().flatten();
        match (at(from), at(to)) {
            (Some(a), Some(b)) => Ok(b.saturating_duration_since(a).as_secs_f64()),
            _ => Err(failed("timing", "a moment was not recorded")),
        }
    }
    fn written(&self, stream: StreamHandle, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Recording>> {
        lock(&self.writing).insert(stream.0, Vec::new());
        let done = work();
        let writing = lock(&self.writing).remove(&stream.0).unwrap_or_default();
        done?;
        let mut written = lock(&self.written);
        written.push(Some(writing.into()));
        Ok(Some(Recording(written.len() - 1)))
    }
    fn replay(&self, stream: StreamHandle, recording: &Recording) -> Result<()> {
        let found = lock(&self.written).get(recording.0).cloned().flatten();
        for work in found.ok_or(Error::NotWritten)?.iter() {
            match work {
                Work::Launch { function, kernel, shape, parameters } => {
                    // SAFETY: the promises of who wrote it down, which hold until it is given up.
                    unsafe { self.launch(stream, *function, kernel, *shape, parameters) }?;
                }
                Work::Copy { to, from, bytes } => self.copy(stream, *to, *from, *bytes)?,
                Work::Fill { to, byte, bytes } => self.fill(stream, *to, *byte, *bytes)?,
            }
        }
        Ok(())
    }
    fn forget(&self, recording: &Recording) {
        if let Some(slot) = lock(&self.written).get_mut(recording.0) {
            *slot = None;
        }
    }
}

fn headers_hash() -> u64 {
    let texts = bitgraph_kernels::sources().iter().filter(|s| !s.path.ends_with(".cu"));
    texts.fold(0, |h, s| bitgraph_kernels::fnv(format!("{h:x}{}{}", s.path, s.text).as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_other_sources_are_refused() {
        let folder = std::env::temp_dir().join(format!("bitgraph-host-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (file, text) in [("shim.o", ""), ("formats-csr.so", "of another tree"), ("formats-csr.stamp", "0123456789abcdef 0")] {
            std::fs::write(folder.join(file), text).unwrap();
        }
        let found = HostDriver::open(folder.clone(), 1 << 20).unwrap().module("formats/csr");
        std::fs::remove_dir_all(&folder).unwrap();
        let error = found.err().unwrap().to_string();
        assert!(error.contains("formats-csr.so is of other sources"), "{error}");
    }
}
