// Nested tapes and accumulators around functions that stop gradients or have none for an argument. Compared with the
// same programs with constants in place of stopped values, with closed forms, and for each aggregation method.
#include <cmath>
#include <functional>
#include <memory>
#include <reel/elementwise.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "core/block.hpp"
#include "support/warnings.hpp"

using namespace reel;

namespace {

using Function = std::function<Tensor(const Tensor&)>;

bool close(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && max(abs(a - b)).item() <= 1e-12 * (1 + max(abs(b)).item());
}

constexpr AggregationMethod methods[] = {AggregationMethod::accumulate_n, AggregationMethod::add_n,
                                         AggregationMethod::tree};

// The kinds of entries around what is stopped. `stop` gives s from x inside of them.
std::vector<std::pair<const char*, std::function<Tensor(const Tensor& x, const Function& stop)>>> programs() {
  using Stop = const Function&;
  const auto no = [](const Tensor& x) { return x; };
  return {
      {"plain", [](const Tensor& x, Stop stop) { return stop(x) * 2.0; }},
      {"cond, all stopped",
       [=](const Tensor& x, Stop stop) {
         return cond(
             true, [=](const Tensor& v) { return stop(v) * 2.0; }, no, x);
       }},
      {"cond, partly",
       [=](const Tensor& x, Stop stop) {
         return cond(
             true, [=](const Tensor& v) { return stop(v) * v; }, no, x);
       }},
      {"cond in cond",
       [=](const Tensor& x, Stop stop) {
         const auto inner = [=](const Tensor& v) {
           return cond(
                      true, [=](const Tensor& u) { return stop(u) * 3.0; }, no, v) +
                  v;
         };
         return cond(true, inner, no, x);
       }},
      {"while_loop, all stopped",
       [](const Tensor& x, Stop stop) {
         const auto more = [](const Tensor& i, const Tensor&) { return less(i, 3); };
         return std::get<1>(while_loop(
             more, [=](const Tensor& i, const Tensor& v) { return std::tuple(i + 1, stop(v) * 1.5); },
             std::tuple(scalar(std::int64_t{0}), x)));
       }},
      {"while_loop with a budget",
       [](const Tensor& x, Stop stop) {
         const auto more = [](const Tensor& i, const Tensor&) { return less(i, 4); };
         return std::get<1>(
             while_loop(more, [=](const Tensor& i, const Tensor& v) { return std::tuple(i + 1, stop(x) * 0.5 + v); },
                        std::tuple(scalar(std::int64_t{0}), x), {.memory_budget = 1}));
       }},
      {"scan",
       [](const Tensor& x, Stop stop) {
         return scan([=](const Tensor& c, const Tensor& v) { return std::pair(stop(c) + v, c * stop(v)); }, x[0], x)
             .second;
       }},
      {"recompute_grad, all stopped",
       [](const Tensor& x, Stop stop) { return recompute_grad([=](const Tensor& v) { return stop(v) * 2.0; })(x); }},
      {"recompute_grad, partly",
       [](const Tensor& x, Stop stop) { return recompute_grad([=](const Tensor& v) { return stop(v) * sin(v); })(x); }},
      {"custom_gradient",
       [](const Tensor& x, Stop stop) {
         return custom_gradient(
             [=](const Tensor& v) { return std::pair(stop(v) * v, [=](const Tensor& dy) { return dy * stop(v); }); },
             [=](const std::tuple<Tensor>& p, const std::tuple<Tensor>& t) {
               return stop(std::get<0>(p)) * std::get<0>(t);
             })(x);
       }},
      {"branch beside",
       [](const Tensor& x, Stop stop) {
         const Tensor y = x * 3.0;
         return stop(y) + y * stop(y) + 0.0 * x;
       }},
  };
}

// The derivative along v, in one of the modes.
Function along(bool forward, Function f, const Tensor& v) {
  if (forward) return [=](const Tensor& x) { return jvp(f, x, v).second; };
  return [=](const Tensor& x) { return sum(grad(f)(x) * v); };
}

}  // namespace

TEST_CASE("stopped values are constants inside composites, to every order and in every nesting of modes") {
  const Tensor at = tensor({0.3, 0.4}), v = tensor({0.7, -1.3});
  const auto all = programs();
  for (const auto& program : all)
    for (int order = 1; order <= 4; ++order)
      for (int bits = 0; bits < 1 << order; ++bits) {
        INFO(program.first << ", order " << order << ", modes " << bits);
        const auto value = [&program](const Function& stop) -> Function {
          return [stop, f = program.second](const Tensor& x) {
            const Tensor y = f(x, stop);
            return sum(slice(y, {range(0, 1)}) * x) + sum(square(y) * x);
          };
        };
        Function stopped = value([](const Tensor& x) { return stop_gradient(x); });
        // A copy through the host, which no tape follows.
        Function constant = value([](const Tensor& x) { return from_data(x.to_vector(), x.shape()); });
        for (int k = 0; k < order; ++k) {
          stopped = along(bits >> k & 1, stopped, v);
          constant = along(bits >> k & 1, constant, v);
        }
        CHECK(close(stopped(at), constant(at)));
      }
}

TEST_CASE("a slice of a stopped value has no tangent, under two tapes around an accumulator") {
  const auto f = [](const Tensor& x) {
    return cond(
        true, [](const Tensor& v) { return stop_gradient(v) * 2.; }, [](const Tensor& v) { return v; }, x);
  };
  const auto g = [&](const Tensor& x) { return sum(slice(f(x), {range(0, 1)}) * x); };
  const auto r = [&](const Tensor& x) {
    return sum(grad([&](const Tensor& u) { return jvp(g, u, ones({2})).second; })(x));
  };
  CHECK(close(grad(r)(tensor({.3, .4})), zeros({2})));
}

TEST_CASE("an argument without gradient does not get the gradient of an earlier entry") {
  const Tensor n = scalar(1.), x = scalar(2.), c = scalar(3.), d = scalar(4.);
  for (const AggregationMethod method : methods) {
    GradientTape tape;
    tape.watch(n);
    const Tensor p = polygamma(n, x), y = (n + c) + (n + d) + p;
    CHECK((*tape.gradient(y, n, {.aggregation_method = method})).item() == 2.0);
  }
}

TEST_CASE("elementwise: an argument without derivative does not get another's, to any order") {
  const auto product = [](const Tensor& x) { return x[0] * x[1]; };
  const auto f = [&](const Tensor& x) { return elementwise([](auto b) { return relu(b); }, product(x)); };
  CHECK(close(hessian(f)(tensor({.75, .5})), tensor({{0, 1}, {1, 0}})));
  CHECK(close(grad([&](const Tensor& x) { return sum(hessian(f)(x)); })(tensor({.75, .5})), zeros({2})));

  // Functions with kinks, in elementwise and as ops.
  const Tensor at = tensor({.75, .5});
  const auto check = [&](const auto& lanes, const auto& ops) {
    const auto a = [&](const Tensor& x) { return elementwise(lanes, product(x), x[0] + x[1]); };
    const auto b = [&](const Tensor& x) { return ops(product(x), x[0] + x[1]); };
    CHECK(close(hessian(a)(at), hessian(b)(at)));
    const auto third = [&](const auto& h) { return jacobian([&](const Tensor& x) { return hessian(h)(x); })(at); };
    CHECK(close(third(a), third(b)));
  };
  check([](auto p, auto q) { return maximum(p, q) * p; }, [](auto p, auto q) { return maximum(p, q) * p; });
  check([](auto p, auto q) { return clip(p, 0.1, 0.9) * q; }, [](auto p, auto q) { return clip(p, 0.1, 0.9) * q; });
  check([](auto p, auto q) { return relu(p) * relu(-q); }, [](auto p, auto q) { return relu(p) * relu(-q); });
  check([](auto p, auto q) { return floor(p) * q + p; }, [](auto p, auto q) { return floor(p) * q + p; });
}

TEST_CASE("elementwise: a derivative that is zero is connected in both modes") {
  const Tensor x = tensor({1.5, 2.5});
  const auto lanes = [](const Tensor& v) { return elementwise([](auto a) { return floor(a); }, v); };
  const auto op = [](const Tensor& v) { return floor(v); };
  for (const Function& f : {Function(lanes), Function(op)}) {
    const ForwardAccumulator accumulator(x, 1.0);
    const Gradient forward = accumulator.jvp(f(x));
    REQUIRE(forward);
    CHECK(close(*forward, zeros({2})));
    GradientTape tape;
    tape.watch(x);
    const Gradient reverse = tape.gradient(f(x), x);
    REQUIRE(reverse);
    CHECK(close(*reverse, zeros({2})));
  }
}

TEST_CASE("a user's rule without a gradient for an argument does not get another entry's, also in Jacobians") {
  const Tensor x = tensor({1.0, 2.0}), y = tensor({3.0, 4.0});
  const auto half = custom_gradient([](const Tensor& a, const Tensor& b) {
    return std::pair(a * b, [b](const Tensor& dy) { return std::tuple<Gradient, Gradient>(dy * b, none); });
  });
  for (const AggregationMethod method : methods) {
    GradientTape tape({.persistent = true});
    tape.watch(std::pair(x, y));
    const Tensor z = half(x, y) + (y + x) + (x + y);
    tape.stop();
    CHECK(close(*tape.gradient(z, y, {.aggregation_method = method}), full({2}, 2.0)));
    CHECK(close(*tape.gradient(z, x, {.aggregation_method = method}), y + 2.0));
    CHECK(close(*tape.jacobian(z, y), 2.0 * eye(2)));
  }
}

TEST_CASE("an override without a gradient for an argument does not get another entry's") {
  const Tensor x = tensor({1.0, 2.0}), y = tensor({3.0, 4.0});
  const GradientRegistry::OverrideGuard guard("multiply", [](const RecordedOp&, std::span<const Gradient> g) {
    return std::vector<Gradient>{none, g[0]};
  });
  for (const AggregationMethod method : methods) {
    GradientTape tape({.persistent = true});
    tape.watch(std::pair(x, y));
    const Tensor z = x * y + (x + y) + (x + y) + (y + x);
    tape.stop();
    const auto [dx, dy] = tape.gradient(z, std::pair(x, y), {.aggregation_method = method});
    CHECK(close(*dx, full({2}, 3.0)));
    CHECK(close(*dy, full({2}, 4.0)));
    CHECK(close(*tape.jacobian(z, x), 3.0 * eye(2)));
    CHECK(close(*tape.jacobian(z, y), 4.0 * eye(2)));
  }
}

TEST_CASE("outputs without a cotangent do not get another entry's") {
  const Tensor x = tensor({1.0, 2.0, 3.0});
  const auto two = custom_gradient([](const Tensor& a) {
    return std::pair(std::pair(a * 2.0, a * 3.0),
                     [](const std::pair<Tensor, Tensor>& dy) { return dy.first * 2.0 + dy.second * 3.0; });
  });
  for (const AggregationMethod method : methods) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const auto [a, b] = two(x);
    const auto [c, d] = two(x + 1.0);
    const Tensor z = a + square(d);
    tape.stop();
    CHECK(close(*tape.gradient(z, x, {.aggregation_method = method}), 2.0 + 18.0 * (x + 1.0)));
    CHECK(close(*tape.jacobian(z, x), eye(3) * (2.0 + 18.0 * (x + 1.0))));
    CHECK_FALSE(tape.gradient(b, a));
    CHECK_FALSE(tape.gradient(c, d));
  }
}

TEST_CASE("a tensor that is several inputs of an entry gets the sum of their gradients") {
  const Tensor x = tensor({0.3, 0.8});
  const auto same = [](auto a, auto b, auto c) { return a * b + sin(c) * a; };
  const auto lanes = [&](const Tensor& v) { return elementwise(same, v, v, v); };
  const auto ops = [&](const Tensor& v) { return same(v, v, v); };
  const Tensor expected = 2.0 * x + sin(x) + x * cos(x);
  for (const Function& f : {Function(lanes), Function(ops)})
    for (const AggregationMethod method : methods) {
      GradientTape tape;
      tape.watch(x);
      const Tensor y = f(x) + (x + x) + where(greater(x, 0.5), x, x);
      CHECK(close(*tape.gradient(y, x, {.aggregation_method = method}), expected + 3.0));
    }
  const Tensor m = tensor({{1.0, 2.0}, {3.0, 4.0}});
  GradientTape tape;
  tape.watch(m);
  const Tensor y = sum(matmul(m, m) + concatenate({m, m}, 0)[0] * m[1]);
  const Tensor one = ones({2, 2});
  Tensor rows = zeros({2, 2});
  rows = stack({2.0 * m[1], 2.0 * m[0]});  // the product of the rows is added to both rows of the matrix
  CHECK(close(*tape.gradient(y, m), matmul(one, transpose(m)) + matmul(transpose(m), one) + rows));
}

TEST_CASE("tapes that share tensors keep their gradients apart") {
  const Tensor x = scalar(0.7), y = scalar(1.9);
  GradientTape a({.persistent = true}), b({.persistent = true}), c({.persistent = true});
  a.watch(x);
  b.watch(y);
  c.watch(std::pair(x, y));
  const Tensor z = sin(x * y) + x;
  a.stop();
  const Tensor w = z * z + y;
  b.stop();
  const Tensor u = w * x;
  c.stop();
  const double zx = std::cos(0.7 * 1.9) * 1.9 + 1, zy = std::cos(0.7 * 1.9) * 0.7, zv = std::sin(0.7 * 1.9) + 0.7;
  CHECK((*a.gradient(z, x)).item() == Approx(zx));
  CHECK_FALSE(a.gradient(z, y));
  CHECK_FALSE(a.gradient(w, x));
  CHECK((*b.gradient(w, y)).item() == Approx(2 * zv * zy + 1));
  CHECK_FALSE(b.gradient(w, x));
  CHECK((*c.gradient(u, x)).item() == Approx(2 * zv * zx * 0.7 + zv * zv + 1.9));
  CHECK((*c.gradient(u, y)).item() == Approx((2 * zv * zy + 1) * 0.7));
  CHECK((*c.gradient(u, z)).item() == Approx(2 * zv * 0.7));
}

TEST_CASE("four accumulators and tapes in any order follow one tensor") {
  const Tensor x = scalar(0.4);
  // d/dx of x^4 along 1, four times over, on accumulators and tapes that all see the same ops.
  for (int bits = 0; bits < 16; ++bits) {
    Function f = [](const Tensor& v) { return square(square(v)) + stop_gradient(v) * v; };
    for (int k = 0; k < 4; ++k) f = along(bits >> k & 1, f, scalar(1.0));
    CHECK(f(x).item() == Approx(24.0));
  }
}

TEST_CASE("an outer accumulator's rule may stop or destroy an inner accumulator") {
  const Tensor x = scalar(2.0);
  const auto run = [&](const std::function<void(std::unique_ptr<ForwardAccumulator>&)>& meddle) {
    std::unique_ptr<ForwardAccumulator> inner;
    const auto f = custom_gradient(
        [](const Tensor& v) { return std::pair(v * v, [v](const Tensor& dy) { return 2.0 * v * dy; }); },
        [&](const std::tuple<Tensor>& p, const std::tuple<Tensor>& t) {
          meddle(inner);
          return 2.0 * std::get<0>(p) * std::get<0>(t);
        });
    const ForwardAccumulator outer(x, 1.0);
    inner = std::make_unique<ForwardAccumulator>(x, 3.0);
    const Tensor y = f(x);
    CHECK((*outer.jvp(y)).item() == 4.0);
    const Tensor z = y * x;
    CHECK((*outer.jvp(z)).item() == 12.0);
    if (inner) return inner->jvp(y);
    return Gradient();
  };
  CHECK((*run([](auto&) {})).item() == 12.0);
  CHECK_FALSE(run([](auto& inner) { inner.reset(); }));
  CHECK_FALSE(run([](auto& inner) { inner->stop(); }));
  CHECK_THROWS_AS(run([](auto& inner) {
                    inner->stop();
                    inner->resume();
                  }),
                  TapeError);
}

TEST_CASE("a used tape cannot be resumed by its own rules") {
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  const auto f = custom_gradient([&](const Tensor& v) {
    return std::pair(v * v, [&](const Tensor& dy) {
      tape.resume();
      return dy;
    });
  });
  const Tensor y = f(x) * x;
  CHECK_THROWS_AS(tape.gradient(y, x), TapeError);
  CHECK_FALSE(tape.active());
  tape.reset();
  tape.watch(x);
  CHECK((*tape.gradient(x * x, x)).item() == 4.0);
}
