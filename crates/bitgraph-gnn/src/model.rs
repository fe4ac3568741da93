//! Models: layers with what stands around them, one after the other.

use crate::layer::{Erased, Stage};
use crate::{Error, Features, Float, Gradients, Graph, Layer, Layout, Mode, ParameterId, Parameters, Pass, Start, refused};
use bitgraph_tensor::ops::{BatchNormalised, batch_norm, batch_norm_backward, map};
use bitgraph_tensor::{Activation, Dense, TensorBackend};
use std::sync::Arc;

/// What keeps the root of batch normalisation away from zero.
pub(crate) const EPSILON: f64 = 1e-5;

/// Where a layer declares its parameters.
pub struct Declare<'a> {
    layout: &'a mut Layout,
    prefix: String,
    columns: usize,
}
impl Declare<'_> {
    /// Columns of the layer's input.
    pub fn columns(&self) -> usize {
        self.columns
    }
    /// A parameter of the layer.
    pub fn parameter(&mut self, name: &str, shape: (usize, usize), start: Start) -> ParameterId {
        self.layout.declare(format!("{}.{name}", self.prefix), shape, start)
    }
}

/// What stands around a layer, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Around {
    /// The probability that an element of the input is dropped in training.
    pub dropout: f64,
    /// Whether columns of the result are normalised by the statistics of all nodes, at inference too, and then by a learned factor and summand.
    pub batch_norm: bool,
    /// What the result goes through then.
    pub activation: Option<Activation>,
    /// Whether the input is added in the end; both have as many columns, and the input is dense.
    pub residual: bool,
}

/// A layer with what stands around it.
pub(crate) struct Block<B: TensorBackend, T: Float> {
    pub around: Around,
    pub stage: Box<dyn Stage<B, T>>,
    /// Factor and summand of batch normalisation.
    pub norm: Option<(ParameterId, ParameterId)>,
}

/// Layers one after the other; the result of the last one are logits, a column for each class. The values of the parameters are apart.
pub struct Model<B: TensorBackend, T: Float> {
    name: String,
    inputs: usize,
    blocks: Vec<Block<B, T>>,
    layout: Arc<Layout>,
}

/// The sizes of a layer, and what stands around it.
pub(crate) struct BlockExtent<'a> {
    pub name: String,
    pub first: bool,
    pub inputs: usize,
    pub outputs: usize,
    pub dropout: bool,
    pub batch_norm: bool,
    pub activation: bool,
    pub residual: bool,
    /// Bytes that the layer keeps over so many nodes.
    pub kept: Box<dyn Fn(u64) -> u64 + 'a>,
}

/// What a forward pass left for the backward pass.
pub struct Tape<B: TensorBackend, T: Float>(Vec<Kept<B, T>>);

struct Kept<B: TensorBackend, T: Float> {
    input: Features<B, T>,
    stage: Erased,
    norm: Option<(Dense<B, T>, BatchNormalised<B, T>)>,
    value: Option<Dense<B, T>>,
}

impl<B: TensorBackend, T: Float> Model<B, T> {
    /// A model without layers, of so many input columns. Checkpoints carry the name.
    #[must_use]
    pub fn new(name: impl Into<String>, inputs: usize) -> Self {
        Self { name: name.into(), inputs, blocks: Vec::new(), layout: Arc::default() }
    }
    /// One more layer: `make` declares its parameters, which are named by the layer's number.
    ///
    /// # Errors
    /// [`Error::Setting`] for a dropout that is no probability below 1, [`Error::Size`] for a residual around a layer that changes the number
    /// of columns.
    pub fn layer<L: Layer<B, T>>(mut self, around: Around, make: impl FnOnce(&mut Declare<'_>) -> L) -> Result<Self, Error> {
        if !(0.0..1.0).contains(&around.dropout) {
            return Err(Error::Setting { what: "dropout", found: around.dropout, allowed: "from 0 to below 1" });
        }
        let prefix = format!("layers.{}", self.blocks.len());
        let inputs = self.columns();
        let layout = Arc::make_mut(&mut self.layout);
        let layer = make(&mut Declare { layout, prefix: prefix.clone(), columns: inputs });
        let outputs = Layer::columns(&layer);
        if around.residual && inputs != outputs {
            let what = "columns of a layer with a residual";
            return Err(Error::Size { what, expected: inputs as u64, found: outputs as u64 });
        }
        let norm = around.batch_norm.then(|| {
            let gamma = layout.declare(format!("{prefix}.norm.gamma"), (1, outputs), Start::Constant(1.0));
            (gamma, layout.declare(format!("{prefix}.norm.beta"), (1, outputs), Start::Constant(0.0)))
        });
        self.blocks.push(Block { around, stage: Box::new(layer), norm });
        Ok(self)
    }
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Columns of the input.
    pub fn inputs(&self) -> usize {
        self.inputs
    }
    /// Columns of the result.
    pub fn columns(&self) -> usize {
        self.blocks.last().map_or(self.inputs, |b| b.stage.columns())
    }
    /// The parameters and dropouts of two graph convolutions with a ReLU in between and nothing else; why it is something else otherwise.
    pub(crate) fn as_two_gcn(&self) -> Result<([[ParameterId; 2]; 2], [f64; 2]), &'static str> {
        let [first, second] = &*self.blocks else { return Err("the model has not two layers") };
        let (Some(a), Some(b)) = (first.stage.as_gcn(), second.stage.as_gcn()) else {
            return Err("the layers are not graph convolutions");
        };
        let bare = |around: &Around, activation| *around == Around { dropout: around.dropout, activation, ..Around::default() };
        if !bare(&first.around, Some(Activation::Relu)) || !bare(&second.around, None) {
            return Err("there is more than a ReLU around the layers");
        }
        Ok(([a, b], [first.around.dropout, second.around.dropout]))
    }
    pub(crate) fn blocks(&self) -> &[Block<B, T>] {
        &self.blocks
    }
    /// Names and shapes of the parameters.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }
    /// What a prediction of memory has to know of every layer.
    pub(crate) fn extents(&self) -> impl Iterator<Item = BlockExtent<'_>> {
        let inputs = std::iter::once(self.inputs).chain(self.blocks.iter().map(|b| b.stage.columns()));
        self.blocks.iter().zip(inputs).enumerate().map(|(l, (block, inputs))| BlockExtent {
            name: format!("layers.{l}"),
            first: l == 0,
            inputs,
            outputs: block.stage.columns(),
            dropout: block.around.dropout > 0.0,
            batch_norm: block.around.batch_norm,
            activation: block.around.activation.is_some(),
            residual: block.around.residual,
            kept: Box::new(|nodes| block.stage.kept_bytes(nodes)),
        })
    }
    /// Parameters before training, from a seed.
    ///
    /// # Errors
    /// Out of memory.
    pub fn start(&self, backend: &B, seed: u64) -> Result<Parameters<B, T>, B::Error> {
        Parameters::new(backend, &self.layout, seed)
    }

    pub(crate) fn check(&self, graph: &Graph<B, T::Real>, parameters: &Parameters<B, T>, x: &Features<B, T>) -> Result<(), Error> {
        let size = |what, expected: usize, found: usize| match expected == found {
            true => Ok(()),
            false => Err(Error::Size { what, expected: expected as u64, found: found as u64 }),
        };
        size("rows of the features", graph.nodes(), x.shape().0)?;
        size("columns of the features", self.inputs, x.shape().1)?;
        if !Arc::ptr_eq(parameters.layout(), &self.layout) && **parameters.layout() != *self.layout {
            return Err(Error::Combination { what: "parameters of another model", why: "names or shapes differ" });
        }
        Ok(())
    }
    pub(crate) fn pass<'a>(
        &self,
        layer: usize,
        graph: &'a Graph<B, T::Real>,
        parameters: &'a Parameters<B, T>,
        mode: Mode,
    ) -> Pass<'a, B, T> {
        Pass { graph, parameters, mode, layer: (layer as u32, self.blocks.len() as u32) }
    }
    /// Logits of every node.
    ///
    /// # Errors
    /// [`Error::Size`], [`Error::Combination`], or the backend's.
    pub fn infer(&self, graph: &Graph<B, T::Real>, parameters: &Parameters<B, T>, x: &Features<B, T>) -> Result<Dense<B, T>, B::Error> {
        self.check(graph, parameters, x).map_err(refused::<B>)?;
        self.run(graph, parameters, x, Mode::Infer, None)
    }
    /// Logits of every node, and what [`Model::backward`] needs.
    ///
    /// # Errors
    /// As [`Model::infer`].
    #[allow(clippy::type_complexity)] // a pair
    pub fn forward(
        &self,
        graph: &Graph<B, T::Real>,
        parameters: &Parameters<B, T>,
        x: &Features<B, T>,
        mode: Mode,
    ) -> Result<(Dense<B, T>, Tape<B, T>), B::Error> {
        self.check(graph, parameters, x).map_err(refused::<B>)?;
        let mut tape = Vec::with_capacity(self.blocks.len());
        let logits = self.run(graph, parameters, x, mode, Some(&mut tape))?;
        Ok((logits, Tape(tape)))
    }
    fn run(
        &self,
        graph: &Graph<B, T::Real>,
        parameters: &Parameters<B, T>,
        x: &Features<B, T>,
        mode: Mode,
        mut tape: Option<&mut Vec<Kept<B, T>>>,
    ) -> Result<Dense<B, T>, B::Error> {
        let mut x = x.clone();
        for (l, block) in self.blocks.iter().enumerate() {
            let pass = self.pass(l, graph, parameters, mode);
            let input = match pass.dropout(block.around.dropout, 0) {
                Some(dropout) => x.dropout(dropout)?,
                None => x.clone(),
            };
            let (mut y, stage) = block.stage.forward(&pass, &input)?;
            let mut norm = None;
            if let Some((gamma, beta)) = block.norm {
                let made = batch_norm(&y, Some((&parameters.real(gamma)?, &parameters.real(beta)?)), EPSILON)?;
                let before = std::mem::replace(&mut y, made.y.clone());
                norm = Some((before, made));
            }
            let mut value = None;
            if let Some(f) = block.around.activation {
                y = map(&y).activation(f).eval()?;
                value = Some(y.clone());
            }
            if block.around.residual {
                y = map(&y).add(x.as_dense("a residual")?).eval()?;
            }
            if let Some(tape) = tape.as_deref_mut() {
                tape.push(Kept { input, stage, norm, value });
            }
            x = Features::Dense(y);
        }
        Ok(x.as_dense("a model without layers")?.clone())
    }
    /// Writes the gradients of all parameters, from that of the logits; the graph, parameters and mode are those of the forward pass.
    ///
    /// # Errors
    /// The backend's.
    pub fn backward(
        &self,
        graph: &Graph<B, T::Real>,
        parameters: &Parameters<B, T>,
        mode: Mode,
        tape: Tape<B, T>,
        dlogits: Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
    ) -> Result<(), B::Error> {
        let mut dy = dlogits;
        for (l, (block, kept)) in self.blocks.iter().zip(tape.0).enumerate().rev() {
            let pass = self.pass(l, graph, parameters, mode);
            let past = block.around.residual.then(|| dy.clone());
            if let Some((f, value)) = block.around.activation.zip(kept.value) {
                dy = map(&dy).activation_gradient(f, &value).eval()?;
            }
            if let Some(((gamma, beta), (before, made))) = block.norm.zip(kept.norm) {
                let (dx, dgamma, dbeta) = batch_norm_backward(&before, &made, Some(&parameters.real(gamma)?), EPSILON, &dy)?;
                gradients.set(gamma, &dgamma)?;
                gradients.set(beta, &dbeta)?;
                dy = dx;
            }
            let Some(dx) = block.stage.backward(&pass, &kept.input, kept.stage, &dy, gradients, l > 0)? else { continue };
            let mut op = map(&dx);
            let dropout = pass.dropout(block.around.dropout, 0);
            if let Some(dropout) = dropout {
                op = op.dropout(dropout);
            }
            if let Some(past) = &past {
                op = op.add(past);
            }
            dy = if dropout.is_some() || past.is_some() { op.eval()? } else { dx };
        }
        Ok(())
    }
}
