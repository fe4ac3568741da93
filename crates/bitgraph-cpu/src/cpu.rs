//! The handle of the CPU backend.

/// The CPU backend. Work runs in rayon's current pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    reference: bool,
}

impl Cpu {
    /// The fast form: rayon, SIMD chosen at run time, fused algorithms.
    #[must_use]
    pub const fn new() -> Self {
        Self { reference: false }
    }
    /// The reference: plain serial loops over rows and the definitions of the algorithms.
    #[must_use]
    pub const fn reference() -> Self {
        Self { reference: true }
    }
    /// Whether this is the reference.
    #[must_use]
    pub const fn is_reference(&self) -> bool {
        self.reference
    }
}
