// The derivative is computed in one of three ways, depending on the values and the degree of the derivative:
// 1. up to order 4: expansion into minors;
// 2. pivots of similar size: a + e h = a (1 + e x) with x = a^-1 h;
// 3. otherwise: complete pivoting.
// Parts that depend on the matrix only are computed once for all directions of a batch.
#pragma once
#include <atomic>
#include <limits>
#include <type_traits>

#include "linalg/dense_factors.hpp"
#include "linalg/determinant/determinant.hpp"
#include "linalg/determinant/expansion.hpp"
#include "linalg/determinant/pivots.hpp"
#include "linalg/determinant/series.hpp"
#include "linalg/lapack_codes.hpp"
#include "loops/loops.hpp"
#include "loops/product/matmul.hpp"

namespace reel::loops::determinants {

using reel::detail::mutable_data;

template <class Number>
int largest_exponent(const Matrix<Number>& x) {
  double most = 0;
  for (const Number& element : x) most = std::max(most, magnitude(element));
  return most == 0 ? std::numeric_limits<int>::min() : std::ilogb(most);
}

// ---- Way 2

template <class Number>
void scale_by(Matrix<Number>& x, int exponent) {
  const double factor = std::ldexp(1.0, exponent);
  for (Number& element : x) element = std::isnormal(factor) ? element * factor : scale_by_power(element, exponent);
}

template <class Number>
Result<Number> gradient_by_inverse(const DirectionalDerivative<Number>& p, const Inverse<Number>& a) {
  Result<Number> result{Matrix<Number>(p.size()), {a.determinant.exponent}};
  for (std::int64_t i = 0; i < p.n; ++i)
    for (std::int64_t j = 0; j < p.n; ++j)
      result.mantissas[at(i * p.n + j)] = a.determinant.mantissa * a.elements[at(j * p.n + i)];
  return result;
}

// (tr(x) z - x z)^T, where x is z times the direction.
template <class Number>
Result<Number> second_by_inverse(const DirectionalDerivative<Number>& p, const Inverse<Number>& a,
                                 const Matrix<Number>& x, const BasicScaled<Number>& scale) {
  Matrix<Number> product;
  add_matrix_product<Number>(product, 1, x, a.elements, p.n, p.n, p.n);
  const Number t = trace(x, p.n);
  Result<Number> result{Matrix<Number>(p.size()), {scale.exponent}};
  for (std::int64_t i = 0; i < p.n; ++i)
    for (std::int64_t j = 0; j < p.n; ++j)
      result.mantissas[at(i * p.n + j)] = scale.mantissa * (t * a.elements[at(j * p.n + i)] - product[at(j * p.n + i)]);
  return result;
}

template <class Number>
Result<Number> by_inverse(const DirectionalDerivative<Number>& p, const Inverse<Number>& a) {
  const std::int64_t n = p.n;
  if (p.count() == 0) return gradient_by_inverse(p, a);
  BasicScaled<Number> scale = a.determinant;
  std::vector<Matrix<Number>> x(p.count());
  for (unsigned d = 0; d < p.count(); ++d) {
    Matrix<Number> h = p.directions[d];
    const int exponent = largest_exponent(h);
    if (exponent == std::numeric_limits<int>::min()) return {Matrix<Number>(p.size()), {0}};
    scale_by(h, a.size - exponent);  // to a's size, so that x is in range
    scale.exponent += exponent - a.size;
    if (p.degree() == 1) return {{scale.mantissa * trace_of_product(a.elements, h, n)}, {scale.exponent}};
    add_matrix_product<Number>(x[d], 1, a.elements, h, n, n, n);
  }
  if (p.degree() == 2 && p.cofactors) return second_by_inverse(p, a, x[0], scale);
  const UnitSeries<Number> u = unit_series(x, n);
  if (!p.cofactors) return {{u.determinant[p.full()] * scale.mantissa}, {scale.exponent}};
  Matrix<Number> adjugate;
  add_matrix_product(adjugate, scale.mantissa, scaled_coefficient(u.determinant, u.inverse, p.full()), a.elements, n, n,
                     n);
  Result<Number> result{Matrix<Number>(p.size()), {scale.exponent}};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) result.mantissas[at(i * n + j)] = adjugate[at(j * n + i)];
  return result;
}

// ---- The choice, and batches

constexpr std::int64_t small_order_max = 4;  // up to which derivatives are expanded into minors anyway

template <class Number>
bool all_finite(const Matrix<Number>& m) {
  Number sum{};  // x - x is 0 or NaN
  for (const Number& x : m) sum += x - x;
  return sum == Number(0);
}

// Whether division by the pivots loses at most half of the digits, for a derivative of this degree, and no element of
// the inverse overflows.
template <class T>
bool regular(const T* lu, std::int64_t n, std::int64_t degree) {
  constexpr bool is_single = std::is_same_v<decltype(std::abs(T())), float>;
  constexpr double half = is_single ? 1e-3 : 1e-6, range = is_single ? 0x1p100 : 0x1p900;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double pivot = std::abs(lu[i * n + i]);
    least = std::min(least, pivot);
    most = std::max(most, pivot);
  }
  // There complete pivoting ends in an expansion, which is cheap and exact. Second derivatives need this precision.
  const double lost = degree > 1 && n <= expanded_order_max ? 1e-2 : half;
  return least > std::pow(lost, 1.0 / static_cast<double>(degree)) * most && most < range && most > 1 / range;
}

template <class T>
Inverse<InDouble<T>> inverse_by_factors(const T* lu, const int* pivots, std::int64_t n) {
  std::vector<T> inverse(lu, lu + n * n);
  require_success(dense::getri<T>(n, inverse.data(), n, pivots));
  double most = 0;
  for (std::int64_t i = 0; i < n; ++i) most = std::max<double>(most, std::abs(lu[i * n + i]));
  return {Matrix<InDouble<T>>(inverse.begin(), inverse.end()), pivot_product(lu, pivots, n), std::ilogb(most)};
}

enum class Way : std::uint8_t { expansion, inverse, pivots, not_finite, vanishes };
// A matrix, prepared for derivatives of one degree.
template <class Number>
struct Prepared {
  Way way = Way::expansion;
  Matrix<Number> a;
  Minors<Number> minors;
  Inverse<Number> inverse;
  Pivoted<Number> pivots;
};

template <class T>
Prepared<InDouble<T>> prepare(const T* a, const T* lu, const int* pivots, std::int64_t n, std::int64_t degree) {
  using Number = InDouble<T>;
  Prepared<Number> p;
  p.a.assign(a, a + n * n);
  if (degree > n) {
    p.way = Way::vanishes;
  } else if (n <= small_order_max) {
    p.way = Way::expansion;
    p.minors = Minors<Number>(p.a, n, degree);
  } else if (!all_finite(p.a)) {
    p.way = Way::not_finite;
  } else if (regular(lu, n, degree)) {
    p.way = Way::inverse;
    p.inverse = inverse_by_factors(lu, pivots, n);
  } else {
    p.way = Way::pivots;
    p.pivots = pivot_matrix(p.a, n, degree);
  }
  return p;
}

template <class Number>
Result<Number> derivative(const DirectionalDerivative<Number>& p, const Prepared<Number>& a) {
  if (a.way == Way::vanishes) return {Matrix<Number>(p.size()), {0}};
  if (a.way == Way::expansion) return by_expansion(p, a.minors);
  if (a.way == Way::not_finite || !std::all_of(p.directions.begin(), p.directions.end(), all_finite<Number>))
    return {Matrix<Number>(p.size(), not_a_number<Number>), {0}};
  return a.way == Way::inverse ? by_inverse(p, a.inverse) : by_pivots(p, a.pivots);
}

// The batch shape: all axes but the last `own`.
inline Shape batch_of(const Tensor& x, int own) {
  Shape batch = x.shape();
  for (int i = 0; i < own; ++i) batch.pop_back();
  return batch;
}

// to = weight x, rounded once from double.
template <class T, class Number>
void write_weighted(const Number& weight, const Result<Number>& x, T* to) {
  using Scaled = BasicScaled<Number>;
  Scaled common = Scaled::of(weight);
  common.exponent += x.exponents[0];
  const std::size_t count = x.mantissas.size();
  if (const Number factor = common.value(); x.exponents.size() == 1 && std::isnormal(magnitude(factor))) {
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<T>(factor * x.mantissas[i]);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    Scaled element = x[i];
    if (is_finite(weight)) element *= Scaled::of(weight);
    to[i] = static_cast<T>(is_finite(weight) ? element.value() : weight * element.value());
  }
}

inline std::int64_t count_of_directions(const Tensor& directions) {
  return reel::detail::block(directions)->extents()[reel::detail::block(directions)->rank - 3];
}

// Calls write(i, result) for each matrix i of the batch.
template <class T, class Write>
void for_each_derivative(const DeterminantDirections& p, const Shape& batch, bool cofactors, const Write& write) {
  using Number = InDouble<T>;
  const Tensor a = contiguous(p.a), lu = contiguous(p.lu), pivots = contiguous(p.pivots),
               directions = contiguous(p.directions);
  const std::int64_t n = order_of(a), k = count_of_directions(directions), degree = k + (cofactors ? 1 : 0);
  const Shape batch_a = batch_of(a, 2), batch_h = batch_of(directions, 3);
  std::vector<Prepared<Number>> matrices(at(count_of(a, n)));
  for_each_matrix(count_of(a, n), n, [&](std::int64_t i) {
    matrices[at(i)] = prepare(mutable_data<T>(a) + i * n * n, mutable_data<T>(lu) + i * n * n,
                              mutable_data<int>(pivots) + i * n, n, degree);
  });
  for_each_matrix(batch.elements(), n, [&](std::int64_t i) {
    const Prepared<Number>& matrix = matrices[at(broadcast_index(i, batch, batch_a))];
    const T* h = mutable_data<T>(directions) + broadcast_index(i, batch, batch_h) * k * n * n;
    DirectionalDerivative<Number> request{n, cofactors, matrix.a, {}};
    for (std::int64_t d = 0; d < k; ++d, h += n * n) request.directions.emplace_back(h, h + n * n);
    write(i, derivative(request, matrix));
  });
}

// ---- For one element type

template <class T>
void derivative_of(const DeterminantDirections& p, const Tensor& out) {
  for_each_derivative<T>(p, out.shape(), false, [&](std::int64_t i, const auto& x) {
    mutable_data<T>(out)[i] = static_cast<T>(x[0].value());
  });
}
// to = weight times the cofactors of a [n, n], for n of 3 or 4: as by expansion. False if a product might overflow or
// underflow, or is not finite.
template <class T>
bool write_small_cofactors(double weight, const T* a, std::int64_t n, T* to) {
  const double most = std::ldexp(1.0, 960 / static_cast<int>(n));
  bool in_range = std::isnormal(weight);
  double m[16];
  for (std::int64_t i = 0; i < n * n; ++i) {
    m[i] = a[i];
    in_range = in_range && ((std::abs(m[i]) < most && std::abs(m[i]) > 1 / most) || m[i] == 0);
  }
  if (!in_range) return false;
  const auto two = [&](const double* upper, const double* lower, std::int64_t left, std::int64_t right) {
    return upper[left] * lower[right] - upper[right] * lower[left];
  };
  for (std::int64_t i = 0; i < n; ++i) {
    const double* const first = m + (i == 0 ? n : 0);
    const double* const second = m + (i <= 1 ? 2 * n : n);
    const double* const third = m + (i <= 2 ? 3 * n : 2 * n);
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t x = j == 0 ? 1 : 0, y = j <= 1 ? 2 : 1, z = j <= 2 ? 3 : 2;
      const double minor = n == 3 ? two(first, second, x, y)
                                  : first[x] * two(second, third, y, z) - first[y] * two(second, third, x, z) +
                                        first[z] * two(second, third, x, y);
      to[i * n + j] = static_cast<T>(weight * (0.0 + ((i + j) % 2 == 0 ? minor : -minor)));
    }
  }
  return true;
}

// The same for a batch without directions: false if any matrix needs the general way.
template <class T>
bool small_cofactors_of(const Tensor& weights, const Tensor& a, const Shape& batch, const Tensor& out) {
  const std::int64_t n = order_of(out);
  const Shape batch_a = batch_of(a, 2);
  std::atomic<bool> all{true};
  for_each_matrix(batch.elements(), n, [&](std::int64_t i) {
    const T w = mutable_data<T>(weights)[broadcast_index(i, batch, weights.shape())];
    const T* from = mutable_data<T>(a) + broadcast_index(i, batch, batch_a) * n * n;
    if (!write_small_cofactors(w, from, n, mutable_data<T>(out) + i * n * n))
      all.store(false, std::memory_order_relaxed);
  });
  return all.load(std::memory_order_relaxed);
}

template <class T>
void cofactors_of(const Tensor& weight, const DeterminantDirections& p, const Tensor& out) {
  const std::int64_t n = order_of(out);
  const Shape batch = batch_of(out, 2);
  const Tensor weights = contiguous(weight);
  if constexpr (std::is_floating_point_v<T>)
    if ((n == 3 || n == 4) && count_of_directions(p.directions) == 0 &&
        small_cofactors_of<T>(weights, contiguous(p.a), batch, out))
      return;
  for_each_derivative<T>(p, batch, true, [&](std::int64_t i, const auto& x) {
    const T w = mutable_data<T>(weights)[broadcast_index(i, batch, weights.shape())];
    write_weighted(static_cast<InDouble<T>>(w), x, mutable_data<T>(out) + i * n * n);
  });
}

/// For complex numbers: compiled in a source of their own, for size.
void complex_derivative(const DeterminantDirections& p, const Tensor& out);
void complex_cofactors(const Tensor& weight, const DeterminantDirections& p, const Tensor& out);

}  // namespace reel::loops::determinants
