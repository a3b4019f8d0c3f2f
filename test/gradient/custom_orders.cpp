// custom_gradient: derivatives of rules that use intermediate values of their function, against closed forms: every
// mode and order, loops, checkpoints, compiled functions, variables, and functions with unusual results.
#include <cmath>
#include <functional>
#include <memory>
#include <reel/compile.hpp>
#include <reel/ops/sorting.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/warnings.hpp"

using namespace reel;
using Catch::Contains;

namespace {

bool close(double a, double b) { return std::abs(a - b) <= 1e-12 * (1 + std::abs(b)); }
using Function = std::function<Tensor(const Tensor&)>;

Tensor flat(const Tensor& x) { return reshape(x, {-1}); }

// Two derivatives on one persistent tape.
double second_on_one_tape(const Function& f, const Tensor& x) {
  const WarningLog growth;  // collects the warning about a gradient on an active tape
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Gradient slope = tape.gradient(f(x), x);
  return (*tape.gradient(slope, x)).item();
}
double second_by_accumulator(const Function& f, const Tensor& x) {
  const ForwardAccumulator accumulator(x, 1.0);
  GradientTape tape;
  tape.watch(x);
  const Gradient slope = tape.gradient(f(x), x);
  return accumulator.jvp(slope).dense().item();
}

struct Derivatives {
  double first, second, third;
};

// The derivatives of f at x in every nesting of the two modes with reverse mode inside.
void check_orders(const Function& f, double at, const Derivatives& d) {
  const Tensor x = scalar(at);
  const auto slope = grad(f);
  CHECK(close(slope(x).item(), d.first));
  CHECK(close(grad(slope)(x).item(), d.second));
  CHECK(close(jvp(slope, x, 1.0).second.item(), d.second));
  CHECK(close(second_on_one_tape(f, x), d.second));
  CHECK(close(second_by_accumulator(f, x), d.second));
  CHECK(close(hessian(f)(x).item(), d.second));
  CHECK(close(hvp(f)(x, scalar(1.0)).item(), d.second));
  CHECK(close(jacobian(slope)(x).item(), d.second));
  CHECK(close(linearize(slope, x).second(scalar(1.0)).item(), d.second));
  CHECK(close(grad(grad(slope))(x).item(), d.third));
  CHECK(close(jvp(grad(slope), x, 1.0).second.item(), d.third));
  CHECK(close(grad([&](const Tensor& v) { return jvp(slope, v, 1.0).second; })(x).item(), d.third));
  CHECK(close(jvp([&](const Tensor& v) { return jvp(slope, v, 1.0).second; }, x, 1.0).second.item(), d.third));
}

// Functions whose bodies call another function once.
Function in_cond(const Function& f) {
  return [f](const Tensor& v) { return cond(v > -1e9, f, f, v); };
}
Function in_loop(const Function& f) {
  return [f](const Tensor& v) {
    return fori_loop(
        1, [f](const Tensor&, const Tensor& s) { return f(s); }, v);
  };
}
Function in_budget(const Function& f) {
  return [f](const Tensor& v) {
    return fori_loop(1, [f](const Tensor&, const Tensor& s) { return f(s); }, v, {.memory_budget = 1000});
  };
}
Function in_scan(const Function& f) {
  return [f](const Tensor& v) {
    return scan([f](const Tensor& s, const Tensor& y) { return std::pair(f(s) + 0 * y, y); }, v, ones({1})).first;
  };
}
Function in_while(const Function& f) {
  return [f](const Tensor& v) {
    return while_loop([](const Tensor& s) { return s > -1e9; }, f, v, {.max_iterations = 1});
  };
}
Function in_compiled_loop(const Function& f) {
  return [f](const Tensor& v) {
    return fori_loop(0, 1, [f](const Tensor&, const Tensor& s) { return f(s); }, v, {.compiled = true});
  };
}
Function in_compiled_while(const Function& f) { return compile(in_while(f)); }
Function in_compiled_scan(const Function& f) { return compile(in_scan(f)); }
Function in_compiled_checkpoint(const Function& f) { return compile(checkpoint(f)); }
Function in_checkpoint(const Function& f) { return checkpoint(f); }
Function in_compiled(const Function& f) { return compile(f); }

struct Body {
  const char* name;
  Function (*around)(const Function& f);
};
constexpr Body plain_bodies[] = {{"checkpoint", in_checkpoint},     {"cond", in_cond}, {"loop", in_loop},
                                 {"loop with a budget", in_budget}, {"scan", in_scan}, {"while_loop", in_while}};
constexpr Body compiled_bodies[] = {{"compiled", in_compiled},
                                    {"compiled checkpoint", in_compiled_checkpoint},
                                    {"compiled scan", in_compiled_scan},
                                    {"compiled loop", in_compiled_while},
                                    {"loop with a compiled body", in_compiled_loop}};

// Of the function itself, in bodies, and compiled in all of these ways.
void check_everywhere(const Function& f, double at, const Derivatives& d) {
  check_orders(f, at, d);
  for (const Body& b : plain_bodies) {
    INFO(b.name);
    check_orders(b.around(f), at, d);
  }
  for (const Body& b : compiled_bodies) {
    INFO(b.name);
    check_orders(b.around(f), at, d);
  }
  const Tensor x = scalar(at);
  CHECK(close(compile(grad(f))(x).item(), d.first));
  CHECK(close(compile(grad(grad(f)))(x).item(), d.second));
  CHECK(close(grad(compile(grad(f)))(x).item(), d.second));
  CHECK(close(jvp(compile(grad(f)), x, 1.0).second.item(), d.second));
  CHECK(close(compile([&](const Tensor& v) { return jvp(grad(f), v, 1.0).second; })(x).item(), d.second));
  CHECK(close(compile(grad(grad(grad(f))))(x).item(), d.third));
}

// Derivatives of derivatives that a body takes.
void check_slopes_in(const Body& body, const Function& f, double at, const Derivatives& d) {
  INFO(body.name);
  const Tensor x = scalar(at);
  const Function slope = body.around(grad(f));
  const Function tangent = [&](const Tensor& v) { return jvp(slope, v, 1.0).second; };
  CHECK(close(slope(x).item(), d.first));
  CHECK(close(grad(slope)(x).item(), d.second));
  CHECK(close(tangent(x).item(), d.second));
  CHECK(close(jacobian(slope)(x).item(), d.second));
  for (const Function& curvature :
       {body.around(grad(grad(f))), body.around([&](const Tensor& v) { return jvp(grad(f), v, 1.0).second; })}) {
    CHECK(close(curvature(x).item(), d.second));
    CHECK(close(grad(curvature)(x).item(), d.third));
    CHECK(close(jvp(curvature, x, 1.0).second.item(), d.third));
  }
  CHECK(close(grad(grad(slope))(x).item(), d.third));
  CHECK(close(grad(tangent)(x).item(), d.third));
  for (const Body& inner : plain_bodies) {
    INFO(inner.name);
    CHECK(close(grad(body.around(grad(inner.around(f))))(x).item(), d.second));
    CHECK(close(grad(body.around(inner.around(grad(f))))(x).item(), d.second));
    CHECK(close(grad(body.around(grad(inner.around(grad(f)))))(x).item(), d.third));
  }
}

}  // namespace

TEST_CASE("custom_gradient: the derivatives of a rule that uses an intermediate value") {
  const auto log1pexp = custom_gradient([](const Tensor& x) {
    Tensor e = exp(x);
    return std::pair(log(1 + e), [e](const Tensor& dy) { return dy * (1 - 1 / (1 + e)); });
  });
  for (const double at : {0.0, 0.7, -2.0}) {
    const double s = 1 / (1 + std::exp(-at));
    check_everywhere(log1pexp, at, {s, s * (1 - s), s * (1 - s) * (1 - 2 * s)});
  }
  const auto times_exp = custom_gradient([](const Tensor& x) {
    Tensor e = exp(x);
    return std::pair(e * x, [e, x](const Tensor& dy) { return dy * e * (1 + x); });
  });
  const double e = std::exp(0.4);
  check_everywhere(times_exp, 0.4, {e * 1.4, e * 2.4, e * 3.4});
}

TEST_CASE("custom_gradient: derivatives of derivatives that a body takes of a rule with an intermediate value") {
  const auto times_exp = custom_gradient([](const Tensor& x) {
    Tensor e = exp(x);
    return std::pair(e * x, [e, x](const Tensor& dy) { return dy * e * (1 + x); });
  });
  const double e = std::exp(0.4);
  for (const Body& b : plain_bodies) check_slopes_in(b, times_exp, 0.4, {e * 1.4, e * 2.4, e * 3.4});
  for (const Body& b : compiled_bodies) check_slopes_in(b, times_exp, 0.4, {e * 1.4, e * 2.4, e * 3.4});
}

TEST_CASE("custom_gradient: the rule uses the result, or what the function makes of the result") {
  const auto by_result = custom_gradient([](const Tensor& x) {
    const Tensor y = exp(x);
    return std::pair(y, [y](const Tensor& dy) { return dy * y; });
  });
  check_everywhere(by_result, 0.3, {std::exp(0.3), std::exp(0.3), std::exp(0.3)});
  // The derivative of log(1 + exp(x)) by its ops is NaN at 1000, and so would be those of z.
  const auto stable = custom_gradient([](const Tensor& x) {
    const Tensor y = maximum(log(1 + exp(x)), x), z = 1 - exp(-y);
    return std::pair(minimum(y, x + 1e4), [z](const Tensor& dy) { return dy * z; });
  });
  const auto overflowing = custom_gradient([](const Tensor& x) {
    const Tensor y = log(1 + exp(x)), z = 1 - exp(-y);
    return std::pair(y, [z](const Tensor& dy) { return dy * z; });
  });
  const double s = 1 / (1 + std::exp(-0.3));
  check_everywhere(overflowing, 0.3, {s, s * (1 - s), s * (1 - s) * (1 - 2 * s)});
  check_orders(overflowing, 1000, {1, 0, 0});
  CHECK(grad(stable)(scalar(0.3)).item() > 0);
}

TEST_CASE("custom_gradient: a function with a rule inside a function with a rule") {
  const auto inner = custom_gradient([](const Tensor& x) {
    Tensor half = exp(x / 2);
    return std::pair(half * half, [half](const Tensor& dy) { return dy * square(half); });
  });
  const auto outer = custom_gradient([inner](const Tensor& x) {
    const Tensor i = inner(x);
    return std::pair(i * i, [i](const Tensor& dy) { return 2 * dy * i * i; });
  });
  const double y = std::exp(0.8);
  check_everywhere(outer, 0.4, {2 * y, 4 * y, 8 * y});
  // The result is that of the inner function, whose rule is replaced.
  const auto replaced = custom_gradient([inner](const Tensor& x) {
    const Tensor cube = x * x * x;
    return std::pair(inner(x), [cube](const Tensor& dy) { return dy * cube; });
  });
  check_everywhere(replaced, 0.5, {0.125, 0.75, 3});
  // The rule calls a function with a rule: forward over reverse passes it alone.
  const auto calling = custom_gradient(
      [inner](const Tensor& x) { return std::pair(exp(x), [x, inner](const Tensor& dy) { return dy * inner(x); }); });
  const Tensor x = scalar(0.4);
  for (const Tensor& order : {grad(calling)(x), grad(grad(calling))(x), grad(grad(grad(calling)))(x),
                              hessian(calling)(x), grad(grad(compile(calling)))(x)})
    CHECK(close(order.item(), std::exp(0.4)));
  CHECK_THROWS_AS(jvp(grad(calling), x, 1.0), NotDifferentiable);
}

TEST_CASE("custom_gradient: a rule that is not the derivative holds wherever the result is used") {
  const auto straight = custom_gradient([](const Tensor& x) {
    const Tensor s = x * x;
    return std::pair(round(x), [s](const Tensor& dy) { return dy * s; });
  });
  check_everywhere(straight, 1.7, {1.7 * 1.7, 2 * 1.7, 2});
  // h = y^2, h' = 2 y r, h'' = 2 r r + 2 y r', h''' = 6 r r' + 2 y r'', with r = x^2 the rule's derivative of y.
  const double x = 1.7, r = x * x, y = 2;
  check_everywhere([&](const Tensor& v) { return square(straight(v)); }, x,
                   {2 * y * r, 2 * r * r + 4 * y * x, 12 * r * x + 4 * y});
}

TEST_CASE("custom_gradient: vectors, matrices, batched rules, and Jacobians with many cotangents") {
  const Tensor a = tensor({{3., 1.}, {0.5, 2.}});
  const auto logdet = [](const Tensor& m) { return log(det(m)); };
  for (const bool batched : {false, true}) {
    const auto own = custom_gradient(
        [batched](const Tensor& m) {
          const Tensor inverse = reel::inverse(m);
          return std::pair(log(det(m)), [inverse, batched](const Tensor& dy) {
            return batched ? reshape(dy, {-1, 1, 1}) * expand_dims(transpose(inverse), 0) : dy * transpose(inverse);
          });
        },
        {.batched = batched});
    CHECK(allclose(grad(own)(a), grad(logdet)(a)));
    CHECK(allclose(hessian(own)(a), hessian(logdet)(a)));
    CHECK(allclose(jacobian(grad(own))(a), hessian(logdet)(a)));
    CHECK(allclose(compile(hessian(own))(a), hessian(logdet)(a)));
    CHECK(allclose(hessian(compile(own))(a), hessian(logdet)(a)));
    CHECK(allclose(hvp(own)(a, eye(2)), hvp(logdet)(a, eye(2))));
  }
  for (const bool batched : {false, true}) {
    const auto soft = custom_gradient(
        [](const Tensor& x) {
          const Tensor e = exp(x), y = e / sum(e);
          return std::pair(y, [y](const Tensor& dy) { return y * (dy - sum(dy * y, -1, true)); });
        },
        {.batched = batched});
    const Tensor x = tensor({0.3, -0.2, 1.1});
    const auto plain = [](const Tensor& v) { return softmax(v); };
    CHECK(allclose(jacobian(soft)(x), jacobian(plain)(x)));
    const auto slopes = [&](const auto& f) { return [&f](const Tensor& v) { return jacobian(f)(v); }; };
    CHECK(allclose(jacobian(slopes(soft))(x), jacobian(slopes(plain))(x)));
    CHECK(allclose(hessian([&](const Tensor& v) { return sum(square(soft(v))); })(x),
                   hessian([&](const Tensor& v) { return sum(square(plain(v))); })(x)));
    CHECK(allclose(compile([&](const Tensor& v) { return jacobian(slopes(soft))(v); })(x), jacobian(slopes(plain))(x)));
  }
}

TEST_CASE("custom_gradient: variables that the function reads, in second derivatives") {
  const Variable w(scalar(1.5), "w"), c(scalar(0.7), "constant", false);
  const auto f = custom_gradient([&](const Tensor& x) {
    const Tensor e = exp(w * x) * c;
    return std::pair(e, [e, x, &w](const Tensor& dy, std::span<const Variable> v) {
      for (const Variable& one : v) CHECK(one == w);
      return std::pair(dy * w * e, std::vector<Gradient>(v.size(), Gradient(dy * x * e)));
    });
  });
  const Tensor x = scalar(0.4);
  const double e = 0.7 * std::exp(0.6), xx = 1.5 * 1.5 * e, xw = (1 + 0.6) * e, ww = 0.16 * e;
  const auto second = [&](const auto& g, const auto& first, const auto& then) {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    return (*outer.gradient(*inner.gradient(g(x), first), then)).item();
  };
  const auto along = [&](const auto& g, const auto& first, const Source& then) {
    const std::vector<Source> sources = {then};
    const ForwardAccumulator accumulator(sources, 1.0);
    GradientTape inner;
    inner.watch(x);
    return accumulator.jvp(*inner.gradient(g(x), first)).dense().item();
  };
  const auto check = [&](const auto& g) {
    CHECK(close(second(g, x, x), xx));
    CHECK(close(second(g, x, w), xw));
    CHECK(close(second(g, w, x), xw));
    CHECK(close(second(g, w, w), ww));
    CHECK(close(along(g, x, x), xx));
    CHECK(close(along(g, x, w), xw));
    CHECK(close(along(g, w, x), xw));
    CHECK(close(along(g, w, w), ww));
  };
  check(f);
  {
    INFO("checkpoint");
    check(checkpoint(f));
  }
  {
    INFO("compiled");
    check(compile(f));
  }
  {
    INFO("loop");
    check([&](const Tensor& v) {
      return fori_loop(
          1, [&](const Tensor&, const Tensor& s) { return f(s); }, v);
    });
  }
  {
    INFO("the value of a variable as result");
    const auto read = custom_gradient([&](const Tensor& v) {
      const Tensor s = v * w;
      return std::pair(w.read(), [s](const Tensor& dy, std::span<const Variable>) {
        return std::pair(dy * s, std::vector<Gradient>{Gradient(dy * 10)});
      });
    });
    GradientTape outer, inner;
    outer.watch(x);
    inner.watch(x);
    const Tensor y = read(x), later = w.read();
    const auto slopes = inner.gradient(y, {x, w});
    CHECK(close((*slopes[0]).item(), 0.6));
    CHECK((*slopes[1]).item() == 10);
    CHECK(close((*outer.gradient(*slopes[0] + later, w)).item(), 1.4));
  }
}

TEST_CASE("custom_gradient: what the function captures has a derivative through the rule alone") {
  const Tensor x = scalar(0.4), c = scalar(1.5);
  const auto f = custom_gradient([c](const Tensor& v) {
    const Tensor e = exp(c * v);
    return std::pair(e * 1, [e, c](const Tensor& dy) { return dy * c * e; });
  });
  const double e = std::exp(0.6);
  for (const Function& g : {Function(f), Function(checkpoint(f)), Function(compile(f))}) {
    GradientTape outer;
    outer.watch(std::pair(x, c));
    GradientTape inner;
    inner.watch(std::pair(x, c));
    const Tensor y = g(x);
    const auto slopes = inner.gradient(y, {x, c});
    CHECK_FALSE(slopes[1]);
    const auto seconds = outer.gradient(slopes[0], {x, c});
    CHECK(close((*seconds[0]).item(), 1.5 * 1.5 * e));
    CHECK(close((*seconds[1]).item(), 1.6 * e));
    GradientTape one;
    one.watch(c);
    CHECK_FALSE(one.gradient(g(x), c));
    GradientTape two;
    two.watch(c);
    GradientTape three;
    three.watch(c);
    const Tensor again = g(x);
    CHECK_FALSE(three.gradient(again, c));
    CHECK_FALSE(two.gradient(again, c));
    const ForwardAccumulator by_c(c, 1.0);
    GradientTape four;
    four.watch(c);
    CHECK_FALSE(by_c.jvp(g(x)));
  }
}

TEST_CASE("custom_gradient: what a function captures or reads, in derivatives that a body takes of it") {
  const Tensor x = scalar(0.4), c = scalar(1.5);
  const Variable w(scalar(1.5), "w");
  const double e = std::exp(0.6);
  const Function captures = custom_gradient([c](const Tensor& v) {
    const Tensor y = exp(c * v);
    return std::pair(y * 1, [y, c](const Tensor& dy) { return dy * c * y; });
  });
  const Function reads = custom_gradient([w](const Tensor& v) {
    const Tensor at = w.read(), y = exp(at * v);
    return std::pair(y * 1, [y, v, at](const Tensor& dy, std::span<const Variable> variables) {
      return std::pair(dy * at * y, std::vector<Gradient>(variables.size(), Gradient(dy * v * y)));
    });
  });
  const auto slope_by_w = [=](const Tensor& v) {
    GradientTape tape;
    const Tensor y = reads(v);
    return *tape.gradient(y, w);
  };
  // The derivatives of f's result by x and by c or w.
  const auto check = [&](const Function& f, const Source& parameter, double by_x, double by_parameter) {
    GradientTape tape;
    tape.watch(x);
    if (!parameter.is_variable()) tape.watch(c);
    const Tensor y = f(x);
    const auto d = tape.gradient(y, {x, parameter});
    CHECK(close((*d[0]).item(), by_x));
    CHECK(close((*d[1]).item(), by_parameter));
    const ForwardAccumulator along({x, parameter}, {scalar(1.0), scalar(2.0)});
    CHECK(close(along.jvp(f(x)).dense().item(), by_x + 2 * by_parameter));
  };
  const auto check_in = [&](const Body& b) {
    INFO(b.name);
    check(b.around(grad(captures)), c, 2.25 * e, 1.6 * e);
    check(b.around(grad(reads)), w, 2.25 * e, 1.6 * e);
    check(b.around(slope_by_w), w, 1.6 * e, 0.16 * e);
  };
  for (const Body& b : plain_bodies) check_in(b);
  for (const Body& b : compiled_bodies) check_in(b);
}

TEST_CASE("custom_gradient: results that are arguments, views, shared, constant, integer or unconnected") {
  const Tensor x = tensor({{0.5, 2.}, {3., 4.}});
  const auto check = [&](const char* what, const auto& result) {
    INFO(what);
    const auto f = custom_gradient([&](const Tensor& v) {
      const Tensor s = v * v * v;
      return std::pair(result(v), [s](const auto& dy) { return sum(dy) * s; });
    });
    const auto total = [&](const Tensor& v) { return sum(square(f(v))); };
    // total = sum(y^2) and y' = s: total' = 2 sum(y) s, total'' = 2 n s s + 2 sum(y) s'.
    const Tensor y = stop_gradient(f(x)), s = x * x * x;
    CHECK(allclose(grad(total)(x), 2 * sum(y) * s));
    const Tensor expected =
        2.0 * static_cast<double>(y.size()) * outer(flat(s), flat(s)) + 2 * sum(y) * 3 * diag(flat(x * x));
    CHECK(allclose(reshape(hessian(total)(x), {4, 4}), expected));
    CHECK(allclose(reshape(jacobian(grad(total))(x), {4, 4}), expected));
    CHECK(allclose(reshape(hessian(compile(total))(x), {4, 4}), expected));
    const Tensor v = tensor({{1., -2.}, {0.5, 3.}});
    CHECK(allclose(flat(jvp(grad(total), x, v).second), matmul(expected, flat(v))));
  };
  const Tensor old = ones({3});
  check("argument", [](const Tensor& v) { return v; });
  check("view", [](const Tensor& v) { return transpose(v); });
  check("part", [](const Tensor& v) { return v[1]; });
  check("older", [&](const Tensor&) { return old; });
  check("constant", [&](const Tensor&) { return ones({2}) * 3; });
  check("stopped", [](const Tensor& v) { return stop_gradient(v * 2); });
  check("of an op with two results", [](const Tensor& v) { return top_k(flat(v), 3).values; });

  const auto several = custom_gradient([](const Tensor& v, const Tensor& n) {
    const Tensor e = exp(v), y = e * 2;
    return std::pair(std::tuple(y, y, argmax(v, 0), n, v), [e](const auto& dy) {
      return std::tuple((std::get<0>(dy) + 10 * std::get<1>(dy) + 100 * std::get<4>(dy)) * e, none);
    });
  });
  const Tensor u = tensor({0.1, 0.2}), n = from_data(std::vector<std::int64_t>{1, 2});
  GradientTape outer;
  outer.watch(u);
  GradientTape inner({.persistent = true});
  inner.watch(u);
  const auto [a, b, i, same, argument] = several(u, n);
  CHECK(i.item<std::int64_t>() == 1);
  CHECK(same.to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 2});
  inner.stop();
  const Tensor slope = *inner.gradient(a, u), ten = *inner.gradient(b, u), hundred = *inner.gradient(argument, u);
  CHECK(allclose(slope, exp(u)));
  CHECK(allclose(ten, 10 * exp(u)));
  CHECK(allclose(hundred, 100 * exp(u)));
  CHECK(allclose(*outer.gradient(slope + ten + hundred, u), 111 * exp(u)));
}

TEST_CASE("custom_gradient: inputs that are not followed, and rules that give none") {
  const auto f = custom_gradient([](const Tensor& x, const Tensor& y) {
    const Tensor p = x * y * y;
    return std::pair(p * 2, [p](const Tensor& dy) { return std::tuple(dy * p, none); });
  });
  const Tensor x = scalar(3.0), y = scalar(5.0);
  GradientTape outer;
  outer.watch(std::pair(x, y));
  GradientTape inner;
  inner.watch(x);
  const Tensor z = f(x, y);
  const auto slopes = inner.gradient(z, {x, y}, {.unconnected_gradients = UnconnectedGradients::none});
  CHECK((*slopes[0]).item() == 75);
  CHECK_FALSE(slopes[1]);
  const auto seconds = outer.gradient(slopes[0], {x, y});
  CHECK((*seconds[0]).item() == 25);
  CHECK((*seconds[1]).item() == 30);
}

TEST_CASE("custom_gradient: complex numbers in forward over reverse") {
  const auto f = custom_gradient([](const Tensor& z) {
    const Tensor e = exp(z);
    return std::pair(e, [e](const Tensor& dy) { return dy * conj(e); });
  });
  const auto plain = [](const Tensor& z) { return exp(z); };
  const auto loss = [](const auto& g) {
    return [&g](const Tensor& x) {
      const Tensor z = make_complex(x, x * x);
      return sum(square(abs(g(z) * z)));
    };
  };
  const Tensor x = tensor({0.3, -0.6});
  CHECK(allclose(grad(loss(f))(x), grad(loss(plain))(x)));
  CHECK(allclose(jvp(grad(loss(f)), x, ones({2})).second, jvp(grad(loss(plain)), x, ones({2})).second));
  CHECK(allclose(hessian(loss(f))(x), hessian(loss(plain))(x)));
}

TEST_CASE("S119: custom_gradient: one tape keeps nothing of the function, several keep its ops") {
  Generator generator(1);
  const Tensor x = random_uniform(generator, {1000});
  int calls = 0;
  const auto f = custom_gradient([&](const Tensor& v) {
    ++calls;
    Tensor y = v;
    for (int i = 0; i < 10; ++i) y = y * v;
    return std::pair(y, [](const Tensor& dy) { return dy * 7; });
  });
  {
    GradientTape tape;
    tape.watch(x);
    const std::int64_t before = memory_stats().live_bytes;
    const Tensor y = f(x);
    CHECK(memory_stats().live_bytes - before < 2 * 8200);
    CHECK(tape.stats().entries == 1);
    CHECK(array_equal(*tape.gradient(y, x), full({1000}, 7.0)));
  }
  CHECK(calls == 1);
  {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = f(x);
    CHECK(tape.stats().entries == 11);
    CHECK(array_equal(*tape.gradient(y, x), full({1000}, 7.0)));
  }
  GradientTape outer;
  outer.watch(x);
  {
    const auto pause = outer.stop_recording();  // then the other tape is alone
    GradientTape tape;
    tape.watch(x);
    f(x);
    CHECK(tape.stats().entries == 1);
  }
  GradientTape inner;
  inner.watch(x);
  const Tensor y = f(x);
  CHECK(array_equal(*inner.gradient(y, x), full({1000}, 7.0)));  // the rule's path alone
  CHECK(array_equal(*outer.gradient(y, x), full({1000}, 7.0)));
  const ForwardAccumulator beside(scalar(1.0), 1.0);
  GradientTape tape;
  tape.watch(x);
  f(x);
  CHECK(tape.stats().entries == 11);
}

TEST_CASE("custom_gradient: stop_recording inside the function makes what it computes constant") {
  const Tensor x = scalar(2.0);
  for (const bool paused : {false, true}) {
    GradientTape outer;
    outer.watch(x);
    const auto f = custom_gradient([&](const Tensor& v) {
      Tensor s;
      if (paused) {
        const auto pause = outer.stop_recording();
        s = v * v;
      } else {
        s = v * v;
      }
      return std::pair(v * 3, [s](const Tensor& dy) { return dy * s; });
    });
    GradientTape inner;
    inner.watch(x);
    const Tensor slope = *inner.gradient(f(x), x);
    CHECK(slope.item() == 4);
    const Gradient second = outer.gradient(slope, x, {.unconnected_gradients = UnconnectedGradients::zero});
    CHECK((*second).item() == (paused ? 0 : 4));
  }
  // Also of the result itself, which the rule gives a derivative.
  GradientTape outer;
  outer.watch(x);
  const auto f = custom_gradient([&](const Tensor& v) {
    const auto pause = outer.stop_recording();
    const Tensor y = v * 3;
    return std::pair(y, [y](const Tensor& dy) { return dy * y; });
  });
  GradientTape inner;
  inner.watch(x);
  CHECK((*outer.gradient(*inner.gradient(f(x), x), x)).item() == 6);
}

TEST_CASE("custom_gradient: pure forward mode needs a rule of its own, also around loops and compiled functions") {
  const auto f = custom_gradient([](const Tensor& x) {
    const Tensor e = exp(x);
    return std::pair(e, [e](const Tensor& dy) { return dy * e; });
  });
  const Tensor x = scalar(0.3);
  CHECK_THROWS_AS(jvp(f, x, 1.0), NotDifferentiable);
  CHECK_THROWS_AS(jvp(checkpoint(f), x, 1.0), NotDifferentiable);
  CHECK_THROWS_AS(jvp(compile(f), x, 1.0), NotDifferentiable);
  CHECK_THROWS_AS(linearize(f, x).second(scalar(1.0)), NotDifferentiable);
  CHECK_THROWS_AS(grad([&](const Tensor& v) { return jvp(f, v, 1.0).second; })(x), NotDifferentiable);
  CHECK_THROWS_AS(
      jvp([&](const Tensor& v) { return grad([&](const Tensor& u) { return jvp(f, u, 1.0).second; })(v); }, x, 1.0),
      NotDifferentiable);
  // The accumulator that saw the error goes on.
  const ForwardAccumulator accumulator(x, 1.0);
  CHECK_THROWS_AS(f(x), NotDifferentiable);
  CHECK(accumulator.jvp(x * x).dense().item() == 0.6);
}

TEST_CASE("custom_gradient: a jvp rule is used where there is one, and the function's ops need none") {
  int pushed = 0;
  const auto without =
      custom_gradient([](const Tensor& x) { return std::pair(exp(x), [x](const Tensor& dy) { return dy * exp(x); }); });
  const auto f = custom_gradient(
      [&](const Tensor& x) {
        const Tensor e = exp(x);
        return std::pair(without(x) + 0 * e, [e](const Tensor& dy) { return dy * e; });
      },
      [&](const std::tuple<Tensor>& primals, const std::tuple<Tensor>& tangents) {
        ++pushed;
        return exp(std::get<0>(primals)) * std::get<0>(tangents);
      });
  const Tensor x = scalar(0.3);
  const double e = std::exp(0.3);
  CHECK(close(jvp(f, x, 1.0).second.item(), e));
  CHECK(pushed == 1);
  check_everywhere(f, 0.3, {e, e, e});
  CHECK(close(grad([&](const Tensor& v) { return jvp(f, v, 1.0).second; })(x).item(), e));
  CHECK(close(jvp([&](const Tensor& v) { return jvp(f, v, 1.0).second; }, x, 1.0).second.item(), e));
}

TEST_CASE("custom_gradient: a tangent that no rule gives is an error where it is read, and not zero") {
  const auto without =
      custom_gradient([](const Tensor& x) { return std::pair(exp(x), [x](const Tensor& dy) { return dy * exp(x); }); });
  const auto f = custom_gradient(
      [&](const Tensor& x) {
        const Tensor e = without(x);
        return std::pair(x * 2, [e](const Tensor& dy) { return dy * e; });
      },
      [](const std::tuple<Tensor>&, const std::tuple<Tensor>& tangents) { return std::get<0>(tangents) * 2; });
  const Tensor x = scalar(0.3);
  GradientTape tape;
  tape.watch(x);
  const ForwardAccumulator accumulator(x, 1.0);
  const Tensor y = f(x);
  CHECK(accumulator.jvp(y).dense().item() == 2);
  CHECK_THROWS_AS(tape.gradient(y, x), NotDifferentiable);  // the accumulator follows the rule
}

TEST_CASE("custom_gradient: an exception inside the function leaves tapes and accumulators as they were") {
  const Tensor x = scalar(2.0);
  const auto f = custom_gradient([](const Tensor& v) {
    const Tensor y = v * v;
    if (v.item() > 0) throw std::runtime_error("no");
    return std::pair(y, [y](const Tensor& dy) { return dy * y; });
  });
  const ForwardAccumulator accumulator(x, 1.0);
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  CHECK_THROWS_WITH(f(x), "no");
  const Tensor y = x * x * x, slope = *inner.gradient(y, x);
  CHECK(accumulator.jvp(slope).dense().item() == 12);
  CHECK((*outer.gradient(slope, x)).item() == 12);
}

TEST_CASE("custom_gradient: tapes that the function makes, stops, resets or uses up") {
  const Tensor x = scalar(2.0);
  const WarningLog growth;  // collects the warning about a gradient on an active tape
  {
    INFO("a tape made inside that outlives it sees the ops, not the rule");
    std::unique_ptr<GradientTape> made;
    GradientTape outer, inner;
    outer.watch(x);
    inner.watch(x);
    const Tensor y = custom_gradient([&](const Tensor& v) {
      made = std::make_unique<GradientTape>();
      made->watch(x);
      return std::pair(v * 2, [](const Tensor& dy) { return dy * 5; });
    })(x);
    const Tensor z = y * x;
    CHECK((*made->gradient(z, x)).item() == 8);
    CHECK((*inner.gradient(z, x)).item() == 14);
    CHECK((*outer.gradient(z, x)).item() == 14);
  }
  {
    INFO("stopped and resumed");
    GradientTape outer({.persistent = true}), inner;
    outer.watch(x);
    inner.watch(x);
    const Tensor y = custom_gradient([&](const Tensor& v) {
      const Tensor before = v * v;
      outer.stop();
      const Tensor between = v * v;
      outer.resume();
      return std::pair(v * 2, [before, between](const Tensor& dy) { return dy * before * between; });
    })(x);
    const Tensor slope = *inner.gradient(y, x);
    CHECK(slope.item() == 16);
    CHECK((*outer.gradient(slope, x)).item() == 16);
    CHECK((*outer.gradient(y, x)).item() == 16);
  }
  {
    INFO("reset");
    GradientTape outer({.persistent = true}), inner;
    outer.watch(x);
    inner.watch(x);
    const Tensor y = custom_gradient([&](const Tensor& v) {
      outer.reset();
      outer.watch(v);
      const Tensor s = v * v, t = v * 2, u = t * t;
      return std::pair(t, [s, u](const Tensor& dy) { return dy * s * u; });
    })(x);
    const Tensor slope = *inner.gradient(y, x);  // x^2 (2 x)^2; t' = slope
    CHECK(slope.item() == 64);
    CHECK((*outer.gradient(slope, x)).item() == 4 * 16 + 4 * 2 * 4 * 64);
  }
  {
    INFO("used up");
    GradientTape outer, inner;
    outer.watch(x);
    inner.watch(x);
    const Tensor y = custom_gradient([&](const Tensor& v) {
      const Tensor s = v * v, slope = *outer.gradient(s, x);
      return std::pair(v * 2, [slope](const Tensor& dy) { return dy * slope; });
    })(x);
    CHECK((*inner.gradient(y, x)).item() == 4);
  }
  {
    INFO("an accumulator ends inside");
    auto accumulator = std::make_unique<ForwardAccumulator>(x, 1.0);
    GradientTape inner;
    inner.watch(x);
    const Tensor y = custom_gradient([&](const Tensor& v) {
      const Tensor s = v * v;
      accumulator.reset();
      return std::pair(s * 2, [s](const Tensor& dy) { return dy * s; });
    })(x);
    CHECK((*inner.gradient(y, x)).item() == 4);
  }
}

TEST_CASE("custom_gradient: a function of more ops than a tape keeps without a sweep") {
  const Tensor x = scalar(0.5);
  const auto f = custom_gradient([](const Tensor& v) {
    const Tensor first = exp(v);
    Tensor s = v, y = v * 2, gone;
    const Tensor of_y = y * y;
    for (int i = 0; i < 6000; ++i) {
      s = s + v * 0.001;
      gone = s * v;
    }
    return std::pair(y, [first, s, of_y](const Tensor& dy) { return dy * (first + s + of_y); });
  });
  // r = exp(x) + 7 x + y^2, r' = exp(x) + 7 + 2 y r
  const double e = std::exp(0.5), r = e + 3.5 + 1, second = e + 7 + 2 * r;
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); };
  CHECK(near(grad(f)(x).item(), r));
  CHECK(near(grad(grad(f))(x).item(), second));
  CHECK(near(jvp(grad(f), x, 1.0).second.item(), second));
  CHECK(near(second_on_one_tape(f, x), second));
}

TEST_CASE("custom_gradient: calls whose results are gone do not stay on tapes or accumulators") {
  const Tensor x = scalar(0.5);
  const auto f = custom_gradient([](const Tensor& v) {
    const Tensor e = exp(v);
    return std::pair(e + 1, [e](const Tensor& dy) { return dy * e; });
  });
  const WarningLog growth;  // collects the warning about a gradient on an active tape
  const ForwardAccumulator accumulator(x, 1.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  f(x);
  const std::int64_t before = memory_stats().live_bytes;
  for (int i = 0; i < 20000; ++i) f(x);
  CHECK(tape.stats().entries < 3 * 4096);
  CHECK(memory_stats().live_bytes - before < 8 << 20);
  const Tensor slope = *tape.gradient(f(x), x);
  CHECK(close((*tape.gradient(slope, x)).item(), std::exp(0.5)));
  CHECK(close(accumulator.jvp(slope).dense().item(), std::exp(0.5)));
}
