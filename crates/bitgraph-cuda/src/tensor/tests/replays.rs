//! Training whose epochs are written down and replayed, against the same training operation by operation: bit for bit.

use crate::Cuda;
use bitgraph_gnn::{
    Architecture, Course, Epoch, Features, Float, Method, Model, NodeTask, Nodes, Optimiser, Run, Runs, Schedule, Selection, Training,
    train,
};
use half::bf16;

const NODES: usize = 60;
const COLUMNS: usize = 12;
const CLASSES: usize = 3;

/// A device whose counters are of this test alone.
fn own_device() -> Option<Cuda> {
    Cuda::open(0).map_err(|error| crate::device::testing::skipped(&error)).ok()
}

fn task<T: Float>(cuda: &Cuda) -> NodeTask<Cuda, T> {
    let pattern = super::pattern(
        NODES as u32,
        NODES as u32,
        (0..NODES as u32).flat_map(|i| [3, 6, 9, 7].map(|d| (i, (i + d) % NODES as u32)).into_iter().flat_map(|(a, b)| [(a, b), (b, a)])),
    );
    let elements: Vec<f32> = super::elements(NODES * COLUMNS, 3);
    let labels: Vec<i32> = (0..NODES).map(|v| (v % CLASSES) as i32).collect();
    let part = |from: u32| (from..from + 15).collect();
    let split = Nodes { train: part(0), validation: part(15), test: part(30) };
    NodeTask::new(&pattern, Features::dense(cuda, NODES, COLUMNS, &elements).unwrap(), &labels, CLASSES, &split).unwrap()
}

fn model<T: Float>(architecture: Architecture) -> Model<Cuda, T> {
    let shape = bitgraph_gnn::Shape { hidden: 6, heads: 2, last_heads: 1, dropout: 0.4, ..architecture.recipe(CLASSES).shape };
    architecture.model(&shape, COLUMNS, CLASSES).unwrap()
}

fn training(epochs: u32) -> Training {
    let optimiser = Optimiser { method: Method::Adam, rate: 0.02, decay: vec![("layers.0".into(), 5e-3)], schedule: Schedule::Cosine };
    let recipe = Architecture::Gcn.recipe(CLASSES).training;
    Training { optimiser, epochs, selection: Selection::LowestValidationLoss, stale_epochs: None, ..recipe }
}

/// All epochs, operation by operation, and the parameters that were kept and those after the last one.
fn by_operations<T: Float>(model: &Model<Cuda, T>, task: &NodeTask<Cuda, T>, training: &Training) -> (Vec<Epoch>, Vec<T::Real>) {
    let mut run = Run::new(model, task, training, 5).unwrap();
    let mut epochs = Vec::new();
    while !run.is_over() {
        epochs.push(run.step().unwrap());
    }
    (epochs, run.finish().unwrap().parameters.flat().to_host().unwrap())
}

fn agrees<T: Float>(cuda: &Cuda, architecture: Architecture, training: &Training) {
    let (model, task) = (model::<T>(architecture), task::<T>(cuda));
    let crossings = |work: &mut dyn FnMut()| {
        let before = cuda.device().crossings();
        work();
        cuda.device().crossings().downloads - before.downloads
    };
    let (mut wanted, mut found, mut kept) = (None, Vec::new(), None);
    let plain = crossings(&mut || wanted = Some(by_operations(&model, &task, training)));
    let few = crossings(&mut || {
        let run = train(&model, &task, training, 5, |epoch| found.push(*epoch)).unwrap();
        kept = Some(run.parameters.flat().to_host().unwrap());
    });
    let (epochs, parameters) = wanted.unwrap();
    assert_eq!(found, epochs, "{architecture:?}");
    assert!(kept.unwrap() == parameters, "{architecture:?}: parameters");
    // A run that stops early, at an epoch that follows the device's rounding, has not saved many yet.
    let most = if found.len() < 16 { plain } else { plain / 2 };
    assert!(few < most, "{architecture:?}: {few} downloads, {plain} without replays");
}

#[test]
fn replayed_epochs_are_those_of_operations() {
    let Some(cuda) = own_device() else { return };
    for architecture in [Architecture::Gcn, Architecture::Sage, Architecture::Gin, Architecture::Gat, Architecture::Agnn] {
        agrees::<f32>(&cuda, architecture, &training(30));
    }
    agrees::<bf16>(&cuda, Architecture::Gat, &training(23));
    agrees::<f64>(&cuda, Architecture::Transformer, &training(21));
}

#[test]
fn replays_stop_where_operations_do() {
    let Some(cuda) = own_device() else { return };
    let patient = Training { stale_epochs: Some(4), selection: Selection::BestValidationAccuracy, ..training(60) };
    agrees::<f32>(&cuda, Architecture::Gcn, &patient);
    let adamw = Optimiser { method: Method::AdamW, ..training(1).optimiser };
    agrees::<f32>(&cuda, Architecture::Sage, &Training { optimiser: adamw, selection: Selection::Last, ..training(19) });
    // A rate that diverges is seen in the same epoch.
    let wild = Optimiser { rate: 1e30, schedule: Schedule::Constant, ..training(1).optimiser };
    let wild = Training { optimiser: wild, ..training(20) };
    let (model, task) = (model::<f32>(Architecture::Gcn), task::<f32>(&cuda));
    let replayed = train(&model, &task, &wild, 5, |_| {}).map(|run| (run.epochs, run.diverged));
    let mut run = Run::new(&model, &task, &wild, 5).unwrap();
    while !run.is_over() {
        run.step().unwrap();
    }
    let plain = run.finish().map(|run| (run.epochs, run.diverged));
    assert_eq!(replayed.map_err(|e| e.to_string()), plain.map_err(|e| e.to_string()));
}

#[test]
fn reports_say_how_epochs_were_done() {
    let Some(cuda) = own_device() else { return };
    let (model, task, training) = (model::<f32>(Architecture::Sage), task::<f32>(&cuda), training(30));
    let mut runs = Runs::new(&model, &task, &training, vec![3]);
    while runs.step().unwrap().is_some() {}
    let course = runs.course().unwrap();
    assert!(matches!(course, Course::Replayed(reason) if reason.contains("neither graph convolutions")), "{course}");
}
