//! The precisions that a model is trained and run in, by name.

use crate::{Architecture, Chain, Error, Values};
use std::fmt;
use std::str::FromStr;

/// What states, weights and sums are held in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Precision {
    /// 32-bit floats.
    #[default]
    F32,
    /// Features, weights and gradients of features in half precision; parameters and their sums in f32, with a scale of the loss.
    F16,
    /// As [`Precision::F16`] with the exponents of f32.
    Bf16,
    /// Signs of features and weights with factors, aggregated in f32: Bi-GCN, `full` of BitGNN.
    BiFull,
    /// Signs that are aggregated as signs: `bin` of BitGNN.
    Bin,
    /// Whole numbers of few bits, trained with the rounding in the loop.
    Bits {
        /// Bits of a weight, 1 to 16.
        weights: u8,
        /// Bits of an activation, 1 to 16.
        activations: u8,
    },
    /// Signs that are aggregated as signs in some layers and in f32 in others: [`Precision::Bin`] and [`Precision::BiFull`] are two of them.
    Chain(Chain),
}

impl Precision {
    /// The names on the command line and in checkpoints.
    pub const NAMES: &'static str = "f32, f16, bf16, bi-full, bin, bits:W,A with 1 to 16 bits each, or chain:RSG,RSG,..";

    /// Whether features and weights are floats, as the models of every architecture have them; others are for graph convolutions, and for
    /// isomorphism networks over graphs of their own.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16 | Self::Bf16)
    }
    /// The layers of a graph convolution of so many that sum signs as signs.
    #[must_use]
    pub fn sign_sums(self, layers: usize) -> Vec<usize> {
        match self {
            Self::Bin => (0..layers.saturating_sub(1)).collect(),
            Self::Chain(chain) => (0..layers).filter(|l| chain.links().get(*l).is_some_and(|link| link.sums == Values::Bits)).collect(),
            _ => Vec::new(),
        }
    }
    /// Whether a model of this architecture can be trained in it over graphs of their own.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with what can.
    pub fn check_graphs(self, architecture: Architecture) -> Result<(), Error> {
        if self.is_float() || (architecture == Architecture::Gin && !matches!(self, Self::Chain(_))) {
            return Ok(());
        }
        let possible = "f32, f16 and bf16; of sets of many graphs, gin alone is trained in bi-full, bin and bits:W,A";
        Err(Error::Unsupported { model: architecture.name(), precision: self.to_string(), possible })
    }
    /// Whether a model of this architecture can be trained in it, to classify nodes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with what can.
    pub fn check(self, architecture: Architecture) -> Result<(), Error> {
        let possible = match architecture {
            Architecture::Gcn => Self::NAMES,
            Architecture::Agnn => "f32 and bf16",
            _ => "f32, f16 and bf16",
        };
        let few = architecture == Architecture::Gcn && !self.is_float();
        if few || (self.is_float() && (architecture, self) != (Architecture::Agnn, Self::F16)) {
            return Ok(());
        }
        Err(Error::Unsupported { model: architecture.name(), precision: self.to_string(), possible })
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::BiFull => "bi-full",
            Self::Bin => "bin",
            Self::Bits { weights, activations } => return write!(f, "bits:{weights},{activations}"),
            Self::Chain(chain) => return chain.fmt(f),
        })
    }
}

impl FromStr for Precision {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let unknown = || Error::Unknown { what: "precision", found: text.to_owned(), known: Self::NAMES };
        let bits = |text: &str| text.parse().ok().filter(|bits| (1..=16).contains(bits));
        Ok(match text {
            "f32" => Self::F32,
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "bi-full" => Self::BiFull,
            "bin" => Self::Bin,
            _ if text.starts_with(Chain::PREFIX) => Self::Chain(text.parse()?),
            _ => {
                let (weights, activations) = text.strip_prefix("bits:").and_then(|of| of.split_once(',')).ok_or_else(unknown)?;
                let (weights, activations) = bits(weights).zip(bits(activations)).ok_or_else(unknown)?;
                Self::Bits { weights, activations }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let few = Precision::Bits { weights: 2, activations: 16 };
        let chain = Precision::Chain(Chain::all(3)[40]);
        for precision in [Precision::F32, Precision::F16, Precision::Bf16, Precision::BiFull, Precision::Bin, few, chain] {
            assert_eq!(precision.to_string().parse(), Ok(precision));
        }
        for wrong in ["", "F32", "f64", "bits", "bits:8", "bits:0,8", "bits:8,17", "bits:8,8,8", "bits:-1,8"] {
            let error = wrong.parse::<Precision>().unwrap_err().to_string();
            assert!(error.contains("bits:W,A"), "{error}");
        }
    }
    #[test]
    fn what_is_not_trained_is_refused_with_what_is() {
        for precision in [Precision::F16, Precision::Bin, Precision::Bits { weights: 1, activations: 16 }] {
            assert_eq!(precision.check(Architecture::Gcn), Ok(()));
        }
        for (precision, architecture) in [(Precision::F16, Architecture::Agnn), (Precision::Bin, Architecture::Gat)] {
            let error = precision.check(architecture).unwrap_err().to_string();
            assert!(error.contains(architecture.name()) && error.contains("bf16"), "{error}");
        }
    }
}
