//! The definitions over the operations on the device, on the host shim or a GPU: nothing crosses in a loop but what decides it, and the
//! results are those of plain searches.

use bitgraph_algorithms::{BfsConfig, BfsOutput, CcConfig, PageRankConfig, SsspConfig, TcConfig, UNREACHED, definition};
use bitgraph_backend::{Control, Graph, GraphData, Ready, Request, Symmetry};
use bitgraph_cuda::Cuda;
use bitgraph_cuda::device::Crossings;
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Coo, Csr, Duplicates, FormatKind, Values};
use bitgraph_testkit::reference;
use std::sync::{Arc, Mutex};

fn device() -> Option<Cuda> {
    Cuda::open(0).map_err(|error| eprintln!("skipped: {error}")).ok()
}

/// Two long paths, one way, with a few shortcuts back.
fn paths() -> Csr {
    let arcs = (1..90u32).filter(|v| v % 50 != 0).map(|v| (v - 1, v)).chain([(20, 3), (44, 43), (89, 60), (7, 7)]);
    let (rows, columns) = arcs.unzip();
    Coo::pattern(95, 95, rows, columns).into_csr(Duplicates::First).unwrap().0
}

fn arranged(cuda: &Cuda, csr: &Csr, values: Option<Values>, format: FormatKind) -> Ready<Cuda, CcConfig> {
    let data = GraphData::new(csr.clone().into(), values, Symmetry::Find, None).unwrap();
    let graph = Graph::new(cuda.without_fused_forms(), data);
    graph.prepare(&CcConfig::default(), &Request::forced(format, Ordering::None)).unwrap()
}

/// Runs `work` with a control that watches, and holds every step but the first, which makes what is kept with a matrix, to one flag.
fn watched<R>(cuda: &Cuda, min_steps: usize, work: impl FnOnce(Control) -> R) -> R {
    let seen: Arc<Mutex<Vec<Crossings>>> = Arc::default();
    let (list, device) = (Arc::clone(&seen), cuda.device().clone());
    let result = work(Control::default().with_progress(move |_| list.lock().unwrap().push(device.crossings())));
    let seen = seen.lock().unwrap();
    assert!(seen.len() >= min_steps, "{} steps", seen.len());
    for step in seen[1..].windows(2) {
        let crossed = (step[1].uploads - step[0].uploads, step[1].downloads - step[0].downloads);
        assert!(crossed.0 == 0 && crossed.1 <= 1, "{crossed:?} copies to and from the device in a step");
    }
    result
}

#[test]
fn a_step_crosses_to_the_host_for_one_flag() {
    let Some(cuda) = device() else { return };
    let csr = paths();
    let levels = reference::levels(&csr, 0);
    for format in [FormatKind::Csr, FormatKind::B2sr8] {
        let g = arranged(&cuda, &csr, None, format);
        for output in [BfsOutput::Levels, BfsOutput::Both] {
            let config = BfsConfig { source: 0, output, ..BfsConfig::default() };
            let found = watched(&cuda, 40, |control| definition::bfs(g.arranged(), &BfsConfig { control, ..config }).unwrap());
            assert_eq!(found.levels.as_ref(), Some(&levels));
            let reached = levels.iter().filter(|&&l| l >= 0).count();
            let arcs: usize = (0..95).filter(|&v| levels[v] >= 0).map(|v| csr.degree(v)).sum();
            assert_eq!((found.reached, found.edges_traversed, found.depth), (reached as u64, arcs as u64, 49));
            if let Some(parents) = found.parents {
                assert!((1..50).all(|v| parents[v] == v as u32 - 1) && parents[0] == 0 && parents[60] == UNREACHED);
            }
        }
        let weights = Values::from_vec((0..csr.nnz()).map(|k| (k % 3) as f32).collect::<Vec<_>>());
        let g = arranged(&cuda, &csr, Some(weights), FormatKind::Csr);
        let config = SsspConfig { source: 0, ..SsspConfig::default() };
        let found = watched(&cuda, 40, |control| definition::sssp::<_, f32>(g.arranged(), &SsspConfig { control, ..config }).unwrap());
        assert_eq!(found.reached, 50);
        let g = arranged(&cuda, &csr, None, format);
        let found = watched(&cuda, 3, |control| definition::cc(g.arranged(), &CcConfig { control }).unwrap());
        assert_eq!((found.components, found.largest), (7, 50));
        let g = arranged(&cuda, &csr, None, format);
        let config = PageRankConfig { tolerance: 0.0, max_iterations: 12, ..PageRankConfig::default() };
        let found =
            watched(&cuda, 12, |control| definition::pagerank::<_, f32>(g.arranged(), &PageRankConfig { control, ..config }).unwrap());
        assert!((found.scores.iter().sum::<f32>() - 1.0).abs() < 1e-4);
    }
}

/// What is not a loop over steps takes a number of copies that does not depend on the graph's size; nothing but results is large.
#[test]
fn copies_do_not_grow_with_the_graph() {
    let Some(cuda) = device() else { return };
    let grid = |n: u32| {
        let pairs: Vec<(u32, u32)> = (0..n * n).flat_map(|v| [(v, v + 1), (v, v + n)]).filter(|&(_, u)| u < n * n).collect();
        let (rows, columns) = pairs.into_iter().unzip();
        let n = (n * n) as usize;
        Coo { mirrored: true, ..Coo::pattern(n, n, rows, columns) }.into_csr(Duplicates::First).unwrap().0
    };
    let copies = |n: u32| {
        let csr = grid(n);
        let g = arranged(&cuda, &csr, None, FormatKind::Csr);
        let before = cuda.device().crossings();
        let found = definition::tc(g.arranged(), &TcConfig::default()).unwrap();
        let after = cuda.device().crossings();
        (found.triangles, after.uploads - before.uploads, after.downloads - before.downloads)
    };
    assert_eq!(copies(5), copies(11));
}
