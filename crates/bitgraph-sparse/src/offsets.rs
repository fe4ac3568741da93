//! Row offsets of 32 or 64 bits, as the number of entries needs.

use crate::Buffer;

/// An unsigned integer that row offsets are stored in.
pub trait OffsetInt: Copy + Send + Sync + Ord + 'static {
    /// The offset as an index.
    fn index(self) -> usize;
    /// From an index that is known to fit.
    fn from_index(index: usize) -> Self;
}
impl OffsetInt for u32 {
    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }
    #[inline(always)]
    fn from_index(index: usize) -> Self {
        index as u32
    }
}
impl OffsetInt for u64 {
    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }
    #[inline(always)]
    fn from_index(index: usize) -> Self {
        index as u64
    }
}

/// Row offsets: `len() = rows + 1`, non-decreasing, from 0 to the number of entries.
#[derive(Clone, Debug)]
pub enum Offsets {
    /// Fewer than 2^32 entries.
    U32(Buffer<u32>),
    /// 2^32 entries or more (or as a container stored them).
    U64(Buffer<u64>),
}

/// Runs `$body` with `$o` bound to the offsets as a slice of their own width.
#[macro_export]
macro_rules! with_offsets {
    ($offsets:expr, $o:ident => $body:expr) => {
        match $offsets {
            $crate::Offsets::U32(buffer) => {
                let $o: &[u32] = &buffer[..];
                $body
            }
            $crate::Offsets::U64(buffer) => {
                let $o: &[u64] = &buffer[..];
                $body
            }
        }
    };
}

impl Offsets {
    /// Whether offsets up to this number of entries are of 32 bits: the one place that says so.
    #[must_use]
    pub const fn are_narrow(entries: u64) -> bool {
        entries <= u32::MAX as u64
    }
    /// The number of offsets: one more than there are rows.
    #[must_use]
    pub fn len(&self) -> usize {
        with_offsets!(self, o => o.len())
    }
    /// Whether there is no offset at all, which no valid matrix has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The offset at `i`.
    ///
    /// # Panics
    /// If `i` is out of range.
    #[inline]
    #[must_use]
    pub fn get(&self, i: usize) -> usize {
        match self {
            Offsets::U32(o) => o[i] as usize,
            Offsets::U64(o) => o[i] as usize,
        }
    }
    /// The last offset: the number of entries.
    #[must_use]
    pub fn last(&self) -> usize {
        self.len().checked_sub(1).map_or(0, |i| self.get(i))
    }
    /// The offsets if they are of 32 bits.
    #[must_use]
    pub fn as_u32(&self) -> Option<&[u32]> {
        match self {
            Offsets::U32(o) => Some(o),
            Offsets::U64(_) => None,
        }
    }
    /// Bytes of the array.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Offsets::U32(o) => 4 * o.len() as u64,
            Offsets::U64(o) => 8 * o.len() as u64,
        }
    }
    /// The narrowest offsets that hold `offsets`.
    #[must_use]
    pub fn from_usizes(offsets: &[usize]) -> Self {
        if Self::are_narrow(offsets.last().copied().unwrap_or(0) as u64) {
            Offsets::U32(offsets.iter().map(|&o| o as u32).collect::<Vec<_>>().into())
        } else {
            Offsets::U64(offsets.iter().map(|&o| o as u64).collect::<Vec<_>>().into())
        }
    }
}

impl PartialEq for Offsets {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (0..self.len()).all(|i| self.get(i) == other.get(i))
    }
}

/// Offsets while rows are built.
pub(crate) trait Width: OffsetInt + Default {
    /// As the offsets of a matrix.
    fn wrap(offsets: Vec<Self>) -> Offsets;
}
impl Width for u32 {
    fn wrap(offsets: Vec<Self>) -> Offsets {
        Offsets::U32(offsets.into())
    }
}
impl Width for u64 {
    fn wrap(offsets: Vec<Self>) -> Offsets {
        // Duplicates were counted too: the rest may fit 32 bits.
        match offsets.last() {
            Some(&last) if !Offsets::are_narrow(last) => Offsets::U64(offsets.into()),
            _ => Offsets::U32(offsets.iter().map(|&o| o as u32).collect::<Vec<_>>().into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_stay_wide_where_they_must() {
        assert!(matches!(u64::wrap(vec![0, 1 << 32]), Offsets::U64(_)));
        assert!(matches!(u64::wrap(vec![0, u64::from(u32::MAX)]), Offsets::U32(_)));
    }

    #[test]
    fn the_width_changes_at_the_last_number_of_32_bits() {
        let last = u64::from(u32::MAX);
        assert!(Offsets::are_narrow(0) && Offsets::are_narrow(last) && !Offsets::are_narrow(last + 1));
        for (entries, width) in [(0, 4), (last, 4), (last + 1, 8), (1 << 40, 8)] {
            let offsets = Offsets::from_usizes(&[0, 0, entries as usize]);
            assert_eq!((offsets.bytes(), offsets.last() as u64), (3 * width, entries));
        }
    }
}
