//! Every backward pass against central differences in double precision, on both forms.

use super::attention::kinds;
use super::operands::{FORMS, matrix, patterns};
use bitgraph_backend::Error;
use bitgraph_cpu::Cpu;
use bitgraph_generate::Stream;
use bitgraph_sparse::{Csr, FormatKind};
use bitgraph_tensor::ops::{
    Pairing, Reduce, Score, attention, batch_norm, batch_norm_backward, cross_entropy, cross_entropy_with_gradient, edge_reduce,
    edge_softmax, edge_softmax_backward, gat, gat_v2, gemm, log_softmax, log_softmax_backward, map, sddmm, spmm,
};
use bitgraph_tensor::{Activation, Any, Dense, Dropout};

type Matrix64 = Dense<Cpu, f64>;

/// Numbers between -1 and 1, none near zero, where activations have no derivative.
fn random(cpu: &Cpu, rows: usize, columns: usize, seed: u64) -> Matrix64 {
    let s = Stream::new(seed, 31);
    let number = |k: u64| {
        let v = 2.0 * s.unit(k) - 1.0;
        v + 0.05f64.copysign(v)
    };
    Dense::from_vec(cpu, rows, columns, (0..(rows * columns) as u64).map(number).collect()).unwrap()
}

/// Compares the gradient of `sum of f(x) weight` with differences at up to 40 elements of `x`.
fn check(what: &str, x: &Matrix64, gradient: &Matrix64, f: &dyn Fn(&Matrix64) -> Result<Matrix64, Error>) {
    assert_eq!(x.shape(), gradient.shape(), "{what}");
    let (values, gradient) = (x.to_host().unwrap(), gradient.to_host().unwrap());
    let cpu = x.backend();
    let loss = |values: Vec<f64>| {
        let y = f(&Dense::from_vec(cpu, x.nrows(), x.ncols(), values).unwrap()).unwrap();
        let w = random(cpu, y.nrows(), y.ncols(), 77).to_host().unwrap();
        y.to_host().unwrap().iter().zip(w).map(|(y, w)| y * w).sum::<f64>()
    };
    let h = 1e-6;
    for k in (0..values.len()).step_by(values.len() / 40 + 1) {
        let moved = |by: f64| {
            let mut v = values.clone();
            v[k] += by;
            loss(v)
        };
        let slope = (moved(h) - moved(-h)) / (2.0 * h);
        assert!(
            (slope - gradient[k]).abs() <= 1e-7 * slope.abs().max(1.0) * 10.0,
            "{what}: element {k}: {} by differences {slope}",
            gradient[k]
        );
    }
}

/// The gradient that `check` weighs results with.
fn dy(y: &Matrix64) -> Matrix64 {
    random(y.backend(), y.nrows(), y.ncols(), 77)
}

fn graphs() -> Vec<(String, Csr)> {
    let some = ["one vertex with a loop", "star", "circulant with loops", "directed random", "31 x 64 random", "one dense row", "no edges"];
    patterns().into_iter().filter(|(name, _)| some.contains(&name.as_str())).collect()
}

#[test]
fn of_spmm() {
    for cpu in FORMS {
        for (name, csr) in graphs() {
            let (n, m) = (csr.nrows(), csr.ncols());
            for (reduce, transposed) in [(Reduce::Sum, false), (Reduce::Sum, true), (Reduce::Mean, false), (Reduce::Mean, true)] {
                let a = matrix::<f64>(&cpu, &csr, false, FormatKind::Csr);
                let (rows, columns) = if transposed { (m, n) } else { (n, m) };
                let (e, x) = (random(&cpu, csr.nnz(), 2, 1), random(&cpu, columns, 6, 2));
                let (r, c) = (random(&cpu, rows, 1, 3), random(&cpu, columns, 1, 4));
                let op = |x: &Matrix64, e: &Matrix64| {
                    let op = spmm(&a, x).edge_values(e).scale_rows(&r).scale_columns(&c).reduce(reduce);
                    let op = if n == m { op.own(1.5) } else { op };
                    if transposed { op.transpose() } else { op }
                };
                let what = format!("{name}, {reduce:?}, transposed {transposed}");
                let forward = op(&x, &e).eval().unwrap();
                check(&what, &x, &op(&x, &e).gradient(&dy(&forward)).unwrap().eval().unwrap(), &|x| op(x, &e).eval());
                if reduce == Reduce::Sum {
                    let (left, right) = if transposed { (x.clone(), dy(&forward)) } else { (dy(&forward), x.clone()) };
                    let (d_left, d_right) = if transposed { (&c, &r) } else { (&r, &c) };
                    let de = sddmm(&a, &left, &right).heads(2).scale_rows(d_left).scale_columns(d_right).eval().unwrap();
                    check(&format!("{what}: edge values"), &e, &de, &|e| op(&x, e).eval());
                }
            }
            for reduce in [Reduce::Max, Reduce::Min] {
                let a = matrix::<f64>(&cpu, &csr, false, FormatKind::Csr);
                let (e, x, r) = (random(&cpu, csr.nnz(), 1, 1), random(&cpu, m, 5, 2), random(&cpu, n, 1, 3));
                let op = |x: &Matrix64| spmm(&a, x).edge_values(&e).scale_rows(&r).reduce(reduce);
                let (y, chosen) = op(&x).eval_chosen().unwrap();
                check(&format!("{name}, {reduce:?}"), &x, &op(&x).gradient_chosen(&chosen, &dy(&y)).unwrap(), &|x| op(x).eval());
            }
        }
    }
}

#[test]
fn of_sddmm_and_softmax() {
    for cpu in FORMS {
        for (name, csr) in graphs() {
            let (n, m) = (csr.nrows(), csr.ncols());
            let a = matrix::<f64>(&cpu, &csr, false, FormatKind::Csr);
            let (x, y) = (random(&cpu, n, 6, 1), random(&cpu, m, 6, 2));
            let dot = |x: &Matrix64, y: &Matrix64| sddmm(&a, x, y).heads(3).eval();
            let de = dy(&dot(&x, &y).unwrap());
            check(&name, &x, &spmm(&a, &y).edge_values(&de).eval().unwrap(), &|x| dot(x, &y));
            check(&name, &y, &spmm(&a, &x).edge_values(&de).transpose().eval().unwrap(), &|y| dot(&x, y));
            let add = |x: &Matrix64, y: &Matrix64| sddmm(&a, x, y).pairing(Pairing::Add).eval();
            let de = dy(&add(&x, &y).unwrap());
            check(&name, &x, &edge_reduce(&a, false, &de, Reduce::Sum).unwrap(), &|x| add(x, &y));
            check(&name, &y, &edge_reduce(&a, true, &de, Reduce::Sum).unwrap(), &|y| add(&x, y));
            let s = random(&cpu, csr.nnz(), 3, 4);
            let p = edge_softmax(&a, &s).unwrap();
            check(&name, &s, &edge_softmax_backward(&a, &p, &dy(&p)).unwrap(), &|s| edge_softmax(&a, s));
        }
    }
}

fn typed(any: Any<Cpu>) -> Matrix64 {
    any.get().expect("in double precision")
}

#[test]
fn of_attention() {
    for cpu in FORMS {
        for (name, csr) in graphs() {
            let (n, m, heads, width) = (csr.nrows(), csr.ncols(), 2, 3);
            let a = matrix::<f64>(&cpu, &csr, false, FormatKind::Csr);
            let drop = Dropout::new(0.3, 9, 2);
            let values = random(&cpu, m, heads * width, 1);
            let (wide_n, wide_m) = (random(&cpu, n, heads * width, 2), random(&cpu, m, heads * width, 3));

            let (left, right) = (random(&cpu, n, heads, 4), random(&cpu, m, heads, 5));
            let op = |l: &Matrix64, r: &Matrix64, v: &Matrix64| gat(&a, l, r, v, 0.2).attention_dropout(drop);
            let (y, lse) = op(&left, &right, &values).eval_for_training().unwrap();
            let g = op(&left, &right, &values).gradient_of(&lse, &dy(&y)).unwrap();
            check(&format!("{name}, GAT values"), &values, &g.values, &|v| op(&left, &right, v).eval());
            check(&format!("{name}, GAT left"), &left, &typed(g.first), &|l| op(l, &right, &values).eval());
            check(&format!("{name}, GAT right"), &right, &typed(g.second.unwrap()), &|r| op(&left, r, &values).eval());

            let vector = random(&cpu, 1, heads * width, 6);
            let op = |l: &Matrix64, r: &Matrix64, v: &Matrix64, w: &Matrix64| {
                let score = Score::AdditiveV2 { left: l.any(), right: r.any(), vector: reals(w), slope: 0.2 };
                attention(&a, score, heads, v)
            };
            let (y, lse) = op(&wide_n, &wide_m, &values, &vector).eval_for_training().unwrap();
            let g = op(&wide_n, &wide_m, &values, &vector).gradient_of(&lse, &dy(&y)).unwrap();
            check(&format!("{name}, GATv2 left"), &wide_n, &typed(g.first), &|l| op(l, &wide_m, &values, &vector).eval());
            check(&format!("{name}, GATv2 right"), &wide_m, &typed(g.second.unwrap()), &|r| op(&wide_n, r, &values, &vector).eval());
            check(&format!("{name}, GATv2 vector"), &vector, &g.parameter.unwrap(), &|w| op(&wide_n, &wide_m, &values, w).eval());
            // Where the right features are the values, both gradients belong to them.
            let op = |r: &Matrix64| gat_v2(&a, &wide_n, r, &vector, heads, 0.2).attention_dropout(drop);
            let (y, lse) = op(&values).eval_for_training().unwrap();
            let g = op(&values).gradient_of(&lse, &dy(&y)).unwrap();
            let both = map(&g.values).add(&typed(g.second.unwrap())).eval().unwrap();
            check(&format!("{name}, GATv2 features"), &values, &both, &|r| op(r).eval());

            for cosine in [false, true] {
                let beta = random(&cpu, 1, 1, 8);
                let op = |q: &Matrix64, k: &Matrix64, beta: &Matrix64| {
                    let score = match cosine {
                        true => Score::Cosine { query: q.any(), key: k.any(), beta: reals(beta) },
                        false => Score::Dot { query: q.any(), key: k.any(), factor: 0.6 },
                    };
                    attention(&a, score, heads, &values)
                };
                let (y, lse) = op(&wide_n, &wide_m, &beta).eval_for_training().unwrap();
                let g = op(&wide_n, &wide_m, &beta).gradient_of(&lse, &dy(&y)).unwrap();
                check(&format!("{name}, query, cosine {cosine}"), &wide_n, &typed(g.first), &|q| op(q, &wide_m, &beta).eval());
                check(&format!("{name}, key, cosine {cosine}"), &wide_m, &typed(g.second.unwrap()), &|k| op(&wide_n, k, &beta).eval());
                if let Some(dbeta) = g.parameter {
                    check(&format!("{name}, beta"), &beta, &dbeta, &|beta| op(&wide_n, &wide_m, beta).eval());
                }
            }
            let scores = random(&cpu, csr.nnz(), heads, 7);
            let op = |s: &Matrix64| attention(&a, Score::Edge(s.any()), heads, &values);
            let (y, lse) = op(&scores).eval_for_training().unwrap();
            let g = op(&scores).gradient_of(&lse, &dy(&y)).unwrap();
            check(&format!("{name}, scores"), &scores, &typed(g.first), &|s| op(s).eval());
            assert!(kinds::<f64>(&cpu, &csr, 1, 3, 0).is_some());
        }
    }
}

fn reals(d: &Matrix64) -> bitgraph_tensor::Reals<Cpu> {
    bitgraph_tensor::Reals::F64(d.clone())
}

#[test]
fn of_dense_operations() {
    for cpu in FORMS {
        let (a, b) = (random(&cpu, 7, 5, 1), random(&cpu, 5, 4, 2));
        let y = gemm(&a, &b).eval().unwrap();
        check("gemm, first", &a, &gemm(&dy(&y), &b).transpose_b().eval().unwrap(), &|a| gemm(a, &b).eval());
        check("gemm, second", &b, &gemm(&a, &dy(&y)).transpose_a().eval().unwrap(), &|b| gemm(&a, b).eval());

        let x = random(&cpu, 9, 6, 3);
        for f in [Activation::Relu, Activation::LeakyRelu { slope: 0.3 }, Activation::Elu { alpha: 1.3 }] {
            let y = map(&x).activation(f).eval().unwrap();
            check("activation", &x, &map(&dy(&y)).activation_gradient(f, &y).eval().unwrap(), &|x| map(x).activation(f).eval());
        }
        let drop = Dropout::new(0.4, 3, 3);
        check("dropout", &x, &map(&dy(&x)).dropout(drop).eval().unwrap(), &|x| map(x).dropout(drop).eval());
        let y = log_softmax(&x).unwrap();
        check("log_softmax", &x, &log_softmax_backward(&y, &dy(&y)).unwrap(), &|x| log_softmax(x));

        let labels = Dense::column_vector(&cpu, vec![0, 5, -1, 2, 3, -7, 1, 4, 0]).unwrap();
        let weight = random(&cpu, 1, 1, 77).to_host().unwrap()[0];
        let gradient = cross_entropy_with_gradient(&x, &labels, weight).unwrap().1;
        check("cross entropy", &x, &gradient, &|x| cross_entropy(x, &labels));

        let (gamma, beta) = (random(&cpu, 1, 6, 4), random(&cpu, 1, 6, 5));
        let op = |x: &Matrix64, gamma: &Matrix64, beta: &Matrix64| Ok(batch_norm(x, Some((gamma, beta)), 0.01)?.y);
        let forward = batch_norm(&x, Some((&gamma, &beta)), 0.01).unwrap();
        let (dx, dgamma, dbeta) = batch_norm_backward(&x, &forward, Some(&gamma), 0.01, &dy(&x)).unwrap();
        check("batch norm", &x, &dx, &|x| op(x, &gamma, &beta));
        check("batch norm, gamma", &gamma, &dgamma, &|gamma| op(&x, gamma, &beta));
        check("batch norm, beta", &beta, &dbeta, &|beta| op(&x, &gamma, beta));
    }
}
