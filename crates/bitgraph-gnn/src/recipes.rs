//! The models by name with settings that were measured on citation graphs: what the command line trains by default.
//!
//! Sources: the papers of the layers; what was changed was measured on the public splits of Cora, CiteSeer and PubMed.

use crate::data::Normalise;
use crate::layers::{Agnn, Gat, GatV2, Gcn, Gin, Heads, Linear, Sage, SageKind, Transformer};
use crate::{Around, Error, Float, Method, Model, Optimiser, Readout, Schedule, Selection, Training};
use bitgraph_sparse::Control;
use bitgraph_tensor::{Activation, TensorBackend};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A model of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// Graph convolutions.
    Gcn,
    /// GraphSAGE with means.
    Sage,
    /// Sums, scaled by the roots of both degrees as those of graph convolutions, and weights of their own for the node itself: the layer of
    /// GraphSAINT over its normalised adjacency.
    GraphConv,
    /// A graph isomorphism network with nearly means.
    Gin,
    /// Graph attention.
    Gat,
    /// Graph attention whose scores look at both ends before the nonlinearity.
    GatV2,
    /// Attention by dot products, with a path for the node itself.
    Transformer,
    /// Attention by cosines between two linear layers.
    Agnn,
}

impl Architecture {
    /// All of them.
    pub const ALL: [Self; 8] = [Self::Gcn, Self::Sage, Self::GraphConv, Self::Gin, Self::Gat, Self::GatV2, Self::Transformer, Self::Agnn];

    const NAMES: &'static str = "gcn, sage, graphconv, gin, gat, gatv2, transformer and agnn";

    /// The name on the command line and in checkpoints.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gcn => "gcn",
            Self::Sage => "sage",
            Self::GraphConv => "graphconv",
            Self::Gin => "gin",
            Self::Gat => "gat",
            Self::GatV2 => "gatv2",
            Self::Transformer => "transformer",
            Self::Agnn => "agnn",
        }
    }
}

/// The shape of a model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Layers that aggregate, 1 or more.
    pub layers: usize,
    /// Columns between layers; with attention those of a head.
    pub hidden: usize,
    /// Heads of hidden layers.
    pub heads: usize,
    /// Heads of the last layer, whose mean is taken.
    pub last_heads: usize,
    /// Dropout of every layer's input, and of attention.
    pub dropout: f64,
    /// Whether hidden layers are followed by batch normalisation.
    pub batch_norm: bool,
    /// Linear maps of a GIN layer: 1 over nearly means, as was measured; 2 or more over sums, the perceptron of the paper.
    #[serde(default = "one")]
    pub mlp: usize,
    /// Whether the sums of GraphConv are scaled by the roots of both degrees.
    #[serde(default)]
    pub scaled: bool,
    /// Whether the input of hidden layers but the first is added to their results.
    pub residual: bool,
}

/// The linear maps of a GIN layer in files that do not say.
const fn one() -> usize {
    1
}

/// A model's shape and training that do well on citation graphs.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The shape.
    pub shape: Shape,
    /// What features are divided by.
    pub normalise: Normalise,
    /// The training.
    pub training: Training,
}

impl FromStr for Architecture {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let unknown = || Error::Unknown { what: "model", found: text.to_owned(), known: Self::NAMES };
        Self::ALL.into_iter().find(|a| a.name() == text).ok_or_else(unknown)
    }
}

impl Architecture {
    /// What the recipe divides features by.
    #[must_use]
    pub const fn normalise(self) -> Normalise {
        Normalise::ColumnThenRow
    }
    /// The recipe for so many classes.
    #[must_use]
    pub fn recipe(self, classes: usize) -> Recipe {
        let shape = Shape {
            layers: 2,
            hidden: 64,
            heads: 1,
            last_heads: 1,
            dropout: 0.5,
            batch_norm: false,
            mlp: 1,
            scaled: false,
            residual: false,
        };
        let training = |rate: f64, epochs, decay: &[(&str, f64)]| Training {
            optimiser: Optimiser {
                method: Method::Adam,
                rate,
                schedule: Schedule::Constant,
                decay: decay.iter().map(|(p, d)| ((*p).to_owned(), *d)).collect(),
            },
            epochs,
            selection: Selection::LowestValidationLoss,
            stale_epochs: None,
            loss_scale: 1024.0,
            batches: None,
            control: Control::default(),
        };
        let normalise = self.normalise();
        match self {
            Self::Gcn => Recipe { shape, normalise, training: training(0.01, 200, &[("layers.0.weight", 5e-4)]) },
            // Two weights a layer: half as many columns and twice the decay of GCN.
            Self::Sage => {
                let shape = Shape { hidden: 32, ..shape };
                Recipe { shape, normalise, training: training(0.01, 250, &[("layers.0.weight", 1e-3)]) }
            }
            // Plain sums follow the hubs: 79, 65 and 77 % on the citation graphs, and 39 % of amazon_photo, whose degrees are 31 in the mean.
            Self::GraphConv => {
                let shape = Shape { hidden: 32, dropout: 0.7, scaled: true, ..shape };
                Recipe { shape, normalise, training: training(0.005, 300, &[("layers.0.weight", 5e-3)]) }
            }
            Self::Gin => Recipe {
                shape: Shape { dropout: 0.7, ..shape },
                normalise,
                training: Training {
                    selection: Selection::BestValidationAccuracy,
                    ..training(0.005, 300, &[("layers.0.weight", 5e-4), ("layers.0.bias", 5e-4), ("layers.1.weight", 5e-4)])
                },
            },
            Self::Gat | Self::GatV2 => {
                // Few classes give the mean of one head too few columns to go by.
                let last_heads = if classes == 3 { 8 } else { 1 };
                let shape = Shape { hidden: 8, heads: 8, last_heads, dropout: 0.6, ..shape };
                Recipe { shape, normalise, training: training(0.005, 400, &[("", 1e-3)]) }
            }
            Self::Transformer => {
                let shape = Shape { hidden: 8, heads: 8, dropout: 0.6, ..shape };
                Recipe { shape, normalise, training: training(0.005, 200, &[("", 1e-3)]) }
            }
            Self::Agnn => {
                let shape = Shape { hidden: 128, ..shape };
                Recipe { shape, normalise, training: training(0.01, 300, &[("", 5e-4)]) }
            }
        }
    }
    /// The recipe for graphs of their own, for 128 graphs a batch: four layers, of GIN with the perceptron of its paper, batch normalisation, and
    /// rates that halve every 50 epochs, as Xu et al., 2019, section 7, have it for sets of molecules.
    #[must_use]
    pub fn graph_recipe(self, classes: usize) -> Recipe {
        let Recipe { shape, training, .. } = self.recipe(classes);
        let heads = shape.heads.min(4);
        let shape = Shape { layers: 4, hidden: 32 / heads, heads, dropout: 0.5, batch_norm: true, mlp: 2, ..shape };
        let (schedule, decay) = (Schedule::Steps { every: 50, factor: 0.5 }, Vec::new());
        let optimiser = Optimiser { method: Method::Adam, rate: 0.01, schedule, decay };
        let selection = Selection::BestValidationAccuracy;
        Recipe { shape, normalise: Normalise::None, training: Training { optimiser, epochs: 200, selection, ..training } }
    }
    /// The model of a shape.
    ///
    /// # Errors
    /// [`Error::Setting`] for no layers, no columns or no heads, or a dropout that is no probability below 1; [`Error::Combination`] for AGNN
    /// in f16.
    pub fn model<B: TensorBackend, T: Float>(self, shape: &Shape, inputs: usize, classes: usize) -> Result<Model<B, T>, Error> {
        shape.check()?;
        let Shape { hidden, dropout, batch_norm, .. } = *shape;
        let mut model = Model::new(self.name(), inputs);
        if self == Self::Agnn {
            if T::NEEDS_LOSS_SCALE {
                let why = "the gradient of a cosine at a row of zeros is beyond its range; bf16 and f32 have it";
                return Err(Error::Combination { what: "AGNN in f16", why });
            }
            let relu = Around { dropout, batch_norm, activation: Some(Activation::Relu), ..Around::default() };
            model = model.layer(relu, |d| Linear::new(d, hidden))?;
            for _ in 0..shape.layers {
                model = model.layer(Around { residual: shape.residual, ..Around::default() }, Agnn::new)?;
            }
            return model.layer(Around { dropout, ..Around::default() }, |d| Linear::new(d, classes));
        }
        for l in 0..shape.layers {
            model = self.layer(model, shape, l, (l + 1 == shape.layers).then_some(classes))?;
        }
        Ok(model)
    }
    /// The model of a shape over graphs of their own: all layers are hidden ones, and what the features and every layer say of a graph is read
    /// out, mapped to classes with dropout, and added up. Layers have no dropout of their own. Source: Xu et al., 2019, section 4.2.
    ///
    /// # Errors
    /// As [`Architecture::model`]; [`Error::Combination`] for AGNN.
    pub fn graph_model<B: TensorBackend, T: Float>(
        self,
        shape: &Shape,
        readout: Readout,
        inputs: usize,
        classes: usize,
    ) -> Result<Model<B, T>, Error> {
        shape.check()?;
        if self == Self::Agnn {
            return Err(Error::Combination {
                what: "AGNN over graphs of their own",
                why: "its layers have no weights that tell features apart",
            });
        }
        let bare = Shape { dropout: 0.0, ..*shape };
        let mut model = Model::new(self.name(), inputs).read_out(readout, classes, shape.dropout)?;
        for l in 0..shape.layers {
            model = self.layer(model, &bare, l, None)?.read_out(readout, classes, shape.dropout)?;
        }
        Ok(model)
    }
    /// One more layer, number `l`: a hidden one, or the last with so many classes.
    fn layer<B: TensorBackend, T: Float>(
        self,
        model: Model<B, T>,
        shape: &Shape,
        l: usize,
        last: Option<usize>,
    ) -> Result<Model<B, T>, Error> {
        let Shape { hidden, dropout, batch_norm, residual, .. } = *shape;
        let hides = last.is_none();
        let attention = matches!(self, Self::Gat | Self::GatV2);
        let activation = hides.then_some(if attention { Activation::Elu { alpha: 1.0 } } else { Activation::Relu });
        let around =
            Around { dropout, batch_norm: batch_norm && hides, activation, residual: residual && hides && l > 0, ..Around::default() };
        let outputs = last.unwrap_or(hidden);
        let heads = last.map_or((shape.heads, hidden), |classes| (shape.last_heads, classes));
        let together = if hides { Heads::Concatenated } else { Heads::Averaged };
        match self {
            Self::Sage => model.layer(around, |d| Sage::new(d, outputs, SageKind::Mean)),
            Self::GraphConv => model.layer(around, |d| Sage::new(d, outputs, if shape.scaled { SageKind::Scaled } else { SageKind::Sum })),
            Self::Gin if shape.mlp > 1 => {
                // The first map changes places with the sum.
                let within = Around { batch_norm, activation: Some(Activation::Relu), ..Around::default() };
                let mut model = model.layer(Around { dropout, ..within }, |d| Gin::new(d, hidden, 0.0, 0.0))?;
                for _ in 2..shape.mlp {
                    model = model.layer(within, |d| Linear::new(d, hidden))?;
                }
                model.layer(Around { dropout: 0.0, residual: false, ..around }, |d| Linear::new(d, outputs))
            }
            Self::Gin => model.layer(around, |d| Gin::new(d, outputs, -0.9, -1.0)),
            Self::Gat => model.layer(around, |d| Gat::new(d, heads, together, dropout)),
            Self::GatV2 => model.layer(around, |d| GatV2::new(d, heads, together, dropout)),
            Self::Transformer => model.layer(around, |d| Transformer::new(d, heads, together, dropout)),
            Self::Gcn | Self::Agnn => model.layer(around, |d| Gcn::new(d, outputs)),
        }
    }
}

impl Shape {
    /// Refuses a shape without layers, columns or heads.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let counted = [
            ("the number of layers", self.layers),
            ("hidden columns", self.hidden),
            ("heads", self.heads.min(self.last_heads)),
            ("the linear maps of a GIN layer", self.mlp),
        ];
        match counted.into_iter().find(|(_, n)| !(1..=1 << 20).contains(n)) {
            Some((what, found)) => Err(Error::Setting { what, found: found as f64, allowed: "from 1 to 2^20" }),
            None => Ok(()),
        }
    }
}
