#![doc = include_str!("../README.md")]

mod clock;
pub mod contender;
pub mod cublaslt;
pub mod cusparse;
pub mod limits;
pub mod machine;

pub use clock::{Clock, Launches, Timed};
pub use contender::median;
