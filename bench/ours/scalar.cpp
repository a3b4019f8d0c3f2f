// Chains of ops on one element, where only the cost per op counts, and Rosenbrock's function.
#include <reel/compile.hpp>

#include "cases.hpp"
#include "support/programs.hpp"

namespace bench {

namespace {

using namespace reel;

constexpr int length = 1000;

Body chain(DType dtype, bool record, bool replay) {
  const Tensor x = cast(tensor({1.5}), dtype), c = cast(tensor({1.0001}), dtype);
  if (!record) return body([=] { return support::product_chain(x, c, length); });
  return body([=] {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = support::product_chain(x, c, length);
    return replay ? *tape.gradient(y, x) : y;
  });
}

}  // namespace

std::vector<Case> scalar_cases() {
  std::vector<Case> cases;
  const auto per_op = [&](std::string name, double tolerance, std::function<Body()> make) {
    cases.push_back(
        {.name = std::move(name), .make = make, .unit_count = length, .unit = "op", .tolerance = tolerance});
  };
  for (const DType dtype : {DType::float32, DType::float64}) {
    const bool wide = dtype == DType::float64;
    const std::string suffix = wide ? ", f64" : "";
    const double tolerance = wide ? 1e-6 : 1e-3;
    per_op("1000 x mul on [1], record + gradient" + suffix, tolerance, [=] { return chain(dtype, true, true); });
    per_op("1000 x mul on [1], record + gradient" + suffix + ", compiled", tolerance, [=] {
      const auto f =
          compile(grad<0>([](const Tensor& x, const Tensor& c) { return support::product_chain(x, c, length); }));
      return body([f, x = cast(tensor({1.5}), dtype), c = cast(tensor({1.0001}), dtype)] { return f(x, c); });
    });
    per_op("1000 x mul on [1], recording only" + suffix, tolerance, [=] { return chain(dtype, true, false); });
    per_op("1000 x mul on [1], no tape active" + suffix, tolerance, [=] { return chain(dtype, false, false); });
    per_op("1000 x tanh on [1], record + gradient" + suffix, tolerance, [=] {
      return body([x = cast(tensor({1.5}), dtype)] {
        return gradient([](const Tensor& t) { return support::tanh_chain(t, length); }, x);
      });
    });
    const auto whole = [&](const char* name, std::int64_t n, auto f) {
      cases.push_back({.name = name + suffix,
                       .make =
                           [=] {
                             const Tensor x = drawn({n}, 1, -1, 1, dtype), v = drawn({n}, 2, -1, 1, dtype);
                             return body([=] { return f(x, v); });
                           },
                       .tolerance = tolerance});
    };
    whole("Rosenbrock n = 1000 gradient", 1000,
          [](const Tensor& x, const Tensor&) { return gradient(support::rosenbrock, x); });
    cases.push_back({.name = "Rosenbrock n = 1000 gradient" + suffix + ", compiled",
                     .make =
                         [=] {
                           return body([f = compile(grad(support::rosenbrock)), x = drawn({1000}, 1, -1, 1, dtype)] {
                             return f(x);
                           });
                         },
                     .tolerance = tolerance});
    cases.push_back({.name = "Rosenbrock n = 1000 gradient" + suffix + ", native",
                     .make =
                         [=] {
                           return body([f = compile(grad(support::rosenbrock), {.native = true}),
                                        x = drawn({1000}, 1, -1, 1, dtype)] { return f(x); });
                         },
                     .tolerance = tolerance});
    whole("Rosenbrock n = 1000 Hessian-vector product", 1000,
          [](const Tensor& x, const Tensor& v) { return hvp(support::rosenbrock)(x, v); });
    whole("Rosenbrock n = 50 full Hessian", 50,
          [](const Tensor& x, const Tensor&) { return hessian(support::rosenbrock)(x); });
  }
  return cases;
}

}  // namespace bench
