//! The orderings: always a renumbering, deterministic, and good for what each is meant for.

use super::{Ordering, Permutation, community, degree, rcm};
use crate::{Coo, Csr, Duplicates, Offsets};

fn arcs(n: u32, arcs: impl IntoIterator<Item = (u32, u32)>) -> Csr {
    let (r, c) = arcs.into_iter().unzip();
    Coo::pattern(n as usize, n as usize, r, c).into_csr(Duplicates::First).unwrap().0
}

fn edges(n: u32, edges: impl IntoIterator<Item = (u32, u32)>) -> Csr {
    arcs(n, edges.into_iter().flat_map(|(u, v)| [(u, v), (v, u)]))
}

fn grid(rows: u32, columns: u32) -> Csr {
    let right = (0..rows * columns).filter(move |v| (v + 1) % columns != 0).map(|v| (v, v + 1));
    let down = (0..(rows - 1) * columns).map(move |v| (v, v + columns));
    edges(rows * columns, right.chain(down))
}

/// A small generator of random numbers below `n`.
fn random(state: &mut u64, n: u64) -> u32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) % n) as u32
}

fn shuffled(a: &Csr) -> Csr {
    let mut order: Vec<u32> = (0..a.nrows() as u32).collect();
    let mut state = 1;
    for i in (1..order.len()).rev() {
        order.swap(i, random(&mut state, i as u64 + 1) as usize);
    }
    Permutation::from_new_of_old(order).unwrap().apply(a).unwrap()
}

/// Communities of 40 vertices, degree about 12 inside and 2 outside.
fn planted(n: u32) -> Csr {
    let mut state = 2;
    let mut list = Vec::new();
    for u in 0..n {
        for _ in 0..6 {
            list.push((u, (u / 40 * 40 + random(&mut state, 40)) % n));
        }
        list.push((u, random(&mut state, n.into())));
    }
    edges(n, list.into_iter().filter(|(u, v)| u != v))
}

fn bandwidth(a: &Csr) -> usize {
    (0..a.nrows()).flat_map(|i| a.row(i).iter().map(move |&c| i.abs_diff(c as usize))).max().unwrap_or(0)
}

/// Entries per 8 x 8 tile.
fn fill(a: &Csr) -> f64 {
    let tiles: std::collections::HashSet<_> = (0..a.nrows()).flat_map(|i| a.row(i).iter().map(move |&c| (i / 8, c / 8))).collect();
    a.nnz() as f64 / tiles.len() as f64
}

fn awkward() -> Vec<Csr> {
    vec![
        Csr::empty(0, 0).unwrap(),
        Csr::empty(1, 1).unwrap(),
        Csr::empty(70, 70).unwrap(),
        arcs(1, [(0, 0)]),
        arcs(40, (0..40).map(|i| (i, i))),
        edges(64, (1..64).map(|i| (0, i))),
        edges(65, (1..65).map(|i| (i - 1, i))),
        edges(33, (0..33).flat_map(|i| (0..i).map(move |j| (i, j)))),
        // Two components, loops and isolated vertices.
        edges(50, (0..10).flat_map(|i| [(i, i), (i, (i + 1) % 10)]).chain((30..45).map(|i| (i, i + 1)))),
        // Directed: a path away from the smallest vertex, one towards it, one dense row.
        arcs(20, (1..20).map(|i| (i - 1, i))),
        arcs(20, (1..20).map(|i| (i, i - 1))),
        arcs(66, (0..66).map(|j| (5, j))),
        shuffled(&grid(13, 11)),
        planted(200),
    ]
}

#[test]
fn every_ordering_is_a_renumbering() {
    for a in awkward() {
        for kind in Ordering::ALL {
            let Some(p) = kind.compute(&a) else {
                assert_eq!(kind, Ordering::None);
                continue;
            };
            assert_eq!(p.len(), a.nrows());
            assert_eq!(Permutation::from_old_of_new(p.old_of_new().to_vec()).unwrap(), p, "{kind}");
            assert_eq!(kind.compute(&a).unwrap(), p, "{kind} is deterministic");
            assert_eq!(p.apply(&a).unwrap().nnz(), a.nnz());
            let wide: Vec<u64> = (0..=a.nrows()).map(|i| a.offsets().get(i) as u64).collect();
            let same = Csr::new(a.nrows(), a.ncols(), Offsets::U64(wide.into()), a.indices_buffer().clone()).unwrap();
            assert_eq!(kind.compute(&same).unwrap(), p, "{kind} with offsets of 64 bits");
        }
    }
    assert_eq!(Ordering::Rcm.compute(&Csr::empty(3, 4).unwrap()), None);
    assert!(Ordering::ALL.into_iter().all(|o| Ordering::from_name(o.name()) == Some(o)));
}

#[test]
fn degree_falls_and_ties_keep_their_order() {
    let a = planted(500);
    let p = degree(&a);
    for pair in p.old_of_new().windows(2) {
        let (x, y) = (a.degree(pair[0] as usize), a.degree(pair[1] as usize));
        assert!(x > y || (x == y && pair[0] < pair[1]));
    }
}

#[test]
fn rcm_finds_the_bands() {
    // A path comes out in its own order, from either end.
    let path = shuffled(&edges(100, (1..100).map(|i| (i - 1, i))));
    assert_eq!(bandwidth(&rcm(&path).apply(&path).unwrap()), 1);
    let mesh = shuffled(&grid(60, 40));
    assert!(bandwidth(&mesh) > 2000);
    let ordered = rcm(&mesh).apply(&mesh).unwrap();
    assert!(bandwidth(&ordered) <= 41, "{}", bandwidth(&ordered));
    assert!(fill(&ordered) > 5.0, "{}", fill(&ordered));
    // Components do not mix: two grids, with isolated vertices between them.
    let two = edges(300, [0, 200].into_iter().flat_map(|s| (s..s + 99).filter(|v| (v + 1) % 10 != 0).map(|v| (v, v + 1))));
    assert_eq!(bandwidth(&rcm(&two).apply(&two).unwrap()), 1);
}

#[test]
fn communities_fill_tiles() {
    let a = shuffled(&planted(4000));
    let p = community(&a);
    let (before, after) = (fill(&a), fill(&p.apply(&a).unwrap()));
    assert!(before < 1.15 && after > 2.5, "{before} -> {after}");
    // Two cliques joined by an edge stay apart.
    let cliques = edges(20, (0..20).flat_map(|i| (i / 10 * 10..i).map(move |j| (i, j))).chain([(3, 14)]));
    let cliques = shuffled(&cliques);
    let ordered = community(&cliques).apply(&cliques).unwrap();
    let across = (0..10).flat_map(|i| ordered.row(i).iter()).filter(|&&c| c >= 10).count();
    assert_eq!(across, 1);
}
