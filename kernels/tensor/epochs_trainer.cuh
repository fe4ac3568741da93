// What training in one launch does whatever the layers: parameters and their Adam, dropout of the features, sums of lists of features, records
// and the choice of a state.
//
// A block owns columns of the features with the rows of the first weight, in two sets in device memory that every block reads; all other
// parameters are small and are followed by every block. The state after an epoch is scored beside the step after it.
#pragma once
#include "tensor/epochs.cuh"

namespace bg {
/// Carves arrays out of a piece of memory, each aligned to 16 bytes.
struct EpochsCarve {
    f32* next;
    template <class T = f32> BG_DEVICE T* take(u32 words) {
        T* at = (T*)next;
        next += (words + 3) / 4 * 4;
        return at;
    }
};

template <u32 H> struct EpochsTrainer {
    const EpochsParams& e;
    const u32 shift, width, warps, warp;
    const u32* words;
    uint2* kept;       // the warp's own words
    EpochsCarve state; // what is left of the block's memory
    f32 *w2, *m2, *v2, *before;
    u64* own_sums;     // bias of the last layer, loss, validation loss; block totals
    u32* counts;       // right ones, flags
    f32 *parts, *w1, *m1, *v1;
    u32 flags;
    bool have_best;
    u64 best_loss;
    u32 best_right, best_epoch, prepared;
    u32 cancel;
    Looks looks;

    BG_DEVICE EpochsTrainer(const EpochsParams& e)
        : e(e), shift(e.class_bits), width(1u << e.class_bits), warps(blockDim.x / WARP), warp(threadIdx.x / WARP), flags(0), have_best(false),
          best_loss(0), best_right(0), best_epoch(0), prepared(0), cancel(0) {
        EpochsCarve shared{(f32*)shared_memory() + 4};
        kept = shared.take<uint2>(warps * EPOCHS_WARP_WORDS) + warp * (EPOCHS_WARP_WORDS / 2);
        w2 = shared.take(e.small);
        m2 = shared.take(e.small);
        v2 = shared.take(e.small);
        before = shared.take(e.small);
        own_sums = shared.take<u64>(2 * (width + 2));
        counts = shared.take<u32>(4);
        state = shared;
        if (e.arena) state.next = e.arena + blockIdx.x * e.arena_words;
        parts = state.take(e.parts);
        w1 = state.take(e.most_columns * H);
        m1 = state.take(e.most_columns * H);
        v1 = state.take(e.most_columns * H);
    }
    /// The block's lists, after all of its state: in shared memory where they fit.
    BG_DEVICE void stage(u64 offset, u32 count) {
        words = e.words + offset;
        if (!e.staged) return;
        u32* lists = (u32*)state.next;
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) lists[i] = words[i];
        words = lists;
    }
    BG_DEVICE const f32* weights(u32 epoch) const { return e.weights + (u64)(epoch & 1) * e.columns * H; }
    BG_DEVICE u32* bits(u32 epoch) const { return e.bits + (u64)(epoch & 1) * ceil_div(e.entry_count, (u64)WARP); }

    /// Reads the parameters that the block follows; another thread's after the next barrier of the block.
    BG_DEVICE void start(const EpochsColumns& own) {
        const u32 columns = e.hidden_columns;
        for (u32 i = threadIdx.x; i < own.count * H; i += blockDim.x) {
            const u32 k = i / H, h = i % H;
            const u64 feature = words[own.features + k];
            const f32 x = h < columns ? e.parameters[e.first_place + feature * columns + h] : 0.0f;
            w1[i] = x;
            m1[i] = v1[i] = 0;
            e.weights[(u64)own.begin * H + i] = x;
        }
        for (u32 i = threadIdx.x; i < e.small; i += blockDim.x) {
            const u64 place = e.small_places[i];
            w2[i] = before[i] = place == ~0ull ? 0.0f : e.parameters[place];
            m2[i] = v2[i] = 0;
        }
        for (u32 i = threadIdx.x; i < width + 2; i += blockDim.x) own_sums[i] = 0;
        if (threadIdx.x < 4) counts[threadIdx.x] = 0;
    }
    /// The sums of the small parameters' gradients in an epoch, of three sets; the next one is set to zero.
    BG_DEVICE u64* sums_of(u32 epoch) const {
        if (blockIdx.x == gridDim.x - 1) {
            u64* next = e.sums + (u64)((epoch + 1) % 3) * e.small;
            for (u32 i = threadIdx.x; i < e.small; i += blockDim.x) next[i] = 0;
        }
        return e.sums + (u64)(epoch % 3) * e.small;
    }

    /// The bits of an epoch's dropout of the features, shared out over the grid.
    BG_DEVICE void draw_input(u32 epoch) {
        u32* to = bits(epoch);
        const u32 number = e.steps[epoch - 1].draws[0];
        const u64 stride = (u64)gridDim.x * blockDim.x;
        for (u64 base = ((u64)blockIdx.x * warps + warp) * WARP; base < e.entry_count; base += stride) {
            const u64 i = base + lane();
            const bool keep = i < e.entry_count && philox(e.seed, number, e.entries[i], 0).x >= e.input_threshold;
            const u32 all = ballot(keep);
            if (lane() == 0) to[base / WARP] = all;
        }
    }
    BG_DEVICE u32 prepare(const EpochsLists& lists, u32 task, u32 epoch) {
        const u32 begin = words[lists.places + task], end = words[lists.places + task + 1];
        return epochs_prepare(begin, end, words + lists.ids, (const uint2*)(words + lists.entries), bits(epoch), kept);
    }
    /// Prepares the first segment of the warp.
    BG_DEVICE void prepare_first(const EpochsLists& lists, u32 epoch) {
        if (warp < lists.tasks) prepared = prepare(lists, warp, epoch);
    }
    /// The sum of a segment that dropout takes entries from; the first one of a warp is prepared.
    BG_DEVICE void sum_segment(const EpochsLists& lists, u32 task, u32 epoch, const f32* table) {
        const u32 count = task == warp ? prepared : prepare(lists, task, epoch);
        const float4 sum = epochs_rows<H, false>(count, table, [&](u32 i) { return kept[i]; });
        if (lane() < H / 4) ((float4*)(parts + (u64)task * H))[lane()] = sum;
        warp_sync();
    }
    BG_DEVICE void gather(const EpochsLists& lists, u32 epoch, const f32* table) {
        for (u32 t = warp; t < lists.tasks; t += warps) sum_segment(lists, t, epoch, table);
    }

    BG_DEVICE f32 adam(f32 x, f32 gradient, f32 decay, f32& m, f32& v, const EpochStep& step) const {
        if (e.decoupled) x -= step.rate * decay * x;
        else gradient += decay * x;
        m = e.beta1 * m + (1 - e.beta1) * gradient;
        v = e.beta2 * v + (1 - e.beta2) * gradient * gradient;
        return x - step.rate * (m * step.correction1) / (sqrtf(v * step.correction2) + e.epsilon);
    }
    /// The step of Adam, after the gathering of gradients.
    BG_DEVICE void update(const EpochsColumns& own, u32 epoch, const u64* sums) {
        const EpochStep step = e.steps[epoch - 1];
        for (u32 i = threadIdx.x; i < e.small; i += blockDim.x) {
            const f32 gradient = epochs_value(load_l2(sums + i));
            before[i] = w2[i];
            w2[i] = adam(w2[i], gradient, e.small_decays[i], m2[i], v2[i], step);
        }
        const u32* ends = words + own.lists.ends;
        f32* to = const_cast<f32*>(weights(epoch)) + (u64)own.begin * H;
        for (u32 i = threadIdx.x; i < own.count * H; i += blockDim.x) {
            const u32 k = i / H;
            f32 gradient = 0;
            for (u32 t = ends[k]; t < ends[k + 1]; t++) gradient += parts[(u64)t * H + i % H];
            w1[i] = adam(w1[i], e.input_factor * gradient, e.first_decay, m1[i], v1[i], step);
            to[i] = w1[i];
        }
    }
    BG_DEVICE void small_past() {
        for (u32 i = threadIdx.x; i < e.small; i += blockDim.x) before[i] = w2[i];
    }

    /// Counts a training node's loss and the gradient of its logits, one a lane.
    BG_DEVICE void count_loss(f32 gradient, f32 loss) {
        const u32 c = lane();
        if (c >= width) return;
        atomicAdd(own_sums + c, epochs_fixed(gradient, flags));
        if (c == 0) atomicAdd(own_sums + width, epochs_fixed(loss * e.share, flags));
    }
    /// Adds what count_loss() has counted of the last bias; a barrier of the block is before it.
    BG_DEVICE void add_last_bias(u64* to) {
        if (threadIdx.x < width && own_sums[threadIdx.x]) {
            reduce_add(to + threadIdx.x, own_sums[threadIdx.x]);
            own_sums[threadIdx.x] = 0;
        }
    }
    /// Counts a scored node; the label holds its part of the split.
    BG_DEVICE void count_score(const EpochsSoftmax& s, u32 part) {
        if (lane() != 0) return;
        if (s.right) atomicAdd(counts + part, 1u);
        const u64 loss = epochs_fixed(s.loss * e.validation_share, flags);
        if (part == 1) atomicAdd(own_sums + width + 1, loss);
    }
    /// Whether to stop, as the host asks now and then.
    BG_DEVICE void look(u32 epoch) {
        if (blockIdx.x != 0 || threadIdx.x != 0 || !e.link.cancel) return;
        if (cancel) flags |= EPOCHS_CANCELLED;
        if (looks.due()) {
            cancel = load_volatile(e.link.cancel);
            store_volatile(e.link.progress, epoch - 1);
        }
    }
    /// Adds up what the block has for the records of two epochs.
    BG_DEVICE void record(u32 epoch, bool trained, bool scored) {
        if (flags) atomicOr(counts + 3, flags);
        __syncthreads();
        if (threadIdx.x == 0) {
            EpochRecord* of = e.records + epoch;
            if (trained && own_sums[width]) reduce_add(&of->loss, own_sums[width]);
            if (scored) {
                EpochRecord* last = of - 1;
                if (own_sums[width + 1]) reduce_add(&last->validation_loss, own_sums[width + 1]);
                if (counts[0]) reduce_add(&last->train_right, counts[0]);
                if (counts[1]) reduce_add(&last->validation_right, counts[1]);
                if (counts[2]) reduce_add(&last->test_right, counts[2]);
            }
            if (counts[3]) reduce_or(&of->flags, counts[3]);
            own_sums[width] = own_sums[width + 1] = 0;
            counts[0] = counts[1] = counts[2] = counts[3] = 0;
        }
        flags = 0;
    }

    /// What follows from the record of an epoch, the same in every block: whether its state is kept, and whether it was the last one.
    BG_DEVICE bool decide(const EpochsColumns& own, u32 epoch) {
        const EpochRecord* at = e.records + epoch;
        // A state is scored beside the step after it.
        const u32 seen = load_l2(&at->flags) | load_l2(&(at + 1)->flags);
        const u64 loss = load_l2(&at->validation_loss);
        const u32 right = load_l2(&at->validation_right);
        bool better = !have_best || e.selection == 2;
        if (have_best && e.selection < 2) {
            const bool lower = (i64)loss < (i64)best_loss;
            better = e.selection == 0 ? lower : right > best_right || (right == best_right && lower);
        }
        if (seen & EPOCHS_ODD) better = false;
        if (better) {
            have_best = true;
            best_loss = loss;
            best_right = right;
            best_epoch = epoch;
            keep(own, epoch);
        }
        const bool over = seen || epoch == e.epochs || epoch - best_epoch >= e.stale;
        if (over && blockIdx.x == 0 && threadIdx.x == 0) *e.outcome = EpochsOutcome{epoch, best_epoch, seen, 0};
        return over;
    }
    BG_DEVICE void keep(const EpochsColumns& own, u32 epoch) {
        const f32* from = weights(epoch) + (u64)own.begin * H;
        for (u32 i = threadIdx.x; i < own.count * H; i += blockDim.x) {
            const u32 h = i % H;
            const u64 feature = words[own.features + i / H];
            if (h < e.hidden_columns) e.parameters[e.first_place + feature * e.hidden_columns + h] = load_l2(from + i);
        }
        if (blockIdx.x != 0) return;
        for (u32 i = threadIdx.x; i < e.small; i += blockDim.x) {
            const u64 place = e.small_places[i];
            if (place != ~0ull) e.parameters[place] = before[i];
        }
    }
};
}  // namespace bg
