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
  // Up to the root of a terminal event: three steps, their quarters in the last one, two steps again and the root's.
  calls = 0;
  static_cast<void>(odeint_events(f, 1.0, tensor({0, 100}), {at(2.5, true)}, steps_of(1)));
  CHECK(calls == 3 * 7 + 3 * 6 + 2 * 6 + 6);
}

TEST_CASE("the continuous adjoint solves from each time or root to the next, in both directions") {
  for (const double sign : {1.0, -1.0}) {
    int calls = 0;
    const OdeFunction f = [&calls](const Tensor& y, const Tensor&) {
      ++calls;
      return -y;
    };
    OdeOptions o = steps_of(0.5);
    o.adjoint = OdeAdjoint::continuous;
    const OdeEvents e =
        odeint_events(f, 1.0, sign * tensor({0, 1, 2, 3, 4}), {at(sign * 1.5), at(sign * 2), at(sign * 2.5)}, o);
    // Eight steps, before three of them the quarters of events at their ends; eight steps between times and roots.
    CHECK(calls == 8 * 7 + 3 * 3 * 6 + 8 * 7);
    CHECK(largest(e.y * exp(sign * tensor({0, 1, 2, 3, 4})) - 1) < 1e-3);
    CHECK(e.states[1].item() == e.y[2].item());
  }
}

TEST_CASE("memory budgets: several steps without output are one loop, two are not; float32 too") {
  const OdeFunction f = [](const Tensor& y, const Tensor& t) { return cos(t) - y; };
  const auto run = [&](const Tensor& y0, const Tensor& t, std::int64_t budget) {
    OdeOptions o = steps_of(1);
    o.memory_budget = budget;
    GradientTape tape;
    tape.watch(y0);
    const Tensor y = odeint(f, y0, t, o);
    return std::pair(y, static_cast<std::int64_t>(tape.stats().entries));
  };
  const Tensor shorter = tensor({0, 12.5}), longer = tensor({0, 12.5, 15.5}), start = scalar(1.0);
  const auto first = run(start, shorter, 0), both = run(start, longer, 0), looped = run(start, shorter, 4096),
             both_looped = run(start, longer, 4096);
  CHECK(looped.second < first.second / 3);
  CHECK(both_looped.second - looped.second == both.second - first.second);
  CHECK(array_equal(both.first, both_looped.first));
  const auto narrow = run(scalar(1.0F), longer, 4096);
  CHECK(narrow.first.dtype() == DType::float32);
  CHECK(array_equal(narrow.first, run(scalar(1.0F), longer, 0).first));
}

TEST_CASE("a function may read y0 itself: that is no part of rosenbrock's Jacobian") {
  const Tensor y0 = tensor({1.0, 2.0}), copy = y0 + 0.0, t = tensor({0, 1});
  const auto of = [&](const Tensor& read) {
    return odeint([read](const Tensor& y, const Tensor& s) { return -50 * (y - read) + s; }, y0, t,
                  {.method = OdeMethod::rosenbrock, .relative_tolerance = 1e-3});
  };
  CHECK(array_equal(of(y0), of(copy)));
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
  // Norms and slopes at the limits below which they say nothing.
  const auto first = [](double start, double slope, std::size_t k) {
    Doubles times;
    const auto constant = [&](const Tensor& y, const Tensor& t) {
      times.push_back(t.item());
      return full_like(y, slope);
    };
    const OdeOptions o = {.relative_tolerance = 0, .absolute_tolerance = 1, .max_steps = 100};
    static_cast<void>(odeint(constant, start, tensor({0, 1}), o));
    return times[k];
  };
  CHECK(first(1e-5, 1, 1) == Approx(1e-7));
  CHECK(first(9.9e-6, 1, 1) == Approx(1e-6));
  CHECK(first(1e-3, 1e-5, 1) == Approx(1));
  CHECK(first(1e-3, 9.9e-6, 1) == Approx(1e-6));
  CHECK(first(1, 1e-15, 3) == Approx(0.2e-6));
  CHECK(first(1, 1.1e-15, 3) == Approx(0.2e-4));
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
  CHECK_THROWS_WITH(odeint(at_rest, 1.0, tensor({1, 2, 1})), Contains("time 2 is 1; times must ascend"));
  // The result has an axis more than y0.
  const Shape most(std::vector<std::int64_t>(max_rank, 1));
  CHECK_THROWS_WITH(odeint(at_rest, zeros(most), t), Contains("odeint: the result would have rank 33"));
}
