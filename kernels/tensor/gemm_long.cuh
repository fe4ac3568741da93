// Dense products by tensor cores where one side is long and the other small, as in a layer of a network over many nodes: of f32 with each number
// as two (see mma_tf32.cuh), of f16 and bf16 as they are.
//
// Rows: a tall matrix times a small one. A block keeps the small one in shared memory, split and in the order in which lanes read it, and takes
// tiles of the tall one's rows; a lane reads 16 bytes of a row and uses them in two steps, so that nothing of them goes through shared
// memory. Columns: the transpose of a tall matrix times a tall one, of f32. A warp has 64 x 64 of the product, its lanes read both matrices
// where they are, and blocks take parts of the sums, which a second launch adds in their order.
//
// A result that is no finite number is formed once more from the numbers as they are: a number that is infinite is not two numbers.
#pragma once
#include "common/wgmma_tf32.cuh"
#include "common/mma_halves.cuh"
#include "tensor/vector_steps.cuh"

namespace bg {
struct GemmLongParams {
    TensorView a, b;
    TensorOut y;
    f32* partials;   // columns: of parts, rows and columns
    u64 rows;        // of the product
    u64 length;      // of a sum; rows: at most LONG_LENGTH
    u64 part;        // columns: of it, for a block
    u32 columns;     // a multiple of 4
    u32 tiles;       // of columns
    u32 parts;
    u32 transposed;  // rows: whether the small matrix is stored transposed
    TensorEpilogue epilogue;
};

constexpr u32 LONG_THREADS = 256;
/// Rows: of a warp, and the length of sums at most. Columns: rows and columns of a block's tile.
constexpr u32 LONG_ROWS = 16, LONG_LENGTH = 128, LONG_TILE = 128;
/// What the distance of rows on their way out is longer than they: lanes then write to different banks.
constexpr u32 LONG_GAP = 16;

/// Whether a number is finite.
BG_DEVICE bool is_finite(f32 x) { return x - x == 0.0f; }

template <class T> BG_DEVICE f32 element(const TensorView& x, u64 row, u64 column) { return widen(((const T*)x.data)[row * x.stride + column]); }
/// Four neighbours; zero from `end` on, in both directions.
BG_DEVICE float4 four(const TensorView& x, u64 row, u64 rows, u64 column, u64 columns) {
    if (row >= rows || column >= columns) return make_float4(0, 0, 0, 0);
    return load_readonly((const float4*)((const f32*)x.data + row * x.stride + column));
}
BG_DEVICE f32 of_four(const float4& x, u32 i) { return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w; }
BG_DEVICE f32 number(const uint4& x, u32 i) { return __uint_as_float(i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w); }

/// How numbers of a type go through tensor cores: those of f32 as two, in steps of 8 terms, those of 16 bits as they are, in steps of 16. A lane
/// reads 16 bytes of a row, READ numbers, and uses them in two steps. The small side is, for each pair of steps, WORDS times 16 bytes for each
/// tile of 8 columns and lane.
template <class T> struct LongTerms {
    static constexpr u32 READ = 8, WORDS = 1;

    /// Puts number `i` of those that go with what a lane reads of a row.
    template <u32 TILES> static BG_DEVICE void put(uint4* pair, u32 tile, u32 lane, u32 i, f32 x) {
        ((T*)(pair + tile * WARP + lane))[i] = Narrow<T>::of(x);
    }
    /// Adds the products of all pairs of steps: those of pair `q` of what is in x[q % AHEAD], in whose place `refill(q)` then begins to read.
    template <u32 PAIRS, u32 AHEAD, u32 TILES, class F>
    static BG_DEVICE void multiply(uint4 (&x)[AHEAD][2], const uint4* small, u32 pairs, f32 (&sums)[TILES][4], const F& refill) {
#pragma unroll
        for (u32 q = 0; q < PAIRS; q++) {
            const uint4(&a)[2] = x[q % AHEAD];
            const u32 first[4] = {a[0].x, a[1].x, a[0].y, a[1].y}, second[4] = {a[0].z, a[1].z, a[0].w, a[1].w};
            if (q < pairs) {
#pragma unroll
                for (u32 tile = 0; tile < TILES; tile++) {
                    const uint4 b = small[(q * TILES + tile) * WARP + lane()];
                    mma_16x8x16<T>(sums[tile], first, b.x, b.y);
                    mma_16x8x16<T>(sums[tile], second, b.z, b.w);
                }
            }
            refill(q);
        }
    }
};
template <> struct LongTerms<f32> {
    static constexpr u32 READ = 4, WORDS = 2;

    /// For each step first the upper parts, as wgmma_tf32.cuh has them, then what they leave.
    template <u32 TILES> static BG_DEVICE void put(uint4* pair, u32 tile, u32 lane, u32 i, f32 x) {
        u32* to = (u32*)(pair + i / 2 * TILES * WARP) + tile * 64 + i % 2 * WARP + lane;
        split_tf32(x, to[0], to[TILES * 64]);
    }
    /// What a lane has of a step.
    static BG_DEVICE void split(const uint4 (&x)[2], u32 step, u32 (&high)[4], u32 (&low)[4]) {
#pragma unroll
        for (u32 i = 0; i < 4; i++) split_tf32(number(x[i % 2], 2 * step + i / 2), high[i], low[i]);
    }
    template <u32 PAIRS, u32 AHEAD, u32 TILES, class F>
    static BG_DEVICE void multiply(uint4 (&x)[AHEAD][2], const uint4* small, u32, f32 (&sums)[TILES][4], const F& refill) {
        // Numbers of a pair of steps stay where they are until its products are done: pairs use two places in turns.
        u32 high[2][2][4], low[2][2][4];
#pragma unroll
        for (u32 q = 0; q < PAIRS; q++) {
            if (HAS_WGMMA && q > 1) wgmma_wait<1>();
#pragma unroll
            for (u32 step = 0; step < 2; step++) split(x[q % AHEAD], step, high[q % 2][step], low[q % 2][step]);
            refill(q);
            if constexpr (HAS_WGMMA) wgmma_begin();
#pragma unroll
            for (u32 step = 0; step < 2; step++) products(small + (2 * q + step) * TILES * WARP, high[q % 2][step], low[q % 2][step], sums);
            if constexpr (HAS_WGMMA) wgmma_commit();
        }
        if constexpr (HAS_WGMMA) wgmma_wait<0>();
        keep_registers(sums);
    }
    /// Those of a step.
    template <u32 TILES> static BG_DEVICE void products(const uint4* small, const u32 (&high)[4], const u32 (&low)[4], f32 (&sums)[TILES][4]) {
        if constexpr (HAS_WGMMA) {
            const u64 upper = pieces_of(small), lower = pieces_of(small + TILES * 16);
            wgmma_tf32<TILES>(sums, low, upper);
            wgmma_tf32<TILES>(sums, high, lower);
            wgmma_tf32<TILES>(sums, high, upper);
        } else {
#pragma unroll
            for (u32 tile = 0; tile < TILES; tile++) {
                const u32* b = (const u32*)small + tile * 64 + lane();
                const uint4 right = make_uint4(b[0], b[WARP], b[TILES * 64], b[TILES * 64 + WARP]);
#pragma unroll
                for (u32 term = 0; term < SPLIT_TERMS; term++) mma_split(sums[tile], high, low, right, term);
            }
        }
    }
};

/// A tall matrix times a small one, of TILES * 8 columns a block and sums of up to LENGTH. Four warps are a group, whose rows follow each other.
template <class T, u32 TILES, u32 LENGTH> struct LongRows {
    typedef LongTerms<T> Terms;
    static constexpr u32 COLUMNS = 8 * TILES, PITCH = COLUMNS + LONG_GAP, READ = Terms::READ;
    /// Pairs of steps of the longest sums, and how many of them a lane reads ahead.
    static constexpr u32 PAIRS = LENGTH / (4 * READ), AHEAD = 4;
    const GemmLongParams& p;
    uint4* small;
    f32* stored;  // the warp's rows, on their way out
    u32 g, t, first;

    BG_DEVICE explicit LongRows(const GemmLongParams& params) : p(params), small((uint4*)shared_memory()), g(lane() >> 2), t(lane() & 3u) {
        stored = (f32*)(small + pairs() * Terms::WORDS * TILES * WARP) + threadIdx.x / WARP * LONG_ROWS * PITCH;
        first = blockIdx.x % p.tiles * COLUMNS;
    }
    /// Pairs of steps: of f32 as many as there may be, since products by groups of warps have to be the same for all.
    BG_DEVICE u32 pairs() const { return same_type<T, f32>::value ? PAIRS : ceil_div((u32)p.length, 4 * READ); }

    /// The small matrix's columns of this block, read as they lie, several at once, and put in the order of use. A lane's results of two tiles
    /// are four neighbours.
    BG_DEVICE void prepare() const {
        constexpr u32 TOGETHER = 8;
        const u64 across = p.transposed ? p.b.stride : 1, down = p.transposed ? 1 : p.b.stride;
        const u32 length = pairs() * 4 * READ, warps = blockDim.x / WARP;
        const u32 lines = p.transposed ? COLUMNS : length, line = p.transposed ? length : COLUMNS;
        for (u32 i = lane(); i < line; i += WARP) {
            for (u32 o = threadIdx.x / WARP; o < lines; o += TOGETHER * warps) {
                f32 x[TOGETHER];
#pragma unroll
                for (u32 j = 0; j < TOGETHER; j++) {
                    const u32 other = o + j * warps, k = p.transposed ? i : other, column = first + (p.transposed ? other : i);
                    x[j] = k < p.length && column < p.columns && other < lines ? widen(((const T*)p.b.data)[k * down + column * across]) : 0.0f;
                }
#pragma unroll
                for (u32 j = 0; j < TOGETHER; j++) {
                    const u32 other = o + j * warps, k = p.transposed ? i : other, column = p.transposed ? other : i;
                    if (other >= lines) break;
                    const u32 tile = column / 16 * 2 + column / 2 % 2, slot = column % 16 / 4 * 2 + column % 2;
                    uint4* pair = small + k / (4 * READ) * Terms::WORDS * TILES * WARP;
                    Terms::template put<TILES>(pair, tile, 4 * slot + k / READ % 4, k % READ, x[j]);
                }
            }
        }
    }
    /// Where the lane's two of the warp's rows are. Those beyond the last are the last one once more: they are not stored.
    struct Rows { const T* at[2]; };
    BG_DEVICE Rows rows_from(u64 row) const {
        const T* from = (const T*)p.a.data + READ * t;
        return {{from + min_of(row + g, p.rows - 1) * p.a.stride, from + min_of(row + 8 + g, p.rows - 1) * p.a.stride}};
    }
    /// Reads what the lane has of a pair of steps.
    BG_DEVICE void read(const Rows& rows, u32 q, uint4 (&x)[2]) const {
        const bool has = (4 * q + t) * READ < p.length;
#pragma unroll
        for (u32 i = 0; i < 2; i++) x[i] = has ? load_readonly((const uint4*)(rows.at[i] + q * 4 * READ)) : make_uint4(0, 0, 0, 0);
    }
    /// Forms the warp's sums on their way out once more, term by term.
    BG_DEVICE void mend(u64 row) const {
        const u64 across = p.transposed ? p.b.stride : 1, down = p.transposed ? 1 : p.b.stride;
#pragma unroll 1
        for (u32 i = lane(); i < LONG_ROWS * COLUMNS; i += WARP) {
            const T* a = (const T*)p.a.data + min_of(row + i / COLUMNS, p.rows - 1) * p.a.stride;
            const T* b = (const T*)p.b.data + min_of(first + i % COLUMNS, p.columns - 1) * across;
            f32 sum = 0;
#pragma unroll 1
            for (u32 k = 0; k < p.length; k++) sum += widen(a[k]) * widen(b[k * down]);
            stored[i / COLUMNS * PITCH + i % COLUMNS] = sum;
        }
    }
    /// The warp's rows through the epilogue: by way of shared memory, so that a lane has neighbours of a row that lie beside another's.
    BG_DEVICE void store(u64 row, const f32 (&sums)[TILES][4]) const {
        warp_sync();
#pragma unroll
        for (u32 pair = 0; pair < TILES / 2; pair++)
#pragma unroll
            for (u32 h = 0; h < 2; h++)
                *(float4*)(stored + (g + 8 * h) * PITCH + 16 * pair + 4 * t) =
                    make_float4(sums[2 * pair][2 * h], sums[2 * pair][2 * h + 1], sums[2 * pair + 1][2 * h], sums[2 * pair + 1][2 * h + 1]);
        if constexpr (same_type<T, f32>::value) {
            // What is no finite number was none, or is too large for one of the two that it goes in as.
            bool finite = true;
#pragma unroll
            for (u32 tile = 0; tile < TILES; tile++)
#pragma unroll
                for (u32 i = 0; i < 4; i++) finite = finite && is_finite(sums[tile][i]);
            if (!all(finite)) mend(row);
        }
        warp_sync();
        constexpr u32 LANES = COLUMNS / READ, APART = WARP / LANES, TOGETHER = 4;
        const u32 own = lane() % LANES * READ, column = first + own;
#pragma unroll 1
        for (u32 r = lane() / LANES; r < LONG_ROWS; r += TOGETHER * APART) {
            if (row + r >= p.rows || column >= p.columns) break;
            f32 x[TOGETHER][READ];
#pragma unroll
            for (u32 k = 0; k < TOGETHER; k++)
#pragma unroll
                for (u32 i = 0; i < READ; i += 4) {
                    const float4 from = *(const float4*)(stored + (r + k * APART) * PITCH + own + i);
                    x[k][i] = from.x, x[k][i + 1] = from.y, x[k][i + 2] = from.z, x[k][i + 3] = from.w;
                }
            finish_vectors(p.epilogue, p.y, RowsOf{row + r, p.rows - 1, APART}, column, x);
        }
    }
    BG_DEVICE void run() const {
        // The rows of a block, of a group, and of a warp. A group goes on as long as it has any.
        const u32 block = blockDim.x / WARP * LONG_ROWS, warp = threadIdx.x / WARP, own = warp % 4 * LONG_ROWS;
        const u64 step = (u64)(gridDim.x / p.tiles) * block;
        u64 row = (u64)(blockIdx.x / p.tiles) * block + warp / 4 * 4 * LONG_ROWS;
        uint4 x[AHEAD][2];
        Rows rows = rows_from(row + own);
#pragma unroll
        for (u32 q = 0; q < AHEAD; q++) read(rows, q, x[q]);
        prepare();
        publish_shared();
        __syncthreads();
        for (; row < p.rows; row += step) {
            f32 sums[TILES][4] = {};
            const Rows next = rows_from(row + step + own);
            Terms::template multiply<PAIRS, AHEAD>(x, small, pairs(), sums, [&](u32 q) {
                // The next rows are on their way while these are stored.
                if (q + AHEAD < PAIRS) read(rows, q + AHEAD, x[q % AHEAD]);
                else read(next, q + AHEAD - PAIRS, x[q % AHEAD]);
            });
            rows = next;
            store(row + own, sums);
        }
    }
};

/// The transpose of a tall matrix times a tall one: a block's part of the sums of LONG_TILE x LONG_TILE. Four warps have the tile; with
/// eight, two share a place and take every other eight terms.
struct LongColumns {
    const GemmLongParams& p;
    u32 g, t, warp, first_row, first_column;
    u64 begin, end;

    BG_DEVICE explicit LongColumns(const GemmLongParams& params) : p(params), g(lane() >> 2), t(lane() & 3u), warp(threadIdx.x / WARP) {
        const u32 tile = blockIdx.x / p.parts, part = blockIdx.x % p.parts;
        first_row = tile / p.tiles * LONG_TILE + warp / 2 % 2 * 64;
        first_column = tile % p.tiles * LONG_TILE + warp % 2 * 64;
        begin = part * p.part;
        end = min_of(begin + p.part, p.length);
    }
    /// Warps that share a place of the tile.
    BG_DEVICE u32 shares() const { return blockDim.x / (4 * WARP); }
    BG_DEVICE void load(u64 term, float4 (&a)[4], float4 (&b)[4]) const {
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            const u64 k = term + t + i / 2 * 4;
            a[i] = four(p.a, k, end, first_row + i % 2 * 32 + 4 * g, p.rows);
            b[i] = four(p.b, k, end, first_column + i % 2 * 32 + 4 * g, p.columns);
        }
    }
    BG_DEVICE void multiply(f32 (&sums)[4][8][4]) const {
        const u32 step = 8 * shares();
        float4 next_a[4], next_b[4];
        const u64 start = begin + warp / 4 * 8;
        load(start, next_a, next_b);
        for (u64 term = start; term < end; term += step) {
            float4 a[4], b[4];
#pragma unroll
            for (u32 i = 0; i < 4; i++) a[i] = next_a[i], b[i] = next_b[i];
            load(term + step, next_a, next_b);
            u32 high[4][4], low[4][4];
#pragma unroll
            for (u32 m = 0; m < 4; m++)
#pragma unroll
                for (u32 i = 0; i < 4; i++) split_tf32(of_four(a[i / 2 * 2 + m / 2], m % 2 * 2 + i % 2), high[m][i], low[m][i]);
            constexpr u32 TOGETHER = 2;
#pragma unroll
            for (u32 n = 0; n < 8; n += TOGETHER) {
                uint4 right[TOGETHER];
#pragma unroll
                for (u32 i = 0; i < TOGETHER; i++) {
                    split_tf32(of_four(b[n / 4], n % 4 + i), right[i].x, right[i].z);
                    split_tf32(of_four(b[2 + n / 4], n % 4 + i), right[i].y, right[i].w);
                }
#pragma unroll
                for (u32 term = 0; term < SPLIT_TERMS; term++)
#pragma unroll
                    for (u32 i = 0; i < TOGETHER; i++)
#pragma unroll
                        for (u32 m = 0; m < 4; m++) mma_split(sums[m][n + i], high[m], low[m], right[i], term);
            }
        }
    }
    /// The row and the column of a lane's result.
    BG_DEVICE u32 row(u32 m, u32 i) const { return first_row + m / 2 * 32 + 4 * g + m % 2 * 2 + i / 2; }
    BG_DEVICE u32 column(u32 n, u32 i) const { return first_column + n / 4 * 32 + 4 * (2 * t + i % 2) + n % 4; }
    BG_DEVICE void multiply_plainly(f32 (&sums)[4][8][4]) const {
#pragma unroll
        for (u32 m = 0; m < 4; m++)
#pragma unroll
            for (u32 n = 0; n < 8; n++)
#pragma unroll
                for (u32 i = 0; i < 4; i++) {
                    f32 sum = 0;
                    if (row(m, i) < p.rows && column(n, i) < p.columns) {
                        for (u64 k = begin + warp / 4 * 8; k < end; k += k % 8 == 7 ? 8 * shares() - 7 : 1) sum += element<f32>(p.a, k, row(m, i)) * element<f32>(p.b, k, column(n, i));
                    }
                    sums[m][n][i] = sum;
                }
    }
    BG_DEVICE void run() const {
        f32 sums[4][8][4] = {};
        multiply(sums);
        bool finite = true;
#pragma unroll
        for (u32 m = 0; m < 4; m++)
#pragma unroll
            for (u32 n = 0; n < 8; n++)
#pragma unroll
                for (u32 i = 0; i < 4; i++) finite = finite && is_finite(sums[m][n][i]);
        if (!all(finite)) multiply_plainly(sums);
        // The sums of the warp that shares this one's place, each in its lane's. Four tiles of columns are four neighbours.
        float4* others = (float4*)shared_memory() + warp % 4 * 32 * WARP + lane();
        const auto four_of = [&](u32 i) {
            const u32 m = i / 8, n = i / 4 % 2 * 4, at = i % 4;
            return make_float4(sums[m][n][at], sums[m][n + 1][at], sums[m][n + 2][at], sums[m][n + 3][at]);
        };
        if (warp >= 4) {
#pragma unroll
            for (u32 i = 0; i < 32; i++) others[i * WARP] = four_of(i);
        }
        __syncthreads();
        if (warp >= 4) return;
        f32* to = p.partials + (u64)(blockIdx.x % p.parts) * p.rows * p.columns;
#pragma unroll
        for (u32 i = 0; i < 32; i++) {
            const u32 r = row(i / 8, i % 4), c = column(i / 4 % 2 * 4, i % 4);
            float4 x = four_of(i);
            if (shares() > 1) {
                const float4 other = others[i * WARP];
                x = make_float4(x.x + other.x, x.y + other.y, x.z + other.z, x.w + other.w);
            }
            if (r < p.rows && c < p.columns) *(float4*)(to + (u64)r * p.columns + c) = x;
        }
    }
};

/// The sums of the parts: a block's warps take some in turns, four neighbours a lane.
BG_DEVICE void long_merge(const GemmLongParams& p) {
    f32* shared = (f32*)shared_memory();
    const u32 packs = p.columns / 4, warps = blockDim.x / WARP, warp = threadIdx.x / WARP;
    const u64 pack = (u64)blockIdx.x * WARP + lane();
    f32 x[1][4] = {};
    if (pack < p.rows * packs) {
#pragma unroll 4
        for (u32 part = warp; part < p.parts; part += warps) {
            const float4 from = *(const float4*)(p.partials + ((u64)part * p.rows * packs + pack) * 4);
            x[0][0] += from.x, x[0][1] += from.y, x[0][2] += from.z, x[0][3] += from.w;
        }
    }
    float4* mine = (float4*)shared + threadIdx.x;
    *mine = make_float4(x[0][0], x[0][1], x[0][2], x[0][3]);
    __syncthreads();
    if (warp != 0 || pack >= p.rows * packs) return;
    for (u32 w = 1; w < warps; w++) {
        const float4 from = mine[w * WARP];
        x[0][0] += from.x, x[0][1] += from.y, x[0][2] += from.z, x[0][3] += from.w;
    }
    finish_vectors(p.epilogue, p.y, RowsOf{pack / packs, p.rows - 1, 0}, (u32)(pack % packs) * 4, x);
}
}  // namespace bg
