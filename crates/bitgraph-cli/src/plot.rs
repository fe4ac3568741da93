//! `info --plot`: the spy plot and the degree distribution, as one SVG.
//!
//! Invariant: the picture's size is bounded whatever the graph's: entries are counted in a fixed number of cells, and runs of
//! cells of one shade are one rectangle.

use crate::failure::{Failure, Result};
use crate::files;
use crate::progress::Reporter;
use bitgraph::sparse::{Csr, parallel};
use plotters::coord::Shift;
use plotters::prelude::*;
use std::path::Path;

/// Cells along the longer side of the spy plot.
const CELLS: usize = 200;
/// Shades of grey between none and full.
const SHADES: f64 = 8.0;
const SIZE: (u32, u32) = (1120, 560);

/// Refuses, before any work, a name that says another kind of picture.
pub fn check_name(path: Option<&Path>) -> Result<()> {
    match path {
        Some(path) if path.extension().is_none_or(|e| e != "svg") => {
            Err(Failure::usage(format_args!("--plot {}: the name must end in .svg", path.display())))
        }
        _ => Ok(()),
    }
}

/// Draws `csr` into `path`. `degrees` holds (degree, number of rows of it), ascending.
pub fn write(path: &Path, title: &str, csr: &Csr, degrees: &[(usize, u64)], reporter: &Reporter) -> Result<()> {
    let mut svg = String::new();
    draw(&mut svg, title, csr, degrees).map_err(|e| Failure::other(format_args!("the plot cannot be drawn: {e}")))?;
    files::write_file(path, svg.as_bytes(), reporter)
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn draw(svg: &mut String, title: &str, csr: &Csr, degrees: &[(usize, u64)]) -> Outcome {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(SIZE.1);
    spy(&left, title, csr)?;
    distribution(&right, degrees)?;
    root.present()?;
    Ok(())
}

/// Entries per cell, row of cells by row of cells. O(nnz), parallel.
fn cells(csr: &Csr, rows: usize, columns: usize) -> Vec<Vec<u64>> {
    let (n, m) = (csr.nrows().max(1), csr.ncols().max(1));
    parallel::collect(rows, |r| {
        let mut count = vec![0u64; columns];
        // Row i lies in the row of cells floor(i rows / n).
        for i in (r * n).div_ceil(rows)..((r + 1) * n).div_ceil(rows).min(csr.nrows()) {
            for &c in csr.row(i) {
                count[c as usize * columns / m] += 1;
            }
        }
        count
    })
}

fn spy(area: &DrawingArea<SVGBackend<'_>, Shift>, title: &str, csr: &Csr) -> Outcome {
    let (n, m) = (csr.nrows(), csr.ncols());
    let longer = n.max(m).max(1);
    let along = |size: usize| (size * CELLS.min(longer) / longer).max(1);
    let (rows, columns) = (along(n), along(m));
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(format!("{title}: {n} x {m}, {} entries", csr.nnz()), ("sans-serif", 15))
        .x_label_area_size(28)
        .y_label_area_size(56)
        .build_cartesian_2d(0..columns as i32, rows as i32..0)?;
    let scale = |cells: usize, size: usize| move |v: &i32| (*v as usize * size / cells).to_string();
    chart
        .configure_mesh()
        .disable_mesh()
        .x_labels(4)
        .y_labels(4)
        .x_label_formatter(&scale(columns, m))
        .y_label_formatter(&scale(rows, n))
        .draw()?;
    let counts = cells(csr, rows, columns);
    let room = (n as f64 / rows as f64) * (m as f64 / columns as f64);
    // The square root keeps sparse cells visible.
    let shade = |count: u64| if count == 0 { 0 } else { (SHADES * (count as f64 / room).sqrt()).ceil().clamp(2.0, SHADES) as u8 };
    for (r, row) in counts.iter().enumerate() {
        let mut start = 0;
        for run in row.chunk_by(|&a, &b| shade(a) == shade(b)) {
            let end = start + run.len();
            let level = shade(run[0]);
            if level > 0 {
                let grey = 255 - (f64::from(level) / SHADES * 255.0) as u8;
                let corners = [(start as i32, r as i32), (end as i32, r as i32 + 1)];
                chart.draw_series([Rectangle::new(corners, RGBColor(grey, grey, grey).filled())])?;
            }
            start = end;
        }
    }
    Ok(())
}

fn distribution(area: &DrawingArea<SVGBackend<'_>, Shift>, degrees: &[(usize, u64)]) -> Outcome {
    let points: Vec<(f64, f64)> = degrees.iter().filter(|d| d.0 > 0).map(|&(d, count)| (d as f64, count as f64)).collect();
    let most = |f: fn(&(f64, f64)) -> f64| points.iter().map(f).fold(1.0, f64::max) * 1.5;
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption("vertices by degree", ("sans-serif", 15))
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d((0.7..most(|p| p.0)).log_scale(), (0.7..most(|p| p.1)).log_scale())?;
    let whole = |v: &f64| if *v >= 1e6 { format!("{v:.0e}") } else { format!("{v:.0}") };
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("out-degree")
        .y_desc("vertices")
        .x_label_formatter(&whole)
        .y_label_formatter(&whole)
        .draw()?;
    chart.draw_series(points.into_iter().map(|p| Circle::new(p, 2, BLUE.filled())))?;
    Ok(())
}
