//! Reads the structs that the CUDA sources declare, where their fields lie, and whole numbers that have a name.
//!
//! Invariant: only what is certain is given: scalars, vectors of scalars, pointers, arrays of a written length, and structs of these. Fields
//! lie as on every platform that CUDA supports: each at the next multiple of its alignment.

use std::collections::BTreeMap;

/// A struct, its fields as (name, offset, bytes).
#[derive(Clone, Debug, PartialEq)]
pub struct Struct {
    pub file: String,
    pub name: String,
    pub argument: String,
    pub bytes: usize,
    pub alignment: usize,
    pub fields: Vec<(String, usize, usize)>,
}

/// Types by their names, as (bytes, alignment).
const SCALARS: &[(&str, usize, usize)] = &[
    ("u8", 1, 1),
    ("i8", 1, 1),
    ("bool", 1, 1),
    ("u16", 2, 2),
    ("i16", 2, 2),
    ("u32", 4, 4),
    ("i32", 4, 4),
    ("f32", 4, 4),
    ("u64", 8, 8),
    ("i64", 8, 8),
    ("f64", 8, 8),
    ("uint2", 8, 8),
    ("int2", 8, 8),
    ("float2", 8, 8),
    ("uint4", 16, 16),
    ("int4", 16, 16),
    ("float4", 16, 16),
    ("double2", 16, 16),
    ("ulonglong2", 16, 16),
];

/// All structs of `sources`, given as (path, text).
pub fn structs(sources: &[(String, String)]) -> Vec<Struct> {
    let mut found: Vec<Struct> = Vec::new();
    let mut open: Vec<Declaration> = sources.iter().flat_map(|(file, text)| declarations(file, text)).collect();
    // A struct may hold one that is declared in a file that comes later.
    loop {
        let before = open.len();
        open.retain(|d| match lay_out(d, &found) {
            Some(s) => {
                found.push(s);
                false
            }
            None => true,
        });
        if open.len() == before {
            break;
        }
    }
    for s in &mut found {
        // A template needs a type to be asserted with; any that it is used with will do.
        if s.argument == "?" {
            let used = |text: &str| {
                let opening = format!("{}<", short(&s.name));
                let arguments = text.match_indices(&opening).filter_map(|(at, _)| text[at + opening.len()..].split('>').next());
                arguments.filter(|a| SCALARS.iter().any(|k| k.0 == *a)).map(String::from).next()
            };
            s.argument = sources.iter().filter(|(f, _)| *f == s.file).find_map(|(_, t)| used(t)).unwrap_or_default();
            s.bytes *= usize::from(!s.argument.is_empty());
        }
    }
    found.retain(|s| s.bytes > 0);
    found.sort_by(|a, b| a.file.cmp(&b.file));
    found
}

fn short(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

struct Declaration {
    file: String,
    name: String,
    template: bool,
    alignment: usize,
    body: String,
}

/// Every `struct NAME {` outside of functions, with its namespaces.
fn declarations(file: &str, text: &str) -> Vec<Declaration> {
    let text: String =
        text.lines().filter(|l| !l.trim_start().starts_with('#')).map(|l| l.split("//").next().unwrap_or("").to_string() + "\n").collect();
    let mut found = Vec::new();
    // What each open brace belongs to: a namespace's name, or nothing.
    let mut scopes: Vec<Option<String>> = Vec::new();
    let mut head = String::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        at += c.len_utf8();
        match c {
            '{' => {
                let words: Vec<&str> = head.split_whitespace().collect();
                let outside = scopes.iter().all(Option::is_some);
                if let Some(("namespace", rest)) = words.split_first().map(|(w, r)| (*w, r)) {
                    scopes.push(Some(rest.first().map_or_else(String::new, |n| (*n).to_string())));
                } else if let Some(end) = words.iter().position(|w| *w == "struct").filter(|_| outside) {
                    let close = closing(&text, at);
                    // Specialisations and derived structs are not records.
                    if let Some((name, alignment)) = named(&words[end + 1..]) {
                        let spaces = scopes.iter().flatten().filter(|s| !s.is_empty()).map(|s| format!("{s}::"));
                        found.push(Declaration {
                            file: file.to_string(),
                            name: spaces.collect::<String>() + &name,
                            template: end > 0,
                            alignment,
                            body: text[at..close].to_string(),
                        });
                    }
                    at = close + 1;
                } else {
                    scopes.push(None);
                }
                head.clear();
            }
            '}' => {
                scopes.pop();
                head.clear();
            }
            ';' => head.clear(),
            _ => head.push(c),
        }
    }
    found
}

/// `NAME` or `__align__(N) NAME`.
fn named(words: &[&str]) -> Option<(String, usize)> {
    let (name, alignment) = match words {
        [name] => (*name, 1),
        [attribute, name] => (*name, attribute.strip_prefix("__align__(")?.strip_suffix(')')?.parse().ok()?),
        _ => return None,
    };
    name.chars().all(|c| c.is_alphanumeric() || c == '_').then(|| (name.to_string(), alignment))
}

/// Where the brace that was opened before `from` closes.
fn closing(text: &str, from: usize) -> usize {
    let mut depth = 1;
    for (i, c) in text[from..].char_indices() {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        if depth == 0 {
            return from + i;
        }
    }
    text.len()
}

fn lay_out(declaration: &Declaration, known: &[Struct]) -> Option<Struct> {
    let (mut fields, mut end, mut alignment) = (Vec::new(), 0usize, declaration.alignment);
    for statement in statements(&declaration.body) {
        let (kind, declarators) = split_type(&statement)?;
        for declarator in declarators.split(',').map(str::trim) {
            let pointer = declarator.starts_with('*') || kind.ends_with('*');
            let (bytes, needed) = if pointer { (8, 8) } else { size_of(kind, declaration, known)? };
            let (name, count) = match declarator.trim_start_matches(['*', ' ']).split_once('[') {
                Some((name, length)) => (name, length.trim_end_matches(']').parse::<usize>().ok()?),
                None => (declarator.trim_start_matches(['*', ' ']), 1),
            };
            end = end.next_multiple_of(needed);
            fields.push((name.to_string(), end, bytes * count));
            end += bytes * count;
            alignment = alignment.max(needed);
        }
    }
    let argument = if declaration.template { "?" } else { "" }.to_string();
    let bytes = end.next_multiple_of(alignment);
    let (file, name) = (declaration.file.clone(), declaration.name.clone());
    (!fields.is_empty()).then_some(Struct { file, name, argument, bytes, alignment, fields })
}

/// The statements of a struct's body that declare fields.
fn statements(body: &str) -> Vec<String> {
    let (mut found, mut current, mut at) = (Vec::new(), String::new(), 0);
    while let Some(c) = body[at..].chars().next() {
        at += c.len_utf8();
        match c {
            // A function's.
            '{' => {
                at = closing(body, at) + 1;
                current.clear();
            }
            ';' => {
                let words = current.split_whitespace().collect::<Vec<_>>().join(" ");
                let other = ["static ", "typedef ", "using ", "constexpr "].iter().any(|w| words.starts_with(w));
                if !words.is_empty() && !words.contains('(') && !other {
                    found.push(words);
                }
                current.clear();
            }
            _ => current.push(c),
        }
    }
    found
}

/// `const u32* a` is `u32*` and `a`; `u32 a, b` is `u32` and `a, b`.
fn split_type(statement: &str) -> Option<(&str, &str)> {
    let statement = statement.strip_prefix("const ").unwrap_or(statement);
    let (kind, rest) = statement.split_once(' ')?;
    Some((kind, rest.strip_prefix("__restrict__ ").unwrap_or(rest)))
}

fn size_of(kind: &str, user: &Declaration, known: &[Struct]) -> Option<(usize, usize)> {
    if let Some(&(_, bytes, alignment)) = SCALARS.iter().find(|s| s.0 == kind) {
        return Some((bytes, alignment));
    }
    // The nearest of that name: in the same file, else the only one.
    let named = |s: &&Struct| short(&s.name) == short(kind) && s.argument.is_empty();
    let all: BTreeMap<bool, Vec<&Struct>> = known.iter().filter(named).fold(BTreeMap::new(), |mut m, s| {
        m.entry(s.file != user.file).or_insert_with(Vec::new).push(s);
        m
    });
    match all.values().next()?.as_slice() {
        [one] => Some((one.bytes, one.alignment)),
        _ => None,
    }
}

/// Every `constexpr` whole number of a file or a namespace that is written out, as (file, name, value).
pub fn constants(sources: &[(String, String)]) -> Vec<(String, String, u64)> {
    let mut found = Vec::new();
    for (file, text) in sources {
        // What belongs to a function is indented.
        for list in text.lines().filter_map(|l| l.strip_prefix("constexpr u")?.split_once(' ')?.1.split(';').next()) {
            for (name, value) in list.split(',').filter_map(|one| one.split_once('=')) {
                found.extend(number(value.trim()).map(|value| (file.clone(), name.trim().to_string(), value)));
            }
        }
    }
    found
}

fn number(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['u', 'l']);
    match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    }
}
