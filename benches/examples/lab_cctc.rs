//! Times every form of connected components and of triangle counting on a device, each checked against plain loops.
//!
//! `lab_cctc cc|tc [GENERATOR...]`; prints one line a form: algorithm, graph, form, median and least ms on the device, ms to build.

use bitgraph::backend::{CcConfig, TcConfig};
use bitgraph::cuda::device::Device;
use bitgraph::cuda::fused::{cc, tc};
use bitgraph::cuda::{DeviceCsr, Result};
use bitgraph::generate::{GenerateControl, Generator, mix64};
use bitgraph::sparse::{Coo, Csr, Duplicates};
use bitgraph_measure::Clock;
use std::time::Instant;

const RUNS: usize = 21;
/// Runs of graphs beyond this many entries.
const FEW_RUNS: usize = 7;
const LARGE: usize = 200_000_000;
const GRAPHS: [&str; 12] = [
    "skew:2708:5500",
    "mesh:50x50x80",
    "urand:100000:16",
    "kron:17",
    "grid:1000x1000",
    "kron:21",
    "grid:1000x1000@1",
    "urand:1000000:1",
    "path:1000000@1",
    "er:1000000:600000",
    "er:1000000:1300000",
    "tree:1000000",
];

type Failure = Box<dyn std::error::Error>;

fn graph(text: &str) -> std::result::Result<Csr, Failure> {
    if let Some(rest) = text.strip_prefix("path:") {
        let (n, scattered) = match rest.strip_suffix("@1") {
            Some(n) => (n.parse::<u64>()?, true),
            None => (rest.parse::<u64>()?, false),
        };
        // 611953 is prime.
        let at = |v: u64| if scattered { (v * 611_953 % n) as u32 } else { v as u32 };
        let (rows, columns) = (1..n).map(|v| (at(v - 1), at(v))).unzip();
        return Ok(Coo { mirrored: true, ..Coo::pattern(n as usize, n as usize, rows, columns) }.into_csr(Duplicates::First)?.0);
    }
    let mixed = |i: u64, n: u64| (mix64(i) % n) as u32;
    if let Some(rest) = text.strip_prefix("er:") {
        let (n, m) = rest.split_once(':').ok_or("er:VERTICES:EDGES")?;
        let (n, m) = (n.parse::<u64>()?, m.parse::<u64>()?);
        let (rows, columns) = (0..m).map(|i| (mixed(2 * i, n), mixed(2 * i + 1, n))).unzip();
        return Ok(Coo { mirrored: true, ..Coo::pattern(n as usize, n as usize, rows, columns) }.into_csr(Duplicates::First)?.0);
    }
    if let Some(n) = text.strip_prefix("tree:") {
        // Each vertex under a random earlier one, numbered backwards so that first neighbours tell little.
        let n = n.parse::<u64>()?;
        let (rows, columns) = (1..n).map(|v| ((n - 1 - v) as u32, (n - 1) as u32 - mixed(v, v))).unzip();
        return Ok(Coo { mirrored: true, ..Coo::pattern(n as usize, n as usize, rows, columns) }.into_csr(Duplicates::First)?.0);
    }
    Ok(text.parse::<Generator>()?.generate(&GenerateControl::default())?)
}

fn labels(graph: &Csr) -> Vec<u32> {
    fn root(above: &mut [u32], mut v: u32) -> u32 {
        while above[v as usize] != v {
            above[v as usize] = above[above[v as usize] as usize];
            v = above[v as usize];
        }
        v
    }
    let mut above: Vec<u32> = (0..graph.nrows() as u32).collect();
    for v in 0..graph.nrows() {
        for &w in graph.row(v).iter().take_while(|&&w| (w as usize) < v) {
            let (a, b) = (root(&mut above, v as u32), root(&mut above, w));
            above[a.max(b) as usize] = a.min(b);
        }
    }
    (0..graph.nrows() as u32).map(|v| root(&mut above, v)).collect()
}

/// Median and least of the device's times.
fn timed(device: &Device, runs: usize, mut run: impl FnMut() -> Result<()>) -> Result<(f64, f64)> {
    let (clock, mut times) = (Clock::of(Some(device)), Vec::new());
    for i in 0..runs + 2 {
        let seconds = clock.run(&mut run)?.seconds;
        if i >= 2 {
            times.push(seconds * 1e3);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok((times[runs / 2], times[0]))
}

fn built<L>(device: &Device, mut build: impl FnMut() -> Result<Option<L>>) -> Result<(Option<L>, f64)> {
    drop(build()?);
    device.synchronize()?;
    let start = Instant::now();
    let layout = build()?;
    device.synchronize()?;
    Ok((layout, start.elapsed().as_secs_f64() * 1e3))
}

fn components(device: &Device, name: &str, host: &Csr, out: &DeviceCsr, runs: usize) -> std::result::Result<(), Failure> {
    let want = labels(host);
    let config = CcConfig::default();
    let auto = cc::Options::default();
    let variants: Vec<(String, cc::Options)> = [("auto".to_string(), auto)]
        .into_iter()
        .chain([1024, 512].map(|t| (format!("general {t}"), cc::Options { form: cc::Form::General, threads: Some(t), ..auto })))
        .chain([false, true].into_iter().flat_map(|plain| {
            [false, true].map(|middle| {
                let options = cc::Options { form: cc::Form::Shared, middle: Some(middle), plain, ..auto };
                (format!("shared{}{}", if middle { " middle" } else { "" }, if plain { " plain" } else { "" }), options)
            })
        }))
        .chain([1024, 512].map(|t| (format!("memory {t}"), cc::Options { form: cc::Form::Memory, threads: Some(t), ..auto })))
        .chain([cc::Form::Block, cc::Form::Ascent].map(|form| (format!("{form:?}"), cc::Options { form, ..auto })))
        .collect();
    for (form, options) in variants {
        let (layout, build) = built(device, || cc::CcLayout::build_as(device, out, None, options))?;
        let Some(layout) = layout else { continue };
        if options.form != cc::Form::Auto && layout.form() != options.form || options.form == cc::Form::Block && host.nnz() > 1 << 20 {
            continue;
        }
        let right = layout.run(device, out, None, &config)?.labels == want;
        let (median, least) = timed(device, runs, || layout.run(device, out, None, &config).map(drop))?;
        println!(
            "cc {name:18} {form:20} {:8} {median:9.4} {least:9.4} build {build:8.3}{}",
            format!("{:?}", layout.form()),
            if right { "" } else { "  WRONG" }
        );
    }
    Ok(())
}

fn triangles(device: &Device, name: &str, out: &DeviceCsr, runs: usize) -> std::result::Result<(), Failure> {
    let config = TcConfig::default();
    let auto = tc::Options::default();
    let general = tc::TcLayout::build_as(device, out, tc::Options { form: tc::Form::General, ..auto })?;
    let want = general.map(|l| l.run(device, &config)).transpose()?;
    let hubs = |k, low, whole| tc::Options { form: tc::Form::Hubs, hubs: Some(k), low: Some(low), whole: Some(whole) };
    let variants: Vec<(String, tc::Options)> = [tc::Form::Auto, tc::Form::General, tc::Form::Thread, tc::Form::Warp]
        .into_iter()
        .map(|form| (format!("{form:?}"), tc::Options { form, ..auto }))
        .chain([8192, 16384, 32768, 65536].map(|k| (format!("hubs {k}"), hubs(k, k, 64))))
        .chain([1024, 2048, 4096].into_iter().flat_map(|low| {
            [16384, 32768].into_iter().flat_map(move |k| [32, 64].map(|whole| (format!("hubs {k} {low} {whole}"), hubs(k, low, whole))))
        }))
        .collect();
    for (form, options) in variants {
        let (layout, build) = built(device, || tc::TcLayout::build_as(device, out, options))?;
        let Some(layout) = layout else { continue };
        if options.form != tc::Form::Auto && layout.form() != options.form {
            continue;
        }
        let got = layout.run(device, &config)?;
        let runs = if layout.form() == tc::Form::General { runs.min(5) } else { runs };
        let (median, least) = timed(device, runs, || layout.run(device, &config).map(drop))?;
        println!(
            "tc {name:18} {form:20} {:8} {median:9.4} {least:9.4} build {build:8.3} {}{}",
            format!("{:?}", layout.form()),
            got.triangles,
            if Some(got) == want { "" } else { "  WRONG" }
        );
    }
    Ok(())
}

fn main() -> std::result::Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let algorithm = arguments.next().unwrap_or_default();
    let mut graphs: Vec<String> = arguments.collect();
    if graphs.is_empty() {
        graphs = GRAPHS.map(String::from).to_vec();
    }
    let device = Device::open(0)?;
    println!("{}", device.properties().name);
    for name in graphs {
        let host = graph(&name)?;
        let out = DeviceCsr::upload(&device, &host)?;
        let runs = if host.nnz() > LARGE { FEW_RUNS } else { RUNS };
        if algorithm != "tc" {
            components(&device, &name, &host, &out, runs)?;
        }
        if algorithm != "cc" {
            triangles(&device, &name, &out, runs)?;
        }
    }
    Ok(())
}
