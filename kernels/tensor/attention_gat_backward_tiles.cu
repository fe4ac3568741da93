// The middle launch of the backward pass of additive attention, of halves on tensor cores: a warp takes a window of rows of the transposed
// matrix, 16 entries at a time, whose gradients it copies into its own part of shared memory, the next steps' while it works on this one's. A
// slot is a pair of a transposed row and a head.
//
// First product: A are the gradients of the entries' rows, B the values of the slots, zero outside the slot's head; D, an entry by a slot, is
// turned into probabilities and transposed by one instruction. Second product: A are the same gradients, transposed as they come from shared
// memory, B the probabilities, scaled by 2^14. So a gradient is read once.
//
// An infinity or NaN in a gradient makes the values' gradients of the whole window NaN: it meets the zeros of other rows.
#include "common/async.cuh"
#include "tensor/attention_gat_backward.cuh"

namespace bg {
constexpr u32 STEP_ENTRIES = 16;

/// A step in shared memory: the gradients of its entries, BLOCKS times 128 bytes each, then the scalars of their rows, by entry and head.
template <u32 BLOCKS> struct GradientStep {
    static constexpr u32 ROW = BLOCKS * 128, SCALARS = STEP_ENTRIES * ROW;
    BG_DEVICE static u32 bytes(u32 heads) { return SCALARS + STEP_ENTRIES * heads * 16; }
    /// Pieces of 16 bytes change places with their row, so that eight rows that are loaded together lie in all banks.
    BG_DEVICE static u32 at(u32 row, u32 piece) { return row * ROW + ((piece ^ (row & 7u)) << 4); }
};

/// BLOCKS times 64 columns at most; ONE: there is one head.
template <class T, u32 BLOCKS, bool ONE> BG_DEVICE void gat_backward_tiles(const GatBackwardParams& p) {
    using Step = GradientStep<BLOCKS>;
    constexpr u32 PIECES = BLOCKS * 8, STEPS = attention::BACKWARD_STEPS;
    const u32 heads = ONE ? 1 : p.heads, index = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (index >= p.rows.task_count) return;
    const RowTask task = row_task(p.rows, index);
    const u32 g = lane() >> 2, t = lane() & 3u, pieces = p.columns / 8, head_pieces = p.head_columns / 8, slots = task.count * heads;
    const u32 entries = task.end - task.begin, steps = ceil_div(entries, STEP_ENTRIES);
    u8* const memory = shared_memory() + threadIdx.x / WARP * STEPS * Step::bytes(heads);
    auto step_at = [&](u32 k) { return memory + k % STEPS * Step::bytes(heads); };
    if (pieces < PIECES) {
        for (u32 i = lane(); i < STEPS * Step::bytes(heads) / 16; i += WARP) ((uint4*)memory)[i] = make_uint4(0, 0, 0, 0);
        warp_sync();
    }
    auto column_of = [&](u32 k) {
        const u32 e = STEP_ENTRIES * k + lane() % STEP_ENTRIES;
        return e < entries ? load_readonly(p.rows.indices + task.begin + e) : 0u;
    };
    u32 ahead = column_of(0);
    auto copy_step = [&](u32 k) {
        if (k < steps) {
            const u32 mine = ahead, left = entries - STEP_ENTRIES * k;
            u8* const to = step_at(k);
#pragma unroll
            for (u32 i = 0; i < STEP_ENTRIES * PIECES / WARP; i++) {
                const u32 row = (i * WARP + lane()) / PIECES, piece = lane() % PIECES, column = shuffle(mine, row);
                const u16* from = (const u16*)p.gradient + ((u64)column * p.columns + piece * 8);
                if (piece < pieces) copy_async16_or_zero(to + Step::at(row, piece), from, row < left);
            }
            for (u32 base = 0; base < STEP_ENTRIES * heads; base += WARP) {
                const u32 i = base + lane(), column = shuffle(mine, i / heads % STEP_ENTRIES);
                if (i < STEP_ENTRIES * heads) copy_async16(to + Step::SCALARS + i * 16, p.packed + ((u64)column * heads + i % heads));
            }
            ahead = column_of(k + 1);
        }
        commit_copies();
    };
#pragma unroll
    for (u32 k = 0; k < STEPS; k++) copy_step(k);
    // Of slot g the values, of slots 2t and 2t + 1 the scores.
    u32 own[PIECES];
#pragma unroll
    for (u32 b = 0; b < PIECES; b++) {
        own[b] = 0;
        if (g < slots && b < pieces && (ONE || b / head_pieces == g % heads))
            own[b] = load_readonly((const u32*)((const u16*)p.values + ((u64)(task.row + g / heads) * p.columns + b * 8)) + t);
    }
    u32 from[2], to[2], head[2];
    f32 right[2], right_sums[2] = {0, 0};
#pragma unroll
    for (u32 j = 0; j < 2; j++) {
        const u32 n = 2 * t + j, row = task.row + n / heads;
        head[j] = n % heads;
        from[j] = to[j] = 0;
        right[j] = 0;
        if (n < slots) {
            from[j] = first_entry(p.rows, task, row) - task.begin;
            to[j] = end_entry(p.rows, task, row) - task.begin;
            right[j] = load_readonly(p.right + ((u64)row * heads + head[j])) * LOG2_E;
        }
    }
    f32 sums[PIECES / 2][4];
#pragma unroll
    for (u32 q = 0; q < PIECES / 2; q++) sums[q][0] = sums[q][1] = sums[q][2] = sums[q][3] = 0;
    for (u32 k = 0; k < steps; k++) {
        wait_copies_but<STEPS - 1>();
        warp_sync();
        const u8* const at = step_at(k);
        f32 dots[4] = {0, 0, 0, 0};
#pragma unroll
        for (u32 b = 0; b < PIECES; b += 2) {
            u32 a[4];
            load_matrices(a, at + Step::at(lane() & 15u, b + (lane() >> 4)));
            mma_16x8x16<T>(dots, a, own[b], own[b + 1]);
        }
        // Entries g and g + 8.
        f32 probabilities[4];
#pragma unroll
        for (u32 i = 0; i < 2; i++) {
            const u32 near = g + 8 * i, e = STEP_ENTRIES * k + near;
            f32 kept = 0;
            bool any_mine = false;
#pragma unroll
            for (u32 j = 0; j < 2; j++) {
                const bool mine = e >= from[j] && e < to[j];
                const float4 row = *(const float4*)(at + Step::SCALARS + (near * heads + head[j]) * 16);
                const GatEntry found = gat_entry(row, right[j], dots[2 * i + j], p.slope, mine ? kept_of(p, task.begin + e, head[j]) : 1.0f);
                probabilities[2 * i + j] = mine ? found.weight * PROBABILITY_SCALE : 0.0f;
                right_sums[j] += mine ? found.d_score : 0.0f;
                kept = mine ? found.d_score : kept;
                any_mine = any_mine || mine;
                if (!ONE && mine) p.d_scores[(u64)(task.begin + e) * heads + head[j]] = found.d_score;
            }
            if (ONE && any_mine) p.d_scores[task.begin + e] = kept;
        }
        const u32 b0 = transpose_pairs(pack_pair<T>(probabilities[0], probabilities[1])), b1 = transpose_pairs(pack_pair<T>(probabilities[2], probabilities[3]));
#pragma unroll
        for (u32 q = 0; q < PIECES / 2; q++) {
            u32 a[4];
            load_matrices_transposed(a, at + Step::at((lane() & 7u) + (lane() >> 4) * 8, 2 * q + (lane() >> 3 & 1u)));
            mma_16x8x16<T>(sums[q], a, b0, b1);
        }
        warp_sync();
        copy_step(k + STEPS);
    }
    wait_copies();
#pragma unroll
    for (u32 j = 0; j < 2; j++)
#pragma unroll
        for (u32 d = 4; d < WARP; d <<= 1) right_sums[j] += shuffle_xor(right_sums[j], d);
    // sums[q] are of columns g of pieces 2q and 2q + 1, each for slots 2t and 2t + 1.
    constexpr f32 SCALE = 1.0f / PROBABILITY_SCALE;
    if (task.piece) {
        f32* const partial = p.partial + (u64)index * backward_size(p.columns, heads);
#pragma unroll
        for (u32 j = 0; j < 2; j++) {
            const u32 n = 2 * t + j;
            if (n >= heads) continue;
#pragma unroll
            for (u32 b = 0; b < PIECES; b++)
                if (b < pieces && b / head_pieces == n) partial[b * 8 + g] = sums[b / 2][b % 2 * 2 + j] * SCALE;
            if (g == 0) partial[p.columns + n] = right_sums[j];
        }
        const RowPieces row = pieces_of(p.rows, task, index);
        if (is_last_piece(p.rows, row)) add_pieces<T>(p, row, task.row);
        return;
    }
    // Through shared memory, so that rows are stored by 16 bytes: slot by slot, pieces in places that change with it.
    warp_sync();
    u16* const out = (u16*)memory;
#pragma unroll
    for (u32 b = 0; b < PIECES; b++)
#pragma unroll
        for (u32 j = 0; j < 2; j++) out[((2 * t + j) * PIECES + (b ^ t)) * 8 + g] = Narrow<T>::of(sums[b / 2][b % 2 * 2 + j] * SCALE).bits;
    warp_sync();
    for (u32 i = lane(); i < task.count * pieces; i += WARP) {
        const u32 row = i / pieces, piece = i % pieces, n = row * heads + (ONE ? 0 : piece / head_pieces);
        *(uint4*)((u16*)p.d_values + ((u64)(task.row + row) * p.columns + piece * 8)) = *(const uint4*)(out + (n * PIECES + (piece ^ (n >> 1))) * 8);
    }
    if (g == 0) {
#pragma unroll
        for (u32 j = 0; j < 2; j++)
            if (2 * t + j < slots) p.d_right[(u64)(task.row + (2 * t + j) / heads) * heads + head[j]] = right_sums[j];
    }
}
BG_KERNEL(attention_gat_backward_tiles_f16_64, GatBackwardParams, 64, 12) { gat_backward_tiles<f16, 1, true>(p); }
BG_KERNEL(attention_gat_backward_tiles_f16_128, GatBackwardParams, 64, 8) { gat_backward_tiles<f16, 2, true>(p); }
BG_KERNEL(attention_gat_backward_tiles_bf16_64, GatBackwardParams, 64, 12) { gat_backward_tiles<bf16, 1, true>(p); }
BG_KERNEL(attention_gat_backward_tiles_bf16_128, GatBackwardParams, 64, 8) { gat_backward_tiles<bf16, 2, true>(p); }
BG_KERNEL(attention_gat_backward_heads_f16_64, GatBackwardParams, 64, 10) { gat_backward_tiles<f16, 1, false>(p); }
BG_KERNEL(attention_gat_backward_heads_f16_128, GatBackwardParams, 64, 8) { gat_backward_tiles<f16, 2, false>(p); }
BG_KERNEL(attention_gat_backward_heads_bf16_64, GatBackwardParams, 64, 10) { gat_backward_tiles<bf16, 1, false>(p); }
BG_KERNEL(attention_gat_backward_heads_bf16_128, GatBackwardParams, 64, 8) { gat_backward_tiles<bf16, 2, false>(p); }
}  // namespace bg
