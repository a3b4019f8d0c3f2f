// Orthogonal polynomials by their recurrences in the degree (DLMF 18.9), on Taylor polynomials in the argument and in
// the real parameters.
#include <array>

#include "special/arguments.hpp"

namespace reel::kernels::special {

namespace {

template <class N>
struct Variables {
  N x, a, b;  // the argument, alpha or lambda, beta
};
/// p_(k+1) = first p_k - second p_(k-1).
template <class N>
struct Step {
  N first, second;
};

template <class N>
Step<N> jacobi_step(const Variables<N>& v, Real k) {
  if (k == 0) return {(v.a + 1) + (v.a + v.b + 2) * (v.x - 1) / 2.0L, constant(v.x, 0)};
  const N sum = v.a + v.b, twice = sum + 2 * k, below = 1 / (2 * (k + 1) * (sum + (k + 1)) * twice);
  return {below * (twice + 1) * ((twice + 2) * twice * v.x + (v.a - v.b) * sum),
          below * 2 * (v.a + k) * (v.b + k) * (twice + 2)};
}
/// 1, 1/2, 1/3, ...
constexpr auto reciprocals = [] {
  std::array<Real, 64> r{};
  for (std::size_t k = 0; k < r.size(); ++k) r[k] = 1 / static_cast<Real>(k + 1);
  return r;
}();

template <class N>
Step<N> step(Function f, const Variables<N>& v, Real k) {
  const auto at = static_cast<std::size_t>(k);
  const Real next = at < reciprocals.size() ? reciprocals[at] : 1 / (k + 1);
  switch (f) {
    case Function::legendre:
      return {v.x * ((2 * k + 1) * next), constant(v.x, k * next)};
    case Function::chebyshev_t:
      return {v.x * (k == 0 ? 1.0L : 2.0L), constant(v.x, 1)};
    case Function::chebyshev_u:
      return {v.x * 2.0L, constant(v.x, 1)};
    case Function::hermite:
      return {v.x * 2.0L, constant(v.x, 2 * k)};
    case Function::hermite_e:
      return {v.x, constant(v.x, k)};
    case Function::laguerre:
    case Function::genlaguerre:
      return {(v.a - v.x + (2 * k + 1)) * next, (v.a + k) * next};
    case Function::gegenbauer:
      return {(v.a + k) * v.x * (2 * next), (2 * v.a + (k - 1)) * next};
    default:
      return jacobi_step(v, k);
  }
}

template <class N>
N of_degree(Function f, const Variables<N>& v, Real degree) {
  N before = constant(v.x, 0), p = constant(v.x, 1);
  for (Real k = 0; k < degree; ++k) {
    const Step<N> s = step(f, v, k);
    const N next = s.first * p - s.second * before;
    before = p, p = next;
    if (!std::isfinite(value(p))) return constant(v.x, nan);
  }
  return p;
}

constexpr Real degree_max = 1e5L;

/// The sign of the leading coefficient; NaN for parameters with which it depends on more than the degree.
Real leading_sign(Function f, const Arguments& a, Real degree) {
  if (f == Function::laguerre || f == Function::genlaguerre) return alternating(degree);
  if (f == Function::gegenbauer && !(a.at[0] > 0)) return nan;
  return f == Function::jacobi && !(a.at[0] > -1 && a.at[1] > -1) ? nan : 1;
}

}  // namespace

Real polynomial(Function f, const Arguments& a) {
  const std::size_t last = signature(f).arguments - 1u;  // the degree
  const Real degree = a.at[last];
  Real x = a.at[last - 1];
  if (!is_whole(degree) || degree < 0 || degree > degree_max) return nan;
  const Orders o(a.orders, last);
  if (std::isinf(x) && degree > 0) {
    const int order = a.orders[last - 1];
    if (o.total() > order) return nan;
    if (degree != order) return degree < order ? 0 : leading_sign(f, a, degree) * std::pow(x, degree - order);
    x = 0;  // the derivative is constant
  }
  if (o.total() == 0) return of_degree<Real>(f, {x, last > 1 ? a.at[0] : 0, last > 2 ? a.at[1] : 0}, degree);
  const auto variable = [&](std::size_t k) {
    return Taylor::variable(o, k == last - 1 ? x : a.at[k], static_cast<int>(k));
  };
  const Taylor zero(o, 0);
  return derivative(
      of_degree<Taylor>(f, {variable(last - 1), last > 1 ? variable(0) : zero, last > 2 ? variable(1) : zero}, degree));
}

}  // namespace reel::kernels::special
