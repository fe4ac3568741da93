//! Times the variants of shortest paths on generated graphs, each checked against a plain search:
//! `lab_sssp GRAPH ... [--runs N] [--only TEXT]`.

use bitgraph::backend::SsspConfig;
use bitgraph::cuda::device::Device;
use bitgraph::cuda::fused::sssp::{Arcs, Form, GeneralOptions, SsspLayout, SsspOptions, SweepOptions, TileOptions};
use bitgraph::generate::{GenerateControl, Generator};
use bitgraph::semiring::DType;
use bitgraph::sparse::Csr;
use bitgraph_measure::Clock;
use std::cmp::Reverse;
use std::time::Instant;

fn mix(x: u64) -> u64 {
    let mut x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// `hash:most` of the command line.
fn weights(csr: &Csr, most: u64) -> Vec<u32> {
    let weight = |u: u64, v: u64| 1 + (mix(u.min(v) << 32 | u.max(v)) % most) as u32;
    (0..csr.nrows()).flat_map(|u| csr.row(u).iter().map(move |&v| weight(u as u64, v.into()))).collect()
}

/// Dijkstra's search with a ring of buckets, one for each distance modulo 64.
fn reference(csr: &Csr, weights: &[u32], source: u32) -> Vec<u32> {
    let mut distances = vec![u32::MAX; csr.nrows()];
    distances[source as usize] = 0;
    let mut ring: Vec<Vec<u32>> = vec![Vec::new(); 64];
    ring[0].push(source);
    let (mut d, mut waiting) = (0u32, 1usize);
    while waiting > 0 {
        let bucket = std::mem::take(&mut ring[d as usize % 64]);
        waiting -= bucket.len();
        for v in bucket {
            if distances[v as usize] != d {
                continue;
            }
            for (&u, &w) in csr.row(v as usize).iter().zip(&weights[csr.row_range(v as usize)]) {
                if d + w < distances[u as usize] {
                    distances[u as usize] = d + w;
                    ring[(d + w) as usize % 64].push(u);
                    waiting += 1;
                }
            }
        }
        d += 1;
    }
    distances
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut names, mut runs, mut only) = (Vec::new(), 15, String::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--runs" => runs = args.next().unwrap_or_default().parse()?,
            "--only" => only = args.next().unwrap_or_default(),
            _ => names.push(arg),
        }
    }
    let device = Device::open(0)?;
    for name in names {
        let csr: Csr = name.parse::<Generator>()?.generate(&GenerateControl::default())?;
        let weights = weights(&csr, 63);
        let source = (0..csr.nrows() as u32).max_by_key(|&v| (csr.row(v as usize).len(), Reverse(v))).unwrap_or(0);
        let expected = reference(&csr, &weights, source);
        let offsets: Vec<u32> = (0..=csr.nrows()).map(|v| csr.offsets().get(v) as u32).collect();
        let arcs = Arcs {
            offsets: device.upload(&offsets)?,
            indices: device.upload(csr.indices())?,
            values: Some((DType::U32, device.upload(bytemuck::cast_slice::<u32, u8>(&weights))?)),
        };
        let try_out = |label: String, options: SsspOptions, delta: Option<f64>| -> Result<(), Box<dyn std::error::Error>> {
            if !label.contains(&only) {
                return Ok(());
            }
            let mut built = Vec::new();
            let mut layout = None;
            for _ in 0..3 {
                let start = Instant::now();
                layout = Some(SsspLayout::build(&device, arcs.clone(), None, options.clone())?);
                device.synchronize()?;
                built.push(start.elapsed().as_secs_f64() * 1e3);
            }
            let Some(layout) = layout else { return Ok(()) };
            if options.form.is_some_and(|f| f != layout.form()) {
                return Ok(());
            }
            let config = SsspConfig { source, delta, ..SsspConfig::default() };
            let clock = Clock::of(Some(&device));
            let mut times = Vec::new();
            let mut right = true;
            for _ in 0..runs + 2 {
                let run = clock.run(|| layout.run::<u32>(&device, &config))?;
                right &= run.result.distances == expected;
                times.push(run.seconds * 1e3);
            }
            times.drain(..2);
            times.sort_by(f64::total_cmp);
            built.sort_by(f64::total_cmp);
            let (median, least) = (times[times.len() / 2], times[0]);
            let verdict = if right { "ok" } else { "WRONG" };
            println!(
                "{name:22} {label:34} {median:9.4} min {least:9.4} build {:9.3} {:?} steps {} {verdict}",
                built[0],
                layout.form(),
                layout.steps()
            );
            Ok(())
        };
        let report = |label: &str, options: SsspOptions, delta: Option<f64>| {
            if let Err(e) = try_out(label.to_string(), options, delta) {
                println!("{name:22} {label:34} {e}");
            }
        };
        report("auto", SsspOptions::default(), None);
        let plain = SsspOptions { form: Some(Form::General), ..SsspOptions::default() };
        report("general", plain.clone(), None);
        let degree = csr.nnz() as f64 / csr.nrows().max(1) as f64;
        for lanes in [1, 4, 8, 16, 32] {
            for breadth in [8.0, 32.0, 128.0] {
                let general = GeneralOptions { lanes, piece: 8 * lanes.max(4), delta: breadth * 32.0 / degree };
                report(&format!("general l{lanes} x{breadth}"), SsspOptions { general: Some(general), ..plain.clone() }, None);
            }
        }
        let sms = device.properties().sms;
        for threads in [256, 512, 1024] {
            for lanes in [2, 4] {
                for (breadth, period) in
                    [(0.5, 1), (1.0, 1), (1.0, 2), (2.0, 1), (4.0, 1), (8.0, 1), (8.0, 2), (16.0, 1), (16.0, 2), (32.0, 2)]
                {
                    let tile = Some(TileOptions { parts: sms, threads, breadth, period, lanes });
                    let options = SsspOptions { form: Some(Form::Tiles), tile, ..SsspOptions::default() };
                    report(&format!("tiles {threads} l{lanes} b{breadth} p{period}"), options, None);
                }
                let tile = Some(TileOptions { parts: 1, threads, breadth: 0.0, period: 1, lanes });
                report(
                    &format!("one tile {threads} l{lanes}"),
                    SsspOptions { form: Some(Form::OneTile), tile, ..SsspOptions::default() },
                    None,
                );
            }
        }
        for (rest, by_degree) in [(1, false), (2, false), (4, false), (1, true), (2, true), (4, true)] {
            for (long_step, short_step) in [(32, 8), (8, 8), (16, 16), (32, 16), (64, 16)] {
                let sweep = Some(SweepOptions { long_step, short_step, rest, by_degree });
                let options = SsspOptions { form: Some(Form::Sweeps), sweep, ..SsspOptions::default() };
                report(&format!("sweeps {long_step} {short_step} rest {rest} {}", if by_degree { "sorted" } else { "" }), options, None);
            }
        }
    }
    Ok(())
}
