//! How long runs take, and beside what: everything that harnesses share and that no library needs to run.
//!
//! [`Clock`] tells the seconds of a run on the host or on a GPU, [`contender`] lets programs take turns after their results were compared,
//! [`limits`] are the rates that a GPU reaches at best, [`cusparse`] is a peer on it, and [`machine`] says what there is.
//!
//! # Invariants
//! The libraries measure nothing themselves: what is filled, recorded and waited for here is what a measurement costs. Nothing is timed
//! before its result agreed with another's.

mod clock;
pub mod contender;
pub mod cusparse;
pub mod limits;
pub mod machine;

pub use clock::{Clock, Launches, Timed};
pub use contender::median;
