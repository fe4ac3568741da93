//! `gnn train --plot`: losses and accuracies of every epoch, and `gnn tune --plot`: the front of precisions, as one SVG each.
//!
//! Invariant: the picture's size is bounded: a run has at most so many points as the picture has columns.

use crate::failure::{Failure, Result};
use crate::files;
use crate::progress::Reporter;
use bitgraph::gnn::Epoch;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::path::Path;

const SIZE: (u32, u32) = (1120, 480);
/// Points of a line.
const POINTS: usize = 500;
const COLOURS: [RGBColor; 2] = [RGBColor(31, 119, 180), RGBColor(214, 98, 20)];

type Outcome = Result<(), Box<dyn std::error::Error>>;
type Line = (&'static str, fn(&Epoch) -> f64);

/// Draws the epochs of runs, each with its seed, into `path`.
pub fn write(path: &Path, title: &str, epochs: &[(u64, Epoch)], reporter: &Reporter) -> Result<()> {
    let mut svg = String::new();
    draw(&mut svg, title, epochs).map_err(|e| Failure::other(format_args!("the plot cannot be drawn: {e}")))?;
    files::write_file(path, svg.as_bytes(), reporter)
}

/// Draws named points, milliseconds and accuracy each, into `path`; those on the front are joined.
pub fn front(path: &Path, title: &str, points: &[(String, f64, f64, bool)], reporter: &Reporter) -> Result<()> {
    let mut svg = String::new();
    scatter(&mut svg, title, points).map_err(|e| Failure::other(format_args!("the plot cannot be drawn: {e}")))?;
    files::write_file(path, svg.as_bytes(), reporter)
}

fn scatter(svg: &mut String, title: &str, points: &[(String, f64, f64, bool)]) -> Outcome {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let span = |of: fn(&(String, f64, f64, bool)) -> f64| {
        let (low, high) = points.iter().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let room = (0.1 * (high - low)).max(1e-6);
        (low - room)..(high + room)
    };
    let mut chart = ChartBuilder::on(&root)
        .margin(12)
        .caption(title, ("sans-serif", 15))
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d(span(|p| p.1), span(|p| p.2))?;
    chart.configure_mesh().light_line_style(TRANSPARENT).x_desc("ms an inference").y_desc("accuracy of validation nodes").draw()?;
    let mut joined: Vec<(f64, f64)> = points.iter().filter(|p| p.3).map(|p| (p.1, p.2)).collect();
    joined.sort_by(|a, b| a.0.total_cmp(&b.0));
    chart.draw_series(LineSeries::new(joined, &COLOURS[1]))?;
    for (name, x, y, on_front) in points {
        let colour = COLOURS[usize::from(*on_front)];
        chart.draw_series([Circle::new((*x, *y), 4, colour.filled())])?;
        chart.draw_series([Text::new(name.clone(), (*x, *y), ("sans-serif", 12).into_font().color(&colour))])?;
    }
    root.present()?;
    Ok(())
}

fn draw(svg: &mut String, title: &str, epochs: &[(u64, Epoch)]) -> Outcome {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(SIZE.0 / 2);
    let losses: [Line; 2] = [("training", |e| e.loss), ("validation", |e| e.scores.validation_loss)];
    let accuracies: [Line; 2] = [("validation", |e| e.scores.validation_accuracy), ("test", |e| e.scores.test_accuracy)];
    panel(&left, &format!("{title}: loss"), epochs, losses)?;
    panel(&right, "accuracy", epochs, accuracies)?;
    root.present()?;
    Ok(())
}

fn panel(area: &DrawingArea<SVGBackend<'_>, Shift>, title: &str, epochs: &[(u64, Epoch)], lines: [Line; 2]) -> Outcome {
    let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
    let last = epochs.iter().map(|(_, e)| e.epoch).max().unwrap_or(1).max(2);
    let highest = epochs.iter().flat_map(|(_, e)| lines.map(|(_, of)| finite(of(e)))).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(title, ("sans-serif", 15))
        .x_label_area_size(36)
        .y_label_area_size(48)
        .build_cartesian_2d(1..last, 0.0..(highest * 1.05).max(1e-6))?;
    chart.configure_mesh().light_line_style(TRANSPARENT).x_desc("epoch").draw()?;
    for (k, (name, of)) in lines.into_iter().enumerate() {
        for (r, run) in epochs.chunk_by(|a, b| a.0 == b.0).enumerate() {
            let every = run.len().div_ceil(POINTS);
            let points = run.iter().step_by(every.max(1)).map(|(_, e)| (e.epoch, finite(of(e))));
            let drawn = chart.draw_series(LineSeries::new(points, &COLOURS[k]))?;
            if r == 0 {
                drawn.label(name).legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], COLOURS[k]));
            }
        }
    }
    chart.configure_series_labels().border_style(TRANSPARENT).background_style(WHITE.mix(0.8)).draw()?;
    Ok(())
}
