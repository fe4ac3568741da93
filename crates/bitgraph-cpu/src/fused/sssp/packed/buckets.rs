//! The 256 buckets of an exact search over weights 1..=255: bucket `d mod 256` holds the vertices queued at distance `d`.
//!
//! # Invariants
//! `cursors[k].next` is where bucket `k` takes its next id, strictly inside a chunk of `STRIDE` words that ends at
//! `cursors[k].end` and belongs to this bucket alone. The first two words of a chunk hold the address of the bucket's chunk
//! before it, or null. Segments never move and are never freed before the buckets are.
//!
//! # Memory
//! 4 bytes per queued id, in chunks: at most 4.1 bytes times the most ids that were ever queued at once, and 278 KiB. A vertex
//! that was improved often is queued as often, but at most once per bucket; on real graphs the peak is below 2 ids per vertex.
#![allow(unsafe_code)]

/// Words of a chunk. Not a power of two, so that the ends of the buckets do not fall into the same cache sets.
const STRIDE: usize = 272;
/// Words that hold the link.
const LINK: usize = 2;
/// Chunks of a segment.
const SEGMENT: usize = 256;

#[derive(Clone, Copy, Debug)]
struct Cursor {
    next: *mut u32,
    end: *mut u32,
}

/// The buckets.
#[derive(Debug)]
pub(crate) struct Buckets {
    cursors: Box<[Cursor; 256]>,
    segments: Vec<Box<[u32]>>,
    /// Chunks that no bucket has, by their end.
    free: Vec<*mut u32>,
}

// SAFETY: the pointers lead into `segments`, which the value owns.
unsafe impl Send for Buckets {}

impl Buckets {
    pub fn new() -> Self {
        let null = Cursor { next: std::ptr::null_mut(), end: std::ptr::null_mut() };
        let mut buckets = Self { cursors: Box::new([null; 256]), segments: Vec::new(), free: Vec::new() };
        buckets.clear();
        buckets
    }
    /// Empties every bucket and takes back all chunks.
    pub fn clear(&mut self) {
        if self.segments.is_empty() {
            self.segment();
        }
        self.free.clear();
        // The first segment last, so that its chunks are handed out first.
        for segment in self.segments.iter_mut().rev() {
            let start = segment.as_mut_ptr();
            // SAFETY: a segment has `SEGMENT` chunks.
            self.free.extend((1..=SEGMENT).rev().map(|k| unsafe { start.add(k * STRIDE) }));
        }
        for k in 0..256 {
            let end = self.chunk(std::ptr::null_mut());
            // SAFETY: `end` ends a chunk.
            self.cursors[k] = Cursor { next: unsafe { end.sub(STRIDE - LINK) }, end };
        }
    }
    #[cold]
    fn segment(&mut self) {
        let mut segment = vec![0u32; STRIDE * SEGMENT].into_boxed_slice();
        let start = segment.as_mut_ptr();
        // SAFETY: the segment has `SEGMENT` chunks.
        self.free.extend((1..=SEGMENT).rev().map(|k| unsafe { start.add(k * STRIDE) }));
        self.segments.push(segment);
    }
    /// A free chunk, by its end, linked to the chunk that ends at `before`.
    fn chunk(&mut self, before: *mut u32) -> *mut u32 {
        loop {
            if let Some(end) = self.free.pop() {
                // SAFETY: the first `LINK` words of a chunk are its link; no other thread has this chunk.
                unsafe { end.sub(STRIDE).cast::<*mut u32>().write_unaligned(before) };
                return end;
            }
            self.segment();
        }
    }
    /// Queues `id` in bucket `key mod 256`.
    #[inline(always)]
    pub fn push(&mut self, key: u32, id: u32) {
        self.push_if(key, id, true);
    }
    /// Queues `id` in bucket `key mod 256` if `really`, without a branch on it.
    #[inline(always)]
    pub fn push_if(&mut self, key: u32, id: u32, really: bool) {
        let cursor = &mut self.cursors[(key & 255) as usize];
        // SAFETY: `next` is inside the bucket's chunk, before its end.
        unsafe {
            *cursor.next = id;
            cursor.next = cursor.next.add(usize::from(really));
        }
        if cursor.next == cursor.end {
            self.grow(key);
        }
    }
    #[cold]
    #[inline(never)]
    fn grow(&mut self, key: u32) {
        let k = (key & 255) as usize;
        let end = self.chunk(self.cursors[k].end);
        // SAFETY: `end` ends a chunk.
        self.cursors[k] = Cursor { next: unsafe { end.sub(STRIDE - LINK) }, end };
    }
    /// The ids of bucket `key mod 256` that were queued last, and where to look for the others.
    #[inline(always)]
    pub fn last(&self, key: u32) -> Chunk {
        let Cursor { next, end } = self.cursors[(key & 255) as usize];
        // SAFETY: `end` ends a chunk, `next` is inside it behind the link.
        unsafe {
            let start = end.sub(STRIDE);
            Chunk { first: start.add(LINK), len: next.offset_from(start) as usize - LINK }
        }
    }
    /// Takes everything that bucket `key mod 256` holds; it goes on with an empty chunk. To be given back.
    #[inline(always)]
    pub fn take(&mut self, key: u32) -> Chunk {
        let taken = self.last(key);
        let end = self.chunk(std::ptr::null_mut());
        // SAFETY: `end` ends a chunk.
        self.cursors[(key & 255) as usize] = Cursor { next: unsafe { end.sub(STRIDE - LINK) }, end };
        taken
    }
    /// Frees a taken chunk and those filled before it.
    #[inline(always)]
    pub fn give_back(&mut self, taken: Chunk) {
        // SAFETY: taken chunks are in no bucket, each is linked to the one before.
        unsafe {
            let mut end = taken.first.cast_mut().sub(LINK).add(STRIDE);
            while !end.is_null() {
                self.free.push(end);
                end = end.sub(STRIDE).cast::<*mut u32>().read_unaligned();
            }
        }
    }
    /// Empties bucket `key mod 256`; its last chunk stays with it.
    #[inline(always)]
    pub fn release(&mut self, key: u32) {
        let k = (key & 255) as usize;
        // SAFETY: the chunks from the cursor's on are this bucket's, each linked to the one before.
        unsafe {
            let end = self.cursors[k].end;
            let link = end.sub(STRIDE).cast::<*mut u32>();
            let mut before = link.read_unaligned();
            while !before.is_null() {
                self.free.push(before);
                before = before.sub(STRIDE).cast::<*mut u32>().read_unaligned();
            }
            link.write_unaligned(std::ptr::null_mut());
            self.cursors[k].next = end.sub(STRIDE - LINK);
        }
    }
}

/// A run of queued ids. Valid until its bucket is pushed to or released, or it is given back.
#[derive(Clone, Copy)]
pub(crate) struct Chunk {
    pub first: *const u32,
    pub len: usize,
}

impl Chunk {
    /// The chunk that was filled before this one, full.
    ///
    /// # Safety
    /// The bucket has not been released since.
    #[inline(always)]
    pub unsafe fn before(self) -> Option<Self> {
        // SAFETY: the link precedes the ids, and leads to the end of a chunk or nowhere.
        unsafe {
            let end = self.first.sub(LINK).cast::<*const u32>().read_unaligned();
            (!end.is_null()).then(|| Self { first: end.sub(STRIDE - LINK), len: STRIDE - LINK })
        }
    }
    /// Whether nothing is queued here nor before: a chunk that was just begun is empty while others may be full.
    ///
    /// # Safety
    /// As of [`Chunk::before`].
    #[inline(always)]
    pub unsafe fn is_empty(self) -> bool {
        // SAFETY: the contract.
        self.len == 0 && unsafe { self.before() }.is_none()
    }
    /// The ids.
    ///
    /// # Safety
    /// The bucket is neither pushed to nor released while the slice is used.
    #[inline(always)]
    pub unsafe fn ids<'a>(self) -> &'a [u32] {
        // SAFETY: `len` ids were written from `first` on.
        unsafe { std::slice::from_raw_parts(self.first, self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_is_queued() {
        let mut buckets = Buckets::new();
        for round in 0..3u32 {
            for i in 0..100_000u32 {
                buckets.push(i % 7 + round, i);
                buckets.push_if(i, u32::MAX, false);
            }
            for k in 0..7u32 {
                let mut found = Vec::new();
                let mut chunk = Some(buckets.last(k + round));
                while let Some(c) = chunk {
                    // SAFETY: nothing is pushed meanwhile.
                    unsafe {
                        found.extend_from_slice(c.ids());
                        chunk = c.before();
                    }
                }
                if k < 3 {
                    buckets.release(k + round);
                } else {
                    let taken = buckets.take(k + round);
                    buckets.give_back(taken);
                }
                found.sort_unstable();
                assert!(found.into_iter().eq((0..100_000).filter(|i| i % 7 == k)));
            }
            assert_eq!(buckets.last(round).len, 0);
        }
        let segments = buckets.segments.len();
        assert!(segments * SEGMENT * STRIDE < 100_000 * 2 + 256 * STRIDE * 2, "{segments}");
        buckets.clear();
        assert_eq!(buckets.free.len(), segments * SEGMENT - 256);
    }
}
