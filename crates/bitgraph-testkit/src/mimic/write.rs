//! Masks and the write-back rule: `C<M, replace> = C accum t`.

use bitgraph_semiring::{BinaryOp, Scalar};
use bitgraph_sparse::MaskMode;

/// How a result meets what the output holds: `merged = accum(old, new)`.
pub type Accumulate<'a, T> = Option<&'a dyn Fn(T, T) -> T>;

/// A binary operator as an accumulator: `Some(&accumulate(Plus))`.
pub fn accumulate<T: Scalar, Op: BinaryOp<T>>(op: Op) -> impl Fn(T, T) -> T {
    move |old, new| op.apply(old, new)
}

/// Which positions of an output are selected. For a matrix the positions are its places, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MimicMask(pub Vec<bool>);

impl MimicMask {
    /// The selection of `entries` by `mode`: an entry counts, by value only if it is not zero, and the complement inverts.
    pub(crate) fn new<T: Scalar>(entries: &[Option<T>], mode: MaskMode) -> Self {
        let counts = |e: &Option<T>| match e {
            Some(value) => mode.structural || value.is_non_zero(),
            None => false,
        };
        Self(entries.iter().map(|e| counts(e) != mode.complement).collect())
    }
}

/// Writes the result `t` into `c`.
///
/// `z = c accum t` where there is an accumulator (both entries merged, or the only one), `z = t` otherwise. A selected
/// position takes its entry, or lack of one, from `z`; any other keeps its own, or loses it with `replace`.
///
/// # Panics
/// If the lengths differ.
pub fn write<T: Scalar>(c: &mut [Option<T>], mask: Option<&MimicMask>, accum: Accumulate<'_, T>, t: &[Option<T>], replace: bool) {
    assert_eq!(c.len(), t.len(), "output and result are of one size");
    assert!(mask.is_none_or(|m| m.0.len() == c.len()), "output and mask are of one size");
    for i in 0..c.len() {
        let z = match (accum, c[i], t[i]) {
            (Some(f), Some(old), Some(new)) => Some(f(old, new)),
            (Some(_), Some(old), None) => Some(old),
            (_, _, new) => new,
        };
        if mask.is_none_or(|m| m.0[i]) {
            c[i] = z;
        } else if replace {
            c[i] = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_semiring::Plus;

    // Every combination of old entry, new entry and mask, in one row:
    //   position   0     1     2     3     4     5     6     7
    //   old        1     1     -     -     1     1     -     -
    //   new        10    -     10    -     10    -     10    -
    //   mask       t     t     t     t     f     f     f     f
    const OLD: [Option<i32>; 8] = [Some(1), Some(1), None, None, Some(1), Some(1), None, None];
    const NEW: [Option<i32>; 8] = [Some(10), None, Some(10), None, Some(10), None, Some(10), None];

    fn written(masked: bool, accum: bool, replace: bool) -> Vec<Option<i32>> {
        let mask = MimicMask((0..8).map(|i| i < 4).collect());
        let plus = accumulate(Plus);
        let mut c = OLD.to_vec();
        write(&mut c, masked.then_some(&mask), if accum { Some(&plus) } else { None }, &NEW, replace);
        c
    }

    #[test]
    fn write_back_rule() {
        let (a, b) = (Some(1), Some(10));
        assert_eq!(written(false, false, false), NEW);
        assert_eq!(written(false, false, true), NEW);
        assert_eq!(written(false, true, false), [Some(11), a, b, None, Some(11), a, b, None]);
        assert_eq!(written(true, false, false), [b, None, b, None, a, a, None, None]);
        assert_eq!(written(true, false, true), [b, None, b, None, None, None, None, None]);
        assert_eq!(written(true, true, false), [Some(11), a, b, None, a, a, None, None]);
        assert_eq!(written(true, true, true), [Some(11), a, b, None, None, None, None, None]);
    }

    #[test]
    fn mask_modes() {
        let entries = [Some(5), Some(0), None];
        let selected = |mode| MimicMask::new(&entries, mode).0;
        assert_eq!(selected(MaskMode::VALUE), [true, false, false]);
        assert_eq!(selected(MaskMode::STRUCTURE), [true, true, false]);
        assert_eq!(selected(MaskMode::VALUE_COMPLEMENT), [false, true, true]);
        assert_eq!(selected(MaskMode::STRUCTURE_COMPLEMENT), [false, false, true]);
    }
}
