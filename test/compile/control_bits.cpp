// Gradients of loops, branches and checkpoints have the same bits inside a program as op by op: terms are added in the
// order of one replay.
#include <functional>
#include <reel/compile.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/bits.hpp"
#include "support/ramp.hpp"
#include "support/warnings.hpp"

using namespace reel;
using support::ramp;
using support::same_bits;

namespace {

using Function = std::function<Tensor(const Tensor&)>;

// Read more than once by each body: their gradients are sums of many terms.
struct Shared {
  Variable w{sin(ramp({5}, .7)), "w"};
  Tensor c = cos(ramp({5}, .3) * 3.);
  Tensor body(const Tensor& a) const { return tanh(a * w + c) * .7 + sin(w) * cos(a) * c + w * .1; }
};

void check_bits(const Function& f, const Shared& s) {
  const auto by = [f](const Source& source, bool persistent = false) {
    return [f, source, persistent](const Tensor& x) {
      GradientTape t({.persistent = persistent});
      if (!source.is_variable()) t.watch(source.tensor());
      const Tensor y = f(x);
      return *t.gradient(sum(y * cos(y)), {source}, {.unconnected_gradients = UnconnectedGradients::zero})[0];
    };
  };
  const auto by_x = [f](const Tensor& x) {
    return grad([&](const Tensor& z) {
      const Tensor y = f(z);
      return sum(y * cos(y));
    })(x);
  };
  const WarningLog quiet;  // persistent tapes record their own replays
  for (int k = 0; k < 4; ++k) {
    INFO("at " << k);
    const Tensor x = sin(ramp({5}, .1 + k) * (1. + k)) * .8;
    CHECK(same_bits(compile(by(s.w))(x), by(s.w)(x)));
    CHECK(same_bits(compile(by(s.c))(x), by(s.c)(x)));
    for (const Source& source : {Source(s.w), Source(s.c)}) {  // derivatives that a tape follows
      CHECK(same_bits(by(source, true)(x), by(source)(x)));
      CHECK(same_bits(compile(by(source, true))(x), by(source)(x)));
      GradientTape around;
      around.watch(x);
      CHECK(same_bits(by(source)(x), compile(by(source))(x)));
    }
    CHECK(same_bits(compile(by_x)(x), by_x(x)));
    CHECK(same_bits(grad(compile([f](const Tensor& z) { return sum(f(z)); }))(x),
                    grad([f](const Tensor& z) { return sum(f(z)); })(x)));
  }
}

}  // namespace

TEST_CASE("bits of gradients in programs: fori_loop, while_loop, loops in loops") {
  const Shared s;
  check_bits(
      [s](const Tensor& x) {
        return fori_loop(
            0, 9, [s](const Tensor&, const Tensor& a) { return s.body(a); }, x);
      },
      s);
  check_bits(
      [s](const Tensor& x) {
        return while_loop([](const Tensor& a) { return sum(a * a) < 30.; },
                          [s](const Tensor& a) { return s.body(a) + a * 1.2; }, x);
      },
      s);
  check_bits(
      [s](const Tensor& x) {
        return fori_loop(
            0, 3,
            [s, x](const Tensor&, const Tensor& a) {
              return fori_loop(
                         0, 3, [s, a, x](const Tensor&, const Tensor& b) { return s.body(b) + a * b * x; }, a) +
                     a * s.w;
            },
            x);
      },
      s);
}

TEST_CASE("bits of gradients in programs: scans under every budget") {
  const Shared s;
  for (const std::int64_t budget : {0, 1, 4000, 40000})
    for (const std::int64_t steps : {4, 70}) {
      INFO("budget " << budget << ", steps " << steps);
      const LoopOptions o{.memory_budget = budget};
      const Tensor rows = sin(ramp({steps, 5}, .1) * 5.);
      const auto check_scan = [&](const auto& f) {
        const auto with = [=](const LoopOptions& options) {
          return [=](const Tensor& x) {
            const auto [last, all] = scan(f, std::pair(x, x * .5), rows, options);
            return sum(all.first * all.second, {0}) + last.first * last.second;
          };
        };
        check_bits(with(o), s);
        const Tensor x = cos(ramp({5}, .4));
        const auto gradients = [&](const LoopOptions& options) {
          GradientTape t;
          t.watch(x), t.watch(s.c);
          const Tensor y = with(options)(x);
          return t.gradient(sum(y * cos(y)), std::tuple(x, s.c, s.w));
        };
        const auto [by_x, by_c, by_w] = gradients(o);
        const auto [x0, c0, w0] = gradients({});
        CHECK((same_bits(*by_x, *x0) && same_bits(*by_c, *c0) && same_bits(*by_w, *w0)));
      };
      using State = std::pair<Tensor, Tensor>;
      check_scan([s](const State& z, const Tensor& e) {  // the next state is an output, and passed on twice
        const Tensor n = s.body(z.first) + e * z.second;
        return std::pair(std::pair(n, z.first), std::pair(n, n * s.w));
      });
      check_scan([s](const State& z, const Tensor& e) {
        const Tensor n = s.body(z.first) + e * z.second;
        return std::pair(std::pair(n, n), std::pair(n, n));
      });
      check_scan([s](const State& z, const Tensor& e) {  // captured tensors and rows are passed on
        const Tensor n = s.body(z.first) * z.second + e * z.second;
        return std::pair(std::pair(n, s.c), std::pair(e, s.c));
      });
      check_scan([s](const State& z, const Tensor& e) {  // the variable itself is an output
        const Tensor n = s.body(z.first) + e * z.second;
        return std::pair(std::pair(n, n), std::pair(n, s.w.read()));
      });
      check_scan([s](const State& z, const Tensor& e) {  // gradients of parts, with zeros around them
        const Tensor n =
            tanh(z.first * Tensor(s.w)[1] + slice(s.w, {range(2, 4)})[0] * e[2] * s.c[1] + relu(s.c * z.second));
        return std::pair(std::pair(n, z.first * .5), std::pair(n * s.c[4], n));
      });
    }
}

TEST_CASE("bits of gradients in programs: branches and checkpoints, also in loops") {
  const Shared s;
  check_bits(
      [s](const Tensor& x) {
        return cond(
                   sum(x) > .2, [s](const Tensor& a) { return s.body(a) + a * a * s.c; },
                   [s](const Tensor& a) { return s.body(a * a) + a; }, x) *
               x;
      },
      s);
  check_bits(
      [s](const Tensor& x) {
        return fori_loop(
            0, 9,
            [s, x](const Tensor&, const Tensor& a) {
              return checkpoint([s](const Tensor& b) { return s.body(s.body(b)) + b * s.c; })(a) + a * s.w * x;
            },
            x);
      },
      s);
}
