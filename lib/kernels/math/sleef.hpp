// SLEEF's vector functions by element type: Sleef<T>::sin_u10(x) and so on, where u10 means an error of at most 1.0
// ulp. These are its deterministic variants (finz with fused multiply-add, cinz without). Their branches do not depend
// on other lanes, so an element's result does not depend on its neighbours. The scalar set has none and calls libm.
#pragma once
#include <sleef.h>

#include <cfenv>
#include <cmath>

#include "kernels/vec.hpp"

namespace reel::kernels::math {

template <class T>
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
#define REEL_SLEEF(T, KIND, R, SUFFIX)             \
  template <>                                      \
  struct Sleef<T> {                                \
    using L = Vec<T>;                              \
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

#define REEL_SLEEF_avx512 REEL_SLEEF(float, finz, f16, avx512f) REEL_SLEEF(double, finz, d8, avx512f)
#define REEL_SLEEF_avx2 REEL_SLEEF(float, finz, f8, avx2) REEL_SLEEF(double, finz, d4, avx2)
#define REEL_SLEEF_sse2 REEL_SLEEF(float, cinz, f4, sse2) REEL_SLEEF(double, cinz, d2, sse2)
#define REEL_SLEEF_neon64 REEL_SLEEF(float, finz, f4, advsimd) REEL_SLEEF(double, finz, d2, advsimd)
#define REEL_SLEEF_scalar
REEL_OF_ISA(REEL_SLEEF_)
#undef REEL_SLEEF_scalar
#undef REEL_SLEEF_neon64
#undef REEL_SLEEF_sse2
#undef REEL_SLEEF_avx2
#undef REEL_SLEEF_avx512
#undef REEL_SLEEF
#undef REEL_SLEEF_BINARY
#undef REEL_SLEEF_UNARY

}  // namespace reel::kernels::math
