//! Where bytes come from: a mapped file, a file read into memory, or a stream that may be compressed.

use crate::options::ReadMode;
use crate::{Error, Result};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Read};
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

/// A text in memory.
pub(crate) struct WholeText(pub Bytes);

impl std::ops::Deref for WholeText {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        (*self.0).as_ref()
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
    reader: Box<dyn Read + 'a>,
    /// Compressed bytes that were taken from the file, for a gzip stream.
    consumed: Option<Arc<AtomicU64>>,
}

impl Read for Stream<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buf)
    }
}

impl<'a> Stream<'a> {
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

impl<'a> Source<'a> {
    /// A reader as a text.
    pub(crate) fn from_reader(reader: impl Read + 'a) -> Self {
        Self { input: Input::Stream(Stream { reader: Box::new(reader), consumed: None }), size: None }
    }
}

/// Opens a file.
pub(crate) fn open_file(path: &Path) -> Result<File> {
    let file = File::open(path).map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
    match file.metadata() {
        Ok(m) if m.is_dir() => Err(Error::Io { path: path.to_path_buf(), source: io::ErrorKind::IsADirectory.into() }),
        _ => Ok(file),
    }
}

/// Whether a file begins as gzip data do; where it stands afterwards does not matter to a caller who opens it again.
fn is_gzip(path: &Path, file: &File) -> bool {
    if !file.metadata().is_ok_and(|m| m.is_file()) {
        return path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    }
    let mut head = Vec::new();
    File::open(path).and_then(|f| f.take(2).read_to_end(&mut head)).is_ok_and(|_| head == [0x1f, 0x8b])
}

/// Opens a text file: plain files are mapped or streamed, as `mode` says; gzip data are recognised by their first bytes.
pub(crate) fn open_text(path: &Path, mode: ReadMode) -> Result<Source<'static>> {
    let file = open_file(path)?;
    let meta = file.metadata().map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
    let size = meta.is_file().then_some(meta.len());
    if is_gzip(path, &file) {
        let consumed = Arc::new(AtomicU64::new(0));
        let decoder = MultiGzDecoder::new(Counted { inner: file, count: Arc::clone(&consumed) });
        let reader: Box<dyn Read> = if rayon::current_num_threads() > 1 {
            Box::new(ReadAhead::new(decoder, size.unwrap_or(u64::MAX)).map_err(|source| Error::Io { path: path.to_path_buf(), source })?)
        } else {
            Box::new(decoder)
        };
        return Ok(Source { input: Input::Stream(Stream { reader, consumed: Some(consumed) }), size });
    }
    // Files of the proc file system are regular and have no size.
    if mode == ReadMode::Map && size.is_some_and(|s| s > 0) {
        return Ok(Source { input: Input::Whole(WholeText(map(path, &file)?)), size });
    }
    Ok(Source { input: Input::Stream(Stream { reader: Box::new(file), consumed: None }), size })
}

/// All bytes of a file, mapped or read.
pub(crate) fn open_bytes(path: &Path, mode: ReadMode) -> Result<Bytes> {
    let mut file = open_file(path)?;
    let io = |source| Error::Io { path: path.to_path_buf(), source };
    let meta = file.metadata().map_err(io)?;
    if mode == ReadMode::Map && meta.is_file() && meta.len() > 0 {
        return map(path, &file);
    }
    // Words, so that arrays of any element type are aligned in them.
    let mut words: Vec<[u64; 8]> = Vec::new();
    let mut filled = 0;
    loop {
        if filled == words.len() * 64 {
            let hint = usize::try_from(meta.len()).unwrap_or(0) / 64 + 1;
            let more = hint.saturating_sub(words.len()).clamp(1024, 1 << 24);
            words.try_reserve_exact(more).map_err(|_| io(io::ErrorKind::OutOfMemory.into()))?;
            words.resize(words.len() + more, [0; 8]);
        }
        match file.read(&mut bytemuck::cast_slice_mut(&mut words)[filled..]) {
            Ok(0) => return Ok(Arc::new(AlignedBytes { words, len: filled })),
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(io(source)),
        }
    }
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

fn map(path: &Path, file: &File) -> Result<Bytes> {
    let map = crate::map::map(file).map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
    Ok(Arc::new(map))
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
                // A send fails once nobody reads any more. An empty buffer is the end.
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
