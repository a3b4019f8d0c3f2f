// Shared by reel's cases: tensors of drawn values, and bodies made from a function that returns its results.
#pragma once
#include <memory>
#include <reel/reel.hpp>

#include "../common/protocol.hpp"

namespace bench {

/// The cases of each file.
std::vector<Case> scalar_cases();
std::vector<Case> array_cases();
std::vector<Case> network_cases();
std::vector<Case> neural_cases();
std::vector<Case> choosing_cases();
std::vector<Case> factorisation_cases();
std::vector<Case> compiled_cases();
std::vector<Case> model_cases();
std::vector<Case> linear_algebra_cases();
std::vector<Case> distribution_cases();
std::vector<Case> moving_cases();
std::vector<Case> op_cases();
std::vector<Case> tape_cases();
std::vector<Case> transform_cases();
std::vector<Case> machine_cases();

/// Uniform in [low, high), the values that the peer draws too.
inline reel::Tensor drawn(const reel::Shape& shape, std::uint64_t seed, double low = -1, double high = 1,
                          reel::DType dtype = reel::DType::float32) {
  if (dtype == reel::DType::float64) return reel::from_data(uniform<double>(shape.elements(), low, high, seed), shape);
  return reel::from_data(uniform<float>(shape.elements(), low, high, seed), shape);
}

inline void add_to(Checksum& sum, const reel::Tensor& x) {
  const reel::Tensor flat = reel::contiguous(reel::cast(x, reel::DType::float64));
  sum.add(flat.data<double>().data(), flat.size());
}

/// f() is timed; its result is a tree of tensors or gradients, whose checksum is taken once.
template <class F>
Body body(F f) {
  return {[f] { f(); },
          [f] {
            const auto results = f();
            Checksum sum;
            reel::for_each_leaf(results, [&](const auto& leaf) {
              if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, reel::Gradient>)
                add_to(sum, leaf.dense());
              else
                add_to(sum, leaf);
            });
            return sum.value();
          }};
}

/// d f(x) / d x by a new tape.
template <class F>
reel::Gradient gradient(F f, const reel::Tensor& x) {
  reel::GradientTape tape;
  tape.watch(x);
  return tape.gradient(f(x), x);
}

}  // namespace bench
