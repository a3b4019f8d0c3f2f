// Compiled functions beside the same functions op by op. The peers have nothing to compile with: libtorch runs op by op
// in both rows; ADOL-C and CppAD record anew in one and evaluate one trace again in the others.
#include <reel/compile.hpp>

#include "models.hpp"

namespace bench {

namespace {

using namespace reel;

// As on MLX's page about compile.
Tensor gelu(const Tensor& x) { return x * (1.f + erf(x / 1.41421356f)) / 2.f; }

// The thrusts [50, 2] of the rotors, one by one. The state is six tensors of rank 0.
Tensor rollout(const Tensor& thrusts) {
  std::vector<Tensor> numbers;
  for (std::int64_t k = 0; k < thrusts.shape()[0]; ++k) {
    numbers.push_back(thrusts(k, 0));
    numbers.push_back(thrusts(k, 1));
  }
  return models::Rollout::value(numbers);
}

// 44 operations.
Tensor arithmetic(const Tensor& x) {
  Tensor y = x;
  for (int k = 0; k < 11; ++k) y = (y * y + 0.5) * (0.3 - y);
  return y;
}

// Of 100 000 calls, one after the other, the time that half of them need at most, and 999 of 1000.
template <class F>
Extra latencies(F f) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> ns(100000);
  for (double& one : ns) {
    const auto start = Clock::now();
    f();
    one = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }
  std::sort(ns.begin(), ns.end());
  return {{"median_us_per_call", 1e-3 * ns[50000]}, {"p99.9_us_per_call", 1e-3 * ns[99900]}};
}

}  // namespace

std::vector<Case> compiled_cases() {
  std::vector<Case> cases;
  const auto both = [&](const Case& like, auto f, auto x) {
    cases.push_back(like);
    cases.back().make = [=] { return body([f, at = x()] { return f(at); }); };
    cases.push_back(like);
    cases.back().name += ", compiled";
    cases.back().make = [=] { return body([f = compile(f), at = x()] { return f(at); }); };
  };
  constexpr double elements = 32. * 1000 * 4096;
  both({.name = "gelu on [32,1000,4096]", .make = {}, .unit_count = elements, .unit = "element", .bytes = 8 * elements},
       gelu, [] {
         return drawn({32, 1000, 4096}, 1);
       });
  both({.name = "rollout of 50 steps, value and gradient, f64", .make = {}, .tolerance = 1e-6}, value_and_grad(rollout),
       [] {
         return drawn({50, 2}, 1, 4.5, 5.5, DType::float64);
       });
  cases.back().make = [made = cases.back().make] {
    Body timed = made();
    timed.extra = [run = timed.run] { return latencies(run); };
    return timed;
  };
  both({.name = "44 operations on one element, f64", .make = {}}, arithmetic,
       [] { return drawn({}, 1, 0., 1., DType::float64); });
  cases.push_back({.name = "44 operations on one element, f64, native", .make = [] {
                     return body([f = compile(arithmetic, {.native = true}), x = drawn({}, 1, 0., 1., DType::float64)] {
                       return f(x);
                     });
                   }});
  cases.push_back({.name = "return of the argument, compiled", .make = [] {
                     return body([f = compile([](const Tensor& x) { return x; }),
                                  x = drawn({}, 1, 0., 1., DType::float64)] { return f(x); });
                   }});
  cases.push_back({.name = "rollout of 50 steps, value and gradient, f64, native",
                   .make =
                       [] {
                         return body([f = compile(value_and_grad(rollout), {.native = true}),
                                      x = drawn({50, 2}, 1, 4.5, 5.5, DType::float64)] { return f(x); });
                       },
                   .tolerance = 1e-6});
  return cases;
}

}  // namespace bench
