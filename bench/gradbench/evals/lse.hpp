// lse: the logarithm of a sum of exponentials, of primitive ops, and its gradient.
#pragma once
#include "../eval.hpp"

namespace gradbench::lse {

// Shifting by the largest element changes nothing but the range of the exponentials: it is a constant to the tape.
inline reel::Tensor primal(const reel::Tensor& x) {
  const reel::Tensor largest = stop_gradient(max(x));
  return log(sum(exp(x - largest))) + largest;
}

inline Module functions() {
  const auto read = [](const Field& input) { return input.at("x").tensor({any_extent}); };
  return {{"primal", timed(read, primal)}, {"gradient", timed(read, reel::grad(primal))}};
}

}  // namespace gradbench::lse
