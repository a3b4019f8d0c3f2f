// Each column k of l, and x, are rotated so that x loses its element k: Gill, Golub, Murray and Saunders, "Methods for
// modifying matrix factorizations", Math. Comp. 28 (1974). A downdate takes hyperbolic rotations in mixed form, of
// which the second row is computed from the result of the first: Bojanczyk, Brent, Van Dooren and de Hoog, "A note on
// downdating the Cholesky factorization", SIAM J. Sci. Stat. Comput. 8 (1987).
#include "linalg/rank_one_update.hpp"

#include <algorithm>
#include <cmath>

#include "linalg/lapack_codes.hpp"
#include "loops/loops.hpp"
#include "loops/product/matrices.hpp"

namespace reel::loops {
namespace {

using reel::detail::mutable_data;

inline float conjugate_of(float x) { return x; }
inline double conjugate_of(double x) { return x; }
template <class T>
std::complex<T> conjugate_of(const std::complex<T>& x) {
  return std::conj(x);
}

// The rotation (l, x) -> (c l + s x, d x - e l). For a downdate the second row uses the new l.
template <class T>
struct FactorRotation {
  T c, s, d, e;
};

// The rotation that brings x to 0 beside the diagonal element l, which becomes r. False if r^2 is not positive.
template <class T, class Real>
bool rotation(const T& l, const T& x, bool downdate, Real& r, FactorRotation<T>& to) {
  const Real size_l = std::abs(l), size_x = std::abs(x);
  if (downdate && !(size_l > size_x)) return false;
  r = downdate ? std::sqrt(size_l - size_x) * std::sqrt(size_l + size_x) : std::hypot(size_l, size_x);
  if (!(r > 0)) return false;
  const T c = conjugate_of(l) / r, s = conjugate_of(x) / r;
  to = downdate ? FactorRotation<T>{c, -s, r / conjugate_of(l), x / conjugate_of(l)}
                : FactorRotation<T>{c, s, l / r, x / r};
  return true;
}

// Returns the order of the first minor that is not positive, or 0.
template <class T>
int update(T* l, const T* x, std::int64_t n, bool downdate, FactorRotation<T>* rotations) {
  for (std::int64_t i = 0; i < n; ++i) {
    T* row = l + i * n;
    T rest = x[i];
    for (std::int64_t k = 0; k < i; ++k) {
      const FactorRotation<T>& q = rotations[k];
      const T before = row[k];
      row[k] = q.c * before + q.s * rest;
      rest = q.d * rest - q.e * (downdate ? row[k] : before);
    }
    decltype(std::abs(rest)) diagonal{};
    if (!rotation(row[i], rest, downdate, diagonal, rotations[i])) return static_cast<int>(i + 1);
    row[i] = diagonal;
  }
  return 0;
}

}  // namespace

FactorInfo cholesky_update(const Tensor& l, const Tensor& x, bool downdate, const Tensor& out) {
  copy(l, out);
  const Tensor vectors = reel::detail::empty(x.dtype(), x.shape());
  copy(x, vectors);
  const std::int64_t n = order_of(out), count = count_of(out, n);
  detail::List<int> codes(static_cast<std::size_t>(count));
  visit_lapack_type(out, [&]<class T>() {
    detail::List<FactorRotation<T>> rotations(static_cast<std::size_t>(count * n));
    for_each_matrix(count, n, [&](std::int64_t at) {
      T* m = mutable_data<T>(out) + at * n * n;
      const T* v = mutable_data<T>(vectors) + at * n;
      bool is_finite = finite(v, n);
      for (std::int64_t i = 0; i < n; ++i) {
        is_finite = is_finite && finite(m + i * n, i + 1);
        std::fill(m + i * n + i + 1, m + (i + 1) * n, T(0));
      }
      if (is_finite) {
        codes[static_cast<std::size_t>(at)] = update(m, v, n, downdate, rotations.data() + at * n);
      } else {
        for (std::int64_t i = 0; i < n; ++i) std::fill_n(m + i * n, i + 1, not_a_number<T>);
      }
    });
  });
  return first_info(codes);
}

}  // namespace reel::loops
