//! What tests and benches may force of the choice among kernels over dense matrices, as plain data that the handle of a device carries.
//!
//! Invariant: nothing here chooses; the families' `select.rs` do, and take what is forced for granted.

/// How rows become work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpmmForm {
    /// Rows in their order, one for a few lanes.
    Rows,
    /// Blocks of rows that share columns, which are copied to shared memory once; of halves on tensor cores. Of square matrices whose rows have 64
    /// entries at most, and only where blocks do share columns; of rows of whole 16 bytes, without values; else [`SpmmForm::Rows`].
    Staged {
        /// 2: the next block is copied while one is added, for short rows; 1: more blocks are at work.
        buffers: u32,
    },
    /// Rows by descending length, long ones in pieces.
    Tasks {
        /// Entries of a piece at most, rounded up to a multiple of 8.
        piece: u32,
    },
    /// 64 bytes a row with its columns in it. Without values, of features that 32 lanes hold.
    Records,
}

/// A form, and how many lanes do what in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpmmPlan {
    /// The form.
    pub form: SpmmForm,
    /// Lanes of a row of features, or of a slice of it, of 16 bytes each: 2, 4, 8, 16 or 32; 1 for element by element.
    pub lanes: u32,
    /// Whether lanes have 8 rows of features in flight instead of 4, and half as many warps are at work.
    pub deep: bool,
}

/// Which kernels operations over dense matrices take: for tests and benches.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TensorKernels {
    /// As `select.rs` says.
    #[default]
    Chosen,
    /// The general ones.
    General,
    /// A typed form wherever one has the combination, whether or not it pays.
    Typed,
    /// The same, and this plan for products of a sparse matrix with features.
    Spmm(SpmmPlan),
}

impl TensorKernels {
    /// Whether a form is taken that pays, or not.
    pub(crate) fn takes(self, pays: bool) -> bool {
        match self {
            Self::General => false,
            Self::Chosen => pays,
            Self::Typed | Self::Spmm(_) => true,
        }
    }
}
