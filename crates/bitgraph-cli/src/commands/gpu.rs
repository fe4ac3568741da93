//! What `doctor` says of the CUDA backend. A machine without a GPU is described, not refused.

use crate::report;
use bitgraph::cuda::device::{
    BYTES_VARIABLE, Cache, Device, EMULATOR_VARIABLE, FOLDER_VARIABLE, OLDEST_DRIVER, compiler_version, device_count, driver_version,
};
use bitgraph_measure::machine;
use serde::Serialize;
use std::fmt::Write;

/// The CUDA backend on this machine.
#[derive(Serialize)]
pub struct Gpu {
    pub available: bool,
    /// Why not, in one sentence.
    why: Option<String>,
    driver: Option<String>,
    oldest_driver: String,
    driver_release: Option<String>,
    devices: Vec<Described>,
    nvrtc: Option<String>,
    cusparse: Option<String>,
    kernels: Kernels,
    cache: KernelCache,
    emulator: Option<String>,
}

#[derive(Serialize)]
struct Described {
    number: u32,
    /// Why it cannot be used; nothing else is known then.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(flatten)]
    facts: Option<Facts>,
}

#[derive(Serialize)]
struct Facts {
    name: String,
    compute: String,
    multiprocessors: u32,
    memory_bytes: u64,
    memory_free_bytes: u64,
    l2_bytes: u64,
    shared_per_block_bytes: u32,
    clusters: bool,
    sm_mhz: Option<u32>,
    max_sm_mhz: Option<u32>,
    memory_mhz: Option<u32>,
    max_memory_mhz: Option<u32>,
}

#[derive(Serialize)]
struct Kernels {
    architectures: Vec<&'static str>,
    modules: usize,
    usable: usize,
    bytes: u64,
    stale: Vec<&'static str>,
    corrupt: Vec<&'static str>,
}

#[derive(Serialize)]
struct KernelCache {
    folder: Option<String>,
    bytes: u64,
    limit_bytes: u64,
    folder_variable: &'static str,
    limit_variable: &'static str,
}

/// A driver interface's version, given as 1000 x major + 10 x minor.
fn interface(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// Looks for drivers, devices and libraries.
pub fn look() -> Gpu {
    let emulator = std::env::var_os(EMULATOR_VARIABLE).map(|folder| folder.to_string_lossy().into_owned());
    let counted = if emulator.is_some() { Ok(1) } else { device_count() };
    let devices: Vec<Described> = (0..counted.as_ref().copied().unwrap_or(0)).map(described).collect();
    let usable = devices.iter().any(|d| d.facts.is_some());
    let why = match &counted {
        Err(error) => Some(error.to_string()),
        Ok(_) if usable => None,
        Ok(_) => devices.iter().find_map(|d| d.why.clone()),
    };
    let kernels = machine::kernels();
    let cache = Cache::open();
    Gpu {
        available: usable,
        why,
        driver: driver_version().ok().map(interface),
        oldest_driver: interface(OLDEST_DRIVER),
        driver_release: machine::management(0).map(|m| m.driver),
        devices,
        nvrtc: compiler_version().map(|(major, minor)| format!("{major}.{minor}")),
        cusparse: machine::cusparse_version().map(|(major, minor, patch)| format!("{major}.{minor}.{patch}")),
        kernels: Kernels {
            architectures: kernels.architectures,
            modules: kernels.modules,
            usable: kernels.usable,
            bytes: kernels.bytes,
            stale: kernels.stale,
            corrupt: kernels.corrupt,
        },
        cache: KernelCache {
            folder: cache.folder().map(|f| f.display().to_string()),
            bytes: cache.bytes(),
            limit_bytes: cache.limit(),
            folder_variable: FOLDER_VARIABLE,
            limit_variable: BYTES_VARIABLE,
        },
        emulator,
    }
}

fn described(number: u32) -> Described {
    let device = match Device::open(number) {
        Ok(device) => device,
        Err(error) => return Described { number, why: Some(error.to_string()), facts: None },
    };
    let (p, memory) = (device.properties(), device.memory().ok());
    let clocks = if p.emulated { None } else { machine::management(number) }.unwrap_or_default();
    let facts = Facts {
        name: p.name.clone(),
        compute: format!("{}.{}", p.compute.0, p.compute.1),
        multiprocessors: p.sms,
        memory_bytes: memory.map_or(p.memory, |m| m.total),
        memory_free_bytes: memory.map_or(0, |m| m.free),
        l2_bytes: p.l2_bytes,
        shared_per_block_bytes: p.shared_per_block,
        clusters: p.clusters,
        sm_mhz: clocks.sm_mhz,
        max_sm_mhz: clocks.max_sm_mhz,
        memory_mhz: clocks.memory_mhz,
        max_memory_mhz: clocks.max_memory_mhz,
    };
    Described { number, why: None, facts: Some(facts) }
}

impl Gpu {
    /// One sentence for the list of backends.
    pub fn summary(&self) -> String {
        let usable: Vec<&str> = self.devices.iter().filter_map(|d| d.facts.as_ref()).map(|f| f.name.as_str()).collect();
        self.why.clone().unwrap_or_else(|| usable.join(", "))
    }
    /// For people. What the machine lacks is in the summary; here is what it has.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        let release = self.driver_release.as_ref().map_or(String::new(), |r| format!(", release {r}"));
        let driver = self.driver.as_ref().map_or("not found".into(), |d| format!("supports CUDA {d}{release}"));
        let _ = writeln!(text, "  driver    {driver}; the lowest that works supports CUDA {} (release 580)", self.oldest_driver);
        for device in &self.devices {
            let what = device.facts.as_ref().map_or_else(|| device.why.clone().unwrap_or_default(), Facts::describe);
            let _ = writeln!(text, "  device {}  {what}", device.number);
        }
        let library = |name: &str, version: &Option<String>| match version {
            Some(version) => format!("{name} {version}"),
            None => format!("no {name}"),
        };
        let _ = writeln!(text, "  libraries {}, {}", library("NVRTC", &self.nvrtc), library("cuSPARSE", &self.cusparse));
        let k = &self.kernels;
        if k.architectures.is_empty() {
            let _ =
                writeln!(text, "  kernels   none compiled ahead (cargo xtask kernels does): each of {} modules at first use", k.modules);
        } else {
            let targets = k.architectures.join(" ");
            let _ = writeln!(text, "  kernels   {} of {} modules for {targets}, {}", k.usable, k.modules, report::bytes(k.bytes));
        }
        for (what, names) in [("of other sources", &k.stale), ("damaged", &k.corrupt)] {
            if !names.is_empty() {
                const SHOWN: usize = 6;
                let more = if names.len() > SHOWN { ", ..." } else { "" };
                let shown = names[..names.len().min(SHOWN)].join(", ");
                let _ = writeln!(text, "            {} {what}, compiled anew at first use: {shown}{more}", names.len());
            }
        }
        let c = &self.cache;
        let folder = c.folder.as_deref().unwrap_or("off");
        let (bytes, limit) = (report::bytes(c.bytes), report::bytes(c.limit_bytes));
        let _ = writeln!(text, "  cache     {folder}: {bytes} of at most {limit} ({FOLDER_VARIABLE} and {BYTES_VARIABLE} set them)");
        if let Some(folder) = &self.emulator {
            let _ = writeln!(text, "  emulator  {folder} ({EMULATOR_VARIABLE}): kernels run on the CPU, for tests");
        }
        text
    }
}

impl Facts {
    fn describe(&self) -> String {
        let clock = |now: Option<u32>, most: Option<u32>| match (now, most) {
            (Some(now), Some(most)) => format!("{now} of {most} MHz"),
            (Some(now), None) => format!("{now} MHz"),
            _ => "unknown".into(),
        };
        format!(
            "{}, compute capability {}, {} multiprocessors, memory {}, {} free, L2 {}, clocks: multiprocessors {}, memory {}",
            self.name,
            self.compute,
            self.multiprocessors,
            report::bytes(self.memory_bytes),
            report::bytes(self.memory_free_bytes),
            report::bytes(self.l2_bytes),
            clock(self.sm_mhz, self.max_sm_mhz),
            clock(self.memory_mhz, self.max_memory_mhz)
        )
    }
}
