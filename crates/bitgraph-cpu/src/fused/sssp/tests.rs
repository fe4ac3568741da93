//! Every form against a plain Dijkstra, at every instruction set, with one thread and with several.

use super::packed::{HEAD, Packed};
use super::sorted;
use super::{Distance, SsspLayout, SsspVariant};
use crate::Isa;
use bitgraph_algorithms::{SsspConfig, UNREACHED};
use bitgraph_backend::WeightStats;
use bitgraph_backend::{Control, Error};
use bitgraph_semiring::{DType, Scalar};
use bitgraph_sparse::{Csr, Offsets, Values};
use std::sync::Mutex;

/// Levels are of the whole process: tests that set one take turns.
static TURN: Mutex<()> = Mutex::new(());

struct Random(u64);
impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }
}

/// A pattern and weights in its order from arcs; the first of duplicates stays.
fn matrix<T: Scalar>(n: usize, mut arcs: Vec<(u32, u32, T)>) -> (Csr, Values) {
    arcs.sort_by_key(|a| (a.0, a.1));
    arcs.dedup_by_key(|a| (a.0, a.1));
    let mut offsets = vec![0usize; n + 1];
    arcs.iter().for_each(|a| offsets[a.0 as usize + 1] += 1);
    for i in 0..n {
        offsets[i + 1] += offsets[i];
    }
    let ids: Vec<u32> = arcs.iter().map(|a| a.1).collect();
    let csr = Csr::new(n, n, Offsets::from_usizes(&offsets), ids.into()).expect("valid");
    (csr, Values::from_vec(arcs.into_iter().map(|a| a.2).collect()))
}

/// Both directions of every arc, with the same weight.
fn both<T: Scalar>(arcs: Vec<(u32, u32, T)>) -> Vec<(u32, u32, T)> {
    let mut arcs: Vec<_> = arcs.into_iter().map(|(a, b, w)| (a.min(b), a.max(b), w)).collect();
    arcs.sort_by_key(|a| (a.0, a.1));
    arcs.dedup_by_key(|a| (a.0, a.1));
    arcs.iter().flat_map(|&(a, b, w)| [(a, b, w), (b, a, w)]).collect()
}

/// Bellman and Ford's form with a list: slow, plain, and exact for floats too.
fn reference<D: Scalar>(csr: &Csr, weights: &[D], source: u32) -> Vec<D> {
    let mut dist = vec![D::largest(); csr.nrows()];
    dist[source as usize] = D::ZERO;
    let mut done = vec![false; csr.nrows()];
    let mut queued = std::collections::VecDeque::from([source]);
    while let Some(v) = queued.pop_front() {
        done[v as usize] = false;
        for k in csr.row_range(v as usize) {
            let u = csr.indices()[k];
            let sum = dist[v as usize].plus_saturating(weights[k]);
            if sum < dist[u as usize] {
                dist[u as usize] = sum;
                if !std::mem::replace(&mut done[u as usize], true) {
                    queued.push_back(u);
                }
            }
        }
    }
    dist
}

/// The parents are a tree of tight arcs.
fn check_parents<D: Scalar>(csr: &Csr, weights: &[D], source: u32, dist: &[D], parents: &[u32]) {
    for v in 0..csr.nrows() as u32 {
        let p = parents[v as usize];
        if v == source {
            assert_eq!(p, source);
        } else if dist[v as usize] == D::largest() {
            assert_eq!(p, UNREACHED);
        } else {
            let k = csr.position(p as usize, v).expect("the parent has an arc to the child");
            assert!(dist[p as usize].plus_saturating(weights[k]) == dist[v as usize]);
            let (mut at, mut steps) = (v, 0);
            while at != source {
                at = parents[at as usize];
                steps += 1;
                assert!(steps <= csr.nrows(), "the parents have a cycle");
            }
        }
    }
}

fn in_pool<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(f)
}

/// Checks all forms of one graph: instruction sets, threads, targets, widths, parents. Weights of 1 are left out as well as given.
fn check<D: Distance>(csr: &Csr, values: &Values, directed: bool, sources: &[u32]) {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let weights = values.cast::<D>();
    let weights = weights.as_slice::<D>().expect("cast");
    let (t, tv) = csr.transpose_with(values);
    let incoming = directed.then_some((&t, Some(&tv)));
    let wants: Vec<Vec<D>> = sources.iter().map(|&s| reference(csr, weights, s)).collect();
    let bare = weights.iter().all(|&w| w == D::ONE);
    for variant in SsspVariant::ALL {
        let given = variant.way().is_none();
        if !given && !bare {
            continue;
        }
        for threads in [1, 3] {
            in_pool(threads, || {
                let incoming = incoming.map(|(t, w)| (t, w.filter(|_| given)));
                let layout = SsspLayout::build_as(csr, incoming, given.then_some(values), false, variant).expect("built");
                // Weights and rows that a variant cannot have fall back on another, which the layout names.
                let fits = WeightStats::of(csr, Some(values)).is_ok_and(|w| Packed::suits(csr, &w));
                let short = (0..csr.nrows()).all(|v| csr.degree(v) <= HEAD);
                let sorts = WeightStats::of(csr, Some(values)).is_ok_and(|w| sorted::suits(csr, &w));
                let expected = match variant {
                    SsspVariant::SortedBuckets if !sorts => SsspVariant::Buckets,
                    SsspVariant::Packed | SsspVariant::PackedAtWill | SsspVariant::PackedRows if !fits => SsspVariant::Buckets,
                    SsspVariant::PackedRows if !short => SsspVariant::Packed,
                    variant => variant,
                };
                assert_eq!(layout.variant(), expected);
                for isa in Isa::ALL {
                    Isa::limit(isa);
                    for (&source, want) in sources.iter().zip(&wants) {
                        for delta in [None, Some(3.0), Some(200.0)] {
                            let config = SsspConfig { source, delta, parents: delta.is_none(), ..SsspConfig::default() };
                            let got = layout.run::<D>(&config).expect("run");
                            let what = (csr.nrows(), csr.nnz(), source, isa, threads, layout.variant(), delta);
                            assert!(got.distances == *want, "{what:?}");
                            assert_eq!(got.reached, want.iter().filter(|&&d| d != D::largest()).count() as u64);
                            if let Some(parents) = &got.parents {
                                check_parents(csr, weights, source, want, parents);
                            }
                        }
                        let target = (source + csr.nrows() as u32 / 2) % csr.nrows() as u32;
                        let config = SsspConfig { source, target: Some(target), parents: true, ..SsspConfig::default() };
                        let got = layout.run::<D>(&config).expect("run");
                        let end = want[target as usize];
                        let cut: Vec<D> = want.iter().map(|&d| if d > end { D::largest() } else { d }).collect();
                        assert!(got.distances == cut, "target {target} {:?}", (isa, threads, layout.variant()));
                        check_parents(csr, weights, source, &cut, &got.parents.expect("asked for"));
                    }
                }
                Isa::limit(Isa::Avx512);
            });
        }
    }
}

fn arcs<T>(n: usize, degree: usize, parts: usize, r: &mut Random, mut weight: impl FnMut(&mut Random) -> T) -> Vec<(u32, u32, T)> {
    let mut out = Vec::new();
    for v in 0..n {
        for _ in 0..r.next(2 * degree as u64 + 1) {
            let u = r.next(n as u64) as usize / parts * parts + v % parts;
            // Every tenth vertex is isolated.
            if u < n && v % 10 != 9 && u % 10 != 9 {
                let w = weight(r);
                out.push((v as u32, u as u32, w));
            }
        }
    }
    out
}

#[test]
fn packed_graphs() {
    let mut r = Random(88_172_645_463_325_252);
    for (n, parts, degree, largest) in [
        (1000, 1, 2, 255),
        (3000, 1, 16, 255),
        (2000, 3, 40, 255),
        (1500, 1, 8, 3),
        (1500, 50, 6, 200),
        (300, 1, 100, 255),
        (500, 1, 1, 255),
        (1, 1, 1, 9),
    ] {
        let mut list = arcs(n, degree, parts, &mut r, |r| r.next(largest) as u8 + 1);
        list.extend((1..n as u32 / 8).map(|v| (v, v - 1, 255)));
        let sources = [0, n as u32 / 2, n as u32 - 1];
        let (csr, w) = matrix(n, both(list.clone()));
        check::<u32>(&csr, &w, false, &sources);
        let (csr, w) = matrix(n, list);
        check::<u32>(&csr, &w, true, &sources);
    }
}

#[test]
fn grids_and_stars() {
    let mut r = Random(7);
    let (rows, columns) = (37u32, 41u32);
    let mut list = Vec::new();
    for v in 0..rows * columns {
        if v % columns + 1 < columns {
            list.push((v, v + 1, r.next(255) as u16 + 1));
        }
        if v + columns < rows * columns {
            list.push((v, v + columns, r.next(255) as u16 + 1));
        }
    }
    let (csr, w) = matrix((rows * columns) as usize, both(list.clone()));
    assert_eq!(SsspLayout::build(&csr, None, Some(&w)).unwrap().variant(), SsspVariant::PackedRows);
    check::<u32>(&csr, &w, false, &[0, 700]);
    let (csr, w) = matrix((rows * columns) as usize, list);
    check::<u32>(&csr, &w, true, &[0, 700]);
    // A tree: levels that fill several chunks of a bucket.
    for largest in [1, 40] {
        let tree: Vec<_> = (1..5000u32).map(|v| ((v - 1) / 3, v, r.next(largest) as u8 + 1)).collect();
        let (csr, w) = matrix(5000, both(tree));
        assert_eq!(SsspLayout::build(&csr, None, Some(&w)).unwrap().variant(), SsspVariant::PackedRows);
        check::<u32>(&csr, &w, false, &[0, 4000]);
    }
    // One dense row, and rows of at most 8.
    let star: Vec<_> = (1..3000u32).map(|v| (0, v, (v % 255) as u8 + 1)).collect();
    let (csr, w) = matrix(3000, both(star));
    check::<u32>(&csr, &w, false, &[0, 17]);
    let ring: Vec<_> = (0..2000u32).flat_map(|v| [1, 3, 9].map(|k| (v, (v + k) % 2000, (v % 200 + k) as u8 + 1))).collect();
    let (csr, w) = matrix(2000, both(ring));
    assert_eq!(SsspLayout::build(&csr, None, Some(&w)).unwrap().variant(), SsspVariant::PackedRows);
    check::<u32>(&csr, &w, false, &[0, 1999]);
}

#[test]
fn no_weights() {
    let mut r = Random(9);
    for (n, degree) in [(1, 0), (500, 2), (400, 12)] {
        let list = arcs(n, degree, 2, &mut r, |_| 1u8);
        let (csr, w) = matrix(n, list.clone());
        check::<u32>(&csr, &w, true, &[0]);
        let (csr, w) = matrix(n, both(list));
        check::<u32>(&csr, &w, false, &[0]);
        check::<f64>(&csr, &w, false, &[n as u32 - 1]);
    }
}

#[test]
fn whole_weights() {
    let mut r = Random(3);
    for (n, degree) in [(400, 3), (300, 20)] {
        // Lengths as of roads, zero among them.
        let list = arcs(n, degree, 1, &mut r, |r| if r.next(5) == 0 { 0 } else { r.next(5000) as i32 });
        let (csr, w) = matrix(n, list.clone());
        check::<i32>(&csr, &w, true, &[0, 7]);
        check::<f64>(&csr, &w, true, &[1]);
        let (csr, w) = matrix(n, both(list));
        check::<u32>(&csr, &w, false, &[0, 7]);
        // All zero: a plateau.
        let list = arcs(n, degree, 1, &mut r, |_| 0u8);
        let (csr, w) = matrix(n, both(list));
        check::<u64>(&csr, &w, false, &[0]);
        // Sums beyond 32 bits.
        let list = arcs(n, degree, 1, &mut r, |r| r.next(1 << 40));
        let (csr, w) = matrix(n, list);
        assert_eq!(SsspLayout::build(&csr, None, Some(&w)).unwrap().native(), DType::U64);
        check::<u64>(&csr, &w, true, &[0, 5]);
        let list = arcs(n, degree, 1, &mut r, |r| r.next(2) == 0);
        let (csr, w) = matrix(n, list);
        check::<u32>(&csr, &w, true, &[0]);
    }
}

#[test]
fn float_weights() {
    let mut r = Random(11);
    for (n, degree) in [(400, 3), (300, 20)] {
        let list = arcs(n, degree, 1, &mut r, |r| if r.next(9) == 0 { 0.0 } else { r.next(1 << 20) as f32 * 1e-3 });
        let (csr, w) = matrix(n, list.clone());
        check::<f32>(&csr, &w, true, &[0, 7]);
        let (csr, w) = matrix(n, both(list.into_iter().map(|(a, b, w)| (a, b, f64::from(w) * 1e30)).collect()));
        check::<f64>(&csr, &w, false, &[0, 7]);
        // Weights that the sum absorbs, and arcs of infinite length.
        let list = arcs(n, degree, 1, &mut r, |r| [1e-30, 1e20, 1.0, f32::INFINITY][r.next(4) as usize]);
        let (csr, w) = matrix(n, list);
        check::<f32>(&csr, &w, true, &[0, 7]);
        // Whole floats are packed.
        let list = arcs(n, degree, 1, &mut r, |r| r.next(255) as f32 + 1.0);
        let (csr, w) = matrix(n, list);
        assert_eq!(SsspLayout::build(&csr, Some((&csr.transpose(), None)), None).unwrap().native(), DType::U32);
        assert_eq!(SsspLayout::build(&csr, None, Some(&w)).unwrap().native(), DType::U32);
        check::<f32>(&csr, &w, true, &[0, 7]);
    }
    let (csr, w) = matrix(51, (0..50u32).map(|v| (v, v + 1, 0.5f32)).collect());
    let w = Values::F16(w.as_slice::<f32>().unwrap().iter().map(|&x| Scalar::from_f64(x.into())).collect::<Vec<_>>().into());
    let got = SsspLayout::build(&csr, None, Some(&w)).unwrap().run::<f32>(&SsspConfig::default()).unwrap();
    assert_eq!(got.distances[50], 25.0);
    assert_eq!(SsspLayout::build_as(&csr, None, Some(&w), true, SsspVariant::Buckets).unwrap().native(), DType::F64);
}

#[test]
fn unit_weights() {
    let mut r = Random(5);
    let (csr, _) = matrix(2000, both(arcs(2000, 6, 1, &mut r, |_| 1u8)));
    let layout = SsspLayout::build(&csr, None, None).unwrap();
    let want = reference(&csr, &vec![1u32; csr.nnz()], 3);
    let config = SsspConfig { source: 3, ..SsspConfig::default() };
    assert_eq!(layout.run::<u32>(&config).unwrap().distances, want);
    let plain = SsspLayout::build_as(&csr, None, None, false, SsspVariant::Steps).unwrap();
    assert_eq!(plain.run::<u32>(&config).unwrap().distances, want);
}

#[test]
fn refusals() {
    let (csr, _) = matrix(3, vec![(0, 1, 1u8), (1, 2, 1)]);
    let bad = SsspLayout::build(&csr, None, Some(&vec![1i32, -4].into()));
    assert!(matches!(bad, Err(Error::Weight { row: 1, column: 2, weight, .. }) if weight == -4.0));
    assert!(matches!(SsspLayout::build(&csr, None, Some(&vec![f32::NAN, 1.0].into())), Err(Error::Weight { row: 0, column: 1, .. })));
    assert!(matches!(SsspLayout::build(&csr, None, Some(&vec![1u8].into())), Err(Error::Shape { .. })));
    assert!(matches!(SsspLayout::build(&Csr::empty(2, 3).unwrap(), None, None), Err(Error::NotSquare { .. })));
    let config = |source| SsspConfig { source, ..SsspConfig::default() };
    let layout = SsspLayout::build(&csr, None, Some(&vec![u64::MAX - 1, 2].into())).unwrap();
    assert!(matches!(layout.run::<u64>(&config(0)), Err(Error::Overflow { .. })));
    assert_eq!(layout.run::<u64>(&config(1)).unwrap().distances, [u64::MAX, 0, 2]);
    let target = SsspConfig { target: Some(1), ..config(0) };
    assert_eq!(layout.run::<u64>(&target).unwrap().distances, [0, u64::MAX - 1, u64::MAX]);
    assert!(matches!(layout.run::<i32>(&target), Err(Error::Overflow { .. })));
    assert!(matches!(layout.run::<u64>(&config(3)), Err(Error::VertexOutOfRange { vertex: 3, nodes: 3 })));
    assert!(matches!(layout.run::<u64>(&SsspConfig { delta: Some(0.0), ..config(0) }), Err(Error::Parameter { .. })));
    let layout = SsspLayout::build(&csr, None, Some(&vec![0.5f32, 2.0].into())).unwrap();
    assert!(matches!(layout.run::<u32>(&config(0)), Err(Error::Type { .. })));
    assert_eq!(layout.run::<f64>(&config(0)).unwrap().distances, [0.0, 0.5, 2.5]);
    let empty = SsspLayout::build(&Csr::empty(0, 0).unwrap(), None, None).unwrap();
    assert!(matches!(empty.run::<u32>(&config(0)), Err(Error::VertexOutOfRange { .. })));
    let one = SsspLayout::build(&Csr::empty(1, 1).unwrap(), None, None).unwrap().run::<f32>(&config(0)).unwrap();
    assert_eq!((one.distances, one.reached), (vec![0.0], 1));
}

#[test]
fn cancels() {
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let mut r = Random(9);
    let (csr, w) = matrix(500, both(arcs(500, 8, 1, &mut r, |r| r.next(255) as u8 + 1)));
    for variant in [SsspVariant::Packed, SsspVariant::Buckets] {
        for threads in [1, 2] {
            let control = Control::default().with_cancel(flag.clone());
            let got = in_pool(threads, || {
                let layout = SsspLayout::build_as(&csr, None, Some(&w), false, variant).unwrap();
                layout.run::<u32>(&SsspConfig { control, ..SsspConfig::default() })
            });
            assert!(matches!(got, Err(Error::Cancelled)));
        }
    }
}
