// What allocation_failures.cpp runs: small programs that between them use every part of the library.
#pragma once
#include <reel/reel.hpp>
#include <span>
#include <string>
#include <vector>

namespace battery {

using Results = std::vector<reel::Tensor>;

struct Scenario {
  const char* name;
  Results (*run)();
  bool lives_on = false;  ///< uses objects that outlive the run: only the next run restores their contents
};
std::span<const Scenario> scenarios();

inline reel::Tensor point() { return reel::tensor({0.5, -0.25, 1.5}); }
inline reel::Tensor text(const std::string& s) {
  return reel::from_data(std::vector<std::int32_t>(s.begin(), s.end()));
}
inline reel::Tensor weights() { return reel::tensor({{2., 0.5, 0.25}, {0.5, 3., 0.125}, {0.25, 0.125, 4.}}); }
template <class F>
Results gradient_of(const F& f, const reel::Tensor& x) {
  auto [y, g] = reel::value_and_grad(f)(x);
  return {y, g};
}
template <class F>
Results gradient_of(const F& f) {
  return gradient_of(f, point());
}
// The value, gradient, Hessian-vector product and tangent.
template <class F>
Results every_mode(const F& f) {
  Results all = gradient_of(f);
  all.push_back(reel::hvp(f)(point(), reel::ones({3})));
  all.push_back(reel::jvp(f, point(), reel::ones({3})).second);
  return all;
}

// Scenarios of families of ops, in allocation_ops.cpp.
Results solved(const reel::Tensor& b);
Results factored();
Results convolved();
Results transformed();
Results normalised();
Results joined();
Results gathered();
Results sliced();
Results reduced();
Results drawn();
Results made();
Results parallel();

// Scenarios of compiled functions, in allocation_compiled.cpp.
Results compiled_call();
Results compiled_modes();
Results compiled_hessian();
Results compiled_inside();
Results compiled_check();
Results compiled_eviction();
Results compiled_while_loop();
Results compiled_cond();
Results compiled_scan();
Results compiled_checkpoint();
Results compiled_custom_gradient();
Results compiled_tree();
Results compiled_assigns();
Results compiled_loop_with_effects();
Results compiled_adam();
Results compiled_clipped_sgd();
Results compiled_local_adam();
Results compiled_budget();
Results compiled_variables();

}  // namespace battery
