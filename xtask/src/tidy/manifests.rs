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
    ("bitgraph-bittensor", &["bitgraph-sparse"]),
    ("bitgraph-io", &["bitgraph-sparse"]),
    ("bitgraph-generate", &["bitgraph-sparse"]),
    ("bitgraph-backend", &["bitgraph-sparse", "bitgraph-b2sr"]),
    ("bitgraph-tensor", &["bitgraph-backend", "bitgraph-bittensor", "bitgraph-frdc", "bitgraph-sgt"]),
    ("bitgraph-cpu", &["bitgraph-algorithms", "bitgraph-tensor"]),
    ("bitgraph-cuda", &["bitgraph-algorithms", "bitgraph-tensor", "bitgraph-kernels"]),
    ("bitgraph-measure", &["bitgraph-cuda"]),
    ("bitgraph-algorithms", &["bitgraph-backend"]),
    ("bitgraph-gnn", &["bitgraph-tensor", "bitgraph-io", "bitgraph-generate"]),
    ("bitgraph-kernels", &[]),
    ("xtask", &["bitgraph-kernels"]),
];

/// Crates above the libraries, which may depend on any of them.
const FREE: &[&str] =
    &["bitgraph", "bitgraph-cli", "bitgraph-testkit", "bitgraph-verify", "bitgraph-benches", "bitgraph-examples", "bitgraph-fuzz"];

/// Packages that few crates may name: the bindings to the vendor's driver, and to its libraries as peers.
const CONFINED: &[(&str, &[&str])] = &[("cudarc", &["bitgraph-cuda", "bitgraph-measure"])];

/// What every crate takes from the workspace, so that it stands in one place.
const INHERITED: &[&str] = &["version", "edition", "rust-version", "license", "repository", "categories", "keywords"];

/// Lines of a crate's front page at most.
const MOST_PAGE_LINES: usize = 60;

pub fn check(files: &[File], report: &mut Report) {
    let members: Vec<(&str, Manifest)> =
        files.iter().filter_map(|file| Some((file.path.strip_suffix("/Cargo.toml")?, Manifest::parse(&file.text)))).collect();
    let unpublished = unpublished(files);
    for (folder, manifest) in &members {
        member(&format!("{folder}/Cargo.toml"), manifest, report);
        if is_published(manifest) {
            published(folder, manifest, files, &unpublished, report);
        }
    }
    match files.iter().find(|file| file.path == "Cargo.toml") {
        Some(file) => workspace(&Manifest::parse(&file.text), &unpublished, report),
        None => report.finding("Cargo.toml", "is missing"),
    }
}

/// The names of the crates that are not published.
pub fn unpublished(files: &[File]) -> Vec<String> {
    let manifests = files.iter().filter(|file| file.path.ends_with("/Cargo.toml")).map(|file| Manifest::parse(&file.text));
    manifests.filter(|m| !is_published(m)).map(|m| name(&m).to_string()).collect()
}

fn name(manifest: &Manifest) -> &str {
    manifest.get("package", "name").unwrap_or_default().trim_matches('"')
}

fn is_published(manifest: &Manifest) -> bool {
    manifest.get("package", "publish") != Some("false")
}

/// A crate of ours has the workspace's version, unless it is not published: packaging then leaves it out of what its users' tests need.
fn workspace(manifest: &Manifest, unpublished: &[String], report: &mut Report) {
    let version = manifest.get("workspace.package", "version").unwrap_or_default();
    for entry in manifest.table("workspace.dependencies").filter(|entry| entry.value.contains("path =")) {
        let place = format!("Cargo.toml:{}", entry.line);
        if unpublished.contains(&entry.key) {
            if entry.value.contains("version =") {
                report.finding(place, format!("{} is not published: it must have no version here", entry.key));
            }
        } else if !entry.value.contains(&format!("version = {version}")) {
            report.finding(place, format!("{} is not of the workspace's version {version}", entry.key));
        }
    }
}

/// A published crate has a front page, and needs no crate that is not published.
fn published(folder: &str, manifest: &Manifest, files: &[File], unpublished: &[String], report: &mut Report) {
    let page = format!("{folder}/README.md");
    match files.iter().find(|file| file.path == page) {
        None => report.finding(folder, "has no README.md, its front page"),
        Some(file) if file.text.lines().count() > MOST_PAGE_LINES => {
            report.finding(&page, format!("{} lines; at most {MOST_PAGE_LINES}", file.text.lines().count()));
        }
        Some(_) => {}
    }
    for table in ["dependencies", "build-dependencies"] {
        for entry in manifest.table(table).filter(|entry| unpublished.iter().any(|name| name == entry.dependency())) {
            report.finding(format!("{folder}/Cargo.toml:{}", entry.line), format!("{} is not published", entry.dependency()));
        }
    }
}

fn member(path: &str, manifest: &Manifest, report: &mut Report) {
    let name = name(manifest);
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

    #[test]
    fn what_is_published_can_be() {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let findings = |version: &str, table: &str, page: &str| {
            let workspace =
                format!("[workspace.package]\nversion = \"1.0.0\"\n[workspace.dependencies]\nkit = {{ path = \"kit\"{version} }}\n");
            let crates = [
                file("Cargo.toml", &workspace),
                file("kit/Cargo.toml", "[package]\nname = \"kit\"\npublish = false\n"),
                file("a/Cargo.toml", &format!("[package]\nname = \"a\"\n[{table}]\nkit.workspace = true\n")),
                file(page, "# a\n"),
            ];
            let mut report = Report::default();
            check(&crates, &mut report);
            report.findings.iter().filter(|f| f.contains("publish") || f.contains("README")).count()
        };
        assert_eq!(findings("", "dev-dependencies", "a/README.md"), 0);
        assert_eq!(findings("", "dependencies", "a/README.md"), 1);
        assert_eq!(findings(", version = \"1.0.0\"", "dev-dependencies", "a/README.md"), 1);
        assert_eq!(findings("", "dev-dependencies", "b/README.md"), 1);
    }
}
