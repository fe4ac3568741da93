//! Training over whole graphs: it learns, repeats itself, and refuses what has no meaning.

use bitgraph_cpu::Cpu;
use bitgraph_gnn::{
    Architecture, Features, Float, Gradients, Graph, Method, Mode, Model, NodeTask, Nodes, Parameters, Selection, Shape, Training, train,
    why_not_whole,
};
use bitgraph_sparse::{Buffer, Control, Csr, Offsets};
use bitgraph_tensor::ops::{cross_entropy_with_gradient, map};
use bitgraph_tensor::{Dense, Philox};
use half::{bf16, f16};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const NODES: usize = 120;
const CLASSES: usize = 3;
const COLUMNS: usize = 12;

/// Node `v` is of class `v % 3`; most arcs stay in a class, and a class has columns that its nodes have more often.
fn task<T: Float>() -> NodeTask<Cpu, T> {
    let random = |a: usize, b: usize| Philox::new(1, 0).word(a as u64, b as u32) % 100;
    let csr = |columns: usize, entry: &dyn Fn(usize, usize) -> bool| {
        let (mut offsets, mut indices) = (vec![0], Vec::new());
        for i in 0..NODES {
            indices.extend((0..columns).filter(|&j| entry(i, j)).map(|j| j as u32));
            offsets.push(indices.len());
        }
        Csr::new(NODES, columns, Offsets::from_usizes(&offsets), Buffer::from(indices)).unwrap()
    };
    let pattern = csr(NODES, &|i, j| i != j && random(i.min(j), i.max(j)) < if i % CLASSES == j % CLASSES { 12 } else { 1 });
    let features = csr(COLUMNS, &|i, j| random(500 + i, j) < if i % CLASSES == j % CLASSES { 50 } else { 15 });
    let values = vec![0.25; features.nnz()];
    let labels: Vec<i32> = (0..NODES).map(|v| (v % CLASSES) as i32).collect();
    let split = Nodes { train: (0..30).collect(), validation: (30..60).collect(), test: (60..120).collect() };
    NodeTask::new(&pattern, Features::sparse(&Cpu::new(), &features, &values).unwrap(), &labels, CLASSES, &split).unwrap()
}

fn setup<T: Float>(architecture: Architecture, epochs: u32) -> (Model<Cpu, T>, Training) {
    let recipe = architecture.recipe(CLASSES);
    let model = architecture.model(&recipe.shape, COLUMNS, CLASSES).unwrap();
    (model, Training { epochs, ..recipe.training })
}

fn learns<T: Float>() {
    let task = task::<T>();
    for architecture in Architecture::ALL {
        if T::NEEDS_LOSS_SCALE && architecture == Architecture::Agnn {
            let shape = architecture.recipe(CLASSES).shape;
            assert!(architecture.model::<Cpu, T>(&shape, COLUMNS, CLASSES).is_err(), "AGNN has no gradients in f16");
            continue;
        }
        let (model, training) = setup(architecture, 60);
        let run = train(&model, &task, &training, 3, |_| ()).unwrap();
        let found = run.best.scores.test_accuracy;
        assert!(found > 0.8, "{} in {}: {found}", architecture.name(), T::DTYPE);
        assert_eq!((run.epochs, run.diverged, run.cancelled), (60, None, false));
        // What was kept gives the same again.
        let again = train(&model, &task, &training, 3, |_| ()).unwrap();
        assert_eq!((again.best, again.parameters.flat().to_host().unwrap()), (run.best, run.parameters.flat().to_host().unwrap()));
    }
}

#[test]
fn every_model_learns_and_repeats_itself() {
    learns::<f32>();
}
#[test]
fn halves_learn() {
    learns::<f16>();
    learns::<bf16>();
}

#[test]
fn other_optimisers_learn() {
    let task = task::<f32>();
    for (method, rate) in [(Method::AdamW, 0.01), (Method::Sgd { momentum: 0.9 }, 0.5)] {
        let (model, mut training) = setup(Architecture::Gcn, 80);
        training.optimiser.method = method;
        training.optimiser.rate = rate;
        assert!(train(&model, &task, &training, 1, |_| ()).unwrap().best.scores.test_accuracy > 0.8, "{method:?}");
    }
}

/// Plain sums over the neighbours of a hub are in range in f16 where their products with a weight are, whatever the features' own sums.
#[test]
fn sums_of_a_hub_stay_in_range() {
    const LEAVES: usize = 70_000;
    let cpu = Cpu::new();
    let indices: Vec<u32> = (1..=LEAVES as u32).chain(std::iter::repeat_n(0, LEAVES)).collect();
    let offsets: Vec<usize> = (0..=LEAVES + 1).map(|i| if i == 0 { 0 } else { LEAVES + i - 1 }).collect();
    let star = Csr::new(LEAVES + 1, LEAVES + 1, Offsets::from_usizes(&offsets), Buffer::from(indices)).unwrap();
    let graph = Graph::<Cpu, f32>::new(&cpu, &star).unwrap();
    let features = Features::<Cpu, f16>::dense(&cpu, LEAVES + 1, 4, &vec![0.99; 4 * (LEAVES + 1)]).unwrap();
    for (architecture, mlp, scaled) in [(Architecture::GraphConv, 1, false), (Architecture::Gin, 2, false), (Architecture::Sage, 1, false)]
    {
        let shape = Shape { layers: 1, hidden: 4, mlp, scaled, dropout: 0.0, ..architecture.recipe(4).shape };
        let model = architecture.model::<Cpu, f16>(&shape, 4, 4).unwrap();
        let small = model.layout().flat(&cpu, vec![0.01f32; model.start(&cpu, 1).unwrap().flat().to_host().unwrap().len()]).unwrap();
        let parameters = Parameters::from_flat(model.layout(), small).unwrap();
        let (logits, _) = model.forward(&graph, &parameters, &features, Mode::Train { seed: 1, step: 1 }).unwrap();
        assert!(logits.to_host().unwrap().iter().all(|x| x.is_finite()), "{}", architecture.name());
    }
}

/// Of features that nothing is dropped of, sums over neighbours are made once: steps are, bit for bit, those over a graph that has none yet, and
/// over features that come in another array every time.
#[test]
fn sums_of_the_features_change_nothing() {
    let cpu = Cpu::new();
    let pattern = {
        let entry = |i: usize, j: usize| i != j && Philox::new(1, 0).word(i.min(j) as u64, i.max(j) as u32).is_multiple_of(9);
        let rows: Vec<Vec<u32>> = (0..NODES).map(|i| (0..NODES as u32).filter(|&j| entry(i, j as usize)).collect()).collect();
        let offsets: Vec<usize> = (0..=NODES).map(|i| rows[..i].iter().map(Vec::len).sum()).collect();
        Csr::new(NODES, NODES, Offsets::from_usizes(&offsets), Buffer::from(rows.concat())).unwrap()
    };
    let host: Vec<f32> = (0..NODES * COLUMNS).map(|k| (Philox::new(2, 0).word(k as u64, 0) % 100) as f32 / 50.0 - 1.0).collect();
    let features = || Features::<Cpu, f32>::dense(&cpu, NODES, COLUMNS, &host).unwrap();
    let labels = Dense::column_vector(&cpu, (0..NODES).map(|v| (v % CLASSES) as i32).collect()).unwrap();
    for (architecture, scaled) in [
        (Architecture::Gcn, false),
        (Architecture::Gin, false),
        (Architecture::Sage, false),
        (Architecture::GraphConv, false),
        (Architecture::GraphConv, true),
    ] {
        for dropout in [0.0, 0.5] {
            let shape = Shape { hidden: 16, dropout, scaled, ..architecture.recipe(CLASSES).shape };
            let model = architecture.model::<Cpu, f32>(&shape, COLUMNS, CLASSES).unwrap();
            let run = |graph: &dyn Fn() -> Arc<Graph<Cpu, f32>>, features: &dyn Fn() -> Features<Cpu, f32>| {
                let mut flat = model.start(&cpu, 1).unwrap().flat().clone();
                let mut gradients = Gradients::new(&cpu, model.layout()).unwrap();
                let mut losses = Vec::new();
                for step in 1..=4 {
                    let parameters = Parameters::from_flat(model.layout(), flat.clone()).unwrap();
                    let (graph, features, mode) = (graph(), features(), Mode::Train { seed: 1, step });
                    let (logits, tape) = model.forward(&graph, &parameters, &features, mode).unwrap();
                    let (loss, dlogits) = cross_entropy_with_gradient(&logits, &labels, 1.0).unwrap();
                    losses.push(loss.to_host().unwrap()[0].to_bits());
                    model.backward(&graph, &parameters, mode, tape, dlogits, &mut gradients).unwrap();
                    flat = map(&flat).add_scaled(gradients.flat(), -0.1).eval().unwrap();
                }
                (losses, flat.to_host().unwrap())
            };
            let new = || Arc::new(Graph::new(&cpu, &pattern).unwrap());
            let (one, same) = (new(), features());
            let kept = run(&|| one.clone(), &|| same.clone());
            assert_eq!(kept, run(&new, &|| same.clone()), "{}: {dropout}", architecture.name());
            assert_eq!(kept, run(&|| one.clone(), &features), "{}: {dropout}", architecture.name());
            assert_eq!(kept, run(&|| one.clone(), &|| same.clone()), "{}: {dropout}", architecture.name());
        }
    }
}

/// Which models a backend is asked to train as one operation.
#[test]
fn models_of_two_known_layers_are_whole() {
    let task = task::<f32>();
    let why = |architecture: Architecture, change: &dyn Fn(&mut Shape)| {
        let recipe = architecture.recipe(CLASSES);
        let mut shape = recipe.shape;
        change(&mut shape);
        why_not_whole(&architecture.model(&shape, COLUMNS, CLASSES).unwrap(), &task, &recipe.training)
    };
    let is = |reason: Option<&str>, part: &str| reason.is_some_and(|reason| reason.contains(part));
    for architecture in Architecture::ALL {
        let known = matches!(architecture, Architecture::Gcn | Architecture::Gat);
        assert_eq!(why(architecture, &|_| ()).is_none(), known, "{}", architecture.name());
    }
    assert!(is(why(Architecture::GatV2, &|_| ()), "neither graph convolutions nor graph attention"));
    assert!(is(why(Architecture::Gat, &|shape| shape.batch_norm = true), "more than an ELU"));
    assert!(is(why(Architecture::Gcn, &|shape| shape.batch_norm = true), "more than a ReLU"));
    assert!(is(why(Architecture::Gat, &|shape| shape.layers = 3), "not two layers"));
    let (model, training) = setup::<f16>(Architecture::Gat, 1);
    assert!(is(why_not_whole(&model, &self::task::<f16>(), &training), "f32"));
}

#[test]
fn runs_end_early() {
    let task = task::<f32>();
    let (model, training) = setup(Architecture::Gcn, 100);
    let short = Training { stale_epochs: Some(5), selection: Selection::BestValidationAccuracy, ..training.clone() };
    let run = train(&model, &task, &short, 1, |_| ()).unwrap();
    assert!(run.epochs < 100 && run.epochs == run.best.epoch + 5);
    let mut wild = training.clone();
    wild.optimiser.rate = 1e30;
    match train(&model, &task, &wild, 1, |_| ()) {
        Ok(run) => assert!(run.diverged.is_some()),
        Err(error) => assert!(error.to_string().contains("diverged"), "{error}"),
    }
    let stop = Arc::new(AtomicBool::new(true));
    let stopped = Training { control: Control::default().with_cancel(stop), ..training.clone() };
    assert!(train(&model, &task, &stopped, 1, |_| ()).is_err());
    let none = Training { epochs: 0, ..training };
    assert!(train(&model, &task, &none, 1, |_| ()).is_err());
}
