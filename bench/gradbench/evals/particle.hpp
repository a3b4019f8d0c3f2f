// particle: the control w of an electric field for which a charged particle crosses the x axis at the origin. Outer
// mode: the derivative of the crossing by w; inner mode: the field, the gradient of a potential.
#pragma once
#include "descent.hpp"

namespace gradbench::particle {

using descent::Mode;
using reel::Tensor;

inline double read(const Field& input) { return input.at("w").number(); }

/// The square of where the particle crosses the axis, by steps of Euler's method and a last straight line.
inline Tensor crossing(Mode mode, const Tensor& w) {
  const double step = 0.1;
  const Tensor charges = reel::tensor({{10., 10.}, {10., 0.}}) - reel::tensor({{0., 1.}, {0., 0.}}) * w;
  const auto potential = [&](const Tensor& at) { return sum(rsqrt(sum(square(at - charges), 1))); };
  Tensor place = reel::tensor({0., 8.}), speed = reel::tensor({0.75, 0.});
  for (;;) {
    const Tensor force = -descent::gradient(mode, potential, place);
    const Tensor next = place + step * speed;
    if (next[1].item() <= 0) {
      const Tensor x = place[0] - place[1] / speed[1] * speed[0];
      return x * x;
    }
    place = next;
    speed = speed + step * force;
  }
}

inline Tensor best(Mode outer, Mode inner, double start) {
  const auto error = [inner](const Tensor& w) { return crossing(inner, w[0]); };
  return descent::argmin(outer, error, reel::tensor({start}))[0];
}

inline Module functions() { return descent::nested(read, best); }

}  // namespace gradbench::particle
