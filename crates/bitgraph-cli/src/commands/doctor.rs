//! `doctor`: what this machine and this build offer. Always succeeds: what is missing is told, not failed on.

use super::gpu::{self, Gpu};
use crate::failure::Result;
use crate::options::GeneralArgs;
use crate::{output, report, system};
use bitgraph::cpu::Isa;
use bitgraph::sparse::parallel;
use serde::Serialize;
use std::time::Instant;

#[derive(Serialize)]
struct Doctor {
    schema: u32,
    version: &'static str,
    os: &'static str,
    architecture: &'static str,
    cpu: Option<String>,
    features: Vec<&'static str>,
    simd: &'static str,
    simd_detected: &'static str,
    cpus_allowed: usize,
    threads: usize,
    memory_bytes: Option<u64>,
    memory_free_bytes: Option<u64>,
    huge_pages: Option<String>,
    read_gb_per_s: f64,
    copy_gb_per_s: f64,
    backends: Vec<Backend>,
    cuda: Gpu,
}

#[derive(Serialize)]
struct Backend {
    name: &'static str,
    available: bool,
    what: String,
}

/// Looks, measures for less than a second, and prints.
pub fn run(args: &GeneralArgs) -> Result<()> {
    let (read, copy) = bandwidth();
    let isa = Isa::current();
    let cuda = gpu::look();
    let doctor = Doctor {
        schema: 1,
        version: env!("CARGO_PKG_VERSION"),
        os: std::env::consts::OS,
        architecture: std::env::consts::ARCH,
        cpu: system::line_of("/proc/cpuinfo", "model name"),
        features: features(),
        simd: isa.name(),
        simd_detected: Isa::detect().name(),
        cpus_allowed: std::thread::available_parallelism().map_or(1, usize::from),
        threads: rayon::current_num_threads(),
        memory_bytes: system::memory("MemTotal"),
        memory_free_bytes: system::free_memory(),
        huge_pages: huge_pages(),
        read_gb_per_s: read,
        copy_gb_per_s: copy,
        backends: vec![
            Backend { name: "cpu", available: true, what: format!("{} kernels", isa.name()) },
            Backend { name: "cuda", available: cuda.available, what: cuda.summary() },
        ],
        cuda,
    };
    if args.json { report::json(&doctor) } else { output::print(&describe(&doctor)) }
}

fn describe(d: &Doctor) -> String {
    let unknown = || "unknown".to_string();
    let memory = |bytes: Option<u64>| bytes.map_or_else(unknown, report::bytes);
    let mut text = format!(
        "bitgraph {} on {} {}\ncpu         {}\nfeatures    {}\nsimd        {} (the CPU has {}; BITGRAPH_SIMD lowers it)\n\
         threads     {} (CPUs allowed: {})\nmemory      {}, {} free, huge pages {}\nbandwidth   read {:.1} GB/s, copy {:.1} GB/s\n",
        d.version,
        d.os,
        d.architecture,
        d.cpu.clone().unwrap_or_else(unknown),
        d.features.join(" "),
        d.simd,
        d.simd_detected,
        d.threads,
        d.cpus_allowed,
        memory(d.memory_bytes),
        memory(d.memory_free_bytes),
        d.huge_pages.clone().unwrap_or_else(unknown),
        d.read_gb_per_s,
        d.copy_gb_per_s
    );
    for b in &d.backends {
        text += &format!("backend     {}: {}\n", b.name, if b.available { format!("yes, {}", b.what) } else { b.what.clone() });
    }
    text + &d.cuda.describe()
}

/// The choice in force of the kernel's `always [madvise] never`.
fn huge_pages() -> Option<String> {
    let text = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    Some(text.split_once('[')?.1.split_once(']')?.0.to_string())
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<&'static str> {
    macro_rules! found {
        ($($name:tt)*) => { [$(($name, is_x86_feature_detected!($name)),)*] };
    }
    let all = found!(
        "popcnt" "lzcnt" "bmi1" "bmi2" "fma" "avx" "avx2" "gfni" "avx512f" "avx512bw" "avx512vl" "avx512dq" "avx512cd" "avx512vbmi"
        "avx512vbmi2" "avx512bitalg" "avx512vpopcntdq" "avx512vnni" "avx512bf16" "avx512vp2intersect"
    );
    all.into_iter().filter(|f| f.1).map(|f| f.0).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn features() -> Vec<&'static str> {
    Vec::new()
}

/// Read and copy rates of memory in GB/s (copying counts both ways): the best of a few passes over arrays beyond most caches.
fn bandwidth() -> (f64, f64) {
    const WORDS: usize = 16 << 20;
    const PASSES: usize = 4;
    let chunk = WORDS.div_ceil(rayon::current_num_threads() * 4);
    let source = vec![1u64; WORDS];
    let mut target = vec![0u64; WORDS];
    let bytes = (WORDS * 8) as f64;
    let (mut read, mut copy) = (0f64, 0f64);
    for _ in 0..PASSES {
        let start = Instant::now();
        let sum: u64 = parallel::reduce(WORDS, chunk, |some| source[some].iter().fold(0u64, |a, &b| a.wrapping_add(b)), u64::wrapping_add);
        std::hint::black_box(sum);
        read = read.max(bytes / start.elapsed().as_secs_f64());
        let start = Instant::now();
        parallel::chunks_mut(&mut target, chunk, |k, t| t.copy_from_slice(&source[k * chunk..k * chunk + t.len()]));
        std::hint::black_box(&target);
        copy = copy.max(2.0 * bytes / start.elapsed().as_secs_f64());
    }
    (read / 1e9, copy / 1e9)
}
