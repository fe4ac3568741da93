// The last layer's attention, and the phases of the backward pass but for the first weight.
#pragma once
#include "tensor/gat_epochs_forward.cuh"

namespace bg {
template <u32 C> struct GatBackward : GatForward<C> {
    using Base = GatForward<C>;
    using Base::p, Base::b, Base::bits, Base::head_lanes, Base::columns, Base::span, Base::stride, Base::head_of;
    using Base::shift, Base::width, Base::warps, Base::warp, Base::words, Base::kept, Base::w2, Base::parts, Base::flags;
    using Base::own, Base::right, Base::d_left, Base::d_right, Base::hidden, Base::slopes, Base::attended, Base::plus, Base::lse, Base::share;
    using Base::last, Base::d_last, Base::d_last_left, Base::d_last_right, Base::d_pairs;
    static constexpr u32 QUADS = C / 4;

    BG_DEVICE GatBackward(const GatEpochsParams& p) : Base(p) {}

    /// The last layer's attention of training nodes, their loss, and what follows for the rows that they hear from.
    BG_DEVICE void backward(u32 epoch) {
        const u32 size = columns + 2 * p.last_heads, c = lane() & (width - 1);
        const u32* drawn = this->kept_of(epoch) + p.hidden_positions;
        for (u32 t = warp; t < b.pair_count; t += warps) {
            const u32* pair = words + b.pairs + t * 8;
            const u32 label = pair[2] & ~EPOCHS_OWN, self = pair[4], row = pair[6];
            const bool first = pair[2] & EPOCHS_OWN;
            const GatLast of{(f32*)kept};
            const f32 logit = gat_last(p, GatNames{words + b.names + pair[0], pair[1], self, drawn + pair[3]}, shift, span, of);
            const EpochsSoftmax s(logit + w2[this->last_bias_at() + c], label, p.run.classes, shift);
            const f32 gradient = c < p.run.classes ? (s.share - (c == label ? 1.0f : 0.0f)) * p.run.share : 0.0f;
            if (first) this->count_loss(gradient, s.loss);
            const f32 dy = gradient / p.last_heads;
            const u32 bit = load_l2(drawn + pair[3] + pair[5]);
#pragma unroll 1
            for (u32 base = 0; base < columns; base += WARP) {
                const u32 d = base + (lane() & (span - 1)), head = min_of(d, columns - 1) >> shift;
                const bool there = d < columns;
                f32 dot = there ? dy * last()[row * columns + d] : 0.0f, delta = dy * of.y(base), positive = dy * of.plus(base);
                warp_sync();
                for (u32 across = 1; across < width; across <<= 1) {
                    dot += shuffle_xor(dot, across);
                    delta += shuffle_xor(delta, across);
                    positive += shuffle_xor(positive, across);
                }
                const f32 z = load_l2(p.last_left + (u64)self * p.last_heads + head) +
                              load_l2(p.last_right + (u64)(b.hidden_begin + row) * p.last_heads + head);
                const f32 probability = exp2_of(leaky(z, p.slope) - of.lse(base)), factor = bit >> head & 1 ? p.attention_factors[1] : 0.0f;
                const f32 d_score = probability * (factor * dot - delta);
                if (lane() >= span || !there) continue;
                f32* to = d_pairs() + (u64)t * size;
                to[d] = probability * factor * dy;
                if (c != 0) continue;
                to[columns + head] = z > 0 ? d_score : d_score * p.slope;
                to[columns + p.last_heads + head] = first ? (1 - p.slope) * (positive - delta * of.share(base)) : 0.0f;
            }
        }
    }
    BG_DEVICE void score(u32 epoch) {
        const u32 c = lane() & (width - 1);
        // From the last warp on: pairs begin at the first one.
        for (u32 t = warps - 1 - warp; t < b.outputs; t += warps) {
            const uint4 node = ((const uint4*)(words + b.scored))[t];
            const GatLast of{(f32*)kept};
            const f32 logit = gat_last(p, GatNames{words + b.names + node.x, node.y, node.w, nullptr}, shift, span, of);
            const EpochsSoftmax s(logit + w2[this->last_bias_at() + c], node.z & 0x3fffffffu, p.run.classes, shift);
            this->count_score(s, node.z >> 30);
        }
    }
    /// Gradients of the hidden rows and of the small parameters above them.
    BG_DEVICE void backward_hidden(u64* sums) {
        const u32 heads = p.last_heads, size = columns + 2 * heads;
        const u32* ends = words + b.pair_ends;
        for (u32 i = threadIdx.x; i < b.hidden * heads; i += blockDim.x) {
            const u32 r = i / heads, k = i % heads;
            f32 of_right = 0, of_left = 0;
            for (u32 t = ends[r]; t < ends[r + 1]; t++) {
                of_right += d_pairs()[(u64)t * size + columns + k];
                of_left += d_pairs()[(u64)t * size + columns + heads + k];
            }
            d_last_right()[i] = of_right;
            d_last_left()[i] = of_left;
        }
        this->add_last_bias(sums + this->last_bias_at());
        __syncthreads();
        const f32 *left_vector = w2 + this->last_vector_at(0), *right_vector = w2 + this->last_vector_at(1);
        for (u32 i = threadIdx.x; i < b.hidden * columns; i += blockDim.x) {
            const u32 r = i / columns, d = i % columns, k = d >> shift;
            f32 sum = d_last_left()[r * heads + k] * left_vector[d] + d_last_right()[r * heads + k] * right_vector[d];
            for (u32 t = ends[r]; t < ends[r + 1]; t++) sum += d_pairs()[(u64)t * size + d];
            d_last()[i] = sum;
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < b.hidden * C; i += blockDim.x) {
            const u32 r = i / C, c = i % C;
            f32 sum = 0;
            for (u32 d = 0; d < columns; d++) sum += d_last()[r * columns + d] * w2[c * columns + d];
            const f32 d = slopes()[i] * sum;
            slopes()[i] = d;
            p.hidden_gradients[(u64)b.hidden_begin * C + i] = d;
        }
        if (b.hidden) {
            for (u32 i = blockDim.x - 1 - threadIdx.x; i < (C + 2) * columns; i += blockDim.x) {
                const u32 c = i / columns, d = i % columns;
                f32 sum = 0;
                if (c < C) {
                    for (u32 r = 0; r < b.hidden; r++) sum += hidden()[r * C + c] * d_last()[r * columns + d];
                } else {
                    const f32* of = c == C ? d_last_left() : d_last_right();
                    for (u32 r = 0; r < b.hidden; r++) sum += of[r * heads + (d >> shift)] * last()[r * columns + d];
                }
                reduce_add(sums + (c < C ? i : this->last_vector_at(c - C) + d), epochs_fixed(sum, flags));
            }
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < b.hidden << bits; i += blockDim.x) {
            const u32 r = i >> bits, h = i & (head_lanes - 1);
            f32 delta = 0, positive = 0;
            if (h < p.heads) {
                for (u32 c = h * p.head_columns; c < (h + 1) * p.head_columns; c++) {
                    delta += slopes()[r * C + c] * attended()[r * C + c];
                    positive += slopes()[r * C + c] * plus()[r * C + c];
                }
            }
            const f32 left = load_l2(p.left + ((u64)words[b.own_rows + r] << bits) + h);
            ((float4*)p.scalars)[((u64)b.hidden_begin << bits) + i] =
                h < p.heads ? make_float4(left, lse()[i], delta, (1 - p.slope) * (positive - delta * share()[i])) : make_float4(0, 0, 0, 0);
        }
        const u32 c = blockDim.x - 1 - threadIdx.x;
        if (c < C && b.hidden) {
            f32 sum = 0;
            for (u32 r = 0; r < b.hidden; r++) sum += slopes()[r * C + c];
            reduce_add(sums + this->bias_at() + c, epochs_fixed(sum, flags));
        }
    }

    /// Gradients of the products of the features, from the hidden rows that hear from them.
    BG_DEVICE void backward_rows(u32 epoch, u64* sums) {
        const EpochsLists& lists = b.hearers;
        const u32 *places = words + lists.places, *ends = words + lists.ends, *drawn = this->kept_of(epoch);
        const u32 h = lane() & (head_lanes - 1), first_entry = lane() >> bits, step = WARP >> bits;
        for (u32 t = warp; t < lists.tasks; t += warps) {
            const u32 begin = places[t], count = places[t + 1] - begin;
            const u32 *names = words + lists.entries + begin, *ids = words + lists.ids + begin;
            f32* weights = (f32*)kept;
            const f32 of = right()[(words[b.hearer_owners + t] << bits) + h];
            f32 less = 0;
#pragma unroll 2
            for (u32 i = first_entry; i < count; i += step) {
                const float4 row = load_l2((const float4*)p.scalars + ((u64)names[i] << bits) + h);
                const u32 bit = load_l2(drawn + ids[i]) >> h & 1;
                const f32 z = row.x + of, probability = exp2_of(leaky(z, p.slope) - row.y);
                less += (z > 0 ? probability : p.slope * probability) * row.z;
                const f32 weight = bit ? probability * p.attention_factors[0] : 0.0f;
                weights[(i << bits) + h] = z > 0 ? weight : -weight;
            }
            warp_sync();
            less = this->over_entries(less);
            f32* part = parts + (u64)t * stride;
            this->sum_weighted(count, names, p.hidden_gradients, part);
            if (lane() < head_lanes) part[2 * C + h] = less;
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < b.rows * (2 * QUADS); i += blockDim.x) {
            const u32 r = i / (2 * QUADS), quad = i % (2 * QUADS), first = ends[r];
            if (ends[r + 1] - first < 2) continue;
            float4 sum = make_float4(0, 0, 0, 0);
            for (u32 t = first; t < ends[r + 1]; t++) epochs_add(sum, 1.0f, ((const float4*)(parts + (u64)t * stride))[quad]);
            ((float4*)(parts + (u64)first * stride))[quad] = sum;
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < b.rows << bits; i += blockDim.x) {
            const u32 r = i >> bits, of = i & (head_lanes - 1), place = words[b.hidden_of + r];
            const f32* part = parts + (u64)ends[r] * stride;
            f32 sum = 0;
            if (of < p.heads) {
                for (u32 c = of * p.head_columns; c < (of + 1) * p.head_columns; c++)
                    sum += own()[r * C + c] * (p.slope * part[c] + (1 - p.slope) * part[C + c]);
            }
            for (u32 t = ends[r]; t < ends[r + 1]; t++) sum -= parts[(u64)t * stride + 2 * C + of];
            d_right()[i] = sum;
            d_left()[i] = place == ~0u ? 0.0f : load_l2((const float4*)p.scalars + ((u64)place << bits) + of).w;
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < b.rows * C; i += blockDim.x) {
            const u32 r = i / C, c = i % C, at = (r << bits) + head_of[c];
            p.gradients[(u64)b.rows_begin * C + i] =
                parts[(u64)ends[r] * stride + c] + d_left()[at] * w2[this->vector_at(0) + c] + d_right()[at] * w2[this->vector_at(1) + c];
        }
        for (u32 i = blockDim.x - 1 - threadIdx.x; i < 2 * C; i += blockDim.x) {
            const u32 c = i % C, of = head_of[c];
            const f32* d = i < C ? d_left() : d_right();
            f32 sum = 0;
            for (u32 r = 0; r < b.rows; r++) sum += d[(r << bits) + of] * own()[r * C + c];
            if (b.rows) reduce_add(sums + this->vector_at(0) + i, epochs_fixed(sum, flags));
        }
    }
};
}  // namespace bg
