//! The steps of an inference plan, and what goes from one to the next.

use crate::{Error, Features, Float, Graph, Moments, Parameters, refused};
use bitgraph_tensor::ops::{Fusing, Operation, Reconcile};
use bitgraph_tensor::{Activation, Dense, Planes, Real, Signs, TensorBackend};

/// What goes from step to step.
pub enum Value<B: TensorBackend, T: Float> {
    /// Floats: dense, or sparse features.
    Features(Features<B, T>),
    /// Signs, packed along rows.
    Signs(Signs<B>),
    /// Whole numbers of few bits, packed along rows.
    Planes(Planes<B>),
}

impl<B: TensorBackend, T: Float> Clone for Value<B, T> {
    fn clone(&self) -> Self {
        match self {
            Self::Features(x) => Self::Features(x.clone()),
            Self::Signs(x) => Self::Signs(x.clone()),
            Self::Planes(x) => Self::Planes(x.clone()),
        }
    }
}

impl<B: TensorBackend, T: Float> Value<B, T> {
    /// Of a dense matrix.
    pub fn dense(x: Dense<B, T>) -> Self {
        Self::Features(Features::Dense(x))
    }
    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        match self {
            Self::Features(x) => x.shape(),
            Self::Signs(x) => x.shape(),
            Self::Planes(x) => x.shape(),
        }
    }
    /// Bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Features(Features::Dense(x)) => x.bytes(),
            Self::Features(Features::Sparse { pattern, values }) => pattern.bytes() + values.bytes(),
            // In host memory.
            Self::Features(Features::Streamed(_)) => 0,
            Self::Signs(x) => x.bytes(),
            Self::Planes(x) => x.bytes(),
        }
    }
    /// What it is, in words.
    pub fn form(&self) -> String {
        let (rows, columns) = self.shape();
        match self {
            Self::Features(Features::Dense(_)) => format!("{rows} x {columns} of {}", T::DTYPE),
            Self::Features(Features::Sparse { pattern, .. }) => format!("{rows} x {columns}, {} entries of {}", pattern.nvals(), T::DTYPE),
            Self::Features(Features::Streamed(_)) => format!("{rows} x {columns} of {} in host memory", T::DTYPE),
            Self::Signs(_) => format!("{rows} x {columns} signs"),
            Self::Planes(x) => format!("{rows} x {columns} codes of {} bits", x.bits()),
        }
    }
    /// Floats.
    ///
    /// # Errors
    /// [`Error::Combination`](crate::Error::Combination) for bits.
    pub fn features(&self) -> Result<&Features<B, T>, B::Error> {
        match self {
            Self::Features(x) => Ok(x),
            _ => Err(refused::<B>(other("floats"))),
        }
    }
    /// A dense matrix.
    ///
    /// # Errors
    /// [`Error::Combination`](crate::Error::Combination) for anything else.
    pub fn as_dense(&self) -> Result<&Dense<B, T>, B::Error> {
        self.features()?.as_dense("a step over dense values")
    }
    /// Signs.
    ///
    /// # Errors
    /// [`Error::Combination`](crate::Error::Combination) for anything else.
    pub fn signs(&self) -> Result<&Signs<B>, B::Error> {
        match self {
            Self::Signs(x) => Ok(x),
            _ => Err(refused::<B>(other("signs"))),
        }
    }
    /// Codes.
    ///
    /// # Errors
    /// [`Error::Combination`](crate::Error::Combination) for anything else.
    pub fn planes(&self) -> Result<&Planes<B>, B::Error> {
        match self {
            Self::Planes(x) => Ok(x),
            _ => Err(refused::<B>(other("codes"))),
        }
    }
}

/// What a layer is compiled for.
pub struct Compile<'a, 'v, B: TensorBackend, T: Float> {
    /// The graph.
    pub graph: &'a Graph<B, T::Real>,
    /// The trained parameters.
    pub parameters: &'a Parameters<B, T>,
    /// What the layer gets, values included.
    pub input: &'v Value<B, T>,
    /// What its result goes through, which is for the layer's steps to do.
    pub activation: Option<Activation>,
    /// The batch normalisation whose signs are the result, for layers that end in signs; there is no activation then.
    pub threshold: Option<&'v Normal<B, T::Real>>,
    /// How sums of signs meet zeros and ones.
    pub reconcile: Reconcile,
}

/// A batch normalisation with statistics and the learned factor and summand, of one row each.
pub struct Normal<B: TensorBackend, R: Real> {
    pub(crate) moments: Moments<B, R>,
    pub(crate) affine: (Dense<B, R>, Dense<B, R>),
}

impl<B: TensorBackend, R: Real> Clone for Normal<B, R> {
    fn clone(&self) -> Self {
        Self { moments: self.moments.clone(), affine: self.affine.clone() }
    }
}

impl<B: TensorBackend, R: Real> Normal<B, R> {
    /// The normalisation of what an operation gives.
    pub fn normalise<F: Fusing<Backend = B, Real = R>>(&self, op: Operation<F>) -> Operation<F> {
        let ((mean, variance), (factor, summand)) = (&self.moments, &self.affine);
        op.batch_norm((mean, variance), Some((factor, summand)), EPSILON)
    }
    /// Bytes.
    pub fn bytes(&self) -> u64 {
        [&self.moments.0, &self.moments.1, &self.affine.0, &self.affine.1].map(Dense::bytes).iter().sum()
    }
}

/// What keeps the root of batch normalisation away from zero.
pub(crate) const EPSILON: f64 = 1e-5;

type Compute<'a, B, T> = Box<dyn Fn(&Value<B, T>) -> Result<Value<B, T>, <B as bitgraph_backend::Backend>::Error> + Send + Sync + 'a>;

/// One operation of a plan, with what is fused into it.
pub struct Step<'a, B: TensorBackend, T: Float> {
    operator: String,
    operands: Vec<(&'static str, u64)>,
    packing: bool,
    run: Compute<'a, B, T>,
}

impl<'a, B: TensorBackend, T: Float> Step<'a, B, T> {
    /// An operation by a name that tells the variant and what is fused into it, the tensors that it holds with their bytes, and what it does.
    pub fn new(
        operator: impl Into<String>,
        operands: Vec<(&'static str, u64)>,
        run: impl Fn(&Value<B, T>) -> Result<Value<B, T>, B::Error> + Send + Sync + 'a,
    ) -> Self {
        Self { operator: operator.into(), operands, packing: false, run: Box::new(run) }
    }
    /// One that only changes the form of values: done once where the values are the features.
    pub fn packing(operator: impl Into<String>, run: impl Fn(&Value<B, T>) -> Result<Value<B, T>, B::Error> + Send + Sync + 'a) -> Self {
        Self { packing: true, ..Self::new(operator, Vec::new(), run) }
    }
    /// The name.
    pub fn operator(&self) -> &str {
        &self.operator
    }
    /// What it holds, with bytes.
    pub fn operands(&self) -> &[(&'static str, u64)] {
        &self.operands
    }
    pub(crate) fn is_packing(&self) -> bool {
        self.packing
    }
    pub(crate) fn run(&self, x: &Value<B, T>) -> Result<Value<B, T>, B::Error> {
        (self.run)(x)
    }
}

/// An activation as the last step of an operation, where there is one.
pub(crate) fn activated<F: Fusing>(op: Operation<F>, activation: Option<Activation>) -> Operation<F> {
    match activation {
        Some(f) => op.activation(f),
        None => op,
    }
}

/// What a step's name says of an activation that is fused into it.
pub(crate) fn and(activation: Option<Activation>) -> &'static str {
    match activation {
        None => "",
        Some(Activation::Relu) => ", ReLU",
        Some(Activation::LeakyRelu { .. }) => ", leaky ReLU",
        Some(Activation::Elu { .. }) => ", ELU",
    }
}

/// Refuses a value of another form than a step takes.
fn other(what: &'static str) -> Error {
    Error::Combination { what, why: "the step before it gives values of another form" }
}
