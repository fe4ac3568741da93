//! `cargo xtask chart`: the measured ratios to peers as a picture, `docs/ratios.svg`, and as the table at the head of the README.
//!
//! Invariant: `benches/data/ratios.csv` is the only source of these numbers; each row has the command that measured it.

use crate::run;
use anyhow::{Context, Result, anyhow, bail};
use plotters::prelude::*;
use std::fmt::Write;

const DATA: &str = "benches/data/ratios.csv";
const PICTURE: &str = "docs/ratios.svg";
const HEADER: &str = "algorithm,graph,backend,peer,ratio,command";
/// The table of the README is between these lines.
const MARKS: [&str; 2] = ["<!-- ratios: cargo xtask chart -->", "<!-- end of ratios -->"];

/// A measured ratio: the peer's time over ours.
#[derive(Debug, PartialEq)]
struct Row<'a> {
    algorithm: &'a str,
    graph: &'a str,
    backend: &'a str,
    peer: &'a str,
    ratio: f64,
    command: &'a str,
}

pub fn run(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        bail!("usage: cargo xtask chart");
    }
    let (data, picture, readme) = (run::root().join(DATA), run::root().join(PICTURE), run::root().join("README.md"));
    let text = std::fs::read_to_string(&data).with_context(|| format!("cannot read {DATA}"))?;
    let rows = parse(&text)?;
    if rows.is_empty() {
        bail!("{DATA} has no rows; `cargo xtask bench` measures them");
    }
    let page = std::fs::read_to_string(&readme).context("cannot read README.md")?;
    let page = replaced(&page, &table(&rows)).with_context(|| format!("README.md lacks the lines `{}` and `{}`", MARKS[0], MARKS[1]))?;
    let svg = draw(&rows).map_err(|error| anyhow!("the chart cannot be drawn: {error}"))?;
    std::fs::create_dir_all(picture.with_file_name("")).context("cannot make the folder of the chart")?;
    std::fs::write(&picture, svg).with_context(|| format!("cannot write {PICTURE}"))?;
    std::fs::write(&readme, page).context("cannot write README.md")?;
    println!("chart: {} ratios in {PICTURE} and README.md", rows.len());
    Ok(())
}

/// The rows; lines that begin with `#` are comments. The command is the last field, and may hold commas.
fn parse(text: &str) -> Result<Vec<Row<'_>>> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
    if lines.next().map(|(_, line)| line) != Some(HEADER) {
        bail!("{DATA} does not begin with the columns {HEADER}");
    }
    let mut rows = Vec::new();
    for (number, line) in lines {
        let place = format!("{DATA}:{}", number + 1);
        let fields: Vec<&str> = line.splitn(6, ',').collect();
        let &[algorithm, graph, backend, peer, ratio, command] = &fields[..] else {
            bail!("{place}: {} fields where {HEADER} are needed", fields.len());
        };
        let found = ratio.parse::<f64>().ok().filter(|r| r.is_finite() && *r > 0.0);
        let ratio = found.with_context(|| format!("{place}: the ratio {ratio:?} is no positive number"))?;
        if command.is_empty() {
            bail!("{place}: the command that measured it is missing");
        }
        rows.push(Row { algorithm, graph, backend, peer, ratio, command });
    }
    Ok(rows)
}

/// The picture, the ratios as Markdown (a line for an algorithm and a peer, a column for a graph), and under them the commands, each once.
fn table(rows: &[Row<'_>]) -> String {
    let mut graphs: Vec<&str> = Vec::new();
    let mut lines: Vec<(&str, &str, &str)> = Vec::new();
    for row in rows {
        if !graphs.contains(&row.graph) {
            graphs.push(row.graph);
        }
        if !lines.contains(&(row.algorithm, row.backend, row.peer)) {
            lines.push((row.algorithm, row.backend, row.peer));
        }
    }
    let mut text = format!("![The time of peers over that of bitgraph]({PICTURE})\n\n| times as fast | on | beside |");
    for graph in &graphs {
        let _ = write!(text, " `{graph}` |");
    }
    text += &format!("\n|---|---|---|{}\n", "---:|".repeat(graphs.len()));
    for (algorithm, backend, peer) in lines {
        let _ = write!(text, "| {algorithm} | {backend} | {peer} |");
        for graph in &graphs {
            let ratio = |r: &&Row<'_>| (r.algorithm, r.backend, r.peer, r.graph) == (algorithm, backend, peer, *graph);
            let _ = write!(text, " {} |", rows.iter().find(ratio).map_or_else(String::new, |row| rounded(row.ratio)));
        }
        text.push('\n');
    }
    let mut commands: Vec<&str> = Vec::new();
    for row in rows {
        if !commands.contains(&row.command) {
            commands.push(row.command);
        }
    }
    text + "\n```sh\n" + &commands.join("\n") + "\n```\n"
}

/// Three digits.
fn rounded(ratio: f64) -> String {
    let digits = if ratio >= 100.0 { 0 } else { usize::from(ratio < 100.0) + usize::from(ratio < 10.0) };
    format!("{ratio:.digits$}")
}

/// The page with another table between the marks.
fn replaced(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(MARKS[0])?;
    let (_, after) = rest.split_once(MARKS[1])?;
    Some(format!("{before}{}\n{table}{}{after}", MARKS[0], MARKS[1]))
}

/// A bar for each row, on a logarithmic scale around 1.
fn draw(rows: &[Row<'_>]) -> Result<String, Box<dyn std::error::Error>> {
    const BAR: u32 = 24;
    let mut svg = String::new();
    let (lowest, most) = rows.iter().fold((1.0f64, 1.0f64), |(a, b), row| (a.min(row.ratio), b.max(row.ratio)));
    let range = (lowest / 1.5).log10()..(most * 2.0).log10();
    let size = (960, 70 + BAR * rows.len() as u32);
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .margin(12)
            .caption("time of the peer / time of bitgraph", ("sans-serif", 15))
            .x_label_area_size(26)
            .y_label_area_size(330)
            .build_cartesian_2d(range, rows.len() as f64..0.0)?;
        let tick = |x: &f64| rounded(10f64.powf(*x));
        chart
            .configure_mesh()
            .disable_y_axis()
            .disable_y_mesh()
            .label_style(("sans-serif", 12))
            .x_label_formatter(&tick)
            .light_line_style(TRANSPARENT)
            .draw()?;
        for (at, row) in rows.iter().enumerate() {
            let (end, middle) = (row.ratio.log10(), at as f64 + 0.5);
            let colour = if row.ratio >= 1.0 { RGBColor(46, 110, 166) } else { RGBColor(190, 90, 60) };
            chart.draw_series([Rectangle::new([(0.0, middle - 0.35), (end, middle + 0.35)], colour.filled())])?;
            let (x, y) = chart.backend_coord(&(end.max(0.0), middle));
            root.draw(&Text::new(rounded(row.ratio), (x + 6, y - 6), ("sans-serif", 12)))?;
            let label = format!("{} {} ({}) / {}", row.algorithm, row.graph, row.backend, row.peer);
            root.draw(&Text::new(label, (12, y - 6), ("sans-serif", 12)))?;
        }
        root.present()?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "# A sample.\nalgorithm,graph,backend,peer,ratio,command\n\
                          bfs,a,cpu,p,12.345,bench --graphs a,b\ntc,b,cpu,q,0.5,bench --graphs a,b\n";

    #[test]
    fn rows_become_a_table_and_a_picture() {
        let rows = parse(SAMPLE).unwrap();
        assert_eq!((rows.len(), rows[0].command, rows[1].ratio), (2, "bench --graphs a,b", 0.5));
        let text = table(&rows);
        assert!(
            text.contains("| beside | `a` | `b` |")
                && text.contains("| bfs | cpu | p | 12.3 |  |")
                && text.contains("| tc | cpu | q |  | 0.50 |")
        );
        assert_eq!(text.matches("bench --graphs a,b").count(), 1);
        let svg = draw(&rows).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("12.3") && svg.contains("tc b (cpu) / q"));
        let page = format!("head\n{}\nold\n{}\ntail", MARKS[0], MARKS[1]);
        assert_eq!(replaced(&page, "new\n"), Some(format!("head\n{}\nnew\n{}\ntail", MARKS[0], MARKS[1])));
        assert_eq!(replaced("no marks", "new"), None);
    }

    #[test]
    fn every_mistake_is_told() {
        for bad in
            ["", "a,b\n", &format!("{HEADER}\nbfs,a\n"), &format!("{HEADER}\nbfs,a,cpu,p,fast,c\n"), &format!("{HEADER}\nbfs,a,cpu,p,2,\n")]
        {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
