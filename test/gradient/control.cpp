// while_loop, scan and cond: S122-S124, single entries, memory under a budget.
#include <cmath>
#include <functional>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/warnings.hpp"

using namespace reel;
using Catch::Contains;

namespace {

bool close(double a, double b) { return std::abs(a - b) <= 1e-12 * (1 + std::abs(b)); }
bool close(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item() <= 1e-12 * (1 + max(abs(b)).item()); }

constexpr std::int64_t budgets[] = {0, 1, 600, 100000};

}  // namespace

TEST_CASE("S122: a while_loop has the derivatives of the unrolled loop, in every order, mode and budget") {
  const Variable w(scalar(1.1), "w");
  const Tensor k = scalar(0.9), x = scalar(0.7);
  const auto step = [&](const Tensor& s) { return sin(s * w) + k * 0.1; };
  const auto plain = [&](const Tensor& v) {
    Tensor s = v;
    for (int i = 0; i < 20; ++i) s = step(s);
    return s;
  };
  for (std::int64_t budget : budgets) {
    INFO("budget " << budget);
    const auto loop = [&](const Tensor& v) {
      return std::get<1>(while_loop([](const Tensor& i, const Tensor&) { return less(i, 20); },
                                    [&](const Tensor& i, const Tensor& s) { return std::tuple(i + 1, step(s)); },
                                    std::tuple(scalar(std::int64_t{0}), v), {.memory_budget = budget}));
    };
    CHECK(loop(x).item() == plain(x).item());
    const WarningLog growth;  // collects the warning about a gradient on an active tape
    GradientTape tape({.persistent = true});
    tape.watch(std::pair(x, k));
    const auto a = tape.gradient(loop(x), {x, k, w}), b = tape.gradient(plain(x), {x, k, w});
    for (std::size_t i = 0; i < 3; ++i) CHECK(close((*a[i]).item(), (*b[i]).item()));
    CHECK(close(grad(grad(loop))(x).item(), grad(grad(plain))(x).item()));
    CHECK(close(jvp(loop, x, 1.0).second.item(), grad(plain)(x).item()));
    CHECK(close(jvp(grad(loop), x, 1.0).second.item(), grad(grad(plain))(x).item()));
    CHECK(
        close(grad([&](const Tensor& v) { return jvp(loop, v, 1.0).second; })(x).item(), grad(grad(plain))(x).item()));
  }
}

TEST_CASE("S122: one entry on the tape, whatever the number of iterations") {
  const Tensor x = ones({4});
  for (std::int64_t budget : budgets)
    for (int n : {0, 1, 1000}) {
      GradientTape tape;
      tape.watch(x);
      int i = 0;
      const Tensor y = while_loop([&](const Tensor&) { return i++ < n; }, [](const Tensor& s) { return s * 1.001; }, x,
                                  {.memory_budget = budget});
      CHECK(tape.stats().entries == 1);
      CHECK(close(*tape.gradient(y, x), full({4}, std::pow(1.001, n))));
    }
}

TEST_CASE("S122: loops without iterations, unused results and loop invariants") {
  const Tensor x = scalar(2.0), k = scalar(3.0);
  for (std::int64_t budget : budgets) {
    const LoopOptions options{.memory_budget = budget};
    const auto never = [](const auto&...) { return false; };
    const Tensor unchanged = grad([&](const Tensor& v) {
      return while_loop(
          never, [](const Tensor& s) { return s * s; }, v, options);
    })(x);
    CHECK(unchanged.item() == 1.0);

    // Two results, one of them unused: its initial value gets zeros. If none is used, no initial value has a gradient.
    const WarningLog growth;  // collects the warning about a gradient on an active tape
    GradientTape tape({.persistent = true});
    const Tensor y = scalar(5.0);
    tape.watch(std::tuple(x, y, k));
    int i = 0;
    const auto [a, b] = while_loop([&](const Tensor&, const Tensor&) { return i++ < 3; },
                                   [&](const Tensor& p, const Tensor& q) { return std::tuple(p * k, q + 1.0); },
                                   std::tuple(x, y), options);
    const auto g = tape.gradient(a, {x, y, k});
    CHECK((*g[0]).item() == 27.0);
    REQUIRE(g[1]);
    CHECK((*g[1]).item() == 0.0);
    CHECK((*g[2]).item() == 3 * 9 * 2.0);  // the invariant's gradients of all iterations
    CHECK_FALSE(tape.gradient(stop_gradient(a + b), x));
  }
}

TEST_CASE("S123: a gradient inside the body of a loop") {
  const Tensor x = scalar(0.5);
  int i = 0;
  const auto newton = [&](const Tensor& start) {
    i = 0;
    return while_loop([&](const Tensor&) { return i++ < 8; },
                      [](const Tensor& s) {
                        GradientTape tape;
                        tape.watch(s);
                        const Tensor f = s * s - 2.0;
                        return s - f / *tape.gradient(f, s);
                      },
                      start);
  };
  CHECK(close(newton(x).item(), std::sqrt(2.0)));
  // An inner tape sees nothing of what was made before it.
  while_loop([&, n = 0](const Tensor&) mutable { return n++ < 1; },
             [&](const Tensor& s) {
               GradientTape tape;
               const Tensor y = x * s;
               CHECK_FALSE(tape.gradient(y, x));
               return s;
             },
             x);
}

TEST_CASE("S124: cond runs only the chosen branch") {
  const Tensor x = scalar(0.0), k = scalar(3.0);
  int wrong = 0;
  const auto f = [&](const Tensor& v) {
    return cond(
        greater_equal(v, 0), [&](const Tensor& p) { return p * k + p * p; },
        [&](const Tensor& p) {
          ++wrong;
          return log(p);
        },
        v);
  };
  CHECK(grad(f)(x).item() == 3.0);  // no 0 times infinity from the logarithm
  CHECK(grad(grad(f))(x).item() == 2.0);
  CHECK(jvp(f, x, 1.0).second.item() == 3.0);
  CHECK(wrong == 0);
  GradientTape tape;
  tape.watch(std::pair(x, k));
  const Tensor y = f(x + 1);
  CHECK(tape.stats().entries == 2);
  CHECK((*tape.gradient(y, k)).item() == 1.0);
  CHECK(cond(
            true, [] { return scalar(1.0); }, [] { return scalar(2.0); })
            .item() == 1.0);
  CHECK_THROWS_AS(cond(
                      ones({2}), [] { return scalar(1.0); }, [] { return scalar(2.0); }),
                  ShapeError);
}

TEST_CASE("S120: closures by value and by reference") {
  Tensor k = scalar(3.0);
  const Tensor x = scalar(2.0);
  const WarningLog growth;  // collects the warning about a gradient on an active tape
  GradientTape tape({.persistent = true});
  tape.watch(std::pair(x, k));
  for (std::int64_t budget : budgets) {
    const LoopOptions options{.memory_budget = budget, .max_iterations = 2};
    const auto always = [](const Tensor&) { return true; };
    const Tensor by_value = while_loop(
        always, [k](const Tensor& s) { return s * k; }, x, options);
    const Tensor by_reference = while_loop(
        always, [&k](const Tensor& s) { return s * k; }, x, options);
    for (const Tensor& y : {by_value, by_reference}) {
      CHECK((*tape.gradient(y, x)).item() == 9.0);
      CHECK((*tape.gradient(y, k)).item() == 12.0);
    }
  }
}

TEST_CASE("scan: states, outputs and gradients are those of the unrolled loop") {
  const Variable w(tensor({{0.5, -0.25}, {0.125, 0.75}}), "w");
  const Tensor start = tensor({0.1, -0.2}), xs = reshape(linspace(-1, 1, 14), {7, 2});
  const auto step = [&](const Tensor& c, const Tensor& x) { return tanh(matmul(w, c) + x); };
  const auto plain = [&](const Tensor& c, const Tensor& inputs) {
    Tensor s = c, total = scalar(0.0);
    for (int i = 0; i < 7; ++i) {
      s = step(s, inputs[i]);
      total = total + sum(s * inputs[i]) * (i + 1);
    }
    return total + sum(s);
  };
  for (std::int64_t budget : budgets) {
    INFO("budget " << budget);
    const auto scanned = [&](const Tensor& c, const Tensor& inputs) {
      const auto [last, ys] = scan(
          [&](const Tensor& s, const std::pair<Tensor, Tensor>& x) {
            const Tensor next = step(s, x.first);
            return std::pair(next, std::vector{next * x.first * x.second, x.second});
          },
          c, std::pair(inputs, arange(1.0, 8.0)), {.memory_budget = budget});
      CHECK(ys[1].to_vector() == arange(1.0, 8.0).to_vector());
      return sum(ys[0]) + sum(last);
    };
    CHECK(close(scanned(start, xs), plain(start, xs)));
    const auto [a, b] = grad(scanned)(start, xs);
    const auto [p, q] = grad(plain)(start, xs);
    CHECK(close(a, p));
    CHECK(close(b, q));
    CHECK(close(hessian<1>(scanned)(start, xs), hessian<1>(plain)(start, xs)));
    const WarningLog growth;  // collects the warning about a gradient on an active tape
    GradientTape tape({.persistent = true});
    CHECK(close(*tape.gradient(scanned(start, xs), w), *tape.gradient(plain(start, xs), w)));
    const Tensor t = ones({7, 2});
    CHECK(close(jvp([&](const Tensor& v) { return scanned(start, v); }, xs, t).second, sum(q * t)));
  }
}

TEST_CASE("scan: no steps, and errors of shapes and structures") {
  const Tensor c = ones({2});
  const auto f = [](const Tensor& s, const Tensor& x) { return std::pair(s * x, std::pair(s, x + 1.0)); };
  const auto [last, ys] = scan(f, c, zeros({0, 2}));
  CHECK(last.to_vector() == c.to_vector());
  CHECK(ys.first.shape() == Shape{0, 2});
  CHECK(ys.second.shape() == Shape{0, 2});
  CHECK(close(grad([&](const Tensor& v) { return sum(scan(f, v, zeros({0, 2})).first); })(c), c));
  for (std::int64_t budget : budgets) {
    GradientTape tape;
    tape.watch(c);
    const auto [end, outputs] = scan([](const Tensor& s, const Tensor& x) { return std::pair(s, s[0] * x); }, c,
                                     zeros({0, 3}), {.memory_budget = budget});
    CHECK(outputs.shape() == Shape{0, 3});
    CHECK(close(*tape.gradient(end, c), c));
  }
  CHECK_THROWS_AS(scan(f, c, scalar(1.0)), ShapeError);
  CHECK_THROWS_AS(scan([](const Tensor& s, const std::pair<Tensor, Tensor>&) { return std::pair(s, s); }, c,
                       std::pair(ones({2}), ones({3}))),
                  ShapeError);
  CHECK_THROWS_WITH(
      scan([](const Tensor& s, const Tensor& x) { return std::pair(cast(s, DType::float32), x); }, c, ones({2})),
      Contains("loop variable 0") && Contains("float32"));
  CHECK_THROWS_AS(while_loop([](const auto&) { return true; },
                             [](const std::vector<Tensor>& s) {
                               return std::vector{s[0], s[0]};
                             },
                             std::vector{c}),
                  ValueError);
  CHECK_THROWS_AS(while_loop([](const Tensor& s) { return s; }, [](const Tensor& s) { return s; }, c), ShapeError);
  CHECK_THROWS_AS(
      while_loop([](const Tensor&) { return false; }, [](const Tensor& s) { return s; }, c, {.memory_budget = -1}),
      ValueError);
}

TEST_CASE("a loop with a memory budget stays within it and recomputes few steps") {
  constexpr std::int64_t n = 1000, size = 1000, state_bytes = size * 8;
  const Tensor start = full({size}, 0.5);
  std::int64_t runs = 0;
  const auto step = [&](const Tensor& c, const Tensor& x) {
    ++runs;
    return std::pair(tanh(c + x), mean(c));
  };
  const Tensor xs = full({n}, 0.01);
  const auto run = [&](std::int64_t budget) {
    GradientTape tape;
    tape.watch(start);
    runs = 0;
    const std::int64_t before = memory_stats().live_bytes;
    reset_peak_bytes();
    const Tensor y = sum(scan(step, start, xs, {.memory_budget = budget}).first);
    const Tensor g = *tape.gradient(y, start);
    return std::pair(memory_stats().peak_bytes - before, g);
  };
  const auto [everything, expected] = run(0);
  CHECK(runs == n);
  CHECK(everything > n * state_bytes);
  std::int64_t last_runs = 0;
  for (std::int64_t states : {100, 30, 15}) {
    const std::int64_t budget = states * state_bytes;
    const auto [peak, g] = run(budget);
    INFO("budget of " << states << " states: peak " << peak << ", " << runs << " steps run");
    CHECK(close(g, expected));
    // The outputs, the slices of xs and partly used pages of pools come on top; none of them grows with the budget.
    CHECK(peak <= budget + 400000);
    // Griewank and Walther: with s states kept, no step is computed more than t times again, binomial(s + t, s) >= n.
    const double s = static_cast<double>(states - 7);  // the record of one step and the cotangents need the rest
    double t = 0, served = 1;
    while (served < n) {
      ++t;
      served *= (s + t) / t;
    }
    CHECK(static_cast<double>(runs) <= static_cast<double>(n) * (2 + t) + 1);
    CHECK(runs >= last_runs);
    last_runs = runs;
  }
}

TEST_CASE("a memory budget counts the headers of small loop variables, too") {
  constexpr std::int64_t budget = 200000;
  const Tensor x = scalar(0.5);
  GradientTape tape;
  tape.watch(x);
  const std::int64_t before = memory_stats().live_bytes;
  reset_peak_bytes();
  const Tensor y = while_loop([](const Tensor&) { return true; }, [](const Tensor& s) { return s * 0.999; }, x,
                              {.memory_budget = budget, .max_iterations = 10000});
  const double g = (*tape.gradient(y, x)).item();
  CHECK(std::abs(g - std::pow(0.999, 10000)) <= 1e-10 * g);
  CHECK(memory_stats().peak_bytes - before <= budget + 100000);
}

TEST_CASE("loops that are run again draw the same numbers; nested loops; exceptions of a body") {
  const Tensor x = scalar(1.5);
  for (std::int64_t budget : budgets) {
    Generator a(3), b(3);
    const auto noisy = [](Generator& g, const Tensor& s) { return s * (1 + 0.1 * random_normal(g, {})); };
    const auto plain = [&](const Tensor& v) {
      Tensor s = v;
      for (int i = 0; i < 9; ++i)
        for (int k = 0; k < 3; ++k) s = noisy(a, s);
      return s;
    };
    const auto nested = [&](const Tensor& v) {
      return while_loop([n = 0](const Tensor&) mutable { return n++ < 9; },
                        [&](const Tensor& s) {
                          return while_loop([](const Tensor&) { return true; },
                                            [&](const Tensor& t) { return noisy(b, t); }, s,
                                            {.memory_budget = budget, .max_iterations = 3});
                        },
                        v, {.memory_budget = budget});
    };
    CHECK(close(grad(nested)(x), grad(plain)(x)));
    CHECK(a.position() == b.position());
  }
  GradientTape tape;
  tape.watch(x);
  CHECK_THROWS_WITH(while_loop([](const Tensor&) { return true; },
                               [](const Tensor& s) -> Tensor {
                                 if (s.item() > 10) throw std::runtime_error("too large");
                                 return s * 2;
                               },
                               x),
                    "too large");
  CHECK((*tape.gradient(x * x, x)).item() == 3.0);
}

TEST_CASE("cond, recompute_grad and loops may return captured tensors and arguments unchanged") {
  const Tensor captured = scalar(4.0), x = scalar(2.0);
  const auto by = [&](const auto& f, double c, double a) {
    GradientTape tape({.persistent = true});
    tape.watch(std::pair(captured, x));
    const ForwardAccumulator forward({captured, x}, {scalar(10.0), scalar(1.0)});
    const Tensor y = f();
    const auto g = tape.gradient(y, {captured, x}, {.unconnected_gradients = UnconnectedGradients::zero});
    CHECK((*g[0]).item() == c);
    CHECK((*g[1]).item() == a);
    CHECK((*forward.jvp(y)).item() == 10 * c + a);
  };
  const auto both = [&](const Tensor& u) { return std::tuple(u, captured, captured); };
  const auto weigh = [](const auto& t) { return std::get<0>(t) + 2 * std::get<1>(t) + 3 * std::get<2>(t); };
  by(
      [&] {
        return cond(
            true, [&] { return captured; }, [&] { return captured * 2; });
      },
      1, 0);
  by([&] { return weigh(cond(true, both, both, x)); }, 5, 1);
  by([&] { return weigh(recompute_grad(both)(x)); }, 5, 1);
  by([&] { return weigh(recompute_grad([&](const Tensor& u) { return recompute_grad(both)(u); })(x)); }, 5, 1);
  for (std::int64_t budget : budgets) {
    const auto shift = [&](const Tensor&, const Tensor& q, const Tensor& r) { return std::tuple(q, r, captured); };
    for (std::int64_t n : {1, 2, 3, 5})
      by(
          [&] {
            return weigh(while_loop([](auto&&...) { return true; }, shift, std::tuple(x, x, x),
                                    {.memory_budget = budget, .max_iterations = n}));
          },
          n == 1   ? 3
          : n == 2 ? 5
                   : 6,
          n == 1   ? 3
          : n == 2 ? 1
                   : 0);
    by(
        [&] {
          const auto [last, ys] = scan([&](const Tensor&, const Tensor&) { return std::pair(captured, x); }, x,
                                       ones({3}), {.memory_budget = budget});
          return last + sum(ys);
        },
        1, 3);
  }
}

TEST_CASE("with a memory budget the body runs once per iteration until a derivative is requested") {
  const Tensor x = scalar(1.5);
  for (std::int64_t budget : budgets) {
    int runs = 0;
    GradientTape tape;
    tape.watch(x);
    const auto body = [&](const Tensor& s) { return s * ++runs; };
    const Tensor y =
        while_loop([](const Tensor&) { return true; }, body, x, {.memory_budget = budget, .max_iterations = 4});
    CHECK(runs == 4);
    CHECK(y.item() == 1.5 * 24);
  }
}

TEST_CASE("a body that is run again does not draw the numbers of the condition") {
  const Tensor x = scalar(2.0);
  for (std::int64_t budget : budgets) {
    INFO("budget " << budget);
    Generator random(3);
    const auto loop = [&](const Tensor& v) {
      return while_loop([&](const Tensor&) { return greater(random_uniform(random, {}), -1); },
                        [&](const Tensor& s) { return s * random_uniform(random, {}); }, v,
                        {.memory_budget = budget, .max_iterations = 5});
    };
    const auto value_and_tangent = jvp(loop, x, 1.0);
    CHECK(close(value_and_tangent.first.item() / 2, value_and_tangent.second.item()));
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    const Tensor y = square(loop(x));
    const Tensor slope = *inner.gradient(y, x);
    CHECK(close(slope.item(), y.item()));
    CHECK(close((*outer.gradient(slope, x)).item(), y.item() / 2));
  }
}

TEST_CASE("a function that is run again reads the values of variables in its first run") {
  const Variable scale(scalar(3.0), "scale", false);
  const Variable count(scalar(std::int64_t{4}), "count");
  const Tensor x = scalar(2.0);
  const auto set = [&](double s, std::int64_t n) {
    scale.assign(scalar(s));
    count.assign(scalar(n));
  };
  const auto f = [&](const Tensor& u) { return square(u) * scale * cast(count, DType::float64); };
  const auto nested = [&](const Tensor& u) { return recompute_grad(f)(u); };
  const auto slope_after = [&](const auto& run) {
    set(3, 4);
    GradientTape outer({.persistent = true});
    outer.watch(x);
    Tensor slope;
    {
      GradientTape tape;
      tape.watch(x);
      const Tensor y = run(x);
      set(100, 7);
      slope = *tape.gradient(y, x);
    }
    CHECK(slope.item() == 2 * 2.0 * 12);
    CHECK((*outer.gradient(slope, x)).item() == 2 * 12.0);
  };
  slope_after([&](const Tensor& u) { return recompute_grad(f)(u); });
  slope_after([&](const Tensor& u) { return recompute_grad(nested)(u); });
  slope_after([&](const Tensor& u) { return cond(true, f, f, u); });
  for (std::int64_t budget : budgets)
    slope_after([&](const Tensor& u) {
      return while_loop([](const Tensor&) { return true; }, nested, u, {.memory_budget = budget, .max_iterations = 1});
    });
}

TEST_CASE("fori_loop: the body gets the number of the iteration") {
  const auto step = [](std::int64_t i, const Tensor& x) { return x * static_cast<double>(i + 1); };
  CHECK(fori_loop(4, step, 1.0).item() == 24);
  CHECK(fori_loop(2, 4, step, tensor({1, 2})).to_vector() == std::vector<double>{12, 24});
  CHECK(fori_loop(0, step, 3.0).item() == 3);
  CHECK(fori_loop(5, 2, step, 3.0).item() == 3);
  CHECK(fori_loop(std::size_t{2}, step, 3.0).item() == 6);
  // Several variables, with a number among them; the body sees elements of what it captures.
  const Tensor c = tensor({2, 3, 4});
  const auto [total, product] = fori_loop(
      3, [&](std::int64_t i, const Tensor& s, const Tensor& p) { return std::tuple(s + c[i], p * c[i]); },
      std::tuple(0.0, tensor({1.0})));
  CHECK(total.item() == 9);
  CHECK(product.item() == 24);
}

TEST_CASE("fori_loop: is one entry with derivatives to every order, also with a memory budget") {
  const Tensor x = scalar(0.7);
  for (const std::int64_t budget : {0, 64}) {
    const auto f = [budget](const Tensor& t) {
      return fori_loop(6, [t](std::int64_t i, const Tensor& s) { return s * t + static_cast<double>(i); }, 1.0,
                       {.memory_budget = budget});
    };
    const auto plain = [](const Tensor& t) {
      Tensor s = scalar(1.0);
      for (int i = 0; i < 6; ++i) s = s * t + static_cast<double>(i);
      return s;
    };
    CHECK(f(x).item() == plain(x).item());
    CHECK(grad(f)(x).item() == Approx(grad(plain)(x).item()));
    CHECK(grad(grad(f))(x).item() == Approx(grad(grad(plain))(x).item()));
    CHECK(jvp(f, x, 1.0).second.item() == Approx(grad(plain)(x).item()));
    GradientTape tape;
    tape.watch(x);
    static_cast<void>(f(x));
    CHECK(tape.stats().entries == 1);
  }
}

TEST_CASE("numbers in the state of a loop become tensors of rank 0") {
  const auto [n, x] =
      while_loop([](const Tensor& i, const Tensor&) { return i < 5; },
                 [](const Tensor& i, const Tensor& s) { return std::tuple(i + 1, s * 2.0); }, std::tuple(0, 1.0));
  CHECK(n.dtype() == DType::int32);
  CHECK(n.item<int>() == 5);
  CHECK(x.item() == 32);
  CHECK(while_loop([](const Tensor& s) { return s < 10.0; }, [](const Tensor& s) { return s + 4.0; }, 0.0).item() ==
        12);
  const auto [last, all_sums] =
      scan([](const Tensor& c, const Tensor& v) { return std::pair(c + v, c); }, 0.0, tensor({1, 2, 3}));
  CHECK(last.item() == 6);
  CHECK(all_sums.to_vector() == std::vector<double>{0, 1, 3});
  // t^8.
  const auto eighth = [](const Tensor& t) {
    return std::get<1>(while_loop([](const Tensor& s, const Tensor&) { return s < 3; },
                                  [](const Tensor& s, const Tensor& v) { return std::tuple(s + 1, v * v); },
                                  std::tuple(0, t)));
  };
  CHECK(grad(eighth)(1.5).item() == Approx(8 * std::pow(1.5, 7)));
}

TEST_CASE("scan with a memory budget: integer inputs, unused inputs, unused results") {
  const Tensor xs = linspace(0.5, 1.5, 6), unused = ones({6}), counts = tensor<std::int64_t>({1, 2, 3, 4, 5, 6});
  const auto step = [](const Tensor& s, const std::tuple<Tensor, Tensor, Tensor>& x) {
    const Tensor next = s * std::get<0>(x) + std::get<1>(x);
    return std::pair(next, std::pair(next * next, stop_gradient(next)));
  };
  const Tensor start = scalar(0.25);
  for (const std::int64_t budget : {0, 32}) {
    CAPTURE(budget);
    GradientTape tape({.persistent = true});
    tape.watch(std::vector{start, xs, unused});
    const auto [last, ys] = scan(step, start, std::tuple(xs, counts, unused), {.memory_budget = budget});
    const Tensor square = ys.first[5];
    tape.stop();
    // s_k = s_(k-1) x_k + k
    double s = 0.25, slope = 1;
    std::vector<double> of_xs(6), state(7, s);
    for (std::size_t k = 0; k < 6; ++k)
      state[k + 1] = state[k] * xs[static_cast<std::int64_t>(k)].item() + double(k + 1);
    for (std::size_t k = 6; k-- > 0;) {
      of_xs[k] = slope * state[k];
      slope *= xs[static_cast<std::int64_t>(k)].item();
    }
    CHECK(last.item() == Approx(state[6]).epsilon(1e-15));
    const auto g =
        tape.gradient(last, std::vector{start, xs, unused}, {.unconnected_gradients = UnconnectedGradients::zero});
    CHECK((*g[0]).item() == Approx(slope).epsilon(1e-14));
    CHECK(close(*g[1], from_data(of_xs)));
    CHECK((*g[2]).to_vector() == std::vector<double>(6));
    CHECK_FALSE(tape.gradient(last, counts));
    CHECK(close(*tape.gradient(square, start), 2.0 * state[6] * slope * ones({})));
    CHECK(max(abs(tape.gradient(ys.second, start, {.unconnected_gradients = UnconnectedGradients::zero}).dense()))
              .item() == 0);
  }
}

TEST_CASE("memory budgets: derivatives of every order stay within them, with draws, variables and outputs", "[once]") {
  constexpr std::int64_t n = 400, state_bytes = 8000, budget = 60 * state_bytes;
  const Tensor start = linspace(.1, 1.8, 1000), along = linspace(-1, 1, 1000), xs = full({n}, 0.01);
  const Variable w(scalar(1.1), "w");
  const auto make = [&](std::int64_t bytes) {
    return [&, bytes](const Tensor& c) {
      Generator noise(5);
      const auto step = [&](const Tensor& y, const Tensor& x) {
        return std::pair(sin(y * w + x + .01 * random_uniform(noise, {1000})), mean(y));
      };
      const auto [last, means] = scan(step, c, xs, {.memory_budget = bytes});
      return sum(last) + sum(square(means));
    };
  };
  const auto slope = [&](std::int64_t bytes) {
    return [f = make(bytes)](const Tensor& c) { return sum(grad(f)(c) * cos(c)); };
  };
  const auto derivatives = [&](std::int64_t bytes) {
    return std::vector<std::function<Tensor()>>{
        [=] { return grad(slope(bytes))(start); }, [=] { return jvp(slope(bytes), start, along).second; },
        [=] { return grad([&](const Tensor& c) { return square(jvp(make(bytes), c, along).second); })(start); },
        [=] {
          GradientTape tape;
          return *tape.gradient(slope(bytes)(start), w);
        },
        [=] { return jvp([&](const Tensor& c) { return grad(slope(bytes))(c); }, start, along).second; }};
  };
  const auto kept = derivatives(budget), all = derivatives(0);
  for (std::size_t k = 0; k < kept.size(); ++k) {
    INFO("derivative " << k);
    const auto peak = [](const std::function<Tensor()>& f, Tensor& result) {
      const std::int64_t before = memory_stats().live_bytes;
      reset_peak_bytes();
      result = f();
      return memory_stats().peak_bytes - before;
    };
    Tensor got, expected;
    // At third order there are two more kinds of states.
    CHECK(peak(kept[k], got) <= (k == 4 ? 2 : 1) * budget + 500000);
    CHECK(peak(all[k], expected) > 2 * n * state_bytes);
    CHECK(close(got, expected));
  }
}
