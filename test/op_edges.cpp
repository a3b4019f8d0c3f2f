// The op table: kinks, ties and singular points; ops that end a path; an operand used twice; rules S20-S22 on kept
// values.
#include <cmath>
#include <reel/ops/normal.hpp>

#include "catch.hpp"
#include "op_cases.hpp"
#include "support/derivatives.hpp"

using namespace reel;
using support::difference, support::pull, support::push, support::Tensors;

namespace {

// Equal to a tolerance relative to 1 or to the number; infinities and NaN by kind.
bool close(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  if (got.size() != expected.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i]) && std::isnan(got[i])) continue;
    if (got[i] == expected[i]) continue;
    if (!(std::abs(got[i] - expected[i]) < tolerance * std::max(1.0, std::abs(expected[i])))) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("values and gradients at kinks, ties and singular points are as documented") {
  for (const cases::Edge& edge : cases::edges()) {
    const Tensors x = edge.inputs();
    GradientTape tape;
    tape.watch(x);
    const Tensor y = edge.call(x);
    const std::vector<double> value = cast(y, DType::float64).to_vector();
    INFO(edge.name << ", " << edge.point << ": value " << Catch::Detail::stringify(value));
    CHECK(close(value, edge.value, edge.tolerance));
    const std::vector<Gradient> g = tape.gradient(y, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (edge.gradients.empty()) {
        CHECK_FALSE(g[i]);
        continue;
      }
      INFO("gradient " << i << ": " << (g[i] ? Catch::Detail::stringify(g[i].dense().to_vector()) : g[i].why_none()));
      REQUIRE(g[i]);
      CHECK(g[i].dense().shape() == x[i].shape());
      CHECK(close(g[i].dense().to_vector(), edge.gradients[i], 1e-12));
    }
  }
}

TEST_CASE("forward mode agrees at kinks, ties and singular points") {
  for (const cases::Edge& edge : cases::edges()) {
    if (edge.gradients.empty()) continue;
    const Tensors x = edge.inputs();
    const std::vector<std::vector<double>>& expectations = edge.tangents.empty() ? edge.gradients : edge.tangents;
    REQUIRE(expectations.size() == x.size());
    // Along one element at a time: the sum of J's column.
    for (std::size_t i = 0; i < x.size(); ++i) {
      REQUIRE(expectations[i].size() == static_cast<std::size_t>(x[i].size()));
      if (x[i].size() == 0) {  // without columns the product with the empty tangent is 0
        Tensors t(x.size());
        t[i] = x[i];
        INFO(edge.name << ", " << edge.point << ": operand " << i << " without elements");
        const Tensors dy = push([&](const Tensors& p) { return Tensors{edge.call(p)}; }, x, t);
        CHECK(all(equal(dy[0], 0)).item<bool>());
      }
      for (std::int64_t k = 0; k < x[i].size(); ++k) {
        std::vector<double> unit(static_cast<std::size_t>(x[i].size()));
        unit[static_cast<std::size_t>(k)] = 1;
        Tensors t(x.size());
        t[i] = from_data(unit, x[i].shape());
        const Tensors dy = push([&](const Tensors& p) { return Tensors{edge.call(p)}; }, x, t);
        const double got = sum(dy[0]).item(), expected = expectations[i][static_cast<std::size_t>(k)];
        INFO(edge.name << ", " << edge.point << ": element " << k << " of operand " << i << ": " << got << ", not "
                       << expected);
        // NaN, if another element's derivative is infinite: 0 times infinity.
        bool singular = false;
        for (std::size_t other = 0; other < expectations[i].size(); ++other)
          singular = singular || (other != static_cast<std::size_t>(k) && !std::isfinite(expectations[i][other]));
        CHECK((close({got}, {expected}, 1e-12) || (singular && std::isnan(got))));
      }
    }
  }
}

TEST_CASE("the derivative of hypot at the origin is zero to every order") {
  const auto f = [](const Tensor& x) { return sum(hypot(x, 0.0)) + sum(hypot(0.0, x)); };
  const Tensor x = tensor({0.0, 3.0}), v = tensor({1.0, 1.0});
  CHECK(grad(f)(x).to_vector() == std::vector<double>{0, 2});
  CHECK(hvp(f)(x, v).to_vector() == std::vector<double>{0, 0});
  CHECK(jvp(grad(f), x, v).second.to_vector() == std::vector<double>{0, 0});
}

TEST_CASE("ops with constant results are not connected") {
  const auto check = [](const char* name, const Tensors& x, const Tensor& y, GradientTape& tape) {
    for (const Gradient& g : tape.gradient(std::vector{y}, x)) {
      INFO(name << ": " << g.why_none());
      CHECK_FALSE(g);
      CHECK_FALSE(g.why_none().empty());
    }
  };
  support::Random random("constants");
  for (const cases::Pointwise& row : cases::pointwise()) {
    if (!(row.flags & cases::boolean_result)) continue;
    Tensors x;
    for (int i = 0; i < row.arity; ++i) x.push_back(random.tensor({5}));
    GradientTape tape;
    tape.watch(x);
    check(row.name, x, row.call(x), tape);
  }
  for (const auto table : cases::shaped_tables())
    for (const cases::Shaped& row : table) {
      if (!(row.flags & (cases::boolean_result | cases::constant))) continue;
      Tensors x;
      const std::vector<Shape> shapes = shapes_of(row)[0];
      for (const Shape& s : shapes) x.push_back(random.tensor(s, row.domain.low, row.domain.high));
      GradientTape tape;
      tape.watch(x);
      check(row.name, x, row.call(x), tape);
    }
}

TEST_CASE("the same tensor as both operands") {
  support::Random random("twice");
  for (const cases::Pointwise& row : cases::pointwise()) {
    if (row.arity != 2 || row.flags & cases::boolean_result) continue;
    const double low = std::max(row.domain[0].low, row.domain[1].low),
                 high = std::min(row.domain[0].high, row.domain[1].high);
    if (low >= high) continue;
    const Tensors x{random.tensor({7}, low, high)}, v{random.tensor({7})};
    const auto twice = [&](const Tensors& p) { return Tensors{row.call(std::vector{p[0], p[0]})}; };
    const Tensors both = pull([&](const Tensors& p) { return Tensors{row.call(p)}; }, {x[0], identity(x[0])}, v);
    const support::Difference d = difference(pull(twice, x, v), {both[0] + both[1]});
    INFO(row.name);
    CHECK(d.error <= 1e-13 * (1 + d.size));
  }
}

// At these points a derivative in the table changes between two formulas.
TEST_CASE("second derivatives at points where the first derivative switches between two formulas") {
  struct Point {
    const char* what;
    Tensor (*f)(const Tensor& x);
    double x, second;
  };
  const Point points[] = {
      {"sigmoid_cross_entropy at 0", [](const Tensor& x) { return sigmoid_cross_entropy(x, 0.3); }, 0, 0.25},
      {"elu at 0", [](const Tensor& x) { return elu(x, 1.5); }, 0, 1.5},
      {"logaddexp of x and x", [](const Tensor& x) { return logaddexp(x, 1.5); }, 1.5, 0.25},
      {"logaddexp of x and x, by the second", [](const Tensor& x) { return logaddexp(1.5, x); }, 1.5, 0.25},
      {"log_ndtr at 0", [](const Tensor& x) { return log_ndtr(x); }, 0, -2 / 3.14159265358979324},
      {"erfinv in the middle", [](const Tensor& x) { return erfinv(x); }, 0, 0},
      {"erfcinv in the middle", [](const Tensor& x) { return erfcinv(x); }, 1, 0},
      {"ndtri in the middle", [](const Tensor& x) { return ndtri(x); }, 0.5, 0},
  };
  for (const Point& p : points) {
    INFO(p.what);
    CHECK(grad(grad(p.f))(scalar(p.x)).item() == Approx(p.second).epsilon(1e-14));
  }
  // Derivatives by the parameter and by x: the slope at 0 is the parameter.
  for (Tensor (*f)(const Operand&, const Operand&) : {elu, leaky_relu}) {
    const auto by_parameter = [f](const Tensor& x) {
      return grad([&](const Tensor& a) { return f(x, a); })(scalar(1.5));
    };
    CHECK(grad(by_parameter)(scalar(0.0)).item() == 1);
  }
}

TEST_CASE("entries keep at most what the original lists allow (S20, S21)") {
  const auto saved = [](auto f, const Tensors& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    return tape.stats().saved_tensors;
  };
  using X = cases::Operands;
  const Tensors one{tensor({0.5, 0.25})}, two{tensor({0.5, 0.25}), tensor({0.75, 2.0})};
  // Ops in both lists keep nothing: the rule reads only the cotangent.
  CHECK(saved([](X x) { return negative(x[0]); }, one) == 0);
  CHECK(saved([](X x) { return identity(x[0]); }, one) == 0);
  CHECK(saved([](X x) { return sum(x[0]); }, one) == 0);
  CHECK(saved([](X x) { return reshape(x[0], {2, 1}); }, one) == 0);
  CHECK(saved([](X x) { return add(x[0], x[1]); }, two) == 0);
  CHECK(saved([](X x) { return subtract(x[0], x[1]); }, two) == 0);
  CHECK(saved([](X x) { return floor(x[0]); }, one) == 0);
  // Ops in one of the lists: the rule reads no input, or no output.
  CHECK(saved([](X x) { return exp(x[0]); }, one) == 1);
  CHECK(saved([](X x) { return tanh(x[0]); }, one) == 1);
  CHECK(saved([](X x) { return sin(x[0]); }, one) == 1);
  CHECK(saved([](X x) { return multiply(x[0], x[1]); }, two) == 2);
  CHECK(saved([](X x) { return multiply(x[0], 3.0); }, one) <= 1);
  CHECK(saved([](X x) { return softmax(x[0]); }, one) <= 1);
  CHECK(saved([](X x) { return log_softmax(x[0]); }, one) <= 1);
  CHECK(saved([](X x) { return power(x[0], 2.0); }, one) <= 2);
}

TEST_CASE("S21: a derivative from a result alone is right to the last digits of 1, and 0 where that rounds to 1") {
  const auto check = [](const char* what, Tensor (*f)(const Operand&), long double (*slope)(long double), DType dtype,
                        double rounding, double vanishes) {
    for (double x = 0.125; x < 45; x += 0.125) {
      INFO(what << " at " << x << " of " << name(dtype));
      const double got = grad(f)(cast(scalar(x), dtype)).item();
      CHECK(std::abs(static_cast<long double>(got) - slope(x)) <= rounding);
      if (x >= vanishes) CHECK(got == 0);
      if (x <= vanishes - 2) CHECK(got > 0);
    }
  };
  const auto tanh_slope = [](long double x) { return 1 / (std::cosh(x) * std::cosh(x)); };
  const auto sigmoid_slope = [](long double x) { return 1 / ((1 + std::exp(x)) * (1 + std::exp(-x))); };
  check("tanh", reel::tanh, tanh_slope, DType::float64, 0x1p-51, 19.125);
  check("tanh", reel::tanh, tanh_slope, DType::float32, 0x1p-22, 9.125);
  check("sigmoid", reel::sigmoid, sigmoid_slope, DType::float64, 0x1p-52, 37.5);
  check("sigmoid", reel::sigmoid, sigmoid_slope, DType::float32, 0x1p-23, 17.5);
  // Where the result is small it has its own digits.
  const double far = grad(reel::sigmoid)(scalar(-30.)).item();
  CHECK(std::abs(far / static_cast<double>(sigmoid_slope(-30)) - 1) < 1e-15);
}
