// SLEEF's vector functions by lane type: Sleef<T, I>::sin_u10(x) and so on, u10 meaning at most 1.0 ulp. isa::scalar has none: it
// calls libm.
#pragma once
#include <sleef.h>

#include "kernels/lane.hpp"

namespace reel::kernels::math {

template <class T, class I>
struct Sleef;

#define REEL_SLEEF_UNARY(NAME, R, ACCURACY, SUFFIX) \
  [[gnu::always_inline]] static L NAME##_##ACCURACY(L x) { return L(typename L::Batch(Sleef_##NAME##R##_##ACCURACY##SUFFIX(x.v))); }
#define REEL_SLEEF_BINARY(NAME, R, ACCURACY, SUFFIX)                             \
  [[gnu::always_inline]] static L NAME##_##ACCURACY(L x, L y) {                  \
    return L(typename L::Batch(Sleef_##NAME##R##_##ACCURACY##SUFFIX(x.v, y.v))); \
  }
#define REEL_SLEEF(T, ISA, R, SUFFIX)        \
  template <>                                \
  struct Sleef<T, isa::ISA> {                \
    using L = Lane<T, isa::ISA>;             \
    REEL_SLEEF_UNARY(sin, R, u10, SUFFIX)    \
    REEL_SLEEF_UNARY(cos, R, u10, SUFFIX)    \
    REEL_SLEEF_UNARY(tan, R, u10, SUFFIX)    \
    REEL_SLEEF_UNARY(asin, R, u35, SUFFIX)   \
    REEL_SLEEF_UNARY(acos, R, u35, SUFFIX)   \
    REEL_SLEEF_UNARY(atan, R, u35, SUFFIX)   \
    REEL_SLEEF_BINARY(atan2, R, u35, SUFFIX) \
    REEL_SLEEF_BINARY(atan2, R, u10, SUFFIX) \
    REEL_SLEEF_UNARY(cbrt, R, u35, SUFFIX)   \
    REEL_SLEEF_BINARY(pow, R, u10, SUFFIX)   \
    REEL_SLEEF_BINARY(hypot, R, u05, SUFFIX) \
    REEL_SLEEF_BINARY(hypot, R, u35, SUFFIX) \
    REEL_SLEEF_UNARY(erf, R, u10, SUFFIX)    \
    REEL_SLEEF_UNARY(erfc, R, u15, SUFFIX)   \
    REEL_SLEEF_UNARY(lgamma, R, u10, SUFFIX) \
  };

#if defined(__SSE2__) && XSIMD_WITH_SSE2
REEL_SLEEF(float, sse2, f4, sse2)
REEL_SLEEF(double, sse2, d2, sse2)
#endif
#if defined(__AVX2__) && XSIMD_WITH_AVX2
REEL_SLEEF(float, avx2, f8, avx2)
REEL_SLEEF(double, avx2, d4, avx2)
#endif
#if defined(__AVX512F__) && XSIMD_WITH_AVX512BW
REEL_SLEEF(float, avx512, f16, avx512f)
REEL_SLEEF(double, avx512, d8, avx512f)
#endif
#if XSIMD_WITH_NEON64
REEL_SLEEF(float, neon64, f4, advsimd)
REEL_SLEEF(double, neon64, d2, advsimd)
#endif
#undef REEL_SLEEF
#undef REEL_SLEEF_BINARY
#undef REEL_SLEEF_UNARY

}  // namespace reel::kernels::math
