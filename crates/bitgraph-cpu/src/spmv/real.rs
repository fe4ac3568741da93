//! The types that sums are formed in.

use super::kernel::Sums;
use super::tiles::TileRows;
use bitgraph_semiring::Scalar;
use std::ops::{Add, Mul, Sub};

/// `f32` or `f64`.
pub trait Real: Scalar + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + sealed::Tiles {
    /// The absolute value.
    #[must_use]
    fn magnitude(self) -> Self;
}

impl Real for f32 {
    #[inline(always)]
    fn magnitude(self) -> Self {
        self.abs()
    }
}

impl Real for f64 {
    #[inline(always)]
    fn magnitude(self) -> Self {
        self.abs()
    }
}

pub(super) mod sealed {
    use super::TileRows;

    /// What differs between the types in the kernels.
    pub trait Tiles: Sized {
        /// Sixteen sums in vector registers.
        type Lanes: super::Sums<Self>;
        /// See `TileRows::sum`; false if there is no vector form.
        #[allow(private_interfaces)]
        fn sum_tiles(rows: &TileRows, x: &[Self], y: &mut [Self]) -> bool;
    }
}

macro_rules! tiles {
    ($($t:ty, $kernel:ident, $lanes:ty;)*) => { $(
        impl sealed::Tiles for $t {
            #[cfg(target_arch = "x86_64")]
            type Lanes = $lanes;
            #[cfg(not(target_arch = "x86_64"))]
            type Lanes = [$t; super::slices::LANES];
            #[allow(private_interfaces)]
            fn sum_tiles(rows: &TileRows, x: &[Self], y: &mut [Self]) -> bool {
                #[cfg(target_arch = "x86_64")]
                if crate::Level::detect() == crate::Level::Avx512 {
                    // SAFETY: the CPU has the features; the operands are as long as `TileRows::sum` demands.
                    #[allow(unsafe_code)]
                    unsafe { super::kernel::$kernel(rows, x, y) };
                    return true;
                }
                let _ = (rows, x, y);
                false
            }
        }
    )* };
}
tiles! {
    f32, tiles_f32, [std::arch::x86_64::__m128; 4];
    f64, tiles_f64, [std::arch::x86_64::__m128d; 8];
}
