//! Times the operations on patterns and weights in every format, each checked against plain loops first.
//!
//! `lab_ops [--runs N] [--small] GENERATOR...` prints, for each, the median of N (15) single runs and the mean of ten in a row, in
//! microseconds by the device's clock, with the bytes of the format and the vectors over that time, and cuSPARSE beside them.

use bitgraph::backend::{Accum, Backend, MatrixMask, NoAccum, Ring, VectorMask, ops};
use bitgraph::cuda::device::Device;
use bitgraph::cuda::ops::schemes;
use bitgraph::cuda::{Cuda, CudaMatrix, CudaVector, Result};
use bitgraph::generate::{GenerateControl, Generator};
use bitgraph::semiring::{DeviceExpr, LorLand, Max, Min, MinPlus, MinSecond, Plus, PlusPair, PlusSecond, PlusTimes, Semiring};
use bitgraph::sparse::{Csr, Descriptor, FormatKind, Values, Vector};
use bitgraph_measure::cusparse::CusparseSpmv;
use bitgraph_measure::{Clock, Launches};
use std::time::Instant;

struct Lab {
    cuda: Cuda,
    clock: Clock,
    runs: usize,
    graph: String,
}

impl Lab {
    fn device(&self) -> &Device {
        self.cuda.device()
    }
    /// Median seconds of single runs, and mean seconds of ten launched together.
    fn time(&self, mut work: impl FnMut() -> Result<()>) -> Result<(f64, f64)> {
        let mut median = |launches: Launches| -> Result<f64> {
            let mut seconds = Vec::new();
            for run in 0..self.runs + 2 {
                let one = self.clock.seconds_of(launches, &mut work)?;
                if run >= 2 {
                    seconds.push(one);
                }
                if seconds.len() >= 3 && seconds.iter().sum::<f64>() * launches.count() as f64 > 0.3 {
                    break;
                }
            }
            seconds.sort_by(f64::total_cmp);
            Ok(seconds[seconds.len() / 2])
        };
        Ok((median(Launches::One)?, median(Launches::Row(10))?))
    }
    fn report(&self, what: &str, (one, ten): (f64, f64), bytes: u64, right: bool) {
        let verdict = if right { "ok" } else { "WRONG" };
        let rate = bytes as f64 / ten / 1e9;
        println!("{:16} {what:34} us {:9.2} x10 {:9.2}  GB/s {rate:8.1}  {verdict}", self.graph, one * 1e6, ten * 1e6);
    }
    fn full<T: bitgraph::sparse::Stored>(&self, values: Vec<T>) -> Result<CudaVector<T>> {
        self.cuda.vector(Vector::from_vec(values))
    }
    /// A product without mask, timed and compared.
    fn mxv<S: Ring>(&self, what: &str, a: &CudaMatrix, x: &CudaVector<S::X>, expected: &[Option<S::Out>]) -> Result<()> {
        let empty = self.cuda.vector(Vector::<S::Out>::empty(expected.len()))?;
        let run = |w: &mut CudaVector<S::Out>| ops::mxv(&self.cuda, w, None, NoAccum, S::default(), a, x, Descriptor::DEFAULT);
        let mut w = empty.clone();
        run(&mut w)?;
        let found = w.to_host()?;
        let right = expected.iter().enumerate().all(|(i, e)| *e == found.get(i));
        let vectors = (size_of::<S::X>() + size_of::<S::Out>()) * expected.len();
        let bytes = a.bytes() + vectors as u64;
        let times = self.time(|| run(&mut empty.clone()))?;
        self.report(what, times, bytes, right);
        Ok(())
    }
}

fn rows<T: Copy>(csr: &Csr, product: impl Fn(usize) -> T, add: impl Fn(T, T) -> T) -> Vec<Option<T>> {
    (0..csr.nrows()).map(|i| csr.row_range(i).map(&product).reduce(&add)).collect()
}

/// The greatest of the least, under a name of its own: compiled at run time.
#[derive(Clone, Copy, Default, Debug)]
struct Widest;
impl Semiring for Widest {
    type A = u32;
    type X = u32;
    type Acc = u32;
    type Out = u32;
    type Add = Max;
    const NAME: &'static str = "widest";
    const DEVICE: Option<DeviceExpr> = Some(DeviceExpr {
        multiply: "bg_min(a, x)",
        multiply_pattern: "bg_min(1, x)",
        add: "bg_max(a, b)",
        identity: "bg_least()",
        finish: "acc",
    });
    fn multiply(a: u32, x: u32) -> u32 {
        a.min(x)
    }
    fn finish(acc: u32) -> u32 {
        acc
    }
}

fn products(lab: &Lab, csr: &Csr, formats: &[FormatKind]) -> Result<()> {
    let n = csr.ncols();
    let columns = csr.indices();
    let truths: Vec<bool> = (0..n).map(|i| i % 3 == 0).collect();
    let numbers: Vec<f32> = (0..n).map(|i| (i * 7 % 31) as f32).collect();
    let ids: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 8).collect();
    let weights: Vec<u32> = (0..csr.nnz()).map(|k| (k % 63) as u32 + 1).collect();
    let any = rows(csr, |k| truths[columns[k] as usize], |a, b| a || b);
    // Sums of whole numbers are exact below 2^24.
    let sums = rows(csr, |k| numbers[columns[k] as usize], |a, b| a + b);
    let least = rows(csr, |k| ids[columns[k] as usize], u32::min);
    let shortest = rows(csr, |k| weights[k].saturating_add(ids[columns[k] as usize]), u32::min);
    let weighted = rows(csr, |k| weights[k] as f32 * numbers[columns[k] as usize], |a, b| a + b);
    let (dt, df, du) = (lab.full(truths)?, lab.full(numbers.clone())?, lab.full(ids)?);
    let floats: Vec<f32> = weights.iter().map(|&w| w as f32).collect();
    for &format in formats {
        let a = lab.cuda.matrix(csr, None, format)?;
        lab.mxv::<LorLand<bool>>(&format!("lor_land bool {format}"), &a, &dt, &any)?;
        lab.mxv::<PlusSecond<f32>>(&format!("plus_second f32 {format}"), &a, &df, &sums)?;
        lab.mxv::<MinSecond<u32>>(&format!("min_second u32 {format}"), &a, &du, &least)?;
        if format == FormatKind::Csr || format == FormatKind::B2sr8 {
            let a = lab.cuda.matrix(csr, Some(&Values::from_vec(weights.clone())), format)?;
            lab.mxv::<MinPlus<u32>>(&format!("min_plus u32 {format}"), &a, &du, &shortest)?;
            let a = lab.cuda.matrix(csr, Some(&Values::from_vec(floats.clone())), format)?;
            lab.mxv::<PlusTimes<f32>>(&format!("plus_times f32 {format}"), &a, &df, &weighted)?;
        }
    }
    let lists = lab.cuda.matrix(csr, None, FormatKind::Csr)?;
    if let Some(lists) = lists.as_csr()
        && let Some(peer) = CusparseSpmv::new(lab.device(), lists, &numbers)?
    {
        let bytes = lists.bytes() + 4 * csr.nnz() as u64 + 8 * n as u64;
        lab.report("cuSPARSE f32", (peer.seconds(&lab.clock, Launches::One)?, peer.seconds(&lab.clock, Launches::Row(10))?), bytes, true);
    }
    Ok(())
}

fn bit_schemes(lab: &Lab, csr: &Csr) -> Result<()> {
    let n = csr.ncols();
    let truths: Vec<bool> = (0..n).map(|i| i % 3 == 0).collect();
    let counts: Vec<u32> = (0..csr.nrows()).map(|i| csr.row(i).iter().filter(|&&c| truths[c as usize]).count() as u32).collect();
    let (x, visited) = (lab.full(truths)?, lab.full((0..csr.nrows()).map(|i| i % 4 != 0).collect::<Vec<bool>>())?);
    let numbers = lab.full(vec![1f32; n])?;
    for format in [FormatKind::B2sr4, FormatKind::B2sr8, FormatKind::B2sr16, FormatKind::B2sr32] {
        let a = lab.cuda.matrix(csr, None, format)?;
        let bytes = a.bytes() + n as u64 / 4;
        let right = schemes::bmv_bin_bin_full(&lab.cuda, &a, &x)?.to_host()?.to_vec_or(0) == counts;
        let unvisited = || VectorMask::<Cuda>::value(&visited).complement();
        let times = lab.time(|| schemes::bmv_bin_bin_bin(&lab.cuda, &a, &x).map(drop))?;
        lab.report(&format!("bmv_bin_bin_bin {format}"), times, bytes, true);
        let times = lab.time(|| schemes::bmv_bin_bin_bin_masked(&lab.cuda, &a, &x, unvisited()).map(drop))?;
        lab.report(&format!("bmv_bin_bin_bin_masked {format}"), times, bytes, true);
        let times = lab.time(|| schemes::bmv_bin_bin_full(&lab.cuda, &a, &x).map(drop))?;
        lab.report(&format!("bmv_bin_bin_full {format}"), times, bytes + 4 * n as u64, right);
        let times = lab.time(|| schemes::bmv_bin_full_full(&lab.cuda, &a, &numbers).map(drop))?;
        lab.report(&format!("bmv_bin_full_full {format}"), times, bytes + 8 * n as u64, true);
    }
    Ok(())
}

fn triangles(lab: &Lab, csr: &Csr) -> Result<()> {
    let lower = csr.filter_with_positions(|r, c| c < r).0;
    let expected = lab.cuda.matrix(&lower, None, FormatKind::Csr)?;
    let mask = MatrixMask::<Cuda>::structure(&expected);
    let flipped = Descriptor { transpose_b: true, ..Descriptor::DEFAULT };
    let run = || ops::mxm_reduce(&lab.cuda, Some(mask), PlusPair::<u64>::new(), &expected, &expected, flipped);
    let wanted = run()?.read()?;
    let times = lab.time(|| run().map(drop))?;
    lab.report("triangles, mxm_reduce csr", times, expected.bytes(), true);
    for format in [FormatKind::B2sr8, FormatKind::B2sr32] {
        let l = lab.cuda.matrix(&lower, None, format)?;
        let right = schemes::bmm_bin_bin_sum_masked(&lab.cuda, &l, &l, &l)?.read()? == wanted;
        let times = lab.time(|| schemes::bmm_bin_bin_sum_masked(&lab.cuda, &l, &l, &l).map(drop))?;
        lab.report(&format!("bmm_bin_bin_sum_masked {format}"), times, l.bytes(), right);
    }
    if csr.nnz() < 8_000_000 {
        let typed = lab.cuda.matrix(&lower, Some(&Values::from_vec(vec![1f32; lower.nnz()])), FormatKind::Csr)?;
        let mut c = typed.clone();
        let square = |c: &mut CudaMatrix| {
            let mask = Some(MatrixMask::<Cuda>::structure(&typed));
            ops::mxm(&lab.cuda, c, mask, NoAccum, PlusTimes::<f32>::new(), &typed, &typed, flipped)
        };
        square(&mut c)?;
        let sum = ops::reduce_matrix::<Cuda, f32, _>(&lab.cuda, Plus, &c)?.read()?;
        let times = lab.time(|| square(&mut typed.clone()))?;
        lab.report("mxm masked, sparse result f32", times, typed.bytes(), f64::from(sum) == wanted as f64 || wanted > 1 << 24);
    }
    Ok(())
}

fn vectors(lab: &Lab, n: usize) -> Result<()> {
    let (u, v) = (lab.full((0..n).map(|i| (i % 9) as f32).collect())?, lab.full(vec![0.5f32; n])?);
    let times = lab.time(|| ops::ewise_add(&lab.cuda, &mut u.clone(), None, NoAccum, Plus, &u, &v, Descriptor::DEFAULT))?;
    lab.report("ewise_add f32", times, 12 * n as u64, true);
    let times = lab.time(|| ops::ewise_add(&lab.cuda, &mut u.clone(), None, Accum(Min), Plus, &u, &v, Descriptor::DEFAULT))?;
    lab.report("ewise_add f32, accumulated", times, 24 * n as u64, true);
    let times = lab.time(|| ops::reduce(&lab.cuda, Plus, &u).map(drop))?;
    let sum: f32 = (0..n).map(|i| (i % 9) as f32).sum();
    lab.report("reduce f32", times, 4 * n as u64, (ops::reduce(&lab.cuda, Plus, &u)?.read()? - sum).abs() <= sum * 1e-3);
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let cuda = Cuda::open(0)?;
    let mut lab = Lab { clock: Clock::of(Some(cuda.device())), cuda, runs: 15, graph: String::new() };
    println!("# {}", lab.device().properties().name);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--runs" {
            lab.runs = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(15);
            continue;
        }
        let csr = name.parse::<Generator>()?.generate(&GenerateControl::default())?;
        println!("# {name}: {} rows, {} entries", csr.nrows(), csr.nnz());
        lab.graph = name;
        let large = csr.nnz() > 10_000_000;
        let formats = if large { vec![FormatKind::Csr, FormatKind::Hybrid] } else { FormatKind::ALL.to_vec() };
        products(&lab, &csr, &formats)?;
        if !large {
            bit_schemes(&lab, &csr)?;
        }
        triangles(&lab, &csr)?;
        vectors(&lab, csr.nrows())?;
    }
    // A semiring of a user's own: the first call compiles, the second process finds it in the cache.
    let csr = "urand:1000:8".parse::<Generator>()?.generate(&GenerateControl::default())?;
    let a = lab.cuda.matrix(&csr, Some(&Values::from_vec((0..csr.nnz() as u32).collect::<Vec<_>>())), FormatKind::Csr)?;
    let x = lab.full((0..1000u32).rev().collect())?;
    let mut w = lab.cuda.vector(Vector::<u32>::empty(1000))?;
    let start = Instant::now();
    ops::mxv(&lab.cuda, &mut w, None, NoAccum, Widest, &a, &x, Descriptor::DEFAULT)?;
    lab.device().synchronize()?;
    let host = w.to_host()?;
    let right = (0..1000).all(|i| host.get(i) == csr.row_range(i).map(|k| (k as u32).min(999 - csr.indices()[k])).max());
    println!("a user's semiring, first use: {:.1} ms  {}", start.elapsed().as_secs_f64() * 1e3, if right { "ok" } else { "WRONG" });
    Ok(())
}
