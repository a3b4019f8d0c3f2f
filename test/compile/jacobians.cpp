// Jacobians and Hessians of compiled functions: many cotangents go through a call at once.
#include <reel/compile.hpp>
#include <reel/reel.hpp>
#include <reel/runtime.hpp>

#include "catch.hpp"
#include "compile/check_close.hpp"
#include "support/ramp.hpp"

using namespace reel;

namespace {

Tensor rotated(const Tensor& x) {  // complex in between
  const Tensor z = make_complex(x, square(x));
  return real(z * exp(z)) + abs(z);
}
Tensor doubled_until_large(const Tensor& x) {  // a loop
  return while_loop([](const Tensor& y) { return sum(y) < 10.; }, [](const Tensor& y) { return y * 2. + sin(y); }, x);
}
Tensor chained(const Tensor& x) {
  const Tensor w = reshape(support::ramp({25}), {5, 5});
  return tanh(matmul(w, expand_dims(tanh(matmul(w, expand_dims(x, 1)))[0] * x, 1)));
}
Tensor of_parts(const Tensor& x) { return concatenate({slice(x, {range(1, 4)}) * x[0], flip(cumsum(x, 0))}); }
Tensor stopped(const Tensor& x) { return stop_gradient(x) * x + reshape(sum(x), {1}); }

using Function = Tensor (*)(const Tensor&);
constexpr Function functions[] = {rotated, doubled_until_large, chained, of_parts, stopped};

}  // namespace

TEST_CASE("compiled: Jacobians and Hessians are those of the function") {
  const Tensor x = support::ramp({5}, .4);
  for (std::size_t k = 0; k < std::size(functions); ++k) {
    CAPTURE(k);
    const Function f = functions[k];
    const auto compiled = compile(f);
    const auto total = [f](const Tensor& y) { return sum(square(f(y))); };
    for (int repeat = 0; repeat < 2; ++repeat) {  // the second finds the programs of the first
      check_close(jacobian(compiled)(x), jacobian(f)(x));
      check_close(hessian(compile(total))(x), hessian(total)(x));
      check_close(grad([&](const Tensor& y) { return sum(jacobian(compiled)(y) * y); })(x),
                  grad([&](const Tensor& y) { return sum(jacobian(f)(y) * y); })(x));
      check_close(jacobian(compile([f](const Tensor& y) { return jacobian(f)(y); }))(x), jacobian(jacobian(f))(x));
      check_close(grad([&](const Tensor& y) { return sum(compiled(y)); })(x),
                  grad([&](const Tensor& y) { return sum(f(y)); })(x));
    }
  }
}

TEST_CASE("compiled: Jacobians by arguments, captured tensors and variables, of each of several results") {
  const Tensor x = support::ramp({2, 3}, .3), w = support::ramp({3, 2});
  Variable v(support::ramp({2}, .7));
  const auto f = [&](const Tensor& a) {
    const Tensor y = matmul(a, w) * v.read();
    return std::vector{exp(y), sum(y * y, 0), cast(argmax(y, 0), DType::float64)};
  };
  const auto compiled = compile(f);
  const auto jacobians = [&](const auto& g, std::size_t k) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    tape.watch(w);
    const std::vector<Tensor> y = g(x);
    std::vector<Tensor> list;
    for (const Gradient& j : tape.jacobian(y[k], {x, w, v})) list.push_back(j.dense());
    return list;
  };
  for (std::size_t k = 0; k < 2; ++k) {
    const std::vector<Tensor> expected = jacobians(f, k), found = jacobians(compiled, k);
    for (std::size_t i = 0; i < 3; ++i) check_close(found[i], expected[i]);
  }
  const auto rows = [](const auto& g, const Tensor& a) {
    GradientTape tape;
    tape.watch(a);
    const Tensor y = g(a);
    return tape.batch_jacobian(y, a).dense();
  };
  const auto by_row = [&](const Tensor& a) { return exp(matmul(a, w)) * sum(a, 1, true); };
  check_close(rows(compile(by_row), x), rows(by_row, x));
}

TEST_CASE("compiled: a Jacobian has the draws and the variables of its call") {
  const Tensor x = support::ramp({4}, .5);
  const auto drawn = compile([](const Tensor& y, Generator& g) { return y * y * random_uniform(g, {4}); });
  Generator generator(3);
  Variable count(scalar(1.));
  const auto counted = compile([&](const Tensor& y) {
    count.assign(count.read() + 1.);
    return y * y * count.read();
  });
  for (int call = 0; call < 3; ++call) {  // elements of the results are proportional to x^2
    GradientTape tape;
    tape.watch(x);
    const Tensor y = concatenate({drawn(x, generator), counted(x)});
    check_close(*tape.jacobian(y, x), reshape(2. * reshape(y, {2, 4, 1}) / reshape(x, {4, 1}) * eye(4), {8, 4}));
  }
  CHECK(count.read().item() == 4);
}

TEST_CASE("compiled: Jacobians of other dtypes, of branches, of no rows and of one") {
  const auto check = [](const auto& f, const Tensor& x) { check_close(jacobian(compile(f))(x), jacobian(f)(x)); };
  const Tensor x = support::ramp({4}, .5);
  check([](const Tensor& y) { return tanh(y) * y[0]; }, cast(x, DType::float32));
  check([](const Tensor& y) { return tanh(y) * y[0]; }, cast(x, DType::float16));
  check(
      [](const Tensor& y) {
        return cond(
            y[0] > 0., [](auto& v) { return v * v; }, [](auto& v) { return v; }, y);
      },
      x);
  check([](const Tensor& y) { return slice(y * y, {range(2, 2)}); }, x);
  check([](const Tensor& y) { return sum(y * y); }, x);
}

TEST_CASE("compiled: a Jacobian takes as many rows at once as the largest tensor inside the call allows") {
  const std::int64_t inner = 1 << 18, results = 256;
  const auto f = [=](const Tensor& x) {
    return sum(reshape(cumsum(broadcast_to(reshape(x, {4, 1}), {4, inner / 4}), 1), {results, inner / results}), 1);
  };
  const Tensor x = support::ramp({4});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = compile(f)(x);
  reset_peak_bytes();
  const Gradient rows = tape.jacobian(y, x);
  CHECK(memory_stats().peak_bytes < std::int64_t{200} << 20);  // all rows of one tensor take 512 MiB
  check_close(*rows, jacobian(f)(x));
}
