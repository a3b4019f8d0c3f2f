// Rows of <reel/linalg/factorisations.hpp>. Signs of vectors are arbitrary: rows take their absolute values.
#include <algorithm>
#include <reel/linalg.hpp>

#include "../references/matrices.hpp"

namespace cases {

namespace {

using namespace reel;
using namespace matrices;
using X = Operands;
using A = Arrays;

// ---- References

MatrixOf<Real> absolute(MatrixOf<Real> x) {
  for (Real& v : x.values) v = std::abs(v);
  return x;
}
using M = const MatrixOf<Real>&;
MatrixOf<Real> right_vectors(M a) { return transposed(left_vectors(transposed(a))); }
MatrixOf<Real> permutation(M a) {
  std::vector<std::size_t> rows;
  packed_factors(a, &rows);
  return made<Real>(a.rows, a.rows, [&](std::size_t i, std::size_t j) { return rows[j] == i; });
}
MatrixOf<Real> upside_down(M a) {
  return made<Real>(a.rows, a.columns, [&](std::size_t i, std::size_t j) { return a[a.rows - 1 - i][j]; });
}
template <int Sign>
Array updated(A x) {
  return each({x[0], x[1]}, {2, 1}, [](M l, M v) { return updated_cholesky(l, v.values, Sign); });
}

// ---- Operands

// Eigenvalues and singular values far apart.
Tensor apart(const Tensor& x, std::size_t operand) {
  if (operand > 0) return x;
  if (x.rank() < 2) return x + 3 * cumsum(ones_like(x), -1);
  const std::int64_t m = x.shape()[-2], n = x.shape()[-1];
  return x + eye(m, n) * cumsum(full({n}, 3.0), 0);
}
Tensor positive(const Tensor& x, std::size_t operand) {
  return operand == 0 ? x + 3 * eye(x.shape()[-2], x.shape()[-1]) : x;
}
// As apart, and a positive definite matrix beside it.
Tensor pencil(const Tensor& x, std::size_t operand) {
  if (operand == 0) return apart(x, 0);
  return matmul(x, x, {.transpose_b = true}) * 0.2 + eye(x.shape().back());
}
Tensor symmetric(const Tensor& x) { return 0.5 * (x + moveaxis(x, -1, -2)); }

// clang-format off
constexpr Shaped rows[] = {
    {"qr", "3x3;4x2;2x4;2x3x2", [](X x) { return qr(x[0]).r; }, [](A x) { return each(x[0], upper_factor<Real>); }, {-1, 1}, apart, none, 20},
    {"qr", "3x3;4x2;2x4;2x3x2", [](X x) { return qr(x[0]).q; }, [](A x) { return each(x[0], orthogonal_factor<Real>); }, {-1, 1}, apart, none, 20},
    {"qr", "4x2", [](X x) { const Tensor q = slice(qr(x[0], QrMode::complete).q, {all, range_from(2)}); return eye(4) - matmul(q, q, {.transpose_b = true}); },
      [](A x) { return each(x[0], [](M a) { const auto q = orthogonal_factor(a); return q * transposed(q); }); }, {-1, 1}, apart, none, 20},
    {"lq", "3x3;4x2;2x4", [](X x) { return lq(x[0]).l; }, [](A x) { return each(x[0], lower_lq<Real>); }, {-1, 1}, apart, none, 20},
    {"lq", "3x3;4x2;2x4", [](X x) { return lq(x[0]).q; }, [](A x) { return each(x[0], orthogonal_lq<Real>); }, {-1, 1}, apart, none, 20},
    {"eigh", "3x3;1x1;2x3x3", [](X x) { return eigh(symmetric(x[0])).eigenvalues; }, [](A x) { return each(x[0], eigenvalues<Real>); }, {-1, 1}, apart, none, 20},
    {"eigh", "3x3;1x1;2x3x3", [](X x) { return abs(eigh(symmetric(x[0]), {.lower = false}).eigenvectors); }, [](A x) { return each(x[0], [](M a) { return absolute(eigenvectors(a)); }); }, {-1, 1}, apart, none, 20},
    {"eigh", "3x3,3x3", [](X x) { return eigh(x[0], symmetric(x[1])).eigenvalues; },
      [](A x) { return each({x[0], x[1]}, {2, 2}, [](M a, M b) { const auto l = matrices::cholesky(b); return eigenvalues(transposed(solved(l, transposed(solved(l, symmetrised(a)))))); }); }, {-1, 1}, pencil, none, 100},
    {"eigvalsh", "3x3;1x1;2x3x3", [](X x) { return eigvalsh(symmetric(x[0])); }, [](A x) { return each(x[0], eigenvalues<Real>); }, {-1, 1}, apart, none, 20},
    {"eigh_tridiagonal", "4,3", [](X x) { return eigh_tridiagonal(x[0], x[1]).eigenvalues; }, [](A x) { return each({x[0], x[1]}, {1, 1}, [](M d, M e) { return eigen(tridiagonal(e.values, d.values, e.values)).values; }); }, {-1, 1}, apart, none, 20},
    {"eig", "3x3;1x1;2x3x3", [](X x) { const auto [w, v] = eig(x[0]); return real(matmul(v * expand_dims(w * w, -2), inverse(v))); },
      [](A x) { return each(x[0], [](M m) { return m * m; }); }, {-1, 1}, apart, by_complex, 200},
    {"eigvals", "3x3;1x1;2x3x3", [](X x) { const Tensor w = eigvals(x[0]); return real(sum(w * w, -1)); },
      [](A x) { return each(x[0], [](M m) { return trace_of(m * m); }); }, {-1, 1}, apart, by_complex, 200},
    {"svd", "3x3;4x2;2x4;2x3x2", [](X x) { return svd(x[0]).s; }, [](A x) { return each(x[0], singular_values<Real>); }, {-1, 1}, apart, none, 20},
    {"svd", "3x3;4x2;2x4;2x3x2", [](X x) { return abs(svd(x[0]).u); }, [](A x) { return each(x[0], [](M a) { return absolute(left_vectors(a)); }); }, {-1, 1}, apart, none, 20},
    {"svd", "3x3;4x2;2x4;2x3x2", [](X x) { return abs(svd(x[0]).vh); }, [](A x) { return each(x[0], [](M a) { return absolute(right_vectors(a)); }); }, {-1, 1}, apart, none, 20},
    {"svdvals", "3x3;4x2;2x4;2x3x2", [](X x) { return svdvals(x[0]); }, [](A x) { return each(x[0], singular_values<Real>); }, {-1, 1}, apart, none, 20},
    {"lu_factor", "3x3;4x2;2x4;2x3x2", [](X x) { return lu_factor(flip(x[0], -2)).lu; }, [](A x) { return each(x[0], [](M m) { return packed_factors(upside_down(m)); }); }, {-1, 1}, apart, none, 20},
    {"lu", "3x3;4x2;2x4", [](X x) { return lu(x[0]).l; }, [](A x) { return each(x[0], lower_factor<Real>); }, {-1, 1}, apart, none, 20},
    {"lu", "3x3;4x2;2x4", [](X x) { return lu(x[0]).u; }, [](A x) { return each(x[0], gauss_factor<Real>); }, {-1, 1}, apart, none, 20},
    {"lu", "3x3;4x2", [](X x) { return lu(x[0]).p; }, [](A x) { return each(x[0], permutation); }, {-1, 1}, apart, constant, 1},
    {"lu_solve", "3x3,3x2;3x3,3;2x3x3,2x3x2;2x3x3,3x2;2x3x3,3", [](X x) { return lu_solve(lu_factor(flip(x[0], -2)), flip(x[1], x[1].shape().back() == 2 ? -2 : -1)); }, [](A x) { return each_side(x[0], x[1], solved<Real>); }, {-1, 1}, apart, none, 20},
    {"cholesky_solve", "3x3,3x2;3x3,3;2x3x3,3x2;2x2x2,2x2;2x3x3,3", [](X x) { return cholesky_solve(x[0], x[1]); }, [](A x) { return each_side(x[0], x[1], [](M l, M b) { return solved(gram(l), b); }); }, {-1, 1}, positive, none, 20},
    {"cholesky_inverse", "3x3;2x3x3", [](X x) { return cholesky_inverse(x[0]); }, [](A x) { return each(x[0], [](M l) { return matrices::inverse(gram(l)); }); }, {-1, 1}, positive, none, 20},
    {"cholesky_update", "3x3,3;1x1,1;2x3x3,2x3;2x3x3,3", [](X x) { return cholesky_update(x[0], x[1]); }, updated<1>, {-1, 1}, positive, none, 20},
    {"cholesky_update", "3x3,3;2x3x3,2x3", [](X x) { return cholesky_update(x[0], x[1], true); }, updated<-1>, {-0.8, 0.8}, positive, none, 20},
    {"pinv", "3x3;4x2;2x4;2x3x2", [](X x) { return pinv(x[0]); }, [](A x) { return each(x[0], pseudoinverse<Real>); }, {-1, 1}, apart, none, 20},
    {"lstsq", "3x3,3x2;4x2,4;2x4,2x2;2x3x2,2x3x1", [](X x) { return lstsq(x[0], x[1]); }, [](A x) { return each_side(x[0], x[1], [](M a, M b) { return pseudoinverse(a) * b; }); }, {-1, 1}, apart, none, 20},
};
// clang-format on

}  // namespace

std::span<const Shaped> factorisations() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
