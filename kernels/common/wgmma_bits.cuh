// Products of 64 x 256 by 256 x N bits by the four warps of a group, straight from shared memory (Hopper): the ones of the AND of a line of each
// operand are added to a sum. They go on while the group does other things.
//
// A tile is lines of 1024 bits, 128 bytes each, its 16-byte pieces exchanged within 8 lines (piece i of line r lies at place i ^ (r % 8)); it starts
// at a multiple of 1024 bytes. Thread 32 w + 4 g + t of the group holds, for columns 8 j + 2 t and the next one, row 16 w + g in d[4 j] and
// d[4 j + 1], and row 16 w + g + 8 in the two after them.
#pragma once
#include "common/warp.cuh"

namespace bg {
/// Where 16 bytes of a line of a tile lie: piece `piece` of 8.
BG_DEVICE u32 swizzled(u32 line, u32 piece) { return line * 128 + ((piece ^ (line & 7u)) << 4); }

#ifdef BITGRAPH_HOST
inline u64 tile_of(const void* p) { return (u64)p; }
inline u64 tile_further(u64 tile, u32 bits) { return tile + bits / 8; }
template <u32 N> inline void wgmma_bits(i32 (&d)[N / 2], u64 a, u64 b, bool add = true) {
    auto word = [](u64 tile, u32 line, u32 k) {
        const u64 at = (tile & ~(u64)127) + line * 128 + (tile & 127) + k * 4;
        return *(const u32*)(at ^ (at >> 7 & 7) << 4);
    };
    const u32 w = threadIdx.x / WARP & 3u, g = lane() >> 2, t = lane() & 3u;
    for (u32 i = 0; i < N / 2; i++) {
        d[i] = add ? d[i] : 0;
        for (u32 k = 0; k < 8; k++)
            d[i] += __popc(word(a, w * 16 + g + (i >> 1 & 1u) * 8, k) & word(b, (i >> 2) * 8 + t * 2 + (i & 1u), k));
    }
}
inline void wgmma_begin() {}
inline void wgmma_commit() {}
template <u32 LEFT> inline void wgmma_wait() {}
inline void publish_shared() {}
template <u32 COUNT> inline void keep_registers(i32 (&)[COUNT]) {}
#else
/// What names a tile to the tensor cores: its address, and 1024 bytes from 8 lines to the next 8, the pieces exchanged as above.
BG_DEVICE u64 tile_of(const void* p) {
    return (((u64)__cvta_generic_to_shared(p) & 0x3ffffu) >> 4) | (u64)1 << 16 | (u64)64 << 32 | (u64)1 << 62;
}
/// The same lines from a multiple of 256 bits on.
BG_DEVICE u64 tile_further(u64 tile, u32 bits) { return tile + bits / 128; }
/// The sums stay in these registers from here on, whatever the compiler thinks of their use.
template <u32 COUNT> BG_DEVICE void keep_registers(i32 (&d)[COUNT]) {
#pragma unroll
    for (u32 i = 0; i < COUNT; i++) asm volatile("" : "+r"(d[i])::"memory");
}
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
/// What the group wrote to shared memory by copies is seen by the tensor cores; before a barrier.
BG_DEVICE void publish_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/// Before the first product after the sums were touched.
BG_DEVICE void wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// The products so far are a group.
BG_DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits for all groups but the last LEFT.
template <u32 LEFT> BG_DEVICE void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory"); }
/// d += a b; without `add`, d = a b.
template <u32 N> BG_DEVICE void wgmma_bits(i32 (&d)[N / 2], u64 a, u64 b, bool add = true);
template <> BG_DEVICE void wgmma_bits<64>(i32 (&d)[32], u64 a, u64 b, bool add) {
    asm volatile(
        "{.reg .pred add; setp.ne.b32 add, %34, 0;"
        "wgmma.mma_async.sync.aligned.m64n64k256.s32.b1.b1.and.popc {"
        "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
        "}, %32, %33, add;}"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
          "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
          "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]),
          "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31])
        : "l"(a), "l"(b), "r"((u32)add));
}
template <> BG_DEVICE void wgmma_bits<128>(i32 (&d)[64], u64 a, u64 b, bool add) {
    asm volatile(
        "{.reg .pred add; setp.ne.b32 add, %66, 0;"
        "wgmma.mma_async.sync.aligned.m64n128k256.s32.b1.b1.and.popc {"
        "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
        "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
        "}, %64, %65, add;}"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
          "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
          "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]),
          "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]),
          "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]),
          "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]),
          "+r"(d[48]), "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]),
          "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63])
        : "l"(a), "l"(b), "r"((u32)add));
}
template <> BG_DEVICE void wgmma_bits<256>(i32 (&d)[128], u64 a, u64 b, bool add) {
    asm volatile(
        "{.reg .pred add; setp.ne.b32 add, %130, 0;"
        "wgmma.mma_async.sync.aligned.m64n256k256.s32.b1.b1.and.popc {"
        "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
        "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,"
        "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,"
        "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
        "}, %128, %129, add;}"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
          "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
          "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]),
          "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]),
          "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]),
          "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]),
          "+r"(d[48]), "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]),
          "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63]),
          "+r"(d[64]), "+r"(d[65]), "+r"(d[66]), "+r"(d[67]), "+r"(d[68]), "+r"(d[69]), "+r"(d[70]), "+r"(d[71]),
          "+r"(d[72]), "+r"(d[73]), "+r"(d[74]), "+r"(d[75]), "+r"(d[76]), "+r"(d[77]), "+r"(d[78]), "+r"(d[79]),
          "+r"(d[80]), "+r"(d[81]), "+r"(d[82]), "+r"(d[83]), "+r"(d[84]), "+r"(d[85]), "+r"(d[86]), "+r"(d[87]),
          "+r"(d[88]), "+r"(d[89]), "+r"(d[90]), "+r"(d[91]), "+r"(d[92]), "+r"(d[93]), "+r"(d[94]), "+r"(d[95]),
          "+r"(d[96]), "+r"(d[97]), "+r"(d[98]), "+r"(d[99]), "+r"(d[100]), "+r"(d[101]), "+r"(d[102]), "+r"(d[103]),
          "+r"(d[104]), "+r"(d[105]), "+r"(d[106]), "+r"(d[107]), "+r"(d[108]), "+r"(d[109]), "+r"(d[110]), "+r"(d[111]),
          "+r"(d[112]), "+r"(d[113]), "+r"(d[114]), "+r"(d[115]), "+r"(d[116]), "+r"(d[117]), "+r"(d[118]), "+r"(d[119]),
          "+r"(d[120]), "+r"(d[121]), "+r"(d[122]), "+r"(d[123]), "+r"(d[124]), "+r"(d[125]), "+r"(d[126]), "+r"(d[127])
        : "l"(a), "l"(b), "r"((u32)add));
}
#else
// Other architectures have no such instruction; the host launches other kernels there.
BG_DEVICE void publish_shared() {}
BG_DEVICE void wgmma_begin() { trap(); }
BG_DEVICE void wgmma_commit() {}
template <u32 LEFT> BG_DEVICE void wgmma_wait() {}
template <u32 N> BG_DEVICE void wgmma_bits(i32 (&)[N / 2], u64, u64, bool = true) {}
#endif
#endif
}  // namespace bg
