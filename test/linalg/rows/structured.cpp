// Rows of the ops of <reel/linalg/structured.hpp>. References solve the dense system in long double.
#include <algorithm>
#include <reel/linalg.hpp>

#include "../references/matrices.hpp"

namespace cases {

namespace {

using namespace reel;
using namespace matrices;
using X = Operands;
using A = Arrays;

using M = const MatrixOf<Real>&;

template <std::size_t Below, std::size_t Above, bool Adjoint = false>
Array of_band(A x) {
  return each_side(x[0], x[1], [](M bands, M b) {
    const MatrixOf<Real> a = banded(bands, Below, Above);
    return solved(Adjoint ? transposed(a) : a, b);
  });
}
Array of_triangle(A x) {
  return each_side(x[0], x[1], [](M bands, M b) { return solved(banded(bands, bands.rows - 1, 0), b); });
}
// Without the axis of a column that a vector was.
Array sides_of(Array y, const Array& b) {
  if (b.shape.rank() == 1) y.shape.pop_back();
  return y;
}
int own_axes(const Array& b) { return b.shape.rank() == 1 ? 1 : 2; }
template <bool Product>
Array of_tridiagonal(A x) {
  return sides_of(each({x[0], x[1], x[2], x[3]}, {1, 1, 1, own_axes(x[3])},
                       [](M l, M d, M u, M b) {
                         const MatrixOf<Real> a = tridiagonal(l.values, d.values, u.values);
                         return Product ? a * b : solved(a, b);
                       }),
                  x[3]);
}
Array of_toeplitz(A x) {
  return sides_of(each({x[0], x[1], x[2]}, {1, 1, own_axes(x[2])},
                       [](M c, M r, M b) { return solved(toeplitz(c.values, r.values), b); }),
                  x[2]);
}
// The real part of the solution for a complex matrix p + iq and a real right side.
RowOf<Real> complex_real_part(M p, M q, M b) {
  MatrixOf<Real> right(2 * p.rows, 1);
  std::copy(b.values.begin(), b.values.end(), right.values.begin());
  return leading(solved(embedded(p, q), right), p.rows, 1).values;
}
// The real part of the Cholesky factor of p + iq: by that of the real matrix whose blocks are [p, -q; q, p] for each
// element.
MatrixOf<Real> complex_factor(M p, M q) {
  const std::size_t n = p.columns;
  const MatrixOf<Real> re = banded(p, p.rows - 1, 0), im = banded(q, p.rows - 1, 0);
  const MatrixOf<Real> l = matrices::cholesky(made<Real>(2 * n, 2 * n, [&](std::size_t i, std::size_t j) {
    const std::size_t r = i / 2, c = j / 2;
    return i % 2 == j % 2 ? re[r][c] : r == c ? 0 : i % 2 == 0 ? -im[r][c] : im[r][c];
  }));
  return made<Real>(p.rows, n, [&](std::size_t i, std::size_t j) { return i + j < n ? l[2 * (i + j)][2 * j] : 0; });
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
    {"banded_solve", "4x5,5;4x5,5x2;4x2,2;2x4x3,3;2x4x2,2x2;2x4x3,3x2;4x3,2x3x1;4x1,1", [](X x) { return banded_solve(x[0], 1, 2, x[1]); }, of_band<1, 2>, {-2, 2}, dominant_band<2>, none, 10},
    {"banded_solve", "3x4,4x2", [](X x) { return banded_solve(x[0], 2, 0, x[1]); }, of_band<2, 0>, {-2, 2}, dominant_band<0>, none, 10},
    {"banded_solve", "1x4,4", [](X x) { return banded_solve(x[0], 0, 0, x[1]); }, of_band<0, 0>, {1, 2}, nullptr, none, 2},
    {"banded_solve", "3x4,3x4,4", [](X x) { return real(banded_solve(make_complex(x[0], x[1]), 1, 1, x[2])); }, [](A x) { return each({x[0], x[1], x[2]}, {2, 2, 1}, [](M p, M q, M b) { return complex_real_part(banded(p, 1, 1), banded(q, 1, 1), b); }); }, {-2, 2}, dominant_band<1>, by_complex, 20},
    {"banded_triangular_solve", "3x4,4x2;1x3,3;2x2x3,3x2;3x2,2x2;2x2x2,2x2", [](X x) { return banded_triangular_solve(x[0], x[1]); }, of_triangle, {-2, 2}, dominant_band<0>, none, 10},
    {"banded_triangular_solve", "3x4,4x2", [](X x) { return banded_triangular_solve(x[0], x[1], {.lower = false}); }, of_band<0, 2>, {-2, 2}, dominant_band<2>, none, 10},
    {"banded_triangular_solve", "3x4,4", [](X x) { return banded_triangular_solve(x[0], x[1], {.adjoint = true}); }, of_band<2, 0, true>, {-2, 2}, dominant_band<0>, none, 10},
    {"banded_triangular_solve", "2x4,4x2", [](X x) { return banded_triangular_solve(x[0], x[1], {.lower = false, .adjoint = true}); }, of_band<0, 1, true>, {-2, 2}, dominant_band<1>, none, 10},
    {"banded_cholesky", "3x5;1x3;2x2x4;3x1;4x2", [](X x) { return banded_cholesky(x[0]); }, [](A x) { return each(x[0], matrices::banded_cholesky<Real>); }, {-2, 2}, dominant_band<0>, none, 10},
    {"banded_cholesky", "3x4,3x4", [](X x) { return real(banded_cholesky(make_complex(x[0], x[1]))); }, [](A x) { return each({x[0], x[1]}, {2, 2}, complex_factor); }, {-2, 2}, dominant_band<0>, by_complex, 20},
    {"tridiagonal_solve", "4,5,4,5;4,5,4,5x2;1,2,1,2;0,1,0,1;2,2x3,2,3;2x2,3,2,2x3x2;3,2x4,2x3,2x4x1;1,2x2,1,2x2", [](X x) { return tridiagonal_solve(x[0], x[1], x[2], x[3]); }, of_tridiagonal<false>, {-2, 2}, dominant_diagonal, none, 10},
    {"tridiagonal_matmul", "4,5,4,5;4,5,4,5x2;1,2,1,2;0,1,0,1;2,2x3,2,3;2x2,3,2,2x3x2;3,2x4,2x3,2x4x1;1,2x2,1,2x2", [](X x) { return tridiagonal_matmul(x[0], x[1], x[2], x[3]); }, of_tridiagonal<true>, {-2, 2}, nullptr, none, 4},
    {"toeplitz_solve", "4,4,4;4,4,4x2;1,1,1;2,2,2;2x2,2,2x2;3,2x3,3x2;3,3,2x3x1", [](X x) { return toeplitz_solve(x[0], x[1], x[2]); }, of_toeplitz, {-2, 2}, dominant_first, none, 10},
    {"toeplitz_solve", "3,3,3", [](X x) { return real(toeplitz_solve(make_complex(x[0], x[1]), x[1], x[2])); },
      [](A x) { return each({x[0], x[1], x[2]}, {1, 1, 1}, [](M p, M q, M b) { return complex_real_part(toeplitz(p.values, q.values), toeplitz(q.values, RowOf<Real>(q.rows)), b); }); }, {-2, 2}, dominant_first, by_complex, 20},
};
// clang-format on

}  // namespace

std::span<const Shaped> structured() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
