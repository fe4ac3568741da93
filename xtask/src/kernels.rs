//! `cargo xtask kernels`: compiles the CUDA kernels ahead of time, for GPUs or for the host shim.
//!
//! Invariant: what is up to date (same sources, same architectures) is not compiled again; a file is replaced only by a
//! complete one, and the manifest is written last.

use crate::run;
use anyhow::{Context, Result, bail};
use bitgraph_kernels::{assertions, includes, listed_modules, module_hash, pack, source, sources, unpack};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const USAGE: &str = "usage: cargo xtask kernels [--arch 80,90a,...] [--portable 80] [--nvcc PATH] [--jobs N] [--checked] [--line-info] [--quick] | kernels --host [--jobs N]";

/// How a compiled module is kept.
const PACKED: &str = "fatbin.packed";

/// Built if `--arch` does not say otherwise: the oldest supported and the one that the figures are of.
const DEFAULT_ARCHITECTURES: &str = "80,90a";

struct Options {
    architectures: Vec<String>,
    /// Whose assembly serves every newer GPU that has no machine code of its own: the lowest of all unless asked for.
    portable: u32,
    nvcc: Option<PathBuf>,
    host: bool,
    /// For a checker of races: see `kernels/common/memory.cuh`.
    checked: bool,
    /// Source lines in the code, for profilers and checkers; more than doubles it.
    line_info: bool,
    /// To see that they compile: modules that are the same for every architecture are compiled for the portable one alone, in half the time.
    quick: bool,
    jobs: usize,
}

impl Options {
    /// Those that a module is compiled for.
    fn architectures_of(&self, module: &str) -> Vec<String> {
        let asks = |s: &bitgraph_kernels::Source| s.text.contains(ARCHITECTURE);
        let depends = |path: &str| source(path).is_some_and(|own| asks(own) || includes(own.text).iter().any(asks));
        if self.quick && !depends(&format!("{module}.cu")) { vec![self.portable.to_string()] } else { self.architectures.clone() }
    }
}

/// What code asks that differs by architecture.
const ARCHITECTURE: &str = "__CUDA_ARCH";

pub fn run(arguments: &[String]) -> Result<()> {
    let options = parse(arguments)?;
    if options.host { host(options.jobs) } else { device(&options) }
}

fn parse(arguments: &[String]) -> Result<Options> {
    let mut options = Options {
        architectures: split_architectures(DEFAULT_ARCHITECTURES)?,
        portable: 0,
        nvcc: None,
        host: false,
        checked: false,
        line_info: false,
        quick: false,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let (mut rest, mut portable) = (arguments.iter(), None);
    while let Some(flag) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{flag} needs a value; {USAGE}"));
        match flag.as_str() {
            "--arch" => options.architectures = split_architectures(value()?)?,
            "--portable" => portable = Some(value()?.parse().context("--portable needs a number such as 80")?),
            "--nvcc" => options.nvcc = Some(PathBuf::from(value()?)),
            "--jobs" => options.jobs = value()?.parse().context("--jobs needs a whole number")?,
            "--host" => options.host = true,
            "--checked" => options.checked = true,
            "--line-info" => options.line_info = true,
            "--quick" => options.quick = true,
            _ => bail!("{USAGE}"),
        }
    }
    let lowest = number(options.architectures.first().context("--arch is empty")?);
    options.portable = portable.unwrap_or(lowest);
    if options.portable > lowest {
        bail!("--portable {} is above {lowest}, the lowest of --arch", options.portable);
    }
    Ok(options)
}

/// Lowest first.
fn split_architectures(list: &str) -> Result<Vec<String>> {
    let mut architectures: Vec<String> = list.split(',').map(String::from).collect();
    if let Some(bad) = architectures.iter().find(|a| !is_architecture(a)) {
        bail!("--arch {list}: {bad:?} is not an architecture such as 80 or 90a");
    }
    architectures.sort_by_key(|a| (number(a), a.clone()));
    architectures.dedup();
    Ok(architectures)
}

fn number(architecture: &str) -> u32 {
    architecture.trim_end_matches(|c: char| c.is_ascii_lowercase()).parse().unwrap_or(0)
}

fn is_architecture(text: &str) -> bool {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_lowercase());
    (2..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) && text.len() - digits.len() <= 1
}

/// The modules, by name: every `.cu` file.
fn modules() -> Vec<&'static str> {
    sources().iter().filter_map(|s| s.path.strip_suffix(".cu")).collect()
}

fn file_name(module: &str, ending: &str) -> String {
    format!("{}.{ending}", module.replace('/', "-"))
}

/// Looks where `--nvcc`, `NVCC`, the path, `CUDA_HOME` and `CUDA_PATH` say.
fn find_nvcc(asked: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = asked {
        return if path.is_file() { Ok(path.to_path_buf()) } else { bail!("--nvcc {}: there is no such file", path.display()) };
    }
    let from_path = std::env::var_os("PATH").map(|p| std::env::split_paths(&p).map(|d| d.join("nvcc")).collect::<Vec<_>>());
    let mut places: Vec<PathBuf> = std::env::var_os("NVCC").map(PathBuf::from).into_iter().collect();
    places.extend(from_path.into_iter().flatten());
    places.extend(["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(|home| PathBuf::from(home).join("bin/nvcc")));
    places.into_iter().find(|p| p.is_file()).context(
        "no nvcc found; give --nvcc PATH. Without a CUDA installation, `pip install nvidia-cuda-nvcc==13.0.* nvidia-cuda-crt==13.0.* \
         nvidia-nvvm==13.0.* nvidia-cuda-runtime==13.0.* nvidia-cuda-cccl==13.0.*` brings it as site-packages/nvidia/cu13/bin/nvcc",
    )
}

/// What the manifest says of each module: the hash of the sources.
type Built = BTreeMap<String, u64>;

fn device(options: &Options) -> Result<()> {
    let kernels = run::root().join("kernels");
    let bundle = kernels.join("bundle");
    fs::create_dir_all(&bundle).with_context(|| format!("cannot create {}", bundle.display()))?;
    let mut names: Vec<String> = options.architectures.iter().map(|a| format!("sm_{a}")).collect();
    names.push(format!("compute_{}", options.portable));
    let mark = |asked: bool, name: &'static str| if asked { name } else { "" };
    let (checked, lines, quick) = (mark(options.checked, " checked"), mark(options.line_info, " line-info"), mark(options.quick, " quick"));
    let heading = format!("architectures {}{checked}{lines}{quick}", names.join(" "));
    let manifest = bundle.join("manifest.txt");
    let built: Built = match fs::read_to_string(&manifest) {
        Ok(text) if text.lines().next() == Some(&heading) => parse_manifest(&text),
        _ => Built::new(),
    };
    let modules = modules();
    let current = |module: &str| built.get(module).is_some_and(|source| Some(*source) == module_hash(module));
    let stale: Vec<&str> = modules.iter().copied().filter(|m| !current(m) || !bundle.join(file_name(m, PACKED)).is_file()).collect();
    if !stale.is_empty() {
        let nvcc = find_nvcc(options.nvcc.as_deref())?;
        run::parallel(&stale, options.jobs, |module| compile(&nvcc, &kernels, &bundle, module, options))?;
    }
    let (mut text, mut bytes) = (heading + "\n", (0, 0));
    for module in &modules {
        let file = file_name(module, PACKED);
        let packed = fs::read(bundle.join(&file)).with_context(|| format!("cannot read {file}"))?;
        let code = unpack(&packed).with_context(|| format!("cannot unpack {file}"))?;
        let source = module_hash(module).context("a module lost its source")?;
        (bytes.0, bytes.1) = (bytes.0 + code.len(), bytes.1 + packed.len());
        text += &format!("module {module} {file} {source:016x}\n");
    }
    replace(&manifest, text.as_bytes())?;
    let (count, names) = (modules.len(), names.join(", "));
    println!("kernels: {count} modules for {names}; {} compiled, the rest up to date; {} bytes, {} packed", stale.len(), bytes.0, bytes.1);
    listed(&modules)
}

fn parse_manifest(text: &str) -> Built {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        (fields.first() == Some(&"module")).then_some(())?;
        Some((fields.get(1)?.to_string(), u64::from_str_radix(fields.get(3)?, 16).ok()?))
    };
    text.lines().filter_map(line).collect()
}

/// Writes what a compiler is given for a module: its source, and that the structs it shares with the host lie as the host takes them to.
fn checked_source(folder: &Path, module: &str) -> Result<PathBuf> {
    let path = format!("{module}.cu");
    let text = source(&path).context("a module lost its source")?.text;
    // The shim's own are left out by a compiler for devices.
    let seen = |file: &&str| !file.starts_with("host/");
    let files: Vec<&str> = includes(text).iter().map(|s| s.path).chain([path.as_str()]).filter(seen).collect();
    let target = folder.join(file_name(module, "checked.cu"));
    fs::write(&target, format!("#include \"{path}\"\n{}", assertions(&files)))
        .with_context(|| format!("cannot write {}", target.display()))?;
    Ok(target)
}

fn compile(nvcc: &Path, kernels: &Path, bundle: &Path, module: &str, options: &Options) -> Result<()> {
    let target = bundle.join(file_name(module, PACKED));
    let partial = bundle.join(file_name(module, "partial"));
    let mut command = Command::new(nvcc);
    // Not compressed by the compiler: packed as a whole it is smaller, and its symbols can be looked up without a GPU.
    command.args(["-std=c++17", "-O3", "--fatbin", "--no-compress", "-I"]).arg(kernels);
    if options.line_info {
        command.arg("-lineinfo");
    }
    if options.checked {
        command.arg("-DBITGRAPH_CHECKED");
    }
    // Machine code of a special architecture cannot come from the portable assembly of the plain one.
    let portable = options.portable.to_string();
    let architectures = options.architectures_of(module);
    for a in &architectures {
        let code = if *a == portable { format!("code=[sm_{a},compute_{a}]") } else { format!("code=sm_{a}") };
        command.arg("-gencode").arg(format!("arch=compute_{a},{code}"));
    }
    if !architectures.contains(&portable) {
        command.arg("-gencode").arg(format!("arch=compute_{portable},code=compute_{portable}"));
    }
    let source = checked_source(bundle, module)?;
    command.arg("-o").arg(&partial).arg(&source);
    let compiled = execute(command, module);
    let _ = fs::remove_file(&source);
    compiled?;
    let code = fs::read(&partial).with_context(|| format!("cannot read {}", partial.display()))?;
    let _ = fs::remove_file(&partial);
    replace(&target, &pack(&code)?)
}

/// The folder of the kernels compiled for the host shim.
pub fn host_folder() -> PathBuf {
    run::target_folder().join("kernels-host")
}

fn host(jobs: usize) -> Result<()> {
    let kernels = run::root().join("kernels");
    let folder = host_folder();
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let hash = |text: &str| format!("{:016x}", bitgraph_kernels::text_hash(text));
    let fresh = |stamp: &Path, hash: &str, file: &Path| file.is_file() && fs::read_to_string(stamp).is_ok_and(|old| old == hash);
    let flags = ["-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", "-w", "-DBITGRAPH_HOST", "-I"];
    let shim = bitgraph_kernels::source("host/shim.cpp").context("the host shim is not in the sources")?;
    let (object, stamp) = (folder.join("shim.o"), folder.join("shim.stamp"));
    if !fresh(&stamp, &hash(shim.text), &object) {
        let mut command = Command::new(&compiler);
        command.args(flags).arg(&kernels).args(["-c", "-o"]).arg(&object).arg(kernels.join("host/shim.cpp"));
        execute(command, "host/shim")?;
        replace(&stamp, hash(shim.text).as_bytes())?;
    }
    let modules = modules();
    let key = |m: &str| module_hash(m).map(|h| format!("{h:016x} {}", hash(shim.text))).unwrap_or_default();
    let stale: Vec<&str> = modules
        .iter()
        .copied()
        .filter(|m| !fresh(&folder.join(file_name(m, "stamp")), &key(m), &folder.join(file_name(m, "so"))))
        .collect();
    run::parallel(&stale, jobs, |module| {
        let partial = folder.join(file_name(module, "partial"));
        let mut command = Command::new(&compiler);
        command.args(flags).arg(&kernels).args(["-shared", "-o"]).arg(&partial);
        let source = checked_source(&folder, module)?;
        command.args(["-x", "c++"]).arg(&source).args(["-x", "none"]).arg(&object);
        let compiled = execute(command, module);
        let _ = fs::remove_file(&source);
        compiled?;
        let target = folder.join(file_name(module, "so"));
        fs::rename(&partial, &target).with_context(|| format!("cannot write {}", target.display()))?;
        replace(&folder.join(file_name(module, "stamp")), key(module).as_bytes())
    })?;
    println!("kernels: {} modules for the host in {}; {} compiled, the rest up to date", modules.len(), folder.display(), stale.len());
    listed(&modules)
}

/// Every `.cu` file is in the table of kernels, or nothing would find it.
fn listed(modules: &[&str]) -> Result<()> {
    let known = |m: &str| m == bitgraph_kernels::LISTED_MODULE || listed_modules().any(|l| l.name == m);
    match modules.iter().find(|m| !known(m)) {
        Some(module) => bail!("kernels/{module}.cu is not in the table of kernels (kernels/src/modules/)"),
        None => Ok(()),
    }
}

fn execute(mut command: Command, what: &str) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        bail!("{what} does not compile ({program}):\n{text}{}", String::from_utf8_lossy(&output.stdout));
    }
    println!("compiled {what}");
    Ok(())
}

fn replace(path: &Path, content: &[u8]) -> Result<()> {
    let partial = path.with_extension("new");
    fs::write(&partial, content).and_then(|()| fs::rename(&partial, path)).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures() {
        assert!(["80", "90a", "100", "120f"].iter().all(|a| is_architecture(a)));
        assert!(["", "sm_80", "8", "90ab", "a", "80 "].iter().all(|a| !is_architecture(a)));
        assert_eq!(split_architectures("100,90a,80,90a").unwrap(), ["80", "90a", "100"]);
        assert!(parse(&["--arch".into(), "x".into()]).is_err());
        let portable = |text: &str| parse(&text.split(' ').map(String::from).collect::<Vec<_>>()).map(|options| options.portable).ok();
        assert_eq!(
            (portable("--arch 90a,80"), portable("--arch 90a"), portable("--arch 90a --portable 80")),
            (Some(80), Some(90), Some(80))
        );
        assert_eq!((portable("--arch 80,90a --portable 90"), portable("--portable x")), (None, None));
        assert!(parse(&["--nonsense".into()]).is_err());
    }

    #[test]
    fn quick_kernels_are_for_one_architecture_where_they_can() {
        let options = |text: &str| parse(&text.split(' ').map(String::from).collect::<Vec<_>>()).unwrap();
        let all = options("--arch 90a --portable 80");
        let quick = options("--arch 90a --portable 80 --quick");
        assert_eq!((all.architectures_of("formats/scan"), quick.architectures_of("formats/scan")), (vec!["90a".into()], vec!["80".into()]));
        assert_eq!(quick.architectures_of("graph/pagerank_small"), ["90a"]);
        let special = modules().into_iter().filter(|module| quick.architectures_of(module) == ["90a"]).count();
        assert!(special > 3 && special * 4 < modules().len(), "{special}");
    }

    #[test]
    fn manifests() {
        let built = parse_manifest("architectures sm_80 compute_80\nmodule graph/bfs graph-bfs.fatbin 10\nrubbish\n");
        assert_eq!(built.get("graph/bfs"), Some(&0x10));
        assert_eq!(built.len(), 1);
    }

    #[test]
    fn every_source_is_listed() {
        listed(&modules()).unwrap();
    }
}
