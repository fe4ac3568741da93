//! Graphs kept in a container in every format and order: what comes back, what is used as it is, and what is refused.

use bitgraph::b2sr::Layout;
use bitgraph::backend::{Definition, Fused};
use bitgraph::io::{self, WriteSource};
use bitgraph::prelude::*;
use bitgraph::sparse::{Section, SectionData};
use std::path::{Path, PathBuf};

/// A graph of known lists.
struct Case {
    csr: Csr,
    values: Option<Values>,
    symmetric: bool,
}

/// Levels, parents, distances and labels.
type Answers = (Vec<i32>, Vec<u32>, Vec<f32>, Vec<u32>);

/// Undirected and directed, with weights and without, with vertices of no arcs, of a size that is no multiple of a tile.
fn cases() -> Vec<Case> {
    let csr = "kron:7".parse::<GraphSource>().unwrap().load(&LoadOptions::default()).unwrap().csr;
    let weights = bitgraph::hashed_weights(&csr, 50);
    let mut arcs = Coo::pattern(77, 77, Vec::new(), Vec::new());
    let mut lengths = Vec::new();
    for i in 0..70u32 {
        for (step, length) in [(1, 3.5f32), (2, 0.25), (31, 9.0), (i % 11, 1.0)] {
            arcs.rows.push(i);
            arcs.columns.push((i * 5 + step) % 71);
            lengths.push(length + i as f32);
        }
    }
    arcs.values = Some(Values::from_vec(lengths));
    let (directed, lengths) = arcs.into_csr(Duplicates::Min).unwrap();
    vec![
        Case { csr: csr.clone(), values: None, symmetric: true },
        Case { csr, values: Some(weights), symmetric: true },
        Case { csr: directed, values: lengths, symmetric: false },
    ]
}

impl Case {
    /// Writes the graph in this format and order.
    fn write(&self, path: &Path, kind: FormatKind, ordering: Ordering) {
        let permutation = ordering.compute(&self.csr.symmetrized().unwrap());
        let (csr, values) = match &permutation {
            Some(p) => p.apply_with(&self.csr, self.values.as_ref()).unwrap(),
            None => (self.csr.clone(), self.values.clone()),
        };
        let mut source = WriteSource::new(&csr).with_values(values.as_ref()).with_symmetric(Some(self.symmetric));
        source.permutation = permutation.as_ref();
        source.ordering = ordering;
        source.format = Some((kind, Layout::from_csr(&csr, kind).sections()));
        io::write(path, &source, &io::WriteOptions::default()).unwrap();
    }
}

fn answers(graph: &Graph<Cpu>, request: &Request) -> Answers {
    fn run<A: Definition<Cpu>>(graph: &Graph<Cpu>, request: &Request, algorithm: &A) -> A::Output
    where
        Cpu: Fused<A>,
    {
        let ready = graph.prepare(algorithm, request).unwrap();
        let plan = ready.plan();
        assert!(request.format.is_none_or(|f| f == plan.format()) && request.ordering.is_none_or(|o| o == plan.ordering()), "{plan}");
        ready.run(algorithm).unwrap()
    }
    let config = BfsConfig { source: 3, output: BfsOutput::Both, deterministic: true, ..BfsConfig::default() };
    let search = run(graph, request, &config);
    let paths = run(graph, request, &Typed::<_, f32>::new(SsspConfig { source: 3, ..SsspConfig::default() }));
    let labels = run(graph, request, &CcConfig::default()).labels;
    (search.levels.unwrap(), search.parents.unwrap(), paths.distances, labels)
}

fn load(path: &Path) -> Result<StoredGraph, Error> {
    let options = LoadOptions { weights: WeightSource::FileOrUnit, ..LoadOptions::default() };
    GraphSource::File(path.to_path_buf()).load_stored(&options)
}

fn file(name: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    (dir, path)
}

#[test]
fn every_format_and_order_is_kept_and_gives_the_same_answers() {
    let (_dir, path) = file("g.bgr");
    for case in cases() {
        let symmetry = if case.symmetric { Symmetry::Symmetric } else { Symmetry::Find };
        let data = GraphData::new(Layout::Csr(case.csr.clone()), case.values.clone(), symmetry, None).unwrap();
        let expected = answers(&Graph::new(Cpu::new(), data), &Request::forced(FormatKind::Csr, Ordering::None));
        for (kind, ordering) in FormatKind::ALL.into_iter().flat_map(|k| Ordering::ALL.map(|o| (k, o))) {
            case.write(&path, kind, ordering);
            let stored = load(&path).unwrap();
            assert_eq!((stored.layout.kind(), stored.nodes(), stored.symmetric), (kind, case.csr.nrows(), case.symmetric));
            assert_eq!(stored.order.as_ref().map_or(Ordering::None, |o| o.0), ordering);
            assert_eq!(stored.max_degree_vertex(), case.csr.max_degree_row());
            assert!(stored.degrees().iter().enumerate().all(|(v, &d)| d as usize == case.csr.degree(v)));
            let lists = stored.clone().into_lists().unwrap();
            assert!(lists.csr == case.csr && lists.values == case.values, "{kind} {ordering}");
            // Left to the planner, as it is stored, and converted to another format and order.
            let other = if kind == FormatKind::Hybrid { FormatKind::B2sr4 } else { FormatKind::Hybrid };
            let another = if ordering == Ordering::Degree { Ordering::Rcm } else { Ordering::Degree };
            let graph = stored.on(Cpu::new()).unwrap();
            for forced in [None, Some((kind, ordering)), Some((other, another)), Some((FormatKind::Csr, Ordering::None))] {
                let request = forced.map_or(Request::default(), |(f, o)| Request::forced(f, o));
                assert!(answers(&graph, &request) == expected, "{kind} {ordering}, {forced:?}");
            }
        }
    }
}

#[test]
fn a_layout_that_is_used_as_it_is_is_not_copied() {
    let (_dir, path) = file("g.bgr");
    let case = &cases()[1];
    let cpu = Cpu::new();
    for kind in FormatKind::ALL {
        case.write(&path, kind, Ordering::Rcm);
        let stored = load(&path).unwrap();
        let places = |layout: &Layout| layout.sections().iter().map(|s| s.data.bytes().as_ptr()).collect::<Vec<_>>();
        let before = places(&stored.layout);
        let graph = stored.on(cpu).unwrap();
        let ready = graph.prepare(&BfsConfig::default(), &Request { format: Some(kind), ..Request::default() }).unwrap();
        assert_eq!((ready.plan().format(), ready.plan().ordering()), (kind, Ordering::Rcm));
        assert_eq!(places(ready.arranged().matrix().layout()), before, "{kind}");
        assert!(ready.plan().to_string().contains(&format!("stored as {kind} in order rcm: used as it is")));
    }
    // Boolean products are fastest on tiles, so that these are what is used where the choice is left open.
    case.write(&path, FormatKind::B2sr8, Ordering::None);
    let graph = load(&path).unwrap().on(cpu).unwrap();
    let plan = graph.plan(&Product { x: vec![true; graph.nodes()] }, &Request::default()).unwrap();
    assert_eq!((plan.format(), plan.chosen.build_seconds), (FormatKind::B2sr8, 0.0));
    // Searches run on CSR.
    let plan = graph.plan(&BfsConfig::default(), &Request::default()).unwrap();
    assert_eq!(plan.format(), FormatKind::Csr);
    assert!(plan.to_string().ends_with("stored as b2sr-8 in order none: converted\n"), "{plan}");
}

#[test]
fn a_renumbering_of_unknown_making_is_undone() {
    let (_dir, path) = file("g.bgr");
    let case = &cases()[2];
    let permutation = Ordering::Degree.compute(&case.csr).unwrap();
    let (csr, values) = permutation.apply_with(&case.csr, case.values.as_ref()).unwrap();
    let mut source = WriteSource::new(&csr).with_values(values.as_ref()).with_symmetric(Some(false));
    source.permutation = Some(&permutation);
    io::write(&path, &source, &io::WriteOptions::default()).unwrap();
    let graph = load(&path).unwrap().on(Cpu::new()).unwrap();
    let arranged = graph.arranged().unwrap();
    assert!(arranged.permutation().is_none() && arranged.matrix().to_csr() == case.csr);
}

#[test]
fn negative_weights_are_named_in_the_numbers_of_the_input() {
    let (_dir, path) = file("g.bgr");
    let mut case = cases().remove(2);
    let mut lengths: Vec<f32> = (0..case.csr.nnz()).map(|k| k as f32).collect();
    let (row, column) = (17usize, case.csr.row(17)[1]);
    lengths[case.csr.position(row, column).unwrap()] = -2.5;
    case.values = Some(Values::from_vec(lengths));
    for kind in FormatKind::ALL {
        for ordering in [Ordering::None, Ordering::Rcm] {
            case.write(&path, kind, ordering);
            let stored = load(&path).unwrap();
            let position = (0..case.csr.nnz()).find(|&k| stored.values.as_ref().unwrap().get_f64(k) < 0.0).unwrap();
            assert_eq!(stored.arc(position), (17, column.into()));
            let error = stored.on(Cpu::new()).unwrap().sssp(0).run::<f32>().err().unwrap().to_string();
            assert!(error.starts_with(&format!("edge 17 -> {column} has weight -2.5")), "{error}");
        }
    }
}

#[test]
fn damage_is_told_with_the_file() {
    let (_dir, path) = file("damaged.bgr");
    let case = &cases()[1];
    for kind in FormatKind::ALL {
        case.write(&path, kind, Ordering::Degree);
        let good = std::fs::read(&path).unwrap();
        let refused = |bytes: &[u8], what: &str| {
            std::fs::write(&path, bytes).unwrap();
            let error = load(&path).map(drop).unwrap_err().to_string();
            assert!(error.contains("damaged.bgr"), "{kind}, {what}: {error}");
        };
        for at in (0..good.len()).step_by(97) {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            refused(&bad, "a flipped bit");
            refused(&good[..at], "a truncated file");
        }
    }
}

/// The first half of an array.
fn halved(data: &SectionData) -> SectionData {
    match data {
        SectionData::U8(b) => SectionData::U8(b[..b.len() / 2].to_vec().into()),
        SectionData::U16(b) => SectionData::U16(b[..b.len() / 2].to_vec().into()),
        SectionData::U32(b) => SectionData::U32(b[..b.len() / 2].to_vec().into()),
        SectionData::U64(b) => SectionData::U64(b[..b.len() / 2].to_vec().into()),
    }
}

/// Sections that contradict each other or the header, with right checksums.
#[test]
fn contradictions_are_told_with_the_section() {
    let (_dir, path) = file("wrong.bgr");
    let case = &cases()[1];
    let refused = |kind: FormatKind, sections: Vec<Section>, csr: &Csr, values: Option<&Values>, words: &str| {
        let mut source = WriteSource::new(csr).with_values(values).with_symmetric(Some(true));
        source.format = Some((kind, sections));
        io::write(&path, &source, &io::WriteOptions::default()).unwrap();
        let error = load(&path).map(drop).unwrap_err().to_string();
        assert!(error.contains("wrong.bgr") && error.contains(words), "{kind}: {error} lacks {words}");
        assert!(!error.contains('\n'));
    };
    for kind in FormatKind::ALL {
        let sections = Layout::from_csr(&case.csr, kind).sections();
        for (i, section) in sections.iter().enumerate() {
            let mut fewer = sections.clone();
            fewer.remove(i);
            refused(kind, fewer, &case.csr, None, section.name);
            let mut shorter = sections.clone();
            shorter[i].data = halved(&section.data);
            if shorter[i].data != section.data {
                refused(kind, shorter, &case.csr, None, section.name);
            }
        }
        // The header counts the entries of another pattern, or the values do.
        let nodes = case.csr.nrows();
        refused(kind, sections.clone(), &Csr::empty(nodes, nodes).unwrap(), None, "than the header says");
        refused(kind, sections.clone(), &case.csr, Some(&Values::from_vec(vec![1.0f32; 3])), "than the header says");
        refused(kind, sections, &Csr::empty(nodes / 2, nodes).unwrap(), None, "offsets");
    }
}
