//! Checkpoints: runs go on from them as if they had never stopped, and what is no whole checkpoint of the model is refused.

use bitgraph_cpu::Cpu;
use bitgraph_gnn::data::{self, Normalise};
use bitgraph_gnn::{Architecture, Checkpoint, Description, Error, Float, Model, NodeTask, Parameters, Runs, Settings, Training};
use bitgraph_io::WriteOptions;
use bitgraph_sparse::Control;
use half::f16;
use std::path::Path;

struct Case<T: Float> {
    task: NodeTask<Cpu, T>,
    model: Model<Cpu, T>,
    training: Training,
    description: Description,
}

fn case<T: Float>(architecture: Architecture, hidden: usize) -> Case<T> {
    let set = data::open(Path::new("planted:200:3:8"), &Control::default()).unwrap();
    let (inputs, classes) = (set.features().shape().1, set.labels().classes());
    let recipe = architecture.recipe(classes);
    let shape = bitgraph_gnn::Shape { hidden, ..recipe.shape };
    let training = Training { epochs: 12, ..recipe.training };
    let description = Description {
        model: architecture.name().into(),
        precision: "f32".into(),
        inputs,
        classes,
        shape,
        data: set.name().into(),
        split: 0,
        normalise: Normalise::Row,
        factor: 4.0,
        settings: Settings::of(&training),
        batches: None,
        teacher: bitgraph_gnn::Teacher::None,
        seeds: vec![5, 6],
        execution: None,
        graphs: None,
    };
    Case { task: set.task(&Cpu::new(), 0).unwrap(), model: architecture.model(&shape, inputs, classes).unwrap(), training, description }
}

impl<T: Float<Real = f32>> Case<T> {
    fn checkpoint(&self, runs: &Runs<'_, Cpu, T>) -> Checkpoint<f32> {
        let (best, flat) = runs.best().unwrap().unwrap();
        Checkpoint::new(self.description.clone(), self.model.layout(), (best, &flat), runs.progress().unwrap()).unwrap()
    }
    fn runs(&self) -> Runs<'_, Cpu, T> {
        Runs::new(&self.model, &self.task, &self.training, self.description.seeds.clone())
    }
    /// Stops once in either run, and goes on from the bytes of a file.
    fn goes_on(&self) {
        let mut whole = self.runs();
        while whole.step().unwrap().is_some() {}
        for stop in [1, 7, 12, 13, 20] {
            let mut first = self.runs();
            (0..stop).for_each(|_| assert!(first.step().unwrap().is_some()));
            let read = Checkpoint::from_bytes(&self.checkpoint(&first).to_bytes().unwrap()).unwrap();
            assert_eq!(read, self.checkpoint(&first));
            let seeds = read.description.seeds.clone();
            let mut second = Runs::resume(&self.model, &self.task, &self.training, seeds, read.progress.clone()).unwrap();
            assert_eq!(second.progress().unwrap(), read.progress, "stopped after {stop}");
            while second.step().unwrap().is_some() {}
            let times = |runs: &Runs<'_, Cpu, T>| {
                let mut outcomes = runs.outcomes().to_vec();
                outcomes.iter_mut().for_each(|o| o.train_s = 0.0);
                outcomes
            };
            assert_eq!(times(&second), times(&whole), "stopped after {stop}");
            assert_eq!(second.best().unwrap(), whole.best().unwrap(), "stopped after {stop}");
        }
        assert_eq!(whole.outcomes().len(), 2);
    }
}

#[test]
fn runs_go_on_as_if_they_had_not_stopped() {
    case::<f32>(Architecture::Gcn, 8).goes_on();
    case::<f16>(Architecture::Gin, 8).goes_on();
}

#[test]
fn a_run_that_is_over_goes_on_with_more_epochs() {
    let mut case = case::<f32>(Architecture::Gcn, 8);
    case.description.seeds = vec![9];
    let mut short = case.runs();
    while short.step().unwrap().is_some() {}
    let read = Checkpoint::<f32>::from_bytes(&case.checkpoint(&short).to_bytes().unwrap()).unwrap();
    let longer = Training { epochs: 20, ..case.training.clone() };
    let mut whole = Runs::new(&case.model, &case.task, &longer, vec![9]);
    let mut more = Runs::resume(&case.model, &case.task, &longer, vec![9], read.progress.clone()).unwrap();
    while whole.step().unwrap().is_some() {}
    while more.step().unwrap().is_some() {}
    assert_eq!((more.outcomes()[0].epochs, more.best().unwrap()), (20, whole.best().unwrap()));
    let mut same = Runs::resume(&case.model, &case.task, &case.training, vec![9], read.progress.clone()).unwrap();
    assert!(same.step().unwrap().is_none() && same.outcomes().len() == 1);
    assert!(Runs::resume(&case.model, &case.task, &case.training, vec![8], read.progress).is_err(), "another seed");
}

#[test]
fn a_checkpoint_gives_back_the_model() {
    let case = case::<f32>(Architecture::Sage, 6);
    let mut runs = case.runs();
    (0..5).for_each(|_| assert!(runs.step().unwrap().is_some()));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.safetensors");
    case.checkpoint(&runs).save(&file, &WriteOptions::default()).unwrap();
    let read = Checkpoint::<f32>::open(&file).unwrap();
    let layout = case.model.layout();
    let parameters = Parameters::from_flat(layout, layout.flat(&Cpu::new(), read.flat(layout).unwrap()).unwrap()).unwrap();
    let logits = case.model.infer(&case.task.graph, &parameters, &case.task.features).unwrap();
    assert_eq!(case.task.classify(&logits).unwrap(), read.best.scores);
}

#[test]
fn a_flipped_byte_is_refused() {
    let case = case::<f32>(Architecture::Gcn, 2);
    let mut runs = case.runs();
    (0..3).for_each(|_| assert!(runs.step().unwrap().is_some()));
    let bytes = case.checkpoint(&runs).to_bytes().unwrap();
    for at in (0..bytes.len()).step_by(13).chain(0..16) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        let told = Checkpoint::<f32>::from_bytes(&flipped).unwrap_err();
        assert!(told.contains("damaged") || told.contains("no checkpoint"), "byte {at}: {told}");
    }
    for length in [0, 7, 8, 100, bytes.len() - 1] {
        assert!(Checkpoint::<f32>::from_bytes(&bytes[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn another_model_version_or_place_is_refused() {
    let case = case::<f32>(Architecture::Gcn, 4);
    let mut runs = case.runs();
    assert!(runs.step().unwrap().is_some());
    let checkpoint = case.checkpoint(&runs);
    for other in [self::case::<f32>(Architecture::Gcn, 5), self::case::<f32>(Architecture::Sage, 4)] {
        assert!(matches!(checkpoint.flat(other.model.layout()), Err(Error::Combination { .. })));
    }
    let text = String::from_utf8_lossy(&checkpoint.to_bytes().unwrap()).replace("\"version\":\"1\"", "\"version\":\"2\"").into_bytes();
    assert!(Checkpoint::<f32>::from_bytes(&text).is_err());
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("none").join("model.safetensors");
    let told = checkpoint.save(&nowhere, &WriteOptions::default()).unwrap_err().to_string();
    assert!(told.contains("model.safetensors") && told.contains("not saved"), "{told}");
    assert!(Checkpoint::<f32>::open(&nowhere).unwrap_err().to_string().contains("model.safetensors"));
    assert!(Checkpoint::<f64>::from_bytes(&checkpoint.to_bytes().unwrap()).is_err(), "parameters of another type");
}
