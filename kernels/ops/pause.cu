// A device at work that touches no memory: what is timed after it starts with the caches as they were.
#include "common/kernel.cuh"

namespace bg {
struct PauseParams {
    u64 nanoseconds;
};
}  // namespace bg
using namespace bg;

BG_KERNEL(pause, PauseParams, 32, 1) {
    const u64 from = clock_ns();
    for (u32 turn = 0; clock_ns() - from < p.nanoseconds; turn++) spin_pause(turn);
}
