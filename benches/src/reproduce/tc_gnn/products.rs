//! Tables 5 and 6: a sparse matrix times dense features, published and ours.

use super::published::{BLOCK, HIDDEN, SIDE, SPEEDUPS, Sparsity, Spmm};
use crate::features::Subject;
use crate::reproduce::paper::{Tables, host_spmm};
use crate::reproduce::table::{Gpu, NONE, Table, gpu_cells, number};
use crate::spmm;
use crate::timing::Bench;
use anyhow::{Result, ensure};
use bitgraph::sparse::{Csr, Offsets};
use half::f16;

/// Rows of a product on the GPU that are compared with sums of `f64`.
const CHECKED_ROWS: usize = 200;

/// A product of one width. Times in ms.
#[derive(Clone, Debug)]
pub struct Product {
    /// Columns of the features.
    pub width: usize,
    /// Entries of the matrix.
    pub entries: usize,
    /// In `f32` on the host.
    pub host: f64,
    /// On the GPU.
    pub gpu: Gpu<OnGpu>,
}

/// Times on a GPU in ms.
#[derive(Clone, Debug)]
pub struct OnGpu {
    /// In `f32`, a single launch.
    pub single: f64,
    /// In `f32`, one of 20 launches in one graph.
    pub in_graph: f64,
    /// In `f16`, a single launch.
    pub half: f64,
    /// The same in one graph.
    pub half_in_graph: f64,
    /// cuSPARSE in `f32`.
    pub cusparse: Option<f64>,
    /// Building the layout for `f32` on the device.
    pub build: f64,
    /// What runs in `f32`.
    pub plan: String,
}

/// Times on the GPU alone.
pub(crate) fn on_gpu(bench: &Bench<'_>, name: &str, csr: &Csr, width: usize) -> Result<OnGpu> {
    let subject = Subject::of(bench, name, csr.clone(), CHECKED_ROWS)?;
    let single = spmm::measure::<f32>(bench, &subject, width)?;
    let half = spmm::measure::<f16>(bench, &subject, width)?;
    Ok(OnGpu {
        single: single.ms,
        in_graph: single.graph_ms,
        half: half.ms,
        half_in_graph: half.graph_ms,
        cusparse: single.cusparse_ms,
        build: single.build_ms,
        plan: single.plan,
    })
}

/// Times a product, on the GPU too where there is one.
///
/// # Errors
/// Out of memory; a result on the host that differs from sums of `f64`.
pub(crate) fn measure(tables: &mut Tables, bench: Option<&Bench<'_>>, name: &str, csr: &Csr, width: usize, runs: usize) -> Result<Product> {
    let gpu = tables.on_gpu(bench, &format!("{name}, {width} columns"), |bench| on_gpu(bench, name, csr, width));
    Ok(Product { width, entries: csr.nnz(), host: 1e3 * host_spmm(csr, width, runs)?, gpu })
}

/// Table 5: for each published row the products of both widths, with the name of what ran.
#[must_use]
pub fn times(all: &[(Spmm, String, Product)]) -> Table {
    let header = [
        "graph",
        "tSparse",
        "Triton",
        "TC-GNN",
        "entries",
        "width",
        "ours f32",
        "in a graph",
        "ours f16",
        "in a graph",
        "cuSPARSE f32",
        "ratio",
        "build ms",
        "host f32",
        "plan",
    ];
    let title = "SpMM in ms (Table 5): published on an RTX 3090; ours single launches, and launches in one graph";
    let mut table = Table::new(title, &header);
    for (published, name, product) in all {
        let digits = |value| number(Some(value), 4);
        let [f32s, f32g, f16s, f16g, peer, ratio, build, plan] = gpu_cells(&product.gpu, |g| {
            let ratio = number(g.cusparse.map(|ms| ms / g.single), 2);
            [
                digits(g.single),
                digits(g.in_graph),
                digits(g.half),
                digits(g.half_in_graph),
                number(g.cusparse, 4),
                ratio,
                digits(g.build),
                g.plan.clone(),
            ]
        });
        let theirs = [published.tsparse, published.triton, published.tcgnn].map(|ms| number(Some(ms), 2));
        let ours = [
            product.entries.to_string(),
            product.width.to_string(),
            f32s,
            f32g,
            f16s,
            f16g,
            peer,
            ratio,
            build,
            number(Some(product.host), 3),
            plan,
        ];
        table.row([name.clone()].into_iter().chain(theirs).chain(ours));
    }
    table.note(format!(
        "The paper does not say the width; ours are its hidden layer's {HIDDEN} and the graph's own (Table 4). Its means over tSparse and Triton: \
         {} and {}. tSparse and Triton are not run here: theirs are times of another GPU, and, where * marks a stand-in, of another graph. The \
         ratio is cuSPARSE's time over ours, of the same run.",
        SPEEDUPS.0, SPEEDUPS.1
    ));
    table
}

/// A matrix of Table 6: so many dense blocks of 16 x 16 at random places of each 16 rows.
///
/// # Errors
/// More blocks than fit.
pub fn blocks(side: usize, per_window: usize) -> Result<Csr> {
    let places = side / BLOCK;
    ensure!(per_window <= places, "{per_window} blocks in {places} places");
    let (mut offsets, mut indices) = (vec![0usize], Vec::new());
    let mut state = 1u64;
    for _ in 0..places {
        // The first of a random order, sorted.
        let mut order: Vec<usize> = (0..places).collect();
        for k in 0..per_window {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            order.swap(k, k + ((state >> 33) as usize) % (places - k));
        }
        order.truncate(per_window);
        order.sort_unstable();
        for _ in 0..BLOCK {
            order.iter().for_each(|block| indices.extend((block * BLOCK..(block + 1) * BLOCK).map(|c| c as u32)));
            offsets.push(indices.len());
        }
    }
    Ok(Csr::new(places * BLOCK, places * BLOCK, Offsets::from_usizes(&offsets), indices.into())?)
}

/// Operations over time, in 10^9 a second; an addition and a multiplication for each entry and column.
fn gflops(product: &Product, ms: f64) -> f64 {
    2e-6 * product.entries as f64 * product.width as f64 / ms
}

/// Table 6.
#[must_use]
pub fn sparsities(all: &[(Sparsity, Product)], side: usize) -> Table {
    let header = [
        "blocks a window",
        "zeros %",
        "bSpMM",
        "TC-GNN",
        "that is us",
        "ours f32",
        "in a graph",
        "ours f16",
        "in a graph",
        "cuSPARSE f32",
        "host f32",
        "plan",
    ];
    let title = format!(
        "SpMM in GFLOPS by sparsity (Table 6): {side} x {side}, dense blocks of {BLOCK} x {BLOCK}, {HIDDEN} columns; published on an RTX 3090"
    );
    let mut table = Table::new(&title, &header);
    for (published, product) in all {
        let rate = |ms: f64| number(Some(gflops(product, ms)), 1);
        let [f32s, f32g, f16s, f16g, peer, plan] = gpu_cells(&product.gpu, |g| {
            let peer = g.cusparse.map_or(NONE.into(), rate);
            [rate(g.single), rate(g.in_graph), rate(g.half), rate(g.half_in_graph), peer, g.plan.clone()]
        });
        let entries = (published.blocks * BLOCK * SIDE) as f64;
        let implied = 2e-3 * entries * HIDDEN as f64 / published.tcgnn;
        table.row([
            published.blocks.to_string(),
            number(Some(published.percent), 2),
            number(Some(published.bspmm), 2),
            number(Some(published.tcgnn), 2),
            number(Some(implied), 2),
            f32s,
            f32g,
            f16s,
            f16g,
            peer,
            rate(product.host),
            plan,
        ]);
    }
    table.note(
        "Operations are two for each entry and column. By that count the published rates of TC-GNN are times of microseconds or less (fifth \
         column), so that the paper may count otherwise. bSpMM, cuSPARSE's product over blocks, is not run here: cuSPARSE's over lists is.",
    );
    if side != SIDE {
        table.note(format!("The published matrices have {SIDE} rows; in these as many blocks are a larger part."));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::table::NO_GPU;
    use crate::reproduce::tc_gnn::published;
    use bitgraph::sparse::Control;
    use bitgraph_sgt::{BlockShape, Sgt, SgtConfig};

    #[test]
    fn blocks_are_dense_and_as_many_as_asked_for() {
        for per_window in [1, 4, 16] {
            let csr = blocks(256, per_window).unwrap();
            assert_eq!((csr.nrows(), csr.nnz()), (256, 256 * per_window * BLOCK));
            let sgt = Sgt::from_csr(&csr, &SgtConfig::default(), &Control::default()).unwrap();
            let s = sgt.statistics(BlockShape::HALF_16X16).unwrap();
            assert_eq!((s.blocks, s.untranslated_blocks), (16 * per_window as u64, 16 * per_window as u64));
            assert!((s.fill() - 1.0).abs() < 1e-12);
        }
        assert!(blocks(256, 17).is_err());
    }

    #[test]
    fn every_published_row_stands_beside_ours() {
        let product = |gpu| Product { width: 16, entries: 1 << 20, host: 2.0, gpu };
        let gpu =
            OnGpu { single: 0.5, in_graph: 0.25, half: 0.4, half_in_graph: 0.2, cusparse: Some(1.0), build: 3.0, plan: "rows".into() };
        let table: Vec<_> = published::spmm().unwrap().into_iter().map(|s| (s.clone(), s.graph.into(), product(Err(NO_GPU)))).collect();
        let text = times(&table).text();
        assert!(text.contains("31.64") && text.matches(NO_GPU).count() == 5 * 8, "{text}");
        let first = [(table[0].0.clone(), "AZ".into(), product(Ok(gpu.clone())))];
        let text = times(&first).text();
        assert!(text.contains("2.00") && text.contains("rows") && !text.contains(NO_GPU), "{text}");
        let rows: Vec<_> = published::sparsity().unwrap().into_iter().map(|s| (s, product(Ok(gpu.clone())))).collect();
        let text = sparsities(&rows, SIDE).text();
        // 2 x 2^20 x 16 operations in .5 ms; 2 x 65536 x 16 in the time of 12686.02 GFLOPS.
        assert!(text.contains("67.1") && text.contains("0.17"), "{text}");
    }
}
