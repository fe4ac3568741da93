//! Models of few bits: losses with a teacher have the gradients of differences, training learns, and what has no meaning is refused.

use bitgraph_cpu::Cpu;
use bitgraph_gnn::quant::{self, BitsGcn, InputStep, LowBits, few_levels};
use bitgraph_gnn::{Architecture, Around, Features, Gradients, Graph, Mode, Model, NodeTask, Nodes, Precision, Runs, Taught, data};
use bitgraph_sparse::{Buffer, Control, Csr, Offsets};
use bitgraph_tensor::ops::cross_entropy_with_gradient;
use bitgraph_tensor::{Dense, Philox};

const NODES: usize = 90;
const CLASSES: usize = 3;
const COLUMNS: usize = 37;

fn random(a: usize, b: usize) -> u32 {
    Philox::new(1, 0).word(a as u64, b as u32) % 100
}

fn csr(columns: usize, entry: &dyn Fn(usize, usize) -> bool) -> Csr {
    let (mut offsets, mut indices) = (vec![0], Vec::new());
    for i in 0..NODES {
        indices.extend((0..columns).filter(|&j| entry(i, j)).map(|j| j as u32));
        offsets.push(indices.len());
    }
    Csr::new(NODES, columns, Offsets::from_usizes(&offsets), Buffer::from(indices)).unwrap()
}

fn graph() -> Csr {
    csr(NODES, &|i, j| i != j && random(i.min(j), i.max(j)) < if i % CLASSES == j % CLASSES { 14 } else { 1 })
}

fn host_features() -> data::Features {
    let x = csr(COLUMNS, &|i, j| random(500 + i, j) < if i % CLASSES == j % CLASSES { 50 } else { 12 });
    let ones = vec![1.0; x.nnz()];
    data::Features::sparse(x, ones).unwrap()
}

fn set() -> data::Dataset {
    let labels = data::Labels::new((0..NODES).map(|v| (v % CLASSES) as i32).collect(), CLASSES).unwrap();
    let split = Nodes { train: (0..30).collect(), validation: (30..60).collect(), test: (60..90).collect() };
    data::Dataset::new("small", graph(), host_features(), labels, vec![split]).unwrap()
}

#[test]
fn a_teachers_loss_has_the_gradient_of_differences() {
    let cpu = Cpu::new();
    let numbers = |seed: u64| {
        (0..NODES * CLASSES).map(|i| f64::from(Philox::new(seed, 0).word(i as u64, 0)) / 2f64.powi(31) - 1.0).collect::<Vec<_>>()
    };
    let dense = |values: Vec<f64>| Dense::from_vec(&cpu, NODES, CLASSES, values).unwrap();
    for share in [0.0, 0.3, 1.0] {
        let task: NodeTask<Cpu, f64> = set().task(&cpu, 0).unwrap();
        let taught = Taught::new(&dense(numbers(1)), share).unwrap();
        let at = numbers(2);
        let (_, gradient) = taught.loss(&task, &dense(at.clone()), 1.0).unwrap();
        let gradient = gradient.to_host().unwrap();
        let loss = |values: Vec<f64>| taught.loss(&task, &dense(values), 1.0).unwrap().0.to_host().unwrap()[0];
        for k in (0..at.len()).step_by(7) {
            let moved = |h: f64| loss(at.iter().enumerate().map(|(i, v)| if i == k { v + h } else { *v }).collect());
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((difference - gradient[k]).abs() < 1e-8, "{share} {k}: {difference} {}", gradient[k]);
        }
    }
    assert!(Taught::new(&dense(numbers(1)), 1.5).is_err());
    let task: NodeTask<Cpu, f64> = set().task(&cpu, 0).unwrap();
    let other = Taught::new(&Dense::<Cpu, f64>::zeros(&cpu, NODES, 2).unwrap(), 0.5).unwrap();
    assert!(other.loss(&task, &dense(numbers(2)), 1.0).is_err());
}

/// Rounding has no differences to hold gradients against; but what is dropped has no gradient.
#[test]
fn codes_that_are_dropped_have_no_gradient() {
    let cpu = Cpu::new();
    let graph = Graph::<Cpu, f32>::new(&cpu, &graph()).unwrap();
    let values: Vec<f32> = (0..NODES * COLUMNS).map(|i| random(i, 3) as f32 / 100.0).collect();
    let x = Features::dense(&cpu, NODES, COLUMNS, &values).unwrap();
    let labels = Dense::column_vector(&cpu, (0..NODES).map(|v| (v % CLASSES) as i32).collect()).unwrap();
    let of_step = |dropout: f64| {
        let input = (InputStep::Learned(0.3), None, 0.1);
        let model =
            Model::<Cpu, f32>::new("bits", COLUMNS).layer(Around::default(), |d| BitsGcn::new(d, CLASSES, (4, 4), input, dropout)).unwrap();
        let (parameters, mode) = (model.start(&cpu, 1).unwrap(), Mode::Train { seed: 5, step: 3 });
        let (logits, tape) = model.forward(&graph, &parameters, &x, mode).unwrap();
        let (_, dlogits) = cross_entropy_with_gradient(&logits, &labels, 1.0).unwrap();
        let mut gradients = Gradients::new(&cpu, model.layout()).unwrap();
        model.backward(&graph, &parameters, mode, tape, dlogits, &mut gradients).unwrap();
        let step = model.layout().parameters().iter().find(|p| p.name.ends_with("step.input")).unwrap().range();
        gradients.flat().to_host().unwrap()[step.start]
    };
    assert!(of_step(0.0) != 0.0 && of_step(0.5) != 0.0);
    // Nothing is kept.
    assert_eq!(of_step(0.999_999_9), 0.0);
}

#[test]
fn every_precision_learns_and_repeats_itself() {
    let (cpu, set) = (Cpu::new(), set());
    let bits = |weights, activations| Precision::Bits { weights, activations };
    for precision in [Precision::Bin, Precision::BiFull, bits(8, 8), bits(4, 4), bits(2, 2)] {
        let taught = quant::gains_by_a_teacher(precision);
        let recipe = Architecture::Gcn.recipe_in(precision, CLASSES, taught);
        let LowBits { model, task } = LowBits::new(&cpu, &set, 0, precision, &recipe.shape).unwrap();
        let run = || {
            let mut runs = Runs::new(&model, &task, &recipe.training, vec![3]);
            if taught {
                let teach =
                    |seed| Taught::new(&quant::teach(&cpu, &set, (0, seed), &Control::default())?, quant::teachers_share(precision));
                runs = runs.with_teacher(Box::new(teach)).unwrap();
            }
            while runs.step().unwrap().is_some() {}
            (runs.outcomes()[0].test_accuracy, runs.best().unwrap())
        };
        let (first, second) = (run(), run());
        assert!(first.0 > 0.8, "{precision}: {}", first.0);
        assert_eq!(first, second);
    }
    let shape = Architecture::Gcn.recipe(CLASSES).shape;
    assert!(LowBits::new(&cpu, &set, 0, Precision::F16, &shape).is_err());
    for wrong in [bitgraph_gnn::Shape { batch_norm: true, ..shape }, bitgraph_gnn::Shape { layers: 0, ..shape }] {
        assert!(LowBits::new(&cpu, &set, 0, Precision::Bin, &wrong).is_err());
    }
}

#[test]
fn features_of_zeros_and_ones_are_levels_exactly() {
    for bits in [1, 2, 4, 8, 16] {
        let (levels, step) = few_levels(&host_features(), bits).unwrap();
        let back: Vec<f64> = levels.values().iter().map(|&v| f64::from(v) * step).collect();
        assert!(back.iter().all(|v| (v - 1.0).abs() < 1e-6), "{bits} bits");
    }
}

#[test]
fn layers_of_few_bits_refuse_what_they_cannot_read() {
    let cpu = Cpu::new();
    let graph = Graph::<Cpu, f32>::new(&cpu, &graph()).unwrap();
    let sparse: Features<Cpu, f32> = host_features().on(&cpu).unwrap();
    let model = Model::<Cpu, f32>::new("bits", COLUMNS)
        .layer(Around::default(), |d| BitsGcn::new(d, CLASSES, (4, 4), (InputStep::Learned(0.1), None, 0.1), 0.0))
        .unwrap();
    let parameters = model.start(&cpu, 1).unwrap();
    assert!(model.infer(&graph, &parameters, &sparse).is_err());
}
