//! Batches: what samplers take, that their sums and losses are unbiased, and that training on them repeats itself, goes on, and learns.

use bitgraph_cpu::Cpu;
use bitgraph_gnn::batch::{Batch, BatchSettings, Batches, Sampler, partition};
use bitgraph_gnn::data::{self, Dataset, Normalise, Preparation};
use bitgraph_gnn::{
    Architecture, Checkpoint, Course, Epoch, Float, Model, NodeTask, Run, Runs, Shape, State, Streamed, Taught, Training, train,
};
use bitgraph_sparse::{Buffer, Control, Csr, Offsets};
use bitgraph_tensor::Dense;
use half::{bf16, f16};
use std::path::Path;
use std::sync::Arc;

const SAMPLERS: [&str; 5] = ["neighbours:4,3", "saint-node:80", "saint-edge:50", "saint-walk:30:3", "clusters:12:3"];

fn set() -> Dataset {
    data::open(Path::new("planted:200:3:8"), &Control::default()).unwrap()
}

fn settings(sampler: &str) -> BatchSettings {
    let sampler: Sampler = sampler.parse().unwrap();
    let sampler = if matches!(sampler, Sampler::Neighbours { .. }) { sampler.with_batch(20).unwrap() } else { sampler };
    BatchSettings { sampler, evaluate_every: 1 }
}

fn batches(set: &Dataset, settings: &BatchSettings) -> Batches {
    Batches::new(set, 0, settings, Normalise::None, None, &Control::default(), |_| ()).unwrap()
}

fn epoch(batches: &Batches, seed: u64, epoch: u32) -> Vec<Batch> {
    let order = batches.order(seed, epoch);
    (0..batches.count()).map(|index| batches.batch(&order, seed, (epoch, index))).collect()
}

/// The entries of a batch by the nodes of the data set.
fn entries(batch: &Batch) -> Vec<(u32, u32)> {
    let of = |i: usize| batch.pattern.row(i).iter().map(move |&j| (batch.nodes[i], batch.nodes[j as usize]));
    (0..batch.nodes.len()).flat_map(of).collect()
}

#[test]
fn samples_of_neighbours_keep_their_bounds() {
    let set = set();
    let (train, graph) = (&set.splits()[0].train, set.graph());
    let mut seen = Vec::new();
    for batch in epoch(&batches(&set, &settings("neighbours:4,3")), 7, 1) {
        let seeds = &batch.nodes[..batch.seeds];
        assert!(!seeds.is_empty() && seeds.len() <= 20 && seeds.iter().all(|v| train.contains(v)));
        seen.extend_from_slice(seeds);
        let mut distinct = batch.nodes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), batch.nodes.len());
        assert!(entries(&batch).iter().all(|&(i, j)| i != j && graph.position(i as usize, j).is_some()));
        let first_hop = (0..batch.seeds).flat_map(|i| batch.pattern.row(i)).map(|&j| j as usize).max().unwrap_or(0).max(batch.seeds - 1);
        let weights = batch.weights.as_ref().unwrap();
        for i in 0..batch.nodes.len() {
            let degree = graph.degree(batch.nodes[i] as usize);
            let wanted = if i < batch.seeds {
                degree.min(4)
            } else if i <= first_hop {
                degree.min(3)
            } else {
                0
            };
            assert_eq!((batch.pattern.degree(i), batch.degrees[i]), (wanted, degree));
            assert!(batch.pattern.row_range(i).all(|e| weights[e] == degree as f32 / wanted as f32));
            assert_eq!(batch.shares[i] > 0.0, i < batch.seeds);
        }
    }
    seen.sort_unstable();
    assert_eq!(&seen, train, "every training node is in one batch of an epoch");
}

#[test]
fn epochs_and_seeds_draw_anew() {
    let set = set();
    for sampler in SAMPLERS {
        let made = batches(&set, &settings(sampler));
        assert_eq!(epoch(&made, 3, 2), epoch(&made, 3, 2), "{sampler}");
        assert_ne!(epoch(&made, 3, 2), epoch(&made, 3, 3), "{sampler}");
        assert_ne!(epoch(&made, 3, 2), epoch(&made, 4, 2), "{sampler}");
    }
}

/// Logits of all nodes in double precision.
fn logits(model: &Model<Cpu, f64>, graph: &bitgraph_gnn::Graph<Cpu, f64>, features: &data::Features) -> Vec<f64> {
    let parameters = model.start(&Cpu::new(), 1).unwrap();
    model.infer(graph, &parameters, &features.on(&Cpu::new()).unwrap()).unwrap().to_host().unwrap()
}

#[test]
fn whole_neighbourhoods_give_the_logits_of_the_whole_graph() {
    let set = set();
    let made = batches(&set, &settings("neighbours:1000,1000"));
    let batch = epoch(&made, 1, 1).swap_remove(0);
    for architecture in [Architecture::Gcn, Architecture::Sage, Architecture::GraphConv, Architecture::Gin, Architecture::Gat] {
        let shape = architecture.recipe(3).shape;
        let model: Model<Cpu, f64> = architecture.model(&shape, set.features().shape().1, 3).unwrap();
        let all = logits(&model, &bitgraph_gnn::Graph::new(&Cpu::new(), set.graph()).unwrap(), set.features());
        let some = logits(&model, &batch.clone().graph(&Cpu::new()).unwrap(), &set.features().select(&batch.nodes));
        for (number, &v) in batch.nodes[..batch.seeds].iter().enumerate() {
            for c in 0..3 {
                let (found, wanted) = (some[3 * number + c], all[3 * v as usize + c]);
                assert!((found - wanted).abs() < 1e-9, "{}: node {v}, class {c}: {found}, {wanted}", architecture.name());
            }
        }
    }
}

/// A graph with a hub, a path, a triangle at its end, and a lone node, in a data set with two training nodes and more.
fn toy() -> Dataset {
    let edges = [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (5, 6), (6, 7), (7, 8), (8, 9), (9, 10), (8, 10), (3, 4)];
    let mut arcs: Vec<(u32, u32)> = edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
    arcs.sort_unstable();
    let offsets: Vec<usize> = (0..=12).map(|i| arcs.partition_point(|a| a.0 < i)).collect();
    let graph = Csr::new(12, 12, Offsets::from_usizes(&offsets), Buffer::from(arcs.iter().map(|a| a.1).collect::<Vec<_>>())).unwrap();
    let features = data::Features::dense(12, 1, (0..12).map(|v| 1.0 + (v * v % 7) as f32).collect::<Vec<_>>()).unwrap();
    let labels = data::Labels::new((0..12).map(|v| v % 2).collect(), 2).unwrap();
    let split = bitgraph_gnn::Nodes { train: vec![0, 1, 3, 6, 8, 10], validation: vec![2, 4], test: vec![5, 7, 9, 11] };
    Dataset::new("toy", graph, features, labels, vec![split]).unwrap()
}

#[test]
fn saint_sums_and_losses_are_unbiased() {
    let (set, cpu) = (toy(), Cpu::new());
    let (graph, train) = (set.graph(), &set.splits()[0].train);
    let number = |v: u32| f64::from(set.features().values()[v as usize]);
    for sampler in ["saint-node:3", "saint-edge:2", "saint-walk:2:2"] {
        let made = batches(&set, &settings(sampler));
        let (mut sums, mut plain, mut seen) = ([0.0; 12], [0.0; 12], [0.0; 12]);
        let (mut loss, mut drawn, rounds) = (0.0, 0.0, 6000 / made.count() as u32);
        for batch in (1..=rounds).flat_map(|e| epoch(&made, 5, e)) {
            let x = set.features().select(&batch.nodes);
            let values = Dense::<Cpu, f64>::column_vector(&cpu, x.values().iter().map(|v| f64::from(*v)).collect()).unwrap();
            let found = batch.clone().graph::<Cpu, f64>(&cpu).unwrap().sum(&values).unwrap().eval().unwrap().to_host().unwrap();
            for (i, &v) in batch.nodes.iter().enumerate() {
                seen[v as usize] += 1.0;
                sums[v as usize] += found[i];
                plain[v as usize] += batch.pattern.row(i).iter().map(|&j| number(batch.nodes[j as usize])).sum::<f64>();
                loss += f64::from(batch.shares[i]) * number(v);
                assert_eq!(batch.shares[i] > 0.0, train.contains(&v));
            }
            drawn += 1.0;
        }
        let mean = train.iter().map(|&v| number(v)).sum::<f64>() / train.len() as f64;
        assert!((loss / drawn / mean - 1.0).abs() < 0.12, "{sampler}: a loss of {} where {mean} is wanted", loss / drawn);
        let wanted = |v: usize| graph.row(v).iter().map(|&j| number(j)).sum::<f64>();
        for v in (0..11).filter(|v| seen[*v] > 200.0) {
            let (found, wanted) = (sums[v] / seen[v], wanted(v));
            assert!((found / wanted - 1.0).abs() < 0.2, "{sampler}: node {v} sums to {found} where {wanted} is wanted");
        }
        let error = |of: &[f64]| (0..11).filter(|v| seen[*v] > 200.0).map(|v| (of[v] / seen[v] / wanted(v) - 1.0).abs()).sum::<f64>();
        assert!(
            error(&sums) < 0.4 * error(&plain),
            "{sampler}: weights take the bias of sums away: {} and {}",
            error(&sums),
            error(&plain)
        );
    }
}

#[test]
fn sums_over_sampled_neighbours_are_unbiased() {
    let (set, cpu) = (toy(), Cpu::new());
    let made = batches(&set, &settings("neighbours:2"));
    let (mut sums, rounds) = ([0.0; 12], 3000);
    for batch in (1..=rounds).flat_map(|e| epoch(&made, 5, e)) {
        let x: Vec<f64> = batch.nodes.iter().map(|&v| f64::from(set.features().values()[v as usize])).collect();
        let values = Dense::<Cpu, f64>::column_vector(&cpu, x).unwrap();
        let found = batch.clone().graph::<Cpu, f64>(&cpu).unwrap().mean(&values).unwrap().eval().unwrap().to_host().unwrap();
        batch.nodes[..batch.seeds].iter().zip(found).for_each(|(&v, mean)| sums[v as usize] += mean / f64::from(rounds));
    }
    for &v in &set.splits()[0].train {
        let row = set.graph().row(v as usize);
        let wanted = row.iter().map(|&j| f64::from(set.features().values()[j as usize])).sum::<f64>() / row.len() as f64;
        assert!((sums[v as usize] / wanted - 1.0).abs() < 0.03, "node {v}: {} where {wanted} is wanted", sums[v as usize]);
    }
}

#[test]
fn partitions_cover_every_node_once() {
    let set = set();
    let graph = set.graph();
    for parts in [1, 2, 7, 12, 200] {
        let of = partition(graph, parts).unwrap();
        assert_eq!((of.len(), of.iter().max().is_some_and(|p| *p < parts)), (200, true));
        assert_eq!(of, partition(graph, parts).unwrap());
    }
    let of = partition(graph, 8).unwrap();
    let sizes = of.iter().fold([0; 8], |mut sizes, &p| {
        sizes[p as usize] += 1;
        sizes
    });
    assert!(sizes.iter().all(|n| (15..=35).contains(n)), "{sizes:?}");
    let cut = |of: &dyn Fn(u32) -> u32| {
        (0..200).flat_map(|i| graph.row(i).iter().map(move |&j| (i as u32, j))).filter(|&(i, j)| of(i) != of(j)).count()
    };
    let (found, by_number) = (cut(&|v| of[v as usize]), cut(&|v| v % 8));
    assert!(2 * found < by_number, "{found} entries are cut; {by_number} by chance");
    // One direction of an edge is the same graph.
    let (upper, _) = graph.filter_with_positions(|i, j| i <= j);
    assert_eq!(partition(&upper, 8).unwrap(), of);
    for (parts, words) in [(201, "at most as many as nodes"), (0, "a part or more")] {
        let error = partition(graph, parts).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("200 nodes"), "{error}");
    }
    assert_eq!(partition(&Csr::empty(5, 5).unwrap(), 5).unwrap().len(), 5);
    let made = batches(&set, &settings("clusters:12:5"));
    assert_eq!(made.count(), 3);
    let mut nodes: Vec<u32> = epoch(&made, 1, 1).iter().flat_map(|b| b.nodes.clone()).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, (0..200).collect::<Vec<u32>>());
    for batch in epoch(&made, 1, 1) {
        let inside = |v: &u32| batch.nodes.contains(v);
        let wanted: usize = batch.nodes.iter().map(|&v| graph.row(v as usize).iter().filter(|j| inside(j)).count()).sum();
        assert_eq!(entries(&batch).len(), wanted, "a batch has all entries between its nodes");
    }
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    let set = set();
    let refused = |settings: &BatchSettings, k: usize, normalise| {
        Batches::new(&set, k, settings, normalise, None, &Control::default(), |_| ()).err().unwrap().to_string()
    };
    assert!(refused(&settings("clusters:201:1"), 0, Normalise::None).contains("201 parts"));
    assert!(refused(&settings("clusters:4:1"), 1, Normalise::None).contains("splits"));
    assert!(refused(&settings("clusters:4:1"), 0, Normalise::ColumnMeanNonzero).contains("column"));
    assert!(refused(&BatchSettings { evaluate_every: 0, ..settings("clusters:4:1") }, 0, Normalise::None).contains("between scores is 0"));
    let lone =
        Dataset::new("lone", Csr::empty(200, 200).unwrap(), set.features().clone(), set.labels().clone(), set.splits().to_vec()).unwrap();
    for sampler in ["saint-edge:4", "saint-node:4"] {
        let error = Batches::new(&lone, 0, &settings(sampler), Normalise::None, None, &Control::default(), |_| ()).err().unwrap();
        assert!(error.to_string().contains("the graph has none"), "{error}");
    }
    let other = data::open(Path::new("planted:201:3:8"), &Control::default()).unwrap().task::<Cpu, f32>(&Cpu::new(), 0).unwrap();
    let (model, _, training) = setup::<f32>(Architecture::Gcn, "clusters:4:1", 1);
    assert!(train(&model, &other, &training, 1, |_| ()).err().unwrap().to_string().contains("another graph"));
    let task = set.task::<Cpu, f32>(&Cpu::new(), 0).unwrap();
    let teach = |_| Taught::new(&Dense::zeros(&Cpu::new(), 200, 3)?, 0.5);
    assert!(Runs::new(&model, &task, &training, vec![1]).with_teacher(Box::new(teach)).err().unwrap().to_string().contains("teacher"));
}

fn setup<T: Float>(architecture: Architecture, sampler: &str, epochs: u32) -> (Model<Cpu, T>, NodeTask<Cpu, T>, Training) {
    let set = set();
    let recipe = architecture.recipe(3);
    let model = architecture.model(&Shape { hidden: 16, dropout: 0.3, ..recipe.shape }, set.features().shape().1, 3).unwrap();
    let batches = Some(Arc::new(batches(&set, &settings(sampler))));
    (model, set.task(&Cpu::new(), 0).unwrap(), Training { epochs, batches, ..recipe.training })
}

fn learns<T: Float>(architectures: &[Architecture]) {
    for &architecture in architectures {
        for sampler in SAMPLERS {
            let (model, task, training) = setup::<T>(architecture, sampler, 40);
            let run = train(&model, &task, &training, 3, |_| ()).unwrap();
            let found = run.best.scores.test_accuracy;
            // One of three classes by chance.
            assert!(found > 0.7 && run.epochs == 40, "{} in {} by {sampler}: {found}", architecture.name(), T::DTYPE);
        }
    }
}

#[test]
fn every_sampler_learns() {
    learns::<f32>(&[Architecture::Gcn, Architecture::Sage, Architecture::GraphConv, Architecture::Gin, Architecture::Gat]);
}
#[test]
fn halves_learn_on_batches() {
    learns::<f16>(&[Architecture::Gcn, Architecture::Sage]);
    learns::<bf16>(&[Architecture::Gcn, Architecture::Gin]);
}

#[test]
fn numbers_do_not_depend_on_threads() {
    for sampler in SAMPLERS {
        let run = |threads: usize| -> (Vec<Epoch>, State<f32>) {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (model, task, training) = setup::<f32>(Architecture::Sage, sampler, 3);
                let mut run = Run::new(&model, &task, &training, 9).unwrap();
                let seen = (0..3).map(|_| run.step().unwrap()).collect();
                (seen, run.state().unwrap())
            })
        };
        assert_eq!(run(1), run(4), "{sampler}");
    }
}

#[test]
fn runs_go_on_with_the_same_numbers() {
    let (model, task, training) = setup::<f32>(Architecture::Gcn, "saint-walk:30:3", 6);
    let outcomes = |runs: &Runs<'_, Cpu, f32>| runs.outcomes().iter().map(|o| (o.seed, o.test_accuracy, o.best_epoch)).collect::<Vec<_>>();
    let mut whole = Runs::new(&model, &task, &training, vec![5, 6]);
    while whole.step().unwrap().is_some() {}
    let mut first = Runs::new(&model, &task, &training, vec![5, 6]);
    (0..8).for_each(|_| assert!(first.step().unwrap().is_some()));
    let mut second = Runs::resume(&model, &task, &training, vec![5, 6], first.progress().unwrap()).unwrap();
    while second.step().unwrap().is_some() {}
    assert_eq!(outcomes(&whole), outcomes(&second));
    assert_eq!(whole.best().unwrap(), second.best().unwrap());
    // How they were done is told too: of the run that goes on, and of those that begin.
    let resumed = |steps: usize| {
        let mut runs = Runs::resume(&model, &task, &training, vec![5, 6], first.progress().unwrap()).unwrap();
        (0..steps).for_each(|_| assert!(runs.step().unwrap().is_some()));
        runs.course().map(ToString::to_string)
    };
    assert_eq!(resumed(0), None);
    assert!(resumed(1).is_some_and(|course| course.contains("goes on from a state")));
    assert_eq!(whole.course(), Some(&Course::Operations("it is trained on batches".into())));
}

#[test]
fn checkpoints_hold_the_batches() {
    let wanted = BatchSettings { sampler: "saint-walk:30:3".parse().unwrap(), evaluate_every: 4 };
    let text = serde_json::to_string(&wanted).unwrap();
    assert_eq!(serde_json::from_str::<BatchSettings>(&text).unwrap(), wanted);
    // A description without them is of a file that was written before there were batches.
    let (model, task, training) = setup::<f32>(Architecture::Gcn, "clusters:12:3", 2);
    let mut runs = Runs::new(&model, &task, &training, vec![5]);
    while runs.step().unwrap().is_some() {}
    let (best, flat) = runs.best().unwrap().unwrap();
    let recipe = Architecture::Gcn.recipe(3);
    let description = bitgraph_gnn::Description {
        model: "gcn".into(),
        precision: "f32".into(),
        inputs: model.inputs(),
        classes: 3,
        shape: recipe.shape,
        data: "planted".into(),
        split: 0,
        normalise: Normalise::Row,
        factor: 1.0,
        settings: bitgraph_gnn::Settings::of(&training),
        batches: Some(wanted),
        teacher: bitgraph_gnn::Teacher::None,
        seeds: vec![5],
        execution: None,
        graphs: None,
    };
    let saved = Checkpoint::new(description, model.layout(), (best, &flat), runs.progress().unwrap()).unwrap();
    assert_eq!(Checkpoint::from_bytes(&saved.to_bytes().unwrap()).unwrap(), saved);
}

#[test]
fn only_scored_epochs_are_chosen() {
    let set = set();
    let (model, task, training) = setup::<f32>(Architecture::Gcn, "clusters:12:3", 9);
    let sparse = Arc::new(batches(&set, &BatchSettings { evaluate_every: 4, ..settings("clusters:12:3") }));
    let sparse = Training { batches: Some(sparse), ..training.clone() };
    let (mut every, mut some) = (Vec::new(), Vec::new());
    train(&model, &task, &training, 1, |e| every.push(*e)).unwrap();
    let best = train(&model, &task, &sparse, 1, |e| some.push(*e)).unwrap().best;
    assert!([1, 5, 9].contains(&best.epoch));
    for (all, few) in every.iter().zip(&some) {
        assert_eq!(all.loss, few.loss);
        let scored = all.epoch % 4 == 1;
        assert_eq!(all.scores == few.scores, scored || all.scores == every[(all.epoch as usize - 1) / 4 * 4].scores);
    }
}

#[test]
fn streamed_features_give_what_uploaded_ones_do() {
    let sparse = set();
    let dense = data::Features::dense(200, sparse.features().shape().1, sparse.features().to_dense()).unwrap();
    for set in [sparse.clone(), sparse.with_features(dense).unwrap()] {
        let normal = set.clone().with_features(set.features().normalised(Normalise::Row)).unwrap();
        for architecture in [Architecture::Gcn, Architecture::Gat, Architecture::Agnn] {
            let recipe = architecture.recipe(3);
            let model: Model<Cpu, f32> = architecture.model(&Shape { hidden: 16, ..recipe.shape }, set.features().shape().1, 3).unwrap();
            let settings = settings("clusters:12:3");
            let of = |set: &Dataset, normalise| {
                let made = Batches::new(set, 0, &settings, normalise, None, &Control::default(), |_| ()).unwrap();
                Training { epochs: 3, batches: Some(Arc::new(made)), ..recipe.training.clone() }
            };
            let uploaded: NodeTask<Cpu, f32> = normal.task(&Cpu::new(), 0).unwrap();
            let streamed: NodeTask<Cpu, f32> = Streamed::task(&Cpu::new(), &set, 0, Normalise::Row).unwrap();
            let whole = Training { batches: None, ..of(&set, Normalise::Row) };
            let error = train(&model, &streamed, &whole, 1, |_| ()).err().unwrap().to_string();
            assert!(error.contains("streamed from host memory"), "{error}");
            let a = train(&model, &uploaded, &of(&normal, Normalise::None), 1, |_| ()).unwrap();
            let b = train(&model, &streamed, &of(&set, Normalise::Row), 1, |_| ()).unwrap();
            let apart = (a.best.scores.validation_loss - b.best.scores.validation_loss).abs();
            assert!(apart < 1e-5 && a.best.epoch == b.best.epoch, "{}: {apart}", architecture.name());
        }
        assert!(Streamed::task::<f32>(&Cpu::new(), &set, 0, Normalise::ColumnMeanNonzero).is_err());
        let columns = set.features().shape().1;
        // Multiplied, too: every batch has the same bits.
        let ((more, _), how) =
            (set.clone().prepared(Normalise::Row, Some(5.0)).unwrap(), set.preparation(Normalise::Row, Some(5.0)).unwrap());
        let model: Model<Cpu, f32> =
            Architecture::Gcn.model(&Shape { hidden: 16, ..Architecture::Gcn.recipe(3).shape }, columns, 3).unwrap();
        let losses = |task: &NodeTask<Cpu, f32>, set: &Dataset, how: Preparation| {
            let made = Batches::new(set, 0, &settings("clusters:12:3"), how, None, &Control::default(), |_| ()).unwrap();
            let training = Training { epochs: 3, batches: Some(Arc::new(made)), ..Architecture::Gcn.recipe(3).training };
            let mut losses = Vec::new();
            train(&model, task, &training, 1, |epoch| losses.push(epoch.loss)).unwrap();
            losses
        };
        let uploaded = losses(&more.task(&Cpu::new(), 0).unwrap(), &more, Normalise::None.into());
        assert_eq!(losses(&Streamed::task(&Cpu::new(), &set, 0, how).unwrap(), &set, how), uploaded);
        assert_ne!(losses(&Streamed::task(&Cpu::new(), &set, 0, Normalise::Row).unwrap(), &set, Normalise::Row.into()), uploaded);
    }
}
