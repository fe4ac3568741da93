//! A text as blocks of whole lines: slices of a text in memory, or a buffer that is filled again and again.

use crate::source::{Input, Source};
use crate::{Error, Problem, Result};
use bitgraph_sparse::Control;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

/// Bytes of a block; with several threads there are enough pieces in one for all of them.
const BLOCK: usize = 16 << 20;
/// Bytes of the buffer for a stream: a quarter of what is to be read, within these.
const BUFFER: [usize; 2] = [256 << 10, 4 << 20];
/// The longest line of a stream, unless told otherwise.
const LONGEST: usize = 64 << 20;

/// A cursor over the blocks of a text.
pub(crate) struct Blocks<'a> {
    path: &'a Path,
    control: Control,
    total: Option<u64>,
    input: Input<'a>,
    buffer: Vec<u8>,
    /// The current block within the text or buffer, and where the bytes of the buffer end.
    block: Range<usize>,
    filled: usize,
    ended: bool,
    longest: usize,
    /// Bytes of text before the current block.
    before: u64,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(source: Source<'a>, path: &'a Path, control: &Control) -> Self {
        let Source { input, size } = source;
        let (buffer, total) = match &input {
            Input::Whole(bytes) => (Vec::new(), Some(bytes.len() as u64)),
            Input::Stream(_) => {
                let [smallest, most] = BUFFER;
                let room = size.map_or(most, |size| usize::try_from(size / 4).unwrap_or(most).clamp(smallest, most));
                (vec![b'\n'; room + super::AHEAD], size)
            }
        };
        Self { path, control: control.clone(), total, input, buffer, block: 0..0, filled: 0, ended: false, longest: LONGEST, before: 0 }
    }

    /// Takes lines of a stream up to a length.
    pub(crate) fn with_longest(mut self, bytes: usize) -> Self {
        self.longest = bytes;
        self
    }

    /// Bytes of text in all if it is in memory.
    pub(crate) fn whole(&self) -> Option<&[u8]> {
        match &self.input {
            Input::Whole(bytes) => Some(bytes),
            Input::Stream(_) => None,
        }
    }

    /// Bytes of text up to the end of the current block.
    pub(crate) fn bytes(&self) -> u64 {
        self.before + self.block.len() as u64
    }

    /// The text and the range of the next block in it; the text goes on behind the range where there is any. None at the end.
    pub(crate) fn next(&mut self, line: u64) -> Result<Option<(&[u8], Range<usize>)>> {
        self.before += self.block.len() as u64;
        let done = match &mut self.input {
            Input::Whole(_) => self.before,
            Input::Stream(stream) => stream.consumed().unwrap_or(self.before),
        };
        self.control.step(done, self.total)?;
        if let Input::Whole(bytes) = &self.input {
            let start = self.block.end;
            let aim = start.saturating_add(BLOCK).min(bytes.len());
            let end = if aim == bytes.len() { aim } else { (super::line_end(bytes, aim, bytes.len()) + 1).min(bytes.len()) };
            self.block = start..end;
        } else {
            self.refill(line)?;
        }
        let text = self.whole().unwrap_or(&self.buffer);
        Ok((!self.block.is_empty()).then_some((text, self.block.clone())))
    }

    /// Moves what is left to the front of the buffer and reads until it holds whole lines, as many as fit.
    fn refill(&mut self, line: u64) -> Result<()> {
        let Input::Stream(stream) = &mut self.input else { return Ok(()) };
        self.buffer.copy_within(self.block.end..self.filled, 0);
        self.filled -= self.block.end;
        self.block = 0..0;
        loop {
            let room = self.buffer.len() - super::AHEAD;
            while self.filled < room && !self.ended {
                match stream.read(&mut self.buffer[self.filled..room]) {
                    Ok(0) => self.ended = true,
                    Ok(n) => self.filled += n,
                    Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(source) => return Err(stream.error(self.path, self.before + self.filled as u64, source)),
                }
            }
            let whole = if self.ended {
                // Nothing stale may follow a last line without newline.
                self.buffer[self.filled..].fill(b'\n');
                self.filled
            } else {
                self.buffer[..self.filled].iter().rposition(|&b| b == b'\n').map_or(0, |k| k + 1)
            };
            if whole > 0 || self.ended {
                self.block = 0..whole;
                return Ok(());
            }
            if room >= self.longest {
                let problem = Problem::LineTooLong { limit: self.longest as u64 };
                return Err(Error::Line { path: self.path.to_path_buf(), line, problem });
            }
            self.buffer.resize(room * 2 + super::AHEAD, b'\n');
        }
    }

    /// The fault as an error: its line number is counted now. `line` is the number of the block's first line.
    pub(crate) fn error(&self, fault: super::Fault, line: u64) -> Error {
        let text = self.whole().unwrap_or(&self.buffer);
        let before = super::newlines(&text[self.block.start..fault.at.clamp(self.block.start, self.block.end)]);
        Error::Line { path: self.path.to_path_buf(), line: line + before as u64, problem: fault.problem }
    }
}
