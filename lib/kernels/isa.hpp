// The instruction sets that the kernels are compiled for, as tag types. The build compiles the same source once for
// each of them with -DREEL_KERNEL_ISA=<name>; whatever is instantiated there must carry the tag in its type, or the
// linker may keep a copy that was compiled for another machine.
#pragma once

namespace reel::kernels::isa {

// `fused`: the machine has a fused multiply-add, so that fma(a, b, c) rounds once.
struct scalar {
  static constexpr const char* name = "scalar";
  static constexpr bool fused = false;
};
struct sse2 {
  static constexpr const char* name = "sse2";
  static constexpr bool fused = false;
};
struct avx2 {
  static constexpr const char* name = "avx2";
  static constexpr bool fused = true;
};
struct avx512 {
  static constexpr const char* name = "avx512";
  static constexpr bool fused = true;
};
struct neon64 {
  static constexpr const char* name = "neon64";
  static constexpr bool fused = true;
};

}  // namespace reel::kernels::isa

#ifdef REEL_KERNEL_ISA
namespace reel::kernels {
using current = isa::REEL_KERNEL_ISA;
}
#endif
