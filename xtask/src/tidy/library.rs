//! The code of a crate that users run: its files without comments, strings and tests.

use super::Report;
use super::tree::File;
use std::collections::BTreeSet;

/// A file of a library or program.
pub struct Module<'a> {
    /// The module's path below that of the folder; nothing for the folder's own.
    pub path: Vec<String>,
    /// The file.
    pub file: &'a File,
    /// Its code, with blanks for everything else; lines stay where they are.
    pub text: String,
}

/// The files in the folder `source`, such as that of a crate's code, which are compiled outside of tests.
pub fn library<'a>(source: &str, files: &'a [File]) -> Vec<Module<'a>> {
    let below = |f: &'a File| Some((f.path.strip_prefix(source)?.strip_prefix('/')?.strip_suffix(".rs")?, f));
    let mut tests = BTreeSet::new();
    let modules: Vec<Module> = files
        .iter()
        .filter_map(below)
        .map(|(path, file)| {
            let path: Vec<String> =
                path.split('/').filter(|part| !["mod", "lib", "main"].contains(part)).map(ToString::to_string).collect();
            let text = without_tests(&blank(&file.text), &mut |name| {
                tests.insert([&path[..], &[name.to_string()]].concat());
            });
            Module { path, file, text }
        })
        .collect();
    modules.into_iter().filter(|m| !(1..=m.path.len()).any(|n| tests.contains(&m.path[..n]))).collect()
}

/// Refuses `unwrap` there: what cannot fail says why, and everything else is an error value.
pub fn check(files: &[File], report: &mut Report) {
    for folder in files.iter().filter_map(|f| f.path.strip_suffix("/Cargo.toml")) {
        for Module { file, text, .. } in library(&format!("{folder}/src"), files) {
            for (number, _) in text.lines().enumerate().filter(|(_, line)| line.contains(".unwrap()")) {
                report.finding(
                    format_args!("{}:{}", file.path, number + 1),
                    "unwraps: give an error, or `expect` with what makes it impossible",
                );
            }
        }
    }
}

/// The name that a text begins with.
pub fn identifier(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())]
}

/// The text without what is compiled for tests alone; `declared` hears of the modules that are declared there.
fn without_tests(text: &str, declared: &mut dyn FnMut(&str)) -> String {
    let (mut kept, mut from) = (String::new(), 0);
    for (at, _) in text.match_indices("#[cfg(test)]").chain(text.match_indices("#[cfg(all(test")) {
        if at < from {
            continue;
        }
        let mut braces = 0;
        let end = text[at..].char_indices().find(|&(_, c)| {
            braces += i32::from(c == '{') - i32::from(c == '}');
            braces == 0 && (c == '}' || c == ';')
        });
        let end = end.map_or(text.len(), |(k, _)| at + k + 1);
        if let Some((_, name)) = text[at..end].rsplit_once("mod ").filter(|_| text[..end].ends_with(';')) {
            declared(identifier(name));
        }
        kept += &text[from..at];
        kept.extend(text[at..end].chars().filter(|c| *c == '\n'));
        from = end;
    }
    kept + &text[from..]
}

/// The text with blanks for comments, strings and characters; lines stay where they are.
fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let word = out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let skipped = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => string(rest),
            'r' if !word && rest[1..].trim_start_matches('#').starts_with('"') => raw_string(rest),
            '\'' => character(rest),
            _ => 0,
        };
        let (piece, next) = rest.split_at(skipped.max(c.len_utf8()));
        match skipped {
            0 => out += piece,
            _ => out.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' })),
        }
        rest = next;
    }
    out
}

/// Bytes of the string that `text` begins with.
fn string(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|&(_, c)| {
        let found = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        found
    });
    end.map_or(text.len(), |(k, _)| k + 1)
}

fn raw_string(text: &str) -> usize {
    let marks = text[1..].len() - text[1..].trim_start_matches('#').len();
    let end = format!("\"{}", "#".repeat(marks));
    let start = 2 + marks;
    text[start..].find(&end).map_or(text.len(), |k| start + k + end.len())
}

/// Bytes of the character that `text` begins with; 0 if that is a lifetime.
fn character(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    match (letters.next(), letters.next()) {
        (Some((_, '\\')), Some((k, c))) => text[k + c.len_utf8()..].find('\'').map_or(0, |end| k + c.len_utf8() + end + 1),
        (Some(_), Some((k, '\''))) => k + 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwrap_is_for_tests() {
        let file = |path: &str, text: &str| File { path: format!("crates/x/{path}"), text: text.into() };
        let findings = |files: &[(&str, &str)]| {
            let mut all = vec![file("Cargo.toml", "")];
            all.extend(files.iter().map(|(path, text)| file(path, text)));
            let mut report = Report::default();
            check(&all, &mut report);
            report.findings.len()
        };
        assert_eq!(findings(&[("src/lib.rs", "fn f() {\n    g().unwrap();\n}\n")]), 1);
        assert_eq!(findings(&[("src/lib.rs", "/// g().unwrap()\nfn f() { g().unwrap_or(1); \".unwrap()\"; }\n")]), 0);
        assert_eq!(findings(&[("src/a.rs", "#[cfg(test)]\nmod tests { fn f() { g().unwrap(); } }\n")]), 0);
        assert_eq!(findings(&[("src/a/mod.rs", "#[cfg(test)]\nmod b;\n"), ("src/a/b.rs", "fn f() { g().unwrap(); }")]), 0);
        assert_eq!(findings(&[("tests/a.rs", "fn f() { g().unwrap(); }")]), 0);
    }
}
