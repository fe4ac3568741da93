//! How far a floating-point result may be from the oracle's, and where two results differ. The comparisons are those of `approx`, with
//! bounds that are derived here.

use approx::abs_diff_eq;
use bitgraph_semiring::{DType, Scalar};
use std::fmt;

/// A bound: `|found - expected| <= absolute + relative |expected|`. Zero for types that compare exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The share of the expected value.
    pub relative: f64,
    /// The bound near zero.
    pub absolute: f64,
}

impl Tolerance {
    /// Equality.
    pub const EXACT: Self = Self { relative: 0.0, absolute: 0.0 };

    /// The bound of a sum of `length` products of values of type `dtype`, whose absolute values sum to at most `magnitude`.
    ///
    /// A sum of `n` products in any order errs by at most `(n + 1) e_acc` of the sum of absolute values (to first order),
    /// `e_acc` being the unit roundoff of the accumulator; the oracle errs by as much; storing the result errs by `e_store` of
    /// it. Hence `relative = 2 e_store` and `absolute = 2 (n + 1) e_acc magnitude`. Integers and booleans are exact.
    #[must_use]
    pub fn for_sum(dtype: DType, length: usize, magnitude: f64) -> Self {
        let (store, acc) = match dtype {
            DType::F16 => (2f64.powi(-11), 2f64.powi(-24)),
            DType::Bf16 => (2f64.powi(-8), 2f64.powi(-24)),
            DType::F32 => (2f64.powi(-24), 2f64.powi(-24)),
            DType::F64 => (2f64.powi(-53), 2f64.powi(-53)),
            _ => return Self::EXACT,
        };
        Self { relative: 2.0 * store, absolute: 2.0 * (length as f64 + 1.0) * acc * magnitude }
    }
    /// How far a value may be from `expected`: an `epsilon` for the macros of `approx`.
    #[must_use]
    pub fn epsilon(&self, expected: f64) -> f64 {
        self.absolute + self.relative * expected.abs()
    }
    /// Whether `found` is near enough to `expected`. Equal infinities are, and two NaN.
    #[must_use]
    pub fn accepts<T: Scalar>(&self, expected: T, found: T) -> bool {
        if expected == found {
            return true;
        }
        if *self == Self::EXACT && !T::DTYPE.is_float() {
            return false;
        }
        let (e, f) = (expected.to_f64(), found.to_f64());
        (e.is_nan() && f.is_nan()) || (e.is_finite() && abs_diff_eq!(e, f, epsilon = self.epsilon(e)))
    }
    /// Compares entry by entry: the same positions hold entries, and these are near enough.
    ///
    /// # Errors
    /// The positions that differ.
    pub fn compare<T: Scalar>(&self, expected: &[Option<T>], found: &[Option<T>]) -> Result<(), Mismatches> {
        let mut m = Mismatches { lengths: (expected.len(), found.len()), compared: 0, different: 0, first: Vec::new() };
        for (i, (e, f)) in expected.iter().zip(found).enumerate() {
            m.compared += 1;
            let same = match (e, f) {
                (Some(e), Some(f)) => self.accepts(*e, *f),
                (None, None) => true,
                _ => false,
            };
            if !same {
                m.different += 1;
                if m.first.len() < Mismatches::SHOWN {
                    m.first.push(format!("at {i}: expected {e:?}, found {f:?}"));
                }
            }
        }
        if m.different == 0 && expected.len() == found.len() { Ok(()) } else { Err(m) }
    }
}

/// Where two results differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatches {
    /// The lengths of the expected and the found result.
    pub lengths: (usize, usize),
    /// Positions compared.
    pub compared: usize,
    /// Positions that differ.
    pub different: usize,
    /// The first of them, described.
    pub first: Vec<String>,
}

impl Mismatches {
    /// How many are described.
    pub const SHOWN: usize = 8;
}

impl fmt::Display for Mismatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lengths.0 != self.lengths.1 {
            write!(f, "{} elements where {} are expected; ", self.lengths.1, self.lengths.0)?;
        }
        write!(f, "{} of {} differ", self.different, self.compared)?;
        self.first.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl std::error::Error for Mismatches {}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn exact_and_near() {
        assert!(Tolerance::EXACT.compare(&[Some(1), None], &[Some(1), None]).is_ok());
        let m = Tolerance::EXACT.compare(&[Some(1), None, Some(3)], &[Some(2), Some(0)]).unwrap_err();
        assert_eq!((m.different, m.compared, m.first.len()), (2, 2, 2));
        assert!(m.to_string().starts_with("2 elements where 3 are expected; 2 of 2 differ\n  at 0: expected Some(1), found Some(2)"));
        let t = Tolerance::for_sum(DType::F32, 1000, 1000.0);
        assert!(t.accepts(1000.0f32, 1000.05) && !t.accepts(1000.0f32, 1000.5));
        assert!(t.accepts(f32::INFINITY, f32::INFINITY) && !t.accepts(f32::INFINITY, 3.0) && t.accepts(f32::NAN, f32::NAN));
        assert!(!t.accepts(3.0, f32::NAN));
        assert!(Tolerance::for_sum(DType::F16, 4, 4.0).accepts(f16::from_f32(4.0), f16::from_f32(4.004)));
        assert_eq!(Tolerance::for_sum(DType::U32, 9, 9.0), Tolerance::EXACT);
    }
}
