//! The AVX2 forms of boolean mxv: first what every tile or entry meets in the vector, without a branch, then the rows of a block
//! out of that.
//!
//! A row of a mesh is shorter than a wrong guess of its length is long. So the stored order is walked evenly, whatever the rows:
//! a byte a tile (which of its 8 rows meet the vector) or a bit an entry goes to a buffer in the first cache, and four rows at a
//! time take their pieces of it.
//!
//! Invariant: a block has at most [`TILE_ROWS`] rows of tiles with [`TILES`] tiles, or [`ROWS`] rows with [`ENTRIES`] entries.

#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code)]

use super::BitTile;
use bitgraph_sparse::OffsetInt;
use std::arch::x86_64::*;

/// Rows of a block.
pub(super) const ROWS: usize = 512;
/// Rows of tiles of a block.
const TILE_ROWS: usize = ROWS / 8;
/// Tiles of a block at most.
pub(super) const TILES: usize = 48 * TILE_ROWS;
/// Entries of a block at most.
pub(super) const ENTRIES: usize = 40 * ROWS;

/// Bytes that tiles are fetched ahead of their use, and columns half as far: soon enough for what comes from a cache of all cores.
const AHEAD: usize = 512;

/// Has the line so many bytes behind `pointer` fetched.
#[inline]
#[target_feature(enable = "avx2")]
fn fetch<V>(pointer: *const V, bytes: usize) {
    _mm_prefetch::<_MM_HINT_T0>(pointer.cast::<i8>().wrapping_add(bytes));
}

const ONES: i64 = 0x0101_0101_0101_0101;

/// A byte for every tile of a block. Four rows of tiles are read on until the longest ends: past the tiles by as many at most.
pub(super) struct TileHits([u64; TILES / 4 + 2]);
/// A bit for every entry of a block, and what is read past the last.
pub(super) struct EntryHits([u16; ENTRIES / 16 + 8]);

impl TileHits {
    pub(super) const fn new() -> Self {
        Self([0; TILES / 4 + 2])
    }
}
impl EntryHits {
    pub(super) const fn new() -> Self {
        Self([0; ENTRIES / 16 + 8])
    }
}

/// Four bytes in the low quarter of a register: of these forms of a gather the one that takes the fewest steps.
macro_rules! four_bytes {
    ($at:ident, $k:expr) => {
        _mm_insert_epi8::<3>(
            _mm_insert_epi8::<2>(_mm_insert_epi8::<1>(_mm_cvtsi32_si128($at!($k)), $at!($k + 1)), $at!($k + 2)),
            $at!($k + 3),
        )
    };
}

/// Byte `k`: the rows of tile `k` that meet `x`.
///
/// # Safety
/// The columns are below the length of `x`, in bytes.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn eight_tiles(columns: &[u32; 8], tiles: &[u64; 8], x: &[u8]) -> u64 {
    macro_rules! at {
        ($k:expr) => {
            i32::from(*x.get_unchecked(columns[$k] as usize))
        };
    }
    // SAFETY: by the contract.
    let (low, high) = unsafe { (four_bytes!(at, 0), four_bytes!(at, 4)) };
    let x = _mm256_broadcastq_epi64(_mm_unpacklo_epi32(low, high));
    // Each byte of `x` beside the eight rows of its tile.
    let low = _mm256_shuffle_epi8(x, _mm256_set_epi64x(3 * ONES, 2 * ONES, ONES, 0));
    let high = _mm256_shuffle_epi8(x, _mm256_set_epi64x(7 * ONES, 6 * ONES, 5 * ONES, 4 * ONES));
    // SAFETY: eight tiles are two registers.
    let (first, last) = unsafe { (_mm256_loadu_si256(tiles.as_ptr().cast()), _mm256_loadu_si256(tiles.as_ptr().add(4).cast())) };
    let none = _mm256_setzero_si256();
    let low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_and_si256(first, low), none)) as u32;
    let high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_and_si256(last, high), none)) as u32;
    !(u64::from(low) | u64::from(high) << 32)
}

/// A byte of `hits` for every tile.
///
/// # Safety
/// As [`eight_tiles`].
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn tile_hits(columns: &[u32], tiles: &[u64], x: &[u8], hits: &mut [u64]) {
    let ((eights, columns), (packs, tiles)) = (columns.as_chunks(), tiles.as_chunks());
    for ((hits, columns), tiles) in hits.iter_mut().zip(eights).zip(packs) {
        fetch(tiles, AHEAD);
        fetch(columns, AHEAD / 2);
        // SAFETY: by the contract.
        *hits = unsafe { eight_tiles(columns, tiles, x) };
    }
    if !columns.is_empty() {
        // Filled up with empty tiles.
        let (mut c, mut t) = ([columns[0]; 8], [0; 8]);
        c[..columns.len()].copy_from_slice(columns);
        t[..tiles.len()].copy_from_slice(tiles);
        // SAFETY: by the contract.
        hits[eights.len()] = unsafe { eight_tiles(&c, &t, x) };
    }
}

/// Differences of five offsets that follow each other.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn lengths<O: OffsetInt>(offsets: &[O; 5]) -> __m256i {
    _mm256_sub_epi64(wide(offsets[1..].first_chunk().expect("four of five")), wide(offsets.first_chunk().expect("four of five")))
}

/// Four offsets in 64 bits each.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn wide<O: OffsetInt>(offsets: &[O; 4]) -> __m256i {
    if size_of::<O>() == 4 {
        // SAFETY: four offsets of four bytes; the trait is implemented for unsigned integers.
        _mm256_cvtepu32_epi64(unsafe { _mm_loadu_si128(offsets.as_ptr().cast()) })
    } else {
        _mm256_set_epi64x(offsets[3].index() as i64, offsets[2].index() as i64, offsets[1].index() as i64, offsets[0].index() as i64)
    }
}

/// Four words of eight bytes.
///
/// # Safety
/// Eight bytes can be read at each.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn four_words(a: *const u8, b: *const u8, c: *const u8, d: *const u8) -> __m256i {
    // SAFETY: by the contract.
    let (a, b, c, d) =
        unsafe { (_mm_loadl_epi64(a.cast()), _mm_loadl_epi64(b.cast()), _mm_loadl_epi64(c.cast()), _mm_loadl_epi64(d.cast())) };
    _mm256_set_m128i(_mm_unpacklo_epi64(c, d), _mm_unpacklo_epi64(a, b))
}

/// The bytes of every row of tiles or-ed to one.
///
/// # Safety
/// `hits` has a byte for every tile of the rows, and as many again and eight.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn tile_rows<O: OffsetInt>(offsets: &[O], hits: &[u64], out: &mut [u8]) {
    let (first, hits) = (offsets[0].index(), hits.as_ptr().cast::<u8>());
    let (fours, rest) = out.as_chunks_mut::<4>();
    let done = 4 * fours.len();
    for (out, offsets) in fours.iter_mut().zip(offsets.windows(5).step_by(4)) {
        let offsets: &[O; 5] = offsets.first_chunk().expect("windows of five");
        // SAFETY: rows start inside the tiles; a row ends after at most as many steps of eight bytes as there are tiles to it.
        let at = |k: usize| unsafe { hits.add(offsets[k].index() - first) };
        let (mut a, mut b, mut c, mut d) = (at(0), at(1), at(2), at(3));
        let mut bits = _mm256_slli_epi64::<3>(lengths(offsets));
        let mut met = _mm256_setzero_si256();
        loop {
            // SAFETY: by the contract, see above.
            let words = unsafe { four_words(a, b, c, d) };
            // A shift by 64 or more leaves nothing: the whole word is kept.
            met = _mm256_or_si256(met, _mm256_andnot_si256(_mm256_sllv_epi64(_mm256_set1_epi64x(-1), bits), words));
            bits = _mm256_max_epi32(_mm256_sub_epi64(bits, _mm256_set1_epi64x(64)), _mm256_setzero_si256());
            if _mm256_testz_si256(bits, bits) != 0 {
                break;
            }
            // SAFETY: as above.
            unsafe { (a, b, c, d) = (a.add(8), b.add(8), c.add(8), d.add(8)) };
        }
        met = _mm256_or_si256(met, _mm256_srli_epi64::<32>(met));
        met = _mm256_or_si256(met, _mm256_srli_epi64::<16>(met));
        met = _mm256_or_si256(met, _mm256_srli_epi64::<8>(met));
        // The low bytes of two words beside each other.
        let met = _mm256_shuffle_epi8(met, _mm256_set1_epi16(0x0800));
        let (low, high) = (_mm256_cvtsi256_si32(met) as u16, _mm_cvtsi128_si32(_mm256_extracti128_si256::<1>(met)) as u16);
        *out = (u32::from(low) | u32::from(high) << 16).to_le_bytes();
    }
    for (out, bounds) in rest.iter_mut().zip(offsets[done..].windows(2)) {
        // SAFETY: bytes of tiles.
        let bytes = (bounds[0].index() - first..bounds[1].index() - first).map(|k| unsafe { *hits.add(k) });
        *out = bytes.fold(0, |met, b| met | b);
    }
}

/// Sets a byte for every row of tiles of a block: which of its 8 rows meet `x`. `columns` and `tiles` are those of the matrix.
///
/// # Safety
/// The CPU has AVX2, BMI and POPCNT; the offsets ascend and end within the tiles; the columns are below the length of `x`, in bytes.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn tile_block<O: OffsetInt>(
    offsets: &[O],
    columns: &[u32],
    tiles: &[u64],
    x: &[u8],
    hits: &mut TileHits,
    out: &mut [u8],
) {
    let (first, end) = (offsets[0].index(), offsets[out.len()].index());
    assert!(end - first <= TILES, "a block of tiles");
    // Whole steps, where there are more tiles.
    let end = columns.len().min(first + (end - first).next_multiple_of(8));
    // SAFETY: by the contract; the buffer has room for twice the tiles of a block.
    unsafe {
        tile_hits(&columns[first..end], &tiles[first..end], x, &mut hits.0);
        tile_rows(offsets, &hits.0, out);
    }
}

/// The rows of one row of tiles that meet `x`, until all that are wanted do.
///
/// # Safety
/// As [`tile_block`].
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn tile_row(columns: &[u32], tiles: &[u64], x: &[u8], wanted: u8) -> u8 {
    let ((eights, columns), (packs, tiles)) = (columns.as_chunks(), tiles.as_chunks());
    let fold = |met: u64| {
        let met = met | met >> 32;
        let met = met | met >> 16;
        (met | met >> 8) as u8
    };
    let mut met = 0;
    for (columns, tiles) in eights.iter().zip(packs) {
        // SAFETY: by the contract.
        met |= unsafe { eight_tiles(columns, tiles, x) };
        if fold(met) & wanted == wanted {
            return wanted;
        }
    }
    let mut rest = 0;
    for (&column, tile) in columns.iter().zip(tiles) {
        rest |= tile & (u64::from(x[column as usize]) * ONES as u64);
    }
    fold(met) | rest.hits() as u8
}

/// Bit `k`: whether entry `k` is in `x`.
///
/// # Safety
/// The columns are below the number of bits of `x`.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn sixteen_entries(columns: &[u32; 16], x: &[u8]) -> u16 {
    let c = columns.as_ptr();
    // Volatile, or the compiler would shift all columns in a register and take them out one by one, which is slower.
    macro_rules! at {
        ($k:expr) => {
            i32::from(*x.get_unchecked((c.add($k).read_volatile() >> 3) as usize))
        };
    }
    // SAFETY: by the contract.
    let (low, high) = unsafe {
        (_mm_unpacklo_epi32(four_bytes!(at, 0), four_bytes!(at, 4)), _mm_unpacklo_epi32(four_bytes!(at, 8), four_bytes!(at, 12)))
    };
    let bytes = _mm_unpacklo_epi64(low, high);
    // SAFETY: sixteen columns are four registers.
    let place = |k: usize| _mm_and_si128(unsafe { _mm_loadu_si128(c.add(4 * k).cast()) }, _mm_set1_epi32(7));
    let places = _mm_packus_epi16(_mm_packus_epi32(place(0), place(1)), _mm_packus_epi32(place(2), place(3)));
    let bits = _mm_shuffle_epi8(_mm_set1_epi64x(0x8040_2010_0804_0201_u64 as i64), places);
    _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_and_si128(bytes, bits), bits)) as u16
}

/// A bit of `hits` for every entry.
///
/// # Safety
/// As [`sixteen_entries`].
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn entry_hits(columns: &[u32], x: &[u8], hits: &mut [u16]) {
    let (sixteens, rest) = columns.as_chunks();
    for (hits, columns) in hits.iter_mut().zip(sixteens) {
        fetch(columns, AHEAD);
        // SAFETY: by the contract.
        *hits = unsafe { sixteen_entries(columns, x) };
    }
    if !rest.is_empty() {
        let mut columns = [rest[0]; 16];
        columns[..rest.len()].copy_from_slice(rest);
        // SAFETY: by the contract.
        hits[sixteens.len()] = unsafe { sixteen_entries(&columns, x) };
    }
}

/// Four rows: a bit for each that has no hit, and their lengths; longer rows than 57 are not seen whole.
///
/// # Safety
/// As [`entry_rows`].
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn four_rows<O: OffsetInt>(offsets: &[O; 5], first: usize, hits: *const u8) -> (i32, __m256i) {
    macro_rules! at {
        ($k:expr) => {
            hits.add((offsets[$k].index() - first) >> 3)
        };
    }
    // SAFETY: by the contract.
    let words = unsafe { four_words(at!(0), at!(1), at!(2), at!(3)) };
    let lengths = lengths(offsets);
    let starts = _mm256_sub_epi64(wide(offsets.first_chunk().expect("four of five")), _mm256_set1_epi64x(first as i64));
    let words = _mm256_srlv_epi64(words, _mm256_and_si256(starts, _mm256_set1_epi64x(7)));
    let words = _mm256_andnot_si256(_mm256_sllv_epi64(_mm256_set1_epi64x(-1), lengths), words);
    (_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(words, _mm256_setzero_si256()))), lengths)
}

/// Up to eight rows of any length, one by one.
///
/// # Safety
/// As [`entry_rows`].
#[cold]
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn long_rows<O: OffsetInt>(offsets: &[O], first: usize, hits: *const u8) -> u8 {
    offsets.windows(2).enumerate().fold(0, |found, (r, bounds)| {
        let (mut at, end, mut any) = (bounds[0].index() - first, bounds[1].index() - first, 0);
        while at < end {
            // SAFETY: by the contract.
            let word = unsafe { hits.add(at >> 3).cast::<u64>().read_unaligned() } >> (at & 7);
            any |= _bzhi_u64(word, (end - at).min(56) as u32);
            at += 56;
        }
        found | u8::from(any != 0) << r
    })
}

/// A bit for every row: whether it has a hit.
///
/// # Safety
/// `hits` has a bit for every entry of the rows, and eight bytes more.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn entry_rows<O: OffsetInt>(offsets: &[O], hits: &[u16], out: &mut [u8]) {
    let (first, hits, rows) = (offsets[0].index(), hits.as_ptr().cast::<u8>(), offsets.len() - 1);
    for (out, nine) in out.iter_mut().zip(offsets.windows(9).step_by(8)) {
        let (low, high): (&[O; 5], &[O; 5]) = (nine.first_chunk().expect("windows of nine"), nine.last_chunk().expect("windows of nine"));
        // SAFETY: by the contract.
        let ((a, la), (b, lb)) = unsafe { (four_rows(low, first, hits), four_rows(high, first, hits)) };
        *out = !(a | b << 4) as u8;
        if _mm256_testz_si256(_mm256_or_si256(la, lb), _mm256_set1_epi64x(!31)) == 0 {
            // SAFETY: by the contract.
            *out = unsafe { long_rows(nine, first, hits) };
        }
    }
    if !rows.is_multiple_of(8) {
        // SAFETY: by the contract.
        out[rows / 8] = unsafe { long_rows(&offsets[rows / 8 * 8..], first, hits) };
    }
}

/// Sets a bit for every row of a block: whether it meets `x`. `columns` are those of the matrix.
///
/// # Safety
/// The CPU has AVX2, BMI and POPCNT; the offsets ascend and end within the columns, which are below the number of bits of `x`.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn entry_block<O: OffsetInt>(offsets: &[O], columns: &[u32], x: &[u8], hits: &mut EntryHits, out: &mut [u8]) {
    let (first, end) = (offsets[0].index(), offsets[offsets.len() - 1].index());
    assert!(end - first <= ENTRIES, "a block of entries");
    let end = columns.len().min(first + (end - first).next_multiple_of(16));
    // SAFETY: by the contract; the buffer has room for the entries of a block and what is read past them.
    unsafe {
        entry_hits(&columns[first..end], x, &mut hits.0);
        entry_rows(offsets, &hits.0, out);
    }
}
