// Rows of products and factorisations. References are textbook loops in long double; operands of factorisations are
// well conditioned, and the slack is a bound of the condition number.
#include "../references/products.hpp"

namespace cases {

namespace {

using namespace reel;
using namespace matrices;
using X = Operands;
using A = Arrays;

Tensor dominant(const Tensor& x, std::size_t operand) { return operand == 0 ? x + 6 * eye(x.shape().back()) : x; }
Tensor positive(const Tensor& x, std::size_t) {
  const Tensor half = matmul(x, x, {.transpose_b = true});
  return half + 2 * eye(x.shape().back());
}
template <bool Lower, bool Transpose, bool UnitDiagonal>
Array triangular(A x) {
  return each_side(x[0], x[1], [](const auto& a, const auto& b) {
    return triangular_solution(a, b, Lower, Transpose, UnitDiagonal);
  });
}
// cholesky reads the lower triangle alone: made symmetric, so that every element counts.
Tensor symmetric(const Tensor& x) { return 0.5 * (x + moveaxis(x, -1, -2)); }

// clang-format off
constexpr Shaped rows[] = {
    {"matmul", "2x3,3x4;1x1,1x1;0x3,3x2;2x0,0x3;5x2x3,5x3x4;5x2x3,3x4;2x3,5x3x4;1x2x3,5x3x2;2x3x0,0x4;2x0x3,3x4;3,3;3,3x4;2x3,3;5x2x3,3;3,5x3x2", [](X x) { return matmul(x[0], x[1]); }, [](A x) { return matrix_product(x[0], x[1]); }},
    {"matmul", "3x2,3x4;5x3x2,5x3x4", [](X x) { return matmul(x[0], x[1], {.transpose_a = true}); }, [](A x) { return matrix_product(x[0], x[1], true); }},
    {"matmul", "2x3,4x3;5x2x3,4x3", [](X x) { return matmul(x[0], x[1], {.transpose_b = true}); }, [](A x) { return matrix_product(x[0], x[1], false, true); }},
    {"matmul", "3x2,4x3", [](X x) { return matmul(x[0], x[1], {.transpose_a = true, .transpose_b = true}); }, [](A x) { return matrix_product(x[0], x[1], true, true); }},
    {"dot", "3,3;2x3,3x4;2x3,5x3x4", [](X x) { return dot(x[0], x[1]); }, dot_product<Real>},
    {"outer", "3,4;2x2,3", [](X x) { return outer(x[0], x[1]); }, outer_product<Real>},
    {"tensordot", "2x3x4,3x4x5", [](X x) { return tensordot(x[0], x[1]); }, [](A x) { return tensor_product(x, {{1, 0}, {2, 1}}); }},
    {"tensordot", "2x3,4x2", [](X x) { return tensordot(x[0], x[1], 0, 1); }, [](A x) { return tensor_product(x, {{0, 1}}); }},
    {"einsum", "2x3,3x4", [](X x) { return einsum("ij,jk->ik", x); }, [](A x) { return products_summed("ij,jk->ik", x); }},
    {"einsum", "5x2x3,5x3x4", [](X x) { return einsum("...ij,...jk", {x[0], x[1]}); }, [](A x) { return times(x[0], x[1]); }},
    {"einsum", "3x3", [](X x) { return einsum("ii", x); }, [](A x) { return products_summed("ii->", x); }},
    {"einsum", "3x3", [](X x) { return einsum("ii->i", x); }, [](A x) { return products_summed("ii->i", x); }},
    {"einsum", "2x3", [](X x) { return einsum("ij->j", x); }, [](A x) { return products_summed("ij->j", x); }},
    {"einsum", "2,3x2,3", [](X x) { return einsum("i,ji,j->ij", x); }, [](A x) { return products_summed("i,ji,j->ij", x); }},
    {"cholesky", "3x3;1x1;2x3x3;0x0", [](X x) { return cholesky(symmetric(x[0])); }, [](A x) { return each(x[0], matrices::cholesky<Real>); }, {-1, 1}, positive, none, 20},
    {"solve", "3x3,3x2;3x3,3;2x3x3,2x3x2;0x0,0x2;2x2x2,2x2;2x3x3,3;2x3x3,3x2", [](X x) { return solve(x[0], x[1]); }, [](A x) { return each_side(x[0], x[1], solved<Real>); }, {-2, 2}, dominant, none, 10},
    {"triangular_solve", "3x3,3x2;3x3,3;2x3x3,2x3x2;2x2x2,2x2;2x3x3,3;2x3x3,3x2", [](X x) { return triangular_solve(x[0], x[1]); }, triangular<true, false, false>, {-2, 2}, dominant, none, 10},
    {"triangular_solve", "3x3,3x2", [](X x) { return triangular_solve(x[0], x[1], {.lower = false}); }, triangular<false, false, false>, {-2, 2}, dominant, none, 10},
    {"triangular_solve", "3x3,3x2;2x2x2,2x2", [](X x) { return triangular_solve(x[0], x[1], {.unit_diagonal = true}); }, triangular<true, false, true>, {-2, 2}, dominant, none, 10},
    {"triangular_solve", "3x3,3x2", [](X x) { return triangular_solve(x[0], x[1], {.transpose = true}); }, triangular<true, true, false>, {-2, 2}, dominant, none, 10},
    {"triangular_solve", "3x3,3x2", [](X x) { return triangular_solve(x[0], x[1], {.lower = false, .transpose = true, .unit_diagonal = true}); },
      triangular<false, true, true>, {-1, 1}, dominant, none, 100},
    {"inverse", "3x3;1x1;2x3x3;0x0", [](X x) { return inverse(x[0]); }, [](A x) { return each(x[0], matrices::inverse<Real>); }, {-2, 2}, dominant, none, 10},
    {"det", "3x3;1x1;2x3x3", [](X x) { return det(x[0]); }, [](A x) { return each(x[0], determinant<Real>); }, {-2, 2}, dominant, none, 10},
    {"slogdet", "3x3;2x3x3", [](X x) { return slogdet(x[0]).logdet; }, [](A x) { return each(x[0], log_determinant<Real>); }, {-2, 2}, dominant, none, 10},
    {"slogdet", "3x3;2x3x3", [](X x) { return slogdet(x[0]).sign; }, [](A x) { return each(x[0], determinant_sign<Real>); }, {-2, 2}, dominant, none, 10},
};
// clang-format on

}  // namespace

std::span<const Shaped> linear_algebra() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
