//! Signs and planes: the fast form against the reference bit by bit, on every instruction set, and against what the host's types say.

use crate::operands::{FORMS, WIDTHS, dense, elements, everywhere, fills_a_window, matrix, patterns, powers, same, spread};
use bitgraph_backend::Error;
use bitgraph_cpu::Cpu;
use bitgraph_sparse::{Control, FormatKind};
use bitgraph_tensor::bittensor::{
    Binarize, BitMatrix, BitPlanes, Packing, Per, Quantization, Rounding, Scaling, Step, Steps, TileShape, View, product,
};
use bitgraph_tensor::ops::bitgnn::{Bmm, Bspmm, Factors, Mixed, Pair, Precision};
use bitgraph_tensor::ops::{Reconcile, bit_gemm, bit_spmm, gemm, spmm};
use bitgraph_tensor::{Dense, PlaneSteps, Planes, Quantise, Signs};

const PACKINGS: [Packing; 2] = [Packing::Rows, Packing::Columns];

/// Signs of small whole numbers; zeros count as +1.
fn signs(cpu: &Cpu, rows: usize, columns: usize, packing: Packing, seed: u64) -> Signs<Cpu> {
    dense::<f32>(cpu, rows, columns, seed).sign(packing).unwrap()
}

/// Codes of whole numbers and of steps by powers of two, whose values are exact.
fn planes(cpu: &Cpu, rows: usize, columns: usize, bits: u32, unit: bool, packing: Packing, seed: u64) -> Planes<Cpu> {
    let step = if unit { Step::UNIT } else { Step { scale: 0.5, zero: 1.5 } };
    let q = Quantization::new(bits, Rounding::Nearest, Steps::Tensor(step)).unwrap();
    dense::<f32>(cpu, rows, columns, seed).quantize(&q, packing).unwrap()
}

/// Asserts that both forms give the same words.
fn same_signs(what: impl Fn() -> String, run: impl Fn(&Cpu) -> Result<Signs<Cpu>, Error>) {
    let [a, b] = FORMS.map(|cpu| run(&cpu).unwrap_or_else(|e| panic!("{}: {e}", what())).to_host().unwrap());
    assert!(a == b, "{}: {:?} and {:?}", what(), a.words(), b.words());
}
fn same_planes(what: impl Fn() -> String, run: impl Fn(&Cpu) -> Result<Planes<Cpu>, Error>) {
    let [a, b] = FORMS.map(|cpu| run(&cpu).unwrap_or_else(|e| panic!("{}: {e}", what())).to_host().unwrap());
    assert!(a == b, "{}: {:?} and {:?}", what(), a.words(), b.words());
}

#[test]
fn packing_is_the_hosts() {
    everywhere(|| {
        for (rows, columns) in [(0, 5), (5, 0), (1, 1), (3, 31), (33, 7), (64, 64), (70, 33), (129, 130)] {
            let values = elements::<f32>(rows * columns, 3);
            let view = View::new(&values, rows, columns).unwrap();
            let control = Control::default();
            for cpu in FORMS {
                let x = dense::<f32>(&cpu, rows, columns, 3);
                for x in [x.clone(), spread(&x)] {
                    for packing in PACKINGS {
                        for scaling in [Scaling::None, Scaling::RowMeans, Scaling::ColumnMeans] {
                            let how = Binarize { packing, scaling, ..Binarize::default() };
                            let host = BitMatrix::binarize(&view, &how, &control).unwrap();
                            let signs = x.sign_scaled(packing, scaling).unwrap();
                            assert_eq!(signs.to_host().unwrap(), host);
                            let back = Signs::from_host(&cpu, &host).unwrap();
                            assert_eq!(back.to_host().unwrap(), host);
                            assert_eq!(back.to_dense().unwrap().to_host().unwrap(), host.to_dense(&control).unwrap());
                            let other = back.repacked(packing.other(), TileShape::TILE_8X128).unwrap().to_host().unwrap();
                            assert_eq!(other, host.repacked(packing.other(), TileShape::TILE_8X128, &control).unwrap());
                            assert_eq!(back.transposed().unwrap().to_host().unwrap(), host.transposed());
                        }
                        for (bits, per) in [(1, Per::Tensor), (3, Per::Row), (8, Per::Column), (16, Per::Tensor)] {
                            let fit = bitgraph_tensor::bittensor::Fit { per, ..bitgraph_tensor::bittensor::Fit::bits(bits) };
                            let q = Quantization::fit(&view, &fit, &control).unwrap();
                            let host = BitPlanes::quantize(&view, &q, packing, TileShape::WORD, &control).unwrap();
                            let planes = x.quantize(&q, packing).unwrap();
                            assert_eq!(planes.to_host().unwrap(), host, "{bits} bits, {rows} x {columns}");
                            assert_eq!(planes.to_dense().unwrap().to_host().unwrap(), host.dequantize(&control).unwrap());
                            assert_eq!(planes.transposed().unwrap().to_host().unwrap(), host.transposed());
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn thresholds_and_what_is_not_a_number() {
    for cpu in FORMS {
        let x = Dense::from_slice(&cpu, 2, 3, &[1.0f32, f32::NAN, -0.0, 2.0, f32::INFINITY, f32::NEG_INFINITY]).unwrap();
        let bits = |s: Signs<Cpu>| s.to_host().unwrap().words().to_vec();
        assert_eq!(bits(x.sign(Packing::Rows).unwrap()), [0b101, 0b011]);
        let t = Dense::row_vector(&cpu, vec![1.5, 0.0, 0.0]).unwrap();
        assert_eq!(bits(x.sign_from(&t, Packing::Rows).unwrap()), [0b100, 0b011]);
        let codes = x.quantize(&Quantization::unit(2).unwrap(), Packing::Rows).unwrap();
        assert_eq!(codes.to_host().unwrap().codes(&Control::default()).unwrap(), [1, 0, 0, 2, 3, 0]);
        let wrong = Dense::row_vector(&cpu, vec![1.5f32]).unwrap();
        assert!(x.sign_from(&wrong, Packing::Rows).is_err());
        assert!(dense::<f64>(&cpu, 2, 2, 1).sign(Packing::Rows).is_err());
    }
}

#[test]
fn products_of_signs() {
    everywhere(|| {
        for (rows, length, columns) in [(0, 3, 4), (5, 0, 3), (3, 4, 0), (1, 1, 1), (7, 31, 33), (65, 64, 17), (66, 127, 40), (9, 602, 15)]
        {
            let run = |cpu: &Cpu| {
                bit_gemm(&signs(cpu, rows, length, Packing::Rows, 1), &signs(cpu, length, columns, Packing::Columns, 2)).eval_as::<i32>()
            };
            same(|| format!("{rows} x {length} x {columns}"), run);
            let (a, b) = (
                signs(&FORMS[1], rows, length, Packing::Rows, 1).to_host().unwrap(),
                signs(&FORMS[1], length, columns, Packing::Columns, 2).to_host().unwrap(),
            );
            let wanted: Vec<i32> = product::bits(&a, &b, &Control::default()).unwrap().into_iter().map(|x| x as i32).collect();
            assert_eq!(run(&FORMS[1]).unwrap().to_host().unwrap(), wanted, "{rows} x {length} x {columns}");
            let fused = |cpu: &Cpu| {
                let x = signs(cpu, rows, length, Packing::Rows, 1).with_row_scales(&powers(cpu, rows, 1, 3))?;
                let w = signs(cpu, length, columns, Packing::Columns, 2).with_column_scales(&powers(cpu, 1, columns, 4))?;
                Ok::<_, Error>(bit_gemm(&x, &w).scale_rows(&powers(cpu, rows, 1, 5)).bias(&dense(cpu, 1, columns, 6)))
            };
            same(|| format!("fused, {rows} x {length} x {columns}"), |cpu| fused(cpu)?.eval());
            same_signs(|| format!("fused signs, {rows} x {length} x {columns}"), |cpu| fused(cpu)?.sign().eval_signs());
            let q = Quantise { scale: 2.0, zero_point: 3, bits: 4 };
            same_planes(|| format!("fused planes, {rows} x {length} x {columns}"), |cpu| fused(cpu)?.eval_planes(q));
        }
    });
}

#[test]
fn products_of_planes_and_of_floats() {
    everywhere(|| {
        for (rows, length, columns) in [(4, 0, 3), (7, 31, 33), (65, 64, 17), (6, 130, 5)] {
            for (s, t, unit) in [(1, 1, true), (2, 3, true), (8, 1, false), (3, 8, false), (16, 16, true)] {
                let run = |cpu: &Cpu| {
                    let a = planes(cpu, rows, length, s, unit, Packing::Rows, 1);
                    Ok::<_, Error>(bit_gemm(&a, &planes(cpu, length, columns, t, unit, Packing::Columns, 2)))
                };
                let what = || format!("{s} x {t} bits, {rows} x {length} x {columns}");
                same(what, |cpu| run(cpu)?.eval());
                same(what, |cpu| run(cpu)?.eval_as::<i32>());
                let (a, b) = (
                    planes(&FORMS[1], rows, length, s, unit, Packing::Rows, 1).to_host().unwrap(),
                    planes(&FORMS[1], length, columns, t, unit, Packing::Columns, 2).to_host().unwrap(),
                );
                let wanted: Vec<f32> = product::values(&a, &b, &Control::default()).unwrap().into_iter().map(|x| x as f32).collect();
                assert_eq!(run(&FORMS[1]).unwrap().eval().unwrap().to_host().unwrap(), wanted, "{}", what());
            }
            // Bits with floats, signs with planes.
            let what = || format!("mixed, {rows} x {length} x {columns}");
            same(what, |cpu| bit_gemm(&dense::<f32>(cpu, rows, length, 1), &signs(cpu, length, columns, Packing::Columns, 2)).eval());
            same(what, |cpu| bit_gemm(&signs(cpu, rows, length, Packing::Rows, 2), &dense::<f32>(cpu, length, columns, 1)).eval());
            same(what, |cpu| {
                bit_gemm(&dense::<half::f16>(cpu, rows, length, 1), &planes(cpu, length, columns, 3, false, Packing::Columns, 2)).eval()
            });
            same(what, |cpu| {
                bit_gemm(&signs(cpu, rows, length, Packing::Rows, 2), &planes(cpu, length, columns, 3, false, Packing::Columns, 2)).eval()
            });
            same_signs(what, |cpu| {
                bit_gemm(&dense::<f32>(cpu, rows, length, 1), &signs(cpu, length, columns, Packing::Columns, 2)).eval_signs()
            });
            // A product with signs is that with their values.
            let cpu = FORMS[1];
            let (x, w) = (dense::<f32>(&cpu, rows, length, 1), signs(&cpu, length, columns, Packing::Columns, 2));
            let plain = gemm(&x, &w.to_dense().unwrap()).eval().unwrap().to_host().unwrap();
            assert_eq!(bit_gemm(&x, &w).eval().unwrap().to_host().unwrap(), plain);
        }
    });
}

#[test]
fn aggregation_of_signs() {
    let patterns = patterns();
    everywhere(|| {
        for (k, (name, csr)) in patterns.iter().enumerate() {
            for (w, &width) in WIDTHS.iter().enumerate().filter(|(w, _)| (w + k) % 3 == 0) {
                let (transposed, own) = ((k + w) % 2 == 1, csr.nrows() == csr.ncols() && w % 2 == 0);
                let format = if k % 4 == 0 { FormatKind::B2sr8 } else { FormatKind::Csr };
                let (rows, inner) = if transposed { (csr.ncols(), csr.nrows()) } else { (csr.nrows(), csr.ncols()) };
                let base = |cpu: &Cpu, reconcile: Reconcile| {
                    let a = matrix::<f32>(cpu, csr, false, format);
                    let mut op = bit_spmm(&a, &signs(cpu, inner, width, Packing::Rows, 4)).reconcile(reconcile);
                    op = if transposed { op.transpose() } else { op };
                    if own { op.own() } else { op }
                };
                let count = Reconcile::Count;
                let what = || format!("{name}, {width} columns, transposed {transposed}, own {own}");
                for reconcile in Reconcile::ALL {
                    same(what, |cpu| base(cpu, reconcile).eval_as::<i32>());
                }
                same(what, |cpu| base(cpu, count).eval_as::<i16>());
                same(what, |cpu| base(cpu, count).eval());
                same_signs(what, |cpu| base(cpu, count).eval_signs());
                same_signs(what, |cpu| base(cpu, count).scale_rows(&powers(cpu, rows, 1, 5)).eval_signs());
                same_planes(what, |cpu| base(cpu, count).eval_counts(13));
                let (d, c) = (|cpu: &Cpu| powers::<f32>(cpu, rows, 1, 6), |cpu: &Cpu| powers::<f32>(cpu, inner, 1, 7));
                let fused = |cpu: &Cpu| base(cpu, count).scale_rows(&d(cpu)).bias(&dense(cpu, 1, width, 8)).relu();
                same(what, |cpu| fused(cpu).eval());
                same_signs(what, |cpu| base(cpu, count).threshold(&dense(cpu, 1, width, 8)).eval_signs());
                same_planes(what, |cpu| fused(cpu).eval_planes(Quantise { scale: 0.5, zero_point: 1, bits: 5 }));
                same(what, |cpu| base(cpu, count).scale_columns(&c(cpu)).scale_rows(&d(cpu)).eval());
                // The sum of signs is that of their values.
                let cpu = FORMS[1];
                let a = matrix::<f32>(&cpu, csr, false, format);
                let x = signs(&cpu, inner, width, Packing::Rows, 4).to_dense().unwrap();
                let mut plain = spmm(&a, &x);
                plain = if transposed { plain.transpose() } else { plain };
                plain = if own { plain.own(1.0) } else { plain };
                assert_eq!(base(&cpu, count).eval().unwrap().to_host().unwrap(), plain.eval().unwrap().to_host().unwrap(), "{}", what());
                let counts = base(&cpu, count).eval_counts(13).unwrap();
                let of_counts = counts.to_dense().unwrap().to_host().unwrap();
                assert_eq!(of_counts, base(&cpu, count).eval().unwrap().to_host().unwrap(), "counts stand for sums: {}", what());
            }
        }
    });
}

#[test]
fn aggregation_of_planes_and_scaled_signs() {
    let patterns = patterns();
    everywhere(|| {
        for (k, (name, csr)) in patterns.iter().enumerate() {
            for (w, &width) in WIDTHS.iter().enumerate().filter(|(w, _)| (w + k) % 4 == 0) {
                let what = || format!("{name}, {width} columns");
                let inner = csr.ncols();
                let a = |cpu: &Cpu| matrix::<f32>(cpu, csr, false, FormatKind::Csr);
                let bits = [1, 2, 5, 16][(w + k) / 4 % 4];
                for unit in [true, false] {
                    same(what, |cpu| bit_spmm(&a(cpu), &planes(cpu, inner, width, bits, unit, Packing::Rows, 2)).eval());
                    same(what, |cpu| bit_spmm(&a(cpu), &planes(cpu, inner, width, bits, unit, Packing::Rows, 2)).eval_as::<i32>());
                }
                let columns = |cpu: &Cpu| {
                    let steps = PlaneSteps::Columns { scale: powers(cpu, 1, width, 3), zero: powers(cpu, 1, width, 4) };
                    planes(cpu, inner, width, bits, true, Packing::Rows, 2).with_steps(steps)
                };
                same(what, |cpu| bit_spmm(&a(cpu), &columns(cpu)?).eval());
                let rows = |cpu: &Cpu| {
                    let steps = PlaneSteps::Rows { scale: powers(cpu, inner, 1, 3), zero: powers(cpu, inner, 1, 4) };
                    planes(cpu, inner, width, bits.min(5), true, Packing::Rows, 2).with_steps(steps)
                };
                same(what, |cpu| bit_spmm(&a(cpu), &rows(cpu)?).eval());
                let x = |cpu: &Cpu| signs(cpu, inner, width, Packing::Rows, 4);
                same(what, |cpu| bit_spmm(&a(cpu), &x(cpu).with_column_scales(&powers(cpu, 1, width, 3))?).eval());
                same(what, |cpu| bit_spmm(&a(cpu), &x(cpu).with_row_scales(&powers(cpu, inner, 1, 3))?).eval());
                same_signs(what, |cpu| bit_spmm(&a(cpu), &dense::<f32>(cpu, inner, width, 4)).eval_signs());
                same_planes(what, |cpu| {
                    bit_spmm(&a(cpu), &dense::<half::bf16>(cpu, inner, width, 4)).eval_planes(Quantise {
                        scale: 1.0,
                        zero_point: 9,
                        bits: 6,
                    })
                });
            }
        }
    });
}

/// Rows of more messages than a count of 16 bits holds.
#[test]
fn hubs() {
    let n = 70_000u32;
    let offsets = bitgraph_sparse::Offsets::from_usizes(&[0, n as usize, n as usize, n as usize + 40_000]);
    let columns: Vec<u32> = (0..n).chain(0..40_000).collect();
    let csr = bitgraph_sparse::Csr::new(3, n as usize, offsets, columns.into()).unwrap();
    everywhere(|| {
        let base = |cpu: &Cpu| {
            let x = Dense::filled(cpu, n as usize, 40, 1.0f32)?.sign(Packing::Rows)?;
            Ok::<_, Error>(bit_spmm(&matrix::<f32>(cpu, &csr, false, FormatKind::Csr), &x))
        };
        for cpu in FORMS {
            let row = |y: Vec<i32>| [y[0], y[40], y[119]];
            assert_eq!(row(base(&cpu).unwrap().eval_as::<i32>().unwrap().to_host().unwrap()), [70_000, 0, 40_000]);
            let halves = base(&cpu).unwrap().eval_as::<i16>().unwrap().to_host().unwrap();
            assert_eq!([halves[0], halves[40], halves[119]], [i16::MAX, 0, i16::MAX]);
            let error = base(&cpu).unwrap().eval_counts(16).unwrap_err().to_string();
            assert!(error.contains("70000") && error.contains("messages"), "{error}");
        }
        same_signs(|| "hub".into(), |cpu| base(cpu)?.eval_signs());
    });
}

#[test]
fn outputs_are_windows() {
    let csr = patterns().into_iter().find(|(name, _)| name == "kron 8").unwrap().1;
    everywhere(|| {
        for cpu in FORMS {
            let (a, n) = (matrix::<f32>(&cpu, &csr, false, FormatKind::Csr), csr.nrows());
            let (x, w) = (signs(&cpu, n, 40, Packing::Rows, 4), signs(&cpu, 40, 9, Packing::Columns, 5));
            let (d, bias) = (powers::<f32>(&cpu, n, 1, 6), dense::<f32>(&cpu, 1, 40, 8));
            fills_a_window(&bit_spmm(&a, &x).eval_as::<i32>().unwrap(), |y| bit_spmm(&a, &x).into(y));
            fills_a_window(&bit_spmm(&a, &x).eval_as::<i16>().unwrap(), |y| bit_spmm(&a, &x).into(y));
            let scaled = || bit_spmm(&a, &x).scale_rows(&d).bias(&bias).relu();
            fills_a_window(&scaled().eval().unwrap(), |y| scaled().into(y));
            fills_a_window(&bit_gemm(&x, &w).eval().unwrap(), |y| bit_gemm(&x, &w).into(y));
        }
    });
}

/// The largest number of so many bits is the largest count, and one message more is refused.
#[test]
fn counts_fill_their_planes() {
    for (bits, messages) in [(1u32, 1usize), (3, 7), (4, 15), (5, 31)] {
        for more in [0, 1] {
            let n = messages + more;
            let offsets = bitgraph_sparse::Offsets::from_usizes(&[0, 0, n]);
            let csr = bitgraph_sparse::Csr::new(2, n, offsets, (0..n as u32).collect::<Vec<_>>().into()).unwrap();
            for cpu in FORMS {
                let x = Dense::filled(&cpu, n, 40, 1.0f32).unwrap().sign(Packing::Rows).unwrap();
                let counts = bit_spmm(&matrix::<f32>(&cpu, &csr, false, FormatKind::Csr), &x).eval_counts(bits);
                match counts {
                    Err(error) => assert!(more == 1 && error.to_string().contains("messages"), "{bits} bits, {n} messages: {error}"),
                    Ok(counts) => {
                        let found = counts.to_dense().unwrap().to_host().unwrap();
                        assert!(more == 0 && found[..40].iter().all(|&c| c == 0.0) && found[40..].iter().all(|&c| c == n as f32));
                    }
                }
            }
        }
    }
}

#[test]
fn names_compute_what_the_paper_says() {
    let (n, f, h) = (37, 45, 19);
    let csr = patterns().into_iter().map(|(_, csr)| csr).find(|csr| csr.nrows() == csr.ncols() && csr.nrows() >= 30).unwrap();
    let n = csr.nrows().max(n.min(csr.nrows()));
    let sign = |x: f32| if x >= 0.0 { 1.0f32 } else { -1.0 };
    for cpu in FORMS {
        let (x, w) = (dense::<f32>(&cpu, n, f, 1), dense::<f32>(&cpu, f, h, 2));
        let (hx, hw) = (x.to_host().unwrap(), w.to_host().unwrap());
        let full = |m: &Dense<Cpu, f32>| Mixed::Full(m.clone());
        for name in Bmm::ALL {
            let [first, second, result] = name.precisions();
            let a = if first == Precision::Full { full(&x) } else { Mixed::Binary(x.sign(Packing::Rows).unwrap()) };
            let b = if second == Precision::Full { full(&w) } else { Mixed::Binary(w.sign(Packing::Columns).unwrap()) };
            let found = match name.compute(&a, &b).unwrap() {
                Mixed::Full(y) if result == Precision::Full => y.to_host().unwrap(),
                Mixed::Binary(y) if result == Precision::Binary => y.to_dense().unwrap().to_host().unwrap(),
                _ => panic!("{}: a result of the other precision", name.name()),
            };
            for i in 0..n {
                for j in 0..h {
                    // BIN of both, and SCL of what was full precision where the result is.
                    let dot: f32 = (0..f).map(|k| sign(hx[i * f + k]) * sign(hw[k * h + j])).sum();
                    let alpha = (0..f).map(|k| f64::from(hx[i * f + k].abs())).sum::<f64>() / f as f64;
                    let beta = (0..f).map(|k| f64::from(hw[k * h + j].abs())).sum::<f64>() / f as f64;
                    let wanted = match result {
                        Precision::Binary => sign(dot),
                        Precision::Full => {
                            dot * if first == Precision::Full { alpha as f32 } else { 1.0 }
                                * if second == Precision::Full { beta as f32 } else { 1.0 }
                        }
                    };
                    let found = found[i * h + j];
                    assert!((found - wanted).abs() <= 1e-5 * wanted.abs(), "BMM.{} ({i}, {j}): {found}, not {wanted}", name.name());
                }
            }
        }
        let a = matrix::<f32>(&cpu, &csr, false, FormatKind::Csr);
        let all = Factors { rows: powers(&cpu, n, 1, 3), columns: powers(&cpu, n, 1, 4) };
        let (r, c) = (all.rows.to_host().unwrap(), all.columns.to_host().unwrap());
        for name in Bspmm::ALL {
            let [first, second, result] = name.precisions();
            let features = if first == Precision::Full { full(&x) } else { Mixed::Binary(x.sign(Packing::Rows).unwrap()) };
            let factors = (second == Precision::Full).then_some(&all);
            let found = match name.compute(&a, factors, &features).unwrap() {
                Mixed::Full(y) if result == Precision::Full => y.to_host().unwrap(),
                Mixed::Binary(y) if result == Precision::Binary => y.to_dense().unwrap().to_host().unwrap(),
                _ => panic!("{}: a result of the other precision", name.name()),
            };
            for i in 0..n {
                for k in 0..f {
                    let of = |j: usize| if first == Precision::Full { hx[j * f + k] } else { sign(hx[j * f + k]) };
                    let weight = |j: usize| if factors.is_some() { r[i] * c[j] } else { 1.0 };
                    let sum: f32 = csr.row(i).iter().map(|&j| weight(j as usize) * of(j as usize)).sum();
                    let wanted = if result == Precision::Full { sum } else { sign(sum) };
                    assert_eq!(found[i * f + k], wanted, "BSpMM.{} ({i}, {k})", name.name());
                }
            }
            let turned = if factors.is_some() { None } else { Some(&all) };
            assert!(name.compute(&a, turned, &features).is_err());
        }
        // The pairs are the two, one after the other.
        for pair in Pair::ALL {
            let (bmm, bspmm) = pair.operators();
            let [first, second, _] = bmm.precisions();
            let p = if first == Precision::Full { full(&x) } else { Mixed::Binary(x.sign(Packing::Rows).unwrap()) };
            let q = if second == Precision::Full { full(&w) } else { Mixed::Binary(w.sign(Packing::Columns).unwrap()) };
            let host = |m: Mixed<Cpu>| match m {
                Mixed::Full(y) => y.to_host().unwrap(),
                Mixed::Binary(y) => y.to_dense().unwrap().to_host().unwrap(),
            };
            let apart = bspmm.compute(&a, None, &bmm.compute(&p, &q).unwrap()).unwrap();
            assert_eq!(host(pair.compute(&a, &p, &q).unwrap()), host(apart));
            let wrong = if first == Precision::Full { Mixed::Binary(x.sign(Packing::Rows).unwrap()) } else { full(&x) };
            assert!(pair.compute(&a, &wrong, &q).is_err());
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let cpu = Cpu::new();
    let says = |e: Error, parts: &[&str]| {
        let text = e.to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    };
    let x = signs(&cpu, 5, 40, Packing::Rows, 1);
    let w = signs(&cpu, 41, 3, Packing::Columns, 1);
    says(bit_gemm(&x, &w).eval().unwrap_err(), &["41 x 3", "40 x 3"]);
    let w = signs(&cpu, 40, 3, Packing::Rows, 1);
    says(bit_gemm(&x, &w).eval().unwrap_err(), &["second", "packed along rows", "columns is needed"]);
    says(bit_gemm(&dense::<f64>(&cpu, 5, 40, 1), &signs(&cpu, 40, 3, Packing::Columns, 1)).eval().unwrap_err(), &["f64", "f32"]);
    says(bit_gemm(&dense::<f32>(&cpu, 5, 40, 1), &dense::<f32>(&cpu, 40, 3, 1)).eval().unwrap_err(), &["gemm"]);
    let inner = signs(&cpu, 5, 40, Packing::Rows, 1).with_column_scales(&powers(&cpu, 1, 40, 1)).unwrap();
    says(bit_gemm(&inner, &signs(&cpu, 40, 3, Packing::Columns, 1)).eval().unwrap_err(), &["first", "scale for each of its columns"]);
    says(signs(&cpu, 5, 40, Packing::Rows, 1).with_row_scales(&powers(&cpu, 4, 1, 1)).unwrap_err(), &["4 x 1", "5 x 1"]);
    let csr = patterns().into_iter().map(|(_, csr)| csr).find(|csr| csr.ncols() > 10 && csr.ncols() != 5).unwrap();
    let a = matrix::<f32>(&cpu, &csr, false, FormatKind::Csr);
    says(bit_spmm(&a, &x).eval().unwrap_err(), &["the features", "5 x 40", &format!("{} x 40", csr.ncols())]);
    let fitting = signs(&cpu, csr.ncols(), 8, Packing::Rows, 1);
    says(bit_spmm(&matrix::<f32>(&cpu, &csr, true, FormatKind::Csr), &fitting).eval().unwrap_err(), &["values"]);
    says(bit_spmm(&a, &signs(&cpu, csr.ncols(), 8, Packing::Columns, 1)).eval().unwrap_err(), &["packed"]);
    for bits in [0, 17] {
        says(bit_spmm(&a, &fitting).eval_counts(bits).unwrap_err(), &["bits an element; 1 to 16", &bits.to_string()]);
        says(bit_spmm(&a, &fitting).eval_planes(Quantise { scale: 1.0, zero_point: 0, bits }).unwrap_err(), &["1 to 16 bits"]);
    }
    says(bit_spmm(&a, &fitting).times(2.0).eval_counts(4).unwrap_err(), &["counts"]);
    // Zeros and ones are no signs.
    let adjacency = BitMatrix::from_csr(&csr, Packing::Rows, TileShape::WORD, &Control::default()).unwrap();
    says(Signs::from_host(&cpu, &adjacency).unwrap_err(), &["zeros and ones"]);
    // QGTC: a dense adjacency matrix of one bit times planes is the sparse product.
    let ones = Planes::from_host(&cpu, &BitPlanes::from(&adjacency)).unwrap();
    let x = planes(&cpu, csr.ncols(), 9, 3, true, Packing::Columns, 5);
    let sparse = bit_spmm(&a, &x.repacked(Packing::Rows, TileShape::WORD).unwrap()).eval().unwrap().to_host().unwrap();
    assert_eq!(bit_gemm(&ones, &x).eval().unwrap().to_host().unwrap(), sparse);
}
