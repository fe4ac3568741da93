//! Dense matrices as the kernels see them: a slice and a window, and rows of any type as rows of the type that is computed in.
//!
//! Invariant: a view's window ends within its slice; it is checked when the view is made.

use super::number::{Number, Sum};
use crate::{Cpu, Isa};
use bitgraph_semiring::DType;
use bitgraph_sparse::Values;
use bitgraph_tensor::{Any, Dense, Element, Reals, Window};
use half::{bf16, f16};
use std::any::TypeId;
use std::ops::Range;

/// The elements of a matrix, and where its rows are.
#[derive(Clone, Copy)]
pub struct View<'a, T> {
    pub data: &'a [T],
    pub window: Window,
}

impl<'a, T> View<'a, T> {
    #[inline(always)]
    pub fn row(&self, i: usize) -> &'a [T] {
        &self.data[self.window.row(i)]
    }
}

impl<'a, T: Element> View<'a, T> {
    pub fn of(dense: &'a Dense<Cpu, T>) -> Self {
        Self::new(dense.raw().as_slice(), dense.window())
    }
    pub fn new(data: &'a [T], window: Window) -> Self {
        assert!(window.end() <= data.len(), "a window of {} elements in an array of {}", window.end(), data.len());
        Self { data, window }
    }
}

/// Consecutive rows of a matrix: none where it has no columns.
#[derive(Clone, Copy)]
pub struct Rows<'a, R> {
    data: &'a [R],
    stride: usize,
    columns: usize,
}

impl<'a, R> Rows<'a, R> {
    #[inline(always)]
    pub fn iter(self) -> impl Iterator<Item = &'a [R]> {
        self.data.chunks(self.stride).map(move |row| &row[..self.columns])
    }
}

macro_rules! any_view {
    ($($variant:ident $t:ident,)*) => {
        /// A matrix of any element type.
        #[derive(Clone, Copy)]
        pub enum AnyView<'a> { $( $variant(View<'a, $t>), )* }

        /// Runs `$body` with `$view` bound to the view of its own type.
        macro_rules! with_view {
            ($any:expr, $view:ident => $body:expr) => {
                match $any { $( AnyView::$variant($view) => $body, )* }
            };
        }

        impl<'a> AnyView<'a> {
            pub fn of(any: &'a Any<Cpu>) -> Self {
                match any { $( Any::$variant(dense) => Self::$variant(View::of(dense)), )* }
            }
            /// The values of a matrix's entries as a matrix of one column; none of a type that features have not.
            pub fn of_values(values: &'a Values) -> Option<Self> {
                let window = Window::whole(values.len(), 1).ok()?;
                match values.dtype() {
                    $( DType::$variant => values.as_slice::<$t>().map(|data| Self::$variant(View::new(data, window))), )*
                    _ => None,
                }
            }
            pub fn window(&self) -> Window {
                with_view!(self, view => view.window)
            }
            /// Row `i` as numbers of the type that is computed in.
            #[inline]
            pub fn row_into<R: Sum>(&self, isa: Isa, i: usize, out: &mut [R]) {
                with_view!(self, view => R::read(isa, view.row(i), out));
            }
            /// As [`AnyView::row_into`], of consecutive rows one after the other.
            pub fn rows_into<R: Sum>(&self, isa: Isa, rows: Range<usize>, out: &mut [R]) {
                let window = self.window();
                if window.is_contiguous() && !rows.is_empty() {
                    let elements = window.row(rows.start).start..window.row(rows.end - 1).end;
                    return with_view!(self, view => R::read(isa, &view.data[elements], out));
                }
                rows.zip(out.chunks_exact_mut(window.columns().max(1))).for_each(|(i, row)| self.row_into(isa, i, row));
            }
            /// As [`AnyView::row_into`]; the row itself if that is its type.
            #[inline]
            pub fn row_as<'b, R: Sum>(&self, isa: Isa, i: usize, scratch: &'b mut Vec<R>) -> &'b [R]
            where
                'a: 'b,
            {
                if let Some(same) = self.as_view::<R>() {
                    return same.row(i);
                }
                scratch.clear();
                scratch.resize(self.window().columns(), R::ZERO);
                self.row_into(isa, i, scratch);
                scratch
            }
            /// As [`AnyView::row_as`], of consecutive rows.
            pub fn rows_as<'b, R: Sum>(&self, isa: Isa, rows: Range<usize>, scratch: &'b mut Vec<R>) -> Rows<'b, R>
            where
                'a: 'b,
            {
                let window = self.window();
                let columns = window.columns();
                if rows.is_empty() || columns == 0 {
                    return Rows { data: &[], stride: 1, columns };
                }
                if let Some(same) = self.as_view::<R>() {
                    let data = &same.data[window.row(rows.start).start..window.row(rows.end - 1).end];
                    return Rows { data, stride: window.stride(), columns };
                }
                scratch.resize(rows.len() * columns, R::ZERO);
                self.rows_into(isa, rows, scratch);
                Rows { data: scratch, stride: columns, columns }
            }
            /// The view, if it is of that type.
            #[inline(always)]
            pub fn as_view<R: 'static>(&self) -> Option<View<'a, R>> {
                match self { $( Self::$variant(view) => same(*view), )* }
            }
        }
    };
}
any_view! {
    F16 f16,
    Bf16 bf16,
    F32 f32,
    F64 f64,
    I8 i8,
    U8 u8,
    I16 i16,
    I32 i32,
}

/// A view under another name of its element type.
#[inline(always)]
pub fn same<'a, T: 'static, R: 'static>(view: View<'a, T>) -> Option<View<'a, R>> {
    (TypeId::of::<T>() == TypeId::of::<R>()).then(|| {
        // SAFETY: the element types are the same.
        #[allow(unsafe_code)]
        let data = unsafe { std::slice::from_raw_parts(view.data.as_ptr().cast::<R>(), view.data.len()) };
        View { data, window: view.window }
    })
}

/// Numbers as a matrix of any type, so many to a row.
pub fn any_of<R: Number>(data: &[R], columns: usize) -> AnyView<'_> {
    let rows = data.len().checked_div(columns).unwrap_or(0);
    let Ok(window) = Window::whole(rows, columns) else { unreachable!("the numbers are in memory") };
    let view = View { data, window };
    match same::<R, f64>(view) {
        Some(double) => AnyView::F64(double),
        None => match same::<R, f32>(view) {
            Some(single) => AnyView::F32(single),
            None => unreachable!("numbers are of these two types"),
        },
    }
}

/// The values of scales, biases and statistics in the type that is computed in: of one row or one column.
pub fn reals<R: Number>(x: &Reals<Cpu>) -> Vec<R> {
    fn all<T: Element, R: Number>(dense: &Dense<Cpu, T>) -> Vec<R> {
        let view = View::of(dense);
        (0..dense.nrows()).flat_map(|i| view.row(i).iter().map(|v| R::of(v.to_f64()))).collect()
    }
    match x {
        Reals::F32(dense) => all(dense),
        Reals::F64(dense) => all(dense),
    }
}
