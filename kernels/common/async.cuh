// Copies into shared memory that go on while the block works, and loads of matrices from there as tensor cores take them.
#pragma once
#include "common/warp.cuh"

namespace bg {
#ifdef BITGRAPH_HOST
inline void copy_async16(void* shared, const void* global) { memcpy(shared, global, 16); }
inline void copy_async4(void* shared, const void* global) { memcpy(shared, global, 4); }
inline void copy_async16_or_zero(void* shared, const void* global, bool wanted) {
    if (wanted) memcpy(shared, global, 16);
    else memset(shared, 0, 16);
}
inline void commit_copies() {}
inline void wait_copies() {}
template <u32 LEFT> inline void wait_copies_but() {}
inline void load_matrices(u32 (&r)[4], const void* row) {
    u64 rows[32];
    memcpy(rows, host::exchange((u64)row), sizeof rows);
    for (u32 i = 0; i < 4; i++) r[i] = ((const u32*)rows[8 * i + (lane() >> 2)])[lane() & 3u];
}
inline void load_matrices_transposed(u32 (&r)[4], const void* row) {
    u64 rows[32];
    memcpy(rows, host::exchange((u64)row), sizeof rows);
    const u32 g = lane() >> 2, t = lane() & 3u;
    for (u32 i = 0; i < 4; i++)
        r[i] = (u32)((const u16*)rows[8 * i + 2 * t])[g] | (u32)((const u16*)rows[8 * i + 2 * t + 1])[g] << 16;
}
#else
/// Starts to copy 16 bytes past L1; both places are aligned to 16 bytes.
BG_DEVICE void copy_async16(void* shared, const void* global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(shared)), "l"(global) : "memory");
}
/// The same with 4 bytes, through L1.
BG_DEVICE void copy_async4(void* shared, const void* global) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((u32)__cvta_generic_to_shared(shared)), "l"(global) : "memory");
}
/// 16 bytes, or 16 zeros; the address is not followed then, but has to be one.
BG_DEVICE void copy_async16_or_zero(void* shared, const void* global, bool wanted) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((u32)__cvta_generic_to_shared(shared)), "l"(global), "r"(wanted ? 16 : 0)
                 : "memory");
}
/// The thread's copies so far are a group.
BG_DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits for all of the thread's groups; those of other threads are seen after a barrier.
BG_DEVICE void wait_copies() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }
/// Waits for all of the thread's groups but the last LEFT.
template <u32 LEFT> BG_DEVICE void wait_copies_but() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }
/// Four 8 x 8 matrices of 16-bit elements: lane l names row l % 8 of matrix l / 8, 16 bytes; of matrix i, lane 4 g + t gets the elements 2 t (the
/// lower half of r[i]) and 2 t + 1 of its row g.
BG_DEVICE void load_matrices(u32 (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((u32)__cvta_generic_to_shared(row))
                 : "memory");
}
/// The same, each transposed: lane 4 g + t gets the elements g of its rows 2 t and 2 t + 1. That is the operand B of a product of 16 x 8 x 16.
BG_DEVICE void load_matrices_transposed(u32 (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((u32)__cvta_generic_to_shared(row))
                 : "memory");
}
#endif
}  // namespace bg
