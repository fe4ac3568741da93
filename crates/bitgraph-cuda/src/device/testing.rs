//! For the tests of this crate: the device that they run on, and the kernels that they launch.
//!
//! Invariant: with `BITGRAPH_REQUIRE_GPU=1` no test passes for want of a device; those that choose the memory run on the host shim alone.

use super::host::HostDriver;
use super::{Buffer, Device, EMULATOR_VARIABLE};
use crate::{Error, Result};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// The variable that names a file to which the names of launched kernels are added, each once.
const LAUNCHED: &str = "BITGRAPH_LAUNCHED";

/// Why there is no device, unless there must be one.
pub(crate) fn skipped(error: &impl std::fmt::Display) {
    assert!(std::env::var_os("BITGRAPH_REQUIRE_GPU").is_none_or(|v| v != "1"), "{error}");
    eprintln!("skipped: {error}");
}

/// The device to test on, if there is one.
pub(crate) fn device() -> Option<Device> {
    Device::open(0).map_err(|error| skipped(&error)).ok()
}

/// The host shim with so many bytes of memory. None where it is not what tests run on: a GPU has the memory that it has.
pub(crate) fn small_device(memory: u64) -> Option<Device> {
    let Some(folder) = std::env::var_os(EMULATOR_VARIABLE) else {
        eprintln!("skipped: only the memory of the host shim can be chosen");
        return None;
    };
    Some(Device::over(Box::new(HostDriver::open(folder.into(), memory).unwrap()), 0).unwrap())
}

/// Takes all memory but `left` bytes.
pub(crate) fn hold(device: &Device, left: u64) -> Buffer<u8> {
    device.alloc((device.memory().unwrap().free - left) as usize).unwrap()
}

/// Whether memory ran out. No other error is expected.
pub(crate) fn out_of_memory<T>(result: Result<T>) -> bool {
    match result {
        Ok(_) => false,
        Err(Error::OutOfMemory { .. }) => true,
        Err(other) => panic!("{other}"),
    }
}

thread_local! {
    /// What the thread gave the host shim to do, while that is noted.
    static NOTED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// The kernels that `work` launches on the host shim from this thread, `zeros` for every array that is zeroed, and `fill` for every one that is
/// filled with other bytes, which most are on the shim alone; nothing on a GPU.
pub(crate) fn launches_of(work: impl FnOnce()) -> Vec<String> {
    NOTED.set(Some(Vec::new()));
    work();
    NOTED.take().unwrap_or_default()
}
/// Notes what a thread gives the host shim to do.
pub(super) fn given(what: &str) {
    NOTED.with_borrow_mut(|noted| noted.iter_mut().for_each(|all| all.push(what.to_string())));
}

/// Notes that the host shim runs a kernel.
pub(super) fn launched(kernel: &str) {
    given(kernel);
    static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let Some(path) = std::env::var_os(LAUNCHED) else { return };
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.insert(kernel.to_string()) {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| writeln!(file, "{kernel}")).expect("the list of kernels can be written");
    }
}
