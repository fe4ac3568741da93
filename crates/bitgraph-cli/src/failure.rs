//! What ends a command early, and the exit code of each: 2 for a usage error, 130 after Ctrl-C, 0 for a closed pipe, 1 otherwise.

use std::fmt;

/// The result of a command.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a command ended early.
#[derive(Debug)]
pub enum Failure {
    /// The command line asked for something that cannot be.
    Usage(String),
    /// Ctrl-C.
    Interrupted,
    /// The reader of standard output, or of a pipe that is written to, went away: nothing to say, no reader to say it to.
    ClosedPipe,
    /// Something does not fit in a device's memory.
    OutOfMemory(String),
    /// Anything else.
    Other(anyhow::Error),
}

impl Failure {
    /// A usage error.
    pub fn usage(sentence: impl fmt::Display) -> Self {
        Self::Usage(sentence.to_string())
    }
    /// Any other error.
    pub fn other(sentence: impl fmt::Display) -> Self {
        Self::Other(anyhow::anyhow!("{sentence}"))
    }
    /// The same with the place where it was found, such as a file and a line.
    #[must_use]
    pub fn at(self, place: impl fmt::Display) -> Self {
        match self {
            Self::Usage(text) => Self::Usage(format!("{place}: {text}")),
            Self::OutOfMemory(text) => Self::OutOfMemory(format!("{place}: {text}")),
            Self::Other(error) => Self::Other(anyhow::anyhow!("{place}: {error}")),
            Self::Interrupted | Self::ClosedPipe => self,
        }
    }
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Interrupted => 130,
            Self::ClosedPipe => 0,
            Self::OutOfMemory(_) | Self::Other(_) => 1,
        }
    }
    /// What to tell the user, in one line.
    pub fn sentence(&self) -> Option<String> {
        match self {
            Self::Usage(text) | Self::OutOfMemory(text) => Some(one_line(text)),
            Self::Interrupted => Some("interrupted".into()),
            Self::ClosedPipe => None,
            Self::Other(error) => Some(one_line(&format!("{error:#}"))),
        }
    }
}

/// A text on one line, whatever a file name or a quoted value holds.
fn one_line(text: &str) -> String {
    text.trim().chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

impl From<bitgraph::Error> for Failure {
    fn from(error: bitgraph::Error) -> Self {
        if let bitgraph::Error::Io(bitgraph::io::Error::Io { source, .. }) = &error
            && source.kind() == std::io::ErrorKind::BrokenPipe
        {
            Self::ClosedPipe
        } else if error.is_cancelled() {
            Self::Interrupted
        } else if error.is_usage() {
            Self::Usage(error.to_string())
        } else if error.is_out_of_device_memory() {
            Self::OutOfMemory(error.to_string())
        } else {
            // The sentence says all that its sources would repeat.
            Self::other(error)
        }
    }
}

impl From<bitgraph_measure::contender::Disagreement> for Failure {
    fn from(error: bitgraph_measure::contender::Disagreement) -> Self {
        Self::other(error)
    }
}

macro_rules! through_facade {
    ($($t:ty)*) => { $(
        impl From<$t> for Failure {
            fn from(error: $t) -> Self {
                bitgraph::Error::from(error).into()
            }
        }
    )* };
}
through_facade!(bitgraph::io::Error bitgraph::generate::Error bitgraph::backend::Error bitgraph::cuda::Error bitgraph::sparse::Error);

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph::backend::Error as Backend;

    #[test]
    fn codes() {
        let code = |e: Backend| Failure::from(e).code();
        assert_eq!(code(Backend::VertexOutOfRange { vertex: 5, nodes: 3 }), 2);
        assert_eq!(code(Backend::Cancelled), 130);
        assert_eq!(code(Backend::NotSquare { algorithm: "bfs", rows: 2, columns: 3 }), 1);
        assert_eq!(Failure::usage("a\nb").sentence().as_deref(), Some("a?b"));
    }
}
