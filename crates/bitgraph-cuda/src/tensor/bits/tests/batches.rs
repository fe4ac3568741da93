//! Batches in one launch against the operations one by one, which give the same classes.

use super::super::super::tests::{device, pattern};
use crate::Cuda;
use crate::tensor::TensorKernels;
use bitgraph_backend::Matrix;
use bitgraph_bittensor::{BitPlanes, Packing, TileShape, View};
use bitgraph_generate::Stream;
use bitgraph_sparse::{Control, Csr, FormatKind};
use bitgraph_tensor::ops::{BatchLayer, BitBatches, BitBatchesOp, bit_batches};
use bitgraph_tensor::{Planes, Quantise};

/// Sizes and widths of a batch.
#[derive(Clone, Copy)]
struct Case {
    parts: usize,
    vertices: usize,
    columns: usize,
    hidden: &'static [usize],
    classes: usize,
    bits: u32,
    weight_bits: u32,
}

const CASE: Case = Case { parts: 4, vertices: 113, columns: 128, hidden: &[16, 16], classes: 40, bits: 4, weight_bits: 4 };

fn codes(cuda: &Cuda, (rows, columns): (usize, usize), bits: u32, packing: Packing, seed: u64) -> Planes<Cuda> {
    let s = Stream::new(seed, 1);
    let values: Vec<u32> = (0..(rows * columns) as u64).map(|k| s.below(k, 1 << bits) as u32).collect();
    let view = View::new(&values, rows, columns).unwrap();
    let host = BitPlanes::from_integers(&view, bits, 0, packing, TileShape::WORD, &Control::default()).unwrap();
    Planes::from_host(cuda, &host).unwrap()
}

impl Case {
    fn matrix(&self, crossing: bool) -> Csr {
        let s = Stream::new(9, 2);
        let n = (self.parts * self.vertices) as u32;
        let near = |k: u64, i: u32| i / self.vertices as u32 * self.vertices as u32 + s.below(k, self.vertices as u64) as u32;
        // A vertex without neighbours, one that hears from all of its part.
        let arcs = (0..n).filter(|i| i % 50 != 3).flat_map(|i| (0..5).map(move |k| (i, u64::from(i) * 8 + k)));
        let mut entries: Vec<(u32, u32)> = arcs.map(|(i, k)| (i, near(k, i))).collect();
        entries.extend((0..self.vertices as u32).map(|j| (1, j)));
        if crossing {
            entries.push((0, n - 1));
        }
        pattern(n, n, entries)
    }
    fn layers(&self, cuda: &Cuda) -> Vec<BatchLayer<Cuda>> {
        let widths: Vec<usize> = [self.columns].into_iter().chain(self.hidden.iter().copied()).chain([self.classes]).collect();
        let level = |scale: f64, zero_point| Quantise { scale, zero_point, bits: self.bits };
        let layer = |k: usize| BatchLayer {
            sums: level([2.0, 1.0, 4.0][k % 3], 0),
            weights: codes(cuda, (widths[k], widths[k + 1]), self.weight_bits, Packing::Columns, k as u64),
            // About the mean of the products in the middle of the levels.
            products: (k + 2 < widths.len()).then(|| {
                let mean = widths[k] as f64 * f64::from((1u32 << self.bits) - 1) * f64::from((1u32 << self.weight_bits) - 1) / 4.0;
                let scale = (mean / f64::from(1u32 << self.bits)).log2().floor().max(0.0).exp2();
                level(scale, (f64::from(1u32 << self.bits) / 2.0 - mean / scale) as i32)
            }),
        };
        (0..=self.hidden.len()).map(layer).collect()
    }
    fn prepared(&self, cuda: &Cuda, crossing: bool) -> BitBatches<Cuda> {
        let matrix = Matrix::new(cuda, &self.matrix(crossing), None, FormatKind::Csr).unwrap();
        let features = codes(cuda, (self.parts * self.vertices, self.columns), self.bits, Packing::Rows, 77);
        let layers = self.layers(cuda);
        bit_batches(&BitBatchesOp { matrix: &matrix, vertices: self.vertices, features: &features, layers: &layers }).unwrap()
    }
}

#[test]
fn batches_are_those_of_the_operations() {
    let Some(cuda) = device() else { return };
    let general = cuda.with_tensor_kernels(TensorKernels::General);
    let cases = [
        CASE,
        Case { bits: 1, weight_bits: 1, parts: 7, ..CASE },
        Case { bits: 2, weight_bits: 2, columns: 33, hidden: &[7, 16, 3, 16], classes: 2, ..CASE },
        Case { bits: 8, weight_bits: 8, parts: 5, classes: 200, ..CASE },
        Case { bits: 3, weight_bits: 5, vertices: 128, columns: 8, hidden: &[16], classes: 17, ..CASE },
        Case { bits: 2, weight_bits: 1, vertices: 9, parts: 3, columns: 100, hidden: &[1, 2], classes: 1 },
    ];
    for (k, case) in cases.into_iter().enumerate() {
        let (whole, plain) = (case.prepared(&cuda, false), case.prepared(&general, false));
        assert_eq!(whole.why_not_whole(), None, "case {k}");
        assert!(plain.why_not_whole().is_some() && whole.bytes() > 0);
        let expected = plain.run().unwrap().to_host().unwrap();
        assert_eq!(whole.run().unwrap().to_host().unwrap(), expected, "case {k}");
        let mut again = whole.run().unwrap();
        whole.run_into(&mut again).unwrap();
        assert_eq!(again.to_host().unwrap(), expected, "case {k}");
        assert!(case.classes < 3 || expected.iter().any(|c| *c != expected[0]), "case {k}: there is something to tell apart");
    }
}

#[test]
fn what_does_not_fit_is_computed_operation_by_operation() {
    let Some(cuda) = device() else { return };
    let small = Case { parts: 3, vertices: 20, columns: 12, ..CASE };
    let cases = [
        (small, true, "reach each other"),
        (Case { vertices: 140, ..small }, false, "larger than 128"),
        (Case { columns: 129, ..small }, false, "columns of features"),
        (Case { hidden: &[17], ..small }, false, "between layers"),
        (Case { hidden: &[], ..small }, false, "one layer"),
        (Case { hidden: &[4; 8], ..small }, false, "9 layers"),
        (Case { classes: 257, ..small }, false, "classes"),
        (Case { bits: 9, ..small }, false, "9 bits"),
    ];
    for (case, crossing, reason) in cases {
        let (whole, plain) = (case.prepared(&cuda, crossing), case.prepared(&cuda.with_tensor_kernels(TensorKernels::General), crossing));
        assert!(whole.why_not_whole().is_some_and(|found| found.contains(reason)), "{reason}: {:?}", whole.why_not_whole());
        assert_eq!(whole.run().unwrap().to_host().unwrap(), plain.run().unwrap().to_host().unwrap());
    }
    let matrix = Matrix::new(&cuda, &small.matrix(false), None, FormatKind::Csr).unwrap();
    let features = codes(&cuda, (60, 12), 4, Packing::Rows, 77);
    let mut layers = small.layers(&cuda);
    let op = |vertices, layers: &[BatchLayer<Cuda>]| bit_batches(&BitBatchesOp { matrix: &matrix, vertices, features: &features, layers });
    assert!(op(19, &layers).is_err() && op(0, &layers).is_err() && op(20, &[]).is_err());
    layers[1].sums.scale = 3.0;
    assert!(op(20, &layers).unwrap().why_not_whole().is_some_and(|found| found.contains("power of two")));
    (layers[1].sums.scale, layers[1].sums.zero_point) = (2.0, 1);
    assert!(op(20, &layers).unwrap().why_not_whole().is_some_and(|found| found.contains("begin at 1")));
    layers[1].products = None;
    assert!(op(20, &layers).is_err());
}
