//! What a layer is: a forward pass that keeps what the backward pass needs, and the backward pass.

use crate::step::{Compile, Step, activated};
use crate::sums::Together;
use crate::{Features, Float, Gradients, Graph, ParameterId, Parameters};
use bitgraph_tensor::ops::{Fusing, Operation, SparseDense, map};
use bitgraph_tensor::{Activation, Dense, Dropout, TensorBackend};
use std::any::Any;

/// Whether a pass is for training, where elements are dropped at random, or for inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Training.
    Train {
        /// The seed of the run.
        seed: u64,
        /// The step, which each drop of its own belongs to.
        step: u32,
    },
    /// Inference.
    Infer,
}

/// What a layer gets besides its input.
pub struct Pass<'a, B: TensorBackend, T: Float> {
    /// The graph.
    pub graph: &'a Graph<B, T::Real>,
    /// The model's parameters.
    pub parameters: &'a Parameters<B, T>,
    /// Training or inference.
    pub mode: Mode,
    /// The layer's number, and how many there are.
    pub(crate) layer: (u32, u32),
    /// Whether the layer's input are the features as they are, from step to step.
    pub(crate) of_features: bool,
    /// In a backward pass the sums of the columns of the result's gradient, where they are known.
    pub(crate) column_sums: Option<&'a Dense<B, T::Real>>,
    /// The dropout of the layer's input, where the layer drops elements itself ([`Layer::drops_input`]).
    pub input_dropout: Option<Dropout>,
}

/// Drops that a layer may have of its own.
const DROPS: u32 = 4;

/// How many draws a step has of so many layers.
pub(crate) fn draws_of_a_step(layers: u32) -> u32 {
    layers * DROPS
}

/// The draw of a step's dropout in one of so many layers.
pub(crate) fn draw(step: u32, (layer, layers): (u32, u32), which: u32) -> u32 {
    step.wrapping_mul(draws_of_a_step(layers)).wrapping_add(layer * DROPS + which % DROPS)
}

impl<B: TensorBackend, T: Float> Pass<'_, B, T> {
    /// The dropout of a layer in this step; none at inference, or of probability 0. `which`, below 4, tells those of a layer apart; 0 is that
    /// of its input.
    pub fn dropout(&self, probability: f64, which: u32) -> Option<Dropout> {
        match self.mode {
            Mode::Train { seed, step } if probability > 0.0 => Some(Dropout::new(probability, seed, draw(step, self.layer, which))),
            _ => None,
        }
    }
    /// What `make` takes together of the neighbours' rows of the layer's input: made once where those are the features as they are.
    pub(crate) fn together(
        &self,
        how: Together,
        x: &Dense<B, T>,
        make: impl FnOnce() -> Result<Dense<B, T>, B::Error>,
    ) -> Result<Dense<B, T>, B::Error> {
        if self.of_features { self.graph.sums_of(how, x, make) } else { make() }
    }
    /// Whether this is the first layer in training, the gradient of whose input is wanted for nothing.
    pub(crate) fn begins_training(&self) -> bool {
        self.layer.0 == 0 && matches!(self.mode, Mode::Train { .. })
    }
}

/// What comes after a layer, each where it is there: an activation, and the dropout of the next layer's input.
#[derive(Clone, Copy, Debug, Default)]
pub struct End {
    /// The activation.
    pub activation: Option<Activation>,
    /// The dropout after it.
    pub dropout: Option<Dropout>,
}

impl End {
    /// Whether nothing comes after the layer.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.activation.is_none() && self.dropout.is_none()
    }
    /// An operation with it as its last steps.
    pub fn within<F: Fusing>(&self, op: Operation<F>) -> Operation<F> {
        let op = activated(op, self.activation);
        match self.dropout {
            Some(dropout) => op.dropout(dropout),
            None => op,
        }
    }
    /// The result of a sparse product that ends so. Its fast forms take an activation and no dropout: that is a pass of its own.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn of_sums<B: TensorBackend, T: Float>(&self, op: Operation<SparseDense<B, T>>) -> Result<Dense<B, T>, B::Error> {
        let y = activated(op, self.activation).eval()?;
        match self.dropout {
            Some(dropout) => map(&y).dropout(dropout).eval(),
            None => Ok(y),
        }
    }
}

/// What the gradient of a layer's input goes through on its way to the layer before: the backward passes of what comes after that one, each
/// where it is there. The opposite of [`End`].
pub struct Before<'a, B: TensorBackend, T: Float> {
    /// The dropout of the input.
    pub dropout: Option<Dropout>,
    /// Its factor alone, where what it dropped is known by the activation's value: of a ReLU that was dropped, zeros have no gradient.
    pub factor: Option<f64>,
    /// The activation before it, with its value.
    pub activation: Option<(Activation, &'a Dense<B, T>)>,
}

impl<B: TensorBackend, T: Float> Before<'_, B, T> {
    /// Nothing.
    pub const BARE: Self = Self { dropout: None, factor: None, activation: None };

    /// Whether there is nothing.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.dropout.is_none() && self.factor.is_none() && self.activation.is_none()
    }
    /// An operation that gives the gradient, with this as its last steps.
    pub fn within<F: Fusing<Backend = B, Real = T::Real>>(&self, mut op: Operation<F>) -> Operation<F> {
        if let Some(dropout) = self.dropout {
            op = op.dropout(dropout);
        }
        if let Some(factor) = self.factor {
            op = op.times(factor);
        }
        match self.activation {
            Some((f, value)) => op.activation_gradient(f, value),
            None => op,
        }
    }
}

/// A layer that backends may train as a part of one operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KnownLayer {
    /// A graph convolution.
    Gcn {
        /// Its weight and its bias.
        parameters: [ParameterId; 2],
    },
    /// Graph attention.
    Gat(KnownGat),
}

/// What a layer of graph attention is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownGat {
    /// Its weight, both attention vectors and its bias.
    pub parameters: [ParameterId; 4],
    /// How many heads there are.
    pub heads: usize,
    /// Whether the mean of their results is taken; they are side by side otherwise.
    pub averaged: bool,
    /// The slope of LeakyReLU.
    pub slope: f64,
    /// The dropout of the softmax.
    pub dropout: f64,
}

/// A layer: parameters that it declared in a [`Layout`](crate::Layout), and two passes.
pub trait Layer<B: TensorBackend, T: Float>: Send + Sync + 'static {
    /// What the forward pass keeps for the backward pass.
    type Kept: Send + 'static;

    /// Columns of the result.
    fn columns(&self) -> usize;
    /// Bytes of [`Layer::Kept`] over so many nodes, for predictions of memory: those of the result, unless the layer knows better.
    fn kept_bytes(&self, nodes: u64) -> u64 {
        nodes * self.columns() as u64 * size_of::<T>() as u64
    }
    /// Bytes of what the forward and the backward pass hold besides their operands, what is kept and the result, over so many nodes and
    /// entries, for predictions of memory: those of a product with a weight and of its gradient, with that of an input of so many columns, unless the layer knows better.
    fn work_bytes(&self, nodes: u64, entries: u64, inputs: u64) -> [u64; 2] {
        let _ = entries;
        let (own, outputs) = (size_of::<T>() as u64, self.columns() as u64);
        [nodes * outputs * own, nodes * (outputs + inputs) * own]
    }
    /// Whether it reads the adjacency with loops rather than the one without, for predictions of memory.
    fn reads_loops(&self) -> bool {
        true
    }
    /// Whether its backward pass goes by the places that entries have in the transpose of the adjacency, as that of attention does: then there is a
    /// transpose even of a symmetric adjacency. For predictions of memory.
    fn reads_transpose(&self) -> bool {
        true
    }
    /// Whether it drops elements of its input itself ([`Pass::input_dropout`]) where it comes first in training and its input is dense and not
    /// wider than its result.
    fn drops_input(&self) -> bool {
        false
    }
    /// Whether it keeps the sums over neighbours of the features as the first layer in training, where they are dense and not wider than the
    /// result, for predictions of memory.
    fn sums_first(&self) -> bool {
        false
    }
    /// What the layer is to those that train several layers as one operation; none if it is nothing that they know.
    fn known(&self) -> Option<KnownLayer> {
        None
    }
    /// Whether its operations can end in batch normalisation and signs, as [`Compile::threshold`] asks.
    fn ends_in_signs(&self) -> bool {
        false
    }
    /// The operations of the layer for inference, the activation fused into the last of them, or none where its forward pass is all there is.
    ///
    /// # Errors
    /// As [`Layer::forward`].
    fn compile<'a>(&'a self, at: &Compile<'a, '_, B, T>) -> Result<Option<Vec<Step<'a, B, T>>>, B::Error> {
        let _ = at;
        Ok(None)
    }
    /// The result, of as many rows as `x`, and what the backward pass needs besides `x`.
    ///
    /// # Errors
    /// The backend's, or [`refused`](crate::refused).
    #[allow(clippy::type_complexity)] // a pair
    fn forward(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>) -> Result<(Dense<B, T>, Self::Kept), B::Error>;
    /// [`Layer::forward`] and what comes after it. A layer whose last operation can end so saves a pass over the result.
    ///
    /// # Errors
    /// As [`Layer::forward`].
    #[allow(clippy::type_complexity)] // a pair
    fn forward_to(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>, end: End) -> Result<(Dense<B, T>, Self::Kept), B::Error> {
        let (y, kept) = self.forward(pass, x)?;
        Ok((if end.is_bare() { y } else { end.within(map(&y)).eval()? }, kept))
    }
    /// Writes the gradient of every parameter of the layer, from that of the result; gives that of `x` where it is `wanted`.
    ///
    /// # Errors
    /// As [`Layer::forward`].
    fn backward(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
        kept: Self::Kept,
        dy: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
        wanted: bool,
    ) -> Result<Option<Dense<B, T>>, B::Error>;
    /// [`Layer::backward`], and what the gradient of `x` goes through then where it is wanted. A layer whose last operation can end so saves a
    /// pass over the gradient.
    ///
    /// # Errors
    /// As [`Layer::forward`].
    fn backward_to(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
        kept: Self::Kept,
        dy: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
        wanted: Option<&Before<'_, B, T>>,
    ) -> Result<Option<Dense<B, T>>, B::Error> {
        let dx = self.backward(pass, x, kept, dy, gradients, wanted.is_some())?;
        match (dx, wanted.filter(|before| !before.is_bare())) {
            (Some(dx), Some(before)) => before.within(map(&dx)).eval().map(Some),
            (dx, _) => Ok(dx),
        }
    }
}

/// What a stage kept, of its own type.
pub(crate) type Erased = Box<dyn Any + Send>;

/// A layer whose kept values are of any type, so that a model holds different ones.
pub(crate) trait Stage<B: TensorBackend, T: Float>: Send + Sync {
    fn columns(&self) -> usize;
    fn kept_bytes(&self, nodes: u64) -> u64;
    fn work_bytes(&self, nodes: u64, entries: u64, inputs: u64) -> [u64; 2];
    fn reads_loops(&self) -> bool;
    fn reads_transpose(&self) -> bool;
    fn sums_first(&self) -> bool;
    fn drops_input(&self) -> bool;
    fn known(&self) -> Option<KnownLayer>;
    fn ends_in_signs(&self) -> bool;
    /// The layer itself.
    fn any(&self) -> &dyn Any;
    fn compile<'a>(&'a self, at: &Compile<'a, '_, B, T>) -> Result<Option<Vec<Step<'a, B, T>>>, B::Error>;
    /// The forward pass and what comes after it.
    fn forward(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>, end: End) -> Result<(Dense<B, T>, Erased), B::Error>;
    fn backward(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
        kept: Erased,
        dy: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
        wanted: Option<&Before<'_, B, T>>,
    ) -> Result<Option<Dense<B, T>>, B::Error>;
}
impl<B: TensorBackend, T: Float, L: Layer<B, T>> Stage<B, T> for L {
    fn columns(&self) -> usize {
        Layer::columns(self)
    }
    fn kept_bytes(&self, nodes: u64) -> u64 {
        Layer::kept_bytes(self, nodes)
    }
    fn work_bytes(&self, nodes: u64, entries: u64, inputs: u64) -> [u64; 2] {
        Layer::work_bytes(self, nodes, entries, inputs)
    }
    fn reads_loops(&self) -> bool {
        Layer::reads_loops(self)
    }
    fn reads_transpose(&self) -> bool {
        Layer::reads_transpose(self)
    }
    fn sums_first(&self) -> bool {
        Layer::sums_first(self)
    }
    fn drops_input(&self) -> bool {
        Layer::drops_input(self)
    }
    fn known(&self) -> Option<KnownLayer> {
        Layer::known(self)
    }
    fn ends_in_signs(&self) -> bool {
        Layer::ends_in_signs(self)
    }
    fn any(&self) -> &dyn Any {
        self
    }
    fn compile<'a>(&'a self, at: &Compile<'a, '_, B, T>) -> Result<Option<Vec<Step<'a, B, T>>>, B::Error> {
        Layer::compile(self, at)
    }
    fn forward(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>, end: End) -> Result<(Dense<B, T>, Erased), B::Error> {
        let (y, kept) = Layer::forward_to(self, pass, x, end)?;
        Ok((y, Box::new(kept)))
    }
    fn backward(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
        kept: Erased,
        dy: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
        wanted: Option<&Before<'_, B, T>>,
    ) -> Result<Option<Dense<B, T>>, B::Error> {
        match kept.downcast::<L::Kept>() {
            Ok(kept) => Layer::backward_to(self, pass, x, *kept, dy, gradients, wanted),
            Err(_) => unreachable!("a tape belongs to the model that made it"),
        }
    }
}
