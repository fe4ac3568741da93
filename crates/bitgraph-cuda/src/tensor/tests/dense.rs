//! Operations over dense matrices alone.

use super::plain::{Plain, near};
use super::{WIDTHS, dense, device, elements, spread};
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::{
    AdamSettings, AdamState, SgdSettings, adam, argmax_rows, batch_norm, batch_norm_backward, cross_entropy, cross_entropy_with_gradient,
    cross_entropy_with_sums, dot_columns, log_softmax, log_softmax_backward, map, moments, sgd, sum_columns,
};
use bitgraph_tensor::{Dense, Dropout, Element, Philox, Real};
use half::{bf16, f16};

const HEIGHTS: [usize; 5] = [0, 1, 15, 17, 131];

fn real(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

/// One row: a formula of every column.
fn by_columns(x: &Plain, f: impl Fn(&[f64]) -> f64) -> Plain {
    let column = |c: usize| (0..x.rows).map(|i| x.at(i, c)).collect::<Vec<_>>();
    Plain { rows: 1, columns: x.columns, data: (0..x.columns).map(|c| f(&column(c))).collect() }
}

fn columns<T: Element>() {
    let Some(cuda) = device() else { return };
    for height in HEIGHTS {
        for (w, width) in WIDTHS.into_iter().enumerate() {
            let what = format!("{}: {height} x {width}", T::DTYPE);
            let x = dense::<T>(&cuda, height, width, 3);
            let x = if w % 2 == 0 { spread(&x) } else { x };
            let plain = Plain::of(&x);
            let (n, real) = (height.max(1) as f64, real(T::DTYPE));
            let sums = by_columns(&plain, |v| v.iter().sum());
            let magnitude = by_columns(&plain, |v| v.iter().map(|x| x.abs()).sum());
            near(&what, &sum_columns(&x).unwrap(), &sums, &magnitude, n, real);
            let z = dense::<T>(&cuda, height, width, 4);
            let factors = Plain::of(&z);
            let products = plain.map(|x, i, c| x * factors.at(i, c));
            let (dots, sizes) = (by_columns(&products, |v| v.iter().sum()), by_columns(&products, |v| v.iter().map(|x| x.abs()).sum()));
            near(&what, &dot_columns(&x, &z).unwrap(), &dots, &sizes, n + 1.0, real);
            let (mean, variance) = moments(&x).unwrap();
            near(&what, &mean, &sums.map(|s, _, _| s / n), &magnitude.map(|s, _, _| s / n), n + 2.0, real);
            let wanted = by_columns(&plain, |v| {
                let mean = v.iter().sum::<f64>() / n;
                v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n
            });
            near(&what, &variance, &wanted, &wanted.map(|v, _, _| v + 1.0), n + 8.0, real);
        }
    }
}

#[test]
fn statistics_of_columns() {
    columns::<f32>();
    columns::<f64>();
    columns::<f16>();
    columns::<i16>();
}

#[test]
fn batch_normalisation() {
    normalised::<f64>();
    normalised::<f32>();
}

fn normalised<R: Real>() {
    let Some(cuda) = device() else { return };
    for (height, width) in [(1, 5), (17, 1), (40, 33), (131, 64)] {
        let (x, dy) = (dense::<R>(&cuda, height, width, 3), dense::<R>(&cuda, height, width, 4));
        let (gamma, beta) = (dense::<R>(&cuda, 1, width, 5), dense::<R>(&cuda, 1, width, 6));
        let forward = batch_norm(&x, Some((&gamma, &beta)), 0.25).unwrap();
        let (dx, dgamma, dbeta) = batch_norm_backward(&x, &forward, Some(&gamma), 0.25, &dy).unwrap();
        let (px, pdy, g) = (Plain::of(&x), Plain::of(&dy), Plain::of(&gamma));
        let n = height as f64;
        let mean = by_columns(&px, |v| v.iter().sum::<f64>() / n);
        let deviation = by_columns(&px, |v| {
            let mean = v.iter().sum::<f64>() / n;
            (v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n + 0.25).sqrt()
        });
        let normal = px.map(|x, _, c| (x - mean.at(0, c)) / deviation.at(0, c));
        let b = Plain::of(&beta);
        let wanted = normal.map(|x, _, c| x * g.at(0, c) + b.at(0, c));
        let loose = |p: &Plain| p.map(|v, _, _| v.abs() + 10.0);
        near("the result", &forward.y, &wanted, &loose(&wanted), 200.0, R::DTYPE);
        let both = Plain { data: pdy.data.iter().zip(&normal.data).map(|(a, b)| a * b).collect(), ..pdy.clone() };
        let (wanted_beta, wanted_gamma) = (by_columns(&pdy, |v| v.iter().sum()), by_columns(&both, |v| v.iter().sum()));
        near("beta", &dbeta, &wanted_beta, &loose(&wanted_beta), 400.0, R::DTYPE);
        near("gamma", &dgamma, &wanted_gamma, &loose(&wanted_gamma), 400.0, R::DTYPE);
        let wanted = pdy.map(|dy, i, c| {
            g.at(0, c) / deviation.at(0, c) * (dy - wanted_beta.at(0, c) / n - normal.at(i, c) * wanted_gamma.at(0, c) / n)
        });
        near("the gradient", &dx, &wanted, &loose(&wanted), 400.0, R::DTYPE);
    }
}

/// A normalisation by known statistics is no step of `map_vectors`: halves are read by words all the same.
fn normalised_halves<T: Element<Real = f32>>() {
    let Some(cuda) = device() else { return };
    for (height, width) in [(1, 8), (17, 64), (131, 136)] {
        let x = dense::<T>(&cuda, height, width, 3);
        let (mean, deviation) = (dense::<f32>(&cuda, 1, width, 4), dense::<f32>(&cuda, 1, width, 5));
        let variance = map(&deviation).multiply(&deviation).eval().unwrap();
        let (gamma, beta) = (dense::<f32>(&cuda, 1, width, 6), dense::<f32>(&cuda, 1, width, 7));
        let found = map(&x).batch_norm((&mean, &variance), Some((&gamma, &beta)), 0.25).relu().eval_as::<f32>().unwrap();
        let [m, v, g, b] = [&mean, &variance, &gamma, &beta].map(Plain::of);
        let wanted = Plain::of(&x).map(|x, _, c| ((x - m.at(0, c)) / (v.at(0, c) + 0.25).sqrt() * g.at(0, c) + b.at(0, c)).max(0.0));
        near(&format!("{}: {height} x {width}", T::DTYPE), &found, &wanted, &wanted.map(|_, _, _| 20.0), 8.0, DType::F32);
    }
}

#[test]
fn halves_are_normalised_by_words() {
    normalised_halves::<f16>();
    normalised_halves::<bf16>();
}

fn log_softmax_of(x: &Plain) -> Plain {
    let row = |i: usize| (0..x.columns).map(move |c| x.at(i, c));
    x.map(|v, i, _| {
        let max = row(i).fold(f64::NEG_INFINITY, f64::max);
        v - max - row(i).map(|v| (v - max).exp()).sum::<f64>().ln()
    })
}

fn softmaxes<T: Element<Output = T>>() {
    let Some(cuda) = device() else { return };
    for height in HEIGHTS {
        for width in WIDTHS {
            let what = format!("{}: {height} x {width}", T::DTYPE);
            let x = spread(&map(&dense::<T>(&cuda, height, width, 3)).times(50.0).eval().unwrap());
            let y = log_softmax(&x).unwrap();
            let wanted = log_softmax_of(&Plain::of(&x));
            let real = real(T::DTYPE);
            near(&what, &y, &wanted, &wanted.map(|v, _, _| v.abs() + 200.0), 8.0, real);
            let dy = dense::<T>(&cuda, height, width, 4);
            let (py, pdy) = (Plain::of(&y), Plain::of(&dy));
            let sum = |i: usize| (0..width).map(|c| pdy.at(i, c)).sum::<f64>();
            let wanted = pdy.map(|dy, i, c| dy - py.at(i, c).exp() * sum(i));
            near(&what, &log_softmax_backward(&y, &dy).unwrap(), &wanted, &wanted.map(|v, _, _| v.abs() + 300.0), 60.0, real);
        }
    }
}

#[test]
fn log_softmaxes() {
    softmaxes::<f32>();
    softmaxes::<f64>();
    softmaxes::<bf16>();
}

fn losses<T: Element<Output = T>>() {
    let Some(cuda) = device() else { return };
    for height in HEIGHTS {
        for width in WIDTHS {
            let x = dense::<T>(&cuda, height, width, 3);
            // Some rows take no part.
            let labels: Vec<i32> = (0..height).map(|i| (i * 7 % (width + 2)) as i32 - 2).collect();
            let y = log_softmax_of(&Plain::of(&x));
            let part: Vec<usize> = (0..height).filter(|&i| labels[i] >= 0).collect();
            let n = part.len().max(1) as f64;
            let wanted = Plain { rows: 1, columns: 1, data: vec![part.iter().map(|&i| -y.at(i, labels[i] as usize)).sum::<f64>() / n] };
            let gradient = y.map(|v, i, c| match labels[i] {
                l if l < 0 => 0.0,
                l => 8.0 * (v.exp() - f64::from(u8::from(l as usize == c))) / n,
            });
            let labels = Dense::column_vector(&cuda, labels).unwrap();
            let what = format!("{}: {height} x {width}", T::DTYPE);
            let (loss, dx) = cross_entropy_with_gradient(&x, &spread(&labels), 8.0).unwrap();
            let real = real(T::DTYPE);
            near(&what, &loss, &wanted, &wanted.map(|v, _, _| v.abs() + 4.0), 20.0, real);
            near(&what, &dx, &gradient, &gradient.map(|_, _, _| 8.0 / n), 30.0, real);
            assert_eq!(cross_entropy(&x, &labels).unwrap().to_host().unwrap(), loss.to_host().unwrap(), "{what}");
        }
    }
}

#[test]
fn cross_entropies() {
    losses::<f32>();
    losses::<f64>();
    losses::<f16>();
}

/// Sums of the gradient's columns that are formed with it, of rows that lanes read once, of some that they read in pieces, and of others.
#[test]
fn sums_with_cross_entropies() {
    fn check<T: Element<Output = T>>() {
        let Some(cuda) = device() else { return };
        for (height, width) in [(0, 8), (1, 4), (17, 16), (131, 64), (700, 128), (131, 260), (60, 264), (19, 520), (37, 7)] {
            let x = dense::<T>(&cuda, height, width, 3);
            let labels: Vec<i32> = (0..height).map(|i| (i * 7 % (width + 2)) as i32 - 2).collect();
            let labels = Dense::column_vector(&cuda, labels).unwrap();
            let what = format!("{}: {height} x {width}", T::DTYPE);
            let (loss, dx) = cross_entropy_with_gradient(&x, &labels, 8.0).unwrap();
            let (same_loss, same, sums) = cross_entropy_with_sums(&x, &labels, 8.0).unwrap();
            assert_eq!(loss.to_host().unwrap(), same_loss.to_host().unwrap(), "{what}");
            let (dx, same) = (Plain::of(&dx), Plain::of(&same));
            assert_eq!(dx.data, same.data, "{what}");
            let wanted = |f: &dyn Fn(f64) -> f64| {
                let column = |c: usize| (0..height).map(|i| f(dx.at(i, c))).sum::<f64>();
                Plain { rows: 1, columns: width, data: (0..width).map(column).collect() }
            };
            // What is summed has not been rounded to the type yet.
            near(&what, &sums.unwrap(), &wanted(&|x| x), &wanted(&|x| x.abs() + 1e-3), 30.0, T::DTYPE);
        }
    }
    check::<f32>();
    check::<f64>();
    check::<f16>();
}

/// A label that is no class leaves a loss that is no number.
#[test]
fn labels_that_are_no_classes() {
    let Some(cuda) = device() else { return };
    let x = dense::<f32>(&cuda, 3, 4, 3);
    for (labels, valid) in [([0, 3, -1], true), ([0, 4, -1], false), ([i32::MAX, 0, 0], false)] {
        let (loss, dx) = cross_entropy_with_gradient(&x, &Dense::column_vector(&cuda, labels.to_vec()).unwrap(), 1.0).unwrap();
        assert_eq!(loss.to_host().unwrap()[0].is_finite(), valid, "{labels:?}");
        assert_eq!(dx.to_host().unwrap().iter().all(|v| v.is_finite()), valid, "{labels:?}");
    }
}

#[test]
fn columns_of_maxima() {
    let Some(cuda) = device() else { return };
    for (height, width) in [(1, 1), (17, 7), (40, 33), (9, 130)] {
        let mut x = elements::<f32>(height * width, 3);
        x[width - 1] = f32::NAN;
        let x = Dense::from_vec(&cuda, height, width, x).unwrap();
        let plain = Plain::of(&x);
        let wanted: Vec<i32> = (0..height)
            .map(|i| {
                let better = |a: usize, b: usize| plain.at(i, b) > plain.at(i, a) || (plain.at(i, a).is_nan() && !plain.at(i, b).is_nan());
                (0..width).reduce(|a, b| if better(a, b) { b } else { a }).map_or(-1, |c| c as i32)
            })
            .collect();
        assert_eq!(argmax_rows(&x).unwrap().to_host().unwrap(), wanted, "{height} x {width}");
    }
    let close = Dense::from_vec(&cuda, 1, 2, vec![i32::MAX - 1, i32::MAX]).unwrap();
    assert_eq!(argmax_rows(&close).unwrap().to_host().unwrap(), [1], "numbers that are one f32");
    assert_eq!(argmax_rows(&Dense::<_, f32>::zeros(&cuda, 3, 0).unwrap()).unwrap().to_host().unwrap(), [-1; 3]);
}

/// Every element type as every other, rounded once.
#[test]
fn conversions() {
    fn to<T: Element, U: Element>(x: &Dense<crate::Cuda, T>) {
        let wanted: Vec<f64> = Plain::of(x).data.into_iter().map(super::plain::stored::<U>).collect();
        let found = Plain::of(&map(x).eval_as::<U>().unwrap()).data;
        let same = |a: &f64, b: &f64| a == b || (a.is_nan() && b.is_nan());
        assert!(found.iter().zip(&wanted).all(|(a, b)| same(a, b)), "{} to {}: {found:?}, {wanted:?}", T::DTYPE, U::DTYPE);
    }
    fn from<T: Element>(values: &[f64]) {
        let Some(cuda) = device() else { return };
        let x = Dense::row_vector(&cuda, values.iter().map(|&v| T::from_f64(v)).collect()).unwrap();
        to::<T, f16>(&x);
        to::<T, bf16>(&x);
        to::<T, f32>(&x);
        to::<T, f64>(&x);
        to::<T, i8>(&x);
        to::<T, u8>(&x);
        to::<T, i16>(&x);
        to::<T, i32>(&x);
    }
    let floats = [0.0, 0.5, 1.5, -2.5, 3.4, -0.7, 127.5, 128.5, -129.0, 255.5, 65504.0, 70000.0, -4e9, 3e-8, 1e-41, 2049.0, 2051.0];
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 16_777_217.0, 2_147_483_647.0];
    let all: Vec<f64> = floats.into_iter().chain(special).collect();
    from::<f64>(&all);
    from::<f32>(&all);
    from::<f16>(&all);
    from::<bf16>(&all);
    let whole = [0.0, 1.0, -1.0, 100.0, 127.0, -128.0, 255.0, 32767.0, -32768.0, 2_147_483_647.0, -2_147_483_648.0, 16_777_217.0];
    from::<i8>(&whole);
    from::<u8>(&whole);
    from::<i16>(&whole);
    from::<i32>(&whole);
}

/// Just above the middle of two halves: what is rounded to single precision first is rounded down.
#[test]
fn numbers_are_rounded_once() {
    let Some(cuda) = device() else { return };
    let x = Dense::row_vector(&cuda, vec![1.0 + 2f64.powi(-11) + 2f64.powi(-40), 1.0 + 2f64.powi(-8) + 2f64.powi(-40)]).unwrap();
    assert_eq!(map(&x).eval_as::<f16>().unwrap().to_host().unwrap()[0].to_f64(), 1.0 + 2f64.powi(-10));
    assert_eq!(map(&x).eval_as::<bf16>().unwrap().to_host().unwrap()[1].to_f64(), 1.0 + 2f64.powi(-7));
}

/// Elements that are dropped are those of the generator, whatever the width, the type and the place of the matrix.
#[test]
fn dropout_counts_as_the_generator() {
    let Some(cuda) = device() else { return };
    let dropout = Dropout { probability: 0.5, seed: 0xDEAD_BEEF_0BAD_CAFE, draw: 9, rescale: false };
    let philox = Philox::new(dropout.seed, dropout.draw);
    fn check<T: Element>(cuda: &crate::Cuda, width: usize, dropout: Dropout, philox: Philox) {
        let x = Dense::filled(cuda, 9, width, T::ONE).unwrap();
        let found = map(&x).dropout(dropout).eval().unwrap().to_host().unwrap();
        for (k, v) in found.into_iter().enumerate() {
            let kept = philox.word((k / width) as u64, (k % width) as u32) >= 1 << 31;
            assert_eq!(v == T::ONE, kept, "{} {width}: element {k}", T::DTYPE);
        }
    }
    for width in [1, 2, 7, 8, 64, 130] {
        check::<f32>(&cuda, width, dropout, philox);
        check::<f16>(&cuda, width, dropout, philox);
        check::<f64>(&cuda, width, dropout, philox);
    }
}

fn adam_steps<R: Real>() {
    let Some(cuda) = device() else { return };
    for (rows, columns) in [(1, 1), (3, 33), (1, 700), (40, 64)] {
        for decoupled in [false, true] {
            let (rate, factor) = (0.01, 0.5);
            let settings = AdamSettings { rate, decoupled, gradient_factor: factor, ..AdamSettings::default() };
            let (x, g, decay) =
                (dense::<R>(&cuda, rows, columns, 1), dense::<R>(&cuda, rows, columns, 2), dense::<R>(&cuda, rows, columns, 3));
            // Rows with gaps are not taken as a flat array.
            let g = if columns == 33 { spread(&g) } else { g };
            let first = AdamState::new(x.clone()).unwrap();
            let empty = || AdamState::new(Dense::<_, R>::zeros(&cuda, rows, columns).unwrap()).unwrap();
            let (mut second, mut third) = (empty(), empty());
            adam(&first, &g, Some(&decay), (settings, 1), &mut second).unwrap();
            adam(&second, &g, Some(&decay), (settings, 2), &mut third).unwrap();
            let (mut p, g, d) = (Plain::of(&x), Plain::of(&g), Plain::of(&decay));
            let (mut m, mut v) = (vec![0.0; p.data.len()], vec![0.0; p.data.len()]);
            for step in 1..=2 {
                for e in 0..m.len() {
                    let gradient = g.data[e] * factor + if decoupled { 0.0 } else { d.data[e] * p.data[e] };
                    let kept = if decoupled { 1.0 - rate * d.data[e] } else { 1.0 };
                    m[e] = 0.9 * m[e] + 0.1 * gradient;
                    v[e] = 0.999 * v[e] + 0.001 * gradient * gradient;
                    let (mean, square): (f64, f64) = (m[e] / (1.0 - 0.9f64.powi(step)), v[e] / (1.0 - 0.999f64.powi(step)));
                    p.data[e] = kept * p.data[e] - rate * mean / (square.sqrt() + 1e-8);
                }
            }
            let what = format!("{rows} x {columns}, decoupled {decoupled}");
            near(&what, &third.parameters, &p, &p.map(|x, _, _| x.abs() + 1.0), 100.0, R::DTYPE);
        }
    }
}

fn sgd_steps<R: Real>() {
    let Some(cuda) = device() else { return };
    for (rows, columns) in [(1, 1), (3, 33), (1, 700), (40, 64)] {
        let settings = SgdSettings { rate: 0.1, momentum: 0.75, gradient_factor: 0.5 };
        let (x, g, decay) = (dense::<R>(&cuda, rows, columns, 1), dense::<R>(&cuda, rows, columns, 2), dense::<R>(&cuda, rows, columns, 3));
        let zeros = || Dense::<_, R>::zeros(&cuda, rows, columns).unwrap();
        // Rows with gaps are not taken as a flat array.
        let gradients = if columns == 33 { spread(&g) } else { g.clone() };
        let (mut second, mut third) = ([zeros(), zeros()], [zeros(), zeros()]);
        let [y, v] = &mut second;
        sgd((&x, &zeros()), &gradients, Some(&decay), settings, (y, v)).unwrap();
        let [z, w] = &mut third;
        sgd((&second[0], &second[1]), &gradients, None, settings, (z, w)).unwrap();
        let (mut p, g, d) = (Plain::of(&x), Plain::of(&g), Plain::of(&decay));
        let mut v = p.map(|_, _, _| 0.0);
        for decays in [1.0, 0.0] {
            for e in 0..v.data.len() {
                v.data[e] = 0.75 * v.data[e] + 0.5 * g.data[e] + decays * d.data[e] * p.data[e];
                p.data[e] -= 0.1 * v.data[e];
            }
        }
        let what = format!("{rows} x {columns}");
        near(&what, &third[0], &p, &p.map(|x, _, _| x.abs() + 1.0), 100.0, R::DTYPE);
        near(&what, &third[1], &v, &v.map(|x, _, _| x.abs() + 1.0), 100.0, R::DTYPE);
    }
}

#[test]
fn steps_of_sgd() {
    sgd_steps::<f32>();
    sgd_steps::<f64>();
}

#[test]
fn steps_of_adam() {
    adam_steps::<f32>();
    adam_steps::<f64>();
}
