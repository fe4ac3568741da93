//! The files of the packed search that two searchers meet by.

#[path = "../../src/fused/sssp/packed/link.rs"]
pub mod link;
#[path = "../../src/fused/sssp/packed/pair.rs"]
pub mod pair;
