//! Sparse times dense.

use super::operands::{FORMS, WIDTHS, dense, elements, everywhere, matrix, near, patterns, powers, same, spread};
use bitgraph_backend::Error as BackendError;
use bitgraph_cpu::Cpu;
use bitgraph_semiring::{DType, Scalar};
use bitgraph_sparse::{Buffer, Csr, FormatKind};
use bitgraph_tensor::ops::{Accumulation, Reduce, map, spmm};
use bitgraph_tensor::{Dense, Dropout, Element, Error, Quantise, Real};
use half::{bf16, f16};

/// Every pattern, width and reduction, with and without weights, seen both ways.
fn family<T: Element>(csr: &Csr, name: &str, width: usize, k: usize) {
    let reduce = [Reduce::Sum, Reduce::Max, Reduce::Mean, Reduce::Min][k % 4];
    let (weighted, transposed, scaled) = (k / 2 % 2 == 1, k / 3 % 2 == 1, k % 5 == 4);
    let (rows, columns) = if transposed { (csr.ncols(), csr.nrows()) } else { (csr.nrows(), csr.ncols()) };
    let format = [FormatKind::Csr, FormatKind::B2sr4, FormatKind::Hybrid][k % 3];
    // Sums are exact; a quotient is rounded twice in the reference.
    let share = if reduce != Reduce::Mean {
        0.0
    } else if T::Output::DTYPE == DType::Bf16 {
        0.01
    } else {
        1e-3
    };
    near::<T::Output>(
        || format!("{} over {name}, {width} columns, {reduce:?}, weighted {weighted}, transposed {transposed}, {format}", T::DTYPE),
        share,
        |cpu| {
            let a = matrix::<T>(cpu, csr, weighted, format);
            let x = dense::<T>(cpu, columns, width, 3);
            let x = if k.is_multiple_of(2) { spread(&x) } else { x };
            let mut op = spmm(&a, &x).reduce(reduce);
            if transposed {
                op = op.transpose();
            }
            if scaled {
                op = op.scale_rows(&powers(cpu, rows, 1, 5)).scale_columns(&powers(cpu, columns, 1, 6));
            }
            if k % 7 == 3 && rows == columns && !reduce.chooses() {
                op = op.own(3.0);
            }
            op.eval()
        },
    );
}

#[test]
fn families() {
    let patterns = patterns();
    everywhere(|| {
        for (k, (name, csr)) in patterns.iter().enumerate() {
            for (w, &width) in WIDTHS.iter().enumerate() {
                let k = k + 13 * w;
                match k % 8 {
                    0 => family::<f16>(csr, name, width, k),
                    1 => family::<bf16>(csr, name, width, k),
                    2 => family::<f64>(csr, name, width, k),
                    3 => family::<i8>(csr, name, width, k),
                    4 => family::<u8>(csr, name, width, k),
                    5 => family::<i16>(csr, name, width, k),
                    6 => family::<i32>(csr, name, width, k),
                    _ => {}
                }
                family::<f32>(csr, name, width, k);
                family::<f32>(csr, name, width, k / 2 + 1);
            }
        }
    });
}

#[test]
fn heads_have_values_of_their_own() {
    everywhere(|| {
        for (name, csr) in patterns().into_iter().step_by(3) {
            for (heads, width) in [(1, 33), (4, 64), (8, 64), (3, 21), (2, 602)] {
                for transposed in [false, true] {
                    same::<f32>(
                        || format!("{name}, {heads} heads of {width}"),
                        |cpu| {
                            let a = matrix::<f32>(cpu, &csr, false, FormatKind::Csr);
                            let e = dense::<f32>(cpu, csr.nnz(), heads, 9);
                            let x = dense::<f32>(cpu, if transposed { csr.nrows() } else { csr.ncols() }, width, 3);
                            let op = spmm(&a, &x).edge_values(&if transposed { spread(&e) } else { e });
                            if transposed { op.transpose().eval() } else { op.eval() }
                        },
                    );
                }
            }
        }
    });
}

/// All steps of an epilogue, one after the other, with numbers that stay exact.
#[test]
fn epilogues() {
    everywhere(|| {
        for (name, csr) in patterns().into_iter().filter(|(_, csr)| csr.nrows() > 60) {
            for width in [3, 64] {
                let n = csr.nrows();
                same::<f32>(
                    || format!("{name}, {width} columns"),
                    |cpu| {
                        let a = matrix::<f32>(cpu, &csr, false, FormatKind::Csr);
                        let ones = |value| Dense::filled(cpu, 1, width, value).unwrap();
                        spmm(&a, &dense::<f32>(cpu, csr.ncols(), width, 3))
                            .times_rows(&powers(cpu, n, 1, 1))
                            .bias(&dense(cpu, 1, width, 2))
                            .add(&dense::<f16>(cpu, n, width, 4))
                            .add_times_columns(&dense::<i8>(cpu, n, width, 4), &powers(cpu, 1, width, 3))
                            .batch_norm(
                                (&dense(cpu, 1, width, 5), &ones(3.0)),
                                Some((&powers(cpu, 1, width, 6), &dense(cpu, 1, width, 7))),
                                1.0,
                            )
                            .leaky_relu(0.25)
                            .times_columns(&powers(cpu, 1, width, 8))
                            .multiply(&dense::<i8>(cpu, n, width, 9))
                            .dropout(Dropout::new(0.5, 99, 3))
                            .add_scaled(&dense::<bf16>(cpu, n, width, 10), -0.5)
                            .relu()
                            .times(2.0)
                            .eval()
                    },
                );
                same::<i8>(
                    || format!("signs over {name}, {width} columns"),
                    |cpu| {
                        let a = matrix::<f32>(cpu, &csr, false, FormatKind::Csr);
                        spmm(&a, &dense::<f32>(cpu, csr.ncols(), width, 3)).threshold(&dense(cpu, 1, width, 2)).eval_as()
                    },
                );
                same::<u8>(
                    || format!("levels over {name}, {width} columns"),
                    |cpu| {
                        let a = matrix::<i8>(cpu, &csr, false, FormatKind::Csr);
                        let q = Quantise { scale: 4.0, zero_point: 8, bits: 4 };
                        spmm(&a, &dense::<i8>(cpu, csr.ncols(), width, 3)).quantise(q).eval_as()
                    },
                );
            }
        }
    });
}

/// An output that is some columns of a matrix: the others stay as they are.
#[test]
fn outputs_are_windows() {
    for cpu in FORMS {
        let csr = patterns().into_iter().find(|(name, _)| name == "kron 8").unwrap().1;
        let (a, x) = (matrix::<f32>(&cpu, &csr, false, FormatKind::Csr), dense::<f32>(&cpu, 256, 20, 3));
        let wanted = spmm(&a, &x).eval().unwrap().to_host().unwrap();
        let mut y = Dense::<_, f32>::filled(&cpu, 256, 30, -7.0).unwrap();
        let before = y.clone();
        spmm(&a, &x).into(y.columns_mut(4..24).unwrap()).unwrap();
        let found = y.to_host().unwrap();
        for i in 0..256 {
            let row = &found[30 * i..30 * (i + 1)];
            assert_eq!(&row[4..24], &wanted[20 * i..20 * (i + 1)]);
            assert!(row[..4].iter().chain(&row[24..]).all(|&v| v == -7.0));
        }
        assert!(before.to_host().unwrap().iter().all(|&v| v == -7.0), "a clone is a value of its own");
    }
}

/// A NaN or an infinity reaches the rows that have an entry for it, and no other; a maximum prefers numbers.
#[test]
fn special_values_stay_in_their_rows() {
    everywhere(|| {
        for (name, csr) in patterns().into_iter().filter(|(_, csr)| csr.is_square() && csr.nrows() > 30) {
            let n = csr.nrows();
            for (width, reduce) in [(33, Reduce::Sum), (64, Reduce::Max), (7, Reduce::Min), (130, Reduce::Mean)] {
                let special = |seed| {
                    let mut x = elements::<f32>(n * width, seed);
                    x[5 * width..6 * width].fill(f32::NAN);
                    x[8 * width..9 * width].fill(f32::INFINITY);
                    x[9 * width..10 * width].fill(f32::NEG_INFINITY);
                    x
                };
                same::<f32>(
                    || format!("{reduce:?} over {name}"),
                    |cpu| {
                        let a = matrix::<f32>(cpu, &csr, false, FormatKind::Csr);
                        spmm(&a, &Dense::from_vec(cpu, n, width, special(3))?).reduce(reduce).eval()
                    },
                );
                let (a, x) =
                    (matrix::<f32>(&Cpu::new(), &csr, false, FormatKind::Csr), Dense::from_vec(&Cpu::new(), n, width, special(3)).unwrap());
                let y = spmm(&a, &x).reduce(reduce).eval().unwrap().to_host().unwrap();
                for i in (0..n).filter(|&i| [5, 8, 9].iter().all(|j| !csr.row(i).contains(j))) {
                    assert!(y[i * width..(i + 1) * width].iter().all(|v| v.is_finite()), "{name}: row {i}");
                }
            }
        }
    });
}

/// A hub whose sum is beyond the half type: sums are wide, and the scaled result is in range; discretised sums stay in range, plain half sums
/// would not.
#[test]
fn hubs_do_not_overflow() {
    let n = 5000u32;
    let csr = Csr::new(1, n as usize, bitgraph_sparse::Offsets::from_usizes(&[0, n as usize]), (0..n).collect::<Vec<_>>().into()).unwrap();
    for cpu in FORMS {
        let a = matrix::<f16>(&cpu, &csr, false, FormatKind::Csr);
        let x = Dense::filled(&cpu, n as usize, 33, f16::from_f32(100.0)).unwrap();
        let scale = Dense::filled(&cpu, 1, 1, 1.0 / n as f32).unwrap();
        let near = |y: Dense<Cpu, f16>, by: f32| y.to_host().unwrap().iter().all(|v| (v.to_f32() - 100.0).abs() <= by);
        assert!(near(spmm(&a, &x).scale_rows(&scale).eval().unwrap(), 0.1));
        assert!(near(spmm(&a, &x).reduce(Reduce::Mean).eval().unwrap(), 0.1));
        // 157 batches of 32: each adds 100 * 32 / 5000 = 0.64, rounded to a sixteenth of a unit at 64 and above.
        assert!(near(spmm(&a, &x).scale_rows(&scale).accumulation(Accumulation::Discretised { batch: 32 }).eval().unwrap(), 8.0));
        let whole = spmm(&a, &x).scale_rows(&scale).accumulation(Accumulation::Discretised { batch: n }).eval().unwrap();
        assert!(whole.to_host().unwrap().iter().all(|v| v.is_infinite()), "one batch of half sums overflows");
    }
}

/// Chosen columns, and the gradients of all reductions against differences of the sums.
#[test]
fn chosen_columns() {
    everywhere(|| {
        for (name, csr) in patterns() {
            for reduce in [Reduce::Max, Reduce::Min] {
                let width = 9;
                let run = |cpu: &Cpu| {
                    let a = matrix::<f32>(cpu, &csr, true, FormatKind::Csr);
                    let op = || spmm(&a, &dense::<f32>(cpu, csr.ncols(), width, 3)).reduce(reduce);
                    let (y, from) = op().eval_chosen().unwrap();
                    assert_eq!(y.to_host().unwrap(), op().eval().unwrap().to_host().unwrap(), "{name}");
                    (from, op().gradient_chosen(&op().eval_chosen().unwrap().1, &dense::<f32>(cpu, csr.nrows(), width, 8)).unwrap())
                };
                same::<i32>(|| format!("chosen by {reduce:?} over {name}"), |cpu| Ok(run(cpu).0));
                same::<f32>(|| format!("gradient of {reduce:?} over {name}"), |cpu| Ok(run(cpu).1));
            }
        }
    });
}

/// What is not a number is chosen where there is nothing else.
#[test]
fn numbers_are_chosen_first() {
    everywhere(|| {
        for (name, csr) in patterns() {
            for reduce in [Reduce::Max, Reduce::Min] {
                let width = 9;
                let run = |cpu: &Cpu| {
                    let mut x = super::operands::elements::<f32>(csr.ncols() * width, 3);
                    x.iter_mut().enumerate().filter(|(k, _)| k % 5 < 3).for_each(|(_, x)| *x = f32::NAN);
                    let x = Dense::from_vec(cpu, csr.ncols(), width, x).unwrap();
                    spmm(&matrix::<f32>(cpu, &csr, false, FormatKind::Csr), &x).reduce(reduce).eval_chosen().unwrap()
                };
                same::<f32>(|| format!("{reduce:?} over {name}"), |cpu| Ok(run(cpu).0));
                same::<i32>(|| format!("chosen by {reduce:?} over {name}"), |cpu| Ok(run(cpu).1));
            }
        }
    });
}

fn refusal(result: Result<impl Sized, BackendError>) -> Error {
    match result {
        Err(BackendError::Family(error)) => error.get::<Error>().expect("an error of the tensors").clone(),
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was not refused"),
    }
}

#[test]
fn refusals_name_both_sides() {
    let cpu = Cpu::new();
    let csr = patterns().into_iter().find(|(name, _)| name == "100 x 17 random").unwrap().1;
    let a = matrix::<f32>(&cpu, &csr, false, FormatKind::Csr);
    let x = dense::<f32>(&cpu, 17, 8, 1);
    let wrong = refusal(spmm(&a, &dense::<f32>(&cpu, 16, 8, 1)).eval());
    assert_eq!(wrong.to_string(), "spmm: the features is 16 x 8 where 17 x 8 is needed");
    assert!(matches!(refusal(spmm(&a, &x).transpose().eval()), Error::Shape { expected: (100, 8), found: (17, 8), .. }));
    assert!(matches!(refusal(spmm(&a, &x).bias(&dense(&cpu, 1, 7, 1)).eval()), Error::Shape { operand: "the bias", .. }));
    assert!(matches!(refusal(spmm(&a, &x).scale_rows(&dense(&cpu, 17, 1, 1)).eval()), Error::Shape { operand: "the row scale", .. }));
    let summand = |rows, columns| spmm(&a, &x).add_times_columns(&dense::<f16>(&cpu, rows, 8, 1), &dense(&cpu, 1, columns, 1)).eval();
    assert!(matches!(refusal(summand(17, 8)), Error::Shape { operand: "the summand", .. }));
    assert!(matches!(refusal(summand(100, 7)), Error::Shape { operand: "the summand's column scale", .. }));
    assert!(matches!(refusal(spmm(&a, &x).own(1.0).eval()), Error::Shape { .. }));
    let (two, three) = (dense::<f32>(&cpu, csr.nnz(), 2, 1), dense::<f32>(&cpu, csr.nnz(), 3, 1));
    assert!(spmm(&a, &x).edge_values(&two).eval().is_ok());
    assert!(matches!(refusal(spmm(&a, &x).edge_values(&three).eval()), Error::Heads { columns: 8, heads: 3, .. }));
    assert!(matches!(refusal(spmm(&a, &x).edge_values(&dense::<f64>(&cpu, csr.nnz(), 1, 1)).eval()), Error::Type { .. }));
    let weighted = matrix::<i64>(&cpu, &csr, true, FormatKind::Csr);
    assert!(matches!(refusal(spmm(&weighted, &x).eval()), Error::Type { .. }));
    assert!(matches!(refusal(spmm(&a, &x).accumulation(Accumulation::Discretised { batch: 8 }).eval()), Error::Combination { .. }));
    assert!(matches!(refusal(spmm(&a, &x).dropout(Dropout::new(1.0, 0, 0)).eval()), Error::Parameter { .. }));
    assert!(matches!(refusal(spmm(&a, &x).eval_chosen()), Error::Combination { .. }));
    let mut small = Dense::<_, f32>::zeros(&cpu, 100, 7).unwrap();
    assert!(matches!(refusal(spmm(&a, &x).into(&mut small)), Error::Shape { operand: "the output", .. }));
    assert!(matches!(refusal(Dense::<_, f32>::zeros(&cpu, 1 << 40, 1 << 40)), Error::Overflow { .. }));
    assert!(matches!(refusal(Dense::from_slice(&cpu, 2, 3, &[1.0f32; 5])), Error::Length { expected: 6, found: 5, .. }));
    let buffer: Buffer<f32> = vec![0.0; 10].into();
    assert!(matches!(refusal(Dense::from_buffer(&cpu, 3, 3, 4, buffer.clone())), Error::Length { expected: 11, .. }));
    assert!(matches!(refusal(Dense::from_buffer(&cpu, 3, 3, 2, buffer)), Error::Stride { .. }));
    assert!(matches!(Dense::<_, f64>::zeros(&cpu, 1 << 30, 1 << 29), Err(BackendError::OutOfMemory { .. })));
}

/// Operands that share elements with the output are refused; those that share the array alone are not.
#[test]
fn overlaps() {
    let cpu = Cpu::new();
    let csr = patterns().into_iter().find(|(name, _)| name == "kron 8").unwrap().1;
    let a = matrix::<f32>(&cpu, &csr, false, FormatKind::Csr);
    let mut both = dense::<f32>(&cpu, 256, 16, 3);
    let left = both.columns(0..8).unwrap();
    assert!(matches!(refusal(spmm(&a, &left).into(both.columns_mut(4..12).unwrap())), Error::Overlap { operand: "the features", .. }));
    assert!(matches!(refusal(map(&left).relu().into(both.columns_mut(0..8).unwrap())), Error::Overlap { .. }));
    let wanted = spmm(&a, &left).eval().unwrap();
    spmm(&a, &left).into(both.columns_mut(8..16).unwrap()).unwrap();
    assert_eq!(both.columns(8..16).unwrap().to_host().unwrap(), wanted.to_host().unwrap());
    assert_eq!(both.columns(0..8).unwrap().to_host().unwrap(), left.to_host().unwrap());
}

/// What is opened and not written to, as by an operation that fails, can be read, and leaves other handles what they had.
#[test]
fn outputs_that_nothing_is_written_to() {
    for cpu in FORMS {
        let before = dense::<f32>(&cpu, 17, 9, 5);
        let mut shared = before.clone();
        let _ = shared.as_mut().open().unwrap();
        assert_eq!(shared.to_host().unwrap(), vec![0.0; 17 * 9]);
        assert_eq!(before.to_host().unwrap(), elements::<f32>(17 * 9, 5));
    }
}

/// A caller's memory is read in place and never written to.
#[test]
fn borrowed_memory() {
    let cpu = Cpu::new();
    let owner = std::sync::Arc::new(elements::<f32>(17 * 8, 1));
    let mut view = Dense::from_buffer(&cpu, 17, 8, 8, Buffer::from_slice_owner(std::sync::Arc::clone(&owner))).unwrap();
    assert_eq!(view.raw().as_slice().as_ptr(), owner.as_ptr(), "no copy");
    map(&Dense::<_, f32>::filled(&cpu, 17, 3, 5.0).unwrap()).into(view.columns_mut(1..4).unwrap()).unwrap();
    assert_eq!(*owner, elements::<f32>(17 * 8, 1));
    let found = view.to_host().unwrap();
    assert!((0..17).all(|i| found[8 * i + 1..8 * i + 4] == [5.0; 3] && found[8 * i] == owner[8 * i]));
}

/// Sums of integers wrap, and stay exact where they fit.
#[test]
fn whole_sums() {
    for cpu in FORMS {
        let csr = Csr::new(1, 3, bitgraph_sparse::Offsets::from_usizes(&[0, 3]), vec![0, 1, 2].into()).unwrap();
        let a = matrix::<i32>(&cpu, &csr, false, FormatKind::Csr);
        let x = Dense::from_vec(&cpu, 3, 1, vec![i32::MAX, 5, 16_777_217]).unwrap();
        assert_eq!(spmm(&a, &x).eval().unwrap().to_host().unwrap(), [i32::MAX.wrapping_add(5).wrapping_add(16_777_217)]);
        let x = Dense::from_vec(&cpu, 3, 1, vec![16_777_217, 1, 1]).unwrap();
        assert_eq!(spmm(&a, &x).eval().unwrap().to_host().unwrap(), [16_777_219]);
        assert_eq!(<f32 as Real>::of(0.5), 0.5);
    }
}

/// A symmetric pattern that is known for one is its own transpose: the same bits, and none is made. Entries with values are not symmetric.
#[test]
fn symmetric_patterns_are_their_transposes() {
    for (name, csr) in patterns().into_iter().filter(|(_, csr)| csr.is_square()) {
        let (csr, n) = (csr.symmetrized().unwrap(), csr.nrows());
        for cpu in FORMS {
            let unknown = matrix::<f32>(&cpu, &csr, false, FormatKind::Csr);
            let known = matrix::<f32>(&cpu, &csr, false, FormatKind::Csr).with_symmetric_pattern();
            let (x, dy, e) = (dense::<f32>(&cpu, n, 8, 3), dense::<f16>(&cpu, n, 8, 4), dense::<f32>(&cpu, csr.nnz(), 1, 5));
            let of = |a: &bitgraph_backend::Matrix<Cpu>| {
                let sum = spmm(a, &x).transpose().scale_rows(&powers(&cpu, n, 1, 6)).eval().unwrap();
                let gradient = spmm(a, &x).reduce(Reduce::Mean).gradient(&dy).unwrap().eval_as::<f32>().unwrap();
                [sum, gradient].map(|y| y.to_host().unwrap())
            };
            let before = known.bytes();
            assert_eq!(of(&known), of(&unknown), "{name}");
            assert_eq!(known.bytes(), before, "{name}");
            let weighted = |a: &bitgraph_backend::Matrix<Cpu>| spmm(a, &x).transpose().edge_values(&e).eval().unwrap().to_host().unwrap();
            assert_eq!(weighted(&known), weighted(&unknown), "{name}, with values");
        }
    }
    let oblong = Csr::empty(3, 4).unwrap();
    assert!(!matrix::<f32>(&Cpu::new(), &oblong, false, FormatKind::Csr).with_symmetric_pattern().has_symmetric_pattern());
}

/// A result larger than every cache, which is written past them: whole, and as columns of a wider one.
#[test]
fn results_larger_than_caches() {
    let (n, columns) = (300_000usize, 64);
    let indices: Vec<u32> = (0..n as u32).flat_map(|i| [i % 7, 7 + i % 5]).collect();
    let offsets: Vec<usize> = (0..=n).map(|i| 2 * i).collect();
    let csr = Csr::new(n, 12, bitgraph_sparse::Offsets::from_usizes(&offsets), indices.into()).unwrap();
    let cpu = Cpu::new();
    let a = matrix::<f32>(&cpu, &csr, false, FormatKind::Csr);
    let features = elements::<f32>(12 * columns, 3);
    let wanted = |i: usize, c: usize| features[i % 7 * columns + c] + features[(7 + i % 5) * columns + c];
    for width in [64, 60] {
        let x = Dense::from_slice(&cpu, 12, columns, &features).unwrap().columns(0..width).unwrap();
        let found = spmm(&a, &x).eval().unwrap().to_host().unwrap();
        assert!((0..n).all(|i| (0..width).all(|c| found[i * width + c] == wanted(i, c))), "{width} columns");
    }
    let x = Dense::from_slice(&cpu, 12, columns, &features).unwrap().columns(0..48).unwrap();
    let mut wide = Dense::<_, f32>::filled(&cpu, n, columns, 5.0).unwrap();
    spmm(&a, &x).into(wide.columns_mut(16..64).unwrap()).unwrap();
    let found = wide.to_host().unwrap();
    assert!((0..n).all(|i| (0..columns).all(|c| found[i * columns + c] == if c < 16 { 5.0 } else { wanted(i, c - 16) })));
}
