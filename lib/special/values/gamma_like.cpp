// The Hurwitz zeta function and the logarithm of the multivariate gamma function in double.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "kernels/table.hpp"
#include "special/arguments.hpp"
#include "special/values/values.hpp"

namespace reel::kernels::special::values {

namespace {

constexpr int bernoulli_count = static_cast<int>(std::size(bernoulli_by_factorial));
constexpr auto bernoulli = [] {
  std::array<double, std::size(bernoulli_by_factorial)> b{};
  for (std::size_t k = 0; k < b.size(); ++k) b[k] = static_cast<double>(bernoulli_by_factorial[k]);
  return b;
}();

/// The sum of (w + k)^-s over k >= 0 as a multiple of w^-s, by Euler-Maclaurin summation (DLMF 25.11.5).
double euler_maclaurin(double s, double w, double least) {
  const double inverse = 1 / w, square = inverse * inverse, first = w / (s - 1) + 0.5;
  double factor = s * inverse, sum = 0;
  for (int j = 0; j < bernoulli_count; ++j) {
    const double term = factor * bernoulli[static_cast<std::size_t>(j)];
    sum += term;
    if (std::abs(term) <= least * first) break;
    factor *= (s + (2 * j + 1)) * (s + (2 * j + 2)) * square;
  }
  return first + sum;
}

/// Terms are added until what Euler-Maclaurin summation leaves out, some 2 (s)_m / (2 pi w)^m times the next term, m =
/// 2 bernoulli_count, is small beside the sum.
double hurwitz(double s, double q, double least) {
  constexpr double most = 1e6;  // of q, for which q + k has no double rounding below, and of s
  constexpr int terms_max = 1000;
  if (!(s > 1 && q > 0 && s < most && q < most)) return left;
  const double reach = (s + bernoulli_count) / (2 * static_cast<double>(pi));  // (s)_m is below (s + m / 2)^m
  double sum = 0;
  for (int k = 0; k < terms_max; ++k) {
    const double w = q + k, lost = q - (w - k);  // rounding of w, of which w^-s keeps s times as much
    double term = std::pow(w, -s);
    term -= term * (s * lost / w);
    const double r = reach / w, r3 = r * r * r, r6 = r3 * r3, r12 = r6 * r6;
    if (r < 1 && r12 * r12 * term <= least * (sum + term)) return sum + term * euler_maclaurin(s, w, least);
    sum += term;
  }
  return left;
}

/// Elements whose lgamma is computed by one call.
void add_lgamma(const double* a, double shift, double* out, std::ptrdiff_t n) {
  double y[block];
  for (std::ptrdiff_t i = 0; i < n; ++i) y[i] = a[i] - shift;
  const Strided in{y, 1};
  pointwise(index_of<"lgamma">(), DType::float64).value(&in, y, n);
  for (std::ptrdiff_t i = 0; i < n; ++i) out[i] += y[i];
}

}  // namespace

void zeta(Function, const double* const* in, double* out, std::ptrdiff_t n, double least) {
  for (std::ptrdiff_t i = 0; i < n; ++i) out[i] = hurwitz(in[0][i], in[1][i], least);
}

/// log(pi) d (d - 1) / 4 and the sum of lgamma(a - j / 2), j < d, for runs of one dimension d.
void multigammaln(Function, const double* const* in, double* out, std::ptrdiff_t n, double) {
  constexpr double log_pi = 1.14472988584940017414, dimension_max = 100;
  for (std::ptrdiff_t i = 0; i < n;) {
    const double dimension = in[1][i];
    std::ptrdiff_t count = 1;
    while (i + count < n && in[1][i + count] == dimension) ++count;
    if (dimension >= 1 && dimension <= dimension_max && dimension == std::floor(dimension)) {
      std::fill_n(out + i, count, dimension * (dimension - 1) / 4 * log_pi);
      for (double j = 0; j < dimension; ++j) add_lgamma(in[0] + i, j / 2, out + i, count);
    } else {
      std::fill_n(out + i, count, left);
    }
    for (; count > 0; --count, ++i)
      if (!(in[0][i] > (dimension - 1) / 2)) out[i] = left;
  }
}

}  // namespace reel::kernels::special::values
