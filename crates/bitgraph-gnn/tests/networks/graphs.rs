//! Classification of graphs, and of nodes that may be of several classes: losses, scores, cross validation.

use bitgraph_cpu::Cpu;
use bitgraph_generate::Control;
use bitgraph_gnn::data::{GraphSet, Set, open_any};
use bitgraph_gnn::graphs::{GraphRun, Rule, chosen, folds, scores, split};
use bitgraph_gnn::{
    Architecture, Epoch, Features, Graph, NodeTask, Nodes, Plan, Precision, Readout, Runs, Scores, Shape, Taught, Training, quant, train,
};
use bitgraph_sparse::{Buffer, Csr, Offsets};
use bitgraph_tensor::{Dense, Philox};

/// Sixty rings and sixty stars.
fn rings_and_stars() -> GraphSet {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in bitgraph_testkit::graphs::rings_and_stars(120) {
        std::fs::write(folder.path().join(format!("RS_{name}.txt")), text).unwrap();
    }
    match open_any(folder.path(), &Control::default()).unwrap() {
        Set::Graphs(set) => set,
        Set::Nodes(_) => panic!("a set of one graph"),
    }
}

#[test]
fn graphs_are_told_apart_and_runs_repeat_themselves() {
    let (set, cpu) = (rings_and_stars(), Cpu::new());
    let all: Vec<u32> = (0..120).collect();
    let parts = folds(set.labels().of(), &all, 4, 3).unwrap();
    for (architecture, readout) in
        [(Architecture::Gin, Readout::Sum), (Architecture::Gcn, Readout::Mean), (Architecture::Transformer, Readout::Max)]
    {
        let recipe = architecture.graph_recipe(2);
        let model = architecture.graph_model::<Cpu, f32>(&recipe.shape, readout, set.features().shape().1, 2).unwrap();
        let training = Training { epochs: 12, ..recipe.training };
        let once = || {
            let part = split(set.labels().of(), &parts, 1, Rule::Validation, 3).unwrap();
            let mut run = GraphRun::new(&cpu, (&model, &set), (&training, 32), part, 5).unwrap();
            (0..12).map(|_| run.step().unwrap()).collect::<Vec<Epoch>>()
        };
        let epochs = once();
        let best = chosen(std::slice::from_ref(&epochs), Rule::Validation).unwrap()[0];
        assert!(epochs[best].scores.test_accuracy > 0.9, "{}: {:?}", architecture.name(), epochs[best]);
        assert_eq!(epochs, once());
    }
    let recipe = Architecture::Gin.graph_recipe(2);
    let model = Architecture::Gin.graph_model::<Cpu, f32>(&recipe.shape, Readout::Sum, 1, 3).unwrap();
    let part = || split(set.labels().of(), &parts, 0, Rule::OneEpoch, 1).unwrap();
    let told =
        |graphs: usize, part: Nodes| GraphRun::new(&cpu, (&model, &set), (&recipe.training, graphs), part, 1).err().unwrap().to_string();
    assert!(told(8, part()).contains("columns of the model's result, for the classes,: 3 where 2"));
    let model = Architecture::Gin.graph_model::<Cpu, f32>(&recipe.shape, Readout::Sum, 1, 2).unwrap();
    let told =
        |graphs: usize, part: Nodes| GraphRun::new(&cpu, (&model, &set), (&recipe.training, graphs), part, 1).err().unwrap().to_string();
    assert!(told(0, part()).contains("graphs of a batch is 0"));
    assert!(told(8, Nodes { train: Vec::new(), ..part() }).contains("there are none"));
    assert!(Architecture::Agnn.graph_model::<Cpu, f32>(&recipe.shape, Readout::Sum, 1, 2).is_err());
}

#[test]
fn statistics_at_inference_are_those_of_training_graphs() {
    // Test graphs of other sizes in the set change nothing for the others.
    let (set, cpu) = (rings_and_stars(), Cpu::new());
    let recipe = Architecture::Gin.graph_recipe(2);
    let model = Architecture::Gin.graph_model::<Cpu, f64>(&recipe.shape, Readout::Sum, 1, 2).unwrap();
    let part = Nodes { train: (0..60).collect(), validation: Vec::new(), test: (60..120).collect() };
    let run = GraphRun::new(&cpu, (&model, &set), (&recipe.training, 16), part, 5).unwrap();
    let whole = run.logits().unwrap().to_host().unwrap();
    let (pattern, x, sizes) = set.side_by_side(&(0..60).collect::<Vec<_>>()).unwrap();
    let graph = bitgraph_gnn::Graph::<Cpu, f64>::of_graphs(&cpu, &pattern, &sizes).unwrap();
    let x = Features::dense(&cpu, pattern.nrows(), 1, &x).unwrap();
    let alone = model.infer(&graph, &model.start(&cpu, 5).unwrap(), &x).unwrap().to_host().unwrap();
    assert!(alone.iter().zip(&whole).all(|(a, b)| (a - b).abs() < 1e-9), "{:?} {:?}", &alone[..4], &whole[..4]);
}

#[test]
fn a_plan_with_known_statistics_is_the_run_that_they_are_of() {
    let (set, cpu) = (rings_and_stars(), Cpu::new());
    let sizes: Vec<usize> = (0..120).map(|g| set.nodes_of(g).len()).collect();
    for (architecture, readout) in
        [(Architecture::Gin, Readout::Sum), (Architecture::Sage, Readout::Mean), (Architecture::GatV2, Readout::Max)]
    {
        let recipe = architecture.graph_recipe(2);
        let model = architecture.graph_model::<Cpu, f32>(&recipe.shape, readout, 1, 2).unwrap();
        let part = Nodes { train: (0..60).collect(), validation: Vec::new(), test: (60..120).collect() };
        let mut run = GraphRun::new(&cpu, (&model, &set), (&recipe.training, 16), part.clone(), 5).unwrap();
        let epoch = run.step().unwrap();
        let statistics = run.statistics().unwrap();
        assert_eq!(statistics.iter().map(|(mean, _)| mean.ncols()).collect::<Vec<_>>(), model.normalised_columns());
        let of = |statistics| Graph::of_graphs(&cpu, set.graph(), &sizes).unwrap().with_statistics(statistics);
        let (graph, x) = (of(statistics.clone()), set.features().on(&cpu).unwrap());
        let plan = Plan::new(&model, &graph, run.parameters(), &x).unwrap();
        let (found, wanted) = (plan.run().unwrap().to_host().unwrap(), run.logits().unwrap().to_host().unwrap());
        assert_eq!((found.len(), plan.to_string().contains("readouts.1")), (240, true));
        let near = |(f, w): (&f32, &f32)| (f - w).abs() <= 1e-4 * w.abs().max(1.0);
        assert!(found.iter().zip(&wanted).all(near), "{}: {:?} {:?}", architecture.name(), &found[..4], &wanted[..4]);
        let scored = scores(&plan.run().unwrap(), set.labels(), &part).unwrap();
        assert_eq!((scored.test_accuracy, scored.train_accuracy), (epoch.scores.test_accuracy, epoch.scores.train_accuracy));
        let few = of(statistics[1..].to_vec());
        assert!(Plan::new(&model, &few, run.parameters(), &x).err().unwrap().to_string().contains("statistics of batch normalisations"));
        // All nodes of other graphs would give others.
        let others = Graph::of_graphs(&cpu, set.graph(), &sizes).unwrap();
        assert_ne!(model.infer(&others, run.parameters(), &x).unwrap().to_host().unwrap(), wanted);
    }
}

#[test]
fn graphs_are_told_apart_by_few_bits_and_a_plan_counts_the_same() {
    let (set, cpu) = (rings_and_stars(), Cpu::new());
    let sizes: Vec<usize> = (0..120).map(|g| set.nodes_of(g).len()).collect();
    let bits = |weights, activations| Precision::Bits { weights, activations };
    let part = Nodes { train: (0..80).collect(), validation: Vec::new(), test: (80..120).collect() };
    for (precision, readout) in [
        (Precision::Bin, Readout::Sum),
        (Precision::Bin, Readout::Max),
        (Precision::BiFull, Readout::Sum),
        (bits(4, 4), Readout::Sum),
        (bits(8, 8), Readout::Mean),
        (bits(2, 2), Readout::Sum),
    ] {
        let recipe = quant::graph_recipe(Architecture::Gin, precision, 2);
        let model = quant::graph_model::<Cpu>(precision, &recipe.shape, readout, (1, 2)).unwrap();
        let training = Training { epochs: 12, ..recipe.training };
        let mut run = GraphRun::new(&cpu, (&model, &set), (&training, 16), part.clone(), 5).unwrap();
        let best = (0..12).map(|_| run.step().unwrap().scores.test_accuracy).fold(0.0, f64::max);
        assert!(best > 0.9, "{precision}: {best}");
        let graph = Graph::of_graphs(&cpu, set.graph(), &sizes).unwrap().with_statistics(run.statistics().unwrap());
        let x = set.features().on(&cpu).unwrap();
        let plan = Plan::new(&model, &graph, run.parameters(), &x).unwrap();
        let words = match precision {
            Precision::Bin => ["BMM.IBB: counts by signs, factors, batch norm, sign", "BMM.BBB: factors, batch norm, sign"],
            Precision::BiFull => ["BIN: signs and mean magnitudes of rows", "BSpMM.FFF: spmm of floats, factors"],
            _ => ["spmm of whole numbers: steps", "batch norm, ReLU"],
        };
        assert!(words.iter().all(|word| plan.to_string().contains(word)), "{plan}");
        let (found, wanted) = (plan.run().unwrap().to_host().unwrap(), run.logits().unwrap().to_host().unwrap());
        // A sum of signs is exact, but a float that is nearly a threshold may fall on either side of it: in few graphs.
        let near = |(f, w): (&f32, &f32)| (f - w).abs() <= 1e-3 * w.abs().max(1.0);
        let far = found.iter().zip(&wanted).filter(|pair| !near(*pair)).count();
        assert!(far <= 4, "{precision}: {far} of 240 differ");
    }
    let shape = Architecture::Gin.graph_recipe(2).shape;
    let told = |precision, shape| quant::graph_model::<Cpu>(precision, &shape, Readout::Sum, (1, 2)).err().unwrap().to_string();
    assert!(told(Precision::F32, shape).contains("a precision of floats"));
    assert!(told(Precision::Bin, Shape { residual: true, ..shape }).contains("residuals"));
    assert!(told(Precision::Bin, Shape { layers: 0, ..shape }).contains("the number of layers is 0"));
}

#[test]
fn folds_have_shares_of_every_class() {
    let classes: Vec<i32> = (0..103).map(|g| i32::from(g % 5 == 0)).collect();
    let all: Vec<u32> = (0..103).collect();
    let parts = folds(&classes, &all, 10, 1).unwrap();
    assert_eq!((&parts, parts.len()), (&folds(&classes, &all, 10, 1).unwrap(), 10));
    assert_ne!(parts, folds(&classes, &all, 10, 2).unwrap());
    let mut seen: Vec<u32> = parts.concat();
    seen.sort_unstable();
    assert_eq!(seen, all);
    for fold in &parts {
        let ones = fold.iter().filter(|&&g| classes[g as usize] == 1).count();
        assert!((10..=11).contains(&fold.len()) && (2..=3).contains(&ones), "{} {ones}", fold.len());
    }
    let one = split(&classes, &parts, 4, Rule::OneEpoch, 1).unwrap();
    assert_eq!((one.train.len() + one.test.len(), one.validation.len(), &one.test), (103, 0, &parts[4]));
    let held = split(&classes, &parts, 4, Rule::Validation, 1).unwrap();
    assert_eq!(held.train.len() + held.validation.len(), one.train.len());
    assert!((9..=10).contains(&held.validation.len()) && held.validation.iter().all(|g| one.train.contains(g)));
    assert!(folds(&classes, &all, 1, 1).is_err() && folds(&classes, &all, 104, 1).is_err());
    let epoch = |e, validation_accuracy, test_accuracy| {
        let scores = Scores { validation_loss: 1.0, train_accuracy: 1.0, validation_accuracy, test_accuracy };
        Epoch { epoch: e, loss: 1.0, scores }
    };
    let epochs = [vec![epoch(1, 0.5, 0.5), epoch(2, 0.9, 0.6)], vec![epoch(1, 0.7, 0.9), epoch(2, 0.6, 0.7)]];
    assert_eq!(chosen(&epochs, Rule::OneEpoch).unwrap(), [0, 0]);
    assert_eq!(chosen(&epochs, Rule::Validation).unwrap(), [1, 0]);
    assert!(chosen(&[epochs[0].clone(), Vec::new()], Rule::OneEpoch).is_err() && chosen(&[Vec::new()], Rule::Validation).is_err());
}

/// Five nodes in a ring, of three classes that they may all be of.
fn several(matrix: &[u8]) -> NodeTask<Cpu, f64> {
    let ring = Csr::new(5, 5, Offsets::from_usizes(&[0, 1, 2, 3, 4, 5]), Buffer::from(vec![1u32, 2, 3, 4, 0])).unwrap();
    let x = Features::dense(&Cpu::new(), 5, 1, &[1.0; 5]).unwrap();
    let split = Nodes { train: vec![0, 3], validation: vec![1], test: vec![2, 4] };
    NodeTask::of_several(&ring, x, matrix, 3, &split).unwrap()
}

const BITS: [u8; 15] = [1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0];

#[test]
fn binary_cross_entropy_and_micro_f1() {
    let (task, cpu) = (several(&BITS), Cpu::new());
    let number = |i: usize| f64::from(Philox::new(3, 0).word(i as u64, 0)) / 2f64.powi(30) - 2.0;
    let logits: Vec<f64> = (0..15).map(number).collect();
    let on = |values: &[f64]| Dense::from_slice(&cpu, 5, 3, values).unwrap();
    let wanted = |values: &[f64], nodes: &[usize]| {
        let entropy = |e: usize| (1.0 + (-values[e] * if BITS[e] == 1 { 1.0 } else { -1.0 }).exp()).ln();
        nodes.iter().flat_map(|v| 3 * v..3 * v + 3).map(entropy).sum::<f64>() / (3 * nodes.len()) as f64
    };
    let (loss, d) = task.loss(&on(&logits), 2.0).unwrap();
    assert!((loss.to_host().unwrap()[0] - wanted(&logits, &[0, 3])).abs() < 1e-12);
    for (e, found) in d.gradient.to_host().unwrap().into_iter().enumerate() {
        let moved = |by: f64| {
            let mut moved = logits.clone();
            moved[e] += by;
            task.loss(&on(&moved), 1.0).unwrap().0.to_host().unwrap()[0]
        };
        assert!((found - (moved(1e-5) - moved(-1e-5)) / 1e-5).abs() < 1e-8, "{e}: {found}");
    }
    let scores = task.classify(&on(&logits)).unwrap();
    assert!((scores.validation_loss - wanted(&logits, &[1])).abs() < 1e-12);
    let test = [6, 7, 8, 12, 13, 14];
    let [mut right, mut said, mut are, mut same] = [0.0; 4];
    for e in test {
        let (says, is) = (logits[e] >= 0.0, BITS[e] == 1);
        (right, said) = (right + f64::from(u8::from(says && is)), said + f64::from(u8::from(says)));
        (are, same) = (are + f64::from(u8::from(is)), same + f64::from(u8::from(says == is)));
    }
    assert!((scores.test_accuracy - 2.0 * right / (said + are)).abs() < 1e-12);
    assert!((task.decisions(&on(&logits)).unwrap().unwrap()[2] - same / 6.0).abs() < 1e-12);
    assert_eq!(several(&[0; 15]).classify(&on(&[-1.0; 15])).unwrap().test_accuracy, 0.0);
}

#[test]
fn several_classes_are_learned() {
    // Features say which classes a node is of, with noise.
    let nodes = 200;
    let word = |i: usize, c: u32| Philox::new(7, 1).word(i as u64, c) % 100;
    let bits: Vec<u8> = (0..nodes).flat_map(|v| (0..4).map(move |c| u8::from(word(v, c) < 30))).collect();
    let values: Vec<f32> = bits.iter().enumerate().map(|(e, &b)| f32::from(b) + word(9999 + e, 5) as f32 / 300.0).collect();
    let empty = Csr::new(nodes, nodes, Offsets::from_usizes(&vec![0; nodes + 1]), Buffer::from(Vec::<u32>::new())).unwrap();
    let part = |from: u32, to: u32| (from..to).collect();
    let split = Nodes { train: part(0, 100), validation: part(100, 150), test: part(150, 200) };
    let x = Features::dense(&Cpu::new(), nodes, 4, &values).unwrap();
    let task: NodeTask<Cpu, f32> = NodeTask::of_several(&empty, x, &bits, 4, &split).unwrap();
    let recipe = Architecture::Gcn.recipe(4);
    let model = Architecture::Gcn.model(&recipe.shape, 4, 4).unwrap();
    let training = Training { epochs: 120, ..recipe.training };
    assert_eq!(bitgraph_gnn::why_not_whole(&model, &task, &training), Some("the features are dense"));
    let teach = |_| Taught::new(&Dense::zeros(&Cpu::new(), nodes, 4)?, 0.5);
    assert!(Runs::new(&model, &task, &training, vec![1]).with_teacher(Box::new(teach)).is_err());
    let run = train(&model, &task, &training, 1, |_| ()).unwrap();
    assert!(run.best.scores.test_accuracy > 0.9, "{:?}", run.best);
    let refused = |matrix: &[u8]| {
        let x = Features::dense(&Cpu::new(), nodes, 4, &values).unwrap();
        NodeTask::<Cpu, f32>::of_several(&empty, x, matrix, 4, &split).err().unwrap().to_string()
    };
    assert!(refused(&bits[1..]).contains("elements of the labels: 799 where 800"));
    assert!(refused(&[2; 800]).contains("the label of node 0 is 2"));
}
