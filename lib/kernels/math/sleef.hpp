// SLEEF's vector functions by element type: Sleef<T>::sin_u10(x) and so on, where u10 means an error of at most 1.0
// ulp. These are its deterministic variants (finz with fused multiply-add, cinz without). Their branches do not depend
// on other lanes, so an element's result does not depend on its neighbours. isa::scalar has none and calls libm.
#pragma once
#include <sleef.h>

#include <cfenv>
#include <cmath>

#include "kernels/vec.hpp"

namespace reel::kernels::math {

template <class T, class I = current>
struct Sleef;

// Whether this thread rounds to nearest. In other modes SLEEF's cbrt is off by a factor of 2, and its sin, cos and tan
// reduce their argument by the wrong multiple of pi.
[[gnu::always_inline]] inline bool rounds_to_nearest() {
#if defined(__SSE2__)
  return (_mm_getcsr() & _MM_ROUND_MASK) == _MM_ROUND_NEAREST;
#elif defined(__aarch64__)
  std::uint64_t control = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return (control >> 22 & 3u) == 0;  // the field RMode
#else
  return std::fegetround() == FE_TONEAREST;
#endif
}

#define REEL_SLEEF_UNARY(KIND, NAME, R, ACCURACY, SUFFIX)                            \
  [[gnu::always_inline]] static L NAME##_##ACCURACY(L x) {                           \
    return L(typename L::Batch(Sleef_##KIND##_##NAME##R##_##ACCURACY##SUFFIX(x.v))); \
  }
#define REEL_SLEEF_BINARY(KIND, NAME, R, ACCURACY, SUFFIX)                                \
  [[gnu::always_inline]] static L NAME##_##ACCURACY(L x, L y) {                           \
    return L(typename L::Batch(Sleef_##KIND##_##NAME##R##_##ACCURACY##SUFFIX(x.v, y.v))); \
  }
#define REEL_SLEEF(T, ISA, KIND, R, SUFFIX)        \
  template <>                                      \
  struct Sleef<T, isa::ISA> {                      \
    using L = Vec<T, isa::ISA>;                    \
    REEL_SLEEF_UNARY(KIND, sin, R, u10, SUFFIX)    \
    REEL_SLEEF_UNARY(KIND, cos, R, u10, SUFFIX)    \
    REEL_SLEEF_UNARY(KIND, tan, R, u10, SUFFIX)    \
    REEL_SLEEF_UNARY(KIND, asin, R, u35, SUFFIX)   \
    REEL_SLEEF_UNARY(KIND, acos, R, u35, SUFFIX)   \
    REEL_SLEEF_UNARY(KIND, atan, R, u35, SUFFIX)   \
    REEL_SLEEF_BINARY(KIND, atan2, R, u35, SUFFIX) \
    REEL_SLEEF_BINARY(KIND, atan2, R, u10, SUFFIX) \
    REEL_SLEEF_UNARY(KIND, cbrt, R, u35, SUFFIX)   \
    REEL_SLEEF_BINARY(KIND, pow, R, u10, SUFFIX)   \
    REEL_SLEEF_BINARY(KIND, hypot, R, u05, SUFFIX) \
    REEL_SLEEF_BINARY(KIND, hypot, R, u35, SUFFIX) \
    REEL_SLEEF_UNARY(KIND, erf, R, u10, SUFFIX)    \
    REEL_SLEEF_UNARY(KIND, erfc, R, u15, SUFFIX)   \
    REEL_SLEEF_UNARY(KIND, lgamma, R, u10, SUFFIX) \
  };

#if defined(__SSE2__) && XSIMD_WITH_SSE2
REEL_SLEEF(float, sse2, cinz, f4, sse2)
REEL_SLEEF(double, sse2, cinz, d2, sse2)
#endif
#if defined(__AVX2__) && XSIMD_WITH_AVX2
REEL_SLEEF(float, avx2, finz, f8, avx2)
REEL_SLEEF(double, avx2, finz, d4, avx2)
#endif
#if defined(__AVX512F__) && XSIMD_WITH_AVX512BW
REEL_SLEEF(float, avx512, finz, f16, avx512f)
REEL_SLEEF(double, avx512, finz, d8, avx512f)
#endif
#if XSIMD_WITH_NEON64
REEL_SLEEF(float, neon64, finz, f4, advsimd)
REEL_SLEEF(double, neon64, finz, d2, advsimd)
#endif
#undef REEL_SLEEF
#undef REEL_SLEEF_BINARY
#undef REEL_SLEEF_UNARY

}  // namespace reel::kernels::math
