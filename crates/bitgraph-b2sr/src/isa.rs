//! Runs a piece of code compiled for the CPU at hand, where that has single instructions for counting and finding bits.
//!
//! Invariant: the result is the same with and without them.

#![allow(unsafe_code)]

/// A loop to compile for each CPU. Its `run` is to be `#[inline(always)]`: a closure of some size would be compiled once, for all of them.
pub(crate) trait Work {
    /// What it returns.
    type Out;
    /// Does it.
    fn run(self) -> Self::Out;
}

/// Does `work`, compiled with AVX2, BMI and POPCNT where the CPU has them. Worth it around loops, not around single elements.
#[inline]
pub(crate) fn with_bit_instructions<W: Work>(work: W) -> W::Out {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("lzcnt")
    {
        // SAFETY: the CPU has the features that the function is compiled for.
        return unsafe { compiled_for_bits(work) };
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn compiled_for_bits<W: Work>(work: W) -> W::Out {
    work.run()
}
