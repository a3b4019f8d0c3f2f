// The beta distribution of shapes a and b.
#include <reel/stats/beta.hpp>

#include "stats/gamma_density.hpp"
#include "stats/tails.hpp"

namespace reel::ops {
namespace {

Lane beta_logpdf_of(P p) {
  const Lane n = p.a + p.b, rest = where(p.z < 0.5, 1 - p.z, (p.scale - p.d) / p.scale);
  return log_gamma_density(p.a, n * p.z) + log_gamma_density(p.b, n * rest) - log_poisson_at_mean(n) + log(n);
}
Lane beta_exponent(P p) { return p.a - 1; }
constexpr Distribution beta_distribution = of_density(
    0, 1, 2, beta_logpdf_of,
    [](P p) { return density_of(p, beta_logpdf_of, beta_exponent, [](L z, P q) { return (q.b - 1) * log1p(-z); }); }, 1,
    1);

}  // namespace
}  // namespace reel::ops

REEL_DENSITIES_2(beta)

namespace reel::ops {
namespace {

Tensor beta_tail(const char* op, Tail t, const Operand& x, const Operand& a, const Operand& b, const Operand& loc,
                 const Operand& scale) {
  const tape::OpScope scope(x);
  const Placed p(op, {&x, &a, &b, &loc, &scale}, 0, 1);
  return p.finish(t, incomplete_beta(op, t, p.c.x[1], p.c.x[2], p.z));
}

Tensor beta_quantile(const char* op, Tail t, const Operand& p, const Operand& a, const Operand& b, const Operand& loc,
                     const Operand& scale) {
  const tape::OpScope scope(p);
  const Quantile q(op, {&p, &a, &b, &loc, &scale});
  return q.finish(invert_incomplete_beta(op, t, q.c.x[1], q.c.x[2], q.c.x[0]));
}

}  // namespace
}  // namespace reel::ops

REEL_TAILS(beta, (const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale),
           beta_tail, beta_quantile, x, a, b, loc, scale)

namespace reel {

Tensor beta_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& b, const Operand& loc,
                const Operand& scale, DType dtype) {
  const tape::OpScope scope(a);
  return ops::draw_scaled_variates("beta_rvs", loops::Variate::beta, generator, shape, dtype, {&a, &b}, loc, scale);
}

}  // namespace reel
