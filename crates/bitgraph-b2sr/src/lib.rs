#![doc = include_str!("../README.md")]

mod b2sr;
mod category;
mod convert;
mod counts;
mod degrees;
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
pub use degrees::Degrees;
pub use grouped::{Group, Grouped};
pub use hybrid::{Hybrid, HybridConfig, hybrid_counts};
pub use layout::Layout;
pub use profile::{FormatSize, Profile, ProfileConfig, RowSample};
pub use tile::{Tile, Tile4, Tile8, Tile16, Tile32};
