// Where bracketed_root, events, quad and odeint evaluate functions: counts and points of the published methods,
// computed by make_iterates.py.
#include "iterates.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <reel/ode.hpp>
#include <reel/solve/equations.hpp>
#include <reel/solve/integrate.hpp>
#include <string>

#include "catch.hpp"
#include "support/numbers.hpp"

using namespace reel;
using support::Doubles;

namespace {

// Whether these are as many numbers, equal to 1e-9 of the largest.
void check_points(const Doubles& got, const Doubles& expected) {
  REQUIRE(got.size() == expected.size());
  double scale = 0;
  for (const double x : expected) scale = std::max(scale, std::abs(x));
  for (std::size_t k = 0; k < got.size(); ++k) {
    INFO("point " << k);
    CHECK(got[k] == Approx(expected[k]).epsilon(1e-9).margin(1e-11 * scale));
  }
}

Tensor kowalik(const Tensor& x) {
  const Tensor e = exp(-x);
  return 1628 / x - 1013 - 1531 * e / (0.5 + 0.5 * e);
}
const std::map<std::string, EquationFunction> equations = {
    {"cubic", [](const Tensor& x) { return x * x * x - 2 * x - 5; }},
    {"bent", [](const Tensor& x) { return (x - 2.05) * (3 + x); }},
    {"mirrored", [](const Tensor& x) { return x * x * x - 2 * x + 5; }},
    {"pole", [](const Tensor& x) { return 1 - 1 / (x * x); }},
    {"triple", [](const Tensor& x) { return (x - 3) * (x - 3) * (x - 3); }},
    {"kowalik", kowalik},
    {"exponential", [](const Tensor& x) { return exp(x) - 1e-3; }},
};
const std::map<std::string, Tensor (*)(const Tensor&)> functions_of_time = {
    {"line", [](const Tensor& t) -> Tensor { return t - 0.7; }},
    {"cubic", [](const Tensor& t) -> Tensor { return (t - 11.3) * ((t - 11.3) * (t - 11.3) + 0.5); }},
    {"flat", [](const Tensor& t) -> Tensor { return (t - 0.3) * (t - 0.3) * (t - 0.3) * (1 + t); }},
    {"exponential", [](const Tensor& t) -> Tensor { return exp(3 * t) - 20; }},
    {"falling", [](const Tensor& t) -> Tensor { return 5 - exp(t); }},
    {"two", [](const Tensor& t) -> Tensor { return (t - 0.6) * (t - 2.9); }},
    {"through zero", [](const Tensor& t) -> Tensor { return exp(t + 1e-3) - 1; }},
    {"positive", [](const Tensor& t) -> Tensor { return t * t + 1; }},
    {"from a root", [](const Tensor& t) -> Tensor { return t - 3; }},
    {"to a root", [](const Tensor& t) -> Tensor { return t - 3; }},
    {"at a quarter", [](const Tensor& t) -> Tensor { return 2 - t; }},
    {"at an eighth", [](const Tensor& t) -> Tensor { return t - 1.5; }},
    {"early jump", [](const Tensor& t) -> Tensor { return where(t > -101.1, 1.0, -1.0); }},
    {"jump", [](const Tensor& t) -> Tensor { return where(t > 1.1, 1.0, -1.0); }},
};
const std::map<std::string, Integrand> integrands = {
    {"log", [](const Tensor& x) { return log(x); }},
    {"negative", [](const Tensor& x) { return -1 / (x - 0.8); }},
    {"wave", [](const Tensor& x) { return sin(9 * x) - 0.2; }},
    {"wave, wide", [](const Tensor& x) { return sin(9 * x) - 0.2; }},
    {"root", [](const Tensor& x) { return sqrt(x) - 2; }},
    {"exp", [](const Tensor& x) { return 2 - exp(x); }},
    {"constant", [](const Tensor& x) { return full_like(x, -3); }},
};
struct Problem {
  OdeFunction f;
  Doubles start;
};
const std::map<std::string, Problem> problems = {
    {"lotka_volterra",
     {[](const Tensor& y, const Tensor&) {
        return stack({1.5 * y(0) - y(0) * y(1), -3 * y(1) + y(0) * y(1)});
      },
      {10, 5}}},
    {"stiff", {[](const Tensor& y, const Tensor& t) { return -50 * (y - cos(t)); }, {0}}},
    {"growth", {[](const Tensor& y, const Tensor&) { return y; }, {1}}},
    {"sharp", {[](const Tensor& y, const Tensor& t) { return 1 / (0.001 + square(t - 1)) + 0 * y; }, {0.5}}},
    {"from zero", {[](const Tensor& y, const Tensor& t) { return t * t * t + 0 * y; }, {0}}},
    {"below", {[](const Tensor& y, const Tensor&) { return y; }, {-1}}},
    {"at rest", {[](const Tensor& y, const Tensor&) { return zeros_like(y); }, {2}}},
    {"slow", {[](const Tensor& y, const Tensor&) { return 1e-13 * y; }, {2}}},
};

}  // namespace

TEST_CASE("bracketed_root evaluates where Chandrupatla's method does") {
  for (const BracketCase& c : bracket_cases) {
    INFO(c.function << " from " << c.a << " to " << c.b << ", tolerance " << c.tolerance);
    Doubles points;
    const auto f = [&](const Tensor& x) {
      points.push_back(x.item());
      return equations.at(c.function)(x);
    };
    CHECK(bracketed_root(f, c.a, c.b, {.tolerance = c.tolerance}).item() == Approx(c.root).epsilon(1e-10));
    check_points(points, c.points);
    // That many iterations are enough, and one less is not.
    const auto iterations = static_cast<std::int64_t>(c.points.size()) - 2;
    const EquationFunction& g = equations.at(c.function);
    CHECK_NOTHROW(bracketed_root(g, c.a, c.b, {.tolerance = c.tolerance, .max_iterations = iterations}));
    CHECK_THROWS_AS(bracketed_root(g, c.a, c.b, {.tolerance = c.tolerance, .max_iterations = iterations - 1}),
                    ValueError);
  }
}

TEST_CASE("events are evaluated at the quarters of a step, and where Chandrupatla's method is") {
  for (const EventCase& c : event_cases) {
    INFO(c.function << " from " << c.start << " to " << c.end);
    Doubles points;
    std::size_t calls = 0;
    const auto g = [&](const Tensor& y, const Tensor& t) {
      points.push_back(t.item());
      CHECK(y.item() == Approx(square(t).item()).margin(1e-9));  // the solution there
      return functions_of_time.at(c.function)(t);
    };
    const auto f = [&](const Tensor&, const Tensor& t) {
      ++calls;
      return 2 * t;
    };
    const OdeEvents e = odeint_events(f, c.start * c.start, tensor({c.start, c.end}), {{g}},
                                      {.relative_tolerance = 1, .first_step = 1000});
    check_points(e.times[0].to_vector(), c.roots);
    // A step has seven stages, of which six are for the state; it is taken again for the results.
    CHECK(calls == 14 + 6 * (points.size() - 5 + c.roots.size()));
    CHECK(points.size() <= c.count + c.freedom);
    CHECK(points.size() + c.freedom >= c.count);
    const auto is_near = [&](double t) {
      return std::any_of(c.roots.begin(), c.roots.end(), [t](double root) { return std::abs(t - root) <= 1e-6; });
    };
    points.erase(std::find_if(points.begin(), points.end(), is_near), points.end());
    check_points(points, c.points);
  }
}

TEST_CASE("quad's first estimate is that of QUADPACK") {
  for (const QuadCase& c : quad_cases) {
    INFO(c.function << " from " << c.a << " to " << c.b);
    const Integrand& f = integrands.at(c.function);
    // The estimate is the least absolute tolerance that one interval reaches.
    const QuadOptions loose = {.tolerance = 0, .absolute_tolerance = c.error * (1 + 1e-6), .max_intervals = 1};
    const QuadOptions tight = {.tolerance = 0, .absolute_tolerance = c.error * (1 - 1e-6), .max_intervals = 1};
    const bool of_rounding = c.error < 1e-12;
    CHECK(quad(f, c.a, c.b, loose).item() == Approx(c.value).epsilon(1e-11));
    CHECK_THROWS_WITH(quad(f, c.a, c.b, tight), Catch::Contains("allow for more than 1 intervals"));
    CHECK(quad(f, c.b, c.a, loose).item() == Approx(-c.value).epsilon(1e-11));
    if (of_rounding) continue;
    const double relative = c.error / std::abs(c.value);
    CHECK_NOTHROW(quad(f, c.a, c.b, {relative * (1 + 1e-6), 0, 1}));
    CHECK_THROWS_AS(quad(f, c.a, c.b, {relative * (1 - 1e-6), 0, 1}), ValueError);
  }
}

TEST_CASE("odeint takes the steps of the published control, accepted and rejected ones") {
  for (const OdeCase& c : ode_cases) {
    INFO(c.function << " from " << c.start << " to " << c.end << ", tolerance " << c.relative << ", method "
                    << c.method);
    const Problem& p = problems.at(c.function);
    OdeOptions o = {
        .method = static_cast<OdeMethod>(c.method), .relative_tolerance = c.relative, .absolute_tolerance = c.absolute};
    Doubles times;
    const auto f = [&](const Tensor& y, const Tensor& t) {
      times.push_back(t.item());
      return p.f(y, t);
    };
    static_cast<void>(odeint(f, from_data(p.start), tensor({c.start, c.end}), o));
    const std::size_t stages = c.method == 0 ? 7 : 4, tries = c.times.size() - 2;
    REQUIRE(times.size() == 2 + stages * tries);
    Doubles starts = {times[0], times[1]};
    for (std::size_t k = 2; k < times.size(); k += stages) starts.push_back(times[k]);
    check_points(starts, c.times);
    // That many steps are enough, rejected ones among them, and one less is not.
    o.max_steps = static_cast<std::int64_t>(tries);
    CHECK_NOTHROW(odeint(p.f, from_data(p.start), tensor({c.start, c.end}), o));
    if (--o.max_steps == 0) continue;
    CHECK_THROWS_WITH(odeint(p.f, from_data(p.start), tensor({c.start, c.end}), o),
                      Catch::Contains("odeint: " + std::to_string(tries - 1) + " steps reach t ="));
  }
}
