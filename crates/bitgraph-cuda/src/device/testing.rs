//! For the tests of this crate: the device that they run on, and the kernels that they launch.
//!
//! Invariant: with `BITGRAPH_REQUIRE_GPU=1` no test passes for want of a device.

use super::Device;
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

/// Notes that the host shim runs a kernel.
pub(super) fn launched(kernel: &str) {
    static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let Some(path) = std::env::var_os(LAUNCHED) else { return };
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.insert(kernel.to_string()) {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| writeln!(file, "{kernel}")).expect("the list of kernels can be written");
    }
}
