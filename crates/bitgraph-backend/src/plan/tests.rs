//! Learning from runs, and the planner, with costs that are made up.

use super::*;
use crate::{Error, Symmetry};
use bitgraph_b2sr::Layout;
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Csr, Permutation};

fn candidate(build: f64, run: f64) -> Candidate {
    Candidate {
        ordering: Ordering::None,
        format: FormatKind::Csr,
        variant: if build == 0.0 { "plain" } else { "better" },
        build_seconds: build,
        run_seconds: run,
        threads: 0,
        why: String::new(),
    }
}

/// Follows the learnt choice for so many runs, counting what it costs, and holds it against the best choice from the beginning.
fn worst_ratio(candidates: &[Candidate], runs: u32) -> f64 {
    let (mut learnt, mut spent, mut built, mut worst) = (Learnt::default(), 0.0, vec![false; candidates.len()], 0f64);
    for run in 1..=runs {
        let chosen = learnt.next(candidates);
        spent += candidates[chosen].run_seconds;
        if !std::mem::replace(&mut built[chosen], true) {
            spent += candidates[chosen].build_seconds;
        }
        let best = candidates.iter().map(|c| c.total_seconds(f64::from(run))).fold(f64::INFINITY, f64::min);
        worst = worst.max(spent / best);
    }
    worst
}

#[test]
fn learning_costs_at_most_twice_the_best_choice() {
    for build in [0.5, 1.0, 3.0, 17.0, 250.0, 4000.0] {
        for run in [0.9, 0.5, 0.1, 0.001] {
            let candidates = [candidate(0.0, 1.0), candidate(build, run)];
            let ratio = worst_ratio(&candidates, 20_000);
            assert!(ratio <= 2.0 + 1e-9, "building {build}, then {run} a run: {ratio}");
        }
    }
}

#[test]
fn learning_builds_a_better_layout_once_the_runs_have_cost_as_much() {
    let candidates = [candidate(0.0, 1.0), candidate(5.0, 0.25)];
    let mut learnt = Learnt::default();
    let chosen: Vec<usize> = (0..10).map(|_| learnt.next(&candidates)).collect();
    assert_eq!(chosen, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
}

#[test]
fn a_chain_of_better_layouts_stays_within_three() {
    for (first, second) in [(10.0, 20.0), (4.0, 100.0), (1.0, 1000.0), (30.0, 31.0)] {
        for (r1, r2) in [(0.5, 0.1), (0.1, 0.0), (0.9, 0.05)] {
            let ratio = worst_ratio(&[candidate(0.0, 1.0), candidate(first, r1), candidate(second, r2)], 20_000);
            assert!(ratio <= 3.0, "{first} {second} {r1} {r2}: {ratio}");
        }
    }
}

/// Variants, and what their layouts cost to build.
type Costs = Vec<(&'static str, f64)>;

/// Of four vertices in tiles, the layouts that a request allows for so many runs, and for how many the choice among them holds.
fn weighed(request: &Request, runs: u32, order: Option<Ordering>) -> Result<(Costs, u32), Error> {
    let layout = Layout::from_csr(&Csr::empty(4, 4)?, FormatKind::B2sr8);
    let order = order.map(|o| Ok::<_, Error>((o, Permutation::from_new_of_old(vec![2, 0, 3, 1])?))).transpose()?;
    let graph = GraphData::new(layout, None, Symmetry::Find, order)?;
    let stored = || Some(StoredCost { variant: "tiles", run_seconds: 1.0, csr_seconds: 1000.0, min_seconds: 0.5 });
    let renumbered = Candidate { ordering: Ordering::Rcm, ..candidate(7.0, 0.25) };
    let tiles = Candidate { format: FormatKind::B2sr8, variant: "tiles", ..candidate(0.0, 1.0) };
    let variants = || vec![candidate(0.0, 1.0), candidate(5.0, 0.25), renumbered.clone(), tiles.clone()];
    let forecast = weigh(&graph, "an algorithm", request, runs, &stored, &variants)?;
    Ok((forecast.candidates.iter().map(|c| (c.variant, c.build_seconds)).collect(), forecast.holds_for))
}

#[test]
fn a_graph_in_tiles_is_taken_as_it_is_for_as_many_runs_as_others_do_not_pay() {
    // Nothing is faster by more than half a second a run, and CSR takes a thousand to be made.
    assert_eq!(weighed(&Request::runs(2000), 2000, None).unwrap(), (vec![("tiles", 0.0)], 2000));
    let (all, holds_for) = weighed(&Request::runs(2001), 2001, None).unwrap();
    assert_eq!((all.len(), holds_for), (5, u32::MAX));
    // In this format there is nothing else to weigh.
    let request = Request { format: Some(FormatKind::B2sr8), ..Request::default() };
    assert_eq!(weighed(&request, u32::MAX, None).unwrap(), (vec![("tiles", 0.0)], u32::MAX));
}

#[test]
fn a_forced_variant_is_taken_where_the_graph_is_stored_for_another() {
    for (variant, expected) in [("plain", vec![0.0]), ("better", vec![5.0, 7.0]), ("tiles", vec![0.0])] {
        let (all, _) = weighed(&Request { variant: Some(variant), ..Request::default() }, 1, None).unwrap();
        assert_eq!(all, expected.into_iter().map(|build| (variant, build)).collect::<Vec<_>>(), "{variant}");
    }
    let unknown = Request { variant: Some("sideways"), ..Request::default() };
    let found = weighed(&unknown, 1, None).unwrap_err();
    assert!(matches!(found, Error::NoVariant { ref available, .. } if available == "better, plain, tiles"), "{found}");
}

#[test]
fn an_order_that_the_graph_came_in_costs_nothing() {
    let request = Request { format: Some(FormatKind::Csr), ..Request::default() };
    let of = |order| weighed(&request, 1, order).unwrap().0;
    // The given order stays, and costs what the layout in the input's order would; others are not weighed.
    assert_eq!(of(Some(Ordering::Rcm)), [("plain", 0.0), ("better", 5.0)]);
    assert_eq!(of(None), [("plain", 0.0), ("better", 5.0), ("better", 7.0)]);
    let forced = Request { ordering: Some(Ordering::Rcm), ..request };
    assert_eq!(weighed(&forced, 1, None).unwrap().0, [("plain", 0.0), ("better", 7.0)]);
}
