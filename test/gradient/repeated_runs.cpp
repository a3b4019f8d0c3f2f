// Functions that are run again for a derivative: what they keep, assign, and are passed.
#include <reel/compile.hpp>
#include <reel/control.hpp>
#include <reel/reel.hpp>
#include <reel/runtime.hpp>

#include "catch.hpp"
#include "support/bits.hpp"
#include "support/ramp.hpp"

using namespace reel;
using support::ramp;

TEST_CASE("scan with a budget: outputs that are parts of states do not keep the states") {
  constexpr std::int64_t elements = 16384, steps = 200, budget = 1 << 20;  // a state takes 128 KiB
  const Tensor x = ramp({elements}), rows = ramp({steps});
  const auto peak = [&](const auto& output) {
    GradientTape tape;
    tape.watch(x);
    const std::int64_t before = memory_stats().live_bytes;
    reset_peak_bytes();
    const auto [last, all] = scan(
        [&](const Tensor& a, const Tensor& e) {
          const Tensor next = a * .5 + e;
          return std::pair(next, output(next));
        },
        x, rows, {.memory_budget = budget});
    static_cast<void>(tape.gradient(sum(last) + sum(all), x));
    return memory_stats().peak_bytes - before;
  };
  CHECK(peak([](const Tensor& a) { return slice(a, {range(0, 4)}); }) < 3 * budget);
  CHECK(peak([](const Tensor& a) { return a[1]; }) < 3 * budget);
}

TEST_CASE("functions that are run again assign variables once") {
  const Variable n(zeros({2}), "n", false);
  const Tensor x = tensor({.3, .4});
  const auto step = [n](const Tensor& v) {
    n.assign_add(ones({2}));
    return sin(v);
  };
  const auto runs_after = [&](const auto& f) {
    const auto count = [&](const auto& derive) {
      n.assign(zeros({2}));
      derive();
      return n.read()[0].item();
    };
    const double once = count([&] { f(x); });
    CHECK(count([&] { grad([&](const Tensor& z) { return sum(f(z)); })(x); }) == once);
    CHECK(count([&] { jvp(f, x, x); }) == once);
    CHECK(count([&] {
            grad([&](const Tensor& y) { return sum(grad([&](const Tensor& z) { return sum(f(z)); })(y)); })(x);
          }) == once);
    return once;
  };
  CHECK(runs_after([&](const Tensor& z) { return checkpoint(step)(z); }) == 1);
  CHECK(runs_after([&](const Tensor& z) {
          return cond(
              sum(z) > 0., step, [](const Tensor& v) { return v; }, z);
        }) == 1);
  CHECK(runs_after([&](const Tensor& z) {
          return fori_loop(
              0, 3, [&](const Tensor&, const Tensor& v) { return step(v); }, z);
        }) == 3);
  for (const std::int64_t budget : {0, 1})
    CHECK(runs_after([&](const Tensor& z) {
            return scan([&](const Tensor& v, const Tensor& e) { return std::pair(step(v), e * v); }, z, ones({9, 2}),
                        {.memory_budget = budget})
                .first;
          }) == 9);
}

TEST_CASE("arguments of checkpoint, cond and loops are tensors of their own, op by op as in programs") {
  // The tape in the body differentiates by the captured tensor, which is not the argument.
  const auto body = [](const Tensor& x) {
    return [x](const Tensor& a) {
      GradientTape t;
      t.watch(x);
      t.watch(a);
      const Tensor y = sum(a * a * x);
      return *t.gradient(y, x);
    };
  };
  using Body = decltype(body(Tensor()));
  const std::vector<Tensor (*)(const Tensor&, const Body&)> forms{
      [](const Tensor& x, const Body& f) { return checkpoint(f)(x); },
      [](const Tensor& x, const Body& f) { return cond(sum(x) > 0., f, f, x); },
      [](const Tensor& x, const Body& f) {
        return fori_loop(
            0, 1, [f](const Tensor&, const Tensor& a) { return f(a); }, x);
      }};
  const Tensor x = ramp({3}, .2);
  for (const auto& form : forms) {
    const auto f = [&](const Tensor& z) { return form(z, body(z)); };
    CHECK(support::same_bits(f(x), x * x));
    CHECK(support::same_bits(compile(f)(x), x * x));
    GradientTape around;
    around.watch(x);
    CHECK(support::same_bits(f(x), x * x));
  }
}
