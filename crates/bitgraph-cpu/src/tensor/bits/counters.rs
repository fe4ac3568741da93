//! Bit-sliced counters: a bit of every plane is a digit of the count of one column, so that a word counts 64 columns, and several words side by side
//! those of several rows.
//!
//! Source: Harley-Seal counters as in Mula, Kurz, Lemire, 2018. [`super::count`] has them over rows of features of any width; here a row is a word.

/// The bits of a count of `n`.
pub const fn planes(n: usize) -> usize {
    (usize::BITS - n.leading_zeros()) as usize
}

/// A word, or several side by side.
pub trait Bits: Copy {
    /// No bits.
    const ZERO: Self;
    /// Bit by bit of three words.
    fn each(a: Self, b: Self, c: Self, f: impl Fn(u64, u64, u64) -> u64) -> Self;
    /// A carry-save adder: the bits that are set an odd number of times, and those that are set twice or more.
    #[inline(always)]
    fn add(a: Self, b: Self, c: Self) -> (Self, Self) {
        (Self::each(a, b, c, |a, b, c| a ^ b ^ c), Self::each(a, b, c, |a, b, c| a & b | (a ^ b) & c))
    }
    /// Where counts are at least a limit, of which this is one plane, given where they are by the planes below.
    #[inline(always)]
    fn enough(below: Self, count: Self, limit: Self) -> Self {
        Self::each(below, count, limit, |below, count, limit| count & below | (count | below) & !limit)
    }
}
impl Bits for u64 {
    const ZERO: Self = 0;
    #[inline(always)]
    fn each(a: Self, b: Self, c: Self, f: impl Fn(u64, u64, u64) -> u64) -> Self {
        f(a, b, c)
    }
}
impl<const SIDE: usize> Bits for [u64; SIDE] {
    const ZERO: Self = [0; SIDE];
    #[inline(always)]
    fn each(a: Self, b: Self, c: Self, f: impl Fn(u64, u64, u64) -> u64) -> Self {
        std::array::from_fn(|k| f(a[k], b[k], c[k]))
    }
}

/// Counts the bits of the words of some ids, and of one more word: the three lowest planes; the others are `high`, as many as the count takes.
#[inline(always)]
pub fn count(own: u64, ids: &[u32], of: impl Fn(u32) -> u64, high: &mut [u64]) -> [u64; 3] {
    high.fill(0);
    let mut low = [own, 0, 0];
    let (groups, rest) = ids.as_chunks::<8>();
    for group in groups {
        add_eight(|k| of(group[k]), &mut low, high);
    }
    if let Some(&last) = rest.last() {
        // Without a branch on how many there are, which is anybody's guess.
        let word = |k: usize| of(rest.get(k).copied().unwrap_or(last)) & u64::from(k < rest.len()).wrapping_neg();
        add_eight(word, &mut low, high);
    }
    low
}

/// Adds eight words to counters, whose planes from the fourth on are `high`.
#[inline(always)]
pub fn add_eight<B: Bits>(word: impl Fn(usize) -> B, low: &mut [B; 3], high: &mut [B]) {
    let [one, two, four] = *low;
    let (x, carry_a) = B::add(one, word(0), word(1));
    let (x, carry_b) = B::add(x, word(2), word(3));
    let (y, fours_a) = B::add(two, carry_a, carry_b);
    let (x, carry_a) = B::add(x, word(4), word(5));
    let (x, carry_b) = B::add(x, word(6), word(7));
    let (y, fours_b) = B::add(y, carry_a, carry_b);
    let (z, mut carry) = B::add(four, fours_a, fours_b);
    *low = [x, y, z];
    for plane in high {
        (*plane, carry) = B::add(*plane, carry, B::ZERO);
    }
}
