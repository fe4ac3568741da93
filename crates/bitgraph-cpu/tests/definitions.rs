//! The definitions of the algorithms on the reference backend, against answers known by formula or by plain search.

use bitgraph_algorithms::{GraphBackend, bfs, cc, ms_bfs, pagerank, sssp, tc};
use bitgraph_backend::{
    Algorithm, BfsConfig, BfsOutput, CcConfig, Dangling, Graph, MsBfsConfig, PageRankConfig, PlanRequest, SsspConfig, TcConfig, UNREACHED,
    Workload,
};
use bitgraph_cpu::Cpu;
use bitgraph_generate::{GenerateControl, Generator};
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Coo, Csr, Duplicates, FormatKind, Values};
use std::collections::VecDeque;

fn generated(text: &str) -> Csr {
    text.parse::<Generator>().unwrap().generate(&GenerateControl::default()).unwrap()
}

fn graph(csr: &Csr, values: Option<&Values>, symmetric: bool, algorithm: Algorithm, format: FormatKind, order: Ordering) -> Graph<Cpu> {
    let request = PlanRequest::forced(Workload::once(algorithm), format, order);
    Graph::build(Cpu::reference(), csr.clone(), values.cloned(), symmetric, &request).unwrap()
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
    for (csr, symmetric) in [(generated("kron:7:6"), true), (generated("grid:9x7"), true), (directed, false)] {
        for format in FormatKind::ALL {
            for order in Ordering::ALL {
                let g = graph(&csr, None, symmetric, Algorithm::Bfs, format, order);
                for source in [0, csr.nrows() as u32 - 1] {
                    let want = levels(&csr, source);
                    let config = BfsConfig { source, output: BfsOutput::Both, ..BfsConfig::default() };
                    let got = bfs(&g, &config).unwrap();
                    assert_eq!(got.levels.as_ref(), Some(&want), "{format} {order}");
                    let only = bfs(&g, &BfsConfig { source, ..BfsConfig::default() }).unwrap();
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
                let many = ms_bfs(&g, &MsBfsConfig { sources: vec![0, 3, 0], levels: true, ..MsBfsConfig::default() }).unwrap();
                assert_eq!(many.levels.unwrap()[csr.nrows()..2 * csr.nrows()], levels(&csr, 3));
            }
        }
    }
}

fn check_pagerank<B: GraphBackend + bitgraph_backend::Mxv<bitgraph_semiring::PlusSecond<f64>>>(
    g: &Graph<B>,
    dangling: Dangling,
) -> Vec<f64> {
    let config = PageRankConfig { tolerance: 1e-12, max_iterations: 500, dangling, ..PageRankConfig::default() };
    let r = pagerank::<B, f64>(g, &config).unwrap_or_else(|e| panic!("{e}"));
    assert!(r.converged && r.residual < 1e-12);
    r.scores
}

#[test]
fn pagerank_by_formula() {
    // A directed star into vertex 0: the leaves teleport only; the centre dangles.
    let n = 5u32;
    let csr = Coo::pattern(5, 5, (1..n).collect(), vec![0; 4]).into_csr(Duplicates::First).unwrap().0;
    for format in [FormatKind::Csr, FormatKind::B2sr8] {
        let g = graph(&csr, None, false, Algorithm::PageRank, format, Ordering::None);
        let scores = check_pagerank(&g, Dangling::Drop);
        assert!((scores[1] - 0.03).abs() < 1e-12 && (scores[0] - (0.03 + 0.85 * 0.12)).abs() < 1e-12);
        let scores = check_pagerank(&g, Dangling::Spread);
        assert!((scores.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn much_dangling_mass_in_single_precision() {
    // One triangle; all other vertices dangle, with scores that are equal: a sum of them one by one errs in one direction.
    let csr = Coo::pattern(10_000, 10_000, vec![0, 0, 1, 1, 2, 2], vec![1, 2, 0, 2, 0, 1]).into_csr(Duplicates::First).unwrap().0;
    for (backend, format) in [(Cpu::reference(), FormatKind::Csr), (Cpu::new(), FormatKind::Csr), (Cpu::new(), FormatKind::B2sr8)] {
        let request = PlanRequest::forced(Workload::once(Algorithm::PageRank), format, Ordering::None);
        let g = Graph::build(backend, csr.clone(), None, true, &request).unwrap();
        for damping in [0.85, 0.99] {
            let config = PageRankConfig { tolerance: 0.0, max_iterations: 150, damping, ..PageRankConfig::default() };
            let exact = pagerank::<_, f64>(&g, &config).unwrap();
            let found = pagerank::<_, f32>(&g, &config).unwrap();
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
            let g = graph(&csr, values.as_ref(), false, Algorithm::Sssp, format, order);
            let r = sssp::<_, i64>(&g, &SsspConfig { source: 0, parents: true, ..SsspConfig::default() }).unwrap();
            assert_eq!(r.distances, vec![0, 3, 1, 8, i64::MAX, i64::MAX, i64::MAX]);
            assert_eq!(r.parents.unwrap(), vec![0, 2, 0, 1, UNREACHED, UNREACHED, UNREACHED]);
            let r = sssp::<_, i64>(&g, &SsspConfig { source: 5, parents: true, ..SsspConfig::default() }).unwrap();
            assert_eq!((r.distances[4], r.parents.unwrap()[4], r.reached), (0, 5, 2));
            let g = graph(&csr, None, false, Algorithm::Cc, format, order);
            let c = cc(&g, &CcConfig::default()).unwrap();
            assert_eq!((c.labels, c.components, c.largest), (vec![0, 0, 0, 0, 4, 4, 6], 3, 4));
            assert!(tc(&g, &TcConfig::default()).is_err());
            let m = generated("mycielskian:5");
            let g = graph(&m, None, true, Algorithm::Tc, format, order);
            assert_eq!(tc(&g, &TcConfig::default()).unwrap().triangles, 0);
            let complete = Coo::pattern(9, 9, (0..81).map(|k| k / 9).collect(), (0..81).map(|k| k % 9).collect());
            let g = graph(&complete.into_csr(Duplicates::First).unwrap().0, None, true, Algorithm::Tc, format, order);
            assert_eq!(tc(&g, &TcConfig::default()).unwrap().triangles, 84);
        }
    }
    let negative = Values::from_vec(vec![-1i64; csr.nnz()]);
    let request = PlanRequest::forced(Workload::once(Algorithm::Sssp), FormatKind::Csr, Ordering::Degree);
    let error = Graph::build(Cpu::reference(), csr, Some(negative), false, &request).err().unwrap().to_string();
    assert!(error.contains("edge 0 -> 1 has weight -1"), "{error}");
}

#[test]
fn empty_and_single_vertex_graphs() {
    let none = Csr::empty(0, 0).unwrap();
    let one = Csr::empty(1, 1).unwrap();
    let request = |a| PlanRequest::forced(Workload::once(a), FormatKind::Csr, Ordering::None);
    let g = |c: &Csr, a| Graph::build(Cpu::reference(), c.clone(), None, true, &request(a)).unwrap();
    assert!(bfs(&g(&none, Algorithm::Bfs), &BfsConfig::default()).is_err());
    assert_eq!(bfs(&g(&one, Algorithm::Bfs), &BfsConfig::default()).unwrap().reached, 1);
    assert_eq!(cc(&g(&none, Algorithm::Cc), &CcConfig::default()).unwrap().components, 0);
    assert_eq!(cc(&g(&one, Algorithm::Cc), &CcConfig::default()).unwrap().components, 1);
    assert_eq!(tc(&g(&none, Algorithm::Tc), &TcConfig::default()).unwrap().triangles, 0);
    assert!(pagerank::<_, f64>(&g(&none, Algorithm::PageRank), &PageRankConfig::default()).unwrap().scores.is_empty());
    let r = pagerank::<_, f32>(&g(&one, Algorithm::PageRank), &PageRankConfig::default()).unwrap();
    assert!((r.scores[0] - 1.0).abs() < 1e-6);
}
