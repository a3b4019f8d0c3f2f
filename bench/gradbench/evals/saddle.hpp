// saddle: min over x of max over y of |x|^2 - |y|^2, both by gradient descent, the inner inside the outer one.
#pragma once
#include "descent.hpp"

namespace gradbench::saddle {

using descent::Mode;
using reel::Tensor;

inline Tensor read(const Field& input) { return input.at("start").tensor({2}); }

inline Tensor value(const Tensor& x, const Tensor& y) { return sum(square(x)) - sum(square(y)); }

/// The x and then the y of the saddle point, [4].
inline Tensor point(Mode outer, Mode inner, const Tensor& start) {
  const auto best_y = [&](const Tensor& x) {
    return descent::argmin(
        inner, [&](const Tensor& y) { return -value(x, y); }, start);
  };
  const Tensor x = descent::argmin(
      outer, [&](const Tensor& at) { return value(at, best_y(at)); }, start);
  return reel::concatenate({x, best_y(x)});
}

inline Module functions() { return descent::nested(read, point); }

}  // namespace gradbench::saddle
