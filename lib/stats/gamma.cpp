// The gamma distribution of shape a.
#include "stats/gamma.hpp"

#include <reel/stats/gamma.hpp>

namespace reel::ops {
namespace {

Lane gamma_logpdf_of(P p) { return log_gamma_density(p.a, p.z); }
Lane gamma_exponent(P p) { return p.a - 1; }
constexpr Distribution gamma_distribution = of_density(
    0, infinity, 1, gamma_logpdf_of,
    [](P p) { return density_of(p, gamma_logpdf_of, gamma_exponent, [](L z, P) { return -z; }); }, 1);

}  // namespace
}  // namespace reel::ops

REEL_DENSITIES_1(gamma)

namespace reel::ops {

Tensor gamma_tail(const char* op, Tail t, const Operand& x, const Operand& a, const Operand& loc, const Operand& scale,
                  double unit) {
  const tape::OpScope scope(x);
  const Placed p(op, {&x, &a, &loc, &scale}, 0, infinity);
  return p.finish(t, incomplete_gamma(op, t, p.c.x[1] * unit, p.z * unit));
}

// The unit is a power of 2: no division rounds.
Tensor gamma_quantile(const char* op, Tail t, const Operand& p, const Operand& a, const Operand& loc,
                      const Operand& scale, double unit) {
  const tape::OpScope scope(p);
  const Quantile q(op, {&p, &a, &loc, &scale});
  return q.finish(invert_incomplete_gamma(op, t, q.c.x[1] * unit, q.c.x[0]) / unit);
}

}  // namespace reel::ops

REEL_TAILS(gamma, (const Operand& x, const Operand& a, const Operand& loc, const Operand& scale), gamma_tail,
           gamma_quantile, x, a, loc, scale, 1)

namespace reel {

Tensor gamma_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& loc, const Operand& scale,
                 DType dtype) {
  const tape::OpScope scope(a);
  return ops::draw_scaled_variates("gamma_rvs", loops::Variate::gamma, generator, shape, dtype, {&a}, loc, scale);
}

}  // namespace reel
