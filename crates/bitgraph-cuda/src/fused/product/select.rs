//! Which layout and format products take.
//!
//! Invariant: the thresholds of the choice are all here. The variant of a product over the operations is the definition, in a format.

use super::ProductLayout;
use crate::fused::select::{Facts, Kernels, Offer, candidates, variants};
use crate::skew::HUBS;
use crate::spmv::SpmvForm;
use crate::{Cuda, Error, Result};
use bitgraph_algorithms::{Factor, Product};
use bitgraph_b2sr::Layout;
use bitgraph_backend::{Arranged, Candidate, Fused, GraphData, NoLayout, Plan, StoredCost, no_fused_form};
use bitgraph_sparse::FormatKind;
use bitgraph_sparse::ordering::Ordering;

variants! {
    /// How sums of `f32` are laid out.
    Variant {
        /// Rows in natural order or by class, as they are alike or not.
        Rows = "rows",
        /// Rows by class, columns renumbered by how often they are named.
        Columns = "columns",
        /// Slices of 32 rows by diagonals.
        Diagonals = "diagonals",
    }
}

impl Variant {
    /// The layout's form.
    pub(super) fn form(self) -> SpmvForm {
        match self {
            Self::Rows => SpmvForm::Rows,
            Self::Columns => SpmvForm::Columns,
            Self::Diagonals => SpmvForm::Diagonals,
        }
    }
}

/// Entries from which columns are renumbered, if there are hubs: x no longer fits in the first-level caches.
const COLUMNS_ENTRIES: usize = 8_000_000;
/// Entries that a diagonal must stand for in the mean.
const DIAGONAL_ENTRIES: f64 = 6.0;
/// Diagonals of a slice beyond which slices must be many, this many for each multiprocessor: the warp of a slice goes through its
/// diagonals one after the other, and only other warps fill its waits.
const SHORT: f64 = 32.0;
const HIDING: usize = 8;
/// Of the time of rows.
const DEFINITION_SHARE: f64 = 1.5;
const COLUMNS_SHARE: f64 = 0.7;
const DIAGONALS_SHARE: f64 = 0.6;

/// Entries of a row beyond which its tiles, summed by one warp, hold up the others: a hybrid leaves them to lists.
const LONG_ROW: u32 = 448;
/// What a row beyond `LONG_ROW` costs a product in tiles.
const LONG_ROW_SECONDS: f64 = 8e-6;
/// Bytes of entries that a conversion to tiles passes over a second, as entries; and from tiles to lists.
const TILES_RATE: f64 = 1e10;
const LISTS_RATE: f64 = 1e10;
const LISTS_START: f64 = 3e-5;
/// The fewest tiles that entries fit in, with some room.
const FULL_TILE: f64 = 32.0;

/// What a product with bits takes in a format on one H200.
struct Cost {
    start: f64,
    row: f64,
    /// Of an entry of a list or of a tile.
    each: f64,
}
const LISTS: Cost = Cost { start: 1.1e-5, row: 0.0, each: 4e-12 };
const TILES: Cost = Cost { start: 5e-6, row: 1e-12, each: 4.2e-12 };
const HYBRID: Cost = Cost { start: 5.8e-6, row: 1e-11, each: 1.5e-12 };

impl Cost {
    fn seconds(&self, rows: usize, count: f64) -> f64 {
        self.start + self.row * rows as f64 + self.each * count
    }
}

fn diagonals_pay(facts: &Facts<'_>) -> bool {
    let diagonals = facts.stats().diagonals();
    let hidden = diagonals.per_slice <= SHORT || facts.nodes.div_ceil(32) >= HIDING * facts.device.properties().sms as usize;
    diagonals.entries >= DIAGONAL_ENTRIES && hidden
}

impl<T: Factor> Kernels for Product<T> {
    const MODULES: &'static [&'static str] = &["ops/"];
}

impl Fused<Product<f32>> for Cuda {
    type Layout = ProductLayout;

    fn warm_up(&self) -> Result<()> {
        self.load_kernels::<Product<f32>>()
    }
    fn variants(&self, graph: &GraphData, _: &Product<f32>, _: u32) -> Vec<Candidate> {
        let Some(facts) = Facts::of(self, graph, graph.is_symmetric(), 1 << 31) else { return vec![Candidate::definition(graph)] };
        let diagonals = facts.entries > 0 && diagonals_pay(&facts);
        let columns = facts.entries >= COLUMNS_ENTRIES && facts.skew() >= HUBS && !diagonals;
        let definition =
            Offer { share: DEFINITION_SHARE, why: "the operation, lists as they are".into(), ..Offer::general(Candidate::DEFINITION, 0.0) };
        let mut offers = vec![
            definition,
            Offer { why: "rows alike, or by class".into(), ..Offer::general(Variant::Rows.name(), facts.build_seconds(1e-4, 2e10)) },
        ];
        if facts.entries > 0 {
            let build = facts.build_seconds(3e-4, 5e9);
            offers.push(Offer::of(Variant::Columns.name(), build, columns, COLUMNS_SHARE, "columns by how often they are named"));
            offers.push(Offer::of(Variant::Diagonals.name(), build, diagonals, DIAGONALS_SHARE, "entries on few diagonals"));
        }
        candidates(offers, facts.general_seconds(1.0, 0.0))
    }
    fn layout(&self, graph: &Arranged<Self>, _: &Product<f32>, plan: &Plan) -> Result<Option<ProductLayout>> {
        ProductLayout::build(self.device(), graph.matrix(), Variant::planned(plan))
    }
    fn run(&self, _: &Arranged<Self>, layout: &ProductLayout, product: &Product<f32>) -> Result<Vec<f32>> {
        layout.run(self.device(), &product.x)
    }
    fn layout_bytes(&self, layout: &ProductLayout) -> u64 {
        layout.bytes()
    }
}

no_fused_form!(Cuda: Product<f64>);

impl Fused<Product<bool>> for Cuda {
    type Layout = NoLayout;

    fn warm_up(&self) -> Result<()> {
        self.load_kernels::<Product<bool>>()
    }
    fn variants(&self, graph: &GraphData, _: &Product<bool>, _: u32) -> Vec<Candidate> {
        let (stats, rows, entries) = (graph.stats(), graph.nodes(), graph.edges() as f64);
        let candidate = |format, build_seconds, run_seconds, why: &str| Candidate {
            ordering: Ordering::None,
            format,
            variant: Candidate::DEFINITION,
            build_seconds,
            run_seconds,
            threads: 0,
            why: why.into(),
        };
        let build = 3e-4 + entries / TILES_RATE;
        let tiles = entries / stats.fill(FormatKind::B2sr8).max(1.0);
        let held_up = if stats.max_degree > LONG_ROW { LONG_ROW_SECONDS } else { 0.0 };
        vec![
            candidate(FormatKind::Csr, 0.0, LISTS.seconds(rows, entries), "lists as they are"),
            candidate(FormatKind::B2sr8, build, held_up + TILES.seconds(rows, tiles), "bit tiles"),
            candidate(FormatKind::Hybrid, build, HYBRID.seconds(rows, entries), "bit tiles and lists"),
        ]
    }
    fn stored(&self, layout: &Layout, _: &Product<bool>) -> Option<StoredCost> {
        let (rows, entries, (tiles, listed)) = (layout.shape().0, layout.nnz() as f64, layout.parts());
        let run_seconds = match layout.kind() {
            FormatKind::B2sr8 => TILES.seconds(rows, tiles as f64),
            FormatKind::Hybrid => HYBRID.seconds(rows, (tiles + listed) as f64),
            _ => return None,
        };
        let min_seconds = TILES.seconds(rows, entries / FULL_TILE).min(run_seconds);
        let csr_seconds = LISTS_START + entries / LISTS_RATE;
        Some(StoredCost { variant: Candidate::DEFINITION, run_seconds, csr_seconds, min_seconds })
    }
    fn layout(&self, _: &Arranged<Self>, _: &Product<bool>, _: &Plan) -> Result<Option<NoLayout>> {
        Ok(None)
    }
    fn run(&self, _: &Arranged<Self>, layout: &NoLayout, _: &Product<bool>) -> Result<Vec<bool>, Error> {
        match *layout {}
    }
}
