//! Learning from runs, and the planner, with costs that are made up.

use super::*;
use bitgraph_sparse::ordering::Ordering;

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
