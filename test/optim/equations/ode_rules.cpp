// odeint and its events: counts of evaluations under a tape, the start of a solution, which events are roots and end
// it, what is refused.
#include <cmath>
#include <limits>
#include <reel/ode.hpp>

#include "catch.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::Doubles;
using support::largest;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const OdeFunction at_rest = [](const Tensor& y, const Tensor&) { return zeros_like(y); };
OdeEvent at(double time, bool terminal = false) {
  return {[time](const Tensor&, const Tensor& t) { return t - time; }, 0, terminal};
}
// Steps of one length, whatever their errors are.
OdeOptions steps_of(double length) { return {.relative_tolerance = 1e6, .first_step = length, .longest_step = length}; }

}  // namespace

TEST_CASE("odeint evaluates the accepted steps again under a tape, with all stages where an output needs them") {
  int calls = 0;
  const OdeFunction f = [&calls](const Tensor& y, const Tensor&) {
    ++calls;
    return -y;
  };
  const auto count = [&](bool recorded, const Tensor& t, const OdeOptions& o) {
    calls = 0;
    const Tensor y0 = scalar(1.0);
    if (!recorded) return odeint(f, y0, t, o), calls;
    GradientTape tape;
    tape.watch(y0);
    static_cast<void>(odeint(f, y0, t, o));
    return calls;
  };
  const Tensor ends = tensor({0, 4}), many = tensor({0, 0.3, 0.6, 1.5, 4});
  // Four steps without a choice of the first one.
  CHECK(count(false, ends, steps_of(1)) == 4 * 7);
  CHECK(count(true, ends, steps_of(1)) == 4 * 7 + 3 * 6 + 7);
  CHECK(count(false, many, steps_of(1)) == 4 * 7);
  CHECK(count(true, many, steps_of(1)) == 4 * 7 + 2 * 7 + 6 + 7);
  // After the root of a terminal event nothing is evaluated again.
  calls = 0;
  static_cast<void>(odeint_events(f, 1.0, ends, {at(2.5, true)}, steps_of(1)));
  const int to_the_root = calls;
  calls = 0;
  static_cast<void>(odeint_events(f, 1.0, tensor({0, 100}), {at(2.5, true)}, steps_of(1)));
  CHECK(calls == to_the_root);
}

TEST_CASE("rosenbrock steps do not depend on the shape of y") {
  const auto run = [](const Shape& shape) {
    int calls = 0;
    const auto f = [&](const Tensor& y, const Tensor& t) {
      ++calls;
      const Tensor z = reshape(y, {4});
      return reshape(stack({-50 * z(0) + z(1), cos(t) - z(1), 1e3 - z(2) * z(3), 0.1 * z(0)}), shape);
    };
    const Tensor y = odeint(f, reshape(tensor({1., 1e-3, 100., 2.}), shape), tensor({0, 1}),
                            {.method = OdeMethod::rosenbrock, .relative_tolerance = 1e-4});
    return std::pair(calls, reshape(y, {2, 4}));
  };
  const auto flat = run({4});
  for (const Shape& shape : {Shape{4, 1}, {1, 4}, {2, 2}}) {
    const auto other = run(shape);
    CHECK(other.first == flat.first);
    CHECK(array_equal(other.second, flat.second));
  }
}

TEST_CASE("the first step of odeint, the last one, and steps that are too short") {
  // Slopes that are infinite or NaN where the first step is looked for.
  for (const double beyond : {inf, std::nan("")}) {
    const auto ends = [&](const Tensor& y, const Tensor& t) { return y * where(t > 1e-3, beyond, 1.0); };
    CHECK(odeint(ends, 1.0, tensor({0, 5e-4}))[1].item() == Approx(std::exp(5e-4)).epsilon(1e-9));
    CHECK_THROWS_WITH(odeint(ends, 1.0, tensor({0, 1})), Contains("odeint: the steps become too short at t = 0.00"));
  }
  // A solution that ends at t = 1.
  CHECK_THROWS_WITH(odeint([](const Tensor& y, const Tensor&) { return square(y); }, 1.0, tensor({0, 2})),
                    Contains("odeint: the steps become too short at t = 1"));
  for (const double start : {inf, -inf, std::nan("")})
    CHECK_THROWS_WITH(odeint(at_rest, start, tensor({0, 1})),
                      Contains("odeint: y0 or the function at the start is infinite or NaN"));
  CHECK_THROWS_WITH(odeint([](const Tensor& y, const Tensor&) { return y / 0.0; }, 1.0, tensor({0, 1})),
                    Contains("odeint: y0 or the function at the start is infinite or NaN"));
  // One step reaches an end that is not the sum of the start and the difference.
  int calls = 0;
  const auto counted = [&](const Tensor& y, const Tensor&) {
    ++calls;
    return ones_like(y);
  };
  CHECK(odeint(counted, 0.0, tensor({-1, 1e-20}), {.first_step = 5})[1].item() == Approx(1));
  CHECK(calls == 7);
  CHECK_NOTHROW(odeint(at_rest, 1.0, tensor({0, 1}), {.first_step = 1, .max_steps = 1}));
}

TEST_CASE("a root is none within rounding of the start, whatever that is, and is one anywhere else") {
  const auto count = [](double start, double end, double time, double length = 100) {
    return odeint_events(at_rest, 1.0, tensor({start, end}), {at(time)}, steps_of(length)).times[0].size();
  };
  for (const double sign : {1.0, -1.0}) {
    CHECK(count(sign * 1000, sign * 1004, sign * (1000 + 4e-12)) == 0);
    CHECK(count(sign * 1000, sign * 1004, sign * (1000 + 4e-11)) == 1);
    CHECK(count(0, sign * 4, sign * 2e-14) == 0);
    CHECK(count(0, sign * 4, sign * 2e-13) == 1);
    // The same just after a later step begins.
    CHECK(count(0, sign * 4, sign * (2 + 2e-15), 2) == 1);
  }
}

TEST_CASE(
    "terminal events: the first in time ends the solution, in both directions, and nothing after it is reported") {
  for (const double sign : {1.0, -1.0}) {
    const OdeEvents e =
        odeint_events(at_rest, 1.0, sign * tensor({0, 0.5, 1.5, 2, 3.5, 4}),
                      {at(sign * 1.75, true), at(sign * 3), at(sign * 1), at(sign * 1.25, false)}, steps_of(100));
    CHECK(e.stopped_by == 0);
    CHECK(e.y.size() == 3);
    CHECK(e.times[0].item() == Approx(sign * 1.75).epsilon(1e-15));
    CHECK(e.times[1].size() == 0);
    CHECK(e.times[2].to_vector() == Doubles{sign * 1});
    CHECK(e.times[3].size() == 1);
    const OdeEvents later =
        odeint_events(at_rest, 1.0, sign * tensor({0, 4}), {at(sign * 3, true), at(sign * 1.3, true)}, steps_of(100));
    CHECK(later.stopped_by == 1);
    CHECK(later.times[0].size() == 0);
  }
}

TEST_CASE("events of other shapes and dtypes than y, and complex ones") {
  const OdeFunction rises = [](const Tensor& y, const Tensor&) { return ones_like(y); };
  const Tensor level = scalar(2.0);
  const auto time = [&](const Tensor& p) {
    const OdeEvent event = {[p](const Tensor& y, const Tensor&) {
      return reshape(cast(square(y(0)) - p, DType::float32), {1, 1});
    }};
    return odeint_events(rises, zeros({1}), tensor({0, 4}), {event}, steps_of(1)).times[0](0);
  };
  CHECK(time(level).item() == Approx(std::sqrt(2.0)).epsilon(1e-6));
  CHECK(time(level).shape().rank() == 0);
  CHECK(grad(time)(level).item() == Approx(1 / std::sqrt(8.0)).epsilon(1e-6));
  CHECK_THROWS_WITH(odeint_events(rises, 1.0, tensor({0, 1}),
                                  {{[](const Tensor& y, const Tensor& t) { return make_complex(y, t); }}}),
                    Contains("odeint_events: event 0 returned complex128; it must be real and floating"));
}

TEST_CASE("odeint refuses options and times one by one, and takes those at the limits") {
  const Tensor t = tensor({0, 1});
  const auto with = [&](const OdeOptions& o) { return odeint(at_rest, 1.0, t, o); };
  for (const auto& [relative, absolute] :
       {std::pair{std::nan(""), 1.0}, {1.0, std::nan("")}, {-1.0, 2.0}, {2.0, -1.0}, {0.0, 0.0}})
    CHECK_THROWS_WITH(with({.relative_tolerance = relative, .absolute_tolerance = absolute}),
                      Contains("odeint: tolerances are ") && Contains("at least 0, and one of them above"));
  CHECK_NOTHROW(with({.relative_tolerance = 1, .absolute_tolerance = 0}));
  CHECK_NOTHROW(with({.relative_tolerance = 0, .absolute_tolerance = 1}));
  for (const OdeOptions& o : {OdeOptions{.first_step = -1}, {.max_steps = 0}, {.memory_budget = -1}})
    CHECK_THROWS_WITH(with(o), Contains("odeint: first_step is ") && Contains("they must be at least 0, 1 and 0"));
  CHECK_THROWS_WITH(with({.longest_step = -1}), Contains("odeint: longest_step is -1; it must be at least 0"));
  CHECK_THROWS_WITH(with({.method = static_cast<OdeMethod>(2)}), Contains("odeint: there is no such method"));
  CHECK_THROWS_WITH(with({.adjoint = static_cast<OdeAdjoint>(2)}), Contains("odeint: there is no such adjoint"));
  for (const int direction : {-2, 2})
    CHECK_THROWS_WITH(odeint_events(at_rest, 1.0, t, {{at(0.5).function, direction}}),
                      Contains("it must be -1, 0 or 1"));
  CHECK_THROWS_WITH(odeint(at_rest, 1.0, tensor({2, 1, 1})),
                    Contains("odeint: time 2 is 1; times must ascend or descend"));
  CHECK_THROWS_WITH(odeint(at_rest, 1.0, tensor({1, 2, 2})),
                    Contains("odeint: time 2 is 2; times must ascend or descend"));
  CHECK_THROWS_WITH(odeint(at_rest, 1.0, tensor({1, 2, 1})), Contains("times must ascend or descend strictly"));
  // The result has an axis more than y0.
  const Shape most(std::vector<std::int64_t>(max_rank, 1));
  CHECK_THROWS_WITH(odeint(at_rest, zeros(most), t), Contains("odeint: the result would have rank 33"));
}
