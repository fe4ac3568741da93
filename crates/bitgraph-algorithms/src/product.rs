//! A product of the graph's matrix with a vector, as something that is planned and laid out like an algorithm: for whoever multiplies
//! often.

use crate::GraphBackend;
use bitgraph_backend::ops::mxv;
use bitgraph_backend::{Algorithm, Arranged, Definition, Error, GraphData, Mxv, Renumber, StorableSemiring, Vector};
use bitgraph_semiring::{LorLand, PlusSecond};
use bitgraph_sparse::{Permutation, Stored};

/// `y = A x` over the pattern: sums of floats, or for bits whether any is set.
#[derive(Clone, Debug)]
pub struct Product<T> {
    /// One element for each vertex.
    pub x: Vec<T>,
}

/// A type that graphs are multiplied with, and the semiring of that.
pub trait Factor: Stored {
    /// The semiring.
    type Semiring: StorableSemiring<A = Self, X = Self, Out = Self>;
    /// The name of the product in reports.
    const NAME: &'static str;
}
impl Factor for f32 {
    type Semiring = PlusSecond<f32>;
    const NAME: &'static str = "mxv_float";
}
impl Factor for f64 {
    type Semiring = PlusSecond<f64>;
    const NAME: &'static str = "mxv_float";
}
impl Factor for bool {
    type Semiring = LorLand<bool>;
    const NAME: &'static str = "mxv_bool";
}

impl<T: Factor> Algorithm for Product<T> {
    type Output = Vec<T>;
    const NAME: &'static str = T::NAME;
    const INCOMING: bool = false;

    fn check(&self, graph: &GraphData) -> Result<(), Error> {
        let (expected, found) = (graph.nodes() as u64, self.x.len() as u64);
        if expected == found { Ok(()) } else { Err(Error::Shape { operation: "product", operand: "vector", expected, found }) }
    }
    fn renumbered(&self, numbers: &Permutation) -> Self {
        Self { x: numbers.permute(&self.x) }
    }
    fn restored(&self, output: Vec<T>, _: &GraphData, numbers: &Permutation) -> Vec<T> {
        numbers.restore_values(output)
    }
}

impl<B: GraphBackend + Mxv<T::Semiring>, T: Factor> Definition<B> for Product<T> {
    fn define(&self, graph: &Arranged<B>) -> Result<Vec<T>, B::Error> {
        let x = Vector::from_vec(graph.backend(), self.x.clone())?;
        Ok(mxv(T::Semiring::default(), &graph.matrix().pattern(), &x).eval()?.to_host()?.to_vec_or(T::ZERO))
    }
}
