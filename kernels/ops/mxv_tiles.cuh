// Matrix times vector over any semiring, on bit tiles of 4, 8, 16 and 32.
//
// A lane has a row of a tile; the rows of a tile are neighbouring lanes, so that a tile is read once. Several lanes may share a row of
// the matrix, each with every so many-th tile. Values are found by counting: a row's values follow each other in column order.
#pragma once
#include "ops/mxv.cuh"

namespace bg {
/// Row r of tile t.
template <u32 SIZE> BG_DEVICE u32 tile_bits(const void* tiles, u64 t, u32 r) {
    if constexpr (SIZE == 4) return load_readonly((const u16*)tiles + t) >> (4 * r) & 15u;
    else if constexpr (SIZE == 8) return load_readonly((const u8*)tiles + t * 8 + r);
    else if constexpr (SIZE == 16) return load_readonly((const u16*)tiles + t * 16 + r);
    else return load_readonly((const u32*)tiles + t * 32 + r);
}

/// The sum over row r of tiles first, first + step, ... below end. With values, step is 1 and `position` that of the row's first.
template <class R, u32 SIZE> BG_DEVICE void sum_tiles(const MxvParams& p, Sum<R>& sum, u64 first, u64 end, u64 step, u32 r, u64 position) {
    typedef Value<typename R::X> X;
    constexpr u32 AHEAD = 4;
    for (u64 t = first; t < end; t += AHEAD * step) {
        u32 bits[AHEAD], base[AHEAD];
#pragma unroll
        for (u32 j = 0; j < AHEAD; j++) {
            u64 at = t + j * step;
            // Loaded whether wanted or not: conditional loads would wait for each other.
            u64 inside = at < end ? at : end - 1;
            u32 row = tile_bits<SIZE>(p.tiles, inside, r);
            base[j] = load_readonly(p.tile_columns + inside) * SIZE;
            bits[j] = at < end ? row : 0;
        }
#pragma unroll
        for (u32 j = 0; j < AHEAD; j++) {
            for (u32 rest = bits[j]; rest; rest &= rest - 1) {
                u32 column = base[j] + (u32)__ffs(rest) - 1;
                X x = X();
                if (load_x<R>(p, column, x)) {
                    if (p.values) sum.take(R::multiply(load_entry<typename R::A>(p.values, position), x), column);
                    else sum.take(R::multiply_pattern(x), column);
                    if (sum.settled()) return;
                }
                position++;
            }
        }
    }
}

/// `lanes` lanes for each row, lanes * SIZE <= 32. Rows of more tiles than the limit are left out.
template <class R, u32 SIZE> BG_DEVICE void mxv_tiles(const MxvParams& p) {
    RowBits bits;
    u32 group = SIZE * p.lanes, r = threadIdx.x % SIZE, slot = threadIdx.x / SIZE % p.lanes;
    u32 count = blockDim.x / p.lanes, local = threadIdx.x / group * SIZE + r;
    u64 first = (u64)blockIdx.x * count, row = first + local;
    Sum<R> sum;
    if (row < p.rows && mask_selects(p.mask, row)) {
        u64 begin = load_offset(p.tile_offsets, p.tile_wide, row / SIZE), end = load_offset(p.tile_offsets, p.tile_wide, row / SIZE + 1);
        if (end - begin <= p.limit) {
            u64 position = p.values ? load_offset(p.offsets, p.wide, row) : 0;
            sum_tiles<R, SIZE>(p, sum, begin + slot, end, p.lanes, r, position);
        }
    }
    warp_sync();
    sum.merge_groups(SIZE, group);
    store_rows(p, bits, first, count, SIZE, local, slot == 0, sum);
}

/// One block for each long row of tiles of a pattern.
template <class R, u32 SIZE> BG_DEVICE void mxv_long_tiles(const MxvParams& p) {
    typedef typename Sum<R>::V V;
    u64 tile_row = p.long_rows[blockIdx.x];
    u32 r = threadIdx.x % SIZE, slot = threadIdx.x / SIZE, slots = blockDim.x / SIZE;
    u64 row = tile_row * SIZE + r;
    Sum<R> sum;
    bool wanted = row < p.rows && mask_selects(p.mask, row);
    if (wanted) {
        u64 begin = load_offset(p.tile_offsets, p.tile_wide, tile_row), end = load_offset(p.tile_offsets, p.tile_wide, tile_row + 1);
        sum_tiles<R, SIZE>(p, sum, begin + slot, end, slots, r, 0);
    }
    Partial* parts = (Partial*)shared_memory();
    parts[threadIdx.x] = Partial{to_word(sum.value), sum.has ? sum.where : NOWHERE};
    __syncthreads();
    if (slot == 0 && wanted) {
        for (u32 s = 1; s < slots; s++) {
            Partial part = parts[s * SIZE + r];
            sum.merge(of_word<V>(part.value), (u32)part.place, part.place != NOWHERE);
        }
        store_long_row(p, row, sum);
    }
}
}  // namespace bg

/// The kernels over tiles of one size, under the names given.
#define BG_MXV_TILES(R, size, rows, long_rows)                                          \
    BG_KERNEL(rows, bg::MxvParams, 256, 4) { bg::mxv_tiles<R, size>(p); }               \
    BG_KERNEL(long_rows, bg::MxvParams, 256, 4) { bg::mxv_long_tiles<R, size>(p); }
