// Loops over the matrices of a batch, one factorisation each. Matrices that are not finite are skipped: pivoting is not
// defined on NaN.
#include "linalg/factorise.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <new>
#include <numeric>
#include <type_traits>

#include "core/fail.hpp"
#include "linalg/dense_factors.hpp"
#include "linalg/lapack_codes.hpp"
#include "linalg/scaled_number.hpp"
#include "loops/loops.hpp"
#include "loops/product/matrices.hpp"

namespace reel::loops {
namespace {

using kernels::Diagonal, kernels::Side, kernels::Transposed, kernels::Triangle;
using reel::detail::mutable_data;

}  // namespace

template <class T>
bool finite(const T* x, std::int64_t n) {
  using Real = decltype(std::real(T()));
  const Real* from = reinterpret_cast<const Real*>(x);
  const std::int64_t count = n * static_cast<std::int64_t>(sizeof(T) / sizeof(Real));
  constexpr std::int64_t parts = 8;  // sums, since each waits for its last addition
  Real sum = 0;                      // x - x is 0 or NaN
  std::int64_t i = 0;
  if (count >= parts) {
    Real sums[parts] = {};
    for (; i + parts <= count; i += parts)
      for (std::int64_t part = 0; part < parts; ++part) sums[part] += from[i + part] - from[i + part];
    sum = std::accumulate(sums, sums + parts, sum);
  }
  for (; i < count; ++i) sum += from[i] - from[i];
  return sum == 0;
}
template bool finite<float>(const float*, std::int64_t);
template bool finite<double>(const double*, std::int64_t);
template bool finite<std::complex<float>>(const std::complex<float>*, std::int64_t);
template bool finite<std::complex<double>>(const std::complex<double>*, std::int64_t);

FactorInfo cholesky(const Tensor& a) {
  const std::int64_t n = order_of(a), count = count_of(a, n);
  detail::List<int> codes(static_cast<std::size_t>(count));
  visit_lapack_type(a, [&]<class T>() {
    for_each_matrix(count, n, [&](std::int64_t at) {
      T* m = mutable_data<T>(a) + at * n * n;
      bool is_finite = true;
      for (std::int64_t i = 0; i < n; ++i) is_finite = is_finite && finite(m + i * n, i + 1);
      if constexpr (!std::is_floating_point_v<T>)
        for (std::int64_t i = 0; i < n; ++i) m[i * n + i] = std::real(m[i * n + i]);
      if (is_finite) {
        codes[static_cast<std::size_t>(at)] = dense::potrf<T>(n, m, n);
      } else {
        for (std::int64_t i = 0; i < n; ++i) std::fill_n(m + i * n, i + 1, not_a_number<T>);
      }
      for (std::int64_t i = 0; i < n; ++i) std::fill(m + i * n + i + 1, m + (i + 1) * n, T(0));
    });
  });
  return first_info(codes);
}

FactorInfo factorise(const Tensor& a, const Tensor& lu, const Tensor& pivots) {
  copy(a, lu);
  const std::int64_t n = order_of(a), count = count_of(a, n);
  detail::List<int> codes(static_cast<std::size_t>(count));
  visit_lapack_type(a, [&]<class T>() {
    for_each_matrix(count, n, [&](std::int64_t at) {
      T* m = mutable_data<T>(lu) + at * n * n;
      int* p = mutable_data<int>(pivots) + at * n;
      if (finite(m, n * n)) {
        codes[static_cast<std::size_t>(at)] = dense::getrf<T>(n, m, n, p);
      } else {
        std::fill_n(m, n * n, not_a_number<T>);
        std::iota(p, p + n, 1);
      }
    });
  });
  return first_info(codes);
}

void solve(const Tensor& factors, const Tensor& pivots, bool transpose, const Tensor& x, const Shape& batch,
           std::int64_t columns) {
  const std::int64_t n = order_of(factors), count = batch.elements();
  if (n == 0 || columns == 0 || count == 0) return;
  Shape own = factors.shape();
  own.pop_back();
  own.pop_back();
  detail::List<int> codes(static_cast<std::size_t>(count));
  visit_lapack_type(x, [&]<class T>() {
    for_each_matrix(count, n, [&](std::int64_t at) {
      const std::int64_t from = broadcast_index(at, batch, own);
      codes[static_cast<std::size_t>(at)] =
          dense::getrs<T>(kernels::transposed_if(transpose), n, columns, mutable_data<T>(factors) + from * n * n, n,
                          mutable_data<int>(pivots) + from * n, mutable_data<T>(x) + at * n * columns, columns);
    });
  });
  static_cast<void>(first_info(codes));
}

detail::List<std::int64_t> invert(const Tensor& factors, const Tensor& pivots) {
  const std::int64_t n = order_of(factors), count = count_of(factors, n);
  detail::List<int> codes(static_cast<std::size_t>(count));
  visit_lapack_type(factors, [&]<class T>() {
    for_each_matrix(count, n, [&](std::int64_t at) {
      T* m = mutable_data<T>(factors) + at * n * n;
      if (finite(m, n * n))
        codes[static_cast<std::size_t>(at)] = dense::getri<T>(n, m, n, mutable_data<int>(pivots) + at * n);
      else
        std::fill_n(m, n * n, not_a_number<T>);  // LAPACK leaves zeros of the identity that it solves for
    });
  });
  detail::List<std::int64_t> singular;
  if (first_info(codes))
    for (std::size_t i = 0; i < codes.size(); ++i)
      if (codes[i] > 0) singular.push_back(static_cast<std::int64_t>(i));
  return singular;
}

FactorInfo solve_triangular(const Tensor& matrices, const TriangularSystem& system, const Tensor& x, const Shape& batch,
                            std::int64_t columns) {
  const Factor a = factor(matrices, batch.rank(), false);
  const std::int64_t n = a.rows, count = batch.elements();
  if (n == 0 || columns == 0 || count == 0) return {};
  const MatrixLayout in_memory = layout(a);
  if (!in_memory.readable) return solve_triangular(contiguous(matrices), system, x, batch, columns);
  // for a transposed view: the other triangle, transposed again
  const Triangle triangle = system.lower == in_memory.transposed ? Triangle::upper : Triangle::lower;
  const Transposed transposed = kernels::transposed_if(system.transpose != in_memory.transposed);
  const Diagonal diagonal = system.unit_diagonal ? Diagonal::unit : Diagonal::stored;
  detail::List<int> codes(static_cast<std::size_t>(count));
  visit_lapack_type(x, [&]<class T>() {
    for_each_matrix(count, n, [&](std::int64_t at) {
      std::int64_t offset = 0, rest = at;
      for (int d = batch.rank() - 1; d >= 0; --d) {
        offset += rest % batch.data()[d] * a.batch_strides.data()[d];
        rest /= batch.data()[d];
      }
      const T* m = reinterpret_cast<const T*>(a.data) + offset;
      int& code = codes[static_cast<std::size_t>(at)];
      for (std::int64_t i = 0; i < n && !system.unit_diagonal && !system.any_diagonal && code == 0; ++i)
        if (m[i * (a.row_stride + a.column_stride)] == T(0)) code = static_cast<int>(i + 1);
      if (code == 0)
        code = dense::trsm<T>(Side::left, triangle, transposed, diagonal, n, columns, m, in_memory.leading,
                              mutable_data<T>(x) + at * n * columns, columns);
    });
  });
  return first_info(codes);
}

namespace {

double magnitude(double x) { return std::abs(x); }
double magnitude(const std::complex<double>& x) { return std::hypot(x.real(), x.imag()); }

}  // namespace

void determinant(const Tensor& factors, const Tensor& pivots, const Tensor& det) {
  const std::int64_t n = order_of(factors), count = det.size();
  visit_lapack_type(factors, [&]<class T>() {
    for (std::int64_t i = 0; i < count; ++i) {
      const T* of = mutable_data<T>(factors) + i * n * n;
      const int* order = mutable_data<int>(pivots) + i * n;
      mutable_data<T>(det)[i] = static_cast<T>(pivot_product(of, order, n).value());
    }
  });
}

void log_determinant(const Tensor& factors, const Tensor& pivots, const Tensor& sign, const Tensor& logdet) {
  const std::int64_t n = order_of(factors), count = sign.size();
  visit_lapack_type(factors, [&]<class T>() {
    using Real = decltype(std::real(T()));
    for (std::int64_t i = 0; i < count; ++i) {
      const T* of = mutable_data<T>(factors) + i * n * n;
      const int* order = mutable_data<int>(pivots) + i * n;
      const auto p = pivot_product(of, order, n);
      const double m = magnitude(p.mantissa);
      // A single logarithm while the value is in range: no cancellation near a determinant of 1.
      constexpr std::int64_t normal_exponent_max = 1000;  // of 1021
      const double log = std::abs(p.exponent) < normal_exponent_max
                             ? std::log(magnitude(p.value()))
                             : std::log(m) + static_cast<double>(p.exponent) * std::log(2.0);
      mutable_data<Real>(logdet)[i] = static_cast<Real>(log);
      if constexpr (std::is_floating_point_v<T>)
        mutable_data<T>(sign)[i] = static_cast<T>(std::isnan(m) ? m : m == 0 ? 0.0 : std::copysign(1.0, p.mantissa));
      else
        mutable_data<T>(sign)[i] = m == 0 ? T(0) : static_cast<T>(p.mantissa / m);
    }
  });
}

namespace {

// Infinities with the signs of the adjugate of a [n, n], which is overwritten. After n - 1 pivots the last row of L^-1
// and the last column of U^-1 span the adjugate of a matrix of rank n - 1.
template <class T>
void fill_infinite_inverse(T* a, std::int64_t n, T* inverse) {
  const double rounding = static_cast<double>(n) * static_cast<double>(std::numeric_limits<T>::epsilon());
  const CompletePivots p = eliminate(a, n, n - 1, rounding);
  detail::List<T> left(static_cast<std::size_t>(n * n)), right(left.size());
  for (std::int64_t i = 0; i < n; ++i) {
    left[static_cast<std::size_t>(i * n + p.rows[static_cast<std::size_t>(i)])] = 1;
    right[static_cast<std::size_t>(i * n + p.columns[static_cast<std::size_t>(i)])] = 1;
  }
  bool odd = p.odd;
  for (std::int64_t k = 0; k < p.count; ++k) {
    const T pivot = a[k * n + k];
    odd ^= pivot < T(0);
    for (std::int64_t i = k + 1; i < n; ++i) {
      const T lower = a[i * n + k], upper = a[k * n + i] / pivot;
      for (std::int64_t j = 0; j < n; ++j) {
        left[static_cast<std::size_t>(i * n + j)] -= lower * left[static_cast<std::size_t>(k * n + j)];
        right[static_cast<std::size_t>(i * n + j)] -= upper * right[static_cast<std::size_t>(k * n + j)];
      }
    }
  }
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const T l = left[static_cast<std::size_t>((n - 1) * n + i)], r = right[static_cast<std::size_t>((n - 1) * n + j)];
      const bool negative = p.count == n - 1 && l != T(0) && r != T(0) && (l < T(0)) != ((r < T(0)) != odd);
      inverse[j * n + i] = negative ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
    }
}

}  // namespace

void inverse_by_factors(const Tensor& a, const Tensor& lu, const Tensor& pivots, const Tensor& z) {
  copy(lu, z);
  const detail::List<std::int64_t> singular = invert(z, pivots);
  if (singular.empty()) return;
  const std::int64_t n = order_of(a);
  if (is_complex(a.dtype()))
    return visit_lapack_type(a, [&]<class T>() {
      for (const std::int64_t at : singular) std::fill_n(mutable_data<T>(z) + at * n * n, n * n, not_a_number<T>);
    });
  const Tensor matrices = contiguous(a);
  visit_among<float, double>(a.dtype(), [&]<class T>() {
    for (const std::int64_t at : singular) {
      const T* from = mutable_data<T>(matrices) + at * n * n;
      detail::List<T> work(from, from + n * n);
      fill_infinite_inverse(work.data(), n, mutable_data<T>(z) + at * n * n);
    }
  });
}

void scale_transposes(const Tensor& g, const Tensor& z, const Tensor& out) {
  const std::int64_t n = order_of(out), count = count_of(out, n), matrices = std::max<std::int64_t>(1, count_of(z, n));
  const Tensor factors = contiguous(g);
  visit_among<float, double>(out.dtype(), [&]<class T>() {
    for_each_matrix(count, n, [&](std::int64_t at) {
      const T factor = mutable_data<T>(factors)[at];
      const T* from = mutable_data<T>(z) + at % matrices * n * n;
      T* to = mutable_data<T>(out) + at * n * n;
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          const T element = from[j * n + i];
          to[i * n + j] = factor == T(0) && std::isinf(element) ? T(0) : factor * element;
        }
    });
  });
}

}  // namespace reel::loops
