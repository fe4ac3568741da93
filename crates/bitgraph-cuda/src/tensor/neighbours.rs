//! Batches of sampled neighbours, drawn on the device: `kernels/tensor/neighbours.cu`.
//!
//! Launches of a batch: one for the seeds, two for each hop, three more; one for each matrix whose rows are gathered, and two for sparse rows. The
//! host learns how many nodes and entries there are, and entries of sparse rows, in one copy once all hops are drawn; arrays of the sampler are as
//! large as a batch may be, those of the batch as large as it is.
//!
//! # Invariants
//! Marks are reset by the batch's own nodes, in the launch that ends it. A batch that failed before leaves `clean` false, and the next one
//! resets all of them.

use super::array::CudaArray;
use super::params::dense;
use super::sparse_rows::Gathered;
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::layout::{DeviceCsr, Offsets};
use crate::matrix::CudaMatrix;
use crate::primitives::{self, RowOffsets};
use crate::{Cuda, Error, Result};
use bitgraph_backend::Matrix;
use bitgraph_kernels::constant;
use bitgraph_sparse::FormatKind;
use bitgraph_tensor::ops::{NeighbourBatch, NeighbourSampler, NeighboursOp, SparseRows, Whole};
use bitgraph_tensor::{Any, Dense, Element, Tensor, Window, with_dense};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

const MODULE: &str = "tensor/neighbours";
/// Places of a thread that gives numbers.
const ITEMS: u32 = constant("tensor/neighbours.cu", "NEIGHBOUR_ITEMS") as u32;
/// Entries of a row that a warp sorts in shared memory at most.
const LONGEST: u32 = 1024;
/// Draws of a row that the lanes of a warp hold.
const WARP: u32 = 32;
/// Nodes and entries that are numbered beside a bit.
const MOST: u64 = 1 << 31;

parameters! {
    struct State = "tensor/neighbours.cu" "bg::NeighbourState" {
        graph: RowOffsets,
        columns: DevicePtr<u32>,
        order: DevicePtr<u32>,
        marks: DevicePtr<u32>,
        nodes: DevicePtr<u32>,
        starts: DevicePtr<u32>,
        met: DevicePtr<u32>,
        sizes: DevicePtr<u64>,
    }
    struct DrawParams = "tensor/neighbours.cu" "bg::NeighbourDrawParams" {
        batch: State,
        key: u64,
        hop: u32,
        fanout: u32,
        room: u32,
        reserved: u32,
    }
    struct NumberParams = "tensor/neighbours.cu" "bg::NeighbourNumberParams" {
        batch: State,
        status: DevicePtr<u64>,
        hop: u32,
        seeds: u32,
        fanout: u32,
        reserved: u32,
    }
    struct RowsParams = "tensor/neighbours.cu" "bg::NeighbourRowsParams" {
        batch: State,
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        looped_offsets: DevicePtr<u32>,
        looped_indices: DevicePtr<u32>,
        weights: DevicePtr<f32>,
        vertices: DevicePtr<i32>,
        n: u32,
        entries: u32,
        room: u32,
        reserved: u32,
    }
    struct CloseParams = "tensor/neighbours.cu" "bg::NeighbourCloseParams" {
        marks: DevicePtr<u32>,
        nodes: DevicePtr<u32>,
        labels: DevicePtr<i32>,
        targets: DevicePtr<f32>,
        n: u32,
        seeds: u32,
        classes: u32,
        reserved: u32,
    }
    struct GatherRowsParams = "tensor/neighbours.cu" "bg::GatherRowsParams" {
        from: DevicePtr<u8>,
        rows: DevicePtr<i32>,
        to: DevicePtr<u8>,
        n: u64,
        words: u64,
        stride: u64,
        from_rows: u64,
        bytes: u32,
        reserved: u32,
    }
}

/// What a batch may be at most after the seeds, and after each hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    /// Places of which numbers are made then: seeds, or entries of the hop.
    places: u64,
    nodes: u64,
    entries: u64,
}

/// The bounds of every hop, the seeds first: products of fan-outs, within the graph.
fn bounds((nodes, entries): (u64, u64), longest: u64, fanouts: &[u32], batch: u64) -> Vec<Bounds> {
    let seeds = batch.min(nodes);
    let mut at = Bounds { places: seeds, nodes: seeds, entries: 0 };
    let mut all = vec![at];
    for &most in fanouts {
        // Every place may be of a new node. No row is taken twice; what is taken before it may be less than its bound.
        let places = at.places.min(nodes).saturating_mul(longest.min(most.into())).min(entries);
        at = Bounds { places, nodes: at.nodes.saturating_add(places).min(nodes), entries: (at.entries + places).min(entries) };
        all.push(at);
    }
    all
}

/// A sampler of one graph.
struct Sampler {
    cuda: Cuda,
    graph: CudaMatrix,
    /// The columns of a row that are taken at most, a number for each hop.
    fanouts: Vec<u32>,
    bounds: Vec<Bounds>,
    labels: Buffer<i32>,
    classes: usize,
    batch: usize,
    /// What has a sparse row for each node.
    sparse: Option<Gathered>,
    /// Of one batch at a time.
    work: Mutex<Work>,
}

/// Arrays that batches take turns with.
struct Work {
    order: Buffer<u32>,
    marks: Buffer<u32>,
    nodes: Buffer<u32>,
    starts: Buffer<u32>,
    met: Buffer<u32>,
    /// The sizes after each hop, entries of sparse rows, and then the status words of the scans.
    sums: Buffer<u64>,
    /// Whether all marks are as without a batch.
    clean: bool,
}

/// A sampler, or why there is none.
pub(super) fn prepare(cuda: &Cuda, op: &NeighboursOp<'_, Cuda>) -> Result<Whole<Box<dyn NeighbourSampler<Cuda>>>> {
    if let Some(reason) = refusal(op) {
        return Ok(Whole::Declined(reason));
    }
    match Sampler::new(cuda, op) {
        Ok(Ok(sampler)) => Ok(Whole::Done(Box::new(sampler))),
        Ok(Err(reason)) => Ok(Whole::Declined(reason)),
        Err(short @ Error::OutOfMemory { .. }) => Ok(Whole::Declined(short.to_string())),
        Err(other) => Err(other),
    }
}

/// Why there is no sampler, as far as sizes say.
fn refusal(op: &NeighboursOp<'_, Cuda>) -> Option<String> {
    let ((rows, columns), labels) = (op.adjacency.shape(), op.labels.len());
    let misfit = |of: &SparseRows<'_, Cuda>| of.pattern.shape().0 != rows || of.values.shape() != (of.pattern.nvals(), 1);
    if op.sparse.as_ref().is_some_and(misfit) {
        Some(format!("the sparse rows are not those of {rows} nodes, with a value for each entry"))
    } else if rows != columns || labels != rows {
        Some(format!("{labels} labels are not those of {rows} x {columns} entries"))
    } else if rows == 0 || op.batch == 0 || op.fanouts.is_empty() || op.fanouts.contains(&0) {
        Some("there is nothing to draw".into())
    } else if rows as u64 >= MOST {
        Some(format!("{rows} nodes are more than are numbered on the device, which are 2^31 - 1"))
    } else {
        None
    }
}

impl Sampler {
    /// The reason in place of the sampler where rows or batches are too long.
    fn new(cuda: &Cuda, op: &NeighboursOp<'_, Cuda>) -> Result<std::result::Result<Self, String>> {
        let device = cuda.device();
        let graph = op.adjacency.raw().clone();
        let lists = graph.lists()?;
        let longest = primitives::reduce(device, &primitives::degrees(device, lists)?)?.max;
        let fanouts: Vec<u32> = op.fanouts.iter().map(|most| longest.min(*most).max(1)).collect();
        let most = fanouts.iter().copied().max().unwrap_or(1);
        if most > LONGEST {
            return Ok(Err(format!("a hop may take {most} entries of a row, and rows of at most {LONGEST} are sorted on the device")));
        }
        let bounds = bounds((lists.rows as u64, lists.nnz as u64), longest.into(), &fanouts, op.batch as u64);
        let last = bounds[bounds.len() - 1];
        if last.entries + last.nodes >= MOST {
            return Ok(Err(format!("a batch may have {} entries, and fewer than 2^31 are numbered on the device", last.entries)));
        }
        let sparse = match &op.sparse {
            None => None,
            Some(SparseRows { pattern, values }) => match Gathered::new(device, SparseRows { pattern, values }, last.nodes)? {
                Ok(gathered) => Some(gathered),
                Err(reason) => return Ok(Err(reason)),
            },
        };
        let scans = bounds.iter().map(|at| 1 + number_blocks(device, at.places) as usize).sum::<usize>();
        let scans = scans + sparse.as_ref().map_or(0, |_| Gathered::status_words(device, last.nodes));
        let work = Work {
            order: Buffer::default(),
            marks: device.alloc_for(lists.rows, "marks of a sampler")?,
            nodes: device.alloc_for(last.nodes as usize, "nodes of a sampler")?,
            starts: device.alloc_for(last.nodes as usize, "rows of a sampler")?,
            met: device.alloc_for(last.entries as usize, "entries of a sampler")?,
            sums: device.alloc_for(sizes(&fanouts) + 1 + scans, "sums of a sampler")?,
            clean: false,
        };
        let labels = device.upload(op.labels)?;
        let (classes, batch) = (op.classes, op.batch);
        Ok(Ok(Self { cuda: cuda.clone(), graph, fanouts, bounds, labels, classes, batch, sparse, work: Mutex::new(work) }))
    }
    /// A batch, whose marks are reset if it fails only by the next one.
    fn draw(&self, work: &mut Work, seeds: Range<usize>, key: u64) -> Result<NeighbourBatch<Cuda>> {
        let (device, lists) = (self.cuda.device(), self.graph.lists()?);
        if !std::mem::replace(&mut work.clean, false) {
            work.marks.fill_bytes(0xff)?;
        }
        work.sums.fill_bytes(0)?;
        let state = State {
            graph: RowOffsets::of(lists),
            columns: lists.indices.ptr(),
            order: work.order.ptr().offset(seeds.start),
            marks: work.marks.ptr(),
            nodes: work.nodes.ptr(),
            starts: work.starts.ptr(),
            met: work.met.ptr(),
            sizes: work.sums.ptr(),
        };
        let (total, last) = (sizes(&self.fanouts), sizes(&self.fanouts) - 1);
        let mut status = total + 1;
        for hop in 0..=self.fanouts.len() {
            if hop > 0 {
                let fanout = self.fanouts[hop - 1];
                let room = if fanout > WARP { fanout } else { 0 };
                let draw = DrawParams { batch: state, key, hop: hop as u32, fanout, room, reserved: 0 };
                // SAFETY: the arrays hold the bounds of every hop, which the sizes on the device are within; vertices are those of the graph.
                unsafe {
                    device.launch(&device.kernel(MODULE, "neighbours_draw")?, rows(device, self.bounds[hop - 1].places, room), &draw)
                }?;
            }
            let number = NumberParams {
                batch: state,
                status: work.sums.ptr().offset(status),
                hop: hop as u32,
                seeds: seeds.len() as u32,
                fanout: self.fanouts.get(hop).copied().unwrap_or(0),
                reserved: 0,
            };
            let (block, grid) = (threads(device), number_blocks(device, self.bounds[hop].places));
            let shape = Shape { grid, block, shared: 36 * 8, mode: Mode::Plain };
            // SAFETY: as above; there is a status word for each block, zeroed.
            unsafe { device.launch(&device.kernel(MODULE, "neighbours_number")?, shape, &number) }?;
            status += 1 + grid as usize;
        }
        let sums = |at: usize| work.sums.ptr().offset(at);
        if let Some(sparse) = &self.sparse {
            let most = self.bounds[self.bounds.len() - 1].nodes;
            // SAFETY: every node is one of the graph, which has a row for each; there is a status word for each block, zeroed.
            unsafe { sparse.find(device, (state.nodes, sums(last), most), (sums(total), sums(status))) }?;
        }
        // The one number more costs nothing where there are no sparse rows.
        let found = work.sums.range_to_vec(last..total + 1)?;
        let (n, entries) = (found[0] as u32, (found[0] >> 32) as u32);
        self.finish(work, state, (n, entries, found[1] as u32), seeds.len() as u32)
    }
    /// The arrays of a batch of so many nodes, entries, and entries of sparse rows.
    fn finish(&self, work: &mut Work, batch: State, (n, entries, of_rows): (u32, u32, u32), seeds: u32) -> Result<NeighbourBatch<Cuda>> {
        let (device, nodes, nnz) = (self.cuda.device(), n as usize, entries as usize);
        let lists = |entries: usize| Ok::<_, Error>((device.alloc::<u32>(nodes + 1)?, device.alloc::<u32>(entries)?));
        let ((offsets, indices), looped) = (lists(nnz)?, lists(nnz + nodes)?);
        let (vertices, weights) = (CudaArray::<i32>::uninitialised(device, nodes)?, CudaArray::<f32>::uninitialised(device, nnz)?);
        let targets = self.cuda.array_filled(nodes * self.classes, 0f32)?;
        let room = self.fanouts.iter().copied().max().unwrap_or(1);
        let params = RowsParams {
            batch,
            offsets: offsets.ptr(),
            indices: indices.ptr(),
            looped_offsets: looped.0.ptr(),
            looped_indices: looped.1.ptr(),
            weights: weights.ptr(),
            vertices: vertices.ptr(),
            n,
            entries,
            room,
            reserved: 0,
        };
        // SAFETY: the arrays were made above for so many nodes and entries; no row has more than `room` of them.
        unsafe { device.launch(&device.kernel(MODULE, "neighbours_rows")?, rows(device, n.into(), room), &params) }?;
        let params = CloseParams {
            marks: batch.marks,
            nodes: batch.nodes,
            labels: self.labels.ptr(),
            targets: targets.ptr(),
            n,
            seeds,
            classes: self.classes as u32,
            reserved: 0,
        };
        // SAFETY: every node is one of the graph, which has a label and a mark for each; there is a target for each node and class.
        unsafe { primitives::elementwise(device, MODULE, "neighbours_close", n.into(), &params) }?;
        work.clean = true;
        // SAFETY: the rows of these nodes were found in the same batch.
        let sparse = self.sparse.as_ref().map(|sparse| unsafe { sparse.copy(&self.cuda, batch.nodes, (n, of_rows)) }).transpose()?;
        let matrix = |(offsets, indices), nnz, longest| {
            let lists = DeviceCsr { rows: nodes, columns: nodes, nnz, offsets: Offsets::U32(offsets), indices };
            let matrix = CudaMatrix::from_lists(device, lists, None, FormatKind::Csr)?.short_lived(longest);
            Ok::<_, Error>(Matrix::from_raw(&self.cuda, matrix))
        };
        Ok(NeighbourBatch {
            nodes: whole(&self.cuda, vertices, (nodes, 1))?,
            adjacency: matrix((offsets, indices), nnz, room)?,
            with_loops: matrix(looped, nnz + nodes, room + 1)?,
            weights: whole(&self.cuda, weights, (nnz, 1))?,
            targets: whole(&self.cuda, targets, (nodes, self.classes))?,
            sparse,
        })
    }
    fn work(&self) -> std::sync::MutexGuard<'_, Work> {
        // What a thread that panicked left is not clean.
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Words of sizes: zeros, with the seeds, after each hop.
fn sizes(fanouts: &[u32]) -> usize {
    fanouts.len() + 2
}
fn threads(device: &Device) -> u32 {
    primitives::threads(device, primitives::THREADS)
}
/// Blocks that give numbers at so many places at most.
fn number_blocks(device: &Device, places: u64) -> u32 {
    // Places are below 2^31.
    places.div_ceil(u64::from(threads(device) * ITEMS)).max(1) as u32
}
/// A launch with a warp for each of so many rows at most, and shared memory for so many words of each warp.
fn rows(device: &Device, n: u64, room: u32) -> Shape {
    let block = threads(device);
    let warps = block / WARP;
    let most = u64::from(device.properties().sms) * 16;
    Shape { grid: n.div_ceil(warps.into()).clamp(1, most) as u32, block, shared: warps * room * 4, mode: Mode::Plain }
}
/// All of an array as a matrix.
fn whole<T: Element>(cuda: &Cuda, array: CudaArray<T>, (rows, columns): (usize, usize)) -> Result<Dense<Cuda, T>> {
    Ok(Dense::from_raw(cuda, array, Window::whole(rows, columns).map_err(refused)?))
}
fn refused(error: bitgraph_tensor::Error) -> Error {
    bitgraph_backend::Error::from(error).into()
}

/// Rows of a matrix by number; zeros for a number that is no row.
fn gather<T: Element>(cuda: &Cuda, x: &Dense<Cuda, T>, nodes: &Dense<Cuda, i32>) -> Result<Dense<Cuda, T>> {
    let ((from_rows, columns), n, size) = (x.shape(), nodes.nrows() * nodes.ncols(), size_of::<T>());
    let to = CudaArray::<T>::uninitialised(cuda.device(), n.saturating_mul(columns))?;
    let from: DevicePtr<u8> = dense(x.raw().ptr(), x.window()).cast();
    let (row, stride) = ((columns * size) as u64, (x.window().stride() * size) as u64);
    // The widest words that rows consist of and begin at.
    let fits = |bytes: &u64| [row, stride, from.address(), to.ptr().address()].iter().all(|at| at.is_multiple_of(*bytes));
    let bytes = [16, 8, 4, 2].into_iter().find(fits).unwrap_or(1);
    let params = GatherRowsParams {
        from,
        rows: dense(nodes.raw().ptr(), nodes.window()),
        to: to.ptr().cast(),
        n: n as u64,
        words: row / bytes,
        stride: stride / bytes,
        from_rows: from_rows as u64,
        bytes: bytes as u32,
        reserved: 0,
    };
    // SAFETY: a number that is no row is not read by; the result has a row for each number.
    unsafe { primitives::elementwise(cuda.device(), MODULE, "gather_rows", params.n * params.words, &params) }?;
    whole(cuda, to, (n, columns))
}

impl NeighbourSampler<Cuda> for Sampler {
    fn set_order(&self, nodes: &[u32]) -> Result<()> {
        let (operation, all) = ("neighbours", self.graph.shape().0);
        let mut seen = vec![false; all];
        for &v in nodes {
            let new = seen.get_mut(v as usize).is_some_and(|seen| !std::mem::replace(seen, true));
            if !new {
                let (parameter, allowed) = ("a seed", "a node of the graph, and only once");
                return Err(refused(bitgraph_tensor::Error::Parameter { operation, parameter, found: v.into(), allowed }));
            }
        }
        self.work().order = self.cuda.device().upload(nodes)?;
        Ok(())
    }
    fn draw(&self, seeds: Range<usize>, key: u64) -> Result<Whole<NeighbourBatch<Cuda>>> {
        let mut work = self.work();
        let len = work.order.len();
        if seeds.is_empty() || seeds.end > len || seeds.len() > self.batch {
            let (start, end, len) = (seeds.start as u64, seeds.end as u64, len as u64);
            return Err(refused(bitgraph_tensor::Error::Slice { what: "seeds", start, end, len }));
        }
        match self.draw(&mut work, seeds, key) {
            Err(short @ Error::OutOfMemory { .. }) => Ok(Whole::Declined(short.to_string())),
            found => found.map(Whole::Done),
        }
    }
    fn gather(&self, x: &Any<Cuda>, nodes: &Dense<Cuda, i32>) -> Result<Any<Cuda>> {
        // A window of one column with gaps is moved together first; numbers of a batch have none.
        let nodes = nodes.reshaped(nodes.nrows() * nodes.ncols(), 1)?;
        with_dense!(x, x => Ok(gather(&self.cuda, x, &nodes)?.any()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_products_within_the_graph() {
        let at = |places, nodes, entries| Bounds { places, nodes, entries };
        assert_eq!(bounds((1000, 9000), 50, &[3, 2], 10), [at(10, 10, 0), at(30, 40, 30), at(60, 100, 90)]);
        // A hop may take every entry, whatever those before it took at most.
        assert_eq!(bounds((100, 900), 50, &[100, 100], 30), [at(30, 30, 0), at(900, 100, 900), at(900, 100, 900)]);
        assert_eq!(bounds((5, 0), 0, &[7], 9), [at(5, 5, 0), at(0, 5, 0)]);
    }
}
