//! Chains of layers of signs: all learn, all ways to compute them give the same numbers, and `bin` and `bi-full` are two of them.

use bitgraph_cpu::Cpu;
use bitgraph_gnn::quant::LowBits;
use bitgraph_gnn::{Architecture, Chain, Execution, Plan, Precision, Run, Shape, data};
use bitgraph_sparse::Control;
use bitgraph_tensor::Bits;
use bitgraph_tensor::ops::Reconcile;

fn set() -> data::Dataset {
    data::open("planted:220:3:8".as_ref(), &Control::default()).unwrap()
}

fn low(precision: Precision, shape: &Shape) -> LowBits<Cpu> {
    LowBits::new(&Cpu::new(), &set(), 0, precision, shape).unwrap()
}

#[test]
fn bin_and_bi_full_are_chains() {
    let named = [(Precision::Bin, ["chain:bbb,bff", "chain:bbb,bbb,bff"]), (Precision::BiFull, ["chain:fff,fff", "chain:fff,fff,fff"])];
    for (precision, chains) in named {
        for (layers, chain) in [2, 3].into_iter().zip(chains) {
            let shape = Shape { layers, hidden: 20, ..Architecture::Gcn.recipe(3).shape };
            let [one, other] = [precision, chain.parse().unwrap()].map(|p| low(p, &shape));
            let training = Architecture::Gcn.recipe_in(precision, 3, false).training;
            let epochs = |made: &LowBits<Cpu>| {
                let mut run = Run::new(&made.model, &made.task, &training, 3).unwrap();
                (0..4).map(|_| run.step().unwrap()).collect::<Vec<_>>()
            };
            assert_eq!(epochs(&one), epochs(&other), "{precision} of {layers} layers");
        }
    }
}

#[test]
fn every_chain_learns_and_every_way_counts_the_same() {
    let cpu = Cpu::new();
    assert_eq!(cpu.reconciles(), [Reconcile::Branch, Reconcile::Count]);
    for chain in Chain::all(2) {
        let precision = Precision::Chain(chain);
        let recipe = Architecture::Gcn.recipe_in(precision, 3, false);
        let shape = Shape { hidden: 32, ..recipe.shape };
        let LowBits { model, task } = low(precision, &shape);
        let mut training = recipe.training;
        (training.epochs, training.optimiser.rate) = (150, 0.01);
        let mut run = Run::new(&model, &task, &training, 5).unwrap();
        let mut best = 0.0f64;
        for _ in 0..150 {
            best = best.max(run.step().unwrap().scores.test_accuracy);
        }
        assert!(best > 0.7, "{chain}: {best}");
        let parameters = run.finish().unwrap().parameters;
        let wanted = model.infer(&task.graph, &parameters, &task.features).unwrap().to_host().unwrap();
        let summing = precision.sign_sums(2);
        assert_eq!(summing.len(), chain.to_string().split([':', ',']).skip(1).filter(|link| &link[1..2] == "b").count());
        for how in Reconcile::ALL {
            let way = Execution { whole: false, reconcile: vec![how; 2] };
            let plan = Plan::by(&way, (&model, &parameters), &task.graph, &task.features).unwrap();
            let found = plan.run().unwrap().to_host().unwrap();
            let near = |(f, w): (&f32, &f32)| (f - w).abs() <= 1e-4 * w.abs().max(1.0);
            let far = found.iter().zip(&wanted).filter(|pair| !near(*pair)).count();
            // A float that is nearly a threshold may fall on either side of it.
            assert!(far <= 6, "{chain} by {way}: {far} of {} differ", found.len());
            assert_eq!(plan.to_string().matches(&format!("by {}", how.name())).count(), summing.len(), "{plan}");
        }
    }
}

#[test]
fn a_chain_of_other_layers_is_refused() {
    let shape = Shape { layers: 3, ..Architecture::Gcn.recipe(3).shape };
    let precision: Precision = "chain:bbb,bff".parse().unwrap();
    let told = LowBits::new(&Cpu::new(), &set(), 0, precision, &shape).err().unwrap().to_string();
    assert!(told.contains("layers of the chain: 3 where 2"), "{told}");
    assert!("chain:bbb,fff".parse::<Precision>().is_err());
    assert!(precision.check(Architecture::Gat).is_err() && precision.check(Architecture::Gcn).is_ok());
    assert!(precision.check_graphs(Architecture::Gin).unwrap_err().to_string().contains("bi-full, bin and bits:W,A"));
}
