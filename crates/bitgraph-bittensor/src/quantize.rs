//! Numbers to codes of 1 to 16 bits and back: steps, schemes and how they are fitted to data.
//!
//! # Invariants
//! A code `q` of `b` bits lies in `0..2^b` and stands for `scale * (q - zero)`. Scales are positive and finite, zero points finite.
//!
//! # Accuracy
//! With [`Rounding::Nearest`], an element inside its range comes back within half a step; with [`Rounding::Floor`] within a whole step
//! below it. To both comes the rounding of positions in `f32`: a part `(2^b + |zero|) / 2^22` of a step. What lies outside the range,
//! infinities included, gets the code of the nearer end. An element that is not a number has no code, and is refused.

use crate::extremes::{Extremes, extremes};
use crate::{Error, Per, Result, View};
use bitgraph_sparse::{Buffer, Control};

/// Codes have at most as many bits.
pub const MOST_BITS: u32 = 16;

/// What a code stands for: `scale * (code - zero)`.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Step {
    /// The distance between the values of neighbouring codes.
    pub scale: f32,
    /// The zero point: the code, perhaps between two, that stands for 0.
    pub zero: f32,
}

impl Step {
    /// Codes that stand for themselves.
    pub const UNIT: Self = Self { scale: 1.0, zero: 0.0 };

    /// The value of a code.
    #[inline(always)]
    #[must_use]
    pub fn value(self, code: u32) -> f32 {
        self.scale * (code as f32 - self.zero)
    }
    /// The code of a value, at most `top`; 0 for what is not a number.
    #[inline(always)]
    pub(crate) fn code(self, value: f32, top: f32, rounding: Rounding) -> u32 {
        // In range first: what is out of range rounds to the same end afterwards.
        let position = (value / self.scale + self.zero).max(0.0).min(top);
        match rounding {
            // Conversions to signed numbers are one vector instruction; the position is not negative.
            Rounding::Nearest => (position + 0.5) as i32 as u32,
            Rounding::Floor => position as i32 as u32,
        }
    }
    fn is_valid(self) -> bool {
        self.scale.is_finite() && self.scale > 0.0 && self.zero.is_finite()
    }
}

/// One step, or one for each row or column.
#[derive(Clone, Debug, PartialEq)]
pub enum Steps {
    /// One for the whole matrix.
    Tensor(Step),
    /// One for each row.
    Rows(Buffer<Step>),
    /// One for each column.
    Columns(Buffer<Step>),
}

impl Steps {
    /// The step of an element.
    ///
    /// # Panics
    /// If there is none for its row or column.
    #[inline]
    #[must_use]
    pub fn get(&self, row: usize, column: usize) -> Step {
        match self {
            Self::Tensor(step) => *step,
            Self::Rows(steps) => steps[row],
            Self::Columns(steps) => steps[column],
        }
    }
    /// Bytes: 8 a step.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Tensor(_) => 8,
            Self::Rows(steps) | Self::Columns(steps) => 8 * steps.len() as u64,
        }
    }
    /// The steps of the transpose.
    #[must_use]
    pub fn transposed(&self) -> Self {
        match self {
            Self::Tensor(step) => Self::Tensor(*step),
            Self::Rows(steps) => Self::Columns(steps.clone()),
            Self::Columns(steps) => Self::Rows(steps.clone()),
        }
    }
}

/// How a position between two codes becomes a code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the nearest, ties to the one above, as signs take 0 for positive.
    #[default]
    Nearest,
    /// To the one below, as QGTC does.
    Floor,
}

/// Which codes stand for what, given a range of values and `b` bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheme {
    /// Affine: the range, widened to hold 0, is cut into `2^b - 1` steps, and 0 is the value of a code. Products of such codes are exact
    /// in whole numbers.
    #[default]
    ZeroPoint,
    /// Symmetric with 0 in the middle: codes stand for `-2^(b-1) .. 2^(b-1) - 1` steps, of which `2^(b-1) - 1` reach the larger end. 2
    /// bits and more.
    MidTread,
    /// Symmetric with 0 between two codes: odd multiples of half a step, which reach both ends. 1 bit gives signs.
    MidRise,
    /// QGTC's equation 2: the range is cut into `2^b` steps, and an element gets the step that it lies in, whose lower end is its value.
    Floor,
}

/// Where the range of values comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Range {
    /// The minimum and maximum of the elements. Equal ones (a constant row, no elements) get a step that gives them back exactly.
    #[default]
    MinMax,
    /// Known beforehand.
    Given {
        /// The lower end.
        low: f32,
        /// The upper end.
        high: f32,
    },
}

/// How steps are fitted to data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Bits of a code, 1 to 16.
    pub bits: u32,
    /// Which codes stand for what.
    pub scheme: Scheme,
    /// Where the range comes from.
    pub range: Range,
    /// What shares a step.
    pub per: Per,
}

impl Fit {
    /// Codes of so many bits by the default scheme, with one step for the range found.
    #[must_use]
    pub fn bits(bits: u32) -> Self {
        Self { bits, scheme: Scheme::default(), range: Range::default(), per: Per::default() }
    }
}

/// A way to write numbers as codes: the bits, the rounding and the steps. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantization {
    bits: u32,
    rounding: Rounding,
    steps: Steps,
}

impl Quantization {
    /// From steps that are known, learned ones for instance.
    ///
    /// # Errors
    /// [`Error::Width`] outside 1 to 16 bits, [`Error::Step`] for a scale that is not positive and finite.
    pub fn new(bits: u32, rounding: Rounding, steps: Steps) -> Result<Self> {
        width(bits, 1)?;
        let invalid = match &steps {
            Steps::Tensor(step) => (!step.is_valid()).then_some((0, *step)),
            Steps::Rows(steps) | Steps::Columns(steps) => steps.iter().copied().enumerate().find(|(_, step)| !step.is_valid()),
        };
        match invalid {
            Some((position, Step { scale, zero })) => Err(Error::Step { position: position as u64, scale, zero }),
            None => Ok(Self { bits, rounding, steps }),
        }
    }
    /// Codes of so many bits that stand for themselves.
    ///
    /// # Errors
    /// [`Error::Width`] outside 1 to 16 bits.
    pub fn unit(bits: u32) -> Result<Self> {
        Self::new(bits, Rounding::Nearest, Steps::Tensor(Step::UNIT))
    }
    /// Steps for the elements of `view`. O(elements), parallel, or O(1) if the range is given for all.
    ///
    /// # Errors
    /// [`Error::Width`]; [`Error::Range`] for a given range that is empty, inverted or not finite; [`Error::TooWide`] where a step would be infinite;
    /// [`Error::NotANumber`] or [`Error::Infinite`] if the range is to be found among such elements; [`Error::Cancelled`].
    pub fn fit<T: Copy + Sync + Into<f32>>(view: &View<'_, T>, fit: &Fit, control: &Control) -> Result<Self> {
        width(fit.bits, if fit.scheme == Scheme::MidTread { 2 } else { 1 })?;
        let step = |of: &Extremes| fit.scheme.step(fit.bits, *of);
        let all = |of: Vec<Extremes>| Ok::<_, Error>(of.iter().map(step).collect::<Result<Vec<_>>>()?.into());
        let given = match fit.range {
            Range::MinMax => None,
            // Written so that an end that is not a number is refused.
            Range::Given { low, high } if low < high && low.is_finite() && high.is_finite() => Some(Extremes { low, high }),
            Range::Given { low, high } => return Err(Error::Range { low, high }),
        };
        let steps = match (fit.per, given) {
            (Per::Tensor, Some(range)) => Steps::Tensor(step(&range)?),
            (Per::Row, Some(range)) => Steps::Rows(vec![step(&range)?; view.nrows()].into()),
            (Per::Column, Some(range)) => Steps::Columns(vec![step(&range)?; view.ncols()].into()),
            (Per::Tensor, None) => {
                Steps::Tensor(step(&extremes(view, fit.per, control)?.into_iter().fold(Extremes::NONE, Extremes::join))?)
            }
            (Per::Row, None) => Steps::Rows(all(extremes(view, fit.per, control)?)?),
            (Per::Column, None) => Steps::Columns(all(extremes(view, fit.per, control)?)?),
        };
        let rounding = if fit.scheme == Scheme::Floor { Rounding::Floor } else { Rounding::Nearest };
        Self::new(fit.bits, rounding, steps)
    }
    /// Bits of a code.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits
    }
    /// The largest code.
    #[must_use]
    pub fn top(&self) -> u32 {
        (1 << self.bits) - 1
    }
    /// The rounding.
    #[must_use]
    pub fn rounding(&self) -> Rounding {
        self.rounding
    }
    /// The steps.
    #[must_use]
    pub fn steps(&self) -> &Steps {
        &self.steps
    }
    /// The code of a value at a place; 0 for what is not a number.
    ///
    /// # Panics
    /// If there is no step for its row or column.
    #[must_use]
    pub fn code(&self, value: f32, row: usize, column: usize) -> u32 {
        self.steps.get(row, column).code(value, self.top() as f32, self.rounding)
    }
    /// The value of a code at a place.
    ///
    /// # Panics
    /// If there is no step for its row or column.
    #[must_use]
    pub fn value(&self, code: u32, row: usize, column: usize) -> f32 {
        self.steps.get(row, column).value(code)
    }
    /// The same for the transpose.
    #[must_use]
    pub fn transposed(&self) -> Self {
        Self { steps: self.steps.transposed(), ..*self }
    }
    /// Refuses a shape that the steps do not fit.
    pub(crate) fn check(&self, rows: usize, columns: usize) -> Result<()> {
        let (found, expected) = match &self.steps {
            Steps::Tensor(_) => return Ok(()),
            Steps::Rows(steps) => (steps.len(), rows),
            Steps::Columns(steps) => (steps.len(), columns),
        };
        if found == expected {
            return Ok(());
        }
        Err(Error::Length { array: "steps", expected: expected as u64, found: found as u64 })
    }
}

/// Refuses a number of bits below `smallest` or above [`MOST_BITS`].
pub(crate) fn width(bits: u32, smallest: u32) -> Result<()> {
    if (smallest..=MOST_BITS).contains(&bits) { Ok(()) } else { Err(Error::Width { bits, smallest }) }
}

impl Scheme {
    /// The step for a range.
    fn step(self, bits: u32, range: Extremes) -> Result<Step> {
        // Nothing found: any step does.
        let (low, high) = if range.low > range.high { (0.0, 0.0) } else { (range.low, range.high) };
        let too_wide = Error::TooWide { low, high, bits };
        let (low, high) = (f64::from(low), f64::from(high));
        let codes = f64::from(1u32 << bits);
        let magnitude = low.abs().max(high.abs());
        // A span of 0 gives a step of 1; one so narrow that its step is none in `f32` gives the smallest step there is.
        let scale = |span: f64, steps: f64| match (span / steps) as f32 {
            _ if span == 0.0 => Ok(1.0),
            scale if scale.is_finite() => Ok(scale.max(f32::from_bits(1))),
            _ => Err(too_wide.clone()),
        };
        Ok(match self {
            Self::ZeroPoint => {
                let (low, high) = (low.min(0.0), high.max(0.0));
                let scale = scale(high - low, codes - 1.0)?;
                Step { scale, zero: (-low / f64::from(scale)).round_ties_even().clamp(0.0, codes - 1.0) as f32 }
            }
            Self::MidTread => Step { scale: scale(magnitude, codes / 2.0 - 1.0)?, zero: (codes / 2.0) as f32 },
            Self::MidRise => Step { scale: scale(2.0 * magnitude, codes - 1.0)?, zero: ((codes - 1.0) / 2.0) as f32 },
            // Of equal ends, the code 0 gives back the value: `|v| * (0 - -sign(v))`.
            Self::Floor if low == high => match low {
                0.0 => Step::UNIT,
                _ => Step { scale: magnitude as f32, zero: -low.signum() as f32 },
            },
            // Far from 0, steps finer than `f32` resolves there would make the zero point meaningless.
            Self::Floor => {
                let scale = scale((high - low).max(magnitude * codes / f64::from(1 << 20)), codes)?;
                Step { scale, zero: (-low / f64::from(scale)) as f32 }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(scheme: Scheme, bits: u32, low: f32, high: f32) -> Step {
        scheme.step(bits, Extremes { low, high }).unwrap()
    }

    #[test]
    fn steps_by_hand() {
        assert_eq!(step(Scheme::ZeroPoint, 8, 0.0, 255.0), Step::UNIT);
        assert_eq!(step(Scheme::ZeroPoint, 8, -100.0, 155.0), Step { scale: 1.0, zero: 100.0 });
        assert_eq!(step(Scheme::ZeroPoint, 2, 3.0, 6.0), Step { scale: 2.0, zero: 0.0 });
        assert_eq!(step(Scheme::ZeroPoint, 2, -6.0, -3.0), Step { scale: 2.0, zero: 3.0 });
        assert_eq!(step(Scheme::MidTread, 8, -254.0, 3.0), Step { scale: 2.0, zero: 128.0 });
        assert_eq!(step(Scheme::MidRise, 2, -1.5, 1.0), Step { scale: 1.0, zero: 1.5 });
        assert_eq!(step(Scheme::MidRise, 1, -0.5, 0.5), Step { scale: 1.0, zero: 0.5 });
        assert_eq!(step(Scheme::Floor, 3, -4.0, 4.0), Step { scale: 1.0, zero: 4.0 });
        let signs = step(Scheme::MidRise, 1, -2.0, 1.0);
        assert_eq!((signs.value(0), signs.value(1)), (-2.0, 2.0));
    }

    #[test]
    fn codes_by_hand() {
        let step = Step { scale: 0.5, zero: 2.0 };
        let code = |x: f32, rounding| step.code(x, 7.0, rounding);
        for (x, nearest, floor) in [
            (0.0, 2, 2),
            (0.25, 3, 2),
            (0.75, 4, 3),
            (-0.3, 1, 1),
            (-0.1, 2, 1),
            (-0.25, 2, 1),
            (-9.0, 0, 0),
            (99.0, 7, 7),
            (2.6, 7, 7),
            (f32::INFINITY, 7, 7),
            (f32::NEG_INFINITY, 0, 0),
            (f32::NAN, 0, 0),
        ] {
            assert_eq!((code(x, Rounding::Nearest), code(x, Rounding::Floor)), (nearest, floor), "{x}");
        }
        // Every code of the widest kind comes back.
        assert!((0..1 << 16).all(|q| Step::UNIT.code(q as f32, 65535.0, Rounding::Nearest) == q));
    }

    #[test]
    fn extreme_ranges_have_finite_steps_or_are_refused() {
        let new = |scheme: Scheme, bits, low, high| scheme.step(bits, Extremes { low, high });
        assert!(matches!(new(Scheme::ZeroPoint, 1, f32::MIN, f32::MAX), Err(Error::TooWide { bits: 1, .. })));
        assert!(matches!(new(Scheme::MidRise, 1, f32::MIN, 0.0), Err(Error::TooWide { .. })));
        assert!(new(Scheme::ZeroPoint, 2, f32::MIN, f32::MAX).unwrap().is_valid());
        let tiny = f32::from_bits(3);
        for scheme in [Scheme::ZeroPoint, Scheme::MidTread, Scheme::MidRise, Scheme::Floor] {
            for (low, high) in [(0.0, tiny), (-tiny, 0.0), (0.0, 0.0), (1.0, 1.0 + f32::EPSILON), (-3.0, -3.0), (f32::MAX, f32::MAX)] {
                let step = new(scheme, 16, low, high).unwrap();
                assert!(step.is_valid() && step.zero.abs() <= 1_048_577.0, "{scheme:?} {low} {high}: {step:?}");
            }
        }
    }
}
