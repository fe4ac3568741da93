//! Dense products of bits and codes.

use super::{bits, paddings, up};
use crate::Error;
use crate::device::testing::device;
use crate::tensor::bits::{DeviceBits, DevicePlanes, DeviceTiles, ProductSigns, codes_product, sign_product, sign_sums};
use crate::tensor::forms::testing::Draw;
use bitgraph_bittensor::{BitLayout, BitMatrix, BitPlanes, Levels, Packing, Scales, TileShape, View, product};
use bitgraph_sparse::Control;

const SHAPES: [(usize, usize, usize); 11] = [
    (700, 512, 260),
    (1, 1, 1),
    (17, 31, 7),
    (70, 33, 33),
    (64, 64, 128),
    (65, 127, 130),
    (3, 256, 256),
    (130, 602, 5),
    (20, 1500, 40),
    (5, 0, 4),
    (0, 9, 3),
];

const LEVELS: [(Levels, Levels); 4] = [
    (Levels::Signs, Levels::Signs),
    (Levels::ZeroOne, Levels::Signs),
    (Levels::Signs, Levels::ZeroOne),
    (Levels::ZeroOne, Levels::ZeroOne),
];

#[test]
fn numbers_and_signs_of_every_shape_and_meaning() {
    let Some(device) = device() else { return };
    for (k, &(rows, length, columns)) in SHAPES.iter().enumerate() {
        for (left, right) in LEVELS {
            let padding = paddings()[k % 2];
            let a = bits(rows, length, left, Packing::Rows, padding, 1);
            let b = bits(length, columns, right, Packing::Columns, paddings()[k / 2 % 2], 2);
            let wanted = product::bits(&a, &b, &Control::default()).unwrap();
            let case = format!("{rows} x {length} x {columns}, {left:?}, {right:?}");
            let (x, w) = (up(&device, &a), up(&device, &b));
            let y = device.upload(&vec![-77i32; rows * columns]).unwrap();
            sign_sums(&device, &x, &w, None, &y).unwrap();
            let found: Vec<i64> = y.to_vec().unwrap().into_iter().map(i64::from).collect();
            assert_eq!(found, wanted, "{case}");
            let layout = BitLayout::new(rows, columns, Packing::Rows, padding).unwrap();
            let mut words = vec![0xdead_beef_u32; layout.words()];
            words[rows * layout.stride()..].fill(0);
            let thresholds: Vec<i32> = (0..columns).map(|j| j as i32 % 5 - 2).collect();
            let flips: Vec<u32> = (0..layout.stride()).map(|w| if w % 2 == 0 { 0x0f0f_1111 } else { !0 }).collect();
            let (t, turned) = (device.upload(&thresholds).unwrap(), device.upload(&flips).unwrap());
            let plain = ProductSigns::default();
            let folded = ProductSigns { thresholds: Some(&t), flips: Some(&turned) };
            for (signs, is_folded) in [(plain, false), (folded, true)] {
                let y = DeviceBits::from_words(layout, Levels::Signs, device.upload(&words).unwrap()).unwrap();
                sign_product(&device, &x, &w, None, signs, &y).unwrap();
                let found = y.to_host().unwrap_or_else(|e| panic!("{case}: {e}"));
                for i in 0..rows {
                    for j in 0..columns {
                        let number = wanted[i * columns + j];
                        let turn = is_folded && flips[j / 32] >> (j % 32) & 1 != 0;
                        let lowest = if is_folded { i64::from(thresholds[j]) } else { 0 };
                        assert_eq!(found.bit(i, j), (number >= lowest) ^ turn, "{case}: ({i}, {j})");
                    }
                }
            }
        }
    }
}

fn codes(rows: usize, columns: usize, planes: u32, packing: Packing, padding: TileShape, seed: u64) -> BitPlanes {
    let mut draw = Draw::new(seed);
    let all: Vec<u16> = (0..rows * columns).map(|_| draw.below(1 << planes) as u16).collect();
    let view = View::new(&all, rows, columns).unwrap();
    BitPlanes::from_integers(&view, planes, 0, packing, padding, &Control::default()).unwrap()
}

#[test]
fn codes_of_every_width() {
    let Some(device) = device() else { return };
    for (k, (s, t)) in
        [(1, 1), (1, 2), (1, 4), (1, 8), (8, 1), (2, 3), (3, 2), (4, 4), (3, 7), (16, 1), (1, 16), (8, 8)].into_iter().enumerate()
    {
        for (rows, length, columns) in
            [(5, 31, 9), (66, 602, 33), (70, 600, 7), (9, 600, 12), (66, 600, 30), (9, 600, 100), (20, 1100, 129)]
        {
            let a = codes(rows, length, s, Packing::Rows, paddings()[k % 2], 3);
            let b = codes(length, columns, t, Packing::Columns, paddings()[k / 2 % 2], 4);
            let wanted = product::codes(&a, &b, &Control::default()).unwrap();
            let (x, w) = (DevicePlanes::upload(&device, &a).unwrap(), DevicePlanes::upload(&device, &b).unwrap());
            let y = device.upload(&vec![-77i32; rows * columns]).unwrap();
            codes_product(&device, &x, &w, None, &y).unwrap();
            let found: Vec<u64> = y.to_vec().unwrap().into_iter().map(|v| v as u64).collect();
            assert_eq!(found, wanted, "{s} x {t} bits, {rows} x {length} x {columns}");
        }
    }
}

/// A part of a graph: ones about the diagonal, nothing elsewhere, and whole rows of tiles without any.
fn sparse(rows: usize, length: usize) -> BitMatrix {
    let layout = BitLayout::new(rows, length, Packing::Rows, TileShape::WORD).unwrap();
    let mut words = vec![0u32; layout.words()];
    for i in (0..rows).filter(|i| i / 64 != 1) {
        for j in [i * 13 % length, (i * 13 + 5) % length, i % 7] {
            let (word, bit) = layout.position(i, j);
            words[word] |= 1 << bit;
        }
    }
    BitMatrix::from_words(layout, Levels::ZeroOne, words.into(), Scales::None).unwrap()
}

#[test]
fn tiles_without_ones_are_jumped_over() {
    let Some(device) = device() else { return };
    let (rows, length, columns) = (200, 5000, 40);
    let a = sparse(rows, length);
    let map = DeviceTiles::of(&device, &a).unwrap();
    for right in [Levels::ZeroOne, Levels::Signs] {
        let b = bits(length, columns, right, Packing::Columns, TileShape::WORD, 6);
        let wanted = product::bits(&a, &b, &Control::default()).unwrap();
        let y = device.upload(&vec![-77i32; rows * columns]).unwrap();
        sign_sums(&device, &up(&device, &a), &up(&device, &b), Some(&map), &y).unwrap();
        let found: Vec<i64> = y.to_vec().unwrap().into_iter().map(i64::from).collect();
        assert_eq!(found, wanted, "{right:?}");
    }
    // Several planes of the second operand: what was left out of a weight is still doubled.
    let b = codes(length, columns, 4, Packing::Columns, TileShape::WORD, 7);
    let wanted = product::codes(&BitPlanes::from(&a), &b, &Control::default()).unwrap();
    let x = DevicePlanes::from_bits(&up(&device, &a)).unwrap();
    let w = DevicePlanes::upload(&device, &b).unwrap();
    let y = device.upload(&vec![-77i32; rows * columns]).unwrap();
    codes_product(&device, &x, &w, Some(&map), &y).unwrap();
    assert_eq!(y.to_vec().unwrap().into_iter().map(|v| v as u64).collect::<Vec<_>>(), wanted);
    // A map that says that there is nothing is believed: it is looked at.
    let nothing = BitMatrix::from_words(*a.layout(), Levels::ZeroOne, vec![0; a.layout().words()].into(), Scales::None).unwrap();
    let empty = DeviceTiles::of(&device, &nothing).unwrap();
    codes_product(&device, &x, &w, Some(&empty), &y).unwrap();
    assert!(y.to_vec().unwrap().iter().all(|&v| v == 0));
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(device) = device() else { return };
    let a = up(&device, &bits(6, 40, Levels::Signs, Packing::Rows, TileShape::WORD, 1));
    let b = up(&device, &bits(40, 5, Levels::Signs, Packing::Columns, TileShape::WORD, 1));
    let y = device.zeroed::<i32>(30).unwrap();
    sign_sums(&device, &a, &b, None, &y).unwrap();
    let longer = up(&device, &bits(41, 5, Levels::Signs, Packing::Columns, TileShape::WORD, 1));
    assert!(matches!(sign_sums(&device, &a, &longer, None, &y), Err(Error::Bits(bitgraph_bittensor::Error::Shape { .. }))));
    assert!(matches!(sign_sums(&device, &b, &b, None, &y), Err(Error::Bits(bitgraph_bittensor::Error::Packed { .. }))));
    assert!(matches!(sign_sums(&device, &a, &a, None, &y), Err(Error::Bits(bitgraph_bittensor::Error::Packed { .. }))));
    assert!(sign_sums(&device, &a, &b, None, &device.zeroed::<i32>(29).unwrap()).is_err());
    let other = DeviceTiles::of(&device, &sparse(200, 5000)).unwrap();
    assert!(sign_sums(&device, &a, &b, Some(&other), &y).is_err());
    let layout = BitLayout::new(6, 5, Packing::Rows, TileShape::WORD).unwrap();
    let zero_one = DeviceBits::zeroed(&device, layout, Levels::ZeroOne).unwrap();
    assert!(matches!(sign_product(&device, &a, &b, None, ProductSigns::default(), &zero_one), Err(Error::Levels { .. })));
    let signs = DeviceBits::zeroed(&device, layout, Levels::Signs).unwrap();
    let short = device.zeroed::<i32>(4).unwrap();
    assert!(sign_product(&device, &a, &b, None, ProductSigns { thresholds: Some(&short), flips: None }, &signs).is_err());
    // Codes of 16 bits by 16 bits pass 31 bits at once.
    let x = DevicePlanes::upload(&device, &codes(2, 3, 16, Packing::Rows, TileShape::WORD, 1)).unwrap();
    let w = DevicePlanes::upload(&device, &codes(3, 2, 16, Packing::Columns, TileShape::WORD, 1)).unwrap();
    assert!(codes_product(&device, &x, &w, None, &device.zeroed::<i32>(4).unwrap()).is_err());
}
