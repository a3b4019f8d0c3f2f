// Rows of the ops of <reel/linalg/structured.hpp>. References solve the dense system in long double.
#include <algorithm>
#include <complex>
#include <reel/linalg.hpp>

#include "matrices.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

// Part k of the first axis, if x has one more axis than `rank`; else x itself.
Array part(const Array& x, int rank, std::int64_t k) {
  if (x.shape.rank() == rank) return x;
  Shape shape = x.shape;
  shape.erase(0);
  const auto size = static_cast<std::ptrdiff_t>(shape.elements());
  return {shape, Row(x.values.begin() + k * size, x.values.begin() + (k + 1) * size)};
}
// matrix(parts of the first operands, which have this rank without batch) x = b, b the last operand; or its product
// with b.
template <class F>
Array systems(A x, int rank, F matrix, Array (*result)(const Array&, const Array&) = solved) {
  const Array& b = x.back();
  std::int64_t count = -1;
  for (std::size_t i = 0; i + 1 < x.size(); ++i)
    if (x[i].shape.rank() > rank) count = x[i].shape[0];
  const bool vector = b.shape.rank() == 1;
  const int own = vector ? 1 : 2;
  if (b.shape.rank() > own) count = b.shape[0];
  Array all;
  for (std::int64_t k = 0; k < std::max<std::int64_t>(count, 1); ++k) {
    std::vector<Array> parts;
    for (std::size_t i = 0; i + 1 < x.size(); ++i) parts.push_back(part(x[i], rank, k));
    Array right = part(b, own, k);
    const Shape shape = right.shape;
    if (vector) right.shape = {shape[0], 1};
    const Array one = result(matrix(parts), right);
    all.shape = shape;
    all.values.insert(all.values.end(), one.values.begin(), one.values.end());
  }
  if (count >= 0) all.shape.insert(0, count);
  return all;
}

Array banded(const Array& bands, std::int64_t below, std::int64_t above) {
  const std::int64_t n = bands.shape[1];
  return build({n, n}, [&](const Index& i) {
    const std::int64_t d = i[0] - i[1];
    return d <= below && -d <= above ? at(bands, {above + d, i[1]}) : 0;
  });
}
Array tridiagonal(const std::vector<Array>& x) {
  const std::int64_t n = x[1].shape[0];
  return build({n, n}, [&](const Index& i) {
    const std::int64_t d = i[0] - i[1];
    return d == 0 ? at(x[1], {i[0]}) : d == 1 ? at(x[0], {i[1]}) : d == -1 ? at(x[2], {i[0]}) : 0;
  });
}
Array toeplitz_of(const std::vector<Array>& x) {
  const std::int64_t n = x[0].shape[0];
  return build({n, n},
               [&](const Index& i) { return i[0] >= i[1] ? at(x[0], {i[0] - i[1]}) : at(x[1], {i[1] - i[0]}); });
}
// [p, -q; q, p]: the complex system with matrix p + iq for a real right side, as a real one.
Array complex_real_part(const Array& p, const Array& q, const Array& b) {
  const std::int64_t n = p.shape[0];
  const Array a = build({2 * n, 2 * n}, [&](const Index& i) {
    const Index k{i[0] % n, i[1] % n};
    return i[0] / n == i[1] / n ? at(p, k) : i[0] < n ? -at(q, k) : at(q, k);
  });
  const Array right = build({2 * n, 1}, [&](const Index& i) { return i[0] < n ? at(b, {i[0]}) : 0; });
  const Array x = solved(a, right);
  return build({n}, [&](const Index& i) { return at(x, {i[0], 0}); });
}

// The real part of the Cholesky factor of p + iq, as a band of its lower triangle.
Array factor_of(const Array& p, const Array& q) {
  const std::int64_t below = p.shape[0] - 1, n = p.shape[1];
  using Complex = std::complex<Real>;
  std::vector<std::vector<Complex>> l(static_cast<std::size_t>(n), std::vector<Complex>(static_cast<std::size_t>(n)));
  Array band = build(p.shape, [](const Index&) { return 0; });
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = j; i <= std::min(n - 1, j + below); ++i) {
      const auto row = static_cast<std::size_t>(i), column = static_cast<std::size_t>(j);
      Complex sum(at(p, {i - j, j}), i == j ? 0 : at(q, {i - j, j}));
      for (std::size_t k = 0; k < column; ++k) sum -= l[row][k] * std::conj(l[column][k]);
      l[row][column] = i == j ? std::sqrt(sum.real()) : sum / l[column][column];
      at(band, {i - j, j}) = l[row][column].real();
    }
  return band;
}
Array factors_of(const Array& p, const Array& q) {
  if (p.shape.rank() == 2) return factor_of(p, q);
  Array all{p.shape, {}};
  for (std::int64_t k = 0; k < p.shape[0]; ++k) {
    const Array one = factor_of(part(p, 2, k), part(q, 2, k));
    all.values.insert(all.values.end(), one.values.begin(), one.values.end());
  }
  return all;
}
Array zeros_like(const Array& x) { return {x.shape, Row(x.values.size())}; }
Array transposed(const Array& a) {
  return build(a.shape, [&](const Index& i) { return at(a, {i[1], i[0]}); });
}

// The main diagonal outweighs the others: the row of the band, the operand, or the first element.
template <std::int64_t Row>
Tensor dominant_band(const Tensor& x, std::size_t operand) {
  if (operand > 0) return x;
  const std::int64_t rows = x.shape()[-2];
  return x + 9 * reshape(one_hot(Row, rows), {rows, 1});
}
Tensor dominant_diagonal(const Tensor& x, std::size_t operand) { return operand == 1 ? x + 6 : x; }
Tensor dominant_first(const Tensor& x, std::size_t operand) {
  return operand == 0 ? x + 9 * one_hot(0, x.shape()[-1]) : x;
}

// clang-format off
constexpr Shaped rows[] = {
    {"banded_solve", "4x5,5;4x5,5x2;4x2,2;2x4x3,3;2x4x2,2x2;2x4x3,3x2;4x3,2x3x1;4x1,1", [](X x) { return banded_solve(x[0], 1, 2, x[1]); }, [](A x) { return systems(x, 2, [](const auto& p) { return banded(p[0], 1, 2); }); }, {-2, 2}, dominant_band<2>, none, 10},
    {"banded_solve", "3x4,4x2", [](X x) { return banded_solve(x[0], 2, 0, x[1]); }, [](A x) { return systems(x, 2, [](const auto& p) { return banded(p[0], 2, 0); }); }, {-2, 2}, dominant_band<0>, none, 10},
    {"banded_solve", "1x4,4", [](X x) { return banded_solve(x[0], 0, 0, x[1]); }, [](A x) { return systems(x, 2, [](const auto& p) { return banded(p[0], 0, 0); }); }, {1, 2}, nullptr, none, 2},
    {"banded_solve", "3x4,3x4,4", [](X x) { return real(banded_solve(make_complex(x[0], x[1]), 1, 1, x[2])); }, [](A x) { return complex_real_part(banded(x[0], 1, 1), banded(x[1], 1, 1), x[2]); }, {-2, 2}, dominant_band<1>, by_complex, 20},
    {"banded_triangular_solve", "3x4,4x2;1x3,3;2x2x3,3x2;3x2,2x2;2x2x2,2x2", [](X x) { return banded_triangular_solve(x[0], x[1]); }, [](A x) { return systems(x, 2, [](const auto& p) { return banded(p[0], p[0].shape[0] - 1, 0); }); }, {-2, 2}, dominant_band<0>, none, 10},
    {"banded_triangular_solve", "3x4,4x2", [](X x) { return banded_triangular_solve(x[0], x[1], {.lower = false}); }, [](A x) { return systems(x, 2, [](const auto& p) { return banded(p[0], 0, 2); }); }, {-2, 2}, dominant_band<2>, none, 10},
    {"banded_triangular_solve", "3x4,4", [](X x) { return banded_triangular_solve(x[0], x[1], {.adjoint = true}); }, [](A x) { return systems(x, 2, [](const auto& p) { return transposed(banded(p[0], 2, 0)); }); }, {-2, 2}, dominant_band<0>, none, 10},
    {"banded_triangular_solve", "2x4,4x2", [](X x) { return banded_triangular_solve(x[0], x[1], {.lower = false, .adjoint = true}); }, [](A x) { return systems(x, 2, [](const auto& p) { return transposed(banded(p[0], 0, 1)); }); }, {-2, 2}, dominant_band<1>, none, 10},
    {"banded_cholesky", "3x5;1x3;2x2x4;3x1;4x2", [](X x) { return banded_cholesky(x[0]); }, [](A x) { return factors_of(x[0], zeros_like(x[0])); }, {-2, 2}, dominant_band<0>, none, 10},
    {"banded_cholesky", "3x4,3x4", [](X x) { return real(banded_cholesky(make_complex(x[0], x[1]))); }, [](A x) { return factors_of(x[0], x[1]); }, {-2, 2}, dominant_band<0>, by_complex, 20},
    {"tridiagonal_solve", "4,5,4,5;4,5,4,5x2;1,2,1,2;0,1,0,1;2,2x3,2,3;2x2,3,2,2x3x2;3,2x4,2x3,2x4x1;1,2x2,1,2x2", [](X x) { return tridiagonal_solve(x[0], x[1], x[2], x[3]); }, [](A x) { return systems(x, 1, tridiagonal); }, {-2, 2}, dominant_diagonal, none, 10},
    {"tridiagonal_matmul", "4,5,4,5;4,5,4,5x2;1,2,1,2;0,1,0,1;2,2x3,2,3;2x2,3,2,2x3x2;3,2x4,2x3,2x4x1;1,2x2,1,2x2", [](X x) { return tridiagonal_matmul(x[0], x[1], x[2], x[3]); }, [](A x) { return systems(x, 1, tridiagonal, times); }, {-2, 2}, nullptr, none, 4},
    {"toeplitz_solve", "4,4,4;4,4,4x2;1,1,1;2,2,2;2x2,2,2x2;3,2x3,3x2;3,3,2x3x1", [](X x) { return toeplitz_solve(x[0], x[1], x[2]); }, [](A x) { return systems(x, 1, toeplitz_of); }, {-2, 2}, dominant_first, none, 10},
    {"toeplitz_solve", "3,3,3", [](X x) { return real(toeplitz_solve(make_complex(x[0], x[1]), x[1], x[2])); },
      [](A x) { const Array q{x[1].shape, x[1].values}, zero{x[1].shape, Row(x[1].values.size())}; return complex_real_part(toeplitz_of({x[0], x[1]}), toeplitz_of({q, zero}), x[2]); }, {-2, 2}, dominant_first, by_complex, 20},
};
// clang-format on

}  // namespace

std::span<const Shaped> structured() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
