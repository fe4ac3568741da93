//! How a mask selects, in the terms of GraphBLAS.

/// How a mask selects the positions that may be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MaskMode {
    /// Presence of an entry counts, whatever its value; otherwise the entry must also be non-zero.
    pub structural: bool,
    /// The selection is inverted.
    pub complement: bool,
}

impl MaskMode {
    /// By value.
    pub const VALUE: Self = Self { structural: false, complement: false };
    /// By presence.
    pub const STRUCTURE: Self = Self { structural: true, complement: false };
    /// By value, inverted.
    pub const VALUE_COMPLEMENT: Self = Self { structural: false, complement: true };
    /// By presence, inverted.
    pub const STRUCTURE_COMPLEMENT: Self = Self { structural: true, complement: true };
    /// The four modes, for exhaustive tests.
    pub const ALL: [Self; 4] = [Self::VALUE, Self::STRUCTURE, Self::VALUE_COMPLEMENT, Self::STRUCTURE_COMPLEMENT];
}
