// The public ops of two tensors, for hostile_arguments.cpp.
#pragma once
#include <functional>
#include <reel/fft.hpp>
#include <reel/fft/signal.hpp>
#include <reel/geometry.hpp>
#include <reel/interpolate.hpp>
#include <reel/linalg.hpp>
#include <reel/nn.hpp>
#include <reel/nn/losses.hpp>
#include <reel/nn/sequence.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/parts.hpp>
#include <reel/ops/scans.hpp>
#include <reel/ops/sorting.hpp>
#include <reel/ops/statistics.hpp>
#include <reel/ops/windows.hpp>
#include <reel/reel.hpp>
#include <reel/solve/integrate.hpp>
#include <reel/special.hpp>
#include <reel/stats.hpp>
#include <vector>

namespace {

using namespace reel;

struct Binary {
  const char* name;
  std::function<void(const Tensor&, const Tensor&)> f;
};
#define REEL_OP(op)                                         \
  {                                                         \
#op, [](const Tensor& x, const Tensor& y) { op(x, y); } \
  }
// clang-format off
std::vector<Binary> binary_ops() {
  return {
      REEL_OP(polygamma), REEL_OP(make_complex), REEL_OP(greater), REEL_OP(greater_equal), REEL_OP(array_equal), REEL_OP(allclose), REEL_OP(gather),
      REEL_OP(matmul), REEL_OP(dot), REEL_OP(outer), REEL_OP(solve), REEL_OP(triangular_solve),
      {"eigh", [](const Tensor& x, const Tensor& y) { reel::eigh(x, y); }}, REEL_OP(eigh_tridiagonal), REEL_OP(cholesky_solve),
      REEL_OP(cholesky_update), {"cholesky_update", [](const Tensor& l, const Tensor& x) { cholesky_update(l, x, true); }}, REEL_OP(lstsq),
      {"lu_solve", [](const Tensor& x, const Tensor& y) { reel::lu_solve({x, y}, x); }}, REEL_OP(kron),
      {"banded_solve", [](const Tensor& x, const Tensor& y) { banded_solve(x, 1, 0, y); }}, REEL_OP(banded_triangular_solve),
      REEL_OP(householder_product), {"tridiagonal_solve", [](const Tensor& x, const Tensor& y) { tridiagonal_solve(x, y, x, y); }},
      {"tridiagonal_matmul", [](const Tensor& x, const Tensor& y) { tridiagonal_matmul(x, y, x, y); }},
      {"toeplitz_solve", [](const Tensor& x, const Tensor& y) { toeplitz_solve(x, x, y); }}, REEL_OP(expm_frechet), REEL_OP(lyapunov),
      {"sylvester", [](const Tensor& x, const Tensor& y) { sylvester(x, y, x); }}, REEL_OP(cross), REEL_OP(inner), REEL_OP(vdot), REEL_OP(vecdot),
      REEL_OP(matvec), REEL_OP(tensorsolve), {"multi_dot", [](const Tensor& x, const Tensor& y) { multi_dot({x, y}); }}, REEL_OP(conv2d),
      REEL_OP(conv2d_transpose), REEL_OP(conv1d), REEL_OP(conv1d_transpose), REEL_OP(conv3d), REEL_OP(conv3d_transpose),
      {"max_unpool2d", [](const Tensor& x, const Tensor& y) { max_unpool2d(x, y, {3, 3}); }},
      {"max_unpool1d", [](const Tensor& x, const Tensor& y) { max_unpool1d(x, y, 3); }},
      {"max_unpool3d", [](const Tensor& x, const Tensor& y) { max_unpool3d(x, y, {2, 3, 2}); }},
      {"fractional_max_pool2d", [](const Tensor& x, const Tensor& y) { fractional_max_pool2d(x, {2, 1}, {1, 2}, y); }},
      {"fractional_avg_pool2d", [](const Tensor& x, const Tensor& y) { fractional_avg_pool2d(x, {1, 2}, {2, 1}, y); }}, REEL_OP(dilation2d),
      REEL_OP(erosion2d), REEL_OP(embedding_bag),
      {"embedding_bag", [](const Tensor& x, const Tensor& y) { embedding_bag(x, y, y, {.mode = BagMode::max}); }},
      {"embedding_bag", [](const Tensor& x, const Tensor& y) { embedding_bag(ones({3, 2}), y, {.mode = BagMode::sum, .weights = x}); }},
      {"group_norm", [](const Tensor& x, const Tensor& y) { group_norm(x, y, x, 2); }},
      {"instance_norm", [](const Tensor& x, const Tensor& y) { instance_norm(x, y, x); }}, REEL_OP(softmax_cross_entropy),
      REEL_OP(sparse_softmax_cross_entropy), REEL_OP(binary_cross_entropy), REEL_OP(kl_divergence), REEL_OP(huber), REEL_OP(mse), REEL_OP(rope),
      {"ctc_loss", [](const Tensor& x, const Tensor& y) { ctc_loss(x, y, y, y); }},
      {"ctc_loss", [](const Tensor& x, const Tensor& y) { ctc_loss(zeros({3, 1, 4}), ones({1, 2}, DType::int64), x, y); }},
      {"lstm", [](const Tensor& x, const Tensor& y) { lstm(y, x, x); }},
      {"lstm", [](const Tensor& x, const Tensor& y) { lstm(ones({2, 1, 1}), ones({4, 1}), y, {.input_bias = x}); }},
      {"gru", [](const Tensor& x, const Tensor& y) { gru(y, x, x); }}, {"attention", [](const Tensor& x, const Tensor& y) { attention(x, x, y); }},
      {"attention", [](const Tensor& x, const Tensor& y) { attention(x, y, y, {.causal = true}); }},
      {"attention", [](const Tensor& x, const Tensor& y) { attention(x, y, x, {.mask = y}); }}, REEL_OP(mae), REEL_OP(log_cosh),
      REEL_OP(poisson_nll), REEL_OP(focal_cross_entropy), REEL_OP(hinge), REEL_OP(hinge_embedding), REEL_OP(soft_margin), REEL_OP(nll),
      REEL_OP(multi_margin), REEL_OP(cosine_similarity), REEL_OP(quaternion_multiply), REEL_OP(quaternion_rotate), REEL_OP(trapezoid),
      REEL_OP(cumulative_trapezoid), {"interp", [](const Tensor& x, const Tensor& y) { interp(x, y, y); }},
      {"interp", [](const Tensor& x, const Tensor& y) { interp(x, y, x, {.period = 2}); }}, REEL_OP(pchip), REEL_OP(akima),
      {"cubic_spline", [](const Tensor& x, const Tensor& y) { cubic_spline(x, y, {.ends = SplineEnds::periodic}); }},
      {"cubic_spline", [](const Tensor& x, const Tensor& y) { cubic_spline(y, x, {.ends = SplineEnds::clamped, .first = x}); }},
      {"gaussian_nll", [](const Tensor& x, const Tensor& y) { gaussian_nll(x, y, x); }},
      {"weighted_sigmoid_cross_entropy", [](const Tensor& x, const Tensor& y) { weighted_sigmoid_cross_entropy(x, y, x); }},
      {"margin_ranking", [](const Tensor& x, const Tensor& y) { margin_ranking(x, y, x); }},
      {"triplet_margin", [](const Tensor& x, const Tensor& y) { triplet_margin(x, y, x); }},
      {"norm_logpdf", [](const Tensor& x, const Tensor& y) { norm_logpdf(x, y, x); }},
      {"expon_logpdf", [](const Tensor& x, const Tensor& y) { expon_logpdf(x, y, x); }},
      {"laplace_logpdf", [](const Tensor& x, const Tensor& y) { laplace_logpdf(x, y, x); }},
      {"logistic_logpdf", [](const Tensor& x, const Tensor& y) { logistic_logpdf(x, y, x); }},
      {"cauchy_logpdf", [](const Tensor& x, const Tensor& y) { cauchy_logpdf(x, y, x); }},
      {"gumbel_r_logpdf", [](const Tensor& x, const Tensor& y) { gumbel_r_logpdf(x, y, x); }},
      {"uniform_logpdf", [](const Tensor& x, const Tensor& y) { uniform_logpdf(x, y, x); }},
      {"pareto_ppf", [](const Tensor& x, const Tensor& y) { pareto_ppf(x, y, x, y); }},
      {"norm_ilogcdf", [](const Tensor& x, const Tensor& y) { norm_ilogcdf(x, y, x); }},
      {"cauchy_isf", [](const Tensor& x, const Tensor& y) { cauchy_isf(x, y, x); }},
      {"t_isf", [](const Tensor& x, const Tensor& y) { t_isf(x, y); }},
      {"lognorm_ppf", [](const Tensor& x, const Tensor& y) { lognorm_ppf(x, y, x, y); }},
      {"weibull_min_ppf", [](const Tensor& x, const Tensor& y) { weibull_min_ppf(x, y, x, y); }},
      {"norm_rvs", [](const Tensor& x, const Tensor& y) { Generator generator(1); norm_rvs(generator, {2, 3}, x, y); }},
      {"gamma_rvs", [](const Tensor& x, const Tensor& y) { Generator generator(1); gamma_rvs(generator, {2}, x, y); }},
      {"beta_rvs", [](const Tensor& x, const Tensor& y) { Generator generator(1); beta_rvs(generator, {2, 3}, x, y); }},
      {"random_choice", [](const Tensor& x, const Tensor& y) { Generator generator(1); random_choice(generator, x, 2, y, false); }},
      {"vonmises_rvs", [](const Tensor& x, const Tensor& y) { Generator generator(1); vonmises_rvs(generator, {2, 3}, x, y); }},
      {"t_rvs", [](const Tensor& x, const Tensor& y) { Generator generator(1); t_rvs(generator, {2}, x, y); }},
      {"truncnorm_rvs", [](const Tensor& x, const Tensor& y) { Generator generator(1); truncnorm_rvs(generator, {2, 3}, x, y, x, y); }},
      {"dirichlet_rvs", [](const Tensor& x, const Tensor&) { Generator generator(1); dirichlet_rvs(generator, {2, 3}, x); }},
      {"multivariate_normal_rvs", [](const Tensor& x, const Tensor& y) { Generator generator(1); multivariate_normal_rvs(generator, {2, 3}, x, y); }},
      {"gamma_logpdf", [](const Tensor& x, const Tensor& y) { gamma_logpdf(x, y, x); }},
      {"multivariate_normal_logpdf", [](const Tensor& x, const Tensor& y) { multivariate_normal_logpdf(x, y, y); }}, REEL_OP(dirichlet_logpdf),
      {"vonmises_logpdf", [](const Tensor& x, const Tensor& y) { vonmises_logpdf(x, y, x); }},
      {"truncnorm_logpdf", [](const Tensor& x, const Tensor& y) { truncnorm_logpdf(x, y, x, y); }},
      {"vonmises_logcdf", [](const Tensor& x, const Tensor& y) { vonmises_logcdf(x, y, x); }},
      {"vonmises_ppf", [](const Tensor& x, const Tensor& y) { vonmises_ppf(x, y); }},
      {"truncnorm_logsf", [](const Tensor& x, const Tensor& y) { truncnorm_logsf(x, y, x, y); }},
      {"truncnorm_ppf", [](const Tensor& x, const Tensor& y) { truncnorm_ppf(x, y, x, y); }},
      {"gamma_cdf", [](const Tensor& x, const Tensor& y) { gamma_cdf(x, y, x); }},
      {"gamma_logsf", [](const Tensor& x, const Tensor& y) { gamma_logsf(x, y, x); }},
      {"chi2_ppf", [](const Tensor& x, const Tensor& y) { chi2_ppf(x, y, x, y); }},
      {"beta_sf", [](const Tensor& x, const Tensor& y) { beta_sf(x, y, x); }},
      {"beta_logcdf", [](const Tensor& x, const Tensor& y) { beta_logcdf(x, y, x); }},
      {"beta_ppf", [](const Tensor& x, const Tensor& y) { beta_ppf(x, y, x); }}, {"t_cdf", [](const Tensor& x, const Tensor& y) { t_cdf(x, y); }},
      {"t_logsf", [](const Tensor& x, const Tensor& y) { t_logsf(x, y); }}, {"t_ppf", [](const Tensor& x, const Tensor& y) { t_ppf(x, y); }},
      REEL_OP(poisson_cdf), {"binom_sf", [](const Tensor& x, const Tensor& y) { binom_sf(x, y, x); }},
      {"binom_logcdf", [](const Tensor& x, const Tensor& y) { binom_logcdf(x, y, x); }},
      {"nbinom_cdf", [](const Tensor& x, const Tensor& y) { nbinom_cdf(x, y, x); }}, REEL_OP(bernoulli_sf), REEL_OP(geom_cdf), REEL_OP(poisson_ppf),
      {"binom_ppf", [](const Tensor& x, const Tensor& y) { binom_ppf(x, y, x); }},
      {"nbinom_ppf", [](const Tensor& x, const Tensor& y) { nbinom_ppf(x, y, x); }}, REEL_OP(bernoulli_ppf), REEL_OP(geom_ppf),
      {"binom_rvs", [](const Tensor& x, const Tensor& y) { Generator generator(1); binom_rvs(generator, {2, 3}, x, y); }},
      {"norm_kl", [](const Tensor& x, const Tensor& y) { norm_kl(x, y, x, y); }}, REEL_OP(expon_kl),
      {"laplace_kl", [](const Tensor& x, const Tensor& y) { laplace_kl(x, y, y, x); }},
      {"gumbel_r_kl", [](const Tensor& x, const Tensor& y) { gumbel_r_kl(x, y, y, x); }},
      {"uniform_kl", [](const Tensor& x, const Tensor& y) { uniform_kl(x, y, y, x); }},
      {"vonmises_kl", [](const Tensor& x, const Tensor& y) { vonmises_kl(x, y, y, x); }}, REEL_OP(chi2_kl), REEL_OP(geom_kl),
      {"binom_kl", [](const Tensor& x, const Tensor& y) { binom_kl(x, y, x); }},
      {"gamma_kl", [](const Tensor& x, const Tensor& y) { gamma_kl(x, y, x, y); }},
      {"beta_kl", [](const Tensor& x, const Tensor& y) { beta_kl(x, y, y, x); }}, REEL_OP(bernoulli_kl), REEL_OP(bernoulli_poisson_kl),
      {"beta_gamma_kl", [](const Tensor& x, const Tensor& y) { beta_gamma_kl(x, y, y, x); }},
      {"expon_gumbel_r_kl", [](const Tensor& x, const Tensor& y) { expon_gumbel_r_kl(x, y, x); }},
      {"norm_laplace_kl", [](const Tensor& x, const Tensor& y) { norm_laplace_kl(x, y, y, x); }},
      {"pareto_norm_kl", [](const Tensor& x, const Tensor& y) { pareto_norm_kl(x, y, y, x); }},
      {"uniform_beta_kl", [](const Tensor& x, const Tensor& y) { uniform_beta_kl(x, y, y, x); }}, REEL_OP(poisson_kl), REEL_OP(dirichlet_kl),
      {"multivariate_normal_kl", [](const Tensor& x, const Tensor& y) { multivariate_normal_kl(x, y, x, y); }},
      {"chi2_pdf", [](const Tensor& x, const Tensor& y) { chi2_pdf(x, y); }},
      {"beta_logpdf", [](const Tensor& x, const Tensor& y) { beta_logpdf(x, y, x); }},
      {"t_pdf", [](const Tensor& x, const Tensor& y) { t_pdf(x, y); }}, REEL_OP(poisson_logpmf),
      {"binom_logpmf", [](const Tensor& x, const Tensor& y) { binom_logpmf(x, y, x); }},
      {"nbinom_pmf", [](const Tensor& x, const Tensor& y) { nbinom_pmf(x, y, x); }}, REEL_OP(bernoulli_logpmf), REEL_OP(geom_pmf), REEL_OP(rms_norm),
      REEL_OP(searchsorted), REEL_OP(digitize), REEL_OP(quantile), REEL_OP(percentile), REEL_OP(nanpercentile), REEL_OP(take), REEL_OP(toeplitz),
      REEL_OP(hankel), REEL_OP(set_diagonal), {"block_diag", [](const Tensor& x, const Tensor& y) { block_diag({x, y}); }},
      {"meshgrid", [](const Tensor& x, const Tensor& y) { meshgrid({x, y}); }}, REEL_OP(boolean_mask), REEL_OP(embedding),
      {"repeat", [](const Tensor& x, const Tensor& counts) { repeat(x, counts, 0); }},
      {"reverse_sequence", [](const Tensor& x, const Tensor& lengths) { reverse_sequence(x, lengths, 1); }}, REEL_OP(average), REEL_OP(cdist),
      REEL_OP(bitwise_and), REEL_OP(bitwise_or), REEL_OP(bitwise_xor), REEL_OP(left_shift), REEL_OP(right_shift),
      {"ldexp", [](const Tensor& x, const Tensor& n) { reel::ldexp(x, n); }}, REEL_OP(polar), REEL_OP(erfcx_derivative), REEL_OP(betaln),
      REEL_OP(poch), REEL_OP(gammaincc), REEL_OP(gammaincinv), REEL_OP(multigammaln), REEL_OP(zeta), REEL_OP(expn), REEL_OP(yn),
      REEL_OP(spherical_kn), REEL_OP(legendre), {"betainc", [](const Tensor& x, const Tensor& y) { betainc(x, y, x); }},
      {"betaincinv", [](const Tensor& x, const Tensor& y) { betaincinv(y, y, x); }},
      {"elliprj", [](const Tensor& x, const Tensor& y) { elliprj(x, y, 1.0, y); }},
      {"jacobi", [](const Tensor& x, const Tensor& y) { jacobi(x, y, -2.0, y); }}, REEL_OP(convolve), REEL_OP(correlate),
      {"convolve", [](const Tensor& x, const Tensor& h) { convolve(x, h, ConvolveMode::valid, ConvolveMethod::fft); }},
      {"lfilter", [](const Tensor& b, const Tensor& x) { lfilter(b, b, x); }}, REEL_OP(sosfilt), REEL_OP(welch),
      {"csd", [](const Tensor& x, const Tensor& w) { csd(x, x, w, {.trend = Trend::line}); }},
      {"stft", [](const Tensor& x, const Tensor& w) { stft(x, w, 1); }}, {"istft", [](const Tensor& x, const Tensor& w) { istft(x, w, 1); }},
      REEL_OP(masked_softmax), REEL_OP(weighted_logsumexp), REEL_OP(clip_by_norm),
      {"index", [](const Tensor& x, const Tensor& i) { index(x, {i}); }},
      {"index_update", [](const Tensor& x, const Tensor& v) { index_update(x, {0}, v); }},
      {"index_multiply", [](const Tensor& x, const Tensor& v) { index_multiply(x, {zeros({2}, DType::int64)}, v); }},
      {"index_max", [](const Tensor& x, const Tensor& i) { index_max(x, {i}, x); }},
      {"slice_update", [](const Tensor& x, const Tensor& v) { slice_update(x, {0}, v); }},
      {"segment_sum", [](const Tensor& x, const Tensor& ids) { segment_sum(x, ids, 2); }},
      {"segment_prod", [](const Tensor& x, const Tensor& ids) { segment_prod(x, ids, 2); }},
      {"segment_max", [](const Tensor& x, const Tensor& ids) { segment_max(x, ids, 2); }},
      {"bincount", [](const Tensor& x, const Tensor& w) { bincount(x, 4, w); }},
      {"masked_fill", [](const Tensor& x, const Tensor& mask) { masked_fill(x, mask, 1); }},
      {"masked_scatter", [](const Tensor& x, const Tensor& mask) { masked_scatter(x, mask, x); }},
      {"select", [](const Tensor& condition, const Tensor& x) { select({condition}, {x}); }},
      {"choose", [](const Tensor& i, const Tensor& x) { choose(i, {x, x}); }},
      {"piecewise", [](const Tensor& x, const Tensor& mask) { piecewise(x, {mask}, {[](const Tensor& t) { return t; }}); }}, REEL_OP(append),
      {"block", [](const Tensor& x, const Tensor& y) { block({{x, y}}); }},
      {"compress", [](const Tensor& c, const Tensor& x) { compress(c, x, 0); }}, {"put", [](const Tensor& x, const Tensor& i) { put(x, i, 1); }},
      {"put_along_axis", [](const Tensor& x, const Tensor& i) { put_along_axis(x, i, 1, 0); }},
      {"scatter_reduce", [](const Tensor& x, const Tensor& i) { scatter_reduce(x, i, 1, 0, Reduction::prod); }},
  };
}
// clang-format on
#undef REEL_OP

}  // namespace
