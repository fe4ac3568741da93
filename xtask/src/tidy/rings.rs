//! The arrows between the modules of a crate: no two files or folders directly below `src` may need each other, themselves or by way of
//! others.
//!
//! Invariant: an arrow is a path (`crate::..`, or `super::..` that leads to the root) in code that is no comment, string or test. A name that
//! the crate's root takes from a module is that module's; what the root defines itself belongs to none.

use super::Report;
use super::library::{Module, identifier, library};
use super::tree::File;
use std::collections::{BTreeMap, BTreeSet};

/// Rings that stay: the crate's folder, the members, and why.
const ALLOWED: &[(&str, &[&str], &str)] = &[(
    "crates/bitgraph-tensor",
    &["any", "backend", "bits", "dense", "element", "epilogue", "ops"],
    "one recursive definition: a backend's methods take descriptors, descriptors hold handles, and a handle's type names its backend",
)];

/// Places of an arrow that a finding names.
const NAMED: usize = 3;

/// From a module to what it needs, and the lines that say so.
pub type Arrows = BTreeMap<String, BTreeMap<String, Vec<String>>>;

pub fn check(files: &[File], report: &mut Report) {
    let crates = files.iter().filter_map(|f| f.path.strip_suffix("/Cargo.toml"));
    for folder in crates {
        let arrows = arrows(&format!("{folder}/src"), files);
        let rings = rings(&arrows);
        for ring in &rings {
            let stays = |&(of, members, _): &(&str, &[&str], &str)| of == folder && ring.iter().all(|m| members.contains(&m.as_str()));
            if !ALLOWED.iter().any(stays) {
                report.finding(folder, describe(ring, &arrows));
            }
        }
        for (_, members, _) in ALLOWED.iter().filter(|(of, ..)| *of == folder) {
            if !rings.iter().any(|ring| ring.iter().eq(members.iter())) {
                report.finding(folder, format_args!("{} are no ring any more: shorten the list of those that stay", members.join(", ")));
            }
        }
    }
}

fn describe(ring: &[String], arrows: &Arrows) -> String {
    let mut text = format!("modules that need each other: {}", ring.join(", "));
    for (from, to) in ring.iter().flat_map(|from| ring.iter().map(move |to| (from, to))) {
        if let Some(places) = arrows.get(from).and_then(|to_places| to_places.get(to)) {
            let named = places.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = if places.len() > NAMED { format!(" and {} more", places.len() - NAMED) } else { String::new() };
            text += &format!("\n    {from} -> {to}: {named}{more}");
        }
    }
    text
}

/// Sets of modules of which each leads to each other, sorted.
fn rings(arrows: &Arrows) -> Vec<Vec<String>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> = arrows.keys().map(|from| (from.as_str(), reached(arrows, from))).collect();
    let leads = |a: &str, b: &str| reach.get(a).is_some_and(|seen| seen.contains(b));
    let mut rings: Vec<Vec<String>> = Vec::new();
    for from in arrows.keys().filter(|from| leads(from, from)) {
        if !rings.iter().any(|ring| ring.contains(from)) {
            rings.push(arrows.keys().filter(|to| leads(from, to) && leads(to, from)).cloned().collect());
        }
    }
    rings
}

/// The modules that `from` leads to.
fn reached<'a>(arrows: &'a Arrows, from: &'a str) -> BTreeSet<&'a str> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        let next = arrows.get(module).into_iter().flat_map(|to| to.keys());
        open.extend(next.map(String::as_str).filter(|to| seen.insert(*to)));
    }
    seen
}

/// What the modules in the folder `source` need of each other.
pub fn arrows(source: &str, files: &[File]) -> Arrows {
    let modules = library(source, files);
    let mut owners: BTreeMap<String, String> = modules.iter().filter_map(|m| m.path.first()).map(|m| (m.clone(), m.clone())).collect();
    let names: BTreeSet<String> = owners.keys().cloned().collect();
    for Module { path, text, .. } in &modules {
        match path.first() {
            None => root_names(text, &names, &mut owners),
            Some(module) => {
                let macros = text.match_indices("#[macro_export]").filter_map(|(at, _)| text[at..].split_once("macro_rules!"));
                owners.extend(macros.map(|(_, rest)| (identifier(rest.trim_start()).to_string(), module.clone())));
            }
        }
    }
    let mut arrows = Arrows::new();
    for Module { path, file, text } in &modules {
        let Some(from) = path.first() else { continue };
        for (at, name) in root_paths(text, path.len()) {
            if let Some(to) = owners.get(name).filter(|to| *to != from) {
                let line = text[..at].matches('\n').count() + 1;
                arrows.entry(from.clone()).or_default().entry(to.clone()).or_default().push(format!("{}:{line}", file.path));
            }
        }
    }
    arrows
}

/// Enters the names that a root takes from its modules.
fn root_names(text: &str, modules: &BTreeSet<String>, owners: &mut BTreeMap<String, String>) {
    for (_, path) in text.match_indices("use ").filter_map(|(at, _)| text[at + 4..].split_once(';').map(|(path, _)| (at, path))) {
        let path = path.trim_start_matches("crate::").trim_start_matches("self::");
        let Some((module, names)) = path.split_once("::").filter(|(module, _)| modules.contains(*module)) else { continue };
        for name in names.trim_matches(['{', '}']).split(',') {
            let name = name.rsplit([' ', ':']).find(|part| !part.is_empty());
            owners.extend(name.filter(|name| !modules.contains(*name)).map(|name| (name.trim().to_string(), module.to_string())));
        }
    }
}

/// The first names of paths from the crate's root, and where they are, in a module so many levels below it.
fn root_paths(text: &str, depth: usize) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (at, start) in text.match_indices("crate::").chain(text.match_indices("super::")) {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || "_$:".contains(c)) {
            continue;
        }
        let (mut path, mut levels) = (&text[at + start.len()..], if start == "crate::" { depth } else { 1 });
        while let Some(rest) = path.strip_prefix("super::") {
            (path, levels) = (rest, levels + 1);
        }
        if levels != depth {
            continue;
        }
        let offset = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
        let Some(list) = path.strip_prefix('{') else {
            found.push((at, identifier(path)));
            continue;
        };
        let (mut braces, mut expected) = (0, true);
        for (k, c) in list.char_indices() {
            match c {
                '{' => braces += 1,
                '}' if braces == 0 => break,
                '}' => braces -= 1,
                ',' if braces == 0 => expected = true,
                _ if expected && !c.is_whitespace() => {
                    found.push((offset(&list[k..]), identifier(&list[k..])));
                    expected = false;
                }
                _ => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings about a crate of these files.
    fn findings(sources: &[(&str, &str)]) -> Vec<String> {
        let file = |path: &str, text: &str| File { path: format!("crates/x/{path}"), text: text.into() };
        let mut files = vec![file("Cargo.toml", "")];
        files.extend(sources.iter().map(|(path, text)| file(&format!("src/{path}"), text)));
        let mut report = Report::default();
        check(&files, &mut report);
        report.findings
    }

    #[test]
    fn a_ring_is_found_with_its_lines() {
        let found = findings(&[
            ("lib.rs", "mod a; mod b; mod c;\npub use c::{Third as Other, Fourth};\n"),
            ("a.rs", "//! What.\nuse crate::b::{B};\n"),
            ("b/mod.rs", "mod d;\n"),
            ("b/d.rs", "\nuse super::super::{Other, std};\n"),
            ("c.rs", "fn f() -> crate::a::A { loop {} }\n"),
        ]);
        let text = "crates/x: modules that need each other: a, b, c\n    a -> b: crates/x/src/a.rs:2\n    b -> c: crates/x/src/b/d.rs:2\n    \
                    c -> a: crates/x/src/c.rs:1";
        assert_eq!(found, [text]);
    }

    #[test]
    fn what_makes_no_arrow() {
        for text in [
            "// use crate::a;",
            "/* crate::a */ const S: &str = \"crate::a \\\" crate::a\"; const R: &str = r#\"\" crate::a\"#;",
            "const C: char = '\"'; fn f<'a>() {} // crate::a \"",
            "#[cfg(test)]\nmod tests { use crate::a::A; fn f() {} }",
            "#[cfg(all(test, unix))]\nuse crate::a;",
            "macro_rules! m { () => { $crate::a } }",
            "mod inner;",
        ] {
            let files = [("lib.rs", ""), ("a.rs", "use crate::b;"), ("b.rs", text), ("b/inner.rs", "use super::Own;")];
            assert_eq!(findings(&files), [""; 0], "{text}");
        }
        let checks = [("a.rs", "use crate::b;"), ("b.rs", "#[cfg(test)]\nmod checks;"), ("b/checks.rs", "use crate::a;")];
        assert_eq!(findings(&checks), [""; 0]);
    }

    #[test]
    fn an_exported_macro_is_its_modules() {
        let b = "#[macro_export]\nmacro_rules! all { () => {} }\nuse crate::a::A;";
        assert_eq!(findings(&[("lib.rs", ""), ("a.rs", "crate::all!();"), ("b.rs", b)]).len(), 1);
    }
}
