//! Test programs, built by cargo and run by hand: once plainly, once with a variable set, once under a checker, without being compiled anew.
//!
//! Cargo compiles a package with the features that the packages beside it ask for: the tests of one package alone are other programs than
//! those of the workspace, down to the libraries below them.

use crate::run;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The flag of tasks that run programs of the workspace's tests.
pub const WHOLE: &str = "--workspace";

/// Which build programs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// One of the package alone: little to compile where nothing is compiled yet.
    Package,
    /// That of all tests of the workspace: nothing to compile after `test`.
    Workspace,
}

impl Build {
    /// Takes the flag off the words of a task.
    pub fn of(words: &[String]) -> (Self, Vec<String>) {
        let rest: Vec<String> = words.iter().filter(|word| *word != WHOLE).cloned().collect();
        (if rest.len() < words.len() { Self::Workspace } else { Self::Package }, rest)
    }
}

/// A test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The name of the library, or of the file in `tests`.
    pub target: String,
    path: PathBuf,
    /// The package's folder, where cargo runs it.
    folder: PathBuf,
}

/// The programs of a package's targets: of its library, and of the named files in `tests`.
pub fn of(build: Build, package: &str, tests: &[&str], extra: &[&str], variables: &[(&str, &str)]) -> Result<Vec<Program>> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["test", "--no-run", "--message-format", "json-render-diagnostics"]).args(extra).current_dir(run::root());
    if build == Build::Workspace {
        command.arg(WHOLE);
    } else {
        command.args(["--package", package, "--lib"]).args(tests.iter().flat_map(|test| ["--test", test]));
    }
    let output = command.envs(variables.iter().copied()).stderr(std::process::Stdio::inherit()).output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the tests of {package} do not build");
    }
    let library = package.replace('-', "_");
    let folder = run::root().join("crates").join(package);
    let programs = String::from_utf8_lossy(&output.stdout).lines().filter_map(|line| program(line, &folder)).collect::<Vec<_>>();
    let named = |target: &str| programs.iter().find(|program| program.target == target).cloned();
    let wanted = std::iter::once(library.as_str()).chain(tests.iter().copied());
    wanted.map(|target| named(target).with_context(|| format!("cargo does not say where the tests of {package}, {target}, are"))).collect()
}

/// What a line of cargo's messages says of a test program of the package in `folder`.
fn program(line: &str, folder: &Path) -> Option<Program> {
    let path = field(line, "executable")?;
    // Of the profile: a binary of the package has another.
    let test = line.contains("\"test\":true},\"features\":") && Path::new(field(line, "manifest_path")?) == folder.join("Cargo.toml");
    let source = Path::new(field(line, "src_path")?);
    let target = if source.ends_with("src/lib.rs") { folder.file_name()?.to_str()?.replace('-', "_") } else { stem(source)? };
    test.then(|| Program { target, path: path.into(), folder: folder.into() })
}

/// The name of a test: that of its file, or of its folder.
fn stem(source: &Path) -> Option<String> {
    let named = if source.ends_with("main.rs") { source.parent()? } else { source };
    Some(named.file_stem()?.to_str()?.to_string())
}

/// The text of a field of a JSON object that no other field of the line is called like.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_once(&format!("\"{name}\":\""))?.1.split_once('"').map(|(value, _)| value)
}

impl Program {
    /// Runs it, after `before` (a checker and its options), with the words that choose its tests.
    pub fn run(&self, before: &[&str], words: &[&str], variables: &[(&str, &str)]) -> Result<()> {
        let (mut command, shown) = self.command(before, words, variables)?;
        let status = command.status().with_context(|| format!("cannot start {shown}"))?;
        if !status.success() {
            bail!("{shown} ended with {status}");
        }
        Ok(())
    }
    /// As [`Program::run`]; what it prints comes in one piece when it has ended, so that several can run side by side.
    pub fn run_aside(&self, before: &[&str], words: &[&str], variables: &[(&str, &str)]) -> Result<()> {
        let (mut command, shown) = self.command(before, words, variables)?;
        let output = command.output().with_context(|| format!("cannot start {shown}"))?;
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        print!("{}", String::from_utf8_lossy(&output.stdout));
        if !output.status.success() {
            bail!("{shown} ended with {}", output.status);
        }
        Ok(())
    }
    /// The command, which is shown, and its line.
    fn command(&self, before: &[&str], words: &[&str], variables: &[(&str, &str)]) -> Result<(Command, String)> {
        let path = self.path.to_str().context("a path is not UTF-8")?;
        let line: Vec<&str> = before.iter().copied().chain([path]).chain(words.iter().copied()).collect();
        let prefix: String = variables.iter().map(|(name, value)| format!("{name}={value:?} ")).collect();
        eprintln!("$ {prefix}{}", line.join(" "));
        let mut command = Command::new(line[0]);
        command.args(&line[1..]).envs(variables.iter().copied()).env("CARGO_MANIFEST_DIR", &self.folder).current_dir(&self.folder);
        Ok((command, line.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_a_package() {
        let folder = Path::new("/x/crates/bitgraph-cpu");
        let line = |manifest: &str, source: &str, test: bool| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/x/crates/{manifest}/Cargo.toml\",\"target\":{{\"src_path\":\
                 \"/x/crates/bitgraph-cpu/{source}\",\"test\":true}},\"profile\":{{\"opt_level\":\"1\",\"test\":{test}}},\"features\":[],\
                 \"executable\":\"/t/deps/p\",\"fresh\":true}}"
            )
        };
        let target = |manifest: &str, source: &str, test: bool| program(&line(manifest, source, test), folder).map(|p| p.target);
        assert_eq!(target("bitgraph-cpu", "src/lib.rs", true).as_deref(), Some("bitgraph_cpu"));
        assert_eq!(target("bitgraph-cpu", "tests/pools.rs", true).as_deref(), Some("pools"));
        assert_eq!(target("bitgraph-cpu", "tests/models/main.rs", true).as_deref(), Some("models"));
        assert_eq!(target("bitgraph-cuda", "src/lib.rs", true), None);
        assert_eq!(target("bitgraph-cpu", "examples/a.rs", false), None);
        assert_eq!(program("{\"executable\":null}", folder), None);
    }

    #[test]
    fn the_flag_is_taken_off() {
        let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        assert_eq!(Build::of(&words("--workspace bfs")), (Build::Workspace, words("bfs")));
        assert_eq!(Build::of(&words("bfs")), (Build::Package, words("bfs")));
    }
}
