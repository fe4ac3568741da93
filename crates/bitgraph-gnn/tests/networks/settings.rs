//! Schedules of the learning rate, decay by groups, and predictions of memory.

use bitgraph_cpu::Cpu;
use bitgraph_gnn::memory::{Extent, Purpose, check, footprint};
use bitgraph_gnn::{Architecture, Error, Precision, Schedule, Shape, Training, data, repeats_itself, train};
use bitgraph_sparse::Control;
use std::path::Path;

#[test]
fn schedules_begin_at_the_rate_and_fall() {
    assert_eq!((Schedule::Constant.factor(7, 10), Schedule::Cosine.factor(1, 10)), (1.0, 1.0));
    assert!((Schedule::Cosine.factor(6, 10) - 0.5).abs() < 1e-12 && Schedule::Cosine.factor(10, 10) > 0.0);
    let steps = Schedule::Steps { every: 3, factor: 0.5 };
    assert_eq!([1, 3, 4, 6, 7].map(|epoch| steps.factor(epoch, 9)), [1.0, 1.0, 0.5, 0.5, 0.25]);
}

#[test]
fn schedules_and_decay_have_an_effect_and_training_repeats_itself() {
    let set = data::open(Path::new("planted:200:3:8"), &Control::default()).unwrap();
    let task = set.task::<_, f32>(&Cpu::new(), 0).unwrap();
    let (inputs, classes) = (set.features().shape().1, set.labels().classes());
    let recipe = Architecture::Gcn.recipe(classes);
    let model = Architecture::Gcn.model(&recipe.shape, inputs, classes).unwrap();
    let training = Training { epochs: 15, ..recipe.training };
    let loss = |change: &dyn Fn(&mut Training)| {
        let mut changed = training.clone();
        change(&mut changed);
        train(&model, &task, &changed, 1, |_| ()).unwrap().best.scores.validation_loss
    };
    let plain = loss(&|_| ());
    assert_eq!(loss(&|t| t.optimiser.schedule = Schedule::Steps { every: 20, factor: 0.5 }), plain);
    assert!(loss(&|t| t.optimiser.schedule = Schedule::Cosine) > plain, "half of the way is not gone");
    assert_ne!(loss(&|t| t.optimiser.decay = vec![("layers.1".into(), 0.1)]), plain);
    assert!(repeats_itself(&model, &task, &training, (1, 5)).unwrap());
    let mut wrong = training.clone();
    wrong.optimiser.schedule = Schedule::Steps { every: 1, factor: 0.0 };
    assert!(train(&model, &task, &wrong, 1, |_| ()).is_err());
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let extent = Extent {
        nodes: 1_000_000,
        entries: 10_000_000,
        inputs: 500,
        sparse: Some(20_000_000),
        classes: 10,
        batch: None,
        streamed: false,
        neighbours: false,
        symmetric: false,
    };
    let shape = Architecture::Gcn.recipe(10).shape;
    let taken = |hidden, purpose| {
        let model = Architecture::Gcn.model::<Cpu, f32>(&Shape { hidden, ..shape }, 500, 10).unwrap();
        footprint(&model, &extent, purpose).peak()
    };
    assert!(taken(64, Purpose::Inference) < taken(64, Purpose::Training) && taken(16, Purpose::Training) < taken(64, Purpose::Training));
    let told = |purpose, limit| match check::<Cpu>(Architecture::Gcn, &shape, &extent, (Precision::F32, purpose), limit) {
        Ok(()) => String::new(),
        Err(Error::Memory { needed, instead, .. }) => {
            assert!(needed > limit);
            instead
        }
        Err(other) => panic!("{other}"),
    };
    assert_eq!(told(Purpose::Training, taken(64, Purpose::Training)), "");
    assert!(told(Purpose::Training, taken(64, Purpose::Training) - 1).starts_with("in bf16 it takes"));
    assert!(told(Purpose::Training, taken(16, Purpose::Training)).contains("hidden columns"));
    assert_eq!(told(Purpose::Training, 1 << 20), "no number of hidden columns fits");
    assert!(told(Purpose::Inference, 1 << 20).contains("fewer hidden columns"));
}
