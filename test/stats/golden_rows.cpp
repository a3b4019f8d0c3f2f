// Rows of densities, distribution functions and quantiles of distributions, of samples and of divergences.
#include <reel/reel.hpp>
#include <reel/stats.hpp>

#include "../golden/rows.hpp"

using namespace reel;

// Of a distribution by these operands after the first.
#define REEL_DISTRIBUTION(distribution, density, ...)                                            \
  REEL_ROW(#distribution "_p" #density, distribution##_p##density(x[0], __VA_ARGS__)),           \
      REEL_ROW(#distribution "_logp" #density, distribution##_logp##density(x[0], __VA_ARGS__)), \
      REEL_ROW(#distribution "_cdf", distribution##_cdf(x[0], __VA_ARGS__)),                     \
      REEL_ROW(#distribution "_sf", distribution##_sf(x[0], __VA_ARGS__)),                       \
      REEL_ROW(#distribution "_logcdf", distribution##_logcdf(x[0], __VA_ARGS__)),               \
      REEL_ROW(#distribution "_logsf", distribution##_logsf(x[0], __VA_ARGS__)),                 \
      REEL_ROW(#distribution "_ppf", distribution##_ppf(x[0], __VA_ARGS__))

namespace golden {

namespace {

// The generator whose draws test/tools/golden/distributions.py has the probabilities of.
Generator& drawn() {
  thread_local Generator generator(0);
  generator = Generator(7);
  return generator;
}

}  // namespace

const std::vector<Row> distribution_rows = {
    REEL_DISTRIBUTION(norm, df, x[1], x[2]),
    REEL_DISTRIBUTION(expon, df, x[1], x[2]),
    REEL_DISTRIBUTION(laplace, df, x[1], x[2]),
    REEL_DISTRIBUTION(cauchy, df, x[1], x[2]),
    REEL_DISTRIBUTION(gumbel_r, df, x[1], x[2]),
    REEL_DISTRIBUTION(logistic, df, x[1], x[2]),
    REEL_DISTRIBUTION(uniform, df, x[1], x[2]),
    REEL_DISTRIBUTION(pareto, df, x[1], x[2], x[3]),
    REEL_DISTRIBUTION(lognorm, df, x[1], x[2], x[3]),
    REEL_DISTRIBUTION(weibull_min, df, x[1], x[2], x[3]),
    REEL_DISTRIBUTION(gamma, df, x[1], x[2], x[3]),
    REEL_DISTRIBUTION(chi2, df, x[1], x[2], x[3]),
    REEL_DISTRIBUTION(t, df, x[1], x[2], x[3]),
    REEL_DISTRIBUTION(beta, df, x[1], x[2], x[3], x[4]),
    REEL_DISTRIBUTION(truncnorm, df, x[1], x[2], x[3], x[4]),
    REEL_DISTRIBUTION(vonmises, df, x[1]),
    REEL_DISTRIBUTION(poisson, mf, x[1]),
    REEL_DISTRIBUTION(bernoulli, mf, x[1]),
    REEL_DISTRIBUTION(geom, mf, x[1]),
    REEL_DISTRIBUTION(binom, mf, 7, x[1]),
    REEL_DISTRIBUTION(nbinom, mf, x[1], x[2]),
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
