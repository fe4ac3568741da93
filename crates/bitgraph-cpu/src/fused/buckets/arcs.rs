//! What searches of several threads push and pull over, and where each puts what it finds.
//!
//! # Invariants
//! Whoever lowers the distance of a vertex queues it, under this distance: of all that is queued for a vertex, one entry is valid, that of
//! its distance. What a batch of packed rows improves is listed first, a vector of arcs at a time and without a branch on whether they do, and lowered
//! after that: to lower a distance waits for all that was read before. Arc by arc, lists took twice the time of branches.

use super::bins::Bins;
use super::distance::Native;
use bitgraph_backend::Control;
use std::ops::Range;

/// Improvements that are listed before distances are lowered, at least.
const LISTED: usize = 256;
/// Places behind them that a vector may write to.
const ROOM: usize = 32;

/// What members push and pull over.
pub(crate) trait Arcs: Sync {
    /// What distances are.
    type D: Native;
    /// Whether arcs may be left for later, to be pushed when they are due or pulled.
    const LAZY: bool;
    /// The number of vertices.
    fn nodes(&self) -> usize;
    /// The bucket of a distance.
    fn key(&self, distance: Self::D) -> u64;
    /// Relaxes the arcs of the entries that are valid, those at least whose ends lie below the bucket `horizon`.
    fn expand(&self, entries: &[(Self::D, u32)], horizon: u64, out: &mut Out<'_, Self::D>);
    /// Relaxes the arcs of settled rows that end below `horizon` and were left.
    fn due(&self, _horizon: u64, _out: &mut Out<'_, Self::D>) {}
    /// Pushes settled rows wholly until they hold so many arcs; the distance of the first that is not.
    fn whole(&self, _arcs: u64, _out: &mut Out<'_, Self::D>) -> u64 {
        u64::MAX
    }
    /// Lists the vertices of the range that can be reached and are not below `now`, or keeps those in the list; the sum of their 2^class, about.
    fn open(&self, _range: Range<usize>, _now: u64, _list: &mut Vec<u32>, _listed: bool, _out: &Out<'_, Self::D>) -> u64 {
        0
    }
    /// Lowers the listed distances to what settled vertices, of distances from `nearest` to below `now`, bring below `horizon`.
    fn pull(&self, _list: &[u32], _now: u64, _horizon: u64, _nearest: u64, _out: &mut Out<'_, Self::D>) {}
    /// The arcs in all.
    fn arcs(&self) -> u64;
    /// How far a horizon lies ahead, in buckets.
    fn step(&self) -> u64 {
        u64::MAX
    }
}

/// What to search, and from where.
pub(crate) struct Task<'a, G: Arcs> {
    pub graph: &'a G,
    pub source: u32,
    pub target: Option<u32>,
    pub control: &'a Control,
}

/// Where a member puts what it finds.
pub(crate) struct Out<'a, D: Native> {
    pub dist: &'a [D::Cell],
    pub bins: &'a mut Bins<D>,
    pub settled: &'a mut Settled<D>,
    pub found: &'a mut Found<D>,
    /// Whether settled rows are kept, for what they have left.
    pub keeps: bool,
    /// No other member lowers distances.
    pub alone: bool,
}

impl<D: Native> Out<'_, D> {
    /// The distance of a vertex.
    #[inline(always)]
    pub fn known(&self, vertex: u32) -> D {
        D::load(&self.dist[vertex as usize])
    }
    /// Lowers the distance of a vertex, and queues it under the key if this did.
    #[inline(always)]
    pub fn relax(&mut self, vertex: u32, distance: D, key: impl FnOnce() -> u64) {
        if D::lower(&self.dist[vertex as usize], distance, self.alone) {
            self.bins.push(key(), distance, vertex);
        }
    }
    /// Those of the entries that are valid, to be given back.
    #[inline(always)]
    pub fn valid(&mut self, entries: &[(D, u32)]) -> Vec<(D, u32)> {
        let mut valid = std::mem::take(&mut self.found.valid);
        valid.clear();
        valid.resize(entries.len() + 1, (D::ZERO, 0));
        let mut count = 0;
        for &entry in entries {
            valid[count] = entry;
            count += usize::from(self.known(entry.1) == entry.0);
        }
        valid.truncate(count);
        valid
    }
    /// Lowers what is listed if that is much.
    #[inline(always)]
    pub fn lower_many(&mut self, key: impl Fn(D) -> u64) {
        if self.found.len >= LISTED {
            self.lower_all(key);
        }
    }
    /// Lowers what is listed, and queues it under its keys.
    #[inline(always)]
    pub fn lower_all(&mut self, key: impl Fn(D) -> u64) {
        for k in 0..std::mem::take(&mut self.found.len) {
            let (vertex, distance) = (self.found.vertices[k], self.found.distances[k]);
            self.relax(vertex, distance, || key(distance));
        }
    }
}

/// Where a member keeps what it finds, from run to run.
#[derive(Debug)]
pub(crate) struct Places<D> {
    pub bins: Bins<D>,
    pub settled: Settled<D>,
    pub found: Found<D>,
}

impl<D: Native> Places<D> {
    pub fn new() -> Self {
        Self { bins: Bins::new(), settled: Settled::new(), found: Found::new() }
    }
    /// Forgets what is queued and settled.
    pub fn clear(&mut self) {
        self.bins.clear();
        self.settled.clear();
    }
    /// For a search over these distances.
    pub fn out<'a>(&'a mut self, dist: &'a [D::Cell], keeps: bool, alone: bool) -> Out<'a, D> {
        Out { dist, bins: &mut self.bins, settled: &mut self.settled, found: &mut self.found, keeps, alone }
    }
}

/// What a batch of entries improves, until the distances are lowered.
#[derive(Debug)]
pub(crate) struct Found<D> {
    vertices: Box<[u32]>,
    distances: Box<[D]>,
    len: usize,
    valid: Vec<(D, u32)>,
}

impl<D: Native> Found<D> {
    pub fn new() -> Self {
        let room = LISTED + ROOM;
        Self { vertices: vec![0; room].into(), distances: vec![D::ZERO; room].into(), len: 0, valid: Vec::new() }
    }
    /// Where to write up to a vector of improvements; [`Found::add`] says how many there are. Below [`LISTED`] there is room.
    #[inline(always)]
    pub fn room(&mut self) -> (*mut u32, *mut D) {
        (self.vertices[self.len..self.len + ROOM / 2].as_mut_ptr(), self.distances[self.len..self.len + ROOM / 2].as_mut_ptr())
    }
    /// So many more improvements.
    #[inline(always)]
    pub fn add(&mut self, count: usize) {
        self.len += count;
    }
    /// The list that [`Out::valid`] gave.
    pub fn give_back(&mut self, valid: Vec<(D, u32)>) {
        self.valid = valid;
    }
}

/// Rows that a member settled and has not pushed wholly.
#[derive(Debug)]
pub(crate) struct Settled<D> {
    /// Vertices with the distances at which they were settled, and how many of their arcs were relaxed.
    pub rows: Vec<(u32, D, u32)>,
    /// The bucket that the next arc of each leads to; the largest if there is none.
    pub keys: Vec<u32>,
    /// The arcs of all rows settled, about.
    pub size: u64,
}

impl<D> Settled<D> {
    pub fn new() -> Self {
        Self { rows: Vec::new(), keys: Vec::new(), size: 0 }
    }
    pub fn clear(&mut self) {
        self.rows.clear();
        self.keys.clear();
        self.size = 0;
    }
}
