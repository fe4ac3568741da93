//! Running cargo in the workspace's root, with the command shown first.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The workspace's root: the directory above this crate.
pub fn root() -> PathBuf {
    // Cargo sets the variable for `cargo run` and `cargo test`; a binary started by hand falls back on where it was built.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or_else(|| here.clone(), PathBuf::from)
}

/// Where cargo puts what it builds.
pub fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The triple of the machine that rustc runs on.
pub fn host_triple() -> Option<String> {
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("-vV").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().find_map(|line| line.strip_prefix("host: ")).map(String::from)
}

/// Where rustc and its libraries are.
pub fn sysroot() -> Option<PathBuf> {
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).args(["--print", "sysroot"]).output().ok()?;
    Some(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

/// Whether a program can be started and answers `--version`.
pub fn has(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Runs cargo with `first` and then `rest` as arguments.
///
/// # Errors
/// If cargo cannot be started or does not succeed.
pub fn cargo(first: &[&str], rest: &[String]) -> Result<()> {
    cargo_with(first, rest, &[])
}

/// As [`cargo`], with environment variables set.
///
/// # Errors
/// If cargo cannot be started or does not succeed.
pub fn cargo_with(first: &[&str], rest: &[String], variables: &[(&str, &str)]) -> Result<()> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let shown: Vec<&str> = first.iter().copied().chain(rest.iter().map(String::as_str)).collect();
    let prefix: String = variables.iter().map(|(name, value)| format!("{name}={value:?} ")).collect();
    eprintln!("$ {prefix}cargo {}", shown.join(" "));
    let mut command = Command::new(&program);
    command.args(first).args(rest).current_dir(root()).envs(variables.iter().copied());
    // These describe this crate; the programs that cargo starts set their own.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_NAME", "CARGO_PKG_VERSION"] {
        command.env_remove(name);
    }
    let status = command.status().with_context(|| format!("cannot start {}", program.display()))?;
    if !status.success() {
        bail!("cargo {} ended with {status}", shown.first().copied().unwrap_or(""));
    }
    Ok(())
}

/// Runs `work` over the items on up to `jobs` threads; the first failure in order is reported.
///
/// # Errors
/// The first of `work`'s, by the items' order.
pub fn parallel<T: Sync>(items: &[T], jobs: usize, work: impl Fn(&T) -> Result<()> + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    if let Err(error) = work(item)
                        && let Ok(mut list) = failures.lock()
                    {
                        list.push((index, error));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap_or_default();
    failures.sort_by_key(|(index, _)| *index);
    failures.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
}
