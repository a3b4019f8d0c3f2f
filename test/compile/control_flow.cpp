// Control flow that a program decides at run time: loops, branches and checkpoints inside compiled functions, and loops
// with LoopOptions::compiled.
#include <functional>
#include <reel/compile.hpp>
#include <reel/custom.hpp>
#include <reel/reel.hpp>
#include <reel/switch.hpp>

#include "catch.hpp"
#include "check_close.hpp"
#include "support/bits.hpp"
#include "support/messages.hpp"
#include "support/ramp.hpp"

using namespace reel;
using support::same_bits;

namespace {

// Derivatives of higher order run bodies again, so bodies capture by value what is destroyed
// earlier.
void check_everything(const std::function<Tensor(const Tensor&)>& f, const std::vector<Tensor>& at) {
  const auto g = compile(f);
  for (const Tensor& x : at) {
    CHECK(same_bits(g(x), f(x)));
    check_close(grad(g)(x), grad(f)(x));
    check_close(compile([&](const Tensor& y) { return grad(f)(y); })(x), grad(f)(x));
    const Tensor t = support::ramp(x.shape(), .2);
    check_close(jvp(g, x, t).second, jvp(f, x, t).second);
    check_close(compile([&](const Tensor& y) { return jvp(f, y, t).second; })(x), jvp(f, x, t).second);
    const auto second = [&](const auto& h) { return [&h](const Tensor& y) { return sum(grad(h)(y) * cos(y)); }; };
    check_close(grad(second(g))(x), grad(second(f))(x));
    check_close(compile([&](const Tensor& y) { return grad(second(f))(y); })(x), grad(second(f))(x));
    check_close(jvp([&](const Tensor& y) { return grad(g)(y); }, x, t).second,
                jvp([&](const Tensor& y) { return grad(f)(y); }, x, t).second);
  }
  CHECK(g.stats().traces == 1);
}

}  // namespace

TEST_CASE("compiled while_loop: the number of iterations depends on values") {
  check_everything(
      [](const Tensor& x) {
        return sum(while_loop([](const Tensor& y) { return sum(y * y) < 40.; },
                              [](const Tensor& y) { return y * 1.5 + sin(y) * 0.1; }, x * 1.));
      },
      {support::ramp({4}, .1), support::ramp({4}, 1), support::ramp({4}, 30)});
}

TEST_CASE("compiled while_loop: several variables, captured values of the function around it, and max_iterations") {
  const Tensor w = support::ramp({4}, .3);
  check_everything(
      [&](const Tensor& x) {
        const Tensor rate = exp(-x), part = slice(rate, {range(0, 2)});
        const auto [n, y] = while_loop(
            [&](const Tensor& i, const Tensor& z) { return logical_and(i < 20, max(z) < 9.); },
            [=](const Tensor& i, const Tensor& z) { return std::tuple(i + 1, z * rate * w + part[0] + part[1] + 1.); },
            std::tuple(0, x * x), {.max_iterations = 15});
        return sum(y) * cast(n, DType::float64);
      },
      {support::ramp({4}, .1), support::ramp({4}, -2)});
}

TEST_CASE("compiled while_loop: a loop in a loop, and a branch in it") {
  check_everything(
      [](const Tensor& x) {
        return sum(while_loop([](const Tensor& y) { return sum(y) < 50.; },
                              [](const Tensor& y) {
                                const Tensor inner = while_loop([](const Tensor& z) { return max(z) > 1.; },
                                                                [y](const Tensor& z) { return z * .5 + y * .01; }, y);
                                return cond(
                                    sum(inner) > 1., [y](const Tensor& z) { return z + y * y + 1.; },
                                    [](const Tensor& z) { return z * 3. + 2.; }, inner);
                              },
                              x * 1.));
      },
      {support::ramp({3}, .1), support::ramp({3}, 2)});
}

TEST_CASE("compiled while_loop: expressions of constants in the body are folded") {
  const Tensor w = support::ramp({4}, .3);
  const auto f = [w](const Tensor& x) {
    return while_loop([](const Tensor& y) { return sum(y) < 9.; },
                      [w](const Tensor& y) { return y + sum(w * 2.) * cumsum(w, 0); }, x);
  };
  const Tensor x = support::ramp({4}, -3);
  CHECK(same_bits(compile(f)(x), f(x)));
}

TEST_CASE("values of variables and loop variables are contiguous, so eager and compiled sums have one order") {
  const Tensor x = exp(sin(support::ramp({64, 64}, 1.7) * 40.));  // far from symmetric
  const auto turn = [](const Tensor& y) {
    const auto [n, z, total] = while_loop([](const Tensor& i, const Tensor&, const Tensor&) { return i < 3; },
                                          [](const Tensor& i, const Tensor& now, const Tensor& sums) {
                                            return std::tuple(i + 1, transpose(now), sums * .5 + sum(now));
                                          },
                                          std::tuple(0, transpose(y), scalar(0.)));
    return total + sum(z);
  };
  CHECK(same_bits(compile(turn)(x), turn(x)));
  CHECK(same_bits(turn(x), turn(transpose(contiguous(transpose(x))))));
  const auto turned = [](const Tensor& y) { return transpose(y); };
  const auto chosen = [&](const Tensor& y) {
    return sum(cond(
        sum(y) > 0., turned, [](const Tensor& z) { return -z; }, y));
  };
  CHECK(same_bits(compile(chosen)(x), chosen(x)));
  const auto kept = [&](const Tensor& y) { return sum(checkpoint(turned)(y)); };
  CHECK(same_bits(compile(kept)(x), kept(x)));
  const auto again = [&](const Tensor& y) { return sum(recompute_grad(turned)(y)); };
  CHECK(same_bits(compile(again)(x), again(x)));
  CHECK(same_bits(value_and_grad(again)(x).first, again(x)));
  const Variable made(transpose(x)), eager(x), later(x);
  CHECK(same_bits(sum(made), sum(contiguous(transpose(x)))));
  const auto set = [](const Variable& v) {
    return [v](const Tensor& y) {
      v.assign(transpose(y));
      return sum(v);
    };
  };
  const Tensor expected = set(eager)(x), got = compile(set(later))(x);
  CHECK(same_bits(got, expected));
  CHECK(same_bits(sum(later), expected));
  CHECK(same_bits(sum(eager), expected));
}

TEST_CASE("compiled cond: one branch runs") {
  check_everything(
      [](const Tensor& x) {
        return sum(cond(
            sum(x) > 0., [x](const Tensor& y) { return log(y + 3.) * x; }, [](const Tensor& y) { return y * y * y; },
            sin(x)));
      },
      {support::ramp({4}, .1), support::ramp({4}, -4)});
  // The other branch would throw for these values.
  const auto f = compile([](const Tensor& x, const Tensor& index) {
    return cond(
        index < 3, [&](const Tensor& y) { return gather(y, index); }, [](const Tensor& y) { return y[0]; }, x);
  });
  const Tensor x = support::ramp({3});
  CHECK(same_bits(f(x, scalar(2)), x[2]));
  CHECK(same_bits(f(x, scalar(7)), x[0]));
  CHECK_THROWS_AS(f(x, scalar(-9)), IndexError);
  CHECK_THROWS_WITH(compile([](const Tensor& y) {
                      return cond(
                          sum(y) > 0., [](const Tensor& z) { return z; }, [](const Tensor& z) { return z[0]; }, y);
                    })(x),
                    Catch::Contains("branches"));
}

TEST_CASE("switch_case: one branch runs, as one entry") {
  const auto with_index = [](const auto& index, const Tensor& x) {
    return switch_case(index,
                       std::tuple([](const Tensor& y) { return log(y); }, [x](const Tensor& y) { return y * y * x; },
                                  [](const Tensor& y) { return exp(y * -2.); }),
                       x);
  };
  const Tensor x = scalar(-3.0);
  const double expected[] = {-27, 27};
  CHECK(with_index(1, x).item() == expected[0]);
  CHECK(grad([&](const Tensor& v) { return with_index(1, v); })(x).item() == expected[1]);
  CHECK(grad(grad([&](const Tensor& v) { return with_index(1, v); }))(x).item() == -18);
  CHECK(jvp([&](const Tensor& v) { return with_index(1, v); }, x, 1.0).second.item() == expected[1]);
  CHECK(with_index(9, x).item() == std::exp(6.0));
  CHECK(std::isnan(with_index(-9, x).item()));
  CHECK(std::isnan(with_index(0, x).item()));
  CHECK(with_index(cast(ones({1}), DType::uint8), x).item() == expected[0]);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = with_index(scalar(2), x + 1);
  CHECK(tape.stats().entries == 2);
  CHECK(switch_case(4, std::tuple([] { return scalar(1.0); })).item() == 1.0);
  CHECK_THROWS_AS(with_index(scalar(1.0), x), TypeError);
  CHECK_THROWS_AS(with_index(scalar(true), x), TypeError);
  CHECK_THROWS_AS(with_index(cast(zeros({2}), DType::int64), x), ShapeError);
  CHECK_THROWS_AS(with_index(cast(zeros({0}), DType::int64), x), ShapeError);
  CHECK_THROWS_AS(with_index(Tensor(), x), ValueError);
}

TEST_CASE("compiled switch_case: the index is computed by the program") {
  const auto f = [](const Tensor& x) {
    const Tensor index = cast(floor(sum(x)), DType::int32);
    return sum(
        switch_case(index,
                    std::tuple([](const Tensor& y) { return y * 3.; }, [x](const Tensor& y) { return exp(y) * x; },
                               [](const Tensor& y) { return y * y * y; }, [](const Tensor& y) { return sin(y); }),
                    x * 2.));
  };
  std::vector<Tensor> at;
  for (const double total : {-8.5, 0.5, 1.5, 2.5, 3.5, 40.5})
    at.push_back(full({4}, total / 4) + support::ramp({4}) * .0);
  check_everything(f, at);
  const auto g = compile(f);
  for (const Tensor& x : at) CHECK(same_bits(g(x), f(x)));
  CHECK(g.stats().traces == 1);
  CHECK_THROWS_AS(compile([](const Tensor& x) {
                    return switch_case(sum(x), std::tuple([](const Tensor& y) { return y; }), x);
                  })(ones({2})),
                  TypeError);
}

TEST_CASE("compiled scan: a long scan is one instruction") {
  const auto f = [](const Tensor& x) {
    const auto [last, all] =
        scan([x](const Tensor& c, const Tensor& e) { return std::pair(c * .9 + sin(e) * x[0], c * e); }, x[1], x);
    return sum(all) + last;
  };
  check_everything(f, {support::ramp({100}, .1), support::ramp({100}, 1)});
  const auto g = compile(f);
  g(support::ramp({1000}));
  CHECK(g.stats().traced_instructions < 20);
}

TEST_CASE("compiled fori_loop: with a tensor as counter the body is traced once") {
  const auto f = [](const Tensor& x) {
    return sum(fori_loop(
        3, 103, [x](const Tensor& i, const Tensor& y) { return sin(y) + x / (cast(i, DType::float64) + 1.); }, x * 2.));
  };
  check_everything(f, {support::ramp({4}, .1)});
  const auto same = [](const Tensor& x) {
    return sum(fori_loop(
        3, 103, [&](std::int64_t i, const Tensor& y) { return sin(y) + x / (double(i) + 1.); }, x * 2.));
  };
  const Tensor x = support::ramp({4});
  CHECK(same_bits(f(x), same(x)));
  const auto one = compile(f);
  const auto many = compile(same);
  CHECK(same_bits(one(x), many(x)));
  CHECK(one.stats().traced_instructions < 10);
  CHECK(many.stats().traced_instructions > 100);
}

TEST_CASE("compiled loops: variables have the values at the position of the loop, and have gradients") {
  Variable v(support::ramp({3}, .3), "v");
  const auto loss = [&](const Tensor& x) {
    return sum(while_loop([](const Tensor& y) { return sum(y) < 20.; },
                          [&](const Tensor& y) { return y + exp(v) * y * .3 + .1; }, x * 1.));
  };
  const auto step = [&](const Tensor& x) {
    v.assign(v * 1.25);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = loss(x);
    const auto g = tape.gradient(y, std::pair(v, x));
    v.assign(v - 0.01 * *g.first);
    return std::tuple(y, *g.first, *g.second);
  };
  const Tensor x = support::ramp({3}, .1);
  const Tensor before = v.read();
  std::vector<std::tuple<Tensor, Tensor, Tensor>> eager;
  for (int i = 0; i < 3; ++i) eager.push_back(step(x));
  const Tensor after = v.read();
  v.assign(before);
  const auto program = compile(step);
  for (int i = 0; i < 3; ++i) {
    const auto got = program(x);
    check_close(std::get<0>(got), std::get<0>(eager[static_cast<std::size_t>(i)]));
    check_close(std::get<1>(got), std::get<1>(eager[static_cast<std::size_t>(i)]));
    check_close(std::get<2>(got), std::get<2>(eager[static_cast<std::size_t>(i)]));
  }
  check_close(v.read(), after);
  // The same through a compiled call.
  const auto compiled = compile(loss);
  for (int i = 0; i < 2; ++i) {
    GradientTape one, two;
    const Tensor a = loss(x), b = compiled(x);
    check_close(*two.gradient(b, v), *one.gradient(a, v));
  }
}

TEST_CASE("compiled loops: captured tensors that a tape follows have gradients") {
  const Tensor w = support::ramp({3}, .3), one = scalar(1.);
  const auto loss = [&](const Tensor& x) {
    return sum(while_loop([](const Tensor& y) { return sum(y) < 20.; },
                          [&](const Tensor& y) { return y * w * 1.1 + w[1] + one; }, x * 1.));
  };
  const Tensor x = support::ramp({3}, .1);
  const auto gradients = [&](const auto& f) {
    GradientTape tape;
    tape.watch(w);
    tape.watch(one);
    const Tensor y = f(x);
    return tape.gradient(y, std::pair(w, one));
  };
  const auto outside = gradients(compile(loss)), expected = gradients(loss);
  check_close(*outside.first, *expected.first);
  check_close(*outside.second, *expected.second);
  const auto inside = compile([&](const Tensor& a) {
    GradientTape tape;
    tape.watch(w);
    tape.watch(one);
    const Tensor y = loss(a);
    const auto g = tape.gradient(y, std::pair(w, one));
    return std::pair(*g.first, *g.second);
  })(x);
  check_close(inside.first, *expected.first);
  check_close(inside.second, *expected.second);
}

TEST_CASE("compiled loops: bodies that capture locals by reference have first derivatives") {
  const auto f = [](const Tensor& x) {
    const Tensor rate = exp(-x), shift = rate[0];
    const Tensor last = while_loop([](const Tensor& y) { return sum(y) < 20.; },
                                   [&](const Tensor& y) { return y * (1. + rate) + shift + x; }, x * x);
    return sum(cond(
        sum(last) > 21., [&](const Tensor& y) { return y * rate; }, [&](const Tensor& y) { return y - shift; }, last));
  };
  const auto clobbered = [](const auto& compute) {
    const auto result = compute();
    volatile char stack[4096] = {};  // where the frames of f were
    static_cast<void>(stack[7]);
    return result;
  };
  for (const double from : {.1, .9}) {
    const Tensor x = support::ramp({3}, from), t = support::ramp({3}, .4);
    check_close(clobbered([&] { return grad(compile(f))(x); }), grad(f)(x));
    check_close(clobbered([&] { return compile([&](const Tensor& y) { return grad(f)(y); })(x); }), grad(f)(x));
    check_close(clobbered([&] { return jvp(compile(f), x, t).second; }), jvp(f, x, t).second);
  }
}

TEST_CASE("compiled loops: unconnected results have no gradient") {
  const auto f = compile([](const Tensor& x, const Tensor& y) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    tape.watch(y);
    const auto [a, b] =
        while_loop([](const Tensor& p, const Tensor&) { return sum(p) < 10.; },
                   [](const Tensor& p, const Tensor& q) { return std::tuple(p * 2., q * 3.); }, std::tuple(x, y));
    return std::pair(scalar(tape.gradient(a, y) ? 1. : 0.) * sum(x), *tape.gradient(b, y));
  });
  const auto [none_found, g] = f(scalar(1.), scalar(1.));
  CHECK(none_found.item() == 0);
  CHECK(g.item() == 81);
}

TEST_CASE("scans whose steps read neither the carry nor the rows give these no gradient, compiled or not") {
  const auto exist = [](const LoopOptions& options) {
    return [options](const Tensor& x, const Tensor& rows, const Tensor& read) {
      GradientTape tape({.persistent = true});
      tape.watch(std::tuple(x, rows, read));
      const auto [last, all] =
          scan([&](const Tensor&, const Tensor&) { return std::pair(read * 2., sin(read)); }, x, rows, options);
      const Tensor y = sum(last * all);
      tape.stop();
      std::vector<Tensor> list;
      for (const Tensor& source : {x, rows, read}) list.push_back(scalar(tape.gradient(y, source) ? 1. : 0.));
      return list;
    };
  };
  for (const std::int64_t budget : {0, 1})
    for (const bool compiled : {false, true}) {
      const auto f = exist({.memory_budget = budget, .compiled = compiled});
      for (const auto& list : {f(ones({2}), ones({3, 2}), ones({2})), compile(f)(ones({2}), ones({3, 2}), ones({2}))}) {
        CAPTURE(budget, compiled);
        CHECK(list[0].item() + list[1].item() == 0);
        CHECK(list[2].item() == 1);
      }
    }
}

TEST_CASE("compiled loops: an op that may throw is kept though its result is unused") {
  const auto f = compile([](const Tensor& x, const Tensor& in_loop, const Tensor& in_branch) {
    static_cast<void>(while_loop([](const Tensor& y) { return y < 3.; },
                                 [&](const Tensor& y) { return gather(x, in_loop) * 0. + y + 1.; }, scalar(0.)));
    static_cast<void>(cond(
        sum(x) > 0., [&](const Tensor& y) { return y + gather(x, in_branch); }, [](const Tensor& y) { return y; },
        scalar(0.)));
    return x * 2.;
  });
  const Tensor x = support::ramp({3}, .1);
  CHECK(same_bits(f(x, scalar(2), scalar(1)), x * 2.));
  CHECK_THROWS_AS(f(x, scalar(9), scalar(1)), IndexError);
  CHECK_THROWS_AS(f(x, scalar(2), scalar(9)), IndexError);
}

TEST_CASE("compiled bodies without results: what may throw is kept, and runs with what it reads") {
  using List = std::vector<Tensor>;
  const auto nothing = [](const Tensor&) { return List(); };
  const auto reads = [](const Tensor& i) {
    return [i](const Tensor& y) {
      static_cast<void>(gather(y, i));
      return List();
    };
  };
  using Function = std::function<Tensor(const Tensor&, const Tensor&)>;
  const std::vector<Function> functions{
      [=](const Tensor& x, const Tensor& i) {
        static_cast<void>(cond(sum(x) > 0., reads(i), nothing, x));
        return x * 2.;
      },
      [=](const Tensor& x, const Tensor& i) {
        static_cast<void>(checkpoint(reads(i))(x));
        return x * 2.;
      },
      [=](const Tensor& x, const Tensor& i) {
        static_cast<void>(while_loop([](const List&) { return scalar(1.) > 0.; },
                                     [=](const List&) { return reads(i)(x); }, List(), {.max_iterations = 2}));
        return x * 2.;
      },
      [=](const Tensor& x, const Tensor& i) {  // by the rule, of a cotangent
        return custom_gradient([=](const Tensor& y) {
          return std::pair(y * 2., [=](const Tensor& g) {
            static_cast<void>(cond(sum(g) > 0., reads(i), nothing, g));
            return g * 2.;
          });
        })(x);
      }};
  const Tensor x = support::ramp({3}, .1);
  for (const Function& f : functions) {
    const auto program = compile(f);
    const auto gradient = [](const Function& g) {
      return [g](const Tensor& y, const Tensor& i) { return grad([&](const Tensor& z) { return sum(g(z, i)); })(y); };
    };
    const bool by_rule = &f == &functions.back();
    CHECK(same_bits(program(x, scalar(2)), x * 2.));
    if (!by_rule) CHECK_THROWS_AS(program(x, scalar(9)), IndexError);
    for (int round = 0; round < 2; ++round)
      for (const Function& g : {Function(gradient(program)), Function(compile(gradient(f)))}) {
        CHECK(same_bits(g(x, scalar(2)), full({3}, 2.)));
        CHECK_THROWS_AS(g(x, scalar(9)), IndexError);
      }
  }
}

TEST_CASE("compiled loops: an error names what cannot be part of one program") {
  const Tensor x = support::ramp({3});
  CHECK_THROWS_WITH(compile([](const Tensor& y) {
                      return while_loop([](const Tensor& z) { return sum(z) < 9.; },
                                        [](const Tensor& z) {
                                          return concatenate({z, z}, 0);
                                        },
                                        y);
                    })(x),
                    Catch::Contains("shape of a loop variable"));
  CHECK(same_bits(exp(x), exp(support::ramp({3}))));  // no trace is left open
}

TEST_CASE("compiled checkpoints: one instruction, which the derivative evaluates again") {
  const Tensor w = support::ramp({5, 5}, .1);
  const auto layer = [&](const Tensor& y) { return tanh(matmul(y, w)) + y; };
  const auto f = [&](const Tensor& x) { return sum(checkpoint(layer)(checkpoint(layer)(x)) * x); };
  check_everything(f, {support::ramp({5, 5}, -.5)});
  const auto kept = [&](const Tensor& x) { return sum(layer(layer(x)) * x); };
  check_close(compile([&](const Tensor& x) { return grad(f)(x); })(w), grad(kept)(w));
}

TEST_CASE("loops with .compiled: same bits and derivatives as eager, traced once per shape") {
  int traced = 0;
  const Tensor w = support::ramp({3}, .3);
  const auto loop = [&](const Tensor& x, bool compiled, std::int64_t budget = 0) {
    return sum(while_loop([](const Tensor& y) { return sum(y) < 50.; },
                          [&](const Tensor& y) {
                            ++traced;
                            return y * w * 1.1 + sin(y) + 1.;
                          },
                          x * 1., {.memory_budget = budget, .compiled = compiled}));
  };
  const Tensor x = support::ramp({3}, .1);
  CHECK(same_bits(loop(x, true), loop(x, false)));
  traced = 0;
  loop(x, true);
  CHECK(traced == 1);
  for (const std::int64_t budget : {0, 1, 100000}) {
    const auto plain = [&](const Tensor& y) { return loop(y, false, budget); };
    const auto program = [&](const Tensor& y) { return loop(y, true, budget); };
    check_close(grad(program)(x), grad(plain)(x));
    check_close(jvp(program, x, w).second, jvp(plain, x, w).second);
    check_close(hessian(program)(x), hessian(plain)(x));
    const auto by_captured = [&](const auto& f) {
      GradientTape tape;
      tape.watch(w);
      return *tape.gradient(f(x), w);
    };
    check_close(by_captured(program), by_captured(plain));
  }
  traced = 0;
  const auto grows = [&](bool compiled) {
    return while_loop([](const Tensor& y) { return y.size() < 100; },
                      [&](const Tensor& y) {
                        ++traced;
                        return concatenate({y, y * 2.}, 0);
                      },
                      x, {.compiled = compiled});
  };
  CHECK(same_bits(grows(true), grows(false)));
  CHECK(traced == 12);  // six shapes, with and without
}

TEST_CASE("loops with .compiled: scan, reads of variables, and the error for draws") {
  Variable v(support::ramp({2}, .3), "v");
  const Tensor x = support::ramp({40, 2});
  const auto f = [&](bool compiled) {
    return scan([&](const Tensor& c, const Tensor& e) { return std::pair(c * v + e, c * e); }, zeros({2}), x,
                {.compiled = compiled});
  };
  CHECK(same_bits(f(true).first, f(false).first));
  CHECK(same_bits(f(true).second, f(false).second));
  const auto gradient = [&](bool compiled) {
    GradientTape tape;
    return *tape.gradient(sum(f(compiled).second), v);
  };
  check_close(gradient(true), gradient(false));
  Generator g(1);
  CHECK_THROWS_AS(fori_loop(3, [&](const Tensor&, const Tensor& y) { return y + random_uniform(g, {2}); }, x[0],
                            {.compiled = true}),
                  TraceError);
}

TEST_CASE("compiled loops: unconnected results have no gradient at second order") {
  // x and y are not combined in any result, so the gradient by x does not depend on y.
  const auto f = compile([](const Tensor& x, const Tensor& y) {
    GradientTape outer({.persistent = true}), inner({.persistent = true});
    for (GradientTape* t : {&outer, &inner}) {
      t->watch(x);
      t->watch(y);
    }
    const auto [a, b] =
        while_loop([](const Tensor& p, const Tensor&) { return sum(p) < 10.; },
                   [](const Tensor& p, const Tensor& q) { return std::tuple(p * p + 1., q * q); }, std::tuple(x, y));
    const Tensor by_x = *inner.gradient(a, x), by_y = *inner.gradient(b, y);
    const Tensor second = *outer.gradient(by_x, x);
    return std::tuple(scalar(outer.gradient(by_x, y) ? 1. : 0.), scalar(outer.gradient(by_y, x) ? 1. : 0.), second,
                      *outer.gradient(by_y, y));
  });
  const auto [x_by_y, y_by_x, second, other] = f(scalar(1.), scalar(1.));
  CHECK(x_by_y.item() == 0);
  CHECK(y_by_x.item() == 0);
  CHECK(second.item() == Approx(288));  // of ((x^2 + 1)^2 + 1)^2 + 1
  CHECK(other.item() == Approx(56));    // of y^8
}

TEST_CASE("compiled cond and checkpoints: adopted and captured tensors have gradients, in both branches") {
  const Tensor w = support::ramp({3}, .3), unused = scalar(2.);
  const auto f = [&](const Tensor& x) {
    const Tensor shift = exp(x);
    const Tensor y =
        cond(
            sum(x) > 0., [w, shift](const Tensor& a) { return std::pair(transpose(a * w + shift), sum(a)); },
            [unused](const Tensor& a) { return std::pair(a, unused); }, sin(x))
            .first;
    return sum(y * checkpoint([w, shift](const Tensor& a) { return a * shift * w; })(y));  // called anew when f is gone
  };
  const auto gradients = [&](const auto& g, const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    tape.watch(w);
    tape.watch(unused);
    const auto list = tape.gradient(g(x), std::tuple(x, w), {.unconnected_gradients = UnconnectedGradients::zero});
    return std::pair(*std::get<0>(list), *std::get<1>(list));
  };
  const auto inside = compile([&](const Tensor& x) { return gradients(f, x); });
  const auto g = compile(f);
  for (const double from : {.1, -4.}) {
    const Tensor x = support::ramp({3}, from);
    const auto expected = gradients(f, x);
    for (const auto& got : {inside(x), gradients(g, x), gradients(g, x)}) {
      check_close(got.first, expected.first);
      check_close(got.second, expected.second);
    }
  }
}
