// The chi-squared distribution: twice a gamma variate of half the degrees of freedom.
#include <numbers>
#include <reel/stats/chi2.hpp>

#include "stats/gamma.hpp"

namespace reel::ops {
namespace {

Lane chi2_logpdf_of(P p) { return log_gamma_density(0.5 * p.a, 0.5 * p.z) - std::numbers::ln2; }
Lane chi2_exponent(P p) { return 0.5 * p.a - 1; }
constexpr Distribution chi2_distribution = of_density(
    0, infinity, 1, chi2_logpdf_of,
    [](P p) { return density_of(p, chi2_logpdf_of, chi2_exponent, [](L z, P) { return -0.5 * z; }); }, 2);

}  // namespace
}  // namespace reel::ops

REEL_DENSITIES_1(chi2)

REEL_TAILS(chi2, (const Operand& x, const Operand& df, const Operand& loc, const Operand& scale), gamma_tail,
           gamma_quantile, x, df, loc, scale, 0.5)

namespace reel {

Tensor chi2_rvs(Generator& generator, const Shape& shape, const Operand& df, const Operand& loc, const Operand& scale,
                DType dtype) {
  constexpr const char* op = "chi2_rvs";
  const tape::OpScope scope(df);
  const DType drawn = ops::check_samples(op, shape, dtype, {&df, &loc, &scale});
  const Tensor half = 0.5 * ops::to_tensor(op, df, drawn, "df"), twice = 2 * ops::to_tensor(op, scale, drawn, "scale");
  const Operand shape_parameter(half);  // an operand refers to its tensor
  const Tensor z = ops::variates(op, loops::Variate::gamma, generator, shape, drawn, {&shape_parameter});
  return ops::cast_to(loc + ops::scale_or_nan(twice) * z, dtype);
}

}  // namespace reel
