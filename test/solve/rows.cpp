// Rows of ops that take a function: functions of symmetric matrices, solutions of linear systems and equations,
// integrals, solutions of differential equations. The function captures operands, so that derivatives by what it reads
// are tested as those by operands.
#include "rows.hpp"

#include <reel/linalg.hpp>
#include <reel/ode.hpp>
#include <reel/solve/equations.hpp>
#include <reel/solve/integrate.hpp>

#include "../linalg/references/matrices.hpp"
#include "references/solutions.hpp"

namespace cases {

namespace {

using namespace reel;
using namespace equations;
using namespace matrices;
using X = Operands;
using A = Arrays;

Tensor dominant(const Tensor& x, std::size_t operand) { return operand == 0 ? x + 6 * eye(x.shape().back()) : x; }
LinearOperator times(const Tensor& a) {
  return [a](const Tensor& v) { return matmul(a, v); };
}
// l l^T + 2
LinearOperator definite(const Tensor& l) {
  return [l](const Tensor& v) { return matmul(l, matmul(l, v, {.transpose_a = true})) + 2 * v; };
}
using M = const MatrixOf<Real>&;
IterativeOptions accurate(const Tensor& b) { return {.tolerance = b.dtype() == DType::float32 ? 0x1p-20 : 0x1p-49}; }
Array of_definite(A x) {
  return each_side(x[0], x[1], [](M l, M b) { return solved(sum_of(l * transposed(l), 2, unit<Real>(l.rows)), b); });
}
Array of_general(A x) { return each_side(x[0], x[1], solved<Real>); }

template <class Equation>
Array solutions_of(A x) {
  return build(x[0].shape, [&](const Index& i) { return solution_of<Equation>(at(x[0], i)); });
}
EquationFunction cubic(const Tensor& p) {
  return [p](const Tensor& x) { return x * x * x + x - p; };
}
Tensor bracketed(X x) {
  const Tensor end = full(x[0].shape(), 2.5, is_differentiable(x[0].dtype()) ? x[0].dtype() : DType::float64);
  return bracketed_root(cubic(x[0]), -end, end);
}

// Integrals of exp(p x) and of p x^3, which is exact.
Array exponential_integral(A x) {
  return build(x[0].shape, [&](const Index& i) {
    return equations::exponential_integral(at(x[0], i), x[1].values[0], x[2].values[0]);
  });
}
Array cubic_integral(A x) {
  return build(x[1].shape, [&](const Index& i) {
    return x[0].values[0] * (std::pow(at(x[2], i), 4.0L) - std::pow(at(x[1], i), 4.0L)) / 4;
  });
}
Integrand exponential_of(const Tensor& p) {
  return [p](const Tensor& x) { return exp(expand_dims(p, -1) * x); };
}

// y[0]' = p[0] (y[1]^n + t), y[1]' = p[1], whose steps are exact for n = 1 and for order 5 also for n = 2.
template <int N>
OdeFunction chain(const Tensor& p) {
  return [p](const Tensor& y, const Tensor& t) {
    return stack({p[0] * ((N == 1 ? y[1] : square(y[1])) + t), p[1] + 0 * y[0]});
  };
}
template <int N>
Array chain_at(A x, const Row& times) {
  const Row &p = x[0].values, &y = x[1].values;
  Array all{{static_cast<std::int64_t>(times.size()), 2}, {}};
  for (const Real t : times) {
    const Real area =
        N == 1 ? y[1] * t + p[1] * t * t / 2 : y[1] * y[1] * t + y[1] * p[1] * t * t + p[1] * p[1] * t * t * t / 3;
    all.values.push_back(y[0] + p[0] * (area + t * t / 2));
    all.values.push_back(y[1] + p[1] * t);
  }
  return all;
}

// clang-format off
const Shaped rows[] = {
    {"cg", "3x3,3;1x1,1;4x4,4", [](X x) { return cg(definite(x[0]), x[1], accurate(x[1])).x; }, of_definite, {-2, 2}, nullptr, none, 100},
    {"gmres", "3x3,3;1x1,1;4x4,4", [](X x) { return gmres(times(x[0]), x[1], accurate(x[1])).x; }, of_general, {-2, 2}, dominant, none, 100},
    {"bicgstab", "3x3,3;1x1,1;4x4,4", [](X x) { return bicgstab(times(x[0]), x[1], accurate(x[1])).x; }, of_general, {-2, 2}, dominant, none, 100},
    {"linear_solve", "3x3,3;1x1,1;3x3,3x2", [](X x) { return linear_solve(times(x[0]), x[1], accurate(x[1])); }, of_general, {-2, 2}, dominant, none, 100},
    {"linear_solve", "3x3,3", [](X x) { return linear_solve(definite(x[0]), x[1], [](const LinearOperator& a, const Tensor& b) { return cg(a, b, accurate(b)).x; }, true); }, of_definite, {-2, 2}, nullptr, none, 100},
    {"symmetric_function", "3x3;1x1;2x2x2;0x0", [](X x) { return symmetric_function(x[0], [](const Tensor& w) { return w * w * w; }); }, [](A x) { return each(x[0], [](M m) { const auto s = symmetrised(m); return s * s * s; }); }, {-1, 1}, nullptr, none, 20},
    {"symmetric_function", "3x3;2x2", [](X x) { return symmetric_function(x[0], [](const Tensor& w) { return 1 / (8 + w); }); }, [](A x) { return each(x[0], [](M m) { return matrices::inverse(sum_of(symmetrised(m), 8, unit<Real>(m.rows))); }); }, {-2, 2}, nullptr, none, 20},
    {"fixed_point", "3;2x2;()", [](X x) { return fixed_point([p = x[0]](const Tensor& y) { return p + 0.25 * sin(y); }, zeros_like(x[0])); },
      solutions_of<Kepler>, {-2, 2}, nullptr, none, 100},
    {"root", "3;2x2;()", [](X x) { return root(cubic(x[0]), zeros_like(x[0])); }, solutions_of<Cubic>, {-2, 2}, nullptr, none, 100},
    {"bracketed_root", "3;2x2;()", bracketed, solutions_of<Cubic>, {-2, 2}, nullptr, none, 100},
    {"minimum", "3;2x2;()", [](X x) { return minimum([p = x[0]](const Tensor& y) { return sum(exp(y) + square(y) - p * y); }, zeros_like(x[0])); },
      solutions_of<Exponential>, {-1, 1}, nullptr, none, 100},
    {"fixed_quad", "3,(),();(),(),()", [](X x) { return fixed_quad([p = x[0]](const Tensor& t) { return exp(expand_dims(p, -1) * t); }, x[1] + 0 * x[0], x[2] + 0 * x[0], 16); }, exponential_integral, {-1, 1}, nullptr, none, 20},
    {"fixed_quad", "(),3,3", [](X x) { return fixed_quad([p = x[0]](const Tensor& t) { return p * t * t * t; }, x[1], x[2], 2); }, cubic_integral, {-1, 1}, nullptr, none, 10},
    {"quad", "3,(),();(),(),()", [](X x) { return quad(exponential_of(x[0]), x[1], x[2], {.tolerance = x[0].dtype() == DType::float32 ? 1e-5 : 1e-13}); }, exponential_integral, {-1, 1}, nullptr, none, 20},
    {"odeint", "2,2", [](X x) { return odeint(chain<2>(x[0]), x[1], tensor({0, 0.5, 1.5})); }, [](A x) { return chain_at<2>(x, {0, 0.5L, 1.5L}); }, {-1, 1}, nullptr, none, 20},
    {"odeint", "2,2", [](X x) { return odeint(chain<1>(x[0]), x[1], tensor({0, 0.5}), {.method = OdeMethod::rosenbrock}); }, [](A x) { return chain_at<1>(x, {0, 0.5L}); }, {-1, 1}, nullptr, none, 100},
    {"odeint", "2,2", [](X x) { return odeint(chain<2>(x[0]), x[1], tensor({0, 0.5}), {.adjoint = OdeAdjoint::continuous}); }, [](A x) { return chain_at<2>(x, {0, 0.5L}); }, {-1, 1}, nullptr, none, 100},
};
// clang-format on

}  // namespace

std::span<const Shaped> solutions() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
