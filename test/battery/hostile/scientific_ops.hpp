// Special functions, distributions, solvers and others that ops.hpp and binary_ops.hpp lack, for hostile_arguments.cpp.
#pragma once
#include <reel/linalg/iterative.hpp>
#include <reel/linalg/symmetric_function.hpp>
#include <reel/ode.hpp>
#include <reel/solve/equations.hpp>
#include <reel/sparse.hpp>

#include "binary_ops.hpp"
#include "ops.hpp"

namespace {

SparsityPattern diagonal_of(std::int64_t rows, std::int64_t columns) { return {{rows, columns}, arange(3), arange(2)}; }
SparsityPattern pattern_of(const Tensor& row_starts, const Tensor& columns) { return {{2, 3}, row_starts, columns}; }

#define REEL_UNARY(op) {#op, [](const Tensor& x) { op(x); }},
#define REEL_BINARY(op) {#op, [](const Tensor& x, const Tensor& y) { op(x, y); }},
#define REEL_TERNARY(op) {#op, [](const Tensor& x, const Tensor& y) { op(x, y, x); }},
#define REEL_RVS(op)                           \
  {#op, [](const Tensor& x, const Tensor& y) { \
     Generator generator(1);                   \
     op(generator, {2, 3}, x, y);              \
   }},
#define REEL_TAILS(F, distribution) \
  F(distribution##_cdf) F(distribution##_sf) F(distribution##_logcdf) F(distribution##_logsf)
#define REEL_DISTRIBUTION(distribution) \
  REEL_TAILS(REEL_TERNARY, distribution) REEL_TERNARY(distribution##_pdf) REEL_TERNARY(distribution##_ppf)

// clang-format off
std::vector<Unary> scientific_unary_ops() {
  return {
      REEL_UNARY(hard_tanh) {"logit", [](const Tensor& x) { logit(x, 0.1); }},
      REEL_UNARY(nanmax) REEL_UNARY(nanmean) REEL_UNARY(nanmin) REEL_UNARY(nanprod)
      REEL_UNARY(nanstd) REEL_UNARY(nansum) REEL_UNARY(nanvar) REEL_UNARY(to_csr) REEL_UNARY(eig)
      REEL_UNARY(atleast_1d) REEL_UNARY(atleast_2d) REEL_UNARY(atleast_3d)
      {"associative_scan", [](const Tensor& x) { associative_scan([](const Tensor& a, const Tensor& b) { return a * b; }, x); }},
      {"associative_scan", [](const Tensor& x) { associative_scan([](const std::vector<Tensor>& a, const std::vector<Tensor>& b) { return std::vector<Tensor>{a[0] + b[0], a[1] * b[1]}; }, std::vector<Tensor>{x, x}, 0, true); }},
      {"gradient_along", [](const Tensor& x) { gradient_along(x, 0); }},
      {"cummin", [](const Tensor& x) { cummin(x, 0); }},
      {"argpartition", [](const Tensor& x) { argpartition(x, 1); }},
      {"symmetric_function", [](const Tensor& x) { symmetric_function(x, [](const Tensor& v) { return exp(v); }); }},
      {"fixed_point", [](const Tensor& x) { fixed_point([](const Tensor& v) { return v * 0.5; }, x); }},
      {"root", [](const Tensor& x) { root([](const Tensor& v) { return v - 1.0; }, x); }},
      {"bracketed_root", [](const Tensor& x) { bracketed_root([](const Tensor& v) { return v - 1.0; }, x, 2.0); }},
      {"minimum", [](const Tensor& x) { reel::minimum([](const Tensor& v) { return sum(v * v); }, x); }},
      {"odeint_events", [](const Tensor& x) { odeint_events([](const Tensor& y, const Tensor&) { return -y; }, x, arange(2.0), {{[](const Tensor& y, const Tensor&) { return y; }}}); }},
      {"vstack", [](const Tensor& x) { vstack({x, x}); }}, {"hstack", [](const Tensor& x) { hstack({x, x}); }},
      {"dstack", [](const Tensor& x) { dstack({x, x}); }}, {"column_stack", [](const Tensor& x) { column_stack({x, x}); }},
      {"vsplit", [](const Tensor& x) { vsplit(x, 2); }}, {"hsplit", [](const Tensor& x) { hsplit(x, 2); }},
      {"dsplit", [](const Tensor& x) { dsplit(x, 2); }},
  };
}
std::vector<Binary> scientific_binary_ops() {
  return {
      REEL_TERNARY(fma) REEL_TERNARY(lerp) REEL_TERNARY(where)
      REEL_TERNARY(threshold) {"broadcast_arrays", [](const Tensor& x, const Tensor& y) { broadcast_arrays({x, y}); }},
      REEL_BINARY(gammainc) REEL_BINARY(gammainccinv) REEL_BINARY(jn)
      REEL_TERNARY(elliprd) REEL_TERNARY(elliprf) REEL_TERNARY(elliprg) REEL_TERNARY(betaincc)
      REEL_TERNARY(betainccinv) REEL_TERNARY(hyp1f1)
      {"hyp2f1", [](const Tensor& x, const Tensor& y) { hyp2f1(x, y, x, y); }},
      REEL_BINARY(poisson_isf) REEL_TERNARY(binom_isf) REEL_TERNARY(nbinom_isf) REEL_BINARY(bernoulli_isf)
      REEL_BINARY(geom_isf) REEL_TERNARY(norm_ilogsf) REEL_TERNARY(gamma_ilogcdf) REEL_TERNARY(beta_ilogsf)
      REEL_TERNARY(t_ilogcdf) REEL_TERNARY(vonmises_ilogcdf) REEL_TERNARY(chi2_ilogsf)
      REEL_TERNARY(genlaguerre) REEL_TERNARY(gegenbauer)
      REEL_DISTRIBUTION(norm) REEL_DISTRIBUTION(expon) REEL_DISTRIBUTION(laplace) REEL_DISTRIBUTION(logistic) REEL_DISTRIBUTION(cauchy) REEL_DISTRIBUTION(gumbel_r)
      REEL_DISTRIBUTION(uniform) REEL_TAILS(REEL_TERNARY, pareto) REEL_TAILS(REEL_TERNARY, lognorm)
      REEL_TAILS(REEL_TERNARY, weibull_min) REEL_TAILS(REEL_TERNARY, gamma) REEL_TAILS(REEL_TERNARY, chi2)
      REEL_TAILS(REEL_TERNARY, beta) REEL_TAILS(REEL_TERNARY, t) REEL_TAILS(REEL_TERNARY, binom)
      REEL_TAILS(REEL_TERNARY, nbinom) REEL_TAILS(REEL_BINARY, poisson) REEL_TAILS(REEL_BINARY, bernoulli)
      REEL_TAILS(REEL_BINARY, geom) REEL_TERNARY(gamma_ppf) REEL_TERNARY(gamma_pdf) REEL_TERNARY(beta_pdf)
      REEL_BINARY(poisson_pmf) REEL_BINARY(bernoulli_pmf) REEL_TERNARY(binom_pmf) REEL_BINARY(geom_logpmf)
      REEL_RVS(expon_rvs) REEL_RVS(laplace_rvs) REEL_RVS(logistic_rvs) REEL_RVS(cauchy_rvs) REEL_RVS(gumbel_r_rvs)
      REEL_RVS(uniform_rvs) REEL_RVS(pareto_rvs) REEL_RVS(lognorm_rvs) REEL_RVS(weibull_min_rvs) REEL_RVS(chi2_rvs)
      {"random_shuffle", [](const Tensor& x, const Tensor&) { Generator generator(1); random_shuffle(generator, x); }},
      {"random_choice", [](const Tensor& x, const Tensor&) { Generator generator(1); random_choice(generator, x, 2); }},
      {"random_choice", [](const Tensor& x, const Tensor&) { Generator generator(1); random_choice(generator, x, 2, false); }},
      {"fractional_max_pool2d", [](const Tensor& x, const Tensor&) { Generator generator(1); fractional_max_pool2d(x, {2, 2}, {2, 2}, generator); }},
      {"orthogonal", [](const Tensor&, const Tensor&) { Generator generator(1); orthogonal(generator, {2, 2}); }},
      {"he_uniform", [](const Tensor&, const Tensor&) { Generator generator(1); he_uniform(generator, {2, 2}); }},
      {"glorot_normal", [](const Tensor&, const Tensor&) { Generator generator(1); glorot_normal(generator, {2, 2}); }},
      {"cg", [](const Tensor& x, const Tensor& y) { cg([x](const Tensor&) { return x; }, y); }},
      {"gmres", [](const Tensor& x, const Tensor& y) { gmres([x](const Tensor&) { return x; }, y); }},
      {"bicgstab", [](const Tensor& x, const Tensor& y) { bicgstab([x](const Tensor&) { return x; }, y); }},
      {"linear_solve", [](const Tensor& x, const Tensor& y) { linear_solve([x](const Tensor&) { return x; }, y); }},
      {"coo_to_csr", [](const Tensor& x, const Tensor& y) { coo_to_csr(x, y, {2, 3}); }},
      {"csr_matmul", [](const Tensor& x, const Tensor& y) { csr_matmul(x, diagonal_of(2, 3), y); }},
      {"csr_solve", [](const Tensor& x, const Tensor& y) { csr_solve(x, diagonal_of(2, 2), y); }},
      {"SparsityPattern::rows", [](const Tensor& x, const Tensor& y) { pattern_of(x, y).rows(); }},
      {"to_dense", [](const Tensor& x, const Tensor& y) { to_dense({pattern_of(x, y), ones({2})}); }},
      {"csr_matmul", [](const Tensor& x, const Tensor& y) { csr_matmul(ones({2}), pattern_of(x, y), ones({3})); }},
      {"sampled_matmul", [](const Tensor& x, const Tensor& y) { sampled_matmul(pattern_of(x, y), ones({2, 1}), ones({1, 3})); }},
      {"sampled_matmul", [](const Tensor& x, const Tensor& y) { sampled_matmul(diagonal_of(2, 2), x, y); }},
      {"odeint", [](const Tensor& x, const Tensor& y) { odeint([](const Tensor& v, const Tensor&) { return -v; }, x, y); }},
      {"quad", [](const Tensor& x, const Tensor& y) { quad([](const Tensor& v) { return exp(v); }, x, y); }},
      {"fixed_quad", [](const Tensor& x, const Tensor& y) { fixed_quad([](const Tensor& v) { return exp(v); }, x, y); }},
      {"segment_mean", [](const Tensor& x, const Tensor& ids) { segment_mean(x, ids, 2); }},
      {"segment_min", [](const Tensor& x, const Tensor& ids) { segment_min(x, ids, 2); }},
      {"sparse_segment_sum", [](const Tensor& x, const Tensor& i) { sparse_segment_sum(x, i, i, 3); }},
      {"sparse_segment_mean", [](const Tensor& x, const Tensor& i) { sparse_segment_mean(x, i, i, 3); }},
      {"sparse_segment_sqrt_n", [](const Tensor& x, const Tensor& i) { sparse_segment_sqrt_n(x, i, i, 3); }},
      {"scatter_add", [](const Tensor& x, const Tensor& i) { scatter_add(x, i, x); }},
      {"scatter_add_along_axis", [](const Tensor& x, const Tensor& i) { scatter_add_along_axis(x, i, x, 0); }},
      {"index_add", [](const Tensor& x, const Tensor& i) { index_add(x, {i}, x); }},
      {"index_min", [](const Tensor& x, const Tensor& i) { index_min(x, {i}, x); }},
      {"slice_add", [](const Tensor& x, const Tensor& v) { slice_add(x, {0}, v); }},
  };
}
// clang-format on
#undef REEL_UNARY
#undef REEL_BINARY
#undef REEL_TERNARY
#undef REEL_RVS
#undef REEL_TAILS
#undef REEL_DISTRIBUTION

template <class Ops>
Ops joined(Ops all, const Ops& others) {
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace
