//! The buckets of one member of a parallel search: a ring of lists for what lies near, and one list for the rest.
//!
//! # Invariants
//! The ring holds the keys below `base + RING`, each in the list of its remainder; a bit of `occupied` is set for every list that is not empty, and for
//! some that are. A key below `base` becomes the base: what lies a ring or more behind it then is taken for nearer than it is, and nothing for farther.
//!
//! # Memory
//! `size_of::<(D, u32)>()` bytes per queued entry, at most twice that for growth.

/// Lists of the ring; a power of two, and more than twice the largest weight of packed rows.
pub(crate) const RING: u64 = 512;

/// The buckets.
#[derive(Debug)]
pub(crate) struct Bins<D> {
    ring: Vec<Vec<(D, u32)>>,
    occupied: [u64; RING as usize / 64],
    far: Vec<(u64, D, u32)>,
    /// The smallest key in `far`.
    far_first: u64,
    base: u64,
}

impl<D: Copy> Bins<D> {
    pub fn new() -> Self {
        let ring = (0..RING).map(|_| Vec::new()).collect();
        Self { ring, occupied: [0; RING as usize / 64], far: Vec::new(), far_first: u64::MAX, base: 0 }
    }
    /// Forgets what is queued.
    pub fn clear(&mut self) {
        self.ring.iter_mut().for_each(Vec::clear);
        self.far.clear();
        (self.occupied, self.far_first, self.base) = ([0; RING as usize / 64], u64::MAX, 0);
    }
    /// Queues a vertex under a key.
    #[inline(always)]
    pub fn push(&mut self, key: u64, distance: D, vertex: u32) {
        if key.wrapping_sub(self.base) < RING {
            let slot = (key % RING) as usize;
            self.ring[slot].push((distance, vertex));
            self.occupied[slot / 64] |= 1 << (slot % 64);
        } else {
            self.push_far(key, distance, vertex);
        }
    }
    #[cold]
    fn push_far(&mut self, key: u64, distance: D, vertex: u32) {
        if key < self.base {
            self.base = key;
            return self.push(key, distance, vertex);
        }
        self.far.push((key, distance, vertex));
        self.far_first = self.far_first.min(key);
    }
    /// The smallest key.
    pub fn first(&mut self) -> Option<u64> {
        let words = self.occupied.len();
        let start = (self.base % RING) as usize;
        for k in 0..=words {
            let i = (start / 64 + k) % words;
            // The word that the ring begins in is looked at from there on, and at the end below it.
            let ahead = !0 << (start % 64);
            let mut bits = self.occupied[i]
                & if k == 0 {
                    ahead
                } else if k == words {
                    !ahead
                } else {
                    !0
                };
            while bits != 0 {
                let slot = i * 64 + bits.trailing_zeros() as usize;
                if !self.ring[slot].is_empty() {
                    return Some(self.base + (slot as u64).wrapping_sub(self.base) % RING);
                }
                self.occupied[i] &= !(1 << (slot % 64));
                bits &= bits - 1;
            }
        }
        (!self.far.is_empty()).then_some(self.far_first)
    }
    /// Exchanges the list of a key of the ring for an empty one.
    pub fn swap(&mut self, key: u64, list: &mut Vec<(D, u32)>) {
        debug_assert!(list.is_empty());
        std::mem::swap(&mut self.ring[(key % RING) as usize], list);
    }
    /// Goes on to keys from `base` on; there are none below.
    pub fn advance(&mut self, base: u64) {
        self.base = base;
        if self.far_first < base.saturating_add(RING / 2) {
            let far = std::mem::take(&mut self.far);
            self.far_first = u64::MAX;
            far.into_iter().for_each(|(key, distance, vertex)| self.push(key, distance, vertex));
        }
    }
    /// Moves what has keys from the base to below `end`, which is at most half a ring away, to `list`, in their order.
    pub fn take(&mut self, end: u64, list: &mut Vec<(D, u32)>) {
        while let Some(key) = self.first().filter(|&key| key < end) {
            list.append(&mut self.ring[(key % RING) as usize]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_what_is_queued_in_order() {
        let mut bins = Bins::new();
        let mut wanted: Vec<(u64, u32)> = (0..3000u32).map(|i| (u64::from(i.wrapping_mul(2_654_435_761) % 5000), i)).collect();
        for &(key, vertex) in &wanted {
            bins.push(key, key as u32, vertex);
        }
        wanted.sort_unstable();
        let mut found = Vec::new();
        let mut base = 0;
        while let Some(first) = bins.first() {
            base = base.max(first);
            bins.advance(base);
            let mut list = Vec::new();
            bins.take(base + 100, &mut list);
            assert!(list.iter().all(|&(d, _)| u64::from(d) >= base && u64::from(d) < base + 100));
            let mut list: Vec<_> = list.into_iter().map(|(d, v)| (u64::from(d), v)).collect();
            list.sort_unstable();
            found.extend(list);
            base += 100;
            bins.advance(base);
        }
        assert!(found == wanted);
        bins.push(base + 7, 1, 2);
        bins.push(base + 7000, 1, 2);
        bins.clear();
        assert_eq!(bins.first(), None);
    }
}
