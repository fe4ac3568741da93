//! Every form against the host's tensors of bits, on the host shim (or a GPU, where there is one): bits and whole numbers are the same.

mod aggregate;
mod batches;
mod pack;
mod product;

use super::{DeviceBits, DevicePlanes};
use crate::device::Device;
use crate::device::testing::device;
use crate::tensor::forms::testing::Draw;
use bitgraph_bittensor::{Binarize, BitMatrix, BitPlanes, Levels, Packing, Scales, Scaling, TileShape, View};
use bitgraph_sparse::Control;

/// Paddings: none, and one that fills lanes and leaves lines behind the matrix.
fn paddings() -> [TileShape; 2] {
    [TileShape::WORD, TileShape::new(3, 128).unwrap()]
}

/// Numbers about 0, among them both zeros.
fn numbers(rows: usize, columns: usize, seed: u64) -> Vec<f32> {
    let mut draw = Draw::new(seed);
    let mut all: Vec<f32> = (0..rows * columns).map(|_| draw.number() as f32).collect();
    all.iter_mut().step_by(7).for_each(|x| *x = 0.0);
    all.iter_mut().step_by(11).for_each(|x| *x = -0.0);
    all
}

/// Signs of such numbers, or zeros and ones.
fn bits(rows: usize, columns: usize, levels: Levels, packing: Packing, padding: TileShape, seed: u64) -> BitMatrix {
    let x = numbers(rows, columns, seed);
    let view = View::new(&x, rows, columns).unwrap();
    let signs = BitMatrix::binarize(&view, &Binarize { packing, padding, ..Binarize::default() }, &Control::default()).unwrap();
    BitMatrix::from_words(*signs.layout(), levels, signs.words().clone(), Scales::None).unwrap()
}

fn up(device: &Device, bits: &BitMatrix) -> DeviceBits {
    DeviceBits::upload(device, bits).unwrap()
}

#[test]
fn matrices_and_planes_come_back() {
    let Some(device) = device() else { return };
    for (rows, columns) in [(0, 5), (5, 0), (1, 1), (13, 70), (40, 33)] {
        let x = numbers(rows, columns, 3);
        let view = View::new(&x, rows, columns).unwrap();
        for (packing, scaling) in
            [(Packing::Rows, Scaling::RowMeans), (Packing::Columns, Scaling::ColumnMeans), (Packing::Rows, Scaling::None)]
        {
            for padding in paddings() {
                let how = Binarize { packing, padding, scaling, ..Binarize::default() };
                let host = BitMatrix::binarize(&view, &how, &Control::default()).unwrap();
                let there = up(&device, &host);
                assert_eq!(there.to_host().unwrap(), host);
                assert_eq!(there.transposed().to_host().unwrap(), host.transposed());
                assert!(there.bytes() >= host.layout().bytes());
                let codes: Vec<u8> = (0..rows * columns).map(|k| (k * 37 % 32) as u8).collect();
                let view = View::new(&codes, rows, columns).unwrap();
                let host_codes = BitPlanes::from_integers(&view, 5, 0, packing, padding, &Control::default()).unwrap();
                assert_eq!(DevicePlanes::upload(&device, &host_codes).unwrap().to_host().unwrap(), host_codes);
                assert_eq!(DevicePlanes::from_bits(&there).unwrap().to_host().unwrap(), BitPlanes::from(&host));
            }
        }
    }
}

#[test]
fn words_and_scales_that_do_not_fit_are_refused() {
    let Some(device) = device() else { return };
    let host = bits(5, 40, Levels::Signs, Packing::Rows, TileShape::WORD, 1);
    let short = device.zeroed::<u32>(9).unwrap();
    assert!(DeviceBits::from_words(*host.layout(), Levels::Signs, short).is_err());
    let scales = super::DeviceScales::Rows(device.zeroed::<f32>(4).unwrap());
    assert!(up(&device, &host).with_scales(scales).is_err());
    // A bit beyond the matrix is found when it comes back.
    let full = device.upload(&[!0u32; 10]).unwrap();
    let wrong = DeviceBits::from_words(*host.layout(), Levels::Signs, full).unwrap();
    assert!(matches!(wrong.to_host(), Err(crate::Error::Bits(bitgraph_bittensor::Error::Invalid { position: 1, .. }))));
}
