//! How do I compute with numbers of my own?
//!
//! Here: probabilities as logarithms, which do not underflow: a sum is that of the logarithms' exponentials, a product the sum of the
//! logarithms. Stored as `f32`; with the traits of `num-traits` one line makes it an element type.

use bitgraph::prelude::*;
use bitgraph::semiring::impl_scalar;
use bitgraph::semiring::num_traits::{Bounded, ConstOne, ConstZero, NumCast, One, ToPrimitive, Zero};
use std::ops::{Add, Mul, Sub};

/// A probability, as its logarithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
struct Log(f32);

impl_scalar!(Log as f32);

impl Add for Log {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (less, more) = (self.0.min(other.0), self.0.max(other.0));
        if less == f32::NEG_INFINITY { Self(more) } else { Self(more + (less - more).exp().ln_1p()) }
    }
}
impl Sub for Log {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        if other.0 == f32::NEG_INFINITY { self } else { Self(self.0 + (-(other.0 - self.0).exp()).ln_1p()) }
    }
}
impl Mul for Log {
    type Output = Self;
    #[allow(clippy::suspicious_arithmetic_impl)] // of logarithms
    fn mul(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl ConstZero for Log {
    const ZERO: Self = Self(f32::NEG_INFINITY);
}
impl ConstOne for Log {
    const ONE: Self = Self(0.0);
}
impl Zero for Log {
    fn zero() -> Self {
        Self::ZERO
    }
    fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }
}
impl One for Log {
    fn one() -> Self {
        Self::ONE
    }
}
impl Bounded for Log {
    fn min_value() -> Self {
        Self(f32::NEG_INFINITY)
    }
    fn max_value() -> Self {
        Self(f32::INFINITY)
    }
}
impl ToPrimitive for Log {
    fn to_i64(&self) -> Option<i64> {
        self.0.exp().to_i64()
    }
    fn to_u64(&self) -> Option<u64> {
        self.0.exp().to_u64()
    }
    fn to_f64(&self) -> Option<f64> {
        Some(f64::exp(self.0.into()))
    }
}
impl NumCast for Log {
    fn from<T: ToPrimitive>(value: T) -> Option<Self> {
        value.to_f64().map(|p| Self(p.ln() as f32))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A chain that stays where it is or moves on, a thousand times less likely.
    let n = 300u32;
    let (rows, columns): (Vec<u32>, Vec<u32>) = (0..n).flat_map(|v| [(v, v), (v, (v + 1) % n)]).unzip();
    let chances: Vec<Log> = rows.iter().zip(&columns).map(|(r, c)| Log((if r == c { 0.999f32 } else { 0.001 }).ln())).collect();
    let mut edges = Coo::pattern(n as usize, n as usize, rows, columns);
    edges.values = Some(Values::from_vec(chances));
    let (csr, values) = edges.into_csr(Duplicates::Error)?;

    for format in [FormatKind::Csr, FormatKind::B2sr8] {
        let cpu = Cpu::new();
        let a = Matrix::new(&cpu, &csr, values.as_ref(), format)?;
        // The chance of having reached vertex 20 from each vertex after 20 steps: from vertex 0 it is 1e-60, which f32 does not hold.
        let mut chance = Vector::from_entries(&cpu, n as usize, (0..n).map(|v| (v, if v == 20 { Log::ONE } else { Log::ZERO })))?;
        for _ in 0..20 {
            chance = mxv(PlusTimes, &a, &chance).eval()?;
        }
        let first = chance.to_host()?.get(0).ok_or("every vertex has an entry")?;
        println!("{format}: the logarithm of the chance is {}", first.0);
        assert!((first.0 - 20.0 * 0.001f32.ln()).abs() < 1e-3);
    }
    Ok(())
}
