// The continuous adjoint of odeint: linear in cotangents and tangents of every size, by all kinds of tensors that f
// reads.
#include <cmath>
#include <reel/ode.hpp>

#include "catch.hpp"
#include "support/numbers.hpp"

using namespace reel;
using support::largest;

namespace {
const OdeOptions continuous = {
    .relative_tolerance = 1e-8, .absolute_tolerance = 1e-8, .adjoint = OdeAdjoint::continuous};
const Tensor unit_time = tensor({0, 1});
}  // namespace

TEST_CASE("continuous adjoints of cotangents and tangents by a power of two have the same digits") {
  // A solution at rest, which says nothing about the steps that its derivatives need.
  const auto solution = [](const Tensor& y0) {
    return odeint([](const Tensor& y, const Tensor& t) { return 20 * cos(20 * t) * y; }, y0, unit_time, continuous)(1);
  };
  const Tensor rest = scalar(0.0);
  const double exact = std::exp(std::sin(20.0));
  const auto pulled = [&](double by) { return grad([&](const Tensor& y0) { return by * solution(y0); })(rest).item(); };
  const auto pushed = [&](double by) { return jvp(solution, rest, scalar(by)).second.item(); };
  const double gradient = pulled(1), derivative = pushed(1);
  CHECK(gradient == Approx(exact).epsilon(1e-6));
  CHECK(derivative == Approx(exact).epsilon(1e-6));
  for (const double by : {0x1p-80, 0.5, 0x1p80}) {
    CHECK(pulled(by) == by * gradient);
    CHECK(pushed(by) == by * derivative);
  }
  CHECK(pulled(0) == 0);
  CHECK(pushed(0) == 0);
  // The same of a parameter's tangent.
  const auto by_rate = [](const Tensor& k) {
    return odeint([k](const Tensor& y, const Tensor& t) { return k * cos(20 * t) + 0 * y; }, 0.0, unit_time,
                  continuous)(1);
  };
  const auto rate = [&](double by) { return jvp(by_rate, scalar(0.0), scalar(by)).second.item(); };
  CHECK(rate(1) == Approx(std::sin(20.0) / 20).epsilon(1e-6));
  CHECK(rate(0x1p-80) == 0x1p-80 * rate(1));
}

TEST_CASE("continuous adjoints by complex tensors of other precision, empty ones and those without a gradient") {
  const Tensor narrow = cast(make_complex(0.25, -0.5), DType::complex64), wide = make_complex(0.25, -0.5);
  const Tensor empty = zeros({0}), grid = ones({2, 3}), list = ones({4});
  for (const DType d : {DType::float32, DType::float64}) {
    const Tensor c = d == DType::float32 ? wide : narrow, y0 = full({2}, 2.0, d);
    const auto f = [=](const Tensor& y, const Tensor&) {
      const Tensor rate = cast(real(c * c), y.dtype()) + cast(sum(empty), y.dtype());
      return where(logical_and(sum(grid) > 0, sum(list) > 0), rate * y, y);
    };
    OdeOptions o = continuous;
    if (d == DType::float32) o.relative_tolerance = o.absolute_tolerance = 1e-5;
    GradientTape tape({.persistent = true});
    for (const Tensor& x : {c, empty, grid, list, y0}) tape.watch(x);
    const Tensor y = sum(odeint(f, y0, unit_time, o)(1));
    tape.stop();
    const double rate = 0.0625 - 0.25, tolerance = d == DType::float32 ? 1e-4 : 1e-6;
    const Tensor by_c = tape.gradient(y, c).dense();
    CHECK(by_c.dtype() == c.dtype());
    // Of Re(c^2): 2 Re(c) and -2 Im(c).
    CHECK(cast(real(by_c), DType::float64).item() == Approx(4 * std::exp(rate) * 0.5).epsilon(tolerance));
    CHECK(cast(imag(by_c), DType::float64).item() == Approx(4 * std::exp(rate) * 1.0).epsilon(tolerance));
    CHECK(largest(tape.gradient(y, y0).dense() - std::exp(rate)) < tolerance);
    CHECK(tape.gradient(y, empty, {.unconnected_gradients = UnconnectedGradients::zero}).dense().size() == 0);
    for (const Tensor& x : {grid, list}) {
      const Tensor g = tape.gradient(y, x, {.unconnected_gradients = UnconnectedGradients::zero}).dense();
      CHECK(g.shape() == x.shape());
      CHECK(largest(g) == 0);
    }
  }
  // A slope that does not depend on y.
  const Tensor p = tensor({1.0, 2.0, 3.0});
  const auto apart = [](const Tensor& x) {
    return sum(odeint([x](const Tensor&, const Tensor& t) { return t * sum(x) * ones({2}); }, zeros({2}), unit_time,
                      continuous)(1));
  };
  CHECK(largest(grad(apart)(p) - 1) < 1e-12);
  CHECK(jvp(apart, p, ones({3})).second.item() == Approx(3));
}

TEST_CASE("the continuous adjoint of a function that reads y0 counts it as both") {
  const auto solution = [](const Tensor& y0) {
    return odeint([y0](const Tensor& y, const Tensor&) { return y0 - 2 * y; }, y0, unit_time, continuous)(1);
  };
  const double slope = std::exp(-2.0) + (1 - std::exp(-2.0)) / 2;
  CHECK(grad(solution)(scalar(1.5)).item() == Approx(slope).epsilon(1e-7));
  CHECK(jvp(solution, scalar(1.5), scalar(1.0)).second.item() == Approx(slope).epsilon(1e-7));
}
