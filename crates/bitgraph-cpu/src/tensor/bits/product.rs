//! Dense products of codes by AND and counting ones, in tiles of rows x vectors of columns.
//!
//! The second operand is laid out anew: panels of as many columns as a vector has lanes, a vector for each word, so that a word of the first
//! operand meets every column of a panel in one AND, and counts stay in their lanes: there is no sum across a vector. Counts are exact, and
//! every pair of planes is shifted into place afterwards.
#![allow(unsafe_code)]

use super::aggregate::{finish, target};
use super::codes::Codes;
use super::words::{Plain, Words};
#[cfg(target_arch = "x86_64")]
use super::words::{Ymm, Zmm};
use crate::spmv::per_level;
use crate::tensor::finish::Finish;
use crate::tensor::number::Reading;
use crate::tensor::sink::Sink;
use crate::{Cpu, Isa};
use bitgraph_sparse::parallel;
use bitgraph_tensor::BitOut;
use bitgraph_tensor::ops::BitGemmOp;
use std::ops::Range;

/// Rows of a block, and of a tile.
const ROWS: usize = 64;
const TILE: usize = 4;

/// The second operand in panels: plane by plane, panel by panel, word by word, a word of each column.
struct Panels {
    words: Vec<u32>,
    /// Columns of a panel.
    width: usize,
    /// Panels, and words of a column.
    count: usize,
    length: usize,
}

impl Panels {
    fn new(codes: &Codes<'_>, width: usize) -> Self {
        let (columns, length) = (codes.layout.ncols(), codes.used());
        let count = columns.div_ceil(width);
        let panel = length * width;
        let mut words = vec![0u32; codes.planes * count * panel];
        if panel > 0 {
            parallel::chunks_mut(&mut words, panel, |k, words| {
                let (plane, first) = (codes.plane(k / count), k % count * width);
                for c in first..(first + width).min(columns) {
                    let line = codes.layout.line(plane, c);
                    line[..length].iter().enumerate().for_each(|(w, &word)| words[w * width + c - first] = word);
                }
            });
        }
        Self { words, width, count, length }
    }
    fn panel(&self, plane: usize, k: usize) -> &[u32] {
        let panel = self.length * self.width;
        &self.words[(plane * self.count + k) * panel..][..panel]
    }
}

/// Adds the products of some rows of the first operand's codes to `sums`, rows of `width * count` numbers.
fn multiply(isa: Isa, a: &Codes<'_>, b: &Panels, planes: usize, rows: Range<usize>, sums: &mut [i64]) {
    assert!(rows.end <= a.layout.nrows() && a.used() == b.length && sums.len() >= rows.len() * b.count * b.width);
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
        fn avx2(a: &Codes<'_>, b: &Panels, planes: usize, rows: Range<usize>, sums: &mut [i64]) {
            // SAFETY: these are the vector's instructions, and the operands have just been checked.
            unsafe { tiles::<Ymm>(a, b, planes, rows, sums) }
        }
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx2,fma,bmi1,bmi2")]
        fn avx512(a: &Codes<'_>, b: &Panels, planes: usize, rows: Range<usize>, sums: &mut [i64]) {
            // SAFETY: as above.
            unsafe { tiles::<Zmm>(a, b, planes, rows, sums) }
        }
        match isa {
            // SAFETY: an instruction set is in force only where the CPU has its features.
            Isa::Avx512 => return unsafe { avx512(a, b, planes, rows, sums) },
            // SAFETY: as above.
            Isa::Avx2 => return unsafe { avx2(a, b, planes, rows, sums) },
            Isa::Portable => {}
        }
    }
    let _ = isa;
    // SAFETY: the portable vector needs no instructions; the operands have just been checked.
    unsafe { tiles::<Plain>(a, b, planes, rows, sums) }
}

/// The columns of a panel on an instruction set.
fn width(isa: Isa) -> usize {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => Zmm::LEN,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => Ymm::LEN,
        _ => Plain::LEN,
    }
}

/// # Safety
/// The CPU has the vector's instruction set, panels are as wide as the vector, and the operands are as `multiply` checks.
#[inline(always)]
unsafe fn tiles<V: Words>(a: &Codes<'_>, b: &Panels, planes: usize, rows: Range<usize>, sums: &mut [i64]) {
    debug_assert_eq!(V::LEN, b.width);
    let stride = b.count * b.width;
    for k in (0..b.count).step_by(2) {
        for first in (0..rows.len()).step_by(TILE) {
            let tile = first..(first + TILE).min(rows.len());
            for p in 0..a.planes {
                for q in 0..planes {
                    // Lines past the last row of a tile are those of its first one again; what they give is not stored.
                    let line = |r: usize| {
                        let row = rows.start + if first + r < tile.end { first + r } else { first };
                        a.layout.line(a.plane(p), row)
                    };
                    let lines: [&[u32]; TILE] = std::array::from_fn(line);
                    let second = if k + 1 < b.count { k + 1 } else { k };
                    let mut counts = [[0u32; 16]; 2 * TILE];
                    // SAFETY: by the contract; a line has the words of a panel, and a chunk of counts as many as the widest vector.
                    unsafe { tile_of::<V>(lines, [b.panel(q, k), b.panel(q, second)], &mut counts) };
                    for (r, row) in tile.clone().enumerate() {
                        for (v, panel) in (k..(k + 2).min(b.count)).enumerate() {
                            let sums = &mut sums[row * stride + panel * b.width..][..b.width];
                            sums.iter_mut().zip(&counts[2 * r + v]).for_each(|(sum, &count)| *sum += i64::from(count) << (p + q));
                        }
                    }
                }
            }
        }
    }
}

/// # Safety
/// The CPU has the vector's instruction set; lines have a word for each vector of a panel.
#[inline(always)]
unsafe fn tile_of<V: Words>(lines: [&[u32]; TILE], panels: [&[u32]; 2], counts: &mut [[u32; 16]; 2 * TILE]) {
    let length = panels[0].len() / V::LEN;
    assert!(lines.iter().all(|line| line.len() >= length) && panels[1].len() == panels[0].len());
    // SAFETY: by the contract.
    unsafe {
        let mut all = [[V::zero(); 2]; TILE];
        for w in 0..length {
            let b =
                [V::load::<true>(panels[0].as_ptr().add(w * V::LEN), V::LEN), V::load::<true>(panels[1].as_ptr().add(w * V::LEN), V::LEN)];
            for r in 0..TILE {
                let a = V::splat(*lines[r].get_unchecked(w));
                all[r][0] = all[r][0].add_ones(a.and(b[0]));
                all[r][1] = all[r][1].add_ones(a.and(b[1]));
            }
        }
        for r in 0..TILE {
            for v in 0..2 {
                all[r][v].store(counts[2 * r + v].as_mut_ptr(), V::LEN);
            }
        }
    }
}

/// What whole codes stand for: `by * code - less`.
#[derive(Clone, Copy)]
struct Whole {
    by: i64,
    less: i64,
}

impl Whole {
    fn of(codes: &Codes<'_>) -> Self {
        if codes.signs { Self { by: 2, less: 1 } } else { Self { by: 1, less: 0 } }
    }
}

/// The product of two matrices of codes.
pub fn codes(op: &BitGemmOp<Cpu>, a: &Codes<'_>, b: &Codes<'_>, y: BitOut<'_, Cpu>) {
    let (rows, columns, length) = op.sizes();
    if rows == 0 || columns == 0 {
        return;
    }
    let isa = Isa::current();
    let (panels, sums_a, sums_b) = (Panels::new(b, width(isa)), a.sums(), b.sums());
    let stride = panels.count * panels.width;
    let blocks = |store: &(dyn Fn(Range<usize>, &[i64]) + Sync)| {
        parallel::each(rows.div_ceil(ROWS), &|block| {
            let block = block * ROWS..((block + 1) * ROWS).min(rows);
            let mut sums = vec![0i64; block.len() * stride];
            multiply(isa, a, &panels, b.planes, block.clone(), &mut sums);
            store(block, &sums);
        });
    };
    let (whole_a, whole_b) = (Whole::of(a), Whole::of(b));
    let sums_b: Vec<i64> = sums_b.iter().map(|&sum| (sum as i64).wrapping_mul(whole_a.less.wrapping_neg() * whole_b.by)).collect();
    let whole_row = |i: usize, sums: &[i64], out: &mut [i32]| {
        let fixed = whole_a.less * whole_b.less * length as i64 - whole_a.by * whole_b.less * sums_a[i] as i64;
        whole(isa, sums, whole_a.by * whole_b.by, fixed, &sums_b, out);
    };
    if op.is_whole() {
        let sink = Sink::<i32>::new(isa, target(y, &op.epilogue));
        return blocks(&|block, sums| {
            let mut all = vec![0; block.len() * columns];
            let rows = all.chunks_exact_mut(columns).zip(sums.chunks_exact(stride));
            block.clone().zip(rows).for_each(|(i, (row, sums))| whole_row(i, &sums[..columns], row));
            // SAFETY: rows are disjoint, and each is in one block.
            unsafe { sink.rows(block.start, &all) };
        });
    }
    let steps = Finish::<f32>::new(isa, &op.epilogue);
    let sink = Sink::<f32>::new(isa, target(y, &op.epilogue));
    let top = |codes: &Codes<'_>| (1u64 << codes.planes) - 1;
    let narrow = top(a).checked_mul(top(b)).and_then(|t| t.checked_mul(length as u64)).is_some_and(|t| t < 1 << 31);
    let exact = op.a.is_whole() && op.b.is_whole() && narrow;
    let plain_b: Vec<f64> = b.sums().iter().map(|&sum| sum as f64).collect();
    blocks(&|block, sums| {
        let (mut all, mut numbers, mut scratch) = (vec![0f32; block.len() * columns], vec![0; columns], Vec::new());
        for (i, (row, sums)) in block.clone().zip(all.chunks_exact_mut(columns).zip(sums.chunks_exact(stride))) {
            if exact {
                whole_row(i, &sums[..columns], &mut numbers);
                f32::read(isa, &numbers, row);
            } else {
                let (scale_a, zero_a) = a.step(i, 0);
                for (c, (x, &sum)) in row.iter_mut().zip(sums).enumerate() {
                    let (scale_b, zero_b) = b.step(0, c);
                    let codes = sum as f64 - zero_b * sums_a[i] as f64 - zero_a * plain_b[c] + length as f64 * zero_a * zero_b;
                    *x = (scale_a * scale_b * codes) as f32;
                }
            }
            finish(isa, &steps, 1.0, i, row, &mut scratch);
        }
        // SAFETY: rows are disjoint, and each is in one block.
        unsafe { sink.rows(block.start, &all) };
    });
}

per_level! {
    /// Sums of codes to whole values, which wrap: `by * sum + fixed + by_column`.
    fn whole<>(sums: &[i64], by: i64, fixed: i64, by_column: &[i64], out: &mut [i32]) = whole_body
}
#[inline(always)]
fn whole_body(sums: &[i64], by: i64, fixed: i64, by_column: &[i64], out: &mut [i32]) {
    for ((out, &sum), &column) in out.iter_mut().zip(sums).zip(by_column) {
        *out = by.wrapping_mul(sum).wrapping_add(fixed).wrapping_add(column) as i32;
    }
}
