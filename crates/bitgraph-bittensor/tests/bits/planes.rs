//! Codes of every width against plain arithmetic, exact round trips, error bounds, and what is refused.

use crate::common::{Random, control, floats, layouts};
use bitgraph_bittensor::{
    Binarize, BitMatrix, BitPlanes, Error, Fit, Packing, Per, Quantization, Range, Rounding, Scaling, Scheme, Step, Steps, TileShape, View,
};

const SCHEMES: [Scheme; 4] = [Scheme::ZeroPoint, Scheme::MidTread, Scheme::MidRise, Scheme::Floor];

#[test]
fn whole_numbers_come_back_exactly_in_every_width() {
    for bits in 1..=16u32 {
        for (k, (rows, columns)) in crate::common::SHAPES.into_iter().enumerate() {
            let mut random = Random(u64::from(bits) * 100 + k as u64);
            let lowest = [0, -(1 << (bits - 1)), 1000, -(1 << 24)][k % 4];
            let data: Vec<i32> = (0..rows * columns).map(|_| lowest + random.below(1 << bits) as i32).collect();
            let view = View::new(&data, rows, columns).unwrap();
            // All layouts for some shapes, two for the others.
            for (packing, padding) in layouts().step_by(if k % 3 == bits as usize % 3 { 1 } else { 6 }) {
                let planes = BitPlanes::from_integers(&view, bits, lowest, packing, padding, &control()).unwrap();
                assert_eq!((planes.bits(), planes.nrows(), planes.ncols()), (bits, rows, columns));
                let codes: Vec<u16> = data.iter().map(|v| (v - lowest) as u16).collect();
                assert_eq!(planes.codes(&control()).unwrap(), codes);
                let values: Vec<f32> = data.iter().map(|&v| v as f32).collect();
                assert_eq!(planes.dequantize(&control()).unwrap(), values);
                assert_eq!(planes.bytes(), 4 * planes.words().len() as u64 + 8);
                assert_eq!(planes.bytes(), u64::from(bits) * planes.layout().bytes() + 8);
                // The float path to the same codes.
                let floats = View::new(&values, rows, columns).unwrap();
                let again = BitPlanes::quantize(&floats, planes.quantization(), packing, padding, &control()).unwrap();
                assert_eq!(again, planes);
                let other = planes.repacked(packing.other(), TileShape::WORD, &control()).unwrap();
                assert_eq!(other.repacked(packing, padding, &control()).unwrap(), planes);
                assert_eq!(other.codes(&control()).unwrap(), codes);
            }
        }
    }
}

#[test]
fn planes_hold_one_bit_of_each_code() {
    let (rows, columns, bits) = (19, 45, 5);
    let data: Vec<u16> = (0..rows * columns).map(|k| (k * k % 32) as u16).collect();
    let view = View::new(&data, rows, columns).unwrap();
    for (packing, padding) in layouts() {
        let planes = BitPlanes::from_integers(&view, bits, 0, packing, padding, &control()).unwrap();
        let single: Vec<BitMatrix> = (0..bits).map(|p| planes.plane(p)).collect();
        for i in 0..rows {
            for j in 0..columns {
                let code = u32::from(data[i * columns + j]);
                assert_eq!(planes.code(i, j), code);
                assert!((0..bits).all(|p| single[p as usize].bit(i, j) == (code >> p & 1 != 0)));
            }
        }
        assert_eq!(BitPlanes::compose(&single, planes.quantization().clone()), Ok(planes.clone()));
        assert_eq!(BitPlanes::from_words(*planes.layout(), planes.quantization().clone(), planes.words().clone()), Ok(planes.clone()));
        let transposed = planes.transposed();
        assert!((0..rows).all(|i| (0..columns).all(|j| transposed.code(j, i) == planes.code(i, j))));
        assert_eq!(transposed.transposed(), planes);
    }
}

/// What `f32` takes from or gives to a position, in steps.
fn rounding_of_positions(step: Step, top: u32) -> f64 {
    (f64::from(top) + f64::from(step.zero.abs())) / f64::from(1 << 22)
}

/// A plain form of quantisation in `f64`: the code may differ by one where a position is within rounding of a border.
fn near(code: u32, x: f32, step: Step, top: u32, rounding: Rounding) -> bool {
    let position = (f64::from(x) / f64::from(step.scale) + f64::from(step.zero)).clamp(0.0, f64::from(top));
    let slack = rounding_of_positions(step, top);
    let distance = position - f64::from(code);
    match rounding {
        Rounding::Nearest => distance.abs() <= 0.5 + slack,
        Rounding::Floor => (-slack..1.0 + slack).contains(&distance),
    }
}

#[test]
fn every_scheme_keeps_its_bound() {
    for scheme in SCHEMES {
        for bits in 1..=16u32 {
            if scheme == Scheme::MidTread && bits == 1 {
                continue;
            }
            for (k, (rows, columns)) in [(1, 1), (40, 33), (130, 520), (600, 3)].into_iter().enumerate() {
                let shift = [0.0, 0.9, -5.0, 0.3][k];
                let data: Vec<f32> = floats(rows * columns, u64::from(bits)).into_iter().map(|x| x * 3.0 + shift).collect();
                let view = View::new(&data, rows, columns).unwrap();
                for per in [Per::Tensor, Per::Row, Per::Column] {
                    let q = Quantization::fit(&view, &Fit { scheme, per, ..Fit::bits(bits) }, &control()).unwrap();
                    let packing = if bits % 2 == 0 { Packing::Rows } else { Packing::Columns };
                    let planes = BitPlanes::quantize(&view, &q, packing, TileShape::WORD, &control()).unwrap();
                    let (codes, values) = (planes.codes(&control()).unwrap(), planes.dequantize(&control()).unwrap());
                    let bound = if scheme == Scheme::Floor { 1.0 } else { 0.5 };
                    for (k, (&x, &code)) in data.iter().zip(&codes).enumerate() {
                        let (i, j) = (k / columns, k % columns);
                        let step = q.steps().get(i, j);
                        assert_eq!(u32::from(code), q.code(x, i, j));
                        assert!(near(code.into(), x, step, q.top(), q.rounding()), "{scheme:?} {bits} {x} {step:?} {code}");
                        assert_eq!(values[k], q.value(code.into(), i, j));
                        let error = (f64::from(values[k]) - f64::from(x)).abs() / f64::from(step.scale);
                        assert!(
                            error <= bound + 2.0 * rounding_of_positions(step, q.top()) + 1e-6,
                            "{scheme:?} {bits} bits {per:?}: {x} became {} by {step:?}",
                            values[k]
                        );
                    }
                    assert_eq!(
                        q.steps().bytes(),
                        8 * match per {
                            Per::Tensor => 1,
                            Per::Row => rows,
                            Per::Column => columns,
                        } as u64
                    );
                }
            }
        }
    }
}

#[test]
fn what_the_schemes_promise() {
    let data = [-1.0f32, 0.0, 0.1, 2.5];
    let view = View::new(&data, 1, 4).unwrap();
    let of = |scheme, bits| {
        let q = Quantization::fit(&view, &Fit { scheme, ..Fit::bits(bits) }, &control()).unwrap();
        BitPlanes::quantize(&view, &q, Packing::Rows, TileShape::WORD, &control()).unwrap().dequantize(&control()).unwrap()
    };
    for bits in 2..=16 {
        assert_eq!(of(Scheme::ZeroPoint, bits)[1], 0.0);
        assert_eq!(of(Scheme::MidTread, bits)[1], 0.0);
        assert!((of(Scheme::MidRise, bits)[3] - 2.5).abs() < 1e-5);
        assert_eq!(of(Scheme::Floor, bits)[0], -1.0);
    }
    assert_eq!(of(Scheme::MidRise, 1), [-2.5, 2.5, 2.5, 2.5]);
    // QGTC's equation 2 by hand: steps of 3.5 / 4 from -1 on.
    let floor = |x: f32| ((x + 1.0) / 0.875).floor().min(3.0) * 0.875 - 1.0;
    assert!(of(Scheme::Floor, 2).iter().zip(data.map(floor)).all(|(x, wanted)| (x - wanted).abs() < 1e-6));
}

#[test]
fn constant_and_empty_matrices_have_steps() {
    for value in [0.0f32, 3.7, -3.7, 1e-45, f32::MAX] {
        let data = [value; 12];
        let view = View::new(&data, 3, 4).unwrap();
        for (scheme, per) in SCHEMES.into_iter().flat_map(|s| [Per::Tensor, Per::Row, Per::Column].map(|p| (s, p))) {
            let q = Quantization::fit(&view, &Fit { scheme, per, ..Fit::bits(4) }, &control()).unwrap();
            let planes = BitPlanes::quantize(&view, &q, Packing::Columns, TileShape::WORD, &control()).unwrap();
            for x in planes.dequantize(&control()).unwrap() {
                let none = scheme == Scheme::MidRise && value == 0.0;
                assert!((x - value).abs() <= if none { 0.5 } else { value.abs() * 1e-6 + 3e-45 }, "{scheme:?}: {value} became {x}");
            }
        }
    }
    for (rows, columns) in [(0, 0), (0, 3), (3, 0)] {
        let view = View::<f32>::new(&[], rows, columns).unwrap();
        for (scheme, per) in SCHEMES.into_iter().flat_map(|s| [Per::Tensor, Per::Row, Per::Column].map(|p| (s, p))) {
            let q = Quantization::fit(&view, &Fit { scheme, per, ..Fit::bits(3) }, &control()).unwrap();
            let planes = BitPlanes::quantize(&view, &q, Packing::Rows, TileShape::TILE_8X128, &control()).unwrap();
            assert_eq!((planes.dequantize(&control()).unwrap().len(), planes.words().len()), (0, 0));
        }
    }
}

#[test]
fn a_given_range_clamps() {
    let data = [-9.0f32, f32::NEG_INFINITY, 0.25, f32::INFINITY, 9.0];
    let view = View::new(&data, 1, 5).unwrap();
    for per in [Per::Tensor, Per::Row, Per::Column] {
        let fit = Fit { range: Range::Given { low: -1.0, high: 2.0 }, per, ..Fit::bits(2) };
        let q = Quantization::fit(&view, &fit, &control()).unwrap();
        let planes = BitPlanes::quantize(&view, &q, Packing::Rows, TileShape::WORD, &control()).unwrap();
        assert_eq!(planes.dequantize(&control()).unwrap(), [-1.0, -1.0, 0.0, 2.0, 2.0]);
        assert_eq!(Quantization::fit(&view, &Fit { per, ..Fit::bits(2) }, &control()), Err(Error::Infinite { row: 0, column: 1 }));
    }
    let bad = [0.0, f32::NAN];
    let q = Quantization::unit(3).unwrap();
    let got = BitPlanes::quantize(&View::new(&bad, 2, 1).unwrap(), &q, Packing::Rows, TileShape::WORD, &control());
    assert_eq!(got, Err(Error::NotANumber { row: 1, column: 0 }));
}

#[test]
fn what_is_refused() {
    let data = [1.0f32, 2.0];
    let view = View::new(&data, 1, 2).unwrap();
    let fit = |fit: Fit| Quantization::fit(&view, &fit, &control()).unwrap_err();
    for bits in [0, 17, u32::MAX] {
        assert_eq!(fit(Fit::bits(bits)), Error::Width { bits, smallest: 1 });
        assert_eq!(Quantization::unit(bits), Err(Error::Width { bits, smallest: 1 }));
        let got = BitPlanes::from_integers(&View::new(&[1u8], 1, 1).unwrap(), bits, 0, Packing::Rows, TileShape::WORD, &control());
        assert_eq!(got, Err(Error::Width { bits, smallest: 1 }));
    }
    assert_eq!(fit(Fit { scheme: Scheme::MidTread, ..Fit::bits(1) }), Error::Width { bits: 1, smallest: 2 });
    for (low, high) in [(1.0, 1.0), (2.0, 1.0), (f32::NEG_INFINITY, 1.0), (0.0, f32::INFINITY), (f32::NAN, 1.0), (0.0, f32::NAN)] {
        assert!(matches!(fit(Fit { range: Range::Given { low, high }, ..Fit::bits(4) }), Error::Range { .. }));
    }
    for (scale, zero) in [(0.0, 0.0), (-1.0, 0.0), (f32::NAN, 0.0), (f32::INFINITY, 0.0), (1.0, f32::NAN)] {
        let steps = Steps::Rows(vec![Step::UNIT, Step { scale, zero }].into());
        assert!(matches!(Quantization::new(4, Rounding::Nearest, steps), Err(Error::Step { position: 1, .. })));
    }
    let wrong = Quantization::new(4, Rounding::Nearest, Steps::Columns(vec![Step::UNIT; 3].into())).unwrap();
    let got = BitPlanes::quantize(&view, &wrong, Packing::Rows, TileShape::WORD, &control());
    assert_eq!(got, Err(Error::Length { array: "steps", expected: 2, found: 3 }));

    let integers = |data: &[i32], bits, lowest| {
        BitPlanes::from_integers(&View::new(data, 1, data.len()).unwrap(), bits, lowest, Packing::Columns, TileShape::WORD, &control())
    };
    let code = |column, value, bits, smallest, largest| Error::Code { row: 0, column, value, bits, smallest, largest };
    assert_eq!(integers(&[0, 7, 8], 3, 0).unwrap_err(), code(2, 8, 3, 0, 7));
    assert_eq!(integers(&[0, -5, 3], 3, -4).unwrap_err(), code(1, -5, 3, -4, 3));
    assert_eq!(integers(&[i32::MIN], 16, 0).unwrap_err(), code(0, i32::MIN.into(), 16, 0, 65535));
    assert!(matches!(integers(&[1 << 25], 1, 1 << 25), Err(Error::Lowest { .. })));

    let planes = integers(&[1, 2, 3], 2, 0).unwrap();
    let mut words = planes.words().to_vec();
    words[5] |= 2;
    let got = BitPlanes::from_words(*planes.layout(), planes.quantization().clone(), words.into());
    assert!(matches!(got, Err(Error::Invalid { array: "words", position: 5, .. })));
    let got = BitPlanes::from_words(*planes.layout(), Quantization::unit(3).unwrap(), planes.words().clone());
    assert_eq!(got, Err(Error::Length { array: "words", expected: 9, found: 6 }));
    let two = Quantization::unit(2).unwrap();
    assert_eq!(BitPlanes::compose(&[], two.clone()), Err(Error::Width { bits: 0, smallest: 1 }));
    let (plane, other) = (planes.plane(0), planes.plane(1).repacked(Packing::Rows, TileShape::WORD, &control()).unwrap());
    assert!(matches!(BitPlanes::compose(std::slice::from_ref(&plane), two.clone()), Err(Error::Length { .. })));
    assert!(matches!(BitPlanes::compose(&[plane.clone(), other], two.clone()), Err(Error::Packed { .. })));
    assert!(matches!(BitPlanes::compose(&[plane.clone(), plane.transposed()], two.clone()), Err(Error::Shape { .. })));
    let padded = planes.plane(1).repacked(Packing::Columns, TileShape::TILE_8X128, &control()).unwrap();
    assert!(matches!(BitPlanes::compose(&[plane, padded], two), Err(Error::Padded { .. })));
}

#[test]
fn a_sign_matrix_is_a_plane() {
    let data = floats(30 * 50, 4);
    let view = View::new(&data, 30, 50).unwrap();
    for scaling in [Scaling::None, Scaling::RowMeans, Scaling::ColumnMeans] {
        let signs = BitMatrix::binarize(&view, &Binarize { scaling, ..Binarize::default() }, &control()).unwrap();
        let planes = BitPlanes::from(&signs);
        assert_eq!(planes.dequantize(&control()).unwrap(), signs.to_dense(&control()).unwrap());
        assert!(std::ptr::eq(&planes.words()[0], &signs.words()[0]));
        let ones = planes.plane(0);
        assert_eq!(BitPlanes::from(&ones).dequantize(&control()).unwrap(), ones.to_dense(&control()).unwrap());
    }
}
