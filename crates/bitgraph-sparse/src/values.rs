//! The values of a weighted matrix: one array in the pattern's own order, of a type known at run time.

use crate::{Buffer, Error, Result, parallel};
use bitgraph_semiring::{DType, Scalar};
use half::{bf16, f16};

/// Runs `$body` with `$v` bound to the values as a slice of their own type.
#[macro_export]
macro_rules! with_values {
    ($values:expr, $v:ident => $body:expr) => {
        match $values {
            $crate::Values::Bool(buffer) => {
                let $v: &[_] = &buffer[..];
                $body
            }
            $crate::Values::I8(buffer) => {
                let $v: &[_] = &buffer[..];
                $body
            }
            $crate::Values::I16(buffer) => {
                let $v: &[_] = &buffer[..];
                $body
            }
            $crate::Values::I32(buffer) => {
                let $v: &[_] = &buffer[..];
                $body
            }
            $crate::Values::I64(buffer) => {
                let $v: &[_] = &buffer[..];
                $body
            }
            $crate::Values::U8(buffer) => {
                let $v: &[_] = &buffer[..];
                $body
            }
            $crate::Values::U16(buffer) => {
                let $v: &[_] = &buffer[..];
                $body
            }
            $crate::Values::U32(buffer) => {
                let $v: &[_] = &buffer[..];
                $body
            }
            $crate::Values::U64(buffer) => {
                let $v: &[_] = &buffer[..];
                $body
            }
            $crate::Values::F16(buffer) => {
                let $v: &[_] = &buffer[..];
                $body
            }
            $crate::Values::Bf16(buffer) => {
                let $v: &[_] = &buffer[..];
                $body
            }
            $crate::Values::F32(buffer) => {
                let $v: &[_] = &buffer[..];
                $body
            }
            $crate::Values::F64(buffer) => {
                let $v: &[_] = &buffer[..];
                $body
            }
        }
    };
}

macro_rules! values {
    ($($variant:ident $t:ty,)*) => {
        /// A typed array of matrix values; entry `k` belongs to the `k`-th entry of the pattern.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub enum Values { $( $variant(Buffer<$t>), )* }

        $( impl From<Vec<$t>> for Values {
            fn from(v: Vec<$t>) -> Self { Values::$variant(v.into()) }
        } )*

        impl Values {
            /// The element type.
            #[must_use]
            pub fn dtype(&self) -> DType {
                match self { $( Values::$variant(_) => <$t as Scalar>::DTYPE, )* }
            }
            /// The number of values.
            #[must_use]
            pub fn len(&self) -> usize {
                match self { $( Values::$variant(v) => v.len(), )* }
            }
            /// The values as a slice of `T`, if that is their type, or wraps it.
            #[must_use]
            pub fn as_slice<T: Scalar>(&self) -> Option<&[T]> {
                let stored: Option<&[T::Repr]> = match self { $( Values::$variant(v) => {
                    cast_same::<$t, T::Repr>(v)
                } )* };
                stored.map(T::wrap_slice)
            }
            /// Values of type `T` from a vector, whose memory is kept; stored as the type that `T` wraps, if it is a user's own.
            #[must_use]
            pub fn from_vec<T: Scalar>(values: Vec<T>) -> Self {
                let mut slot = Some(T::peel_vec(values));
                let any: &mut dyn std::any::Any = &mut slot;
                $( if let Some(v) = any.downcast_mut::<Option<Vec<$t>>>() {
                    return Values::$variant(v.take().unwrap_or_default().into());
                } )*
                unreachable!("every type that can be wrapped is listed")
            }
            /// The values at `positions`, in that order, as an array of the same type.
            #[must_use]
            pub fn gather(&self, positions: &[usize]) -> Self {
                match self { $( Values::$variant(v) => {
                    let v: &[$t] = v;
                    Values::$variant(parallel::map(positions, |&p| v[p]).into())
                } )* }
            }
        }
    };
}

values! {
    Bool bool,
    I8 i8,
    I16 i16,
    I32 i32,
    I64 i64,
    U8 u8,
    U16 u16,
    U32 u32,
    U64 u64,
    F16 f16,
    Bf16 bf16,
    F32 f32,
    F64 f64,
}

/// A buffer seen as one of `T`, if the types are the same.
fn cast_same<S: Scalar, T: Scalar>(buffer: &Buffer<S>) -> Option<&[T]> {
    let any: &dyn std::any::Any = buffer;
    any.downcast_ref::<Buffer<T>>().map(|b| &b[..])
}

impl Values {
    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes of the array.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.len() * self.dtype().bytes()) as u64
    }
    /// The values as a slice of `T`.
    ///
    /// # Errors
    /// [`Error::Type`] if they are of another type.
    pub fn expect<T: Scalar>(&self) -> Result<&[T]> {
        self.as_slice::<T>().ok_or(Error::Type { expected: T::DTYPE, found: self.dtype() })
    }
    /// The values converted to the type that `T` is stored as: the nearest there is, so that whole numbers stay what they are or become
    /// the first or last of a type that ends before them; shared if they are of that type already. O(values), parallel.
    #[must_use]
    pub fn cast<T: Scalar>(&self) -> Self {
        if T::DTYPE == self.dtype() {
            return self.clone();
        }
        with_values!(self, v => Values::from_vec(parallel::map(v, |&x| x.cast::<T::Repr>())))
    }
    /// The value at `position` as `f64`.
    ///
    /// # Panics
    /// If `position` is out of range.
    #[must_use]
    pub fn get_f64(&self, position: usize) -> f64 {
        with_values!(self, v => v[position].to_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_access() {
        let v = Values::from_vec(vec![1i64, -2, 3]);
        assert_eq!(v.dtype(), DType::I64);
        assert_eq!(v.as_slice::<i64>(), Some(&[1i64, -2, 3][..]));
        assert!(v.as_slice::<f32>().is_none());
        assert_eq!(v.cast::<f32>().expect::<f32>().unwrap(), &[1.0, -2.0, 3.0]);
        let wide = Values::from_vec(vec![i64::MAX - 1, -1, (1 << 53) + 1]);
        assert_eq!(wide.cast::<u64>().expect::<u64>().unwrap(), &[i64::MAX as u64 - 1, 0, (1 << 53) + 1]);
        assert_eq!(Values::from_vec(vec![u64::MAX, (1 << 53) + 1]).cast::<i64>().expect::<i64>().unwrap(), &[i64::MAX, (1 << 53) + 1]);
        assert_eq!(v.gather(&[2, 0]), Values::from_vec(vec![3i64, 1]));
    }
}
