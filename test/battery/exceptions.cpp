// Exceptions of user functions, thrown at every call of every kind of callback. Only that exception propagates, no
// tensor stays alive, and the same program gives the same results afterwards.
#include <functional>
#include <reel/elementwise.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <reel/testing.hpp>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace reel;

namespace {

struct Thrown {};  // has no base class, so a handler for std::exception does not catch it

// Counts calls, and throws at call number `fatal`.
class Countdown {
 public:
  explicit Countdown(int fatal) : fatal_(fatal) {}
  void operator()() {
    if (++calls_ == fatal_) throw Thrown();
  }
  int calls() const { return calls_; }

 private:
  int fatal_, calls_ = 0;
};

using Results = std::vector<Tensor>;

struct Scenario {
  std::string name;
  std::function<Results(Countdown&)> run;
};

const Shape shape{3};
Tensor point() { return tensor({0.5, -0.25, 1.5}); }

template <class F>
Results value_and_gradient(const F& f, const Tensor& x) {
  auto [y, g] = value_and_grad(f)(x);
  return {y, g};
}
template <class F>
Results second_order(const F& f, const Tensor& x) {
  return {hessian(f)(x), hvp(f)(x, ones(shape))};
}

// A custom square whose function, rule and tangent call tick.
auto squared(Countdown& tick) {
  return custom_gradient(
      [&tick](const Tensor& x) {
        tick();
        return std::pair(x * x, [x, &tick](const Tensor& dy) {
          tick();
          return 2 * x * dy;
        });
      },
      [&tick](const std::tuple<Tensor>& x, const std::tuple<Tensor>& t) {
        tick();
        return 2 * std::get<0>(x) * std::get<0>(t);
      });
}

class Hooks : public VSpace {
 public:
  explicit Hooks(Countdown& tick) : tick_(tick) {}
  std::int64_t num_elements(const Gradient& g) const override { return tick_(), VSpace::num_elements(g); }
  Gradient aggregate(std::span<const Gradient> terms) const override { return tick_(), VSpace::aggregate(terms); }
  Tensor zeros(const Shape& s, DType d) const override { return tick_(), VSpace::zeros(s, d); }
  Tensor ones(const Shape& s, DType d) const override { return tick_(), VSpace::ones(s, d); }

 private:
  Countdown& tick_;
};

Results with_hooks(Countdown& tick, AggregationMethod method) {
  const Hooks hooks(tick);
  const Tensor x = point();
  GradientTape tape({.vspace = &hooks});
  tape.watch(x);
  const std::vector<Tensor> parts = split(x * x, 3);
  const Tensor y = x * 2 + x * x + tanh(x) + x * parts[1];
  return {*tape.gradient(y, x, {.aggregation_method = method})};
}

Results registered(Countdown& tick) {
  const GradientRegistry::OverrideGuard guard("tanh", [&tick](const RecordedOp& op, std::span<const Gradient> dy) {
    tick();
    const Tensor z = op.outputs[0].defined() ? op.outputs[0] : tanh(op.inputs[0]);
    return std::vector<Gradient>{*dy[0] * (1 - z * z)};
  });
  return value_and_gradient([](const Tensor& x) { return sum(tanh(x) * tanh(2 * x)); }, point());
}

Results recorded_operation(Countdown& tick) {
  const Tensor x = point();
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = stop_gradient(x) * 3;
  const Tensor inputs[] = {x}, outputs[] = {y};
  record_operation("triple", inputs, outputs, [&tick](std::span<const Gradient> dy) {
    tick();
    return std::vector<Gradient>{*dy[0] * 3};
  });
  const Tensor z = sum(y * y);
  return {*tape.gradient(z, x), *tape.gradient(z, x), tape.jacobian(y, x).dense()};
}

Results looped(Countdown& tick, const LoopOptions& options) {
  const Variable rate(scalar(0.5), "rate");
  const auto f = [&](const Tensor& x) {
    auto [n, last] = while_loop(
        [&tick](const Tensor& i, const Tensor&) {
          tick();
          return i < 4;
        },
        [&tick, &rate](const Tensor& i, const Tensor& s) {
          tick();
          return std::tuple(i + 1, tanh(s * rate + 0.1));
        },
        std::tuple(scalar<std::int64_t>(0), x), options);
    return sum(last);
  };
  Results all = value_and_gradient(f, point());
  GradientTape tape;
  all.push_back((tape.gradient(f(point()), rate)).dense());
  return all;
}

Results scanned(Countdown& tick) {
  const auto f = [&tick](const Tensor& x) {
    return sum(scan(
                   [&tick](const Tensor& s, const Tensor& i) {
                     tick();
                     const Tensor next = s * i + 1;
                     return std::pair(next, next * next);
                   },
                   scalar(1.0), x, {.memory_budget = 64})
                   .second);
  };
  Results all = value_and_gradient(f, point());
  for (const Tensor& t : second_order(f, point())) all.push_back(t);
  return all;
}

Results branched(Countdown& tick) {
  const auto f = [&tick](const Tensor& x) {
    return sum(cond(
        sum(x) > 0,
        [&tick](const Tensor& a) {
          tick();
          return a * a * a;
        },
        [](const Tensor& a) { return a; }, x));
  };
  Results all = second_order(f, point());
  all.push_back(jvp(f, point(), ones(shape)).second);
  return all;
}

Results recomputed(Countdown& tick) {
  const auto f = [&tick](const Tensor& x) {
    return sum(checkpoint([&tick](const Tensor& a) {
      tick();
      return exp(a) * a;
    })(x));
  };
  Results all = value_and_gradient(f, point());
  for (const Tensor& t : second_order(f, point())) all.push_back(t);
  return all;
}

Results accumulated(Countdown& tick) {
  const auto square_of = squared(tick);
  const Tensor x = point();
  ForwardAccumulator outer(x, ones(shape));
  ForwardAccumulator inner(x, 2 * ones(shape));
  const Tensor y = square_of(square_of(x));
  return {*outer.jvp(y), *inner.jvp(y), *outer.jvp(inner.jvp(y))};
}

Results persistent(Countdown& tick) {
  const auto square_of = squared(tick);
  const Tensor x = point();
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = square_of(x * 2) * x;
  tape.stop();
  Results all;
  for (int i = 0; i < 2; ++i) all.push_back(*tape.gradient(y, x));
  all.push_back(tape.jacobian(y, x).dense());
  return all;
}

Results fused(Countdown& tick) {
  const auto f = [&tick](const Tensor& x) {
    return sum(elementwise(
        [&tick](auto a) {
          tick();
          return a * tanh(a);
        },
        x));
  };
  return value_and_gradient(f, point());
}

Results traced(Countdown& tick) {
  struct Restore {
    ~Restore() {
      set_trace_sink(nullptr);
      set_tracing(false);
    }
  } restored;
  set_trace_sink([](std::string_view, void* context) { (*static_cast<Countdown*>(context))(); }, &tick);
  set_tracing(true);
  return value_and_gradient([](const Tensor& x) { return sum(x * tanh(x)); }, point());
}

Results fitted(Countdown& tick) {
  const Tensor t = linspace(0, 1, 6), data = exp(-2 * t);
  return {levenberg_marquardt(
              [&](const Tensor& p) {
                tick();
                return exp(-1 * p[0] * t) * p[1] - data;
              },
              tensor({1., 0.5}), {.max_iterations = 4})
              .parameters};
}

Results checked(Countdown& tick) {
  const CheckReport report = check_gradients(
      [&tick](const Tensor& x) {
        tick();
        return sum(x * x);
      },
      point());
  return {scalar(report.passed)};
}

std::vector<Scenario> scenarios() {
  return {
      {"custom_gradient",
       [](Countdown& c) { return value_and_gradient([&](const Tensor& x) { return sum(squared(c)(x)); }, point()); }},
      {"custom_gradient, second order",
       [](Countdown& c) { return second_order([&](const Tensor& x) { return sum(squared(c)(x)); }, point()); }},
      {"custom_gradient, persistent tape and Jacobian", persistent},
      {"custom_gradient under two accumulators", accumulated},
      {"VSpace, add_n", [](Countdown& c) { return with_hooks(c, AggregationMethod::add_n); }},
      {"VSpace, tree", [](Countdown& c) { return with_hooks(c, AggregationMethod::tree); }},
      {"VSpace, accumulate_n", [](Countdown& c) { return with_hooks(c, AggregationMethod::accumulate_n); }},
      {"a rule that replaces tanh's", registered},
      {"record_operation", recorded_operation},
      {"while_loop", [](Countdown& c) { return looped(c, {}); }},
      {"while_loop with a memory budget", [](Countdown& c) { return looped(c, {.memory_budget = 64}); }},
      {"scan, second order, with a memory budget", scanned},
      {"cond, second order", branched},
      {"checkpoint, second order", recomputed},
      {"elementwise", fused},
      {"a trace sink", traced},
      {"levenberg_marquardt", fitted},
      {"check_gradients", checked},
      {"linearize",
       [](Countdown& c) {
         auto [y, push] = linearize([&](const Tensor& x) { return squared(c)(x); }, point());
         return Results{y, push(ones(shape)), push(point())};
       }},
      {"make_vjp",
       [](Countdown& c) {
         auto [y, pull] = make_vjp([&](const Tensor& x) { return squared(c)(x); })(point());
         return Results{y, pull(ones(shape)).dense(), pull(point()).dense()};
       }},
  };
}

}  // namespace

TEST_CASE("an exception from any callback leaves nothing behind") {
  for (const Scenario& scenario : scenarios()) {
    Countdown never(0);
    const Results expected = scenario.run(never);
    REQUIRE(never.calls() > 0);
    for (int fatal = 1; fatal <= never.calls(); ++fatal) {
      INFO(scenario.name << ", call " << fatal << " of " << never.calls());
      const std::int64_t live = memory_stats().live_tensors;
      Countdown tick(fatal);
      CHECK_THROWS_AS(scenario.run(tick), Thrown);
      CHECK(memory_stats().live_tensors == live);
    }
    Countdown again(0);
    const Results got = scenario.run(again);
    INFO(scenario.name);
    CHECK(again.calls() == never.calls());
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(array_equal(got[i], expected[i]));
  }
}

TEST_CASE("a persistent tape whose rule threw gives the same gradient at the next call") {
  bool armed = false;
  const auto twice = custom_gradient([&armed](const Tensor& x) {
    return std::pair(2 * x, [&armed](const Tensor& dy) {
      if (armed) throw Thrown();
      return 2 * dy;
    });
  });
  const Tensor x = point();
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * twice(x * x) * exp(x);
  tape.stop();
  const Tensor expected = *tape.gradient(y, x);
  for (int i = 0; i < 3; ++i) {
    armed = true;
    CHECK_THROWS_AS(tape.gradient(y, x), Thrown);
    armed = false;
    CHECK(array_equal(*tape.gradient(y, x), expected));
  }
}

TEST_CASE("a tape that is not persistent is used up when a rule throws") {
  const auto refuse = custom_gradient(
      [](const Tensor& x) { return std::pair(2 * x, [](const Tensor&) -> Tensor { throw Thrown(); }); });
  const Tensor x = point();
  GradientTape tape;
  tape.watch(x);
  const Tensor y = refuse(x);
  CHECK_THROWS_AS(tape.gradient(y, x), Thrown);
  CHECK_THROWS_AS(tape.gradient(y, x), TapeError);
}
