// What other ops need of special functions: partial derivatives by their orders, and rules made of derivatives.
#pragma once
#include <algorithm>
#include <array>

#include "ops/apply/apply.hpp"
#include "ops/engine.hpp"
#include "special/special_loops.hpp"

namespace reel::ops {

using SpecialArguments = std::array<const Tensor*, loops::arguments_max>;

/// The partial derivative of these orders, one for each differentiable argument. All arguments have one shape and
/// dtype, float32 or float64. ValueError where the orders are too high.
Tensor partial(loops::SpecialFunction f, std::span<const std::int64_t> orders, const SpecialArguments& x);

/// f of floating operands of one dtype, which broadcast. Recorded under the name `op`, that of f or of a distribution.
Tensor apply_special(const char* op, loops::SpecialFunction f, std::initializer_list<const Tensor*> operands);

/// A rule from derivative(record, k), the derivative by argument k.
template <Tensor (*derivative)(const tape::Record& r, std::size_t k)>
struct RuleOf {
  static void vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
    for (std::size_t k = 0; k < dx.size(); ++k)
      if (r.wanted(k)) dx[k] = g[0] * derivative(r, k);
  }
  static void jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
    for (std::size_t k = 0; k < t.size(); ++k)
      if (t[k].defined()) {
        const Tensor part = t[k] * derivative(r, k);
        dy[0] = dy[0].defined() ? dy[0] + part : part;
      }
  }
};

constexpr Keeps keep_inputs(std::size_t count) {
  Keeps keeps = {};
  for (std::size_t k = 0; k < count; ++k) keeps[k] = keep_input(static_cast<std::uint8_t>(k));
  return keeps;
}

}  // namespace reel::ops
