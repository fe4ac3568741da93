//! Inference plans give the numbers of the forward pass: of bits exactly, of floats up to the order of sums.

use bitgraph_cpu::Cpu;
use bitgraph_gnn::data::{self, Normalise};
use bitgraph_gnn::quant::LowBits;
use bitgraph_gnn::{Architecture, Float, Model, NodeTask, Plan, Precision, Shape};
use bitgraph_sparse::Control;
use std::path::Path;

fn set() -> data::Dataset {
    data::open(Path::new("planted:220:3:8"), &Control::default()).unwrap()
}

/// The logits of a model before training and of its plan.
fn both<T: Float>(model: &Model<Cpu, T>, task: &NodeTask<Cpu, T>, check: impl FnOnce(&Plan<'_, Cpu, T>)) -> [Vec<T>; 2] {
    let parameters = model.start(&Cpu::new(), 7).unwrap();
    let plan = Plan::new(model, &task.graph, &parameters, &task.features).unwrap();
    check(&plan);
    assert!(plan.footprint().peak() > 0);
    let logits = plan.run().unwrap();
    assert_eq!(plan.run().unwrap().to_host().unwrap().len(), logits.to_host().unwrap().len());
    [model.infer(&task.graph, &parameters, &task.features).unwrap().to_host().unwrap(), logits.to_host().unwrap()]
}

fn near<T: Float>([expected, found]: [Vec<T>; 2], epsilon: f64) {
    assert_eq!(expected.len(), found.len());
    for (e, f) in expected.into_iter().zip(found) {
        let (e, f) = (e.to_f64(), f.to_f64());
        assert!((e - f).abs() <= epsilon * e.abs().max(1.0), "{e} {f}");
    }
}

#[test]
fn plans_on_bits_are_the_forward_pass_in_floats() {
    let set = set();
    let shape = Architecture::Gcn.recipe(3).shape;
    let bits = |weights, activations| Precision::Bits { weights, activations };
    for (layers, hidden) in [(1, 8), (2, 5), (2, 64), (3, 32)] {
        let shape = Shape { layers, hidden, ..shape };
        for precision in [Precision::Bin, bits(1, 1), bits(2, 2), bits(4, 4), bits(8, 8), bits(3, 9), bits(16, 12)] {
            let made = LowBits::new(&Cpu::new(), &set, 0, precision, &shape).unwrap();
            // Two layers of signs are one operation.
            let whole = precision == Precision::Bin && layers == 2;
            let [expected, found] = both(&made.model, &made.task, |plan| assert_eq!(plan.is_whole(), whole));
            assert_eq!(expected, found, "{precision}, {layers} layers of {hidden}");
        }
        let made = LowBits::new(&Cpu::new(), &set, 0, Precision::BiFull, &shape).unwrap();
        near(both(&made.model, &made.task, |plan| assert!(!plan.is_whole())), 1e-5);
    }
}

fn floats<T: Float>(epsilon: f64) {
    let set = set();
    for dense in [false, true] {
        let features = set.features().normalised(Normalise::Row);
        let (rows, columns) = features.shape();
        let features = if dense { data::Features::dense(rows, columns, features.to_dense()).unwrap() } else { features };
        let task: NodeTask<Cpu, T> = set.clone().with_features(features).unwrap().task(&Cpu::new(), 0).unwrap();
        for architecture in Architecture::ALL {
            if architecture == Architecture::Agnn && T::NEEDS_LOSS_SCALE {
                continue;
            }
            if architecture == Architecture::Agnn && dense {
                continue;
            }
            for (hidden, batch_norm, residual) in [(8, false, false), (200, false, false), (16, true, true)] {
                let shape = Shape { layers: 3, hidden, heads: 2, batch_norm, residual, ..architecture.recipe(3).shape };
                let model = architecture.model::<Cpu, T>(&shape, columns, 3).unwrap();
                near(both(&model, &task, |plan| assert!(!plan.is_whole())), epsilon);
            }
        }
    }
}

#[test]
fn plans_in_floats_are_the_forward_pass() {
    floats::<f32>(1e-4);
    floats::<bitgraph_gnn::bf16>(0.1);
}

#[test]
fn a_plan_says_what_it_does() {
    let set = set();
    let shape = Shape { hidden: 64, ..Architecture::Gcn.recipe(3).shape };
    let said = |plan: &Plan<'_, Cpu, f32>, words: &[&str]| {
        let text = plan.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    };
    let bin = LowBits::new(&Cpu::new(), &set, 0, Precision::Bin, &shape).unwrap();
    both(&bin.model, &bin.task, |plan| said(plan, &["one operation: lists of 2459 ones", "1 words of 64 signs a node", "in all"]));
    let full = LowBits::new(&Cpu::new(), &set, 0, Precision::BiFull, &shape).unwrap();
    both(&full.model, &full.task, |plan| said(plan, &["operation by operation: sums of floats between the layers"]));
    let bin = LowBits::new(&Cpu::new(), &set, 0, Precision::Bin, &Shape { layers: 3, ..shape }).unwrap();
    let words = ["220 x 96 signs", "BMM.BBB", "BSpMM.BBB", "BMM.BBF", "BSpMM.FFF", "layers.2: signs of the weight", "in all"];
    both(&bin.model, &bin.task, |plan| said(plan, &words));
    // As few columns are aggregated as the order of both products allows.
    let model = Architecture::Gcn.model::<Cpu, f32>(&Shape { layers: 3, hidden: 128, ..shape }, 96, 3).unwrap();
    let dense = data::Features::dense(220, 96, set.features().to_dense()).unwrap();
    let task: NodeTask<Cpu, f32> = set.with_features(dense).unwrap().task(&Cpu::new(), 0).unwrap();
    both(&model, &task, |plan| {
        said(plan, &["layers.0: A X: spmm", "layers.0: (A X) W: gemm, bias, ReLU", "layers.2: A (X W): spmm, degrees, bias"])
    });
}
