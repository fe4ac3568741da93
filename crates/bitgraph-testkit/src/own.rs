//! Semirings, a monoid and an element type of a user's own, as every backend must run them.

use bitgraph_semiring::num_traits::{Bounded, ConstOne, ConstZero, NumCast, One, ToPrimitive, Zero};
use bitgraph_semiring::{Min, Plus, impl_scalar, monoid, semiring};

semiring! {
    /// The sum of squared differences, at most 1000, in whole numbers.
    pub struct Distance: i8, i8 => i32 => u16;
    add = Plus;
    multiply(a, x) { (a - x) * (a - x) }
    finish(acc) { if acc > 1000 { 1000 } else { acc } }
}
monoid! {
    /// The largest value, at most 40, which is terminal.
    pub struct Capped: i32;
    identity { MIN }
    combine(a, b) { a.max(b).min(40) }
    terminal(a) { a == 40 }
}
semiring! {
    /// The largest product of a row, at most 40.
    pub struct CappedTimes: i16, i16 => i32 => i32;
    add = Capped;
    multiply(a, x) { (a * x).min(40) }
}
semiring! {
    /// Shortest paths once more.
    pub struct Paths: u32, u32 => u32;
    add = Min;
    multiply(a, x) { a.saturating_add(x) }
}

/// A count that stops at 255.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub struct Count(pub u8);
impl std::ops::Add for Count {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl std::ops::Sub for Count {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}
impl std::ops::Mul for Count {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self(self.0.saturating_mul(other.0))
    }
}
impl Zero for Count {
    fn zero() -> Self {
        Self(0)
    }
    fn is_zero(&self) -> bool {
        self.0 == 0
    }
}
impl One for Count {
    fn one() -> Self {
        Self(1)
    }
}
impl ConstZero for Count {
    const ZERO: Self = Self(0);
}
impl ConstOne for Count {
    const ONE: Self = Self(1);
}
impl Bounded for Count {
    fn min_value() -> Self {
        Self(0)
    }
    fn max_value() -> Self {
        Self(255)
    }
}
impl ToPrimitive for Count {
    fn to_i64(&self) -> Option<i64> {
        self.0.to_i64()
    }
    fn to_u64(&self) -> Option<u64> {
        self.0.to_u64()
    }
}
impl NumCast for Count {
    fn from<T: ToPrimitive>(value: T) -> Option<Self> {
        value.to_u8().map(Self)
    }
}
impl_scalar!(Count as u8);
