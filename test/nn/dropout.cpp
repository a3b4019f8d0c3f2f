// Dropout and first weights, <reel/nn.hpp>: masks under checkpoint and compile, moments of draws by the definitions.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <reel/compile.hpp>
#include <reel/nn.hpp>
#include <reel/reel.hpp>
#include <reel/stats.hpp>

#include "catch.hpp"

using namespace reel;
using Catch::Contains;
using Catch::StartsWith;

namespace {

using Values = std::vector<double>;

constexpr double inf = std::numeric_limits<double>::infinity(), nan_ = std::numeric_limits<double>::quiet_NaN();

Tensor gradient_of(const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  return *tape.gradient(y, x);
}
struct Moments {
  double mean = 0, variance = 0, largest = 0;
};
Moments moments(const Tensor& x) {
  Moments m;
  const Values values = cast(x, DType::float64).to_vector();
  const auto n = static_cast<double>(values.size());
  for (double v : values) m.mean += v / n, m.largest = std::max(m.largest, std::abs(v));
  for (double v : values) m.variance += (v - m.mean) * (v - m.mean) / n;
  return m;
}

}  // namespace

TEST_CASE("dropout: kept elements are scaled, others are 0, also NaN; gradients use the same mask") {
  const Tensor x = linspace(1.0, 2.0, 4000);
  for (const double p : {0.1, 0.5, 0.75}) {
    Generator a(3), b(3);
    const Values mask = cast(random_bernoulli(b, {4000}, 1 - p), DType::float64).to_vector();
    const Values values = x.to_vector();
    Tensor y;
    const Values g = gradient_of(x, [&](const Tensor& z) { return sum(square(y = dropout(z, p, a))); }).to_vector();
    const Values dropped = y.to_vector();
    CHECK(a.position() == b.position());
    double kept = 0;
    for (std::size_t i = 0; i < mask.size(); ++i) {
      const double factor = mask[i] / (1 - p);
      REQUIRE(dropped[i] == Approx(values[i] * factor).epsilon(1e-15));
      REQUIRE(g[i] == Approx(2 * values[i] * factor * factor).epsilon(1e-15));
      kept += mask[i] / 4000;
    }
    CHECK(std::abs(kept - (1 - p)) < 4 * std::sqrt(p * (1 - p) / 4000));
  }
  Generator g(3);
  for (const double v : {inf, nan_}) {
    const Values y = dropout(full({64}, v), 0.5, g).to_vector();
    CHECK(std::count(y.begin(), y.end(), 0.0) > 10);
  }
  CHECK(dropout(ones({3}, DType::float16), 0.5, g).dtype() == DType::float16);
}

TEST_CASE("dropout: p of 0 and 1 draw nothing") {
  Generator g(5);
  const Tensor x = from_data(Values{1, -2, inf, nan_});
  CHECK(dropout(x, 0, g).to_vector()[1] == -2);
  CHECK(dropout(x, 1, g).to_vector() == Values(4, 0));
  CHECK(gradient_of(x, [&](const Tensor& z) { return dropout(z, 0, g); }).to_vector() == Values(4, 1));
  CHECK(gradient_of(x, [&](const Tensor& z) { return dropout(z, 1, g) * inf; }).to_vector() == Values(4, 0));
  CHECK(g.position() == 0);
  CHECK_THROWS_WITH(dropout(x, 1.5, g), Contains("dropout: p is 1.5; it must lie between 0 and 1"));
  CHECK_THROWS_AS(dropout(x, nan_, g), ValueError);
  CHECK_THROWS_AS(dropout(x, -1e-300, g), ValueError);
  for (const auto dtype : {DType::complex128, DType::int32})
    CHECK_THROWS_AS(dropout(ones({2}, dtype), 0.5, g), TypeError);
  CHECK(g.position() == 0);
}

TEST_CASE("dropout: a checkpoint uses the mask of its first run, in every mode") {
  const Tensor x = linspace(0.5, 1.5, 200);
  const auto layer = [](const Tensor& y, Generator& g) { return square(dropout(sin(y), 0.4, g)); };
  const auto twice = [&](const Tensor& y, Generator& g, bool again) {
    const auto one = [&](const Tensor& z) { return layer(z, g); };
    return again ? checkpoint(one)(checkpoint(one)(y)) : one(one(y));
  };
  const auto gradient = [&](const Tensor& y, Generator& g, bool again) {
    return gradient_of(y, [&](const Tensor& z) { return twice(z, g, again); });
  };
  Generator plain(9), repeated(9), traced(9);
  const auto program = compile([&](const Tensor& y, Generator& g) { return gradient(y, g, true); });
  Values first;
  for (int run = 0; run < 2; ++run) {
    const Values expected = gradient(x, plain, false).to_vector(), got = gradient(x, repeated, true).to_vector();
    const Values compiled = program(x, traced).to_vector();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      REQUIRE(got[i] == Approx(expected[i]).epsilon(1e-14));
      REQUIRE(compiled[i] == Approx(expected[i]).epsilon(1e-14));
    }
    CHECK(plain.position() == repeated.position());
    CHECK(plain.position() == traced.position());
    if (run == 0) first = expected;
    if (run == 1) CHECK(first != expected);
  }
  // Second order: the derivative of the checkpointed gradient.
  const auto second = [&](bool again) {
    Generator g(4);
    return gradient_of(x, [&](const Tensor& y) { return sum(gradient(y, g, again)); }).to_vector();
  };
  const Values expected = second(false), got = second(true);
  for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(got[i] == Approx(expected[i]).epsilon(1e-13));
}

TEST_CASE("initialisers: bounds and variances from the numbers of inputs and outputs") {
  using Draw = Tensor (*)(Generator&, const Shape&, DType);
  // The standard deviation of the normal distribution between -2 and 2, by the definition.
  const double density = std::exp(-2.0) / std::sqrt(2 * std::acos(-1.0)), inside = std::erf(std::sqrt(2.0));
  const double truncated = std::sqrt(1 - 4 * density / inside);
  struct Layer {
    Shape shape;
    double inputs, outputs;
  };
  const Layer layers[] = {{{60, 90}, 60, 90}, {{30, 10, 4, 3}, 120, 360}, {{40, 5, 7}, 35, 280}, {{5000}, 5000, 5000}};
  Generator g(17);
  for (const Layer& layer : layers)
    for (const auto dtype : {DType::float64, DType::float32})
      for (const bool he : {false, true}) {
        const double variance = he ? 2 / layer.inputs : 2 / (layer.inputs + layer.outputs);
        const auto n = static_cast<double>(layer.shape.elements());
        const auto close = [&](const Tensor& x, double bound) {
          CHECK(x.dtype() == dtype);
          CHECK(x.shape() == layer.shape);
          const Moments m = moments(x);
          CHECK(std::abs(m.mean) < 4 * std::sqrt(variance / n));
          CHECK(std::abs(m.variance / variance - 1) < 6 / std::sqrt(n));
          CHECK(m.largest <= bound * (1 + 1e-7));
          CHECK(m.largest > bound * 0.97);
        };
        close(Draw(he ? he_uniform : glorot_uniform)(g, layer.shape, dtype), std::sqrt(3 * variance));
        close(Draw(he ? he_normal : glorot_normal)(g, layer.shape, dtype), 2 * std::sqrt(variance) / truncated);
      }
  CHECK(glorot_uniform(g, {}).shape() == Shape{});
  CHECK(he_normal(g, {0, 3}).shape() == Shape{0, 3});
  CHECK_THROWS_WITH(he_uniform(g, {2}, DType::int32), Contains("he_uniform: dtype is int32"));
  CHECK_THROWS_AS(glorot_normal(g, {2}, DType::complex64), TypeError);
}

TEST_CASE("orthogonal: orthonormal rows or columns, distributed by Haar's measure") {
  for (const Shape& shape : {Shape{5, 5}, Shape{7, 3}, Shape{3, 8}, Shape{4, 2, 3, 1}, Shape{9, 2, 2}, Shape{1, 1}}) {
    Generator g(2), same(2);
    const std::int64_t rows = shape[0], columns = shape.elements() / rows, small = std::min(rows, columns);
    Tensor w = reshape(orthogonal(g, shape, 1.5), {rows, columns});
    if (rows < columns) w = transpose(w);
    const Values unit = matmul(transpose(w), w).to_vector();
    for (std::int64_t i = 0; i < small * small; ++i)
      CHECK(std::abs(unit[static_cast<std::size_t>(i)] - (i % (small + 1) == 0 ? 2.25 : 0)) < 1e-14);
    // w^T a is triangular with a positive diagonal: that makes w a function of a, whose distribution no rotation
    // changes.
    const Values r = matmul(transpose(w), random_normal(same, {std::max(rows, columns), small})).to_vector();
    for (std::int64_t i = 0; i < small; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        const double v = r[static_cast<std::size_t>(i * small + j)];
        CHECK((i == j ? v > 0 : std::abs(v) < 1e-13));
      }
  }
  Generator g(6);
  CHECK(orthogonal(g, {3, 2}, 1, DType::bfloat16).dtype() == DType::bfloat16);
  CHECK(orthogonal(g, {3, 2}, 1, DType::float32).dtype() == DType::float32);
  CHECK(orthogonal(g, {3, 0}).shape() == Shape{3, 0});
  CHECK_THROWS_WITH(orthogonal(g, {3}), Contains("orthogonal: shape is [3]"));
  CHECK_THROWS_AS(orthogonal(g, {2, 2}, nan_), ValueError);
  CHECK_THROWS_AS(orthogonal(g, {2, 2}, 1, DType::int64), TypeError);
}

// The draws themselves are other ops.
TEST_CASE("errors of draws name the function called") {
  Generator g(7);
  const Shape shape = {2};
  const Tensor x = ones({1, 1, 3, 3});
  const std::pair<const char*, std::function<Tensor()>> functions[] = {
      {"norm_rvs", [&] { return norm_rvs(g, shape); }},
      {"gamma_rvs", [&] { return gamma_rvs(g, shape, 2.0); }},
      {"chi2_rvs", [&] { return chi2_rvs(g, shape, 2.0); }},
      {"t_rvs", [&] { return t_rvs(g, shape, 2.0); }},
      {"dirichlet_rvs", [&] { return dirichlet_rvs(g, shape, 2.0); }},
      {"random_shuffle", [&] { return random_shuffle(g, x); }},
      {"random_choice", [&] { return random_choice(g, x, 1); }},
      {"random_choice", [&] { return random_choice(g, x, 1, false); }},
      {"dropout", [&] { return dropout(x, 0.5, g); }},
      {"he_uniform", [&] { return he_uniform(g, shape); }},
      {"glorot_normal", [&] { return glorot_normal(g, shape); }},
      {"orthogonal",
       [&] {
         return orthogonal(g, {2, 2});
       }},
      {"fractional_avg_pool2d", [&] {
         return fractional_avg_pool2d(x, {2, 2}, {2, 2}, g);
       }}};
  for (const auto& [name, draw] : functions) {
    const auto traced = compile([&f = draw](const Tensor&) { return f(); });
    CHECK_THROWS_WITH(traced(x), StartsWith(std::string(name) + ": "));
  }
}
