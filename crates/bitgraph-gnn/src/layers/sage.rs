//! Layers that map a node and its neighbours by weights of their own.

use super::Affine;
use super::{holds_sums, product_gradient, summed_first};
use crate::step::{Compile, Step, Value, activated, and};
use crate::sums::Together;
use crate::{Before, Declare, End, Features, Float, Gradients, Graph, Layer, ParameterId, Pass, Start};
use bitgraph_tensor::ops::{Operation, SparseDense, gemm, map};
use bitgraph_tensor::{Dense, TensorBackend};

/// How neighbours are taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SageKind {
    /// Their mean: GraphSAGE. Source: Hamilton, Ying, Leskovec, 2017.
    Mean,
    /// Their sum: GraphConv. Source: Morris et al., 2019.
    Sum,
    /// Their sum, each divided by the roots of its degree and of the node's, plus one as [`Gcn`](super::Gcn) has it: hubs do not drown
    /// the others.
    Scaled,
}

/// `X W + aggregate(A) X V + b`.
#[derive(Clone, Copy, Debug)]
pub struct Sage {
    own: Affine,
    neighbours: ParameterId,
    kind: SageKind,
    outputs: usize,
}

impl Sage {
    /// A layer of so many outputs.
    pub fn new(declare: &mut Declare<'_>, outputs: usize, kind: SageKind) -> Self {
        let inputs = declare.columns();
        let neighbours = declare.parameter("weight_neighbours", (inputs, outputs), Start::Glorot { inputs, outputs });
        Self { own: Affine::new(declare, outputs), neighbours, kind, outputs }
    }
    fn aggregate<B: TensorBackend, T: Float>(
        &self,
        graph: &Graph<B, T::Real>,
        x: &Dense<B, T>,
    ) -> Result<Operation<SparseDense<B, T>>, B::Error> {
        Ok(match self.kind {
            SageKind::Mean => graph.mean(x)?,
            SageKind::Sum => graph.sum(x)?,
            SageKind::Scaled => {
                let d = graph.degree_powers(-0.5)?;
                graph.sum(x)?.scale_rows(&d).scale_columns(&d)
            }
        })
    }
    /// The gradient of what is aggregated, from that of the result.
    fn aggregate_gradient<B: TensorBackend, T: Float>(
        &self,
        graph: &Graph<B, T::Real>,
        dy: &Dense<B, T>,
    ) -> Result<Operation<SparseDense<B, T>>, B::Error> {
        Ok(match self.kind {
            SageKind::Mean => graph.mean_gradient(dy)?,
            SageKind::Sum => graph.sum(dy)?.transpose(),
            SageKind::Scaled => {
                let d = graph.degree_powers(-0.5)?;
                graph.sum(&map(dy).times_rows(&d).eval()?)?.transpose().scale_rows(&d)
            }
        })
    }
    /// The result, and what is kept.
    #[allow(clippy::type_complexity)] // a pair
    fn result<B: TensorBackend, T: Float>(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
        end: End,
    ) -> Result<(Dense<B, T>, Option<Dense<B, T>>), B::Error> {
        let Some(dense) = summed_first(pass, x, self.outputs, self.kind != SageKind::Sum) else {
            return Ok((end.of_sums(self.sums(pass, x)?)?, None));
        };
        let how = match self.kind {
            SageKind::Mean => Together::Mean,
            SageKind::Sum => Together::Sum,
            SageKind::Scaled => Together::Scaled,
        };
        let together = pass.together(how, dense, || self.aggregate(pass.graph, dense)?.eval())?;
        let own = gemm(dense, &pass.parameters.weight(self.own.weight)?).eval()?;
        let product = gemm(&together, &pass.parameters.weight(self.neighbours)?).add(&own).bias(&pass.parameters.real(self.own.bias)?);
        Ok((end.within(product).eval()?, Some(together)))
    }
    /// The operation that gives the result.
    fn sums<B: TensorBackend, T: Float>(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
    ) -> Result<Operation<SparseDense<B, T>>, B::Error> {
        let own = x.times(&pass.parameters.weight(self.own.weight)?)?;
        let h = x.times(&pass.parameters.weight(self.neighbours)?)?;
        Ok(self.aggregate(pass.graph, &h)?.add(&own).bias(&pass.parameters.real(self.own.bias)?))
    }
}

impl<B: TensorBackend, T: Float> Layer<B, T> for Sage {
    /// What was taken together of neighbours, where that comes before the product.
    type Kept = Option<Dense<B, T>>;

    fn columns(&self) -> usize {
        self.outputs
    }
    fn kept_bytes(&self, _: u64) -> u64 {
        0
    }
    fn work_bytes(&self, nodes: u64, _: u64, inputs: u64) -> [u64; 2] {
        let (own, outputs) = (size_of::<T>() as u64, self.outputs as u64);
        // As many for the scaled gradient as for those of the input.
        [2 * nodes * outputs * own, nodes * (outputs + (2 * inputs).max(outputs)) * own]
    }
    fn reads_loops(&self) -> bool {
        false
    }
    fn reads_transpose(&self) -> bool {
        false
    }
    fn compile<'a>(&'a self, at: &Compile<'a, '_, B, T>) -> Result<Option<Vec<Step<'a, B, T>>>, B::Error> {
        let (own, neighbours) = (at.parameters.weight(self.own.weight)?, at.parameters.weight(self.neighbours)?);
        let bias = at.parameters.real(self.own.bias)?;
        let (graph, activation) = (at.graph, at.activation);
        let held = vec![("weights", own.bytes() + neighbours.bytes()), ("bias", bias.bytes())];
        let name = format!("X W, then A (X W'): spmm, X W, bias{}", and(activation));
        Ok(Some(vec![Step::new(name, held, move |x: &Value<B, T>| {
            let x = x.features()?;
            let (own, h) = (x.times(&own)?, x.times(&neighbours)?);
            let sums = self.aggregate(graph, &h)?.add(&own).bias(&bias);
            Ok(Value::dense(activated(sums, activation).eval()?))
        })]))
    }
    fn sums_first(&self) -> bool {
        holds_sums::<T>(self.kind != SageKind::Sum)
    }
    fn forward(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>) -> Result<(Dense<B, T>, Self::Kept), B::Error> {
        self.result(pass, x, End::default())
    }
    fn forward_to(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>, end: End) -> Result<(Dense<B, T>, Self::Kept), B::Error> {
        self.result(pass, x, end)
    }
    fn backward(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
        together: Self::Kept,
        dy: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
        wanted: bool,
    ) -> Result<Option<Dense<B, T>>, B::Error> {
        self.backward_to(pass, x, together, dy, gradients, wanted.then_some(&Before::BARE))
    }
    fn backward_to(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
        together: Self::Kept,
        dy: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
        wanted: Option<&Before<'_, B, T>>,
    ) -> Result<Option<Dense<B, T>>, B::Error> {
        if let Some(together) = together {
            self.own.gradients(pass, (&together, self.neighbours), dy, gradients)?;
            return product_gradient(self.own.weight, x, dy, pass.parameters, gradients, None);
        }
        match x {
            Features::Dense(x) => self.own.gradients(pass, (x, self.own.weight), dy, gradients)?,
            _ => {
                self.own.bias_gradient(pass, dy, gradients)?;
                x.weight_gradient(dy, gradients.slot(self.own.weight)?)?;
            }
        }
        let dh = self.aggregate_gradient(pass.graph, dy)?.eval()?;
        x.weight_gradient(&dh, gradients.slot(self.neighbours)?)?;
        let own = wanted.map(|_| gemm(dy, &pass.parameters.weight(self.own.weight)?).transpose_b().eval()).transpose()?;
        let neighbours = pass.parameters.weight(self.neighbours)?;
        let last = |(own, before): (_, &Before<'_, B, T>)| before.within(gemm(&dh, &neighbours).transpose_b().add(&own)).eval();
        own.zip(wanted).map(last).transpose()
    }
}
