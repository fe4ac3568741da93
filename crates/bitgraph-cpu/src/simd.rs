//! Which instruction set the kernels use, found once at run time.

use std::sync::atomic::{AtomicU8, Ordering};

/// An instruction set; a higher one includes the lower ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Isa {
    /// Plain Rust.
    Portable = 0,
    /// AVX2, FMA, F16C, BMI1/2, POPCNT, LZCNT.
    Avx2 = 1,
    /// AVX-512 F, BW, VL, DQ, VBMI, VPOPCNTDQ, and all of AVX2.
    Avx512 = 2,
}

/// One more than the instruction set in force; 0 while it has not been asked for.
static ISA: AtomicU8 = AtomicU8::new(0);

impl Isa {
    /// Every instruction set, lowest first.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
    /// The instruction set of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|l| l.name() == name)
    }
    /// The highest instruction set that this CPU has.
    #[must_use]
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt")
                && is_x86_feature_detected!("lzcnt");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vbmi")
                && is_x86_feature_detected!("avx512vpopcntdq");
            if avx512 {
                return Self::Avx512;
            }
            if avx2 {
                return Self::Avx2;
            }
        }
        Self::Portable
    }
    /// The instruction set in force: the detected one, or a lower one set by [`Isa::limit`] or by `BITGRAPH_SIMD=portable|avx2|avx512`.
    #[must_use]
    pub fn current() -> Self {
        match ISA.load(Ordering::Relaxed) {
            1 => Self::Portable,
            2 => Self::Avx2,
            3 => Self::Avx512,
            _ => {
                let wanted = std::env::var("BITGRAPH_SIMD").ok().and_then(|v| Self::from_name(&v)).unwrap_or(Self::Avx512);
                Self::limit(wanted)
            }
        }
    }
    /// Lowers the instruction set for the whole process (tests and benches compare instruction sets); returns the instruction set then in force.
    pub fn limit(highest: Self) -> Self {
        let isa = highest.min(Self::detect());
        ISA.store(isa as u8 + 1, Ordering::Relaxed);
        isa
    }
}
