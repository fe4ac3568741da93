//! Section VI-D: the schemes of Tables II and III on tiles of every size, against float CSR in cuSPARSE on the same device.
//!
//! Invariant: every scheme's result is compared with the host's before anything is timed.

use super::compression::TILES;
use super::published::{self, Gpu};
use crate::contender::median;
use anyhow::{Result, ensure};
use bitgraph::backend::ops::VectorMask;
use bitgraph::cuda::device::Device;
use bitgraph::cuda::ops::schemes;
use bitgraph::cuda::{CudaMatrix, CudaVector, DeviceCsr, Error as CudaError, Result as CudaResult};
use bitgraph::prelude::*;
use bitgraph::sparse::Vector;
use bitgraph_measure::cusparse::{CusparseSpgemm, CusparseSpmv};
use bitgraph_measure::{Clock, Launches};
use serde::Serialize;
use std::fmt::Write;

/// Launches in a row whose mean counts beside single ones.
const LAUNCHES: usize = 50;
/// Products of single entries up to which cuSPARSE is asked for a product of matrices: its memory grows with them.
const MOST_PRODUCTS: u64 = 1 << 28;
/// The scheme of Table III that has published means.
const SQUARE: &str = "bmm_bin_bin_sum";

/// A scheme on one graph. Times in seconds.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The graph.
    pub graph: String,
    /// The scheme, by the paper's name.
    pub scheme: &'static str,
    /// The side of a tile.
    pub tile: u32,
    /// The median of single launches.
    pub single: f64,
    /// The mean of launches in a row; products with vectors.
    pub mean: Option<f64>,
    /// cuSPARSE's.
    pub peer_single: Option<f64>,
    /// cuSPARSE's.
    pub peer_mean: Option<f64>,
}

struct Turns {
    clock: Clock,
    repeat: usize,
    launches: Launches,
}

impl Turns {
    fn seconds(&self, launches: Launches, work: &dyn Fn() -> CudaResult<()>) -> Result<f64> {
        Ok(self.clock.seconds_of::<CudaError>(launches, work)?)
    }
    fn median(&self, mut once: impl FnMut() -> Result<f64>) -> Result<f64> {
        once()?;
        Ok(median(&(0..self.repeat).map(|_| once()).collect::<Result<Vec<_>>>()?))
    }
}

/// What the host computes.
struct Expected {
    bits: Vec<bool>,
    floats: Vec<f32>,
    mask: Vec<bool>,
    counts: Vec<u32>,
    sums: Vec<f32>,
    /// The sum of all elements of the square.
    square: u64,
}

impl Expected {
    fn of(csr: &Csr) -> Self {
        let bits: Vec<bool> = (0..csr.ncols()).map(|v| v % 3 == 0).collect();
        let floats: Vec<f32> = (0..csr.ncols()).map(|v| 1.0 + (v % 7) as f32).collect();
        let rows = || (0..csr.nrows()).map(|u| csr.row(u));
        let counts = rows().map(|r| r.iter().filter(|&&v| bits[v as usize]).count() as u32).collect();
        let sums = rows().map(|r| r.iter().map(|&v| floats[v as usize]).sum()).collect();
        let square = if csr.is_square() { csr.indices().iter().map(|&v| csr.degree(v as usize) as u64).sum() } else { 0 };
        Self { mask: (0..csr.nrows()).map(|u| u % 2 == 0).collect(), bits, floats, counts, sums, square }
    }
}

fn packed(bits: &[bool]) -> Result<Vector<bool>> {
    Ok(Vector::from_parts(BitVector::from_bools(bits), None).map_err(bitgraph::Error::from)?)
}

/// Times all schemes on a graph. `None` as a peer's time where cuSPARSE is not there.
///
/// # Errors
/// The device's; a result that differs from the host's.
pub fn measure(cuda: &Cuda, graph: &str, csr: &Csr, repeat: usize) -> Result<Vec<Measured>> {
    if csr.nnz() == 0 {
        return Ok(Vec::new());
    }
    let (device, expected) = (cuda.device(), Expected::of(csr));
    let launches = Launches::Row(if device.properties().emulated { 2 } else { LAUNCHES });
    let turns = Turns { clock: Clock::of(Some(device)), repeat, launches };
    let lists = DeviceCsr::upload(device, csr)?;
    let (mut peer_single, mut peer_mean) = (None, None);
    if let Some(peer) = CusparseSpmv::new(device, &lists, &expected.floats)? {
        let _ = peer.seconds(&turns.clock, Launches::One)?;
        ensure!(near(&peer.result()?, &expected.sums), "cuSPARSE gives another product of {graph} than the host");
        peer_single = Some(turns.median(|| Ok(peer.seconds(&turns.clock, Launches::One)?))?);
        peer_mean = Some(turns.median(|| Ok(peer.seconds(&turns.clock, launches)?))?);
    }
    let square = if csr.is_square() { expected.square } else { u64::MAX };
    let bits = CudaVector::upload(device, &packed(&expected.bits)?)?;
    let mask = CudaVector::upload(device, &packed(&expected.mask)?)?;
    let floats = CudaVector::upload(device, &Vector::from_vec(expected.floats.clone()))?;
    let mut all = Vec::new();
    for kind in TILES {
        let a = CudaMatrix::from_lists(device, lists.clone(), None, kind)?;
        check(cuda, graph, &a, &bits, &floats, &mask, &expected)?;
        let masked = || VectorMask::<Cuda>::value(&mask);
        let products: [(&'static str, &dyn Fn() -> CudaResult<()>); 6] = [
            ("bmv_bin_bin_bin", &|| schemes::bmv_bin_bin_bin(cuda, &a, &bits).map(drop)),
            ("bmv_bin_bin_full", &|| schemes::bmv_bin_bin_full(cuda, &a, &bits).map(drop)),
            ("bmv_bin_full_full", &|| schemes::bmv_bin_full_full(cuda, &a, &floats).map(drop)),
            ("bmv_bin_bin_bin_masked", &|| schemes::bmv_bin_bin_bin_masked(cuda, &a, &bits, masked()).map(drop)),
            ("bmv_bin_bin_full_masked", &|| schemes::bmv_bin_bin_full_masked(cuda, &a, &bits, masked()).map(drop)),
            ("bmv_bin_full_full_masked", &|| schemes::bmv_bin_full_full_masked(cuda, &a, &floats, masked()).map(drop)),
        ];
        let tile = kind.tile().unwrap_or(0) as u32;
        for (scheme, work) in products {
            let single = turns.median(|| turns.seconds(Launches::One, work))?;
            let mean = Some(turns.median(|| turns.seconds(turns.launches, work))?);
            all.push(Measured { graph: graph.into(), scheme, tile, single, mean, peer_single, peer_mean });
        }
        if square <= MOST_PRODUCTS {
            let work = || schemes::bmm_bin_bin_sum(cuda, &a, &a).map(drop);
            let single = turns.median(|| turns.seconds(Launches::One, &work))?;
            all.push(Measured { graph: graph.into(), scheme: SQUARE, tile, single, mean: None, peer_single: None, peer_mean: None });
        }
    }
    if square <= MOST_PRODUCTS {
        let peer = peer_square(device, &turns, &lists).unwrap_or_else(|error| {
            eprintln!("{graph}: no product of matrices by cuSPARSE: {error:#}");
            None
        });
        all.iter_mut().filter(|m| m.scheme == SQUARE).for_each(|m| m.peer_single = peer);
    }
    Ok(all)
}

/// cuSPARSE's product of a matrix with itself.
fn peer_square(device: &Device, turns: &Turns, lists: &DeviceCsr) -> Result<Option<f64>> {
    let peer = CusparseSpgemm::square(device, lists)?;
    peer.map(|p| turns.median(|| Ok(p.seconds(&turns.clock)?))).transpose()
}

fn near(found: &[f32], expected: &[f32]) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(x, y)| (x - y).abs() <= 1e-4 * x.abs().max(y.abs()))
}

fn check(
    cuda: &Cuda,
    graph: &str,
    a: &CudaMatrix,
    bits: &CudaVector<bool>,
    floats: &CudaVector<f32>,
    mask: &CudaVector<bool>,
    expected: &Expected,
) -> Result<()> {
    let format = a.format();
    for masked in [false, true] {
        let chosen = |row: usize| !masked || expected.mask[row];
        let by = || VectorMask::<Cuda>::value(mask);
        let (found_bits, found_counts, found_sums) = if masked {
            (
                schemes::bmv_bin_bin_bin_masked(cuda, a, bits, by())?,
                schemes::bmv_bin_bin_full_masked(cuda, a, bits, by())?,
                schemes::bmv_bin_full_full_masked(cuda, a, floats, by())?,
            )
        } else {
            (
                schemes::bmv_bin_bin_bin(cuda, a, bits)?,
                schemes::bmv_bin_bin_full(cuda, a, bits)?,
                schemes::bmv_bin_full_full(cuda, a, floats)?,
            )
        };
        let counts: Vec<u32> = expected.counts.iter().enumerate().map(|(i, &c)| if chosen(i) { c } else { 0 }).collect();
        let sums: Vec<f32> = expected.sums.iter().enumerate().map(|(i, &s)| if chosen(i) { s } else { 0.0 }).collect();
        let any: Vec<bool> = counts.iter().map(|&c| c > 0).collect();
        ensure!(found_bits.to_host()?.to_vec_or(false) == any, "bmv_bin_bin_bin on {graph} in {format} differs from the host's");
        ensure!(found_counts.to_host()?.to_vec_or(0) == counts, "bmv_bin_bin_full on {graph} in {format} differs from the host's");
        ensure!(near(&found_sums.to_host()?.to_vec_or(0.0), &sums), "bmv_bin_full_full on {graph} in {format} differs from the host's");
    }
    if expected.square > 0 && expected.square <= MOST_PRODUCTS {
        let sum = schemes::bmm_bin_bin_sum(cuda, a, a)?.read()?;
        ensure!(sum == expected.square, "bmm_bin_bin_sum on {graph} in {format} is {sum} and not {}", expected.square);
    }
    Ok(())
}

/// Speed-ups over cuSPARSE.
struct Statistics {
    count: usize,
    mean: f64,
    geometric: f64,
    maximum: f64,
    at: String,
}

fn statistics(ratios: &[(f64, &str)]) -> Option<Statistics> {
    let count = ratios.len();
    let maximum = ratios.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let mean = ratios.iter().map(|r| r.0).sum::<f64>() / count as f64;
    let geometric = (ratios.iter().map(|r| r.0.ln()).sum::<f64>() / count as f64).exp();
    Some(Statistics { count, mean, geometric, maximum: maximum.0, at: maximum.1.into() })
}

/// The statistics of all graphs, beside the published ones.
///
/// # Errors
/// If the published data is damaged.
pub fn describe(all: &[Measured]) -> Result<String> {
    let published = published::kernels()?;
    let mut text = String::from(
        "Speed-up of the schemes over cuSPARSE on float CSR (Section VI-D): mean (geometric mean), maximum; single launches, and the\n\
         means of launches in a row; published over 521 matrices. Ours of bmm_bin_bin_sum forms no product: every entry (i, k) adds\n\
         the entries of row k; cuSPARSE forms it\n",
    );
    let _ = writeln!(
        text,
        "{:25} {:>4} {:>6} | {:>16} {:>8} {:20} | {:>16} {:>8} | {:>15} {:>15}",
        "scheme", "tile", "graphs", "single", "maximum", "", "in a row", "maximum", "GTX 1080", "Titan V"
    );
    let mut lines: Vec<(&str, u32)> = Vec::new();
    for key in all.iter().map(|m| (m.scheme, m.tile)).chain(published.iter().map(|k| (k.scheme, k.tile))) {
        if !lines.contains(&key) {
            lines.push(key);
        }
    }
    lines.sort_by_key(|&(scheme, tile)| (lines_order(scheme), tile));
    for (scheme, tile) in lines {
        let of = || all.iter().filter(|m| m.scheme == scheme && m.tile == tile);
        let single: Vec<(f64, &str)> = of().filter_map(|m| Some((m.peer_single? / m.single, m.graph.as_str()))).collect();
        let row: Vec<(f64, &str)> = of().filter_map(|m| Some((m.peer_mean? / m.mean?, m.graph.as_str()))).collect();
        let (single, row) = (statistics(&single), statistics(&row));
        let means = |s: &Option<Statistics>| s.as_ref().map_or("-".into(), |s| format!("{:.2} ({:.2})", s.mean, s.geometric));
        let maximum = |s: &Option<Statistics>| s.as_ref().map_or("-".into(), |s| format!("{:.2}", s.maximum));
        let count = single.as_ref().map_or_else(|| of().count(), |s| s.count);
        let at = single.as_ref().map_or("", |s| s.at.as_str());
        let _ = write!(
            text,
            "{scheme:25} {tile:>4} {count:>6} | {:>16} {:>8} {at:20} | {:>16} {:>8} |",
            means(&single),
            maximum(&single),
            means(&row),
            maximum(&row)
        );
        for gpu in Gpu::ALL {
            let theirs = published.iter().find(|k| k.scheme == scheme && k.tile == tile && k.gpu == gpu);
            let shown = theirs.map_or("-".into(), |k| match k.maximum {
                Some(maximum) => format!("{}, {maximum}", k.mean),
                None => k.mean.to_string(),
            });
            let _ = write!(text, " {shown:>15}");
        }
        text.push('\n');
    }
    if !all.is_empty() && all.iter().all(|m| m.peer_single.is_none()) {
        text.push_str("cuSPARSE is not at hand, so there is nothing to hold our times against\n");
    }
    Ok(text)
}

/// Products with vectors first, masked forms after the others, as in Tables II and III.
fn lines_order(scheme: &str) -> usize {
    let order = ["bmv_bin_bin_bin", "bmv_bin_bin_full", "bmv_bin_full_full"];
    let plain = scheme.trim_end_matches("_masked");
    order.iter().position(|o| *o == plain).map_or(6, |i| i + if scheme == plain { 0 } else { 3 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_means_alone_and_with_ours() {
        let text = describe(&[]).unwrap();
        assert!(text.contains("bmm_bin_bin_sum") && text.contains("33.96, 6555"));
        let one = |graph: &str, single| Measured {
            graph: graph.into(),
            scheme: "bmv_bin_bin_bin",
            tile: 8,
            single,
            mean: Some(single),
            peer_single: Some(4.0),
            peer_mean: Some(2.0),
        };
        let text = describe(&[one("a", 1.0), one("b", 4.0)]).unwrap();
        let line = text.lines().find(|l| l.starts_with("bmv_bin_bin_bin ") && l.contains("    8 ")).unwrap();
        assert!(line.contains("2.50 (2.00)     4.00 a") && line.contains("1.25 (1.00)     2.00"), "{line}");
    }
}
