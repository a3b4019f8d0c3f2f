#include "solve/implicit.hpp"

#include <memory>
#include <reel/forward.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>

#include "core/fail.hpp"
#include "gradient/control/composite_entry.hpp"
#include "linalg/linear_solve.hpp"
#include "ops/engine.hpp"
#include "tape/capture.hpp"

namespace reel::autodiff {

namespace {

// Its inputs are what the residual reads.
struct RecordedSolution final : ImplicitEntry {
  Equation equation;

  explicit RecordedSolution(const Equation& e) : equation(e) {}
  std::shared_ptr<const LinearSystem> system(bool transposed) const {
    const LinearOperator product = jacobian_of(equation, result),
                         transpose = equation.symmetric ? product : transposed_jacobian_of(equation, result);
    LinearSystem s{equation.name, product, transpose, equation.solver, equation.transposed_solver};
    if (transposed) s = {equation.name, transpose, product, equation.transposed_solver, equation.solver};
    return std::make_shared<const LinearSystem>(std::move(s));
  }
  Tensor solve_with(bool transposed, const Tensor& b) const {
    const auto s = system(transposed);
    return solve_system(s, b, s->solver);
  }

  std::vector<Gradient> vjp(const Tensor& g) const override {
    const std::vector<Source> sources = inputs.sources({});
    if (sources.empty()) return {};
    const ops::FrozenReads same_values = inputs.same_reads();
    return vjp_of(
        sources, [this] { return residual_of(equation, result); }, negative(solve_with(true, g)));
  }
  Tensor jvp(std::span<const Tensor> tangents) const override {
    const ops::FrozenReads same_values = inputs.same_reads();
    const Tensor change = jvp_of([this] { return residual_of(equation, result); }, tangents);
    return change.defined() ? solve_with(false, negative(change)) : zeros(result.shape(), result.dtype());
  }
};

}  // namespace

Tensor residual_of(const Equation& e, const Tensor& x) {
  const Tensor y = e.residual(x);
  if (!y.defined())
    fail<ValueError>(e.name, "the function returned an empty tensor; did you forget to return a value?");
  if (y.shape() != x.shape())
    fail<ShapeError>(e.name, "the function turns shape {} into {}; they must be equal", x.shape(), y.shape());
  if (y.dtype() != x.dtype())
    fail<TypeError>(e.name, "the function turns {} into {}; cast its result", x.dtype(), y.dtype());
  return y;
}

LinearOperator jacobian_of(const Equation& e, const Tensor& x) {
  return [e, x](const Tensor& v) {
    const ForwardAccumulator accumulator(x, v);
    const Tensor y = residual_of(e, x);
    return accumulator.jvp(y, UnconnectedGradients::zero).dense();
  };
}
LinearOperator transposed_jacobian_of(const Equation& e, const Tensor& x) {
  return [e, x](const Tensor& v) {
    GradientTape tape({.watch_accessed_variables = false});
    tape.watch(x);
    const Tensor y = residual_of(e, x);
    return tape.gradient(y, x, {.output_gradients = v, .unconnected_gradients = UnconnectedGradients::zero}).dense();
  };
}

Tensor implicit_solution(const Equation& e, const Callback<Tensor()>& find) {
  if (!tape::active()) return find();
  return ImplicitEntry::record(e.name, std::make_shared<RecordedSolution>(e), {}, [&](TensorSpan) { return find(); });
}

}  // namespace reel::autodiff
