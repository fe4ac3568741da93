//! How a mask and a descriptor change an operation, in the terms of GraphBLAS.

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

/// Modifiers of an operation. A transpose is a view: nothing is copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Descriptor {
    /// Use the transpose of the first matrix.
    pub transpose_a: bool,
    /// Use the transpose of the second matrix.
    pub transpose_b: bool,
    /// Delete the entries of the output that the mask does not select; otherwise they stay as they were.
    pub replace: bool,
}

impl Descriptor {
    /// No modifier.
    pub const DEFAULT: Self = Self { transpose_a: false, transpose_b: false, replace: false };
    /// With replace.
    pub const REPLACE: Self = Self { transpose_a: false, transpose_b: false, replace: true };
    /// With the first matrix transposed.
    pub const TRANSPOSE_A: Self = Self { transpose_a: true, transpose_b: false, replace: false };
}
