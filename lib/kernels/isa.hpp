// The instruction sets that the kernels are compiled for. The build compiles the same source once for each, with
// -DREEL_KERNEL_ISA=<name>, and localizes the symbols of its object, so that functions of the same name do not clash.
// Other sources, such as tests, use isa::scalar.
#pragma once
#include <type_traits>

namespace reel::kernels {

namespace isa {

// `fused`: the instruction set has a fused multiply-add, so that fma(a, b, c) rounds once.
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

}  // namespace isa

#ifdef REEL_KERNEL_ISA
using current = isa::REEL_KERNEL_ISA;
#else
using current = isa::scalar;
#endif

// Whether this translation unit is compiled for instruction set I.
template <class I>
inline constexpr bool is_current = std::is_same_v<current, I>;

}  // namespace reel::kernels
