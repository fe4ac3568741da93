//! Section 5.3: what Sparse Graph Translation saves (Figure 7), and what it costs (Figure 8), on the host and on a GPU.

use super::published::{EPOCHS, HIDDEN, OTHER_OVERHEAD_PERCENT, OVERHEAD_PERCENT, REDUCTION_PERCENT};
use crate::reproduce::listed::{Listed, Loaded, Ran};
use crate::reproduce::paper::{host_spmm, seconds};
use crate::reproduce::table::{Gpu, NO_GPU, NONE, Table, gpu_cells, number, percent};
use crate::timing::Bench;
use anyhow::{Result, ensure};
use bitgraph::cuda::DeviceCsr;
use bitgraph::cuda::convert::{SgtOptions, sgt};
use bitgraph::sparse::{Control, Csr};
use bitgraph_sgt::{BlockShape, Greedy, MaskOrder, RowOrder, Sgt, SgtConfig, Statistics};

/// Products with the adjacency matrix in an epoch of its GCN of two layers: two forward, two backward.
const PRODUCTS_OF_EPOCH: u32 = 4;

/// One graph in windows of 16 rows. Times in seconds.
#[derive(Clone, Debug)]
pub struct Translated {
    /// The graph.
    pub ran: Ran,
    /// Blocks of 16 x 8: an operand of the product with features.
    pub spmm: Statistics,
    /// Blocks of 16 x 16: a result of the products of rows.
    pub sddmm: Statistics,
    /// Blocks of 16 x 8 with rows that share columns in a window.
    pub greedy: Statistics,
    /// Translating.
    pub translation: f64,
    /// Laying blocks out, with column ids and masks.
    pub blocks: f64,
    /// Choosing rows greedily, and translating.
    pub greedy_translation: f64,
    /// A product with 16 columns of features on the host.
    pub host_product: f64,
    /// The same on the GPU.
    pub gpu_product: Gpu<f64>,
    /// Translating on the GPU, and laying blocks out there.
    pub gpu_translation: Gpu<[f64; 2]>,
}

impl Translated {
    /// Translates on the host; what a GPU does is added by who has one.
    ///
    /// # Errors
    /// Out of memory; a product that differs from the host's sums.
    pub fn measure(listed: &Listed, loaded: &Loaded, runs: usize) -> Result<Self> {
        let (csr, control) = (&loaded.csr, Control::default());
        let natural = SgtConfig::default();
        let greedy = SgtConfig { order: RowOrder::Greedy(Greedy { symmetric: true, ..Greedy::default() }), ..SgtConfig::default() };
        let sgt = Sgt::from_csr(csr, &natural, &control)?;
        let of = |config: &SgtConfig| seconds(runs, || Ok(Sgt::from_csr(csr, config, &control)?));
        Ok(Self {
            ran: listed.ran(loaded),
            spmm: sgt.statistics(BlockShape::TF32_16X8)?,
            sddmm: sgt.statistics(BlockShape::HALF_16X16)?,
            greedy: Sgt::from_csr(csr, &greedy, &control)?.statistics(BlockShape::TF32_16X8)?,
            translation: of(&natural)?,
            blocks: seconds(runs, || Ok(sgt.blocks(BlockShape::TF32_16X8, MaskOrder::Rows, &control)?))?,
            greedy_translation: of(&greedy)?,
            host_product: host_spmm(csr, HIDDEN, runs)?,
            gpu_product: Err(NO_GPU),
            gpu_translation: Err(NO_GPU),
        })
    }
}

/// Seconds of translating lists on a GPU, where they are, and of laying blocks of 16 x 8 out there.
///
/// # Errors
/// Out of memory; a translation that is not the host's.
pub(crate) fn on_gpu(bench: &Bench<'_>, csr: &Csr) -> Result<[f64; 2]> {
    let (device, config, control) = (&bench.device, SgtConfig::default(), Control::default());
    let lists = DeviceCsr::upload(device, csr)?;
    let build = || sgt(device, &lists, &config, &SgtOptions::default(), &control);
    let found = build()?;
    ensure!(found.to_form(device)?.to_host::<Sgt>()? == Sgt::from_csr(csr, &config, &control)?, "the GPU's translation is not the host's");
    let lay_out = || found.blocks(device, BlockShape::TF32_16X8, MaskOrder::Rows);
    Ok([bench.median_of(|| Ok(bench.clock.whole(build)?.seconds))?, bench.median_of(|| Ok(bench.clock.whole(lay_out)?.seconds))?])
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0usize, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / count as f64)
}

/// Figure 7.
#[must_use]
pub fn effectiveness(all: &[Translated]) -> Table {
    let header = [
        "graph",
        "16x8 without",
        "with",
        "saved %",
        "fill % without",
        "with",
        "16x16 without",
        "with",
        "saved %",
        "fill % with",
        "columns a window",
        "most",
        "entries a column",
        "16x8 saved %, greedy rows",
    ];
    let mut table =
        Table::new("Blocks without and with translation (Figure 7): windows of 16 rows; 16x8 for SpMM, 16x16 for SDDMM", &header);
    for t in all {
        let (s, d) = (&t.spmm, &t.sddmm);
        let columns = s.distinct_columns as f64 / s.windows.max(1) as f64;
        table.row([
            t.ran.marked(),
            s.untranslated_blocks.to_string(),
            s.blocks.to_string(),
            percent(s.reduction()),
            percent(s.untranslated_fill()),
            percent(s.fill()),
            d.untranslated_blocks.to_string(),
            d.blocks.to_string(),
            percent(d.reduction()),
            percent(d.fill()),
            number(Some(columns), 1),
            s.most_columns.to_string(),
            number(Some(s.entries_per_vector()), 2),
            // Against the blocks without translation of rows as they are numbered.
            percent(1.0 - t.greedy.blocks as f64 / s.untranslated_blocks.max(1) as f64),
        ]);
    }
    let of = |only_files: bool| {
        let chosen = all.iter().filter(move |t| !only_files || !t.ran.stand_in);
        mean(chosen.flat_map(|t| [t.spmm.reduction(), t.sddmm.reduction()])).map_or(NONE.into(), |part| percent(part) + " %")
    };
    table.note(format!(
        "Saved on average, both shapes: {} of all these graphs, {} of those that are files; published {REDUCTION_PERCENT} %.",
        of(false),
        of(true)
    ));
    table.note("The paper has its single graphs in a figure without numbers. * marks stand-ins.");
    table
}

/// Figure 8.
#[must_use]
pub fn overhead(all: &[Translated]) -> Table {
    let header = [
        "graph",
        "translation ms",
        "M entries/s",
        "blocks ms",
        "greedy ms",
        "host SpMM ms",
        "% of 200 epochs",
        "GPU translation ms",
        "G entries/s",
        "blocks ms",
        "GPU SpMM ms",
        "% of 200 epochs",
    ];
    let title = "Translation beside training (Figure 8): SpMM of f32 with 16 columns, four of them an epoch";
    let mut table = Table::new(title, &header);
    let products = f64::from(EPOCHS * PRODUCTS_OF_EPOCH);
    // Of a translation on the GPU.
    let gpu_share = |t: &Translated| Some(100.0 * t.gpu_translation.ok()?[0] / (products * t.gpu_product.ok()?));
    for t in all {
        let [translation, rate, blocks] = gpu_cells(&t.gpu_translation, |&[s, blocks]| {
            [number(Some(1e3 * s), 3), number(Some(1e-9 * t.spmm.entries as f64 / s), 2), number(Some(1e3 * blocks), 3)]
        });
        let [product, share] = gpu_cells(&t.gpu_product, |&s| [number(Some(1e3 * s), 4), number(gpu_share(t), 2)]);
        table.row([
            t.ran.marked(),
            number(Some(1e3 * t.translation), 3),
            number(Some(1e-6 * t.spmm.entries as f64 / t.translation), 1),
            number(Some(1e3 * t.blocks), 3),
            number(Some(1e3 * t.greedy_translation), 3),
            number(Some(1e3 * t.host_product), 3),
            number(Some(100.0 * t.translation / (products * t.host_product)), 2),
            translation,
            rate,
            blocks,
            product,
            share,
        ]);
    }
    let host = mean(all.iter().map(|t| 100.0 * t.translation / (products * t.host_product)));
    let gpu = mean(all.iter().filter_map(gpu_share));
    let gpu = if gpu.is_none() { NO_GPU.into() } else { number(gpu, 2) + " %" };
    table.note(format!(
        "On average {} % of 200 epochs on the host; the same of the GPU's translation beside its products: {gpu}; published {OVERHEAD_PERCENT} % (section 5.3) and {OTHER_OVERHEAD_PERCENT} % (section 4.1).",
        number(host, 2)
    ));
    table.note("Of an epoch only its products with the adjacency matrix are counted, so that the shares are upper bounds; the paper's are of all of it.");
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::tc_gnn::published::datasets;

    #[test]
    fn rows_that_share_columns_save_blocks() {
        let all = datasets().unwrap();
        let listed = all.iter().find(|g| g.abbreviation == "CO").unwrap();
        let translated = Translated::measure(listed, &listed.load(None, 1, true).unwrap(), 1).unwrap();
        let (s, d) = (translated.spmm, translated.sddmm);
        assert!(s.blocks < s.untranslated_blocks && d.blocks <= s.blocks && s.fill() > s.untranslated_fill());
        assert_eq!(s.windows, 2708u64.div_ceil(16));
        let all = [translated];
        let text = effectiveness(&all).text();
        assert!(text.contains("Cora*") && text.contains("published 67.47 %") && text.contains("- of those that are files"), "{text}");
        let text = overhead(&all).text();
        assert!(text.contains(NO_GPU) && text.contains("published 4.43 %"), "{text}");
        let with = overhead(&[Translated { gpu_product: Ok(1e-5), gpu_translation: Ok([2e-5, 1e-5]), ..all[0].clone() }]).text();
        assert!(!with.contains(NO_GPU) && with.contains("0.0100"), "{with}");
    }
}
