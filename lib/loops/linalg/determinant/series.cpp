#include "loops/linalg/determinant/series.hpp"

#include <bit>

#include "kernels/baseline/plain.hpp"

namespace reel::loops::determinants {

using kernels::Transposed;

void add_matrix_product(Matrix& sum, double factor, const Matrix& x, const Matrix& y, std::int64_t rows,
                        std::int64_t inner, std::int64_t columns) {
  if (sum.empty()) sum.assign(at(rows * columns), 0.0);
  if (rows > 0 && inner > 0 && columns > 0)
    require_success(kernels::linear_algebra::gemm<double>(Transposed::no, Transposed::no, rows, columns, inner, factor,
                                                          x.data(), inner, y.data(), columns, 1, sum.data(), columns));
}

Series product(const Series& x, const Series& y) {
  const auto sets = static_cast<unsigned>(x.coefficients.size());
  Series z = zero_series(x.rows, y.columns, sets);
  for (unsigned r = 0; r < sets; ++r)
    for (unsigned t = 0; t < sets; ++t)
      if ((r & t) == 0 && !x.coefficients[r].empty() && !y.coefficients[t].empty())
        add_matrix_product(z.coefficients[r | t], 1, x.coefficients[r], y.coefficients[t], x.rows, x.columns,
                           y.columns);
  return z;
}

Matrix scaled_coefficient(const Polynomial& p, const Series& x, unsigned set) {
  Matrix sum(at(x.rows * x.columns));
  for (unsigned r = set;; r = (r - 1) & set) {
    const Matrix& m = x.coefficients[set & ~r];
    for (std::size_t i = 0; i < m.size(); ++i) sum[i] += p[r] * m[i];
    if (r == 0) return sum;
  }
}

Series scaled(const Polynomial& p, const Series& x) {
  Series z = zero_series(x.rows, x.columns, static_cast<unsigned>(p.size()));
  for (unsigned set = 0; set < p.size(); ++set) z.coefficients[set] = scaled_coefficient(p, x, set);
  return z;
}

double trace(const Matrix& x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[at(i * n + i)];
  return sum;
}

double trace_of_product(const Matrix& x, const Matrix& y, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) sum += x[at(i * n + j)] * y[at(j * n + i)];
  return sum;
}

namespace {

// sum -= x
void subtract(Matrix& sum, const Matrix& x) {
  sum.resize(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) sum[i] -= x[i];
}

}  // namespace

UnitSeries unit_series(const std::vector<Matrix>& x, std::int64_t n) {
  const unsigned sets = 1u << x.size();
  UnitSeries u{Polynomial(sets), zero_series(n, n, sets)};
  u.determinant[0] = 1;
  std::vector<Matrix>& inverse = u.inverse.coefficients;
  inverse[0].assign(at(n * n), 0.0);
  for (std::int64_t i = 0; i < n; ++i) inverse[0][at(i * n + i)] = 1;
  for (unsigned t = 1; t < sets; ++t) {
    for (unsigned i = 0; i < x.size(); ++i)
      if (t == 1u << i)
        subtract(inverse[t], x[i]);
      else if (t >> i & 1)
        add_matrix_product(inverse[t], -1, x[i], inverse[t & ~(1u << i)], n, n, n);
    // The derivative by the last variable: d det = det tr(inverse x).
    const auto last = static_cast<unsigned>(std::bit_width(t)) - 1;
    const unsigned rest = t & ~(1u << last);
    for (unsigned r = rest;; r = (r - 1) & rest) {
      const unsigned others = rest & ~r;
      u.determinant[t] +=
          u.determinant[r] * (others == 0 ? trace(x[last], n) : trace_of_product(inverse[others], x[last], n));
      if (r == 0) break;
    }
  }
  return u;
}

}  // namespace reel::loops::determinants
