//! Times the variants of breadth-first search on generated graphs: `lab_bfs [--runs N] [--only TEXT] [GENERATOR...]`.
//!
//! Every run's levels are held against a plain search on the host; a line is `graph variant milliseconds steps right|WRONG`.

use bitgraph::backend::{BfsConfig, BfsOutput};
use bitgraph::cuda::DeviceCsr;
use bitgraph::cuda::device::Device;
use bitgraph::cuda::fused::bfs::{BfsForm, BfsLayout, BfsOptions, BlockOptions, GridOptions, SlicesOptions};
use bitgraph::generate::{GenerateControl, Generator};
use bitgraph::sparse::Csr;
use bitgraph_measure::Clock;
use std::error::Error;
use std::time::Instant;

fn levels(csr: &Csr, source: u32) -> Vec<i32> {
    let mut level = vec![-1; csr.nrows()];
    let mut queue = vec![source];
    level[source as usize] = 0;
    let mut head = 0;
    while head < queue.len() {
        let u = queue[head];
        head += 1;
        for &v in csr.row(u as usize) {
            if level[v as usize] < 0 {
                level[v as usize] = level[u as usize] + 1;
                queue.push(v);
            }
        }
    }
    level
}

fn variants(csr: &Csr) -> Vec<(String, BfsOptions)> {
    let grid = GridOptions::default;
    let general = |name: &str, grid: GridOptions| (name.to_string(), BfsOptions { form: BfsForm::General, grid, ..BfsOptions::default() });
    let mut all = vec![("auto".to_string(), BfsOptions::default()), general("general", grid())];
    all.push(general("general first=no", GridOptions { first: false, ..grid() }));
    all.push(general("general chunk=64", GridOptions { chunk: 64, ..grid() }));
    all.push(general("general alone=0", GridOptions { alone_enter: 0, ..grid() }));
    all.push(general("general alone=256", GridOptions { alone_enter: 256, alone_leave: 768, ..grid() }));
    all.push(general("general alone=1024", GridOptions { alone_enter: 1024, alone_leave: 3072, ..grid() }));
    all.push(general("general flood=0", GridOptions { flood: 0, ..grid() }));
    all.push(general("general flood=2", GridOptions { flood: 2, ..grid() }));
    all.push(general("general flood=8", GridOptions { flood: 8, ..grid() }));
    all.push(general("general alpha=4", GridOptions { alpha: 4, ..grid() }));
    all.push(general("general alpha=40", GridOptions { alpha: 40, ..grid() }));
    all.push(general("general bits=shared", GridOptions { shared_bits_bytes: 128 << 10, ..grid() }));
    all.push(general("general batch=8", GridOptions { batch: 8, ..grid() }));
    all.push(general("general batch=4", GridOptions { batch: 4, ..grid() }));
    if csr.nrows() < 65_535 {
        for (blocks, threads) in [(1, 1024), (1, 512), (8, 1024), (8, 512), (8, 256)] {
            let options = BfsOptions { form: BfsForm::Block, block: BlockOptions { blocks, threads }, ..BfsOptions::default() };
            all.push((format!("block b{blocks} t{threads}"), options));
        }
    }
    if csr.nrows() <= 2_000_000 {
        let mut slices = |blocks: u32, registers: u32, words: u32, hops: u32, stride: u32| {
            let slices = SlicesOptions { blocks, hops, registers, words, stride, ..SlicesOptions::default() };
            let name = format!("slices b{blocks} r{registers} w{words} h{hops} s{stride}");
            all.push((name, BfsOptions { form: BfsForm::Slices, slices, ..BfsOptions::default() }));
        };
        slices(0, 0, 0, 0, 0);
        slices(0, 0, 0, 0, 1);
        let row =
            csr.row(csr.nrows() / 2).iter().map(|&u| (i64::from(u) - csr.nrows() as i64 / 2).unsigned_abs()).max().unwrap_or(0) as u32;
        let strides = [1, row / 32, row / 32 + 1, (row / 32) | 1];
        for (registers, words) in [(4, 1), (24, 1)] {
            for hops in [1, 2, 3, 4, 6, 8, 11, 12] {
                for stride in strides.iter().enumerate().filter(|(i, s)| **s > 0 && !strides[..*i].contains(s)).map(|(_, s)| *s) {
                    slices(0, registers, words, hops, stride);
                }
            }
        }
        for hops in [4, 8, 12, 16] {
            slices(66, 4, 1, hops, 1);
            slices(100, 4, 1, hops, (row / 32) | 1);
        }
    }
    all
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut graphs = Vec::new();
    let (mut runs, mut only) = (15, String::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--runs" => runs = arguments.next().unwrap_or_default().parse()?,
            "--only" => only = arguments.next().unwrap_or_default(),
            _ => graphs.push(argument),
        }
    }
    let device = Device::open(0)?;
    let clock = Clock::of(Some(&device));
    for text in graphs {
        let generator: Generator = text.parse()?;
        let csr = generator.generate(&GenerateControl::default())?;
        let source = csr.heaviest_row().unwrap_or(0);
        let wanted = levels(&csr, source);
        let depth = wanted.iter().max().copied().unwrap_or(0);
        println!("# {text}: {} vertices, {} arcs, source {source}, depth {depth}", csr.nrows(), csr.nnz());
        let out = DeviceCsr::upload(&device, &csr)?;
        for (name, options) in variants(&csr).into_iter().filter(|(name, _)| name.contains(&only)) {
            let start = Instant::now();
            let Some(layout) = BfsLayout::with_options(&device, &out, None, true, options)? else { continue };
            device.synchronize()?;
            let build = start.elapsed().as_secs_f64() * 1e3;
            let mut times = Vec::new();
            let mut right = true;
            for output in std::iter::repeat_n(BfsOutput::Levels, runs + 2) {
                let config = BfsConfig { source, output, ..BfsConfig::default() };
                match clock.run(|| layout.run(&device, &out, None, &config)) {
                    Ok(run) => {
                        right &= run.result.levels.as_deref() == Some(&wanted[..]);
                        times.push(run.seconds * 1e3);
                    }
                    Err(error) => {
                        println!("{text}\t{name}\t{error}");
                        right = false;
                        break;
                    }
                }
            }
            if times.len() > 4 {
                let least = times.drain(2..).collect::<Vec<_>>();
                let mut sorted = least.clone();
                sorted.sort_by(f64::total_cmp);
                let plan = layout.slices_plan().map_or_else(String::new, |p| {
                    format!(
                        "blocks {} own {} bandwidth {} hops {} words {} registers {} entries {:.1}",
                        p.blocks, p.own, p.bandwidth, p.hops, p.words, p.registers, p.entries
                    )
                });
                let right = if right { "right" } else { "WRONG" };
                println!("{text}\t{name}\t{:.4}\tmin {:.4}\tbuild {build:.2}\t{right}\t{plan}", sorted[sorted.len() / 2], sorted[0]);
            }
        }
    }
    Ok(())
}
