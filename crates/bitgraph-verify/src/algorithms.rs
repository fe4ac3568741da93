//! The algorithms on the corpus: every fused form and every format and order against validators and the testkit's references.

use crate::{Options, Outcome, Report};
use bitgraph::algorithms::FullBackend;
use bitgraph::b2sr::Layout;
use bitgraph::backend::{Definition, Fused};
use bitgraph::prelude::*;
use bitgraph_testkit::{NamedGraph, cases, corpus, reference};
use rayon::ThreadPoolBuilder;

pub(crate) const RING: &str = "algorithms";
/// The graphs of a quick run: no arcs, parts, directions, loops, thin and wide levels, equal and unequal degrees.
const QUICK: [&str; 8] = [
    "no edges",
    "one vertex with a loop",
    "two components and isolated vertices",
    "directed cycle with a tail",
    "grid 7x9",
    "mycielskian 5",
    "skew",
    "directed random",
];

/// Runs every algorithm on one form of a backend, in pools of each of the numbers of threads.
pub(crate) fn run<B: FullBackend>(report: &mut Report, backend: &B, form: &str, threads: &[usize], options: &Options) {
    for &threads in threads {
        let Ok(pool) = ThreadPoolBuilder::new().num_threads(threads).build() else { continue };
        let wanted = |g: &NamedGraph| match &options.graph {
            Some(part) => g.name.contains(part),
            None => !options.quick || QUICK.contains(&&*g.name),
        };
        let corpus = corpus();
        for name in QUICK.iter().filter(|name| options.quick && corpus.iter().all(|g| g.name != ***name)) {
            report.check(RING, "quick graphs", String::new, Outcome::Failed(format!("there is no graph {name:?}")));
        }
        for graph in corpus.into_iter().filter(wanted) {
            pool.install(|| one(report, backend, form, &graph, threads, options.quick));
        }
    }
}

fn one<B: FullBackend>(report: &mut Report, backend: &B, form: &str, graph: &NamedGraph, threads: usize, quick: bool) {
    for format in [None].into_iter().chain(FormatKind::ALL.map(Some)) {
        for ordering in [None].into_iter().chain(Ordering::ALL.map(Some)) {
            // A forced format in an order of its own, and every order of lists.
            let crossed = format.is_some_and(|f| f != FormatKind::Csr) && ordering.is_some();
            if quick && (crossed || (format.is_none() && ordering.is_some())) {
                continue;
            }
            let mut check = |what: &str, outcome: Result<Outcome, B::Error>| {
                let name = || {
                    let format = format.map_or("auto", FormatKind::name);
                    format!("{}, {format}, {}, {threads} threads", graph.name, ordering.map_or("auto", Ordering::name))
                };
                let outcome = outcome.unwrap_or_else(|e| Outcome::Failed(e.to_string()));
                report.check(RING, &format!("{what} ({form})"), name, outcome);
            };
            let run = Run { backend, graph, format, ordering };
            for source in run.sources() {
                check("bfs", run.bfs(source));
                check("sssp", run.sssp(source));
                check("sssp f64", run.sssp_float(source));
            }
            check("ms_bfs", run.ms_bfs());
            check("pagerank", run.pagerank());
            check("cc", run.cc());
            if graph.symmetric {
                check("tc", run.tc());
            }
        }
    }
}

/// One graph in one form: every algorithm builds it anew and checks the answer.
pub(crate) struct Run<'a, B> {
    pub backend: &'a B,
    pub graph: &'a NamedGraph,
    pub format: Option<FormatKind>,
    pub ordering: Option<Ordering>,
}

type Checked<B> = Result<Outcome, <B as Backend>::Error>;

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, found: &T) -> Outcome {
    if expected == found { Outcome::Passed } else { Outcome::Failed(format!("{what}: expected {expected:?}, found {found:?}")) }
}

/// The first outcome that is not a pass.
fn all(outcomes: impl IntoIterator<Item = Outcome>) -> Outcome {
    outcomes.into_iter().find(|o| *o != Outcome::Passed).unwrap_or(Outcome::Passed)
}

impl<B: FullBackend> Run<'_, B> {
    /// The first, the last and the vertex of maximum degree.
    fn sources(&self) -> Vec<u32> {
        let n = self.graph.csr.nrows() as u32;
        let mut sources: Vec<u32> = n.checked_sub(1).into_iter().flat_map(|last| [0, last]).collect();
        sources.extend(self.graph.csr.max_degree_row());
        sources.sort_unstable();
        sources.dedup();
        sources
    }
    fn build(&self, values: Option<Values>) -> Result<Graph<B>, B::Error> {
        let symmetry = if self.graph.symmetric { Symmetry::Symmetric } else { Symmetry::Directed };
        Ok(Graph::new(self.backend.clone(), GraphData::new(Layout::Csr(self.graph.csr.clone()), values, symmetry, None)?))
    }
    /// The outputs of the planned variant, and where the choice is the planner's of every other one that it weighed.
    fn each<A: Definition<B>>(&self, graph: &Graph<B>, algorithm: &A) -> Result<Vec<A::Output>, B::Error>
    where
        B: Fused<A>,
    {
        let request = Request { reuse: Reuse::Runs(100), format: self.format, ordering: self.ordering, variant: None };
        let planned = graph.prepare(algorithm, &request)?;
        let mut outputs = vec![planned.run(algorithm)?];
        if self.format.is_none() && self.ordering.is_none() {
            let mut done = vec![planned.plan().variant()];
            for candidate in &planned.plan().candidates {
                if !done.contains(&candidate.variant) {
                    done.push(candidate.variant);
                    let forced = graph.prepare(algorithm, &Request { variant: Some(candidate.variant), ..request })?;
                    outputs.push(forced.run(algorithm)?);
                }
            }
        }
        Ok(outputs)
    }
    pub(crate) fn bfs(&self, source: u32) -> Checked<B> {
        let graph = self.build(None)?;
        let csr = &self.graph.csr;
        let expected = reference::levels(csr, source);
        let reach = reference::reach(csr, &expected);
        let mut outcomes = Vec::new();
        for (output, deterministic) in
            [(BfsOutput::Levels, false), (BfsOutput::Parents, false), (BfsOutput::Both, false), (BfsOutput::Parents, true)]
        {
            let config = BfsConfig { source, output, deterministic, ..BfsConfig::default() };
            for found in self.each(&graph, &config)? {
                outcomes.push(equal("reached", &reach.reached, &found.reached));
                outcomes.push(equal("depth", &reach.depth, &found.depth));
                outcomes.push(equal("edges traversed", &reach.edges_traversed, &found.edges_traversed));
                outcomes.push(equal("levels asked for", &output.levels(), &found.levels.is_some()));
                outcomes.push(equal("parents asked for", &output.parents(), &found.parents.is_some()));
                if let Some(levels) = found.levels {
                    outcomes.push(equal("levels", &expected, &levels));
                }
                if let Some(parents) = found.parents {
                    outcomes.push(reference::validate_parents(csr, source, &parents).map_or_else(Outcome::Failed, |()| Outcome::Passed));
                    if deterministic {
                        let transpose = csr.transpose();
                        let smallest: Vec<u32> = (0..csr.nrows())
                            .map(|v| match expected[v] {
                                -1 => UNREACHED,
                                0 => v as u32,
                                l => transpose.row(v).iter().copied().find(|&u| expected[u as usize] == l - 1).unwrap_or(UNREACHED),
                            })
                            .collect();
                        outcomes.push(equal("smallest parents", &smallest, &parents));
                    }
                }
            }
        }
        Ok(all(outcomes))
    }
    fn ms_bfs(&self) -> Checked<B> {
        let graph = self.build(None)?;
        let n = self.graph.csr.nrows();
        let sources = cases::indices(70, n, 9);
        let config = MsBfsConfig { sources: sources.clone(), levels: true, ..MsBfsConfig::default() };
        let levels: Vec<Vec<i32>> = sources.iter().map(|&s| reference::levels(&self.graph.csr, s)).collect();
        let reach: Vec<_> = levels.iter().map(|l| reference::reach(&self.graph.csr, l)).collect();
        let sums: Vec<u64> = levels.iter().map(|l| l.iter().filter(|&&x| x > 0).map(|&x| x as u64).sum()).collect();
        Ok(all(self.each(&graph, &config)?.into_iter().flat_map(|found| {
            [
                equal("levels", &Some(levels.concat()), &found.levels),
                equal("reached", &reach.iter().map(|r| r.reached).collect::<Vec<_>>(), &found.reached),
                equal("depth", &reach.iter().map(|r| r.depth).collect::<Vec<_>>(), &found.depth),
                equal("sum of levels", &sums, &found.sum_levels),
            ]
        })))
    }
    pub(crate) fn sssp(&self, source: u32) -> Checked<B> {
        let csr = &self.graph.csr;
        let mut outcomes = Vec::new();
        // Small weights, wide ones with zeros, and none.
        for (max, zeros) in [(255u32, false), (1_000_000, true), (0, false)] {
            let weights: Option<Vec<u32>> = (max > 0).then(|| {
                let mut w = cases::weights::<u32>(csr, max, 3);
                if zeros {
                    w.iter_mut().filter(|x| **x % 5 == 0).for_each(|x| *x = 0);
                }
                w
            });
            let expected = reference::dijkstra(csr, weights.as_deref(), source);
            let graph = self.build(weights.clone().map(Values::from_vec))?;
            let config = SsspConfig { source, parents: true, ..SsspConfig::default() };
            for found in self.each(&graph, &Typed::<_, u32>::new(config))? {
                outcomes.push(equal("distances", &expected, &found.distances));
                outcomes.push(valid_paths(csr, weights.as_deref(), source, &found.distances, found.parents.as_deref().unwrap_or(&[])));
            }
        }
        Ok(all(outcomes))
    }
    fn sssp_float(&self, source: u32) -> Checked<B> {
        let csr = &self.graph.csr;
        // Multiples of 1/8: sums are exact in any order, so that distances compare exactly.
        let weights: Vec<f64> = cases::weights::<f64>(csr, 4000, 5).into_iter().map(|w| w / 8.0).collect();
        let expected = reference::dijkstra(csr, Some(&weights), source);
        let graph = self.build(Some(Values::from_vec(weights)))?;
        let found = self.each(&graph, &Typed::<_, f64>::new(SsspConfig { source, ..SsspConfig::default() }))?;
        Ok(all(found.into_iter().map(|found| equal("distances", &expected, &found.distances))))
    }
    pub(crate) fn pagerank(&self) -> Checked<B> {
        let n = self.graph.csr.nrows();
        let mut outcomes = Vec::new();
        let teleport = (n > 2).then(|| vec![(0u32, 1.0), (2, 3.0)]);
        for (spread, personal) in [(true, None), (false, None), (true, teleport)] {
            let mut parameters = reference::PageRankParameters { spread, tolerance: 1e-12, ..Default::default() };
            parameters.teleport = personal.as_ref().map(|_| {
                let mut dense = vec![0.0; n];
                (dense[0], dense[2]) = (0.25, 0.75);
                dense
            });
            let (expected, _) = reference::pagerank(&self.graph.csr, &parameters);
            let config = PageRankConfig {
                tolerance: 1e-12,
                max_iterations: 1000,
                dangling: if spread { Dangling::Spread } else { Dangling::Drop },
                personalization: personal,
                ..PageRankConfig::default()
            };
            let graph = self.build(None)?;
            // Both stop within the tolerance of the fixed point, which the damping factor magnifies by 1 / (1 - d).
            let found = self.each(&graph, &Typed::<_, f64>::new(config.clone()))?;
            outcomes.extend(found.into_iter().map(|found| near(&expected, &found.scores, 2e-11)));
            let config = PageRankConfig { tolerance: 1e-6, ..config };
            for found in self.each(&graph, &Typed::<_, f32>::new(config))? {
                let single: Vec<f64> = found.scores.into_iter().map(f64::from).collect();
                outcomes.push(near(&expected, &single, 1e-5));
            }
        }
        Ok(all(outcomes))
    }
    pub(crate) fn cc(&self) -> Checked<B> {
        let counted = Cc::from_labels(reference::components(&self.graph.csr));
        let found = self.each(&self.build(None)?, &CcConfig::default())?;
        Ok(all(found.iter().map(|found| equal("components", &counted, found))))
    }
    pub(crate) fn tc(&self) -> Checked<B> {
        let expected = reference::triangles(&self.graph.csr);
        let found = self.each(&self.build(None)?, &TcConfig::default())?;
        Ok(all(found.into_iter().map(|found| equal("triangles", &expected, &found.triangles))))
    }
}

fn near(expected: &[f64], found: &[f64], bound: f64) -> Outcome {
    let worst = expected.iter().zip(found).map(|(e, f)| (e - f).abs()).fold(0.0, f64::max);
    if expected.len() == found.len() && worst <= bound {
        Outcome::Passed
    } else {
        Outcome::Failed(format!("scores differ by up to {worst:e}"))
    }
}

/// Parents that form a tree of shortest paths: every arc is there, is tight, and leads back to the source.
fn valid_paths(csr: &Csr, weights: Option<&[u32]>, source: u32, distances: &[u32], parents: &[u32]) -> Outcome {
    if parents.len() != distances.len() {
        return Outcome::Failed("parents are missing".into());
    }
    for v in 0..distances.len() {
        let (mut at, mut steps) = (v, 0);
        if (distances[v] == u32::MAX) != (parents[v] == UNREACHED) {
            return Outcome::Failed(format!("vertex {v} has distance {} and parent {}", distances[v], parents[v]));
        }
        if distances[v] == u32::MAX {
            continue;
        }
        while at != source as usize {
            let p = parents[at] as usize;
            let Some(k) = csr.position(p, at as u32) else { return Outcome::Failed(format!("no arc {p} -> {at}")) };
            if distances[p].saturating_add(weights.map_or(1, |w| w[k])) != distances[at] {
                return Outcome::Failed(format!("arc {p} -> {at} is not on a shortest path"));
            }
            (at, steps) = (p, steps + 1);
            if steps > distances.len() {
                return Outcome::Failed(format!("the parents of {v} form a cycle"));
            }
        }
    }
    Outcome::Passed
}
