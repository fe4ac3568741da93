//! What the benches of operations over dense features share: options, element types, graphs, and the loop over all of them.
//!
//! Invariant: a measurement that fails is told, and the others are made all the same.

use crate::front;
use crate::timing::{self, Bench};
use anyhow::{Context, Result, ensure};
use bitgraph::cuda::DeviceCsr;
use bitgraph::cuda::device::Buffer;
use bitgraph::cuda::tensor::forms::Feature;
use bitgraph::cuda::tensor::forms::sddmm::Product;
use bitgraph::prelude::*;
use bitgraph::tensor::Dense;
use half::{bf16, f16};
use serde::Serialize;

/// An element type of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Type {
    /// Half precision.
    F16,
    /// The upper half of `f32`.
    Bf16,
    /// Single precision.
    F32,
}

/// The options that benches of dense features have.
#[derive(clap::Args, Debug)]
// As that of `timing::Options`.
#[group(skip)]
pub struct Options {
    /// Columns of the features.
    #[arg(long, value_delimiter = ',', default_values = ["64", "128"])]
    features: Vec<usize>,
    /// Types of the features.
    #[arg(long, value_delimiter = ',', value_enum, default_values = ["f16", "f32"])]
    types: Vec<Type>,
    #[command(flatten)]
    pub(crate) timing: timing::Options,
}

/// A feature type with its way to and from `f64`.
pub(crate) trait Element: Feature + Product<Self> + bitgraph::tensor::Element<Real = f32, Output = Self> {
    /// The largest error of a sum beside the sum of its terms' sizes.
    const OF_TERMS: f64;
    /// The largest error of a row beside its length.
    const OF_ROW: f64;
    /// The smallest number above 0: what is smaller cannot be told from it, however small its terms.
    const SMALLEST: f64;
    fn of(x: f64) -> Self;
    fn to(self) -> f64;
}
macro_rules! elements {
    ($($t:ident $of_terms:expr, $of_row:expr, $smallest:expr, $of:expr, $to:expr;)*) => { $(
        impl Element for $t {
            const OF_TERMS: f64 = $of_terms;
            const OF_ROW: f64 = $of_row;
            const SMALLEST: f64 = $smallest;
            fn of(x: f64) -> Self {
                ($of)(x)
            }
            fn to(self) -> f64 {
                ($to)(self)
            }
        }
    )* };
}
elements! {
    f16 1.5e-3, 1e-3, 1.0 / (1 << 24) as f64, f16::from_f64, f16::to_f64;
    bf16 1.2e-2, 8e-3, 1e-40, bf16::from_f64, bf16::to_f64;
    f32 2e-6, 2e-6, 2e-45, |x: f64| x as f32, f64::from;
}

/// Features by a hash of their place, from -1 to 1.
pub(crate) fn number(place: usize, seed: u64) -> f64 {
    let mut x = (place as u64).wrapping_add(seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((x >> 40) as f64) / f64::from(1 << 23) - 1.0
}

/// A graph, on the device too, and the rows whose result is compared.
pub(crate) struct Subject<'a> {
    pub name: &'a str,
    pub csr: Csr,
    pub lists: DeviceCsr,
    /// For calls through the front.
    pub matrix: Matrix<Cuda>,
    pub rows: Vec<usize>,
}

impl<'a> Subject<'a> {
    /// Loads a graph, of which about so many rows are to be compared.
    ///
    /// # Errors
    /// A graph that cannot be loaded, or is no square matrix with entries; out of memory.
    pub fn load(bench: &Bench<'_>, name: &'a str, checked_rows: usize) -> Result<Self> {
        Self::of(bench, name, generator(name).parse::<GraphSource>()?.load(&LoadOptions::default())?.csr, checked_rows)
    }
    /// A pattern that is there already, of which about so many rows are to be compared.
    ///
    /// # Errors
    /// No square matrix with entries; out of memory.
    pub fn of(bench: &Bench<'_>, name: &'a str, csr: Csr, checked_rows: usize) -> Result<Self> {
        ensure!(csr.is_square() && csr.nnz() > 0, "{name} is not a square matrix with entries");
        let step = csr.nrows().div_ceil(checked_rows).max(1);
        let rows = (0..csr.nrows()).step_by(step).chain(csr.max_degree_row().map(|r| r as usize)).collect();
        let matrix = Matrix::new(&bench.cuda, &csr, None, FormatKind::Csr)?;
        Ok(Self { name, lists: DeviceCsr::upload(&bench.device, &csr)?, matrix, rows, csr })
    }
}

impl Bench<'_> {
    /// Pseudo-random features, here and on the device.
    pub fn features<T: Element>(&self, rows: usize, columns: usize, seed: u64) -> Result<(Vec<T>, Buffer<T>)> {
        let host: Vec<T> = (0..rows * columns).map(|k| T::of(number(k, seed))).collect();
        let there = self.device.upload(&host)?;
        Ok((host, there))
    }
    /// Features as the front takes them.
    pub fn dense<T: Element>(&self, host: &[T], columns: usize) -> Result<Dense<Cuda, T>> {
        Ok(Dense::from_slice(&self.cuda, host.len() / columns, columns, host)?)
    }
}

/// A family of operations that is measured.
pub(crate) trait Measure {
    /// A line of the report.
    type Line: Serialize;
    /// The heading of the table, before the columns of the front and after them.
    const HEADER: [&'static str; 2];
    /// Rows whose result is compared.
    const CHECKED_ROWS: usize;
    /// What an error names beside the graph.
    fn name(&self) -> String;
    fn measure<T: Element>(&self, bench: &Bench<'_>, subject: &Subject<'_>, columns: usize) -> Result<Vec<Self::Line>>;
    /// The line as the table prints it.
    fn line(line: &Self::Line) -> String;
}

/// The generator of a graph that goes by a name of its own.
pub(crate) fn generator(name: &str) -> &str {
    match name {
        "cora" => "skew:2708:5500",
        "mesh200k" => "mesh:50x50x80",
        "er100k" => "urand:100000:16",
        "rmat17" => "kron:17",
        "grid1k" => "grid:1000x1000",
        "rmat21" => "kron:21",
        other => other,
    }
}

/// Measures on every graph and prints a table.
///
/// # Errors
/// No GPU, a graph that cannot be loaded, a result that differs from `f64`.
pub(crate) fn run<M: Measure>(family: &M, graphs: &[String], options: &Options) -> Result<()> {
    let bench = Bench::open(&options.timing)?;
    let (mut all, mut failed) = (Vec::new(), 0);
    println!("{}{}{}", M::HEADER[0], front::HEADER, M::HEADER[1]);
    for name in graphs {
        let subject = Subject::load(&bench, name, M::CHECKED_ROWS)?;
        for &columns in &options.features {
            for kind in &options.types {
                let found = match kind {
                    Type::F16 => family.measure::<f16>(&bench, &subject, columns),
                    Type::Bf16 => family.measure::<bf16>(&bench, &subject, columns),
                    Type::F32 => family.measure::<f32>(&bench, &subject, columns),
                };
                match found.with_context(|| format!("{} on {name}, {columns} columns of {kind:?}", family.name())) {
                    Ok(found) => {
                        found.iter().for_each(|line| println!("{}", M::line(line)));
                        all.extend(found);
                    }
                    Err(error) => {
                        eprintln!("{error:#}");
                        failed += 1;
                    }
                }
            }
        }
    }
    bench.report(&all)?;
    ensure!(failed == 0, "{failed} measurements failed");
    Ok(())
}
