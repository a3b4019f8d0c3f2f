// Variance, standard deviation, norms: values far from 1, and derivatives where they are singular.
#include <cmath>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/numbers.hpp"

using namespace reel;
using namespace support;

namespace {

bool all_nan(const Doubles& v) {
  for (double x : v)
    if (!std::isnan(x)) return false;
  return true;
}

}  // namespace

TEST_CASE("variance") {
  const Tensor x = tensor({1, 2, 3, 4});
  CHECK(var(x).item() == 1.25);
  CHECK(var(x, 0, 1, true).shape() == Shape{1});
  CHECK(var(x, {}, 1).item() == Approx(5 / 3.));
  const Doubles g = slope_at([](const Tensor&t) { return var(t, {}, 1); }, x), expected{-1, -1 / 3., 1 / 3., 1};
  for (std::size_t i = 0; i < 4; ++i) CHECK(g[i] == Approx(expected[i]));
  // The second derivative: 2 / n (I - 1/n).
  const Doubles h = hessian([](const Tensor& t) { return var(t); })(x).to_vector();
  for (std::size_t i = 0; i < 16; ++i) CHECK(h[i] == Approx(i % 5 == 0 ? 0.375 : -0.125));
  // Far from 0 the mean is subtracted first.
  CHECK(var(tensor({1e9, 1e9 + 1, 1e9 + 2})).item() == Approx(2 / 3.));
  CHECK(var(tensor<int>({1, 2, 3, 4})).item() == 1.25);
}

// Small and large tensors take different paths, and rows and columns are summed in different orders.
TEST_CASE("variance of constants and of adjacent numbers corrects the rounding of the mean") {
  const float low = 0.1F, high = std::nextafter(low, 1.F);
  const double unit = static_cast<double>(high) - static_cast<double>(low), expected = 2 / 9. * unit * unit;
  for (std::int64_t n : {60, 600}) {
    const Tensor same = full({n, n}, low, DType::float32);
    CHECK(var(same).item<float>() == 0);
    const Tensor third = equal(mod(arange(n) + reshape(arange(n), {n, 1}), 3), 0);
    const Tensor x = where(third, full({}, high, DType::float32), same);
    CHECK(var(x).item<float>() == Approx(expected).epsilon(1e-4));
    for (int axis : {0, 1}) {
      const auto v = var(x, axis).to_vector<float>();
      CHECK(v.size() == static_cast<std::size_t>(n));
      for (float e : v) CHECK(e == Approx(expected).epsilon(1e-4));
      CHECK(norm(same, 2, axis).to_vector<float>()[1] == Approx(0.1 * std::sqrt(n)).epsilon(1e-6));
    }
  }
}

TEST_CASE("too few elements for ddof: NaN, and NaN gradients") {
  const Tensor x = tensor({{2.}, {3.}});
  CHECK(all_nan(var(x, 1, 1).to_vector()));
  CHECK(all_nan(reel::std(x, 1, 2).to_vector()));
  CHECK(all_nan(slope_at([](const Tensor& t) { return var(t, 1, 1); }, x)));
  CHECK(all_nan(slope_at([](const Tensor& t) { return reel::std(t, 1, 1); }, x)));
  // NaN, not infinity, also for unequal elements; ddof + 1 elements are enough.
  CHECK(all_nan(var(tensor({1., 3.}), {}, 2).to_vector()));
  CHECK(var(tensor({1., 3.}), {}, 1).item() == 2);
}

TEST_CASE("the derivatives of the standard deviation of a constant are 0") {
  const Tensor x = tensor({{2., 2., 2.}, {1., 2., 3.}});
  const Doubles g = slope_at([](const Tensor& t) { return reel::std(t, 1); }, x);
  const double edge = 1 / std::sqrt(6.);
  const Doubles expected{0, 0, 0, -edge, 0, edge};
  for (std::size_t i = 0; i < 6; ++i) CHECK(g[i] == Approx(expected[i]).margin(1e-15));
  const Doubles h = hessian([](const Tensor& t) { return reel::std(t); })(tensor({2, 2, 2})).to_vector();
  CHECK(h == Doubles(9, 0.));
}

TEST_CASE("norms do not overflow or underflow, row by row") {
  const Tensor x = tensor({{3., 4.}, {3e200, 4e200}, {3e-200, 4e-200}, {0., 0.}, {inf, 1.}, {qnan, 1.}});
  const Doubles two = norm(x, 2, 1).to_vector(), expected{5, 5e200, 5e-200, 0, inf};
  for (std::size_t i = 0; i < 5; ++i) CHECK((two[i] == expected[i] || two[i] == Approx(expected[i]).epsilon(1e-15)));
  CHECK(std::isnan(two[5]));
  const Doubles three = norm(x, 3, 1).to_vector();
  for (std::size_t i = 0; i < 3; ++i) CHECK(three[i] == Approx(std::cbrt(91.) * expected[i] / 5).epsilon(1e-14));
  CHECK(three[3] == 0);
  CHECK(three[4] == inf);
  CHECK(std::isnan(three[5]));
  // A row's result does not depend on other rows.
  CHECK(norm(x[0]).item() == two[0]);
  const Tensor f = tensor<float>({3e30f, 4e30f});
  CHECK(norm(f).item<float>() == Approx(5e30f));
  CHECK_THROWS_AS(norm(x, qnan), ValueError);
}

TEST_CASE("norms of every order") {
  const Tensor x = tensor({3, 0, -4});
  CHECK(norm(x, 1).item() == 7);
  CHECK(norm(x, 0).item() == 2);
  CHECK(norm(x, inf).item() == 4);
  CHECK(norm(x, -inf).item() == 0);
  CHECK(norm(x, 0.5).item() == Approx(std::pow(std::sqrt(3.) + 2, 2)));
  CHECK(norm(tensor({2, -4}), -1).item() == Approx(4 / 3.));
  CHECK(norm(tensor({{3, 4}, {6, 8}}), 2, {0, 1}, true).shape() == Shape{1, 1});
  CHECK(norm(tensor<int>({3, 4})).item() == 5);
}

TEST_CASE("norms have gradient 0 at 0 and where an element is 0") {
  for (double p : {0.5, 1., 1.5, 2., 3., 4., inf}) {
    INFO("p = " << p);
    const auto f = [p](const Tensor& t) { return norm(t, p); };
    CHECK(slope_at(f, zeros({3})) == Doubles(3, 0.));
    if (p >= 1) CHECK(hessian(f)(zeros({3})).to_vector() == Doubles(9, 0.));
    if (p != inf) CHECK(slope_at(f, tensor({1, 0, -2}))[1] == 0);
  }
  // p = 4: the second derivative at an element that is 0 is 0, that of the others finite and symmetric.
  const Doubles h = hessian([](const Tensor& t) { return norm(t, 4); })(tensor({1, 0, -2})).to_vector();
  CHECK(h[4] == 0);
  CHECK(h[2] == Approx(h[6]));
  CHECK(std::isfinite(h[0]));
  // p = 2 at 0 in one row leaves the other alone.
  const Doubles rows = slope_at([](const Tensor& t) { return norm(t, 2, 1); }, tensor({{0., 0.}, {3., 4.}}));
  CHECK(rows == Doubles{0, 0, 0.6, 0.8});
}

TEST_CASE("standard deviations do not overflow or underflow, row by row") {
  const auto check = [](DType d, double scale) {
    CAPTURE(name(d), scale);
    const Tensor unit = tensor({{1, 2, 4}, {-3, 0, 0}, {5, 5, 5}, {0, 0, 0}});
    const Tensor x = cast(unit * concatenate({full({2, 1}, scale), ones({2, 1})}, 0), d);
    for (const double ddof : {0., 1.}) {
      const auto f = [ddof](const Tensor& t) { return reel::std(t, 1, ddof); };
      CHECK(array_equal(f(x), f(cast(unit, d)) * cast(tensor({scale, scale, 1, 1}), d)));
      CHECK(array_equal(grad([&](const Tensor& t) { return sum(f(t)); })(x),
                        grad([&](const Tensor& t) { return sum(f(t)); })(cast(unit, d))));
      CHECK(bool(all(less_equal(abs(jvp(f, x, x).second - f(x)), 1e-6 * f(x)))));
    }
  };
  for (const double scale : {0x1p80, 0x1p-80, 0x1p100, 0x1p-100}) check(DType::float32, scale);
  for (const double scale : {0x1p600, 0x1p-600, 0x1p900, 0x1p-900}) check(DType::float64, scale);
  CHECK(reel::std(make_complex(tensor({1e200, 3e200}), tensor({0, 0}))).item() == Approx(1e200));
  CHECK(reel::std(make_complex(tensor<float>({0, 0}), tensor<float>({1e-25F, 3e-25F}))).item() == Approx(1e-25));
  CHECK(std::isnan(reel::std(tensor({1, inf})).item()));
}

TEST_CASE("constants whose mean is rounded have standard deviation and gradient 0") {
  const Tensor x = full({3}, 0.1);
  CHECK(reel::std(x).item() == 0);
  CHECK(grad([](const Tensor& t) { return reel::std(t); })(x).to_vector() == std::vector<double>{0, 0, 0});
}

// The mean has a rounding error of 1e-17. The correction by a second mean leaves its square.
TEST_CASE("the gradient of the variance of a constant is far below its rounding unit") {
  for (std::int64_t n = 2; n < 30; ++n) {
    INFO(n);
    for (const double slope : slope_at([](const Tensor& t) { return var(t); }, full({n}, 0.1)))
      CHECK(std::abs(slope) < 1e-28);
  }
}

TEST_CASE("var and std of empty rows: NaN, with tangents of the result's shape") {
  const Tensor x = zeros({2, 0, 3});
  for (const auto f :
       {+[](const Tensor& t) { return var(t, 1); }, +[](const Tensor& t) { return reel::std(t, 1, 0, true); }}) {
    const ForwardAccumulator accumulator(x, zeros({2, 0, 3}));
    const Tensor y = f(x);
    const Gradient t = accumulator.jvp(y);
    REQUIRE(t);
    CHECK(t.dense().shape() == y.shape());
    CHECK(t.dense().to_vector() == Doubles(6, 0.));
    CHECK(all_nan(y.to_vector()));
  }
}
