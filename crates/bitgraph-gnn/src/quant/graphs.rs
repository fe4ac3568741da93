//! Isomorphism networks of few bits over graphs of their own.
//!
//! The first linear map is of the features as they are, in floats: they are few columns of any range. Every other one is of signs or codes, and
//! what is read out of a layer is what the next one reads, but for `bi-full`, whose factors read-outs have too.

use super::binary::SignInput;
use super::gin::{BinaryMap, BitsMap, Over};
use crate::layers::Gin;
use crate::{Architecture, Around, Error, Model, Precision, Readout, Recipe, Shape};
use bitgraph_tensor::{Activation, Bits, TensorBackend};

/// The mean magnitude of half of a normal distribution, as a ReLU after batch normalisation leaves it: where learned steps begin.
const RECTIFIED: f64 = 0.4;

/// The recipe of an architecture over graphs of their own in a precision, for so many classes: signs want more columns, and sums of them a smaller
/// rate (PROTEINS, ten folds, five seeds: .747 on average).
#[must_use]
pub fn graph_recipe(architecture: Architecture, precision: Precision, classes: usize) -> Recipe {
    let mut recipe = architecture.graph_recipe(classes);
    if matches!(precision, Precision::Bin | Precision::BiFull) {
        recipe.shape.hidden *= 2;
    }
    if precision == Precision::Bin {
        recipe.training.optimiser.rate = 0.005;
    }
    recipe
}

/// Isomorphism layers of few bits as [`Architecture::graph_model`] has them in floats: of `bin`, signs that are summed as signs and go out as
/// signs; of `bi-full`, signs with the mean magnitudes of rows, summed in floats; of `bits:W,A`, codes. Epsilon is 0, and every map is followed by
/// batch normalisation.
///
/// # Errors
/// As [`Architecture::graph_model`]; [`Error::Combination`] for residuals, or for a precision of floats.
pub fn graph_model<B: TensorBackend + Bits>(
    precision: Precision,
    shape: &Shape,
    readout: Readout,
    (inputs, classes): (usize, usize),
) -> Result<Model<B, f32>, Error> {
    shape.check()?;
    if shape.residual {
        return Err(Error::Combination { what: "residuals around layers of few bits", why: "there are none" });
    }
    let normal = Around { batch_norm: true, ..Around::default() };
    let around = match precision {
        Precision::Bin => Around { sign: true, ..normal },
        Precision::BiFull => normal,
        Precision::Bits { .. } => Around { activation: Some(Activation::Relu), ..normal },
        _ => return Err(Error::Combination { what: "a model of few bits in a precision of floats", why: "its architecture makes that" }),
    };
    let hidden = shape.hidden;
    let read_out = |model: Model<B, f32>| match precision {
        Precision::Bin => model.read_out_signs(readout, classes, shape.dropout),
        _ => model.read_out(readout, classes, shape.dropout),
    };
    let mut model = read_out(Model::new(Architecture::Gin.name(), inputs))?;
    for l in 0..shape.layers {
        for map in 0..shape.mlp {
            let over = if map == 0 { Over::Sums } else { Over::Own };
            model = match precision {
                _ if (l, map) == (0, 0) => model.layer(around, |d| Gin::new(d, hidden, 0.0, 0.0))?,
                Precision::Bits { weights, activations } => {
                    let bits = (u32::from(weights), u32::from(activations));
                    model.layer(around, |d| BitsMap::new(d, hidden, bits, RECTIFIED, over))?
                }
                Precision::Bin => model.layer(around, |d| BinaryMap::new(d, hidden, SignInput::Ready, over))?,
                _ => model.layer(around, |d| BinaryMap::new(d, hidden, SignInput::Scaled, over))?,
            };
        }
        model = read_out(model)?;
    }
    Ok(model)
}
