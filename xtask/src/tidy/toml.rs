//! As much of TOML as this workspace's manifests use: tables, and one `key = value` per line.
//!
//! Dotted keys, multi-line arrays and comments are understood; values are kept as text.

/// A manifest as its entries, in order.
pub struct Manifest {
    entries: Vec<Entry>,
}

/// `key = value` in `[table]`, on line `line` (from 1).
pub struct Entry {
    pub table: String,
    pub key: String,
    pub value: String,
    pub line: usize,
}

impl Manifest {
    pub fn parse(text: &str) -> Self {
        let (mut entries, mut table) = (Vec::<Entry>::new(), String::new());
        let mut open = false;
        for (number, line) in text.lines().enumerate() {
            let line = without_comment(line).trim();
            if open {
                if let Some(entry) = entries.last_mut() {
                    entry.value.push_str(line);
                }
                open = !line.ends_with(']');
            } else if line.starts_with('[') {
                table = line.trim_matches(['[', ']']).to_string();
            } else if let Some((key, value)) = line.split_once('=') {
                let (key, value) = (key.trim().to_string(), value.trim().to_string());
                open = value.starts_with('[') && !value.ends_with(']');
                entries.push(Entry { table: table.clone(), key, value, line: number + 1 });
            }
        }
        Self { entries }
    }
    /// The value of `key` in `table`, as it is written, quotes included.
    pub fn get(&self, table: &str, key: &str) -> Option<&str> {
        self.entries.iter().find(|entry| entry.table == table && entry.key == key).map(|entry| entry.value.as_str())
    }
    /// The entries of `table`.
    pub fn table<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(move |entry| entry.table == table)
    }
}

impl Entry {
    /// The dependency that the entry is about: `name.workspace = true` and `name = { .. }` alike.
    pub fn dependency(&self) -> &str {
        self.key.split('.').next().unwrap_or(&self.key)
    }
    /// Whether the entry takes what the workspace says: `name.workspace = true` or `name = { workspace = true, .. }`.
    pub fn is_inherited(&self) -> bool {
        (self.key.ends_with(".workspace") && self.value == "true") || self.value.contains("workspace = true")
    }
}

fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => return &line[..at],
            _ => {}
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found() {
        let m = Manifest::parse(
            "[package]\nname = \"a#b\" # the name\n[dependencies]\nx.workspace = true\ny = { workspace = true, optional = true }\n\
             z = \"1\"\n[features]\nall = [\n  \"x\",\n  \"y\",\n]\nlast = []\n",
        );
        assert_eq!(m.get("package", "name"), Some("\"a#b\""));
        let found: Vec<(&str, bool, usize)> = m.table("dependencies").map(|e| (e.dependency(), e.is_inherited(), e.line)).collect();
        assert_eq!(found, [("x", true, 4), ("y", true, 5), ("z", false, 6)]);
        assert_eq!(m.get("features", "all"), Some("[\"x\",\"y\",]"));
        assert_eq!(m.get("features", "last"), Some("[]"));
    }
}
