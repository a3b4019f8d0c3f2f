// The beta distribution of shapes a and b.
#include <reel/special.hpp>
#include <reel/stats/tails.hpp>

#include "special/functions.hpp"
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

Tensor beta_quantile_of_log(const char* op, loops::SpecialFunction f, std::initializer_list<const Operand*> operands) {
  const tape::OpScope scope(**operands.begin());
  const Quantile q(op, operands);
  return q.finish(apply_special(op, f, {&q.c.x[1], &q.c.x[2], &q.c.x[0]}));
}

}  // namespace
}  // namespace reel::ops

namespace reel {

// clang-format off
REEL_TAILS(beta, (const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale), (x, a, b, loc, scale), beta_tail)
// clang-format on

Tensor beta_ppf(const Operand& p, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(p);
  const ops::Quantile q("beta_ppf", {&p, &a, &b, &loc, &scale});
  return q.finish(betaincinv(q.c.x[1], q.c.x[2], q.c.x[0]));
}

Tensor beta_isf(const Operand& p, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(p);
  const ops::Quantile q("beta_isf", {&p, &a, &b, &loc, &scale});
  return q.finish(betainccinv(q.c.x[1], q.c.x[2], q.c.x[0]));
}

Tensor beta_ilogcdf(const Operand& y, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return ops::beta_quantile_of_log("beta_ilogcdf", loops::SpecialFunction::log_betaincinv, {&y, &a, &b, &loc, &scale});
}

Tensor beta_ilogsf(const Operand& y, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return ops::beta_quantile_of_log("beta_ilogsf", loops::SpecialFunction::log_betainccinv, {&y, &a, &b, &loc, &scale});
}

Tensor beta_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& b, const Operand& loc,
                const Operand& scale, DType dtype) {
  const tape::OpScope scope(a);
  return ops::scaled_variates("beta_rvs", loops::Variate::beta, generator, shape, dtype, {&a, &b}, loc, scale);
}

}  // namespace reel
