//! The CPU backend: a plain reference, and a fast form with rayon and SIMD chosen at run time.

pub mod fused;
mod simd;

pub use simd::Level;
