// The scheduler of the host shim: fibres, block and warp barriers, and the launch that the backend calls.
#include "common/kernel.cuh"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <vector>

#include <sys/mman.h>

namespace bg { namespace host {
Fibre* current;
Index block_size, grid_size;
u32 cluster_size;

namespace {
constexpr size_t STACK = 128 << 10;
// Blocks of an ordinary launch that run side by side.
constexpr u32 SIDE_BY_SIDE = 4;
// Changes of fibre without any of them ending, after which the kernel is taken to hang.
constexpr u64 PATIENCE = 4000000000ull;

/// What a fibre waits for: that a counter is no more at `turn`. Without a counter, nothing.
struct Wait {
    const u64* counter;
    u64 turn;
    bool over() const { return counter == nullptr || *counter != turn; }
};

std::vector<Fibre> fibres;
std::vector<Wait> waits;
std::vector<Block> blocks;
std::vector<Warp> warps;
std::vector<void*> stacks;
void* scheduler;
size_t position, left;
u64 changes;
u64 random_state = 88172645463325252ull;
u32 cluster_arrived;
u64 cluster_turn;
void (*kernel)(const void*);
const void* parameters;
std::mutex one_launch;

u64 draw() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}
}  // namespace

extern "C" void bg_host_switch(void** from, void* to);
#if defined(__x86_64__)
asm(".text\n.globl bg_host_switch\n.hidden bg_host_switch\n.type bg_host_switch,@function\nbg_host_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");
#elif defined(__aarch64__)
asm(".text\n.globl bg_host_switch\n.hidden bg_host_switch\n.type bg_host_switch,@function\nbg_host_switch:\n"
    "sub sp,sp,#160\n"
    "stp x19,x20,[sp]\nstp x21,x22,[sp,#16]\nstp x23,x24,[sp,#32]\nstp x25,x26,[sp,#48]\nstp x27,x28,[sp,#64]\n"
    "stp x29,x30,[sp,#80]\nstp d8,d9,[sp,#96]\nstp d10,d11,[sp,#112]\nstp d12,d13,[sp,#128]\nstp d14,d15,[sp,#144]\n"
    "mov x9,sp\nstr x9,[x0]\nmov sp,x1\n"
    "ldp x19,x20,[sp]\nldp x21,x22,[sp,#16]\nldp x23,x24,[sp,#32]\nldp x25,x26,[sp,#48]\nldp x27,x28,[sp,#64]\n"
    "ldp x29,x30,[sp,#80]\nldp d8,d9,[sp,#96]\nldp d10,d11,[sp,#112]\nldp d12,d13,[sp,#128]\nldp d14,d15,[sp,#144]\n"
    "add sp,sp,#160\nret\n");
#else
#error "the host shim knows x86-64 and aarch64"
#endif

void fail(const char* what) {
    fprintf(stderr, "kernel on the host: %s (block %u, thread %u)\n", what, current->block.x, current->thread.x);
    abort();
}

/// Lets the next fibre go on that can: of those that wait at a barrier only one whose barrier is open, since changing to another and back takes
/// longer than the work between two barriers.
__attribute__((noinline)) void yield() {
    Fibre* own = current;
    if (++changes > PATIENCE) fail("no progress");
    const size_t count = fibres.size();
    if ((draw() & 31) == 0) position = draw() % count;
    for (size_t tried = 0;; tried++) {
        if (++position >= count) position = 0;
        if (waits[position].over() && !fibres[position].done) break;
        if (tried == count) fail("all threads that are left wait");
    }
    if (&fibres[position] == own) return;
    current = &fibres[position];
    bg_host_switch(&own->stack_pointer, current->stack_pointer);
}

namespace {
/// Waits until a counter is no more at `turn`.
void wait(const u64& counter, u64 turn) {
    Wait& own = waits[position];
    own = Wait{&counter, turn};
    yield();
    own.counter = nullptr;
}
}  // namespace

void perturb() {
    if ((draw() & 15) == 0) yield();
}

u32 sync_block_count(bool vote) {
    Block* b = current->its_block;
    u64 turn = b->turn;
    b->votes += vote;
    if (++b->arrived == block_size.x) {
        b->arrived = 0;
        b->result = b->votes;
        b->votes = 0;
        b->turn++;
    } else {
        wait(b->turn, turn);
    }
    return b->result;
}
void sync_block() { sync_block_count(false); }

u64* exchange(u64 value) {
    Warp* w = current->its_warp;
    u64 turn = w->turn;
    w->slots[turn & 1][current->thread.x & 31] = value;
    if (++w->arrived == 32) {
        w->arrived = 0;
        w->turn++;
    } else {
        wait(w->turn, turn);
    }
    return w->slots[turn & 1];
}

void sync_cluster() {
    u64 turn = cluster_turn;
    if (++cluster_arrived == block_size.x * cluster_size) {
        cluster_arrived = 0;
        cluster_turn++;
    } else {
        wait(cluster_turn, turn);
    }
}

void* map_shared(void* pointer, u32 rank) {
    return blocks[rank].shared + (static_cast<u8*>(pointer) - current->its_block->shared);
}

namespace {
void entry() {
    kernel(parameters);
    current->done = true;
    changes = 0;
    void* gone;
    if (--left == 0) bg_host_switch(&gone, scheduler);
    yield();
    abort();
}

/// Not at the same place of every page: the cache has few lines for addresses that agree in their lowest bits.
void* initial_stack(void* stack, size_t fibre) {
    u8* top = static_cast<u8*>(stack) + STACK - fibre % 61 * 320;
#if defined(__x86_64__)
    void** s = reinterpret_cast<void**>(top);
    *--s = nullptr;
    *--s = reinterpret_cast<void*>(&entry);
    for (int i = 0; i < 6; i++) *--s = nullptr;
    return s;
#else
    u8* s = top - 160;
    memset(s, 0, 160);
    void (*start)() = &entry;
    memcpy(s + 88, &start, 8);
    return s;
#endif
}

bool run(u32 first, u32 count, u64 shared) {
    size_t n = static_cast<size_t>(count) * block_size.x;
    fibres.assign(n, Fibre{});
    waits.assign(n, Wait{});
    blocks.assign(count, Block{});
    warps.assign(n / 32, Warp{});
    while (stacks.size() < n) {
        void* stack = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (stack == MAP_FAILED) return false;
        stacks.push_back(stack);
    }
    // Shared memory starts with rubbish, as on a device.
    for (u32 i = 0; i < count; i++) {
        size_t bytes = (shared + 255) / 128 * 128;
        blocks[i].shared = static_cast<u8*>(aligned_alloc(128, bytes));
        if (!blocks[i].shared) return false;
        memset(blocks[i].shared, 0xAB, bytes);
    }
    for (size_t i = 0; i < n; i++) {
        Fibre& f = fibres[i];
        f.thread.x = static_cast<u32>(i % block_size.x);
        f.block.x = first + static_cast<u32>(i / block_size.x);
        f.its_block = &blocks[i / block_size.x];
        f.its_warp = &warps[i / 32];
        f.stack_pointer = initial_stack(stacks[i], i);
    }
    left = n;
    position = 0;
    changes = 0;
    cluster_arrived = 0;
    cluster_turn = 0;
    current = &fibres[0];
    bg_host_switch(&scheduler, current->stack_pointer);
    for (Block& b : blocks) free(b.shared);
    return true;
}
}  // namespace
}}  // namespace bg::host

u64 clock_ns() {
    return static_cast<u64>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// Runs a kernel to its end. `together` keeps all blocks alive at once (a cooperative launch, or one cluster). 0 on success.
extern "C" __attribute__((visibility("default"))) int bg_host_launch(void (*kernel)(const void*), const void* parameters, u32 grid, u32 block, u64 shared,
                              int together) {
    using namespace bg::host;
    std::lock_guard<std::mutex> guard(one_launch);
    if (block == 0 || block % 32 != 0 || block > 1024 || grid == 0) return 1;
    bg::host::kernel = kernel;
    bg::host::parameters = parameters;
    block_size.x = block;
    grid_size.x = grid;
    cluster_size = grid;
    u32 batch = together ? grid : SIDE_BY_SIDE;
    for (u32 first = 0; first < grid; first += batch) {
        if (!run(first, std::min(batch, grid - first), shared)) return 2;
    }
    return 0;
}
