//! Batches of neighbours with sparse features, gathered on the device: against those of host memory, and what a step over one launches.

use super::neighbours::{CLASSES, agrees, batches, done, own_device, run, set, training};
use super::{device, elements, pattern};
use crate::Cuda;
use crate::device::testing::launches_of;
use crate::layout::{DeviceCsr, Offsets};
use crate::matrix::CudaMatrix;
use bitgraph_backend::Matrix;
use bitgraph_generate::{Control, Generator, Stream};
use bitgraph_gnn::batch::{BatchSettings, Batches, Sampler, neighbours_key, why_drawn_on_host};
use bitgraph_gnn::data::{Dataset, Features, Normalise};
use bitgraph_gnn::{Architecture, Float, Graph, Model, NodeTask, Run, Shape};
use bitgraph_sparse::{Csr, FormatKind};
use bitgraph_tensor::backend::DenseOps;
use bitgraph_tensor::ops::{NeighbourSampler, NeighboursOp, SparseRows, Whole};
use bitgraph_tensor::{Any, Dense};
use half::{bf16, f16};

const COLUMNS: u32 = 40;
/// Columns of which a row of all of them comes in pieces.
const MANY_COLUMNS: u32 = 300;

/// Features of some nodes: rows without entries, one of all columns, a column that almost all rows have, and values of zero.
fn features(nodes: u32, columns: u32) -> Features {
    let s = Stream::new(nodes.into(), 7);
    let drawn = (0..nodes).flat_map(|v| (0..u64::from(v % 7)).map(move |k| (v, s.below(u64::from(v) << 8 | k, columns.into()) as u32)));
    let shared = (0..nodes).filter(|v| v % 9 != 4).map(|v| (v, 11));
    let entries = drawn.chain(shared).filter(|(v, _)| v % 5 > 0).chain((0..columns).map(|j| ((nodes / 2) | 1, j)));
    let pattern = pattern(nodes, columns, entries);
    let mut values: Vec<f32> = elements(pattern.nnz(), 3);
    values.iter_mut().step_by(6).for_each(|v| *v = 0.0);
    Features::sparse(pattern, values).unwrap()
}

fn sparse_set(graph: Csr, train: Vec<u32>) -> Dataset {
    let features = features(graph.nrows() as u32, COLUMNS);
    set(graph, train).with_features(features).unwrap()
}

fn kron(scale: u32) -> Csr {
    let kron: Generator = format!("kron:{scale}").parse().unwrap();
    kron.generate(&Control::default()).unwrap()
}

/// The features on the device, offsets as the host has them or of 64 bits.
fn on_device<T: Float>(cuda: &Cuda, of: &Features, wide: bool) -> (Matrix<Cuda>, Any<Cuda>) {
    let bitgraph_gnn::Features::<Cuda, T>::Sparse { pattern, values } = of.on(cuda).unwrap() else { panic!("dense") };
    if !wide {
        return (pattern, values.any());
    }
    let (host, device) = (of.pattern().unwrap(), cuda.device());
    let offsets: Vec<u64> = std::iter::once(0).chain((0..host.nrows()).map(|i| host.row_range(i).end as u64)).collect();
    let lists = DeviceCsr { offsets: Offsets::U64(device.upload(&offsets).unwrap()), ..DeviceCsr::upload(device, host).unwrap() };
    (Matrix::from_raw(cuda, CudaMatrix::from_lists(device, lists, None, FormatKind::Csr).unwrap()), values.any())
}

fn sampler(
    cuda: &Cuda,
    set: &Dataset,
    fanouts: &[u32],
    batch: usize,
    sparse: (&Matrix<Cuda>, &Any<Cuda>),
) -> Box<dyn NeighbourSampler<Cuda>> {
    let graph = Graph::<Cuda, f32>::new(cuda, set.graph()).unwrap();
    let sparse = Some(SparseRows { pattern: sparse.0, values: sparse.1 });
    let op = NeighboursOp { adjacency: graph.adjacency().unwrap(), fanouts, batch, labels: set.labels().of(), classes: CLASSES, sparse };
    match cuda.neighbours(&op).unwrap() {
        Whole::Done(sampler) => sampler,
        Whole::Declined(reason) => panic!("{reason}"),
    }
}

/// Two epochs of batches in a type of features.
fn same_batches<T: Float>(cuda: &Cuda, name: &str, set: &Dataset, (fanouts, batch): (&[u32], u32), wide: bool) {
    let host = batches(set, fanouts, batch);
    let (pattern, values) = on_device::<T>(cuda, set.features(), wide);
    let device = sampler(cuda, set, fanouts, batch as usize, (&pattern, &values));
    for epoch in [1, 2] {
        let order = host.order(9, epoch);
        device.set_order(order.as_slice()).unwrap();
        for index in 0..host.count() {
            let what = format!("{name}, {fanouts:?}, {}, batch {index} of epoch {epoch}", T::DTYPE);
            let wanted = host.batch(&order, 9, (epoch, index));
            let start = index * batch as usize;
            let before = cuda.device().crossings();
            let mut found = done(device.draw(start..start + wanted.seeds, neighbours_key(9, (epoch, index))).unwrap());
            let after = cuda.device().crossings();
            assert_eq!((after.uploads - before.uploads, after.downloads - before.downloads), (0, 1), "{what}: the sizes alone");
            agrees(&what, set, &found, &wanted);
            let (pattern, values) = found.sparse.take().unwrap();
            let rows = set.features().select(&wanted.nodes);
            let (found, none) = pattern.to_host().unwrap();
            assert!(none.is_none() && found == *rows.pattern().unwrap(), "{what}: rows of features");
            let bitgraph_gnn::Features::<Cuda, T>::Sparse { values: rounded, .. } = rows.on(cuda).unwrap() else { panic!("dense") };
            let bits = |of: &Dense<Cuda, T>| of.to_host().unwrap().iter().map(|v| v.to_f64().to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&values.get::<T>().unwrap()), bits(&rounded), "{what}: values");
        }
    }
}

#[test]
fn sparse_rows_are_those_of_the_host() {
    let Some(cuda) = own_device() else { return };
    let few = sparse_set(kron(6), (0..40).collect());
    for fanouts in [&[3, 2][..], &[1], &[1000, 1000], &[2, 2, 2, 2]] {
        same_batches::<f32>(&cuda, "kron 6", &few, (fanouts, 13), false);
        same_batches::<bf16>(&cuda, "kron 6", &few, (fanouts, 64), true);
    }
    same_batches::<f16>(&cuda, "kron 6", &few, (&[4, 4], 20), false);
    same_batches::<f64>(&cuda, "kron 6", &few, (&[4, 4], 20), true);
    // Scans of several blocks.
    let many = sparse_set(kron(11), (0..1500).collect());
    same_batches::<f32>(&cuda, "kron 11", &many, (&[10, 10], 700), false);
    // No entry at all.
    let none = Features::sparse(pattern(64, COLUMNS, []), Vec::new()).unwrap();
    let none = few.with_features(none).unwrap();
    same_batches::<f32>(&cuda, "without features", &none, (&[3, 2], 13), false);
}

#[test]
fn sparse_rows_of_other_nodes_are_declined() {
    let Some(cuda) = device() else { return };
    let of = sparse_set(kron(6), (0..40).collect());
    let graph = Graph::<Cuda, f32>::new(&cuda, of.graph()).unwrap();
    let (short, values) = on_device::<f32>(&cuda, &features(63, COLUMNS), false);
    let (all, _) = on_device::<f32>(&cuda, of.features(), false);
    for pattern in [&short, &all] {
        let sparse = Some(SparseRows { pattern, values: &values });
        let (adjacency, labels) = (graph.adjacency().unwrap(), of.labels().of());
        let op = NeighboursOp { adjacency, fanouts: &[2], batch: 3, labels, classes: CLASSES, sparse };
        let Whole::Declined(reason) = cuda.neighbours(&op).unwrap() else { panic!("sparse rows of other nodes") };
        assert!(reason.contains("sparse rows"), "{reason}");
    }
}

fn model<T: Float>(architecture: Architecture, (columns, hidden): (usize, usize)) -> Model<Cuda, T> {
    let shape = Shape { hidden, heads: 2, last_heads: 1, dropout: 0.3, layers: 2, ..architecture.recipe(CLASSES).shape };
    architecture.model(&shape, columns, CLASSES).unwrap()
}

fn trains_alike<T: Float>(cuda: &Cuda, of: &Dataset, architecture: Architecture, hidden: usize) {
    let columns = of.features().shape().1;
    let (model, task): (Model<Cuda, T>, NodeTask<Cuda, T>) = (model(architecture, (columns, hidden)), of.task(cuda, 0).unwrap());
    assert_eq!(why_drawn_on_host(&task, &batches(of, &[4, 3], 20)).unwrap(), None);
    let on_host = training(batches(of, &[4, 3], 20).drawn_on_host());
    let (wanted, at, many) = run(cuda, &model, &task, &on_host);
    let (found, found_at, few) = run(cuda, &model, &task, &training(batches(of, &[4, 3], 20)));
    let what = format!("{architecture:?} of {columns} and {hidden} columns in {}", T::DTYPE);
    // The same batches by the same operations, dropped entries among them.
    assert_eq!((&found, &found_at), (&wanted, &at), "{what}");
    // The order of each epoch, and nothing of a batch.
    assert_eq!(few, 2, "{what}, {many} from host memory");
}

#[test]
fn training_on_sparse_batches_gives_the_numbers_of_host_batches() {
    let Some(cuda) = own_device() else { return };
    let of = sparse_set(kron(8), (0..100).map(|v| 2 * v).collect());
    for hidden in [6, 8, 64] {
        trains_alike::<f32>(&cuda, &of, Architecture::Sage, hidden);
    }
    let wide = of.clone().with_features(features(256, MANY_COLUMNS)).unwrap();
    trains_alike::<f32>(&cuda, &wide, Architecture::Sage, 8);
    trains_alike::<bf16>(&cuda, &wide, Architecture::Sage, 64);
    trains_alike::<f32>(&cuda, &of, Architecture::Gcn, 16);
    trains_alike::<f32>(&cuda, &of, Architecture::Gat, 16);
    trains_alike::<bf16>(&cuda, &of, Architecture::Sage, 16);
    trains_alike::<f16>(&cuda, &of, Architecture::Sage, 16);
    trains_alike::<f64>(&cuda, &of, Architecture::Sage, 8);
}

/// What an epoch of three batches gives the host shim to do, and how often it copies to the device and from it.
fn epoch(cuda: &Cuda, of: &Dataset, architecture: Architecture) -> (Vec<String>, u64, u64) {
    let settings = BatchSettings { sampler: Sampler::Neighbours { fanouts: vec![8, 5], batch: 100 }, evaluate_every: 100 };
    let made = Batches::new(of, 0, &settings, Normalise::None, None, &Control::default(), |_| ()).unwrap();
    let task: NodeTask<Cuda, f32> = of.task(cuda, 0).unwrap();
    let (model, training) = (model::<f32>(architecture, (COLUMNS as usize, 64)), training(made));
    let mut run = Run::new(&model, &task, &training, 5).unwrap();
    run.step().unwrap();
    let before = cuda.device().crossings();
    let launches = launches_of(|| {
        run.step().unwrap();
    });
    let after = cuda.device().crossings();
    (launches, after.uploads - before.uploads, after.downloads - before.downloads)
}

/// Columns of the batches are long enough for pieces, and the host does not ask which.
#[test]
fn a_step_over_a_sparse_batch_waits_once() {
    let Some(cuda) = own_device() else { return };
    let of = sparse_set(kron(9), (0..300).collect());
    for architecture in [Architecture::Sage, Architecture::Gcn, Architecture::Gin, Architecture::Gat, Architecture::GatV2] {
        let (launches, uploads, downloads) = epoch(&cuda, &of, architecture);
        // The order of the epoch; sizes of each batch, and the mean loss.
        assert_eq!((uploads, downloads), (1, 4), "{architecture:?}");
        let made = ["csr_degrees", "attention_tasks_count", "long_rows", "spmm_tasks_count", "spmm_records_count", "spmm_staged_build"];
        assert!(launches.iter().all(|kernel| !made.contains(&&**kernel)), "{architecture:?}: {launches:?}");
        if cuda.device().properties().emulated {
            let of_pieces = |kernel: &str| launches.iter().filter(|launched| *launched == kernel).count();
            // Of the transposed features, and where the layer takes such widths of the transposed adjacency.
            assert!((3..=6).contains(&of_pieces("spmm_tasks_cut")), "{architecture:?}: {launches:?}");
            assert_eq!(of_pieces("sparse_rows_copy"), 3, "{architecture:?}");
        }
    }
}
