// Gradients of small array programs: pointwise chains, rows, transposes, products of matrices.
#include <reel/compile.hpp>
#include <reel/elementwise.hpp>

#include "cases.hpp"

namespace bench {

namespace {

using namespace reel;

// The gradient by x of sum(f(x, y)), both [n].
template <class F>
std::function<Body()> gradient_of_sum(std::int64_t n, F f) {
  return [=] {
    const Tensor x = drawn({n}, 1), y = drawn({n}, 2);
    return body([=] { return gradient([&](const Tensor& t) { return sum(f(t, y)); }, x); });
  };
}

// The gradient by x [1024, 1024] of f(x).
template <class F>
std::function<Body()> gradient_of_square(F f) {
  return [=] { return body([f, x = drawn({1024, 1024}, 1)] { return gradient(f, x); }); };
}

// The gradient by x [1024, 1024] of f(x) for a given cotangent.
template <class F>
std::function<Body()> pullback_of_rows(F f) {
  return [=] {
    return body([f, x = drawn({1024, 1024}, 1), g = drawn({1024, 1024}, 2)] {
      GradientTape tape;
      tape.watch(x);
      return tape.gradient(f(x), x, {.output_gradients = g});
    });
  };
}

std::function<Body()> bias(bool both) {
  return [=] {
    const Tensor x = drawn({1024, 1024}, 1), b = drawn({1024}, 2);
    return body([=] {
      GradientTape tape;
      if (both) tape.watch(x);
      tape.watch(b);
      const Tensor y = sum(square(x + b));
      return both ? tape.gradient(y, {x, b}) : tape.gradient(y, {b});
    });
  };
}

// The five-point Laplacian inside a grid [n + 2, n + 2], by shifted slices.
std::function<Body()> laplacian(std::int64_t n, bool differentiated) {
  return [=] {
    const auto five = elementwise([](auto c, auto u, auto d, auto l, auto r) { return u + d + l + r - 4 * c; });
    const auto f = [=](const Tensor& x) {
      const auto part = [&](std::int64_t i, std::int64_t j) {
        return slice(x, {range(1 + i, n + 1 + i), range(1 + j, n + 1 + j)});
      };
      return five(part(0, 0), part(-1, 0), part(1, 0), part(0, -1), part(0, 1));
    };
    const Tensor x = drawn({n + 2, n + 2}, 1, -1, 1, DType::float64);
    return body([=] {
      GradientTape tape;
      if (!differentiated) return f(x);
      tape.watch(x);
      return *tape.gradient(sum(square(f(x))), x);
    });
  };
}

std::function<Body()> product(std::int64_t n, bool given) {
  return [=] {
    const Tensor a = drawn({n, n}, 1), b = drawn({n, n}, 2);
    const Tensor g = drawn({n, n}, 3);
    return body([=] {
      GradientTape tape;
      tape.watch(a);
      tape.watch(b);
      const Tensor c = matmul(a, b);
      return given ? tape.gradient({c}, {a, b}, {.output_gradients = {g}}) : tape.gradient(sum(c), {a, b});
    });
  };
}

// [n] -> [n], two hidden layers of n: all rows of the Jacobian together, or one gradient after another.
std::function<Body()> jacobian_of_network(std::int64_t n, DType dtype, bool together) {
  return [=] {
    const auto weights = [&](std::uint64_t seed) { return drawn({n, n}, seed, -0.1, 0.1, dtype); };
    const Tensor w1 = weights(1), w2 = weights(2), w3 = weights(3), b = drawn({n}, 4, -1, 1, dtype);
    const Tensor x = drawn({n}, 5, -1, 1, dtype);
    std::vector<Tensor> seeds;
    for (std::int64_t i = 0; i < n; ++i) seeds.push_back(one_hot(i, n, dtype));
    return body([=] {
      GradientTape tape({.persistent = true});
      tape.watch(x);
      const Tensor y = matmul(tanh(matmul(tanh(matmul(x, w1) + b), w2) + b), w3) + b;
      tape.stop();
      if (together) return *tape.jacobian(y, x);
      std::vector<Tensor> rows;
      for (const Tensor& g : seeds) rows.push_back(*tape.gradient(y, x, {.output_gradients = g}));
      return stack(rows);
    });
  };
}

}  // namespace

std::vector<Case> array_cases() {
  std::vector<Case> cases;
  const auto whole = [&](const std::string& name, std::function<Body()> make, double flops = 0) {
    cases.push_back({.name = name, .make = std::move(make), .flops = flops});
  };
  const auto per_element = [&](const std::string& name, std::int64_t n, std::function<Body()> make) {
    cases.push_back({.name = name, .make = std::move(make), .unit_count = static_cast<double>(n), .unit = "element"});
  };

  const auto tanh_of_product = [](const Tensor& x, const Tensor& y) { return tanh(x * y) + x; };
  const auto fused_tanh = [](const Tensor& x, const Tensor& y) {
    return elementwise([](auto a, auto b) { return tanh(a * b) + a; }, x, y);
  };
  constexpr std::int64_t large = 10000000;
  whole("gradient of sum(tanh(x*y)+x), n = 1e3", gradient_of_sum(1000, tanh_of_product));
  whole("gradient of sum(tanh(x*y)+x), n = 1e5", gradient_of_sum(100000, tanh_of_product));
  per_element("gradient of sum(tanh(x*y)+x), n = 1e7, op by op", large, gradient_of_sum(large, tanh_of_product));
  per_element("gradient of sum(tanh(x*y)+x), n = 1e7, op by op, compiled", large, [=] {
    const auto f = [=](const Tensor& x, const Tensor& y) { return sum(tanh_of_product(x, y)); };
    return body([f = compile(grad<0>(f)), x = drawn({large}, 1), y = drawn({large}, 2)] { return f(x, y); });
  });
  per_element("gradient of sum(tanh(x*y)+x), n = 1e7, as one fused elementwise", large,
              gradient_of_sum(large, fused_tanh));
  per_element("gradient of sum(log1p(exp(-x*y))), n = 1e7, op by op", large,
              gradient_of_sum(large, [](const Tensor& x, const Tensor& y) { return log1p(exp(-x * y)); }));
  per_element("gradient of sum(log1p(exp(-x*y))), n = 1e7, as one fused elementwise", large,
              gradient_of_sum(large, [](const Tensor& x, const Tensor& y) {
                return elementwise([](auto a, auto b) { return log1p(exp(-a * b)); }, x, y);
              }));
  per_element("tanh forward, n = 1e5", 100000, [] { return body([x = drawn({100000}, 1)] { return tanh(x); }); });

  whole("sum((x+b)^2), [1024,1024] + [1024], gradient", bias(true));
  whole("sum((x+b)^2), [1024,1024] + [1024], gradient by b alone", bias(false));
  whole("logsumexp over rows [1024,1024], gradient",
        gradient_of_square([](const Tensor& x) { return sum(logsumexp(x, 1)); }));
  whole("log_softmax over rows [1024,1024], gradient",
        pullback_of_rows([](const Tensor& x) { return log_softmax(x); }));
  whole("sum(transpose(x)*x) [1024,1024], gradient",
        gradient_of_square([](const Tensor& x) { return sum(transpose(x) * x); }));
  for (const auto& [n, text] : {std::pair(6, "6^3"), {32, "32^3"}, {128, "128^3"}, {1024, "1024^3"}}) {
    // The cotangent of a sum is one repeated number, which saves two of the three products. A given cotangent saves
    // none.
    const std::string size = text;
    const double one_product = 2.0 * n * n * n;
    whole("sum(matmul) " + size + ", gradient", product(n, false));
    whole("matmul " + size + ", gradient for a given cotangent", product(n, true), 3 * one_product);
  }

  for (const bool together : {true, false}) {
    const std::string how = together ? "" : ", row by row";
    whole("Jacobian of an MLP 256-256-256-256, f32" + how, jacobian_of_network(256, DType::float32, together));
    whole("Jacobian of an MLP 256-256-256-256, f64" + how, jacobian_of_network(256, DType::float64, together));
    whole("Jacobian of an MLP 16-16-16-16, f64" + how, jacobian_of_network(16, DType::float64, together));
  }

  whole("stencil of five points [128,128], f64", laplacian(128, false));
  whole("stencil of five points [128,128], f64, gradient", laplacian(128, true));

  // What elementwise saves over the same function op by op.
  const auto both = [&](const std::string& text, auto f) {
    per_element("gradient of sum(" + text + "), n = 1e7, op by op", large, gradient_of_sum(large, f));
    per_element("gradient of sum(" + text + "), n = 1e7, as one fused elementwise", large,
                gradient_of_sum(large, [f](const Tensor& x, const Tensor& y) { return elementwise(f, x, y); }));
  };
  both("(x*y+x)*y", [](auto a, auto b) { return (a * b + a) * b; });
  both("where(x>0, x*y, y)+1.5x", [](auto a, auto b) { return where(a > 0, a * b, b) + 1.5 * a; });
  both("exp(x)sin(y)+xy", [](auto a, auto b) { return exp(a) * sin(b) + a * b; });
  return cases;
}

}  // namespace bench
