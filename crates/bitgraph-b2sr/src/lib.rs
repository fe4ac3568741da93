//! Bit-tile formats: the non-empty tiles of a sparse pattern as packed bits (B2SR, Bit-GraphBLAS section III), and the hybrid
//! of tiles and lists.
//!
//! ```
//! use bitgraph_b2sr::B2sr8;
//! use bitgraph_sparse::{Csr, Offsets};
//!
//! // A path of three vertices.
//! let path = Csr::new(3, 3, Offsets::from_usizes(&[0, 1, 3, 4]), vec![1, 0, 2, 1].into())?;
//! let tiles = B2sr8::from_csr(&path);
//! assert_eq!((tiles.tile_count(), tiles.bytes()), (1, 12 + 8));
//! assert_eq!(tiles.tiles(), &[0x02_05_02]);
//! assert_eq!(tiles.to_csr(), path);
//! # Ok::<(), bitgraph_sparse::Error>(())
//! ```

mod b2sr;
mod category;
mod convert;
mod counts;
mod grouped;
mod hybrid;
mod isa;
mod keys;
mod layout;
mod marks;
pub mod packing;
mod profile;
mod tile;

pub use b2sr::{B2sr, B2sr4, B2sr8, B2sr16, B2sr32};
pub use category::{Category, Pattern};
pub use counts::TileCounts;
pub use grouped::{Group, Grouped};
pub use hybrid::{Hybrid, HybridConfig, hybrid_counts};
pub use layout::Layout;
pub use profile::{Degrees, FormatSize, Profile, ProfileConfig, RowSample};
pub use tile::{Tile, Tile4, Tile8, Tile16, Tile32};
