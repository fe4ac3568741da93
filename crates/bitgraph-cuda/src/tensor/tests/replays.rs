//! Training whose epochs are written down and replayed, against the same training operation by operation: bit for bit.

use crate::Cuda;
use bitgraph_gnn::{
    Architecture, Course, Epoch, Features, Float, Method, Model, NodeTask, Nodes, Optimiser, Progress, Run, Runs, Schedule, Selection,
    Training, train,
};
use half::{bf16, f16};

const NODES: usize = 60;
const COLUMNS: usize = 12;
const CLASSES: usize = 3;

/// A device whose counters are of this test alone.
fn own_device() -> Option<Cuda> {
    Cuda::open(0).map_err(|error| crate::device::testing::skipped(&error)).ok()
}

fn task<T: Float>(cuda: &Cuda) -> NodeTask<Cuda, T> {
    task_of(cuda, 15)
}

/// With so many training nodes.
fn task_of<T: Float>(cuda: &Cuda, trained: u32) -> NodeTask<Cuda, T> {
    let pattern = super::pattern(
        NODES as u32,
        NODES as u32,
        (0..NODES as u32).flat_map(|i| [3, 6, 9, 7].map(|d| (i, (i + d) % NODES as u32)).into_iter().flat_map(|(a, b)| [(a, b), (b, a)])),
    );
    let elements: Vec<f32> = super::elements(NODES * COLUMNS, 3);
    let labels: Vec<i32> = (0..NODES).map(|v| (v % CLASSES) as i32).collect();
    let part = |from: u32| (from..from + 15).collect();
    let split = Nodes { train: (0..trained).collect(), validation: part(15), test: part(30) };
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
fn replayed_steps_of_sgd_are_those_of_operations() {
    let Some(cuda) = own_device() else { return };
    let sgd = |momentum, schedule| Optimiser { method: Method::Sgd { momentum }, rate: 0.05, schedule, ..training(1).optimiser };
    let with = |optimiser, epochs| Training { optimiser, ..training(epochs) };
    agrees::<f32>(&cuda, Architecture::Gcn, &with(sgd(0.9, Schedule::Cosine), 30));
    agrees::<f64>(&cuda, Architecture::Sage, &with(sgd(0.5, Schedule::Steps { every: 5, factor: 0.7 }), 23));
    agrees::<f16>(&cuda, Architecture::Gcn, &with(sgd(0.0, Schedule::Constant), 23));
}

#[test]
fn replayed_epochs_of_halves_are_those_of_operations() {
    let Some(cuda) = own_device() else { return };
    for architecture in [Architecture::Gcn, Architecture::Sage, Architecture::Gat] {
        agrees::<f16>(&cuda, architecture, &training(23));
    }
}

/// Epochs of a run in f16 by operations, with the state after each, and the same by replays; the epochs whose gradients overflowed. Parameters
/// begin `start` times as large.
fn follows(cuda: &Cuda, architecture: Architecture, training: &Training, start: f32) -> Vec<usize> {
    // The only training node has the whole gradient of the loss.
    let (model, task) = (model::<f16>(architecture), task_of::<f16>(cuda, 1));
    let begin = || {
        let mut state = Run::new(&model, &task, training, 5).unwrap().state().unwrap();
        state.parameters.iter_mut().for_each(|x| *x *= start);
        state
    };
    let mut run = Run::resume(&model, &task, training, begin()).unwrap();
    let (mut epochs, mut states) = (Vec::new(), vec![begin()]);
    while !run.is_over() {
        epochs.push(run.step().unwrap());
        states.push(run.state().unwrap());
    }
    let progress = Progress { outcomes: Vec::new(), best: None, running: Some((begin(), 0.0)) };
    let mut runs = Runs::resume(&model, &task, training, vec![5], progress).unwrap();
    let mut found = Vec::new();
    while let Some((_, epoch)) = runs.step().unwrap() {
        found.push(epoch);
        if let Some((state, _)) = runs.progress().unwrap().running {
            assert_eq!(state, states[state.epoch as usize], "{architecture:?}: the state after epoch {}", state.epoch);
        }
    }
    assert_eq!(found, epochs, "{architecture:?}");
    assert!(matches!(runs.course(), Some(Course::Replayed(_))), "{architecture:?}: {:?}", runs.course());
    (1..states.len()).filter(|&epoch| states[epoch].loss_scale.0 < states[epoch - 1].loss_scale.0).collect()
}

#[test]
fn replays_follow_a_loss_scale_that_overflows() {
    let Some(cuda) = own_device() else { return };
    let with = |method, rate, epochs| {
        let optimiser = Optimiser { method, rate, schedule: Schedule::Constant, ..training(1).optimiser };
        Training { optimiser, loss_scale: 65536.0, ..training(epochs) }
    };
    // After 200 epochs without one, where the scale has doubled.
    let overflows = follows(&cuda, Architecture::Sage, &with(Method::Adam, 1e-4, 226), 1.0);
    assert!(overflows.iter().any(|epoch| *epoch > 200), "{overflows:?}");
    let last = Training { selection: Selection::Last, ..with(Method::Sgd { momentum: 0.9 }, 1e-4, 226) };
    let overflows = follows(&cuda, Architecture::GraphConv, &last, 1.0);
    assert!(overflows.iter().any(|epoch| *epoch > 200), "{overflows:?}");
    // Several times in a row, the first two before epochs are replayed.
    let overflows = follows(&cuda, Architecture::Sage, &with(Method::Adam, 1e-3, 40), 8.0);
    assert!(overflows.iter().any(|epoch| *epoch > 2), "{overflows:?}");
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
