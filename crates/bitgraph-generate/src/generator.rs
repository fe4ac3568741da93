//! The generators by name, with their sizes and limits.

use crate::kron::Kron;
use crate::random::Renumbering;
use crate::sampled::{Planted, Skew, Urand};
use crate::structured::{self, mycielskian_size};
use crate::{Error, Result, build, memory};
use bitgraph_sparse::{Control, Csr, Permutation, parallel};
use std::fmt;

/// A generator and its parameters. Parsed from, and printed as, the text of the command line: `kron:18:16:1`, `grid:1000x1000@1`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Generator {
    /// Graph500 Kronecker (R-MAT .57 .19 .19 .05): `2^scale` vertices, `edge_factor 2^scale` draws, labels permuted.
    Kron {
        /// The binary logarithm of the number of vertices.
        scale: u32,
        /// Draws per vertex.
        edge_factor: u64,
        /// The seed.
        seed: u64,
    },
    /// Both ends of `edge_factor * nodes` draws uniform.
    Urand {
        /// As written: a scale if at most 63, otherwise the number of vertices.
        size: u64,
        /// Draws per vertex.
        edge_factor: u64,
        /// The seed.
        seed: u64,
    },
    /// A grid with four neighbours.
    Grid {
        /// Rows of points.
        rows: u64,
        /// Columns of points.
        columns: u64,
    },
    /// A three-dimensional mesh: the 27-point stencil without (+1, +1, +1) and (-1, -1, -1).
    Mesh {
        /// Points in each dimension.
        size: [u64; 3],
    },
    /// The Mycielski graph of this order.
    Mycielskian {
        /// The chromatic number: 1 is a vertex, 2 an edge, 3 a cycle of five, 4 the Grötzsch graph.
        order: u32,
    },
    /// The undirected binary de Bruijn graph.
    DeBruijn {
        /// Bits of a vertex.
        bits: u32,
    },
    /// One end of `edges` draws uniform, the other `floor(nodes r^2)`.
    Skew {
        /// Vertices.
        nodes: u64,
        /// Draws.
        edges: u64,
        /// The seed.
        seed: u64,
    },
    /// Communities of consecutive vertices: nine of ten draws stay inside one.
    Planted {
        /// Vertices.
        nodes: u64,
        /// Communities.
        communities: u64,
        /// The mean degree, before duplicates are merged.
        degree: u64,
        /// The seed.
        seed: u64,
    },
    /// Another generator's graph with its vertices renumbered at random.
    Renumbered {
        /// The other generator.
        base: Box<Generator>,
        /// The seed of the renumbering.
        seed: u64,
    },
}

/// The largest number of vertices: ids of 32 bits.
const MAX_NODES: u64 = u32::MAX as u64;
/// The largest number of draws: both passes count entries in 64 bits, and `estimated_bytes` must not wrap.
const MAX_EDGES: u64 = 1 << 48;

impl Generator {
    /// The default number of draws per vertex.
    pub const DEFAULT_EDGE_FACTOR: u64 = 16;
    /// The default seed.
    pub const DEFAULT_SEED: u64 = 1;

    /// The name before the colon.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Kron { .. } => "kron",
            Self::Urand { .. } => "urand",
            Self::Grid { .. } => "grid",
            Self::Mesh { .. } => "mesh",
            Self::Mycielskian { .. } => "mycielskian",
            Self::DeBruijn { .. } => "debruijn",
            Self::Skew { .. } => "skew",
            Self::Planted { .. } => "planted",
            Self::Renumbered { base, .. } => base.name(),
        }
    }
    /// The number of vertices, and of entries at most: exact where the graph is not random.
    ///
    /// # Errors
    /// [`Error::TooLarge`] or [`Error::Parameter`] for parameters that no graph has.
    pub fn size(&self) -> Result<(u64, u64)> {
        let (nodes, entries) = match *self {
            Self::Kron { scale, edge_factor, .. } => {
                let nodes = self.power(scale)?;
                (nodes, 2 * self.draws(nodes, edge_factor)?)
            }
            Self::Urand { size, edge_factor, .. } => {
                let nodes = if size <= 63 { self.power(size as u32)? } else { self.nodes(size.into())? };
                (nodes, 2 * self.draws(nodes, edge_factor)?)
            }
            Self::Grid { rows, columns } => {
                let nodes = self.nodes(u128::from(rows) * u128::from(columns))?;
                (nodes, 2 * (2 * nodes).saturating_sub(rows + columns))
            }
            Self::Mesh { size } => {
                let nodes = self.nodes(size.iter().try_fold(1u128, |p, &s| p.checked_mul(s.into())).unwrap_or(u128::MAX))?;
                if nodes == 0 {
                    // The other dimensions may be of any length.
                    return Ok((0, 0));
                }
                // Pairs at most one apart in every dimension, without the point itself and without two corners.
                let near: u64 = size.iter().map(|&s| (3 * s).saturating_sub(2)).product();
                let corner: u64 = size.iter().map(|&s| s.saturating_sub(1)).product();
                (nodes, near - nodes - 2 * corner)
            }
            Self::Mycielskian { order } => {
                self.range("K", order.into(), 1, 63)?;
                let (nodes, entries) = mycielskian_size(order);
                let nodes = self.nodes(nodes)?;
                (nodes, u64::try_from(entries).unwrap_or(u64::MAX))
            }
            Self::DeBruijn { bits } => {
                let nodes = self.power(bits)?;
                (nodes, debruijn_entries(nodes))
            }
            Self::Skew { nodes, edges, .. } => {
                let nodes = self.nodes(nodes.into())?;
                self.range("N", nodes, u64::from(edges > 0), MAX_NODES)?;
                (nodes, 2 * self.draws(edges, 1)?)
            }
            Self::Planted { nodes, communities, degree, .. } => {
                let nodes = self.nodes(nodes.into())?;
                self.range("COMMUNITIES", communities, 1, nodes.max(1))?;
                (nodes, 2 * self.draws(nodes, degree)?.div_ceil(2))
            }
            Self::Renumbered { ref base, .. } => base.size()?,
        };
        Ok((nodes, entries))
    }
    /// Bytes that [`Generator::generate`] needs at its peak, at most; `u64::MAX` for parameters that no graph has.
    #[must_use]
    pub fn estimated_bytes(&self) -> u64 {
        let Ok((nodes, entries)) = self.size() else { return u64::MAX };
        match self {
            Self::Grid { .. } | Self::Mesh { .. } | Self::DeBruijn { .. } => build::row_bytes(nodes, entries),
            // The graph and the one before it, a third of the size, with offsets of 8 bytes.
            Self::Mycielskian { .. } => entries.saturating_mul(6).saturating_add(nodes * 16),
            Self::Renumbered { base, .. } => {
                let graph = entries.saturating_mul(4).saturating_add(nodes * 8);
                base.estimated_bytes().max(graph.saturating_mul(2).saturating_add(nodes * 32))
            }
            _ => build::edge_bytes(nodes, entries / 2),
        }
    }
    /// Generates the graph: a symmetric pattern without loops. The same on every machine and for any number of threads.
    ///
    /// Expected time O(entries log degree) for random graphs, O(entries) for the others, in parallel; memory as
    /// [`Generator::estimated_bytes`] says.
    ///
    /// # Errors
    /// [`Error::TooLarge`] or [`Error::Parameter`] for parameters that no graph has, [`Error::OutOfMemory`] if the memory is
    /// not free, [`Error::Cancelled`].
    pub fn generate(&self, control: &Control) -> Result<Csr> {
        let (nodes, entries) = self.size()?;
        let wanted = self.estimated_bytes();
        if let Some(free) = memory::free()
            && wanted > free
        {
            return Err(Error::OutOfMemory { generator: self.to_string(), wanted, free });
        }
        self.generate_unchecked(nodes, entries / 2, control)
    }

    fn generate_unchecked(&self, nodes: u64, edges: u64, control: &Control) -> Result<Csr> {
        let n = nodes as u32;
        let oom = |wanted| Error::OutOfMemory { generator: self.to_string(), wanted, free: memory::free().unwrap_or(0) };
        match *self {
            Self::Kron { scale, seed, .. } => build::from_edges(&Kron::new(scale, edges, seed), control, oom),
            Self::Urand { seed, .. } => build::from_edges(&Urand::new(n, edges, seed), control, oom),
            Self::Skew { seed, .. } => build::from_edges(&Skew::new(n, edges, seed), control, oom),
            Self::Planted { communities, seed, .. } => build::from_edges(&Planted::new(n, communities as u32, edges, seed), control, oom),
            // A dimension is at most the number of vertices, unless another one is zero and there are no vertices.
            Self::Grid { .. } | Self::Mesh { .. } if n == 0 => Ok(Csr::empty(0, 0)?),
            Self::Grid { rows, columns } => structured::grid(rows as u32, columns as u32, control, oom),
            Self::Mesh { size } => structured::mesh(size.map(|s| s as u32), control, oom),
            Self::Mycielskian { order } => structured::mycielskian(order, control),
            Self::DeBruijn { bits } => structured::debruijn(bits, control, oom),
            Self::Renumbered { ref base, seed } => {
                let graph = base.generate_unchecked(nodes, edges, control)?;
                control.check()?;
                let renumbering = Renumbering::new(nodes, seed);
                let map = parallel::tabulate(n as usize, 1 << 14, |v| renumbering.apply(v as u32));
                Ok(Permutation::from_new_of_old(map)?.apply(&graph)?)
            }
        }
    }

    fn power(&self, scale: u32) -> Result<u64> {
        self.nodes(1u128.checked_shl(scale).filter(|_| scale < 128).unwrap_or(u128::MAX))
    }
    fn nodes(&self, found: u128) -> Result<u64> {
        match u64::try_from(found) {
            Ok(nodes) if nodes <= MAX_NODES => Ok(nodes),
            _ => Err(Error::TooLarge { generator: self.name(), what: "vertices", found, largest: MAX_NODES }),
        }
    }
    fn draws(&self, nodes: u64, factor: u64) -> Result<u64> {
        let found = u128::from(nodes) * u128::from(factor);
        match u64::try_from(found) {
            Ok(edges) if edges <= MAX_EDGES => Ok(edges),
            _ => Err(Error::TooLarge { generator: self.name(), what: "edges", found, largest: MAX_EDGES }),
        }
    }
    fn range(&self, parameter: &'static str, found: u64, smallest: u64, largest: u64) -> Result<()> {
        if (smallest..=largest).contains(&found) {
            return Ok(());
        }
        Err(Error::Parameter { generator: self.name(), parameter, found, smallest, largest })
    }
}

/// Entries of the undirected de Bruijn graph on `n` words: 2 n arcs, of which two are loops and two are each other's reverse.
fn debruijn_entries(n: u64) -> u64 {
    match n {
        1 => 0,
        2 => 2,
        _ => 2 * (2 * n - 3),
    }
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        let tail = |f: &mut fmt::Formatter<'_>, seed: u64| if seed == Self::DEFAULT_SEED { Ok(()) } else { write!(f, ":{seed}") };
        let factor = |f: &mut fmt::Formatter<'_>, edge_factor: u64, seed: u64| {
            if (edge_factor, seed) == (Self::DEFAULT_EDGE_FACTOR, Self::DEFAULT_SEED) {
                return Ok(());
            }
            write!(f, ":{edge_factor}")?;
            tail(f, seed)
        };
        match self {
            Self::Kron { scale, edge_factor, seed } => {
                write!(f, "{name}:{scale}")?;
                factor(f, *edge_factor, *seed)
            }
            Self::Urand { size, edge_factor, seed } => {
                write!(f, "{name}:{size}")?;
                factor(f, *edge_factor, *seed)
            }
            Self::Grid { rows, columns } => write!(f, "{name}:{rows}x{columns}"),
            Self::Mesh { size: [x, y, z] } => write!(f, "{name}:{x}x{y}x{z}"),
            Self::Mycielskian { order: k } | Self::DeBruijn { bits: k } => write!(f, "{name}:{k}"),
            Self::Skew { nodes, edges, seed } => {
                write!(f, "{name}:{nodes}:{edges}")?;
                tail(f, *seed)
            }
            Self::Planted { nodes, communities, degree, seed } => {
                write!(f, "{name}:{nodes}:{communities}:{degree}")?;
                tail(f, *seed)
            }
            Self::Renumbered { base, seed } => write!(f, "{base}@{seed}"),
        }
    }
}
