// Replays that share memory which they could overwrite: the caller's cotangents, earlier results, values that rules
// pass on, one tape replayed from its own rules. Compared with closed forms, for each aggregation method.
#include <cmath>
#include <reel/elementwise.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/warnings.hpp"

using namespace reel;

namespace {

bool close(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && max(abs(a - b)).item() <= 1e-12 * (1 + max(abs(b)).item());
}

constexpr AggregationMethod methods[] = {AggregationMethod::accumulate_n, AggregationMethod::add_n,
                                         AggregationMethod::tree};

Tensor x_values() { return tensor({0.3, -0.8, 1.7}); }

}  // namespace

TEST_CASE("replay does not change the caller's cotangents or earlier results") {
  const Tensor x = x_values(), dy = tensor({1.0, 2.0, 3.0});
  for (const AggregationMethod method : methods) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = x + x, z = y + x;
    tape.stop();
    const GradientOptions options{.output_gradients = {dy, dy}, .aggregation_method = method};
    const auto first = tape.gradient({y, z}, {x, y, x}, options);
    const auto second = tape.gradient({y, z}, {x, y, x}, options);
    for (const auto& g : {first, second}) {
      CHECK(close(*g[0], 5.0 * dy));
      CHECK(close(*g[1], 2.0 * dy));
      CHECK(close(*g[2], 5.0 * dy));
    }
    CHECK(close(dy, tensor({1.0, 2.0, 3.0})));
  }
}

TEST_CASE("a tensor that a rule returns for several arguments, or keeps, is not added to in place") {
  const Tensor x = x_values(), y = tensor({2.0, 3.0, 5.0}), kept = tensor({10.0, 20.0, 30.0});
  const auto shares = custom_gradient([](const Tensor& a, const Tensor& b) {
    return std::pair(a + b, [](const Tensor& dy) { return std::tuple(dy, dy); });
  });
  const auto keeps = custom_gradient([kept](const Tensor& a, const Tensor& b) {
    return std::pair(a * b, [kept](const Tensor&) { return std::tuple(kept, kept); });
  });
  for (const AggregationMethod method : methods) {
    GradientTape tape({.persistent = true});
    tape.watch(std::pair(x, y));
    const Tensor z = shares(x, y) + keeps(x, x) + keeps(y, x) + x + shares(y, y);
    tape.stop();
    for (int i = 0; i < 2; ++i) {
      const auto [dx, dy] = tape.gradient(z, std::pair(x, y), {.aggregation_method = method});
      CHECK(close(*dx, 3.0 * kept + 2.0));
      CHECK(close(*dy, kept + 3.0));
    }
    CHECK(close(kept, tensor({10.0, 20.0, 30.0})));
  }
}

TEST_CASE("a source that is a target, an intermediate result, or given twice") {
  const Tensor x = x_values();
  for (const AggregationMethod method : methods) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = square(x), z = y * x;
    tape.stop();
    const auto g = tape.gradient({z, y, y}, {y, x, z, y}, {.aggregation_method = method});
    CHECK(close(*g[0], x + 2.0));
    CHECK(close(*g[1], 3.0 * y + 4.0 * x));
    CHECK(close(*g[2], ones({3})));
    CHECK(close(*g[3], x + 2.0));
    const auto partial = tape.gradient(z, {x, y}, {.stop_gradients = {y}, .aggregation_method = method});
    CHECK(close(*partial[0], y));
    CHECK(close(*partial[1], x));
    CHECK(close(*tape.gradient(z, x, {.aggregation_method = method}), 3.0 * y));
  }
}

TEST_CASE("a Jacobian in several passes, with respect to a source and an intermediate value", "[once]") {
  // 3000 rows of 3000 elements: more than one sweep.
  const std::int64_t n = 3000;
  const Tensor x = linspace(0.1, 1.0, n);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x, z = y + x;
  tape.stop();
  const auto [dx, dy] = tape.jacobian(z, std::pair(x, y));
  CHECK(close(sum(*dx, 0), 2.0 * x + 1.0));
  CHECK(close(sum(*dx, 1), 2.0 * x + 1.0));
  CHECK(sum(abs(*dy - eye(n))).item() == 0.0);
}

TEST_CASE("gradients of gathered rows and dense terms are added in any order") {
  const Tensor table = tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}), i = tensor<int>({2, 0, 2});
  for (const AggregationMethod method : methods) {
    GradientTape tape({.persistent = true});
    tape.watch(table);
    const Tensor a = sum(gather(table, i) * gather(table, i)), b = sum(table * 3.0), c = sum(gather(table, i));
    const Tensor before = b + a + c, between = a + b + c, after = c + a + b;
    const Tensor both = stack({before, c});
    tape.stop();
    const Tensor expected = tensor({{2.0 + 4.0, 4.0 + 4.0}, {3.0, 3.0}, {20.0 + 5.0, 24.0 + 5.0}});
    for (const Tensor& y : {before, between, after})
      CHECK(close(*tape.gradient(y, table, {.aggregation_method = method}), expected));
    CHECK(close(*tape.gradient({a, c}, {table}, {.aggregation_method = method})[0], expected - 3.0));
    CHECK(close(reshape(*tape.jacobian(both, table), {2, 6})[0], reshape(expected, {6})));
  }
}

TEST_CASE("a persistent tape is replayed from one of its own rules") {
  const Tensor x = scalar(1.3);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = sin(x) * x;
  const auto f = custom_gradient(
      [&](const Tensor& v) { return std::pair(v * 2.0, [&](const Tensor& dy) { return dy * *tape.gradient(y, x); }); });
  const Tensor z = f(y) + y;
  tape.stop();
  const double slope = std::cos(1.3) * 1.3 + std::sin(1.3);
  for (const AggregationMethod method : methods)
    CHECK((*tape.gradient(z, x, {.aggregation_method = method})).item() == Approx(slope * slope + slope));
}

TEST_CASE("an active persistent tape differentiates its own gradients, twice over") {
  const WarningLog growth;
  const Tensor x = scalar(0.6);
  for (const AggregationMethod method : methods) {
    const GradientOptions options{.aggregation_method = method};
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = exp(x) * x + elementwise([](auto a) { return sin(a) * a; }, x);
    const Tensor g = *tape.gradient(y, x, options), h = *tape.gradient(g, x, options);
    const Tensor third = *tape.gradient(h, x, options);
    const double e = std::exp(0.6), s = std::sin(0.6), c = std::cos(0.6);
    CHECK(g.item() == Approx(e * 1.6 + c * 0.6 + s));
    CHECK(h.item() == Approx(e * 2.6 - s * 0.6 + 2 * c));
    CHECK(third.item() == Approx(e * 3.6 - c * 0.6 - 3 * s));
    CHECK((*tape.gradient({y, g, h}, {x}, options)[0]).item() == Approx(g.item() + h.item() + third.item()));
  }
}

TEST_CASE("a variable that is read, assigned and read again gets the sum over all reads") {
  const Variable v(scalar(2.0), "v");
  const Tensor x = scalar(5.0);
  for (const AggregationMethod method : methods) {
    v.assign(scalar(2.0));
    GradientTape outer, tape({.persistent = true});
    outer.watch(x);
    const Tensor a = v * x;
    v.assign(scalar(3.0));
    const Tensor b = v * v * x, c = stop_gradient(v.read()) * v;
    const Tensor g = *tape.gradient(a + b + c, v, {.aggregation_method = method});
    CHECK(g.item() == 5.0 + 30.0 + 3.0);
    CHECK((*outer.gradient(g, x)).item() == 7.0);
  }
}

TEST_CASE("a tape inside a function that is inlined or one entry of the outer tape") {
  const Tensor x = scalar(0.9);
  const auto inner = [](const Tensor& v) {
    GradientTape tape;
    tape.watch(v);
    return *tape.gradient(v * v * v, v);  // 3 v^2
  };
  for (const bool entry : {false, true}) {
    const auto f = [&](const Tensor& v) { return entry ? recompute_grad(inner)(v) : inner(v); };
    CHECK(f(x).item() == Approx(3 * 0.81));
    CHECK(grad(f)(x).item() == Approx(6 * 0.9));
    CHECK(grad(grad(f))(x).item() == Approx(6.0));
    CHECK(jvp(grad(f), x, 1.0).second.item() == Approx(6.0));
    CHECK(grad([&](const Tensor& v) { return jvp(f, v, 1.0).second; })(x).item() == Approx(6.0));
    CHECK(grad(grad(grad(f)))(x).item() == 0.0);
  }
}

TEST_CASE("sibling outputs, integer outputs, and unused branches") {
  const Tensor x = tensor({3.0, 1.0, 2.0});
  for (const AggregationMethod method : methods) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const auto parts = unstack(x, 0);
    const Tensor order = cast(3.0 - x, DType::int64), unused = exp(x) * parts[1];
    const Tensor y = parts[0] * parts[2] + sum(gather(x, order) * tensor({1.0, 10.0, 100.0}));
    tape.stop();
    CHECK(close(*tape.gradient(y, x, {.aggregation_method = method}), tensor({1.0 + 2.0, 100.0, 10.0 + 3.0})));
    CHECK_FALSE(tape.gradient(y, unused));
    CHECK(close(*tape.gradient(y, parts[1], {.unconnected_gradients = UnconnectedGradients::zero}), scalar(0.0)));
    CHECK(tape.gradient(order, x).reason() != WhyNone::unknown);
  }
}

TEST_CASE("elementwise adds to the sums of its arguments in any order of recording") {
  const Tensor x = x_values(), y = tensor({2.0, 3.0, 5.0}), s = scalar(0.7);
  const auto f = [](auto a, auto b, auto c) { return a * b + c * sin(a); };
  for (const AggregationMethod method : methods)
    for (int order = 0; order < 4; ++order) {
      GradientTape tape;
      tape.watch(std::tuple(x, y, s));
      const auto fused = [&] { return elementwise(f, x, y, s) + elementwise(f, y, x, s); };
      const auto plain = [&] { return x * y + y * s + x; };
      const Tensor a = order & 1 ? fused() : plain(), b = order & 1 ? plain() : fused();
      const Tensor z = order & 2 ? a + b + a : b * 2.0 + a;
      const double of_first = order & 2 ? 2.0 : 1.0, of_second = order & 2 ? 1.0 : 2.0;
      const double p = order & 1 ? of_second : of_first, q = order & 1 ? of_first : of_second;
      const auto [dx, dy, ds] = tape.gradient(z, std::tuple(x, y, s), {.aggregation_method = method});
      CHECK(close(*dx, p * (y + 1.0) + q * (2.0 * y + s * cos(x))));
      CHECK(close(*dy, p * (x + s) + q * (2.0 * x + s * cos(y))));
      CHECK(close(*ds, sum(p * y + q * (sin(x) + sin(y)))));
    }
}
