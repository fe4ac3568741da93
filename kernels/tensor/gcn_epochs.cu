// All epochs of training a graph convolution of two layers in one launch, in f32, over sparse features: the step with its dropout, Adam, the
// scores of every state, the choice of the best one.
//
// The sums over neighbours are folded into the features: H = (A X') W1 and dW1 = (A X')^T dH are sums over static lists, so that an epoch
// has three barriers. Only rows that the loss can see are computed, which is exact. A block owns rows of H and features for all epochs; the
// second weight and the biases are followed by every block. The scores of a state are worked out beside the next step, a part in each of
// its phases. Launched cooperatively.
#include "tensor/gcn_epochs.cuh"

namespace bg {
/// Carves arrays out of a piece of memory, each aligned to 16 bytes.
struct GcnCarve {
    f32* next;
    template <class T = f32> BG_DEVICE T* take(u32 words) {
        T* at = (T*)next;
        next += (words + 3) / 4 * 4;
        return at;
    }
};

template <u32 H> struct GcnTrainer {
    const GcnEpochsParams& p;
    const GcnBlock b;
    const u32 shift, width, small, warps, warp;
    const u32* words;
    uint2* kept;
    f32 *w2, *m2, *v2, *before;
    u64* own_sums;     // bias of the last layer, loss, validation loss; block totals
    u32* counts;       // right ones, flags
    f32 *parts, *hidden, *dhidden, *dsums, *dpairs, *w1, *m1, *v1;
    u32 flags;
    bool have_best;
    u64 best_loss;
    u32 best_right, best_epoch, prepared;

    BG_DEVICE GcnTrainer(const GcnEpochsParams& p)
        : p(p), b(p.blocks[blockIdx.x]), shift(p.class_bits), width(1u << p.class_bits), small(H * width + H + width), warps(blockDim.x / WARP),
          warp(threadIdx.x / WARP), flags(0), have_best(false), best_loss(0), best_right(0), best_epoch(0), prepared(0) {
        GcnCarve shared{(f32*)shared_memory() + 4};
        kept = shared.take<uint2>(warps * 256) + warp * 128;
        w2 = shared.take(small);
        m2 = shared.take(small);
        v2 = shared.take(small);
        before = shared.take(small);
        own_sums = shared.take<u64>(2 * (width + 2));
        counts = shared.take<u32>(4);
        GcnCarve state = shared;
        if (p.arena) state.next = p.arena + blockIdx.x * p.arena_words;
        parts = state.take(p.most_segments * H);
        hidden = state.take(p.most_rows * H);
        dhidden = state.take(p.most_rows * H);
        dsums = state.take(p.most_rows * width);
        dpairs = state.take(p.most_pairs * width);
        w1 = state.take(p.most_columns * H);
        m1 = state.take(p.most_columns * H);
        v1 = state.take(p.most_columns * H);
        words = p.words + b.offset;
        if (p.staged) {
            u32* lists = p.arena ? (u32*)shared.next : (u32*)state.next;
            for (u32 i = threadIdx.x; i < b.words; i += blockDim.x) lists[i] = words[i];
            words = lists;
        }
    }
    BG_DEVICE const f32* weights(u32 state) const { return p.weights + (u64)(state & 1) * p.columns * H; }
    BG_DEVICE const u32* bits(u32 epoch) const { return p.bits + (u64)(epoch & 1) * ceil_div(p.entry_count, (u64)WARP); }
    BG_DEVICE f32 bias(u32 h) const { return w2[H * width + h]; }
    BG_DEVICE f32 last_bias(u32 c) const { return w2[H * width + H + c]; }

    /// Reads the parameters that the block follows; another thread's after the next barrier of the block.
    BG_DEVICE void start() {
        const u32 columns = p.hidden_columns;
        for (u32 i = threadIdx.x; i < b.columns * H; i += blockDim.x) {
            const u32 k = i / H, h = i % H;
            const u64 feature = words[b.features + k];
            const f32 x = h < columns ? p.parameters[p.places[0] + feature * columns + h] : 0.0f;
            w1[i] = x;
            m1[i] = v1[i] = 0;
            p.weights[(u64)b.columns_begin * H + i] = x;
        }
        for (u32 i = threadIdx.x; i < small; i += blockDim.x) {
            const u64 place = small_place(i);
            w2[i] = before[i] = place == ~0ull ? 0.0f : p.parameters[place];
            m2[i] = v2[i] = 0;
        }
        for (u32 i = threadIdx.x; i < width + 2; i += blockDim.x) own_sums[i] = 0;
        if (threadIdx.x < 4) counts[threadIdx.x] = 0;
    }
    /// Where one of the small parameters is in the flat buffer; all ones for padding.
    BG_DEVICE u64 small_place(u32 i) const {
        if (i < H * width) {
            const u32 h = i >> shift, c = i & (width - 1);
            return h < p.hidden_columns && c < p.classes ? p.places[2] + (u64)h * p.classes + c : ~0ull;
        }
        i -= H * width;
        if (i < H) return i < p.hidden_columns ? p.places[1] + i : ~0ull;
        i -= H;
        return i < p.classes ? p.places[3] + i : ~0ull;
    }
    BG_DEVICE f32 small_decay(u32 i) const { return i < H * width ? p.decay[2] : i < H * width + H ? p.decay[1] : p.decay[3]; }

    /// The bits of an epoch's dropout of the features, shared out over the grid.
    BG_DEVICE void draw(u32 epoch) {
        u32* to = const_cast<u32*>(bits(epoch));
        const u32 number = p.steps[epoch - 1].input_draw;
        const u64 stride = (u64)gridDim.x * blockDim.x;
        for (u64 base = ((u64)blockIdx.x * warps + warp) * WARP; base < p.entry_count; base += stride) {
            const u64 i = base + lane();
            const bool keep = i < p.entry_count && philox(p.seed, number, p.entries[i], 0).x >= p.input_threshold;
            const u32 all = ballot(keep);
            if (lane() == 0) to[base / WARP] = all;
        }
    }
    BG_DEVICE u32 prepare(u32 task, u32 places, u32 ids, u32 entries, u32 epoch) {
        const u32 begin = words[places + task], end = words[places + task + 1];
        return gcn_prepare(begin, end, words + ids, (const uint2*)(words + entries), bits(epoch), kept);
    }
    BG_DEVICE void prepare_forward(u32 epoch) {
        if (warp < b.forward_tasks) prepared = prepare(warp, b.forward_places, b.forward_ids, b.forward_entries, epoch);
    }
    BG_DEVICE void prepare_backward(u32 epoch) {
        if (warp < b.backward_tasks) prepared = prepare(warp, b.backward_places, b.backward_ids, b.backward_entries, epoch);
    }
    /// The sums of segments; the first one of a warp is prepared.
    BG_DEVICE void gather(u32 tasks, u32 places, u32 ids, u32 entries, u32 epoch, const f32* table) {
        for (u32 t = warp; t < tasks; t += warps) {
            const u32 count = t == warp ? prepared : prepare(t, places, ids, entries, epoch);
            const float4 sum = gcn_rows<H, false>(count, table, [&](u32 i) { return kept[i]; });
            if (lane() < H / 4) ((float4*)(parts + (u64)t * H))[lane()] = sum;
            warp_sync();
        }
    }

    /// The hidden rows of the block, and their products with the second weight; beside them, the first phase of scores.
    BG_DEVICE void forward(u32 epoch, bool scored) {
        const GcnStep step = p.steps[epoch - 1];
        gather(b.forward_tasks, b.forward_places, b.forward_ids, b.forward_entries, epoch, weights(epoch - 1));
        if (scored) score_input(epoch - 1);
        __syncthreads();
        const u32* ends = words + b.forward_ends;
        for (u32 i = threadIdx.x; i < b.rows * (H / 4); i += blockDim.x) {
            const u32 r = i / (H / 4), quad = i % (H / 4);
            float4 sum = make_float4(0, 0, 0, 0);
            for (u32 t = ends[r]; t < ends[r + 1]; t++) gcn_add(sum, 1.0f, ((const float4*)(parts + (u64)t * H))[quad]);
            uint4 word = make_uint4(~0u, ~0u, ~0u, ~0u);
            if (p.hidden_threshold) word = philox(p.seed, step.hidden_draw, words[b.nodes + r], quad);
            const f32 x[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
            for (u32 u = 0; u < 4; u++) {
                const f32 y = p.input_factor * x[u] + bias(quad * 4 + u);
                // What is no number must be seen, not dropped here.
                if (!(y == y)) flags |= GCN_ODD;
                hidden[r * H + quad * 4 + u] = y > 0 && philox_word(word, u) >= p.hidden_threshold ? p.hidden_factor * y : 0.0f;
            }
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < b.rows << shift; i += blockDim.x) {
            const u32 r = i >> shift, c = i & (width - 1);
            f32 sum = 0;
#pragma unroll 16
            for (u32 h = 0; h < H; h++) sum += hidden[r * H + h] * w2[(h << shift) + c];
            p.hidden[((u64)b.rows_begin << shift) + i] = sum * __uint_as_float(words[b.scales + r]);
        }
    }

    /// The loss, and gradients down to the hidden rows.
    BG_DEVICE void backward() {
        const u32* names = words + b.names;
        for (u32 t = warp; t < b.pair_count; t += warps) {
            const uint4 pair = ((const uint4*)(words + b.pairs))[t];
            const u32 c = lane() & (width - 1), label = pair.z & ~GCN_OWN;
            const f32 scale = __uint_as_float(pair.w);
            const f32 sum = gcn_sum(pair.y, p.hidden, shift, [&](u32 i) { return names[pair.x + i]; });
            const GcnSoftmax s(sum * scale + last_bias(c), label, p.classes, shift);
            const f32 gradient = c < p.classes ? (s.share - (c == label ? 1.0f : 0.0f)) * p.share : 0.0f;
            if (lane() < width) {
                dpairs[(t << shift) + c] = gradient * scale;
                if (pair.z & GCN_OWN) {
                    atomicAdd(own_sums + c, gcn_fixed(gradient, flags));
                    if (c == 0) atomicAdd(own_sums + width, gcn_fixed(s.loss * p.share, flags));
                }
            }
        }
    }
    BG_DEVICE void backward_rows(u64* sums) {
        const u32* ends = words + b.pair_ends;
        for (u32 i = threadIdx.x; i < b.rows << shift; i += blockDim.x) {
            const u32 r = i >> shift, c = i & (width - 1);
            f32 sum = 0;
            for (u32 t = ends[r]; t < ends[r + 1]; t++) sum += dpairs[(t << shift) + c];
            dsums[i] = sum * __uint_as_float(words[b.scales + r]);
        }
        if (threadIdx.x < width && own_sums[threadIdx.x]) {
            reduce_add(sums + H * width + H + threadIdx.x, own_sums[threadIdx.x]);
            own_sums[threadIdx.x] = 0;
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < b.rows * H; i += blockDim.x) {
            const u32 r = i / H, h = i % H;
            f32 sum = 0;
            for (u32 c = 0; c < width; c++) sum += dsums[(r << shift) + c] * w2[(h << shift) + c];
            const f32 d = hidden[i] > 0 ? p.hidden_factor * sum : 0.0f;
            dhidden[i] = d;
            p.gradients[(u64)b.rows_begin * H + i] = d;
        }
        for (u32 i = blockDim.x - 1 - threadIdx.x; i < H << shift; i += blockDim.x) {
            const u32 h = i >> shift, c = i & (width - 1);
            f32 sum = 0;
            for (u32 r = 0; r < b.rows; r++) sum += hidden[r * H + h] * dsums[(r << shift) + c];
            if (b.rows) reduce_add(sums + i, gcn_fixed(sum, flags));
        }
        __syncthreads();
        if (threadIdx.x < H && b.rows) {
            f32 sum = 0;
            for (u32 r = 0; r < b.rows; r++) sum += dhidden[r * H + threadIdx.x];
            reduce_add(sums + H * width + threadIdx.x, gcn_fixed(sum, flags));
        }
    }

    BG_DEVICE f32 adam(f32 x, f32 gradient, f32 decay, f32& m, f32& v, const GcnStep& step) const {
        if (p.decoupled) x -= step.rate * decay * x;
        else gradient += decay * x;
        m = p.beta1 * m + (1 - p.beta1) * gradient;
        v = p.beta2 * v + (1 - p.beta2) * gradient * gradient;
        return x - step.rate * (m * step.correction1) / (sqrtf(v * step.correction2) + p.epsilon);
    }
    /// The step of Adam, after the gathering of gradients.
    BG_DEVICE void update(u32 epoch, const u64* sums) {
        const GcnStep step = p.steps[epoch - 1];
        for (u32 i = threadIdx.x; i < small; i += blockDim.x) {
            const f32 gradient = gcn_value(load_l2(sums + i));
            before[i] = w2[i];
            w2[i] = adam(w2[i], gradient, small_decay(i), m2[i], v2[i], step);
        }
        const u32* ends = words + b.backward_ends;
        f32* to = const_cast<f32*>(weights(epoch)) + (u64)b.columns_begin * H;
        for (u32 i = threadIdx.x; i < b.columns * H; i += blockDim.x) {
            const u32 k = i / H;
            f32 gradient = 0;
            for (u32 t = ends[k]; t < ends[k + 1]; t++) gradient += parts[(u64)t * H + i % H];
            w1[i] = adam(w1[i], p.input_factor * gradient, p.decay[0], m1[i], v1[i], step);
            to[i] = w1[i];
        }
    }

    // The scores of the state after `epoch` epochs, in three phases. Lists and pairs are given to the first warps of a block, and are fewer than
    // warps on the graphs that this is for: rows that are scored begin at the last one, so that both are worked on at once.
    BG_DEVICE u64 scored_first() const { return (u64)(warps - 1 - warp) * gridDim.x + blockIdx.x; }
    BG_DEVICE void score_input(u32 epoch) {
        const f32* table = weights(epoch);
        for (u64 r = scored_first(); r < p.input.rows; r += (u64)warps * gridDim.x) {
            const u64 begin = p.input.begin[r];
            const u32 count = (u32)(p.input.begin[r + 1] - begin);
            const float4 sum = gcn_rows<H, true>(
                count, table, [&](u32 i) { return make_uint2(p.input.names[begin + i], __float_as_uint(p.input_values[begin + i])); });
            const f32 scale = p.input.scales[r];
            if (lane() < H / 4) {
                ((float4*)(p.input_sums + r * H))[lane()] = make_float4(sum.x * scale, sum.y * scale, sum.z * scale, sum.w * scale);
            }
        }
    }
    BG_DEVICE void score_middle() {
        f32* row = (f32*)kept;
        const u32 c = lane() & (width - 1), group = lane() >> shift, groups = WARP >> shift;
        for (u64 r = scored_first(); r < p.middle.rows; r += (u64)warps * gridDim.x) {
            const u64 begin = p.middle.begin[r];
            const u32 count = (u32)(p.middle.begin[r + 1] - begin);
            const f32 scale = p.middle.scales[r];
            const float4 sum =
                gcn_rows<H, false>(count, p.input_sums, [&](u32 i) { return make_uint2(p.middle.names[begin + i], __float_as_uint(1.0f)); });
            const f32 x[4] = {sum.x, sum.y, sum.z, sum.w};
            warp_sync();
            if (lane() < H / 4) {
#pragma unroll
                for (u32 u = 0; u < 4; u++) {
                    const f32 y = x[u] * scale + bias(lane() * 4 + u);
                    if (!(y == y)) flags |= GCN_ODD;
                    row[lane() * 4 + u] = y > 0 ? y : 0.0f;
                }
            }
            warp_sync();
            f32 z = 0;
            for (u32 h = group; h < H; h += groups) z += row[h] * w2[(h << shift) + c];
            for (u32 d = width; d < WARP; d <<= 1) z += shuffle_xor(z, d);
            if (lane() < width) p.middle_sums[(r << shift) + c] = z * scale;
        }
    }
    BG_DEVICE void score_output() {
        for (u64 r = scored_first(); r < p.output.rows; r += (u64)warps * gridDim.x) {
            const u64 begin = p.output.begin[r];
            const u32 count = (u32)(p.output.begin[r + 1] - begin);
            const u32 label = p.labels[r] & 0x3fffffffu, part = p.labels[r] >> 30;
            const f32 sum = gcn_sum(count, p.middle_sums, shift, [&](u32 i) { return p.output.names[begin + i]; });
            const GcnSoftmax s(sum * p.output.scales[r] + last_bias(lane() & (width - 1)), label, p.classes, shift);
            if (lane() == 0) {
                if (s.right) atomicAdd(counts + part, 1u);
                const u64 loss = gcn_fixed(s.loss * p.validation_share, flags);
                if (part == 1) atomicAdd(own_sums + width + 1, loss);
            }
        }
    }
    /// Adds up what the block has for the records of two epochs.
    BG_DEVICE void record(u32 epoch, bool trained, bool scored) {
        if (flags) atomicOr(counts + 3, flags);
        __syncthreads();
        if (threadIdx.x == 0) {
            GcnRecord* of = p.records + epoch;
            if (trained && own_sums[width]) reduce_add(&of->loss, own_sums[width]);
            if (scored) {
                GcnRecord* last = of - 1;
                if (own_sums[width + 1]) reduce_add(&last->validation_loss, own_sums[width + 1]);
                if (counts[0]) reduce_add(&last->train_right, counts[0]);
                if (counts[1]) reduce_add(&last->validation_right, counts[1]);
                if (counts[2]) reduce_add(&last->test_right, counts[2]);
            }
            if (counts[3]) reduce_or(&of->flags, counts[3]);
            own_sums[width] = own_sums[width + 1] = 0;
            counts[0] = counts[1] = counts[2] = counts[3] = 0;
        }
    }

    /// What follows from the record of an epoch, the same in every block: whether its state is kept, and whether it was the last one.
    BG_DEVICE bool decide(u32 epoch) {
        const GcnRecord* at = p.records + epoch;
        // A state is scored beside the step after it.
        const u32 seen = load_l2(&at->flags) | load_l2(&(at + 1)->flags);
        const u64 loss = load_l2(&at->validation_loss);
        const u32 right = load_l2(&at->validation_right);
        bool better = !have_best || p.selection == 2;
        if (have_best && p.selection < 2) {
            const bool lower = (i64)loss < (i64)best_loss;
            better = p.selection == 0 ? lower : right > best_right || (right == best_right && lower);
        }
        if (seen & GCN_ODD) better = false;
        if (better) {
            have_best = true;
            best_loss = loss;
            best_right = right;
            best_epoch = epoch;
            keep(epoch);
        }
        const bool over = seen || epoch == p.epochs || epoch - best_epoch >= p.stale;
        if (over && blockIdx.x == 0 && threadIdx.x == 0) *p.outcome = GcnOutcome{epoch, best_epoch, seen, 0};
        return over;
    }
    BG_DEVICE void keep(u32 epoch) {
        const f32* from = weights(epoch) + (u64)b.columns_begin * H;
        for (u32 i = threadIdx.x; i < b.columns * H; i += blockDim.x) {
            const u32 h = i % H;
            const u64 feature = words[b.features + i / H];
            if (h < p.hidden_columns) p.parameters[p.places[0] + feature * p.hidden_columns + h] = load_l2(from + i);
        }
        if (blockIdx.x != 0) return;
        for (u32 i = threadIdx.x; i < small; i += blockDim.x) {
            const u64 place = small_place(i);
            if (place != ~0ull) p.parameters[place] = before[i];
        }
    }

    BG_DEVICE void run() {
        Arrival barrier(p.state, (u32*)shared_memory());
        __syncthreads();
        start();
        draw(1);
        barrier.arrive();
        if (!barrier.wait()) return;
        prepare_forward(1);
        u32 cancel = 0;
        Looks looks;
        for (u32 epoch = 1;; epoch++) {
            const bool trained = epoch <= p.epochs, scored = epoch > 1 && epoch <= p.epochs + 1;
            u64* sums = p.sums + (u64)(epoch % 3) * small;
            if (blockIdx.x == gridDim.x - 1) {
                u64* next = p.sums + (u64)((epoch + 1) % 3) * small;
                for (u32 i = threadIdx.x; i < small; i += blockDim.x) next[i] = 0;
            }
            if (trained) forward(epoch, scored);
            else if (scored) score_input(epoch - 1);
            if (epoch > 2 && decide(epoch - 2)) return;
            barrier.arrive();
            if (epoch < p.epochs) draw(epoch + 1);
            if (!barrier.wait()) return;
            if (trained) backward();
            if (scored) score_middle();
            __syncthreads();
            if (trained) backward_rows(sums);
            barrier.arrive();
            if (trained) prepare_backward(epoch);
            if (!barrier.wait()) return;
            if (trained) gather(b.backward_tasks, b.backward_places, b.backward_ids, b.backward_entries, epoch, p.gradients);
            if (scored) score_output();
            if (blockIdx.x == 0 && threadIdx.x == 0 && p.link.cancel) {
                if (cancel) flags |= GCN_CANCELLED;
                if (looks.due()) {
                    cancel = load_volatile(p.link.cancel);
                    store_volatile(p.link.progress, epoch - 1);
                }
            }
            record(epoch, trained, scored);
            flags = 0;
            if (trained) update(epoch, sums);
            else small_past();
            barrier.arrive();
            if (epoch < p.epochs) prepare_forward(epoch + 1);
            if (!barrier.wait()) return;
        }
    }
    BG_DEVICE void small_past() {
        for (u32 i = threadIdx.x; i < small; i += blockDim.x) before[i] = w2[i];
    }
};

template <u32 H> BG_DEVICE void gcn_epochs(const GcnEpochsParams& p) {
    GcnTrainer<H> trainer(p);
    __syncthreads();
    trainer.run();
}
}  // namespace bg

BG_KERNEL(gcn_epochs_16, bg::GcnEpochsParams, bg::GCN_THREADS, 1) { bg::gcn_epochs<16>(p); }
BG_KERNEL(gcn_epochs_32, bg::GcnEpochsParams, bg::GCN_THREADS, 1) { bg::gcn_epochs<32>(p); }
BG_KERNEL(gcn_epochs_64, bg::GcnEpochsParams, bg::GCN_THREADS, 1) { bg::gcn_epochs<64>(p); }
BG_KERNEL(gcn_epochs_128, bg::GcnEpochsParams, bg::GCN_THREADS, 1) { bg::gcn_epochs<128>(p); }
