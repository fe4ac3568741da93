//! Read-outs: what the nodes of a graph say together, mapped to classes.

use crate::step::Value;
use crate::{Declare, Error, Features, Float, Gradients, Graph, ParameterId, Parameters, Pass, Start, refused};
use bitgraph_tensor::ops::{Reduce, bit_spmm, gemm, map, spmm, sum_columns};
use bitgraph_tensor::{Bits, Dense, TensorBackend};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// How the nodes of a graph are taken together, column by column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Readout {
    /// Their sum.
    #[default]
    Sum,
    /// Their mean.
    Mean,
    /// Their maximum.
    Max,
}

impl FromStr for Readout {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "sum" => Ok(Self::Sum),
            "mean" => Ok(Self::Mean),
            "max" => Ok(Self::Max),
            _ => Err(Error::Unknown { what: "read-out", found: text.to_owned(), known: "sum, mean and max" }),
        }
    }
}

impl Readout {
    const fn reduce(self) -> Reduce {
        match self {
            Self::Sum => Reduce::Sum,
            Self::Mean => Reduce::Mean,
            Self::Max => Reduce::Max,
        }
    }
    /// The name on the command line and in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Max => "max",
        }
    }
}

/// `readout(X) W + b`: a row for each graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    readout: Readout,
    weight: ParameterId,
    bias: ParameterId,
    classes: usize,
    dropout: f64,
}

/// What the backward pass of a [`Head`] needs.
pub(crate) struct HeadKept<B: TensorBackend, T: Float> {
    nodes: Dense<B, T>,
    pooled: Dense<B, T>,
    /// Of a maximum: the node that gave each element.
    chosen: Option<Dense<B, i32>>,
}

impl Head {
    pub fn new(declare: &mut Declare<'_>, readout: Readout, (classes, start): (usize, Start), dropout: f64) -> Result<Self, Error> {
        if !(0.0..1.0).contains(&dropout) {
            return Err(Error::Setting { what: "dropout", found: dropout, allowed: "from 0 to below 1" });
        }
        let inputs = declare.columns();
        let weight = declare.parameter("weight", (inputs, classes), start);
        Ok(Self { readout, weight, bias: declare.parameter("bias", (1, classes), Start::Constant(0.0)), classes, dropout })
    }
    pub fn classes(&self) -> usize {
        self.classes
    }
    pub fn readout(&self) -> Readout {
        self.readout
    }
    /// Classes of every graph from what the layers before it gave, added to those of other read-outs. Signs are summed as counts.
    pub fn infer<B: TensorBackend + Bits, T: Float>(
        &self,
        (graph, parameters): (&Graph<B, T::Real>, &Parameters<B, T>),
        x: &Value<B, T>,
        others: Option<&Dense<B, T>>,
    ) -> Result<Dense<B, T>, B::Error> {
        let members = graph.membership()?;
        let pooled = match x {
            Value::Signs(signs) if self.readout == Readout::Sum => bit_spmm(members, signs).eval_as::<T>()?,
            Value::Signs(signs) => spmm(members, &map(&signs.to_dense()?).eval_as::<T>()?).reduce(self.readout.reduce()).eval()?,
            _ => spmm(members, x.features()?.as_dense("a read-out of the features")?).reduce(self.readout.reduce()).eval()?,
        };
        let mapped = gemm(&pooled, &parameters.weight(self.weight)?).bias(&parameters.real(self.bias)?);
        match others {
            Some(others) => mapped.add(others).eval(),
            None => mapped.eval(),
        }
    }
    /// Which drop of its layer's it is: the features have none before them, and share with the first layer.
    const fn draw(at: usize) -> u32 {
        if at == 0 { 3 } else { 2 }
    }
    /// Classes of every graph from what `at` layers gave.
    #[allow(clippy::type_complexity)] // a pair
    pub fn forward<B: TensorBackend, T: Float>(
        &self,
        pass: &Pass<'_, B, T>,
        at: usize,
        x: &Features<B, T>,
    ) -> Result<(Dense<B, T>, HeadKept<B, T>), B::Error> {
        let nodes = x.as_dense("a read-out of the features")?.clone();
        let op = spmm(pass.graph.membership()?, &nodes).reduce(self.readout.reduce());
        let (pooled, chosen) = match self.readout {
            Readout::Max => op.eval_chosen().map(|(y, chosen)| (y, Some(chosen)))?,
            Readout::Sum | Readout::Mean => (op.eval()?, None),
        };
        let mapped = gemm(&pooled, &pass.parameters.weight(self.weight)?).bias(&pass.parameters.real(self.bias)?);
        let y = match pass.dropout(self.dropout, Self::draw(at)) {
            Some(dropout) => mapped.dropout(dropout).eval()?,
            None => mapped.eval()?,
        };
        Ok((y, HeadKept { nodes, pooled, chosen }))
    }
    /// Writes the gradients of weight and bias; gives that of what the layers gave, where there is one before it.
    pub fn backward<B: TensorBackend, T: Float>(
        &self,
        pass: &Pass<'_, B, T>,
        at: usize,
        kept: HeadKept<B, T>,
        dlogits: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
    ) -> Result<Option<Dense<B, T>>, B::Error> {
        let dropped = pass.dropout(self.dropout, Self::draw(at)).map(|dropout| map(dlogits).dropout(dropout).eval()).transpose()?;
        let dy = dropped.as_ref().unwrap_or(dlogits);
        gradients.set(self.bias, &sum_columns(dy)?)?;
        gemm(&kept.pooled, dy).transpose_a().into(gradients.slot(self.weight)?)?;
        if at == 0 {
            return Ok(None);
        }
        let dpooled: Dense<B, T> = gemm(dy, &pass.parameters.weight(self.weight)?).transpose_b().eval()?;
        let op = spmm(pass.graph.membership()?, &kept.nodes).reduce(self.readout.reduce());
        match (&kept.chosen, self.readout) {
            (Some(chosen), _) => op.gradient_chosen(chosen, &dpooled).map(Some),
            (None, Readout::Max) => Err(refused::<B>(Error::Combination { what: "a maximum", why: "it is not known what was chosen" })),
            (None, _) => op.gradient(&dpooled)?.eval().map(Some),
        }
    }
}
