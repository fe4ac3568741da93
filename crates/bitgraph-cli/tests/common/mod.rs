//! Runs the binary and looks at what came out.
#![allow(dead_code)]

use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What a run left.
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
    /// The one JSON object on standard output.
    pub fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{}", self.err);
        assert_eq!(self.out.lines().count(), 1, "{}", self.out);
        serde_json::from_str(&self.out).unwrap()
    }
    /// A failure with this code, told in one sentence that holds `words`.
    pub fn fails(&self, code: i32, words: &str) {
        assert_eq!(self.code, Some(code), "{}", self.err);
        assert!(self.err.starts_with("bitgraph: error: ") && self.err.ends_with('\n'), "{}", self.err);
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        assert!(self.err.contains(words), "{} lacks {words}", self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        assert_eq!(self.out, "");
    }
}

/// The binary, with as little inherited as possible.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bitgraph"));
    command.args(arguments).stdin(Stdio::null());
    // As on a machine without a GPU.
    command.env("CUDA_VISIBLE_DEVICES", "").env_remove("BITGRAPH_CUDA_EMULATOR");
    command
}

/// Runs it: words separated by blanks.
pub fn bitgraph(line: &str) -> Ran {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    Ran::of(&command(&arguments).output().unwrap())
}

/// Runs it with a file that `{}` stands for.
pub fn with_file(line: &str, file: &Path) -> Ran {
    bitgraph(&line.replace("{}", file.to_str().unwrap()))
}

/// Runs it with a text on standard input.
pub fn with_input(line: &str, input: &[u8]) -> Ran {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let mut child = command(&arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It may have failed before it read.
    let _ = child.stdin.take().unwrap().write_all(input);
    Ran::of(&child.wait_with_output().unwrap())
}

/// The `result` of a run with `--json`.
pub fn result(line: &str) -> Value {
    bitgraph(&format!("{line} --json")).json()["result"].clone()
}

/// A file in a directory.
pub fn file(directory: &tempfile::TempDir, name: &str, contents: impl AsRef<[u8]>) -> std::path::PathBuf {
    let path = directory.path().join(name);
    std::fs::write(&path, contents).unwrap();
    path
}
