//! What bit kernels do with one tile: and with a piece of a bit vector, collect, and count.
//!
//! Invariant: bit `r` of [`BitTile::hits`] says whether row `r` of the tile has a bit.

use bitgraph_b2sr::Tile;

/// A tile with the operations of the bit kernels.
pub trait BitTile: Tile {
    /// The bits of a vector that meet tile column `column`.
    #[inline(always)]
    fn vector_bits(words: &[u64], column: u32) -> u32 {
        let start = (column as usize) << Self::SHIFT;
        (words[start >> 6] >> (start & 63)) as u32 & (!0u32 >> (32 - Self::SIZE))
    }
    /// `self |= tile & x`, `x` being and-ed to every row.
    fn collect(&mut self, tile: &Self, x: u32);
    /// The rows that have a bit.
    fn hits(&self) -> u32;
    /// Adds to `counts[r]` the number of bits that row `r` shares with `x`.
    #[inline(always)]
    fn count(&self, x: u32, counts: &mut [u32; 32]) {
        for (r, count) in counts.iter_mut().enumerate().take(Self::SIZE) {
            *count += (self.row(r) & x).count_ones();
        }
    }
    /// The number of common bits of row `r` of `a` and row `c` of `b`, summed over the bits (`r`, `c`) of `self`.
    fn common(&self, a: &Self, b: &Self) -> u32;
}

impl BitTile for u16 {
    #[inline(always)]
    fn collect(&mut self, tile: &Self, x: u32) {
        *self |= tile & (x as u16).wrapping_mul(0x1111);
    }
    #[inline(always)]
    fn hits(&self) -> u32 {
        let any = self | self >> 1;
        let any = u32::from((any | any >> 2) & 0x1111);
        (any | any >> 3 | any >> 6 | any >> 9) & 0xf
    }
    #[inline(always)]
    fn common(&self, a: &Self, b: &Self) -> u32 {
        // Bit c of a row of the mask becomes nibble c, which selects row c of `b`.
        const SPREAD: [u16; 16] = {
            let mut table = [0; 16];
            let mut i = 0;
            while i < 16 {
                table[i] = ((i & 1) | (i & 2) << 3 | (i & 4) << 6 | (i & 8) << 9) as u16 * 15;
                i += 1;
            }
            table
        };
        (0..4)
            .map(|r| {
                let row = (a.row(r) as u16).wrapping_mul(0x1111);
                (b & row & SPREAD[self.row(r) as usize & 15]).count_ones()
            })
            .sum()
    }
}

const BYTES: u64 = 0x0101_0101_0101_0101;

impl BitTile for u64 {
    #[cfg(target_endian = "little")]
    #[inline(always)]
    fn vector_bits(words: &[u64], column: u32) -> u32 {
        u32::from(bytemuck::cast_slice::<u64, u8>(words)[column as usize])
    }
    #[inline(always)]
    fn collect(&mut self, tile: &Self, x: u32) {
        *self |= tile & (u64::from(x) * BYTES);
    }
    #[inline(always)]
    fn hits(&self) -> u32 {
        let low = 0x7f * BYTES;
        let high = (((self & low) + low) | self) & !low;
        ((high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
    }
    #[inline(always)]
    fn count(&self, x: u32, counts: &mut [u32; 32]) {
        let v = self & (u64::from(x) * BYTES);
        let v = v - (v >> 1 & (0x55 * BYTES));
        let v = (v & (0x33 * BYTES)) + (v >> 2 & (0x33 * BYTES));
        let v = ((v + (v >> 4)) & (0x0f * BYTES)).to_le_bytes();
        for r in 0..8 {
            counts[r] += u32::from(v[r]);
        }
    }
    #[inline(always)]
    fn common(&self, a: &Self, b: &Self) -> u32 {
        let mut sum = 0;
        let mut rows = self.hits();
        while rows != 0 {
            let r = rows.trailing_zeros() as usize;
            rows &= rows - 1;
            // Byte c keeps bit c of the mask's row, then becomes all ones if that is set.
            let kept = (u64::from(self.row(r)) * BYTES) & 0x8040_2010_0804_0201;
            let low = 0x7f * BYTES;
            let high = (((kept & low) + low) | kept) & !low;
            let chosen = (high >> 7) * 0xff;
            sum += (b & (u64::from(a.row(r)) * BYTES) & chosen).count_ones();
        }
        sum
    }
}

macro_rules! word_per_row {
    ($word:ty, $size:literal) => {
        impl BitTile for [$word; $size] {
            #[inline(always)]
            fn collect(&mut self, tile: &Self, x: u32) {
                for r in 0..$size {
                    self[r] |= tile[r] & x as $word;
                }
            }
            #[inline(always)]
            fn hits(&self) -> u32 {
                (0..$size).fold(0, |hits, r| hits | u32::from(self[r] != 0) << r)
            }
            #[inline(always)]
            fn common(&self, a: &Self, b: &Self) -> u32 {
                let mut sum = 0;
                self.for_each(|r, c| sum += (a[r] & b[c as usize]).count_ones());
                sum
            }
        }
    };
}
word_per_row!(u16, 16);
word_per_row!(u32, 32);
