//! Dense products, and operations over dense matrices alone.

use super::operands::{FORMS, dense, elements, everywhere, near, powers, same, spread};
use bitgraph_backend::Error as BackendError;
use bitgraph_cpu::Cpu;
use bitgraph_semiring::Scalar;
use bitgraph_tensor::ops::{
    AdamSettings, AdamState, SgdSettings, adam, argmax_rows, batch_norm, batch_norm_backward, concat, cross_entropy,
    cross_entropy_with_gradient, dot_columns, gemm, log_softmax, log_softmax_backward, map, moments, sgd, sum_columns,
};
use bitgraph_tensor::{Activation, Dense, Dropout, Element, Error};
use half::{bf16, f16};

const SIZES: [(usize, usize, usize); 12] = [
    (0, 3, 4),
    (3, 0, 4),
    (3, 4, 0),
    (1, 1, 1),
    (7, 9, 5),
    (33, 64, 31),
    (300, 17, 129),
    (64, 7, 602),
    (1, 100, 40),
    (100, 1, 40),
    (5, 6, 20_000),
    (513, 20, 3),
];

fn products<T: Element>(k: usize) {
    for (s, &(rows, columns, length)) in SIZES.iter().enumerate() {
        let (ta, tb) = ((k + s) % 2 == 1, (k + s) / 2 % 2 == 1);
        same::<T::Output>(
            || format!("{}: {rows} x {columns} x {length}, transposed {ta} {tb}", T::DTYPE),
            |cpu| {
                let a = if ta { dense::<T>(cpu, length, rows, 1) } else { dense(cpu, rows, length, 1) };
                let b = if tb { dense::<T>(cpu, columns, length, 2) } else { dense(cpu, length, columns, 2) };
                let mut op = gemm(&spread(&a), &b);
                op = if ta { op.transpose_a() } else { op };
                op = if tb { op.transpose_b() } else { op };
                if s % 3 == 1 { op.bias(&dense(cpu, 1, columns, 3)).relu().eval() } else { op.eval() }
            },
        );
    }
}

#[test]
fn all_products() {
    everywhere(|| {
        for k in 0..4 {
            products::<f16>(k);
            products::<bf16>(k);
            products::<f32>(k);
            products::<f64>(k);
            products::<i8>(k);
            products::<i32>(k);
        }
    });
}

#[test]
fn products_of_other_shapes_are_refused() {
    let cpu = Cpu::new();
    let (a, b) = (dense::<f32>(&cpu, 3, 4, 1), dense::<f32>(&cpu, 5, 6, 2));
    let Err(BackendError::Family(error)) = gemm(&a, &b).eval() else { panic!("not refused") };
    assert!(matches!(error.get::<Error>(), Some(Error::Shape { expected: (4, 6), found: (5, 6), .. })));
    let Err(BackendError::Family(error)) = dot_columns(&a, &b) else { panic!("not refused") };
    assert!(matches!(error.get::<Error>(), Some(Error::Shape { operation: "dot_columns", operand: "the second matrix", .. })));
    assert!(gemm(&a, &b).transpose_a().transpose_b().eval().is_err());
    assert!(gemm(&a, &a).transpose_b().eval().is_ok());
}

#[test]
fn maps_and_statistics() {
    everywhere(|| {
        for (rows, columns) in [(0, 5), (5, 0), (1, 1), (700, 33), (1000, 64), (3, 602)] {
            let what = || format!("{rows} x {columns}");
            let x = |cpu: &Cpu| spread(&dense::<f32>(cpu, rows, columns, 1));
            same::<f16>(what, |cpu| map(&x(cpu)).eval_as());
            same::<i8>(what, |cpu| map(&x(cpu)).times(100.0).eval_as());
            same::<i32>(what, |cpu| map(&dense::<i32>(cpu, rows, columns, 1)).eval());
            same::<f32>(what, |cpu| map(&x(cpu)).dropout(Dropout { rescale: false, ..Dropout::new(0.4, 7, 1) }).sign().eval());
            for f in [Activation::Relu, Activation::LeakyRelu { slope: 0.25 }, Activation::Elu { alpha: 2.0 }] {
                near::<f32>(what, 1e-6, |cpu| map(&x(cpu)).activation(f).eval());
                near::<f32>(what, 1e-6, |cpu| map(&x(cpu)).activation_gradient(f, &dense::<f32>(cpu, rows, columns, 2)).eval());
            }
            same::<f32>(what, |cpu| sum_columns(&x(cpu)));
            near::<f32>(what, 1e-6, |cpu| dot_columns(&x(cpu), &dense::<f16>(cpu, rows, columns, 2)));
            near::<f32>(what, 1e-6, |cpu| Ok(moments(&x(cpu))?.0));
            near::<f32>(what, 1e-5, |cpu| Ok(moments(&x(cpu))?.1));
            near::<f32>(what, 1e-5, |cpu| log_softmax(&x(cpu)));
            near::<f32>(what, 1e-4, |cpu| log_softmax_backward(&log_softmax(&x(cpu))?, &dense(cpu, rows, columns, 2)));
            same::<i32>(what, |cpu| argmax_rows(&x(cpu)));
            for part in 0..3 {
                near::<f32>(what, 2e-4, |cpu| {
                    let (gamma, beta, x) = (powers(cpu, 1, columns, 3), dense(cpu, 1, columns, 4), x(cpu));
                    let forward = batch_norm(&x, Some((&gamma, &beta)), 1e-3)?;
                    if part == 2 {
                        return Ok(forward.y);
                    }
                    let (dx, dgamma, dbeta) = batch_norm_backward(&x, &forward, Some(&gamma), 1e-3, &dense(cpu, rows, columns, 5))?;
                    // The sums of thousands of products are compared at their size.
                    let small = |d: Dense<Cpu, f32>| map(&d).times(1.0 / (rows.max(1) as f64)).eval();
                    if part == 0 { Ok(dx) } else { concat(&[&small(dgamma)?, &small(dbeta)?]) }
                });
            }
        }
    });
}

#[test]
fn variances_of_far_means_are_right() {
    for cpu in FORMS {
        let x = Dense::from_vec(&cpu, 4, 1, vec![1e6f32, 1e6 + 1.0, 1e6 + 2.0, 1e6 + 3.0]).unwrap();
        assert_eq!(moments(&x).unwrap().1.to_host().unwrap(), [1.25]);
    }
}

#[test]
fn losses() {
    everywhere(|| {
        for (rows, columns) in [(1, 1), (70, 7), (1000, 40)] {
            let labels: Vec<i32> = (0..rows as i32).map(|i| if i % 3 == 1 { -1 } else { i % columns as i32 }).collect();
            let labels = |cpu: &Cpu| Dense::column_vector(cpu, labels.clone()).unwrap();
            let what = || format!("{rows} x {columns}");
            near::<f32>(what, 1e-6, |cpu| cross_entropy(&dense::<f32>(cpu, rows, columns, 1), &labels(cpu)));
            near::<f64>(what, 1e-14, |cpu| cross_entropy(&dense::<f64>(cpu, rows, columns, 1), &labels(cpu)));
            near::<f16>(what, 1e-3, |cpu| Ok(cross_entropy_with_gradient(&dense::<f16>(cpu, rows, columns, 1), &labels(cpu), 64.0)?.1));
        }
    });
    for cpu in FORMS {
        let logits = dense::<f32>(&cpu, 2, 3, 1);
        let none = Dense::column_vector(&cpu, vec![-1, -1]).unwrap();
        let (loss, gradient) = cross_entropy_with_gradient(&logits, &none, 1.0).unwrap();
        assert_eq!((loss.to_host().unwrap(), gradient.to_host().unwrap()), (vec![0.0], vec![0.0; 6]));
        let wrong = Dense::column_vector(&cpu, vec![0, 3]).unwrap();
        let Err(BackendError::Family(error)) = cross_entropy(&logits, &wrong) else { panic!("not refused") };
        assert!(matches!(error.get::<Error>(), Some(Error::Label { row: 1, label: 3, classes: 3, .. })));
    }
}

#[test]
fn matrices_side_by_side() {
    let cpu = Cpu::new();
    let (a, b) = (dense::<f32>(&cpu, 5, 3, 1), dense::<f32>(&cpu, 5, 4, 2));
    let both = concat(&[&a, &b, &a]).unwrap();
    assert_eq!(both.columns(3..7).unwrap().to_host().unwrap(), b.to_host().unwrap());
    assert_eq!(both.columns(7..10).unwrap().to_host().unwrap(), a.to_host().unwrap());
    assert!(concat(&[&a, &dense::<f32>(&cpu, 4, 3, 1)]).is_err() && concat::<Cpu, f32>(&[]).is_err());
    assert_eq!(argmax_rows(&Dense::from_rows(&cpu, &[[f32::NAN, 2.0, 2.0]]).unwrap()).unwrap().to_host().unwrap(), [1]);
    assert!(Dense::from_rows(&cpu, &[vec![1.0f32], vec![]]).is_err());
    assert_eq!(elements::<f32>(3, 1)[0].to_f64().fract(), 0.0);
}

#[test]
fn steps_of_adam() {
    everywhere(|| {
        for (rows, columns) in [(0, 5), (1, 1), (300, 33), (1, 1000)] {
            for decoupled in [false, true] {
                for part in 0..3 {
                    near::<f32>(
                        || format!("{rows} x {columns}, decoupled {decoupled}, part {part}"),
                        1e-5,
                        |cpu| {
                            let settings = AdamSettings { rate: 0.01, decoupled, gradient_factor: 0.5, ..AdamSettings::default() };
                            let decay = powers(cpu, rows, columns, 2);
                            let mut state = AdamState::new(dense::<f32>(cpu, rows, columns, 1))?;
                            let mut next = AdamState::new(Dense::zeros(cpu, rows, columns)?)?;
                            for step in 1..=3 {
                                adam(&state, &dense(cpu, rows, columns, 3 + step), Some(&decay), (settings, step as u32), &mut next)?;
                                std::mem::swap(&mut state, &mut next);
                            }
                            Ok([state.parameters, state.first, state.second][part].clone())
                        },
                    );
                }
            }
        }
    });
    let cpu = Cpu::new();
    let state = AdamState::new(dense::<f32>(&cpu, 3, 4, 1)).unwrap();
    let refused = |gradient: &Dense<Cpu, f32>, rate: f64| {
        let settings = AdamSettings { rate, ..AdamSettings::default() };
        adam(&state, gradient, None, (settings, 1), &mut AdamState::new(dense(&cpu, 3, 4, 2)).unwrap()).is_err()
    };
    assert!(refused(&dense(&cpu, 4, 3, 1), 0.1) && refused(&dense(&cpu, 3, 4, 1), f64::NAN) && !refused(&dense(&cpu, 3, 4, 1), 0.1));
}

#[test]
fn steps_of_sgd() {
    everywhere(|| {
        for (rows, columns) in [(0, 5), (1, 1), (300, 33), (1, 1000)] {
            for part in 0..2 {
                near::<f32>(
                    || format!("{rows} x {columns}, part {part}"),
                    1e-5,
                    |cpu| {
                        let settings = SgdSettings { rate: 0.1, momentum: 0.9, gradient_factor: 0.5 };
                        let decay = powers(cpu, rows, columns, 2);
                        let mut state = [dense::<f32>(cpu, rows, columns, 1), Dense::zeros(cpu, rows, columns)?];
                        let mut next = [Dense::zeros(cpu, rows, columns)?, Dense::zeros(cpu, rows, columns)?];
                        for step in 1..=3 {
                            let ([x, v], [y, w]) = (&state, &mut next);
                            sgd((x, v), &dense(cpu, rows, columns, 3 + step), Some(&decay), settings, (y, w))?;
                            std::mem::swap(&mut state, &mut next);
                        }
                        Ok(state[part].clone())
                    },
                );
            }
        }
    });
    // Of whole numbers, by hand: the velocity is 0.5 * 6 + 4 * 0.25 + 0.25 * 8 = 6, the parameter 8 - 0.5 * 6 = 5.
    let cpu = Cpu::new();
    let one = |x: f64| Dense::filled(&cpu, 1, 1, x).unwrap();
    let settings = SgdSettings { rate: 0.5, momentum: 0.5, gradient_factor: 0.25 };
    let step = |settings: SgdSettings, gradient: &Dense<Cpu, f64>| {
        let (mut y, mut w) = (one(0.0), one(0.0));
        sgd((&one(8.0), &one(6.0)), gradient, Some(&one(0.25)), settings, (&mut y, &mut w))
            .map(|()| [y, w].map(|x| x.to_host().unwrap()[0]))
    };
    assert_eq!(step(settings, &one(4.0)).unwrap(), [5.0, 6.0]);
    assert!(step(settings, &dense(&cpu, 2, 1, 1)).is_err());
    assert!(step(SgdSettings { momentum: 1.0, ..settings }, &one(4.0)).is_err());
    assert!(step(SgdSettings { rate: f64::NAN, ..settings }, &one(4.0)).is_err());
    let (mut x, w) = (one(8.0), one(0.0));
    let shared = x.clone();
    assert!(sgd((&shared, &w), &one(1.0), None, settings, (&mut x, &mut one(0.0))).is_err(), "an output that is an operand");
}
