//! Times the forms of PageRank on generated graphs: `lab_rank [--runs N] [--only TEXT] [GENERATOR...]`; with `--spmv` those of SpMV.
//!
//! Twenty iterations in f32; every run is held against plain loops in f64. A line is
//! `graph form milliseconds min build-milliseconds L1-error layout`.

use bitgraph::backend::PageRankConfig;
use bitgraph::cuda::DeviceCsr;
use bitgraph::cuda::device::Device;
use bitgraph::cuda::fused::pagerank::{CoreChoice, Form, RankLayout, TileChoice, TileForm};
use bitgraph::cuda::spmv::{Pattern, SpmvForm, SpmvLayout};
use bitgraph::generate::{GenerateControl, Generator};
use bitgraph::sparse::Csr;
use bitgraph_measure::cusparse::CusparseSpmv;
use bitgraph_measure::{Clock, Launches};
use std::error::Error;
use std::time::Instant;

fn reference(csr: &Csr, iterations: u32) -> Vec<f64> {
    let n = csr.nrows();
    let mut x = vec![1.0 / n as f64; n];
    let mut shares = vec![0.0; n];
    for _ in 0..iterations {
        let mut lost = 0.0;
        for v in 0..n {
            let degree = csr.degree(v);
            shares[v] = if degree > 0 { 0.85 * x[v] / degree as f64 } else { 0.0 };
            lost += if degree > 0 { 0.0 } else { x[v] };
        }
        let base = (0.15 + 0.85 * lost) / n as f64;
        for (v, score) in x.iter_mut().enumerate() {
            *score = base + csr.row(v).iter().map(|&u| shares[u as usize]).sum::<f64>();
        }
    }
    x
}

fn forms(csr: &Csr, sms: u32) -> Vec<(String, Form)> {
    let mut all = vec![("auto".to_string(), Form::Auto), ("general".to_string(), Form::General)];
    if csr.nnz() > 20_000_000 {
        for (vertices, sweeps, cold_warps) in
            [(520, 3, 4), (520, 3, 6), (520, 3, 8), (520, 3, 12), (400, 2, 8), (400, 2, 12), (400, 2, 16), (600, 4, 8)]
        {
            for lane_entries in [32, 64] {
                let choice = CoreChoice { vertices: vertices * 1000, columns: 6, sweeps, cold_warps, lane_entries };
                all.push((format!("core {vertices}k x{sweeps} cold {cold_warps} lanes {lane_entries}"), Form::Core(choice)));
            }
        }
        return all;
    }
    if csr.nrows() < 22_000 {
        for lane_entries in [4, 8, 16] {
            let block =
                TileChoice { form: TileForm::Block, groups: 1, columns: 1, lane_entries, sorted: true, samples: 0, stretches: false };
            all.push((format!("block lanes {lane_entries}"), Form::Shared(block, true)));
            for (groups, stretches) in [2, 4, 8].into_iter().flat_map(|groups| [(groups, false), (groups, true)]) {
                let name = format!("cluster {groups} lanes {lane_entries}{}", if stretches { " stretches" } else { "" });
                all.push((name, Form::Shared(TileChoice { form: TileForm::Cluster, groups, stretches, ..block }, true)));
            }
        }
        return all;
    }
    let mut add = |name: String, form, groups, columns, lane_entries, sorted, samples| {
        all.push((name, Form::Shared(TileChoice { form, groups, columns, lane_entries, sorted, samples, stretches: false }, true)));
    };
    for samples in [0, 64, 128] {
        add(format!("window natural samples {samples}"), TileForm::Window, sms, 1, 64, false, samples);
        add(format!("window sorted samples {samples}"), TileForm::Window, sms, 1, 64, true, samples);
    }
    for columns in [3, 4, 5, 6, 7, 8] {
        for lanes in [32, 64] {
            for samples in [0, 64, 128, 256] {
                add(
                    format!("grid {columns} lanes {lanes} samples {samples}"),
                    TileForm::Grid,
                    sms / columns,
                    columns,
                    lanes,
                    true,
                    samples,
                );
            }
        }
    }
    all
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2] * 1e6
}

/// SpMV beside cuSPARSE: microseconds of a single product and of one of ten in a graph, and how often cuSPARSE's time these fit into.
fn spmv(device: &Device, graphs: &[String], runs: usize) -> Result<(), Box<dyn Error>> {
    let clock = Clock::of(Some(device));
    for text in graphs {
        let csr = text.parse::<Generator>()?.generate(&GenerateControl::default())?;
        let x: Vec<f32> = (0..csr.ncols()).map(|i| ((i * 2_654_435_761) % 1000 + 1) as f32 / 1000.0).collect();
        let wanted: Vec<f64> = (0..csr.nrows()).map(|i| csr.row(i).iter().map(|&c| f64::from(x[c as usize])).sum()).collect();
        let matrix = DeviceCsr::upload(device, &csr)?;
        let dx = device.upload(&x)?;
        let y = device.zeroed::<f32>(csr.nrows())?;
        let ones = device.upload(&vec![1.0f32; csr.nnz()])?;
        let mut peer = [f64::NAN; 2];
        if let Some(cusparse) = CusparseSpmv::new(device, &matrix, &x)? {
            for (slot, launches) in [Launches::One, Launches::Graph(10)].into_iter().enumerate() {
                let _ = cusparse.seconds(&clock, launches)?;
                peer[slot] = median((0..runs).map(|_| cusparse.seconds(&clock, launches)).collect::<Result<_, _>>()?);
            }
        }
        println!("# {text}: {} rows, {} entries; cuSPARSE single {:.2} us, of 10 {:.2} us", csr.nrows(), csr.nnz(), peer[0], peer[1]);
        for values in [false, true] {
            for form in [SpmvForm::Auto, SpmvForm::Rows, SpmvForm::Classes, SpmvForm::Columns, SpmvForm::Diagonals] {
                let Some(layout) = SpmvLayout::build_as(device, &matrix, values.then_some(&ones), form)? else { continue };
                if form == SpmvForm::Diagonals && !layout.explain().contains("diagonals") {
                    continue;
                }
                let time = |launches: Launches| -> Result<f64, Box<dyn Error>> {
                    let mut times = Vec::new();
                    for _ in 0..runs + 2 {
                        times.push(clock.seconds_of(launches, || layout.run(&dx, &y))?);
                    }
                    times.drain(..2);
                    Ok(median(times))
                };
                let (single, many) = (time(Launches::One)?, time(Launches::Graph(10))?);
                let error = y.to_vec()?.iter().zip(&wanted).map(|(a, b)| (f64::from(*a) - b).abs() / b.max(1e-30)).fold(0.0, f64::max);
                let right = if error < 1e-4 { "right" } else { "WRONG" };
                let kind = if values { "values" } else { "pattern" };
                println!(
                    "{text}\t{kind} {form:?}\t{single:.2}\t{many:.2}\tratio {:.2} {:.2}\t{right} {error:.1e}\t{}",
                    peer[0] / single,
                    peer[1] / many,
                    layout.explain()
                );
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut runs, mut only, mut graphs, mut products) = (15, String::new(), Vec::new(), false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--runs" => runs = arguments.next().unwrap_or_default().parse()?,
            "--only" => only = arguments.next().unwrap_or_default(),
            "--spmv" => products = true,
            _ => graphs.push(argument),
        }
    }
    let device = Device::open(0)?;
    if products {
        return spmv(&device, &graphs, runs);
    }
    for text in graphs {
        let csr = text.parse::<Generator>()?.generate(&GenerateControl::default())?;
        // Plain loops take too long on the largest: there the general form in f64 stands in.
        let small = csr.nnz() < 100_000_000;
        let mut wanted = if small { reference(&csr, 20) } else { Vec::new() };
        println!("# {text}: {} vertices, {} arcs", csr.nrows(), csr.nnz());
        let out = DeviceCsr::upload(&device, &csr)?;
        let Some(pattern) = Pattern::of(&out) else { continue };
        if !small {
            let config = PageRankConfig { tolerance: 0.0, max_iterations: 20, ..PageRankConfig::default() };
            wanted = RankLayout::build_as(&device, &pattern, &pattern, false, Form::General)?.run::<f64>(&device, &config)?.scores;
        }
        for (name, form) in forms(&csr, device.properties().sms).into_iter().filter(|(name, _)| name.contains(&only)) {
            device.synchronize()?;
            let (mut build, mut layout) = (f64::INFINITY, None);
            for _ in 0..2 {
                let start = Instant::now();
                layout = Some(RankLayout::build_as(&device, &pattern, &pattern, true, form)?);
                device.synchronize()?;
                build = build.min(start.elapsed().as_secs_f64() * 1e3);
            }
            let Some(layout) = layout else { continue };
            let explain = layout.explain();
            if matches!(form, Form::Shared(..) | Form::Core(..)) && explain.starts_with("rows") {
                continue;
            }
            let tolerances: &[f64] = if name == "auto" || name == "general" { &[0.0, 1e-30] } else { &[0.0] };
            for &tolerance in tolerances {
                let config = PageRankConfig { tolerance, max_iterations: 20, ..PageRankConfig::default() };
                let (mut times, mut error) = (Vec::new(), 0.0f64);
                for _ in 0..runs + 2 {
                    let timed = Clock::of(Some(&device)).run(|| layout.run::<f32>(&device, &config))?;
                    times.push(timed.seconds * 1e3);
                    let found = timed.result;
                    error = error.max(found.scores.iter().zip(&wanted).map(|(a, b)| (f64::from(*a) - b).abs()).sum());
                }
                times.drain(..2);
                times.sort_by(f64::total_cmp);
                let right = if error < 1e-4 { "right" } else { "WRONG" };
                let watched = if tolerance > 0.0 { " watched" } else { "" };
                println!(
                    "{text}\t{name}{watched}\t{:.4}\tmin {:.4}\tbuild {build:.2}\t{right} {error:.1e}\t{explain}",
                    times[times.len() / 2],
                    times[0]
                );
            }
        }
    }
    Ok(())
}
