//! The definitions of the algorithms on the reference backend, against answers known by formula or by plain search.

use approx::assert_abs_diff_eq;
use bitgraph_algorithms::{BfsConfig, BfsOutput, CcConfig, Dangling, MsBfsConfig, PageRankConfig, SsspConfig, TcConfig, Typed, UNREACHED};
use bitgraph_b2sr::Layout;
use bitgraph_backend::{Definition, Error, Fused, Graph, GraphData, Request, Symmetry};
use bitgraph_cpu::Cpu;
use bitgraph_generate::{Control, Generator};
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Coo, Csr, Duplicates, FormatKind, Values};
use std::collections::VecDeque;

fn generated(text: &str) -> Csr {
    text.parse::<Generator>().unwrap().generate(&Control::default()).unwrap()
}

/// A graph, and the format and order that everything on it is forced into.
struct Forced {
    graph: Graph<Cpu>,
    request: Request,
}

impl Forced {
    fn run<A: Definition<Cpu>>(&self, algorithm: A) -> Result<A::Output, Error>
    where
        Cpu: Fused<A>,
    {
        self.graph.prepare(&algorithm, &self.request)?.run(&algorithm)
    }
}

fn graph(csr: &Csr, values: Option<&Values>, format: FormatKind, order: Ordering) -> Forced {
    let data = GraphData::new(Layout::Csr(csr.clone()), values.cloned(), Symmetry::Find, None).unwrap();
    Forced { graph: Graph::new(Cpu::reference(), data), request: Request::forced(format, order) }
}

fn levels(csr: &Csr, source: u32) -> Vec<i32> {
    let mut level = vec![-1; csr.nrows()];
    level[source as usize] = 0;
    let mut queue = VecDeque::from([source]);
    while let Some(v) = queue.pop_front() {
        for &u in csr.row(v as usize) {
            if level[u as usize] < 0 {
                level[u as usize] = level[v as usize] + 1;
                queue.push_back(u);
            }
        }
    }
    level
}

#[test]
fn searches_in_every_format_and_order() {
    let directed = Coo::pattern(7, 7, vec![0, 1, 2, 3, 1, 5, 0], vec![1, 2, 3, 1, 4, 0, 0]).into_csr(Duplicates::First).unwrap().0;
    for csr in [generated("kron:7:6"), generated("grid:9x7"), directed] {
        for format in FormatKind::ALL {
            for order in Ordering::ALL {
                let g = graph(&csr, None, format, order);
                for source in [0, csr.nrows() as u32 - 1] {
                    let want = levels(&csr, source);
                    let config = BfsConfig { source, output: BfsOutput::Both, ..BfsConfig::default() };
                    let got = g.run(config).unwrap();
                    assert_eq!(got.levels.as_ref(), Some(&want), "{format} {order}");
                    let only = g.run(BfsConfig { source, ..BfsConfig::default() }).unwrap();
                    assert_eq!(only.levels.as_ref(), Some(&want));
                    assert_eq!(only.depth as i32, want.iter().copied().max().unwrap());
                    for (v, &p) in got.parents.unwrap().iter().enumerate() {
                        match want[v] {
                            -1 => assert_eq!(p, UNREACHED),
                            0 => assert_eq!(p, v as u32),
                            l => assert!(want[p as usize] == l - 1 && csr.position(p as usize, v as u32).is_some()),
                        }
                    }
                }
                let config = BfsConfig { source: 0, output: BfsOutput::Parents, deterministic: true, ..BfsConfig::default() };
                let (want, got) = (levels(&csr, 0), g.run(config).unwrap().parents.unwrap());
                let before = |u: u32, v: u32| want[u as usize] == want[v as usize] - 1 && csr.position(u as usize, v).is_some();
                let smallest = |v: u32| match want[v as usize] {
                    -1 => UNREACHED,
                    0 => v,
                    _ => (0..csr.nrows() as u32).find(|&u| before(u, v)).unwrap(),
                };
                assert!((0..csr.nrows() as u32).all(|v| got[v as usize] == smallest(v)), "{format} {order}: parents are not the smallest");
                let many = g.run(MsBfsConfig { sources: vec![0, 3, 0], levels: true, ..MsBfsConfig::default() }).unwrap();
                assert_eq!(many.levels.unwrap()[csr.nrows()..2 * csr.nrows()], levels(&csr, 3));
            }
        }
    }
}

fn check_pagerank(g: &Forced, dangling: Dangling) -> Vec<f64> {
    let config = PageRankConfig { tolerance: 1e-12, max_iterations: 500, dangling, ..PageRankConfig::default() };
    let r = g.run(Typed::<_, f64>::new(config)).unwrap();
    assert!(r.converged && r.residual < 1e-12);
    r.scores
}

#[test]
fn pagerank_by_formula() {
    // A directed star into vertex 0: the leaves teleport only; the centre dangles.
    let n = 5u32;
    let csr = Coo::pattern(5, 5, (1..n).collect(), vec![0; 4]).into_csr(Duplicates::First).unwrap().0;
    for format in [FormatKind::Csr, FormatKind::B2sr8] {
        let g = graph(&csr, None, format, Ordering::None);
        let scores = check_pagerank(&g, Dangling::Drop);
        assert_abs_diff_eq!(&scores[..2], &[0.03 + 0.85 * 0.12, 0.03][..], epsilon = 1e-12);
        let scores = check_pagerank(&g, Dangling::Spread);
        assert_abs_diff_eq!(scores.iter().sum::<f64>(), 1.0, epsilon = 1e-9);
    }
}

#[test]
fn jumps_to_some_vertices_in_every_format_and_order() {
    // A third of the vertices has no arcs.
    let n = 50u32;
    let arcs = (0..150u32).map(|k| (k * k * 7 % n, k * 13 % n)).filter(|a| a.0 % 3 != 1);
    let (rows, columns) = arcs.unzip();
    let csr = Coo::pattern(n as usize, n as usize, rows, columns).into_csr(Duplicates::First).unwrap().0;
    for dangling in [Dangling::Spread, Dangling::Drop] {
        let personalization = Some(vec![(1, 2.0), (7, 1.0), (49, 1.0)]);
        let config = PageRankConfig { tolerance: 0.0, max_iterations: 25, dangling, personalization, ..PageRankConfig::default() };
        let teleport = config.teleport(n as usize).unwrap();
        let mut wanted = teleport.clone();
        for _ in 0..25 {
            let lost: f64 = (0..n as usize).filter(|&v| csr.degree(v) == 0).map(|v| wanted[v]).sum();
            let share = if dangling == Dangling::Spread { 0.85 * lost } else { 0.0 };
            let mut next: Vec<f64> = teleport.iter().map(|p| (0.15 + share) * p).collect();
            for u in 0..n as usize {
                csr.row(u).iter().for_each(|&v| next[v as usize] += 0.85 * wanted[u] / csr.degree(u) as f64);
            }
            wanted = next;
        }
        for format in FormatKind::ALL {
            for order in Ordering::ALL {
                let found = graph(&csr, None, format, order).run(Typed::<_, f64>::new(config.clone())).unwrap().scores;
                assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-14), "{format} {order}, {dangling:?}");
            }
        }
    }
}

#[test]
fn much_dangling_mass_in_single_precision() {
    // One triangle; all other vertices dangle, with scores that are equal: a sum of them one by one errs in one direction.
    let csr = Coo::pattern(10_000, 10_000, vec![0, 0, 1, 1, 2, 2], vec![1, 2, 0, 2, 0, 1]).into_csr(Duplicates::First).unwrap().0;
    for (backend, format) in [(Cpu::reference(), FormatKind::Csr), (Cpu::new(), FormatKind::Csr), (Cpu::new(), FormatKind::B2sr8)] {
        let data = GraphData::new(Layout::Csr(csr.clone()), None, Symmetry::Find, None).unwrap();
        let g = Forced { graph: Graph::new(backend, data), request: Request::forced(format, Ordering::None) };
        for damping in [0.85, 0.99] {
            let config = PageRankConfig { tolerance: 0.0, max_iterations: 150, damping, ..PageRankConfig::default() };
            let exact = g.run(Typed::<_, f64>::new(config.clone())).unwrap();
            let found = g.run(Typed::<_, f32>::new(config.clone())).unwrap();
            let error: f64 = exact.scores.iter().zip(&found.scores).map(|(a, b)| (a - f64::from(*b)).abs()).sum();
            // An iteration rounds a score five times, and the dangling mass as often as `Monoid::fold_wide` says, twice over; what is
            // wrong then is damped from one iteration to the next.
            let roundings = 5.0 + 32.0 + 10_000f64.log2();
            let bound = roundings * f64::from(f32::EPSILON) / 2.0 / (1.0 - damping);
            assert!(error <= bound, "{format}, damping {damping}: {error} above {bound}");
            assert!((exact.residual - found.residual).abs() <= bound, "{format}: {} for {}", found.residual, exact.residual);
        }
    }
}

#[test]
fn distances_components_triangles() {
    let arcs = [(0u32, 1u32, 4i64), (0, 2, 1), (2, 1, 2), (1, 3, 5), (3, 3, 7), (5, 4, 0), (4, 5, 0)];
    let mut coo = Coo::pattern(7, 7, arcs.iter().map(|a| a.0).collect(), arcs.iter().map(|a| a.1).collect());
    coo.values = Some(Values::from_vec(arcs.iter().map(|a| a.2).collect::<Vec<_>>()));
    let (csr, values) = coo.into_csr(Duplicates::First).unwrap();
    for format in FormatKind::ALL {
        for order in Ordering::ALL {
            let g = graph(&csr, values.as_ref(), format, order);
            let r = g.run(Typed::<_, i64>::new(SsspConfig { source: 0, parents: true, ..SsspConfig::default() })).unwrap();
            assert_eq!(r.distances, vec![0, 3, 1, 8, i64::MAX, i64::MAX, i64::MAX]);
            assert_eq!(r.parents.unwrap(), vec![0, 2, 0, 1, UNREACHED, UNREACHED, UNREACHED]);
            let r = g.run(Typed::<_, i64>::new(SsspConfig { source: 5, parents: true, ..SsspConfig::default() })).unwrap();
            assert_eq!((r.distances[4], r.parents.unwrap()[4], r.reached), (0, 5, 2));
            let g = graph(&csr, None, format, order);
            let c = g.run(CcConfig::default()).unwrap();
            assert_eq!((c.labels, c.components, c.largest), (vec![0, 0, 0, 0, 4, 4, 6], 3, 4));
            assert!(g.run(TcConfig::default()).is_err());
            let m = generated("mycielskian:5");
            let g = graph(&m, None, format, order);
            assert_eq!(g.run(TcConfig::default()).unwrap().triangles, 0);
            let complete = Coo::pattern(9, 9, (0..81).map(|k| k / 9).collect(), (0..81).map(|k| k % 9).collect());
            let g = graph(&complete.into_csr(Duplicates::First).unwrap().0, None, format, order);
            assert_eq!(g.run(TcConfig::default()).unwrap().triangles, 84);
        }
    }
    let negative = Values::from_vec(vec![-1i64; csr.nnz()]);
    let g = graph(&csr, Some(&negative), FormatKind::Csr, Ordering::Degree);
    let error = g.run(Typed::<_, i64>::new(SsspConfig::default())).err().unwrap().to_string();
    assert!(error.contains("edge 0 -> 1 has weight -1"), "{error}");
    // Only shortest paths take weights.
    assert_eq!(g.run(CcConfig::default()).unwrap().components, 3);
}

#[test]
fn empty_and_single_vertex_graphs() {
    let none = Csr::empty(0, 0).unwrap();
    let one = Csr::empty(1, 1).unwrap();
    let g = |c: &Csr| graph(c, None, FormatKind::Csr, Ordering::None);
    assert!(g(&none).run(BfsConfig::default()).is_err());
    assert_eq!(g(&one).run(BfsConfig::default()).unwrap().reached, 1);
    assert_eq!(g(&none).run(CcConfig::default()).unwrap().components, 0);
    assert_eq!(g(&one).run(CcConfig::default()).unwrap().components, 1);
    assert_eq!(g(&none).run(TcConfig::default()).unwrap().triangles, 0);
    assert!(g(&none).run(Typed::<_, f64>::new(PageRankConfig::default())).unwrap().scores.is_empty());
    let r = g(&one).run(Typed::<_, f32>::new(PageRankConfig::default())).unwrap();
    assert_abs_diff_eq!(r.scores[0], 1.0, epsilon = 1e-6);
}

/// Scores of every float type, to its precision.
#[test]
fn pagerank_over_every_float() {
    fn scores<T: bitgraph_sparse::Stored + bitgraph_semiring::Float>(g: &Forced) -> Vec<f64> {
        let config = PageRankConfig { tolerance: 0.0, max_iterations: 30, ..PageRankConfig::default() };
        g.run(Typed::<_, T>::new(config)).unwrap().scores.into_iter().map(T::to_f64).collect()
    }
    // Vertex 4 dangles.
    let csr = Coo::pattern(5, 5, vec![0, 1, 2, 3, 0, 1], vec![1, 2, 0, 0, 3, 4]).into_csr(Duplicates::First).unwrap().0;
    for order in [Ordering::None, Ordering::Degree] {
        let g = graph(&csr, None, FormatKind::Csr, order);
        let exact = scores::<f64>(&g);
        assert!((exact.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let near = |found: Vec<f64>, bound: f64| exact.iter().zip(found).all(|(a, b)| (a - b).abs() < bound);
        assert!(near(scores::<f32>(&g), 1e-6) && near(scores::<half::f16>(&g), 2e-3) && near(scores::<half::bf16>(&g), 2e-2));
    }
}

/// The searches over semirings of the caller's choice: longest first arcs of widest paths, and the largest parent.
#[test]
fn definitions_over_other_semirings() {
    use bitgraph_algorithms::definition::{bfs_with, sssp_with};
    use bitgraph_backend::{Control, Matrix, Vector};
    use bitgraph_semiring::{AnySecond, MaxMin};
    let csr = generated("grid:3x3");
    let g = graph(&csr, None, FormatKind::Csr, Ordering::None);
    let g = g.graph.arranged().unwrap();
    let names = Vector::from_vec(g.backend(), (0..9u32).map(|v| 100 + v).collect()).unwrap();
    let (levels, parents, depth) = bfs_with(AnySecond::new(), &g, 4, &names, &Control::default()).unwrap();
    assert_eq!((levels.to_host().unwrap().to_vec_or(-1), depth), (vec![2, 1, 2, 1, 0, 1, 2, 1, 2], 2));
    assert_eq!(parents.to_host().unwrap().to_vec_or(0), [101, 104, 101, 104, 104, 104, 103, 104, 105]);
    // The widest path from 0 along 0 -> 1 -> 2 and 0 -> 2.
    let arcs = Coo { values: Some(Values::from_vec(vec![5f32, 3.0, 2.0])), ..Coo::pattern(3, 3, vec![0, 1, 0], vec![1, 2, 2]) };
    let (csr, values) = arcs.into_csr(Duplicates::First).unwrap();
    let incoming = Matrix::new(&Cpu::new(), &csr, values.as_ref(), FormatKind::Csr).unwrap().transposed().unwrap();
    let start = Vector::from_vec(&Cpu::new(), vec![f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY]).unwrap();
    let widths = sssp_with(MaxMin::new(), &incoming, start, &Control::default()).unwrap();
    assert_eq!(widths.to_host().unwrap().to_vec_or(0.0), [f32::INFINITY, 5.0, 3.0]);
}

/// A sum that saturates is told, whichever it is that does not fit: the sum, or the weight.
#[test]
fn overflow_of_distances_is_an_error() {
    for weight in [40_000u64, 1 << 40] {
        let coo = Coo { values: Some(Values::from_vec(vec![weight, weight])), ..Coo::pattern(3, 3, vec![0, 1], vec![1, 2]) };
        let (csr, values) = coo.into_csr(Duplicates::First).unwrap();
        let g = graph(&csr, values.as_ref(), FormatKind::Csr, Ordering::None);
        let config = SsspConfig { source: 0, parents: true, ..SsspConfig::default() };
        let told = g.run(Typed::<_, u16>::new(config.clone())).unwrap_err();
        assert!(matches!(told, bitgraph_backend::Error::Overflow { .. }), "{told}");
        assert_eq!(g.run(Typed::<_, u64>::new(config)).unwrap().distances, [0, weight, 2 * weight]);
    }
}
