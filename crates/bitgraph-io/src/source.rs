//! Where bytes come from: a mapped file, a file read into memory, or a stream that may be compressed.

use crate::options::ReadMode;
use crate::{Error, Result};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, PoisonError};

/// Bytes in memory, mapped or owned.
pub(crate) type Bytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// The bytes of a text.
pub(crate) enum Input<'a> {
    /// All of them at hand.
    Whole(WholeText),
    /// Handed out bit by bit.
    Stream(Stream<'a>),
}

/// A text in memory, but for the bytes before `start`.
pub(crate) struct WholeText {
    bytes: Bytes,
    start: usize,
}

impl std::ops::Deref for WholeText {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &(*self.bytes).as_ref()[self.start..]
    }
}

/// A text and the size of the file it is in.
pub(crate) struct Source<'a> {
    pub input: Input<'a>,
    /// Bytes of the file, compressed as it is, if there is one.
    pub size: Option<u64>,
}

/// A stream of text.
pub(crate) struct Stream<'a> {
    /// Bytes that were looked at already.
    ahead: Vec<u8>,
    reader: Box<dyn Read + 'a>,
    /// Compressed bytes that were taken from the file, for a gzip stream.
    consumed: Option<Arc<AtomicU64>>,
}

impl Read for Stream<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.ahead.is_empty() {
            return self.reader.read(buf);
        }
        let n = buf.len().min(self.ahead.len());
        buf[..n].copy_from_slice(&self.ahead[..n]);
        self.ahead.drain(..n);
        Ok(n)
    }
}

impl<'a> Stream<'a> {
    fn new(reader: impl Read + 'a) -> Self {
        Self { ahead: Vec::new(), reader: Box::new(reader), consumed: None }
    }
    /// The first `wanted` bytes, or all if there are fewer; they are still to be read.
    fn head(&mut self, wanted: usize) -> io::Result<&[u8]> {
        let mut more = Vec::new();
        self.reader.by_ref().take(wanted.saturating_sub(self.ahead.len()) as u64).read_to_end(&mut more)?;
        self.ahead.append(&mut more);
        Ok(&self.ahead[..wanted.min(self.ahead.len())])
    }
    /// Bytes of the file that were read, if that is known.
    pub(crate) fn consumed(&self) -> Option<u64> {
        self.consumed.as_ref().map(|c| c.load(Ordering::Relaxed))
    }
    /// A reader's failure as an error of this crate.
    pub(crate) fn error(&self, path: &Path, bytes: u64, source: io::Error) -> Error {
        let path = path.to_path_buf();
        let damage = matches!(source.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput);
        if self.consumed.is_some() && damage { Error::Gzip { path, bytes, source } } else { Error::Io { path, source } }
    }
}

/// How gzip data begin.
const GZIP: [u8; 2] = [0x1f, 0x8b];

impl<'a> Source<'a> {
    /// Opens a file: a plain one is mapped or streamed, as `mode` says; gzip data are recognised by their first bytes and unpacked.
    pub(crate) fn open(path: &Path, mode: ReadMode) -> Result<Self> {
        let io = |source| Error::Io { path: path.to_path_buf(), source };
        let mut file = File::open(path).map_err(io)?;
        let meta = file.metadata().map_err(io)?;
        if meta.is_dir() {
            return Err(io(io::ErrorKind::IsADirectory.into()));
        }
        // What cannot be read twice is a stream; files of the proc file system are regular and have no size.
        if !meta.is_file() || meta.len() == 0 {
            return Self::from_reader(file, path);
        }
        let size = Some(meta.len());
        let mut magic = Vec::new();
        (&file).take(GZIP.len() as u64).read_to_end(&mut magic).map_err(io)?;
        file.rewind().map_err(io)?;
        if magic == GZIP {
            let consumed = Arc::new(AtomicU64::new(0));
            let decoder = MultiGzDecoder::new(Counted { inner: file, count: Arc::clone(&consumed) });
            let reader: Box<dyn Read> = if rayon::current_num_threads() > 1 {
                Box::new(ReadAhead::new(decoder, meta.len()).map_err(io)?)
            } else {
                Box::new(decoder)
            };
            return Ok(Self { input: Input::Stream(Stream { consumed: Some(consumed), ..Stream::new(reader) }), size });
        }
        if mode == ReadMode::MapUnguarded || (mode == ReadMode::Map && crate::system::is_guarded(&file)) {
            let bytes = Arc::new(crate::system::map(file).map_err(io)?);
            return Ok(Self { input: Input::Whole(WholeText { bytes, start: 0 }), size });
        }
        Ok(Self { input: Input::Stream(Stream::new(file)), size })
    }
    /// A reader as a text, unpacked if it is gzip data; `path` stands for it in error messages.
    pub(crate) fn from_reader(reader: impl Read + 'a, path: &Path) -> Result<Self> {
        let mut stream = Stream::new(reader);
        if stream.head(GZIP.len()).map_err(|source| Error::Io { path: path.to_path_buf(), source })? == GZIP {
            let count = Arc::new(AtomicU64::new(0));
            let consumed = Some(Arc::clone(&count));
            stream = Stream { consumed, ..Stream::new(MultiGzDecoder::new(Counted { inner: stream, count })) };
        }
        Ok(Self { input: Input::Stream(stream), size: None })
    }
    /// The first bytes; they are still to be read.
    pub(crate) fn head(&mut self, wanted: usize, path: &Path) -> Result<&[u8]> {
        match &mut self.input {
            Input::Whole(text) => Ok(&text[..wanted.min(text.len())]),
            Input::Stream(stream) => {
                if let Err(source) = stream.head(wanted) {
                    return Err(stream.error(path, 0, source));
                }
                Ok(&stream.ahead[..wanted.min(stream.ahead.len())])
            }
        }
    }
    /// Leaves out the first bytes, which were looked at.
    pub(crate) fn skip(&mut self, bytes: usize) {
        match &mut self.input {
            Input::Whole(text) => text.start += bytes,
            Input::Stream(stream) => drop(stream.ahead.drain(..bytes)),
        }
    }
    /// All bytes: the mapped ones as they are, others read into memory.
    pub(crate) fn into_bytes(self, path: &Path) -> Result<Bytes> {
        let mut stream = match self.input {
            Input::Whole(text) => return Ok(text.bytes),
            Input::Stream(stream) => stream,
        };
        // Words, so that arrays of any element type are aligned in them.
        let mut words: Vec<[u64; 8]> = Vec::new();
        let mut filled = 0;
        loop {
            if filled == words.len() * 64 {
                let hint = usize::try_from(self.size.unwrap_or(0)).unwrap_or(0) / 64 + 1;
                let more = hint.saturating_sub(words.len()).clamp(1024, 1 << 24);
                let refused = |_| Error::Io { path: path.to_path_buf(), source: io::ErrorKind::OutOfMemory.into() };
                words.try_reserve_exact(more).map_err(refused)?;
                words.resize(words.len() + more, [0; 8]);
            }
            match stream.read(&mut bytemuck::cast_slice_mut(&mut words)[filled..]) {
                Ok(0) => return Ok(Arc::new(AlignedBytes { words, len: filled })),
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(stream.error(path, filled as u64, source)),
            }
        }
    }
}

/// All bytes of a file, mapped or read.
pub(crate) fn open_bytes(path: &Path, mode: ReadMode) -> Result<Bytes> {
    Source::open(path, mode)?.into_bytes(path)
}

/// Owned bytes that start at a multiple of 8.
pub(crate) struct AlignedBytes {
    words: Vec<[u64; 8]>,
    len: usize,
}

impl AsRef<[u8]> for AlignedBytes {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }
}

/// A reader that counts.
struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.count.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// A reader that another thread runs ahead of, by a few buffers: unpacking and parsing overlap.
struct ReadAhead {
    // Behind a lock only so that the type may be shared; one thread reads.
    buffers: std::sync::Mutex<Receiver<io::Result<Vec<u8>>>>,
    current: Vec<u8>,
    at: usize,
    ended: bool,
}

impl ReadAhead {
    /// Reads a file of `size` bytes: the buffers of a small one are small.
    fn new(mut inner: impl Read + Send + 'static, size: u64) -> io::Result<Self> {
        let room = usize::try_from(size / 4).unwrap_or(usize::MAX).clamp(16 << 10, 256 << 10);
        let (send, receive) = sync_channel(3);
        std::thread::Builder::new().spawn(move || {
            loop {
                let mut buffer = vec![0; room];
                let mut filled = 0;
                let end = loop {
                    match inner.read(&mut buffer[filled..]) {
                        Ok(0) => break Some(Ok(())),
                        Ok(n) => filled += n,
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                        Err(e) => break Some(Err(e)),
                    }
                    if filled == buffer.len() {
                        break None;
                    }
                };
                buffer.truncate(filled);
                // A send fails once the receiver is gone. An empty buffer is the end.
                if filled > 0 && send.send(Ok(buffer)).is_err() {
                    return;
                }
                if let Some(end) = end {
                    let _ = send.send(end.map(|()| Vec::new()));
                    return;
                }
            }
        })?;
        Ok(Self { buffers: std::sync::Mutex::new(receive), current: Vec::new(), at: 0, ended: false })
    }
}

impl Read for ReadAhead {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.at == self.current.len() && !self.ended {
            match self.buffers.get_mut().unwrap_or_else(PoisonError::into_inner).recv() {
                Ok(next) => (self.current, self.at) = (next?, 0),
                // Without a word of farewell: not an end of the data.
                Err(_) => return Err(io::Error::other("the unpacking thread ended early")),
            }
            self.ended = self.current.is_empty();
        }
        let n = buf.len().min(self.current.len() - self.at);
        buf[..n].copy_from_slice(&self.current[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}
