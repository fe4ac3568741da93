//! Vectors: one value per position, with or without a presence bit for each.
//!
//! Invariant: a vector without presence bits is full. A value at an absent position is unspecified and never read.
//! `Vector<bool>` stores packed bits ([`BitVector`]); every other type stores a plain array.

use crate::{BitVector, Error, Result};
use bitgraph_semiring::Scalar;
use half::{bf16, f16};

/// How a scalar's vectors are stored. Implemented for every element type, those of a user's own included; never by hand.
pub trait Stored: Scalar {
    /// The storage: [`BitVector`] for `bool`, `Vec<T>` otherwise.
    type Store: Store<Self>;
}

/// The storage of the types that a built-in type is behind.
#[doc(hidden)]
pub trait Stores<T> {
    type Store: Store<T>;
}

impl<T: Scalar> Stored for T
where
    T::Repr: Stores<T>,
{
    type Store = <T::Repr as Stores<T>>::Store;
}

/// The storage of a vector's values.
pub trait Store<T>: Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static {
    /// `len` times `value`.
    fn filled(len: usize, value: T) -> Self;
    /// From an array.
    fn from_vec(values: Vec<T>) -> Self;
    /// The number of values.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The value at `i`.
    fn get(&self, i: usize) -> T;
    /// Sets the value at `i`.
    fn set(&mut self, i: usize, value: T);
    /// The values as an array, if that is how they are stored.
    fn as_slice(&self) -> Option<&[T]>;
    /// The values as an array to write to, if that is how they are stored.
    fn as_mut_slice(&mut self) -> Option<&mut [T]>;
    /// The values as bits, if that is how they are stored.
    fn as_bits(&self) -> Option<&BitVector> {
        None
    }
    /// The values as bits to write to, if that is how they are stored.
    fn as_bits_mut(&mut self) -> Option<&mut BitVector> {
        None
    }
}

impl<T: Scalar> Store<T> for Vec<T> {
    fn filled(len: usize, value: T) -> Self {
        vec![value; len]
    }
    fn from_vec(values: Vec<T>) -> Self {
        values
    }
    fn len(&self) -> usize {
        Vec::len(self)
    }
    #[inline(always)]
    fn get(&self, i: usize) -> T {
        self[i]
    }
    #[inline(always)]
    fn set(&mut self, i: usize, value: T) {
        self[i] = value;
    }
    fn as_slice(&self) -> Option<&[T]> {
        Some(self)
    }
    fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        Some(self)
    }
}

impl Store<bool> for BitVector {
    fn filled(len: usize, value: bool) -> Self {
        if value { BitVector::ones(len) } else { BitVector::zeros(len) }
    }
    fn from_vec(values: Vec<bool>) -> Self {
        BitVector::from_bools(&values)
    }
    fn len(&self) -> usize {
        BitVector::len(self)
    }
    #[inline(always)]
    fn get(&self, i: usize) -> bool {
        BitVector::get(self, i)
    }
    #[inline(always)]
    fn set(&mut self, i: usize, value: bool) {
        BitVector::set(self, i, value);
    }
    fn as_slice(&self) -> Option<&[bool]> {
        None
    }
    fn as_mut_slice(&mut self) -> Option<&mut [bool]> {
        None
    }
    fn as_bits(&self) -> Option<&BitVector> {
        Some(self)
    }
    fn as_bits_mut(&mut self) -> Option<&mut BitVector> {
        Some(self)
    }
}

macro_rules! stored {
    ($($t:ty)*) => { $( impl<T: Scalar<Repr = $t>> Stores<T> for $t { type Store = Vec<T>; } )* };
}
stored!(i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
impl Stores<bool> for bool {
    type Store = BitVector;
}

/// A vector of `len` positions.
#[derive(Clone, Debug)]
pub struct Vector<T: Stored> {
    values: T::Store,
    present: Option<BitVector>,
}

impl<T: Stored> Vector<T> {
    /// A full vector of one value.
    #[must_use]
    pub fn filled(len: usize, value: T) -> Self {
        Self { values: T::Store::filled(len, value), present: None }
    }
    /// A vector without any entry.
    #[must_use]
    pub fn empty(len: usize) -> Self {
        Self { values: T::Store::filled(len, T::ZERO), present: Some(BitVector::zeros(len)) }
    }
    /// A full vector from an array.
    #[must_use]
    pub fn from_vec(values: Vec<T>) -> Self {
        Self { values: T::Store::from_vec(values), present: None }
    }
    /// A vector from its storage and presence bits.
    ///
    /// # Errors
    /// [`Error::Length`] if the two differ in length.
    pub fn from_parts(values: T::Store, present: Option<BitVector>) -> Result<Self> {
        if let Some(p) = &present
            && p.len() != values.len()
        {
            return Err(Error::Length { array: "present", expected: values.len() as u64, found: p.len() as u64 });
        }
        Ok(Self { values, present })
    }
    /// A vector with entries at some positions; a later one replaces an earlier one.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if a position is not below `len`.
    pub fn from_entries(len: usize, entries: impl IntoIterator<Item = (u32, T)>) -> Result<Self> {
        let mut v = Self::empty(len);
        for (i, value) in entries {
            if i as usize >= len {
                return Err(Error::OutOfRange { row: i.into(), column: 0, rows: len as u64, columns: 1 });
            }
            v.insert(i as usize, value);
        }
        Ok(v)
    }
    /// The number of positions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }
    /// Whether there are no positions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Whether every position holds an entry, by construction.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.present.is_none()
    }
    /// The number of entries.
    #[must_use]
    pub fn nvals(&self) -> usize {
        self.present.as_ref().map_or(self.len(), BitVector::count_ones)
    }
    /// The entry at `i`, if there is one.
    ///
    /// # Panics
    /// If `i` is out of range.
    #[inline]
    #[must_use]
    pub fn get(&self, i: usize) -> Option<T> {
        self.present.as_ref().is_none_or(|p| p.get(i)).then(|| self.values.get(i))
    }
    /// Sets the entry at `i`.
    ///
    /// # Panics
    /// If `i` is out of range.
    #[inline]
    pub fn insert(&mut self, i: usize, value: T) {
        self.values.set(i, value);
        if let Some(p) = &mut self.present {
            p.set(i, true);
        }
    }
    /// Removes the entry at `i`.
    ///
    /// # Panics
    /// If `i` is out of range.
    pub fn remove(&mut self, i: usize) {
        let len = self.len();
        self.present.get_or_insert_with(|| BitVector::ones(len)).set(i, false);
    }
    /// The storage of the values.
    #[must_use]
    pub fn store(&self) -> &T::Store {
        &self.values
    }
    /// The storage of the values, to write to.
    pub fn store_mut(&mut self) -> &mut T::Store {
        &mut self.values
    }
    /// The presence bits; `None` for a full vector.
    #[must_use]
    pub fn present(&self) -> Option<&BitVector> {
        self.present.as_ref()
    }
    /// Replaces the presence bits.
    ///
    /// # Panics
    /// If their number is not the vector's length.
    pub fn set_present(&mut self, present: Option<BitVector>) {
        assert!(present.as_ref().is_none_or(|p| p.len() == self.len()), "presence bits of another length");
        self.present = present;
    }
    /// Storage and presence, taken apart.
    #[must_use]
    pub fn into_parts(self) -> (T::Store, Option<BitVector>) {
        (self.values, self.present)
    }
    /// The entries, ascending. Positions without one are passed over by 64 at a time.
    pub fn iter(&self) -> impl Iterator<Item = (usize, T)> + '_ {
        let some = self.present.as_ref().map(BitVector::iter_ones);
        let all = if some.is_some() { 0..0 } else { 0..self.len() };
        some.into_iter().flatten().chain(all).map(|i| (i, self.values.get(i)))
    }
    /// The values as an array, `missing` where there is no entry.
    #[must_use]
    pub fn to_vec_or(&self, missing: T) -> Vec<T> {
        (0..self.len()).map(|i| self.get(i).unwrap_or(missing)).collect()
    }
}

/// Equal if the same positions hold equal entries.
impl<T: Stored> PartialEq for Vector<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (0..self.len()).all(|i| self.get(i) == other.get(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presence() {
        let mut v = Vector::<f32>::from_entries(5, [(1, 2.0), (3, 4.0)]).unwrap();
        assert_eq!((v.nvals(), v.get(1), v.get(2)), (2, Some(2.0), None));
        v.remove(1);
        v.insert(0, 1.0);
        assert_eq!(v.iter().collect::<Vec<_>>(), vec![(0, 1.0), (3, 4.0)]);
        assert!(Vector::<bool>::from_entries(3, [(3, true)]).is_err());
        let b = Vector::<bool>::from_vec(vec![true, false, true]);
        assert_eq!(b.store().as_bits().unwrap().words32()[0], 0b101);
        assert_eq!(Vector::<bool>::filled(70, true).store().words32().len(), 4);
    }
}
