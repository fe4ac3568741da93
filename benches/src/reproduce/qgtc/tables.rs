//! QGTC's tables and figures, published and ours.

use super::batches::Tiles;
use super::products::{Reuse, Times};
use super::published::{Gemm, HIDDEN};
use crate::reproduce::listed::Ran;
use crate::reproduce::table::{Gpu, NONE, Table, gpu_cells, number, percent};
use bitgraph::gnn::Precision;

/// Bits of the features in the table of tiles.
pub const TILE_BITS: u32 = 4;

/// The tiles of a graph's batches.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The graph.
    pub ran: Ran,
    /// Parts, and batches of them.
    pub parts: (usize, usize),
    /// Of all batches.
    pub tiles: Tiles,
    /// Milliseconds of the first batch's product on the GPU: over all tiles, and past those without entries.
    pub gpu: Gpu<(f64, f64)>,
}

/// The precisions of Table 2, as ours are called.
pub const ACCURACY_BITS: [Precision; 5] = [Precision::F32, bits(16), bits(8), bits(4), bits(2)];

const fn bits(bits: u8) -> Precision {
    Precision::Bits { weights: bits, activations: bits }
}

/// Table 2. Data sets differ: the paper's are not at hand, and what counts is how much each width loses.
#[must_use]
pub fn accuracy(theirs: &[(&'static str, [f64; 5])], ours: &[(&'static str, Vec<f64>)]) -> Table {
    let header = ["data set", "whose", "f32 %", "16 bits", "8 bits", "4 bits", "2 bits", "16 - f32", "8 - f32", "4 - f32", "2 - f32"];
    let mut table = Table::new("Test accuracy of a GCN by bits (Table 2)", &header);
    let mut row = |name: &str, whose: &str, accuracies: &[f64]| {
        let lost = accuracies.iter().skip(1).map(|a| percent(a - accuracies[0]));
        table.row([name.into(), whose.into()].into_iter().chain(accuracies.iter().map(|a| percent(*a))).chain(lost));
    };
    theirs.iter().for_each(|(name, accuracies)| row(name, "published", accuracies));
    ours.iter().for_each(|(name, accuracies)| row(name, "ours", accuracies));
    table
}

fn share(part: u64, all: u64) -> String {
    if all == 0 { NONE.into() } else { percent(part as f64 / all as f64) }
}

/// Figure 8.
#[must_use]
pub fn tiles(all: &[Counted], map: &str) -> Table {
    let header = [
        "graph",
        "parts",
        "batches",
        "entries kept %",
        "tiles 8x128",
        "non-zero %",
        "zero between parts %",
        "zero within %",
        "our map non-zero %",
        "k loads",
        "jumping",
        "reusing too",
        "GPU ms",
        "jumping",
        "ratio",
    ];
    let mut table = Table::new("Zero tiles of the batches' adjacency matrices (Figure 8), and loads of tiles", &header);
    for c in all {
        let t = &c.tiles;
        let thousands = |loads: u64| number(Some(1e-3 * loads as f64), 1);
        let [ms, jumping, ratio] =
            gpu_cells(&c.gpu, |&(all, jumping)| [number(Some(all), 4), number(Some(jumping), 4), number(Some(all / jumping), 2)]);
        table.row([
            c.ran.marked(),
            c.parts.0.to_string(),
            c.parts.1.to_string(),
            share(t.entries, c.ran.found.1),
            t.all.to_string(),
            share(t.filled, t.all),
            share(t.all - t.within, t.all),
            share(t.within - t.filled, t.all),
            share(t.map.1, t.map.0),
            thousands(t.all * u64::from(TILE_BITS)),
            thousands(t.filled * u64::from(TILE_BITS)),
            thousands(t.filled),
            ms,
            jumping,
            ratio,
        ]);
    }
    table.note(format!(
        "Batches are of parts without edges between them. Our map has tiles of {map}. Loads are of tiles of the adjacency matrix for features of \
         {TILE_BITS} bits and 8 columns: for each bit again, for each bit but past zero tiles, and once for all bits, counted: no kernel of ours does the last. The GPU multiplies the \
         first batch by {HIDDEN} columns of {TILE_BITS} bits."
    ));
    table.note(
        "The paper makes 1500 parts by METIS, does not say how many are a batch, and has its ratios in a figure without numbers. Files are cut \
         in an order by community; the parts of stand-ins of communities are those. * marks stand-ins.",
    );
    table
}

/// Ours: single launches, in one graph, 8-bit numbers, the ratio of the times, and the host.
fn rates(times: &Times) -> [String; 5] {
    let rate = |seconds: f64| number(Some(times.size.tflops(seconds)), 2);
    let [single, in_graph, int8, ratio] = gpu_cells(&times.gpu, |g| {
        let ratio = number(g.int8.map(|seconds| seconds / g.single), 2);
        [rate(g.single), rate(g.in_graph), g.int8.map_or(NONE.into(), rate), ratio]
    });
    [single, in_graph, int8, ratio, times.host.map_or(NONE.into(), |seconds| number(Some(times.size.tflops(seconds)), 4))]
}

/// Table 3: for each published row its four widths.
#[must_use]
pub fn gemm(all: &[(Gemm, Vec<Times>)]) -> Table {
    let header = ["N", "columns", "bits", "CUTLASS int4", "QGTC", "N here", "ours", "in a graph", "cuBLASLt int8", "ours/int8", "host"];
    let mut table = Table::new("Aggregation in TFLOPS (Table 3): N x N of 1 bit by N x D; published on an RTX 3090", &header);
    for (published, ours) in all {
        for (times, theirs) in ours.iter().zip(published.bits) {
            let named = [published.n, published.columns, times.size.bits as usize].map(|x| x.to_string());
            let printed = [published.cutlass, theirs].map(|rate| number(Some(rate), 2));
            table.row(named.into_iter().chain(printed).chain([times.size.n.to_string()]).chain(rates(times)));
        }
    }
    table.note(
        "Two operations for each element and place that is summed over, whatever the bits. CUTLASS is not run here; the 8-bit product of \
         cuBLASLt stands beside ours, and ours/int8 is the quotient of their rates in the same run.",
    );
    table
}

/// Figure 7c: by bits, beside numbers of 8.
#[must_use]
pub fn against_int8(all: &[Times]) -> Table {
    let header = ["N", "columns", "bits", "ours", "in a graph", "cuBLASLt int8", "ours/int8", "host"];
    let mut table = Table::new("Aggregation in TFLOPS by bits, beside 8-bit numbers (Figure 7c)", &header);
    for times in all {
        let size = times.size;
        table.row([size.n.to_string(), size.columns.to_string(), size.bits.to_string()].into_iter().chain(rates(times)));
    }
    table.note("The paper has a figure without numbers or sizes: its throughput is above int8's for 2 to 7 bits, and nears it towards 8.");
    table
}

/// Figure 9: for each N a row, for each number of columns a GPU's and the host's.
#[must_use]
pub fn sizes(sizes: &[usize], columns: &[usize], all: &[Times]) -> Table {
    let names: Vec<String> = std::iter::once("N".to_string())
        .chain(columns.iter().map(|d| format!("D = {d}")))
        .chain(columns.iter().map(|d| format!("host, D = {d}")))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut table = Table::new("Aggregation in TFLOPS by size (Figure 9): N x N of 1 bit by N x D of 1 bit", &names);
    for &n in sizes {
        let of = |d: usize| all.iter().find(|t| (t.size.n, t.size.columns) == (n, d)).map(rates);
        let row: Vec<[String; 5]> = columns.iter().map(|&d| of(d).unwrap_or_else(|| [NONE; 5].map(String::from))).collect();
        let gpu = row.iter().map(|cells| cells[0].clone());
        let host = row.iter().map(|cells| cells[4].clone());
        table.row(std::iter::once(n.to_string()).chain(gpu).chain(host));
    }
    table.note(
        "The paper has a figure without numbers: little changes from 128 to 512, most from there to 16384, and hardly anything after.",
    );
    table
}

/// Figure 10.
#[must_use]
pub fn reuse(all: &[Reuse]) -> Table {
    let header = [
        "N",
        "columns",
        "bits",
        "k loads, each bit",
        "once",
        "GPU ms, a product each bit",
        "one product",
        "ratio",
        "host ms, a product each bit",
        "one product",
        "ratio",
    ];
    let mut table = Table::new("Non-zero tiles used again for every bit (Figure 10): N x N ones by N x D of several bits", &header);
    for r in all {
        let size = r.size;
        let times = |seconds: Gpu<(f64, f64)>, digits: usize| {
            gpu_cells(&seconds, |&(each, once)| {
                [number(Some(1e3 * each), digits), number(Some(1e3 * once), digits), number(Some(each / once), 2)]
            })
        };
        let thousands = |loads: u64| number(Some(1e-3 * loads as f64), 1);
        let named = [size.n.to_string(), size.columns.to_string(), size.bits.to_string(), thousands(r.loads.0), thousands(r.loads.1)];
        table.row(named.into_iter().chain(times(r.gpu, 4)).chain(times(r.host.ok_or(NONE), 2)));
    }
    table.note(
        "Loads are of tiles of 8x128 for 8 columns, counted: for each bit again, and once for all, which is the paper's reuse. Ours does not reuse: \
         one product of all planes keeps one set of sums, but takes pairs of planes in turn and loads the tiles for each. A product each bit is \
         timed without adding the results. The paper has a figure without numbers: reuse pays for large N and many bits.",
    );
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::qgtc::products::{OnGpu, Size};
    use crate::reproduce::qgtc::published;
    use crate::reproduce::table::NO_GPU;

    fn times(n: usize, columns: usize, bits: u32, gpu: bool) -> Times {
        let gpu = if gpu { Ok(OnGpu { single: 1e-5, in_graph: 5e-6, int8: Some(4e-5) }) } else { Err(NO_GPU) };
        Times { size: Size { n, columns, bits }, host: Some(1e-2), gpu }
    }

    #[test]
    fn every_published_row_stands_beside_ours() {
        let of = |gpu| {
            published::gemm().unwrap().into_iter().map(move |row| {
                let ours = (1..=4).map(|bits| times(row.n, row.columns, bits, gpu)).collect();
                (row, ours)
            })
        };
        let table = gemm(&of(false).collect::<Vec<_>>());
        let text = table.text();
        assert_eq!((table.rows.len(), text.matches(NO_GPU).count()), (24, 24 * 4));
        assert!(text.contains("104.66") && text.contains("24.70"), "{text}");
        let text = gemm(&of(true).take(1).collect::<Vec<_>>()).text();
        // 2 x 2048^2 x 32 operations in 10 us are 26.84 TFLOPS; cuBLASLt takes four times as long.
        assert!(text.contains("26.84") && text.contains("4.00") && text.contains("6.71") && !text.contains(NO_GPU), "{text}");
    }

    #[test]
    fn parts_of_all_tiles_add_up() {
        let ran = Ran { name: "G", kind: "I", printed: (10, 20), found: (10, 20), source: "stand-in".into(), stand_in: true };
        let tiles_of = Tiles { all: 1000, within: 250, filled: 50, map: (10, 5), entries: 15 };
        let counted = Counted { ran, parts: (8, 2), tiles: tiles_of, gpu: Ok((2.0, 0.5)) };
        let table = tiles(&[counted], "64x1024");
        assert_eq!(table.rows[0][3..9], ["75.00", "1000", "5.00", "75.00", "20.00", "50.00"]);
        assert_eq!(table.rows[0][9..], ["4.0", "0.2", "0.1", "2.0000", "0.5000", "4.00"]);
    }

    #[test]
    fn sizes_that_were_not_run_have_no_number() {
        let table = sizes(&[128, 256], &[16, 64], &[times(128, 16, 1, true)]);
        assert_eq!(table.rows[0], ["128", "0.05", "-", "0.0001", "-"]);
        assert_eq!(table.rows[1], ["256", "-", "-", "-", "-"]);
        let row = Reuse { size: Size { n: 64, columns: 8, bits: 4 }, loads: (32_000, 8_000), host: None, gpu: Err(NO_GPU) };
        assert_eq!(reuse(&[row]).rows[0], ["64", "8", "4", "32.0", "8.0", NO_GPU, NO_GPU, NO_GPU, "-", "-", "-"]);
    }
}
