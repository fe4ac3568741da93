// Dense products by tensor cores where one side is long and the other small, as in a layer of a network over many nodes: of f32 with each number
// as two (see mma_tf32.cuh), of f16 and bf16 as they are.
//
// A block keeps the small matrix in shared memory, split and in the order in which lanes read it, and takes tiles of the tall one's rows; a lane
// reads 16 bytes of a row and uses them in two steps, so that nothing of them goes through shared memory.
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
    u64 rows;        // of the product
    u32 length;      // of a sum: at most LONG_LENGTH
    u32 columns;     // a multiple of what a lane reads at once
    u32 tiles;       // of columns
    u32 transposed;  // whether the small matrix is stored transposed
    TensorEpilogue epilogue;
};

/// Threads of a block: of f32 three groups, so that one multiplies while another stores; of halves two blocks fit. 100 000 rows of 128 terms and
/// columns take 52 us, by two groups 57; with a bias and a ReLU 63 and 77 (H200).
constexpr u32 LONG_THREADS = 256, LONG_THREADS_F32 = 384;
/// Rows of a warp, those of them that are on their way out at once, of f32 fewer for more warps, and the length of sums at most.
constexpr u32 LONG_ROWS = 16, LONG_STORED = 16, LONG_STORED_F32 = 8, LONG_LENGTH = 128;
/// What the distance of rows on their way out is longer than they: lanes then write to different banks.
constexpr u32 LONG_GAP = 16;

/// Whether a number is finite.
BG_DEVICE bool is_finite(f32 x) { return x - x == 0.0f; }

/// One of four numbers.
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
    static constexpr u32 STORED = same_type<T, f32>::value ? LONG_STORED_F32 : LONG_STORED;
    /// Pairs of steps of the longest sums, and how many of them a lane reads ahead.
    static constexpr u32 PAIRS = LENGTH / (4 * READ), AHEAD = 4;
    const GemmLongParams& p;
    uint4* small;
    f32* stored;  // rows of the warp on their way out
    u32 g, t, first;

    BG_DEVICE explicit LongRows(const GemmLongParams& params) : p(params), small((uint4*)shared_memory()), g(lane() >> 2), t(lane() & 3u) {
        stored = (f32*)(small + pairs() * Terms::WORDS * TILES * WARP) + threadIdx.x / WARP * STORED * PITCH;
        first = blockIdx.x % p.tiles * COLUMNS;
    }
    /// Pairs of steps: of f32 as many as there may be, since products by groups of warps have to be the same for all.
    BG_DEVICE u32 pairs() const { return same_type<T, f32>::value ? PAIRS : ceil_div(p.length, 4 * READ); }

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
    /// Forms the sums on their way out once more, term by term, of rows from `row` on.
    BG_DEVICE void mend(u64 row) const {
        const u64 across = p.transposed ? p.b.stride : 1, down = p.transposed ? 1 : p.b.stride;
#pragma unroll 1
        for (u32 i = lane(); i < STORED * COLUMNS; i += WARP) {
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
#pragma unroll 1
        for (u32 part = 0; part < LONG_ROWS / STORED; part++) {
            warp_sync();
            bool finite = true;
#pragma unroll
            for (u32 h = 0; h < STORED / 8; h++)
#pragma unroll
                for (u32 pair = 0; pair < TILES / 2; pair++) {
                    const auto sum = [&](u32 tile, u32 i) { return part == 0 ? sums[tile][2 * h + i] : sums[tile][2 + i]; };
                    const float4 four = make_float4(sum(2 * pair, 0), sum(2 * pair, 1), sum(2 * pair + 1, 0), sum(2 * pair + 1, 1));
                    *(float4*)(stored + (g + 8 * h) * PITCH + 16 * pair + 4 * t) = four;
                    finite = finite && is_finite(four.x) && is_finite(four.y) && is_finite(four.z) && is_finite(four.w);
                }
            if constexpr (same_type<T, f32>::value) {
                // What is no finite number was none, or is too large for one of the two that it goes in as.
                if (!all(finite)) mend(row + part * STORED);
            }
            warp_sync();
            finish_rows(row + part * STORED);
        }
    }
    /// Takes the rows on their way out through the steps, from `row` on.
    BG_DEVICE void finish_rows(u64 row) const {
        constexpr u32 LANES = COLUMNS / READ, APART = WARP / LANES, TOGETHER = 4;
        const u32 own = lane() % LANES * READ, column = first + own;
#pragma unroll 1
        for (u32 r = lane() / LANES; r < STORED; r += TOGETHER * APART) {
            if (row + r >= p.rows || column >= p.columns) break;
            f32 x[TOGETHER][READ];
#pragma unroll
            for (u32 k = 0; k < TOGETHER; k++)
#pragma unroll
                for (u32 i = 0; i < READ; i += 4) {
                    const float4 from = *(const float4*)(stored + (r + k * APART) * PITCH + own + i);
                    x[k][i] = from.x, x[k][i + 1] = from.y, x[k][i + 2] = from.z, x[k][i + 3] = from.w;
                }
            // Of halves summands have no factors: registers for them would be too many.
            finish_vectors<same_type<T, f32>::value>(p.epilogue, p.y, RowsOf{row + r, p.rows - 1, APART}, column, x);
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

}  // namespace bg
