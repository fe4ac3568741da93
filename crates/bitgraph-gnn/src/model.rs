//! Models: layers with what stands around them, one after the other.

mod extent;

pub(crate) use extent::BlockExtent;

use crate::graph::{Moments, Statistics};
use crate::layer::{Erased, Stage};
use crate::layers::drops_here;
use crate::readout::{Head, HeadKept};
use crate::sign::through_sign;
use crate::step::EPSILON;
use crate::{
    Before, Declare, End, Error, Features, Float, Gradients, Graph, Layer, Layout, LogitsGradient, Mode, ParameterId, Parameters, Pass,
    Readout, Start, refused,
};
use bitgraph_tensor::ops::{BatchNormalised, batch_norm, batch_norm_backward, gemm, map, moments};
use bitgraph_tensor::{Activation, Dense, Dropout, TensorBackend};
use std::sync::Arc;

/// What stands around a layer, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Around {
    /// The probability that an element of the input is dropped in training.
    pub dropout: f64,
    /// Whether columns of the result are normalised by the statistics of all nodes, at inference too (there by those of some nodes where the
    /// graph says so: [`Graph::with_statistics_of`], [`Graph::with_statistics`]), and then by a learned factor and summand.
    pub batch_norm: bool,
    /// What the result goes through then.
    pub activation: Option<Activation>,
    /// Whether signs are what goes on, -1 and 1: gradients go through where the argument is at most 1 in magnitude.
    pub sign: bool,
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

/// Layers one after the other; the result of the last one are logits, a column for each class. With read-outs there is a row for each of
/// the graphs that the graph is made of, and what the read-outs give is added up. The values of the parameters are apart.
pub struct Model<B: TensorBackend, T: Float> {
    name: String,
    inputs: usize,
    blocks: Vec<Block<B, T>>,
    /// Read-outs, each with the number of blocks before it.
    heads: Vec<(usize, Head)>,
    layout: Arc<Layout>,
}

/// What a forward pass left for the backward pass.
pub struct Tape<B: TensorBackend, T: Float> {
    blocks: Vec<Kept<B, T>>,
    heads: Vec<HeadKept<B, T>>,
}

struct Kept<B: TensorBackend, T: Float> {
    input: Features<B, T>,
    stage: Erased,
    norm: Option<(Dense<B, T>, BatchNormalised<B, T>)>,
    value: Option<Dense<B, T>>,
    /// The factor of the dropout of the next layer's input, where `value` has gone through it.
    dropped: Option<f64>,
    /// What signs were taken of.
    argument: Option<Dense<B, T>>,
}

impl<B: TensorBackend, T: Float> Model<B, T> {
    /// A model without layers, of so many input columns. Checkpoints carry the name.
    #[must_use]
    pub fn new(name: impl Into<String>, inputs: usize) -> Self {
        Self { name: name.into(), inputs, blocks: Vec::new(), heads: Vec::new(), layout: Arc::default() }
    }
    /// One more layer: `make` declares its parameters, which are named by the layer's number.
    ///
    /// # Errors
    /// [`Error::Setting`] for a dropout that is no probability below 1, [`Error::Size`] for a residual around a layer that changes the number
    /// of columns, [`Error::Combination`] for one around signs.
    pub fn layer<L: Layer<B, T>>(mut self, around: Around, make: impl FnOnce(&mut Declare<'_>) -> L) -> Result<Self, Error> {
        if !(0.0..1.0).contains(&around.dropout) {
            return Err(Error::Setting { what: "dropout", found: around.dropout, allowed: "from 0 to below 1" });
        }
        let prefix = format!("layers.{}", self.blocks.len());
        let inputs = self.width();
        let layout = Arc::make_mut(&mut self.layout);
        let layer = make(&mut Declare::new(layout, prefix.clone(), inputs));
        let outputs = Layer::columns(&layer);
        if around.residual && inputs != outputs {
            let what = "columns of a layer with a residual";
            return Err(Error::Size { what, expected: inputs as u64, found: outputs as u64 });
        }
        if around.residual && around.sign {
            return Err(Error::Combination { what: "a residual around signs", why: "a sum of signs and floats is no sign" });
        }
        let norm = around.batch_norm.then(|| {
            let gamma = layout.declare(format!("{prefix}.norm.gamma"), (1, outputs), Start::Constant(1.0));
            (gamma, layout.declare(format!("{prefix}.norm.beta"), (1, outputs), Start::Constant(0.0)))
        });
        self.blocks.push(Block { around, stage: Box::new(layer), norm });
        Ok(self)
    }
    /// A read-out of what the layers until here give, mapped to so many classes, with dropout of the result.
    ///
    /// # Errors
    /// [`Error::Setting`] for a dropout that is no probability below 1, [`Error::Size`] for other classes than those of a read-out before.
    pub fn read_out(self, readout: Readout, classes: usize, dropout: f64) -> Result<Self, Error> {
        let start = Start::Glorot { inputs: self.width(), outputs: classes };
        self.read_out_from(readout, (classes, start), dropout)
    }
    /// The same, of sums of signs: by Glorot's rule few classes would have them begin far apart, as signs vary more than what is rectified.
    ///
    /// # Errors
    /// As [`Model::read_out`].
    pub(crate) fn read_out_signs(self, readout: Readout, classes: usize, dropout: f64) -> Result<Self, Error> {
        let start = Start::Within(1.0 / (self.width().max(1) as f64).sqrt());
        self.read_out_from(readout, (classes, start), dropout)
    }
    fn read_out_from(mut self, readout: Readout, (classes, start): (usize, Start), dropout: f64) -> Result<Self, Error> {
        if let Some(expected) = self.heads.first().map(|(_, head)| head.classes()).filter(|&n| n != classes) {
            return Err(Error::Size { what: "classes of a read-out", expected: expected as u64, found: classes as u64 });
        }
        let (width, at) = (self.width(), self.blocks.len());
        let prefix = format!("readouts.{}", self.heads.len());
        let mut declare = Declare::new(Arc::make_mut(&mut self.layout), prefix, width);
        self.heads.push((at, Head::new(&mut declare, readout, (classes, start), dropout)?));
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
        self.heads.first().map_or_else(|| self.width(), |(_, head)| head.classes())
    }
    /// Columns of what the last layer gives.
    fn width(&self) -> usize {
        self.blocks.last().map_or(self.inputs, |b| b.stage.columns())
    }
    pub(crate) fn blocks(&self) -> &[Block<B, T>] {
        &self.blocks
    }
    /// Whether there is a result for each graph, not for each node.
    pub fn reads_out(&self) -> bool {
        !self.heads.is_empty()
    }
    /// The read-outs after so many layers.
    pub(crate) fn heads_at(&self, at: usize) -> impl Iterator<Item = (usize, &Head)> {
        self.heads.iter().enumerate().filter(move |(_, (place, _))| *place == at).map(|(k, (_, head))| (k, head))
    }
    /// How many columns each batch normalisation has, in their order.
    pub fn normalised_columns(&self) -> Vec<usize> {
        self.blocks.iter().filter(|b| b.norm.is_some()).map(|b| b.stage.columns()).collect()
    }
    /// Names and shapes of the parameters.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }
    /// Whether a layer's result goes through the dropout of the next one's input before it is kept: what a ReLU made is wanted for nothing
    /// else then, and its gradient can be told from what is left of it.
    fn drops_result(&self, l: usize) -> bool {
        let (block, next) = (&self.blocks[l], self.blocks.get(l + 1));
        let relu =
            block.around.activation == Some(Activation::Relu) && block.norm.is_none() && !block.around.sign && !block.around.residual;
        let read = self.heads.iter().any(|(at, _)| *at == l + 1);
        relu && !read && next.is_some_and(|next| next.around.dropout > 0.0 && !next.around.residual)
    }
    /// What the gradient of layer `l`'s input goes through before it is that of the result of the layer before, of which that much was kept, or
    /// of its normalisation: none where something else comes between.
    fn before<'a>(&self, l: usize, kept: &'a Kept<B, T>, dropped: Option<Dropout>) -> Option<Before<'a, B, T>> {
        let (last, residual) = (&self.blocks[l.checked_sub(1)?].around, self.blocks[l].around.residual);
        if residual || last.residual || last.sign || self.heads.iter().any(|(at, _)| *at == l) {
            return None;
        }
        let activation = Some((last.activation?, kept.value.as_ref()?));
        Some(match kept.dropped.filter(|_| dropped.is_some()) {
            // Of a result that was dropped, what is zero has no gradient.
            Some(factor) => Before { dropout: None, factor: Some(factor), activation },
            None => Before { dropout: dropped, factor: None, activation },
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
        if self.heads.last().is_some_and(|(at, _)| *at < self.blocks.len()) {
            return Err(Error::Combination { what: "a layer after the last read-out", why: "nothing follows from it" });
        }
        if !Arc::ptr_eq(parameters.layout(), &self.layout) && **parameters.layout() != *self.layout {
            return Err(Error::Combination { what: "parameters of another model", why: "names or shapes differ" });
        }
        if let Some(Statistics::Known(known)) = graph.statistics() {
            let columns = self.normalised_columns();
            size("statistics of batch normalisations", columns.len(), known.len())?;
            columns.iter().zip(known).try_for_each(|(n, (mean, _))| size("columns of the statistics", *n, mean.ncols()))?;
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
        Pass {
            graph,
            parameters,
            mode,
            layer: (layer as u32, self.blocks.len() as u32),
            of_features: false,
            column_sums: None,
            input_dropout: None,
        }
    }
    /// Logits of every node, or of every graph.
    ///
    /// # Errors
    /// [`Error::Size`], [`Error::Combination`], or the backend's.
    pub fn infer(&self, graph: &Graph<B, T::Real>, parameters: &Parameters<B, T>, x: &Features<B, T>) -> Result<Dense<B, T>, B::Error> {
        self.check(graph, parameters, x).map_err(refused::<B>)?;
        self.run(graph, parameters, x, Mode::Infer, None)
    }
    /// The statistics that every batch normalisation goes by in [`Model::infer`], in their order: what [`Graph::with_statistics`] takes.
    ///
    /// # Errors
    /// As [`Model::infer`].
    pub fn statistics(
        &self,
        graph: &Graph<B, T::Real>,
        parameters: &Parameters<B, T>,
        x: &Features<B, T>,
    ) -> Result<Vec<Moments<B, T::Real>>, B::Error> {
        let (_, tape) = self.forward(graph, parameters, x, Mode::Infer)?;
        Ok(tape.blocks.into_iter().filter_map(|kept| kept.norm).map(|(_, made)| (made.mean, made.variance)).collect())
    }
    /// Logits of every node or graph, and what [`Model::backward`] needs.
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
        let mut tape = Tape { blocks: Vec::with_capacity(self.blocks.len()), heads: Vec::with_capacity(self.heads.len()) };
        let logits = self.run(graph, parameters, x, mode, Some(&mut tape))?;
        Ok((logits, tape))
    }
    fn run(
        &self,
        graph: &Graph<B, T::Real>,
        parameters: &Parameters<B, T>,
        x: &Features<B, T>,
        mode: Mode,
        mut tape: Option<&mut Tape<B, T>>,
    ) -> Result<Dense<B, T>, B::Error> {
        let mut x = x.clone();
        let mut sum: Option<Dense<B, T>> = None;
        let mut read = |at: usize, x: &Features<B, T>, mut tape: Option<&mut Tape<B, T>>| -> Result<(), B::Error> {
            for (_, head) in self.heads.iter().filter(|(place, _)| *place == at) {
                let (y, kept) = head.forward(&self.pass(at.saturating_sub(1), graph, parameters, mode), at, x)?;
                sum = Some(match sum.take() {
                    Some(sum) => map(&y).add(&sum).eval()?,
                    None => y,
                });
                if let Some(tape) = tape.as_deref_mut() {
                    tape.heads.push(kept);
                }
            }
            Ok(())
        };
        read(0, &x, tape.as_deref_mut())?;
        let mut normalised = 0;
        // Whether the layer before dropped what it gives.
        let mut dropped = false;
        for (l, block) in self.blocks.iter().enumerate() {
            let mut pass = self.pass(l, graph, parameters, mode);
            let dropout = pass.dropout(block.around.dropout, 0).filter(|_| !dropped);
            pass.of_features = l == 0 && dropout.is_none();
            if block.stage.drops_input() && drops_here((&pass, block.stage.columns()), &x) {
                pass.input_dropout = dropout;
            }
            let input = match dropout.filter(|_| pass.input_dropout.is_none()) {
                Some(dropout) => x.dropout(dropout)?,
                None => x.clone(),
            };
            let drop = if self.drops_result(l) {
                let next = self.pass(l + 1, graph, parameters, mode);
                self.blocks.get(l + 1).and_then(|after| next.dropout(after.around.dropout, 0))
            } else {
                None
            };
            dropped = drop.is_some();
            // After a normalisation the activation is no part of the layer.
            let (inside, outside) = if block.norm.is_some() { (None, block.around.activation) } else { (block.around.activation, None) };
            let (mut y, stage) = block.stage.forward(&pass, &input, End { activation: inside, dropout: drop })?;
            let mut norm = None;
            if let Some((gamma, beta)) = block.norm {
                let (gamma, beta) = (parameters.real(gamma)?, parameters.real(beta)?);
                let made = if mode == Mode::Infer && graph.statistics().is_some() {
                    let (mean, variance) = moments_of(graph, normalised, &y)?;
                    let y = map(&y).batch_norm((&mean, &variance), Some((&gamma, &beta)), EPSILON).eval()?;
                    BatchNormalised { y, mean, variance }
                } else {
                    batch_norm(&y, Some((&gamma, &beta)), EPSILON)?
                };
                normalised += 1;
                let before = std::mem::replace(&mut y, made.y.clone());
                norm = Some((before, made));
            }
            if let Some(f) = outside {
                y = map(&y).activation(f).eval()?;
            }
            let value = block.around.activation.map(|_| y.clone());
            let mut argument = None;
            if block.around.sign {
                let signs = map(&y).sign().eval()?;
                argument = Some(std::mem::replace(&mut y, signs));
            }
            if block.around.residual {
                y = map(&y).add(x.as_dense("a residual")?).eval()?;
            }
            if let Some(tape) = tape.as_deref_mut() {
                tape.blocks.push(Kept { input, stage, norm, value, dropped: drop.map(|d| d.factor()), argument });
            }
            x = Features::Dense(y);
            read(l + 1, &x, tape.as_deref_mut())?;
        }
        sum.map_or_else(|| Ok(x.as_dense("a model without layers")?.clone()), Ok)
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
        dlogits: impl Into<LogitsGradient<B, T>>,
        gradients: &mut Gradients<B, T::Real>,
    ) -> Result<(), B::Error> {
        let Tape { blocks, heads } = tape;
        let LogitsGradient { gradient: dlogits, column_sums } = dlogits.into();
        // Without read-outs it is gone after the last layer.
        let (mut above, of_graphs) = if self.heads.is_empty() { (Some(dlogits), None) } else { (None, Some(dlogits)) };
        // A drop of the input of the layer after, through which its gradient has yet to go.
        let mut dropped: Option<Dropout> = None;
        let mut left: Vec<_> = self.heads.iter().zip(heads).collect();
        // What read-outs of the same place give comes to the gradient of the layers after it.
        let mut read = |at: usize, mut above: Option<Dense<B, T>>, gradients: &mut Gradients<B, T::Real>| {
            let Some(dlogits) = &of_graphs else { return Ok(above) };
            while let Some(((_, head), kept)) = left.pop_if(|((place, _), _)| *place == at) {
                let pass = self.pass(at.saturating_sub(1), graph, parameters, mode);
                above = match (head.backward(&pass, at, kept, dlogits, gradients)?, above) {
                    (Some(dx), Some(above)) => Some(map(&dx).add(&above).eval()?),
                    (dx, above) => dx.or(above),
                };
            }
            Ok::<_, B::Error>(above)
        };
        let mut kept_before = blocks;
        // Whether what comes from above has gone through the activation of the layer at hand.
        let mut through = false;
        for (l, block) in self.blocks.iter().enumerate().rev() {
            let Some(kept) = kept_before.pop() else { break };
            let alone = block.around.residual || block.around.activation.is_none() || self.heads.iter().any(|(at, _)| *at == l + 1);
            if alone && let (Some(dropout), Some(dx)) = (dropped.take(), &above) {
                above = Some(map(dx).dropout(dropout).eval()?);
            }
            above = read(l + 1, above, gradients)?;
            let Some(mut dy) = above.take() else { continue };
            let mut pass = self.pass(l, graph, parameters, mode);
            // Nothing comes between the last layer's result and the logits.
            let last = l + 1 == self.blocks.len() && self.heads.is_empty();
            if last && block.norm.is_none() && block.around.activation.is_none() && !block.around.sign {
                pass.column_sums = column_sums.as_ref();
            }
            let past = block.around.residual.then(|| dy.clone());
            if let Some(argument) = &kept.argument {
                dy = through_sign(argument, &dy)?;
            }
            if let Some((f, value)) = block.around.activation.zip(kept.value).filter(|_| !std::mem::take(&mut through)) {
                // The gradient of a result that was dropped itself came through here with that of the next layer's input.
                debug_assert!(kept.dropped.is_none());
                let op = match dropped.take() {
                    Some(dropout) => map(&dy).dropout(dropout),
                    None => map(&dy),
                };
                dy = op.activation_gradient(f, &value).eval()?;
            }
            if let Some(((gamma, beta), (before, made))) = block.norm.zip(kept.norm) {
                let (dx, dgamma, dbeta) = batch_norm_backward(&before, &made, Some(&parameters.real(gamma)?), EPSILON, &dy)?;
                gradients.set(gamma, &dgamma)?;
                gradients.set(beta, &dbeta)?;
                dy = dx;
            }
            dropped = pass.dropout(block.around.dropout, 0);
            let before = kept_before.last().and_then(|value| self.before(l, value, dropped));
            let wanted = (l > 0).then(|| before.as_ref().unwrap_or(&Before::BARE));
            let Some(dx) = block.stage.backward(&pass, &kept.input, kept.stage, &dy, gradients, wanted)? else { continue };
            through = before.is_some();
            if through {
                dropped = None;
            }
            above = Some(match &past {
                Some(past) => {
                    let op = map(&dx);
                    if let Some(dropout) = dropped.take() { op.dropout(dropout) } else { op }.add(past).eval()?
                }
                None => dx,
            });
        }
        if let (Some(dropout), Some(dx)) = (dropped, &above) {
            above = Some(map(dx).dropout(dropout).eval()?);
        }
        read(0, above, gradients)?;
        Ok(())
    }
}

/// The statistics that batch normalisation number `number` of a model goes by at inference over `y`: those that the graph knows, those of the
/// nodes that it names, or those of all nodes.
pub(crate) fn moments_of<B: TensorBackend, T: Float>(
    graph: &Graph<B, T::Real>,
    number: usize,
    y: &Dense<B, T>,
) -> Result<Moments<B, T::Real>, B::Error> {
    let shares = match graph.statistics() {
        None => return moments(y),
        Some(Statistics::Known(known)) => {
            let missing =
                || Error::Size { what: "statistics of batch normalisations", expected: number as u64 + 1, found: known.len() as u64 };
            return known.get(number).cloned().ok_or_else(|| refused::<B>(missing()));
        }
        Some(Statistics::Nodes(shares)) => shares,
    };
    let real = bitgraph_backend::same_type(y.clone()).map_or_else(|| map(y).eval_as::<T::Real>(), Ok)?;
    let mean = gemm(shares, &real).transpose_a().eval_as::<T::Real>()?;
    let apart = map(&real).bias(&map(&mean).times(-1.0).eval_as()?).eval_as::<T::Real>()?;
    let squares = map(&apart).multiply(&apart).eval_as::<T::Real>()?;
    Ok((mean, gemm(shares, &squares).transpose_a().eval_as::<T::Real>()?))
}
