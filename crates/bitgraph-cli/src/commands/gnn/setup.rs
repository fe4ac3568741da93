//! What training and inference begin with: a data set, and a model as options or a checkpoint describe it.

use super::GnnBackend;
use super::options::TrainArgs;
use crate::failure::{Failure, Result};
use crate::progress::Reporter;
use bitgraph::gnn::data::{self, Dataset, Normalise};
use bitgraph::gnn::quant::{self, LowBits};
use bitgraph::gnn::{
    Architecture, Checkpoint, Description, Error, Execution, Float, Model, NodeTask, Precision, Recipe, Settings, Shape, Streamed, Teacher,
};
use bitgraph::tensor::TensorBackend;
use std::path::{Path, PathBuf};

/// The built-in data set: of the size of the citation graphs, with as many classes.
pub const BUILT_IN: &str = "planted:2500:7:6";

/// Which data set, and how it is read.
pub struct Source<'a> {
    /// Its name.
    pub name: &'a Path,
    /// What its features are divided by.
    pub normalise: Normalise,
    /// What they are multiplied by then; what [`Dataset::prepared`] finds if nothing is said.
    pub factor: Option<f32>,
    /// Which of its splits.
    pub split: usize,
    /// Whether features stay where they are, and are divided and multiplied as they are read.
    pub streamed: bool,
}

impl Source<'_> {
    /// Reads it; the set, and what its features are multiplied by.
    pub fn load(&self, reporter: &Reporter) -> Result<(Dataset, f32)> {
        crate::signals::mapped_file(self.name);
        let open = if self.streamed { data::open_mapped } else { data::open };
        let set = open(self.name, &reporter.running("loading"))?;
        reporter.check()?;
        let splits = set.splits().len();
        if self.split >= splits {
            let (name, last) = (self.name.display(), splits.saturating_sub(1));
            return Err(Failure::usage(format_args!("{name}: there is no split {}; they are 0 to {last}", self.split)));
        }
        if self.streamed {
            let factor = set.preparation(self.normalise, self.factor)?.factor();
            return Ok((set, factor));
        }
        Ok(set.prepared(self.normalise, self.factor)?)
    }
}

/// The name of a teacher as where it comes from; what a precision gains by, where there is no name.
pub fn teacher(named: Option<&str>, precision: Precision) -> Teacher {
    match named {
        Some("none") => Teacher::None,
        Some(file) => Teacher::File(file.to_owned()),
        None if quant::gains_by_a_teacher(precision) => Teacher::Trained,
        None => Teacher::None,
    }
}

/// The recipe of a model in a precision for a data set.
pub fn recipe(
    (model, precision): (Architecture, Precision),
    (source, (set, factor)): (&Source<'_>, (&Dataset, f32)),
    teacher: Teacher,
    seeds: Vec<u64>,
) -> Description {
    let classes = set.labels().classes();
    let recipe = model.recipe_in(precision, classes, teacher != Teacher::None);
    Description {
        model: model.name().to_owned(),
        precision: precision.to_string(),
        inputs: set.features().shape().1,
        classes,
        shape: recipe.shape,
        data: source.name.display().to_string(),
        split: source.split,
        normalise: source.normalise,
        factor,
        settings: Settings::of(&recipe.training),
        batches: None,
        teacher,
        seeds,
        execution: None,
        graphs: None,
    }
}

/// The model and the training that options ask for, with the recipe's settings where they do not say.
pub fn describe(args: &TrainArgs, kind: (Architecture, Precision), source: &Source<'_>, set: (&Dataset, f32)) -> Result<Description> {
    let seeds = (0..u64::from(args.runs.unwrap_or(1))).map(|r| args.general.seed.wrapping_add(r)).collect();
    let mut made = recipe(kind, (source, set), teacher(args.teacher.as_deref(), kind.1), seeds);
    let own = kind.0.recipe_in(kind.1, made.classes, made.teacher != Teacher::None);
    (made.shape, made.settings) = adjusted(args, &own);
    made.batches = args.batches.settings(made.shape.layers)?;
    Ok(made)
}

/// The shape and settings of a recipe with what options say instead.
pub fn adjusted(args: &TrainArgs, recipe: &Recipe) -> (Shape, Settings) {
    let mut shape = recipe.shape;
    shape.hidden = args.shape.hidden.unwrap_or(shape.hidden);
    shape.layers = args.shape.layers.unwrap_or(shape.layers);
    shape.heads = args.shape.heads.unwrap_or(shape.heads);
    shape.dropout = args.shape.dropout.unwrap_or(shape.dropout);
    shape.mlp = args.shape.mlp.unwrap_or(shape.mlp);
    shape.batch_norm |= args.shape.batch_norm;
    shape.residual |= args.shape.residual;
    let (wanted, mut settings) = (&args.settings, Settings::of(&recipe.training));
    settings.epochs = args.epochs.unwrap_or(settings.epochs);
    settings.stale_epochs = wanted.stale_epochs.or(settings.stale_epochs);
    let optimiser = &mut settings.optimiser;
    optimiser.rate = wanted.lr.unwrap_or(optimiser.rate);
    optimiser.schedule = wanted.schedule.unwrap_or(optimiser.schedule);
    optimiser.method = wanted.optimiser.unwrap_or(optimiser.method);
    optimiser.decay.extend(wanted.weight_decay.iter().cloned());
    (shape, settings)
}

/// A checkpoint with its model's names.
pub struct Saved {
    /// The file.
    pub file: PathBuf,
    /// What it holds.
    pub checkpoint: Checkpoint<f32>,
    /// Its architecture.
    pub architecture: Architecture,
    /// Its precision.
    pub precision: Precision,
    /// How its plans are computed.
    pub execution: Execution,
}

impl Saved {
    /// Reads one of a model that classifies nodes.
    pub fn of_nodes(file: &Path) -> Result<Self> {
        let saved = Self::open(file)?;
        if saved.checkpoint.description.graphs.is_some() {
            let what = "the checkpoint is of a model that classifies graphs, which gnn infer alone takes";
            return Err(Failure::usage(format_args!("{}: {what}", file.display())));
        }
        Ok(saved)
    }
    /// Reads it.
    pub fn open(file: &Path) -> Result<Self> {
        let checkpoint = Checkpoint::<f32>::open(file)?;
        let Description { model, precision, execution, .. } = &checkpoint.description;
        let here = |e: Error| Failure::other(e).at(file.display());
        let (architecture, precision) = (model.parse().map_err(here)?, precision.parse().map_err(here)?);
        let execution = execution.as_deref().map_or_else(|| Ok(Execution::default()), str::parse).map_err(here)?;
        Ok(Self { file: file.to_path_buf(), checkpoint, architecture, precision, execution })
    }
    /// Refuses a data set whose number of features or of classes is not that of the model.
    pub fn check(&self, name: &Path, found: (usize, usize)) -> Result<()> {
        let Description { inputs, classes, .. } = self.checkpoint.description;
        if found == (inputs, classes) {
            return Ok(());
        }
        Err(Failure::other(format_args!(
            "{}: the model takes {inputs} features and knows {classes} classes; {} has {} and {}",
            self.file.display(),
            name.display(),
            found.0,
            found.1
        )))
    }
}

/// The model of a description in a precision of floats, and its task over a data set.
pub fn floats<B: TensorBackend, T: Float>(
    backend: &B,
    architecture: Architecture,
    d: &Description,
    (set, streamed): (&Dataset, bool),
) -> Result<(Model<B, T>, NodeTask<B, T>)>
where
    B::Error: Into<Failure>,
{
    let model = architecture.model(&d.shape, d.inputs, d.classes)?;
    let task = match streamed {
        true => Streamed::task(backend, set, d.split, set.preparation(d.normalise, Some(d.factor))?),
        false => set.task(backend, d.split),
    };
    Ok((model, task.map_err(Into::into)?))
}

/// The model of a description in a precision of few bits, and its task over a data set with features as they are in its files.
pub fn few_bits<B: GnnBackend>(backend: &B, precision: Precision, d: &Description, set: &Dataset) -> Result<LowBits<B>> {
    // Settings out of range are the user's, and refused as such.
    quant::model::<B>(precision, &d.shape, (d.inputs, d.classes))?;
    LowBits::new(backend, set, d.split, precision, &d.shape).map_err(Into::into)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Setting { .. } | Error::Unknown { .. } | Error::Unsupported { .. } => Self::usage(error),
            _ => Self::other(error),
        }
    }
}

impl From<data::Error> for Failure {
    fn from(error: data::Error) -> Self {
        match error {
            data::Error::Read(e) => e.into(),
            data::Error::Generate(e) => e.into(),
            data::Error::In { path, source } => match Self::from(*source) {
                Self::Usage(text) => Self::other(text).at(path.display()),
                failure => failure.at(path.display()),
            },
            data::Error::Unknown { .. } => Self::usage(error),
            _ => Self::other(error),
        }
    }
}
