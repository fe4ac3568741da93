//! The parameters of a model: names and shapes, and one flat buffer that optimisers and checkpoints see whole.
//!
//! Invariant: a parameter begins at a multiple of [`ALIGNED`] elements, so that kernels may read several at once; what lies between
//! parameters is zero, and so is its gradient.

use crate::{Error, Float, refused};
use bitgraph_tensor::ops::map;
use bitgraph_tensor::{Dense, DenseMut, Element, Philox, Real, TensorBackend};
use std::sync::Arc;

/// What a parameter's offset is a multiple of; the flat buffer is a matrix of so many columns.
const ALIGNED: usize = 64;
/// The draws of a seed that initial values come from lie above those of dropout.
const FIRST_DRAW: u32 = 0xF000_0000;

/// Which parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterId(usize);

/// What a parameter is before training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// Uniform within `sqrt(6 / (inputs + outputs))`. Source: Glorot, Bengio, 2010.
    Glorot {
        /// Inputs of a unit.
        inputs: usize,
        /// Outputs of a unit.
        outputs: usize,
    },
    /// Uniform within a bound.
    Within(f64),
    /// One value.
    Constant(f64),
}

/// A parameter's name, shape, start and place.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// The name: the layer's, a dot, the parameter's own.
    pub name: String,
    /// Rows and columns.
    pub shape: (usize, usize),
    /// What it is before training.
    pub start: Start,
    offset: usize,
}

impl Declared {
    /// Where its elements lie in the flat buffer.
    #[must_use]
    pub fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.shape.0 * self.shape.1
    }
}

/// The parameters of a model, without values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    declared: Vec<Declared>,
    len: usize,
}

impl Layout {
    /// One more parameter.
    pub fn declare(&mut self, name: impl Into<String>, shape: (usize, usize), start: Start) -> ParameterId {
        self.declared.push(Declared { name: name.into(), shape, start, offset: self.len });
        self.len += (shape.0 * shape.1).next_multiple_of(ALIGNED);
        ParameterId(self.declared.len() - 1)
    }
    /// All of them, in the order of their declaration.
    pub fn parameters(&self) -> &[Declared] {
        &self.declared
    }
    /// How many numbers they have.
    pub fn count(&self) -> usize {
        self.declared.iter().map(|d| d.shape.0 * d.shape.1).sum()
    }
    /// Numbers in the flat buffer, with those that lie between parameters.
    pub fn flat_len(&self) -> usize {
        self.len
    }
    /// Where a parameter lies in the flat buffer.
    pub(crate) fn place(&self, id: ParameterId) -> std::ops::Range<usize> {
        self.declared[id.0].range()
    }
    pub(crate) fn name(&self, id: ParameterId) -> &str {
        &self.declared[id.0].name
    }
    fn rows(&self) -> usize {
        self.len / ALIGNED
    }
    /// Values in the flat order, by a function that fills a parameter.
    fn filled<R: Real>(&self, fill: impl Fn(usize, &mut [R])) -> Vec<R> {
        let mut all = vec![R::of(0.0); self.len];
        for (p, d) in self.declared.iter().enumerate() {
            fill(p, &mut all[d.range()]);
        }
        all
    }
    /// The start of every parameter, from a seed. O(parameters), the same on every machine.
    pub fn start<R: Real>(&self, seed: u64) -> Vec<R> {
        self.filled(|p, to: &mut [R]| {
            let bound = match self.declared[p].start {
                Start::Constant(value) => return to.fill(R::of(value)),
                Start::Within(bound) => bound,
                Start::Glorot { inputs, outputs } => (6.0 / (inputs + outputs).max(1) as f64).sqrt(),
            };
            let generator = Philox::new(seed, FIRST_DRAW + p as u32);
            for (row, four) in to.chunks_mut(4).enumerate() {
                for (to, word) in four.iter_mut().zip(generator.words(row as u64, 0)) {
                    *to = R::of(((f64::from(word) + 0.5) / 2f64.powi(31) - 1.0) * bound);
                }
            }
        })
    }
    /// The weight decay of every element: of a parameter that of the last pair whose text its name begins with.
    pub fn decay<R: Real>(&self, groups: &[(String, f64)]) -> Vec<R> {
        self.filled(|p, to: &mut [R]| to.fill(R::of(decay_of(&self.declared[p].name, groups))))
    }
    /// A matrix over the flat buffer.
    ///
    /// # Errors
    /// Another number of values than the flat buffer has; out of memory.
    pub fn flat<B: TensorBackend, R: Real>(&self, backend: &B, values: Vec<R>) -> Result<Dense<B, R>, B::Error> {
        Dense::from_vec(backend, self.rows(), ALIGNED, values)
    }
    fn view<B: TensorBackend, E: Element>(&self, flat: &Dense<B, E>, id: ParameterId) -> Result<Dense<B, E>, B::Error> {
        let d = &self.declared[id.0];
        flat.reshaped(1, self.len)?.columns(d.range())?.reshaped(d.shape.0, d.shape.1)
    }
}

/// Where a layer declares its parameters.
pub struct Declare<'a> {
    layout: &'a mut Layout,
    prefix: String,
    columns: usize,
}
impl<'a> Declare<'a> {
    pub(crate) fn new(layout: &'a mut Layout, prefix: String, columns: usize) -> Self {
        Self { layout, prefix, columns }
    }
    /// Columns of the layer's input.
    pub fn columns(&self) -> usize {
        self.columns
    }
    /// A parameter of the layer.
    pub fn parameter(&mut self, name: &str, shape: (usize, usize), start: Start) -> ParameterId {
        self.layout.declare(format!("{}.{name}", self.prefix), shape, start)
    }
}

/// The weight decay of a parameter of this name.
pub(crate) fn decay_of(name: &str, groups: &[(String, f64)]) -> f64 {
    groups.iter().rev().find(|(prefix, _)| name.starts_with(prefix)).map_or(0.0, |g| g.1)
}

/// The values of a model's parameters: those that are optimised, and the same rounded to what layers compute in.
pub struct Parameters<B: TensorBackend, T: Float> {
    layout: Arc<Layout>,
    master: Dense<B, T::Real>,
    working: Dense<B, T>,
}
impl<B: TensorBackend, T: Float> Clone for Parameters<B, T> {
    fn clone(&self) -> Self {
        Self { layout: Arc::clone(&self.layout), master: self.master.clone(), working: self.working.clone() }
    }
}

impl<B: TensorBackend, T: Float> Parameters<B, T> {
    /// The start of a seed.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(backend: &B, layout: &Arc<Layout>, seed: u64) -> Result<Self, B::Error> {
        Self::from_flat(layout, layout.flat(backend, layout.start(seed))?)
    }
    /// From a flat buffer.
    ///
    /// # Errors
    /// A buffer of another size; out of memory.
    pub fn from_flat(layout: &Arc<Layout>, master: Dense<B, T::Real>) -> Result<Self, B::Error> {
        if master.shape() != (layout.rows(), ALIGNED) {
            let (expected, found) = (layout.len as u64, (master.nrows() * master.ncols()) as u64);
            return Err(refused::<B>(Error::Size { what: "a flat buffer of parameters", expected, found }));
        }
        let working = match T::DTYPE == <T::Real as bitgraph_semiring::Scalar>::DTYPE {
            true => master.any().get::<T>(),
            false => None,
        };
        let working = working.map_or_else(|| map(&master).eval_as::<T>(), Ok)?;
        Ok(Self { layout: Arc::clone(layout), master, working })
    }
    /// Names and shapes.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }
    /// The flat buffer that is optimised.
    pub fn flat(&self) -> &Dense<B, T::Real> {
        &self.master
    }
    /// A parameter as layers multiply by it. O(1).
    ///
    /// # Errors
    /// A parameter of another layout.
    pub fn weight(&self, id: ParameterId) -> Result<Dense<B, T>, B::Error> {
        self.layout.view(&self.working, id)
    }
    /// A parameter as epilogues take it: a bias, a factor. O(1).
    ///
    /// # Errors
    /// As [`Parameters::weight`].
    pub fn real(&self, id: ParameterId) -> Result<Dense<B, T::Real>, B::Error> {
        self.layout.view(&self.master, id)
    }
}

/// The gradients of a model's parameters, in a flat buffer of the same order. A backward pass writes all of them.
pub struct Gradients<B: TensorBackend, R: Real> {
    layout: Arc<Layout>,
    all: Dense<B, R>,
}

impl<B: TensorBackend, R: Real> Gradients<B, R> {
    /// Zeros.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(backend: &B, layout: &Arc<Layout>) -> Result<Self, B::Error> {
        Ok(Self { layout: Arc::clone(layout), all: Dense::zeros(backend, layout.rows(), ALIGNED)? })
    }
    /// The flat buffer.
    pub fn flat(&self) -> &Dense<B, R> {
        &self.all
    }
    /// Where the gradient of a parameter goes, in its shape.
    ///
    /// # Errors
    /// A parameter of another layout.
    pub fn slot(&mut self, id: ParameterId) -> Result<DenseMut<'_, B, R>, B::Error> {
        let d = &self.layout.declared[id.0];
        self.all.as_mut().reshaped(1, self.layout.len)?.columns(d.range())?.reshaped(d.shape.0, d.shape.1)
    }
    /// Sets the gradient of a parameter.
    ///
    /// # Errors
    /// A gradient of another shape; out of memory.
    pub fn set<E: Element>(&mut self, id: ParameterId, gradient: &Dense<B, E>) -> Result<(), B::Error> {
        map(gradient).into(self.slot(id)?)
    }
    /// The gradient of a parameter. O(1).
    ///
    /// # Errors
    /// A parameter of another layout.
    pub fn get(&self, id: ParameterId) -> Result<Dense<B, R>, B::Error> {
        self.layout.view(&self.all, id)
    }
}
