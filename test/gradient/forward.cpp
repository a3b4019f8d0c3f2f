// Forward mode: ForwardAccumulator, jvp, linearize, and every mixture of modes.
#include <cmath>
#include <functional>
#include <memory>
#include <reel/reel.hpp>
#include <thread>

#include "catch.hpp"
#include "op_cases.hpp"
#include "support/derivatives.hpp"

using namespace reel;
using Catch::Contains;

namespace {

using Function = std::function<Tensor(const Tensor&)>;

enum class Mode { forward, reverse };

// d/dx of a function of one element, whose value has one element too.
Function derivative(Mode mode, Function f) {
  if (mode == Mode::forward) return [f = std::move(f)](const Tensor& x) { return jvp(f, x, 1.0).second; };
  return [f = std::move(f)](const Tensor& x) { return grad(f)(x); };
}

// The derivative of order modes.size(), the first mode innermost.
double differentiate(Function f, const std::vector<Mode>& modes, double x) {
  for (Mode m : modes) f = derivative(m, std::move(f));
  return f(scalar(x)).item();
}

std::vector<std::vector<Mode>> mixtures(std::size_t order) {
  std::vector<std::vector<Mode>> all;
  for (std::size_t bits = 0; bits < std::size_t{1} << order; ++bits) {
    std::vector<Mode> modes;
    for (std::size_t k = 0; k < order; ++k) modes.push_back(bits >> k & 1 ? Mode::forward : Mode::reverse);
    all.push_back(modes);
  }
  return all;
}

std::string name(const std::vector<Mode>& modes) {
  std::string text;
  for (Mode m : modes) text = (m == Mode::forward ? "forward " : "reverse ") + text;
  return text;
}

// Operands of the row's first case.
support::Tensors operands(const cases::Shaped& row, support::Random& random) {
  support::Tensors x;
  const std::vector<std::vector<Shape>> all_shapes = shapes_of(row);
  for (const Shape& s : all_shapes.front()) {
    const Tensor drawn = random.tensor(s, row.domain.low, row.domain.high);
    x.push_back(row.prepare ? row.prepare(drawn, x.size()) : drawn);
  }
  return x;
}

bool close(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance * (1 + std::abs(b)); }

}  // namespace

TEST_CASE("ForwardAccumulator and forward replay of a tape give the same tangents, for every op") {
  for (const cases::Pointwise& row : cases::pointwise()) {
    if (row.flags & (cases::boolean_result | cases::constant)) continue;
    support::Random random(row.name);
    support::Tensors x, t;
    for (int i = 0; i < row.arity; ++i) x.push_back(random.tensor({2, 3}, row.domain[i].low, row.domain[i].high));
    t = random.like(x);
    const support::Function f = [&](const support::Tensors& p) { return support::Tensors{row.call(p)}; };
    const ForwardAccumulator accumulator(x, t);
    INFO(row.name);
    const support::Tensors dy{accumulator.jvp(row.call(x), UnconnectedGradients::zero).dense()};
    CHECK(support::difference(dy, support::push(f, x, t)).error == 0);
  }
  for (const auto rows : cases::shaped_tables())
    for (const cases::Shaped& row : rows) {
      if (row.flags & (cases::boolean_result | cases::constant)) continue;
      support::Random random(row.name);
      const support::Tensors x = operands(row, random);
      const support::Tensors t = random.like(x);
      const support::Function f = [&](const support::Tensors& p) { return support::Tensors{row.call(p)}; };
      const ForwardAccumulator accumulator(x, t);
      INFO(row.name);
      const support::Tensors dy{accumulator.jvp(row.call(x), UnconnectedGradients::zero).dense()};
      CHECK(support::difference(dy, support::push(f, x, t)).error <= 1e-13 * row.slack);
    }
}

TEST_CASE("nestings of two and three modes agree, for every pointwise op") {
  for (const cases::Pointwise& row : cases::pointwise()) {
    if (row.flags & (cases::boolean_result | cases::constant)) continue;
    support::Random random(row.name);
    double at[3] = {};
    do
      for (int i = 0; i < row.arity; ++i) at[i] = random.uniform(row.domain[i].low, row.domain[i].high);
    while (row.smooth && !row.smooth(at));
    for (int k = 0; k < row.arity; ++k) {
      const Function f = [&](const Tensor& x) {
        support::Tensors all;
        for (int i = 0; i < row.arity; ++i) all.push_back(i == k ? x : scalar(at[i]));
        // The square makes cross terms of linear ops too.
        return square(row.call(all)) * x;
      };
      for (std::size_t order : {2u, 3u}) {
        const std::vector<std::vector<Mode>> all = mixtures(order);
        const double expected = differentiate(f, all.front(), at[k]);
        for (const std::vector<Mode>& modes : all) {
          INFO(row.name << " by operand " << k << ": " << name(modes));
          CHECK(close(differentiate(f, modes, at[k]), expected, 1e-10));
        }
      }
    }
  }
}

TEST_CASE("nestings of two and three modes agree, for every other op", "[once]") {
  for (const auto rows : cases::shaped_tables())
    for (const cases::Shaped& row : rows) {
      if (row.flags & (cases::boolean_result | cases::constant)) continue;
      support::Random random(row.name);
      const support::Tensors x = operands(row, random);
      const support::Tensors direction = random.like(x);
      // Along a line through all operands; the square makes cross terms of linear ops too.
      const Function f = [&](const Tensor& t) {
        support::Tensors moved;
        for (std::size_t i = 0; i < x.size(); ++i) moved.push_back(x[i] + t * 0.1 * direction[i]);
        return sum(square(row.call(moved))) * (1 + t);
      };
      for (std::size_t order : {2u, 3u}) {
        const std::vector<std::vector<Mode>> all = mixtures(order);
        const double expected = differentiate(f, all.front(), 0.0);
        for (const std::vector<Mode>& modes : all) {
          INFO(row.name << ": " << name(modes));
          CHECK(close(differentiate(f, modes, 0.0), expected, 1e-10 * row.slack));
        }
      }
    }
}

TEST_CASE("derivatives of power, divide and tanh up to order six agree with closed forms, in every nesting") {
  const double x = 0.7;
  // (d/dx)^n tanh as a polynomial in t = tanh x: p' (1 - t^2).
  std::vector<double> polynomial{0, 1};
  double falling = 1, factorial = 1;
  for (std::size_t n = 1; n <= 6; ++n) {
    std::vector<double> next(polynomial.size() + 1);
    for (std::size_t i = 1; i < polynomial.size(); ++i) {
      next[i - 1] += static_cast<double>(i) * polynomial[i];
      next[i + 1] -= static_cast<double>(i) * polynomial[i];
    }
    polynomial = next;
    double of_tanh = 0;
    for (std::size_t i = polynomial.size(); i-- > 0;) of_tanh = of_tanh * std::tanh(x) + polynomial[i];
    falling *= 3.5 - static_cast<double>(n - 1);
    factorial *= -static_cast<double>(n);
    const double of_power = falling * std::pow(x, 3.5 - static_cast<double>(n));
    const double of_divide = factorial / std::pow(x, static_cast<double>(n + 1));

    std::vector<std::vector<Mode>> nestings{std::vector<Mode>(n, Mode::reverse), std::vector<Mode>(n, Mode::forward)};
    for (const Mode first : {Mode::forward, Mode::reverse}) {
      nestings.emplace_back();
      for (std::size_t k = 0; k < n; ++k)
        nestings.back().push_back((k % 2 == 0) == (first == Mode::forward) ? Mode::forward : Mode::reverse);
    }
    for (const std::vector<Mode>& modes : nestings) {
      INFO(name(modes));
      CHECK(close(differentiate([](const Tensor& v) { return tanh(v); }, modes, x), of_tanh, 1e-10));
      CHECK(close(differentiate([](const Tensor& v) { return power(v, 3.5); }, modes, x), of_power, 1e-10));
      CHECK(close(differentiate([](const Tensor& v) { return 1 / v; }, modes, x), of_divide, 1e-10));
    }
  }
}

TEST_CASE("nested derivatives do not confuse perturbations") {
  // d/dx (x d/dy (x + y)) = 1; a confused system says 2 (Siskind and Pearlmutter 2005).
  for (const std::vector<Mode>& modes : mixtures(2)) {
    const Function f = [&](const Tensor& x) {
      return x * derivative(modes[0], [&](const Tensor& y) { return x + y; })(scalar(1.0));
    };
    INFO(name(modes));
    CHECK(derivative(modes[1], f)(scalar(1.0)).item() == 1.0);
  }
  // A captured tensor is a constant, even if it is also the parameter.
  const Tensor x = scalar(3.0);
  CHECK(jvp([&](const Tensor& y) { return x * y; }, x, 1.0).second.item() == 3.0);
}

TEST_CASE("ForwardAccumulator: trees, variables, several tangents, and unconnected tensors") {
  const Variable w(tensor({1., 2.}), "w");
  const Tensor x = tensor({3., 4.}), far = scalar(1.0);
  ForwardAccumulator accumulator({w, x}, {tensor({1., 0.}), tensor({0., 10.})});
  const std::pair y(w * x, x + 1.0);
  const auto [dy, dz] = accumulator.jvp(y);
  CHECK((*dy).to_vector() == std::vector<double>{3, 20});
  CHECK((*dz).to_vector() == std::vector<double>{0, 10});
  CHECK(accumulator.jvp({y.first, far}).size() == 2);
  CHECK_FALSE(accumulator.jvp(far));
  CHECK_THAT(accumulator.jvp(far).why_none(), Contains("does not depend"));
  CHECK(accumulator.jvp(far, UnconnectedGradients::zero).dense().item() == 0.0);
  CHECK_FALSE(accumulator.jvp(cast(x, DType::int64)));
  CHECK((*accumulator.jvp(w)).to_vector() == std::vector<double>{1, 0});
  CHECK_FALSE(accumulator.jvp(stop_gradient(x) * 2));
  accumulator.stop();
  const Tensor after = x * 2;
  CHECK_FALSE(accumulator.jvp(after));
  CHECK(accumulator.jvp(y.second));

  const ForwardAccumulator twice({far, far}, {scalar(1.0), scalar(2.0)});
  CHECK((*twice.jvp(far * 2)).item() == 6.0);
  const ForwardAccumulator number(std::vector{x, x}, 0.5);
  CHECK((*number.jvp(x)).to_vector() == std::vector<double>{1, 1});
}

TEST_CASE("ForwardAccumulator: tangents live as long as their tensors") {
  const Tensor x = tensor({1., 2.});
  const std::int64_t before = memory_stats().live_tensors;
  const ForwardAccumulator outer(x, 1.0), inner(x, 1.0);
  Tensor y = x;
  std::int64_t early = 0;
  for (int i = 0; i < 1000; ++i) {
    y = tanh(y) * 1.5 + x;
    if (i == 10) early = memory_stats().live_tensors;
  }
  CHECK(memory_stats().live_tensors == early);
  CHECK(early - before < 12);
  CHECK(inner.jvp(y));
}

TEST_CASE("ForwardAccumulator: any number of accumulators, each with its own primal") {
  std::vector<Tensor> primals;
  std::vector<std::unique_ptr<ForwardAccumulator>> accumulators;
  for (int i = 0; i < 40; ++i) {
    primals.push_back(scalar(0.1 * i));
    accumulators.push_back(std::make_unique<ForwardAccumulator>(primals.back(), 1.0));
  }
  for (std::size_t i = 0; i < primals.size(); ++i) {
    const Tensor y = sin(primals[i]);
    for (std::size_t k = 0; k < primals.size(); ++k) {
      const Gradient tangent = accumulators[k]->jvp(y);
      CHECK(static_cast<bool>(tangent) == (i == k));
      if (i == k) CHECK((*tangent).item() == Approx(std::cos(0.1 * static_cast<double>(i))));
    }
  }
}

TEST_CASE("ForwardAccumulator: usable after a jvp has thrown") {
  const Tensor x = scalar(2.0), in[] = {x};
  const ForwardAccumulator outer(x, 1.0), inner(x, 1.0);
  const auto unruly = [&] {
    const Tensor out[] = {from_data(std::vector<double>{4.0}, {})};
    record_operation("mine", in, out,
                     [](std::span<const Gradient> g) { return std::vector<Gradient>(g.begin(), g.end()); });
  };
  CHECK_THROWS_AS(unruly(), NotDifferentiable);
  CHECK_THROWS_WITH(unruly(), Contains("mine"));
  CHECK((*inner.jvp(x * x)).item() == 4.0);
  CHECK((*outer.jvp(*inner.jvp(x * x))).item() == 2.0);
  const Tensor out[] = {from_data(std::vector<double>{4.0}, {})};
  CHECK_THROWS_AS(
      record_operation("wrong", in, out, {}, [](std::span<const Tensor>) { return std::vector{ones({2})}; }),
      ShapeError);
}

TEST_CASE("ForwardAccumulator: a jvp may destroy it") {
  const Tensor x = scalar(2.0), in[] = {x}, out[] = {from_data(std::vector<double>{4.0}, {})};
  auto accumulator = std::make_unique<ForwardAccumulator>(x, 1.0);
  record_operation("mine", in, out, {}, [&](std::span<const Tensor> t) {
    accumulator.reset();
    return std::vector<Tensor>{t[0] * 2};
  });
  CHECK_FALSE(accumulator);
  const ForwardAccumulator next(x, 1.0);
  CHECK((*next.jvp(x * x)).item() == 4.0);
}

TEST_CASE("ForwardAccumulator: refuses wrong tangents, dtypes and threads") {
  const Tensor x = tensor({1., 2.});
  CHECK_THROWS_WITH(ForwardAccumulator(x, {x, x}), Contains("2 tangents for 1 primals"));
  CHECK_THROWS_AS(ForwardAccumulator(x, scalar(1.0)), ShapeError);
  CHECK_THROWS_AS(ForwardAccumulator(x, tensor<float>({1, 2})), TypeError);
  CHECK_THROWS_AS(ForwardAccumulator(tensor<int>({1, 2}), tensor<int>({1, 2})), TypeError);
  CHECK_THROWS_AS(ForwardAccumulator(x, {Gradient()}), ValueError);
  CHECK_THROWS_AS(ForwardAccumulator(Tensor(), 1.0), ValueError);
  ForwardAccumulator accumulator(x, 1.0), stopped(x, 1.0);
  stopped.stop();
  std::thread([&] {
    const auto of_another_thread = Contains("belongs to another thread");
    CHECK_THROWS_WITH(accumulator.jvp(x), of_another_thread);
    CHECK_THROWS_WITH(accumulator.stop(), of_another_thread);
    CHECK_THROWS_WITH(stopped.resume(), of_another_thread);
  }).join();
}

TEST_CASE("linearize: the tangent of a result that does not depend on the arguments is zero") {
  const auto linear = linearize(
                          [](const Tensor& v) {
                            return std::tuple(ones({3}), v * v, ones({2, 1}));
                          },
                          tensor({1., 2.}))
                          .second;
  const auto tangents = linear(ones({2}));
  CHECK(array_equal(std::get<0>(tangents), zeros({3})));
  CHECK(array_equal(std::get<1>(tangents), tensor({2., 4.})));
  CHECK(array_equal(std::get<2>(tangents), zeros({2, 1})));
}

TEST_CASE("linearize: ops off the path need no jvp, nor does one whose result is an argument") {
  const auto opaque = [](const Tensor& u) {
    const Tensor in[] = {u}, out[] = {from_data(u.to_vector(), u.shape())};
    record_operation("mine", in, out, [](std::span<const Gradient> g) { return std::vector<Gradient>{g[0]}; });
    return out[0];
  };
  const Tensor x = scalar(2.0);
  Tensor aside;
  const auto f = [&](const Tensor& u) {
    aside = sin(opaque(u));
    return u * u;
  };
  CHECK(linearize(f, x).second(1.0).item() == 4.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = opaque(x), z = y * 3.0, one = scalar(1.0), targets[] = {z};
  const Source sources[] = {y};
  CHECK(detail::push("push", tape, {sources, 1}, {one}, {targets, 1})[0].item() == 3.0);
}

TEST_CASE("ForwardAccumulator: the memory of ops whose results are gone is reused") {
  const Tensor x = scalar(0.5);
  const ForwardAccumulator accumulator(x, 1.0);
  std::int64_t bytes = 0, from_system = 0;
  Tensor y = x;
  for (int i = 0; i < 20000; ++i) {
    y = sin(y);
    if (i != 100) continue;
    bytes = memory_stats().live_bytes;
    from_system = memory_stats().pool_misses;
  }
  CHECK(memory_stats().live_bytes == bytes);
  CHECK(memory_stats().pool_misses == from_system);
  CHECK(accumulator.jvp(y));
}

TEST_CASE("forward over reverse, and reverse over forward, give Hessian-vector products") {
  const Tensor a = tensor({{2., 1.}, {-1., 3.}}), x = tensor({0.5, -0.25}), v = tensor({1., 2.});
  const auto f = [&](const Tensor& p) { return sum(tanh(matmul(a, p)) * p); };
  const std::vector<double> expected = matmul(hessian(f)(x), v).to_vector();
  const auto check = [&](const Tensor& got) {
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(close(got.to_vector()[i], expected[i], 1e-13));
  };
  check(jvp(grad(f), x, v).second);
  check(grad([&](const Tensor& p) { return jvp(f, p, v).second; })(x));
  check(hvp(f)(x, v));
  {
    const ForwardAccumulator accumulator(x, v);
    GradientTape tape;
    tape.watch(x);
    check(*accumulator.jvp(tape.gradient(f(x), x)));
  }
  {
    GradientTape tape;
    tape.watch(x);
    const ForwardAccumulator accumulator(x, v);
    check(*tape.gradient(accumulator.jvp(f(x)), x));
  }
}

TEST_CASE("jvp and linearize: structures of results, one call of the function, constants") {
  int calls = 0;
  const auto f = [&](const Tensor& a, const std::vector<Tensor>& b) {
    ++calls;
    return std::pair(a * b[0], std::map<std::string, Tensor>{{"b", b[1] * b[1]}, {"c", scalar(1.0)}});
  };
  const Tensor a = scalar(2.0), p = scalar(3.0), q = scalar(5.0);
  const auto [y, dy] = jvp(f, std::tuple(a, std::vector{p, q}), {scalar(1.0), scalar(10.0), scalar(100.0)});
  CHECK(calls == 1);
  CHECK(y.first.item() == 6.0);
  CHECK(dy.first.item() == 23.0);
  CHECK(dy.second.at("b").item() == 1000.0);
  CHECK(dy.second.at("c").item() == 0.0);

  const auto [z, linear] = linearize(f, a, std::vector{p, q});
  CHECK(calls == 2);
  for (double scale : {1.0, -2.0}) {
    const auto dz = linear({scalar(scale), scalar(10.0), scalar(100.0)});
    CHECK(dz.first.item() == 3 * scale + 20);
    CHECK(dz.second.at("b").item() == 1000.0);
    CHECK(dz.second.at("c").item() == 0.0);
  }
  CHECK(calls == 2);
  CHECK(z.first.item() == 6.0);
  CHECK_THROWS_AS(linear({scalar(1.0)}), ValueError);
  CHECK_THROWS_AS(jvp(f, std::tuple(a, std::vector{p, q}), 1.0f * tensor<float>({1, 2})), ValueError);
  // What a linearised function gives is differentiable by the tangents.
  const auto square_of = linearize([](const Tensor& v) { return v * v; }, a).second;
  CHECK(grad([&](const Tensor& t) { return square_of(t); })(scalar(1.0)).item() == 4.0);
}

TEST_CASE("tapes and accumulators that a jvp stops and resumes record afterwards") {
  const Tensor x = scalar(0.5);
  ForwardAccumulator forward(x, 1.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const auto f =
      custom_gradient([](const Tensor& u) { return std::pair(u * 3, [](const Tensor& dy) { return dy * 3; }); },
                      [&](const auto&, const auto& tangents) {
                        tape.stop();
                        tape.resume();
                        forward.stop();
                        return std::get<0>(tangents) * 3;
                      });
  CHECK((*forward.jvp(f(x))).item() == 3.0);
  forward.resume();
  const Tensor y = sin(x);
  CHECK((*forward.jvp(y)).item() == std::cos(0.5));
  CHECK((*tape.gradient(y, x)).item() == std::cos(0.5));
}
