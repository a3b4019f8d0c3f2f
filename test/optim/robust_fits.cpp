// levenberg_marquardt with robust losses: closed forms, stationarity of the loss itself, outliers.
#include <cmath>
#include <reel/optim.hpp>
#include <reel/optim/minimize.hpp>
#include <reel/reel.hpp>
#include <reel/testing.hpp>

#include "../catch.hpp"
#include "optim/robust_loss.hpp"
#include "support/bits.hpp"

using namespace reel;

namespace {

constexpr double scale = 0.7;

// The losses as optim.hpp states them, of residuals.
Tensor loss_of(Loss loss, const Tensor& r) {
  const Tensor z = square(r / scale);
  const double s = scale * scale;
  switch (loss) {
    case Loss::squares:
      return s * sum(z);
    case Loss::soft_l1:
      return 2 * s * sum(sqrt(1 + z) - 1);
    case Loss::huber:
      return s * sum(where(less_equal(z, 1), z, 2 * sqrt(maximum(z, 1)) - 1));
    case Loss::cauchy:
      return s * sum(log(1 + z));
    case Loss::tukey:
      return s / 3 * sum(1 - power(maximum(1 - z, 0), 3.));
  }
  return {};
}

const Tensor abscissae = arange(12.);
// A line, and two outliers.
Tensor residuals_of_line(const Tensor& b) {
  const Tensor noise = sin(abscissae * abscissae) / 100.;
  const Tensor outliers = where(equal(abscissae, 3), 9., 0.) + where(equal(abscissae, 10), -25., 0.);
  return b[0] + b[1] * abscissae - (1 + 2 * abscissae + noise + outliers);
}

}  // namespace

TEST_CASE("Huber's estimate of location agrees with the closed form") {
  // Three residuals within the scale and one far off: 2 * 3 x = 2 scale.
  const auto f = [](const Tensor& x) { return x[0] - tensor({0., 0., 0., 10.}); };
  const auto fit = levenberg_marquardt(f, tensor({3.}), {.loss = Loss::huber, .loss_scale = 1});
  CHECK(fit.converged());
  CHECK(fit.parameters.item() == Approx(1. / 3).epsilon(1e-10));
  CHECK(fit.cost == Approx(3. / 9 + 2 * (10 - 1. / 3) - 1).epsilon(1e-13));
  CHECK(array_equal(fit.residuals, f(fit.parameters)));
  CHECK(fit.sum_of_squares == Approx(sum(square(fit.residuals)).item()).epsilon(1e-14));
  CHECK(array_equal(fit.jacobian, ones({4, 1})));
}

TEST_CASE("a robust fit ends at a stationary point of the summed loss, which the result reports") {
  for (const Loss loss : {Loss::squares, Loss::soft_l1, Loss::huber, Loss::cauchy, Loss::tukey}) {
    INFO("loss " << static_cast<int>(loss));
    const auto fit = levenberg_marquardt(residuals_of_line, tensor({0., 1.8}), {.loss = loss, .loss_scale = scale});
    CHECK(fit.converged());
    const auto cost = [loss](const Tensor& b) { return loss_of(loss, residuals_of_line(b)); };
    CHECK(fit.cost == Approx(cost(fit.parameters).item()).epsilon(1e-13));
    CHECK(max(abs(grad(cost)(fit.parameters))).item() < 1e-7 * fit.cost);
  }
}

TEST_CASE("robust residuals: squares are the losses, with their derivatives") {
  for (const Loss loss : {Loss::squares, Loss::soft_l1, Loss::huber, Loss::cauchy, Loss::tukey})
    for (const double r : {-3., -0.69, -0.4, 0., 1e-3, 0.3, 0.6, 0.72, 5.}) {
      INFO("loss " << static_cast<int>(loss) << " of " << r);
      const auto at = optim::robust_residual(loss, scale, r);
      CHECK(at.value * at.value == Approx(loss_of(loss, tensor({r})).item()).epsilon(1e-10).margin(1e-15));
      constexpr double h = 1e-5;
      const double above = optim::robust_residual(loss, scale, r + h).value;
      const double below = optim::robust_residual(loss, scale, r - h).value;
      CHECK(at.slope == Approx((above - below) / (2 * h)).epsilon(1e-8).margin(1e-8));
    }
}

TEST_CASE("robust_residuals: tensors of robust residuals, with derivatives to order 3") {
  for (const Loss loss : {Loss::squares, Loss::soft_l1, Loss::huber, Loss::cauchy, Loss::tukey}) {
    INFO("loss " << static_cast<int>(loss));
    const Tensor r = tensor({-3., -0.69, -0.4, 0., 1e-9, 1e-3, 0.02, 0.03, 0.3, 0.6, 0.72, 5.});
    const auto f = [loss](const Tensor& x) { return robust_residuals(x, loss, scale); };
    const Tensor values = f(r), slopes = grad([&](const Tensor&x) { return sum(f(x)); })(r);
    for (std::int64_t i = 0; i < r.size(); ++i) {
      const auto at = optim::robust_residual(loss, scale, r[i].item());
      CHECK(values[i].item() == Approx(at.value).epsilon(1e-14));
      CHECK(slopes[i].item() == Approx(at.slope).epsilon(1e-13));
    }
    CHECK(bool(check_gradients(f, tensor({-3., -0.4, 0., 0.01, 0.3, 5.}), {.order = 2})));
    CHECK(f(cast(r, DType::float32)).dtype() == DType::float32);
  }
  const auto slope = grad([](const Tensor& x) { return sum(robust_residuals(x, Loss::cauchy, 2)); });
  const auto third =
      grad([&](const Tensor& x) { return sum(grad([&](const Tensor& v) { return sum(slope(v)); })(x)); });
  CHECK(third(tensor({0.})).item() == Approx(-1.5 / 4));  // of r - r^3 / (4 scale^2)
  CHECK_THROWS_AS(robust_residuals(ones({2}), Loss::huber, 0), ValueError);
  CHECK_THROWS_AS(robust_residuals(ones({2}, DType::int64), Loss::huber), TypeError);
}

TEST_CASE("gauss_newton of robust residuals finds the minimum that levenberg_marquardt finds") {
  for (const Loss loss : {Loss::soft_l1, Loss::huber, Loss::cauchy, Loss::tukey}) {
    INFO("loss " << static_cast<int>(loss));
    const auto by_lm = levenberg_marquardt(residuals_of_line, tensor({0.9, 1.95}), {.loss = loss, .loss_scale = scale});
    const auto by_cg = gauss_newton(
        [loss](const Tensor& b) { return robust_residuals(residuals_of_line(b), loss, scale); }, tensor({0.9, 1.95}));
    CHECK(by_cg.converged());
    CHECK(max(abs(by_cg.parameters - by_lm.parameters)).item() < 1e-7);
    CHECK(by_cg.value == Approx(by_lm.cost));
  }
}

TEST_CASE("stronger losses reduce the influence of outliers") {
  double before = 1e300;
  for (const Loss loss : {Loss::squares, Loss::soft_l1, Loss::cauchy, Loss::tukey}) {
    const auto fit = levenberg_marquardt(residuals_of_line, tensor({0.9, 1.95}), {.loss = loss, .loss_scale = scale});
    const double away = norm(fit.parameters - tensor({1., 2.})).item();
    CHECK(away < before);
    before = away;
  }
  CHECK(before < 0.05);
}

// NIST's StRD, Misra1a: certified parameters 238.94212918 and 5.5015643181e-4, standard deviation 0.102.
TEST_CASE("two wrong observations do not move NIST's certified parameters") {
  const Tensor x =
      tensor({77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0});
  const Tensor y =
      tensor({10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78});
  const Tensor wrong = where(equal(x, 190.8), 30., 0.) + where(equal(x, 593.1), -20., 0.);
  const auto f = [&](const Tensor& b) { return b[0] * (1 - exp(-b[1] * x)) - (y + wrong); };
  const Tensor start = tensor({250., 5e-4}), certified = tensor({238.94212918, 5.5015643181e-4});
  const auto error = [&](const LeastSquaresResult& fit) { return max(abs(fit.parameters / certified - 1)).item(); };
  CHECK(error(levenberg_marquardt(f, start)) > 0.2);
  const auto robust = levenberg_marquardt(f, start, {.loss = Loss::tukey, .loss_scale = 2});
  CHECK(robust.converged());
  CHECK(error(robust) < 0.01);
  // The fit without the two observations.
  const Tensor right = equal(wrong, 0);
  const auto without = levenberg_marquardt([&](const Tensor& b) { return f(b) * right; }, start);
  CHECK(max(abs(robust.parameters / without.parameters - 1)).item() < 1e-3);
}

TEST_CASE("residuals within the scale are fitted as by least squares, bit for bit") {
  const auto plain = levenberg_marquardt(residuals_of_line, tensor({0., 0.}));
  const auto huber = levenberg_marquardt(residuals_of_line, tensor({0., 0.}), {.loss = Loss::huber, .loss_scale = 1e6});
  CHECK(support::same_bits(plain.parameters, huber.parameters));
  CHECK(plain.cost == plain.sum_of_squares);
  CHECK_THROWS_AS(levenberg_marquardt(residuals_of_line, tensor({0., 0.}), {.loss = Loss::huber, .loss_scale = 0}),
                  ValueError);
}
