//! Values for entries: products, softmax, reductions.

use super::operands::{FORMS, WIDTHS, dense, everywhere, fills_a_window, matrix, near, patterns, powers, same, spread};
use bitgraph_sparse::{Csr, FormatKind};
use bitgraph_tensor::ops::{Pairing, Reduce, edge_reduce, edge_softmax, edge_softmax_backward, sddmm};
use bitgraph_tensor::{Activation, Element};
use half::{bf16, f16};

fn family<T: Element>(csr: &Csr, name: &str, width: usize, k: usize) {
    let pairing = [Pairing::Dot, Pairing::Dot, Pairing::Add, Pairing::Multiply][k % 4];
    let heads = [1, 2, 4, 7].into_iter().rev().find(|&h| width.is_multiple_of(h) && !k.is_multiple_of(3)).unwrap_or(1);
    let (weighted, scaled) = (k % 5 == 1, k % 3 == 1);
    same::<T::Output>(
        || format!("{} over {name}, {width} columns, {pairing:?}, {heads} heads, weighted {weighted}, scaled {scaled}", T::DTYPE),
        |cpu| {
            let a = matrix::<T>(cpu, csr, weighted, [FormatKind::Csr, FormatKind::B2sr8][k % 2]);
            let (x, y) = (dense::<T>(cpu, csr.nrows(), width, 3), dense::<T>(cpu, csr.ncols(), width, 4));
            let mut op = sddmm(&a, &spread(&x), &y).heads(heads).pairing(pairing);
            if weighted {
                op = op.weighted();
            }
            // Numbers for every head, or for all of them; column by column every column is one.
            if k % 5 == 3 && width > 0 {
                let each = if pairing == Pairing::Dot { heads } else { width };
                op = op.edge_values(&dense::<T>(cpu, csr.nnz(), [1, each][k % 2], 8));
            }
            if scaled {
                op = op.scale_rows(&powers(cpu, csr.nrows(), 1, 5)).scale_columns(&powers(cpu, csr.ncols(), 1, 6)).factor(0.5);
            }
            if k % 7 == 2 {
                op = op.activation(Activation::LeakyRelu { slope: 0.25 });
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
                let k = k + 11 * w;
                match k % 7 {
                    0 => family::<f16>(csr, name, width, k),
                    1 => family::<bf16>(csr, name, width, k),
                    2 => family::<f64>(csr, name, width, k),
                    3 => family::<i8>(csr, name, width, k),
                    4 => family::<i16>(csr, name, width, k),
                    5 => family::<i32>(csr, name, width, k),
                    _ => family::<u8>(csr, name, width, k),
                }
                family::<f32>(csr, name, width, k + 1);
            }
        }
    });
}

/// Rows of one entry are written one by one, as longer ones are.
#[test]
fn outputs_are_windows() {
    everywhere(|| {
        for (_, csr) in patterns().into_iter().filter(|(_, csr)| csr.nnz() > 0) {
            for cpu in FORMS {
                let a = matrix::<f32>(&cpu, &csr, false, FormatKind::Csr);
                let (x, y) = (dense::<f32>(&cpu, csr.nrows(), 12, 3), dense::<f32>(&cpu, csr.ncols(), 12, 4));
                for heads in [1, 3] {
                    let products = || sddmm(&a, &x, &y).heads(heads);
                    fills_a_window(&products().eval().unwrap(), |e| products().into(e));
                }
            }
        }
    });
}

#[test]
fn softmax_over_entries() {
    everywhere(|| {
        for (name, csr) in patterns() {
            for heads in [1, 3, 8] {
                let what = || format!("{name}, {heads} heads");
                near::<f32>(what, 1e-6, |cpu| {
                    edge_softmax(&matrix::<f32>(cpu, &csr, false, FormatKind::Csr), &spread(&dense::<f32>(cpu, csr.nnz(), heads, 3)))
                });
                near::<f64>(what, 1e-14, |cpu| {
                    edge_softmax(&matrix::<f64>(cpu, &csr, false, FormatKind::Csr), &dense::<f64>(cpu, csr.nnz(), heads, 3))
                });
                near::<f16>(what, 1e-3, |cpu| {
                    edge_softmax(&matrix::<f16>(cpu, &csr, false, FormatKind::Csr), &dense::<f16>(cpu, csr.nnz(), heads, 3))
                });
                near::<f32>(what, 1e-5, |cpu| {
                    let a = matrix::<f32>(cpu, &csr, false, FormatKind::Csr);
                    let p = edge_softmax(&a, &dense::<f32>(cpu, csr.nnz(), heads, 3))?;
                    edge_softmax_backward(&a, &p, &dense(cpu, csr.nnz(), heads, 4))
                });
            }
        }
    });
}

#[test]
fn entries_reduced() {
    everywhere(|| {
        for (name, csr) in patterns() {
            for reduce in [Reduce::Sum, Reduce::Mean, Reduce::Max, Reduce::Min] {
                for transposed in [false, true] {
                    let what = || format!("{name}, {reduce:?}, transposed {transposed}");
                    let share = if reduce == Reduce::Mean { 1e-6 } else { 0.0 };
                    near::<f32>(what, share, |cpu| {
                        let a = matrix::<f32>(cpu, &csr, false, FormatKind::Csr);
                        edge_reduce(&a, transposed, &dense::<f32>(cpu, csr.nnz(), 3, 3), reduce)
                    });
                }
            }
        }
    });
}
