//! The orderings by name.

/// How to renumber vertices before a graph is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ordering {
    /// As the input numbers them.
    #[default]
    None,
    /// By falling degree: for power-law graphs.
    Degree,
    /// Reverse Cuthill-McKee: for meshes and roads.
    Rcm,
    /// By community (Rabbit-style): for social and citation graphs.
    Community,
}

impl Ordering {
    /// Every ordering.
    pub const ALL: [Self; 4] = [Self::None, Self::Degree, Self::Rcm, Self::Community];
    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Degree => "degree",
            Self::Rcm => "rcm",
            Self::Community => "community",
        }
    }
    /// The renumbering of a symmetric square pattern; `None` for [`Ordering::None`], and for a pattern that is not square.
    /// A pattern that is not symmetric gets a valid order too, a better one if it is symmetrized before.
    #[must_use]
    pub fn compute(self, csr: &crate::Csr) -> Option<crate::Permutation> {
        if !csr.is_square() {
            return None;
        }
        match self {
            Self::None => None,
            Self::Degree => Some(super::degree(csr)),
            Self::Rcm => Some(super::rcm(csr)),
            Self::Community => Some(super::community(csr)),
        }
    }
    /// The ordering of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|o| o.name() == name)
    }
}

impl std::fmt::Display for Ordering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
