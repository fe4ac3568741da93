//! Rules for the crates: the arrows between them, complete manifests, and every version in one place.

use super::Report;
use super::toml::Manifest;
use super::tree::File;

/// Which libraries a library may depend on, itself or through another of the list. There are no other arrows. A dependency of
/// tests alone is free.
const ARROWS: &[(&str, &[&str])] = &[
    ("bitgraph-semiring", &[]),
    ("bitgraph-sparse", &["bitgraph-semiring"]),
    ("bitgraph-b2sr", &["bitgraph-sparse"]),
    ("bitgraph-frdc", &["bitgraph-b2sr"]),
    ("bitgraph-sgt", &["bitgraph-sparse"]),
    ("bitgraph-bittensor", &["bitgraph-semiring"]),
    ("bitgraph-io", &["bitgraph-sparse"]),
    ("bitgraph-generate", &["bitgraph-sparse"]),
    ("bitgraph-backend", &["bitgraph-sparse", "bitgraph-b2sr"]),
    ("bitgraph-cpu", &["bitgraph-algorithms"]),
    ("bitgraph-cuda", &["bitgraph-algorithms", "bitgraph-kernels"]),
    ("bitgraph-measure", &["bitgraph-cuda"]),
    ("bitgraph-algorithms", &["bitgraph-backend"]),
    ("bitgraph-gnn", &["bitgraph-backend", "bitgraph-algorithms"]),
    ("bitgraph-kernels", &[]),
    ("xtask", &["bitgraph-kernels"]),
];

/// Crates above the libraries, which may depend on any of them.
const FREE: &[&str] =
    &["bitgraph", "bitgraph-cli", "bitgraph-testkit", "bitgraph-verify", "bitgraph-benches", "bitgraph-examples", "bitgraph-fuzz"];

/// Packages that few crates may name: the bindings to the vendor's driver, and to its libraries as peers.
const CONFINED: &[(&str, &[&str])] = &[("cudarc", &["bitgraph-cuda", "bitgraph-measure"])];

/// What every crate takes from the workspace, so that it stands in one place.
const INHERITED: &[&str] = &["version", "edition", "rust-version", "license", "repository"];

pub fn check(files: &[File], report: &mut Report) {
    for file in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        member(&file.path, &Manifest::parse(&file.text), report);
    }
    match files.iter().find(|file| file.path == "Cargo.toml") {
        Some(file) => workspace(&Manifest::parse(&file.text), report),
        None => report.finding("Cargo.toml", "is missing"),
    }
}

fn workspace(manifest: &Manifest, report: &mut Report) {
    let version = manifest.get("workspace.package", "version").unwrap_or_default();
    for entry in manifest.table("workspace.dependencies").filter(|entry| entry.value.contains("path =")) {
        if !entry.value.contains(&format!("version = {version}")) {
            report.finding(format!("Cargo.toml:{}", entry.line), format!("{} is not of the workspace's version {version}", entry.key));
        }
    }
}

fn member(path: &str, manifest: &Manifest, report: &mut Report) {
    let name = manifest.get("package", "name").unwrap_or_default().trim_matches('"');
    if manifest.get("package", "description").is_none_or(|text| text.len() < 4) {
        report.finding(path, "has no description");
    }
    for key in INHERITED {
        if manifest.get("package", &format!("{key}.workspace")) != Some("true") {
            report.finding(path, format!("does not take `{key}` from the workspace"));
        }
    }
    if manifest.get("lints", "workspace") != Some("true") {
        report.finding(path, "does not take the lints of the workspace");
    }
    for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
        for entry in manifest.table(table) {
            let (place, dependency) = (format!("{path}:{}", entry.line), entry.dependency());
            if !entry.is_inherited() {
                report.finding(&place, format!("the version of {dependency} belongs into the workspace's manifest"));
            }
            if CONFINED.iter().any(|(package, homes)| *package == dependency && !homes.contains(&name)) {
                report.finding(&place, format!("{dependency} is not for {name}"));
            }
            if table != "dev-dependencies" && is_ours(dependency) && !may_depend(name, dependency) {
                report.finding(&place, format!("{name} must not depend on {dependency}"));
            }
        }
    }
    if !is_ours(name) {
        report.finding(path, format!("the crate {name} is not in tidy's list of arrows"));
    }
}

fn is_ours(name: &str) -> bool {
    FREE.contains(&name) || ARROWS.iter().any(|(from, _)| *from == name)
}

fn may_depend(from: &str, to: &str) -> bool {
    if FREE.contains(&from) {
        return true;
    }
    let direct = ARROWS.iter().find(|(name, _)| *name == from).map_or(&[][..], |(_, to)| to);
    direct.iter().any(|next| *next == to || may_depend(next, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_are_followed() {
        assert!(may_depend("bitgraph-cpu", "bitgraph-backend"));
        assert!(may_depend("bitgraph-cpu", "bitgraph-semiring"));
        assert!(!may_depend("bitgraph-backend", "bitgraph-cpu"));
        assert!(!may_depend("bitgraph-algorithms", "bitgraph-cpu"));
        assert!(!may_depend("bitgraph-b2sr", "bitgraph-io"));
        assert!(may_depend("bitgraph-cli", "bitgraph"));
    }

    fn findings(dependencies: &str) -> Vec<String> {
        let inherited: String = INHERITED.iter().map(|key| format!("{key}.workspace = true\n")).collect();
        let text = format!(
            "[package]\nname = \"bitgraph-b2sr\"\ndescription = \"Tiles\"\n{inherited}[lints]\nworkspace = true\n\
             [dependencies]\n{dependencies}"
        );
        let mut report = Report::default();
        member("crates/bitgraph-b2sr/Cargo.toml", &Manifest::parse(&text), &mut report);
        report.findings
    }

    #[test]
    fn manifests_are_held_to_the_rules() {
        assert!(findings("bitgraph-sparse.workspace = true\nrayon = { workspace = true }\n").is_empty());
        assert_eq!(findings("bitgraph-cpu.workspace = true\n").len(), 1);
        assert_eq!(findings("rayon = \"1\"\n").len(), 1);
        assert_eq!(findings("cudarc.workspace = true\n").len(), 1);
        let mut report = Report::default();
        member("crates/x/Cargo.toml", &Manifest::parse("[package]\nname = \"x\"\n"), &mut report);
        assert_eq!(report.findings.len(), INHERITED.len() + 3);
    }
}
