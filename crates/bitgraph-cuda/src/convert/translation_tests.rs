//! Translations and FRDC on the device against those of the host: the same bits.

use super::{SgtOptions, frdc, sgt};
use crate::layout::{DeviceCsr, Offsets};
use crate::primitives::tests::{Random, device, patterns};
use bitgraph_frdc::{Frdc, Normalization};
use bitgraph_sgt::{BlockShape, Greedy, MaskOrder, RowOrder, Sgt, SgtConfig};
use bitgraph_sparse::{Control, Coo, Csr, Duplicates, Permutation};

/// Those of all conversions, and rows that stand out in shapes that no window divides.
fn awkward() -> Vec<(&'static str, Csr)> {
    let mut random = Random(11);
    let hub = (0..300u32).flat_map(|i| (0..if i == 37 { 900 } else { 3 }).map(move |k| (i, k))).map(|(i, k)| (i, (i * 7 + k * 13) % 1000));
    let (rows, columns) = hub.chain((0..2000).map(|_| (random.below(300), random.below(1000)))).unzip();
    let rectangle = Coo::pattern(300, 1000, rows, columns).into_csr(Duplicates::First).unwrap().0;
    patterns().into_iter().chain([("rectangle with a hub", rectangle)]).collect()
}

fn shuffled(n: usize) -> Permutation {
    let mut random = Random(5);
    let mut order: Vec<u32> = (0..n as u32).collect();
    (1..n).for_each(|i| order.swap(i, random.below(i as u32 + 1) as usize));
    Permutation::from_old_of_new(order).unwrap()
}

#[test]
fn translations_are_those_of_the_host() {
    let Some(device) = device() else { return };
    let control = Control::default();
    for (name, host) in awkward() {
        let lists = DeviceCsr::upload(&device, &host).unwrap();
        for height in [1, 7, 16, 256] {
            let orders = [RowOrder::Natural, RowOrder::Given(shuffled(host.nrows())), RowOrder::Greedy(Greedy::default())];
            for (i, order) in orders.into_iter().enumerate() {
                let config = SgtConfig { height, order };
                let wanted = Sgt::from_csr(&host, &config, &control).unwrap();
                // By sorting; by marking whatever can be, in one part and in several, of which many leave short windows to sorting.
                let marked = SgtOptions { capacity: Some(2), bitmap: Some([640, 256, 1 << 18][i]) };
                for options in [SgtOptions::default(), marked] {
                    let found = sgt(&device, &lists, &config, &options, &control).unwrap();
                    let form = found.to_form(&device).unwrap();
                    assert_eq!(form.to_host::<Sgt>().unwrap(), wanted, "{name}, windows of {height}, order {i}, {options:?}");
                }
            }
        }
    }
}

#[test]
fn blocks_are_those_of_the_host() {
    let Some(device) = device() else { return };
    let control = Control::default();
    let (tall, one) = (BlockShape::new(256, 1).unwrap(), BlockShape::new(1, 32).unwrap());
    let shapes = [
        BlockShape::TF32_16X8,
        BlockShape::HALF_16X16,
        BlockShape::TF32_8X4,
        BlockShape::VECTORS_8X8,
        BlockShape::HALF_8X16,
        BlockShape::BITS_16X256,
        tall,
        one,
    ];
    for (name, host) in awkward() {
        let lists = DeviceCsr::upload(&device, &host).unwrap();
        for (i, shape) in shapes.into_iter().enumerate() {
            let order = if i % 2 == 0 { RowOrder::Natural } else { RowOrder::Given(shuffled(host.nrows())) };
            let config = SgtConfig { height: shape.height() as u32, order };
            let on_host = Sgt::from_csr(&host, &config, &control).unwrap();
            let found = sgt(&device, &lists, &config, &SgtOptions::default(), &control).unwrap();
            let counts = found.win_partition(&device, shape.width() as u32).unwrap();
            assert_eq!(counts.to_vec().unwrap(), on_host.win_partition(shape.width()), "{name}, {shape:?}");
            for mask_order in [MaskOrder::Rows, MaskOrder::Columns] {
                let what = format!("{name}, {shape:?}, {mask_order:?}");
                let wanted = on_host.blocks(shape, mask_order, &control).unwrap();
                let found = found.blocks(&device, shape, mask_order).unwrap();
                assert_eq!(found.count, wanted.count(), "{what}");
                assert_eq!(found.offsets.to_host().unwrap(), *wanted.offsets(), "{what}");
                assert_eq!(found.columns.to_vec().unwrap(), wanted.columns()[..], "{what}");
                assert_eq!(found.masks.to_vec().unwrap(), wanted.masks()[..], "{what}");
            }
        }
    }
}

#[test]
fn what_fits_no_translation_is_refused() {
    let Some(device) = device() else { return };
    let (_, host) = awkward().pop().unwrap();
    let lists = DeviceCsr::upload(&device, &host).unwrap();
    let build = |config: &SgtConfig| sgt(&device, &lists, config, &SgtOptions::default(), &Control::default());
    for height in [0, 257] {
        assert!(build(&SgtConfig { height, order: RowOrder::Natural }).unwrap_err().to_string().contains("1 to 256"));
    }
    let short = build(&SgtConfig { height: 16, order: RowOrder::Given(shuffled(299)) });
    assert!(short.unwrap_err().to_string().contains("299 rows does not fit a pattern of 300"));
    let found = build(&SgtConfig::default()).unwrap();
    assert!(found.blocks(&device, BlockShape::TF32_8X4, MaskOrder::Rows).unwrap_err().to_string().contains("windows of 16"));
    assert!(found.win_partition(&device, 0).is_err());
}

#[test]
fn frdc_is_that_of_the_host() {
    let Some(device) = device() else { return };
    for (name, host) in awkward() {
        let lists = DeviceCsr::upload(&device, &host).unwrap();
        for how in [None, Some(Normalization::Symmetric), Some(Normalization::Row)] {
            let plain = Frdc::from_csr(&host);
            let wanted = how.map_or(plain.clone(), |how| plain.normalized(how));
            let found = frdc(&device, &lists, how).unwrap();
            assert_eq!(found.to_form().to_host::<Frdc>().unwrap(), wanted, "{name}, {how:?}");
            let wide = matches!(found.tiles.tile_offsets, Offsets::U64(_));
            assert!(wide || found.bytes() == wanted.bytes(), "{name}, {how:?}: {} bytes, {}", found.bytes(), wanted.bytes());
        }
    }
}
