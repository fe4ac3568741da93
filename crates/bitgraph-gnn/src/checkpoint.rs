//! Checkpoints: the parameters of a model, and all that its training goes on from, in one file.
//!
//! The file is of the safetensors form: eight bytes of length, a header of JSON, and tensors. The parameters of the best state are tensors
//! by their names, so that other programs read them; what training goes on from, and statistics of batch normalisation, lie beside them. Settings are in the header's metadata,
//! with a checksum of all other bytes of the file.
//!
//! Invariant: a file that was written whole is replaced by another whole one, or stays.

use crate::batch::BatchSettings;
use crate::data::Normalise;
use crate::graphs::OfGraphs;
use crate::{Epoch, Error, Layout, Memory, Optimiser, Outcome, Progress, Selection, Shape, State, Teacher, Training};
use bitgraph_io::WriteOptions;
use bitgraph_sparse::Control;
use bitgraph_tensor::Real;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

const FORMAT: &str = "bitgraph-gnn";
const VERSION: &str = "1";
/// What stands before the checksum in the header, and what the checksum takes its own digits for.
const MARK: &[u8] = b"\"checksum\":\"";
const NO_SUM: &[u8; 8] = b"00000000";
/// Tensors that training goes on from; no parameter has such a name, which begins with its layer's.
const STATE: [&str; 4] = ["state.parameters", "state.first", "state.second", "state.best"];
const KEPT: &str = "runs.best";
/// What begins the names of [`Checkpoint::statistics`], before their number and one of these.
const STATISTICS: &str = "statistics.";
const MOMENTS: [&str; 2] = ["mean", "variance"];

/// The settings of a training, as [`Training`] has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The optimiser.
    pub optimiser: Optimiser,
    /// Epochs.
    pub epochs: u32,
    /// Which state is kept.
    pub selection: Selection,
    /// Epochs without a better state after which a run stops.
    pub stale_epochs: Option<u32>,
    /// The loss scale of f16 at first.
    pub loss_scale: f64,
}

impl Settings {
    /// Those of a training.
    #[must_use]
    pub fn of(training: &Training) -> Self {
        let Training { optimiser, epochs, selection, stale_epochs, loss_scale, .. } = training.clone();
        Self { optimiser, epochs, selection, stale_epochs, loss_scale }
    }
    /// The training, with a control and without batches.
    #[must_use]
    pub fn training(&self, control: Control) -> Training {
        let Self { optimiser, epochs, selection, stale_epochs, loss_scale } = self.clone();
        Training { optimiser, epochs, selection, stale_epochs, loss_scale, batches: None, control }
    }
}

/// What a checkpoint says of its model and how it is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The name of the architecture.
    pub model: String,
    /// The name of the precision.
    pub precision: String,
    /// Columns of the features.
    pub inputs: usize,
    /// Classes.
    pub classes: usize,
    /// The shape.
    pub shape: Shape,
    /// The data set as it was named.
    pub data: String,
    /// Which of its splits.
    pub split: usize,
    /// What its features are divided by.
    pub normalise: Normalise,
    /// What they are multiplied by then.
    #[serde(default = "once")]
    pub factor: f32,
    /// The training.
    pub settings: Settings,
    /// How it is trained on batches; none where every step is over the whole graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches: Option<BatchSettings>,
    /// Where its teacher comes from.
    #[serde(default)]
    pub teacher: Teacher,
    /// The way in which its plans were found to be fastest, as [`Execution`](crate::Execution) is written; the usual one without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<String>,
    /// The seeds of the runs.
    pub seeds: Vec<u64>,
    /// What is said of a model that classifies graphs; none of one that classifies nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graphs: Option<OfGraphs>,
}

/// What features are multiplied by where a file does not say.
const fn once() -> f32 {
    1.0
}

/// A checkpoint in memory. `R` is the type of the parameters that are optimised.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint<R> {
    /// What it is of.
    pub description: Description,
    /// The epoch that the parameters are of.
    pub best: Epoch,
    /// Where the runs are.
    pub progress: Progress<R>,
    /// Mean and variance of every batch normalisation that goes by those of other nodes than are at hand.
    pub statistics: Vec<[Vec<R>; 2]>,
    parameters: Vec<(String, (usize, usize), Vec<R>)>,
}

/// What the metadata says of a run on its way; its arrays are tensors.
#[derive(Serialize, Deserialize)]
struct Running {
    seed: u64,
    epoch: u32,
    steps: u32,
    loss_scale: (f64, u32),
    best: Option<Epoch>,
    seconds: f64,
}

impl<R: Real> Checkpoint<R> {
    /// From the flat buffer of the best state and where the runs are.
    ///
    /// # Errors
    /// [`Error::Size`] for a buffer of another layout.
    pub fn new(description: Description, layout: &Layout, best: (Epoch, &[R]), progress: Progress<R>) -> Result<Self, Error> {
        let (epoch, flat) = best;
        let named = layout.parameters().iter().map(|declared| {
            let (expected, found) = (declared.range().end as u64, flat.len() as u64);
            let values = flat.get(declared.range()).ok_or(Error::Size { what: "a flat buffer of parameters", expected, found })?;
            Ok((declared.name.clone(), declared.shape, values.to_vec()))
        });
        let parameters = named.collect::<Result<_, Error>>()?;
        Ok(Self { description, best: epoch, progress, statistics: Vec::new(), parameters })
    }
    /// The flat buffer of the parameters in a model's layout. O(parameters).
    ///
    /// # Errors
    /// [`Error::Combination`] where names or shapes are those of another model.
    pub fn flat(&self, layout: &Layout) -> Result<Vec<R>, Error> {
        let names = layout.parameters().iter().map(|d| (&d.name, d.shape));
        if !names.eq(self.parameters.iter().map(|(name, shape, _)| (name, *shape))) {
            return Err(Error::Combination { what: "a checkpoint of another model", why: "names or shapes of parameters differ" });
        }
        let mut flat = vec![R::of(0.0); layout.flat_len()];
        for (declared, (_, _, values)) in layout.parameters().iter().zip(&self.parameters) {
            flat[declared.range()].copy_from_slice(values);
        }
        Ok(flat)
    }
    /// The bytes of the file. O(bytes).
    ///
    /// # Errors
    /// [`Error::Combination`] for numbers that JSON has no form for.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let Progress { outcomes, best, running } = &self.progress;
        let mut tensors: Vec<(&str, Vec<usize>, &[R])> =
            self.parameters.iter().map(|(name, (rows, columns), values)| (name.as_str(), vec![*rows, *columns], &values[..])).collect();
        let mut flat = |name, values| tensors.push((name, vec![<[R]>::len(values)], values));
        let mut state = None;
        if let Some((s, seconds)) = running {
            flat(STATE[0], &s.parameters);
            flat(STATE[1], &s.memory.first);
            flat(STATE[2], &s.memory.second);
            if let Some((_, values)) = &s.best {
                flat(STATE[3], values);
            }
            let best = s.best.as_ref().map(|b| b.0);
            let (seed, epoch, steps, loss_scale, seconds) = (s.seed, s.epoch, s.memory.steps, s.loss_scale, *seconds);
            state = Some(Running { seed, epoch, steps, loss_scale, best, seconds });
        }
        if let Some((_, values)) = best {
            flat(KEPT, values);
        }
        let named = |k: usize| MOMENTS.map(|of| format!("{STATISTICS}{k}.{of}"));
        let names: Vec<[String; 2]> = (0..self.statistics.len()).map(named).collect();
        for (name, values) in names.iter().flatten().zip(self.statistics.iter().flatten()) {
            tensors.push((name, vec![values.len()], values));
        }
        let text = |value: Result<String, serde_json::Error>| {
            value.map_err(|_| Error::Combination { what: "a checkpoint", why: "a number of it is not finite" })
        };
        let mut header = serde_json::Map::new();
        header.insert(
            "__metadata__".into(),
            json!({
                "format": FORMAT,
                "version": VERSION,
                "checksum": String::from_utf8_lossy(NO_SUM),
                "description": text(serde_json::to_string(&self.description))?,
                "best": text(serde_json::to_string(&self.best))?,
                "outcomes": text(serde_json::to_string(outcomes))?,
                "kept": text(serde_json::to_string(&best.as_ref().map(|b| b.0)))?,
                "running": text(serde_json::to_string(&state))?,
            }),
        );
        let mut data = Vec::new();
        for (name, shape, values) in tensors {
            let begin = data.len();
            values.iter().for_each(|v| put(*v, &mut data));
            header.insert(name.into(), json!({ "dtype": dtype::<R>(), "shape": shape, "data_offsets": [begin, data.len()] }));
        }
        let mut header = text(serde_json::to_string(&Value::Object(header)))?.into_bytes();
        header.resize(header.len().next_multiple_of(8), b' ');
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header);
        bytes.extend(data);
        if let Some(at) = find(&bytes, MARK) {
            let sum = format!("{:08x}", crc32fast::hash(&bytes));
            bytes[at..at + sum.len()].copy_from_slice(sum.as_bytes());
        }
        Ok(bytes)
    }
    /// Writes the file beside the old one and puts it in its place once it is whole.
    ///
    /// # Errors
    /// [`Error::Checkpoint`] with the file; what was there stays.
    pub fn save(&self, path: &Path, options: &WriteOptions) -> Result<(), Error> {
        let bytes = self.to_bytes()?;
        let refused =
            |e: bitgraph_io::Error| Error::Checkpoint { file: path.display().to_string(), what: format!("it was not saved: {e}") };
        bitgraph_io::write_bytes(path, &bytes, options).map_err(refused)
    }
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Checkpoint`] for a file that cannot be read, is damaged, or is of another form or version.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let refused = |what: String| Error::Checkpoint { file: path.display().to_string(), what };
        let bytes = std::fs::read(path).map_err(|e| refused(e.to_string()))?;
        Self::from_bytes(&bytes).map_err(refused)
    }
    /// From the bytes of a file; what is wrong with them.
    ///
    /// # Errors
    /// A sentence.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let header = check(bytes)?;
        let damaged = |what: &str| format!("the checkpoint is damaged: {what}");
        let (text, data) = bytes[8..].split_at(header);
        let parsed: BTreeMap<String, Value> = serde_json::from_slice(text).map_err(|e| damaged(&e.to_string()))?;
        let metadata = parsed.get("__metadata__").cloned().unwrap_or_default();
        let said = |key: &str| metadata.get(key).and_then(Value::as_str).unwrap_or_default();
        if said("version") != VERSION {
            return Err(format!("the checkpoint is of version {}; this program reads version {VERSION}", said("version")));
        }
        let missing = |key: &'static str| move |e: serde_json::Error| format!("the checkpoint is damaged: {key}: {e}");
        let description = serde_json::from_str(said("description")).map_err(missing("description"))?;
        let best = serde_json::from_str(said("best")).map_err(missing("best"))?;
        let outcomes: Vec<Outcome> = serde_json::from_str(said("outcomes")).map_err(missing("outcomes"))?;
        let kept: Option<Epoch> = serde_json::from_str(said("kept")).map_err(missing("kept"))?;
        let running: Option<Running> = serde_json::from_str(said("running")).map_err(missing("running"))?;

        let mut tensors = BTreeMap::new();
        for (name, about) in parsed.iter().filter(|(name, _)| *name != "__metadata__") {
            tensors.insert(name.as_str(), tensor::<R>(about, data).ok_or_else(|| damaged(name))?);
        }
        let mut take = |name: &str| tensors.remove(name).map(|t| t.values).ok_or_else(|| damaged(&format!("there is no {name}")));
        let kept = kept.map(|epoch| Ok::<_, String>((epoch, take(KEPT)?))).transpose()?;
        let running = running.map(|r| {
            let memory = Memory { steps: r.steps, first: take(STATE[1])?, second: take(STATE[2])? };
            let best = r.best.map(|epoch| Ok::<_, String>((epoch, take(STATE[3])?))).transpose()?;
            let (seed, epoch, loss_scale) = (r.seed, r.epoch, r.loss_scale);
            Ok::<_, String>((State { seed, epoch, parameters: take(STATE[0])?, memory, loss_scale, best }, r.seconds))
        });
        let progress = Progress { outcomes, best: kept, running: running.transpose()? };
        let mut statistics = Vec::new();
        while let Ok(mean) = take(&format!("{STATISTICS}{}.{}", statistics.len(), MOMENTS[0])) {
            let variance = take(&format!("{STATISTICS}{}.{}", statistics.len(), MOMENTS[1]))?;
            statistics.push([mean, variance]);
        }
        // Names lie in the header by the alphabet; parameters are in the order of their places.
        let mut named: Vec<(String, Tensor<R>)> = tensors.into_iter().map(|(name, t)| (name.to_owned(), t)).collect();
        named.sort_by_key(|(_, t)| t.begin);
        let shaped = named.into_iter().map(|(name, t)| match t.shape[..] {
            [rows, columns] => Ok((name, (rows, columns), t.values)),
            _ => Err(damaged(&name)),
        });
        Ok(Self { description, best, progress, statistics, parameters: shaped.collect::<Result<_, _>>()? })
    }
}

/// The length of the header of a file whose checksum fits.
fn check(bytes: &[u8]) -> Result<usize, String> {
    let foreign = || "this is no checkpoint of bitgraph".to_string();
    let length = bytes.first_chunk::<8>().map(|b| u64::from_le_bytes(*b)).ok_or_else(foreign)?;
    let header = usize::try_from(length).ok().filter(|n| *n <= bytes.len() - 8).ok_or_else(foreign)?;
    let at = find(&bytes[..8 + header], MARK).ok_or_else(foreign)?;
    let digits = bytes.get(at..at + NO_SUM.len()).ok_or_else(foreign)?;
    let mut hasher = crc32fast::Hasher::new();
    [&bytes[..at], NO_SUM, &bytes[at + NO_SUM.len()..]].into_iter().for_each(|part| hasher.update(part));
    if digits != format!("{:08x}", hasher.finalize()).as_bytes() {
        return Err("the checkpoint is damaged: its checksum does not fit".into());
    }
    Ok(header)
}

/// Where a text ends in the header for the first time.
fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|w| w == text).map(|at| at + text.len())
}

struct Tensor<R> {
    begin: usize,
    shape: Vec<usize>,
    values: Vec<R>,
}

/// The tensor that a header's entry describes.
fn tensor<R: Real>(about: &Value, data: &[u8]) -> Option<Tensor<R>> {
    let numbers = |key: &str| -> Option<Vec<usize>> {
        about.get(key)?.as_array()?.iter().map(|n| n.as_u64().and_then(|n| usize::try_from(n).ok())).collect()
    };
    let (shape, offsets) = (numbers("shape")?, numbers("data_offsets")?);
    let &[begin, end] = &offsets[..] else { return None };
    let elements = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n))?;
    let bytes = data.get(begin..end)?;
    if about.get("dtype")?.as_str()? != dtype::<R>() || elements.checked_mul(size_of::<R>())? != bytes.len() {
        return None;
    }
    let values = bytes.chunks_exact(size_of::<R>()).map(get).collect::<Option<_>>()?;
    Some(Tensor { begin, shape, values })
}

fn dtype<R: Real>() -> &'static str {
    if size_of::<R>() == 8 { "F64" } else { "F32" }
}
fn put<R: Real>(value: R, to: &mut Vec<u8>) {
    let wide = bitgraph_semiring::Scalar::to_f64(value);
    if size_of::<R>() == 8 { to.extend(wide.to_le_bytes()) } else { to.extend((wide as f32).to_le_bytes()) }
}
fn get<R: Real>(bytes: &[u8]) -> Option<R> {
    match bytes.len() {
        8 => bytes.try_into().ok().map(|b| R::of(f64::from_le_bytes(b))),
        _ => bytes.try_into().ok().map(|b| R::of(f64::from(f32::from_le_bytes(b)))),
    }
}
