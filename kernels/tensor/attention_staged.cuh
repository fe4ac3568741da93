// How attention works on blocks of rows that share columns (spmm_staged.cuh): a block of threads takes blocks one after the other, and copies the
// rows of features and the scalars that a block's columns name into shared memory once, while others, or it itself, work at what has come.
//
// Whole rows of features are copied, not slices as for products: the weights of entries are then worked out once. In slices of 64 of 128 columns the
// backward pass took 1.1 to 1.2 times as long (H200).
#pragma once
#include "common/mma_halves.cuh"
#include "tensor/attention_gat.cuh"
#include "tensor/copies_ahead.cuh"
#include "tensor/spmm_staged.cuh"

namespace bg {
/// The copies of a block of threads: rows of WIDTH times 64 halves, and a scalar for each. The 16 bytes of piece i of row r lie at i ^ r % 8.
template <u32 WIDTH, u32 BUFFERS, class Scalar>
struct BlockCopies : CopiesAhead<BlockCopies<WIDTH, BUFFERS, Scalar>, BUFFERS, staged::WINDOWS * WARP> {
    static constexpr u32 ROW = WIDTH * 128, PIECES = WIDTH * 8, THREADS = staged::WINDOWS * WARP;
    const RowBlocks& p;
    const u16* features;
    const Scalar* scalars;
    u32 columns;  // of the features
    u8* rows;
    Scalar* held;

    BG_DEVICE BlockCopies(const RowBlocks& p, const void* features, const Scalar* scalars, u32 columns)
        : CopiesAhead<BlockCopies, BUFFERS, THREADS>(shared_memory() + (u64)BUFFERS * p.capacity * (ROW + sizeof(Scalar))), p(p), features((const u16*)features), scalars(scalars), columns(columns), rows(shared_memory()) {
        held = (Scalar*)(rows + (u64)BUFFERS * p.capacity * ROW);
        this->count = blockIdx.x < p.blocks ? ceil_div(p.blocks - blockIdx.x, gridDim.x) : 0;
    }
    BG_DEVICE u32 block(u32 k) const { return blockIdx.x + k * gridDim.x; }
    BG_DEVICE u8* rows_of(u32 k) const { return rows + (u64)(k % BUFFERS) * p.capacity * ROW; }
    BG_DEVICE Scalar* scalars_of(u32 k) const { return held + (u64)(k % BUFFERS) * p.capacity; }
    BG_DEVICE void look_up(u32 k) {
        if (k >= this->count) return;
        this->begin = load_readonly(p.begins + block(k));
        this->end = load_readonly(p.begins + block(k) + 1);
    }
    BG_DEVICE void copy_rows(u32 k) {
        if (k >= this->count) return;
        const u32 *from = this->record(k) + staged::COLUMNS_AT, named = this->record(k)[staged::COLUMN_COUNT];
        Scalar* to_scalar = scalars_of(k);
        for (u32 i = threadIdx.x; i < named; i += THREADS) {
            if constexpr (sizeof(Scalar) == 16) copy_async16(to_scalar + i, scalars + from[i]);
            else copy_async4(to_scalar + i, scalars + from[i]);
        }
        const u32 first = threadIdx.x / PIECES, piece = threadIdx.x % PIECES;
        if (piece * 8 >= columns) return;
        u8* to = rows_of(k) + first * ROW;
        const u16* x = features + piece * 8;
#pragma unroll 4
        for (u32 i = first; i < named; i += THREADS / PIECES, to += THREADS / PIECES * ROW)
            copy_async16(to + ((piece ^ (i & 7u)) << 4), x + (u64)from[i] * columns);
    }
    /// Before the first block.
    BG_DEVICE void start() {
        // What no copy writes is multiplied, too.
        if (columns < PIECES * 8)
            for (u32 i = threadIdx.x; i < BUFFERS * p.capacity * PIECES; i += THREADS) ((uint4*)rows)[i] = make_uint4(0, 0, 0, 0);
        CopiesAhead<BlockCopies, BUFFERS, THREADS>::start();
    }
};

/// The tiles of a window of a block, and its two rows that a lane works at.
struct BlockWindow {
    const u32 *first, *last;
    u32 rows[2];
    BG_DEVICE explicit BlockWindow(const u32* words) {
        using namespace staged;
        const u32 window = threadIdx.x / WARP;
        const u32* tiles = words + words[TILES_AT];
        first = tiles + words[FIRST_TILES + window] * TILE_WORDS;
        last = tiles + words[FIRST_TILES + window + 1] * TILE_WORDS;
#pragma unroll
        for (u32 r = 0; r < 2; r++) rows[r] = words[ROWS_AT + window * WINDOW_ROWS + (lane() >> 2) + 8 * r];
    }
};

/// A lane's two rows of features of a window as they are loaded: 16 bytes of each 32 columns.
template <u32 WIDTH> struct WindowRows {
    u32 words[2][WIDTH * 2][4];
    BG_DEVICE WindowRows(const void* features, u32 columns, const BlockWindow& window) {
#pragma unroll
        for (u32 r = 0; r < 2; r++)
#pragma unroll
            for (u32 c = 0; c < WIDTH * 2; c++) {
                const u32 piece = c * 4 + (lane() & 3u);
                const uint4 x = load_halves8(features, window.rows[r], columns, piece, window.rows[r] != staged::NO_ROW && piece * 8 < columns);
                words[r][c][0] = x.x;
                words[r][c][1] = x.y;
                words[r][c][2] = x.z;
                words[r][c][3] = x.w;
            }
    }
    /// As the operand A of pieces 2 q and 2 q + 1.
    BG_DEVICE void arrange(u32 (&a)[WIDTH * 4][4]) {
#pragma unroll
        for (u32 r = 0; r < 2; r++)
#pragma unroll
            for (u32 c = 0; c < WIDTH * 2; c++) {
                transpose_quad(words[r][c]);
#pragma unroll
                for (u32 i = 0; i < 4; i++) a[2 * c + i / 2][i % 2 * 2 + r] = words[r][c][i];
            }
    }
};

/// A tile as a lane takes it: four of its columns' places in the block, 2 t, 2 t + 1 and those 8 further, and which of the lane's two rows has which.
struct BlockTile {
    u32 places[4], masks[2][2];
    BG_DEVICE explicit BlockTile(const u32* tile) {
        const u32 t = lane() & 3u, near = tile[t], far = tile[4 + t], mask = tile[staged::MASKS_AT + (lane() >> 2)];
        places[0] = near & 0xffffu;
        places[1] = near >> 16;
        places[2] = far & 0xffffu;
        places[3] = far >> 16;
#pragma unroll
        for (u32 h = 0; h < 2; h++)
#pragma unroll
            for (u32 r = 0; r < 2; r++) masks[h][r] = __funnelshift_l(mask, mask, t + 4 * h + 8 * r);
    }
    /// Whether row r has column 2 h + k of the four.
    BG_DEVICE bool has(u32 r, u32 h, u32 k) const { return (masks[h][r] & (k ? 0x40000000u : 0x4000u)) != 0; }
};

/// Where a lane finds the rows of a tile's columns for tensor cores: of pieces 2 q and 2 q + 1, matrices of the first and of the second 8 columns.
template <u32 ROW> struct TileRows {
    const u8* row;
    u32 swizzle;
    BG_DEVICE TileRows(const u8* rows, const u32* tile) {
        const u32 place = ((const u16*)tile)[lane() & 15u];
        row = rows + place * ROW;
        swizzle = (place & 7u) ^ lane() >> 4;
    }
    BG_DEVICE const u8* at(u32 q) const { return row + ((swizzle ^ 2 * q) << 4); }
};
/// dots += own rows x rows of a tile's columns: of the first and of the second 8 columns.
template <class T, u32 WIDTH, u32 ROW> BG_DEVICE void dot_tile(f32 (&dots)[2][4], const u32 (&own)[WIDTH * 4][4], const TileRows<ROW>& rows) {
#pragma unroll
    for (u32 q = 0; q < WIDTH * 4; q++) {
        u32 b[4];
        load_matrices(b, rows.at(q));
        mma_16x8x16<T>(dots[0], own[q], b[0], b[2]);
        mma_16x8x16<T>(dots[1], own[q], b[1], b[3]);
    }
}
/// sums += weights x rows, the weights of a tile as the operand A.
template <class T, u32 WIDTH, u32 ROW> BG_DEVICE void add_tile(f32 (&sums)[WIDTH * 8][4], const u32 (&weights)[4], const TileRows<ROW>& rows) {
#pragma unroll
    for (u32 q = 0; q < WIDTH * 4; q++) {
        u32 b[4];
        load_matrices_transposed(b, rows.at(q));
        mma_16x8x16<T>(sums[2 * q], weights, b[0], b[1]);
        mma_16x8x16<T>(sums[2 * q + 1], weights, b[2], b[3]);
    }
}
}  // namespace bg
