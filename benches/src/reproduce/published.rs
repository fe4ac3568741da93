//! What Bit-GraphBLAS (IPDPS 2022) publishes: facts to hold ours against, read from the tables in `benches/data`.
//!
//! Invariant: cells that contradict their own table are not in the data.

use anyhow::{Context, Result};

const TIMES: &str = include_str!("../../data/bit_graphblas_times.csv");
const KERNELS: &str = include_str!("../../data/bit_graphblas_kernels.csv");

/// The GPUs of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Gpu {
    /// Pascal.
    Gtx1080,
    /// Volta.
    TitanV,
}

impl Gpu {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Gtx1080, Self::TitanV];
    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gtx1080 => "GTX 1080",
            Self::TitanV => "Titan V",
        }
    }
    fn from_data(text: &str) -> Result<Self> {
        match text {
            "gtx1080" => Ok(Self::Gtx1080),
            "titanv" => Ok(Self::TitanV),
            _ => anyhow::bail!("no GPU of the paper is called {text:?}"),
        }
    }
}

/// A cell of Tables VII to IX: times in ms.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Time {
    /// The matrix.
    pub matrix: &'static str,
    /// The GPU.
    pub gpu: Gpu,
    /// Whether this is the products of the algorithm alone.
    pub kernel: bool,
    /// `bfs`, `sssp`, `pr`, `cc` or `tc`.
    pub algorithm: &'static str,
    /// GraphBLAST's.
    pub graphblast: f64,
    /// Theirs.
    pub bit_graphblas: f64,
}

/// The speed-up of a scheme over cuSPARSE on float CSR, over their 521 matrices.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct KernelMean {
    /// The scheme of Table II or III.
    pub scheme: &'static str,
    /// The side of a tile.
    pub tile: u32,
    /// The GPU.
    pub gpu: Gpu,
    /// The mean.
    pub mean: f64,
    /// The maximum, where it is told for this tile.
    pub maximum: Option<f64>,
}

/// Section VI-B, Figure 5b: for a tile size, matrices that take minimum in it, and that take less in it than in float CSR.
pub const COMPRESSION: [(u32, u32, u32); 4] = [(4, 162, 491), (8, 291, 421), (16, 26, 329), (32, 12, 263)];
/// The matrices that Figure 5b and Section VI-D are over.
pub const MATRICES: u32 = 521;
/// Section III-C: bytes of mycielskian12 in float CSR and the four formats, in KiB, and CSR in MiB.
pub const STORAGE: (&str, f64, [f64; 4]) = ("mycielskian12", 3.12, [675.70, 361.46, 358.89, 429.89]);
/// Bytes of a tile of 4 as the paper packs it, a byte a row (Table I); ours takes half.
pub const PUBLISHED_TILE_4: u64 = 4;
/// Section VI-A: `PageRank` stops after so many iterations.
pub const PAGERANK_ITERATIONS: u32 = 10;
/// Section VI-A: or at this tolerance.
pub const PAGERANK_TOLERANCE: f64 = 1e-9;

/// Lines without comments and header, as cells.
fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().filter(|l| !l.starts_with('#')).skip(1).map(|l| l.split(',').collect())
}

fn number(text: &str) -> Result<f64> {
    text.parse().with_context(|| format!("{text:?} is not a number"))
}

/// Tables VII to IX.
///
/// # Errors
/// If the data is damaged.
pub fn times() -> Result<Vec<Time>> {
    let time = |cells: Vec<&'static str>| -> Result<Time> {
        let [matrix, gpu, level, algorithm, graphblast, bit_graphblas] = cells[..] else { anyhow::bail!("{cells:?} has not six cells") };
        Ok(Time {
            matrix,
            gpu: Gpu::from_data(gpu)?,
            kernel: level == "kernel",
            algorithm,
            graphblast: number(graphblast)?,
            bit_graphblas: number(bit_graphblas)?,
        })
    };
    rows(TIMES).map(time).collect()
}

/// Section VI-D.
///
/// # Errors
/// If the data is damaged.
pub fn kernels() -> Result<Vec<KernelMean>> {
    let mean = |cells: Vec<&'static str>| -> Result<KernelMean> {
        let [scheme, tile, gpu, mean, maximum] = cells[..] else { anyhow::bail!("{cells:?} has not five cells") };
        let maximum = if maximum.is_empty() { None } else { Some(number(maximum)?) };
        Ok(KernelMean { scheme, tile: tile.parse()?, gpu: Gpu::from_data(gpu)?, mean: number(mean)?, maximum })
    };
    rows(KERNELS).map(mean).collect()
}

/// The generator of a matrix of the paper that need not be a file.
#[must_use]
pub fn generator(matrix: &str) -> Option<String> {
    if matrix == "debr" {
        return Some("debruijn:20".into());
    }
    let order: u32 = matrix.strip_prefix("mycielskian")?.parse().ok()?;
    Some(format!("mycielskian:{order}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_is_whole() {
        let times = times().unwrap();
        // 2 x 128 cells of Tables VII and VIII, six of them garbled, and 32 of Table IX.
        assert_eq!(times.len(), 256 - 6 + 32);
        assert!(times.iter().all(|t| t.graphblast > 0.0 && t.bit_graphblas > 0.0));
        assert!(!times.iter().any(|t| t.matrix == "uk" && t.gpu == Gpu::TitanV && t.algorithm == "cc" && !t.kernel));
        let kernels = kernels().unwrap();
        assert_eq!(kernels.iter().filter(|k| k.gpu == Gpu::TitanV).count(), 16);
        assert_eq!(
            (generator("debr"), generator("mycielskian9"), generator("uk")),
            (Some("debruijn:20".into()), Some("mycielskian:9".into()), None)
        );
    }
}
