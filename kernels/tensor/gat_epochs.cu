// All epochs of training graph attention of two layers in one launch, in f32, over sparse features: the step with its dropout, Adam, the scores
// of every state, the choice of the best one.
//
// An epoch has five phases: products of the features with the first weight; attention of the hidden layer, and products with the second
// weight; the last layer's attention, loss and gradients down to the hidden rows; those of the products, over transposed lists; those of the
// first weight, and Adam. Only rows that the loss can see are computed, which is exact. A block owns rows and features for all epochs; the
// second weight, the attention vectors and the biases are followed by every block. The rows of the state before are scored in the same loops
// as those of the step, by lists of their own. Launched cooperatively.
#include "tensor/gat_epochs_backward.cuh"

namespace bg {
template <u32 C> struct GatTrainer : GatBackward<C> {
    using Base = GatBackward<C>;
    using Base::p, Base::b, Base::warp;

    BG_DEVICE GatTrainer(const GatEpochsParams& p) : Base(p) {}

    BG_DEVICE void run() {
        const EpochsParams& e = p.run;
        Arrival barrier(e.state, (u32*)shared_memory());
        __syncthreads();
        this->start(b.columns);
        this->draw(1);
        barrier.arrive();
        if (!barrier.wait()) return;
        if (b.forward_trained > warp) this->prepare_first(b.forward, 1);
        for (u32 epoch = 1;; epoch++) {
            const bool trained = epoch <= e.epochs, scored = epoch > 1 && epoch <= e.epochs + 1;
            u64* sums = this->sums_of(epoch);
            this->forward(epoch, trained, scored);
            if (epoch > 2 && this->decide(b.columns, epoch - 2)) return;
            barrier.arrive();
            if (epoch < e.epochs) this->draw(epoch + 1);
            if (!barrier.wait()) return;
            this->attend(epoch, trained, scored);
            barrier.arrive();
            if (!barrier.wait()) return;
            if (trained) this->backward(epoch);
            if (scored) this->score(epoch);
            __syncthreads();
            if (trained) this->backward_hidden(sums);
            barrier.arrive();
            if (!barrier.wait()) return;
            if (trained) this->backward_rows(epoch, sums);
            barrier.arrive();
            if (trained) this->prepare_first(b.columns.lists, epoch);
            if (!barrier.wait()) return;
            if (trained) this->gather(b.columns.lists, epoch, p.gradients);
            this->look(epoch);
            this->record(epoch, trained, scored);
            if (trained) this->update(b.columns, epoch, sums);
            else this->small_past();
            barrier.arrive();
            if (epoch < e.epochs && b.forward_trained > warp) this->prepare_first(b.forward, epoch + 1);
            if (!barrier.wait()) return;
        }
    }
};

template <u32 C> BG_DEVICE void gat_epochs(const GatEpochsParams& p) {
    GatTrainer<C> trainer(p);
    __syncthreads();
    trainer.run();
}
}  // namespace bg

BG_KERNEL(gat_epochs_16, bg::GatEpochsParams, bg::EPOCHS_THREADS, 1) { bg::gat_epochs<16>(p); }
BG_KERNEL(gat_epochs_32, bg::GatEpochsParams, bg::EPOCHS_THREADS, 1) { bg::gat_epochs<32>(p); }
BG_KERNEL(gat_epochs_64, bg::GatEpochsParams, bg::EPOCHS_THREADS, 1) { bg::gat_epochs<64>(p); }
BG_KERNEL(gat_epochs_128, bg::GatEpochsParams, bg::EPOCHS_THREADS, 1) { bg::gat_epochs<128>(p); }
