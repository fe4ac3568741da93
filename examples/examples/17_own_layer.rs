//! A layer of one's own, trained beside one of the library: the mean over a node and its neighbours of a linear map, `D^-1 (A + I) X W`.

use bitgraph::gnn::*;
use bitgraph::prelude::*;
use bitgraph::tensor::ops::{gemm, spmm};
use bitgraph::tensor::{Activation, Dense, TensorBackend};

struct Mean(ParameterId, usize);

impl<B: TensorBackend, T: Float> Layer<B, T> for Mean {
    type Kept = ();
    fn columns(&self) -> usize {
        self.1
    }
    fn forward(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>) -> Result<(Dense<B, T>, ()), B::Error> {
        let h = x.times(&pass.parameters.weight(self.0)?)?;
        Ok((spmm(pass.graph.adjacency()?, &h).own(1.0).scale_rows(&pass.graph.degree_powers(-1.0)?).eval()?, ()))
    }
    #[rustfmt::skip]
    fn backward(
        &self, pass: &Pass<'_, B, T>, x: &Features<B, T>, (): (), dy: &Dense<B, T>, to: &mut Gradients<B, T::Real>, wanted: bool,
    ) -> Result<Option<Dense<B, T>>, B::Error> {
        let (d, w) = (pass.graph.degree_powers(-1.0)?, pass.parameters.weight(self.0)?);
        let dh = spmm(pass.graph.adjacency()?, dy).transpose().own(1.0).scale_columns(&d).eval()?;
        x.weight_gradient(&dh, to.slot(self.0)?)?;
        wanted.then(|| gemm(&dh, &w).transpose_b().eval()).transpose()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let set = data::open("planted:600:4:12".as_ref(), &Control::default())?;
    let (inputs, classes) = (set.features().shape().1, set.labels().classes());
    let start = Start::Glorot { inputs, outputs: 16 };
    let around = Around { dropout: 0.5, activation: Some(Activation::Relu), ..Around::default() };
    let model = Model::new("mean", inputs).layer(around, |d| Mean(d.parameter("w", (inputs, 16), start), 16))?;
    let model = model.layer(Around::default(), |d| layers::Gcn::new(d, classes))?;
    let trained = train(&model, &set.task::<_, f32>(&Cpu::new(), 0)?, &Architecture::Gcn.recipe(classes).training, 1, |_| ())?;
    assert!(trained.best.scores.test_accuracy > 1.5 / classes as f64, "better than a guess");
    Ok(())
}
