// Orthogonal polynomials by their recurrences in the degree (DLMF 18.9), on Taylor polynomials in the argument and in
// the real parameters.
#include "kernels/special/arguments.hpp"

namespace reel::kernels::special {

namespace {

struct Variables {
  Taylor x, a, b;  // the argument, alpha or lambda, beta
};
/// p_(k+1) = first p_k - second p_(k-1).
struct Step {
  Taylor first, second;
};

Step jacobi_step(const Variables& v, Real k) {
  if (k == 0) return {(v.a + 1) + (v.a + v.b + 2) * (v.x - 1) / 2.0L, constant(v.x, 0)};
  const Taylor sum = v.a + v.b, twice = sum + 2 * k, below = 1 / (2 * (k + 1) * (sum + (k + 1)) * twice);
  return {below * (twice + 1) * ((twice + 2) * twice * v.x + (v.a - v.b) * sum),
          below * 2 * (v.a + k) * (v.b + k) * (twice + 2)};
}
Step step(Function f, const Variables& v, Real k) {
  const Real next = 1 / (k + 1);
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

constexpr Real degree_max = 1e5L;

}  // namespace

Real polynomial(Function f, const Arguments& a) {
  const std::size_t last = signature(f).arguments - 1u;  // the degree
  const Real degree = a.at[last], x = a.at[last - 1];
  if (!is_whole(degree) || degree < 0 || degree > degree_max) return nan;
  const Orders o(a.orders, last);
  const auto variable = [&](std::size_t k) { return Taylor::variable(o, a.at[k], static_cast<int>(k)); };
  const Taylor zero = constant(Taylor(o, 0), 0), argument = variable(last - 1);
  const Variables v = {argument, last > 1 ? variable(0) : zero, last > 2 ? variable(1) : zero};
  Taylor before = zero, p = zero + 1;
  if (std::isinf(x) && degree > 0) return nan;
  for (Real k = 0; k < degree; ++k) {
    const Step s = step(f, v, k);
    const Taylor next = s.first * p - s.second * before;
    before = p, p = next;
    if (!std::isfinite(p[0])) return nan;
  }
  return derivative(p);
}

}  // namespace reel::kernels::special
