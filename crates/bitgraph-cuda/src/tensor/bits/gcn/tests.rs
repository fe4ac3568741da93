//! Inference in one launch against the operations one by one: hidden signs exactly, logits up to rounding.

use super::{NO_COLUMN, prepare, prepare_as};
use crate::Cuda;
use crate::tensor::TensorKernels;
use crate::tensor::tests::{device, pattern};
use bitgraph_backend::Matrix;
use bitgraph_bittensor::{Packing, Scaling};
use bitgraph_generate::Stream;
use bitgraph_sparse::{Csr, FormatKind};
use bitgraph_tensor::ops::{BitGcn, BitGcnHidden, BitGcnOp, Whole, bit_gemm, bit_spmm, moments, spmm};
use bitgraph_tensor::{Dense, Signs};

const EPSILON: f64 = 1e-5;

/// Sizes of a model and its graph.
#[derive(Clone, Copy)]
struct Case {
    nodes: usize,
    inputs: usize,
    hidden: usize,
    classes: usize,
    /// Of a hundred features, those that are one.
    filled: u64,
    floats: bool,
    /// Whether factors of the first weight's columns have both signs.
    turned: bool,
}

const CASE: Case = Case { nodes: 150, inputs: 70, hidden: 64, classes: 7, filled: 12, floats: false, turned: false };

/// The operands of a model.
struct Model {
    adjacency: Matrix<Cuda>,
    scales: Dense<Cuda, f32>,
    features: Signs<Cuda>,
    feature_scales: Dense<Cuda, f32>,
    first: Signs<Cuda>,
    first_scales: Dense<Cuda, f32>,
    statistics: (Dense<Cuda, f32>, Dense<Cuda, f32>),
    first_bias: Dense<Cuda, f32>,
    second: Signs<Cuda>,
    second_scales: Dense<Cuda, f32>,
    bias: Dense<Cuda, f32>,
    floats: bool,
}

fn numbers(n: usize, seed: u64, from: f32, to: f32) -> Vec<f32> {
    let s = Stream::new(seed, 4);
    (0..n as u64).map(|k| from + (to - from) * s.below(k, 1 << 20) as f32 / (1 << 20) as f32).collect()
}
fn signs(cuda: &Cuda, (rows, columns): (usize, usize), seed: u64, filled: u64, packing: Packing) -> Signs<Cuda> {
    let s = Stream::new(seed, 5);
    let values: Vec<f32> = (0..(rows * columns) as u64).map(|k| if s.below(k, 100) < filled { 1.0 } else { -1.0 }).collect();
    Dense::from_vec(cuda, rows, columns, values).unwrap().sign(packing).unwrap()
}

impl Case {
    /// A hub, rows of all lengths around those of tasks, a node alone.
    fn graph(&self) -> Csr {
        let (n, s) = (self.nodes as u32, Stream::new(3, 6));
        let random = (0..n).filter(|i| i % 13 != 4).flat_map(|i| (0..i % 40).map(move |k| (i, u64::from(i) * 64 + u64::from(k))));
        let mut entries: Vec<(u32, u32)> = random.map(|(i, k)| (i, s.below(k, n.into()) as u32)).collect();
        entries.extend((0..n).map(|j| (1, j)));
        pattern(n, n, entries.into_iter().filter(|&(i, j)| i != j && i < n))
    }
    fn model(&self, cuda: &Cuda) -> Model {
        let csr = self.graph();
        let degrees = (0..self.nodes).map(|i| ((csr.degree(i) + 1) as f64).powf(-0.5) as f32).collect();
        let features = signs(cuda, (self.nodes, self.inputs), 1, self.filled, Packing::Rows);
        let first = signs(cuda, (self.inputs, self.hidden), 2, 50, Packing::Columns);
        let lowest = if self.turned { -1.0 } else { 0.1 };
        let first_scales = Dense::row_vector(cuda, numbers(self.hidden, 3, lowest, 1.0)).unwrap();
        let row = |n, seed| Dense::row_vector(cuda, numbers(n, seed, -1.0, 1.0)).unwrap();
        Model {
            adjacency: Matrix::new(cuda, &csr, None, FormatKind::Csr).unwrap(),
            scales: Dense::column_vector(cuda, degrees).unwrap(),
            statistics: moments(&bit_gemm(&features, &first).times_columns(&first_scales).eval().unwrap()).unwrap(),
            features,
            feature_scales: Dense::column_vector(cuda, numbers(self.nodes, 7, 0.2, 1.0)).unwrap(),
            first,
            first_scales,
            first_bias: row(self.hidden, 8),
            second: signs(cuda, (self.hidden, self.classes), 9, 50, Packing::Columns),
            second_scales: Dense::row_vector(cuda, numbers(self.classes, 10, 0.1, 1.0)).unwrap(),
            bias: row(self.classes, 11),
            floats: self.floats,
        }
    }
}

impl Model {
    fn op(&self) -> BitGcnOp<'_, Cuda> {
        let (mean, variance) = (&self.statistics.0, &self.statistics.1);
        BitGcnOp {
            adjacency: &self.adjacency,
            scales: &self.scales,
            features: &self.features,
            feature_scales: self.floats.then_some(&self.feature_scales),
            first: &self.first,
            first_scales: &self.first_scales,
            hidden: match self.floats {
                false => BitGcnHidden::Signs { mean, variance, epsilon: EPSILON },
                true => BitGcnHidden::Floats { bias: &self.first_bias },
            },
            second: &self.second,
            second_scales: &self.second_scales,
            bias: &self.bias,
        }
    }
    fn aggregated(&self, h: &Dense<Cuda, f32>) -> Dense<Cuda, f32> {
        spmm(&self.adjacency, h).own(1.0).scale_rows(&self.scales).scale_columns(&self.scales).eval().unwrap()
    }
    /// The logits by operations.
    fn expected(&self) -> Vec<f32> {
        let active = if self.floats {
            let x = self.features.clone().with_row_scales(&self.feature_scales).unwrap();
            let h = bit_gemm(&x, &self.first).times_columns(&self.first_scales).bias(&self.first_bias).eval().unwrap();
            self.aggregated(&h).sign_scaled(Packing::Rows, Scaling::RowMeans).unwrap()
        } else {
            let product = bit_gemm(&self.features, &self.first).times_columns(&self.first_scales);
            let signs = product.batch_norm((&self.statistics.0, &self.statistics.1), None, EPSILON).eval_signs().unwrap();
            bit_spmm(&self.adjacency, &signs).own().eval_signs().unwrap()
        };
        let h = bit_gemm(&active, &self.second).times_columns(&self.second_scales).bias(&self.bias).eval().unwrap();
        self.aggregated(&h).to_host().unwrap()
    }
    /// The logits of a few runs of a form, which are the same.
    fn found(&self, cuda: &Cuda, form: Whole<Box<dyn BitGcn<Cuda>>>) -> (Vec<f32>, String) {
        let Whole::Done(form) = form else { panic!("declined") };
        let (rows, columns) = (self.features.shape().0, self.second.shape().1);
        let mut first = Dense::filled(cuda, rows, columns, f32::NAN).unwrap();
        form.run(first.as_mut()).unwrap();
        let first = first.to_host().unwrap();
        for _ in 0..3 {
            // Rows that are further apart than they are long.
            let mut wide = Dense::filled(cuda, rows, columns + 3, f32::NAN).unwrap();
            form.run(wide.columns_mut(1..columns + 1).unwrap()).unwrap();
            let again = wide.columns(1..columns + 1).unwrap().to_host().unwrap();
            assert_eq!(again.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), first.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
            assert!(wide.columns(0..1).unwrap().to_host().unwrap().iter().all(|x| x.is_nan()));
        }
        assert!(form.bytes() > 0);
        (first, form.form())
    }
}

fn near(found: &[f32], expected: &[f32], what: &str) {
    assert_eq!(found.len(), expected.len());
    for (k, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 2e-5 * b.abs().max(1.0), "{what}: element {k} is {a} where {b} is wanted");
    }
}

#[test]
fn logits_are_those_of_the_operations() {
    let Some(cuda) = device() else { return };
    let cases = [
        CASE,
        Case { turned: true, hidden: 20, classes: 3, ..CASE },
        Case { nodes: 33, inputs: 513, hidden: 33, classes: 8, filled: 2, ..CASE },
        Case { nodes: 1, inputs: 1, hidden: 1, classes: 1, filled: 100, ..CASE },
        Case { inputs: 600, filled: 60, classes: 4, ..CASE },
        Case { filled: 90, ..CASE },
    ];
    for case in cases {
        for floats in [false, true] {
            let model = Case { floats, ..case }.model(&cuda);
            let expected = model.expected();
            for wide in [false, true] {
                for bits in [false, true] {
                    if !bits && case.filled > 50 && case.inputs > 255 {
                        continue;
                    }
                    let form = prepare_as(&cuda, &model.op(), wide, Some(bits)).unwrap();
                    let (found, form) = model.found(&cuda, form);
                    near(&found, &expected, &form);
                }
            }
        }
    }
}

#[test]
fn what_is_shorter_is_kept() {
    let Some(cuda) = device() else { return };
    for (filled, inputs, says) in [(2, 600, "lists"), (60, 600, "bits"), (98, 600, "lists"), (2, usize::from(NO_COLUMN), "bits")] {
        let model = Case { filled, inputs, nodes: 20, hidden: 4, ..CASE }.model(&cuda);
        let form = prepare(&cuda, &model.op()).unwrap();
        let (found, form) = model.found(&cuda, form);
        near(&found, &model.expected(), &form);
        assert!(form.contains(&format!("features as {says}")), "{form}");
    }
}

#[test]
fn what_has_no_room_is_declined_with_the_reason() {
    let Some(cuda) = device() else { return };
    let reason = |cuda: &Cuda, case: Case| match prepare(cuda, &case.model(cuda).op()).unwrap() {
        Whole::Done(form) => panic!("{}", form.form()),
        Whole::Declined(reason) => reason,
    };
    let small = Case { nodes: 30, ..CASE };
    assert!(reason(&cuda, Case { hidden: 65, ..small }).contains("65 hidden columns are more than 64"));
    assert!(reason(&cuda, Case { classes: 9, ..small }).contains("9 classes are more than 8"));
    assert!(reason(&cuda.with_tensor_kernels(TensorKernels::General), small).contains("not wanted"));
}
