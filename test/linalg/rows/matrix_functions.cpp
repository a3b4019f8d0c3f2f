// Rows of the ops of <reel/linalg/functions.hpp>. References in long double: series, Newton's iteration, and equations
// of matrices as one system of n^2 equations.
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

// The real or the imaginary part of f(p + iq).
template <MatrixOf<Real> (*F)(M), bool Imaginary>
Array complex_part(A x) {
  return each({x[0], x[1]}, {2, 2}, [](M p, M q) {
    const MatrixOf<Real> y = F(embedded(p, q));
    return made<Real>(p.rows, p.rows, [&](std::size_t i, std::size_t j) { return y[Imaginary ? i + p.rows : i][j]; });
  });
}
Array lyapunov_solutions(A x) {
  return each({x[0], x[1]}, {2, 2}, [](M a, M q) { return sylvester_solution(a, transposed(a), q); });
}

// Eigenvalues in the right half-plane, those of all but the third operand.
Tensor dominant(const Tensor& x, std::size_t operand) {
  const bool square = x.rank() >= 2 && x.shape()[-1] == x.shape()[-2];
  return square && operand < 2 ? x + 6 * eye(x.shape().back()) : x;
}
Tensor first_dominant(const Tensor& x, std::size_t operand) { return operand == 0 ? dominant(x, 0) : x; }

// clang-format off
constexpr Shaped rows[] = {
    {"expm", "3x3;1x1;2x2x2;0x0;5x5", [](X x) { return expm(x[0]); }, [](A x) { return each(x[0], exponential<Real>); }, {-1, 1}, nullptr, none, 100},
    {"expm", "3x3", [](X x) { return expm(x[0] * 8); }, [](A x) { return each(x[0], [](M a) { return exponential(scaled(a, 8)); }); }, {-1, 1}, [](const Tensor& x, std::size_t) { return x - eye(3); }, none, 4000},
    {"expm", "3x3,3x3", [](X x) { return real(expm(make_complex(x[0], x[1]))); }, complex_part<exponential, false>, {-1, 1}, nullptr, by_complex, 100},
    {"expm", "2x2,2x2", [](X x) { return imag(expm(make_complex(x[0], x[1]))); }, complex_part<exponential, true>, {-1, 1}, nullptr, by_complex, 100},
    {"expm_frechet", "3x3,3x3;2x2,2x2;2x2,2x2x2", [](X x) { return expm_frechet(x[0], x[1]); }, [](A x) { return each({x[0], x[1]}, {2, 2}, exponential_along<Real>); }, {-1, 1}, nullptr, none, 100},
    {"sqrtm", "3x3;1x1;2x2x2;0x0", [](X x) { return sqrtm(x[0]); }, [](A x) { return each(x[0], root<Real>); }, {-2, 2}, dominant, none, 20},
    {"sqrtm", "2x2,2x2", [](X x) { return imag(sqrtm(make_complex(x[0], x[1]))); }, complex_part<root, true>, {-2, 2}, first_dominant, by_complex, 40},
    {"logm", "3x3;1x1;2x2x2;0x0", [](X x) { return logm(x[0]); }, [](A x) { return each(x[0], logarithm<Real>); }, {-2, 2}, dominant, none, 40},
    {"logm", "2x2,2x2", [](X x) { return real(logm(make_complex(x[0], x[1]))); }, complex_part<logarithm, false>, {-2, 2}, first_dominant, by_complex, 40},
    {"sylvester", "3x3,2x2,3x2;1x1,1x1,1x1;2x3x3,2x2,3x2;2x2,2x3x3,2x2x3;2x2,1x1,2x2x1;0x0,2x2,0x2", [](X x) { return sylvester(x[0], x[1], x[2]); }, [](A x) { return each({x[0], x[1], x[2]}, {2, 2, 2}, sylvester_solution<Real>); }, {-2, 2}, dominant, none, 20},
    {"sylvester", "2x2,2x2,2x2", [](X x) { return real(sylvester(make_complex(x[0], x[2]), x[1], make_complex(x[2], x[0]))); },
      [](A x) { return each({x[0], x[1], x[2]}, {2, 2, 2}, [](M a, M b, M q) { return leading(sylvester_solution(embedded(a, q), embedded(b, scaled(b, 0)), embedded(q, a)), 2, 2); }); }, {-2, 2}, dominant, by_complex, 40},
    {"lyapunov", "3x3,3x3;2x2,2x2x2", [](X x) { return lyapunov(x[0], x[1]); }, lyapunov_solutions, {-2, 2}, first_dominant, none, 20},
};
// clang-format on

}  // namespace

std::span<const Shaped> matrix_functions() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
