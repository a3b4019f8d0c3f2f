// Assigns and draws in the bodies of loops, branches and checkpoints of compiled functions.
#include <reel/compile.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "check_close.hpp"
#include "support/bits.hpp"
#include "support/messages.hpp"
#include "support/ramp.hpp"

using namespace reel;
using support::ramp;
using support::same_bits;

namespace {

// Calls f and its program at each x, each with its own variables and generator, and compares results, variables and
// positions. `make` gets variables and returns a function of a tensor and a generator.
template <class Make>
void check_calls(const Make& make, const std::vector<Tensor>& variables, const std::vector<Tensor>& at) {
  std::vector<Variable> of_f, of_program;
  for (const Tensor& x : variables) {
    of_f.emplace_back(x, "v");
    of_program.emplace_back(x, "v");
  }
  const auto f = make(of_f);
  const auto program = compile(make(of_program));
  Generator a(11), b(11);
  for (const Tensor& x : at) {
    const auto expected = f(x, a), got = program(x, b);
    CHECK(same_bits(got, expected));
    CHECK(a.position() == b.position());
    for (std::size_t k = 0; k < variables.size(); ++k) CHECK(same_bits(of_program[k].read(), of_f[k].read()));
  }
  CHECK(program.stats().traces == 1);
}

const std::vector<Tensor> starts{ramp({3}, .1), ramp({3}, 2.), ramp({3}, 40.)};

}  // namespace

TEST_CASE("effects in bodies: a value assigned in a while_loop is read by its condition and after the loop") {
  check_calls(
      [](std::vector<Variable>& v) {
        return [&v](const Tensor& x, Generator&) {
          v[0].assign_add(scalar(.5));
          const Tensor y = while_loop([&](const Tensor& z) { return sum(z) + v[0] < 30.; },
                                      [&](const Tensor& z) {
                                        v[0].assign(v[0] * 1.5);
                                        v[1].assign(transpose(reshape(z * v[0], {3, 1}) * z));
                                        return z + v[0] * .1;
                                      },
                                      x);
          return y * v[0] + sum(v[1]);
        };
      },
      {scalar(1.), ramp({3, 3})}, starts);  // from the last no iteration is run
}

TEST_CASE("effects in bodies: a loop continues the function's random stream, and the function the loop's") {
  check_calls(
      [](std::vector<Variable>&) {
        return [](const Tensor& x, Generator& g) {
          const Tensor before = random_normal(g, {3});
          const Tensor y = while_loop(
              [](const Tensor& z) { return sum(z) < 30.; },
              [&](const Tensor& z) { return z + abs(random_normal(g, {3})) + random_uniform(g, {5})[2]; }, x + before);
          const auto [last, all] =
              scan([&](const Tensor& c, const Tensor& e) { return std::pair(c * random_uniform(g, {3}) + e, c); }, y,
                   ramp({100, 3}));
          return last + sum(all) + random_normal(g, {3});
        };
      },
      {}, starts);
}

TEST_CASE("effects in bodies: a scan with outputs is one instruction") {
  Variable v(ramp({3}), "v");
  const auto f = [&](const Tensor& x, Generator& g) {
    const auto [last, all] = scan(
        [&](const Tensor& c, const Tensor& e) {
          v.assign(v + c * .1);
          return std::pair(c * random_uniform(g, {3}) + e, std::pair(c * v, argmax(v, 0)));
        },
        x, ramp({100, 3}));
    return last + sum(all.first, {0}) + cast(sum(all.second), DType::float64) + v;
  };
  const auto program = compile(f);
  Generator a(3), b(3);
  const Tensor got = program(starts[0], b), assigned = v.read();
  CHECK(program.stats().traced_instructions < 20);
  v.assign(ramp({3}));
  CHECK(same_bits(got, f(starts[0], a)));
  CHECK(same_bits(assigned, v.read()));
  CHECK(a.position() == b.position());
}

TEST_CASE("effects in bodies: one of two generators is used in the loops") {
  const auto f = [](const Tensor& x, Generator& a, Generator& b) {
    const Tensor y = fori_loop(
        100, [&](const Tensor& i, const Tensor& z) { return z * .9 + random_normal(b, {3}) * cast(i, DType::float64); },
        x + random_uniform(a, {3}));
    return y + random_uniform(a, {3}) + random_uniform(b, {3});
  };
  const auto program = compile(f);
  Generator a(1), b(2), c(1), d(2);
  for (int i = 0; i < 3; ++i) {
    CHECK(same_bits(program(starts[0], c, d), f(starts[0], a, b)));
    CHECK(a.position() == c.position());
    CHECK(b.position() == d.position());
  }
}

TEST_CASE("effects in bodies: only the branch that runs has effects") {
  const auto make = [](std::vector<Variable>& v) {
    return [&v](const Tensor& x, Generator& g) {
      const Tensor y = cond(
          sum(x) > 5.,
          [&](const Tensor& z) {
            v[0].assign_add(z);
            return z * v[0];
          },
          [&](const Tensor& z) {
            v[1].assign(z + random_uniform(g, {3}));
            return z - v[1];
          },
          x * 2.);
      return y + v[0] + v[1] + random_uniform(g, {3});
    };
  };
  check_calls(make, {ramp({3}), ramp({3}, .7)}, starts);
}

TEST_CASE("effects in bodies: a loop in a loop, and a branch in that") {
  check_calls(
      [](std::vector<Variable>& v) {
        return [&v](const Tensor& x, Generator& g) {
          return while_loop([](const Tensor& z) { return sum(z) < 200.; },
                            [&](const Tensor& z) {
                              const Tensor inner = while_loop([&](const Tensor& y) { return max(y) + v[0] < 20.; },
                                                              [&](const Tensor& y) {
                                                                v[0].assign_add(scalar(1.));
                                                                return y + random_uniform(g, {3});
                                                              },
                                                              z);
                              return cond(
                                  v[0] > 10.,
                                  [&](const Tensor& y) {
                                    v[0].assign(v[0] * .25);
                                    return y + 20.;
                                  },
                                  [&](const Tensor& y) { return y + 10. + random_uniform(g, {3}); }, inner);
                            },
                            x);
        };
      },
      {scalar(0.)}, starts);
}

TEST_CASE("effects in bodies: a training loop is one program") {
  struct Model {
    Variable w{ramp({4, 2}), "w"}, b{zeros({2}), "b"};
    auto leaves() { return std::tie(w, b); }
  };
  const Tensor xs = ramp({8, 4}, -1.), ys = ramp({8, 2}, .3);
  const auto training = [&](Model& m, Adam& adam) {
    return [&](const Tensor& x, const Tensor& y, Generator& g) {
      return fori_loop(
          80,
          [&](const Tensor&, const Tensor& sum_of_losses) {
            GradientTape tape;
            const Tensor loss = mean(square(matmul(x + .1 * random_normal(g, {8, 4}), m.w) + m.b - y));
            adam.step(tape.gradient(loss, m), m);
            return sum_of_losses + loss;
          },
          scalar(0.));
    };
  };
  Model model, twin;
  Adam adam({.learning_rate = .05}), plain({.learning_rate = .05});
  const auto train = compile(training(model, adam));
  Generator a(3), b(3);
  for (int i = 0; i < 3; ++i) {
    CHECK(same_bits(train(xs, ys, a), training(twin, plain)(xs, ys, b)));
    CHECK(same_bits(model.w.read(), twin.w.read()));
    CHECK(same_bits(model.b.read(), twin.b.read()));
    CHECK(a.position() == b.position());
  }
  CHECK(train.stats().traces == 1);
  CHECK(train.stats().traced_instructions < 60);
}

TEST_CASE("effects in bodies: derivatives use the numbers of the call and do not pass through assigns") {
  Variable running(ramp({3}), "running", false);
  const auto step = [&](const Tensor& x, const Tensor& z, Generator& g) {
    running.assign(running * .9 + z * .1);
    return z * .95 + sin(x) * random_normal(g, {3}) + running * .01;
  };
  const auto f = [&](const Tensor& x, Generator& g) {
    const Tensor y = fori_loop(
        70, [&, x](const Tensor&, const Tensor& z) { return step(x, z, g); }, x);
    return sum(y * cos(x) * random_uniform(g, {3}) + running);
  };
  // Forward mode through a loop that is one entry does not differentiate variables that the loop reads and assigns.
  const auto unrolled = [&](const Tensor& x, Generator& g) {
    Tensor y = x;
    for (int i = 0; i < 70; ++i) y = step(x, y, g);
    return sum(y * cos(x) * random_uniform(g, {3}) + running);
  };
  const auto program = compile(f);
  const Tensor x = ramp({3}, .2), t = ramp({3}, -.6), start = running.read();
  std::uint64_t end = 0;
  // Each run starts with the same generator and the same value of the variable.
  const auto run = [&](const auto& compute) {
    running.assign(start);
    Generator g(5);
    const Tensor y = compute(g);
    if (end == 0) end = g.position();
    CHECK(g.position() == end);
    return y;
  };
  const auto gradient = [&](const auto& h, bool inside) {
    return run([&](Generator& g) {
      const auto by_x = [&](const Tensor& at, Generator& from) {
        return grad([&](const Tensor& y) { return h(y, from); })(at);
      };
      return inside ? compile(by_x)(x, g) : by_x(x, g);
    });
  };
  const auto tangent = [&](const auto& h) {
    return run([&](Generator& g) { return jvp([&](const Tensor& y) { return h(y, g); }, x, t).second; });
  };
  const auto second = [&](const auto& h) {
    return run([&](Generator& g) {
      const auto by_x = [&](const Tensor& y) { return grad([&](const Tensor& z) { return h(z, g); })(y); };
      return jvp(by_x, x, t).second;
    });
  };
  const Tensor value = run([&](Generator& g) { return f(x, g); });
  const Tensor assigned = running.read();
  CHECK(same_bits(run([&](Generator& g) { return program(x, g); }), value));
  CHECK(same_bits(running.read(), assigned));
  const Tensor expected = gradient(f, false);
  check_close(gradient(program, false), expected);
  check_close(running.read(), assigned);
  check_close(gradient(program, false), expected);
  check_close(gradient(f, true), expected);
  check_close(gradient(unrolled, false), expected);
  check_close(tangent(program), tangent(unrolled));
  check_close(second(program), second(unrolled));
}

TEST_CASE("effects in bodies: a checkpoint draws the numbers of its first run again") {
  Variable calls(scalar(0.), "calls", false);
  const auto loss = [&](const Tensor& x, Generator& g) {
    const auto layer = [&](const Tensor& y) {
      calls.assign_add(scalar(1.));
      return tanh(y) * random_uniform(g, {3}) * 2.;
    };
    return sum(checkpoint(layer)(checkpoint(layer)(x)) * random_uniform(g, {3}));
  };
  const auto gradient = [&](const Tensor& x, Generator& g) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = loss(x, g);
    return *tape.gradient(y, x);
  };
  const auto program = compile(gradient);
  Generator a(7), b(7);
  for (const Tensor& x : starts) {
    calls.assign(scalar(0.));
    const Tensor expected = gradient(x, a);
    calls.assign(scalar(0.));
    check_close(program(x, b), expected);
    CHECK(calls.read().item() == 2);
    CHECK(a.position() == b.position());
  }
}

TEST_CASE("effects in bodies: loops with .compiled assign variables") {
  Variable v(scalar(1.), "v");
  const auto loop = [&](bool compiled) {
    v.assign(scalar(1.));
    const Tensor y = while_loop([&](const Tensor& z) { return sum(z) < 30.; },
                                [&](const Tensor& z) {
                                  v.assign(v * 1.25);
                                  return z + v;
                                },
                                starts[0], {.compiled = compiled});
    return y + v;
  };
  CHECK(same_bits(loop(true), loop(false)));
}

TEST_CASE("effects in bodies: loops in unrolled loops and in rules read and assign, where nobody differentiates") {
  const auto inner = [](const Variable& v, const Tensor& x) {
    return fori_loop(
        0, 3,
        [v](const Tensor&, const Tensor& z) {
          v.assign(v * .5 + z);
          return z + v * .1;
        },
        x);
  };
  for (const std::int64_t budget : {0, 100}) {
    const LoopOptions options{.memory_budget = budget};
    const Variable v(ramp({3}, .7), "v"), twin(v.read(), "v");
    const auto f = [=](const Variable& to) {
      return [=](const Tensor& x) {
        const Tensor y = fori_loop(
            0, 2, [=](std::int64_t, const Tensor& z) { return inner(to, z); }, x, options);
        const auto [last, all] = scan([=](const Tensor& c, const Tensor& r) { return std::pair(inner(to, c) * r, c); },
                                      y, ramp({2, 3}), options);
        const auto custom = custom_gradient(
            [=](const Tensor& z) { return std::pair(inner(to, z), [](const Tensor& dy) { return dy * 2.; }); });
        return custom(last) + sum(all, 0);
      };
    };
    const auto compiled = compile(f(v));
    for (int call = 0; call < 2; ++call) {
      CHECK(same_bits(compiled(ramp({3}, .2)), f(twin)(ramp({3}, .2))));
      CHECK(same_bits(v.read(), twin.read()));
    }
  }
}

TEST_CASE("effects in bodies: a call that throws assigns nothing and draws nothing") {
  Variable v(scalar(1.), "v");
  const auto f = compile([&](const Tensor& x, const Tensor& index, Generator& g) {
    const Tensor y = while_loop([&](const Tensor& z) { return sum(z) < 30.; },
                                [&](const Tensor& z) {
                                  v.assign(v * 1.25);
                                  return z + v + random_uniform(g, {3});
                                },
                                x);
    return gather(y, index);
  });
  Generator g(2);
  CHECK_THROWS_AS(f(starts[0], scalar(7), g), IndexError);
  CHECK(v.read().item() == 1);
  CHECK(g.position() == 0);
  f(starts[0], scalar(2), g);
  CHECK(v.read().item() > 1);
  CHECK(g.position() > 0);
}

TEST_CASE("effects in bodies: errors name what is not supported and change nothing") {
  Variable v(scalar(1.), "v");
  Generator g(1);
  const auto counting = [&](const Tensor& x) {
    return while_loop([](const Tensor& z) { return sum(z) < 30.; },
                      [&](const Tensor& z) {
                        v.assign(v * 1.25);
                        return z + v;
                      },
                      x);
  };
  CHECK_THROWS_WITH(compile([&](const Tensor& x) {
                      GradientTape tape;
                      return *tape.gradient(counting(x), v);
                    })(starts[0]),
                    Catch::Contains("follows variable 'v'"));
  // An assign in either branch is refused.
  for (const bool first : {true, false})
    CHECK_THROWS_WITH(compile([&](const Tensor& x) {
                        const auto assigns = [&](const Tensor& z) {
                          v.assign(v * 1.25);
                          return z + v;
                        };
                        const auto does_not = [](const Tensor& z) { return z * 2.; };
                        GradientTape tape;
                        const Tensor y =
                            first ? cond(sum(x) > 0., assigns, does_not, x) : cond(sum(x) > 0., does_not, assigns, x);
                        return *tape.gradient(sum(y), v);
                      })(starts[0]),
                      Catch::Contains("follows variable 'v'"));
  CHECK_THROWS_WITH(compile([&](const Tensor& x, Generator& from) {
                      return while_loop([&](const Tensor& z) { return sum(z) < random_uniform(from, {}); },
                                        [](const Tensor& z) { return z + 1.; }, x);
                    })(starts[0], g),
                    Catch::Contains("condition"));
  CHECK_THROWS_WITH(compile([&](const Tensor& x) {
                      return while_loop([](const Tensor& z) { return sum(z) < 30.; },
                                        [&](const Tensor& z) { return z + random_uniform(g, {3}); }, x);
                    })(starts[0]),
                    Catch::Contains("Generator&"));
  // A short scan is unrolled; under a tape an unrolled body may run again.
  CHECK_THROWS_WITH(compile([&](const Tensor& x, Generator& from) {
                      GradientTape tape;
                      tape.watch(x);
                      const Tensor y = fori_loop(
                          2,
                          [&](std::int64_t, const Tensor& z) {
                            return cond(
                                sum(z) > 0., [&](const Tensor& a) { return a * random_uniform(from, {3}); },
                                [](const Tensor& a) { return a; }, z);
                          },
                          x);
                      return *tape.gradient(sum(y), x);
                    })(starts[0], g),
                    Catch::Contains("runs again"));
  // Differentiating the gradient runs the unrolled body again.
  CHECK_THROWS_WITH(compile([&](const Tensor& x) {
                      const TapeOptions options{.watch_accessed_variables = false};
                      GradientTape outer(options), tape(options);
                      outer.watch(x);
                      tape.watch(x);
                      const Tensor y = fori_loop(
                          2,
                          [&](std::int64_t, const Tensor& z) {
                            return cond(
                                sum(z) > 0.,
                                [&](const Tensor& a) {
                                  v.assign(sum(a));
                                  return a * 2.;
                                },
                                [](const Tensor& a) { return a; }, z);
                          },
                          x);
                      return *tape.gradient(sum(y), x);
                    })(starts[0]),
                    Catch::Contains("runs again"));
  CHECK(v.read().item() == 1);
  CHECK(g.position() == 0);
  CHECK(same_bits(exp(starts[0]), exp(ramp({3}, .1))));  // no trace is left open
}
