//! Sums of signs.

use super::{bits, paddings, up};
use crate::Error;
use crate::device::Device;
use crate::device::testing::device;
use crate::tensor::bits::strips::Launch;
use crate::tensor::bits::{AggregateForm, AggregatePlan, Aggregation, DeviceBits, DevicePlanes, Sum};
use crate::tensor::forms::testing::{Draw, graphs, lists};
use bitgraph_bittensor::{BitLayout, BitMatrix, Levels, Packing, Quantization, Scales, TileShape};
use bitgraph_sparse::{Control, Coo, Csr, Duplicates};
use half::f16;

const WIDTHS: [usize; 11] = [1, 31, 33, 64, 127, 192, 256, 384, 602, 1000, 1280];

/// Those of all forms of tensors, and square ones: with hubs that are cut, and with rows of every class up to 27 entries.
fn matrices() -> Vec<(&'static str, Csr)> {
    let csr = |n, entries: Vec<(u32, u32)>| {
        let (r, c) = entries.into_iter().unzip();
        Coo::pattern(n, n, r, c).into_csr(Duplicates::First).unwrap().0
    };
    let mut draw = Draw::new(21);
    let hubs = (0..2200)
        .map(|j| (77, j))
        .chain((0..1025).map(|j| (5, 2 * j)))
        .chain((0..1024).map(|j| (6, 2 * j)))
        .chain((0..130).map(|j| (7, j)));
    let hubs = hubs
        .chain((0..128).map(|j| (8, 3 * j)))
        .chain((0..33).map(|j| (9, j)))
        .chain((0..400).map(|_| (draw.below(2200), draw.below(2200))));
    let hubs = csr(2200, hubs.collect());
    let mesh = csr(90, (0..90u32).flat_map(|i| (0..27).map(move |d| (i, (i + 7 * d * d) % 90))).filter(|(i, _)| i % 13 != 4).collect());
    let middle = csr(70, (0..70u32).flat_map(|i| (0..32).map(move |d| (i, (i + 2 * d) % 70))).collect());
    // A window slides over it: an odd number of rows, and more than a block takes at once.
    let grid =
        csr(1665, (0..1665u32).flat_map(|i| [(i, i + 1), (i + 1, i), (i, i + 45), (i + 45, i)]).filter(|e| e.0.max(e.1) < 1665).collect());
    graphs().into_iter().chain([("hubs", hubs), ("mesh", mesh), ("middle", middle), ("grid", grid)]).collect()
}

fn plans() -> [AggregatePlan; 8] {
    let rows = [1, 2, 4, 8].map(|lanes| AggregateForm::Rows { lanes });
    let classes = [false, true].map(|many| AggregateForm::Classes { many });
    let held = [AggregateForm::Strips, AggregateForm::Window];
    [rows[0], rows[1], rows[2], rows[3], classes[0], classes[1], held[0], held[1]].map(|form| AggregatePlan { form })
}

/// Sums by the host, row after row.
fn expected(csr: &Csr, x: &BitMatrix, with_self: bool) -> Vec<i32> {
    let width = x.ncols();
    let mut sums = vec![0i32; csr.nrows() * width];
    for i in 0..csr.nrows() {
        let row = &mut sums[i * width..(i + 1) * width];
        for j in csr.row(i).iter().map(|&j| j as usize).chain(with_self.then_some(i)) {
            row.iter_mut().enumerate().for_each(|(f, s)| *s += if x.bit(j, f) { 1 } else { -1 });
        }
    }
    sums
}

/// Words that no kernel leaves, so that what it does not write shows.
fn rubbish(device: &Device, layout: &BitLayout) -> DeviceBits {
    let mut words = vec![0xdead_beef_u32; layout.words()];
    words[layout.lines() * layout.stride()..].fill(0);
    DeviceBits::from_words(*layout, Levels::Signs, device.upload(&words).unwrap()).unwrap()
}

fn compare_signs(case: &str, found: &DeviceBits, wanted: impl Fn(usize, usize) -> bool) {
    // Checks what lies behind the matrix, too.
    let found = found.to_host().unwrap_or_else(|e| panic!("{case}: {e}"));
    for i in 0..found.nrows() {
        for f in 0..found.ncols() {
            assert_eq!(found.bit(i, f), wanted(i, f), "{case}: row {i}, column {f}");
        }
    }
}

/// Compares as bytes first, element by element where these differ: millions of elements are compared.
fn compare_sums<T: Sum + PartialEq + std::fmt::Debug>(
    case: &str,
    device: &Device,
    layout: &Aggregation,
    x: &DeviceBits,
    (first, sums): (T, &[T]),
) {
    let y = device.upload(&vec![first; sums.len()]).unwrap();
    layout.sums::<T>(x, None, &y).unwrap();
    let found = y.to_vec().unwrap();
    if bytemuck::cast_slice::<T, u8>(&found) != bytemuck::cast_slice::<T, u8>(sums) {
        for (k, (found, wanted)) in found.iter().zip(sums).enumerate() {
            assert_eq!(found, wanted, "{case}, {}: element {k}", std::any::type_name::<T>());
        }
    }
}

/// Counts in as many planes as they need, and in more.
fn compare_counts(case: &str, device: &Device, (layout, x): (&Aggregation, &DeviceBits), counts: &[u16]) {
    let (results, needed) = (layout.results(), u32::BITS - layout.largest().leading_zeros());
    for planes in [needed, 16] {
        let mut words = vec![0xdead_beef_u32; results.words() * planes as usize];
        let beyond = results.lines() * results.stride();
        words.chunks_exact_mut(results.words().max(1)).for_each(|plane| plane[beyond..].fill(0));
        let y = device.upload(&words).unwrap();
        layout.counts(x, planes, &y).unwrap();
        if planes == 0 {
            continue;
        }
        let found = DevicePlanes::from_words(*results, Quantization::unit(planes).unwrap(), y).unwrap();
        // Checks what lies behind the matrix, too.
        let found = found.to_host().and_then(|planes| planes.codes(&Control::default()).map_err(super::super::host_error));
        let found = found.unwrap_or_else(|e| panic!("{case}, counts: {e}"));
        if found != counts {
            let first = found.iter().zip(counts).position(|(found, wanted)| found != wanted);
            panic!("{case}, {planes} planes: element {first:?} of {} and {}", found.len(), counts.len());
        }
    }
    if needed > 0 {
        let few = device.zeroed::<u32>(results.words() * (needed as usize - 1)).unwrap();
        assert!(layout.counts(x, needed - 1, &few).is_err(), "{case}");
    }
}

/// The signs of sums in a layout.
fn signs_of(layout: &BitLayout, sums: &[i32]) -> BitMatrix {
    let mut words = vec![0u32; layout.words()];
    for (line, sums) in words.chunks_exact_mut(layout.stride().max(1)).zip(sums.chunks_exact(layout.ncols().max(1))) {
        for (f, _) in sums.iter().enumerate().filter(|(_, sum)| **sum >= 0) {
            line[f / 32] |= 1 << (f % 32);
        }
    }
    BitMatrix::from_words(*layout, Levels::Signs, words.into(), Scales::None).unwrap()
}

#[test]
fn sums_and_signs_of_every_form_and_width() {
    let Some(device) = device() else { return };
    for (name, csr) in matrices() {
        let matrix = lists(&device, &csr);
        for (k, &width) in WIDTHS.iter().enumerate() {
            // Every width without padding, some with it.
            for padding in &paddings()[..1 + usize::from(k % 4 == 1)] {
                let host = bits(csr.ncols(), width, Levels::Signs, Packing::Rows, *padding, 1 + k as u64);
                let x = up(&device, &host);
                for with_self in [false, true] {
                    if with_self && !csr.is_square() {
                        continue;
                    }
                    let sums = expected(&csr, &host, with_self);
                    let (halves, singles): (Vec<f16>, Vec<f32>) = sums.iter().map(|&s| (f16::from_f32(s as f32), s as f32)).unzip();
                    let short: Vec<i16> = sums.iter().map(|&s| s as i16).collect();
                    // Half of a sum and the row's lines.
                    let lines = |k: usize| (csr.degree(k / width) + usize::from(with_self)) as i32;
                    let counts: Vec<u16> = sums.iter().enumerate().map(|(k, s)| ((s + lines(k)) / 2) as u16).collect();
                    let mut seen = Vec::new();
                    let mut signs: Option<BitMatrix> = None;
                    for plan in plans() {
                        let layout = Aggregation::with_plan(&device, &matrix, host.layout(), with_self, plan).unwrap().unwrap();
                        if seen.contains(&layout.plan()) {
                            continue;
                        }
                        seen.push(layout.plan());
                        let case = format!("{name}, {width} columns, self {with_self}, {}", layout.explain());
                        let wanted = signs.take().filter(|signs| signs.layout() == layout.results());
                        let wanted = wanted.unwrap_or_else(|| signs_of(layout.results(), &sums));
                        // Twice: what a run leaves behind must not touch the next one.
                        for _ in 0..2 {
                            let y = rubbish(&device, layout.results());
                            layout.signs(&x, None, &y).unwrap();
                            // Checks what lies behind the matrix, too.
                            if y.to_host().unwrap_or_else(|e| panic!("{case}: {e}")) != wanted {
                                compare_signs(&case, &y, |i, f| sums[i * width + f] >= 0);
                                panic!("{case}: the bits differ");
                            }
                        }
                        signs = Some(wanted);
                        compare_counts(&case, &device, (&layout, &x), &counts);
                        compare_sums(&case, &device, &layout, &x, (99, &*sums));
                        compare_sums(&case, &device, &layout, &x, (99, &*short));
                        compare_sums(&case, &device, &layout, &x, (f16::ONE, &*halves));
                        compare_sums(&case, &device, &layout, &x, (99.0, &*singles));
                    }
                }
            }
        }
    }
}

#[test]
fn thresholds_turned_columns_and_scales() {
    let Some(device) = device() else { return };
    for (name, csr) in matrices() {
        let matrix = lists(&device, &csr);
        for width in [1, 33, 127, 192, 602] {
            let host = bits(csr.ncols(), width, Levels::Signs, Packing::Rows, TileShape::WORD, 9);
            let x = up(&device, &host);
            let with_self = csr.is_square();
            let sums = expected(&csr, &host, with_self);
            let mut draw = Draw::new(width as u64);
            // Near sums, far above and below all of them, and at the ends.
            let thresholds: Vec<i32> = (0..width)
                .map(|f| match f % 9 {
                    0 => i32::MAX,
                    1 => i32::MIN,
                    2 => 1 << 20,
                    3 => -(csr.nnz() as i32),
                    _ => draw.below(13) as i32 - 6,
                })
                .collect();
            let mut flips = vec![0u32; host.layout().stride()];
            (0..width).filter(|f| f % 3 == 1).for_each(|f| flips[f / 32] |= 1 << (f % 32));
            let scales: Vec<f32> = (0..csr.nrows()).map(|i| 1.0 / (i + 1) as f32).collect();
            let (t, turned, r) = (device.upload(&thresholds).unwrap(), device.upload(&flips).unwrap(), device.upload(&scales).unwrap());
            for plan in [plans()[0], plans()[4], plans()[5], plans()[6], plans()[7]] {
                let layout = Aggregation::with_plan(&device, &matrix, host.layout(), with_self, plan).unwrap().unwrap();
                let case = format!("{name}, {width} columns, {}", layout.explain());
                let y = rubbish(&device, layout.results());
                layout.signs(&x, Some(&layout.thresholds(&t, None).unwrap()), &y).unwrap();
                compare_signs(&case, &y, |i, f| sums[i * width + f] >= thresholds[f]);
                layout.signs(&x, Some(&layout.thresholds(&t, Some(&turned)).unwrap()), &y).unwrap();
                compare_signs(&case, &y, |i, f| (sums[i * width + f] >= thresholds[f]) ^ (f % 3 == 1));
                let y = device.zeroed::<f32>(sums.len()).unwrap();
                layout.sums(&x, Some(&r), &y).unwrap();
                let wanted: Vec<f32> = sums.iter().enumerate().map(|(k, &s)| s as f32 * scales[k / width]).collect();
                assert_eq!(y.to_vec().unwrap(), wanted, "{case}");
                let y = device.zeroed::<f16>(sums.len()).unwrap();
                layout.sums(&x, Some(&r), &y).unwrap();
                assert_eq!(y.to_vec().unwrap(), wanted.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>(), "{case}");
            }
        }
    }
}

/// Launches of strips of so many words a line, of another number of blocks one after the other, so that each finds what the one before left behind.
fn launches(device: &Device, words: u32) -> Vec<Launch> {
    let resident = |share: &u32| share * words * 2 <= device.properties().sms;
    let one = |shares: [u32; 3]| shares.into_iter().filter(resident).map(Launch::One);
    one([1, 2, 5]).chain([1, 2, 5, 1000].map(Launch::Two)).chain(one([3, 1, 1])).collect()
}

#[test]
fn blocks_share_the_slices_of_a_strip() {
    let Some(device) = device() else { return };
    let mut draw = Draw::new(4);
    let (r, c) = (0..20_000).map(|_| (draw.below(1500), draw.below(1400))).unzip();
    let csr = Coo::pattern(1500, 1400, r, c).into_csr(Duplicates::First).unwrap().0;
    for width in [30, 40] {
        let host = bits(1400, width, Levels::Signs, Packing::Rows, TileShape::WORD, 2);
        let (x, sums) = (up(&device, &host), expected(&csr, &host, false));
        let layout = Aggregation::with_plan(&device, &lists(&device, &csr), host.layout(), false, plans()[6]).unwrap().unwrap();
        assert_eq!(layout.plan().form, AggregateForm::Strips);
        for launch in launches(&device, host.layout().stride() as u32) {
            let y = rubbish(&device, layout.results());
            layout.run(&x, layout.epilogue(0, y.words().ptr().cast()), Some(launch)).unwrap();
            compare_signs(&format!("{width} columns, {launch:?}"), &y, |i, f| sums[i * width + f] >= 0);
        }
    }
}

#[test]
fn rows_of_one_lane_to_hubs_in_strips() {
    let Some(device) = device() else { return };
    // Three rows of each number of entries, the first of which are hubs of 3 and 2 pieces; lines of all columns are named, and in a second matrix
    // those of even ones alone.
    let lengths = [7000u32, 3300, 2500, 1400, 700, 350, 150, 81, 80, 30, 1, 0];
    for step in [1, 2] {
        let mut draw = Draw::new(step.into());
        let entries =
            lengths.iter().enumerate().flat_map(|(k, &length)| (0..3).map(move |copy| (37 * k as u32 + 500 * copy, length / step)));
        let entries: Vec<(u32, u32)> = entries.flat_map(|(row, length)| (0..length).map(move |j| (row, step * j))).collect();
        let others = (0..3000).map(|_| (draw.below(1500), step * draw.below(u64::from(7000 / step))));
        let (r, c) = entries.into_iter().chain(others).unzip();
        let csr = Coo::pattern(1500, 7000, r, c).into_csr(Duplicates::First).unwrap().0;
        for width in [20, 50] {
            let host = bits(7000, width, Levels::Signs, Packing::Rows, TileShape::WORD, 5);
            let (x, sums) = (up(&device, &host), expected(&csr, &host, false));
            let layout = Aggregation::with_plan(&device, &lists(&device, &csr), host.layout(), false, plans()[6]).unwrap().unwrap();
            let thresholds: Vec<i32> = (0..width as i32).map(|f| f % 40 - 20).collect();
            let folded = layout.thresholds(&device.upload(&thresholds).unwrap(), None).unwrap();
            for launch in launches(&device, host.layout().stride() as u32) {
                let case = format!("{width} columns, {launch:?}, {}", layout.explain());
                let y = rubbish(&device, layout.results());
                layout.run(&x, layout.epilogue(0, y.words().ptr().cast()), Some(launch)).unwrap();
                compare_signs(&case, &y, |i, f| sums[i * width + f] >= 0);
            }
            let y = rubbish(&device, layout.results());
            layout.signs(&x, Some(&folded), &y).unwrap();
            compare_signs(&layout.explain(), &y, |i, f| sums[i * width + f] >= thresholds[f]);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(device) = device() else { return };
    let csr = graphs().into_iter().find(|(name, _)| *name == "random").unwrap().1;
    let matrix = lists(&device, &csr);
    let host = bits(csr.ncols(), 40, Levels::Signs, Packing::Rows, TileShape::WORD, 1);
    let build = |layout: &BitLayout, with_self| Aggregation::build(&device, &matrix, layout, with_self);
    let x = up(&device, &host);
    // A line too many, lines of columns, and own lines of a matrix that is not square.
    assert!(build(bits(csr.ncols() + 1, 40, Levels::Signs, Packing::Rows, TileShape::WORD, 1).layout(), false).is_err());
    assert!(matches!(build(&host.layout().transposed(), false), Err(Error::Bits(_))));
    assert!(build(host.layout(), true).is_err());
    let layout = build(host.layout(), false).unwrap().unwrap();
    let y = rubbish(&device, layout.results());
    let padded = bits(csr.ncols(), 40, Levels::Signs, Packing::Rows, TileShape::TILE_8X128, 1);
    assert!(matches!(layout.signs(&up(&device, &padded), None, &y), Err(Error::Bits(_))));
    let zero_one = bits(csr.ncols(), 40, Levels::ZeroOne, Packing::Rows, TileShape::WORD, 1);
    assert!(matches!(layout.signs(&up(&device, &zero_one), None, &y), Err(Error::Levels { .. })));
    assert!(layout.signs(&x, None, &x).is_err());
    assert!(layout.sums(&x, None, &device.zeroed::<i16>(3).unwrap()).is_err());
    let numbers = device.zeroed::<i32>(csr.nrows() * 40).unwrap();
    let scales = device.zeroed::<f32>(csr.nrows()).unwrap();
    assert!(layout.sums(&x, Some(&scales), &numbers).is_err());
    assert!(layout.thresholds(&device.zeroed::<i32>(39).unwrap(), None).is_err());
    // Sums of 16 bits, of a row that is too long for them.
    let hub = Coo::pattern(1, 40_000, vec![0; 40_000], (0..40_000).collect()).into_csr(Duplicates::First).unwrap().0;
    let host = bits(40_000, 3, Levels::Signs, Packing::Rows, TileShape::WORD, 1);
    let layout = Aggregation::build(&device, &lists(&device, &hub), host.layout(), false).unwrap().unwrap();
    assert!(layout.sums(&up(&device, &host), None, &device.zeroed::<i16>(3).unwrap()).is_err());
    let y = device.zeroed::<i32>(3).unwrap();
    layout.sums(&up(&device, &host), None, &y).unwrap();
    assert_eq!(y.to_vec().unwrap(), expected(&hub, &host, false));
}
