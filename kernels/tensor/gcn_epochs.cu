// All epochs of training a graph convolution of two layers in one launch, in f32, over sparse features: the step with its dropout, Adam, the
// scores of every state, the choice of the best one.
//
// The sums over neighbours are folded into the features: H = (A X') W1 and dW1 = (A X')^T dH are sums over static lists, so that an epoch
// has three barriers. Only rows that the loss can see are computed, which is exact. A block owns rows of H and features for all epochs; the
// second weight and the biases are followed by every block. The scores of a state are worked out beside the next step, a part in each of
// its phases. Launched cooperatively.
#include "tensor/gcn_epochs.cuh"

namespace bg {
template <u32 H> struct GcnTrainer : EpochsTrainer<H> {
    using Base = EpochsTrainer<H>;
    using Base::shift, Base::width, Base::warps, Base::warp, Base::words, Base::kept, Base::w2, Base::parts, Base::flags;
    const GcnEpochsParams& p;
    const GcnBlock b;
    f32 *hidden, *dhidden, *dsums, *dpairs;

    BG_DEVICE GcnTrainer(const GcnEpochsParams& p) : Base(p.run), p(p), b(p.blocks[blockIdx.x]) {
        EpochsCarve& state = this->state;
        hidden = state.take(p.most_rows * H);
        dhidden = state.take(p.most_rows * H);
        dsums = state.take(p.most_rows * width);
        dpairs = state.take(p.most_pairs * width);
        this->stage(b.offset, b.words);
    }
    BG_DEVICE f32 bias(u32 h) const { return w2[H * width + h]; }
    BG_DEVICE f32 last_bias(u32 c) const { return w2[H * width + H + c]; }

    /// The hidden rows of the block, and their products with the second weight; beside them, the first phase of scores.
    BG_DEVICE void forward(u32 epoch, bool scored) {
        const u32 number = p.run.steps[epoch - 1].draws[1];
        this->gather(b.forward, epoch, this->weights(epoch - 1));
        if (scored) score_input(epoch - 1);
        __syncthreads();
        const u32* ends = words + b.forward.ends;
        for (u32 i = threadIdx.x; i < b.rows * (H / 4); i += blockDim.x) {
            const u32 r = i / (H / 4), quad = i % (H / 4);
            float4 sum = make_float4(0, 0, 0, 0);
            for (u32 t = ends[r]; t < ends[r + 1]; t++) epochs_add(sum, 1.0f, ((const float4*)(parts + (u64)t * H))[quad]);
            uint4 word = make_uint4(~0u, ~0u, ~0u, ~0u);
            if (p.run.hidden_threshold) word = philox(p.run.seed, number, words[b.nodes + r], quad);
            const f32 x[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
            for (u32 u = 0; u < 4; u++) {
                const f32 y = p.run.input_factor * x[u] + bias(quad * 4 + u);
                // What is no number must be seen, not dropped here.
                if (!(y == y)) flags |= EPOCHS_ODD;
                hidden[r * H + quad * 4 + u] = y > 0 && philox_word(word, u) >= p.run.hidden_threshold ? p.run.hidden_factor * y : 0.0f;
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
            const u32 c = lane() & (width - 1), label = pair.z & ~EPOCHS_OWN;
            const f32 scale = __uint_as_float(pair.w);
            const f32 sum = epochs_sum(pair.y, p.hidden, shift, [&](u32 i) { return names[pair.x + i]; });
            const EpochsSoftmax s(sum * scale + last_bias(c), label, p.run.classes, shift);
            const f32 gradient = c < p.run.classes ? (s.share - (c == label ? 1.0f : 0.0f)) * p.run.share : 0.0f;
            if (lane() < width) dpairs[(t << shift) + c] = gradient * scale;
            if (pair.z & EPOCHS_OWN) this->count_loss(gradient, s.loss);
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
        this->add_last_bias(sums + H * width + H);
        __syncthreads();
        for (u32 i = threadIdx.x; i < b.rows * H; i += blockDim.x) {
            const u32 r = i / H, h = i % H;
            f32 sum = 0;
            for (u32 c = 0; c < width; c++) sum += dsums[(r << shift) + c] * w2[(h << shift) + c];
            const f32 d = hidden[i] > 0 ? p.run.hidden_factor * sum : 0.0f;
            dhidden[i] = d;
            p.gradients[(u64)b.rows_begin * H + i] = d;
        }
        for (u32 i = blockDim.x - 1 - threadIdx.x; i < H << shift; i += blockDim.x) {
            const u32 h = i >> shift, c = i & (width - 1);
            f32 sum = 0;
            for (u32 r = 0; r < b.rows; r++) sum += hidden[r * H + h] * dsums[(r << shift) + c];
            if (b.rows) reduce_add(sums + i, epochs_fixed(sum, flags));
        }
        __syncthreads();
        if (threadIdx.x < H && b.rows) {
            f32 sum = 0;
            for (u32 r = 0; r < b.rows; r++) sum += dhidden[r * H + threadIdx.x];
            reduce_add(sums + H * width + threadIdx.x, epochs_fixed(sum, flags));
        }
    }

    // The scores of the state after `epoch` epochs, in three phases. Lists and pairs are given to the first warps of a block, and are fewer than
    // warps on the graphs that this is for: rows that are scored begin at the last one, so that both are worked on at once.
    BG_DEVICE u64 scored_first() const { return (u64)(warps - 1 - warp) * gridDim.x + blockIdx.x; }
    BG_DEVICE void score_input(u32 epoch) {
        const f32* table = this->weights(epoch);
        for (u64 r = scored_first(); r < p.input.rows; r += (u64)warps * gridDim.x) {
            const u64 begin = p.input.begin[r];
            const u32 count = (u32)(p.input.begin[r + 1] - begin);
            const float4 sum = epochs_rows<H, true>(
                count, table, [&](u32 i) { return make_uint2(p.input.names[begin + i], __float_as_uint(p.input_values[begin + i])); });
            const f32 scale = p.input.scales[r];
            if (lane() < H / 4) {
                ((float4*)(p.input_sums + r * H))[lane()] = make_float4(sum.x * scale, sum.y * scale, sum.z * scale, sum.w * scale);
            }
        }
    }
    /// The sum of so many rows that a row of the middle names, four columns a lane.
    BG_DEVICE float4 middle_names(u64 begin, u32 count) const {
        return epochs_rows<H, false>(count, p.input_sums, [&](u32 i) { return make_uint2(p.middle.names[begin + i], __float_as_uint(1.0f)); });
    }
    /// What follows from the sum of a row of the middle.
    BG_DEVICE void middle_row(u64 r, const float4& sum) {
        f32* row = (f32*)kept;
        const u32 c = lane() & (width - 1), group = lane() >> shift, groups = WARP >> shift;
        const f32 x[4] = {sum.x, sum.y, sum.z, sum.w}, scale = p.middle.scales[r];
        warp_sync();
        if (lane() < H / 4) {
#pragma unroll
            for (u32 u = 0; u < 4; u++) {
                const f32 y = x[u] * scale + bias(lane() * 4 + u);
                if (!(y == y)) flags |= EPOCHS_ODD;
                row[lane() * 4 + u] = y > 0 ? y : 0.0f;
            }
        }
        warp_sync();
        f32 z = 0;
        for (u32 h = group; h < H; h += groups) z += row[h] * w2[(h << shift) + c];
        for (u32 d = width; d < WARP; d <<= 1) z += shuffle_xor(z, d);
        if (lane() < width) p.middle_sums[(r << shift) + c] = z * scale;
    }
    /// All rows of the middle but the block's long one, of which every warp sums a part.
    BG_DEVICE void score_middle() {
        for (u64 r = p.long_rows + scored_first(); r < p.middle.rows; r += (u64)warps * gridDim.x) {
            const u64 begin = p.middle.begin[r];
            middle_row(r, middle_names(begin, (u32)(p.middle.begin[r + 1] - begin)));
        }
        if (blockIdx.x >= p.long_rows) return;
        const u64 begin = p.middle.begin[blockIdx.x];
        const u32 count = (u32)(p.middle.begin[blockIdx.x + 1] - begin), part = ceil_div(count, warps), first = min_of(warp * part, count);
        const float4 sum = middle_names(begin + first, min_of(part, count - first));
        warp_sync();
        if (lane() < H / 4) ((float4*)kept)[lane()] = sum;
    }
    /// The block's long row, in the order of its parts; a barrier of the block is before it.
    BG_DEVICE void score_long() {
        if (blockIdx.x >= p.long_rows || warp != warps - 1) return;
        const float4* parts = (const float4*)(kept - warp * (EPOCHS_WARP_WORDS / 2));
        float4 sum = make_float4(0, 0, 0, 0);
        if (lane() < H / 4) {
            for (u32 w = 0; w < warps; w++) epochs_add(sum, 1.0f, parts[w * (EPOCHS_WARP_WORDS / 4) + lane()]);
        }
        middle_row(blockIdx.x, sum);
    }
    BG_DEVICE void score_output() {
        for (u64 r = scored_first(); r < p.output.rows; r += (u64)warps * gridDim.x) {
            const u64 begin = p.output.begin[r];
            const u32 count = (u32)(p.output.begin[r + 1] - begin);
            const u32 label = p.labels[r] & 0x3fffffffu, part = p.labels[r] >> 30;
            const auto name = [&](u32 i) { return p.output.names[begin + i]; };
            const f32 sum = count < EPOCHS_LONG ? epochs_sum(count, p.middle_sums, shift, name) : epochs_sum<16>(count, p.middle_sums, shift, name);
            const EpochsSoftmax s(sum * p.output.scales[r] + last_bias(lane() & (width - 1)), label, p.run.classes, shift);
            this->count_score(s, part);
        }
    }

    BG_DEVICE void run() {
        const EpochsParams& e = p.run;
        Arrival barrier(e.state, (u32*)shared_memory());
        __syncthreads();
        this->start(b.columns);
        this->draw_input(1);
        barrier.arrive();
        if (!barrier.wait()) return;
        this->prepare_first(b.forward, 1);
        for (u32 epoch = 1;; epoch++) {
            const bool trained = epoch <= e.epochs, scored = epoch > 1 && epoch <= e.epochs + 1;
            u64* sums = this->sums_of(epoch);
            if (trained) forward(epoch, scored);
            else if (scored) score_input(epoch - 1);
            if (epoch > 2 && this->decide(b.columns, epoch - 2)) return;
            barrier.arrive();
            if (epoch < e.epochs) this->draw_input(epoch + 1);
            if (!barrier.wait()) return;
            if (trained) backward();
            if (scored) score_middle();
            __syncthreads();
            if (scored) score_long();
            if (trained) backward_rows(sums);
            barrier.arrive();
            if (trained) this->prepare_first(b.columns.lists, epoch);
            if (!barrier.wait()) return;
            if (trained) this->gather(b.columns.lists, epoch, p.gradients);
            if (scored) score_output();
            this->look(epoch);
            this->record(epoch, trained, scored);
            if (trained) this->update(b.columns, epoch, sums);
            else this->small_past();
            barrier.arrive();
            if (epoch < e.epochs) this->prepare_first(b.forward, epoch + 1);
            if (!barrier.wait()) return;
        }
    }
};

template <u32 H> BG_DEVICE void gcn_epochs(const GcnEpochsParams& p) {
    GcnTrainer<H> trainer(p);
    __syncthreads();
    trainer.run();
}
}  // namespace bg

BG_KERNEL(gcn_epochs_16, bg::GcnEpochsParams, bg::EPOCHS_THREADS, 1) { bg::gcn_epochs<16>(p); }
BG_KERNEL(gcn_epochs_32, bg::GcnEpochsParams, bg::EPOCHS_THREADS, 1) { bg::gcn_epochs<32>(p); }
BG_KERNEL(gcn_epochs_64, bg::GcnEpochsParams, bg::EPOCHS_THREADS, 1) { bg::gcn_epochs<64>(p); }
BG_KERNEL(gcn_epochs_128, bg::GcnEpochsParams, bg::EPOCHS_THREADS, 1) { bg::gcn_epochs<128>(p); }
