// Derivatives by variables that bodies of loops, branches and checkpoints read, in compiled functions: of first and
// second order, in every combination of modes, against the same op by op.
#include <functional>
#include <reel/compile.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "check_close.hpp"
#include "support/ramp.hpp"

using namespace reel;
using support::ramp;

namespace {

using Function = std::function<Tensor(const Tensor&)>;
constexpr GradientOptions or_zeros{.unconnected_gradients = UnconnectedGradients::zero};

// First and second derivatives of a scalar-valued f by its argument and by w, named by how they are computed.
std::vector<std::pair<const char*, Function>> derivatives_of(const Function& f, const Variable& w) {
  const auto by_w = [f, w](const Tensor& x) {
    GradientTape t;
    const Tensor y = f(x);
    return *t.gradient(y, w, or_zeros);
  };
  const auto by_x = [f](const Tensor& x) { return grad(f)(x); };
  const auto along_x = [f](const Tensor& x) { return jvp(f, x, cos(x)).second; };
  const auto along_w = [w](const Function& g) {
    return [w, g](const Tensor& x) {
      const ForwardAccumulator accumulator(w, ramp(w.shape(), .7));
      const Tensor y = g(x);
      const Gradient t = accumulator.jvp(y);
      return t ? t.dense() : zeros_like(y);
    };
  };
  const auto w_of = [w](const Function& g) {
    return [w, g](const Tensor& x) {
      GradientTape outer;
      const Tensor y = g(x);
      return *outer.gradient(sum(y * cos(y + .5)), w, or_zeros);
    };
  };
  const auto x_of = [](const Function& g) {
    return [g](const Tensor& x) { return grad([&](const Tensor& z) { return sum(g(z) * sin(z)); })(x); };
  };
  const auto x_along = [](const Function& g) { return [g](const Tensor& x) { return jvp(g, x, exp(x)).second; }; };
  return {{"w", by_w},
          {"x", by_x},
          {"along x", along_x},
          {"along w", along_w(f)},
          {"w of w", w_of(by_w)},
          {"w of x", w_of(by_x)},
          {"x of w", x_of(by_w)},
          {"x of x", x_of(by_x)},
          {"w of along x", w_of(along_x)},
          {"w of along w", w_of(along_w(f))},
          {"x of along w", x_of(along_w(f))},
          {"w along x", x_along(by_w)},
          {"x along x", x_along(by_x)},
          {"w along w", along_w(by_w)},
          {"x along w", along_w(by_x)},
          {"along x along w", along_w(along_x)}};
}

// Compiled as a whole, and through a compiled call of f.
void check_derivatives(const Function& f, const Variable& w, const Tensor& x) {
  const auto plain = derivatives_of(f, w), through = derivatives_of(compile(f), w);
  for (std::size_t k = 0; k < plain.size(); ++k) {
    INFO("derivative: " << plain[k].first);
    const Tensor expected = plain[k].second(x);
    check_close(compile(plain[k].second)(x), expected);
    check_close(through[k].second(x), expected);
  }
}

Tensor layer(const Tensor& a, const Variable& w) { return tanh(a * w + .1); }

}  // namespace

TEST_CASE("variables in compiled bodies: second derivatives through fori_loop and while_loop") {
  const Variable w(tensor({.7, .9}), "w");
  const Tensor x = tensor({.3, .4});
  check_derivatives(
      [w](const Tensor& z) {
        return sum(fori_loop(
            0, 2, [w](const Tensor&, const Tensor& a) { return layer(a, w); }, z));
      },
      w, x);
  check_derivatives(
      [w](const Tensor& z) {
        return sum(while_loop([](const Tensor& a) { return sum(a) < 4.; },
                              [w](const Tensor& a) { return a * 1.5 + sin(a * w); }, z));
      },
      w, x);
  // Read by the body, by its condition and around the loop, and as a tensor.
  check_derivatives(
      [w](const Tensor& z) {
        const Tensor value = w;
        const Tensor y = while_loop([w](const Tensor& a) { return sum(a * w) < 3.; },
                                    [w, value](const Tensor& a) { return a * 1.3 + layer(a, w) * value; }, z * w);
        return sum(y * w);
      },
      w, x);
}

TEST_CASE("variables in compiled bodies: scans and loops in loops, under every budget") {
  const Variable w(tensor({.7, .9}), "w");
  const Tensor x = tensor({.3, .4}), rows = ramp({3, 2}, .2);
  for (const bool compiled : {false, true})
    for (const std::int64_t budget : {0, 1, 100000}) {
      INFO("compiled " << compiled << ", budget " << budget);
      const LoopOptions o{.memory_budget = budget, .compiled = compiled};
      check_derivatives(
          [w, rows, o](const Tensor& z) {
            return sum(
                scan([w](const Tensor& a, const Tensor& r) { return std::pair(layer(a, w) + r, a * w); }, z, rows, o)
                    .second);
          },
          w, x);
      check_derivatives(
          [w, rows, o](const Tensor& z) {
            return sum(fori_loop(
                0, 2,
                [w, rows, o](const Tensor&, const Tensor& a) {
                  return scan([w](const Tensor& b, const Tensor& r) { return std::pair(layer(b, w) + r, b * w); }, a,
                              rows, o)
                      .first;
                },
                z));
          },
          w, x);
    }
}

TEST_CASE("variables in compiled bodies: checkpoints, branches and loops in loops with a budget") {
  const Variable w(tensor({.7, .9}), "w");
  const Tensor x = tensor({.3, .4}), rows = ramp({3, 2}, .2);
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> bodies{
      {"checkpoint", [w](const Tensor& a) { return checkpoint([w](const Tensor& b) { return layer(b, w); })(a); }},
      {"cond",
       [w](const Tensor& a) {
         return cond(
             sum(a) > .5, [w](const Tensor& b) { return layer(b, w); }, [w](const Tensor& b) { return b * w * w; }, a);
       }},
      {"loop", [w](const Tensor& a) {
         return while_loop([](const Tensor& b) { return sum(b) < 2.; },
                           [w](const Tensor& b) { return b * 1.5 + sin(b * w); }, a);
       }}};
  for (const auto& [name, body] : bodies)
    for (const std::int64_t budget : {0, 1, 100000}) {
      INFO(name << ", budget " << budget);
      const LoopOptions o{.memory_budget = budget};
      check_derivatives(
          [body = body, rows, o](const Tensor& z) {
            const auto [last, all] = scan(
                [body](const Tensor& a, const Tensor& r) {
                  const Tensor b = body(a + r);
                  return std::pair(b, b * a);
                },
                z, rows, o);
            return sum(last) + sum(all);
          },
          w, x);
      check_derivatives(
          [body = body, o](const Tensor& z) {
            return sum(fori_loop(
                0, 3, [body](std::int64_t i, const Tensor& a) { return body(a) * (1. + .1 * double(i)); }, z, o));
          },
          w, x);
      check_derivatives(
          [body = body, o](const Tensor& z) {
            return sum(fori_loop(
                0, 3, [body](const Tensor&, const Tensor& a) { return body(a); }, z, o));
          },
          w, x);
    }
}

TEST_CASE("variables in compiled bodies: tapes and accumulators in a loop") {
  const Variable w(tensor({.7, .9}), "w");
  const Tensor x = tensor({.3, .4});
  check_derivatives(
      [w](const Tensor& z) {
        return sum(fori_loop(
            0, 2,
            [w](const Tensor&, const Tensor& a) {
              GradientTape t;
              const Tensor loss = sum(layer(a, w) * a);
              return a + *t.gradient(loss, w);
            },
            z));
      },
      w, x);
  check_derivatives(
      [w](const Tensor& z) {
        return sum(while_loop([](const Tensor& a) { return sum(a) < 4.; },
                              [w](const Tensor& a) {
                                const ForwardAccumulator accumulator(w, a);
                                return a * 1.4 + *accumulator.jvp(layer(a, w)) * .1;
                              },
                              z));
      },
      w, x);
}

TEST_CASE("variables in compiled bodies: of a gradient function alone") {
  const Variable w(tensor({.7, .9}), "w"), v(tensor({.2, -.4}), "v");
  const auto scaled = custom_gradient(
      [v](const Tensor& a) { return std::pair(sin(a), [v, a](const Tensor& g) { return g * cos(a) * v; }); },
      [v](const std::tuple<Tensor>& a, const std::tuple<Tensor>& t) {
        return std::get<0>(t) * cos(std::get<0>(a)) * v;
      });
  const Tensor x = tensor({.3, .4});
  const std::vector<Function> functions{
      [=](const Tensor& z) { return sum(scaled(z * w) * z); },
      [=](const Tensor& z) {
        return sum(fori_loop(
            0, 3, [=](const Tensor&, const Tensor& a) { return scaled(a * w) + a; }, z));
      },
      [=](const Tensor& z) {
        return sum(checkpoint([=](const Tensor& a) { return scaled(a * w) * a; })(z)) +
               sum(cond(
                   sum(z) > 0., [=](const Tensor& a) { return scaled(a * w); }, [](const Tensor& a) { return a; }, z));
      }};
  for (const Function& f : functions) {
    const auto gradient = [f, w](const Tensor& z) {
      GradientTape t;
      t.watch(z);
      const Tensor y = f(z);
      const auto g = t.gradient(y, {Source(w), Source(z)});
      return *g[0] + *g[1];
    };
    const auto program = compile(gradient);
    const auto through = compile(f);
    for (int k = 0; k < 2; ++k) {
      check_close(program(x), gradient(x));
      check_close(grad(through)(x), grad(f)(x));
      v.assign(v * 2.);
    }
    for (const Variable& by : {w, v}) {
      const auto second = [gradient, by](const Tensor& z) {
        GradientTape t;
        const Tensor y = gradient(z);
        return *t.gradient(y, by, or_zeros);
      };
      check_close(compile(second)(x), second(x));
      const auto of_call = [by](const Function& g) {
        return [g, by](const Tensor& z) {
          GradientTape t;
          return *t.gradient(sum(grad(g)(z) * z), by, or_zeros);
        };
      };
      check_close(of_call(through)(x), of_call(f)(x));
    }
  }
}

TEST_CASE("variables in compiled bodies: an optimiser's step in front of a loop that reads them") {
  const Tensor x = tensor({.3, .4});
  const auto make = [](const Variable& w, SGD& sgd) {
    return [w, &sgd](const Tensor& z) {
      GradientTape outer;
      Tensor q;
      {
        GradientTape t;
        const Tensor y = sum(fori_loop(
            0, 2, [w](const Tensor&, const Tensor& a) { return layer(a, w); }, z));
        q = *t.gradient(y, w);
      }
      const Gradient g = outer.gradient(sum(q), w);
      sgd.step(g, w);
      return *g;
    };
  };
  const Variable a(tensor({.7, .9}), "w"), b(tensor({.7, .9}), "w");
  SGD one({.learning_rate = .1}), two({.learning_rate = .1});
  const auto plain = make(a, one);
  const auto program = compile(make(b, two));
  for (int k = 0; k < 3; ++k) {
    check_close(program(x), plain(x));
    check_close(b.read(), a.read());
  }
}

TEST_CASE("variables in compiled bodies: no gradient through an argument that an inner body ignores") {
  const Variable w(tensor({.7, .9}), "w");
  const auto connected = [w](const Tensor& x) {
    GradientTape t;
    const auto first = [](const Tensor& b, const Tensor&) { return sin(b); };
    const Tensor y = checkpoint([w, first](const Tensor& a) { return checkpoint(first)(a, w.read()); })(x);
    return scalar(t.gradient(sum(y), w) ? 1. : 0.);
  };
  const Tensor x = tensor({.3, .4});
  CHECK(connected(x).item() == 0.);
  CHECK(compile(connected)(x).item() == 0.);
}

TEST_CASE("variables in compiled bodies: read by the tangents alone, beside a captured tensor") {
  const Variable u(ramp({2}, .9), "u");
  const Tensor c = ramp({2}, -.2), x = ramp({2}, .3);
  const auto custom =
      custom_gradient([](const Tensor& p) { return std::pair(sin(p), [p](const Tensor& g) { return cos(p) * g; }); },
                      [u](const std::tuple<Tensor>& p, const std::tuple<Tensor>& t) {
                        return cos(std::get<0>(p)) * std::get<0>(t) * u.read();
                      });
  const Function along_c = [=](const Tensor& z) {
    const ForwardAccumulator accumulator(c, ones({2}));
    const Tensor y = fori_loop(
        0, 3, [=](const Tensor&, const Tensor& v) { return custom(v * c) + v; }, z);
    return accumulator.jvp(y, UnconnectedGradients::zero).dense();
  };
  const Function by_c = [=](const Tensor& z) {
    GradientTape tape;
    tape.watch(c);
    return tape.gradient(sum(along_c(z)), c, or_zeros).dense();
  };
  for (const Function& f : {along_c, by_c}) check_close(compile(f)(x), f(x));
}

namespace {

// The gradient of f by x and its derivatives by x and w in both modes, compiled and through compiled calls.
void check_gradient_of_rules(const Function& f, const Variable& w, const Tensor& x) {
  const auto by_x = [](const Function& g) -> Function {
    return [g](const Tensor& y) { return grad([&](const Tensor& z) { return sum(sin(g(z))); })(y); };
  };
  const auto by_w = [w](const Function& g) -> Function {
    return [g, w](const Tensor& y) {
      GradientTape t;
      const Tensor q = sum(cos(g(y)));
      return *t.gradient(q, w, or_zeros);
    };
  };
  const auto along_x = [](const Function& g) -> Function {
    return [g](const Tensor& y) { return jvp(g, y, exp(y)).second; };
  };
  const auto along_w = [w](const Function& g) -> Function {
    return [g, w](const Tensor& y) {
      const ForwardAccumulator a(w, cos(y));
      const Tensor q = g(y);
      return a.jvp(q, UnconnectedGradients::zero).dense();
    };
  };
  const auto all = [&](const Function& g) -> std::vector<Function> {
    const Function first = by_x(g);
    return {first, by_w(g), by_x(first), by_w(first), along_x(first), along_w(first)};
  };
  const auto plain = all(f), through = all(compile(f));
  for (std::size_t k = 0; k < plain.size(); ++k) {
    INFO("derivative " << k);
    const Tensor expected = plain[k](x);
    check_close(compile(plain[k])(x), expected);
    check_close(through[k](x), expected);
  }
}

// The body in a loop, a scan, a branch and a checkpoint; `make` returns it for what surrounds it.
void check_bodies(const std::function<Function(const Tensor& around)>& make, const Variable& w, const Tensor& x) {
  const auto check = [&](const char* name, const Function& f) {
    INFO("in " << name);
    check_gradient_of_rules(f, w, x);
  };
  check("while_loop",
        [make](const Tensor& z) { return while_loop([](const Tensor& s) { return sum(s) < 20.; }, make(z * 2), z); });
  check("scan", [make](const Tensor& z) {
    const auto body = make(z * 2);
    return scan([body](const Tensor& s, const Tensor& t) { return std::pair(body(s) * .3 + t, s); }, z, ones({70, 3}))
        .first;
  });
  check("cond", [make](const Tensor& z) {
    return cond(
        sum(z) > 0., make(z * 2), [](const Tensor& y) { return y; }, z);
  });
  check("checkpoint in cond", [make](const Tensor& z) {
    const auto body = make(z * 2);
    return cond(
        sum(z) > 0., [body](const Tensor& y) { return recompute_grad(body)(y); }, [](const Tensor& y) { return y; }, z);
  });
}

}  // namespace

TEST_CASE("rules in compiled bodies: what the rule of a custom gradient reads, and the body does not") {
  const Variable w(tensor({.7, .9, 1.1}), "w");
  const Tensor x = tensor({.3, .5, .8});
  const auto rule = [](const auto& reads) {
    return custom_gradient(
        [reads](const Tensor& y) { return std::pair(y * 2, [reads](const Tensor& g) { return g * reads; }); });
  };
  // A variable, a tensor around the body, and both as far as the body reads them without a derivative.
  check_bodies([=](const Tensor&) -> Function { return rule(w); }, w, x);
  check_bodies([=](const Tensor& around) -> Function { return rule(around * w); }, w, x);
  check_bodies(
      [=](const Tensor& around) -> Function {
        return [=](const Tensor& z) {
          return rule(around * w)(z * (2 + cast(cast(w + around, DType::int64), DType::float64)));
        };
      },
      w, x);
  check_bodies(
      [=](const Tensor&) -> Function {
        return [](const Tensor& z) {
          return grad_pass_through([](const Tensor& y) { return cast(cast(2 * y, DType::int64), DType::float64); })(z) +
                 z;
        };
      },
      w, x);
  // By a rule of what a rule computes.
  const auto inner = custom_gradient(
      [w](const Tensor& y) { return std::pair(sin(y), [w, y](const Tensor& g) { return g * w * cos(y); }); },
      [w](const std::tuple<Tensor>& y, const std::tuple<Tensor>& t) {
        return std::get<0>(t) * w * cos(std::get<0>(y));
      });
  const auto outer = custom_gradient(
      [inner](const Tensor& y) { return std::pair(y * 2, [inner, y](const Tensor& g) { return g * inner(y); }); });
  check_bodies([=](const Tensor&) -> Function { return outer; }, w, x);
}

TEST_CASE("rules in compiled bodies: arguments that the function ignores, and reads by conditions and other branches") {
  const Variable w(tensor({.7, .9, 1.1}), "w");
  const Tensor x = tensor({.3, .5, .8});
  const auto two = custom_gradient([](const Tensor& y, const Tensor& o) {
    return std::pair(y * 2, [y, o](const Tensor& g) { return std::tuple(g * o, g * y); });
  });
  const auto by_w =
      custom_gradient([w](const Tensor& y) { return std::pair(y * 2, [w](const Tensor& g) { return g * w; }); });
  const auto check = [&](const Function& f) { check_gradient_of_rules(f, w, x); };
  check([=](const Tensor& z) { return recompute_grad(two)(sin(z), exp(z * w)); });
  check([=](const Tensor& z) {
    return cond(
        sum(z) > 0., two, [](const Tensor& y, const Tensor&) { return y; }, z, z * w);
  });
  check([=](const Tensor& z) {
    using Pair = std::array<Tensor, 2>;
    return while_loop([](const Pair& s) { return sum(s[0]) < 20.; },
                      [two](const Pair& s) {
                        return Pair{two(s[0], s[1]), s[1] * 1.1};
                      },
                      Pair{z, z * w})[0];
  });
  check([=](const Tensor& z) { return while_loop([w](const Tensor& s) { return sum(s * w) < 20.; }, by_w, z); });
  check([=](const Tensor& z) {
    return cond(
        sum(z) > 0., [=] { return by_w(z); }, [=] { return z * floor(w); });
  });
}
