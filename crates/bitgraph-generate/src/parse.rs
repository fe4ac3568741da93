//! The text form of generators.

use crate::{Error, Generator, Result};
use std::str::FromStr;

/// Every generator: its name and the form of its text.
const FORMS: [(&str, &str); 8] = [
    ("kron", "kron:SCALE[:EDGEFACTOR[:SEED]][@SEED]"),
    ("urand", "urand:N[:EDGEFACTOR[:SEED]][@SEED]"),
    ("grid", "grid:ROWSxCOLUMNS[@SEED]"),
    ("mesh", "mesh:XxYxZ[@SEED]"),
    ("mycielskian", "mycielskian:K[@SEED]"),
    ("debruijn", "debruijn:K[@SEED]"),
    ("skew", "skew:N:EDGES[:SEED][@SEED]"),
    ("planted", "planted:N:COMMUNITIES:DEGREE[:SEED][@SEED]"),
];

impl Generator {
    /// Whether `text` starts with a generator's name and a colon, so that it names a generator and not a file.
    #[must_use]
    pub fn is_generator_prefix(text: &str) -> bool {
        text.split_once(':').is_some_and(|(name, _)| FORMS.iter().any(|(known, _)| *known == name))
    }
    /// Every generator's name and the form of its text.
    pub fn forms() -> impl Iterator<Item = (&'static str, &'static str)> {
        FORMS.into_iter()
    }
}

/// The fields of one text, for errors that quote it.
struct Fields<'a> {
    text: &'a str,
    form: &'static str,
    fields: Vec<&'a str>,
}

impl Fields<'_> {
    fn wrong_form(&self) -> Error {
        Error::Form { text: self.text.into(), form: self.form }
    }
    /// Checks the number of fields.
    fn expect(&self, smallest: usize, most: usize) -> Result<()> {
        if (smallest..=most).contains(&self.fields.len()) { Ok(()) } else { Err(self.wrong_form()) }
    }
    fn number(&self, found: &str, parameter: &'static str) -> Result<u64> {
        // A sign is refused: parse accepts a leading plus.
        let digits = !found.is_empty() && found.bytes().all(|b| b.is_ascii_digit());
        let number = if digits { found.parse().ok() } else { None };
        number.ok_or_else(|| Error::Number { text: self.text.into(), parameter, found: found.into() })
    }
    fn field(&self, i: usize, parameter: &'static str) -> Result<u64> {
        self.number(self.fields[i], parameter)
    }
    fn field_or(&self, i: usize, parameter: &'static str, default: u64) -> Result<u64> {
        if i < self.fields.len() { self.field(i, parameter) } else { Ok(default) }
    }
    /// A field of `N` numbers with an `x` between them.
    fn product<const N: usize>(&self, parameters: [&'static str; N]) -> Result<[u64; N]> {
        self.expect(1, 1)?;
        let parts: Vec<&str> = self.fields[0].split('x').collect();
        if parts.len() != N {
            return Err(self.wrong_form());
        }
        let mut numbers = [0; N];
        for (i, parameter) in parameters.into_iter().enumerate() {
            numbers[i] = self.number(parts[i], parameter)?;
        }
        Ok(numbers)
    }
}

/// A 32-bit parameter: larger ones are refused by the generator's own limit, with the largest value as a stand-in.
fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

impl FromStr for Generator {
    type Err = Error;

    /// Reads the text of the command line. Sizes are checked too, so that a parsed generator fails for want of memory only.
    fn from_str(text: &str) -> Result<Self> {
        let unknown = || Error::Unknown { text: text.into() };
        let (name, rest) = text.split_once(':').ok_or_else(unknown)?;
        let &(_, form) = FORMS.iter().find(|(known, _)| *known == name).ok_or_else(unknown)?;
        let (body, renumber) = match rest.split_once('@') {
            Some((body, seed)) => (body, Some(seed)),
            None => (rest, None),
        };
        let f = Fields { text, form, fields: body.split(':').collect() };
        let (factor, seed) = (Self::DEFAULT_EDGE_FACTOR, Self::DEFAULT_SEED);
        let base = match name {
            "kron" | "urand" => {
                f.expect(1, 3)?;
                let size = f.field(0, if name == "kron" { "SCALE" } else { "N" })?;
                let edge_factor = f.field_or(1, "EDGEFACTOR", factor)?;
                let seed = f.field_or(2, "SEED", seed)?;
                if name == "kron" { Self::Kron { scale: narrow(size), edge_factor, seed } } else { Self::Urand { size, edge_factor, seed } }
            }
            "grid" => {
                let [rows, columns] = f.product(["ROWS", "COLUMNS"])?;
                Self::Grid { rows, columns }
            }
            "mesh" => Self::Mesh { size: f.product(["X", "Y", "Z"])? },
            "mycielskian" | "debruijn" => {
                f.expect(1, 1)?;
                let k = narrow(f.field(0, "K")?);
                if name == "debruijn" { Self::DeBruijn { bits: k } } else { Self::Mycielskian { order: k } }
            }
            "skew" => {
                f.expect(2, 3)?;
                Self::Skew { nodes: f.field(0, "N")?, edges: f.field(1, "EDGES")?, seed: f.field_or(2, "SEED", seed)? }
            }
            _ => {
                f.expect(3, 4)?;
                let (nodes, communities) = (f.field(0, "N")?, f.field(1, "COMMUNITIES")?);
                Self::Planted { nodes, communities, degree: f.field(2, "DEGREE")?, seed: f.field_or(3, "SEED", seed)? }
            }
        };
        base.size()?;
        match renumber {
            Some(seed) => Ok(Self::Renumbered { seed: f.number(seed, "the renumbering's SEED")?, base: Box::new(base) }),
            None => Ok(base),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        for text in [
            "kron:18",
            "kron:18:8",
            "kron:18:16:7",
            "urand:18",
            "urand:100000:4:2",
            "grid:1000x1000@1",
            "mesh:50x50x80",
            "mycielskian:14@99",
            "debruijn:10",
            "skew:1000:20000",
            "skew:1000:20000:5@6",
            "planted:1000:10:12",
            "planted:1000:10:12:3",
        ] {
            assert!(Generator::is_generator_prefix(text));
            assert_eq!(text.parse::<Generator>().unwrap().to_string(), text);
        }
        assert_eq!("kron:5:16:1".parse::<Generator>().unwrap().to_string(), "kron:5");
        for text in ["./kron:18", "kron", "graph.mtx", "c:kron:3", "Kron:3", ""] {
            assert!(!Generator::is_generator_prefix(text), "{text}");
        }
    }

    #[test]
    fn one_sentence_for_every_mistake() {
        for (text, words) in [
            ("kron", "'kron' is no generator"),
            ("foo:3", "'foo:3' is no generator"),
            ("kron:", "SCALE is ''"),
            ("kron:x", "SCALE is 'x'"),
            ("kron:-3", "SCALE is '-3'"),
            ("kron:+3", "SCALE is '+3'"),
            ("kron:1:2:3:4", "form kron:SCALE"),
            ("kron:99999999999999999999999", "not a whole number of at most 64 bits"),
            ("kron:32", "4294967296 vertices"),
            ("kron:4000000000", "at most 4294967295"),
            ("kron:31:99999999999", "edges"),
            ("urand:63", "9223372036854775808 vertices"),
            ("urand:4294967296", "4294967296 vertices"),
            ("grid:10", "form grid:ROWSxCOLUMNS"),
            ("grid:10x10x10", "form grid:ROWSxCOLUMNS"),
            ("grid:3x4:5", "form grid:ROWSxCOLUMNS"),
            ("grid:99999999999x99999999999", "9999999999800000000001 vertices"),
            ("mesh:2x3", "form mesh:XxYxZ"),
            ("mesh:18446744073709551615x18446744073709551615x18446744073709551615", "vertices"),
            ("mycielskian:0", "K is 0; it must be 1 to 63"),
            ("mycielskian:40", "vertices"),
            ("debruijn:64", "vertices"),
            ("skew:0:5", "N is 0"),
            ("planted:10:0:3", "COMMUNITIES is 0"),
            ("planted:10:11:3", "COMMUNITIES is 11"),
            ("grid:3x3@", "SEED is ''"),
            ("grid:3x3@1@2", "SEED is '1@2'"),
        ] {
            let error = text.parse::<Generator>().expect_err(text).to_string();
            assert!(error.contains(words) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
