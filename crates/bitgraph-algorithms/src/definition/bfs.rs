//! Breadth-first search over (or, and) for levels and (min, second) for parents.

use crate::GraphBackend;
use crate::{Bfs, BfsConfig, MsBfs, MsBfsConfig, UNREACHED};
use bitgraph_backend::ops::{assign_value, ewise_add, mxv, reduce, select};
use bitgraph_backend::{Accum, Arranged, Error, NoAccum, VectorMask};
use bitgraph_semiring::{First, Lor, LorLand, MinSecond, ValueNonZero};
use bitgraph_sparse::{Descriptor, Vector};

/// Levels: `next<!visited> = A' (or, and) frontier`. Parents: `next<!visited> = A' (min, second) frontier`, the frontier's
/// entries holding their own numbers, so that the smallest parent wins. O(depth (n + nnz)) at worst.
///
/// # Errors
/// [`Error::VertexOutOfRange`], [`Error::Cancelled`], or the backend's.
pub fn bfs<B: GraphBackend>(graph: &Arranged<B>, config: &BfsConfig) -> Result<Bfs, B::Error> {
    let (backend, n) = (graph.backend(), graph.nodes());
    if config.source as usize >= n {
        return Err(Error::VertexOutOfRange { vertex: config.source.into(), nodes: n as u64 }.into());
    }
    let incoming = backend.matrix_pattern(graph.transpose()?);
    let mut levels = vec![-1i32; n];
    let mut parents = if config.output.parents() { vec![UNREACHED; n] } else { Vec::new() };
    let mut frontier_bits = Vector::<bool>::filled(n, false);
    frontier_bits.insert(config.source as usize, true);
    let mut visited = backend.vector(frontier_bits.clone())?;
    let mut level_vector = backend.vector(Vector::from_vec(levels))?;
    let mut parent_vector = backend.vector(Vector::<u32>::empty(n))?;
    let start = Vector::from_entries(n, [(config.source, config.source)]).map_err(Error::from)?;
    if config.output.parents() {
        let at = backend.vector(start.clone())?;
        ewise_add(backend, &mut parent_vector, None, NoAccum, First, &at, &at, Descriptor::DEFAULT)?;
    }
    let mut frontier_ids = backend.vector(start)?;
    let mut frontier = backend.vector(frontier_bits)?;
    let ids = backend.vector(Vector::from_vec((0..n as u32).collect::<Vec<_>>()))?;
    assign_value(backend, &mut level_vector, Some(VectorMask::value(&frontier)), NoAccum, 0, Descriptor::DEFAULT)?;
    let mut depth = 0u32;
    loop {
        config.control.check()?;
        let unvisited = VectorMask::value(&visited).complement();
        let mut next = backend.vector(Vector::<bool>::empty(n))?;
        if config.output.parents() {
            let mut found = backend.vector(Vector::<u32>::empty(n))?;
            let semiring = MinSecond::<u32>::new();
            mxv(backend, &mut found, Some(unvisited), NoAccum, semiring, &incoming, &frontier_ids, Descriptor::REPLACE)?;
            ewise_add(backend, &mut parent_vector, None, Accum(First), First, &found, &found, Descriptor::DEFAULT)?;
            bitgraph_backend::ops::apply(backend, &mut next, None, NoAccum, Exists {}, &found, Descriptor::DEFAULT)?;
        } else {
            let mut reached = backend.vector(Vector::<bool>::empty(n))?;
            let semiring = LorLand::<bool>::new();
            mxv(backend, &mut reached, Some(unvisited), NoAccum, semiring, &incoming, &frontier, Descriptor::REPLACE)?;
            select(backend, &mut next, None, NoAccum, ValueNonZero, &reached, Descriptor::DEFAULT)?;
        }
        if !backend.read(&reduce(backend, Lor, &next)?)? {
            break;
        }
        depth += 1;
        let level = i32::try_from(depth).map_err(|_| Error::Overflow { what: "the level", dtype: bitgraph_semiring::DType::I32 })?;
        assign_value(backend, &mut level_vector, Some(VectorMask::value(&next)), NoAccum, level, Descriptor::DEFAULT)?;
        assign_value(backend, &mut visited, Some(VectorMask::value(&next)), NoAccum, true, Descriptor::DEFAULT)?;
        if config.output.parents() {
            let mut at = backend.vector(Vector::<u32>::empty(n))?;
            let masked = Some(VectorMask::value(&next));
            ewise_add(backend, &mut at, masked, NoAccum, First, &ids, &ids, Descriptor::REPLACE)?;
            frontier_ids = at;
        }
        let mut full = backend.vector(Vector::<bool>::filled(n, false))?;
        ewise_add(backend, &mut full, None, Accum(Lor), Lor, &next, &next, Descriptor::DEFAULT)?;
        frontier = full;
        config.control.report(depth.into(), None);
    }
    levels = backend.vector_to_host(&level_vector)?.to_vec_or(-1);
    if config.output.parents() {
        parents = backend.vector_to_host(&parent_vector)?.to_vec_or(UNREACHED);
    }
    let (csr, _) = backend.matrix_to_host(graph.matrix())?;
    let reached = levels.iter().filter(|&&l| l >= 0).count() as u64;
    let edges_traversed = (0..n).filter(|&v| levels[v] >= 0).map(|v| csr.degree(v) as u64).sum();
    Ok(Bfs {
        source: config.source,
        levels: config.output.levels().then_some(levels),
        parents: config.output.parents().then_some(parents),
        reached,
        depth,
        edges_traversed,
    })
}

/// Whether there is an entry: true for every value.
#[derive(Clone, Copy)]
struct Exists {}
impl bitgraph_semiring::Operator for Exists {
    const NAME: &'static str = "exists";
    const DEVICE: Option<&'static str> = Some("true");
}
impl bitgraph_semiring::UnaryOp<u32> for Exists {
    type Out = bool;
    fn apply(&self, _: u32) -> bool {
        true
    }
}

/// One search after another.
///
/// # Errors
/// As [`bfs`].
pub fn ms_bfs<B: GraphBackend>(graph: &Arranged<B>, config: &MsBfsConfig) -> Result<MsBfs, B::Error> {
    let mut result = MsBfs { reached: Vec::new(), depth: Vec::new(), sum_levels: Vec::new(), levels: config.levels.then(Vec::new) };
    for &source in &config.sources {
        let one = bfs(graph, &BfsConfig { source, control: config.control.clone(), ..BfsConfig::default() })?;
        result.reached.push(one.reached);
        result.depth.push(one.depth);
        let levels = one.levels.unwrap_or_default();
        result.sum_levels.push(levels.iter().filter(|&&l| l > 0).map(|&l| l as u64).sum());
        if let Some(all) = &mut result.levels {
            all.extend(levels);
        }
    }
    Ok(result)
}
