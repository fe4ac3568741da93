//! What kernels and the host share: structs, with where their fields lie, and named numbers, read off the CUDA sources when this crate is built.
//!
//! # Invariants
//! The C++ declaration is the one source. The host's side is held against it while it is compiled (see [`Struct::agrees`]), and every
//! compiler that a kernel goes through ahead of time is asked to confirm the offsets read here ([`assertions`]). A struct whose fields
//! cannot all be read is left out: whoever asks for it does not compile.

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: &'static str,
    /// Bytes from the start of the struct.
    pub offset: usize,
    /// Bytes that it takes.
    pub bytes: usize,
}

/// A struct of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Struct {
    /// The source that declares it.
    pub file: &'static str,
    /// The name, with namespaces.
    pub name: &'static str,
    /// A type to put in the place of a template's parameter; empty for a struct that is none.
    pub argument: &'static str,
    /// Bytes that it takes.
    pub bytes: usize,
    /// In order.
    pub fields: &'static [Field],
}

/// The structs of all sources, by file, then in order.
pub static STRUCTS: &[Struct] = include!(concat!(env!("OUT_DIR"), "/structs.rs"));

impl Struct {
    /// The struct of a source, by its name with namespaces. Stops the compilation that it is called in if there is none.
    #[must_use]
    pub const fn find(file: &str, name: &str) -> &'static Self {
        let mut i = 0;
        while i < STRUCTS.len() {
            if same(STRUCTS[i].file, file) && same(STRUCTS[i].name, name) {
                return &STRUCTS[i];
            }
            i += 1;
        }
        panic!("the kernels declare no such struct there, or one with a field of unknown size")
    }
    /// Whether a struct of so many bytes with fields of these names, offsets and sizes, in order, is laid out as this one.
    #[must_use]
    pub const fn agrees(&self, bytes: usize, fields: &[(&str, usize, usize)]) -> bool {
        if self.bytes != bytes || self.fields.len() != fields.len() {
            return false;
        }
        let mut i = 0;
        while i < fields.len() {
            let (own, (name, offset, size)) = (&self.fields[i], fields[i]);
            if !same(own.name, name) || own.offset != offset || own.bytes != size {
                return false;
            }
            i += 1;
        }
        true
    }
    /// The name without namespaces.
    #[must_use]
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit("::").next().unwrap_or(self.name)
    }
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Named whole numbers of the sources: file, name, value.
static CONSTANTS: &[(&str, &str, u64)] = include!(concat!(env!("OUT_DIR"), "/constants.rs"));

/// A number that a source gives a name to, as `constexpr` of a file or a namespace. Stops the compilation that it is called in if there is none.
#[must_use]
pub const fn constant(file: &str, name: &str) -> u64 {
    let mut i = 0;
    while i < CONSTANTS.len() {
        if same(CONSTANTS[i].0, file) && same(CONSTANTS[i].1, name) {
            return CONSTANTS[i].2;
        }
        i += 1;
    }
    panic!("the kernels name no such number there")
}

/// A C++ text that compiles where the compiler lays the structs of these sources out as [`STRUCTS`] says; it goes after their text.
#[must_use]
pub fn assertions(files: &[&str]) -> String {
    let mut text = String::new();
    for s in STRUCTS.iter().filter(|s| files.contains(&s.file)) {
        let name = if s.argument.is_empty() { s.name.to_string() } else { format!("{}<{}>", s.name, s.argument) };
        text += &format!("static_assert(sizeof({name}) == {}, \"{name}\");\n", s.bytes);
        for f in s.fields {
            text += &format!("static_assert(__builtin_offsetof({name}, {}) == {}, \"{name}.{}\");\n", f.name, f.offset, f.name);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: &Struct = Struct::find("common/grid.cuh", "bg::GridState");

    #[test]
    fn a_swapped_renamed_or_missing_field_is_found() {
        let fields: Vec<(&str, usize, usize)> = GRID.fields.iter().map(|f| (f.name, f.offset, f.bytes)).collect();
        assert!(GRID.agrees(GRID.bytes, &fields));
        for i in 1..fields.len() {
            let mut swapped = fields.clone();
            (swapped[i - 1].0, swapped[i].0) = (fields[i].0, fields[i - 1].0);
            assert!(!GRID.agrees(GRID.bytes, &swapped), "{} and {}", fields[i - 1].0, fields[i].0);
        }
        assert!(!GRID.agrees(GRID.bytes, &fields[1..]) && !GRID.agrees(GRID.bytes + 8, &fields));
    }

    #[test]
    fn numbers_are_read() {
        let parts = (constant("tuning/tc.cuh", "DEEP"), constant("graph/sssp.cuh", "GAVE_UP"), constant("tuning/bfs.cuh", "SLICES_POLL"));
        assert_eq!(parts, (2, 1 << 31, 16));
        let twice = |c: &&(&str, &str, u64)| CONSTANTS.iter().filter(|o| (o.0, o.1) == (c.0, c.1)).count() > 1;
        assert_eq!(CONSTANTS.iter().find(twice), None);
    }

    #[test]
    fn names_tell_structs_apart() {
        let here = |s: &&Struct| STRUCTS.iter().filter(|o| (o.file, o.name) == (s.file, s.name)).count() == 1;
        assert!(STRUCTS.len() > 100 && STRUCTS.iter().all(|s| here(&s)));
        assert!(assertions(&["common/grid.cuh"]).contains("__builtin_offsetof(bg::HostLink, progress) == 8"));
    }
}
