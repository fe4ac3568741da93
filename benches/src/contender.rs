//! Programs under test on the host; how they take turns and are compared is `bitgraph-measure`'s.

use anyhow::Result;
use bitgraph_measure::Clock;
pub use bitgraph_measure::contender::{Answer, Layout, Outcome, Purpose, Series, compare, median, ratio};

/// A program under test, its graph built.
pub type Contender = bitgraph_measure::contender::Contender<anyhow::Error>;

/// Times an algorithm; turning its result into an answer is not part of it.
///
/// # Errors
/// The algorithm's.
pub fn timed<R>(purpose: Purpose, algorithm: impl FnMut() -> Result<R>, answer: impl FnOnce(R) -> Answer) -> Result<Outcome> {
    bitgraph_measure::contender::timed(&Clock::of(None), purpose, algorithm, |result| (answer(result), 0))
}
