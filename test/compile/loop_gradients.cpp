// Gradients of loops that are programs: a backward pass over the residuals of the steps, for loops of every shape, with
// and without a memory budget, inside compiled functions and with LoopOptions::compiled.
#include <reel/compile.hpp>
#include <reel/elementwise.hpp>
#include <reel/reel.hpp>
#include <reel/runtime.hpp>

#include "catch.hpp"
#include "check_close.hpp"
#include "support/bits.hpp"
#include "support/ramp.hpp"

using namespace reel;
using support::ramp;
using support::same_bits;

namespace {

// make(options) returns a function with a loop. Compares values and gradients, through the call, inside the program,
// and by a program of the loop alone, with the loop run op by op.
template <class Make>
void check_loop(const Make& make, const std::vector<Tensor>& at) {
  const auto plain = make(LoopOptions());
  for (const std::int64_t budget : {0, 1, 2000, 1000000}) {
    INFO("budget " << budget);
    const auto f = make({.memory_budget = budget}), whole = make({.memory_budget = budget, .compiled = true});
    const auto g = compile(f);
    const auto gradient = compile([&](const Tensor& y) { return grad(f)(y); });
    for (const Tensor& x : at) {
      const Tensor expected = grad(plain)(x), along = ramp(x.shape(), .4);
      const auto slope = [&](const auto& h) { return [&h](const Tensor& y) { return sum(grad(h)(y) * cos(y)); }; };
      const auto tangent = [&](const auto& h) {
        return [&h, along](const Tensor& y) { return jvp(h, y, along).second; };
      };
      const Tensor second = grad(slope(plain))(x), forward = jvp(slope(plain), x, along).second;
      check_close(jvp(g, x, along).second, tangent(plain)(x));
      check_close(compile([&](const Tensor& y) { return tangent(f)(y); })(x), tangent(plain)(x));
      check_close(grad(tangent(g))(x), grad(tangent(plain))(x));
      check_close(jvp(tangent(g), x, along).second, jvp(tangent(plain), x, along).second);
      for (const Tensor& got :
           {grad(slope(g))(x), grad(slope(whole))(x), compile([&](const Tensor& y) { return grad(slope(f))(y); })(x)})
        check_close(got, second);
      for (const Tensor& got : {jvp(slope(g), x, along).second,
                                compile([&](const Tensor& y) { return jvp(slope(f), y, along).second; })(x)})
        check_close(got, forward);
      CHECK(same_bits(g(x), plain(x)));
      CHECK(same_bits(whole(x), plain(x)));
      for (int again = 0; again < 2; ++again) {
        check_close(grad(g)(x), expected);
        check_close(gradient(x), expected);
        check_close(grad(whole)(x), expected);
      }
    }
  }
}

}  // namespace

TEST_CASE("gradients of compiled loops: variables that are swapped, unchanged or set to a constant") {
  check_loop(
      [](const LoopOptions& o) {
        return [o](const Tensor& x) {
          const auto [a, b, kept, last, i] =
              while_loop([](const auto&, const auto&, const auto&, const auto&, const Tensor& k) { return k < 7; },
                         [](const Tensor& p, const Tensor& q, const Tensor& r, const Tensor&, const Tensor& k) {
                           return std::tuple(p * .5 + q * r, p, r, ones({3}) * 2., k + 1);
                         },
                         std::tuple(x, x * 2., sin(x), x, scalar(std::int64_t{0})), o);
          return sum(a * b + kept * last);
        };
      },
      {ramp({3}), ramp({3}, .3)});
}

TEST_CASE("gradients of compiled loops: no iteration, one, and many") {
  for (const int n : {0, 1, 2, 65, 300})
    check_loop(
        [n](const LoopOptions& o) {
          return [n, o](const Tensor& x) {
            return sum(fori_loop(
                0, n, [x](const Tensor&, const Tensor& y) { return sin(y) * .9 + x; }, x * 3., o));
          };
        },
        {ramp({4})});
}

TEST_CASE("gradients of compiled loops: results of a body that are views, broadcast or transposed") {
  check_loop(
      [](const LoopOptions& o) {
        return [o](const Tensor& x) {
          const auto [a, b] =
              while_loop([](const Tensor& p, const Tensor&) { return sum(p * p) < 500.; },
                         [](const Tensor& p, const Tensor& q) {
                           return std::tuple(transpose(p) * 1.25 + q, broadcast_to(sum(p, {0}), {3, 3}));
                         },
                         std::tuple(x, x * x), o);
          return sum(a * transpose(b));
        };
      },
      {ramp({3, 3}, .1)});
  check_loop(
      [](const LoopOptions& o) {
        return [o](const Tensor& x) {
          return sum(while_loop([](const Tensor& p) { return p[0][0] < 90.; },
                                [](const Tensor& p) { return transpose(p) * 2.; }, x, o) *
                     x);
        };
      },
      {ramp({2, 2}, .1)});
  check_loop(  // parts of larger blocks, in a scan that is unrolled unless it is compiled
      [](const LoopOptions& o) {
        return [o](const Tensor& x) {
          const auto step = [](const Tensor& p, const Tensor& row) {
            const Tensor both = concatenate({sin(p), p * row});
            return std::pair(both(range(1, 4)), both(range(2, 4)));
          };
          const auto [last, rows] = scan(step, x[0], x, o);
          return sum(last) + sum(rows * rows);
        };
      },
      {ramp({4, 3}, .1)});
}

TEST_CASE("gradients of compiled loops: rows, outputs of several dtypes, and captured values") {
  const Tensor w = ramp({3, 3}, .2);
  const auto make = [w](const LoopOptions& o) {
    return [w, o](const Tensor& x) {
      const Tensor scale = exp(x[0]);
      const auto [last, all] = scan(
          [w, scale](const Tensor& c, const Tensor& e) {
            const Tensor n = tanh(matmul(w, c) + e * scale);
            return std::pair(n, std::tuple(argmax(n, 0), n * c, cast(n, DType::float32)));
          },
          x[1], x, o);
      return sum(last) + sum(std::get<1>(all) * x) + cast(sum(std::get<2>(all)), DType::float64) +
             cast(sum(std::get<0>(all)), DType::float64);
    };
  };
  check_loop(make, {ramp({80, 3}, -1)});
  // The gradient by the captured w, and by tensors that only a second tape follows.
  const auto by_captured = [&](const auto& f) {
    GradientTape tape;
    tape.watch(w);
    return *tape.gradient(f(ramp({80, 3})), w);
  };
  const Tensor expected = by_captured(make(LoopOptions()));
  check_close(by_captured(compile(make(LoopOptions()))), expected);
  check_close(by_captured(make({.compiled = true})), expected);
  check_close(by_captured(make({.memory_budget = 1, .compiled = true})), expected);
}

TEST_CASE("gradients of compiled loops: nested loops") {
  check_loop(
      [](const LoopOptions& o) {
        return [o](const Tensor& x) {
          return sum(while_loop([](const Tensor& y) { return sum(y) < 60.; },
                                [x, o](const Tensor& y) {
                                  return while_loop([](const Tensor& z) { return max(z) > 1.; },
                                                    [x, y](const Tensor& z) { return z * .5 + y * .01 * x; }, y * 3.,
                                                    o) +
                                         y + 1.;
                                },
                                x * 1., o));
        };
      },
      {ramp({3}, .1)});
}

TEST_CASE("gradients of compiled loops: a persistent tape computes several gradients from one run") {
  const auto f = [](const Tensor& x) {
    return while_loop([](const Tensor& y) { return sum(y) < 90.; }, [x](const Tensor& y) { return y * 1.2 + x; }, x);
  };
  const auto g = compile(f);
  const Tensor x = ramp({3}, .1);
  for (int i = 0; i < 3; ++i) {
    GradientTape lost, tape({.persistent = true}), plain;
    for (GradientTape* t : {&lost, &tape, &plain}) t->watch(x);
    const Tensor y = g(x), a = sum(y), b = sum(y * y), c = sum(square(f(x)));
    check_close(*tape.gradient(b, x), *plain.gradient(c, x));
    check_close(*tape.gradient(b, x) * 2., *tape.gradient(b * 2., x));
    CHECK(tape.gradient(a, x));
  }
}

TEST_CASE("gradients of compiled loops: the outer tape follows a tensor that the inner one does not") {
  const Tensor x = ramp({80, 2}, .2), z = ramp({2}, .4);
  const auto loop = [&](bool compiled) {
    GradientTape outer, inner;
    outer.watch(x);
    outer.watch(z);
    inner.watch(z);
    const Tensor y = sum(
        scan([](const Tensor& c, const Tensor& e) { return std::pair(sin(c * e), c); }, z, x, {.compiled = compiled})
            .second);
    const Tensor g = *inner.gradient(y, z);
    return std::pair(g, *outer.gradient(sum(g * g), x));
  };
  const auto expected = loop(false), got = loop(true);
  check_close(got.first, expected.first);
  check_close(got.second, expected.second);
  const auto inside = compile([&](const Tensor& a, const Tensor& b) {
    GradientTape outer, inner;
    outer.watch(a);
    outer.watch(b);
    inner.watch(b);
    const Tensor y = sum(scan([](const Tensor& c, const Tensor& e) { return std::pair(sin(c * e), c); }, b, a).second);
    const Tensor g = *inner.gradient(y, b);
    return std::pair(g, *outer.gradient(sum(g * g), a));
  })(x, z);
  check_close(inside.first, expected.first);
  check_close(inside.second, expected.second);
}

TEST_CASE("compiled loops stay within their memory budget", "[once]") {
  const Tensor x = ramp({1000}, .1);
  constexpr std::int64_t iterations = 400, budget = 30 * 8000;
  const auto make = [&](std::int64_t bytes) {
    return [bytes](const Tensor& y) {
      return sum(fori_loop(0, iterations, [](const Tensor&, const Tensor& z) { return sin(z) * 1.1 + .1; }, y,
                           {.memory_budget = bytes, .compiled = true}));
    };
  };
  const auto peak = [&](const auto& f) {
    GradientTape tape;
    tape.watch(x);
    const std::int64_t before = memory_stats().live_bytes;
    const Tensor y = f(x);
    return memory_stats().live_bytes - before;
  };
  CHECK(peak(make(budget)) < budget + 8 * 8000);
  CHECK(peak(make(0)) > iterations * 8000);
  // The peak memory of computing a derivative. A second one includes what the call keeps for a first.
  const auto most = [&](const auto& derivative) {
    derivative(x);
    const std::int64_t before = memory_stats().live_bytes;
    reset_peak_bytes();
    derivative(x);
    return memory_stats().peak_bytes - before;
  };
  const auto slope = [&](std::int64_t bytes) {
    return [f = make(bytes)](const Tensor& y) { return sum(grad(f)(y) * cos(y)); };
  };
  const auto second = [&](std::int64_t bytes) { return [s = slope(bytes)](const Tensor& y) { return grad(s)(y); }; };
  const auto forward = [&](std::int64_t bytes) {
    return [s = slope(bytes)](const Tensor& y) { return jvp(s, y, ones({1000})).second; };
  };
  constexpr std::int64_t both = 2 * budget + 16 * 8000;
  CHECK(most(second(budget)) < both);
  CHECK(most(forward(budget)) < both);
  CHECK(most(compile(second(budget))) < both);
  CHECK(most(compile(forward(budget))) < both);
  CHECK(most(compile(second(0))) > 2 * iterations * 8000);
  check_close(grad(make(budget))(x), grad(make(0))(x));
}

TEST_CASE("derivatives of compiled loops: second order, by captured tensors, loop variables and rows") {
  const Tensor w = ramp({3, 3}, .2), xs = ramp({80, 3});
  Variable v(ramp({3}, .3), "v");
  const auto make = [&](const LoopOptions& o) {
    return [w, v, o](const Tensor& x, const Tensor& rows) {
      const Tensor scale = exp(x);
      const auto [last, all] = scan(
          [w, v, scale](const Tensor& c, const Tensor& e) {
            const Tensor n = tanh(matmul(w, c) + e * scale * v);
            return std::pair(n, std::tuple(argmax(n, 0), n * c));
          },
          x, rows, o);
      return sum(last) + sum(std::get<1>(all) * rows);
    };
  };
  const Tensor x = ramp({3}, -.4), along = ramp({80, 3}, .1), wide = ramp({3, 3}, -.7);
  // The gradients of a gradient by everything, and its tangent along rows and captured tensors.
  const auto second = [&](const auto& f) {
    GradientTape outer;
    outer.watch(std::tuple(x, xs, w));
    const ForwardAccumulator accumulator({xs, w}, {along, wide});
    Tensor total;
    std::vector<Tensor> list;
    {
      GradientTape inner;
      inner.watch(std::tuple(x, xs, w));
      const auto g = inner.gradient(f(x, xs), std::tuple(x, xs, w, v));
      total =
          sum(*std::get<0>(g)) + sum(square(*std::get<1>(g))) + sum(*std::get<2>(g) * w) + sum(square(*std::get<3>(g)));
      list.push_back(accumulator.jvp(*std::get<1>(g)).dense());
    }
    const auto g = outer.gradient(total, std::tuple(x, xs, w, v));
    for (const Gradient& one : {std::get<0>(g), std::get<1>(g), std::get<2>(g), std::get<3>(g)})
      list.push_back(one.dense());
    return list;
  };
  const auto expected = second(make(LoopOptions()));
  for (const std::int64_t budget : {0, 1, 20000}) {
    INFO("budget " << budget);
    const auto f = make({.memory_budget = budget});
    for (const auto& got : {second(f), second(compile(f)), second(make({.memory_budget = budget, .compiled = true}))})
      for (std::size_t k = 0; k < expected.size(); ++k) check_close(got[k], expected[k]);
  }
}

TEST_CASE("derivatives of compiled loops: steps create no tensor, to second order") {
  const Tensor x = ramp({3}, .1), along = ramp({3}, .4);
  const auto f = [](const Tensor& y, const Tensor& count) {
    return sum(std::get<1>(
        while_loop([count](const Tensor& i, const Tensor&) { return i < count; },
                   [y](const Tensor& i, const Tensor& z) { return std::tuple(i + 1., z + .01 * (sin(z) - y * z)); },
                   std::tuple(scalar(0.), y))));
  };
  const auto slope = [&](const Tensor& y, const Tensor& n) {
    return grad([&](const Tensor& z) { return f(z, n); })(y);
  };
  const auto tangent = compile(
      [&](const Tensor& y, const Tensor& n) { return jvp([&](const Tensor& z) { return f(z, n); }, y, along).second; });
  const auto forward = compile([&](const Tensor& y, const Tensor& n) {
    return jvp([&](const Tensor& z) { return slope(z, n); }, y, along).second;
  });
  const auto reverse = compile([&](const Tensor& y, const Tensor& n) {
    return grad([&](const Tensor& z) { return sum(square(slope(z, n))); })(y);
  });
  const auto made_by = [&](const auto& program, double iterations) {
    const Tensor n = scalar(iterations);
    program(x, n);
    const std::uint64_t before = zeros({}).id();
    program(x, n);
    return zeros({}).id() - before;
  };
  CHECK(made_by(tangent, 1000) < made_by(tangent, 10) + 100);
  CHECK(made_by(forward, 1000) < made_by(forward, 10) + 100);
  CHECK(made_by(reverse, 1000) < made_by(reverse, 10) + 100);
}

TEST_CASE("gradients of compiled loops keep no more than op by op: a wave equation") {
  const Tensor start = sin(ramp({64, 64}, .3)), speed = ramp({64, 64}, .1) * 1e-5;
  const auto peak = [](const auto& f, const Tensor& x) {
    f(x);  // traced
    const std::int64_t before = memory_stats().live_bytes;
    reset_peak_bytes();
    f(x);
    return memory_stats().peak_bytes - before;
  };
  constexpr std::int64_t state_bytes = 64 * 64 * sizeof(double);
  const auto check_peak = [&](const auto& force, bool recomputed = false) {
    const auto gradient = [=](const Tensor& c) {
      return grad([=](const Tensor& by) {
        const auto [last, before_last] = fori_loop(
            0, 300,
            [=](const Tensor&, const Tensor& now, const Tensor& before) {
              return std::tuple(2. * now - before + by * force(now), now);
            },
            std::tuple(start, start * .9));
        return sum(last * last) + sum(before_last);
      })(c);
    };
    const auto program = compile(gradient);
    CHECK(same_bits(program(speed), gradient(speed)));
    const std::int64_t of_program = peak(program, speed);  // a run has memory for a few states, whatever the steps
    CHECK(of_program < peak(gradient, speed) + 4 * state_bytes);
    if (recomputed) CHECK(of_program < 300 * state_bytes * 3 / 2);
  };
  check_peak([](const Tensor& u) { return tanh(u) - sin(u) * .4; }, true);
  check_peak([](const Tensor& u) { return roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4. * u; });
  const Tensor weight = full({64, 64}, .5);
  const auto neighbours = [](auto by, auto a, auto b, auto c, auto d, auto e) { return by * (b + c + d + e - 4. * a); };
  check_peak(
      [=](const Tensor& u) {
        const Tensor right = concatenate({slice(u, {all, range(1, 64)}), slice(u, {all, range(0, 1)})}, 1);
        return elementwise(neighbours, weight, u, roll(u, 1, 0), roll(u, -1, 0), roll(u, 1, 1), right);
      },
      true);
  check_peak(
      [](const Tensor& u) {
        const Tensor above = pad(slice(u, {range(1, 64)}), {0, 0}, {1, 0});
        return where(above > u, above * u, tanh(above));
      },
      true);
  const Tensor kernel = reshape(tensor({0., 1., 0., 1., -4., 1., 0., 1., 0.}), {1, 1, 3, 3});
  check_peak([kernel](const Tensor& u) {
    return reshape(conv2d(reshape(u, {1, 1, 64, 64}), kernel, {.padding = Padding::same}), {64, 64});
  });
}

TEST_CASE("gradients of compiled loops: variables passed on to others, in turns, and for several steps") {
  check_loop(
      [](const LoopOptions& o) {
        return [o](const Tensor& x) {
          using T = const Tensor&;
          const auto [i, a, b, c, d, e, f] =
              while_loop([](T k, T, T, T, T, T, T) { return k < 9; },
                         [](T k, T p, T q, T r, T s, T t, T u) {  // a line of three, a pair that swaps, one that stays
                           return std::tuple(k + 1, sin(p) * q + r * .5, p, q, t, s, u);
                         },
                         std::tuple(0, x, x * 2., cos(x), x * x, exp(x), x * .3), o);
          return sum(a * b + c * d + e * f * x);
        };
      },
      {ramp({3}), ramp({3}, .3)});
}
