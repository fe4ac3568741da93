//! Times the device's primitives and conversions, each checked against the host first.
//!
//! `lab_formats [--runs N] GENERATOR...` prints, for each, the median of N (15) runs in milliseconds by the device's clock, and entries a
//! second.

use bitgraph::b2sr::{B2sr4, B2sr8, B2sr16, B2sr32, Hybrid, TileCounts};
use bitgraph::cuda::convert::{
    DeviceProfileConfig, SgtOptions, TileCountConfig, TileOptions, frdc, layout_with, profile, sgt, tile_counts,
};
use bitgraph::cuda::device::Device;
use bitgraph::cuda::primitives as p;
use bitgraph::cuda::{DeviceB2sr, DeviceCsr, DeviceValues, Layout, Result};
use bitgraph::generate::{Control, Generator};
use bitgraph::sparse::{Csr, Format, FormatKind, Values};
use bitgraph_frdc::{Frdc, Normalization};
use bitgraph_measure::Clock;
use bitgraph_sgt::{BlockShape, MaskOrder, RowOrder, Sgt, SgtConfig};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Timed runs of each piece of work.
static RUNS: AtomicUsize = AtomicUsize::new(15);

/// Median seconds of a piece of work.
fn time<R>(device: &Device, mut work: impl FnMut() -> Result<R>) -> Result<f64> {
    let (clock, mut seconds) = (Clock::of(Some(device)), Vec::new());
    for run in 0..RUNS.load(Ordering::Relaxed) + 2 {
        let one = clock.whole(&mut work)?.seconds;
        if run >= 2 {
            seconds.push(one);
        }
        // Slow ones need fewer runs.
        if seconds.len() >= 5 && seconds.iter().sum::<f64>() > 0.5 {
            break;
        }
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2])
}

fn report(graph: &str, what: &str, seconds: f64, items: usize, right: bool) {
    let verdict = if right { "ok" } else { "WRONG" };
    println!("{graph:20} {what:34} ms {:9.4}  G/s {:8.2}  {verdict}", seconds * 1e3, items as f64 / seconds / 1e9);
}

fn same(found: &DeviceB2sr, wanted: &impl Format) -> Result<bool> {
    let sections = wanted.sections();
    let bytes = |name: &str| sections.iter().find(|s| s.name == name).map(|s| s.data.bytes());
    let offsets = found.tile_offsets.as_u32().map(|o| o.to_vec()).transpose()?.unwrap_or_default();
    Ok(bytes("tile_offsets") == Some(bytemuck::cast_slice(&offsets))
        && bytes("tile_columns") == Some(bytemuck::cast_slice(&found.tile_columns.to_vec()?))
        && bytes("tile_words") == Some(&found.tile_words.to_vec()?))
}

fn right(layout: &Layout, host: &Csr) -> Result<bool> {
    Ok(match layout {
        Layout::Csr(c) => c.to_host()? == *host,
        Layout::B2sr(t) => match t.kind {
            FormatKind::B2sr4 => same(t, &B2sr4::from_csr(host))?,
            FormatKind::B2sr8 => same(t, &B2sr8::from_csr(host))?,
            FormatKind::B2sr16 => same(t, &B2sr16::from_csr(host))?,
            _ => same(t, &B2sr32::from_csr(host))?,
        },
        Layout::Hybrid(h) => {
            let wanted = Hybrid::from_csr(host);
            same(&h.tiles, wanted.tiles())? && h.list.to_host()? == *wanted.list()
        }
    })
}

fn conversions(device: &Device, name: &str, host: &Csr, csr: &DeviceCsr) -> Result<()> {
    let kinds = [FormatKind::B2sr4, FormatKind::B2sr8, FormatKind::B2sr16, FormatKind::B2sr32, FormatKind::Hybrid];
    for kind in kinds {
        let large = host.nnz() > 10_000_000;
        let base = TileOptions::default();
        let mut variants = vec![("", base)];
        variants.push(("limit 64", TileOptions { limit: Some(64), ..base }));
        variants.push(("limit 256", TileOptions { limit: Some(256), ..base }));
        variants.push(("limit 128", TileOptions { limit: Some(128), ..base }));
        variants.push(("limit 512", TileOptions { limit: Some(512), ..base }));
        for (label, options) in variants {
            // The host's form of the largest tiles of the largest graphs takes long.
            let checked = label.is_empty() && !(large && kind == FormatKind::B2sr32);
            let good = !checked || right(&layout_with(device, csr.clone(), kind, &options)?, host)?;
            let seconds = time(device, || layout_with(device, csr.clone(), kind, &options))?;
            report(name, &format!("to {} {label}", kind.name()), seconds, host.nnz(), good);
        }
    }
    let found = profile(device, csr, &DeviceProfileConfig::default())?;
    println!("# {name}: levels {:?}, slow {}, far {:.3}", found.levels, found.spreads_slowly(), found.far_share(host.nrows() / 16));
    report(name, "profile", time(device, || profile(device, csr, &DeviceProfileConfig::default()))?, host.nnz(), true);
    let good = tile_counts(device, csr, &TileCountConfig::default())? == TileCounts::exact(host);
    let seconds = time(device, || tile_counts(device, csr, &TileCountConfig::default()))?;
    report(name, "exact counts", seconds, host.nnz(), good);
    let sampled = TileCountConfig { sampled_bands: Some(512), ..TileCountConfig::default() };
    let good = tile_counts(device, csr, &sampled)? == TileCounts::sampled(host, 512, 1);
    let seconds = time(device, || tile_counts(device, csr, &sampled))?;
    report(name, "sampled counts", seconds, host.nnz(), good);
    Ok(())
}

fn translations(device: &Device, name: &str, host: &Csr, csr: &DeviceCsr) -> Result<(), Box<dyn std::error::Error>> {
    let (control, nnz) = (Control::default(), host.nnz());
    for how in [None, Some(Normalization::Symmetric)] {
        let plain = Frdc::from_csr(host);
        let good = frdc(device, csr, how)?.to_form().to_host::<Frdc>()? == how.map_or(plain.clone(), |how| plain.normalized(how));
        report(name, &format!("to frdc {how:?}"), time(device, || frdc(device, csr, how))?, nnz, good);
    }
    for height in [1, 8, 16, 256] {
        let config = SgtConfig { height, order: RowOrder::Natural };
        let wanted = Sgt::from_csr(host, &config, &control)?;
        for capacity in [None, Some(512), Some(1024), Some(2048), Some(4096)] {
            let options = SgtOptions { capacity, ..SgtOptions::default() };
            let good = sgt(device, csr, &config, &options, &control)?.to_form(device)?.to_host::<Sgt>()? == wanted;
            let seconds = time(device, || sgt(device, csr, &config, &options, &control))?;
            report(name, &format!("to sgt {height} {capacity:?}"), seconds, nnz, good);
        }
    }
    for shape in [BlockShape::TF32_16X8, BlockShape::HALF_16X16, BlockShape::HALF_8X16, BlockShape::BITS_16X256] {
        let config = SgtConfig { height: shape.height() as u32, order: RowOrder::Natural };
        let wanted = Sgt::from_csr(host, &config, &control)?.blocks(shape, MaskOrder::Rows, &control)?;
        let from = sgt(device, csr, &config, &SgtOptions::default(), &control)?;
        let found = from.blocks(device, shape, MaskOrder::Rows)?;
        let good = found.columns.to_vec()? == wanted.columns()[..] && found.masks.to_vec()? == wanted.masks()[..];
        let seconds = time(device, || from.blocks(device, shape, MaskOrder::Rows))?;
        report(name, &format!("blocks {} x {}", shape.height(), shape.width()), seconds, nnz, good);
    }
    Ok(())
}

fn primitives(device: &Device, name: &str, host: &Csr, csr: &DeviceCsr) -> Result<()> {
    let (n, nnz) = (host.nrows(), host.nnz());
    let degrees = p::degrees(device, csr)?;
    let sums = p::exclusive_scan(device, &degrees)?.to_vec()?;
    let good = (0..=n).all(|i| sums[i] as usize == host.offsets().get(i));
    report(name, "scan (rows)", time(device, || p::exclusive_scan(device, &degrees))?, n, good);
    report(name, "scan (entries)", time(device, || p::exclusive_scan(device, &csr.indices))?, nnz, true);
    let rows = p::rows_of_entries(device, csr)?;
    report(name, "rows of entries", time(device, || p::rows_of_entries(device, csr))?, nnz, true);
    report(name, "degree order (rows)", time(device, || p::degree_order(device, csr))?, n, true);
    let bits = usize::BITS - n.leading_zeros();
    let keys = p::sort_keys(device, &csr.indices, 0..32)?.to_vec()?;
    report(name, "sort keys, 32 bits", time(device, || p::sort_keys(device, &csr.indices, 0..32))?, nnz, keys.is_sorted());
    report(name, &format!("sort pairs, {bits} bits"), time(device, || p::sort_pairs(device, &csr.indices, &rows, 0..bits))?, nnz, true);
    let good = p::transpose(device, csr, None)?.0.to_host()? == *host;
    report(name, "transpose", time(device, || p::transpose(device, csr, None))?, nnz, good);
    let values = DeviceValues::upload(device, &Values::from_vec(vec![1.0f32; nnz]))?;
    report(name, "transpose with f32", time(device, || p::transpose(device, csr, Some(&values)))?, nnz, true);
    let order = p::degree_order(device, csr)?;
    let general = p::relabel(device, csr, None, &order, false)?.0;
    let good = general.to_host()? == p::relabel(device, csr, None, &order, true)?.0.to_host()?;
    report(name, "relabel", time(device, || p::relabel(device, csr, None, &order, false))?, nnz, good);
    report(name, "relabel, symmetric", time(device, || p::relabel(device, csr, None, &order, true))?, nnz, good);
    for narrow in [None, Some(512)] {
        let config = p::LevelOrderConfig { narrow, ..p::LevelOrderConfig::default() };
        if let Some(found) = p::level_order(device, csr, &config)? {
            let what = format!("level order {} {narrow:?}", found.levels);
            report(name, &what, time(device, || p::level_order(device, csr, &config))?, nnz, true);
        }
    }
    report(name, "upper half", time(device, || p::orient(device, csr, p::Side::Upper))?, nnz, true);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::open(0)?;
    println!("# {}", device.properties().name);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--runs" {
            RUNS.store(arguments.next().and_then(|n| n.parse().ok()).unwrap_or(15), Ordering::Relaxed);
            continue;
        }
        let host = name.parse::<Generator>()?.generate(&Control::default())?;
        let csr = DeviceCsr::upload(&device, &host)?;
        println!("# {name}: {} rows, {} entries", host.nrows(), host.nnz());
        primitives(&device, &name, &host, &csr)?;
        conversions(&device, &name, &host, &csr)?;
        translations(&device, &name, &host, &csr)?;
    }
    Ok(())
}
