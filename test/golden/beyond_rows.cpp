// Rows of functions whose derivative no other library has, or has right.
#include <reel/fft/signal.hpp>
#include <reel/interpolate.hpp>
#include <reel/linalg.hpp>
#include <reel/nn.hpp>
#include <reel/nn/losses.hpp>
#include <reel/nn/sequence.hpp>
#include <reel/ode.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/normal.hpp>
#include <reel/ops/scans.hpp>
#include <reel/ops/statistics.hpp>
#include <reel/reel.hpp>
#include <reel/solve/integrate.hpp>
#include <reel/special.hpp>
#include <reel/stats.hpp>

#include "rows.hpp"

using namespace reel;

namespace golden {

namespace {

// The sample whose probability test/tools/golden/beyond.py has.
Tensor gamma_sample(const Tensor& a) {
  Generator generator(7);
  return gamma_rvs(generator, {1}, a);
}
Tensor angle_sample(const Tensor& kappa) {
  Generator generator(7);
  return vonmises_rvs(generator, {1}, kappa);
}
// Symmetric, of the lower triangle alone.
Tensor lower_half(const Tensor& a) { return tril(a) + transpose(tril(a, -1)); }
Tensor stiff_solution(const Tensor& p) {
  const OdeFunction f = [](const Tensor& y, const Tensor& t) { return -1000 * (y - cos(t)); };
  const OdeOptions options = {.method = OdeMethod::rosenbrock, .relative_tolerance = 1e-7, .absolute_tolerance = 1e-7};
  return reshape(odeint(f, p, tensor({0, 0.5}), options), {2});
}

}  // namespace

const std::vector<Row> beyond_rows = {
    // clang-format off
    {"betainc"}, {"gammainc"}, {"gammaincinv"}, {"betaincinv"}, {"logm"}, {"lfilter"}, {"erfcx"}, {"log_ndtr"},
    {"sinc"}, {"hard_sigmoid"}, {"cholesky_update"},
    // clang-format on
    REEL_ROW("symmetric_function", symmetric_function(x[0], [](const Tensor& w) { return exp(w); })),
    {"kv"},
    {"iv"},
    {"lambertw"},
    REEL_ROW("lambertw lower", lambertw(x[0], -1)),
    REEL_ROW("cubic_spline", cubic_spline(x[1], x[2])(x[0])),
    REEL_ROW("pchip", pchip(x[1], x[2])(x[0])),
    REEL_ROW("quad", quad([p = x[0]](const Tensor& t) { return exp(p * t); }, x[1], x[2], {.tolerance = 1e-14})),
    REEL_ROW("cdist", cdist(x[0], x[1], 3)),
    REEL_ROW("gamma samples", gamma_sample(x[0])),
    REEL_ROW("laplace_ppf", laplace_ppf(x[0], 0, x[1])),
    REEL_ROW("ctc_loss", ctc_loss(log_softmax(x[0]), from_data(std::vector<std::int64_t>{1}, {1, 1}),
                                  from_data(std::vector<std::int64_t>{2}), from_data(std::vector<std::int64_t>{1}))),
    REEL_ROW("attention", attention(x[0], x[1], x[2], {.mask = x[3]})),
    REEL_ROW("index_update", index_update(x[0], {from_data(std::vector<std::int64_t>{1, 1})}, x[1])),
    REEL_ROW("cumprod", cumprod(x[0], 0)),
    REEL_ROW("logcumsumexp", logcumsumexp(x[0], 0)),
    {"j0"},
    {"airy_ai"},
    REEL_ROW("zeta hurwitz", zeta(x[0], x[1])),
    {"grid_sample"},
    REEL_ROW("grid_sample cubic", grid_sample(x[0], x[1], {.method = GridMethod::cubic})),
    REEL_ROW("embedding_bag", embedding_bag(x[0], reshape(from_data(std::vector<std::int64_t>{2, 0, 1, 1}), {2, 2}))),
    REEL_ROW("b_spline", b_spline(x[1], x[2])(x[0])),
    {"jv"},
    {"yv"},
    REEL_ROW("spherical_jn", spherical_jn(0, x[0])),
    {"ellipk"},
    {"ellipe"},
    REEL_ROW("eigh generalised", eigh(lower_half(x[0]), lower_half(x[1])).eigenvalues),
    REEL_ROW("von Mises samples", angle_sample(x[0])),
    {"stiff equation", [](const Tensors& x) -> Tensors { return {stiff_solution(x[0])}; }, 1e-5},
};

}  // namespace golden
