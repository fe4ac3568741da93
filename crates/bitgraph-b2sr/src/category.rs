//! The pattern categories of Bit-GraphBLAS, Table V, as a set chosen by thresholds.
//!
//! The paper names the categories and sorts matrices by eye ("nonzeros are centralised around the diagonal"); the thresholds
//! here are this crate's own, set so that the matrices which the paper labels fall where it puts them.
//!
//! Invariant: a pattern with entries has at least one category; `Hybrid` is there exactly if more than two others are, or two that
//! contradict each other.

use crate::{Degrees, TileCounts};
use bitgraph_sparse::{Csr, FormatKind, parallel};
use std::fmt;

/// A category of Table V.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Category {
    /// Entries scattered at random.
    Dot,
    /// Entries centred around the diagonal.
    Diagonal,
    /// Square or rectangular blocks, or their contours.
    Block,
    /// One or more lines in any direction.
    Stripe,
    /// Entries in a regular, very sparse distribution.
    Road,
    /// More than two of the others, or scattered entries beside a structure.
    Hybrid,
}

impl Category {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dot => "dot",
            Self::Diagonal => "diagonal",
            Self::Block => "block",
            Self::Stripe => "stripe",
            Self::Road => "road",
            Self::Hybrid => "hybrid",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The statistics that decide the categories.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Pattern {
    /// The share of entries within a tenth of the matrix from the diagonal.
    pub near_diagonal: f64,
    /// The share of entries that lie on lines away from the main diagonal: cells of a coarse picture of the matrix that hold far
    /// more than the cells beside them and form long runs.
    pub on_lines: f64,
    /// The share of the coarse picture that is filled.
    pub filled: f64,
    /// Entries in a non-empty 8x8 tile.
    pub tile_fill: f64,
    /// Entries in a row, on average.
    pub degree: f64,
    /// The standard deviation of that over the mean.
    pub irregularity: f64,
    /// How unevenly the filled cells of the coarse picture are filled: the deviation over the mean.
    pub contrast: f64,
}

/// Cells of the coarse picture in each direction.
const CELLS: usize = 128;

impl Pattern {
    /// At least this share of entries near the diagonal makes a pattern `Diagonal`.
    pub const DIAGONAL: f64 = 0.7;
    /// At least this share of entries on lines makes it a `Stripe`. Set so that delaunay_n14, which the paper calls a stripe, is one:
    /// that label is no independent test of it.
    pub const STRIPE: f64 = 0.2;
    /// At least this many entries in a tile make it a `Block`.
    pub const BLOCK_FILL: f64 = 8.0;
    /// At least this contrast of a picture that is at least [`Pattern::BLOCK_FILLED`] full makes it a `Block` as well, unless the
    /// contrast is that of lines.
    pub const BLOCK_CONTRAST: f64 = 1.0;
    /// The fullness from which contrast counts.
    pub const BLOCK_FILLED: f64 = 0.1;
    /// At most this mean degree, and
    pub const ROAD_DEGREE: f64 = 3.2;
    /// at most this irregularity, make it a `Road`.
    pub const ROAD_IRREGULARITY: f64 = 0.6;

    /// Measures a pattern. O(nnz) and 64 KiB per task.
    #[must_use]
    pub fn new(csr: &Csr, tiles: &TileCounts, degrees: &Degrees) -> Self {
        let (n, m) = (csr.nrows(), csr.ncols());
        if csr.nnz() == 0 {
            return Self::default();
        }
        // Small matrices get one cell for each row and column.
        let (height, width) = (n.min(CELLS), m.min(CELLS));
        let reach = n.max(m) / 10;
        let part = n.div_ceil(rayon::current_num_threads() * 4).max(1024);
        let counted = parallel::collect(n.div_ceil(part), |p| {
            let (mut near, mut cells) = (0u64, vec![0u64; height * width]);
            for i in p * part..((p + 1) * part).min(n) {
                let line = &mut cells[i * height / n * width..][..width];
                for &c in csr.row(i) {
                    near += u64::from((c as usize * n / m).abs_diff(i) <= reach);
                    line[c as usize * width / m] += 1;
                }
            }
            (near, cells)
        });
        let (near, cells) = counted.into_iter().fold((0, vec![0; height * width]), |mut a, b| {
            a.1.iter_mut().zip(&b.1).for_each(|(a, b)| *a += b);
            (a.0 + b.0, a.1)
        });
        let nnz = csr.nnz() as f64;
        let filled = cells.iter().filter(|&&c| c > 0).count();
        let mean = nnz / filled as f64;
        let variance = cells.iter().filter(|&&c| c > 0).map(|&c| (c as f64 - mean).powi(2)).sum::<f64>() / filled as f64;
        Self {
            near_diagonal: near as f64 / nnz,
            on_lines: lines(&cells, height, width) as f64 / nnz,
            filled: filled as f64 / cells.len() as f64,
            tile_fill: tiles.fill(FormatKind::B2sr8),
            degree: degrees.mean,
            irregularity: if degrees.mean > 0.0 { degrees.deviation / degrees.mean } else { 0.0 },
            contrast: variance.sqrt() / mean,
        }
    }
    /// The categories, in the order of Table V.
    #[must_use]
    pub fn categories(&self) -> Vec<Category> {
        if self.filled == 0.0 {
            return Vec::new();
        }
        let mut set = Vec::new();
        if self.near_diagonal >= Self::DIAGONAL {
            set.push(Category::Diagonal);
        }
        if self.tile_fill >= Self::BLOCK_FILL
            || (self.filled >= Self::BLOCK_FILLED && self.contrast >= Self::BLOCK_CONTRAST && self.on_lines < Self::STRIPE)
        {
            set.push(Category::Block);
        }
        if self.on_lines >= Self::STRIPE {
            set.push(Category::Stripe);
        }
        if self.degree <= Self::ROAD_DEGREE && self.irregularity <= Self::ROAD_IRREGULARITY {
            set.push(Category::Road);
        }
        if set.is_empty() || (set == [Category::Road] && self.near_diagonal < 0.5) {
            set.insert(0, Category::Dot);
        }
        if set.len() > 2 || (set.contains(&Category::Dot) && set.len() > 1) {
            set.push(Category::Hybrid);
        }
        set
    }
}

/// Entries in cells that lie on lines: ridges that run on from row to row, or from column to column, by at most one cell to the
/// side, over at least an eighth of the picture's side, away from the main diagonal.
fn lines(cells: &[u64], height: usize, width: usize) -> u64 {
    let transposed: Vec<u64> = (0..width).flat_map(|c| (0..height).map(move |r| cells[r * width + c])).collect();
    let (steep, shallow) = (ridges(cells, height, width), ridges(&transposed, width, height));
    let on = |i: usize| steep[i] || shallow[i % width * height + i / width];
    (0..cells.len()).filter(|&i| on(i)).map(|i| cells[i]).sum()
}

/// Which cells lie on a line that has one cell or two in each row.
fn ridges(cells: &[u64], height: usize, width: usize) -> Vec<bool> {
    let ridge = |r: usize, c: usize| {
        let at = |c: Option<usize>| c.filter(|&c| c < width).map_or(0, |c| cells[r * width + c]);
        let here = cells[r * width + c];
        let away = (r * width / height).abs_diff(c) > width / 32 + 1;
        away && here > 2 * (at(c.checked_sub(2)) + at(Some(c + 2)))
    };
    // The longest chain that ends at a cell, from above and from below.
    let chains = |rows: &mut dyn Iterator<Item = usize>| {
        let mut length = vec![0usize; cells.len()];
        let mut before: Option<usize> = None;
        for r in rows {
            for c in (0..width).filter(|&c| ridge(r, c)) {
                let near = c.saturating_sub(1)..(c + 2).min(width);
                let longest = before.map_or(0, |b| near.map(|c| length[b * width + c]).max().unwrap_or(0));
                length[r * width + c] = longest + 1;
            }
            before = Some(r);
        }
        length
    };
    let (down, up) = (chains(&mut (0..height)), chains(&mut (0..height).rev()));
    let shortest = (height.min(width) / 8).max(4);
    down.iter().zip(&up).map(|(d, u)| d + u > shortest).collect()
}
