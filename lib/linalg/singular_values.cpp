#include "linalg/singular_values.hpp"

#include <algorithm>
#include <complex>
#include <limits>

#include "core/visit.hpp"
#include "loops/product/matmul.hpp"
#include "loops/product/matrices.hpp"

namespace reel::loops {
namespace {

using reel::detail::mutable_data;

Tensor matrices_like(const Tensor& a, DType dtype, std::int64_t rows, std::int64_t columns) {
  Shape shape = a.shape();
  shape[-2] = rows;
  shape[-1] = columns;
  return reel::detail::empty(dtype, shape);
}

// f(singular values, their number, the result) of each matrix.
template <class F>
FactorInfo for_each_spectrum(const Tensor& a, const Tensor& y, const F& f) {
  const std::int64_t k = std::min(a.shape()[-2], a.shape()[-1]);
  const Tensor s = matrices_like(a, y.dtype(), 1, k);
  const FactorInfo info = svd(a, s, {});
  visit_among<float, double>(y.dtype(), [&]<class T>() {
    for (std::int64_t i = 0; i < y.size(); ++i) f(mutable_data<T>(s) + i * k, k, mutable_data<T>(y)[i]);
  });
  return info;
}

}  // namespace

FactorInfo singular_value(const Tensor& a, bool smallest, const Tensor& y) {
  return for_each_spectrum(a, y,
                           [smallest](const auto* s, std::int64_t k, auto& value) { value = s[smallest ? k - 1 : 0]; });
}

FactorInfo nuclear_norm(const Tensor& a, const Tensor& y) {
  return for_each_spectrum(a, y, [](const auto* s, std::int64_t k, auto& value) {
    value = 0;
    for (std::int64_t i = k; i > 0; --i) value += s[i - 1];  // the smallest first
  });
}

FactorInfo polar_factor(const Tensor& a, const Tensor& s, const Tensor& q) {
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1];
  const Tensor u = matrices_like(a, a.dtype(), m, n), vh = matrices_like(a, a.dtype(), n, n);
  const FactorInfo info = svd(a, s, {u, vh, {}, {}});
  visit_lapack_type(a, [&]<class T>() {
    using Real = decltype(std::abs(T()));
    const Real least = static_cast<Real>(n + 10) * std::numeric_limits<Real>::epsilon();
    for (std::int64_t i = 0; i < s.size(); ++i) {
      const std::int64_t matrix = i / n, column = i % n;
      if (!(mutable_data<Real>(s)[i] <= least * mutable_data<Real>(s)[i - column])) continue;
      T* to = mutable_data<T>(u) + matrix * m * n + column;
      for (std::int64_t row = 0; row < m; ++row) to[row * n] = 0;
    }
  });
  matmul(u, vh, {}, q);
  return info;
}

}  // namespace reel::loops
