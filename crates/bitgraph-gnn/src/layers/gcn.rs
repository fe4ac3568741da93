//! Graph convolution.

use super::{Affine, product_gradient, summed_first};
use crate::step::{Compile, Step, Value, activated, and};
use crate::sums::Together;
use crate::{Before, Declare, End, Features, Float, Gradients, KnownLayer, Layer, Pass};
use bitgraph_tensor::ops::{Operation, SparseDense, gemm, map};
use bitgraph_tensor::{Dense, TensorBackend};

/// `D^-1/2 (A + I) D^-1/2 X W + b`, where `D` holds the degrees, a node itself counted. Source: Kipf, Welling, 2017.
#[derive(Clone, Copy, Debug)]
pub struct Gcn {
    affine: Affine,
    outputs: usize,
}

impl Gcn {
    /// A layer of so many outputs.
    pub fn new(declare: &mut Declare<'_>, outputs: usize) -> Self {
        Self { affine: Affine::new(declare, outputs), outputs }
    }
    /// The result, and what is kept.
    #[allow(clippy::type_complexity)] // a pair
    fn result<B: TensorBackend, T: Float>(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
        end: End,
    ) -> Result<(Dense<B, T>, Option<Dense<B, T>>), B::Error> {
        let Some(x) = summed_first(pass, x, self.outputs, true) else { return Ok((end.of_sums(self.sums(pass, x)?)?, None)) };
        let d = pass.graph.degree_powers(-0.5)?;
        let sums = pass.together(Together::Convolution, x, || {
            let dropped = pass.input_dropout.into_iter().fold(map(x), |x, dropout| x.dropout(dropout));
            pass.graph.sum_with_own(&dropped.times_rows(&d).eval()?)?.scale_rows(&d).eval()
        })?;
        let product = gemm(&sums, &pass.parameters.weight(self.affine.weight)?).bias(&pass.parameters.real(self.affine.bias)?);
        Ok((end.within(product).eval()?, Some(sums)))
    }
    /// The operation that gives the result.
    fn sums<B: TensorBackend, T: Float>(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
    ) -> Result<Operation<SparseDense<B, T>>, B::Error> {
        let d = pass.graph.degree_powers(-0.5)?;
        // Rows are scaled before they are summed: once for a node, not once for an edge.
        let h = x.times_scaled(&pass.parameters.weight(self.affine.weight)?, &d)?;
        Ok(pass.graph.sum_with_own(&h)?.scale_rows(&d).bias(&pass.parameters.real(self.affine.bias)?))
    }
}

impl<B: TensorBackend, T: Float> Layer<B, T> for Gcn {
    /// The sums over neighbours, where they come before the product.
    type Kept = Option<Dense<B, T>>;

    fn columns(&self) -> usize {
        self.outputs
    }
    fn kept_bytes(&self, _: u64) -> u64 {
        0
    }
    fn reads_transpose(&self) -> bool {
        false
    }
    fn known(&self) -> Option<KnownLayer> {
        Some(KnownLayer::Gcn { parameters: [self.affine.weight, self.affine.bias] })
    }
    /// `A (X W)`, or `(A X) W` where fewer columns are to be aggregated then and the product costs no more.
    fn compile<'a>(&'a self, at: &Compile<'a, '_, B, T>) -> Result<Option<Vec<Step<'a, B, T>>>, B::Error> {
        let (weight, bias) = (at.parameters.weight(self.affine.weight)?, at.parameters.real(self.affine.bias)?);
        let (graph, activation) = (at.graph, at.activation);
        let d = graph.degree_powers(-0.5)?;
        let held = vec![("weight", weight.bytes()), ("bias", bias.bytes())];
        let after = and(activation);
        let dense = matches!(at.input, Value::Features(Features::Dense(_)));
        if dense && at.input.shape().1 < self.outputs {
            let aggregate = Step::new("A X: spmm, degrees", Vec::new(), move |x: &Value<B, T>| {
                Ok(Value::dense(graph.sum_with_own(x.as_dense()?)?.scale_rows(&d).scale_columns(&d).eval()?))
            });
            let product = Step::new(format!("(A X) W: gemm, bias{after}"), held, move |x: &Value<B, T>| {
                Ok(Value::dense(activated(gemm(x.as_dense()?, &weight).bias(&bias), activation).eval()?))
            });
            return Ok(Some(vec![aggregate, product]));
        }
        let how = if dense { "gemm" } else { "spmm of sparse features" };
        let scale = d.clone();
        let product = Step::new(format!("X W: {how}, degrees"), held, move |x: &Value<B, T>| {
            Ok(Value::dense(x.features()?.times_scaled(&weight, &scale)?))
        });
        let aggregate = Step::new(format!("A (X W): spmm, degrees, bias{after}"), Vec::new(), move |h: &Value<B, T>| {
            let sums = graph.sum_with_own(h.as_dense()?)?.scale_rows(&d).bias(&bias);
            Ok(Value::dense(activated(sums, activation).eval()?))
        });
        Ok(Some(vec![product, aggregate]))
    }
    fn sums_first(&self) -> bool {
        true
    }
    /// As it scales the features: the backward pass has no use for them.
    fn drops_input(&self) -> bool {
        true
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
        sums: Self::Kept,
        dy: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
        wanted: bool,
    ) -> Result<Option<Dense<B, T>>, B::Error> {
        self.backward_to(pass, x, sums, dy, gradients, wanted.then_some(&Before::BARE))
    }
    fn backward_to(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
        sums: Self::Kept,
        dy: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
        wanted: Option<&Before<'_, B, T>>,
    ) -> Result<Option<Dense<B, T>>, B::Error> {
        let d = pass.graph.degree_powers(-0.5)?;
        if let Some(sums) = sums {
            self.affine.gradients(pass, (&sums, self.affine.weight), dy, gradients)?;
            return Ok(None);
        }
        self.affine.bias_gradient(pass, dy, gradients)?;
        let dh = pass.graph.sum_with_own(&map(dy).times_rows(&d).eval()?)?.transpose().scale_rows(&d).eval()?;
        product_gradient(self.affine.weight, x, &dh, pass.parameters, gradients, wanted)
    }
}
