//! Where results go: rows of numbers written to an output of any element type.
//!
//! What writes is made once for an operation and called through a pointer, so that operations are compiled for the types that they compute in
//! and not for those that they store.
#![allow(unsafe_code)]

use super::bits::planes_of;
use super::number::{Sum, Writing};
use crate::spmv::per_level;
use crate::{Cpu, Isa};
use bitgraph_semiring::Scalar;
use bitgraph_sparse::parallel::DisjointSlice;
use bitgraph_tensor::bittensor::{BitLayout, Packing};
use bitgraph_tensor::{AnyMut, CodesOut, Element, Out, Window, with_out};
use std::any::TypeId;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// The elements of an output.
enum Place<'a, T> {
    Written(DisjointSlice<'a, T>),
    /// None of them is there yet.
    Unwritten(DisjointSlice<'a, MaybeUninit<T>>),
}

impl<'a, T: Scalar> Place<'a, T> {
    /// Some of the elements; zeros where there were none.
    ///
    /// # Safety
    /// As of [`DisjointSlice::range`].
    unsafe fn range(&self, range: Range<usize>) -> &'a mut [T] {
        match self {
            // SAFETY: this method's contract.
            Self::Written(all) => unsafe { all.range(range) },
            Self::Unwritten(all) => {
                // SAFETY: this method's contract.
                let elements = unsafe { all.range(range) };
                // They stay in the nearest cache until they are written again.
                elements.fill(MaybeUninit::new(T::ZERO));
                // SAFETY: all of them have just been written.
                unsafe { &mut *(std::ptr::from_mut(elements) as *mut [T]) }
            }
        }
    }
    /// The same elements, under the name of their type that computations have; none if they are of another one.
    fn as_numbers<S: 'static>(&self) -> Option<Place<'a, S>> {
        fn cast<'a, T, S>(all: &DisjointSlice<'a, T>) -> DisjointSlice<'a, S> {
            // SAFETY: nothing is read or written yet.
            let all = unsafe { all.range(0..all.len()) };
            // SAFETY: the element types are the same, as the caller checks; both are written to by the rules of `Sink`.
            DisjointSlice::new(unsafe { std::slice::from_raw_parts_mut(all.as_mut_ptr().cast::<S>(), all.len()) })
        }
        (TypeId::of::<T>() == TypeId::of::<S>()).then(|| match self {
            Self::Written(all) => Place::Written(cast(all)),
            Self::Unwritten(all) => Place::Unwritten(cast::<MaybeUninit<T>, MaybeUninit<S>>(all)),
        })
    }
}

/// An output none of whose elements was there.
struct Fresh<'a> {
    /// How many have been written, and how many there are.
    written: AtomicUsize,
    all: usize,
    /// Tells the output that all are there.
    done: Option<Box<dyn FnOnce() + Send + Sync + 'a>>,
}
impl Drop for Fresh<'_> {
    fn drop(&mut self) {
        // Fewer only where a task panicked: then there is no result.
        if *self.written.get_mut() == self.all
            && let Some(done) = self.done.take()
        {
            done();
        }
    }
}

/// An output that tasks write to, each its own rows, each of these once.
pub struct Sink<'a, S> {
    window: Window,
    write: Write<'a, S>,
    direct: Option<Place<'a, S>>,
    fresh: Option<Fresh<'a>>,
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
        Self { window, write: Box::new(write), direct: None, fresh: None }
    }
    fn typed<U: Element>(isa: Isa, out: Out<'a, Cpu, U>) -> Self
    where
        S: Writing<U>,
    {
        let (window, array) = (out.window, out.array);
        let len = array.count();
        assert!(window.end() <= len, "a window of {} elements in an array of {len}", window.end());
        let mut fresh = None;
        let all = if window.is_contiguous() && window.len() == len && array.unwritten().is_some() {
            let elements = array.unwritten().unwrap_or_default();
            // SAFETY: the elements stay where they are while `fresh` has the array, which is used no more until all of them are written.
            let elements = unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr(), len) };
            // SAFETY: called when as many elements have been written as there are, each of them once, by the contract of those who write.
            let done = move || unsafe { array.written() };
            fresh = Some(Fresh { written: AtomicUsize::new(0), all: len, done: Some(Box::new(done)) });
            Place::Unwritten(DisjointSlice::new(elements))
        } else {
            Place::Written(DisjointSlice::new(array.as_mut_slice()))
        };
        let direct = all.as_numbers::<S>();
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
        Self { window, write: Box::new(write), direct, fresh }
    }
    /// Where the rows are.
    pub fn window(&self) -> Window {
        self.window
    }
    /// Whether the output is of the numbers' type: then [`Sink::stretch`] has its rows.
    pub fn is_direct(&self) -> bool {
        self.direct.is_some()
    }
    /// Counts elements that are written.
    fn count(&self, elements: usize) {
        if let Some(fresh) = &self.fresh {
            fresh.written.fetch_add(elements, Ordering::Relaxed);
        }
    }
    /// The elements of an output of the numbers' type from the first to the last one of some consecutive rows, which begin a stride apart. All
    /// of these rows are to be written there.
    ///
    /// # Safety
    /// These rows are written once, by nothing else, here or by the other methods.
    ///
    /// # Panics
    /// If the output is of another type, or has not these rows.
    #[allow(clippy::mut_from_ref)] // as of a `DisjointSlice`
    pub unsafe fn stretch(&self, rows: Range<usize>) -> &mut [S] {
        let (Some(all), window) = (&self.direct, self.window) else { unreachable!("an output of the numbers' type") };
        assert!(rows.start < rows.end && rows.end <= window.rows());
        // SAFETY: within the window; of rows that only the caller writes, and nothing else is between them that anything reads.
        let stretch = unsafe { all.range(window.row(rows.start).start..window.row(rows.end - 1).end) };
        self.count(rows.len() * window.columns());
        stretch
    }
    /// Has `make` fill consecutive rows, one after the other: in the output itself if it stores them so, or in `scratch`, from where they are
    /// written. What `make` finds there is left over from others.
    ///
    /// # Safety
    /// As of [`Sink::stretch`].
    pub unsafe fn make(&self, rows: Range<usize>, scratch: &mut Vec<S>, make: impl FnOnce(&mut [S])) {
        if rows.is_empty() {
            return;
        }
        if self.is_direct() && self.window.is_contiguous() {
            // SAFETY: this method's contract.
            make(unsafe { self.stretch(rows) });
        } else {
            scratch.resize(rows.len() * self.window.columns(), S::ZERO);
            make(scratch);
            // SAFETY: this method's contract.
            unsafe { self.rows(rows.start, scratch) };
        }
    }
    /// Writes consecutive rows, from a row on; nothing if there are no columns.
    ///
    /// # Safety
    /// As of [`Sink::stretch`].
    pub unsafe fn rows(&self, first: usize, values: &[S]) {
        if !values.is_empty() {
            (self.write)(first, values);
            self.count(values.len());
        }
    }
}
