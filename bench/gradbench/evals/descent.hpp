// Gradient descent as published with the evals particle and saddle (cpp/gradbench/gd.hpp), whose step rule is part of
// the result; and the two modes that compute its gradient.
#pragma once
#include "../eval.hpp"

namespace gradbench::descent {

using reel::Tensor;

enum class Mode { forward, reverse };

/// The gradient of f at x [n] in the given mode. Tapes and accumulators around it follow it.
template <class F>
Tensor gradient(Mode mode, const F& f, const Tensor& x) {
  if (mode == Mode::reverse) {
    reel::GradientTape tape;
    tape.watch(x);
    return tape.gradient(f(x), x, {.unconnected_gradients = reel::UnconnectedGradients::zero}).dense();
  }
  const Tensor directions = reel::eye(x.size());
  std::vector<Tensor> derivatives;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const reel::ForwardAccumulator accumulator(x, directions[i]);
    derivatives.push_back(accumulator.jvp(f(x), reel::UnconnectedGradients::zero).dense());
  }
  return reel::stack(derivatives);
}

/// The minimum of f, a function of a tensor [n], from `start`. The step doubles after ten steps that decreased f, and
/// halves after one that did not. Ends at a gradient or a step of 1e-5.
template <class F>
Tensor argmin(Mode mode, const F& f, const Tensor& start) {
  const auto length = [](const Tensor& v) { return norm(v).item(); };
  Tensor x = identity(start);  // a tensor of its own: f may hold `start` itself as a constant
  Tensor slope = gradient(mode, f, x);
  double value = f(x).item(), rate = 1e-5;
  for (int down = 0;;) {
    if (length(slope) <= 1e-5) return x;
    if (down == 10) {
      rate *= 2;
      down = 0;
      continue;
    }
    const Tensor next = x - rate * slope;
    if (length(x - next) <= 1e-5) return x;
    if (const double at_next = f(next).item(); at_next < value) {
      x = next;
      value = at_next;
      slope = gradient(mode, f, x);
      ++down;
    } else {
      rate /= 2;
      down = 0;
    }
  }
}

/// The functions ff, fr, rf and rr of a module: f(outer mode, inner mode, input), timed.
template <class Read, class F>
Module nested(Read read, F f) {
  Module module;
  for (const Mode outer : {Mode::forward, Mode::reverse})
    for (const Mode inner : {Mode::forward, Mode::reverse}) {
      const auto letter = [](Mode mode) { return mode == Mode::forward ? 'f' : 'r'; };
      module[{letter(outer), letter(inner)}] = timed(read, [=](const auto& input) { return f(outer, inner, input); });
    }
  return module;
}

}  // namespace gradbench::descent
