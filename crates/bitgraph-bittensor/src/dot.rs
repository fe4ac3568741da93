//! Dot products of bit vectors by counting ones: the identities that every product of bits rests on.
//!
//! Invariant: vectors are words of 32 bits, bit `i` of the vector in bit `i % 32` of word `i / 32`, and bits past the length are zero; of
//! vectors with different numbers of words the longer one's rest counts as multiplied with zeros. Each form of one product gives the same
//! number.
//!
//! Words are counted in pairs: loops over words of 64 bits without a branch, which compilers turn into vector instructions.

/// Sums the ones of `f` over two vectors.
#[inline(always)]
fn count(a: &[u32], b: &[u32], f: impl Fn(u64, u64) -> u64) -> u64 {
    let len = a.len().min(b.len());
    let ((a, a_last), (b, b_last)) = (a[..len].as_chunks::<2>(), b[..len].as_chunks::<2>());
    let wide = |pair: &[u32; 2]| u64::from(pair[0]) | u64::from(pair[1]) << 32;
    let pairs: u64 = a.iter().zip(b).map(|(a, b)| u64::from(f(wide(a), wide(b)).count_ones())).sum();
    let last: u64 = a_last.iter().zip(b_last).map(|(&a, &b)| u64::from(f(a.into(), b.into()).count_ones())).sum();
    pairs + last
}

/// The ones of a vector: the dot product of a 0/1 vector with ones.
#[inline]
#[must_use]
pub fn ones(a: &[u32]) -> u64 {
    count(a, a, |a, _| a)
}

/// `popc(a & b)`: the dot product of two 0/1 vectors.
#[inline]
#[must_use]
pub fn and(a: &[u32], b: &[u32]) -> u64 {
    count(a, b, |a, b| a & b)
}

/// `popc(a & !b)`; words of `a` past the last of `b` do not count.
#[inline]
#[must_use]
pub fn and_not(a: &[u32], b: &[u32]) -> u64 {
    // The complement of the bits past the length is one, but `a` is zero there.
    count(a, b, |a, b| a & !b)
}

/// `popc(a ^ b)`: the number of places where two vectors of as many words differ.
#[inline]
#[must_use]
pub fn xor(a: &[u32], b: &[u32]) -> u64 {
    count(a, b, |a, b| a ^ b)
}

/// The dot product of two sign vectors of `length` elements by XNOR: places that agree minus places that differ.
#[inline]
#[must_use]
pub fn signs_by_xnor(a: &[u32], b: &[u32], length: usize) -> i64 {
    length as i64 - 2 * xor(a, b) as i64
}

/// The same by AND and a correction of rank 1, for tensor cores that have no XOR: with `a = 2 x - 1` and `b = 2 w - 1`,
/// `a . b = 4 x . w - 2 |x| - 2 |w| + length`. The counts of ones belong to one operand each, and are taken once for a whole matrix.
#[inline]
#[must_use]
pub fn signs_by_and(a: &[u32], b: &[u32], ones_a: u64, ones_b: u64, length: usize) -> i64 {
    4 * and(a, b) as i64 - 2 * (ones_a + ones_b) as i64 + length as i64
}

/// The dot product of a 0/1 vector with a sign vector (BitGNN, section 3.2.2), first method: a sign is added for each one of `a`.
#[must_use]
pub fn trinary_by_branch(a: &[u32], b: &[u32]) -> i64 {
    let mut sum = 0;
    for (&a, &b) in a.iter().zip(b) {
        for i in (0..32).filter(|i| a >> i & 1 != 0) {
            sum += if b >> i & 1 != 0 { 1 } else { -1 };
        }
    }
    sum
}

/// The second method: `popc(a & b) - popc(a & !b)`.
#[inline]
#[must_use]
pub fn trinary_by_difference(a: &[u32], b: &[u32]) -> i64 {
    and(a, b) as i64 - and_not(a, b) as i64
}

/// The third method: `2 popc(a & b) - popc(a)`, where the ones of `a` are counted once for a row.
#[inline]
#[must_use]
pub fn trinary_by_count(a: &[u32], b: &[u32], ones_a: u64) -> i64 {
    2 * and(a, b) as i64 - ones_a as i64
}

/// The dot product of two vectors of codes (QGTC, equation 7): the products of all pairs of planes, each shifted by the weight of both.
/// `a(p)` and `b(q)` are the words of the planes.
#[inline]
#[must_use]
pub fn codes<'a>(planes_a: u32, a: impl Fn(u32) -> &'a [u32], planes_b: u32, b: impl Fn(u32) -> &'a [u32]) -> u64 {
    (0..planes_a).map(|p| (0..planes_b).map(|q| and(a(p), b(q)) << (p + q)).sum::<u64>()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_vectors_by_hand() {
        // a = 1 1 0 1, b = 1 0 0 1.
        let (a, b) = ([0b1011u32], [0b1001u32]);
        assert_eq!((ones(&a), and(&a, &b), and_not(&a, &b), xor(&a, &b)), (3, 2, 1, 1));
        // (+ + - +) . (+ - - +) = 1 - 1 + 1 + 1.
        assert_eq!((signs_by_xnor(&a, &b, 4), signs_by_and(&a, &b, 3, 2, 4)), (2, 2));
        // (1 1 0 1) . (+ - - +) = 1 - 1 + 1.
        assert_eq!((trinary_by_branch(&a, &b), trinary_by_difference(&a, &b), trinary_by_count(&a, &b, 3)), (1, 1, 1));
        // Codes 1 3 0 2 (planes 1 1 0 0 and 0 1 0 1) times 1 1 0 1 (one plane).
        let planes = [[0b0011u32], [0b1010u32]];
        assert_eq!(codes(2, |p| &planes[p as usize][..], 1, |_| &a[..]), 1 + 3 + 2);
        assert_eq!(and(&[!0, !0, !0], &[!0, !0, 1]), 65);
        assert_eq!(and(&[!0, !0, !0], &[!0, !0, 0, !0]), 64);
    }
}
