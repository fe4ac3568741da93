//! Matrices of few bits by plain loops: elements are decoded one by one, and results packed one by one.

use super::graph::entries;
use super::plain::Plain;
use crate::Cpu;
use crate::tensor::bits::Codes;
use bitgraph_backend::Error;
use bitgraph_tensor::bittensor::{BitLayout, Packing, Rounding};
use bitgraph_tensor::ops::{BitGemmOp, BitSpmmOp, Coding, PackOp, Reconcile};
use bitgraph_tensor::{Any, AnyMut, BitOperand, BitOut, CodesOut, Epilogue, Error as TensorError, PlaneSteps, Reals, Step};

/// The values of an operand.
fn values(x: &BitOperand<Cpu>) -> Plain {
    let (rows, columns) = x.shape();
    let Some(codes) = Codes::of(x) else {
        let BitOperand::Dense(x) = x else { unreachable!("signs and planes are codes") };
        return Plain::of(x);
    };
    let value = |i: usize, c: usize| f64::from(codes.value(codes.code(i, c), i, c));
    let data = (0..rows).flat_map(|i| (0..columns).map(move |c| (i, c))).map(|(i, c)| value(i, c)).collect();
    Plain { rows, columns, data }
}

/// Writes every code of a matrix.
fn store(mut code: impl FnMut(usize, usize) -> u32, out: CodesOut<'_, Cpu>) {
    let (layout, planes, window): (BitLayout, _, _) = (out.layout, out.planes, out.words.window);
    let words = &mut out.words.array.as_mut_slice()[window.offset()..];
    for i in 0..layout.nrows() {
        for c in 0..layout.ncols() {
            let ((word, bit), code) = (layout.position(i, c), code(i, c));
            for p in 0..planes {
                let word = &mut words[p as usize * layout.words() + word];
                *word = (word.cast_unsigned() & !(1 << bit) | (code >> p & 1) << bit).cast_signed();
            }
        }
    }
}

/// Stores results, of bits by the last step of their epilogue.
fn finished(mut y: Plain, epilogue: &Epilogue<Cpu>, out: BitOut<'_, Cpu>) {
    y.finish(epilogue);
    match out {
        BitOut::Dense(out) => y.store(out),
        BitOut::Codes(out) | BitOut::Counts(out) if matches!(epilogue.0.last(), Some(Step::Sign(_))) => {
            store(|i, c| u32::from(y.get(i, c) > 0.0), out);
        }
        BitOut::Codes(out) | BitOut::Counts(out) => store(|i, c| y.get(i, c) as u32, out),
    }
}

pub fn pack(op: &PackOp<Cpu>, out: CodesOut<'_, Cpu>) {
    let x = Plain::of(&op.x);
    let single = |i: usize, c: usize| x.get(i, c) as f32;
    match &op.coding {
        Coding::Sign(None) => store(|i, c| u32::from(single(i, c) >= 0.0), out),
        Coding::Sign(Some(t)) => {
            let t = Plain::of_reals(t);
            store(|i, c| u32::from(single(i, c) >= t.get(0, c) as f32), out);
        }
        Coding::Steps { bits, rounding, steps } => {
            let all = |d: &bitgraph_tensor::Dense<Cpu, f32>| Plain::of_reals(&Reals::F32(d.clone()));
            let (scale, zero) = match steps {
                PlaneSteps::Tensor(step) => {
                    let one = |v: f32| Plain { rows: 1, columns: 1, data: vec![v.into()] };
                    (one(step.scale), one(step.zero))
                }
                PlaneSteps::Rows { scale, zero } | PlaneSteps::Columns { scale, zero } => (all(scale), all(zero)),
            };
            let at = |d: &Plain, i: usize, c: usize| d.get(i.min(d.rows - 1), c.min(d.columns - 1)) as f32;
            let top = ((1u32 << bits) - 1) as f32;
            let code = |i: usize, c: usize| {
                let position = single(i, c) / at(&scale, i, c) + at(&zero, i, c);
                let position = if position.is_nan() { 0.0 } else { position.clamp(0.0, top) };
                if *rounding == Rounding::Nearest { (position + 0.5).floor() as u32 } else { position.floor() as u32 }
            };
            store(code, out);
        }
    }
}

pub fn unpack(x: &BitOperand<Cpu>, y: AnyMut<'_, Cpu>) {
    values(x).store(y);
}

pub fn mean_magnitudes(x: &Any<Cpu>, along: Packing, means: AnyMut<'_, Cpu>) {
    let x = Plain::of(x);
    let mean = |sum: f64, count: usize| if count == 0 { 0.0 } else { sum / count as f64 };
    let of_row = |i: usize| mean(x.row(i).iter().map(|v| v.abs()).sum(), x.columns);
    let of_column = |c: usize| mean((0..x.rows).map(|i| x.get(i, c).abs()).sum(), x.rows);
    match along {
        Packing::Rows => Plain { rows: x.rows, columns: 1, data: (0..x.rows).map(of_row).collect() }.store(means),
        Packing::Columns => Plain { rows: 1, columns: x.columns, data: (0..x.columns).map(of_column).collect() }.store(means),
    }
}

pub fn gemm(op: &BitGemmOp<Cpu>, y: BitOut<'_, Cpu>) {
    let ((rows, columns, length), a, b) = (op.sizes(), values(&op.a), values(&op.b));
    let mut product = Plain::zeros(rows, columns);
    for i in 0..rows {
        for c in 0..columns {
            let sum: f64 = (0..length).map(|k| a.get(i, k) * b.get(k, c)).sum();
            *product.at(i, c) = if op.is_whole() { f64::from(sum as i64 as i32) } else { sum };
        }
    }
    finished(product, &op.epilogue, y);
}

pub fn spmm(op: &BitSpmmOp<Cpu>, y: BitOut<'_, Cpu>) -> Result<(), Error> {
    let ((rows, _), columns) = (op.matrix_shape(), op.features.shape().1);
    let mut messages: Vec<(usize, usize)> = entries(&op.matrix, op.transposed).iter().map(|e| (e.row, e.column)).collect();
    if op.own {
        messages.extend((0..rows).map(|i| (i, i)));
    }
    let mut degrees = vec![0usize; rows];
    messages.iter().for_each(|&(i, _)| degrees[i] += 1);
    if let BitOut::Counts(out) = y {
        let most = degrees.iter().copied().max().unwrap_or(0);
        if most >= 1 << out.planes {
            let (parameter, allowed) = ("the number of messages of a row", "below 2 to the number of bits of a count");
            return Err(TensorError::Parameter { operation: "bit_spmm", parameter, found: most as f64, allowed }.into());
        }
        let ones = ones(op, &messages, rows, columns);
        store(|i, c| ones.get(i, c) as u32, out);
        return Ok(());
    }
    let scale = |d: &Option<Reals<Cpu>>, n: usize| d.as_ref().map_or_else(|| vec![1.0; n], |d| Plain::of_reals(d).data);
    let (r, c) = (scale(&op.scale_rows, rows), scale(&op.scale_columns, op.matrix_shape().1));
    let mut sums = match (&op.features, op.is_counting() && op.features.is_whole()) {
        (BitOperand::Signs(_), true) => reconciled(op, &messages, &degrees, columns),
        (features, _) => {
            let (x, mut sums) = (values(features), Plain::zeros(rows, columns));
            for &(i, j) in &messages {
                (0..columns).for_each(|k| *sums.at(i, k) += c[j] * x.get(j, k));
            }
            sums
        }
    };
    for i in 0..rows {
        for k in 0..columns {
            let sum = sums.get(i, k);
            *sums.at(i, k) = if op.is_whole() { f64::from(sum as i64 as i32) } else { r[i] * sum };
        }
    }
    finished(sums, &op.epilogue, y);
    Ok(())
}

/// How many +1 each row's messages have in each column.
fn ones(op: &BitSpmmOp<Cpu>, messages: &[(usize, usize)], rows: usize, columns: usize) -> Plain {
    let Some(codes) = Codes::of(&op.features) else { unreachable!("counts are of signs") };
    let mut ones = Plain::zeros(rows, columns);
    for &(i, j) in messages {
        (0..columns).for_each(|k| *ones.at(i, k) += f64::from(codes.code(j, k)));
    }
    ones
}

/// Sums of signs by the way that is asked for.
fn reconciled(op: &BitSpmmOp<Cpu>, messages: &[(usize, usize)], degrees: &[usize], columns: usize) -> Plain {
    let ones = || ones(op, messages, degrees.len(), columns);
    match op.reconcile {
        Reconcile::Branch => {
            let (x, mut sums) = (values(&op.features), Plain::zeros(degrees.len(), columns));
            for &(i, j) in messages {
                (0..columns).for_each(|k| *sums.at(i, k) += if x.get(j, k) > 0.0 { 1.0 } else { -1.0 });
            }
            sums
        }
        Reconcile::Difference => {
            // The bits of 0, counted as such.
            let Some(codes) = Codes::of(&op.features) else { unreachable!("sums of signs") };
            let (mut sums, mut zeros) = (ones(), Plain::zeros(degrees.len(), columns));
            for &(i, j) in messages {
                (0..columns).for_each(|k| *zeros.at(i, k) += f64::from(1 - codes.code(j, k)));
            }
            sums.data.iter_mut().zip(&zeros.data).for_each(|(sum, zeros)| *sum -= zeros);
            sums
        }
        Reconcile::Count => {
            let mut sums = ones();
            for (i, &degree) in degrees.iter().enumerate() {
                (0..columns).for_each(|k| *sums.at(i, k) = 2.0 * sums.get(i, k) - degree as f64);
            }
            sums
        }
    }
}
