//! Which state of the sources a program was built from, for reports of measurements.

use std::path::Path;
use std::process::{Command, Stdio};

/// The commit: what `BITGRAPH_COMMIT` said when this was compiled, else what git says of the checkout that this was compiled in, with
/// a `+` if files differ from it; `None` where that is gone.
#[must_use]
pub fn commit() -> Option<String> {
    if let Some(commit) = option_env!("BITGRAPH_COMMIT").filter(|c| !c.is_empty()) {
        return Some(commit.to_string());
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Unpacked from a registry it may lie inside a checkout of something else.
    if !sources.join("../../.git").exists() {
        return None;
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(sources).args(arguments).stdin(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    let head = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { head } else { head + "+" })
}

#[cfg(test)]
mod tests {
    #[test]
    fn is_a_hash_if_anything() {
        let Some(commit) = super::commit() else { return };
        assert!(commit.len() >= 7 && commit.trim_end_matches('+').bytes().all(|b| b.is_ascii_alphanumeric()), "{commit}");
    }
}
