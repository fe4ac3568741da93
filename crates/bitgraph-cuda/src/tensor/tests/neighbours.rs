//! Batches of neighbours that are drawn on the device, against those of host memory: bit for bit.

use super::{dense, pattern, patterns, spread};
use crate::Cuda;
use crate::device::testing::{hold, small_device};
use crate::layout::{DeviceCsr, Offsets};
use crate::matrix::CudaMatrix;
use bitgraph_backend::Matrix;
use bitgraph_generate::{Control, Generator};
use bitgraph_gnn::batch::{Batch, BatchSettings, Batches, Sampler, neighbours_key, why_drawn_on_host};
use bitgraph_gnn::data::{Dataset, Features, Labels, Normalise};
use bitgraph_gnn::{Architecture, Epoch, Float, Graph, Model, NodeTask, Nodes, Run, Shape, Streamed, Training};
use bitgraph_sparse::{Csr, FormatKind};
use bitgraph_tensor::backend::DenseOps;
use bitgraph_tensor::ops::{NeighbourBatch, NeighbourSampler, NeighboursOp, Whole};
use bitgraph_tensor::{Dense, Element};
use half::{bf16, f16};
use std::sync::Arc;

pub(super) const CLASSES: usize = 3;
const COLUMNS: usize = 7;

/// A device whose counters are of one test alone.
pub(super) fn own_device() -> Option<Cuda> {
    Cuda::open(0).map_err(|error| crate::device::testing::skipped(&error)).ok()
}

/// A graph whose nodes of these numbers are trained on.
pub(super) fn set(graph: Csr, train: Vec<u32>) -> Dataset {
    let nodes = graph.nrows();
    let features = Features::dense(nodes, COLUMNS, super::elements(nodes * COLUMNS, 5)).unwrap();
    let labels = Labels::new((0..nodes).map(|v| (v % CLASSES) as i32).collect(), CLASSES).unwrap();
    let rest: Vec<u32> = (0..nodes as u32).filter(|v| !train.contains(v)).collect();
    let (validation, test) = rest.split_at(rest.len() / 2);
    let split = Nodes { train, validation: validation.to_vec(), test: test.to_vec() };
    Dataset::new("made", graph, features, labels, vec![split]).unwrap()
}

pub(super) fn batches(set: &Dataset, fanouts: &[u32], batch: u32) -> Batches {
    let settings = BatchSettings { sampler: Sampler::Neighbours { fanouts: fanouts.to_vec(), batch }, evaluate_every: 1 };
    Batches::new(set, 0, &settings, Normalise::None, None, &Control::default(), |_| ()).unwrap()
}

fn sampler(cuda: &Cuda, set: &Dataset, fanouts: &[u32], batch: usize) -> Result<Box<dyn NeighbourSampler<Cuda>>, String> {
    let graph = Graph::<Cuda, f32>::new(cuda, set.graph()).unwrap();
    let (adjacency, labels, classes) = (graph.adjacency().unwrap(), set.labels().of(), CLASSES);
    match cuda.neighbours(&NeighboursOp { adjacency, fanouts, batch, labels, classes, sparse: None }).unwrap() {
        Whole::Done(sampler) => Ok(sampler),
        Whole::Declined(reason) => Err(reason),
    }
}

pub(super) fn done(drawn: Whole<NeighbourBatch<Cuda>>) -> NeighbourBatch<Cuda> {
    match drawn {
        Whole::Done(batch) => batch,
        Whole::Declined(reason) => panic!("{reason}"),
    }
}

/// Whether a batch is that of the host, with what follows from its pattern.
pub(super) fn agrees(what: &str, set: &Dataset, found: &NeighbourBatch<Cuda>, wanted: &Batch) {
    let nodes: Vec<u32> = found.nodes.to_host().unwrap().into_iter().map(|v| v as u32).collect();
    assert_eq!(nodes, wanted.nodes, "{what}: nodes");
    let (adjacency, values) = found.adjacency.to_host().unwrap();
    assert!(values.is_none() && adjacency == wanted.pattern, "{what}: rows");
    let bits = |of: &[f32]| of.iter().map(|w| w.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&found.weights.to_host().unwrap()), bits(wanted.weights.as_ref().unwrap()), "{what}: weights");
    let (looped, _) = found.with_loops.to_host().unwrap();
    assert_eq!(looped.nnz(), adjacency.nnz() + nodes.len());
    for i in 0..nodes.len() {
        let mut row = adjacency.row(i).to_vec();
        row.push(i as u32);
        row.sort_unstable();
        assert_eq!(looped.row(i), row, "{what}: row {i} with its loop");
    }
    let (targets, labels) = (found.targets.to_host().unwrap(), set.labels().of());
    for (i, row) in targets.chunks_exact(CLASSES).enumerate() {
        let class = labels[nodes[i] as usize] as usize;
        assert!((0..CLASSES).all(|c| row[c] == f32::from(u8::from(i < wanted.seeds && c == class))), "{what}: class of node {i}");
    }
}

/// Two epochs of batches.
fn same_batches(cuda: &Cuda, name: &str, set: &Dataset, fanouts: &[u32], batch: u32) {
    let (host, device) = (batches(set, fanouts, batch), sampler(cuda, set, fanouts, batch as usize).unwrap());
    for epoch in [1, 2] {
        let order = host.order(9, epoch);
        device.set_order(order.as_slice()).unwrap();
        for index in 0..host.count() {
            let wanted = host.batch(&order, 9, (epoch, index));
            let start = index * batch as usize;
            let before = cuda.device().crossings();
            let found = done(device.draw(start..start + wanted.seeds, neighbours_key(9, (epoch, index))).unwrap());
            let after = cuda.device().crossings();
            assert_eq!((after.uploads - before.uploads, after.downloads - before.downloads), (0, 1), "the sizes alone");
            agrees(&format!("{name}, {fanouts:?}, batch {index} of epoch {epoch}"), set, &found, &wanted);
        }
    }
}

#[test]
fn batches_are_those_of_the_host() {
    let Some(cuda) = own_device() else { return };
    for (name, graph) in patterns() {
        let n = graph.nrows() as u32;
        // A data set has three nodes at least.
        if n < 3 || graph.nrows() != graph.ncols() {
            continue;
        }
        // Most nodes, so that seeds are next to each other; and a few, far apart.
        let all = set(graph.clone(), (0..n - 2).collect());
        let few = set(graph, (0..n).step_by(7).collect());
        for fanouts in [&[3, 2][..], &[1], &[1000, 1000], &[40, 33, 2], &[2, 2, 2, 2]] {
            same_batches(&cuda, name, &all, fanouts, n);
            same_batches(&cuda, name, &few, fanouts, 5);
        }
    }
}

#[test]
fn a_batch_of_one_node_has_its_loop() {
    let Some(cuda) = super::device() else { return };
    let graph = Graph::<Cuda, f32>::new(&cuda, &pattern(1, 1, [(0, 0)])).unwrap();
    let op =
        NeighboursOp { adjacency: graph.adjacency().unwrap(), fanouts: &[4, 4], batch: 1, labels: &[2], classes: CLASSES, sparse: None };
    let Whole::Done(sampler) = cuda.neighbours(&op).unwrap() else { panic!("declined") };
    sampler.set_order(&[0]).unwrap();
    for key in [1, 2] {
        let batch = done(sampler.draw(0..1, key).unwrap());
        assert_eq!((batch.nodes.to_host().unwrap(), batch.adjacency.nvals()), (vec![0], 0));
        assert_eq!(batch.with_loops.to_host().unwrap().0.row(0), [0]);
        assert_eq!(batch.targets.to_host().unwrap(), [0.0, 0.0, 1.0]);
    }
}

/// Offsets of 64 bits give what those of 32 bits give.
#[test]
fn wide_offsets_change_no_batch() {
    let Some(cuda) = super::device() else { return };
    let of = set(pattern(90, 90, (0..90).flat_map(|j| [(5, j), (j, 7), (j, (j + 3) % 90)]).filter(|(i, j)| i != j)), (0..30).collect());
    let device = cuda.device();
    let narrow = DeviceCsr::upload(device, of.graph()).unwrap();
    let wide: Vec<u64> = std::iter::once(0).chain((0..90).map(|i| of.graph().row_range(i).end as u64)).collect();
    let lists = DeviceCsr { offsets: Offsets::U64(device.upload(&wide).unwrap()), ..narrow };
    let matrix = Matrix::from_raw(&cuda, CudaMatrix::from_lists(device, lists, None, FormatKind::Csr).unwrap());
    let op = NeighboursOp { adjacency: &matrix, fanouts: &[4, 40], batch: 30, labels: of.labels().of(), classes: CLASSES, sparse: None };
    let Whole::Done(sampler) = cuda.neighbours(&op).unwrap() else { panic!("declined") };
    let host = batches(&of, &[4, 40], 30);
    let order = host.order(9, 1);
    sampler.set_order(order.as_slice()).unwrap();
    agrees("wide", &of, &done(sampler.draw(0..30, neighbours_key(9, (1, 0))).unwrap()), &host.batch(&order, 9, (1, 0)));
}

/// Scans of several blocks, rows that are drawn from and rows that are taken whole, and draws that lanes do not hold.
#[test]
fn large_batches_are_those_of_the_host() {
    let Some(cuda) = own_device() else { return };
    let kron: Generator = "kron:11".parse().unwrap();
    let graph = kron.generate(&Control::default()).unwrap();
    let n = graph.nrows() as u32;
    let some = set(graph, (0..n).filter(|v| v % 3 > 0).collect());
    same_batches(&cuda, "kron 11", &some, &[10, 10], 700);
    same_batches(&cuda, "kron 11", &some, &[100, 5], 600);
    // Directed, with a row that takes part of 2600, and one that is whole.
    let star = set(pattern(2600, 2600, (0..2600).flat_map(|j| [(1, j), (j, (j + 1) % 2600), (7, j / 2)])), vec![1, 7, 8, 2599]);
    same_batches(&cuda, "a star", &star, &[900, 3], 4);
    let reason = sampler(&cuda, &star, &[1025, 3], 4).err().unwrap();
    assert!(reason.contains("a hop may take 1025 entries of a row, and rows of at most 1024"), "{reason}");
}

fn gathers<T: Element>(cuda: &Cuda, sampler: &dyn NeighbourSampler<Cuda>) {
    for columns in [1, 2, 3, 4, 8, 33] {
        let x = dense::<T>(cuda, 90, columns, 4);
        let numbers = [5, 89, 0, 5, 17, 90, -1, 44];
        let nodes = Dense::column_vector(cuda, numbers.to_vec()).unwrap();
        let from = x.to_host().unwrap();
        let zeros = vec![T::ZERO; columns];
        let row = |v: i32| if (0..90).contains(&v) { &from[v as usize * columns..][..columns] } else { &zeros[..] };
        let wanted: Vec<T> = numbers.iter().flat_map(|&v| row(v)).copied().collect();
        for x in [spread(&x), x] {
            let found = sampler.gather(&x.any(), &nodes).unwrap().get::<T>().unwrap();
            assert!(found.shape() == (numbers.len(), columns) && found.to_host().unwrap() == wanted, "{columns} columns of {}", T::DTYPE);
        }
    }
}

#[test]
fn rows_are_gathered_in_every_type() {
    let Some(cuda) = super::device() else { return };
    let sampler = sampler(&cuda, &set(pattern(3, 3, [(0, 1), (1, 2)]), vec![0]), &[1], 1).unwrap();
    gathers::<f32>(&cuda, &*sampler);
    gathers::<f64>(&cuda, &*sampler);
    gathers::<f16>(&cuda, &*sampler);
    gathers::<bf16>(&cuda, &*sampler);
    gathers::<i8>(&cuda, &*sampler);
    gathers::<i32>(&cuda, &*sampler);
}

#[test]
fn what_cannot_be_drawn_is_refused_or_declined() {
    let Some(cuda) = super::device() else { return };
    let five = set(pattern(5, 5, [(0, 1), (1, 0)]), vec![0, 3]);
    let sampler_of = |fanouts: &[u32], batch| sampler(&cuda, &five, fanouts, batch);
    assert!(sampler_of(&[], 2).is_err() && sampler_of(&[0], 2).is_err() && sampler_of(&[1], 0).is_err());
    let sampler = sampler_of(&[2], 2).unwrap();
    assert!(sampler.set_order(&[0, 5]).unwrap_err().to_string().contains("a seed is 5"));
    assert!(sampler.set_order(&[0, 3, 0]).unwrap_err().to_string().contains("only once"));
    sampler.set_order(&[0, 3, 4]).unwrap();
    for wrong in [0..0, 2..4, 0..3] {
        assert!(sampler.draw(wrong, 1).err().unwrap().to_string().contains("seeds"));
    }
    assert_eq!(done(sampler.draw(1..3, 1).unwrap()).nodes.to_host().unwrap(), [3, 4]);
}

/// Where memory is short nothing is lost: the next batch is what it would have been.
#[test]
fn without_memory_for_a_batch() {
    let Some(device) = small_device(1 << 20) else { return };
    let cuda = Cuda::on(device.clone());
    let mesh = pattern(400, 400, (0..400).flat_map(|i| [1, 5, 20, 21].map(|d| (i, (i + d) % 400))));
    let of = set(mesh, (0..60).collect());
    let held = hold(&device, 1200);
    assert!(sampler_or_memory(&cuda, &of).is_none());
    drop(held);
    let (host, device_sampler) = (batches(&of, &[3, 3], 30), sampler(&cuda, &of, &[3, 3], 30).unwrap());
    let order = host.order(9, 1);
    device_sampler.set_order(order.as_slice()).unwrap();
    let draw = || device_sampler.draw(30..60, neighbours_key(9, (1, 1))).unwrap();
    let held = hold(&device, 1200);
    assert!(matches!(draw(), Whole::Declined(_)));
    drop(held);
    agrees("after a batch that failed", &of, &done(draw()), &host.batch(&order, 9, (1, 1)));
}

/// A sampler, or none where its graph or its arrays do not fit.
fn sampler_or_memory(cuda: &Cuda, set: &Dataset) -> Option<Box<dyn NeighbourSampler<Cuda>>> {
    let graph = Graph::<Cuda, f32>::new(cuda, set.graph()).ok()?;
    let (adjacency, labels, classes) = (graph.adjacency().ok()?, set.labels().of(), CLASSES);
    match cuda.neighbours(&NeighboursOp { adjacency, fanouts: &[3, 3], batch: 30, labels, classes, sparse: None }).unwrap() {
        Whole::Done(sampler) => Some(sampler),
        Whole::Declined(_) => None,
    }
}

pub(super) fn training(batches: Batches) -> Training {
    Training { epochs: 3, batches: Some(Arc::new(batches)), ..Architecture::Sage.recipe(CLASSES).training }
}

/// Epochs of a run, the parameters after them, and what crossed meanwhile but for the first epoch.
pub(super) fn run<T: Float>(
    cuda: &Cuda,
    model: &Model<Cuda, T>,
    task: &NodeTask<Cuda, T>,
    training: &Training,
) -> (Vec<Epoch>, Vec<T::Real>, u64) {
    let mut run = Run::new(model, task, training, 5).unwrap();
    let mut epochs = vec![run.step().unwrap()];
    let before = cuda.device().crossings().uploads;
    while !run.is_over() {
        epochs.push(run.step().unwrap());
    }
    let uploads = cuda.device().crossings().uploads - before;
    (epochs, run.finish().unwrap().parameters.flat().to_host().unwrap(), uploads)
}

fn trains_alike<T: Float>(cuda: &Cuda, of: &Dataset, architecture: Architecture) {
    let shape = Shape { hidden: 6, heads: 2, last_heads: 1, dropout: 0.3, layers: 2, ..architecture.recipe(CLASSES).shape };
    let model: Model<Cuda, T> = architecture.model(&shape, COLUMNS, CLASSES).unwrap();
    let task: NodeTask<Cuda, T> = of.task(cuda, 0).unwrap();
    assert_eq!(why_drawn_on_host(&task, &batches(of, &[4, 3], 20)).unwrap(), None);
    let on_host = training(batches(of, &[4, 3], 20).drawn_on_host());
    let (wanted, at, many) = run(cuda, &model, &task, &on_host);
    let (found, found_at, few) = run(cuda, &model, &task, &training(batches(of, &[4, 3], 20)));
    // The same batches by the same operations.
    assert_eq!((&found, &found_at), (&wanted, &at), "{architecture:?} in {}", T::DTYPE);
    // The order of each epoch, and nothing of a batch.
    assert_eq!(few, 2, "{architecture:?} in {}, {many} from host memory", T::DTYPE);
}

#[test]
fn training_gives_the_numbers_of_host_batches() {
    let Some(cuda) = own_device() else { return };
    let kron: Generator = "kron:8".parse().unwrap();
    let graph = kron.generate(&Control::default()).unwrap();
    let of = set(graph, (0..100).map(|v| 2 * v).collect());
    for architecture in [Architecture::Sage, Architecture::Gcn, Architecture::Gin, Architecture::Gat] {
        trains_alike::<f32>(&cuda, &of, architecture);
    }
    trains_alike::<bf16>(&cuda, &of, Architecture::Sage);
    trains_alike::<f16>(&cuda, &of, Architecture::Sage);
    trains_alike::<f64>(&cuda, &of, Architecture::Gcn);
}

#[test]
fn what_is_not_drawn_on_the_device_says_why() {
    let Some(cuda) = super::device() else { return };
    let of = set(pattern(40, 40, (0..40).flat_map(|i| [(i, (i + 1) % 40), ((i + 1) % 40, i)])), (0..10).collect());
    let task: NodeTask<Cuda, f32> = of.task(&cuda, 0).unwrap();
    let why = |batches: Batches| why_drawn_on_host(&task, &batches).unwrap().unwrap();
    assert!(why(batches(&of, &[2], 5).drawn_on_host()).contains("asked for"));
    let saint = BatchSettings { sampler: "saint-node:9".parse().unwrap(), evaluate_every: 1 };
    assert!(
        why(Batches::new(&of, 0, &saint, Normalise::None, None, &Control::default(), |_| ()).unwrap()).contains("only those of neighbours")
    );
    let streamed = Streamed::task::<f32>(&cuda, &of, 0, Normalise::None).unwrap();
    assert!(why_drawn_on_host(&streamed, &batches(&of, &[2], 5)).unwrap().unwrap().contains("streamed"));
}
