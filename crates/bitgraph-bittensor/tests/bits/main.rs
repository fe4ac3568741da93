//! Matrices of signs and of bit planes, and their products, at awkward shapes.

mod common;
mod matrix;
mod planes;
mod product;
