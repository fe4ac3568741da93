//! Packing signs and codes.

use super::{numbers, paddings};
use crate::device::testing::device;
use crate::tensor::bits::{DeviceScales, binarize, quantize};
use crate::tensor::forms::Feature;
use bitgraph_bittensor::{
    Binarize, BitMatrix, BitPlanes, Fit, Packing, Per, Quantization, Rounding, Scales, Scaling, Scheme, Step, Steps, Threshold, TileShape,
    View,
};
use bitgraph_sparse::Control;
use half::{bf16, f16};

const SHAPES: [(usize, usize); 10] = [(1, 1), (3, 31), (40, 33), (64, 64), (35, 127), (37, 104), (100, 256), (2, 602), (0, 4), (4, 0)];

fn signs<T: Feature + Into<f32>>(of: impl Fn(f32) -> T) {
    let Some(device) = device() else { return };
    for (rows, columns) in SHAPES {
        let x: Vec<T> = numbers(rows, columns, 5).into_iter().map(&of).collect();
        let there = device.upload(&x).unwrap();
        let view = View::new(&x, rows, columns).unwrap();
        let limits: Vec<f32> = (0..columns).map(|j| if j % 3 == 0 { 0.0 } else { 0.25 }).collect();
        for threshold in [Threshold::Zero, Threshold::From(&limits), Threshold::Above(&limits)] {
            for packing in [Packing::Rows, Packing::Columns] {
                for padding in paddings() {
                    for scaling in [Scaling::None, Scaling::RowMeans, Scaling::ColumnMeans] {
                        let how = Binarize { packing, padding, threshold, scaling };
                        let wanted = BitMatrix::binarize(&view, &how, &Control::default()).unwrap();
                        let found = binarize(&device, &there, rows, columns, &how).unwrap();
                        let case = format!("{rows} x {columns} {}, {how:?}", T::NAME);
                        let scales = match (found.scales(), wanted.scales()) {
                            (DeviceScales::None, Scales::None) => Vec::new(),
                            (DeviceScales::Rows(s), Scales::Rows(w)) | (DeviceScales::Columns(s), Scales::Columns(w)) => {
                                s.to_vec().unwrap().into_iter().zip(w.iter().copied()).collect()
                            }
                            _ => panic!("{case}: other scales"),
                        };
                        // Sums in f64 in another order.
                        assert!(scales.iter().all(|(s, w)| (s - w).abs() <= f32::EPSILON * w), "{case}: {scales:?}");
                        assert_eq!(found.to_host().unwrap().words(), wanted.words(), "{case}");
                    }
                }
            }
        }
    }
}

#[test]
fn signs_of_f32() {
    signs::<f32>(|x| x);
}

#[test]
fn signs_of_halves() {
    signs::<f16>(f16::from_f32);
    signs::<bf16>(bf16::from_f32);
}

fn codes_of<T: Feature + Into<f32>>(of: impl Fn(f32) -> T) {
    let Some(device) = device() else { return };
    for (rows, columns) in SHAPES {
        let x: Vec<T> = numbers(rows, columns, 6).into_iter().map(|v| of(v * 3.0)).collect();
        let there = device.upload(&x).unwrap();
        let view = View::new(&x, rows, columns).unwrap();
        for (bits, scheme) in
            [(1, Scheme::MidRise), (2, Scheme::Floor), (3, Scheme::ZeroPoint), (8, Scheme::MidTread), (16, Scheme::ZeroPoint)]
        {
            for per in [Per::Tensor, Per::Row, Per::Column] {
                let fit = Fit { scheme, per, ..Fit::bits(bits) };
                let quantization = Quantization::fit(&view, &fit, &Control::default()).unwrap();
                for packing in [Packing::Rows, Packing::Columns] {
                    for padding in paddings() {
                        let wanted = BitPlanes::quantize(&view, &quantization, packing, padding, &Control::default()).unwrap();
                        let found = quantize(&device, &there, rows, columns, &quantization, packing, padding).unwrap();
                        assert_eq!(found.to_host().unwrap(), wanted, "{rows} x {columns} {}, {fit:?}, {packing}, {padding:?}", T::NAME);
                    }
                }
            }
        }
    }
}

#[test]
fn codes_of_every_type() {
    codes_of::<f32>(|x| x);
    codes_of::<f16>(f16::from_f32);
    codes_of::<bf16>(bf16::from_f32);
}

#[test]
fn what_is_no_number_is_below_and_infinities_are_at_the_ends() {
    let Some(device) = device() else { return };
    let x = device.upload(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, -f32::NAN]).unwrap();
    let found = binarize(&device, &x, 1, 5, &Binarize::default()).unwrap();
    assert_eq!(found.words().to_vec().unwrap(), [0b01010]);
    let fit = Fit { range: bitgraph_bittensor::Range::Given { low: -1.0, high: 2.0 }, ..Fit::bits(2) };
    let none: [f32; 0] = [];
    let quantization = Quantization::fit(&View::new(&none, 0, 0).unwrap(), &fit, &Control::default()).unwrap();
    let found = quantize(&device, &x, 1, 5, &quantization, Packing::Rows, TileShape::WORD).unwrap();
    assert_eq!(found.words().to_vec().unwrap(), [0b01010, 0b00010]);
}

/// Steps whose quotients are found by an inverse, at the ends of where that holds and beyond them; numbers of every magnitude, subnormal ones and
/// what is none among them, and those next to where codes change.
#[test]
fn codes_by_any_step_are_those_of_a_division() {
    let Some(device) = device() else { return };
    let far = (1u64 << 60) as f32;
    let scales = [1.0, 0.1, 1.0 / 3.0, 1.999_999_9, 1.175e-38, 1e-45, 1.0 / far, far, 0.9 / far, 1.1 * far, 3.4e38, 7.3e-5, 12345.678];
    for scale in scales {
        for zero in [0.0, 0.5, 127.0, 0.999_999_94, 1e-30, -3.0, 1e9, -1e9, 2e9, 1e20] {
            for rounding in [Rounding::Nearest, Rounding::Floor] {
                let quantization = Quantization::new(8, rounding, Steps::Tensor(Step { scale, zero })).unwrap();
                let mut x: Vec<f32> =
                    [0.0, -0.0, 1e-45, -1e-40, 1.2e-38, 1e30, -1e30, 3.4e38, f32::INFINITY, f32::NEG_INFINITY, f32::NAN].into();
                x.extend((0..512u32).map(|k| f32::from_bits(k.wrapping_mul(0x9e37_79b9))));
                // Where a code begins, and the numbers next to it.
                for code in 0..=256u32 {
                    let edge = (code as f32 - 0.5 * f32::from(u8::from(rounding == Rounding::Nearest)) - zero) * scale;
                    x.extend([edge.next_down(), edge, edge.next_up()]);
                }
                x.resize(x.len().next_multiple_of(64), 1.0);
                let columns = x.len();
                let there = device.upload(&x).unwrap();
                for packing in [Packing::Rows, Packing::Columns] {
                    let found = quantize(&device, &there, 1, columns, &quantization, packing, TileShape::WORD).unwrap();
                    let (layout, words) = (*found.layout(), found.words().to_vec().unwrap());
                    for (j, &value) in x.iter().enumerate() {
                        let (at, bit) = layout.position(0, j);
                        let code: u32 = (0..8).map(|p| (words[p * layout.words() + at] >> bit & 1) << p).sum();
                        assert_eq!(code, quantization.code(value, 0, j), "{value:e} by {scale:e} and {zero}, {rounding:?}, {packing}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(device) = device() else { return };
    let x = device.zeroed::<f32>(12).unwrap();
    assert!(binarize(&device, &x, 3, 5, &Binarize::default()).is_err());
    let limits = [0.0f32; 3];
    let how = |threshold| Binarize { threshold, ..Binarize::default() };
    assert!(binarize(&device, &x, 3, 4, &how(Threshold::From(&limits))).is_err());
    assert!(binarize(&device, &x, 3, 4, &how(Threshold::Above(&[0.0, f32::NAN, 0.0, 0.0]))).is_err());
    let host = [0.5f32; 20];
    let fit = Fit { per: Per::Row, ..Fit::bits(2) };
    let quantization = Quantization::fit(&View::new(&host, 5, 4).unwrap(), &fit, &Control::default()).unwrap();
    assert!(quantize(&device, &x, 3, 4, &quantization, Packing::Rows, TileShape::WORD).is_err());
}
