//! How a plan computes what its model says, of the ways that give the same numbers.

use crate::Error;
use bitgraph_tensor::ops::Reconcile;
use std::fmt;
use std::str::FromStr;

/// A choice among ways that differ in what they cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Whether all layers are one operation where the backend offers that.
    pub whole: bool,
    /// How sums of signs meet the zeros and ones of the adjacency, layer by layer; the default in layers beyond.
    pub reconcile: Vec<Reconcile>,
}

impl Default for Execution {
    fn default() -> Self {
        Self { whole: true, reconcile: Vec::new() }
    }
}

impl Execution {
    /// That of a layer.
    #[must_use]
    pub fn reconcile_of(&self, layer: usize) -> Reconcile {
        self.reconcile.get(layer).copied().unwrap_or_default()
    }
}

impl fmt::Display for Execution {
    /// `whole`, or `steps` with the ways of the layers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.whole { "whole" } else { "steps" })?;
        self.reconcile.iter().enumerate().try_for_each(|(l, how)| write!(f, "{}{}", if l == 0 { ":" } else { "," }, how.name()))
    }
}

impl FromStr for Execution {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let known = "whole or steps, with branch, difference or count for each layer after a colon";
        let unknown = || Error::Unknown { what: "way to compute a plan", found: text.to_owned(), known };
        let (form, ways) = text.split_once(':').map_or((text, None), |(form, ways)| (form, Some(ways)));
        let whole = match form {
            "whole" => true,
            "steps" => false,
            _ => return Err(unknown()),
        };
        let way = |name: &str| Reconcile::ALL.into_iter().find(|how| how.name() == name);
        let reconcile = ways.into_iter().flat_map(|ways| ways.split(',')).map(way).collect::<Option<_>>();
        Ok(Self { whole, reconcile: reconcile.ok_or_else(unknown)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_read_as_they_are_written() {
        for text in ["whole", "steps", "whole:branch", "steps:count,branch,difference"] {
            assert_eq!(text.parse::<Execution>().unwrap().to_string(), text);
        }
        assert_eq!(Execution::default().to_string(), "whole");
        for text in ["", "layers", "steps:", "steps:popc", "whole:count;count"] {
            assert!(text.parse::<Execution>().unwrap_err().to_string().contains("no way to compute a plan"), "{text}");
        }
    }
}
