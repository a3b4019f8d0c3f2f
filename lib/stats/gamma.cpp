// The gamma distribution of shape a.
#include "stats/gamma.hpp"

#include <reel/special.hpp>
#include <reel/stats/tails.hpp>

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

Tensor gamma_quantile_of_log(const char* op, loops::SpecialFunction f, std::initializer_list<const Operand*> operands,
                             double unit) {
  const tape::OpScope scope(**operands.begin());
  const Quantile q(op, operands);
  const Tensor a = q.c.x[1] * unit;
  return q.finish(apply_special(op, f, {&a, &q.c.x[0]}) / unit);
}

}  // namespace reel::ops

namespace reel {

// clang-format off
REEL_TAILS(gamma, (const Operand& x, const Operand& a, const Operand& loc, const Operand& scale), (x, a, loc, scale), gamma_tail, , 1)
// clang-format on

Tensor gamma_ppf(const Operand& p, const Operand& a, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(p);
  const ops::Quantile q("gamma_ppf", {&p, &a, &loc, &scale});
  return q.finish(gammaincinv(q.c.x[1], q.c.x[0]));
}

Tensor gamma_isf(const Operand& p, const Operand& a, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(p);
  const ops::Quantile q("gamma_isf", {&p, &a, &loc, &scale});
  return q.finish(gammainccinv(q.c.x[1], q.c.x[0]));
}

Tensor gamma_ilogcdf(const Operand& y, const Operand& a, const Operand& loc, const Operand& scale) {
  return ops::gamma_quantile_of_log("gamma_ilogcdf", loops::SpecialFunction::log_gammaincinv, {&y, &a, &loc, &scale},
                                    1);
}

Tensor gamma_ilogsf(const Operand& y, const Operand& a, const Operand& loc, const Operand& scale) {
  return ops::gamma_quantile_of_log("gamma_ilogsf", loops::SpecialFunction::log_gammainccinv, {&y, &a, &loc, &scale},
                                    1);
}

Tensor gamma_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& loc, const Operand& scale,
                 DType dtype) {
  const tape::OpScope scope(a);
  return ops::scaled_variates("gamma_rvs", loops::Variate::gamma, generator, shape, dtype, {&a}, loc, scale);
}

}  // namespace reel
