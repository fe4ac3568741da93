//! The backward pass of every layer against differences of the loss in double precision, on graphs with empty rows, loops, arcs of one
//! direction and single nodes.

use bitgraph_cpu::Cpu;
use bitgraph_gnn::batch::Batch;
use bitgraph_gnn::layers::{Agnn, Gat, GatV2, Gcn, Gin, Heads, Linear, Sage, SageKind, Transformer};
use bitgraph_gnn::{Architecture, Around, Features, Gradients, Graph, Mode, Model, Parameters, Readout};
use bitgraph_sparse::{Buffer, Csr, Offsets};
use bitgraph_tensor::ops::{cross_entropy, cross_entropy_with_gradient};
use bitgraph_tensor::{Activation, Dense, Philox};

type Double = Model<Cpu, f64>;

fn pattern(rows: usize, columns: usize, entries: &[(u32, u32)]) -> Csr {
    let mut sorted = entries.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let offsets: Vec<usize> = (0..=rows).map(|i| sorted.partition_point(|e| (e.0 as usize) < i)).collect();
    Csr::new(rows, columns, Offsets::from_usizes(&offsets), Buffer::from(sorted.into_iter().map(|e| e.1).collect::<Vec<u32>>())).unwrap()
}

fn graphs() -> Vec<Csr> {
    vec![
        pattern(1, 1, &[]),
        pattern(1, 1, &[(0, 0)]),
        pattern(5, 5, &[(0, 1), (1, 0), (1, 3), (2, 2), (3, 1), (3, 0)]),
        pattern(9, 9, &[(0, 1), (1, 0), (0, 2), (2, 0), (0, 3), (3, 0), (0, 4), (4, 0), (5, 6), (6, 5), (6, 6), (8, 0), (7, 7)]),
    ]
}

fn number(seed: u64, i: usize) -> f64 {
    f64::from(Philox::new(seed, 0).word(i as u64, 0)) / 2f64.powi(31) - 1.0
}

fn features(cpu: &Cpu, rows: usize, columns: usize, sparse: bool) -> Features<Cpu, f64> {
    let values = |n: usize| (0..n).map(|i| number(7, i) as f32).collect::<Vec<_>>();
    if !sparse {
        return Features::dense(cpu, rows, columns, &values(rows * columns)).unwrap();
    }
    let every: Vec<(u32, u32)> = (0..rows * columns).filter(|i| i % 3 != 1).map(|i| ((i / columns) as u32, (i % columns) as u32)).collect();
    let x = pattern(rows, columns, &every);
    Features::sparse(cpu, &x, &values(x.nnz())).unwrap()
}

/// A sample of a larger graph: its entries have weights, and its nodes more neighbours than it shows.
fn sampled(cpu: &Cpu, graph: &Csr) -> Graph<Cpu, f64> {
    let (pattern, _) = graph.filter_with_positions(|i, j| i != j);
    let degrees = (0..pattern.nrows()).map(|i| pattern.degree(i) + i % 3).collect();
    let weights = (0..pattern.nnz()).map(|e| 0.5 + e as f32 / 4.0).collect();
    let nodes: Vec<u32> = (0..pattern.nrows() as u32).collect();
    let shares = vec![0.0; nodes.len()];
    Batch { nodes, seeds: 0, pattern, degrees, weights: Some(weights), shares }.graph(cpu).unwrap()
}

/// Compares the gradient of every parameter with differences, over a graph and over it as a sample.
fn check(what: &str, graph: &Csr, x: &Features<Cpu, f64>, model: &Double) {
    let cpu = Cpu::new();
    compare(what, &Graph::new(&cpu, graph).unwrap(), graph.nrows(), x, model);
    compare(&format!("{what}, as a sample"), &sampled(&cpu, graph), graph.nrows(), x, model);
}

fn compare(what: &str, graph: &Graph<Cpu, f64>, rows: usize, x: &Features<Cpu, f64>, model: &Double) {
    let cpu = Cpu::new();
    let labels = (0..rows).map(|v| if v % 4 == 3 { -1 } else { (v % model.columns()) as i32 }).collect();
    let labels = Dense::column_vector(&cpu, labels).unwrap();
    let mode = Mode::Train { seed: 5, step: 3 };
    let start = model.start(&cpu, 1).unwrap().flat().to_host().unwrap();
    // Away from zero, where biases start.
    let values: Vec<f64> = start.iter().enumerate().map(|(i, v)| v + 0.2 * number(3, i)).collect();
    let with = |values: Vec<f64>| Parameters::<Cpu, f64>::from_flat(model.layout(), model.layout().flat(&cpu, values).unwrap()).unwrap();
    let loss = |values: &[f64]| {
        let (logits, _) = model.forward(graph, &with(values.to_vec()), x, mode).unwrap();
        cross_entropy(&logits, &labels).unwrap().to_host().unwrap()[0]
    };
    let parameters = with(values.clone());
    let (logits, tape) = model.forward(graph, &parameters, x, mode).unwrap();
    let (_, dlogits) = cross_entropy_with_gradient(&logits, &labels, 1.0).unwrap();
    let mut gradients = Gradients::new(&cpu, model.layout()).unwrap();
    model.backward(graph, &parameters, mode, tape, dlogits, &mut gradients).unwrap();
    let found = gradients.flat().to_host().unwrap();
    let step = 1e-6;
    for e in 0..values.len() {
        let moved = |by: f64| {
            let mut moved = values.clone();
            moved[e] += by;
            loss(&moved)
        };
        let wanted = (moved(step) - moved(-step)) / (2.0 * step);
        let close = (found[e] - wanted).abs() <= 1e-6 + 1e-5 * wanted.abs();
        assert!(close, "{what}: element {e} of the flat gradient is {}, differences give {wanted}", found[e]);
    }
}

fn everywhere(name: &str, sparse: &[bool], make: impl Fn(Double) -> Double) {
    let cpu = Cpu::new();
    for (g, graph) in graphs().iter().enumerate() {
        for columns in [1, 3, 33] {
            for &sparse in sparse {
                let x = features(&cpu, graph.nrows(), columns, sparse);
                check(&format!("{name}, graph {g}, {columns} columns, sparse {sparse}"), graph, &x, &make(Model::new(name, columns)));
            }
        }
    }
}

const BOTH: &[bool] = &[false, true];

fn hidden() -> Around {
    Around { dropout: 0.3, activation: Some(Activation::Elu { alpha: 1.0 }), ..Around::default() }
}

#[test]
fn graph_convolution() {
    everywhere("gcn", BOTH, |m| {
        m.layer(hidden(), |d| Gcn::new(d, 5)).unwrap().layer(Around { dropout: 0.2, ..Around::default() }, |d| Gcn::new(d, 3)).unwrap()
    });
}

#[test]
fn means_and_sums_of_neighbours() {
    for kind in [SageKind::Mean, SageKind::Sum, SageKind::Scaled] {
        everywhere("sage", BOTH, |m| {
            m.layer(hidden(), |d| Sage::new(d, 4, kind)).unwrap().layer(Around::default(), |d| Sage::new(d, 3, kind)).unwrap()
        });
    }
}

#[test]
fn isomorphism_network() {
    for exponent in [0.0, -0.5, -1.0] {
        everywhere("gin", BOTH, |m| {
            let m = m.layer(hidden(), |d| Gin::new(d, 4, -0.4, exponent)).unwrap().layer(hidden(), |d| Linear::new(d, 4)).unwrap();
            m.layer(Around::default(), |d| Gin::new(d, 2, 0.5, exponent)).unwrap()
        });
    }
}

#[test]
fn attention() {
    everywhere("gat", BOTH, |m| {
        let m = m.layer(hidden(), |d| Gat::new(d, (3, 2), Heads::Concatenated, 0.3)).unwrap();
        m.layer(Around::default(), |d| Gat::new(d, (2, 3), Heads::Averaged, 0.4)).unwrap()
    });
}

#[test]
fn attention_of_both_ends() {
    everywhere("gatv2", BOTH, |m| {
        let m = m.layer(hidden(), |d| GatV2::new(d, (3, 2), Heads::Concatenated, 0.3)).unwrap();
        m.layer(Around::default(), |d| GatV2::new(d, (2, 3), Heads::Averaged, 0.4)).unwrap()
    });
}

#[test]
fn attention_by_dot_products() {
    everywhere("transformer", BOTH, |m| {
        let m = m.layer(hidden(), |d| Transformer::new(d, (3, 2), Heads::Concatenated, 0.3)).unwrap();
        m.layer(Around::default(), |d| Transformer::new(d, (2, 3), Heads::Averaged, 0.4)).unwrap()
    });
}

/// Every architecture over graphs side by side, one of them without nodes.
#[test]
fn read_outs() {
    let cpu = Cpu::new();
    let sizes = [5, 1, 0, 9, 1];
    let (mut entries, mut from) = (Vec::new(), 0);
    for (graph, size) in [(2, 5), (0, 1), (3, 9), (1, 1)] {
        let g = &graphs()[graph];
        entries.extend((0..size).flat_map(|i| g.row(i).iter().map(move |&j| ((from + i) as u32, from as u32 + j)).collect::<Vec<_>>()));
        from += size;
    }
    let graph = Graph::<Cpu, f64>::of_graphs(&cpu, &pattern(from, from, &entries), &sizes).unwrap();
    let x = features(&cpu, from, 4, false);
    for architecture in Architecture::ALL.into_iter().filter(|a| *a != Architecture::Agnn) {
        for readout in [Readout::Sum, Readout::Mean, Readout::Max] {
            let mut shape = architecture.recipe(3).shape;
            (shape.hidden, shape.heads, shape.mlp, shape.batch_norm, shape.dropout) = (4, 2, 2, architecture == Architecture::Gin, 0.3);
            let model = architecture.graph_model(&shape, readout, 4, 3).unwrap();
            compare(&format!("{} read out by {readout:?}", architecture.name()), &graph, sizes.len(), &x, &model);
        }
    }
    let model: Double = Model::new("one", 4).read_out(Readout::Sum, 3, 0.0).unwrap();
    let single = Graph::new(&cpu, &graphs()[2]).unwrap();
    let found = model.infer(&single, &model.start(&cpu, 1).unwrap(), &features(&cpu, 5, 4, false));
    assert!(found.unwrap_err().to_string().contains("not made of several"));
}

#[test]
fn attention_by_cosines() {
    everywhere("agnn", BOTH, |m| {
        let m = m.layer(hidden(), |d| Linear::new(d, 4)).unwrap().layer(Around::default(), Agnn::new).unwrap();
        let m = m.layer(Around { residual: true, ..Around::default() }, Agnn::new).unwrap();
        m.layer(Around::default(), |d| Linear::new(d, 3)).unwrap()
    });
}

#[test]
fn normalisation_and_residuals() {
    let (cpu, graphs) = (Cpu::new(), graphs());
    // The statistics of one node have no gradient.
    for graph in &graphs[2..] {
        let model = Model::new("norm", 3);
        let model = model.layer(Around { batch_norm: true, ..hidden() }, |d| Gcn::new(d, 4)).unwrap();
        let model = model.layer(Around { batch_norm: true, residual: true, ..hidden() }, |d| Gcn::new(d, 4)).unwrap();
        let model = model.layer(Around::default(), |d| Gcn::new(d, 3)).unwrap();
        check("norm", graph, &features(&cpu, graph.nrows(), 3, true), &model);
    }
}
