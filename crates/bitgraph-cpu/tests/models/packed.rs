//! The files of the packed search that two searchers meet by.

#[path = "../../src/fused/sssp/packed/link.rs"]
pub mod link;
#[path = "../../src/fused/sssp/packed/pair.rs"]
pub mod pair;

/// Prefetching, of which a model knows nothing.
mod ops {
    pub(crate) trait Ops {
        fn prefetch<T>(_: *const T) {}
    }
    pub(crate) struct Portable;
    impl Ops for Portable {}
}
