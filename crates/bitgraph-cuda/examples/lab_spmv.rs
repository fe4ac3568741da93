//! Times the forms of SpMV beside cuSPARSE: `lab_spmv [--runs N] [GENERATOR|FILE.mtx...]`.
//!
//! A line is `graph form microseconds-single microseconds-of-10-launches ratio-to-cuSPARSE (single, many) largest-relative-error layout`.

use bitgraph_cuda::DeviceCsr;
use bitgraph_cuda::device::Device;
use bitgraph_cuda::peers::CusparseSpmv;
use bitgraph_cuda::spmv::{SpmvForm, SpmvLayout};
use bitgraph_generate::{GenerateControl, Generator};
use std::error::Error;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2] * 1e6
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut runs, mut graphs) = (15, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--runs" => runs = arguments.next().unwrap_or_default().parse()?,
            _ => graphs.push(argument),
        }
    }
    let device = Device::open(0)?;
    for text in graphs {
        let csr = text.parse::<Generator>()?.generate(&GenerateControl::default())?;
        let x: Vec<f32> = (0..csr.ncols()).map(|i| ((i * 2_654_435_761) % 1000 + 1) as f32 / 1000.0).collect();
        let wanted: Vec<f64> = (0..csr.nrows()).map(|i| csr.row(i).iter().map(|&c| f64::from(x[c as usize])).sum()).collect();
        let matrix = DeviceCsr::upload(&device, &csr)?;
        let dx = device.upload(&x)?;
        let y = device.zeroed::<f32>(csr.nrows())?;
        let ones = device.upload(&vec![1.0f32; csr.nnz()])?;
        let mut peer = [f64::NAN; 2];
        if let Some(cusparse) = CusparseSpmv::new(&device, &matrix, &x)? {
            for (slot, launches) in [1, 10].into_iter().enumerate() {
                let _ = cusparse.seconds(launches)?;
                peer[slot] = median((0..runs).map(|_| cusparse.seconds(launches)).collect::<Result<_, _>>()?);
            }
        }
        println!("# {text}: {} rows, {} entries; cuSPARSE single {:.2} us, of 10 {:.2} us", csr.nrows(), csr.nnz(), peer[0], peer[1]);
        for values in [false, true] {
            for form in [SpmvForm::Auto, SpmvForm::Rows, SpmvForm::Classes, SpmvForm::Diagonals] {
                let Some(layout) = SpmvLayout::build_as(&device, &matrix, values.then_some(&ones), form)? else { continue };
                if form == SpmvForm::Diagonals && !layout.explain().contains("diagonals") {
                    continue;
                }
                let time = |launches: usize| -> Result<f64, Box<dyn Error>> {
                    let mut times = Vec::new();
                    for _ in 0..runs + 2 {
                        device.timed(|| (0..launches).try_for_each(|_| layout.run(&dx, &y)))?;
                        times.push(device.last_run_seconds().unwrap_or(f64::NAN) / launches as f64);
                    }
                    times.drain(..2);
                    Ok(median(times))
                };
                let (single, many) = (time(1)?, time(10)?);
                let error =
                    y.to_vec()?.iter().zip(&wanted).map(|(a, b)| (f64::from(*a) - b).abs() / b.max(1e-30)).fold(0.0, f64::max);
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
