// Places in shared memory whose addresses stay in registers. The compiler takes an address in shared memory for cheap and works it out
// anew at every use, from special registers that take tens of cycles to read: too long for a loop that does little else.
#pragma once
#include "common/kernel.cuh"

namespace bg {
/// A place in shared memory, for elements of 4 bytes or of 1.
template <class T> struct SharedPlace {
    static_assert(sizeof(T) == 4 || sizeof(T) == 1, "words and bytes");
#ifdef BITGRAPH_HOST
    T* address;
    explicit SharedPlace(T* p = nullptr) : address(p) {}
    SharedPlace moved(i32 elements) const { return SharedPlace(address + elements); }
    template <u32 AHEAD> T load() const { return *(volatile T*)(address + AHEAD); }
    template <u32 AHEAD> void store(T value) const { *(volatile T*)(address + AHEAD) = value; }
#else
    u32 address;
    SharedPlace() = default;
    BG_DEVICE explicit SharedPlace(T* p) {
        asm volatile("mov.u32 %0, %1;" : "=r"(address) : "r"((u32)__cvta_generic_to_shared(p)));
    }
    /// So many elements further.
    BG_DEVICE SharedPlace moved(i32 elements) const {
        SharedPlace place;
        asm volatile("mov.u32 %0, %1;" : "=r"(place.address) : "r"(address + elements * (i32)sizeof(T)));
        return place;
    }
    /// The element that is AHEAD further.
    template <u32 AHEAD> BG_DEVICE T load() const {
        u32 value;
        if constexpr (sizeof(T) == 4) asm volatile("ld.shared.u32 %0, [%1+%2];" : "=r"(value) : "r"(address), "n"(AHEAD * 4) : "memory");
        else asm volatile("ld.shared.u8 %0, [%1+%2];" : "=r"(value) : "r"(address), "n"(AHEAD) : "memory");
        return (T)value;
    }
    template <u32 AHEAD> BG_DEVICE void store(T value) const {
        if constexpr (sizeof(T) == 4) asm volatile("st.shared.u32 [%0+%1], %2;" ::"r"(address), "n"(AHEAD * 4), "r"((u32)value) : "memory");
        else asm volatile("st.shared.u8 [%0+%1], %2;" ::"r"(address), "n"(AHEAD), "r"((u32)value) : "memory");
    }
#endif
};
}  // namespace bg
