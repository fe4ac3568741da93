//! How the epochs of a run were done, for reports.
//!
//! Invariant: it changes no number but times.

use std::fmt;

/// How epochs were done, and why not with fewer round trips.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Course {
    /// All of them as one operation of the backend: on a GPU, in one launch.
    Whole,
    /// Written down once and played again, several between two round trips; why not as one operation.
    Replayed(String),
    /// Operation by operation; why not as one.
    Operations(String),
}

impl Course {
    /// The same where epochs turned out to be played again.
    pub(crate) fn replayed(self) -> Self {
        match self {
            Self::Operations(reason) => Self::Replayed(reason),
            other => other,
        }
    }
}

impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("as one operation of the backend"),
            Self::Replayed(reason) => write!(f, "by replays of recorded epochs; not as one operation: {reason}"),
            Self::Operations(reason) => write!(f, "operation by operation, not as one: {reason}"),
        }
    }
}
