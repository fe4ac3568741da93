//! How do I add an algorithm of my own? Here: the k-core, the largest part of an undirected graph in which every vertex has at least `k`
//! neighbours. It is settings, a definition that any backend runs, and, on the CPU, a fused form with a layout that the graph keeps.

use bitgraph::algorithms::GraphBackend;
use bitgraph::backend::{Arranged, Candidate, Definition, Error, Fused, Mxv, Plan, Renumber, no_fused_form};
use bitgraph::prelude::*;
use bitgraph::semiring::{One, ValueAbove};

/// The settings; the output says of every vertex whether it is in the core.
#[derive(Clone, Debug)]
struct KCore {
    k: u32,
}

impl Algorithm for KCore {
    type Output = Vec<bool>;
    const NAME: &'static str = "k_core";
    const INCOMING: bool = false;

    fn check(&self, graph: &GraphData) -> Result<(), Error> {
        if graph.is_symmetric() { Ok(()) } else { Err(Error::Directed { algorithm: Self::NAME }) }
    }
    fn restored(&self, output: Vec<bool>, _: &GraphData, numbers: &Permutation) -> Vec<bool> {
        numbers.restore_values(output)
    }
}

/// Vertices with too few neighbours inside leave, until none does.
impl<B: GraphBackend + Mxv<PlusSecond<u32>>> Definition<B> for KCore {
    fn define(&self, graph: &Arranged<B>) -> Result<Vec<bool>, B::Error> {
        let (a, mut inside) = (graph.matrix().pattern(), Vector::filled(graph.backend(), graph.nodes(), 1u32)?);
        let mut members = graph.nodes() + 1;
        while self.k > 0 && inside.nvals()? < members {
            members = inside.nvals()?;
            let degrees = mxv(PlusSecond, &a, &inside).mask(&inside).eval()?;
            inside = apply(One, &select(ValueAbove(self.k - 1), &degrees).eval()?).eval()?;
        }
        Ok(inside.to_host()?.to_vec_or(0).into_iter().map(|one| one == 1).collect())
    }
}

/// On the CPU a queue of the vertices that leave; the degrees are the layout.
impl Fused<KCore> for Cpu {
    type Layout = Vec<u32>;

    fn variants(&self, graph: &GraphData, _: &KCore, _: u32) -> Vec<Candidate> {
        let (entries, nodes) = (graph.edges() as f64, graph.nodes() as f64);
        let (build_seconds, run_seconds) = (1e-9 * nodes, 1e-9 * (2.0 * entries + 3.0 * nodes));
        let (ordering, format, why) = (Ordering::None, FormatKind::Csr, "every arc is looked at once".into());
        vec![Candidate { ordering, format, variant: "queue", build_seconds, run_seconds, threads: 1, why }]
    }
    fn layout(&self, graph: &Arranged<Self>, _: &KCore, _: &Plan) -> Result<Option<Vec<u32>>, Error> {
        let Some(csr) = graph.matrix().as_csr() else { return Ok(None) };
        Ok(Some((0..csr.nrows()).map(|v| csr.degree(v) as u32).collect()))
    }
    fn run(&self, graph: &Arranged<Self>, layout: &Vec<u32>, algorithm: &KCore) -> Result<Vec<bool>, Error> {
        let csr = graph.matrix().to_csr();
        let mut degrees = layout.clone();
        let mut leaving: Vec<usize> = (0..degrees.len()).filter(|&v| degrees[v] < algorithm.k).collect();
        let mut inside: Vec<bool> = degrees.iter().map(|&d| d >= algorithm.k).collect();
        while let Some(v) = leaving.pop() {
            for &u in csr.row(v).iter().filter(|&&u| u as usize != v) {
                let u = u as usize;
                degrees[u] -= 1;
                if inside[u] && degrees[u] < algorithm.k {
                    inside[u] = false;
                    leaving.push(u);
                }
            }
        }
        Ok(inside)
    }
    fn layout_bytes(&self, layout: &Vec<u32>) -> u64 {
        4 * layout.len() as u64
    }
}

// On a GPU the definition runs.
no_fused_form!(Cuda: KCore);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let graph = Graph::open("kron:12")?;
    let core = KCore { k: 20 };
    let inside = graph.run(&core)?;
    println!("{} of {} vertices are in the {}-core", inside.iter().filter(|&&v| v).count(), graph.nodes(), core.k);
    print!("{}", graph.plan(&core, &Request::default())?);

    // The fused form gives what the definition gives, in any order and format.
    for (format, ordering) in [(FormatKind::Csr, Ordering::Degree), (FormatKind::B2sr8, Ordering::None)] {
        let ready = graph.prepare(&core, &Request::forced(format, ordering))?;
        assert_eq!(ready.run(&core)?, inside, "{}", ready.plan());
    }
    match Cuda::open(0) {
        Ok(gpu) => assert_eq!(graph.to(gpu).run(&core)?, inside),
        Err(error) => println!("not run on a GPU: {error}"),
    }
    Ok(())
}
