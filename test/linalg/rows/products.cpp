// Rows of the ops of <reel/linalg/products.hpp>. References are sums over indices in long double.
#include "../references/products.hpp"

#include <algorithm>
#include <reel/linalg.hpp>
#include <span>

namespace cases {

namespace {

using namespace reel;
using namespace matrices;
using X = Operands;
using A = Arrays;

using M = const MatrixOf<Real>&;

Array scaled(Array x, Real factor) {
  for (Real& v : x.values) v *= factor;
  return x;
}
Array keeping(Array x) {
  x.shape.push_back(1);
  x.shape.push_back(1);
  return x;
}
template <bool Columns>
Real largest_of(M m) {
  return largest_sum(m, Columns);
}
template <int Norm>
Real condition_of(M m) {
  return condition(singular_values(m), Norm);
}
Array reflectors(A x) {
  return each({x[0], x[1]}, {2, 1}, [](M a, M tau) { return reflected(a, tau.values); });
}
// Singular values far apart.
Tensor apart(const Tensor& x, std::size_t) {
  const std::int64_t m = x.shape()[-2], n = x.shape()[-1];
  return x + eye(m, n) * cumsum(full({n}, 3.0), 0);
}

// A square matrix behind `leading` axes for its rows, far from singular; a vector as drawn.
Tensor dominant(const Tensor& x, std::size_t operand) {
  if (operand > 0 || x.rank() < 2) return x;
  if (x.rank() == 2 || x.shape()[-1] == x.shape()[-2]) return x + 6 * eye(x.shape().back());
  const std::int64_t n = x.shape()[0] * x.shape()[1];
  return reshape(reshape(x, {n, n}) + 6 * eye(n), x.shape());
}

// clang-format off
constexpr Shaped rows[] = {
    {"kron", "2x3,3x2;2,3;2x1x2,3x2;(),3;2x2,();0x2,3x1;2,3x1x2", [](X x) { return kron(x[0], x[1]); }, kronecker<Real>},
    {"cross", "3,3;4x3,4x3;2x4x3,3;3,4x3;1x3,2x3;0x3,3", [](X x) { return cross(x[0], x[1]); }, [](A x) { return cross_product(x); }, {-2, 2}, nullptr, none, 4},
    {"cross", "2x3x4,2x3x4;2x3x1,3x4", [](X x) { return cross(x[0], x[1], -2); }, [](A x) { return cross_product(x, -2); }, {-2, 2}, nullptr, none, 4},
    {"inner", "3,3;2x3,4x3;2x2x3,4x3;5x3,3;2x0,3x0", [](X x) { return inner(x[0], x[1]); }, inner_product<Real>, {-2, 2}, nullptr, none, 4},
    {"inner", "(),3;2x3,()", [](X x) { return inner(x[0], x[1]); }, inner_product<Real>},
    {"vdot", "3,3;2x3,6;2x3,3x2;(),1;0,0", [](X x) { return vdot(x[0], x[1]); }, vector_product<Real>, {-2, 2}, nullptr, none, 4},
    {"vdot", "3,3;2x2,4", [](X x) { return imag(vdot(make_complex(x[0], sin(x[0])), make_complex(x[1], 2.0))); },
      [](A x) { Real s = 0; for (std::size_t i = 0; i < x[0].values.size(); ++i) s += 2 * x[0].values[i] - std::sin(x[0].values[i]) * x[1].values[i]; return array_of(s); }, {-2, 2}, nullptr, by_complex, 8},
    {"vecdot", "3,3;2x3,2x3;4x2x3,2x3;3,2x3;2x1x3,4x3;2x0,2x0", [](X x) { return vecdot(x[0], x[1]); },
      [](A x) { return vectors_product(x); }, {-2, 2}, nullptr, none, 4},
    {"vecdot", "3x2,3x2;3x2x2,3x1x2", [](X x) { return vecdot(x[0], x[1], 0); },
      [](A x) { return vectors_product(x, 0); }, {-2, 2}, nullptr, none, 4},
    {"vecdot", "3,3;2x3,2x3", [](X x) { return real(vecdot(make_complex(0.0, x[0]), make_complex(x[0], x[1]))); },
      [](A x) { return vectors_product(x); }, {-2, 2}, nullptr, by_complex, 4},
    {"matvec", "3x2,2;2x3x2,2x2;2x3x2,2;3x2,4x2;2x1x3x2,4x2;3x0,0;0x2,2", [](X x) { return matvec(x[0], x[1]); }, matrix_vector<Real>, {-2, 2}, nullptr, none, 4},
    {"multi_dot", "2x3,3x4;4x1,1x2;0x2,2x3", [](X x) { return multi_dot(x); }, chain_product<Real>, {-2, 2}, nullptr, none, 4},
    {"multi_dot", "2x5,5x1,1x4;4x1,1x3,3x2;2x2,2x2,2x2", [](X x) { return multi_dot(x); }, chain_product<Real>, {-2, 2}, nullptr, none, 20},
    {"multi_dot", "2,2x3,3x2,2", [](X x) { return multi_dot(x); }, chain_product<Real>, {-2, 2}, nullptr, none, 40},
    {"multi_dot", "3;2x3", [](X x) { return multi_dot(x); }, [](A x) { return x[0]; }},
    {"matrix_power", "3x3;2x2x2;1x1;0x0", [](X x) { return matrix_power(x[0], 5); }, [](A x) { return power_of(x[0], 5); }, {-1, 1}, nullptr, none, 20},
    {"matrix_power", "3x3;2x2x2", [](X x) { return matrix_power(x[0], 2) + matrix_power(x[0], 1); }, [](A x) { return each(x[0], [](M m) { return sum_of(m * m, 1, m); }); }, {-1, 1}, nullptr, none, 4},
    {"matrix_power", "3x3;2x2x2", [](X x) { return matrix_power(x[0], -3); }, [](A x) { return power_of(each(x[0], matrices::inverse<Real>), 3); }, {-2, 2}, dominant, none, 10},
    {"matrix_power", "3x3;2x2x2;0x0", [](X x) { return matrix_power(x[0], 0); }, [](A x) { return power_of(x[0], 0); }},
    {"tensorsolve", "2x3x6,2x3;4x2x2,4;3x3,3", [](X x) { return tensorsolve(x[0], x[1]); },
      tensor_solution<Real>,
      {-2, 2}, [](const Tensor& x, std::size_t operand) { const std::int64_t n = operand == 0 ? x.shape().back() * (x.rank() == 3 && x.shape()[0] == 4 ? 2 : 1) : 0; return operand == 0 ? reshape(reshape(x, {n, n}) + 6 * eye(n), x.shape()) : x; }, none, 10},
    {"tensorinv", "2x3x6;2x2x2x2", [](X x) { return tensorinv(x[0]); }, [](A x) { return tensor_inverse(x[0], 2); }, {-2, 2}, [](const Tensor& x, std::size_t) { const std::int64_t n = x.shape()[0] * x.shape()[1]; return reshape(reshape(x, {n, n}) + 6 * eye(n), x.shape()); }, none, 10},
    {"tensorinv", "3x3", [](X x) { return tensorinv(x[0], 1); }, [](A x) { return tensor_inverse(x[0], 1); }, {-2, 2}, dominant, none, 10},
    {"matrix_norm", "3x4;2x3x2;1x1", [](X x) { return matrix_norm(x[0]); }, [](A x) { return each(x[0], frobenius_norm<Real>); }, {0.2, 2}, nullptr, none, 4},
    {"matrix_norm", "3x4;2x3x2;1x1", [](X x) { return matrix_norm(x[0], MatrixNorm::one, true); }, [](A x) { return keeping(each(x[0], largest_of<true>)); }, {0.2, 2}, nullptr, none, 4},
    {"matrix_norm", "3x4;2x3x2;1x1", [](X x) { return matrix_norm(x[0], MatrixNorm::infinity); }, [](A x) { return each(x[0], largest_of<false>); }, {-2, -0.2}, nullptr, none, 4},
    {"matrix_norm", "3x3;3x2;2x3;2x3x2;1x1", [](X x) { return matrix_norm(x[0], MatrixNorm::spectral); }, [](A x) { return each(x[0], [](M m) { return singular_values(m)[0]; }); }, {-1, 1}, apart, none, 20},
    {"matrix_norm", "3x3;3x2;2x3;2x3x2;1x1", [](X x) { return matrix_norm(x[0], MatrixNorm::nuclear, true); }, [](A x) { return keeping(each(x[0], [](M m) { return total(singular_values(m)); })); }, {-1, 1}, apart, none, 20},
    {"cond", "3x3;3x2;2x3;2x3x2", [](X x) { return cond(x[0]); }, [](A x) { return each(x[0], condition_of<0>); }, {-1, 1}, apart, none, 100},
    {"cond", "3x3;2x3x3", [](X x) { return cond(x[0], MatrixNorm::frobenius); }, [](A x) { return each(x[0], condition_of<2>); }, {-1, 1}, apart, none, 100},
    {"cond", "3x3;2x3x3", [](X x) { return cond(x[0], MatrixNorm::nuclear); }, [](A x) { return each(x[0], condition_of<1>); }, {-1, 1}, apart, none, 100},
    {"cond", "3x3;2x3x3", [](X x) { return cond(x[0], MatrixNorm::one); }, [](A x) { return each(x[0], [](M m) { return largest_of<true>(m) * largest_of<true>(matrices::inverse(m)); }); }, {-1, 1}, apart, none, 100},
    {"householder_product", "4x3,3;3x3,2;2x4x2,2;4x2,2x1;2x1,1;3x2,0;0x0,0", [](X x) { return householder_product(x[0], x[1]); }, reflectors, {-1, 1}, nullptr, none, 10},
    {"matrix_norm", "2x2", [](X x) { return matrix_norm(make_complex(x[0], 2 * x[0]), MatrixNorm::frobenius, true); }, [](A x) { return scaled(keeping(each(x[0], frobenius_norm<Real>)), std::sqrt(Real(5))); }, {0.2, 2}, nullptr, by_complex, 4},
};
// clang-format on

}  // namespace

std::span<const Shaped> matrix_products() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
