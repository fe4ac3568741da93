//! Chains of layers of signs: what each layer reads, what it sums over neighbours, and what it gives, as BitGNN's operators have it.
//!
//! Invariant: a chain is of the right types: a layer reads what the one before it gives, and the last one gives floats, which logits are.

use crate::Error;
use std::fmt;
use std::str::FromStr;

/// Layers of a chain at most.
const MOST: usize = 8;

/// What values are: B and F of BitGNN's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Values {
    /// Signs.
    Bits,
    /// Floats; where they are multiplied they are signs with the mean magnitudes of their rows.
    #[default]
    Floats,
}

impl Values {
    const BOTH: [Self; 2] = [Self::Bits, Self::Floats];

    const fn letter(self) -> char {
        match self {
            Self::Bits => 'b',
            Self::Floats => 'f',
        }
    }
    fn of(letter: char) -> Option<Self> {
        Self::BOTH.into_iter().find(|v| v.letter() == letter)
    }
}

/// A layer of a chain, a graph convolution: `MM.rBs` and `SpMM.sBg` for what it reads, sums and gives. Source: BitGNN, 2023, section 3.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Link {
    /// What it reads.
    pub reads: Values,
    /// What its product is, which is summed over neighbours.
    pub sums: Values,
    /// What it gives.
    pub gives: Values,
}

/// A chain of layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chain {
    links: [Link; MOST],
    layers: usize,
}

impl Chain {
    /// What begins the name of a precision that is a chain.
    pub(crate) const PREFIX: &'static str = "chain:";

    /// Of these layers.
    ///
    /// # Errors
    /// [`Error::Combination`] for types that do not follow from each other, no layers, or more than eight.
    pub fn new(of: &[Link]) -> Result<Self, Error> {
        let refused = |why| Err(Error::Combination { what: "a chain of layers", why });
        if of.is_empty() || of.len() > MOST {
            return refused("it has 1 to 8 layers");
        }
        if of.windows(2).any(|w| w[0].gives != w[1].reads) || of[of.len() - 1].gives != Values::Floats {
            return refused("a layer reads what the one before it gives, and the last one gives floats");
        }
        let mut links = [Link::default(); MOST];
        links[..of.len()].copy_from_slice(of);
        Ok(Self { links, layers: of.len() })
    }
    /// Every chain of so many layers: 4 to the number of layers; none of a number that there is no chain of.
    #[must_use]
    pub fn all(layers: usize) -> Vec<Self> {
        let mut found: Vec<Vec<Link>> = if (1..=MOST).contains(&layers) { vec![Vec::new()] } else { Vec::new() };
        for l in 0..layers {
            let next = |before: &Vec<Link>| -> Vec<Vec<Link>> {
                let reads = before.last().map_or(Values::BOTH.to_vec(), |link| vec![link.gives]);
                let gives = if l + 1 == layers { &Values::BOTH[1..] } else { &Values::BOTH[..] };
                let links = reads.iter().flat_map(|&reads| {
                    Values::BOTH.iter().flat_map(move |&sums| gives.iter().map(move |&gives| Link { reads, sums, gives }))
                });
                links.map(|link| [before.clone(), vec![link]].concat()).collect()
            };
            found = found.iter().flat_map(next).collect();
        }
        found.iter().filter_map(|links| Self::new(links).ok()).collect()
    }
    /// Its layers.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links[..self.layers]
    }
    /// Whether signs are summed somewhere.
    #[must_use]
    pub fn sums_signs(&self) -> bool {
        self.links().iter().any(|link| link.sums == Values::Bits)
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::PREFIX)?;
        for (l, Link { reads, sums, gives }) in self.links().iter().enumerate() {
            let comma = if l > 0 { "," } else { "" };
            write!(f, "{comma}{}{}{}", reads.letter(), sums.letter(), gives.letter())?;
        }
        Ok(())
    }
}

impl FromStr for Chain {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let known = "chain:RSG,RSG,.. with a b for signs or an f for floats, for what each layer reads, sums and gives";
        let unknown = || Error::Unknown { what: "chain of layers", found: text.to_owned(), known };
        let link = |text: &str| {
            let values: Vec<Values> = text.chars().map(Values::of).collect::<Option<_>>()?;
            let [reads, sums, gives] = values[..] else { return None };
            Some(Link { reads, sums, gives })
        };
        let links = text.strip_prefix(Self::PREFIX).ok_or_else(unknown)?.split(',').map(link);
        Self::new(&links.collect::<Option<Vec<_>>>().ok_or_else(unknown)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_chains_are_of_the_right_types_and_read_as_they_are_written() {
        for layers in 1..=4 {
            let all = Chain::all(layers);
            let mut different = all.clone();
            different.dedup();
            assert_eq!((all.len(), different.len()), (4usize.pow(layers as u32), all.len()));
            assert!(all.iter().all(|chain| chain.to_string().parse() == Ok(*chain) && chain.links().len() == layers));
        }
        assert!(Chain::all(0).is_empty() && Chain::all(9).is_empty());
        for (text, words) in [
            ("bbb,bff", "'bbb,bff' is no chain"),
            ("chain:", "is no chain"),
            ("chain:bb", "is no chain"),
            ("chain:bbx", "is no chain"),
            ("chain:bbb", "the last one gives floats"),
            ("chain:bbb,fff", "reads what the one before it gives"),
            ("chain:fff,fff,fff,fff,fff,fff,fff,fff,fff", "1 to 8 layers"),
        ] {
            let told = text.parse::<Chain>().unwrap_err().to_string();
            assert!(told.contains(words), "{text}: {told}");
        }
    }
}
