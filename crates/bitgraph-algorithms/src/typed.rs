//! Settings of an algorithm together with the type that it computes in.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// Settings of an algorithm that runs in several types, and the type of its results: layouts are built for one.
pub struct Typed<A, T> {
    /// The settings.
    pub settings: A,
    results: PhantomData<fn() -> T>,
}

impl<A, T> Typed<A, T> {
    /// The settings, for results of type `T`.
    pub const fn new(settings: A) -> Self {
        Self { settings, results: PhantomData }
    }
}

impl<A, T> Deref for Typed<A, T> {
    type Target = A;
    fn deref(&self) -> &A {
        &self.settings
    }
}

// Derived impls would ask the same of `T`.
impl<A: Clone, T> Clone for Typed<A, T> {
    fn clone(&self) -> Self {
        Self::new(self.settings.clone())
    }
}
impl<A: fmt::Debug, T> fmt::Debug for Typed<A, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.fmt(f)
    }
}
