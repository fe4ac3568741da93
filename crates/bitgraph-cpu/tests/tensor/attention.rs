//! Attention of every kind.

use super::operands::{FORMS, dense, everywhere, matrix, near, patterns};
use bitgraph_backend::Error;
use bitgraph_cpu::Cpu;
use bitgraph_sparse::{Csr, FormatKind};
use bitgraph_tensor::ops::{Attention, Operation, Score, agnn, attention, dot_attention, edge_softmax, gat, gat_v2, map, sddmm, spmm};
use bitgraph_tensor::{Dense, Dropout, Element};
use half::{bf16, f16};

/// Features of a fifth, so that softmax is not all in one entry.
fn small<T: Element>(cpu: &Cpu, rows: usize, columns: usize, seed: u64) -> Dense<Cpu, T> {
    map(&dense::<T>(cpu, rows, columns, seed)).times(0.2).eval().unwrap()
}

/// Attention of a kind over `heads` heads of `width` columns, by number.
fn kinds<T: Element>(cpu: &Cpu, csr: &Csr, heads: usize, width: usize, kind: usize) -> Option<Operation<Attention<Cpu, T>>> {
    let (n, m, all) = (csr.nrows(), csr.ncols(), heads * width);
    let a = matrix::<f32>(cpu, csr, false, FormatKind::Csr);
    let values = small::<T>(cpu, m, all, 1);
    Some(match kind {
        0 => gat(&a, &small(cpu, n, heads, 2), &small(cpu, m, heads, 3), &values, 0.2),
        1 => gat_v2(&a, &small(cpu, n, all, 4), &values, &small(cpu, 1, all, 5), heads, 0.2),
        2 => dot_attention(&a, &small(cpu, n, all, 6), &small(cpu, m, all, 7), &values, heads),
        3 if n == m && heads == 1 => agnn(&a, &values, &Dense::filled(cpu, 1, 1, <T::Real as bitgraph_tensor::Real>::of(0.7)).unwrap()),
        4 => attention(&a, Score::Edge(small::<T>(cpu, csr.nnz(), heads, 8).any()), heads, &values),
        _ => return None,
    })
}

fn forward<T: Element>(csr: &Csr, name: &str, share: f64, k: usize) {
    for kind in 0..5 {
        let (heads, width) = [(1, 7), (2, 64), (8, 8), (1, 33), (3, 1), (4, 32)][(k + kind) % 6];
        near::<T::Output>(
            || format!("{}, kind {kind} over {name}, {heads} heads of {width}", T::DTYPE),
            share,
            |cpu| {
                let Some(op) = kinds::<T>(cpu, csr, heads, width, kind) else { return Dense::zeros(cpu, 0, 0) };
                let op = if k.is_multiple_of(3) { op.attention_dropout(Dropout::new(0.3, 5, 1)) } else { op };
                if k % 4 == 1 { op.bias(&small(cpu, 1, heads * width, 9)).elu(1.0).eval() } else { op.eval() }
            },
        );
    }
}

#[test]
fn forms_agree() {
    let patterns = patterns();
    everywhere(|| {
        for (k, (name, csr)) in patterns.iter().enumerate() {
            forward::<f32>(csr, name, 2e-6, k);
            match k % 3 {
                0 => forward::<f16>(csr, name, 2e-3, k),
                1 => forward::<bf16>(csr, name, 2e-2, k),
                _ => forward::<f64>(csr, name, 1e-14, k),
            }
        }
    });
}

/// The gradients of both forms, one below the other.
fn all_gradients<T: Element>(cpu: &Cpu, csr: &Csr, heads: usize, width: usize, kind: usize, drop: bool) -> Result<Vec<f64>, Error> {
    let Some(op) = kinds::<T>(cpu, csr, heads, width, kind) else { return Ok(Vec::new()) };
    let op = if drop { op.attention_dropout(Dropout::new(0.3, 5, 1)) } else { op };
    gradients(cpu, &op, (csr.nrows(), heads * width))
}

/// Those of the values, of both operands of the scores and of the parameter, one below the other.
fn gradients<T: Element>(cpu: &Cpu, op: &Operation<Attention<Cpu, T>>, (rows, columns): (usize, usize)) -> Result<Vec<f64>, Error> {
    let (_, lse) = op.eval_for_training()?;
    let g = op.gradient_of(&lse, &small::<T>(cpu, rows, columns, 20))?;
    let mut all: Vec<f64> = g.values.to_host()?.iter().map(|v| v.to_f64()).collect();
    for any in [Some(g.first), g.second, g.parameter.map(|p| p.any())].into_iter().flatten() {
        bitgraph_tensor::with_dense!(any, d => all.extend(d.to_host()?.iter().map(|v| bitgraph_semiring::Scalar::to_f64(*v))));
    }
    Ok(all)
}

#[test]
fn gradients_of_forms_agree() {
    let patterns = patterns();
    everywhere(|| {
        for (k, (name, csr)) in patterns.iter().enumerate() {
            for kind in 0..5 {
                let (heads, width) = [(1, 7), (2, 64), (8, 8), (1, 33), (3, 1)][(k + kind) % 5];
                let [a, b] = FORMS.map(|cpu| all_gradients::<f32>(&cpu, csr, heads, width, kind, k % 2 == 0).unwrap());
                assert_eq!(a.len(), b.len());
                for (x, y) in a.iter().zip(&b) {
                    assert!((x - y).abs() <= 2e-5 * x.abs().max(1.0), "kind {kind} over {name}: {x} {y}");
                }
            }
        }
    });
}

/// A norm below its floor does not change with its row.
#[test]
fn gradients_of_short_rows() {
    let patterns = patterns();
    everywhere(|| {
        for (name, csr) in patterns.iter().filter(|(_, csr)| csr.is_square()) {
            let n = csr.nrows();
            let [a, b] = FORMS.map(|cpu| {
                let lengths = Dense::column_vector(&cpu, (0..n).map(|i| if i % 3 == 0 { 1e-14 } else { 1.0 }).collect()).unwrap();
                let x = map(&small::<f64>(&cpu, n, 6, 1)).times_rows(&lengths).eval().unwrap();
                let op = agnn(&matrix::<f64>(&cpu, csr, false, FormatKind::Csr), &x, &Dense::filled(&cpu, 1, 1, 0.7).unwrap());
                gradients(&cpu, &op, (n, 6)).unwrap()
            });
            assert_eq!(a.len(), b.len());
            // Gradients of short rows are as large as the floor is small, and so is the rounding of their sums.
            let largest = a.iter().fold(1.0f64, |most, x| most.max(x.abs()));
            for (x, y) in a.iter().zip(&b) {
                assert!((x - y).abs() <= 1e-10 * largest, "{name}: {x} {y}, of {largest}");
            }
        }
    });
}

/// One pass gives what scores, softmax and product give one after the other.
#[test]
fn one_pass_is_three() {
    for cpu in FORMS {
        for (name, csr) in patterns().into_iter().step_by(4) {
            let a = matrix::<f64>(&cpu, &csr, false, FormatKind::Csr);
            let (n, m, heads, width) = (csr.nrows(), csr.ncols(), 2, 6);
            let (q, k, v) = (small::<f64>(&cpu, n, 12, 1), small::<f64>(&cpu, m, 12, 2), small::<f64>(&cpu, m, 12, 3));
            let scores = sddmm(&a, &q, &k).heads(heads).factor(1.0 / (width as f64).sqrt()).eval().unwrap();
            let three = spmm(&a, &v).edge_values(&edge_softmax(&a, &scores).unwrap()).eval().unwrap().to_host().unwrap();
            let one = dot_attention(&a, &q, &k, &v, heads).eval().unwrap().to_host().unwrap();
            assert!(one.iter().zip(&three).all(|(x, y)| (x - y).abs() < 1e-13), "{name}");
        }
    }
}

/// Scores far apart and beyond the range of exponentials.
#[test]
fn large_scores() {
    everywhere(|| {
        for (name, csr) in patterns().into_iter().step_by(2) {
            near::<f32>(
                || name.clone(),
                2e-6,
                |cpu| {
                    let a = matrix::<f32>(cpu, &csr, false, FormatKind::Csr);
                    let scores = map(&dense::<f32>(cpu, csr.nnz(), 1, 3)).times(100.0).eval()?;
                    attention(&a, Score::Edge(scores.any()), 1, &dense::<f32>(cpu, csr.ncols(), 5, 4)).eval()
                },
            );
        }
    });
}
