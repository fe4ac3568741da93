//! What a machine and a build offer beyond the devices themselves: libraries, compiled kernels, clocks. For reports.
//!
//! Invariant: nothing here fails; what cannot be found out is `None`.
#![allow(unsafe_code)]

use crate::cusparse;
use bitgraph_kernels::{Unusable, code, embedded, listed_modules};
use cudarc::cusparse::sys;
use std::process::{Command, Stdio};

/// The kernels that were compiled ahead of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernels {
    /// The architectures, such as `sm_90a`, and `compute_80` for portable assembly; none without compiled kernels.
    pub architectures: Vec<&'static str>,
    /// Modules that there are sources of.
    pub modules: usize,
    /// Modules whose code may be run.
    pub usable: usize,
    /// Bytes of that code.
    pub bytes: u64,
    /// Modules compiled from other sources; they are compiled anew at first use.
    pub stale: Vec<&'static str>,
    /// Modules whose code is not what was written.
    pub corrupt: Vec<&'static str>,
}

/// Looks through the kernels of this build. Hashes all code.
#[must_use]
pub fn kernels() -> Kernels {
    let architectures = embedded().map_or_else(Vec::new, |b| b.architectures.to_vec());
    let mut found =
        Kernels { architectures, modules: listed_modules().count(), usable: 0, bytes: 0, stale: Vec::new(), corrupt: Vec::new() };
    for module in listed_modules() {
        match code(module.name) {
            Ok(code) => {
                found.usable += 1;
                found.bytes += code.len() as u64;
            }
            Err(Unusable::Stale) => found.stale.push(module.name),
            Err(Unusable::Corrupt) => found.corrupt.push(module.name),
            // Absent: it was not built.
            Err(_) => {}
        }
    }
    found
}

/// The version of cuSPARSE, which only benches use; `None` if it is not installed.
#[must_use]
pub fn cusparse_version() -> Option<(i32, i32, i32)> {
    if !cusparse::is_present() {
        return None;
    }
    let part = |which| {
        let mut value = 0;
        // SAFETY: the library is there; the call writes one number.
        let status = unsafe { sys::cusparseGetProperty(which, &raw mut value) };
        (status == sys::cusparseStatus_t::CUSPARSE_STATUS_SUCCESS).then_some(value)
    };
    use sys::libraryPropertyType_t as Part;
    Some((part(Part::MAJOR_VERSION)?, part(Part::MINOR_VERSION)?, part(Part::PATCH_LEVEL)?))
}

/// What the driver's management tool says of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Management {
    /// The driver's release, such as `580.65.06`.
    pub driver: String,
    /// The clock of the multiprocessors now, MHz.
    pub sm_mhz: Option<u32>,
    /// The most that it can be.
    pub max_sm_mhz: Option<u32>,
    /// The clock of the memory now, MHz.
    pub memory_mhz: Option<u32>,
    /// The most that it can be.
    pub max_memory_mhz: Option<u32>,
}

/// Asks `nvidia-smi`, if there is one.
#[must_use]
pub fn management(ordinal: u32) -> Option<Management> {
    const FIELDS: &str = "--query-gpu=driver_version,clocks.sm,clocks.max.sm,clocks.mem,clocks.max.mem";
    // The tool numbers all devices, the driver those that it is told to show.
    let shown = std::env::var("CUDA_VISIBLE_DEVICES").ok();
    let id = match &shown {
        Some(list) => list.split(',').nth(ordinal as usize)?.trim().to_string(),
        None => ordinal.to_string(),
    };
    let mut command = Command::new("nvidia-smi");
    let output = command.args([FIELDS, "--format=csv,noheader,nounits", "-i", &id]).stdin(Stdio::null()).output().ok()?;
    if output.status.success() { parse(&String::from_utf8_lossy(&output.stdout)) } else { None }
}

fn parse(line: &str) -> Option<Management> {
    let mut fields = line.lines().next()?.split(',').map(str::trim);
    let driver = fields.next()?.to_string();
    let mut number = || fields.next().and_then(|f| f.parse().ok());
    Some(Management { driver, sm_mhz: number(), max_sm_mhz: number(), memory_mhz: number(), max_memory_mhz: number() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tool_prints() {
        let found = parse("580.65.06, 1980, 1980, [N/A], 3201\n").unwrap();
        assert_eq!((found.driver.as_str(), found.sm_mhz, found.memory_mhz), ("580.65.06", Some(1980), None));
        assert_eq!(found.max_memory_mhz, Some(3201));
        assert_eq!(parse(""), None);
    }

    #[test]
    fn every_module_is_accounted_for() {
        let found = kernels();
        assert_eq!(found.modules, listed_modules().count());
        assert!(found.usable + found.stale.len() + found.corrupt.len() <= found.modules);
        assert!(found.corrupt.is_empty());
    }
}
