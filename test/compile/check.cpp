// CompileOptions::check.
#include <reel/compile.hpp>
#include <reel/elementwise.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/bits.hpp"
#include "support/ramp.hpp"
#include "support/warnings.hpp"

using namespace reel;
using support::ramp;
using support::same_bits;

TEST_CASE("compile check: names the operation whose captured value, branch or tensor has changed") {
  const Tensor x = ramp({3});
  double factor = 2.;
  bool other = false;
  Tensor captured = ramp({3}, .5);
  int axis = 0;
  const auto f = compile(
      [&](const Tensor& y) {
        const Tensor z = other ? sin(y) : cos(y);
        return sum(z * factor + captured, {axis - 1 + 1});
      },
      {.check = 100});
  CHECK(same_bits(f(x), f(x)));
  factor = 3.;
  CHECK_THROWS_WITH(f(x), Catch::Contains("operation 2, multiply: operand 2 is a constant of the program"));
  factor = 2.;
  other = true;
  CHECK_THROWS_WITH(f(x), Catch::Contains("operation 1, was cos and is now sin"));
  other = false;
  captured = ramp({3}, .6);
  CHECK_THROWS_WITH(f(x), Catch::Contains("operation 3, add: operand 2 is a constant"));
  captured = ramp({3}, .5);
  CHECK(f(x).size() == 1);
  CHECK(f.stats().traces == 1);
}

TEST_CASE("compile check: detects more or fewer operations and other attributes") {
  const Tensor x = ramp({2, 2});
  int times = 2, axis = 0;
  const auto f = compile(
      [&](const Tensor& y) {
        Tensor z = sum(y, {axis});
        for (int i = 0; i < times; ++i) z = exp(z);
        return z;
      },
      {.check = 100});
  f(x);
  times = 3;
  CHECK_THROWS_WITH(f(x), Catch::Contains("operation 4, exp, was not there"));
  times = 1;
  CHECK_THROWS_WITH(f(x), Catch::Contains("operation 3, exp, is no longer there"));
  times = 2;
  axis = 1;
  CHECK_THROWS_WITH(f(x), Catch::Contains("operation 1, sum"));
}

TEST_CASE("compile check: compares results, assigned values and the number of results with an eager run") {
  const Tensor x = ramp({3});
  Variable v(ramp({3}, .1), "v");
  const auto is_traced = [](const Tensor& y) {
    try {
      static_cast<void>(y.to_vector());
      return false;
    } catch (const TraceError&) {
      return true;
    }
  };
  const auto result = compile([&](const Tensor& y) { return y * (is_traced(y) ? 1. : 2.); }, {.check = 1});
  CHECK_THROWS_WITH(result(x), Catch::Contains("result 1 of the program differs"));
  const auto variable = compile(
      [&](const Tensor& y) {
        v.assign(y * (is_traced(y) ? 1. : 2.));
        return y;
      },
      {.check = 1});
  CHECK_THROWS_WITH(variable(x), Catch::Contains("gives variable 'v' another value"));
  const Tensor before = v.read();
  for (const bool reads : {false, true}) {
    const auto assign = [&](const Tensor& y, bool if_traced) {
      if (is_traced(y) == if_traced) v.assign(reads ? v + y : y);
      return y;
    };
    for (const bool if_traced : {false, true})  // only op by op, only in the program
      CHECK_THROWS_WITH(compile([&](const Tensor& y) { return assign(y, if_traced); }, {.check = 1})(x),
                        Catch::Contains("gives variable 'v' another value"));
  }
  CHECK(same_bits(v.read(), before));
  // What depends on a derivative through a loop may round; what is assigned beside it may not.
  Variable w(ramp({3}, .2), "w");
  const auto both = compile(
      [&](const Tensor& y) {
        v.assign(grad([](const Tensor& z) {
          return sum(fori_loop(
              70, [](const Tensor&, const Tensor& a) { return sin(a); }, z));
        })(y));
        w.assign(y * (is_traced(y) ? 1. : 2.));
        return y;
      },
      {.check = 1});
  CHECK_THROWS_WITH(both(x), Catch::Contains("gives variable 'w' another value"));
  std::size_t count = 1;
  const auto list = compile([&](const Tensor& y) { return std::vector<Tensor>(count, y * 2.); }, {.check = 100});
  CHECK(list(x).size() == 1);
  count = 2;
  CHECK_THROWS_WITH(list(x), Catch::Contains("another number of results"));
}

TEST_CASE("compile check: zeros of a program that are no gradient op by op may be negative") {
  const auto slope = [](const Tensor& x) {
    GradientTape t;
    t.watch(x);
    const Tensor y = cond(
        sum(x) > 0, [](const Tensor& a) { return ones_like(a); }, [](const Tensor& a) { return a; }, -x);
    return t.gradient(sum(y), x, {.unconnected_gradients = UnconnectedGradients::zero}).dense();
  };
  const Tensor x = tensor({.3, .4});
  REQUIRE(!same_bits(compile(slope)(x), slope(x)));
  CHECK(sum(abs(compile(slope, {.check = 1})(x))).item() == 0.);
}

TEST_CASE("compile check: a NaN of two NaN operands may have other bits") {
  const double infinite = HUGE_VAL;
  const auto f = compile([&](const Tensor& x, const Tensor& y) { return y + x * infinite; }, {.check = 1});
  const Tensor nan = full({64}, std::nan(""));
  CHECK(sum(cast(isnan(f(zeros({64}), nan)), DType::float64)).item() == 64);
}

TEST_CASE("compile check: variables and generators change once per call, and not at all if the check fails") {
  Variable v(ramp({3}, .1), "v");
  Generator g(7), same(7);
  double scale = 1.;
  const auto body = [&](const Tensor& x, Generator& from) {
    const Tensor noise = random_normal(from, {3});
    v.assign_add(x * scale + noise);
    GradientTape tape;
    const Tensor y = sum(v * v);
    v.assign(v - 0.1 * *tape.gradient(y, v));
    return y + sum(random_uniform(from, {2}));
  };
  const auto f = compile(body, {.check = 3});
  const Tensor x = ramp({3}), start = v.read();
  std::vector<Tensor> got, expected;
  for (int i = 0; i < 5; ++i) got.push_back(f(x, g));
  const Tensor last = v.read();
  v.assign(start);
  for (int i = 0; i < 5; ++i) expected.push_back(body(x, same));
  for (std::size_t i = 0; i < 5; ++i) CHECK(same_bits(got[i], expected[i]));
  CHECK(same_bits(v.read(), last));
  CHECK(g.position() == same.position());
  scale = 2.;
  f(x, g);  // the fourth and later are not checked
  const auto checked = compile(body, {.check = 2});
  scale = 3.;
  checked(x, g);
  scale = 4.;
  const Tensor before = v.read();
  const std::uint64_t position = g.position();
  CHECK_THROWS_WITH(checked(x, g), Catch::Contains("multiply: operand 2"));
  CHECK(same_bits(v.read(), before));
  CHECK(g.position() == position);
}

TEST_CASE("compile check: every signature, with optimisers, with loops, and under a tape") {
  struct Model {
    Variable w{ramp({3, 2})};
    auto leaves() { return std::tie(w); }
  } model, twin;
  Adam adam({.learning_rate = .1}), plain({.learning_rate = .1});
  const auto step = [](Model& m, Adam& optimizer) {
    return [&](const Tensor& x) {
      GradientTape tape;
      const Tensor y = while_loop([](const Tensor& s) { return sum(s * s) < 50.; },
                                  [](const Tensor& s) { return s * 1.5; }, matmul(x, m.w));
      const Tensor loss = sum(square(y));
      optimizer.step(tape.gradient(loss, m), m);
      return loss;
    };
  };
  const auto f = compile(step(model, adam), {.check = 2});
  for (const std::int64_t rows : {2, 4, 2, 4, 2}) {
    const Tensor x = ramp({rows, 3});
    CHECK(same_bits(f(x), step(twin, plain)(x)));
    CHECK(same_bits(model.w.read(), twin.w.read()));
  }
  // A tape records only the program of a checked call, not the eager run.
  const Tensor x = ramp({2, 3}), k = ramp({3}, .5);
  int calls = 0;
  const auto g = compile(
      [&](const Tensor& y) {
        ++calls;
        return sum(exp(y) * k);
      },
      {.check = 1});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = g(x);
  CHECK(tape.stats().entries == 1);
  CHECK(same_bits(*tape.gradient(y, x), exp(x) * k));
  const int after_first = calls;
  g(x);
  CHECK(calls == after_first);
}

TEST_CASE("compile check: bodies of loops, both branches, and checkpoints") {
  const Tensor x = ramp({3});
  double factor = 2., most = 40.;
  bool other = false;
  const auto f = compile(
      [&](const Tensor& y) {
        const Tensor z = while_loop([&](const Tensor& a) { return sum(a) < most; },
                                    [&](const Tensor& a) {
                                      return cond(
                                          sum(a) > 0., [&](const Tensor& b) { return b * factor + 1.; },
                                          [&](const Tensor& b) { return other ? sin(b) : cos(b); }, a);
                                    },
                                    y);
        GradientTape tape;
        tape.watch(z);
        const Tensor loss = sum(checkpoint([&](const Tensor& a) { return other ? exp(a) : tanh(a) * factor; })(z));
        return *tape.gradient(loss, z);
      },
      {.check = 100});
  CHECK(same_bits(f(x), f(x)));
  factor = 3.;
  CHECK_THROWS_WITH(f(x), Catch::Contains("operation 1, while_loop: in its body, operation 3, cond: in its first "
                                          "branch, operation 1, multiply: operand 2 is a constant"));
  factor = 2.;
  most = 50.;
  CHECK_THROWS_WITH(f(x), Catch::Contains("operation 1, while_loop: in its condition, operation 2, less"));
  most = 40.;
  other = true;
  // The branch that does not run is checked, too.
  CHECK_THROWS_WITH(f(x), Catch::Contains("in its second branch, operation 1, was cos and is now sin"));
  other = false;
  CHECK_NOTHROW(f(x));
  const auto g = compile(
      [&](const Tensor& y) {
        GradientTape tape;
        tape.watch(y);
        const Tensor loss = sum(checkpoint([&](const Tensor& a) { return other ? exp(a) : tanh(a); })(y));
        return *tape.gradient(loss, y);
      },
      {.check = 100});
  CHECK_NOTHROW(g(x));
  other = true;
  CHECK_THROWS_WITH(g(x), Catch::Contains("checkpoint: in its body, operation 1, was tanh and is now exp"));
}

TEST_CASE("compile check: elementwise functions and the numbers that they capture") {
  const Tensor x = ramp({3});
  double factor = 2.;
  int power = 2;
  const auto f = compile(
      [&](const Tensor& y) {
        return elementwise(
            [&](auto a) {
              auto z = a * factor;
              for (int i = 1; i < power; ++i) z = z * a;
              return z;
            },
            y);
      },
      {.check = 100});
  CHECK(same_bits(f(x), f(x)));
  factor = 3.;
  CHECK_THROWS_WITH(f(x), Catch::Contains("operation 1, elementwise, has other attributes"));
  factor = 2.;
  power = 3;
  CHECK_THROWS_WITH(f(x), Catch::Contains("operation 1, elementwise, has other attributes"));
  power = 2;
  CHECK_NOTHROW(f(x));
}

namespace {

Tensor loop_of(const Tensor& x, const Variable& w) {
  return while_loop([](const Tensor& a) { return sum(a * a) < 30.; },
                    [x, w](const Tensor& a) { return tanh(a * w + x) * .7 + a * 1.2 + sin(w * x); }, x);
}
// The rows of a table, gathered before a loop and in it, at indices that the data choose.
Tensor gathered(const Tensor& x, const Variable& table) {
  const Tensor at = cast(2. + 1.9 * sin(3. * x), DType::int64);
  const Tensor start = sin(sum(gather(table, at), 0));
  return start * while_loop([](const Tensor& a) { return sum(a * a) < 30.; },
                            [=](const Tensor& a) { return a * 1.3 + cos(sum(gather(table, at), 0)) * .3; }, start + x);
}

}  // namespace

TEST_CASE("compile check: derivatives through loops that agree to rounding") {
  const WarningLog log;
  const Variable w(sin(ramp({5}, .7)), "w"), table(sin(ramp({4, 5}, .3)), "table");
  int different = 0;
  const auto check = [&](const auto& f) {
    const auto plain = compile(f), checked = compile(f, {.check = 1000});
    for (int k = 0; k < 8; ++k) {
      const Tensor x = sin(ramp({5}, .1 + k) * (1. + k)) * .8, expected = f(x);
      const Tensor got = plain(x);
      different += !same_bits(got, expected);
      CHECK(allclose(got, expected, {.rtol = 1e-12, .atol = 1e-12}));
      CHECK(same_bits(checked(x), got));
    }
  };
  const auto loss = [&](const Tensor& x) { return sum(square(loop_of(x, w))); };
  check([&](const Tensor& x) { return hvp(loss)(x, cos(x)); });
  check([&](const Tensor& x) { return jvp(grad(loss), x, cos(x)).second; });
  check([&](const Tensor& x) {
    GradientTape outer;
    const auto inner = [&] {
      GradientTape tape;
      const Tensor y = sum(gathered(x, table));
      return *tape.gradient(y, table);
    };
    return *outer.gradient(sum(inner() * table), table);
  });
  check([&](const Tensor& x) {
    GradientTape tape;
    const Tensor y = sum(sin(gathered(x, table)));
    return *tape.gradient(y, table);
  });
  check([&](const Tensor& x) {  // many rows of cotangents
    GradientTape tape;
    const Tensor y = linspace(.5, 1.5, 13) * sum(loop_of(x, w));
    return sum(*tape.jacobian(y, w), 0);
  });
  CHECK(different > 4);  // else this test tests nothing
  CHECK(log.texts.empty());
}

TEST_CASE("compile check: derivatives through compiled functions that the function calls, which are parts of it") {
  const WarningLog log;
  const Variable w(sin(ramp({5}, .7)), "w"), steps(scalar(0.), "steps");
  const Variable twin(steps.read(), "twin");
  Generator g(3), same(3);
  int different = 0;
  // The inner function reads x and w more than once, assigns and draws.
  const auto gradient_of = [&](bool by_w, const Variable& count) {
    return [&w, by_w, count](const Tensor& x, Generator& from) {
      GradientTape tape;
      if (!by_w) tape.watch(x);
      const auto inner = compile([x, w, count](const Tensor& v, Generator& one) {
        count.assign_add(scalar(1.));
        return sin(v * (.3 * sum(x))) + cos(w * x) * w + .1 * random_uniform(one, {5});
      });
      const Tensor y = sum(sin(inner(inner(x, from), from) * x));
      return by_w ? *tape.gradient(y, w) : *tape.gradient(y, x);
    };
  };
  for (const bool by_w : {false, true}) {
    const auto f = compile(gradient_of(by_w, steps), {.check = 1000});
    for (int k = 0; k < 8; ++k) {
      const Tensor x = sin(ramp({5}, .1 + k) * (1. + k)) * .8, got = f(x, g);
      const Tensor expected = gradient_of(by_w, twin)(x, same);
      different += !same_bits(got, expected);
      CHECK(allclose(got, expected, {.rtol = 1e-12, .atol = 1e-12}));
      CHECK(same_bits(steps.read(), twin.read()));
      CHECK(g.position() == same.position());
    }
  }
  CHECK(different > 4);
  CHECK(log.texts.empty());
}

TEST_CASE("compile check: warns where a step magnifies that a gradient is dense, or zero, in a program alone") {
  const Variable table(sin(ramp({4, 5}, .3)), "table");
  const auto check = [&](auto optimizer) {
    const auto step = compile(
        [&](const Tensor& x) {
          GradientTape tape;
          const Tensor y = sum(sin(gathered(x, table)));
          optimizer.step(tape.gradient(y, table), table);
          return y;
        },
        {.check = 1000});
    const WarningLog log;
    for (int k = 0; k < 8; ++k) CHECK_NOTHROW(step(sin(ramp({5}, .1 + k)) * .8));
    return log.texts;
  };
  CHECK(check(SGD({.learning_rate = .1})).empty());
  // Op by op the gradient is slices, and rows that they do not name keep their state.
  const std::vector<std::string> texts = check(Adam({.learning_rate = .1}));
  REQUIRE(!texts.empty());
  CHECK_THAT(texts[0], Catch::Contains("variable 'table'") && Catch::Contains("by more than rounding"));
}
