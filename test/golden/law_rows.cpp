// Rows of densities, distribution functions and quantiles of laws, of samples and of divergences.
#include <reel/reel.hpp>
#include <reel/stats.hpp>

#include "rows.hpp"

using namespace reel;

// Of a law by these operands after the first.
#define REEL_LAW(law, density, ...)                                                                           \
  REEL_ROW(#law "_p" #density, law##_p##density(x[0], __VA_ARGS__)),                                          \
      REEL_ROW(#law "_logp" #density, law##_logp##density(x[0], __VA_ARGS__)),                                \
      REEL_ROW(#law "_cdf", law##_cdf(x[0], __VA_ARGS__)), REEL_ROW(#law "_sf", law##_sf(x[0], __VA_ARGS__)), \
      REEL_ROW(#law "_logcdf", law##_logcdf(x[0], __VA_ARGS__)),                                              \
      REEL_ROW(#law "_logsf", law##_logsf(x[0], __VA_ARGS__)), REEL_ROW(#law "_ppf", law##_ppf(x[0], __VA_ARGS__))

namespace golden {

namespace {

// The generator whose draws test/tools/golden/laws.py has the probabilities of.
Generator& drawn() {
  thread_local Generator generator(0);
  generator = Generator(7);
  return generator;
}

}  // namespace

const std::vector<Row> law_rows = {
    REEL_LAW(norm, df, x[1], x[2]),
    REEL_LAW(expon, df, x[1], x[2]),
    REEL_LAW(laplace, df, x[1], x[2]),
    REEL_LAW(cauchy, df, x[1], x[2]),
    REEL_LAW(gumbel_r, df, x[1], x[2]),
    REEL_LAW(logistic, df, x[1], x[2]),
    REEL_LAW(uniform, df, x[1], x[2]),
    REEL_LAW(pareto, df, x[1], x[2], x[3]),
    REEL_LAW(lognorm, df, x[1], x[2], x[3]),
    REEL_LAW(weibull_min, df, x[1], x[2], x[3]),
    REEL_LAW(gamma, df, x[1], x[2], x[3]),
    REEL_LAW(chi2, df, x[1], x[2], x[3]),
    REEL_LAW(t, df, x[1], x[2], x[3]),
    REEL_LAW(beta, df, x[1], x[2], x[3], x[4]),
    REEL_LAW(truncnorm, df, x[1], x[2], x[3], x[4]),
    REEL_LAW(vonmises, df, x[1]),
    REEL_LAW(poisson, mf, x[1]),
    REEL_LAW(bernoulli, mf, x[1]),
    REEL_LAW(geom, mf, x[1]),
    REEL_LAW(binom, mf, 7, x[1]),
    REEL_LAW(nbinom, mf, x[1], x[2]),
    REEL_ROW("norm_rvs", norm_rvs(drawn(), {3}, x[1], x[2])),
    REEL_ROW("expon_rvs", expon_rvs(drawn(), {3}, x[1], x[2])),
    REEL_ROW("laplace_rvs", laplace_rvs(drawn(), {3}, x[1], x[2])),
    REEL_ROW("cauchy_rvs", cauchy_rvs(drawn(), {3}, x[1], x[2])),
    REEL_ROW("gumbel_r_rvs", gumbel_r_rvs(drawn(), {3}, x[1], x[2])),
    REEL_ROW("logistic_rvs", logistic_rvs(drawn(), {3}, x[1], x[2])),
    REEL_ROW("uniform_rvs", uniform_rvs(drawn(), {3}, x[1], x[2])),
    REEL_ROW("pareto_rvs", pareto_rvs(drawn(), {3}, x[1], x[2], x[3])),
    REEL_ROW("lognorm_rvs", lognorm_rvs(drawn(), {3}, x[1], x[2], x[3])),
    REEL_ROW("weibull_min_rvs", weibull_min_rvs(drawn(), {3}, x[1], x[2], x[3])),
    REEL_ROW("gamma_rvs", gamma_rvs(drawn(), {3}, x[1], x[2], x[3])),
    REEL_ROW("chi2_rvs", chi2_rvs(drawn(), {3}, x[1], x[2], x[3])),
    REEL_ROW("t_rvs", t_rvs(drawn(), {3}, x[1], x[2], x[3])),
    REEL_ROW("beta_rvs", beta_rvs(drawn(), {3}, x[1], x[2], x[3], x[4])),
    REEL_ROW("truncnorm_rvs", truncnorm_rvs(drawn(), {3}, x[1], x[2], x[3], x[4])),
    REEL_ROW("vonmises_rvs", vonmises_rvs(drawn(), {3}, x[1])),
    REEL_ROW("multivariate_normal_rvs", multivariate_normal_rvs(drawn(), {2, 2}, x[0], x[1])),
    REEL_ROW("chi2_kl", chi2_kl(x[0], x[1])),
    REEL_ROW("binom_kl", binom_kl(7, x[0], x[1])),
    REEL_ROW("nbinom_kl", nbinom_kl(x[0], x[1], x[2])),
    REEL_ROW("weibull_min_kl", weibull_min_kl(x[0], x[1], x[2], x[3])),
    REEL_ROW("vonmises_kl", vonmises_kl(x[0], x[1], x[2], x[3])),
};

}  // namespace golden
