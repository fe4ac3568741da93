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

/// Scores of every float type, to its precision.
#[test]
fn pagerank_over_every_float() {
    fn scores<T: bitgraph_sparse::Stored + bitgraph_semiring::Float>(g: &Graph<Cpu>) -> Vec<f64> {
        let config = PageRankConfig { tolerance: 0.0, max_iterations: 30, ..PageRankConfig::default() };
        pagerank::<_, T>(g, &config).unwrap().scores.into_iter().map(T::to_f64).collect()
    }
    // Vertex 4 dangles.
    let csr = Coo::pattern(5, 5, vec![0, 1, 2, 3, 0, 1], vec![1, 2, 0, 0, 3, 4]).into_csr(Duplicates::First).unwrap().0;
    for order in [Ordering::None, Ordering::Degree] {
        let g = graph(&csr, None, false, Algorithm::PageRank, FormatKind::Csr, order);
        let exact = scores::<f64>(&g);
        assert!((exact.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let near = |found: Vec<f64>, bound: f64| exact.iter().zip(found).all(|(a, b)| (a - b).abs() < bound);
        assert!(near(scores::<f32>(&g), 1e-6) && near(scores::<half::f16>(&g), 2e-3) && near(scores::<half::bf16>(&g), 2e-2));
    }
}

/// The searches over semirings of the caller's choice: longest first arcs of widest paths, and the greatest parent.
#[test]
fn definitions_over_other_semirings() {
    use bitgraph_algorithms::definition::{bfs_with, sssp_with};
    use bitgraph_backend::{Control, Matrix, Vector};
    use bitgraph_semiring::{AnySecond, MaxMin};
    let csr = generated("grid:3x3");
    let g = graph(&csr, None, true, Algorithm::Bfs, FormatKind::Csr, Ordering::None);
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
        let g = graph(&csr, values.as_ref(), false, Algorithm::Sssp, FormatKind::Csr, Ordering::None);
        let config = SsspConfig { source: 0, parents: true, ..SsspConfig::default() };
        let told = sssp::<_, u16>(&g, &config).unwrap_err();
        assert!(matches!(told, bitgraph_backend::Error::Overflow { .. }), "{told}");
        assert_eq!(sssp::<_, u64>(&g, &config).unwrap().distances, [0, weight, 2 * weight]);
    }
}
