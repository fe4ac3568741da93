//! The bench for people: medians by layout, and on a GPU how far from its limits and how far before cuSPARSE they are.

use super::{Bench, Environment, Measured};
use bitgraph_measure::median;
use std::fmt::Write;

/// The text.
pub fn describe(bench: &Bench) -> String {
    let runs = if bench.amortize == 1 { "runs and their building" } else { "runs" };
    let mut text = format!(
        "{}: {} vertices, {} entries; {}, {} thread{}, medians of {} {runs} in ms; results agree\n",
        bench.graph,
        bench.nodes,
        bench.edges,
        bench.precision,
        bench.threads,
        if bench.threads == 1 { "" } else { "s" },
        bench.runs
    );
    let mut layouts: Vec<&str> = Vec::new();
    for m in &bench.results {
        if !layouts.contains(&m.layout.as_str()) {
            layouts.push(&m.layout);
        }
    }
    let _ = write!(text, "{:10}", "");
    for layout in &layouts {
        let _ = write!(text, " {layout:>9}");
    }
    text.push_str("  chosen\n");
    for group in bench.results.chunk_by(|a, b| a.operation == b.operation) {
        row(&mut text, group[0].operation, &layouts, group, |m| Some(median(&m.seconds)));
        let _ = match group.iter().find(|m| m.layout == "auto") {
            Some(auto) => writeln!(text, "  {}, order {}", auto.format, auto.reorder),
            None => writeln!(text),
        };
        if let Some(device) = &bench.device
            && group.iter().any(|m| m.mean_s.is_some())
        {
            row(&mut text, &format!("  mean/{}", device.launches), &layouts, group, |m| m.mean_s);
            text.push('\n');
            row(&mut text, "  as graph", &layouts, group, |m| m.graph_s);
            text.push('\n');
        }
    }
    if let Some(device) = &bench.device {
        on_device(&mut text, bench, device);
    }
    text
}

/// A time for each layout, aligned under its name.
fn row(text: &mut String, name: &str, layouts: &[&str], group: &[Measured], time: impl Fn(&Measured) -> Option<f64>) {
    let _ = write!(text, "{name:10}");
    for layout in layouts {
        let found = group.iter().find(|m| m.layout == *layout).and_then(&time);
        let _ = match found {
            Some(seconds) => write!(text, " {:>9.4}", seconds * 1e3),
            None => write!(text, " {:>9}", "-"),
        };
    }
}

fn on_device(text: &mut String, bench: &Bench, device: &Environment) {
    let clock = device.sm_mhz.map_or(String::new(), |mhz| format!(", {mhz} MHz"));
    let release = device.driver_release.as_deref().unwrap_or("release unknown");
    let _ = writeln!(
        text,
        "\n{}, compute capability {}{clock}, driver {release} (CUDA {}), commit {}",
        device.name,
        device.compute,
        device.driver,
        bench.commit.as_deref().unwrap_or("unknown")
    );
    let _ = writeln!(
        text,
        "limits measured: copy {:.0} GB/s, gather {:.1} G/s, atomic {:.1} G/s; cuSPARSE {}",
        device.copy_gb_per_s,
        device.gather_g_per_s,
        device.atomic_g_per_s,
        device.cusparse.as_deref().unwrap_or("is not installed")
    );
    let [alone, row, graph] = device.empty_s.map(|s| s * 1e3);
    let _ = writeln!(text, "a kernel that does nothing takes {alone:.4} ms, {row:.4} in a row of launches, {graph:.4} in a graph");
    let _ = writeln!(text, "{:10} {:>9} {:>9} {:>9} {:>10} {:>8}  cuSPARSE/ours", "", "layout", "ms", "GB/s", "G edges/s", "of limit");
    for group in bench.results.chunk_by(|a, b| a.operation == b.operation) {
        let peer = group.iter().find(|m| m.layout == "cusparse");
        let ours = || group.iter().filter(|m| m.layout != "cusparse");
        let minimum = ours().min_by(|a, b| median(&a.seconds).total_cmp(&median(&b.seconds)));
        let auto = ours().find(|m| m.layout == "auto");
        // The planner's choice, and what would have been faster.
        let shown = auto.into_iter().chain(minimum.filter(|l| auto.is_none_or(|a| a.layout != l.layout)));
        for m in shown {
            let of_limit = m.of_limit.map_or(String::new(), |f| format!("{:.0} %", 100.0 * f));
            let _ = write!(
                text,
                "{:10} {:>9} {:>9.4} {:>9.1} {:>10.3} {of_limit:>8} of {:6}",
                m.operation,
                m.layout,
                median(&m.seconds) * 1e3,
                m.gb_per_s,
                m.edges_per_s / 1e9,
                m.limit.unwrap_or("")
            );
            if let Some(peer) = peer {
                let _ = write!(text, " {:.2}", median(&peer.seconds) / median(&m.seconds));
                if let (Some(theirs), Some(mine)) = (peer.mean_s, m.mean_s) {
                    let _ = write!(text, ", in a row {:.2}", theirs / mine);
                }
                if let (Some(theirs), Some(mine)) = (peer.graph_s, m.graph_s) {
                    let _ = write!(text, ", as graph {:.2}", theirs / mine);
                }
            }
            text.push('\n');
        }
    }
}
