//! Dense matrices as users hold them: an array on the device, where in it the rows are, and the backend that it belongs to.
//!
//! Invariant: a handle is a value. Clones and slices share the array until one of them is written to, which copies it first.

use crate::any::{Any, AnyMut, Out};
use crate::error::refused;
use crate::{Element, Error, Tensor, Window};
use bitgraph_backend::Vector;
use bitgraph_sparse::Buffer;
use std::fmt::{Debug, Formatter};
use std::ops::Range;
use std::sync::Arc;

/// A matrix of `rows x columns` elements on a backend, row-major, whose rows may be further apart than they are long. Cheap to clone and
/// to slice.
pub struct Dense<B: Tensor, T: Element> {
    backend: B,
    array: Arc<B::Array<T>>,
    window: Window,
}

impl<B: Tensor, T: Element> Dense<B, T> {
    /// From elements row by row, which are copied. O(elements).
    ///
    /// # Errors
    /// [`Error::Length`] if there are not `rows * columns` of them; [`Error::Overflow`]; out of memory.
    pub fn from_slice(backend: &B, rows: usize, columns: usize, elements: &[T]) -> Result<Self, B::Error> {
        let window = whole::<B>(rows, columns, elements.len())?;
        Ok(Self::from_raw(backend, backend.array(elements.to_vec())?, window))
    }
    /// From elements row by row, whose memory is kept where the backend's is the host's. O(1) there, O(elements) elsewhere.
    ///
    /// # Errors
    /// As [`Dense::from_slice`].
    pub fn from_vec(backend: &B, rows: usize, columns: usize, elements: Vec<T>) -> Result<Self, B::Error> {
        let window = whole::<B>(rows, columns, elements.len())?;
        Ok(Self::from_raw(backend, backend.array(elements)?, window))
    }
    /// From rows of equal length. O(elements).
    ///
    /// # Errors
    /// [`Error::Length`] for a row of another length than the first one's; [`Error::Overflow`]; out of memory.
    pub fn from_rows<R: AsRef<[T]>>(backend: &B, rows: &[R]) -> Result<Self, B::Error> {
        let columns = rows.first().map_or(0, |r| r.as_ref().len());
        if let Some(row) = rows.iter().find(|r| r.as_ref().len() != columns) {
            let (expected, found) = (columns as u64, row.as_ref().len() as u64);
            return Err(refused::<B>(Error::Length { what: "a row", expected, found }));
        }
        let elements: Vec<T> = rows.iter().flat_map(|r| r.as_ref().iter().copied()).collect();
        Self::from_vec(backend, rows.len(), columns, elements)
    }
    /// A view of a caller's memory, rows `stride` elements apart. Nothing is copied where the backend's memory is the host's; writing to
    /// the matrix copies it first, so that the caller's memory is never written to.
    ///
    /// # Errors
    /// [`Error::Length`] if the memory ends before the last row; [`Error::Stride`]; [`Error::Overflow`]; out of memory.
    pub fn from_buffer(backend: &B, rows: usize, columns: usize, stride: usize, memory: Buffer<T>) -> Result<Self, B::Error> {
        let window = Window::new(0, rows, columns, stride).map_err(refused::<B>)?;
        if window.end() > memory.len() {
            let (expected, found) = (window.end() as u64, memory.len() as u64);
            return Err(refused::<B>(Error::Length { what: "the memory of a view", expected, found }));
        }
        Ok(Self::from_raw(backend, backend.array_of_buffer(memory)?, window))
    }
    /// One value everywhere, made on the device.
    ///
    /// # Errors
    /// [`Error::Overflow`]; out of memory.
    pub fn filled(backend: &B, rows: usize, columns: usize, value: T) -> Result<Self, B::Error> {
        let window = Window::whole(rows, columns).map_err(refused::<B>)?;
        Ok(Self::from_raw(backend, backend.array_filled(window.len(), value)?, window))
    }
    /// Zeros, made on the device.
    ///
    /// # Errors
    /// [`Error::Overflow`]; out of memory.
    pub fn zeros(backend: &B, rows: usize, columns: usize) -> Result<Self, B::Error> {
        Self::filled(backend, rows, columns, T::ZERO)
    }
    /// What an operation writes all of.
    pub(crate) fn unwritten(backend: &B, rows: usize, columns: usize) -> Result<Self, B::Error> {
        let window = Window::whole(rows, columns).map_err(refused::<B>)?;
        Ok(Self::from_raw(backend, backend.array_unwritten(window.len())?, window))
    }
    /// A matrix of one row: a bias, or the statistics of columns.
    ///
    /// # Errors
    /// As [`Dense::from_slice`].
    pub fn row_vector(backend: &B, elements: Vec<T>) -> Result<Self, B::Error> {
        let columns = elements.len();
        Self::from_vec(backend, 1, columns, elements)
    }
    /// A matrix of one column: a scale for each row.
    ///
    /// # Errors
    /// As [`Dense::from_slice`].
    pub fn column_vector(backend: &B, elements: Vec<T>) -> Result<Self, B::Error> {
        let rows = elements.len();
        Self::from_vec(backend, rows, 1, elements)
    }
    /// A vector as a matrix of one column, `missing` where it has no entry. Through the host.
    ///
    /// # Errors
    /// Out of memory.
    pub fn from_vector(vector: &Vector<B, T>, missing: T) -> Result<Self, B::Error> {
        Self::column_vector(vector.backend(), vector.to_host()?.to_vec_or(missing))
    }
    /// The handle of what a backend made. The window must end within the array.
    pub fn from_raw(backend: &B, array: B::Array<T>, window: Window) -> Self {
        Self { backend: backend.clone(), array: Arc::new(array), window }
    }

    /// The backend's array.
    #[must_use]
    pub fn raw(&self) -> &B::Array<T> {
        &self.array
    }
    /// The backend.
    #[must_use]
    pub fn backend(&self) -> &B {
        &self.backend
    }
    /// Where the rows are in the array.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }
    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        self.window.shape()
    }
    /// The number of rows.
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.window.rows()
    }
    /// The number of columns.
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.window.columns()
    }
    /// Bytes of the elements, those between rows not counted.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.window.len() * size_of::<T>()) as u64
    }
    /// The elements row by row on the host. O(elements).
    ///
    /// # Errors
    /// Out of memory, or whatever went wrong in the work before it.
    pub fn to_host(&self) -> Result<Vec<T>, B::Error> {
        self.backend.array_to_host(&self.array, self.window)
    }
    /// As [`Dense::to_host`], without a copy where this is the only handle of an array on the host that it covers.
    ///
    /// # Errors
    /// As [`Dense::to_host`].
    pub fn into_vec(self) -> Result<Vec<T>, B::Error> {
        if !self.covers() {
            return self.to_host();
        }
        match Arc::try_unwrap(self.array) {
            Ok(array) => self.backend.array_into_vec(array),
            Err(shared) => self.backend.array_to_host(&shared, self.window),
        }
    }
    /// Some of the rows. O(1).
    ///
    /// # Errors
    /// [`Error::Slice`] if there are no such rows.
    pub fn rows(&self, rows: Range<usize>) -> Result<Self, B::Error> {
        Ok(Self { window: self.window.sub_rows(rows).map_err(refused::<B>)?, ..self.clone() })
    }
    /// Some of the columns. O(1).
    ///
    /// # Errors
    /// [`Error::Slice`] if there are no such columns.
    pub fn columns(&self, columns: Range<usize>) -> Result<Self, B::Error> {
        Ok(Self { window: self.window.sub_columns(columns).map_err(refused::<B>)?, ..self.clone() })
    }
    /// The same elements in rows of another length: O(1) where they are next to each other.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of elements; out of memory where they have to be moved.
    pub fn reshaped(&self, rows: usize, columns: usize) -> Result<Self, B::Error> {
        let window = whole::<B>(rows, columns, self.window.len())?;
        if !self.window.is_contiguous() {
            return Self::from_vec(&self.backend, rows, columns, self.to_host()?);
        }
        let window = Window::new(self.window.offset(), window.rows(), window.columns(), window.columns()).map_err(refused::<B>)?;
        Ok(Self { window, ..self.clone() })
    }
    /// All of it, to write to.
    pub fn as_mut(&mut self) -> DenseMut<'_, B, T> {
        DenseMut { backend: &self.backend, window: self.window, array: &mut self.array }
    }
    /// Some of the rows, to write to.
    ///
    /// # Errors
    /// [`Error::Slice`] if there are no such rows.
    pub fn rows_mut(&mut self, rows: Range<usize>) -> Result<DenseMut<'_, B, T>, B::Error> {
        let window = self.window.sub_rows(rows).map_err(refused::<B>)?;
        Ok(DenseMut { backend: &self.backend, window, array: &mut self.array })
    }
    /// Some of the columns, to write to.
    ///
    /// # Errors
    /// [`Error::Slice`] if there are no such columns.
    pub fn columns_mut(&mut self, columns: Range<usize>) -> Result<DenseMut<'_, B, T>, B::Error> {
        let window = self.window.sub_columns(columns).map_err(refused::<B>)?;
        Ok(DenseMut { backend: &self.backend, window, array: &mut self.array })
    }
    /// As a matrix of any type.
    #[must_use]
    pub fn any(&self) -> Any<B> {
        T::erase(self.clone())
    }
    pub(crate) fn array_id(&self) -> *const () {
        Arc::as_ptr(&self.array).cast()
    }
    fn covers(&self) -> bool {
        covers::<B, T>(&self.backend, &self.array, self.window)
    }
}

/// Whether a window is all of its array.
fn covers<B: Tensor, T: Element>(backend: &B, array: &B::Array<T>, window: Window) -> bool {
    window.offset() == 0 && window.is_contiguous() && window.len() == backend.array_len(array)
}

fn whole<B: Tensor>(rows: usize, columns: usize, found: usize) -> Result<Window, B::Error> {
    let window = Window::whole(rows, columns).map_err(refused::<B>)?;
    if window.len() == found {
        return Ok(window);
    }
    Err(refused::<B>(Error::Length { what: "a dense matrix", expected: window.len() as u64, found: found as u64 }))
}

impl<B: Tensor, T: Element> Clone for Dense<B, T> {
    fn clone(&self) -> Self {
        Self { backend: self.backend.clone(), array: Arc::clone(&self.array), window: self.window }
    }
}
impl<B: Tensor, T: Element> Debug for Dense<B, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dense<{}>({} x {} on {})", T::DTYPE, self.nrows(), self.ncols(), self.backend.name())
    }
}

/// A matrix, or some of its rows or columns, to write to.
pub struct DenseMut<'a, B: Tensor, T: Element> {
    backend: &'a B,
    array: &'a mut Arc<B::Array<T>>,
    window: Window,
}

impl<'a, B: Tensor, T: Element> DenseMut<'a, B, T> {
    /// The same elements, next to each other, in rows of another length.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of elements; [`Error::Stride`] where they are not next to each other.
    pub fn reshaped(self, rows: usize, columns: usize) -> Result<Self, B::Error> {
        let window = whole::<B>(rows, columns, self.window.len())?;
        if !self.window.is_contiguous() {
            let (stride, columns) = (self.window.stride() as u64, self.window.columns() as u64);
            return Err(refused::<B>(Error::Stride { stride, columns }));
        }
        let window = Window::new(self.window.offset(), window.rows(), window.columns(), window.columns()).map_err(refused::<B>)?;
        Ok(Self { window, ..self })
    }
    /// Some of the elements of a matrix of one row.
    ///
    /// # Errors
    /// [`Error::Slice`] if there are no such columns.
    pub fn columns(self, columns: Range<usize>) -> Result<Self, B::Error> {
        let window = self.window.sub_columns(columns).map_err(refused::<B>)?;
        Ok(Self { window, ..self })
    }
    /// The array, which no other handle shares any more: what others hold is copied first, or zeros where all of it is to be replaced, which an
    /// operation that fails leaves.
    ///
    /// # Errors
    /// Out of memory.
    pub fn open(self) -> Result<Out<'a, B, T>, B::Error> {
        if Arc::get_mut(self.array).is_none() || !self.backend.array_is_writable(self.array) {
            let replaced = covers::<B, T>(self.backend, self.array, self.window);
            let own = match replaced {
                true => self.backend.array_filled(self.window.len(), T::ZERO)?,
                false => self.backend.array_copy(self.array)?,
            };
            *self.array = Arc::new(own);
        }
        match Arc::get_mut(self.array) {
            Some(array) => Ok(Out { array, window: self.window }),
            None => unreachable!("no other handle has the new array"),
        }
    }
}
impl<'a, B: Tensor, T: Element> From<&'a mut Dense<B, T>> for DenseMut<'a, B, T> {
    fn from(dense: &'a mut Dense<B, T>) -> Self {
        dense.as_mut()
    }
}

/// What the result of an operation can be written to.
pub trait Output<'a, B: Tensor> {
    /// Rows and columns.
    fn shape(&self) -> (usize, usize);
    /// Whether an operand shares an element with it.
    fn overlaps(&self, operand: &Any<B>) -> bool;
    /// What a backend writes to.
    ///
    /// # Errors
    /// Out of memory, where what others share is copied.
    fn open(self) -> Result<AnyMut<'a, B>, B::Error>;
}
impl<'a, B: Tensor, T: Element> Output<'a, B> for DenseMut<'a, B, T> {
    fn shape(&self) -> (usize, usize) {
        self.window.shape()
    }
    fn overlaps(&self, operand: &Any<B>) -> bool {
        operand.overlaps(Arc::as_ptr(self.array).cast(), &self.window)
    }
    fn open(self) -> Result<AnyMut<'a, B>, B::Error> {
        Ok(T::erase_mut(DenseMut::open(self)?))
    }
}
impl<'a, B: Tensor, T: Element> Output<'a, B> for &'a mut Dense<B, T> {
    fn shape(&self) -> (usize, usize) {
        Dense::shape(self)
    }
    fn overlaps(&self, operand: &Any<B>) -> bool {
        operand.overlaps(self.array_id(), &self.window)
    }
    fn open(self) -> Result<AnyMut<'a, B>, B::Error> {
        self.as_mut().open().map(T::erase_mut)
    }
}
