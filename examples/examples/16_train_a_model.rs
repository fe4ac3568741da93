//! Trains a graph convolution on a data set, a folder or the built-in one, and says how many nodes it classifies right.

use bitgraph::gnn::{Architecture, data, train};
use bitgraph::prelude::*;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).filter(|a| !a.starts_with('-')).map_or_else(|| PathBuf::from("planted:600:4:12"), PathBuf::from);
    let set = data::open(&name, &Control::default())?;
    let (columns, classes) = (set.features().shape().1, set.labels().classes());
    let recipe = Architecture::Gcn.recipe(classes);
    let (set, _) = set.prepared(recipe.normalise, None)?;
    let task = set.task::<_, f32>(&Cpu::new(), 0)?;
    let model = Architecture::Gcn.model(&recipe.shape, columns, classes)?;
    let trained = train(&model, &task, &recipe.training, 1, |_| ())?;
    let scores = trained.best.scores;
    println!("{}: {} of {} epochs, test accuracy {:.3}", set.name(), trained.best.epoch, trained.epochs, scores.test_accuracy);
    assert!(scores.test_accuracy > 1.5 / classes as f64, "better than a guess");
    Ok(())
}
