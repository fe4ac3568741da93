//! Where edge weights come from.
//!
//! Invariant: unit weights are no values at all (a pattern's implicit 1), and a hashed weight is the same for both directions
//! of an edge.

use crate::{Error, Result};
#[cfg(feature = "generate")]
use bitgraph_generate::mix64;
#[cfg(feature = "generate")]
use bitgraph_sparse::{Csr, Values, parallel, with_offsets};
use std::fmt;
use std::str::FromStr;

/// Where edge weights come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WeightSource {
    /// Every edge weighs 1; values of the file are checked and dropped.
    #[default]
    Unit,
    /// The file's values if it has any, else 1.
    FileOrUnit,
    /// The file's values; it is an error if it has none.
    File,
    /// 1 + mix64(min(u, v) << 32 | max(u, v)) mod the largest weight: whole numbers from 1 to the largest, the same on every
    /// machine. `mix64` is SplitMix64's finaliser after adding its increment.
    #[cfg(feature = "generate")]
    Hash(u32),
}

impl FromStr for WeightSource {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "file" => Ok(Self::File),
            "unit" => Ok(Self::Unit),
            _ => match text.strip_prefix("hash:").map(str::parse::<u32>) {
                #[cfg(feature = "generate")]
                Some(Ok(largest)) if largest > 0 => Ok(Self::Hash(largest)),
                #[cfg(not(feature = "generate"))]
                Some(Ok(_)) => Err(Error::Feature { name: text.into(), feature: "generate" }),
                _ => Err(Error::WeightSource { text: text.into() }),
            },
        }
    }
}

impl fmt::Display for WeightSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit => f.write_str("unit"),
            Self::FileOrUnit => f.write_str("file if it has any, else unit"),
            Self::File => f.write_str("file"),
            #[cfg(feature = "generate")]
            Self::Hash(largest) => write!(f, "hash:{largest}"),
        }
    }
}

/// The hashed weight of the edge between two vertices, 1 to `largest`.
#[cfg(feature = "generate")]
#[must_use]
pub fn hashed_weight(u: u32, v: u32, largest: u32) -> u32 {
    let key = (u64::from(u.min(v)) << 32) | u64::from(u.max(v));
    1 + (mix64(key) % u64::from(largest)) as u32
}

/// Hashed weights of every edge. O(nnz), parallel.
#[cfg(feature = "generate")]
#[must_use]
pub fn hashed_weights(csr: &Csr, largest: u32) -> Values {
    let mut weights = vec![0u32; csr.nnz()];
    with_offsets!(csr.offsets(), o => parallel::rows_mut(o, &mut weights, |u, row| {
        for (weight, &v) in row.iter_mut().zip(csr.row(u)) {
            *weight = hashed_weight(u as u32, v, largest);
        }
    }));
    Values::from_vec(weights)
}

#[cfg(all(test, feature = "generate"))]
mod tests {
    use super::*;

    /// SplitMix64's first output for the seed 0 is the finaliser of its increment.
    #[test]
    fn hash_is_the_published_one() {
        assert_eq!(mix64(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(hashed_weight(0, 0, 255), 1 + (0xE220_A839_7B1D_CDAFu64 % 255) as u32);
        assert_eq!(hashed_weight(3, 9, 255), hashed_weight(9, 3, 255));
        assert!((0..1000).all(|v| (1..=7).contains(&hashed_weight(5, v, 7))));
    }

    #[test]
    fn names() {
        assert_eq!("hash:255".parse::<WeightSource>().unwrap(), WeightSource::Hash(255));
        assert_eq!("unit".parse::<WeightSource>().unwrap(), WeightSource::Unit);
        for bad in ["hash:0", "hash:", "hash:-1", "hash:4294967296", "hash", "File", ""] {
            assert!(bad.parse::<WeightSource>().is_err(), "{bad}");
        }
    }
}
