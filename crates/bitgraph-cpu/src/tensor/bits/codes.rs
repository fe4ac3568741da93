//! Operands of few bits as the kernels see them: words, a layout, and what codes stand for.
//!
//! Invariant: there are as many words as the layout and the number of planes say. Signs are codes of one bit around a half, of twice their
//! scale.

use crate::Cpu;
use bitgraph_tensor::bittensor::{BitLayout, Packing};
use bitgraph_tensor::{BitOperand, Dense, PlaneSteps, SignScales};

/// Scale and zero point; of signs, what they are multiplied by, and a half.
pub type Step = (f32, f32);

/// What codes stand for: `scale * (code - zero)`.
pub enum Steps {
    All(Step),
    Rows(Vec<Step>),
    Columns(Vec<Step>),
}

impl Steps {
    pub fn get(&self, row: usize, column: usize) -> Step {
        match self {
            Self::All(step) => *step,
            Self::Rows(steps) => steps[row],
            Self::Columns(steps) => steps[column],
        }
    }
}

/// A matrix of codes.
pub struct Codes<'a> {
    pub words: &'a [u32],
    pub layout: BitLayout,
    pub planes: usize,
    pub steps: Steps,
    /// Whether these are signs: a code of one bit whose value is computed as a sign times its scale.
    pub signs: bool,
}

fn steps(scale: &Dense<Cpu, f32>, zero: &Dense<Cpu, f32>) -> Vec<Step> {
    let all = |d: &Dense<Cpu, f32>| {
        let (data, window) = (d.raw().as_slice(), d.window());
        (0..window.rows()).flat_map(|i| data[window.row(i)].iter().copied()).collect::<Vec<f32>>()
    };
    all(scale).into_iter().zip(all(zero)).collect()
}

fn scaled(d: &Dense<Cpu, f32>) -> Vec<Step> {
    steps(d, d).into_iter().map(|(scale, _)| (scale, 0.5)).collect()
}

impl<'a> Codes<'a> {
    /// The codes of an operand; none of a dense one.
    pub fn of(operand: &'a BitOperand<Cpu>) -> Option<Self> {
        let (words, layout, planes, steps, signs) = match operand {
            BitOperand::Dense(_) => return None,
            BitOperand::Signs(x) => {
                let steps = match x.scales() {
                    SignScales::None => Steps::All((1.0, 0.5)),
                    SignScales::Rows(d) => Steps::Rows(scaled(d)),
                    SignScales::Columns(d) => Steps::Columns(scaled(d)),
                };
                (x.words(), *x.layout(), 1, steps, true)
            }
            BitOperand::Planes(x) => {
                let steps = match x.steps() {
                    PlaneSteps::Tensor(step) => Steps::All((step.scale, step.zero)),
                    PlaneSteps::Rows { scale, zero } => Steps::Rows(steps(scale, zero)),
                    PlaneSteps::Columns { scale, zero } => Steps::Columns(steps(scale, zero)),
                };
                (x.words(), *x.layout(), x.bits() as usize, steps, false)
            }
        };
        let all: &[u32] = bytemuck::cast_slice(words.raw().as_slice());
        let words = &all[words.window().offset()..][..planes * layout.words()];
        Some(Self { words, layout, planes, steps, signs })
    }
    /// The words of plane `p`.
    pub fn plane(&self, p: usize) -> &'a [u32] {
        &self.words[p * self.layout.words()..(p + 1) * self.layout.words()]
    }
    /// Words of a line that hold elements.
    pub fn used(&self) -> usize {
        self.layout.length().div_ceil(32)
    }
    /// The code of an element.
    pub fn code(&self, row: usize, column: usize) -> u32 {
        let (word, bit) = self.layout.position(row, column);
        (0..self.planes).map(|p| (self.plane(p)[word] >> bit & 1) << p).sum()
    }
    /// Scale and zero point of an element's code, in double precision.
    pub fn step(&self, row: usize, column: usize) -> (f64, f64) {
        let (scale, zero) = self.steps.get(row, column);
        (f64::from(scale) * if self.signs { 2.0 } else { 1.0 }, f64::from(zero))
    }
    /// The value of a code at a place.
    pub fn value(&self, code: u32, row: usize, column: usize) -> f32 {
        let (scale, zero) = self.steps.get(row, column);
        match (self.signs, code) {
            (true, 0) => -scale,
            (true, _) => scale,
            (false, code) => scale * (code as f32 - zero),
        }
    }
    /// The codes of some columns of a row, of up to 64 words.
    pub fn row_codes(&self, row: usize, first: usize, codes: &mut [u32]) {
        debug_assert!(first.is_multiple_of(32));
        codes.fill(0);
        match self.layout.packing() {
            Packing::Rows => {
                for p in 0..self.planes {
                    let line = &self.layout.line(self.plane(p), row)[first / 32..];
                    for (codes, &word) in codes.chunks_mut(32).zip(line) {
                        codes.iter_mut().enumerate().for_each(|(b, code)| *code |= (word >> b & 1) << p);
                    }
                }
            }
            Packing::Columns => {
                let (stride, word, bit) = (self.layout.stride(), row / 32, row % 32);
                for p in 0..self.planes {
                    let plane = self.plane(p);
                    for (k, code) in codes.iter_mut().enumerate() {
                        *code |= (plane[(first + k) * stride + word] >> bit & 1) << p;
                    }
                }
            }
        }
    }
    /// The values of a row.
    pub fn row_values(&self, row: usize, values: &mut [f32]) {
        let mut codes = [0u32; 256];
        for (k, values) in values.chunks_mut(256).enumerate() {
            let codes = &mut codes[..values.len()];
            self.row_codes(row, 256 * k, codes);
            match &self.steps {
                Steps::Columns(_) => {
                    values.iter_mut().zip(codes).enumerate().for_each(|(c, (v, code))| *v = self.value(*code, row, 256 * k + c));
                }
                Steps::All(_) | Steps::Rows(_) => {
                    let (scale, zero) = self.steps.get(row, 0);
                    if self.signs {
                        values.iter_mut().zip(codes).for_each(|(v, code)| *v = if *code != 0 { scale } else { -scale });
                    } else {
                        values.iter_mut().zip(codes).for_each(|(v, code)| *v = scale * (*code as f32 - zero));
                    }
                }
            }
        }
    }
    /// The sum of the codes of each line.
    pub fn sums(&self) -> Vec<u64> {
        let ones = |line: &[u32]| line.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        let sum = |line| (0..self.planes).map(|p| ones(self.layout.line(self.plane(p), line)) << p).sum();
        bitgraph_sparse::parallel::tabulate(self.layout.lines(), 256, sum)
    }
}
