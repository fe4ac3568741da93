// The state of a block in training graph attention, its dropout, and the phases of the forward pass, of the step and of scores.
#pragma once
#include "tensor/gat_epochs.cuh"

namespace bg {
template <u32 C> struct GatForward : EpochsTrainer<C> {
    using Base = EpochsTrainer<C>;
    using Base::shift, Base::width, Base::warps, Base::warp, Base::words, Base::kept, Base::w2, Base::parts, Base::flags;
    static constexpr u32 QUADS = C / 4;
    const GatEpochsParams& p;
    f32* memory;       // of the block, laid out as the parameters say: registers do not hold so many addresses
    const GatBlock& b;
    const u32* head_of;
    const u32 bits, head_lanes, columns, span, stride;

    BG_DEVICE GatForward(const GatEpochsParams& p)
        : Base(p.run), p(p), memory(this->state.next), b(*(const GatBlock*)(memory + p.layout.block)),
          head_of((const u32*)(memory + p.layout.head_of)), bits(p.head_bits), head_lanes(1u << p.head_bits), columns(p.last_columns),
          span(columns > 16 ? WARP : columns > 8 ? 16 : columns > 4 ? 8 : 4), stride(2 * C + (((3u << p.head_bits) + 3) & ~3u)) {
        const GatBlock& from = p.blocks[blockIdx.x];
        const u32 head_columns = p.head_columns;
        for (u32 i = threadIdx.x; i < sizeof(GatBlock) / sizeof(u32); i += blockDim.x) ((u32*)&b)[i] = ((const u32*)&from)[i];
        for (u32 c = threadIdx.x; c < C; c += blockDim.x) ((u32*)head_of)[c] = min_of(c / head_columns, p.heads - 1);
        this->state.take(p.layout.words);
        this->stage(from.offset, from.words);
    }
    // Of the rows of the step.
    BG_DEVICE f32* own() const { return memory + p.layout.own; }
    BG_DEVICE f32* right() const { return memory + p.layout.right; }
    BG_DEVICE f32* d_left() const { return memory + p.layout.d_left; }
    BG_DEVICE f32* d_right() const { return memory + p.layout.d_right; }
    // Of the hidden rows: those of the step and those that are scored; then of the step alone.
    BG_DEVICE f32* hidden() const { return memory + p.layout.hidden; }
    BG_DEVICE f32* slopes() const { return memory + p.layout.slopes; }
    BG_DEVICE f32* attended() const { return memory + p.layout.attended; }
    BG_DEVICE f32* plus() const { return memory + p.layout.plus; }
    BG_DEVICE f32* lse() const { return memory + p.layout.lse; }
    BG_DEVICE f32* share() const { return memory + p.layout.share; }
    BG_DEVICE f32* last() const { return memory + p.layout.last; }
    BG_DEVICE f32* d_last() const { return memory + p.layout.d_last; }
    BG_DEVICE f32* d_last_left() const { return memory + p.layout.d_last_left; }
    BG_DEVICE f32* d_last_right() const { return memory + p.layout.d_last_right; }
    // Of the pairs.
    BG_DEVICE f32* d_pairs() const { return memory + p.layout.d_pairs; }

    // The small parameters, in this order; their sums of gradients lie alike.
    BG_DEVICE u32 bias_at() const { return C * columns; }
    BG_DEVICE u32 vector_at(u32 side) const { return C * columns + (1 + side) * C; }
    BG_DEVICE u32 last_vector_at(u32 side) const { return C * columns + 3 * C + side * columns; }
    BG_DEVICE u32 last_bias_at() const { return C * columns + 3 * C + 2 * columns; }

    BG_DEVICE u32 row_place(u32 r) const { return r < b.rows ? b.rows_begin + r : b.scored_rows_begin + (r - b.rows); }
    BG_DEVICE u32 hidden_place(u32 r) const { return r < b.hidden ? b.hidden_begin + r : b.scored_hidden_begin + (r - b.hidden); }
    BG_DEVICE const u32* kept_of(u32 epoch) const { return p.kept + (u64)(epoch & 1) * p.position_count; }

    /// The bits of an epoch's dropout, shared out over the grid.
    BG_DEVICE void draw(u32 epoch) {
        this->draw_input(epoch);
        u32* to = const_cast<u32*>(kept_of(epoch));
        const EpochStep& step = p.run.steps[epoch - 1];
        const u64 all = (u64)gridDim.x * blockDim.x;
        // From the last thread on: the first ones draw for the features.
        for (u64 i = all - 1 - ((u64)blockIdx.x * blockDim.x + threadIdx.x); i < p.position_count; i += all) {
            const bool above = i >= p.hidden_positions;
            const u32 heads = above ? p.last_heads : p.heads, threshold = p.attention_thresholds[above], number = step.draws[2 + above];
            u32 word = 0;
            for (u32 quad = 0; quad < heads; quad += 4) {
                const uint4 drawn = philox(p.run.seed, number, p.positions[i], quad / 4);
                const u32 four = (drawn.x >= threshold) | (drawn.y >= threshold) << 1 | (drawn.z >= threshold) << 2 | (drawn.w >= threshold) << 3;
                word |= four << quad;
            }
            to[i] = word;
        }
    }

    /// Products of the features with the first weight, and what they add to scores.
    BG_DEVICE void forward(u32 epoch, bool trained, bool scored) {
        const f32* table = this->weights(epoch - 1);
        const EpochsLists& lists = b.forward;
        const u32 *places = words + lists.places, *ends = words + lists.ends;
        const u32 to = scored ? lists.tasks : b.forward_trained;
        for (u32 t = (trained ? 0 : b.forward_trained) + warp; t < to; t += warps) {
            if (t < b.forward_trained) {
                this->sum_segment(lists, t, epoch, table);
                continue;
            }
            const uint2* entries = (const uint2*)(words + lists.entries) + places[t];
            const float4 sum = epochs_rows<C, true>(places[t + 1] - places[t], table, [&](u32 i) { return entries[i]; });
            if (lane() < QUADS) ((float4*)(parts + (u64)t * C))[lane()] = sum;
        }
        __syncthreads();
        const u32 first_row = trained ? 0 : b.rows, last_row = scored ? b.rows + b.scored_rows : b.rows;
        for (u32 i = first_row * QUADS + threadIdx.x; i < last_row * QUADS; i += blockDim.x) {
            const u32 r = i / QUADS, quad = i % QUADS;
            float4 sum = make_float4(0, 0, 0, 0);
            const f32 factor = r < b.rows ? p.run.input_factor : 1.0f;
            for (u32 t = ends[r]; t < ends[r + 1]; t++) epochs_add(sum, factor, ((const float4*)(parts + (u64)t * C))[quad]);
            ((float4*)(parts + (u64)ends[r] * C))[quad] = sum;
            ((float4*)(p.rows + (u64)row_place(r) * C))[quad] = sum;
            if (r < b.rows) ((float4*)(own() + r * C))[quad] = sum;
        }
        __syncthreads();
        const f32 *left_vector = w2 + vector_at(0), *right_vector = w2 + vector_at(1);
        for (u32 i = (first_row << bits) + threadIdx.x; i < last_row << bits; i += blockDim.x) {
            const u32 r = i >> bits, h = i & (head_lanes - 1);
            const f32* x = parts + (u64)ends[r] * C;
            f32 l = 0, s = 0;
            if (h < p.heads) {
                for (u32 c = h * p.head_columns; c < (h + 1) * p.head_columns; c++) {
                    l += x[c] * left_vector[c];
                    s += x[c] * right_vector[c];
                }
            }
            const u64 at = ((u64)row_place(r) << bits) + h;
            p.left[at] = l * LOG2_E;
            p.right[at] = s * LOG2_E;
            if (r < b.rows) right()[i] = s * LOG2_E;
        }
    }

    /// What the lanes of a head have, added up.
    BG_DEVICE f32 over_entries(f32 x) const {
        for (u32 d = head_lanes; d < WARP; d <<= 1) x += shuffle_xor(x, d);
        return x;
    }
    /// Sums of the rows of a segment by the weights that the warp has in its words.
    BG_DEVICE void sum_weighted(u32 count, const u32* names, const f32* table, f32* to) {
        float4 sum, positive;
        warp_sync();
        gat_rows<C>(count, names, table, (const f32*)kept, bits, head_of, sum, positive);
        if (lane() < QUADS) {
            ((float4*)to)[lane()] = sum;
            ((float4*)(to + C))[lane()] = positive;
        }
        warp_sync();
    }

    /// Attention of the hidden layer, its end, and products with the second weight.
    BG_DEVICE void attend(u32 epoch, bool trained, bool scored) {
        const EpochsLists& lists = b.attention;
        const u32 *places = words + lists.places, *ends = words + lists.ends;
        const u32 h = lane() & (head_lanes - 1), first_entry = lane() >> bits, step = WARP >> bits;
        const u32 to = scored ? lists.tasks : b.attention_trained;
        for (u32 t = (trained ? 0 : b.attention_trained) + warp; t < to; t += warps) {
            const u32 begin = places[t], count = places[t + 1] - begin;
            const u32* names = words + lists.entries + begin;
            const u32* drawn = t < b.attention_trained ? kept_of(epoch) + b.attention_begin + begin : nullptr;
            f32* weights = (f32*)kept;
            const f32 left = load_l2(p.left + ((u64)words[b.attention_owners + t] << bits) + h);
            f32 most = NO_SCORE, powers = 0, plus_powers = 0;
#pragma unroll 4
            for (u32 i = first_entry; i < count; i += step) {
                const f32 z = left + load_l2(p.right + ((u64)names[i] << bits) + h);
                weights[(i << bits) + h] = z;
                most = fmaxf(most, leaky(z, p.slope));
            }
            warp_sync();
            for (u32 d = head_lanes; d < WARP; d <<= 1) most = fmaxf(most, shuffle_xor(most, d));
#pragma unroll 4
            for (u32 i = first_entry; i < count; i += step) {
                const f32 z = weights[(i << bits) + h], power = exp2_of(leaky(z, p.slope) - most);
                powers += power;
                plus_powers += z > 0 ? power : 0.0f;
                f32 weight = power;
                if (drawn) weight = load_l2(drawn + i) >> h & 1 ? power * p.attention_factors[0] : 0.0f;
                weights[(i << bits) + h] = z > 0 ? weight : -weight;
            }
            warp_sync();
            powers = over_entries(powers);
            plus_powers = over_entries(plus_powers);
            f32* part = parts + (u64)t * stride;
            sum_weighted(count, names, p.rows, part);
            if (lane() < head_lanes) {
                f32* sums = part + 2 * C + h;
                sums[0] = most;
                sums[head_lanes] = powers;
                sums[2 * head_lanes] = plus_powers;
            }
        }
        __syncthreads();
        const u32 first_row = trained ? 0 : b.hidden, last_row = scored ? b.hidden + b.scored_hidden : b.hidden;
        for (u32 i = first_row * QUADS + threadIdx.x; i < last_row * QUADS; i += blockDim.x) end_row(i / QUADS, i % QUADS, ends, epoch);
        __syncthreads();
        const f32 *left_vector = w2 + last_vector_at(0), *right_vector = w2 + last_vector_at(1);
        for (u32 base = first_row * columns + warp * WARP; base < last_row * columns; base += blockDim.x) {
            const u32 i = base + lane(), r = i / columns, d = i % columns;
            f32 sum = 0;
            if (r < last_row) {
#pragma unroll 16
                for (u32 c = 0; c < C; c++) sum += hidden()[r * C + c] * w2[c * columns + d];
            }
            // The columns of a head are of neighbouring lanes.
            f32 l = r < last_row ? sum * left_vector[d] : 0.0f, s = r < last_row ? sum * right_vector[d] : 0.0f;
            warp_sync();
            for (u32 across = 1; across < width; across <<= 1) {
                l += shuffle_xor(l, across);
                s += shuffle_xor(s, across);
            }
            if (r >= last_row) continue;
            const u64 place = hidden_place(r);
            p.products[place * columns + d] = sum;
            if (r < b.hidden) last()[i] = sum;
            if ((d & (width - 1)) == 0) {
                p.last_left[place * p.last_heads + (d >> shift)] = l * LOG2_E;
                p.last_right[place * p.last_heads + (d >> shift)] = s * LOG2_E;
            }
        }
    }
    /// Four columns of a hidden row, from its segments.
    BG_DEVICE void end_row(u32 r, u32 quad, const u32* ends, u32 epoch) {
        const bool trained = r < b.hidden, dropped = trained && p.run.hidden_threshold;
        uint4 drawn = make_uint4(~0u, ~0u, ~0u, ~0u);
        if (dropped) drawn = philox(p.run.seed, p.run.steps[epoch - 1].draws[1], words[b.nodes + r], quad);
#pragma unroll 1
        for (u32 u = 0; u < 4; u++) {
            const u32 c = quad * 4 + u, h = head_of[c];
            f32 most = NO_SCORE, powers = 0, plus_powers = 0, sum = 0, positive = 0;
            for (u32 t = ends[r]; t < ends[r + 1]; t++) most = fmaxf(most, parts[(u64)t * stride + 2 * C + h]);
            for (u32 t = ends[r]; t < ends[r + 1]; t++) {
                const f32 *part = parts + (u64)t * stride, *sums = part + 2 * C + h;
                const f32 scale = exp2_of(sums[0] - most);
                powers += sums[head_lanes] * scale;
                plus_powers += sums[2 * head_lanes] * scale;
                sum += part[c] * scale;
                positive += part[C + c] * scale;
            }
            const f32 inverse = 1.0f / powers, y = sum * inverse, x = y + w2[bias_at() + c];
            // What is no number must be seen, not dropped here.
            if (!(x == x)) flags |= EPOCHS_ODD;
            const f32 value = x < 0 ? p.alpha * power_less_1(x) : x;
            const f32 factor = !trained ? 1.0f : philox_word(drawn, u) >= p.run.hidden_threshold ? p.run.hidden_factor : 0.0f;
            hidden()[r * C + c] = value * factor;
            if (!trained) continue;
            slopes()[r * C + c] = factor * (value > 0 ? 1.0f : value + p.alpha);
            attended()[r * C + c] = y;
            plus()[r * C + c] = positive * inverse;
            // All columns of a head say the same of it.
            lse()[(r << bits) + h] = most + log2_of(powers);
            share()[(r << bits) + h] = plus_powers * inverse;
        }
    }
};
}  // namespace bg
