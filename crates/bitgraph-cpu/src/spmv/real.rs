//! The types that sums are formed in.

use super::bands::Bands;
use super::kernel::Sums;
use crate::Isa;
use bitgraph_semiring::Scalar;
use std::ops::{Add, Div, Mul, Sub};

/// `f32` or `f64`.
pub trait Real: Scalar + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + sealed::Bands {
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
    use super::Bands as Layout;
    use crate::Isa;

    /// What differs between the types in the kernels.
    pub trait Bands: Sized {
        /// Sixteen sums in vector registers.
        type Lanes: super::Sums<Self>;
        /// See `Bands::sum`; false if there is no vector form.
        fn sum_bands(isa: Isa, bands: &Layout, x: &[Self], y: &mut [Self]) -> bool;
    }
}

impl sealed::Bands for f32 {
    #[cfg(target_arch = "x86_64")]
    type Lanes = [std::arch::x86_64::__m128; 4];
    #[cfg(not(target_arch = "x86_64"))]
    type Lanes = [f32; super::slices::LANES];
    fn sum_bands(isa: Isa, bands: &Bands, x: &[Self], y: &mut [Self]) -> bool {
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        match isa {
            // SAFETY: an instruction set is in force only where the CPU has its features; the operands are as long as `Bands::sum` demands.
            Isa::Avx512 => unsafe { super::band_kernel::avx512_f32(bands, x, y) },
            // SAFETY: as above.
            Isa::Avx2 => unsafe { super::band_kernel::avx2_f32(bands, x, y) },
            Isa::Portable => return false,
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (isa, bands, x, y);
        cfg!(target_arch = "x86_64")
    }
}

impl sealed::Bands for f64 {
    #[cfg(target_arch = "x86_64")]
    type Lanes = [std::arch::x86_64::__m128d; 8];
    #[cfg(not(target_arch = "x86_64"))]
    type Lanes = [f64; super::slices::LANES];
    fn sum_bands(isa: Isa, bands: &Bands, x: &[Self], y: &mut [Self]) -> bool {
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        match isa {
            // SAFETY: an instruction set is in force only where the CPU has its features; the operands are as long as `Bands::sum` demands.
            Isa::Avx512 => unsafe { super::band_kernel::avx512_f64(bands, x, y) },
            // SAFETY: as above.
            Isa::Avx2 => unsafe { super::band_kernel::avx2_f64(bands, x, y) },
            Isa::Portable => return false,
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (isa, bands, x, y);
        cfg!(target_arch = "x86_64")
    }
}
