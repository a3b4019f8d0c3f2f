// Loops of the Bessel functions of order 0 and 1, and of their first derivatives where these are sums of others.
#include "kernels/simd/pointwise.hpp"
#include "special/bessel/kernels.hpp"
#include "special/bessel/vectors.hpp"

namespace reel::kernels {

namespace {

using V = Vec<double>;

// A function of doubles as one of T: float is computed in double. Its derivatives that are sums are those of double.
template <class T, V (*function)(V)>
struct Of {
  Vec<T> operator()(Vec<T> x) const {
    if constexpr (std::is_same_v<T, double>)
      return function(x);
    else
      return math::in_double(function, x);
  }
};

template <V (*function)(V)>
V negative(V x) {
  return -function(x);
}
// The derivatives of order 1 by those of order 0: DLMF 10.6.2, 10.29.2. Limits at 0, of either sign, and at infinity
// are put in.
V i1_slope(V x) {
  const V i = math::bessel_i<double, 0, false>(x);
  const auto inside = isfinite(i) & (x != 0);
  const V other = where(inside, math::bessel_i<double, 1, false>(x), 0) / where(inside, x, 1);
  return where(x == 0, 0.5, i - other);
}
V k1_slope(V x) { return -(math::bessel_k<0, false>(x) + math::bessel_k<1, false>(x) / abs(x)); }
V j1_slope(V x) {
  const V other = math::bessel_j<double, 1>(x) / where(x == 0, 1, x);
  return where(x == 0, 0.5, math::bessel_j<double, 0>(x) - other);
}
V y1_slope(V x) {
  return where(x == 0, math::infinite, math::bessel_y<double, 0>(x) - math::bessel_y<double, 1>(x) / x);
}

template <class T, V (*value)(V), V (*derivative)(V) = nullptr>
constexpr Bessel loops() {
  if constexpr (derivative == nullptr)
    return {&Map<T, Of<T, value>, 1, 0>::run, nullptr};
  else
    return {&Map<T, Of<T, value>, 1, 0>::run, &Map<T, Of<T, derivative>, 1, 0>::run};
}

template <class T>
void enter_loops(Bessel* all) {
  using namespace math;
  // The shorter polynomials of float cost 10 kB of code per set, so only AVX-512 has them.
  using P = std::conditional_t<instruction_set == InstructionSet::avx512, T, double>;
  const auto of = [all](BesselFunction f) -> Bessel& { return all[static_cast<std::size_t>(f)]; };
  of(BesselFunction::i0) = loops<T, bessel_i<P, 0, false>, bessel_i<P, 1, false>>();
  of(BesselFunction::i1) = loops<T, bessel_i<P, 1, false>, i1_slope>();
  of(BesselFunction::i0e) = loops<T, bessel_i<P, 0, true>>();
  of(BesselFunction::i1e) = loops<T, bessel_i<P, 1, true>>();
  of(BesselFunction::k0) = loops<T, bessel_k<0, false>, negative<bessel_k<1, false>>>();
  of(BesselFunction::k1) = loops<T, bessel_k<1, false>, k1_slope>();
  of(BesselFunction::k0e) = loops<T, bessel_k<0, true>>();
  of(BesselFunction::k1e) = loops<T, bessel_k<1, true>>();
  of(BesselFunction::j0) = loops<T, bessel_j<P, 0>, negative<bessel_j<P, 1>>>();
  of(BesselFunction::j1) = loops<T, bessel_j<P, 1>, j1_slope>();
  of(BesselFunction::y0) = loops<T, bessel_y<P, 0>, negative<bessel_y<P, 1>>>();
  of(BesselFunction::y1) = loops<T, bessel_y<P, 1>, y1_slope>();
}

}  // namespace

const void* bessel_kernels() {
  static BesselKernels all;
  enter_loops<float>(all.loops[index(DType::float32)]);
  enter_loops<double>(all.loops[index(DType::float64)]);
  return &all;
}

}  // namespace reel::kernels
