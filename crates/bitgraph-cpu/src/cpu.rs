//! The handle of the CPU backend.

/// The CPU backend.
///
/// Work runs in rayon's current pool: in that of the caller inside `pool.install(|| ...)`, in rayon's global one elsewhere. Fused algorithms
/// use as many of its threads as the plan says, at most as many as the process has cores (affinity masks and a container's quota counted),
/// and these wait for each other with pauses for a tenth of a millisecond, then with offers of the core, then asleep.
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
