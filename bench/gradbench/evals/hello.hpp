// hello: the square of a number and its derivative.
#pragma once
#include "../eval.hpp"

namespace gradbench::hello {

inline reel::Tensor square(const reel::Tensor& x) { return x * x; }

inline Module functions() {
  const auto read = [](const Field& input) { return reel::scalar(input.number()); };
  return {{"square", timed(read, square)}, {"double", timed(read, reel::grad(square))}};
}

}  // namespace gradbench::hello
