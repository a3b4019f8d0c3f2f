// Events of odeint: roots in closed form, their derivatives, what counts as a root; derivatives by times of any order,
// and the continuous adjoint.
#include <cmath>
#include <limits>
#include <numbers>
#include <reel/compile.hpp>
#include <reel/ode.hpp>
#include <reel/runtime.hpp>

#include "catch.hpp"
#include "linalg/check.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using Catch::StartsWith;
using support::largest;
using support::Tensors;

namespace {

constexpr double pi = std::numbers::pi;
const OdeOptions fine = {.relative_tolerance = 1e-12, .absolute_tolerance = 1e-14};
// Steps of length 0.1, 1 and the rest.
OdeOptions coarse(OdeMethod method, std::int64_t budget = 0) { return {method, 1e6, 1e6, 0.1, 100, budget}; }

// Of [height, speed] under gravity p.
OdeFunction falling(const Tensor& p) {
  return [p](const Tensor& y, const Tensor&) { return stack({y(1), -p * ones_like(y(1))}); };
}
OdeEvent component(std::int64_t k, int direction = 0, bool terminal = false) {
  return {[k](const Tensor& y, const Tensor&) { return y(k); }, direction, terminal};
}
const OdeFunction turning = [](const Tensor& y, const Tensor&) { return stack({-y(1), y(0)}); };
const OdeFunction at_rest = [](const Tensor& y, const Tensor&) { return zeros_like(y); };

// Values and gradients in both modes of f are those of `exact`, and so on for their gradients.
void check_like(support::Function f, support::Function exact, const Tensors& x, int orders, double tolerance) {
  for (int order = 0; order < orders; ++order) {
    support::Random random("directions");
    const Tensors y = exact(x), v = random.like(y), along = random.like(x);
    INFO("order " << order);
    CHECK(support::difference(f(x), y).error < tolerance);
    CHECK(support::difference(support::pull(f, x, v), support::pull(exact, x, v)).error < 10 * tolerance);
    CHECK(support::difference(support::push(f, x, along), support::push(exact, x, along)).error < 10 * tolerance);
    f = support::gradient_of(f, v);
    exact = support::gradient_of(exact, v);
  }
}

}  // namespace

TEST_CASE("the time and state of a terminal event are those of a fall, derivatives to order 3") {
  OdeAdjoint adjoint = OdeAdjoint::discrete;
  const auto fall = [&](const Tensors& x) {
    const OdeEvents e = odeint_events(falling(x[0]), x[1], tensor({0, 1, 5}), {component(0, -1, true)},
                                      {.relative_tolerance = 1e-10, .absolute_tolerance = 1e-12, .adjoint = adjoint});
    CHECK(e.stopped_by == 0);
    CHECK(e.y.shape() == Shape{2, 2});
    return Tensors{e.times[0], e.states[0], e.y};
  };
  const auto exact = [](const Tensors& x) {
    const Tensor &p = x[0], h = x[1](0), v = x[1](1), t = (v + sqrt(square(v) + 2 * p * h)) / p;
    const auto at = [&](const Tensor& time) { return stack({h + v * time - 0.5 * p * square(time), v - p * time}); };
    return Tensors{stack({t}), stack({at(t)}), stack({x[1], at(scalar(1.0))})};
  };
  check_like(fall, exact, {scalar(1.5), tensor({2.0, 1.0})}, 3, 1e-13);
  adjoint = OdeAdjoint::continuous;
  check_like(fall, exact, {scalar(1.5), tensor({2.0, 1.0})}, 2, 1e-10);
}

TEST_CASE("derivatives of events are those of the steps taken, to order 3 in both modes") {
  for (const OdeMethod method : {OdeMethod::dormand_prince, OdeMethod::rosenbrock}) {
    INFO("method " << static_cast<int>(method));
    linalg::check(
        [&](const Tensors& p) {
          const OdeFunction f = [k = p[0]](const Tensor& y, const Tensor& t) {
            return stack({y(1), -k * sin(y(0)) + 0.3 * t * y(1)});
          };
          const OdeEvent event = {[level = p[2]](const Tensor& y, const Tensor& t) { return y(0) - level * t; }};
          const OdeEvents e = odeint_events(f, p[1], tensor({0, 0.3, 3}), {event}, coarse(method, 4096));
          return Tensors{e.times[0], e.states[0], e.y};
        },
        {scalar(1.3), tensor({0.6, -0.2}), scalar(0.2)}, {.order = 3, .slack = 20});
  }
}

TEST_CASE("several events, several roots, directions, and times backwards") {
  const std::vector<OdeEvent> events = {component(0), component(1, -1), component(1, 1)};
  for (const auto& [backwards, adjoint] : {std::pair{false, OdeAdjoint::discrete},
                                           {true, OdeAdjoint::discrete},
                                           {false, OdeAdjoint::continuous},
                                           {true, OdeAdjoint::continuous}}) {
    INFO("backwards " << backwards << ", adjoint " << static_cast<int>(adjoint));
    const Tensor t = tensor({0, 1, 10});
    OdeOptions o = fine;
    o.adjoint = adjoint;
    const OdeEvents e = odeint_events(turning, tensor({1, 0}), backwards ? -t : t, events, o);
    CHECK(e.stopped_by == -1);
    CHECK(e.y.shape() == Shape{3, 2});
    const double sign = backwards ? -1 : 1;
    // Backwards, the second component is the negative of what it is forwards.
    const std::vector<double> down = {pi, 3 * pi}, up = {2 * pi};
    CHECK(largest(sign * e.times[0] - tensor({pi / 2, 1.5 * pi, 2.5 * pi})) < 1e-10);
    CHECK(largest(sign * e.times[backwards ? 2 : 1] - from_data(down)) < 1e-10);
    CHECK(largest(sign * e.times[backwards ? 1 : 2] - from_data(up)) < 1e-10);
    CHECK(largest(e.states[0] - sign * tensor({{0, 1}, {0, -1}, {0, 1}})) < 1e-10);
  }
  // Two events in one step, which is one of odeint: nothing after the terminal one is reported.
  OdeOptions one_step = {.first_step = 4, .longest_step = 4};
  const auto at = [](double time, bool terminal) {
    return OdeEvent{[time](const Tensor&, const Tensor& t) { return t - time; }, 0, terminal};
  };
  for (const bool terminal : {false, true}) {
    const OdeEvents e = odeint_events(at_rest, 2.0, tensor({0, 0.2, 0.7, 2.9, 4}),
                                      {at(3, false), at(0.5, false), at(0.7, terminal), at(0.7, false)}, one_step);
    CHECK(e.times[0].size() == (terminal ? 0 : 1));
    CHECK(e.times[1].to_vector() == std::vector<double>{0.5});
    CHECK(e.times[2].item() == Approx(0.7).epsilon(1e-15));
    CHECK(e.times[3].size() == (terminal ? 0 : 1));
    CHECK(e.stopped_by == (terminal ? 2 : -1));
    CHECK(e.states[0].shape() == (terminal ? Shape{0} : Shape{1}));
    CHECK(e.y.size() == (terminal ? 3 : 5));
  }
  // Two roots of one event: a quarter of the step must lie between them.
  const auto both = [&](double first, double second) {
    const OdeEvent event = {[=](const Tensor&, const Tensor& t) { return (t - first) * (t - second); }};
    return odeint_events(at_rest, 0.0, tensor({0, 4}), {event}, one_step).times[0].size();
  };
  CHECK(both(0.7, 1.2) == 2);
  CHECK(both(0.2, 0.8) == 0);
  one_step.longest_step = 0.5;
  CHECK(both(0.2, 0.8) == 2);
}

TEST_CASE("an event at the start is none, one at the last time is; roots that touch zero") {
  const auto roots = [](const Tensor& start, const OdeEvent& event, const Tensor& times) {
    return odeint_events(at_rest, start, times, {event}, {.first_step = 4}).times[0];
  };
  const auto squared = [](double time) {
    return OdeEvent{[time](const Tensor& y, const Tensor& t) { return sum(y) - square(t - time); }};
  };
  const OdeEvent linear = {[](const Tensor&, const Tensor& t) { return t - 1; }};
  CHECK(roots(tensor({0}), linear, tensor({1, 5})).size() == 0);
  const OdeEvent just_after = {[](const Tensor&, const Tensor& t) { return t - (1 + 0x1p-49); }};
  CHECK(roots(tensor({0}), just_after, tensor({1, 5})).size() == 0);
  CHECK(roots(tensor({0}), linear, tensor({0, 1})).to_vector() == std::vector<double>{1});
  CHECK(roots(tensor({0}), linear, tensor({1})).size() == 0);
  // A touch is a root where a quarter of a step hits it; its time has no derivative.
  CHECK(roots(tensor({0}), squared(1), tensor({0, 4})).to_vector() == std::vector<double>{1});
  CHECK(roots(tensor({0}), squared(1.1), tensor({0, 4})).size() == 0);
  CHECK(roots(tensor({1e-4}), squared(1), tensor({0, 4})).size() == 2);
  CHECK_THROWS_WITH(grad([&](const Tensor& y) {
                      return roots(y, squared(1), tensor({0, 4}));
                    })(tensor({0})),
                    Contains("odeint_events: event 0 touches zero"));
  // A ball that bounces: each flight starts at the event that ended the one before.
  Tensor y = tensor({1, 0}), t = scalar(0.0);
  for (int bounce = 0; bounce < 4; ++bounce) {
    const OdeEvents e = odeint_events(falling(scalar(2.0)), y, stack({t, t + 10.0}), {component(0, 0, true)}, fine);
    REQUIRE(e.stopped_by == 0);
    t = e.times[0](0);
    CHECK(t.item() == Approx(bounce == 0 ? 1 : 1 + 2 * (1 - std::pow(0.5, bounce))).epsilon(1e-13));
    y = e.states[0](0) * tensor({1, -0.5});
  }
}

TEST_CASE("events: dtypes, tapes, variables and what is wrong") {
  const Tensor y0 = tensor({1, 0}), t = tensor({0, 2});
  const OdeEvents narrow = odeint_events(turning, cast(y0, DType::float32), t, {component(0)});
  CHECK(narrow.times[0].dtype() == DType::float32);
  CHECK(narrow.times[0].item() == Approx(pi / 2).epsilon(1e-6));
  const Variable level(scalar(0.5), "level");
  const OdeEvent event = {[level](const Tensor& y, const Tensor&) { return y(1) - level; }};
  const OdeEvents alone = odeint_events(turning, y0, t, {event}, fine);
  GradientTape tape;
  const OdeEvents e = odeint_events(turning, y0, t, {event}, fine);
  CHECK(array_equal(e.times[0], alone.times[0]));
  CHECK(array_equal(e.states[0], alone.states[0]));
  CHECK(array_equal(e.y, odeint(turning, y0, t, fine)));
  CHECK(tape.gradient(e.times[0], level).dense().item() == Approx(1 / std::sqrt(0.75)).epsilon(1e-10));
  const auto with = [&](const OdeFunction& g) { odeint_events(turning, y0, t, {component(0), {g}}); };
  CHECK_THROWS_WITH(with({}), Contains("odeint_events: the function of event 1 is empty"));
  CHECK_THROWS_WITH(odeint_events(turning, y0, t, {{[](const Tensor& y, const Tensor&) { return y(1); }, 2}}),
                    Contains("the direction of event 0 is 2; it must be -1, 0 or 1"));
  CHECK_THROWS_WITH(with([](const Tensor&, const Tensor&) { return Tensor(); }),
                    Contains("odeint_events: event 1 returned an empty"));
  CHECK_THROWS_WITH(with([](const Tensor& y, const Tensor&) { return y; }), Contains("event 1 returned shape [2]"));
  CHECK_THROWS_WITH(with([](const Tensor& y, const Tensor&) { return y(0) > 0; }), Contains("event 1 returned bool"));
  CHECK_THROWS_WITH(with([](const Tensor& y, const Tensor& s) { return y(0) + log(1 - s); }),
                    Contains("odeint_events: event 1 is NaN"));
  CHECK_THROWS_WITH(odeint_events(turning, y0, y0 * std::numeric_limits<double>::quiet_NaN(), {component(0)}),
                    StartsWith("odeint_events: time 0 is nan"));
  for (const OdeAdjoint adjoint : {OdeAdjoint::discrete, OdeAdjoint::continuous})
    CHECK_THROWS_WITH(
        odeint_events([](const Tensor& y, const Tensor&) { return y(0); }, y0, t, {component(0)}, {.adjoint = adjoint}),
        StartsWith("odeint_events: the function turns y of shape [2] into []"));
  CHECK_THROWS_AS(odeint(turning, y0, t, {.longest_step = -1}), ValueError);
  CHECK(odeint_events(turning, y0, t, {}).times.empty());
}

TEST_CASE("derivatives by times have any order, with those by parameters among them") {
  const Tensor k = scalar(0.8), last = scalar(1.5);
  const auto at = [](const Tensor& rate, const Tensor& start, const Tensor& end) {
    const OdeFunction f = [rate](const Tensor& y, const Tensor&) { return -rate * y; };
    return odeint(f, 2.0, stack({start, end}), fine)(1);
  };
  std::function<Tensor(const Tensor&)> by_end = [&](const Tensor& t) { return at(k, scalar(0.2), t); };
  std::function<Tensor(const Tensor&)> by_start = [&](const Tensor& t) { return at(k, t, last); };
  std::function<Tensor(const Tensor&)> by_rate_and_end = [&](const Tensor& t) {
    return grad([&](const Tensor& rate) { return at(rate, scalar(0.2), t); })(k);
  };
  const double value = 2 * std::exp(-0.8 * 1.3);
  for (int order = 0; order < 8; ++order) {
    INFO("order " << order);
    CHECK(by_end(last).item() == Approx(value * std::pow(-0.8, order)).epsilon(1e-8));
    CHECK(by_start(scalar(0.2)).item() == Approx(value * std::pow(0.8, order)).epsilon(1e-8));
    if (order < 7)
      CHECK(by_rate_and_end(last).item() == Approx(value * std::pow(-0.8, order) * (order / 0.8 - 1.3)).epsilon(1e-8));
    by_end = grad(by_end), by_start = grad(by_start), by_rate_and_end = grad(by_rate_and_end);
  }
}

TEST_CASE("the continuous adjoint agrees with the discrete one, by all that f reads, to order 2") {
  const auto solution = [](OdeMethod method, OdeAdjoint adjoint, double tolerance) {
    return [=](const Tensors& x) {
      const OdeFunction f = [k = x[0], c = x[2]](const Tensor& y, const Tensor& t) {
        return stack({y(1), -k * sin(y(0)) + real(make_complex(t, t) * c) * y(1)});
      };
      return Tensors{odeint(f, x[1], x[3],
                            {.method = method,
                             .relative_tolerance = tolerance,
                             .absolute_tolerance = tolerance,
                             .max_steps = 100000,
                             .adjoint = adjoint})};
    };
  };
  const Tensors x = {scalar(1.3), tensor({0.4, -0.2}), make_complex(0.1, -0.2), tensor({0, 0.7, 1})};
  const auto complex_apart = [](const support::Function& f) {
    return [f](const Tensors& p) { return f({p[0], p[1], make_complex(p[2], p[3]), p[4]}); };
  };
  const Tensors real_x = {x[0], x[1], real(x[2]), imag(x[2]), x[3]};
  check_like(complex_apart(solution(OdeMethod::dormand_prince, OdeAdjoint::continuous, 1e-11)),
             complex_apart(solution(OdeMethod::dormand_prince, OdeAdjoint::discrete, 1e-11)), real_x, 2, 1e-8);
  check_like(complex_apart(solution(OdeMethod::rosenbrock, OdeAdjoint::continuous, 1e-5)),
             complex_apart(solution(OdeMethod::dormand_prince, OdeAdjoint::discrete, 1e-11)), real_x, 1, 2e-3);
  // Cotangents as small as the tolerance lose no digits, and variables are found.
  const Variable k(scalar(0.8), "k");
  GradientTape tape;
  const Tensor y = odeint([k](const Tensor& z, const Tensor&) { return -k * z; }, 2.0, tensor({0, 1}),
                          {.relative_tolerance = 1e-8, .adjoint = OdeAdjoint::continuous});
  CHECK(tape.gradient(1e-20 * y(1), k).dense().item() == Approx(-2e-20 * std::exp(-0.8)).epsilon(1e-7));
}

TEST_CASE("the memory of the continuous adjoint does not grow with the number of steps") {
  const Tensor k = scalar(0.9), start = ones({200});
  const auto run = [&](OdeAdjoint adjoint, double longest) {
    std::int64_t calls = 0;
    const OdeFunction f = [&calls, k](const Tensor& y, const Tensor& t) {
      ++calls;
      return cos(t) - k * y;
    };
    const std::int64_t before = memory_stats().live_bytes;
    reset_peak_bytes();
    GradientTape tape;
    tape.watch(k);
    const Tensor y = odeint(f, start, tensor({0, 1, 2}), {.adjoint = adjoint, .longest_step = longest});
    const std::int64_t kept = tape.stats().entries;
    static_cast<void>(tape.gradient(sum(y(2)), k));
    struct {
      std::int64_t calls, peak, entries;
    } const result = {calls, memory_stats().peak_bytes - before, kept};
    return result;
  };
  const auto few = run(OdeAdjoint::continuous, 0.1);
  const std::int64_t live = memory_stats().live_bytes;
  const auto many = run(OdeAdjoint::continuous, 0.005);
  CHECK(memory_stats().live_bytes == live);
  CHECK(many.calls > 10 * few.calls);
  CHECK(many.entries == few.entries);
  CHECK(many.peak < few.peak + 65536 + 16384);
  CHECK(run(OdeAdjoint::discrete, 0.005).peak > 10 * many.peak);
}
