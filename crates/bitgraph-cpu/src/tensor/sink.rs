//! Where results go: rows of numbers written to an output of any element type.
//!
//! What writes is made once for an operation and called through a pointer, so that operations are compiled for the types that they compute in
//! and not for those that they store.
#![allow(unsafe_code)]

use super::bits::planes_of;
use super::number::{Sum, Writing};
use crate::spmv::per_level;
use crate::{Cpu, Isa};
use bitgraph_sparse::parallel::DisjointSlice;
use bitgraph_tensor::bittensor::{BitLayout, Packing};
use bitgraph_tensor::{AnyMut, CodesOut, Element, Out, Window, with_out};
use std::any::TypeId;

/// Writes consecutive rows, from a row on.
type Write<'a, S> = Box<dyn Fn(usize, &[S]) + Sync + 'a>;

/// What results are stored in.
pub enum Target<'a> {
    /// Elements.
    Dense(AnyMut<'a, Cpu>),
    /// Bits, packed along rows: signs, 1 above zero, in one plane; whole numbers from 0 up otherwise.
    Signs(CodesOut<'a, Cpu>),
    /// As [`Target::Signs`], of whole numbers in as many planes.
    Levels(CodesOut<'a, Cpu>),
}
impl<'a> From<AnyMut<'a, Cpu>> for Target<'a> {
    fn from(y: AnyMut<'a, Cpu>) -> Self {
        Self::Dense(y)
    }
}
impl Target<'_> {
    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Dense(y) => y.window().is_empty(),
            Self::Signs(y) | Self::Levels(y) => y.layout.nrows() == 0 || y.layout.ncols() == 0,
        }
    }
}

/// The words of an output of bits, all of them.
pub fn words_of<'a>(out: CodesOut<'a, Cpu>) -> &'a mut [u32] {
    let window = out.words.window;
    let all: &mut [u32] = bytemuck::cast_slice_mut(out.words.array.as_mut_slice());
    &mut all[window.offset()..][..out.planes as usize * out.layout.words()]
}

per_level! {
    /// Whole numbers of a row: 1 above zero and 0 elsewhere for signs, what is nearest otherwise.
    fn whole<S: Sum>(row: &[S], signs: bool, codes: &mut [i32]) = whole_body
}
#[inline(always)]
fn whole_body<S: Sum>(row: &[S], signs: bool, codes: &mut [i32]) {
    if signs {
        row.iter().zip(codes).for_each(|(x, code)| *code = i32::from(*x > S::ZERO));
    } else {
        // Conversions to whole numbers are the same loop for every instruction set.
        S::write(Isa::Portable, row, codes);
    }
}

/// An output that tasks write to, each its own rows.
pub struct Sink<'a, S> {
    window: Window,
    write: Write<'a, S>,
    direct: Option<DisjointSlice<'a, S>>,
}

/// Where word `w` of a row is in plane `p`.
pub fn word_at(layout: &BitLayout, p: usize, row: usize, w: usize) -> usize {
    p * layout.words() + row * layout.stride() + w
}

/// Bit `p` of 32 codes.
#[inline(always)]
pub fn plane_of(codes: &[i32; 32], p: usize) -> u32 {
    (0..32).fold(0, |word, b| word | ((codes[b] >> p & 1) << b)).cast_unsigned()
}

impl<'a, S: Sum> Sink<'a, S> {
    pub fn new(isa: Isa, out: impl Into<Target<'a>>) -> Self {
        match out.into() {
            Target::Dense(out) => with_out!(out, out => Self::typed(isa, out)),
            Target::Signs(out) => Self::bits(isa, out, true),
            Target::Levels(out) => Self::bits(isa, out, false),
        }
    }
    fn bits(isa: Isa, out: CodesOut<'a, Cpu>, signs: bool) -> Self {
        let (layout, planes) = (out.layout, out.planes as usize);
        assert!(layout.packing() == Packing::Rows, "results are packed along rows");
        let Ok(window) = Window::whole(layout.nrows(), layout.ncols()) else { unreachable!("a bit of each element is in memory") };
        let all = DisjointSlice::new(words_of(out));
        let write = move |first: usize, values: &[S]| {
            let mut codes = vec![0i32; layout.ncols()];
            for (k, row) in values.chunks_exact(layout.ncols()).enumerate() {
                whole(isa, row, signs, &mut codes);
                for p in 0..planes {
                    let at = word_at(&layout, p, first + k, 0);
                    // SAFETY: the words are of a row of the layout, and by the contract of `rows` no other task writes to them.
                    planes_of(isa, &codes, p, unsafe { all.range(at..at + layout.ncols().div_ceil(32)) });
                }
            }
        };
        Self { window, write: Box::new(write), direct: None }
    }
    fn typed<U: Element>(isa: Isa, out: Out<'a, Cpu, U>) -> Self
    where
        S: Writing<U>,
    {
        let window = out.window;
        let all = out.array.as_mut_slice();
        assert!(window.end() <= all.len(), "a window of {} elements in an array of {}", window.end(), all.len());
        let direct = (TypeId::of::<U>() == TypeId::of::<S>()).then(|| {
            // SAFETY: the element types are the same; both wrappers are written through by the rules of this type.
            DisjointSlice::new(unsafe { std::slice::from_raw_parts_mut(all.as_mut_ptr().cast::<S>(), all.len()) })
        });
        let all = DisjointSlice::new(all);
        let write = move |first: usize, values: &[S]| {
            let columns = window.columns();
            assert!(columns > 0 && first + values.len() / columns <= window.rows());
            if window.is_contiguous() {
                let start = window.offset() + first * columns;
                // SAFETY: the rows are within the window, and by the contract of `rows` no other task writes to them.
                S::write(isa, values, unsafe { all.range(start..start + values.len()) });
            } else {
                for (k, row) in values.chunks_exact(columns).enumerate() {
                    // SAFETY: as above.
                    S::write(isa, row, unsafe { all.range(window.row(first + k)) });
                }
            }
        };
        Self { window, write: Box::new(write), direct }
    }
    /// Where the rows are.
    pub fn window(&self) -> Window {
        self.window
    }
    /// The output itself, if it is of the numbers' type.
    pub fn direct(&self) -> Option<&DisjointSlice<'a, S>> {
        self.direct.as_ref()
    }
    /// Writes consecutive rows, from a row on; nothing if there are no columns.
    ///
    /// # Safety
    /// No other task writes to these rows, here or through [`Sink::direct`].
    pub unsafe fn rows(&self, first: usize, values: &[S]) {
        if !values.is_empty() {
            (self.write)(first, values);
        }
    }
}
