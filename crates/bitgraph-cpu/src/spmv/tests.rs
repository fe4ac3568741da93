//! Every layout, instruction set and number of threads against sums over the lists.

use super::*;
use approx::abs_diff_eq;
use bitgraph_sparse::{Coo, Duplicates};
use bitgraph_testkit::Tolerance;

fn below(state: &mut u64, n: usize) -> u32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) as usize % n) as u32
}

fn check<T: Real>(name: &str, csr: &Csr) {
    let x: Vec<T> = (0..csr.ncols()).map(|j| T::from_f64((j * 7919 % 1000) as f64 / 1000.0 - 0.3)).collect();
    for kind in SpmvKind::ALL {
        let layout = SpmvLayout::build(csr, kind);
        assert_eq!(layout.kind(), kind);
        for isa in Isa::ALL.into_iter().filter(|&l| l <= Isa::detect()) {
            let mut first: Option<Vec<T>> = None;
            for threads in 1..=3 {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut y = vec![T::from_f64(9.0); csr.nrows()];
                pool.install(|| layout.run_at(isa, &x, &mut y));
                for i in 0..csr.nrows() {
                    let row = || csr.row(i).iter().map(|&j| x[j as usize].to_f64());
                    let (expected, magnitude): (f64, f64) = (row().sum(), row().map(f64::abs).sum());
                    let bound = Tolerance::for_sum(T::DTYPE, csr.degree(i), magnitude);
                    assert!(
                        abs_diff_eq!(y[i].to_f64(), expected, epsilon = bound.epsilon(expected)),
                        "{name}, {kind:?}, {isa:?}: row {i} is {:?}, not {expected}",
                        y[i]
                    );
                }
                assert!(first.get_or_insert_with(|| y.clone()) == &y, "{name}, {kind:?}: {threads} threads differ");
            }
        }
    }
}

#[test]
fn layouts_agree() {
    let mut state = 3;
    for (rows, columns, entries) in
        [(0, 0, 0), (1, 1, 0), (1, 1, 1), (3, 5, 4), (37, 91, 400), (1000, 1003, 5000), (517, 70_001, 9000), (33_000, 300_007, 200_000)]
    {
        let r = (0..entries).map(|_| below(&mut state, rows.max(1))).collect();
        // Half of the entries in the first columns, and one dense row.
        let c = (0..entries).map(|k| below(&mut state, if k % 2 == 0 { columns } else { columns.div_ceil(50) })).collect();
        let mut coo = Coo::pattern(rows, columns, r, c);
        if rows > 30 {
            let dense: Vec<u32> = (0..columns as u32).collect();
            let (mut r, mut c) = (vec![7u32; columns], dense);
            for (&i, &j) in coo.rows.iter().zip(&coo.columns) {
                r.push(i);
                c.push(j);
            }
            coo = Coo::pattern(rows, columns, r, c);
        }
        let csr = coo.into_csr(Duplicates::First).unwrap().0;
        let name = format!("{rows} x {columns}");
        check::<f32>(&name, &csr);
        check::<f64>(&name, &csr);
        let plan = SpmvPlan::new(&csr, 100, 4);
        assert!(plan.to_string().contains(plan.kind.name()));
    }
}

#[test]
fn strips_are_long_where_that_saves_lines() {
    let strip = |entries, rows, columns| cells::strip(entries, rows, columns);
    // The widest matrix of `layouts_agree`, one whose operand is in the second cache, and one whose lines are all read by every strip.
    let [(long, is_long), (short, _), (full, _)] =
        [strip(200_000, 33_000, 300_007), strip(8000, 2000, 2000), strip(1 << 27, 1 << 19, 1 << 19)];
    assert!(is_long && long > short && short == full && long <= cells::MOST_ROWS, "{long}, {short}, {full}");
    assert!(!strip(0, 0, 0).1);
}

#[test]
fn a_long_part_is_what_workers_wait_for() {
    // Half of the entries are in the first strip of cells; parts of blocks are cut by work.
    let (rows, mut state) = (24_576, 5);
    let r = (0..200_000).map(|k| below(&mut state, if k % 2 == 0 { rows } else { cells::strip(200_000, rows, rows).0 })).collect();
    let c = (0..200_000).map(|_| below(&mut state, rows)).collect();
    let csr = Coo::pattern(rows, rows, r, c).into_csr(Duplicates::First).unwrap().0;
    for kind in SpmvKind::ALL {
        assert!(unevenness(&csr, kind, 1) == 1.0);
    }
    let (cells, blocks) = (unevenness(&csr, SpmvKind::Cells, 4), unevenness(&csr, SpmvKind::Blocks, 4));
    assert!((1.0..1.5).contains(&blocks) && cells > 1.5 * blocks, "cells {cells}, blocks {blocks}");
}
