//! What a model is predicted to take of memory is what it takes: counted by the allocator on the CPU.

use bitgraph::cpu::Cpu;
use bitgraph::gnn::data::{self, Dataset};
use bitgraph::gnn::memory::{Extent, Purpose, footprint};
use bitgraph::gnn::{Architecture, Float, Run, Shape, f16};
use bitgraph::memory::{TrackingAllocator, peak_bytes, restart_peak};
use bitgraph::sparse::Control;

#[global_allocator]
static ALLOCATOR: TrackingAllocator = TrackingAllocator;

/// Predicted over taken bytes, of training and of inference.
fn ratios<T: Float>(set: &Dataset, architecture: Architecture, shape: &Shape) -> [f64; 2] {
    let (inputs, classes) = (set.features().shape().1, set.labels().classes());
    let recipe = architecture.recipe(classes);
    // The model shares the adjacency, which has no loops, and the lists of sparse features with the data set, which has them already: predictions
    // count them.
    let shared = set.graph().bytes() + set.features().pattern().map_or(0, |pattern| pattern.bytes());
    let before = restart_peak();
    let model = architecture.model::<Cpu, T>(shape, inputs, classes).unwrap();
    let task = set.task::<Cpu, T>(&Cpu::new(), 0).unwrap();
    let parameters = model.start(&Cpu::new(), 1).unwrap();
    restart_peak();
    drop(model.infer(&task.graph, &parameters, &task.features).unwrap());
    let inference = peak_bytes() - before;
    drop(parameters);
    let mut run = Run::new(&model, &task, &recipe.training, 1).unwrap();
    restart_peak();
    (0..4).for_each(|_| assert!(run.step().unwrap().loss.is_finite()));
    let training = peak_bytes() - before;
    let predicted = |purpose, taken: u64| footprint(&model, &Extent::of(set), purpose).peak() as f64 / (shared + taken) as f64;
    [predicted(Purpose::Training, training), predicted(Purpose::Inference, inference)]
}

#[test]
fn predictions_are_what_is_taken() {
    let sparse = data::open("planted:10000:4:12".as_ref(), &Control::default()).unwrap();
    let (rows, columns) = sparse.features().shape();
    let dense = data::Features::dense(rows, columns, sparse.features().to_dense()).unwrap();
    let dense = sparse.clone().with_features(dense).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    // A thread keeps what products lay their operands out in, half a mebibyte or two by the processor: it is there before anything is counted.
    let first = Architecture::Gat;
    pool.install(|| ratios::<f32>(&sparse, first, &first.recipe(4).shape));
    let mut told = String::new();
    for (set, name, layers) in [(&sparse, "sparse", 2), (&dense, "dense", 3)] {
        for architecture in [Architecture::Gcn, Architecture::Sage, Architecture::Gin, Architecture::Gat] {
            let shape = Shape { layers, ..architecture.recipe(4).shape };
            let single = pool.install(|| ratios::<f32>(set, architecture, &shape));
            let half = pool.install(|| ratios::<f16>(set, architecture, &shape));
            for ([training, inference], of) in [(single, "f32"), (half, "f16")] {
                // Attention holds little things for each head that are not counted, and in halves its largest product is counted with its gradient.
                let (from, below) = if architecture == Architecture::Gat { (0.9, 1.3) } else { (0.95, 1.06) };
                if !(from..below).contains(&training) || !(0.8..1.5).contains(&inference) {
                    let model = architecture.name();
                    told += &format!("{model} of {layers} layers, {name} features, {of}: {training:.3} and {inference:.3}\n");
                }
            }
        }
    }
    assert!(told.is_empty(), "predicted over taken, training and inference:\n{told}");
}
