// The exponential by scaling and squaring: Al-Mohy and Higham, "A new scaling and squaring algorithm for the matrix
// exponential", SIAM J. Matrix Anal. Appl. 31 (2009), algorithm 5.1, with norms of powers in place of their estimates.
// First A is scaled by 2^-s, so that the Pade approximant of degree m is exact to rounding, backwards; s follows from
// norms of powers of A, which may be far smaller than the powers of its norm. Then comes the approximant, U + V over
// V - U, where U has the odd powers and V the even ones. Last, s squarings.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "linalg/factorise.hpp"
#include "linalg/functions/perturbed.hpp"
#include "linalg/functions/small_perturbed.hpp"
#include "loops/product/matrices.hpp"

namespace reel::loops::functions {
namespace {

// Bounds of 1-norms, from table 3.1 there; 4.25 for degree 13 as in section 5.
struct Pade {
  int degree;
  double bound;
};
constexpr Pade approximants[] = {{3, 1.495585217958292e-2},
                                 {5, 2.539398330063230e-1},
                                 {7, 9.504178996162932e-1},
                                 {9, 2.097847961257068},
                                 {13, 4.25}};

// The error of degree m starts with power 2m + 1, of which each derivative brings down one exponent: the bounds of
// derivatives are smaller (Al-Mohy and Higham, "Computing the Frechet derivative of the matrix exponential", SIAM J.
// Matrix Anal. Appl. 30 (2009), table 6.1).
double bound_of(const Pade& p, std::size_t parts) {
  const double order = std::log2(static_cast<double>(parts));
  return p.bound * std::pow(2 * p.degree + 1, -order / (2 * p.degree));
}

// to += row m, where m is square. This source is compiled for size, BLAS is not.
void add_row_product(const std::vector<double>& row, const std::vector<double>& m, std::vector<double>& to) {
  constexpr std::size_t blas_order_min = 32;
  const std::size_t n = row.size();
  if constexpr (kernels::has_lapack)
    if (n >= blas_order_min) {
      const auto order = static_cast<std::ptrdiff_t>(n);
      static_cast<void>(kernels::gemv<double>(kernels::Transposed::yes, order, order, 1, m.data(), order, row.data(), 1,
                                              1, to.data(), 1));
      return;
    }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) to[j] += row[i] * m[i * n + j];
}

// log2 of the 1-norms of the powers 0 to `last` of |A|, the matrix of magnitudes. The norms themselves may overflow.
template <class Matrix>
std::vector<double> log2_norms_of_magnitudes(const Matrix& a, int last) {
  const std::vector<double> sizes = magnitudes(a);
  std::vector<double> row(static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(sizes.size())))), 1.0),
      next(row), norms{0};
  double exponents = 0;
  for (int p = 0; p < last; ++p) {
    std::fill(next.begin(), next.end(), 0.0);
    add_row_product(row, sizes, next);
    const double norm = *std::max_element(next.begin(), next.end());
    if (!(norm > 0)) break;
    const int exponent = std::ilogb(norm);
    for (double& e : next) e = std::ldexp(e, -exponent);
    exponents += exponent;
    norms.push_back(std::log2(std::ldexp(norm, -exponent)) + exponents);
    row.swap(next);
  }
  norms.resize(static_cast<std::size_t>(last) + 1, -HUGE_VAL);
  return norms;
}

// log2 of a bound of the terms of power p of A in its derivatives along up to k directions of A's norm: sums of
// products A^i E A^j ..., in which powers stand between directions, so that those of a nilpotent matrix do not vanish.
double log2_bound_of_terms(const std::vector<double>& norms, std::size_t p, int k) {
  std::vector<double> longest(norms);  // log2 of the largest product with so many factors in all
  double bound = norms[p];
  for (int directions = 1; directions <= k; ++directions) {
    std::vector<double> next(norms.size(), -HUGE_VAL);
    for (std::size_t all = 1; all < norms.size(); ++all)
      for (std::size_t i = 0; i < all; ++i) next[all] = std::max(next[all], longest[i] + norms[1] + norms[all - 1 - i]);
    longest.swap(next);
    bound = std::max(bound, longest[p] + directions * std::log2(static_cast<double>(p)));
  }
  return bound;
}

// Least halvings so that the leading error term is negligible: the function l of section 5. Where powers are bounded by
// the norm of A, the bounds of derivatives suffice.
template <class AnyPerturbed>
int least_halvings(const AnyPerturbed& a, const Pade& pade) {
  const double norm = one_norm(a[0]);
  if (norm == 0 || (a.size() > 1 && norm <= bound_of(pade, a.size()))) return 0;
  const int degree = pade.degree, power = 2 * degree + 1;
  double reciprocal = 1;  // of the coefficient: binomial(2m, m) (2m + 1)!
  for (int i = 1; i <= degree; ++i) reciprocal *= static_cast<double>(degree + i) / i;
  for (int i = 2; i <= power; ++i) reciprocal *= i;
  const double log2_size = log2_bound_of_terms(log2_norms_of_magnitudes(a[0], power), static_cast<std::size_t>(power),
                                               static_cast<int>(std::bit_width(a.size())) - 1) -
                           std::log2(norm) - std::log2(reciprocal);
  return static_cast<int>(std::max(0.0, std::ceil((log2_size + 53) / (2 * degree))));
}

// Powers 2, 4, 6, ... of the matrix.
template <class AnyPerturbed>
struct Powers {
  std::vector<AnyPerturbed> even;
  const AnyPerturbed& operator()(int power) const { return even[static_cast<std::size_t>(power / 2 - 1)]; }
  double root(int power) const { return std::pow(one_norm((*this)(power)[0]), 1.0 / power); }
};

struct PadeScaling {
  int degree, halvings;
};
template <class AnyPerturbed>
PadeScaling choose(const AnyPerturbed& a, const Powers<AnyPerturbed>& powers) {
  const double four = std::max(powers.root(4), powers.root(6));
  for (const Pade& p : approximants)
    if (p.degree < 13 && four <= bound_of(p, a.size()) && least_halvings(a, p) == 0) return {p.degree, 0};
  const auto halvings_of = [bound = bound_of(approximants[4], a.size())](double size) {
    return size > bound ? static_cast<int>(std::ceil(std::log2(size / bound))) : 0;
  };
  const int least = least_halvings(a, approximants[4]);
  int halvings = halvings_of(four);
  if (halvings > least) {  // the norms of still higher powers may be smaller
    const AnyPerturbed fourth{powers(4)[0]}, sixth{powers(6)[0]};
    const double eight = std::pow(one_norm(product(fourth, fourth)[0]), 1.0 / 8),
                 ten = std::pow(one_norm(product(fourth, sixth)[0]), 1.0 / 10);
    halvings = halvings_of(std::min({four, std::max(powers.root(6), eight), std::max(eight, ten)}));
  }
  return {13, std::max(halvings, least)};
}

// Coefficient j of the numerator, divided by the constant one.
std::array<double, 14> coefficients(int m) {
  std::array<double, 14> b{1.0};
  for (int j = 0; j < m; ++j)
    b[static_cast<std::size_t>(j) + 1] =
        b[static_cast<std::size_t>(j)] * (m - j) / (static_cast<double>(2 * m - j) * (j + 1));
  return b;
}

// b_0 I + b_1 A^2 + ..., where `first` is the number of the coefficient of I.
template <class AnyPerturbed>
AnyPerturbed even_polynomial(const Powers<AnyPerturbed>& powers, const std::array<double, 14>& b, int first,
                             int degree) {
  WeightedSum<AnyPerturbed> sum{b[static_cast<std::size_t>(first)]};
  for (int j = first + 2; j <= degree; j += 2) sum.add(b[static_cast<std::size_t>(j)], powers(j - first));
  return value_of(sum);
}
// The same of degree 12 or 13, by powers up to 6.
template <class AnyPerturbed>
AnyPerturbed even_polynomial_13(const Powers<AnyPerturbed>& powers, const std::array<double, 14>& b, int first) {
  WeightedSum<AnyPerturbed> low{b[static_cast<std::size_t>(first)]}, high;
  for (int power = 2; power <= 6; power += 2) {
    const int degree = first + power;
    low.add(b[static_cast<std::size_t>(degree)], powers(power));
    high.add(b[static_cast<std::size_t>(degree + 6)], powers(power));
  }
  const AnyPerturbed rest = product(powers(6), value_of(high));
  return value_of(low.add(1, rest));
}

// The exponential of 2^halvings x where the square of x's matrix is zero: terms of the series beyond power 2 k + 1 of a
// matrix perturbed in k directions are zero too.
template <class AnyPerturbed>
AnyPerturbed series(const AnyPerturbed& x, int halvings) {
  AnyPerturbed sum = zeros_like(x), power = copy_of(x);
  scale(power, std::ldexp(1.0, halvings));
  add(sum, 1, power);
  for (std::size_t j = 2, parts = 1; parts < x.size(); j += 2, parts *= 2)
    for (std::size_t exponent = j; exponent <= j + 1; ++exponent) {
      power = product(power, x);
      scale(power, std::ldexp(1.0, halvings) / static_cast<double>(exponent));
      add(sum, 1, power);
    }
  add_identity(sum, 1);
  return sum;
}

template <class AnyPerturbed>
void exponentiate(AnyPerturbed& x) {
  // The tenth power must not overflow, nor must the norm.
  constexpr int exponent_max = 90;           // of the norm: 10 times as much is below 1023
  constexpr int halvings_of_infinity = 512;  // a sum of finite elements is finite after the first
  int halvings = 0;
  for (double norm = one_norm(x[0]); norm > std::ldexp(1.0, exponent_max); norm = one_norm(x[0])) {
    const int more = std::isinf(norm) ? halvings_of_infinity : std::max(1, std::ilogb(norm) - exponent_max);
    halvings += more;
    scale(x, std::ldexp(1.0, -more));
  }
  Powers<AnyPerturbed> powers;
  powers.even.push_back(product(x, x));
  if (one_norm(powers(2)[0]) == 0) {
    x = series(x, halvings);
    return;
  }
  powers.even.push_back(product(powers(2), powers(2)));
  powers.even.push_back(product(powers(4), powers(2)));
  const PadeScaling choice = choose(x, powers);
  if (choice.degree == 9) powers.even.push_back(product(powers(4), powers(4)));
  if (choice.halvings > 0) {
    halvings += choice.halvings;
    scale(x, std::ldexp(1.0, -choice.halvings));
    for (int power = 2; power <= 6; power += 2)
      scale(powers.even[static_cast<std::size_t>(power / 2 - 1)], std::ldexp(1.0, -choice.halvings * power));
  }
  const auto b = coefficients(choice.degree);
  const bool high = choice.degree == 13;
  const AnyPerturbed odd =
      product(x, high ? even_polynomial_13(powers, b, 1) : even_polynomial(powers, b, 1, choice.degree));
  const AnyPerturbed even = high ? even_polynomial_13(powers, b, 0) : even_polynomial(powers, b, 0, choice.degree - 1);
  const auto even_and = [&](double sign) { return value_of(WeightedSum<AnyPerturbed>().add(1, even).add(sign, odd)); };
  x = quotient(even_and(-1), even_and(1));
  for (; halvings > 0; --halvings) x = product(x, x);
}

template <class T>
void exponentiate_small(Perturbed& x) {
  const std::int64_t n = order_of(x[0]);
  SmallPerturbed<T> y;
  for (const Tensor& part : x) {
    y.emplace_back(n);
    std::copy_n(reinterpret_cast<const T*>(numbers(part)), n * n, y.back().elements.data());
  }
  exponentiate(y);
  std::copy_n(y.back().elements.data(), n * n, reinterpret_cast<T*>(numbers(x.back())));
}

}  // namespace

bool is_small(const Tensor& a) { return order_of(a) <= (is_complex(a.dtype()) ? 4 : 8); }

bool exponential(Perturbed& x) {
  if (!is_small(x[0]))
    exponentiate(x);
  else if (is_complex(x[0].dtype()))
    exponentiate_small<std::complex<double>>(x);
  else
    exponentiate_small<double>(x);
  return true;
}

}  // namespace reel::loops::functions
