//! The types that the value field of a line may have, from none at all to a double.

use super::number::{self, Bad};
use crate::Problem;

/// The type of a line's value field.
pub(crate) trait Value: Copy + Default + Send + Sync {
    /// Whether lines have such a field.
    const FIELD: bool;
    /// What the field is called in an error message, and the width of its type.
    const WHOLE: bool;
    /// The value at `at` and where it ends, if the usual forms fit. [`super::AHEAD`] bytes of text follow.
    fn fast(text: &[u8], at: usize) -> Option<(Self, usize)>;
    /// The value of a token.
    fn slow(token: &[u8]) -> Result<Self, Bad>;
}

/// What is wrong with a value's token.
pub(crate) fn problem<V: Value>(token: &[u8], bad: Bad) -> Problem {
    let found = super::shown(token);
    match bad {
        Bad::Syntax if V::WHOLE => Problem::NotAnInteger { found },
        Bad::Syntax => Problem::NotANumber { found },
        Bad::Overflow => Problem::Overflow { found, width: if V::WHOLE { "a whole number of 64 bits" } else { "a 64-bit float" } },
        Bad::NotFinite => Problem::NotFinite { found },
    }
}

impl Value for () {
    const FIELD: bool = false;
    const WHOLE: bool = true;
    fn fast(_: &[u8], at: usize) -> Option<(Self, usize)> {
        Some(((), at))
    }
    fn slow(_: &[u8]) -> Result<Self, Bad> {
        Ok(())
    }
}

macro_rules! whole {
    ($($t:ty: $slow:path;)*) => { $( impl Value for $t {
        const FIELD: bool = true;
        const WHOLE: bool = true;
        #[inline(always)]
        fn fast(text: &[u8], at: usize) -> Option<(Self, usize)> {
            let (value, end) = number::fast_signed(text, at)?;
            Some((value.try_into().ok()?, end))
        }
        fn slow(token: &[u8]) -> Result<Self, Bad> {
            <$t>::try_from($slow(token)?).map_err(|_| Bad::Overflow)
        }
    } )* };
}
whole! {
    i32: number::signed;
    i64: number::signed;
    u32: number::unsigned;
    u64: number::unsigned;
}

impl Value for f64 {
    const FIELD: bool = true;
    const WHOLE: bool = false;
    #[inline(always)]
    fn fast(text: &[u8], at: usize) -> Option<(Self, usize)> {
        number::fast_float(text, at)
    }
    fn slow(token: &[u8]) -> Result<Self, Bad> {
        number::float(token)
    }
}

/// A value that is checked and forgotten; a float may be NaN or too large, which would matter only to who takes it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Checked<V>(std::marker::PhantomData<V>);

impl<V: Value> Value for Checked<V> {
    const FIELD: bool = V::FIELD;
    const WHOLE: bool = V::WHOLE;
    #[inline(always)]
    fn fast(text: &[u8], at: usize) -> Option<(Self, usize)> {
        V::fast(text, at).map(|(_, end)| (Self::default(), end))
    }
    fn slow(token: &[u8]) -> Result<Self, Bad> {
        match V::slow(token) {
            Err(Bad::NotFinite | Bad::Overflow) if !V::WHOLE => Ok(Self::default()),
            other => other.map(|_| Self::default()),
        }
    }
}
