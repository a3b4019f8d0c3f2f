// Rows of products and factorisations. References are textbook loops in long double; operands of factorisations are
// well conditioned, and the slack is a bound of the condition number.
#include "matrices.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

Tensor dominant(const Tensor& x, std::size_t operand) { return operand == 0 ? x + 6 * eye(x.shape().back()) : x; }
Tensor positive(const Tensor& x, std::size_t) {
  const Tensor half = matmul(x, x, {.transpose_b = true});
  return half + 2 * eye(x.shape().back());
}
// cholesky reads the lower triangle alone: made symmetric, so that every element counts.
Tensor symmetric(const Tensor& x) { return 0.5 * (x + moveaxis(x, -1, -2)); }

// clang-format off
constexpr Shaped rows[] = {
    {"matmul", "2x3,3x4;1x1,1x1;0x3,3x2;2x0,0x3;5x2x3,5x3x4;5x2x3,3x4;2x3,5x3x4;1x2x3,5x3x2;2x3x0,0x4;2x0x3,3x4", [](X x) { return matmul(x[0], x[1]); }, [](A x) { return times(x[0], x[1]); }},
    {"matmul", "3,3", [](X x) { return matmul(x[0], x[1]); }, [](A x) { return as(times(as(x[0], {1, 3}), as(x[1], {3, 1})), {}); }},
    {"matmul", "3,3x4", [](X x) { return matmul(x[0], x[1]); }, [](A x) { return as(times(as(x[0], {1, 3}), x[1]), {4}); }},
    {"matmul", "2x3,3", [](X x) { return matmul(x[0], x[1]); }, [](A x) { return as(times(x[0], as(x[1], {3, 1})), {2}); }},
    {"matmul", "5x2x3,3", [](X x) { return matmul(x[0], x[1]); }, [](A x) { return as(times(x[0], as(x[1], {3, 1})), {5, 2}); }},
    {"matmul", "3,5x3x2", [](X x) { return matmul(x[0], x[1]); }, [](A x) { return as(times(as(x[0], {1, 3}), x[1]), {5, 2}); }},
    {"matmul", "3x2,3x4;5x3x2,5x3x4", [](X x) { return matmul(x[0], x[1], {.transpose_a = true}); }, [](A x) { return times(flipped(x[0]), x[1]); }},
    {"matmul", "2x3,4x3;5x2x3,4x3", [](X x) { return matmul(x[0], x[1], {.transpose_b = true}); }, [](A x) { return times(x[0], flipped(x[1])); }},
    {"matmul", "3x2,4x3", [](X x) { return matmul(x[0], x[1], {.transpose_a = true, .transpose_b = true}); }, [](A x) { return times(flipped(x[0]), flipped(x[1])); }},
    {"dot", "3,3", [](X x) { return dot(x[0], x[1]); }, [](A x) { return as(times(as(x[0], {1, 3}), as(x[1], {3, 1})), {}); }},
    {"dot", "2x3,3x4", [](X x) { return dot(x[0], x[1]); }, [](A x) { return times(x[0], x[1]); }},
    {"dot", "2x3,5x3x4", [](X x) { return dot(x[0], x[1]); },
      [](A x) { return build({2, 5, 4}, [&](const Index& i) { Real s = 0; for (std::int64_t k = 0; k < 3; ++k) s += at(x[0], {i[0], k}) * at(x[1], {i[1], k, i[2]}); return s; }); }},
    {"outer", "3,4;2x2,3", [](X x) { return outer(x[0], x[1]); },
      [](A x) { const Row &a = x[0].values, &b = x[1].values; return build(Shape{a.size(), b.size()}, [&](const Index& i) { return a[static_cast<std::size_t>(i[0])] * b[static_cast<std::size_t>(i[1])]; }); }},
    {"tensordot", "2x3x4,3x4x5", [](X x) { return tensordot(x[0], x[1]); }, [](A x) { return times(as(x[0], {2, 12}), as(x[1], {12, 5})); }},
    {"tensordot", "2x3,4x2", [](X x) { return tensordot(x[0], x[1], 0, 1); }, [](A x) { return times(flipped(x[0]), flipped(x[1])); }},
    {"einsum", "2x3,3x4", [](X x) { return einsum("ij,jk->ik", x); }, [](A x) { return times(x[0], x[1]); }},
    {"einsum", "5x2x3,5x3x4", [](X x) { return einsum("...ij,...jk", {x[0], x[1]}); }, [](A x) { return times(x[0], x[1]); }},
    {"einsum", "3x3", [](X x) { return einsum("ii", x); }, [](A x) { return Array{{}, {at(x[0], {0, 0}) + at(x[0], {1, 1}) + at(x[0], {2, 2})}}; }},
    {"einsum", "3x3", [](X x) { return einsum("ii->i", x); }, [](A x) { return build({3}, [&](const Index& i) { return at(x[0], {i[0], i[0]}); }); }},
    {"einsum", "2x3", [](X x) { return einsum("ij->j", x); }, [](A x) { return fold(x[0], {0}, false, total); }},
    {"einsum", "2,3x2,3", [](X x) { return einsum("i,ji,j->ij", x); },
      [](A x) { return build({2, 3}, [&](const Index& i) { return at(x[0], {i[0]}) * at(x[1], {i[1], i[0]}) * at(x[2], {i[1]}); }); }},
    {"cholesky", "3x3;1x1;2x3x3;0x0", [](X x) { return cholesky(symmetric(x[0])); }, [](A x) { return cholesky_of(x[0]); }, {-1, 1}, positive, none, 20},
    {"solve", "3x3,3x2;3x3,3;2x3x3,2x3x2;0x0,0x2;2x2x2,2x2;2x3x3,3;2x3x3,3x2", [](X x) { return solve(x[0], x[1]); }, [](A x) { return solved(x[0], x[1]); }, {-2, 2}, dominant, none, 10},
    {"triangular_solve", "3x3,3x2;3x3,3;2x3x3,2x3x2;2x2x2,2x2;2x3x3,3;2x3x3,3x2", [](X x) { return triangular_solve(x[0], x[1]); }, [](A x) { return solved(triangle(x[0], true, false), x[1]); }, {-2, 2}, dominant, none, 10},
    {"triangular_solve", "3x3,3x2", [](X x) { return triangular_solve(x[0], x[1], {.lower = false}); }, [](A x) { return solved(triangle(x[0], false, false), x[1]); }, {-2, 2}, dominant, none, 10},
    {"triangular_solve", "3x3,3x2;2x2x2,2x2", [](X x) { return triangular_solve(x[0], x[1], {.unit_diagonal = true}); }, [](A x) { return solved(triangle(x[0], true, true), x[1]); }, {-2, 2}, dominant, none, 10},
    {"triangular_solve", "3x3,3x2", [](X x) { return triangular_solve(x[0], x[1], {.transpose = true}); }, [](A x) { return solved(flipped(triangle(x[0], true, false)), x[1]); }, {-2, 2}, dominant, none, 10},
    {"triangular_solve", "3x3,3x2", [](X x) { return triangular_solve(x[0], x[1], {.lower = false, .transpose = true, .unit_diagonal = true}); },
      [](A x) { return solved(flipped(triangle(x[0], false, true)), x[1]); }, {-1, 1}, dominant, none, 100},
    {"inverse", "3x3;1x1;2x3x3;0x0", [](X x) { return inverse(x[0]); }, [](A x) { return each(x[0], [](const Array& m) { return solved(m, unit(last(m))); }); }, {-2, 2}, dominant, none, 10},
    {"det", "3x3;1x1;2x3x3", [](X x) { return det(x[0]); }, [](A x) { return determinants(x[0]); }, {-2, 2}, dominant, none, 10},
    {"slogdet", "3x3;2x3x3", [](X x) { return slogdet(x[0]).logdet; }, [](A x) { Array d = determinants(x[0]); for (Real& v : d.values) v = std::log(std::abs(v)); return d; }, {-2, 2}, dominant, none, 10},
    {"slogdet", "3x3;2x3x3", [](X x) { return slogdet(x[0]).sign; }, [](A x) { Array d = determinants(x[0]); for (Real& v : d.values) v = v > 0 ? 1 : -1; return d; }, {-2, 2}, dominant, none, 10},
};
// clang-format on

}  // namespace

std::span<const Shaped> linear_algebra() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
