//! `cargo xtask deny`: the licences and origins of everything that a build takes in, against `deny.toml`.
//!
//! Licences are checked by `cargo tree` alone. With `cargo-deny` installed its checks run as well: sources, bans, and, where the list of
//! advisories can be fetched, known faults of dependencies.
//!
//! Invariant: a licence passes if a choice that it leaves makes every part of it one of the allowed.

use crate::run;
use anyhow::{Context, Result, bail};
use std::process::Command;

pub fn run(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        bail!("usage: cargo xtask deny");
    }
    licences()?;
    if !run::has("cargo", &["deny"]) {
        println!("deny: sources, bans and advisories skipped, since cargo-deny is not installed (`cargo install cargo-deny --locked`)");
        return Ok(());
    }
    run::cargo(&["deny", "--offline", "--workspace", "check", "licenses", "bans", "sources"], &[])?;
    let fetched = Command::new("cargo").args(["deny", "fetch", "db"]).current_dir(run::root()).output();
    if fetched.is_ok_and(|output| output.status.success()) {
        return run::cargo(&["deny", "--workspace", "check", "advisories"], &[]);
    }
    println!("deny: advisories skipped, since their list cannot be fetched");
    Ok(())
}

/// The strings of the list `allow` in `deny.toml`.
fn allowed(text: &str) -> Vec<&str> {
    let list = text.split_once("allow = [").and_then(|(_, rest)| rest.split_once(']')).map_or("", |(list, _)| list);
    list.split('"').skip(1).step_by(2).collect()
}

fn licences() -> Result<()> {
    let path = run::root().join("deny.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let allowed = allowed(&text);
    let tree = ["tree", "--workspace", "--target", "all", "--edges", "normal,build,dev", "--prefix", "none", "--no-dedupe"];
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output =
        Command::new(program).args(tree).args(["--format", "{l}|{p}"]).current_dir(run::root()).output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("cargo tree ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut packages: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('|')).collect();
    packages.sort_unstable();
    packages.dedup();
    if packages.is_empty() {
        bail!("cargo tree names no package");
    }
    let bad: Vec<String> = packages
        .iter()
        .filter(|(licence, _)| !passes(licence, &allowed))
        .map(|(licence, package)| format!("{package}: {licence:?}"))
        .collect();
    if !bad.is_empty() {
        bail!("deny: licences that deny.toml does not allow:\n{}", bad.join("\n"));
    }
    println!("deny: the licences of {} packages are allowed", packages.len());
    Ok(())
}

/// Whether a choice of a licence's expression is allowed: `OR` (or `/`) leaves a choice, `AND` binds closer, parentheses closest.
fn passes(expression: &str, allowed: &[&str]) -> bool {
    let expression = expression.trim();
    if let Some(parts) = split(expression, &[" OR ", "/"]) {
        return parts.iter().any(|part| passes(part, allowed));
    }
    if let Some(parts) = split(expression, &[" AND "]) {
        return parts.iter().all(|part| passes(part, allowed));
    }
    match expression.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => passes(inner, allowed),
        None => allowed.contains(&expression),
    }
}

/// The parts of an expression between separators that are outside all parentheses; `None` if there is no such separator.
fn split<'a>(expression: &'a str, separators: &[&str]) -> Option<Vec<&'a str>> {
    let (mut parts, mut depth, mut start, mut at) = (Vec::new(), 0, 0, 0);
    while at < expression.len() {
        let rest = &expression[at..];
        let found = separators.iter().find(|s| depth == 0 && rest.starts_with(**s));
        if let Some(separator) = found {
            parts.push(&expression[start..at]);
            at += separator.len();
            start = at;
            continue;
        }
        let next = rest.chars().next()?;
        depth += i32::from(next == '(') - i32::from(next == ')');
        at += next.len_utf8();
    }
    if parts.is_empty() {
        return None;
    }
    parts.push(&expression[start..]);
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"];
        for good in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0/MIT",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "MIT AND Apache-2.0",
            "GPL-3.0 OR MIT AND Apache-2.0",
        ] {
            assert!(passes(good, &allowed), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(GPL-3.0 OR LGPL-2.1) AND MIT", "GPL-3.0 OR MIT AND Zlib", "mit"] {
            assert!(!passes(bad, &allowed), "{bad:?}");
        }
    }

    #[test]
    fn the_list_is_read() {
        assert_eq!(allowed("[licenses]\nallow = [\n \"MIT\",\n \"ISC\",\n]\n"), ["MIT", "ISC"]);
        assert!(allowed("").is_empty());
    }
}
