//! Times the forms of PageRank on generated graphs: `lab_rank [--runs N] [--only TEXT] [GENERATOR...]`.
//!
//! Twenty iterations in f32; every run is held against plain loops in f64. A line is
//! `graph form milliseconds min build-milliseconds L1-error layout`.

use bitgraph_backend::PageRankConfig;
use bitgraph_cuda::DeviceCsr;
use bitgraph_cuda::device::Device;
use bitgraph_cuda::fused::pagerank::{Form, RankLayout, TileChoice, TileForm};
use bitgraph_cuda::spmv::Pattern;
use bitgraph_generate::{GenerateControl, Generator};
use bitgraph_sparse::Csr;
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
    let mut add = |name: String, form, groups, columns, lane_entries, sorted, resident| {
        all.push((name, Form::Shared(TileChoice { form, groups, columns, lane_entries, sorted }, resident)));
    };
    if csr.nrows() < 20_000 {
        for groups in [1, 2, 4, 8] {
            for lanes in [4, 8, 16] {
                add(format!("cluster {groups} lanes {lanes}"), TileForm::Cluster, groups, 1, lanes, true, true);
            }
        }
    }
    add("window natural".to_string(), TileForm::Window, sms, 1, 64, false, true);
    add("window sorted".to_string(), TileForm::Window, sms, 1, 64, true, true);
    for columns in [1, 2, 3, 4, 5, 6] {
        for lanes in [16, 32, 64] {
            add(format!("grid {columns} lanes {lanes}"), TileForm::Grid, sms / columns, columns, lanes, true, true);
        }
    }
    all
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut runs, mut only, mut graphs) = (15, String::new(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--runs" => runs = arguments.next().unwrap_or_default().parse()?,
            "--only" => only = arguments.next().unwrap_or_default(),
            _ => graphs.push(argument),
        }
    }
    let device = Device::open(0)?;
    for text in graphs {
        let csr = text.parse::<Generator>()?.generate(&GenerateControl::default())?;
        let wanted = reference(&csr, 20);
        println!("# {text}: {} vertices, {} arcs", csr.nrows(), csr.nnz());
        let out = DeviceCsr::upload(&device, &csr)?;
        let Some(pattern) = Pattern::of(&out) else { continue };
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
            if matches!(form, Form::Shared(..)) && explain.starts_with("rows") {
                continue;
            }
            let tolerances: &[f64] = if name == "auto" || name == "general" { &[0.0, 1e-30] } else { &[0.0] };
            for &tolerance in tolerances {
                let config = PageRankConfig { tolerance, max_iterations: 20, ..PageRankConfig::default() };
                let (mut times, mut error) = (Vec::new(), 0.0f64);
                for _ in 0..runs + 2 {
                    let found = layout.run::<f32>(&device, &config)?;
                    times.push(device.last_run_seconds().unwrap_or(f64::NAN) * 1e3);
                    error = error.max(found.scores.iter().zip(&wanted).map(|(a, b)| (f64::from(*a) - b).abs()).sum());
                }
                times.drain(..2);
                times.sort_by(f64::total_cmp);
                let right = if error < 1e-4 { "right" } else { "WRONG" };
                let watched = if tolerance > 0.0 { " watched" } else { "" };
                println!("{text}\t{name}{watched}\t{:.4}\tmin {:.4}\tbuild {build:.2}\t{right} {error:.1e}\t{explain}", times[times.len() / 2], times[0]);
            }
        }
    }
    Ok(())
}
