//! A run in one launch against the same run operation by operation.

use super::LONG;
use crate::Cuda;
use crate::tensor::tests::device;
use bitgraph_generate::Stream;
use bitgraph_gnn::layers::{Gat, Gcn, Heads};
use bitgraph_gnn::{Around, Epoch, Features, Method, Model, NodeTask, Nodes, Optimiser, Schedule, Selection, Trained, Training, train};
use bitgraph_sparse::{Buffer, Control, Csr, Offsets};
use bitgraph_tensor::Activation;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A task of one shape.
#[derive(Clone, Copy)]
struct Case {
    nodes: usize,
    columns: usize,
    classes: usize,
    hidden: usize,
    dropout: [f64; 2],
    method: Method,
    directed: bool,
    /// Of 1000 pairs of nodes of one class, and of two, how many are neighbours.
    arcs: [u64; 2],
    /// Of graph attention, hidden heads and last ones, and the dropout of attention; a graph convolution without.
    heads: Option<([usize; 2], f64)>,
}

const CASE: Case = Case {
    nodes: 150,
    columns: 40,
    classes: 3,
    hidden: 16,
    dropout: [0.5, 0.5],
    method: Method::Adam,
    directed: false,
    arcs: [60, 8],
    heads: None,
};
const GAT: Case = Case { heads: Some(([4, 1], 0.5)), ..CASE };

fn csr(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> bool) -> Csr {
    let (mut offsets, mut indices) = (vec![0], Vec::new());
    for i in 0..rows {
        indices.extend((0..columns).filter(|&j| entry(i, j)).map(|j| j as u32));
        offsets.push(indices.len());
    }
    Csr::new(rows, columns, Offsets::from_usizes(&offsets), Buffer::from(indices)).unwrap()
}

impl Case {
    fn pattern(&self) -> Csr {
        let s = Stream::new(7, 5);
        let random = |a: usize, b: usize| s.below((a * 10_000 + b) as u64, 1000);
        let alike = |i: usize, j: usize| i % self.classes == j % self.classes;
        let arc = |i: usize, j: usize| random(i, j) < self.arcs[usize::from(!alike(i, j))];
        // A node that many hear from, and that hears from many; one alone, in a part of each kind.
        let hub = |i: usize, j: usize| i == 1 || j == 1;
        let alone = |i: usize| i.is_multiple_of(self.nodes / 4) && i > 0 || i == 7;
        csr(self.nodes, self.nodes, |i, j| {
            let near = if self.directed { arc(i, j) } else { arc(i.min(j), i.max(j)) };
            i != j && (hub(i, j) || near) && !alone(i) && !alone(j)
        })
    }
    fn task(&self, cuda: &Cuda) -> NodeTask<Cuda, f32> {
        let s = Stream::new(7, 5);
        let random = |a: usize, b: usize| s.below((a * 10_000 + b) as u64, 1000);
        let alike = |i: usize, j: usize| i % self.classes == j % self.classes;
        let pattern = self.pattern();
        // A column of every node, a column of none, a node without features.
        let features = csr(self.nodes, self.columns, |i, k| {
            i != 5 && k != 2 && (k == 0 || random(50_000 + i, k) < if alike(i, k) { 400 } else { 100 })
        });
        let values: Vec<f32> = (0..features.nnz() as u64).map(|e| 0.05 + s.below(1_000_000_000 + e, 64) as f32 / 256.0).collect();
        let labels: Vec<i32> = (0..self.nodes).map(|v| (v % self.classes) as i32).collect();
        let third = self.nodes as u32 / 4;
        let split = Nodes { train: (0..third).collect(), validation: (third..2 * third).collect(), test: (2 * third..3 * third).collect() };
        NodeTask::new(&pattern, Features::sparse(cuda, &features, &values).unwrap(), &labels, self.classes, &split).unwrap()
    }
    fn model(&self) -> Model<Cuda, f32> {
        let [first, second] = self.dropout;
        if let Some((heads, dropout)) = self.heads {
            let (elu, last) = (Some(Activation::Elu { alpha: 1.0 }), Around { dropout: second, ..Around::default() });
            let one = (heads[0], self.hidden / heads[0]);
            return Model::new("gat", self.columns)
                .layer(Around { dropout: first, activation: elu, ..Around::default() }, |d| Gat::new(d, one, Heads::Concatenated, dropout))
                .and_then(|m| m.layer(last, |d| Gat::new(d, (heads[1], self.classes), Heads::Averaged, dropout)))
                .unwrap();
        }
        Model::new("gcn", self.columns)
            .layer(Around { dropout: first, activation: Some(Activation::Relu), ..Around::default() }, |d| Gcn::new(d, self.hidden))
            .and_then(|m| m.layer(Around { dropout: second, ..Around::default() }, |d| Gcn::new(d, self.classes)))
            .unwrap()
    }
    fn training(&self, epochs: u32) -> Training {
        let decay = [("layers.0.weight", 5e-3), ("layers.1.bias", 1e-3), ("layers.0.attention_left", 2e-3)];
        let decay = decay.iter().filter(|(name, _)| self.heads.is_some() || !name.contains("attention"));
        let decay = decay.map(|&(name, decay)| (name.to_owned(), decay)).collect();
        Training {
            optimiser: Optimiser { method: self.method, rate: 0.01, decay, schedule: Schedule::default() },
            epochs,
            selection: Selection::LowestValidationLoss,
            stale_epochs: None,
            loss_scale: 1.0,
            batches: None,
            control: Control::default(),
        }
    }
    fn run(&self, cuda: &Cuda, training: &Training) -> (Trained<Cuda, f32>, Vec<Epoch>) {
        let mut epochs = Vec::new();
        let run = train(&self.model(), &self.task(cuda), training, 11, |e| epochs.push(*e)).unwrap();
        (run, epochs)
    }
}

fn near(what: &str, found: f64, wanted: f64, tolerance: f64) {
    assert!((found - wanted).abs() <= tolerance * wanted.abs().max(1.0), "{what}: {found} where {wanted} is wanted");
}

/// Whether losses are sums of one launch: those of operations are f32.
fn in_one_launch(epochs: &[Epoch]) -> bool {
    epochs.iter().any(|e| f64::from(e.loss as f32) != e.loss)
}

/// Epoch by epoch for 20 epochs: losses, accuracies up to one node, the choice, the parameters that were kept.
fn agrees(cuda: &Cuda, case: &Case, training: &Training) {
    let (run, epochs) = case.run(cuda, training);
    let (plain, plain_epochs) = case.run(&cuda.without_fused_forms(), training);
    assert_eq!(epochs.len(), plain_epochs.len());
    assert_eq!([&epochs, &plain_epochs].map(|epochs| in_one_launch(epochs)), [true, false]);
    let part = (case.nodes / 4) as f64;
    for (a, b) in epochs.iter().zip(&plain_epochs) {
        near("the loss", a.loss, b.loss, 1e-4);
        near("the validation loss", a.scores.validation_loss, b.scores.validation_loss, 1e-4);
        near("the training accuracy", a.scores.train_accuracy, b.scores.train_accuracy, 1.01 / part);
        near("the validation accuracy", a.scores.validation_accuracy, b.scores.validation_accuracy, 1.01 / part);
        near("the test accuracy", a.scores.test_accuracy, b.scores.test_accuracy, 1.01 / part);
    }
    if run.best.epoch == plain.best.epoch {
        let (found, wanted) = (run.parameters.flat().to_host().unwrap(), plain.parameters.flat().to_host().unwrap());
        found.iter().zip(&wanted).for_each(|(a, b)| near("a parameter", f64::from(*a), f64::from(*b), 2e-3));
    } else {
        near("the kept loss", run.best.scores.validation_loss, plain.best.scores.validation_loss, 1e-4);
    }
    assert!(epochs[0].loss > epochs[epochs.len() - 1].loss, "it learns");
}

#[test]
fn epochs_agree_with_operations() {
    let Some(cuda) = device() else { return };
    let cases = [
        CASE,
        Case { directed: true, hidden: 20, classes: 5, ..CASE },
        Case { dropout: [0.0, 0.3], hidden: 64, columns: 9, ..CASE },
        Case { dropout: [0.25, 0.0], hidden: 100, classes: 20, nodes: 90, method: Method::AdamW, ..CASE },
        Case { dropout: [0.0, 0.0], hidden: 1, classes: 2, ..CASE },
    ];
    for case in cases {
        agrees(&cuda, &case, &case.training(20));
    }
}

#[test]
fn epochs_of_attention_agree_with_operations() {
    let Some(cuda) = device() else { return };
    let heads = |heads, dropout| Some((heads, dropout));
    let cases = [
        GAT,
        Case { heads: heads([4, 1], 0.0), dropout: [0.0, 0.0], ..GAT },
        Case { directed: true, hidden: 21, classes: 5, heads: heads([3, 8], 0.3), ..GAT },
        Case { heads: heads([8, 3], 0.6), dropout: [0.0, 0.3], hidden: 64, columns: 9, ..GAT },
        Case { heads: heads([16, 1], 0.2), dropout: [0.25, 0.0], hidden: 112, classes: 20, nodes: 90, method: Method::AdamW, ..GAT },
        Case { heads: heads([1, 2], 0.1), hidden: 1, classes: 2, ..GAT },
    ];
    for case in cases {
        agrees(&cuda, &case, &case.training(20));
    }
}

/// Rows of scores on either side of the names from which on blocks share them, and more of those that are shared than blocks: the rest is a
/// warp's each.
#[test]
fn rows_of_many_names_are_scored_by_blocks_or_by_warps() {
    let Some(cuda) = device() else { return };
    let case = Case { nodes: 400, arcs: [160, 40], ..CASE };
    let pattern = case.pattern();
    let names: Vec<usize> = (0..case.nodes).map(|v| pattern.degree(v) + 1).collect();
    let (long, short) = (names.iter().filter(|n| **n >= LONG).count(), names.iter().filter(|n| **n < LONG).count());
    let blocks = cuda.device().properties().sms as usize;
    assert!(long > blocks && short > blocks, "{long} rows of {LONG} names or more, {short} of fewer, {blocks} blocks");
    assert!([LONG - 1, LONG, LONG + 1].iter().all(|n| names.contains(n)), "{names:?}");
    agrees(&cuda, &case, &case.training(8));
    agrees(&cuda, &Case { directed: true, hidden: 40, ..case }, &case.training(4));
}

/// Every reason that is known before a launch.
#[test]
fn shapes_without_a_kernel_are_trained_operation_by_operation() {
    let Some(cuda) = device() else { return };
    for case in [
        Case { heads: Some(([32, 1], 0.0)), hidden: 32, ..GAT },
        Case { heads: Some(([4, 17], 0.0)), ..GAT },
        Case { heads: Some(([2, 1], 0.0)), hidden: 140, ..GAT },
        Case { heads: Some(([2, 1], 0.0)), classes: 33, ..GAT },
    ] {
        let (found, plain) = (case.run(&cuda, &case.training(2)).1, case.run(&cuda.without_fused_forms(), &case.training(2)).1);
        assert!(!in_one_launch(&found));
        found.iter().zip(&plain).for_each(|(a, b)| near("the loss", a.loss, b.loss, 1e-4));
    }
}

/// Lists that are too long for the shared memory of three blocks; then their state too.
#[test]
fn what_is_too_large_for_shared_memory_stays_in_device_memory() {
    let Some(cuda) = device() else { return };
    for case in [CASE, GAT] {
        for hidden in [16, 128] {
            let case = Case { columns: 600, hidden, ..case };
            agrees(&cuda, &case, &case.training(4));
        }
    }
}

#[test]
fn the_choice_is_that_of_operations() {
    let Some(cuda) = device() else { return };
    for case in [CASE, GAT] {
        for selection in [Selection::Last, Selection::BestValidationAccuracy] {
            agrees(&cuda, &case, &Training { selection, ..case.training(8) });
        }
        for stale in [0, 2] {
            let training = Training { stale_epochs: Some(stale), selection: Selection::BestValidationAccuracy, ..case.training(40) };
            let (run, epochs) = case.run(&cuda, &training);
            assert_eq!((run.epochs as usize, run.epochs), (epochs.len(), run.best.epoch + stale));
        }
        let one = case.run(&cuda, &case.training(1)).0;
        assert_eq!((one.best.epoch, one.epochs), (1, 1));
    }
}

#[test]
fn runs_repeat_themselves() {
    let Some(cuda) = device() else { return };
    for case in [CASE, GAT] {
        let (first, epochs) = case.run(&cuda, &case.training(12));
        let (second, again) = case.run(&cuda, &case.training(12));
        assert_eq!(epochs, again);
        assert_eq!(first.parameters.flat().to_host().unwrap(), second.parameters.flat().to_host().unwrap());
    }
}

#[test]
fn runs_over_one_task_share_its_lists() {
    let Some(cuda) = device() else { return };
    let (model, task, training) = (CASE.model(), CASE.task(&cuda), CASE.training(6));
    let run = |task: &NodeTask<Cuda, f32>, seed| {
        let mut epochs = Vec::new();
        let run = train(&model, task, &training, seed, |e| epochs.push(*e)).unwrap();
        (run.parameters.flat().to_host().unwrap(), epochs)
    };
    let together = [11, 12, 11].map(|seed| run(&task, seed));
    assert!(together[0] == together[2] && together[0] != together[1]);
    assert!([11, 12].map(|seed| run(&CASE.task(&cuda), seed)) == together[..2]);
    // Other features in the place of those that the lists were made of.
    let mut other = Case { columns: 30, ..CASE }.task(&cuda);
    let wanted = train(&Case { columns: 30, ..CASE }.model(), &other, &training, 3, |_| ()).unwrap();
    std::mem::swap(&mut other.features, &mut CASE.task(&cuda).features);
    assert!(run(&other, 11) == together[0]);
    assert!(wanted.best.epoch > 0);
}

#[test]
fn models_of_both_kinds_take_turns_over_one_task() {
    let Some(cuda) = device() else { return };
    let task = CASE.task(&cuda);
    let run = |case: &Case, task: &NodeTask<Cuda, f32>| {
        let mut epochs = Vec::new();
        train(&case.model(), task, &case.training(4), 5, |e| epochs.push(*e)).unwrap();
        assert!(in_one_launch(&epochs));
        epochs
    };
    // The recipe's heads on a graph with many last ones, and others over the same lists.
    let wide = Case { hidden: 64, heads: Some(([8, 8], 0.6)), dropout: [0.6, 0.6], ..GAT };
    let apart = [CASE, GAT, wide].map(|case| run(&case, &case.task(&cuda)));
    assert!([CASE, GAT, wide].map(|case| run(&case, &task)) == apart);
    assert!([GAT, CASE].map(|case| run(&case, &task)) == [apart[1].clone(), apart[0].clone()]);
    agrees(&cuda, &wide, &wide.training(10));
}

#[test]
fn what_is_out_of_range_is_trained_operation_by_operation() {
    let Some(cuda) = device() else { return };
    for case in [CASE, GAT] {
        let mut training = case.training(5);
        training.optimiser.rate = 1e30;
        // The plain path says what it finds.
        assert!(train(&case.model(), &case.task(&cuda), &training, 1, |_| ()).map_or(true, |run| run.diverged.is_some()));
        training.optimiser.rate = 0.01;
        training.control = Control::default().with_cancel(Arc::new(AtomicBool::new(true)));
        assert!(train(&case.model(), &case.task(&cuda), &training, 1, |_| ()).is_err());
    }
}
