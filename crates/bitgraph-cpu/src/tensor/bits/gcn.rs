//! Inference over two layers of signs as one operation: BitGNN's `bin` over features of few ones.
//!
//! Features are lists of their ones, and 64 columns of the hidden layer are one word: a row of the first product is the words of its list,
//! counted bit-sliced, eight rows of about as many ones side by side, and batch normalisation before the sign is a limit of that count for each
//! column. Signs are aggregated by the same counters; what the second layer sends is summed over rows filled up to whole vectors. Sources: BitGNN,
//! 2023; Harley-Seal counters as in Mula, Kurz, Lemire, 2018.
//!
//! Invariant: results are those of the operations one by one, to the bit: limits are found by the arithmetic of those, from whole numbers that
//! are exact, and floats are summed in the same order, with products rounded where those are.
#![allow(unsafe_code)] // what is called for an instruction set

use super::Codes;
use super::counters::{Bits, add_eight, count, planes};
use crate::spmv::per_level;
use crate::tensor::view::View;
use crate::{Cpu, Isa};
use bitgraph_backend::{Error, Matrix};
use bitgraph_sparse::parallel::{self, DisjointSlice};
use bitgraph_sparse::{OffsetInt, with_offsets};
use bitgraph_tensor::ops::{BitGcn, BitGcnHidden, BitGcnOp, Whole};
use bitgraph_tensor::{BitOperand, Dense, DenseMut, Signs};
use std::ops::Range;

/// One in so many elements of the features may be a one. A word of a list takes about as long as the product of dense bits takes for 13 elements.
const SPARSE: usize = 8;
/// Rows whose lists are counted side by side.
const SIDE: usize = 8;
/// No row.
const NONE: u32 = u32::MAX;
/// Rows of a task.
const ROWS: usize = 128;
/// Columns of what nodes send that are summed together.
const LANES: usize = 8;
/// Planes of a counter: degrees and lists are below 2^32.
const PLANES: usize = 33;

/// What is held.
struct Prepared {
    adjacency: Matrix<Cpu>,
    /// The factor of each node.
    scales: Vec<f32>,
    /// The rows, as many as are counted together by as many ones; the last are filled up by [`NONE`].
    order: Vec<[u32; SIDE]>,
    /// Where the lists of such rows begin.
    offsets: Vec<usize>,
    /// How many ones there are.
    count: usize,
    /// Their lists side by side, filled up by the row of the first weight that is none.
    ones: Vec<[u32; SIDE]>,
    /// Row by row of the first weight, `words` words of 64 columns each, and a row of zeros.
    first: Vec<u64>,
    /// Where the limits of such rows begin: plane by plane for each of the words.
    begins: Vec<usize>,
    limits: Vec<[u64; SIDE]>,
    /// Class by class the signs of the second weight.
    second: Vec<u64>,
    factors: Vec<f32>,
    bias: Vec<f32>,
    hidden: usize,
    words: usize,
    classes: usize,
}

fn row(d: &Dense<Cpu, f32>) -> Vec<f32> {
    let view = View::of(d);
    (0..view.window.rows()).flat_map(|i| view.row(i).iter().copied()).collect()
}

/// The smallest whole number from `-most` to `most + 1` that is of a kind, where all above it are.
fn smallest(most: i64, is: impl Fn(i64) -> bool) -> i64 {
    let (mut low, mut high) = (-most, most + 1);
    while low < high {
        let middle = low + (high - low).div_euclid(2);
        if is(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// Prepares the operation, or says why it is not for lists of ones.
pub fn prepare(op: &BitGcnOp<'_, Cpu>) -> Result<Whole<Box<dyn BitGcn<Cpu>>>, Error> {
    let BitGcnHidden::Signs { mean, variance, epsilon } = &op.hidden else {
        return Ok(Whole::Declined("sums of floats between the layers go through their own operations".into()));
    };
    if op.feature_scales.is_some() {
        return Ok(Whole::Declined("features have factors".into()));
    }
    let operands = [op.features, op.first, op.second].map(|x: &Signs<Cpu>| BitOperand::Signs(x.clone()));
    let [Some(x), Some(w), Some(v)] = [&operands[0], &operands[1], &operands[2]].map(Codes::of) else {
        return Ok(Whole::Declined("an operand is of floats".into()));
    };
    let ((nodes, inputs), hidden, classes) = (op.features.shape(), op.first.shape().1, op.second.shape().1);
    let lengths: Vec<usize> = (0..nodes).map(|i| x.layout.line(x.words, i).iter().map(|word| word.count_ones() as usize).sum()).collect();
    if lengths.iter().sum::<usize>() * SPARSE > nodes * inputs {
        return Ok(Whole::Declined(format!("more than one in {SPARSE} elements of the features are ones")));
    }
    let factors = row(op.first_scales);
    if factors.iter().any(|factor| *factor < 0.0) {
        return Ok(Whole::Declined("a factor of the first weight is below zero".into()));
    }
    let mut rows: Vec<u32> = (0..nodes as u32).collect();
    rows.sort_by_key(|&i| lengths[i as usize]);
    rows.resize(nodes.next_multiple_of(SIDE), NONE);
    let order = rows.as_chunks::<SIDE>().0.to_vec();
    let (mut offsets, mut ones) = (vec![0], Vec::new());
    for rows in &order {
        let start = ones.len();
        for (lane, &i) in rows.iter().enumerate().filter(|(_, i)| **i != NONE) {
            let mut place = start;
            for (k, &word) in x.layout.line(x.words, i as usize).iter().enumerate() {
                let mut left = word;
                while left != 0 {
                    // Whole eights of words are added.
                    if place == ones.len() {
                        ones.resize(place + 8, [inputs as u32; SIDE]);
                    }
                    ones[place][lane] = (32 * k) as u32 + left.trailing_zeros();
                    left &= left - 1;
                    place += 1;
                }
            }
        }
        offsets.push(ones.len());
    }
    // What the product relies on.
    assert!(ones.as_flattened().iter().all(|&j| j as usize <= inputs), "a one beyond {inputs} columns");
    let words = hidden.div_ceil(64);
    let mut first = vec![0u64; (inputs + 1) * words];
    let mut sums = vec![-(inputs as i64); hidden];
    for (c, sum) in sums.iter_mut().enumerate() {
        for j in (0..inputs).filter(|&j| w.code(j, c) != 0) {
            first[j * words + c / 64] |= 1 << (c % 64);
            *sum += 2;
        }
    }
    // With k of n ones at a column's +1, its sum is 4 k - 2 n less the column's own sum: it is above zero, normalised, from
    // 2 k - n = (limit + own sum) / 2 on.
    let (mean, variance) = (row(mean), row(variance));
    let limit = |c: usize| {
        let scale = (variance[c] + *epsilon as f32).sqrt().recip();
        let start = smallest(inputs as i64, |sum| (sum as f32 * factors[c] - mean[c]) * scale >= 0.0);
        (start + sums[c]).div_euclid(2) + (start + sums[c]).rem_euclid(2)
    };
    let starts: Vec<i64> = (0..hidden).map(limit).collect();
    // Of rows of one length, which come one after the other: plane by plane for each word.
    let (mut begins, mut limits, mut alike, mut alike_length) = (vec![0], Vec::new(), Vec::new(), usize::MAX);
    for rows in &order {
        let length = |i: u32| lengths.get(i as usize).map_or(0, |&n| n);
        let (start, all) = (limits.len(), planes(rows.iter().map(|&i| length(i)).max().unwrap_or(0) + 1));
        limits.resize(start + words * all, [0u64; SIDE]);
        for (lane, &i) in rows.iter().enumerate().filter(|(_, i)| **i != NONE) {
            let (n, planes) = (length(i), planes(length(i) + 1));
            if alike_length != n {
                alike_length = n;
                alike.clear();
                alike.resize(words * planes, 0u64);
                for (c, &start) in starts.iter().enumerate() {
                    let from = (n as i64 + start + 1).div_euclid(2).clamp(0, n as i64 + 1).cast_unsigned();
                    (0..planes).filter(|p| from >> p & 1 != 0).for_each(|p| alike[c / 64 * planes + p] |= 1 << (c % 64));
                }
            }
            for (k, &word) in alike.iter().enumerate() {
                limits[start + k / planes * all + k % planes][lane] = word;
            }
        }
        begins.push(limits.len());
    }
    let mut second = vec![0u64; classes * words];
    for c in 0..classes {
        (0..hidden).filter(|&j| v.code(j, c) != 0).for_each(|j| second[c * words + j / 64] |= 1 << (j % 64));
    }
    Ok(Whole::Done(Box::new(Prepared {
        adjacency: op.adjacency.clone(),
        scales: row(op.scales),
        order,
        offsets,
        count: lengths.iter().sum(),
        ones,
        first,
        begins,
        limits,
        second,
        factors: row(op.second_scales),
        bias: row(op.bias),
        hidden,
        words,
        classes,
    })))
}

per_level! {
    /// The signs of the first layer's normalised product, of rows that are counted together.
    fn product<>(p: &Prepared, sides: Range<usize>, out: &DisjointSlice<'_, u64>) = product_body
}
#[inline(always)]
fn product_body(p: &Prepared, sides: Range<usize>, out: &DisjointSlice<'_, u64>) {
    let mut counts = [[0u64; SIDE]; PLANES];
    for side in sides {
        let (eights, limits) =
            (p.ones[p.offsets[side]..p.offsets[side + 1]].as_chunks::<8>().0, &p.limits[p.begins[side]..p.begins[side + 1]]);
        let used = limits.len() / p.words;
        for (w, limits) in limits.chunks_exact(used).enumerate() {
            let high = &mut counts[..used.saturating_sub(3)];
            high.fill([0; SIDE]);
            let mut low = [[0; SIDE]; 3];
            for ids in eights {
                // SAFETY: lists name rows of the first weight, or the row of zeros behind it.
                let word = |k: usize| ids[k].map(|j| unsafe { *p.first.get_unchecked(j as usize * p.words + w) });
                add_eight(word, &mut low, high);
            }
            let (limits, others) = limits.split_at(used.min(3));
            let below = low.iter().zip(limits).fold([!0; SIDE], |below, (&count, &limit)| Bits::enough(below, count, limit));
            let signs = high.iter().zip(others).fold(below, |below, (&count, &limit)| Bits::enough(below, count, limit));
            for (&i, sign) in p.order[side].iter().zip(signs).filter(|(i, _)| **i != NONE) {
                let place = i as usize * p.words + w;
                // SAFETY: a row is counted in one place.
                let out = unsafe { out.range(place..place + 1) };
                out.fill(sign);
            }
        }
    }
}

per_level! {
    /// The signs of the sums of signs over some rows and their neighbours, times the second weight, plus its bias.
    fn aggregate<O: OffsetInt>(p: &Prepared, offsets: &[O], rows: Range<usize>, signs: &[u64], out: &mut [f32]) = aggregate_body
}
#[inline(always)]
fn aggregate_body<O: OffsetInt>(p: &Prepared, offsets: &[O], rows: Range<usize>, signs: &[u64], out: &mut [f32]) {
    let (indices, words) = (p.adjacency.csr().indices(), p.words);
    let (second, factors, bias, hidden) = (&p.second[..], &p.factors[..p.classes], &p.bias[..p.classes], p.hidden as i32);
    let (mut counts, mut sums) = ([0u64; PLANES], vec![0u64; words]);
    for (i, out) in rows.zip(out.chunks_exact_mut(p.width())) {
        let neighbours = &indices[offsets[i].index()..offsets[i + 1].index()];
        // The node itself is one more message.
        let messages = neighbours.len() + 1;
        let (used, half) = (planes(messages), messages.div_ceil(2) as u64);
        for (w, sum) in sums.iter_mut().enumerate() {
            // Few messages have four planes at most, and those that are not needed change nothing.
            let high = &mut counts[..used.max(4) - 3];
            let low = count(signs[i * words + w], neighbours, |j| signs[j as usize * words + w], high);
            let limit = |plane: usize| (half >> plane & 1).wrapping_neg();
            let below = low.iter().enumerate().fold(!0, |below, (k, &count)| Bits::enough(below, count, limit(k)));
            *sum = high.iter().enumerate().fold(below, |below, (k, &count)| Bits::enough(below, count, limit(3 + k)));
        }
        if let Some(last) = sums.last_mut() {
            *last &= u64::MAX >> (64 * words - p.hidden);
        }
        let out = &mut out[..p.classes];
        let agree = |apart: u32| (hidden - 2 * apart as i32) as f32;
        if let [sum] = sums[..] {
            out.iter_mut().zip(second).for_each(|(out, v)| *out = agree((v ^ sum).count_ones()));
        } else {
            for (c, out) in out.iter_mut().enumerate() {
                *out = agree(second[c * words..][..words].iter().zip(&sums).map(|(v, s)| (v ^ s).count_ones()).sum());
            }
        }
        out.iter_mut().zip(factors).zip(bias).for_each(|((out, factor), bias)| *out = *out * factor + bias);
    }
}

per_level! {
    /// The sums of what some nodes' neighbours send and then they themselves, each times its factor by `add`, times the nodes' own; `out` are their
    /// rows, `stride` elements apart.
    fn sum<O: OffsetInt, F: Fn(f32, f32, f32) -> f32>(
        p: &Prepared, offsets: &[O], rows: Range<usize>, sent: &[f32], out: &mut [f32], stride: usize, add: F
    ) = sum_body
}
#[inline(always)]
fn sum_body<O: OffsetInt, F: Fn(f32, f32, f32) -> f32>(
    p: &Prepared,
    offsets: &[O],
    rows: Range<usize>,
    sent: &[f32],
    out: &mut [f32],
    stride: usize,
    add: F,
) {
    let (indices, width) = (p.adjacency.csr().indices(), p.width());
    for (i, out) in rows.zip(out.chunks_mut(stride)) {
        let neighbours = &indices[offsets[i].index()..offsets[i + 1].index()];
        for (first, out) in (0..width).step_by(LANES).zip(out[..p.classes].chunks_mut(LANES)) {
            let mut sums = [0f32; LANES];
            let mut add_row = |j: usize| {
                let (scale, row) = (p.scales[j], &sent[j * width + first..]);
                let row: &[f32; LANES] = row.first_chunk().expect("a row is a multiple of lanes");
                sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum = add(*sum, x, scale));
            };
            neighbours.iter().for_each(|&j| add_row(j as usize));
            add_row(i);
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum * p.scales[i]);
        }
    }
}

impl Prepared {
    /// Elements of a row of what nodes send: the classes, filled up.
    fn width(&self) -> usize {
        self.classes.next_multiple_of(LANES)
    }
    fn run_with<O: OffsetInt>(&self, offsets: &[O], y: DenseMut<'_, Cpu, f32>) -> Result<(), Error> {
        let (nodes, isa) = (self.scales.len(), Isa::current());
        let mut signs = vec![0u64; nodes * self.words];
        if self.words > 0 {
            let signs = DisjointSlice::new(&mut signs);
            parallel::blocks(self.order.len(), ROWS / SIDE, |sides| product(isa, self, sides, &signs));
        }
        let (out, width) = (y.open()?, self.width());
        if nodes == 0 || width == 0 {
            return Ok(());
        }
        let mut sent = vec![0f32; nodes * width];
        parallel::chunks_mut(&mut sent, ROWS * width, |k, sent| {
            aggregate(isa, self, offsets, k * ROWS..(k * ROWS + sent.len() / width), &signs, sent);
        });
        let (window, all) = (out.window, out.array.as_mut_slice());
        assert!(
            window.end() <= all.len() && window.rows() == nodes && window.columns() == self.classes,
            "a window of {} rows",
            window.rows()
        );
        let all = DisjointSlice::new(all);
        parallel::blocks(nodes, ROWS, |rows| {
            // SAFETY: the window lies in the array, and blocks of its rows do not overlap.
            let out = unsafe { all.range(window.row(rows.start).start..window.row(rows.end - 1).end) };
            let stride = window.stride();
            // As sparse products add them.
            if isa == Isa::Portable {
                sum(isa, self, offsets, rows, &sent, out, stride, |sum, x, factor| sum + x * factor);
            } else {
                sum(isa, self, offsets, rows, &sent, out, stride, |sum, x, factor| x.mul_add(factor, sum));
            }
        });
        Ok(())
    }
}

impl BitGcn<Cpu> for Prepared {
    fn run(&self, y: DenseMut<'_, Cpu, f32>) -> Result<(), Error> {
        with_offsets!(self.adjacency.csr().offsets(), offsets => self.run_with(offsets, y))
    }
    fn bytes(&self) -> u64 {
        let words = self.first.len() + SIDE * self.limits.len() + self.second.len() + self.offsets.len() + self.begins.len();
        let lists = SIDE * (self.order.len() + self.ones.len());
        self.adjacency.bytes() + 8 * words as u64 + 4 * (lists + self.scales.len() + self.factors.len() + self.bias.len()) as u64
    }
    fn form(&self) -> String {
        format!("lists of {} ones, {} words of 64 signs a node", self.count, self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_backend::Matrix;
    use bitgraph_sparse::{Coo, Csr, Duplicates, FormatKind};
    use bitgraph_tensor::bittensor::Packing;
    use bitgraph_tensor::ops::{bit_gemm, bit_spmm, moments, spmm};

    /// A number below `n` that depends on `k` alone.
    fn drawn(k: usize, n: usize) -> usize {
        ((k as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as usize % n
    }
    fn floats(rows: usize, columns: usize, salt: usize) -> Dense<Cpu, f32> {
        let all = (0..rows * columns).map(|k| drawn(k * 7 + salt, 2001) as f32 / 1000.0 - 1.0).collect();
        Dense::from_vec(&Cpu::new(), rows, columns, all).unwrap()
    }
    fn signs(rows: usize, columns: usize, packing: Packing, is: impl Fn(usize) -> bool) -> Signs<Cpu> {
        let all = (0..rows * columns).map(|k| if is(k) { 1.0 } else { -1.0 }).collect();
        Dense::<Cpu, f32>::from_vec(&Cpu::new(), rows, columns, all).unwrap().sign(packing).unwrap()
    }

    fn pattern(nodes: usize, entries: Vec<(u32, u32)>) -> Csr {
        let (rows, columns): (Vec<u32>, Vec<u32>) = entries.into_iter().unzip();
        Coo::pattern(nodes, nodes, rows, columns).into_csr(Duplicates::First).unwrap().0
    }

    #[test]
    fn it_is_the_operations_one_by_one() {
        let cpu = Cpu::new();
        for (nodes, inputs, hidden, classes) in [(1, 1, 1, 1), (300, 90, 64, 7), (257, 130, 70, 9), (64, 33, 5, 3), (200, 500, 128, 16)] {
            // A hub, nodes without neighbours, rows without ones and one of nothing else.
            let near = |i: usize| (1..4).map(move |d| (i, drawn(i * 5 + d, nodes)));
            let hub = (1..nodes).step_by(2).map(|j| (0, j));
            let entries = (0..nodes).filter(|i| i % 5 > 0).flat_map(near).chain(hub).filter(|(i, j)| i != j);
            let mut all: Vec<(u32, u32)> = entries.map(|(i, j)| (i as u32, j as u32)).collect();
            all.sort_unstable();
            all.dedup();
            let csr = pattern(nodes, all);
            let adjacency = Matrix::new(&cpu, &csr, None, FormatKind::Csr).unwrap();
            let one = |k: usize| k / inputs == 2 || !(k / inputs).is_multiple_of(7) && drawn(k, 12) == 0;
            let features = signs(nodes, inputs, Packing::Rows, one);
            let first = signs(inputs, hidden, Packing::Columns, |k| drawn(k + 3, 2) == 0);
            let second = signs(hidden, classes, Packing::Columns, |k| drawn(k + 5, 2) == 0);
            let positive = |d: Dense<Cpu, f32>| bitgraph_tensor::ops::map(&d).multiply(&d).eval().unwrap();
            let (first_scales, second_scales) = (positive(floats(1, hidden, 1)), floats(1, classes, 2));
            let (bias, scales) = (floats(1, classes, 3), floats(nodes, 1, 4));
            let product = bit_gemm(&features, &first).times_columns(&first_scales);
            let (mean, variance) = moments(&product.eval().unwrap()).unwrap();
            let product = bit_gemm(&features, &first).times_columns(&first_scales);
            let s = product.batch_norm((&mean, &variance), None, 1e-5).eval_signs().unwrap();
            let s = bit_spmm(&adjacency, &s).own().eval_signs().unwrap();
            let h = bit_gemm(&s, &second).times_columns(&second_scales).bias(&bias).eval().unwrap();
            let wanted = spmm(&adjacency, &h).own(1.0).scale_rows(&scales).scale_columns(&scales).eval().unwrap().to_host().unwrap();
            let op = BitGcnOp {
                adjacency: &adjacency,
                scales: &scales,
                features: &features,
                feature_scales: None,
                first: &first,
                first_scales: &first_scales,
                hidden: BitGcnHidden::Signs { mean: &mean, variance: &variance, epsilon: 1e-5 },
                second: &second,
                second_scales: &second_scales,
                bias: &bias,
            };
            let Whole::Done(whole) = prepare(&op).unwrap() else { panic!("{nodes} nodes were declined") };
            let found = whole.eval(&cpu, (nodes, classes)).unwrap().to_host().unwrap();
            assert_eq!(found, wanted, "{nodes} nodes");
            let mut wider = Dense::<Cpu, f32>::zeros(&cpu, nodes, classes + 2).unwrap();
            whole.run(wider.columns_mut(1..classes + 1).unwrap()).unwrap();
            assert_eq!(wider.columns(1..classes + 1).unwrap().to_host().unwrap(), found, "a window");
        }
    }
    #[test]
    fn what_it_is_not_for_is_declined() {
        let cpu = Cpu::new();
        let adjacency = Matrix::new(&cpu, &pattern(4, vec![(0, 1)]), None, FormatKind::Csr).unwrap();
        let (features, weight) = (signs(4, 8, Packing::Rows, |k| k % 2 == 0), signs(8, 8, Packing::Columns, |k| k % 3 == 0));
        let (column, rows) = (floats(4, 1, 1), floats(1, 8, 2));
        let op = |hidden| BitGcnOp {
            adjacency: &adjacency,
            scales: &column,
            features: &features,
            feature_scales: None,
            first: &weight,
            first_scales: &rows,
            hidden,
            second: &weight,
            second_scales: &rows,
            bias: &rows,
        };
        let reason = |hidden| match prepare(&op(hidden)).unwrap() {
            Whole::Declined(reason) => reason,
            Whole::Done(_) => panic!("it was prepared"),
        };
        assert!(reason(BitGcnHidden::Floats { bias: &rows }).contains("sums of floats"));
        assert!(reason(BitGcnHidden::Signs { mean: &rows, variance: &rows, epsilon: 1e-5 }).contains("more than one in 8"));
    }
}
